//! `piton why`: the chain of causes.

use piton_core::plan::TaskId;
use piton_core::run::Event;
use piton_core::terminal::clean_text;
use piton_core::view;
use piton_engine::{clock, sandbox};

use crate::args::OfTask;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::{commands, ui};

pub(crate) fn why(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let first_line = |text: String| ui::plain(text.lines().next().unwrap_or_default());
    let reason = |seq| match journal.event(&run, seq).ok().flatten()?.event {
        Event::Failed { reason, .. } | Event::Skipped { reason, .. } => Some(first_line(reason)),
        Event::Adopted { past, .. } => past.failure().map(|(reason, _)| first_line(reason)),
        _ => None,
    };
    let words = |seq| match journal.event(&run, seq).ok().flatten()?.event {
        Event::AgentEnded { closing, .. } => Some(clean_text(closing.words.as_bytes())),
        _ => None,
    };
    let worktree = |id: &TaskId| {
        let (dir, name) = (facts.worktree_dir.as_ref()?, facts.settings.worktree.place(id));
        let path = project.worktree_path_if_owned(&run, dir.as_str().into(), name)?;
        path.is_dir().then(|| path.into_string())
    };
    let sources = view::Sources {
        engine_lives: project.engine_lives(&run),
        reason: &reason,
        words: &words,
        worktree: &worktree,
        first_dead: &|group| journal.first_dead(&run, group).ok().flatten(),
        ahead: &|task| journal.under_way(&run).map_or(0, |tasks| view::ahead(&tasks, task)),
    };
    let now = clock::now();
    let why = journal.ask(&run, |state| view::why(state, &args.task, now, &sources))?.flatten();
    let mut why = why.ok_or_else(|| find::no_task(&journal, &run, &args.task))?;
    if !why.status.is_finished() {
        let fences = facts.session.fences;
        // What cannot be read says nothing about the task.
        let refused = sandbox::guesses(&project.task_folder(&run, &args.task)).unwrap_or_default();
        why.add_refusals(refused.iter().map(|guess| (guess.line.as_str(), guess.allow.as_str())), &fences);
    }
    why.helps.iter_mut().for_each(|help| *help = commands::complete(help));
    why.causes.iter_mut().for_each(|cause| cause.text = commands::complete(&cause.text));
    if args.json {
        ui::answer_json(&serde_json::to_value(&why).unwrap_or_default());
    } else {
        ui::answer(why.to_string());
    }
    Ok(FINE)
}
