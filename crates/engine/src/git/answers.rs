//! Every reader of what git prints, as a function of bytes: the fuzzer's way in. Nothing else needs it, for
//! whoever asks git gets values.

use std::collections::BTreeMap;
use std::ffi::OsString;

use piton_core::plan::Oid;

use super::{Change, Checkout, Pin, Rescued, Status, Version};
use super::{branch, capture, door, halfway, history, index, merge, repo, rescue};

pub fn status(list: &[u8]) -> Status {
    Status::parse(list)
}

pub fn checkouts(list: &[u8]) -> Vec<Checkout> {
    repo::read_checkouts(list)
}

/// Mode, object and path.
pub fn entries(list: &[u8]) -> Vec<(String, Oid, OsString)> {
    index::read_entries(list).into_iter().map(|entry| (entry.mode, entry.oid, entry.path)).collect()
}

pub fn changes(list: &[u8]) -> Vec<Change> {
    merge::read_changes(list)
}

/// The paths in conflict, and what git says about them.
pub fn conflicts(list: &[u8]) -> (Vec<String>, String) {
    merge::read_messages(door::fields(list))
}

/// Paths with mode and object before and after; `None`: absent.
pub fn versions(list: &[u8]) -> halfway::Versions {
    halfway::read_versions(list)
}

pub fn landed(list: &[u8], run: &str) -> BTreeMap<String, Oid> {
    history::read_landed(list, run)
}

pub fn pins(list: &str) -> Vec<Pin> {
    branch::read_pins(list)
}

pub fn rescued(list: &str) -> Vec<Rescued> {
    rescue::read_rescued(list)
}

pub fn version(line: &str) -> Option<Version> {
    door::parse_version(line)
}

pub fn has_markers(file: &[u8]) -> bool {
    capture::has_markers(file)
}
