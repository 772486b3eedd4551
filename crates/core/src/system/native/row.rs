//! Piton's own plans in the table of systems.

use std::collections::BTreeMap;

use super::{Config, Overrides, add, fit, new, read, write};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Plan, TaskId};
use crate::run::Refusal;
use crate::system::export::{Note, Source, Written};
use crate::system::finding::join;
use crate::system::{
    Addition, Asked, Begun, Claim, Disk, FileClaim, Files, Folder, Form, Given, Policy, Problem, ReadPlan,
    Reading, Starter, Strength, System,
};

/// What a plan in a folder is called.
const FILE: &str = "plan.toml";

/// `plan.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl System for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "plan.toml"
    }

    fn plain(&self) -> Form {
        Form::Native
    }

    fn policy(&self) -> Policy {
        Policy { as_written: true, holds_settings: true, asks_for_report: true, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, ..Files::default() }
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        disk.is_file(&join(folder, FILE)).then(|| Claim::new(FILE, Strength::ByName))
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        let is_plan = name.ends_with(".toml") && disk.holds(path, "[[task]]");
        if is_plan { FileClaim::Yes } else { FileClaim::No }
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
        let stem = given.name.rsplit_once('.').map_or(given.name, |(stem, _)| stem);
        let (text, diagnostics, plan) = match std::str::from_utf8(bytes) {
            Ok(text) => {
                let read = read(text, stem, given.config, &Overrides::default());
                (text.to_owned(), read.diagnostics, read.plan)
            }
            Err(error) => {
                let message = format!("this file is not UTF-8 (at byte {})", error.valid_up_to());
                let read = read("", stem, given.config, &Overrides::default());
                (String::new(), vec![Diagnostic::error(0..0, message)], read.plan)
            }
        };
        let file = || given.place.to_owned();
        let problems =
            diagnostics.into_iter().map(|diagnostic| Problem { file: file(), diagnostic }).collect();
        let texts = [(file(), text)].into();
        Box::new(Reading { plan, problems, texts, project_path: None, before: BTreeMap::new() })
    }

    fn add(&self, folder: &Folder, plan: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        let mut changed = Vec::new();
        for (name, bytes) in &folder.files {
            let text = String::from_utf8_lossy(bytes);
            changed.extend(add(&text, plan, task)?.map(|after| (name.clone(), after.into_bytes())));
        }
        Ok(changed)
    }

    fn starter(&self, words: &[String]) -> Result<Starter, Refusal> {
        new::place(words)
    }

    fn begin(&self, asked: &Asked<'_>) -> Result<Begun, Refusal> {
        new::begin(asked)
    }

    fn fit(&self, plan: &Plan) -> Plan {
        fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, _: &dyn Fn(&TaskId) -> bool) -> Written {
        // What the project says already is not said again: it may hold what belongs in one place only.
        let mut own = fitted.clone();
        own.settings.agents.retain(|name, agent| config.agents.get(name) != Some(agent));
        let text = write(&own);
        let read = read(&text, &fitted.name, config, &Overrides::default());
        let wrong = read.diagnostics.into_iter().filter(|problem| problem.severity == Severity::Error);
        let wrong = wrong.map(|problem| Note::of_run("plan", problem.message)).collect();
        Written { files: vec![(format!("{}.toml", fitted.name), text)], back: read.plan, wrong }
    }

    fn not_exported(&self, _: Source<'_>) -> Vec<Note> {
        let text = "not written: a native plan has no state file, its runs are in the journal";
        vec![Note::of_run("state", text)]
    }
}
