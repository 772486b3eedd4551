//! An iteration of an iterative plan: what its agent is told, and what its end means. Whatever else the agent has to know
//! stands in files that it is pointed to.

use std::fs;

use camino::Utf8Path;
use piton_core::plan::{Dialect, Iterative, Mode, Oid, TaskSpec};
use piton_core::prompt::is_command;
use piton_core::run::{AgentEnd, Command, Note, Report, Run, Task};
use piton_core::signal::{Reach, Signal, heard};
use piton_core::system::edit::What;
use piton_core::system::iterative::guardrails::{self, Guardrail};
use piton_core::system::iterative::plan::{LISTS, is_review};
use piton_core::system::iterative::{ending, prompt};
use piton_core::system::kept::Told;
use piton_core::system::kit::text;

use super::order::Order;
use crate::agent::{self, Message, Said};
use crate::keeper::Ended;

/// What the list is about, if the task is one of its units. The review of the whole is none.
fn about<'r>(run: &'r Run, task: &Task) -> Option<&'r Iterative> {
    let settings = &run.settings;
    let is_unit = settings.dialect == Dialect::Iterative && !is_review(run, task);
    settings.iterative.as_deref().filter(|_| is_unit)
}

/// What the agent of this pass is told. One that confirms gets the first prompt, and is not told that it confirms.
pub(super) fn prompt(
    root: &Utf8Path,
    run: &Run,
    task: &Task,
    spec: &TaskSpec,
    pass: u32,
    base: Option<&Oid>,
) -> Option<String> {
    let about = about(run, task)?;
    let commands: Vec<String> = spec
        .checks
        .iter()
        .filter(|check| is_command(check) && check.cwd.is_none())
        .map(|check| check.run.to_string())
        .collect();
    let outputs = about.units.get(&task.id).map(|unit| unit.outputs.as_slice()).unwrap_or_default();
    let made = outputs.iter().map(|output| format!("`{output}` is there, and not empty"));
    let criteria: Vec<String> = spec.criteria.iter().cloned().chain(made).collect();
    let plan = Utf8Path::new(&run.plan);
    let root = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
    let iteration = prompt::Iteration {
        slug: &about.slug,
        unit: task.id.as_str(),
        title: &spec.title,
        criteria: &criteria,
        number: task.attempt,
        limit: task.budget,
        folder: plan.strip_prefix(&root).unwrap_or(plan).as_str(),
        plan: LISTS[usize::from(about.mode == Mode::Knowledge)],
        guardrails: &lessons(plan),
        commits: !run.settings.no_commits,
        commands: &commands,
        base: base.map(Oid::short).unwrap_or_default(),
    };
    Some(if pass == 0 { iteration.prompt() } else { iteration.confirming() })
}

/// What there is to heed; a file that cannot be read holds nothing.
fn lessons(plan: &Utf8Path) -> Vec<Guardrail> {
    let bytes = fs::read(plan.join(guardrails::FILE)).unwrap_or_default();
    guardrails::parse(&text::decode(&bytes, false).text)
}

/// What the end of an agent means that ended well, and what is odd about how it said so. `None`: it ended otherwise, or
/// worked on something else.
pub(super) fn end(
    order: &Order,
    ended: &Ended,
    client: &agent::Heard,
    told: &[Told],
    said: Option<&Message>,
) -> Option<(AgentEnd, Vec<Command>)> {
    let Ended::Exited { code: 0 } = ended else { return None };
    if order.run.settings.dialect != Dialect::Iterative {
        return None;
    }
    let mut heard = heard(client.output(Reach::Message), &order.task.id, client.ended_at);
    heard.signal.take_if(|signal| !client.may_say(signal));
    if about(&order.run, &order.task).is_none() {
        // Whoever mends what the review found may do so without a word, or ask for a person.
        let Some(Signal::Escalate(reason)) = heard.signal else { return None };
        return Some((AgentEnd::Blocked { reason }, Vec::new()));
    }
    let mut told = told.to_vec();
    match said.map(|message| (&message.said, message.report.clone())) {
        Some((Said::Failed { .. }, _)) => return None,
        Some((Said::Done, report)) => told.push(by_command(What::ReportDone { report })),
        Some((Said::Blocked { reason }, report)) => {
            told.push(by_command(What::Blocked { reason: reason.clone(), report }));
        }
        Some((Said::Already { reason }, report)) => {
            let report = Report { already: reason.clone(), ..report };
            told.push(by_command(What::ReportDone { report }));
        }
        None => {}
    }
    let odd = heard.notes.iter().take(MOST_ODD).map(|text| {
        let note = Note::Entry { task: Some(order.task.id.clone()), text: text.clone(), for_next: false };
        Command::Note { by: "piton".to_owned(), note }
    });
    Some((ending(&heard, &told), odd.collect()))
}

/// Whoever prints more that looks like a signal and is none prints something else.
const MOST_ODD: usize = 5;

fn by_command(what: What) -> Told {
    let report = what.report().cloned().unwrap_or_default();
    Told { what: Some(what), report, entries: Vec::new(), guardrails: Vec::new() }
}
