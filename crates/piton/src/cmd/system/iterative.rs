//! What is peculiar to runs of the iterative system: what was done before them, and what is told of them.

use std::collections::BTreeMap;

use camino::Utf8Path;
use clap::Args;
use piton_core::plan::{Argv, Check, Dialect, Iterative, Mode, Oid, TaskId, TaskSpec};
use piton_core::run::{Claim as Claimed, Command, Note, Past, Report, Run, Status, Task};
use piton_core::system::issue::boxes;
use piton_core::system::issue::plan::Word;
use piton_core::system::iterative::plan::is_review;
use piton_core::system::iterative::rebuild::{self, Believed, Claim, Rebuilt, Unit};
use piton_core::system::iterative::state::{self, ForeignState, What};
use piton_core::system::iterative::{guardrails, progress};
use piton_core::system::kit::text;
use piton_core::view::counted;
use piton_engine::project::Project;
use piton_engine::{clock, disk, import};
use serde_json::json;

use crate::args::{By, Which};
use crate::cmd::ledger::report::{ReportArgs, Reported, holder};
use crate::cmd::steer::people;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, ARCHIVE, Aside, FoundPlan};
use crate::runs::find;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct PhaseArgs {
    /// What the phase is, where only a person can know: discover or plan before the first unit, deliver or complete
    /// after the review [default: only tell it]
    pub word: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The checks that were found in the project when a run of this plan began: those that every unit has.
pub(crate) fn checks_of(specs: &[TaskSpec]) -> Vec<Check> {
    let runs = |check: &&Check| matches!(check.run, Argv::Words(_) | Argv::Shell(_));
    let first = specs.iter().find(|spec| spec.confirm);
    first.map(|spec| spec.checks.iter().filter(runs).cloned().collect()).unwrap_or_default()
}

/// What there is to do, in the words of this system.
pub(crate) fn size(about: &Iterative) -> String {
    let unit = if about.mode == Mode::Development { "task" } else { "phase" };
    format!("{} and a review", counted(about.units.len() as u64, unit))
}

/// What was done before the run, as the log and git tell it; what a state file says beside them is compared. And what was
/// learned in work that is finished.
pub(crate) fn past(
    found: &FoundPlan,
    project: &Project,
    tip: Option<&Oid>,
    aside: Aside,
) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.iterative else { return Ok(Vec::new()) };
    let known = look(found, project, aside)?.unwrap_or_default();
    let log = words(&found.path.join(progress::FILE));
    let specs: Vec<&TaskSpec> =
        found.plan.tasks.iter().filter(|spec| reading.about.units.contains_key(&spec.id)).collect();
    // Nobody commits what is not code: it is there, or it is not.
    let is_looked_for = reading.about.mode == Mode::Knowledge;
    let units = units(&specs, project, tip.filter(|_| !is_looked_for), &log, &known)?;
    let claims: BTreeMap<TaskId, Claim> =
        known.units.iter().map(|(id, unit)| (id.clone(), unit.claim())).collect();
    if aside == Aside::Put {
        let has = |id: &TaskId| found.plan.tasks.iter().any(|spec| spec.id == *id);
        let is_open = |(id, claim): &(&TaskId, &Claim)| !has(id) && !claim.status.is_settled();
        crate::cmd::integrate::import::refuse_orphans(
            found,
            state::FILE,
            claims.iter().filter(is_open).map(|(id, _)| id),
        )?;
    }
    let rebuilt = rebuild::rebuild(&units, &log, &claims);
    tell(&rebuilt);
    let mut commands = Vec::new();
    let mut after = Vec::new();
    let is_done = |id: &TaskId| {
        let is = |one: &Believed| one.past.as_ref().is_some_and(|past| past.status == Status::Completed);
        rebuilt.units.iter().any(|one| one.unit == *id && is(one))
    };
    for (spec, believed) in specs.iter().zip(&rebuilt.units) {
        let told = known.units.get(&spec.id);
        let by = || if told.is_some() { state::FILE } else { progress::FILE }.to_owned();
        let logged = believed.past.as_ref().and_then(logged_blocker);
        if let Some(mut past) = believed.past.clone() {
            past.confirmations = told.map_or(0, |told| told.confirmations);
            past.completed_at = past
                .completed_at
                .or(told.and_then(|told| told.completed_at).filter(|_| past.status == Status::Completed));
            commands.push(Command::Adopt { task: spec.id.clone(), by: by(), past: Box::new(past) });
        }
        let limit =
            told.and_then(|told| told.limit).filter(|limit| (spec.attempts + 1..=100).contains(limit));
        if let Some(attempts) = limit.filter(|limit| *limit > believed.iterations) {
            after.push(Command::Raise { task: spec.id.clone(), by: by(), attempts });
        }
        let contradicted = rebuilt.differences.iter().any(|other| other.unit == spec.id.as_str());
        let said = told.and_then(|told| told.blocker()).filter(|_| !contradicted && !is_done(&spec.id));
        match logged.as_deref().or(said) {
            // What has to wait for others anyway waits; its turn comes when they are done.
            Some(reason) if spec.depends_on.iter().all(is_done) => after.push(Command::Report {
                task: spec.id.clone(),
                by: by(),
                fence: None,
                claim: Claimed::Blocked { reason: reason.to_owned() },
                report: Box::new(Report::default()),
            }),
            _ => {}
        }
        if told.is_some_and(|told| told.word.trim().eq_ignore_ascii_case("skipped")) && !is_done(&spec.id) {
            let reason = told.and_then(|told| told.reason.clone()).unwrap_or_default();
            after.push(Command::Skip { task: spec.id.clone(), by: by(), reason });
        }
    }
    commands.extend(after);
    commands.extend(noted(&known, found));
    if let Some(text) = rebuild::logged(&rebuilt.differences, clock::now()) {
        let note = Note::Entry { task: None, text, for_next: false };
        commands.push(Command::Note { by: "piton".to_owned(), note });
    }
    commands.extend(lessons(&found.path));
    Ok(commands)
}

/// For a run that begins anew: ticks of the one before are no claims, so the boxes are opened; and whoever reads the log,
/// which only grows, is told from where on it is about this run.
pub(crate) fn begin_anew(found: &FoundPlan) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.iterative else { return Ok(Vec::new()) };
    let path = found.path.join(reading.list);
    let bytes = std::fs::read(&path).map_err(Failure::io(format!("cannot read {path}")))?;
    let ticked = boxes::ticked(&bytes).len();
    let open: BTreeMap<TaskId, Word> =
        reading.about.units.keys().map(|id| (id.clone(), Word::Pending)).collect();
    if let Some(opened) = boxes::tick(&bytes, &open).filter(|opened| opened.bytes != bytes) {
        let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
        disk::write(&real, &opened.bytes).map_err(Failure::io(format!("cannot write {path}")))?;
        let ticks = counted(ticked as u64, "tick");
        ui::say(format!("{ticks} taken out of {}: everything is done anew", find::shown(&path)));
    }
    if words(&found.path.join(progress::FILE)).trim().is_empty() {
        return Ok(Vec::new());
    }
    let note = Note::Entry { task: None, text: progress::ANEW.to_owned(), for_next: false };
    Ok(vec![Command::Note { by: "piton".to_owned(), note }])
}

/// Why the log says that a person is needed.
fn logged_blocker(past: &Past) -> Option<String> {
    let last = past.errors.last().filter(|error| error.kind == "blocked" && past.status == Status::Failed)?;
    Some(last.message.clone()).filter(|reason| !reason.is_empty()).or(Some("it does not say why".to_owned()))
}

/// What is carried along of a state file beside its units.
fn noted(known: &ForeignState, found: &FoundPlan) -> Vec<Command> {
    let by = || state::FILE.to_owned();
    let mut commands = Vec::new();
    if let Some(began) = known.created.filter(|began| *began <= clock::now()) {
        commands.push(Command::Note { by: by(), note: Note::Began { began } });
    }
    let fields = known.carried(|id: &TaskId| found.plan.tasks.iter().any(|spec| spec.id == *id));
    if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
        commands.push(Command::Note { by: by(), note: Note::Carried { file: by(), fields } });
    }
    commands
}

/// What is there of each unit: in git, or where there is none, of what it makes.
fn units(
    specs: &[&TaskSpec],
    project: &Project,
    tip: Option<&Oid>,
    log: &str,
    known: &ForeignState,
) -> Outcome<Vec<Unit>> {
    let mut named: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    for entry in progress::entries(log) {
        if let Some(unit) = entry.head.unit.filter(|_| !entry.commit.is_empty()) {
            named.entry(unit).or_default().push(entry.commit);
        }
    }
    let mut in_git = match (project.repo()?, tip) {
        (Some(repo), Some(tip)) => {
            let specs: Vec<TaskSpec> = specs.iter().map(|spec| (*spec).clone()).collect();
            Some(import::found(repo, tip, &specs, &named)?)
        }
        _ => None,
    };
    let unit = |spec: &&TaskSpec| {
        let output = if in_git.is_none() { is_made(spec, project) } else { None };
        let git = in_git.as_mut().and_then(|all| all.remove(&spec.id)).unwrap_or_default();
        let raised = known.units.get(&spec.id).and_then(|told| told.limit).unwrap_or_default();
        let limit = spec.attempts.max(raised);
        Unit { id: spec.id.clone(), limit, commits: git.commits, landed: git.landed, output }
    };
    Ok(specs.iter().map(unit).collect())
}

/// Whether everything is there that a unit is to make; `None` if it names nothing.
fn is_made(spec: &TaskSpec, project: &Project) -> Option<bool> {
    let made = spec.checks.iter().filter_map(|check| match &check.run {
        Argv::Look { file, .. } => Some(project.root.join(file.as_str())),
        _ => None,
    });
    let there = made.map(|path| path.is_dir() || path.metadata().is_ok_and(|data| data.len() > 0));
    there.reduce(|all, one| all && one)
}

/// What is believed, and what of the state file is not.
fn tell(rebuilt: &Rebuilt) {
    let taken: Vec<&Believed> = rebuilt.units.iter().filter(|one| one.past.is_some()).collect();
    if !taken.is_empty() {
        ui::say(format!("{} before, by the log and by git:", counted(taken.len() as u64, "unit")));
    }
    for one in taken {
        let now = one.past.as_ref().map_or("pending", |past| past.status.name());
        ui::say(format!("  {:8} {now}: {}", one.unit, ui::plain(&one.why)));
    }
    for difference in &rebuilt.differences {
        ui::say(format!("warning: {}", ui::plain(&difference.to_string())));
    }
}

/// The state file in the plan's folder.
fn look(found: &FoundPlan, project: &Project, aside: Aside) -> Outcome<Option<ForeignState>> {
    let read = |text: &str| {
        let reading = state::read(text);
        (reading.state, reading.problems)
    };
    let path = found.path.join(state::FILE);
    Ok(plans::left(project, &path, read, "the log and git count", aside)?.state())
}

/// A file told in words; one that is not there says nothing.
fn words(path: &Utf8Path) -> String {
    std::fs::read(path).map(|bytes| text::decode(&bytes, false).text).unwrap_or_default()
}

/// What was learned in work that was put into the archive beside this, and does not stand here yet.
pub(crate) fn lessons(plan: &Utf8Path) -> Vec<Command> {
    let Some(archive) = plan.parent().map(|around| around.join(ARCHIVE)) else { return Vec::new() };
    let entries = archive.read_dir_utf8().into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path().to_owned()).collect();
    folders.sort();
    let mut known = words(&plan.join(guardrails::FILE));
    let mut commands = Vec::new();
    for folder in folders {
        let Some(more) = guardrails::seed(Some(&known), &words(&folder.join(guardrails::FILE))) else {
            continue;
        };
        let both = format!("{known}{more}");
        let name = folder.file_name().unwrap_or_default();
        commands.extend(
            guardrails::added(&known, &both).into_iter().map(|text| Command::Note {
                by: format!("{ARCHIVE}/{name}"),
                note: Note::Guardrail { text },
            }),
        );
        known = both;
    }
    if !commands.is_empty() {
        ui::say(format!("{} from the archive", counted(commands.len() as u64, "guardrail")));
    }
    commands
}

/// What somebody who worked on a unit reports of it, as an entry for the log.
pub(crate) fn entry(run: &Run, task: &Task, args: &ReportArgs, told: &Report, by: &str) -> Option<Command> {
    if run.settings.dialect != Dialect::Iterative || is_review(run, task) {
        return None;
    }
    let is_at_it = matches!(task.decided, Status::InProgress | Status::Confirming);
    let number = if is_at_it { task.attempt } else { task.spent + 1 };
    let blockers = args.reason.clone().unwrap_or_default();
    let entry = progress::Entry {
        head: progress::Head {
            kind: progress::Kind::Iteration,
            unit: Some(task.id.clone()),
            number: Some(number),
            time: Some(clock::now().to_string()),
        },
        did: told.note.clone(),
        remaining: told.feedback.clone(),
        signal: match args.what {
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

/// `piton phase`: where the whole stands. Most of it is derived; what only a person knows can be said, as in the file.
pub(crate) fn phase(args: &PhaseArgs) -> Outcome<Exit> {
    let mut found =
        if args.word.is_some() { find::run_to_change(&args.which, None) } else { find::run(&args.which) }?;
    if args.word.is_some() {
        found.settle_file()?;
    }
    let (now, chronicle) = (found.journal.load(&found.run)?, found.journal.chronicle(&found.run)?);
    let is_ours = now.run().is_some_and(|run| run.settings.dialect == Dialect::Iterative);
    let Some(file) = state::project(&now, &chronicle).filter(|_| is_ours) else {
        return Err(Failure::usage("only iterative work is in phases"));
    };
    let Some(word) = &args.word else {
        match args.json {
            true => ui::answer_json(&json!({ "phase": file.phase })),
            false => ui::answer_line(file.phase.word()),
        }
        return Ok(FINE);
    };
    let shown = state::value(&file);
    let mut wanted = shown.clone();
    wanted["phase"] = word.as_str().into();
    let edits = state::edits(&shown, &wanted);
    let refused = edits.iter().find_map(|edit| match &edit.what {
        What::Nonsense { why, .. } => Some(why.clone()),
        _ => None,
    });
    let now = file.phase.word();
    // Only before the first unit and after the last one is there a choice.
    let hint = match now {
        "discover" => "piton phase plan   is what can be said now",
        "plan" => "piton phase discover   is what can be said now",
        "deliver" => "piton phase complete   is what can be said now",
        "complete" => "piton phase deliver   is what can be said now",
        _ => "piton status   tells what is left to do",
    };
    if let Some(why) = refused {
        let failure = Failure::new(format!("the phase is {now}, not {}: {why}", ui::plain(word)));
        return Err(failure.hint(hint));
    }
    if edits.is_empty() && word != now {
        return Err(Failure::new(format!("the phase is {now}: the units tell")).hint(hint));
    }
    let by = holder(&args.by.by)?;
    for command in edits.iter().flat_map(|edit| state::commands(edit, &by)) {
        people::tell(&found.command(&command)?, args.json);
    }
    Ok(FINE)
}

/// What the log warns of: units whose last iterations went round in circles, and are not done yet.
pub(crate) fn warnings(plan: &Utf8Path, tasks: &[Task]) -> Vec<String> {
    let open = tasks.iter().filter(|task| task.decided != Status::Completed);
    let log = words(&plan.join(progress::FILE));
    open.filter_map(|task| progress::saturation(&log, &task.id)).collect()
}
