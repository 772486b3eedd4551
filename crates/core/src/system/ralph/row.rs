//! Ralph loops in the table of systems.

use super::write::LIST;
use super::{FILE, PROGRESS, file, read};
use crate::system::finding::join;
use crate::system::kit::{json, text};
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

#[derive(Clone, Copy, Debug)]
pub struct Ralph;

/// Its row.
pub static RALPH: Ralph = Ralph;

impl System for Ralph {
    fn name(&self) -> &'static str {
        "ralph"
    }

    fn about(&self) -> &'static str {
        "The prd.json of a Ralph loop"
    }

    fn plain(&self) -> Form {
        Form::Added(&RALPH)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    /// A loop is usually kept in `scripts/ralph`.
    fn files(&self) -> Files {
        Files { plan_is_file: true, usual_folder: Some("scripts"), ..Files::default() }
    }

    /// The root of a project may be such a folder, and the plan of another system, too.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        is_one(&join(folder, FILE), disk).then(|| Claim::new(FILE, Strength::Fallback))
    }

    /// A product document of that name is not a plan; its reader says what it has instead of stories.
    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        let lower = name.to_ascii_lowercase();
        let is_named = lower.contains("prd") && lower.ends_with(".json");
        match is_named && is_one(path, disk) {
            true => FileClaim::Yes,
            false if lower == FILE => FileClaim::LastResort,
            false => FileClaim::No,
        }
    }

    fn read_along(&self, plan: &str, _: &dyn Disk) -> Vec<String> {
        let folder = plan.rsplit_once('/').map_or("", |(folder, _)| folder);
        vec![join(folder, PROGRESS)]
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&RALPH, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&LIST]
    }
}

/// Whether a file has stories.
fn is_one(path: &str, disk: &dyn Disk) -> bool {
    let text = disk.read(path).map(|bytes| text::decode(&bytes).text);
    let root = text.and_then(|text| json::parse(&text).ok());
    root.is_some_and(|(root, _)| file::stories(&root).is_some())
}
