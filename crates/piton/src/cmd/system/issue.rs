//! What is peculiar to runs of an issue: how they begin, and what is told when they end.

use std::process::Command as Process;

use camino::Utf8PathBuf;
use piton_core::plan::{Oid, RepoPath, RunId, TaskId};
use piton_core::run::{Command, Note, Past, Proof, Report, Status, StopReason};
use piton_core::system::issue::plan::VALIDATION;
use piton_core::system::issue::{state, tell};
use piton_core::system::kept;
use piton_core::view::counted;
use piton_engine::clock;
use piton_engine::git::{GitError, Repo};
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::cmd::integrate::import;
use crate::failure::{Failure, Outcome};
use crate::plans::{self, Aside, FoundPlan};
use crate::ui;

/// Where the tasks of an issue are worked on, one after the other: beside the project, named after both.
pub(crate) fn workplace(project: &Project, found: &FoundPlan) -> String {
    let (name, plan) = (project.root.file_name(), found.path.file_name());
    let name = format!("{}-{}", name.unwrap_or("project"), plan.unwrap_or("issue"));
    project.root.parent().unwrap_or(&project.root).join(name).into_string()
}

/// The branch of the issue that a plan is for.
pub(crate) fn branch(found: &FoundPlan) -> Option<String> {
    found.issue.as_ref().map(|reading| reading.issue.branch())
}

/// What was done before the run: what the list and the state file say, as far as the files that they name are there; and
/// the branch that work is to land on.
pub(crate) fn past(
    found: &FoundPlan,
    project: &Project,
    onto: Option<&str>,
    aside: Aside,
) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.issue else { return Ok(Vec::new()) };
    let known = look(found, project, aside)?.unwrap_or_default();
    let ground = Ground::of(project, onto)?;
    let by = || state::FILE.to_owned();
    let (mut commands, mut done) = (Vec::new(), 0);
    for spec in found.plan.tasks.iter().filter(|spec| spec.id.as_str() != VALIDATION) {
        let (before, told) = (reading.before.get(&spec.id), known.tasks.get(&spec.id));
        let ticked = before.is_some_and(|before| before.done);
        let claimed = told.is_some_and(|told| told.status == state::TaskWord::Completed);
        let mut report = told.map(|told| told.report.clone()).unwrap_or_default();
        let mut teller = by();
        if report.note.is_empty() && before.is_some_and(|before| before.is_branch) {
            report.note = branch_made(project, onto)?;
            teller = "piton".to_owned();
        }
        let missing = if ticked || claimed { ground.lacks(&report.created)? } else { None };
        let status = match missing {
            Some(file) => {
                ui::say(format!(
                    "{} is called done, but {} is not there: it is to be done",
                    spec.id,
                    ui::plain(file)
                ));
                Status::Pending
            }
            None if ticked || claimed => Status::Completed,
            None => Status::Pending,
        };
        let is_ours = before.is_some_and(|before| before.is_branch && !before.mark.is_done());
        done += u64::from(status == Status::Completed && (claimed || !is_ours));
        if status == Status::Completed {
            let past = Past {
                proof: Some(Proof::Reported),
                started_at: told.and_then(|told| told.started_at),
                completed_at: told.and_then(|told| told.completed_at),
                ..Past::plain(status)
            };
            let by = if claimed { state::FILE } else { reading.list };
            commands.push(Command::Adopt { task: spec.id.clone(), by: by.to_owned(), past: Box::new(past) });
        }
        if report != Report::default() {
            let note = Note::Told { task: spec.id.clone(), report: Box::new(report) };
            commands.push(Command::Note { by: teller, note });
        }
    }
    let now = clock::now();
    if known.created_at.max(known.updated_at).is_some_and(|at| at > now) {
        ui::say(format!("warning: {} tells of a time that is still to come", state::FILE));
    }
    if let Some(began) = known.created_at.filter(|began| *began <= now) {
        commands.push(Command::Note { by: by(), note: Note::Began { began } });
    }
    let has = |id: &TaskId| found.plan.tasks.iter().any(|spec| spec.id == *id);
    let orphans: Vec<&str> = known.tasks.keys().filter(|id| !has(id)).map(TaskId::as_str).collect();
    if !orphans.is_empty() {
        ui::say(format!("not in the plan any more, and kept: {}", orphans.join(", ")));
    }
    if aside == Aside::Put {
        // The numbers of headings are no tasks where what is below them is.
        let is_heading = |id: &TaskId| {
            let below = format!("{id}.");
            found.plan.tasks.iter().any(|spec| spec.id.as_str().starts_with(&below))
        };
        let is_open = |id: &&TaskId| {
            let is_done = known.tasks[*id].status == state::TaskWord::Completed;
            !has(id) && !is_done && !is_heading(id)
        };
        import::refuse_orphans(found, state::FILE, known.tasks.keys().filter(is_open))?;
    }
    let fields = known.carried(has);
    if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
        let note = Note::Carried { file: by(), fields };
        commands.push(Command::Note { by: by(), note });
    }
    if done > 0 {
        ui::say(format!("{} done before, by the list or the state file", counted(done, "task")));
    }
    Ok(commands)
}

/// What is done about the branch that work lands on, when a run begins.
fn branch_made(project: &Project, onto: Option<&str>) -> Outcome<String> {
    let (Some(repo), Some(branch)) = (project.repo()?, onto) else { return Ok(String::new()) };
    Ok(match repo.branch_tip(branch)? {
        Some(tip) => format!("The branch `{branch}` was there, at {}.", tip.short()),
        None => format!("Piton made the branch `{branch}`."),
    })
}

/// The state file in the plan's folder.
fn look(found: &FoundPlan, project: &Project, aside: Aside) -> Outcome<Option<state::ForeignState>> {
    let read = |text: &str| {
        let reading = state::read(text);
        (reading.state, reading.problems)
    };
    let path = found.path.join(state::FILE);
    Ok(plans::left(project, &path, read, "the list alone counts", aside)?.state())
}

/// What the next task begins with, where files of earlier ones have to be.
enum Ground<'a> {
    /// The branch is checked out there, or is to be made from what is.
    Folder(Utf8PathBuf),
    Tip(&'a Repo, Oid),
}

impl Ground<'_> {
    fn of<'p>(project: &'p Project, onto: Option<&str>) -> Outcome<Ground<'p>> {
        let here = || Ground::Folder(project.root.clone());
        let (Some(repo), Some(branch)) = (project.repo()?, onto) else { return Ok(here()) };
        let Some(tip) = repo.branch_tip(branch)? else { return Ok(here()) };
        let checkout = repo.checked_out_at(branch)?.filter(|path| path.is_dir());
        Ok(checkout.map_or(Ground::Tip(repo, tip), Ground::Folder))
    }

    /// The first of these files that is not there. What is no path of a project cannot be looked for.
    fn lacks<'f>(&self, files: &'f [String]) -> Result<Option<&'f String>, GitError> {
        for file in files {
            let Ok(path) = RepoPath::new(file) else { continue };
            let is_there = match self {
                Ground::Folder(folder) => folder.join(path.as_str()).exists(),
                Ground::Tip(repo, tip) => repo.has(tip, path.as_str())?,
            };
            if !is_there {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// What is left for a person, or for `gh`: the pull request of a finished issue, a comment on an unfinished one.
pub(crate) fn conclude(project: &Project, run: &RunId, reason: &StopReason, send: bool) -> Outcome {
    let Some(mut journal) = Journal::open_existing(&project.home)? else { return Ok(()) };
    let state = journal.load(run)?;
    let chronicle = journal.chronicle(run)?;
    let about = kept::about(&state);
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
    let ended = Process::new(program)
        .args(rest)
        .current_dir(&project.root)
        .stdin(std::process::Stdio::null())
        .status();
    match ended {
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
