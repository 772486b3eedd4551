//! Task Master in the table of systems.

use super::write::TaskFile;
use super::{FILE, FOLDER, STATE, TASKS, file, read};
use crate::system::finding::join;
use crate::system::kit::json;
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

#[derive(Clone, Copy, Debug)]
pub struct TaskMaster;

/// Its row.
pub static TASKMASTER: TaskMaster = TaskMaster;

/// The file of tasks, which is also what a run writes.
static FILE_OF_TASKS: TaskFile = TaskFile;

impl System for TaskMaster {
    fn name(&self) -> &'static str {
        "taskmaster"
    }

    fn about(&self) -> &'static str {
        "The tasks.json of Task Master"
    }

    fn plain(&self) -> Form {
        Form::Added(&TASKMASTER)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            plan_is_file: true,
            usual_folder: Some(FOLDER),
            lock_ending: Some(".lock"),
            ..Files::default()
        }
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let real = disk.real(folder).unwrap_or_else(|| folder.to_owned());
        let name = real.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_one = |path: &str| is_one(&join(folder, path), disk);
        match name {
            FOLDER => is_one(TASKS).then(|| Claim::new(TASKS, Strength::ByPlace)),
            "tasks" => is_one(FILE).then(|| Claim::new(FILE, Strength::ByPlace)),
            _ => None,
        }
    }

    /// In its own folder it is a file of Task Master, whatever it holds.
    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        let is_placed = || path.ends_with(&format!("{FOLDER}/{TASKS}"));
        if name == FILE && (is_placed() || is_one(path, disk)) { FileClaim::Yes } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, _: &dyn Disk) -> Vec<String> {
        let folder = plan.strip_suffix(TASKS).filter(|folder| folder.ends_with(&format!("{FOLDER}/")));
        folder.map(|folder| format!("{folder}{STATE}")).into_iter().collect()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&TASKMASTER, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&FILE_OF_TASKS]
    }
}

/// Whether a file has the shape of one of Task Master.
fn is_one(path: &str, disk: &dyn Disk) -> bool {
    let text = disk.read(path).map(|bytes| text::decode(&bytes).text);
    let root = text.and_then(|text| json::parse(&text).ok());
    root.is_some_and(|(root, _)| file::is_one(&root))
}
