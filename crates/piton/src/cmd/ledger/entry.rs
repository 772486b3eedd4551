//! What somebody who worked on a unit of iterative work reports of it.

use clap::ValueEnum;
use piton_core::plan::Dialect;
use piton_core::run::{Command, Note, Report, Run, Status, Task};
use piton_core::system::iterative::plan::is_review;
use piton_core::system::iterative::progress;
use piton_engine::clock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reported {
    Done,
    /// Nothing had to be changed for it; --reason says why. The same as done --no-change
    Already,
    /// It goes on with what remains
    Unfinished,
    Failed,
    Blocked,
}

/// What somebody who worked on a unit reports of it, as an entry for the log.
pub(crate) fn entry(
    run: &Run,
    task: &Task,
    what: Reported,
    reason: Option<&str>,
    (told, by): (&Report, &str),
) -> Option<Command> {
    if run.settings.dialect() != Dialect::Iterative || is_review(run, task) {
        return None;
    }
    let is_at_it = matches!(task.decided, Status::InProgress | Status::Confirming);
    let number = if is_at_it { task.attempt } else { task.spent + 1 };
    let blockers = reason.unwrap_or_default().to_owned();
    let entry = progress::Entry {
        head: progress::Head {
            kind: progress::Kind::Iteration,
            unit: Some(task.id.clone()),
            number: Some(number),
            time: Some(clock::now().to_string()),
        },
        did: told.note.clone(),
        remaining: told.feedback.clone(),
        signal: match what {
            Reported::Done => format!("{}_DONE", task.id),
            Reported::Already => format!("{}_ALREADY:{blockers}", task.id),
            Reported::Blocked => format!("BLOCKED:{blockers}"),
            Reported::Failed | Reported::Unfinished => String::new(),
        },
        blockers,
        commit: told.commits.last().map(|commit| commit.hash.clone()).unwrap_or_default(),
        ..progress::Entry::default()
    };
    let note = Note::Entry { task: Some(task.id.clone()), text: entry.write(), for_next: false };
    Some(Command::Note { by: by.to_owned(), note })
}
