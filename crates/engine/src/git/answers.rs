//! Every parser of git's output, as a function of bytes. Only the fuzzer uses these functions: other callers get
//! values.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;

use piton_core::history::Commit;
use piton_core::plan::{Digest, Oid};

use super::{Checkout, Landing, Pin, Rescued, Status};
use super::{branch, capture, change, command, history, index, merge, refs, repo, rescue};

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

/// The paths in conflict, and what git says about them.
pub fn conflicts(list: &[u8]) -> (Vec<String>, String) {
    merge::read_messages(command::fields(list))
}

/// Mode and object; `None`: absent.
pub type Version = Option<(String, Oid)>;

/// Paths with what was there before and after.
pub fn differences(list: &[u8]) -> Vec<(OsString, Version, Version)> {
    merge::read_differences(list).into_iter().map(|found| (found.path, found.old, found.new)).collect()
}

pub fn landed(list: &[u8], run: &str) -> BTreeMap<String, Landing> {
    history::landings(&history::read_history(list), run)
}

pub fn history(list: &[u8]) -> Vec<Commit> {
    history::read_history(list)
}

pub fn reverts(list: &[u8]) -> Vec<(Oid, Vec<String>)> {
    history::read_reverts(list)
}

pub fn changes(list: &[u8]) -> HashMap<Oid, Digest> {
    change::read_changes(list)
}

pub fn pins(list: &str) -> Vec<Pin> {
    branch::read_pins(list)
}

pub fn rescued(list: &str) -> Vec<Rescued> {
    rescue::read_rescued(list)
}

/// Refs as their files say: the one they share, and those of their own.
pub fn refs(packed: &[u8], loose: &[(String, &[u8])]) -> Option<BTreeMap<String, Oid>> {
    refs::of_files(packed, loose)
}

pub fn version(line: &str) -> Option<super::Version> {
    command::parse_version(line)
}

pub fn has_markers(file: &[u8]) -> bool {
    capture::has_markers(file)
}
