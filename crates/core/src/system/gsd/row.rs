//! GSD in the table of systems.

use super::place::{self, FOLDER, PHASES, ROADMAP, STATE, root_of};
use super::{read, write};
use crate::system::finding::join;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// Held by its programs while they write.
const LOCK: &str = ".lock";

/// A roadmap and its plans.
#[derive(Clone, Copy, Debug)]
pub struct Gsd;

/// Its row.
pub static GSD: Gsd = Gsd;

impl System for Gsd {
    fn name(&self) -> &'static str {
        "gsd"
    }

    fn about(&self) -> &'static str {
        "The roadmap of GSD, with the plans of its phases"
    }

    fn plain(&self) -> Form {
        Form::Added(&GSD)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            plan_is_file: true,
            usual_folder: Some(FOLDER),
            lock_of_folder: Some(LOCK),
            has_companions_below: true,
            ..Files::default()
        }
    }

    /// No task may change what it is judged by, nor what says how far the project is.
    fn owned(&self, _: &[crate::plan::Group]) -> Vec<String> {
        vec![PHASES.to_owned(), STATE.to_owned()]
    }

    /// Other tools have a folder of this name, too.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let real = disk.real(folder)?;
        let is_one = root_of(&join(&real, ROADMAP)).is_some()
            && disk.is_file(&join(folder, ROADMAP))
            && (disk.is_file(&join(folder, STATE)) || !disk.names(&join(folder, PHASES)).is_empty());
        is_one.then(|| Claim::new(ROADMAP, Strength::ByPlace))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if name == ROADMAP { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        place::along_on(plan, disk)
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&GSD, given))
    }

    fn companions_below(&self, _: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        write::companions(names)
    }
}
