//! A pass of an agent in a system that has its own prompts and signals: the prompt, and what the agent's end means.

use std::fs;

use camino::Utf8Path;
use piton_core::plan::{Oid, TaskSpec};
use piton_core::run::{AgentEnd, Command, Note, Report, Run, Task};
use piton_core::signal::{Reach, heard};
use piton_core::system::edit::What;
use piton_core::system::state_files::AgentReport;
use piton_core::system::{self, Pass};

use super::order::Order;
use crate::agent::{self, Message, Said};
use crate::keeper::Ended;

/// The prompt of this pass; `None`: the usual one.
pub(super) fn prompt(
    root: &Utf8Path,
    run: &Run,
    task: &Task,
    spec: &TaskSpec,
    number: u32,
    base: Option<&Oid>,
) -> Option<String> {
    let plan = Utf8Path::new(&run.plan);
    let root = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
    let folder = plan.strip_prefix(&root).unwrap_or(plan).as_str();
    let read = |name: &str| fs::read(plan.join(name)).ok();
    run.settings.system().prompt(&Pass { run, task, spec, number, base, folder, read: &read })
}

/// What the end of an agent means that exited with 0, and notes about odd signals. `None`: it ended otherwise, or its
/// end has the usual meaning.
pub(super) fn end(
    order: &Order,
    ended: &Ended,
    client: &agent::Heard,
    told: &[AgentReport],
    said: Option<&Message>,
) -> Option<(AgentEnd, Vec<Command>)> {
    let Ended::Exited { code: 0 } = ended else { return None };
    let (run, task) = (&order.run, &order.task);
    let mut heard = heard(client.output(Reach::Message), &task.id, client.ended_at);
    heard.signal.take_if(|signal| !client.may_say(signal));
    let reported = said.map(reported);
    let ended = system::Ended { run, task, heard: &heard, reports: told, reported: reported.as_ref() };
    let (end, odd) = run.settings.system().ending(&ended)?;
    let odd = odd.into_iter().take(MOST_ODD).map(|text| {
        let note = Note::Entry { task: Some(task.id.clone()), text, for_next: false };
        Command::Note { by: "piton".to_owned(), note }
    });
    Some((end, odd.collect()))
}

/// Output with more lines that only look like a signal is about something else.
const MOST_ODD: usize = 5;

/// What an agent said by command.
fn reported(message: &Message) -> What {
    let report = message.report.clone();
    match &message.said {
        Said::Done => What::ReportDone { report },
        Said::Failed { reason } => What::Failed { reason: reason.clone(), report },
        Said::Blocked { reason } => What::Blocked { reason: reason.clone(), report },
        Said::Already { reason } => What::ReportDone { report: Report { already: reason.clone(), ..report } },
    }
}
