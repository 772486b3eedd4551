//! What a system has to say to others when a run has ended: printed, or sent with `gh`.

use piton_core::plan::RunId;
use piton_core::run::StopReason;
use piton_core::system::Conclusion;
use piton_engine::git;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::runs::standing;
use crate::ui;

/// Whether the conclusion of a run leaves this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Print,
    SendWithGh,
}

pub(crate) fn conclude(project: &Project, run: &RunId, reason: &StopReason, delivery: Delivery) -> Outcome {
    let Some(mut journal) = project.existing_journal()? else { return Ok(()) };
    let system = standing::facts(&journal, run)?.settings.form.system();
    let Some(conclusion) = system.conclusion() else { return Ok(()) };
    let (state, chronicle) = (journal.load(run)?, journal.chronicle(run)?);
    let Some(Conclusion { text, sends }) = conclusion(&state, &chronicle, reason) else { return Ok(()) };
    if delivery == Delivery::Print {
        ui::say(format!("\n{text}"));
        ui::hint("piton run … --gh   sends it with `gh`");
        return Ok(());
    }
    sends.iter().try_for_each(|words| gh(project, words))
}

fn gh(project: &Project, words: &[String]) -> Outcome {
    let [program, rest @ ..] = words else { return Ok(()) };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let shown = words.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
    match git::send(program, &rest, &project.root) {
        Ok(status) if status.success() => {
            ui::say(format!("done: {shown}"));
            Ok(())
        }
        Ok(status) => Err(Failure::new(format!("`{shown}` failed ({status}); the work itself is safe"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("`{program}` is not installed; the work itself is safe"))
                .hint("without --gh, the texts are printed"))
        }
        Err(error) => Err(Failure::io(format!("cannot start {program}"))(error)),
    }
}
