//! Kiro in the table of systems.

use super::place::{LIST, SPECS, Spec};
use super::read::{self, DEPTH};
use crate::system::finding::join;
use crate::system::kit::{boxes, numbered};
use crate::system::state_files::{Companion, TickedList};
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// The tasks of a spec.
#[derive(Clone, Copy, Debug)]
pub struct Kiro;

impl System for Kiro {
    fn name(&self) -> &'static str {
        "kiro"
    }

    fn about(&self) -> &'static str {
        "The tasks.md of a spec, of Kiro and cc-sdd"
    }

    fn plain(&self) -> Form {
        Form::Added(&Kiro)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, usual_folder: Some(SPECS), ..Files::default() }
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let real = disk.real(folder)?;
        let is_spec = Spec::at(&real).is_some() && disk.is_file(&join(folder, LIST));
        is_spec.then(|| Claim::new(LIST, Strength::ByPlace))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if name == LIST { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn goes_by(&self, folder: &str, text: &str) -> bool {
        folder == text && Spec::at(&join(SPECS, folder)).is_some()
    }

    fn moved_to(&self, plan: &str, disk: &dyn Disk) -> Option<String> {
        Spec::at(plan)?.moved(disk)
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        Spec::at(plan).map(|spec| spec.along(disk)).unwrap_or_default()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&Kiro, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&TASKS]
    }
}

/// The plan itself is a list in which boxes are ticked. Only `x` is written: Kiro reads `-` as its own work.
pub static TASKS: TickedList = TickedList {
    name: None,
    ticked: |bytes| numbered::ticked(bytes, DEPTH),
    titles: |bytes| numbered::titles(bytes, DEPTH),
    tick: |bytes, stand| numbered::tick(bytes, stand, DEPTH),
    holds: numbered::holds,
    is_like: boxes::has_boxes,
};
