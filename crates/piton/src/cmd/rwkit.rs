//! What is peculiar to runs of todolists: what was done before them, and lists of lists.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Severity;
use piton_core::dialect::rwkit::master::{self, Standing};
use piton_core::dialect::rwkit::state::{self, ForeignState, TaskWord, gate_of};
use piton_core::dialect::rwkit::{boxes, plan::RwkitReading};
use piton_core::dialect::text;
use piton_core::plan::{Argv, Check, TaskId, TaskSpec};
use piton_core::run::{Command, Note, Past, Proof, Report, Status};
use piton_core::view::counted;
use piton_engine::disk;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use super::Exit;
use crate::args::Run;
use crate::failure::{Failure, Outcome};
use crate::find;
use crate::reading::{self, FoundPlan};
use crate::{picture, ui};

/// The tests that were found in the project when a run of this plan began, if there is such a run.
pub(super) fn tests_of(specs: &[TaskSpec]) -> Vec<Check> {
    let gate = specs.iter().find(|spec| gate_of(&spec.id) == Some("unit_tests"));
    gate.map(|spec| spec.checks.clone()).unwrap_or_default()
}

/// What was done before the run: what the list and the state file say, as far as the files of the tasks are there. Gates
/// are looked at anew.
pub(super) fn past(found: &FoundPlan, project: &Project, journal: &Journal) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.list else { return Ok(Vec::new()) };
    let known = look(reading, project, journal)?.unwrap_or_default();
    let (mut commands, mut done) = (Vec::new(), 0);
    let by = || state::FILE.to_owned();
    for spec in found.plan.tasks.iter().filter(|spec| gate_of(&spec.id).is_none()) {
        let told = known.tasks.get(&spec.id).or_else(|| known.listed.get(&spec.id));
        let before = reading.before.get(&spec.id);
        let claimed = before.is_some_and(|before| before.done)
            || told.is_some_and(|told| told.status == TaskWord::Completed);
        let missing = claimed.then(|| missing(spec, project)).flatten();
        if let Some(file) = &missing {
            let file = ui::plain(file);
            ui::say(format!(
                "{} is called done, but {file} is not there or empty: it is to be done",
                spec.id
            ));
        }
        let proof = (claimed && missing.is_none()).then_some(Proof::Reported);
        done += u64::from(proof.is_some());
        let blocked = before.is_some_and(|before| before.blocked) && proof.is_none();
        let past = match told {
            Some(told) => Some(told.past(proof)),
            None if proof.is_some() => Some(plain(Status::Completed, 0, proof)),
            None if blocked => Some(plain(Status::Abandoned, spec.attempts, None)),
            None => None,
        };
        let worth = past.filter(|past| past.status != Status::Pending || past.spent > 0);
        let adopt = |past| Command::Adopt { task: spec.id.clone(), by: by(), past: Box::new(past) };
        commands.extend(worth.map(adopt));
        if let Some(report) = told.map(|told| told.report.clone()).filter(|told| *told != Report::default()) {
            let note = Note::Told { task: spec.id.clone(), report: Box::new(report) };
            commands.push(Command::Note { by: by(), note });
        }
    }
    if let Some(began) = known.started_at {
        commands.push(Command::Note { by: by(), note: Note::Began { began } });
    }
    let has = |id: &TaskId| found.plan.tasks.iter().any(|spec| spec.id == *id);
    let orphans: Vec<&str> = known.tasks.keys().filter(|id| !has(id)).map(TaskId::as_str).collect();
    if !orphans.is_empty() {
        ui::say(format!("not in the list any more, and kept: {}", orphans.join(", ")));
    }
    let fields = known.carried(has);
    if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
        commands.push(Command::Note { by: by(), note: Note::Carried { file: by(), fields } });
    }
    let entry = |text: String| Command::Note { by: by(), note: Note::Entry { task: None, text } };
    commands.extend(known.logs.iter().map(|log| entry(log.entry())));
    if done > 0 {
        ui::say(format!("{} done before, by the list or the state file", counted(done, "task")));
    }
    Ok(commands)
}

fn plain(status: Status, spent: u32, proof: Option<Proof>) -> Past {
    Past {
        status,
        spent,
        confirmations: 0,
        proof,
        base: None,
        work: None,
        recheck: false,
        started_at: None,
        completed_at: None,
        merged_at: None,
        commits: Vec::new(),
        errors: Vec::new(),
        feedback: Vec::new(),
    }
}

/// A file that a task that is called done should have made, and that is not there. Patterns and folders are looked at when
/// their checks run.
fn missing(spec: &TaskSpec, project: &Project) -> Option<String> {
    spec.checks.iter().find_map(|check| {
        let Argv::Look { file, .. } = &check.run else { return None };
        let path = project.root.join(file.as_str());
        let is_there = path.is_dir()
            || file.as_str().contains(['*', '?'])
            || path.metadata().is_ok_and(|data| data.len() > 0);
        (!is_there).then(|| file.to_string())
    })
}

/// A state file that somebody else left about this list. One that cannot be used is kept once.
fn look(reading: &RwkitReading, project: &Project, journal: &Journal) -> Outcome<Option<ForeignState>> {
    let path = project.root.join(state::FILE);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    let decoded = text::decode(&bytes, false);
    let found = state::read(&decoded.text);
    let known = found.state.piton_run.as_deref().and_then(|run| piton_core::plan::RunId::new(run).ok());
    if let Some(run) = known
        && journal.facts(&run)?.is_some()
    {
        // Our own, of this list or another: the journal knows it all.
        return Ok(None);
    }
    let problems: Vec<_> = decoded.problems.iter().chain(&found.problems).cloned().collect();
    if !problems.is_empty() {
        ui::say(picture::draw(&find::shown(&path), &decoded.text, &problems));
    }
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        keep(&path, "bad", &bytes)?;
        return Ok(None);
    }
    let list = Utf8Path::new(&reading.file);
    let about = found.state.todolist_path.as_deref().filter(|path| !path.trim().is_empty());
    if about.is_some_and(|about| !Utf8Path::new(about).ends_with(list) && !list.ends_with(about)) {
        ui::say(format!(
            "{} is about {}, another list: it is kept as .bak, and this list alone counts",
            find::shown(&path),
            ui::plain(about.unwrap_or_default())
        ));
        keep(&path, "bak", &bytes)?;
        return Ok(None);
    }
    // It is in the journal next, and is replaced then.
    keep(&path, "bak", &bytes)?;
    Ok(Some(found.state))
}

fn keep(path: &Utf8Path, ending: &str, bytes: &[u8]) -> Outcome {
    let kept = Utf8PathBuf::from(format!("{path}.{ending}"));
    disk::write(&kept, bytes).map_err(Failure::io(format!("cannot write {kept}")))?;
    if ending == "bad" {
        ui::say(format!("it is kept as {}, and the list alone counts", find::shown(&kept)));
    }
    Ok(())
}

/// Work on the lists of a master list, one after the other, and keep their rows. It ends with the worst that one of them
/// ended with, and goes on past those that ended with unfinished work.
pub(super) fn run_all(args: &Run, path: &Utf8Path, run: fn(&Run) -> Outcome<Exit>) -> Outcome<Exit> {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    let decoded = text::decode(&bytes, false);
    let lists = master::read(&decoded.text);
    let count = |list: &piton_core::plan::RepoPath| counts(&resolve(path, list.as_str())?);
    let mut problems = lists.problems.clone();
    problems.extend(master::compare(&lists, count));
    if !problems.is_empty() {
        ui::say(picture::draw(&find::shown(path), &decoded.text, &problems));
    }
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(Failure::new(format!("{} cannot be used", find::shown(path))));
    }
    let mut worst = super::FINE;
    for entry in &lists.entries {
        let Some(list) = &entry.list else {
            ui::say(format!("{} has no list yet, and is passed over", ui::plain(&entry.name)));
            continue;
        };
        let Some(file) = resolve(path, list.as_str()) else {
            return Err(Failure::new(format!("{list} is not there")).hint("correct the master list"));
        };
        let (done, total) = counts(&file).unwrap_or((0, 0));
        if total > 0 && done == total && !entry.is_open() {
            continue;
        }
        keep_row(path, list.as_str(), Standing { status: master::Word::InProgress, done, total })?;
        ui::say(ui::styled(ui::BOLD, find::shown(&file)));
        let ended = run(&Run { plan: file.clone(), ..args.clone() })?;
        let (done, total) = counts(&file).unwrap_or((done, total));
        let status = match ended {
            super::FINE => master::Word::Completed,
            _ => master::Word::InProgress,
        };
        keep_row(path, list.as_str(), Standing { status, done, total })?;
        worst = worst.max(ended);
        if ended != super::FINE && ended != UNFINISHED {
            return Ok(ended);
        }
    }
    Ok(worst)
}

/// Ended with work that is not done: the next list can be worked on all the same.
const UNFINISHED: Exit = 4;

/// A list that a master list names: beside it, or from the root of the project.
fn resolve(master: &Utf8Path, list: &str) -> Option<Utf8PathBuf> {
    let folder = reading::folder_of(master);
    let name = Utf8Path::new(list).file_name()?;
    let beside = [folder.join(list), folder.join(name)];
    let above = folder.ancestors().map(|above| above.join(list));
    beside.into_iter().chain(above).find(|path| path.is_file())
}

/// How many of its tasks a list has ticked, of how many.
fn counts(list: &Utf8Path) -> Option<(usize, usize)> {
    boxes::count(&std::fs::read(list).ok()?)
}

fn keep_row(path: &Utf8Path, list: &str, standing: Standing) -> Outcome {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    match master::update(&bytes, list, standing) {
        Some(new) if new != bytes => {
            disk::write(path, &new).map_err(Failure::io(format!("cannot write {path}")))
        }
        _ => Ok(()),
    }
}
