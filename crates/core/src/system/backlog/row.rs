//! Backlog.md in the table of systems.

use super::config::Config;
use super::place::{self, CONFIGS, FOLDER};
use super::{read, write};
use crate::system::finding::join;
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// A folder of tasks.
#[derive(Clone, Copy, Debug)]
pub struct Backlog;

/// Its row.
pub static BACKLOG: Backlog = Backlog;

impl System for Backlog {
    fn name(&self) -> &'static str {
        "backlog"
    }

    fn about(&self) -> &'static str {
        "The tasks of Backlog.md, each a file"
    }

    fn plain(&self) -> Form {
        Form::Added(&BACKLOG)
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

    /// Other tools have a file of this name, too: what it says and what lies beside it counts.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let is_one = |name: &&&str| is_config(&join(folder, name), disk);
        let config = CONFIGS.iter().find(is_one)?;
        let files = place::files(&|below| disk.names(&join(folder, below)));
        let has_tasks = !place::tasks(files.iter().map(String::as_str)).is_empty();
        has_tasks.then(|| Claim::new(config, Strength::ByName))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if CONFIGS.contains(&name) { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        let (root, name) = plan.rsplit_once('/').unwrap_or(("", plan));
        if !CONFIGS.contains(&name) {
            return Vec::new();
        }
        let files = place::files(&|below| disk.names(&join(root, below)));
        files.into_iter().map(|file| join(root, &file)).collect()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&BACKLOG, given))
    }

    fn companions_below(&self, plan: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        write::companions(&Config::read(&text::decode(plan).text), names)
    }
}

fn is_config(path: &str, disk: &dyn Disk) -> bool {
    disk.is_file(path) && disk.read(path).is_some_and(|bytes| Config::read(&text::decode(&bytes).text).is_one)
}
