//! What is peculiar to runs of an issue: how they begin, and what is told when they end.

use piton_core::plan::RunId;
use piton_core::run::StopReason;
use piton_core::system::issue::{state, tell};
use piton_engine::git;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::plans::FoundPlan;
use crate::ui;

/// Where the tasks of an issue are worked on, one after the other: beside the project, named after both.
pub(crate) fn workplace(project: &Project, found: &FoundPlan) -> String {
    let (name, plan) = (project.root.file_name(), found.path.file_name());
    let name = format!("{}-{}", name.unwrap_or("project"), plan.unwrap_or("issue"));
    project.root.parent().unwrap_or(&project.root).join(name).into_string()
}

/// What is left for a person, or for `gh`: the pull request of a finished issue, a comment on an unfinished one.
pub(crate) fn conclude(project: &Project, run: &RunId, reason: &StopReason, send: bool) -> Outcome {
    let Some(mut journal) = Journal::open_existing(&project.home)? else { return Ok(()) };
    let state = journal.load(run)?;
    let chronicle = journal.chronicle(run)?;
    let about = state::about(&state);
    let number = about.number.to_string();
    let comment = tell::comment(&state, &chronicle);
    match reason {
        StopReason::Completed => {
            let request = tell::pull_request(&about, &state, &chronicle);
            if send {
                gh(project, &["git", "push", "--set-upstream", "origin", &about.branch])?;
                let words = [
                    "gh",
                    "pr",
                    "create",
                    "--head",
                    &about.branch,
                    "--title",
                    &request.title,
                    "--body",
                    &request.body,
                ];
                gh(project, &words)?;
                gh(project, &["gh", "issue", "comment", &number, "--body", &comment])?;
            } else {
                ui::say(format!(
                    "\nFor the pull request of {}:\n\n{}\n\n{}",
                    about.branch, request.title, request.body
                ));
                ui::hint("piton run … --gh   sends it with `gh`");
            }
        }
        StopReason::Ended if send => {
            gh(project, &["gh", "issue", "edit", &number, "--add-label", tell::NEEDS_REVIEW])?;
            gh(project, &["gh", "issue", "comment", &number, "--body", &comment])?;
        }
        StopReason::Ended => {
            ui::say(format!("\nFor the issue, with the label `{}`:\n\n{comment}", tell::NEEDS_REVIEW));
            ui::hint("piton run … --gh   sends it with `gh`");
        }
        _ => {}
    }
    Ok(())
}

fn gh(project: &Project, words: &[&str]) -> Outcome {
    let [program, rest @ ..] = words else { return Ok(()) };
    let told = words.iter().take(3).copied().collect::<Vec<_>>().join(" ");
    match git::send(program, rest, &project.root) {
        Ok(status) if status.success() => {
            ui::say(format!("done: {told}"));
            Ok(())
        }
        Ok(status) => {
            Err(Failure::new(format!("`{told}` did not succeed ({status}); the work itself is safe")))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("`{program}` is not installed; the work itself is safe"))
                .hint("without --gh, the texts are printed"))
        }
        Err(error) => Err(Failure::io(format!("cannot start {program}"))(error)),
    }
}
