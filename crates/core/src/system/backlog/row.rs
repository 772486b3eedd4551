//! Backlog.md in the table of systems.

use super::config::Config;
use super::place::{self, CONFIGS, FOLDER, ROOT_CONFIG};
use super::{read, write};
use crate::system::finding::join;
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// How many folders a configuration at the root may lie above its tasks.
const DEEPEST: usize = 4;

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

    /// Other tools have a file of this name, too: what it says and what lies beside it counts. A configuration at the root of
    /// the project counts instead of that of the folder.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        if let Some(config) = root_config(folder, disk) {
            return has_tasks(folder, disk).then(|| Claim::new(&config, Strength::ByName));
        }
        let is_one = |name: &&&str| is_config(&join(folder, name), disk);
        if let Some(config) = CONFIGS.iter().find(is_one) {
            return has_tasks(folder, disk).then(|| Claim::new(config, Strength::ByName));
        }
        // The root of a project may be a plan of other systems, too.
        let is_root = is_root_config(&join(folder, ROOT_CONFIG), disk);
        is_root.then(|| Claim::new(ROOT_CONFIG, Strength::Fallback))
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        match name {
            ROOT_CONFIG if is_root_config(path, disk) => FileClaim::Yes,
            name if CONFIGS.contains(&name) => FileClaim::InItsFolder,
            _ => FileClaim::No,
        }
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        let (root, name) = plan.rsplit_once('/').unwrap_or(("", plan));
        if name != ROOT_CONFIG && !CONFIGS.contains(&name) {
            return Vec::new();
        }
        let root = match name {
            ROOT_CONFIG => tasks_of_root(plan, disk),
            _ => root.to_owned(),
        };
        let files = place::files(&|below| disk.names(&join(&root, below)));
        files.into_iter().map(|file| join(&root, &file)).collect()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read::read(folder, given).plan(&BACKLOG, given))
    }

    fn companions_below(&self, plan: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        let config = Config::read(&text::decode(plan).text);
        // A configuration beside the folder `tasks` is that of the folder.
        let is_of_folder = config.directory.is_none() && place::has_tasks(names);
        let folder =
            if is_of_folder { String::new() } else { place::of_root(config.directory.as_deref(), names) };
        write::companions(&config, &folder, names)
    }
}

fn config_at(path: &str, disk: &dyn Disk) -> Option<Config> {
    let bytes = disk.is_file(path).then(|| disk.read(path)).flatten()?;
    Some(Config::read(&text::decode(&bytes).text))
}

fn is_config(path: &str, disk: &dyn Disk) -> bool {
    config_at(path, disk).is_some_and(|config| config.is_one)
}

fn has_tasks(folder: &str, disk: &dyn Disk) -> bool {
    place::has_tasks(&|below| disk.names(&join(folder, below)))
}

/// The folder of tasks that a configuration at the root of a project is about.
fn tasks_of_root(config: &str, disk: &dyn Disk) -> String {
    let root = config.rsplit_once('/').map_or("", |(root, _)| root);
    let directory = config_at(config, disk).and_then(|config| config.directory);
    join(root, &place::of_root(directory.as_deref(), &|folder| disk.names(&join(root, folder))))
}

fn is_root_config(path: &str, disk: &dyn Disk) -> bool {
    is_config(path, disk) && has_tasks(&tasks_of_root(path, disk), disk)
}

/// The configuration at the root of the project that is about this folder, by its path from there.
fn root_config(folder: &str, disk: &dyn Disk) -> Option<String> {
    let real = disk.real(folder)?;
    let name = (1..=DEEPEST).map(|depth| format!("{}{ROOT_CONFIG}", "../".repeat(depth)));
    let mut known = name.filter(|name| is_config(&join(folder, name), disk));
    let name = known.next()?;
    let about = tasks_of_root(&join(folder, &name), disk);
    (disk.real(&about)? == real).then_some(name)
}
