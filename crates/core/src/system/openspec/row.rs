//! OpenSpec in the table of systems.

use super::place::{CHANGES, Change, LIST};
use super::read::{self, DEPTH};
use crate::system::finding::join;
use crate::system::kit::{boxes, numbered};
use crate::system::state_files::{Companion, TickedList};
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// The tasks of a change.
#[derive(Clone, Copy, Debug)]
pub struct OpenSpec;

impl System for OpenSpec {
    fn name(&self) -> &'static str {
        "openspec"
    }

    fn about(&self) -> &'static str {
        "The tasks.md of a change, of OpenSpec"
    }

    fn plain(&self) -> Form {
        Form::Added(&OpenSpec)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, usual_folder: Some(CHANGES), ..Files::default() }
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let real = disk.real(folder)?;
        let is_change = Change::at(&real).is_some() && disk.is_file(&join(folder, LIST));
        is_change.then(|| Claim::new(LIST, Strength::ByPlace))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if name == LIST { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn goes_by(&self, folder: &str, text: &str) -> bool {
        folder == text && Change::at(&join(CHANGES, folder)).is_some()
    }

    fn moved_to(&self, plan: &str, disk: &dyn Disk) -> Option<String> {
        Change::at(plan).filter(|change| !change.is_archived)?.archived(disk)
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        Change::at(plan).map(|change| change.along(disk)).unwrap_or_default()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&OpenSpec, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&TASKS]
    }
}

/// The plan itself is a list in which boxes are ticked.
pub static TASKS: TickedList = TickedList {
    name: None,
    ticked: |bytes| numbered::ticked(bytes, DEPTH),
    titles: |bytes| numbered::titles(bytes, DEPTH),
    tick: |bytes, stand| numbered::tick(bytes, stand, DEPTH),
    holds: numbered::holds,
    is_like: boxes::has_boxes,
};
