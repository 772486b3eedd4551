//! What is peculiar to runs of todolists: what was done before them.

use camino::Utf8Path;
use piton_core::plan::{About, Argv, Check, TaskId, TaskSpec};
use piton_core::run::{Command, Note, Past, Proof, Report, Status};
use piton_core::system::rwkit::plan::RwkitReading;
use piton_core::system::rwkit::state::{self, ForeignState, TaskWord, gate_of};
use piton_core::view::counted;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::cmd::integrate::import;
use crate::failure::Outcome;
use crate::plans::{self, Aside, FoundPlan, Left};
use crate::runs::find;
use crate::ui;

/// The tests that were found in the project when a run of this plan began, if there is such a run.
pub(crate) fn tests_of(specs: &[TaskSpec]) -> Vec<Check> {
    let gate = specs.iter().find(|spec| gate_of(&spec.id) == Some("unit_tests"));
    gate.map(|spec| spec.checks.clone()).unwrap_or_default()
}

/// What was done before the run: what the list and the state file say, as far as the files of the tasks are there. Gates
/// are looked at anew.
pub(crate) fn past(
    found: &mut FoundPlan,
    project: &Project,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.list else { return Ok(Vec::new()) };
    let known = look(reading, project, journal, aside)?.unwrap_or_default();
    let settings = &mut found.plan.settings;
    settings.auto_answer |= known.auto_answer;
    let said = About {
        session_id: known.session_id.clone().unwrap_or_default(),
        clarified_requirements_path: known.clarified_requirements_path.clone().unwrap_or_default(),
        analysis_report_path: known.analysis_report_path.clone().unwrap_or_default(),
        ..About::default()
    };
    settings.list = settings.list.take().map(|list| Box::new(list.known_from(Some(&said))));
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
    if aside == Aside::Put {
        let is_open = |id: &&TaskId| {
            let word = known.tasks[*id].status;
            !has(id) && matches!(word, TaskWord::Pending | TaskWord::InProgress | TaskWord::Failed)
        };
        import::refuse_orphans(found, state::FILE, known.tasks.keys().filter(is_open))?;
    }
    let fields = known.carried(has);
    if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
        commands.push(Command::Note { by: by(), note: Note::Carried { file: by(), fields } });
    }
    let entry =
        |text: String| Command::Note { by: by(), note: Note::Entry { task: None, text, for_next: false } };
    commands.extend(known.logs.iter().map(|log| entry(log.entry())));
    if done > 0 {
        ui::say(format!("{} done before, by the list or the state file", counted(done, "task")));
    }
    Ok(commands)
}

fn plain(status: Status, spent: u32, proof: Option<Proof>) -> Past {
    Past { spent, proof, ..Past::plain(status) }
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

/// A state file that somebody else left about this list.
fn look(
    reading: &RwkitReading,
    project: &Project,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Option<ForeignState>> {
    let path = project.root.join(state::FILE);
    let read = |text: &str| {
        let reading = state::read(text);
        (reading.state, reading.problems)
    };
    let Left::Read { state: found, bytes } =
        plans::left(project, &path, read, "the list alone counts", aside)?
    else {
        return Ok(None);
    };
    let known = found.piton_run.as_deref().and_then(|run| piton_core::plan::RunId::new(run).ok());
    if let Some(run) = known
        && journal.facts(&run)?.is_some()
    {
        // Our own, of this list or another: the journal knows it all.
        return Ok(None);
    }
    let list = Utf8Path::new(&reading.file);
    let about = found.todolist_path.as_deref().filter(|path| !path.trim().is_empty());
    if about.is_some_and(|about| !Utf8Path::new(about).ends_with(list) && !list.ends_with(about)) {
        ui::say(format!(
            "{} is about {}, another list: it is kept as .bak, and this list alone counts",
            find::shown(&path),
            ui::plain(about.unwrap_or_default())
        ));
        aside.keep(&path, "bak", &bytes)?;
        return Ok(None);
    }
    // It is in the journal next, and is replaced then.
    aside.keep(&path, "bak", &bytes)?;
    Ok(Some(found))
}
