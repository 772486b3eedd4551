//! BMAD in the table of systems.

use super::board::Board;
use super::place::{self, ARTIFACTS, BOARD, FOLDER, root_of};
use super::{read, write};
use crate::system::finding::join;
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// A board and its stories.
#[derive(Clone, Copy, Debug)]
pub struct Bmad;

/// Its row.
pub static BMAD: Bmad = Bmad;

impl System for Bmad {
    fn name(&self) -> &'static str {
        "bmad"
    }

    fn about(&self) -> &'static str {
        "The sprint-status.yaml of BMAD, with the stories beside it"
    }

    fn plain(&self) -> Form {
        Form::Added(&BMAD)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            plan_is_file: true,
            usual_folder: Some(FOLDER),
            has_companions_below: true,
            ..Files::default()
        }
    }

    /// The folder of the board, or the one around it.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let nested = join(ARTIFACTS, BOARD);
        let is_output = folder.trim_end_matches('/').rsplit('/').next() == Some(FOLDER);
        let found = [BOARD, nested.as_str()].into_iter().take(if is_output { 2 } else { 1 });
        let mut found = found.filter(|name| is_board(&join(folder, name), disk));
        found.next().map(|name| Claim::new(name, Strength::ByName))
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        if name == BOARD && is_board(path, disk) { FileClaim::Yes } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        if !plan.ends_with(BOARD) {
            return Vec::new();
        }
        let root = root_of(plan);
        let own = place::stories(&|folder| disk.names(&join(root, folder)));
        own.into_iter().map(|name| join(root, &name)).chain(place::about_project(plan)).collect()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&BMAD, given))
    }

    fn companions_below(&self, _: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        write::companions(names)
    }
}

fn is_board(path: &str, disk: &dyn Disk) -> bool {
    let bytes = disk.read(path).unwrap_or_default();
    Board::read(&text::decode(&bytes).text).is_some()
}
