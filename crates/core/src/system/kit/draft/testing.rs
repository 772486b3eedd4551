//! Plans that were made of drafts, as tests of the rooms show them.

use std::fmt::Write as _;

use crate::diagnostic::{Severity, place};
use crate::order::Pairs;
use crate::plan::TaskSpec;
use crate::system::config::read_config;
use crate::system::{Folder, Given, ReadPlan, Reading, Strictness, SystemRef};

/// What a system makes of files, the first of which is the plan.
pub(in crate::system) fn read(system: SystemRef, files: &[(&str, &str)]) -> Box<dyn ReadPlan> {
    read_bytes(system, &files.iter().map(|(name, text)| (*name, text.as_bytes())).collect::<Vec<_>>())
}

pub(in crate::system) fn read_bytes(system: SystemRef, files: &[(&str, &[u8])]) -> Box<dyn ReadPlan> {
    let config = read_config("[defaults]\nchecks = [\"true\"]\n").0;
    let (place, _) = files.first().expect("a plan");
    let name = place.rsplit('/').next().unwrap_or(place);
    let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).into_map();
    let given = Given { strictness: Strictness::Lenient, ..Given::new(name, place, &config) };
    system.read(&Folder { files }, &given)
}

/// A line for each task, and one for each problem.
pub(in crate::system) fn shown(reading: &Reading) -> String {
    let mut text = String::new();
    for group in &reading.plan.groups {
        writeln!(text, "group {}: {}", group.id, group.title).expect("a text");
    }
    reading.plan.tasks.iter().for_each(|task| text += &shown_task(reading, task));
    text + &problems(reading)
}

fn shown_task(reading: &Reading, task: &TaskSpec) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let mut text = format!("{} {:?}", task.id, task.title);
    if reading.before.get(&task.id).is_some_and(|before| before.done) {
        text += " done";
    }
    if task.by_person {
        text += " by a person";
    }
    if !task.depends_on.is_empty() {
        text += &format!(" after {}", list(task.depends_on.iter().map(ToString::to_string).collect()));
    }
    if !task.files.is_empty() {
        text += &format!(" in {}", list(task.files.iter().map(ToString::to_string).collect()));
    }
    if task.priority != 50 {
        text += &format!(" priority {}", task.priority);
    }
    let checks: Vec<String> = task.checks.iter().map(|check| check.run.to_string()).collect();
    if checks != ["true"] {
        text += &format!(" checks {}", list(checks));
    }
    if !task.criteria.is_empty() {
        text += &format!(" so that {}", list(task.criteria.iter().map(|text| format!("{text:?}")).collect()));
    }
    text + "\n"
}

/// The problems as people read them: `file:line:column: severity: message (label)`.
pub(in crate::system) fn problems(reading: &Reading) -> String {
    let mut text = String::new();
    for problem in &reading.problems {
        let source = reading.texts.get(&problem.file).map(String::as_str).unwrap_or_default();
        let said = &problem.diagnostic;
        assert!(source.get(said.span.clone()).is_some(), "{said:?} is not a place of {}", problem.file);
        let (line, column) = place(source, said.span.start);
        let severity = if said.severity == Severity::Error { "error" } else { "warning" };
        writeln!(text, "{}:{line}:{column}: {severity}: {} ({})", problem.file, said.message, said.label)
            .expect("a text");
    }
    text
}
