//! Why a task is where it is, with everything that the journal and the worktrees tell about it.

use piton_core::plan::TaskId;
use piton_core::run::{Event, Run};
use piton_core::terminal::clean_text;
use piton_core::view::{self, Why};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::sandbox;

use crate::failure::Outcome;
use crate::runs::standing;
use crate::ui;

/// `None` if the run has no such task. Commands in it do not say which run they are about.
pub(crate) fn why(project: &Project, journal: &Journal, facts: &Run, task: &TaskId) -> Outcome<Option<Why>> {
    let run = &facts.id;
    let first_line = |text: String| ui::plain(text.lines().next().unwrap_or_default());
    let reason = |seq| match journal.event(run, seq).ok().flatten()?.event {
        Event::Failed { reason, .. } | Event::Skipped { reason, .. } => Some(first_line(reason)),
        Event::Adopted { past, .. } => past.failure().map(|(reason, _)| first_line(reason)),
        _ => None,
    };
    let words = |seq| match journal.event(run, seq).ok().flatten()?.event {
        Event::AgentEnded { closing, .. } => Some(clean_text(closing.words.as_bytes())),
        _ => None,
    };
    // What is on disk is there now.
    let is_past = journal.moment().is_some();
    let worktree = |id: &TaskId| {
        if is_past {
            return None;
        }
        let (dir, name) = (facts.worktree_dir.as_ref()?, facts.settings.worktree.place(id));
        let path = project.worktree_path_if_owned(run, dir.as_str().into(), name)?;
        path.is_dir().then(|| path.into_string())
    };
    let sources = view::Sources {
        engine_lives: standing::engine_lives(project, journal, facts),
        reason: &reason,
        words: &words,
        worktree: &worktree,
        first_dead: &|group| journal.first_dead(run, group).ok().flatten(),
        ahead: &|task| journal.under_way(run).map_or(0, |tasks| view::ahead(&tasks, task)),
    };
    let now = standing::now(journal);
    let Some(mut why) = journal.ask(run, |state| view::why(state, task, now, &sources))?.flatten() else {
        return Ok(None);
    };
    if !why.status.is_finished() && !is_past {
        // What cannot be read says nothing about the task.
        let refused = sandbox::guesses(&project.task_folder(run, task)).unwrap_or_default();
        let refused = refused.iter().map(|guess| (guess.line.as_str(), guess.allow.as_str()));
        why.add_refusals(refused, &facts.session.fences);
    }
    Ok(Some(why))
}
