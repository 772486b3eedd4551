//! What is peculiar to runs of the iterative system: what was done before them, and what is told of them.

use std::collections::BTreeMap;

use camino::Utf8Path;
use clap::Args;
use piton_core::plan::{Argv, Check, Dialect, Iterative, Mode, TaskId, TaskSpec};
use piton_core::run::{Command, Note, Report, Run, Status, Task};
use piton_core::system::issue::plan::Word;
use piton_core::system::iterative::plan::is_review;
use piton_core::system::iterative::progress;
use piton_core::system::iterative::state::{self, What};
use piton_core::system::kit::boxes;
use piton_core::view::counted;
use piton_engine::takeover::text_of;
use piton_engine::{clock, disk};
use serde_json::json;

use crate::args::{By, Which};
use crate::cmd::ledger::report::{ReportArgs, Reported, holder};
use crate::cmd::steer::people;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::FoundPlan;
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
    if text_of(&found.path.join(progress::FILE)).trim().is_empty() {
        return Ok(Vec::new());
    }
    let note = Note::Entry { task: None, text: progress::ANEW.to_owned(), for_next: false };
    Ok(vec![Command::Note { by: "piton".to_owned(), note }])
}

/// What somebody who worked on a unit reports of it, as an entry for the log.
pub(crate) fn entry(run: &Run, task: &Task, args: &ReportArgs, told: &Report, by: &str) -> Option<Command> {
    if run.settings.dialect() != Dialect::Iterative || is_review(run, task) {
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
    let is_ours = now.run().is_some_and(|run| run.settings.dialect() == Dialect::Iterative);
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
    let log = text_of(&plan.join(progress::FILE));
    open.filter_map(|task| progress::saturation(&log, &task.id)).collect()
}
