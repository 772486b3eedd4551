//! Agents that judge, besides commands: a verifier for each unit, and a review of the whole at the end.

use super::unit::Unit;
use crate::plan::{Argv, Check, Content, Group, GroupId, Iterative, TaskId, TaskSpec, Words};
use crate::review::whether_done;
use crate::run::{Run, Task};
use crate::system::config::{self, Config};
use crate::time::Span;

/// The group of the last task, which is not a unit, and its id unless a unit has it.
pub const REVIEW: &str = "review";
/// How often the work is fixed before the review is abandoned.
const FIXES: u32 = 3;
/// A reviewer may take as long as a worker.
const TIMEOUT: Span = Span::minutes(30);
/// Characters of a title that a question shows.
const SHOWN: usize = 200;

/// Whether a task of a run is that one.
pub fn is_review(run: &Run, task: &Task) -> bool {
    let group = run.groups.get(task.group as usize);
    run.settings.form.brief().is_some() && group.is_some_and(|group| group.id.as_str() == REVIEW)
}

/// The profile that looks at work: the first of these that the project has, else the agent that does the work.
fn looker(config: &Config, names: &[&str]) -> String {
    let known = names.iter().find(|name| config.agents.contains_key(**name)).map(|name| (*name).to_owned());
    known.or_else(|| config.defaults.agent.clone()).unwrap_or_else(|| config::DEFAULT_AGENT.to_owned())
}

fn check(config: &Config, names: &[&str], ask: String) -> Check {
    let run = Argv::Review { agent: looker(config, names), ask };
    Check::new(config::check_name(&run), run, TIMEOUT)
}

/// A verifier looks whether a unit is done.
pub(super) fn verifier(config: &Config, id: &TaskId, title: &str, unit: &Unit) -> Check {
    let title: String = title.chars().take(SHOWN).collect();
    let mut ask = format!("{}{title}\n", whether_done(id));
    if unit.criteria.is_empty() {
        ask += "\nNothing more is said about when it is done: take its title at its word.\n";
    } else {
        ask += "\nEach of these has to hold:\n\n";
        unit.criteria.iter().for_each(|criterion| ask += &format!("- {criterion}\n"));
    }
    if !unit.outputs.is_empty() {
        ask += "\nWhat it makes:\n\n";
        unit.outputs.iter().for_each(|output| ask += &format!("- {}\n", output.value));
    }
    ask += "\nSee for yourself, whatever anybody says about it. What is only begun, stands in for something or is \
            used nowhere is not done: name it as MAJOR.";
    check(config, &["verifier"], ask)
}

/// The last task: when every unit is done, a reviewer looks at all of it, and what it finds is fixed.
pub(super) fn review(
    config: &Config,
    about: &Iterative,
    units: &[TaskSpec],
    group: u32,
) -> (Group, TaskSpec) {
    let folded: std::collections::HashSet<String> = units.iter().map(|unit| unit.id.folded()).collect();
    let names = std::iter::once(REVIEW.to_owned()).chain((2..).map(|nth| format!("{REVIEW}-{nth}")));
    let name = names.into_iter().find(|name| !folded.contains(name)).unwrap_or_default();
    let id = TaskId::new(&name).expect("a word and a number are an id");
    let prompt = format!(
        "Every unit of {} is done, but the review of the whole has found problems. They are listed below. Fix the causes; do not undo anything that was asked for.",
        about.name
    );
    let task = TaskSpec {
        group,
        depends_on: units.iter().map(|unit| unit.id.clone()).collect(),
        criteria: about.done_when.clone(),
        checks: vec![check(config, &["reviewer", "verifier"], ask(about))],
        priority: 1,
        attempts: 1 + FIXES,
        confirm: false,
        may_change_nothing: true,
        check_first: true,
        may_fail: false,
        gate: true,
        source: Some(Content::of_words(&Words { criteria: &about.done_when, ..Words::default() })),
        ..config.task(id, "Review the whole", prompt)
    };
    let id = GroupId::new(REVIEW).expect("a word is a group");
    (Group { id, title: "Review".to_owned() }, task)
}

fn ask(about: &Iterative) -> String {
    let mut ask = format!("the work on {} as a whole, now that every part of it is done.\n", about.name);
    if !about.outcome.is_empty() {
        ask += &format!("\nWhat is wanted:\n\n{}\n", about.outcome);
    }
    for (title, items) in [("It is done when:", &about.done_when), ("It has to keep to:", &about.constraints)]
    {
        if !items.is_empty() {
            ask += &format!("\n{title}\n\n");
            items.iter().for_each(|item| ask += &format!("- {item}\n"));
        }
    }
    ask += "\nLook for what falls between the parts: what is missing, what contradicts itself, what nobody uses.";
    ask
}
