//! What a person answers to an agent at work. The next answer of one of its tools carries it.

use std::sync::Mutex;

use piton_core::plan::TaskId;
use piton_core::prompt::{self, Answer};
use piton_core::run::Event;

use crate::args::Which;
use crate::failure::Outcome;
use crate::runs::find;

/// The answers to one attempt that it has not been told.
pub(super) struct Answers {
    task: TaskId,
    /// The last event that was looked at. Nothing before the attempt began: that is in its prompt.
    seen: Mutex<u64>,
}

impl Answers {
    pub(super) fn to(task: &TaskId) -> Answers {
        let answers = Answers { task: task.clone(), seen: Mutex::new(0) };
        let began =
            |(seq, event): &(u64, Event)| matches!(event, Event::AttemptStarted { .. }).then_some(*seq);
        let last = answers.since(0).ok().and_then(|events| events.iter().rev().find_map(began));
        Answers { seen: Mutex::new(last.unwrap_or(u64::MAX)), ..answers }
    }

    fn since(&self, seen: u64) -> Outcome<Vec<(u64, Event)>> {
        // The environment of an attempt names its run.
        let run = std::env::var("PITON_RUN").ok();
        let found = find::run_of(&self.task, &Which { run, plan: None, project_path: None })?;
        let events = found.journal.events(&found.run, seen, Some(&self.task), usize::MAX)?;
        Ok(events.into_iter().map(|recorded| (recorded.seq, recorded.event)).collect())
    }

    /// Those that are new, in words for the agent. A look that fails says nothing: the next one may succeed.
    pub(super) fn untold(&self) -> Option<String> {
        let mut seen = self.seen.lock().ok()?;
        if *seen == u64::MAX {
            return None;
        }
        let events = self.since(*seen).ok()?;
        *seen = events.last().map_or(*seen, |(seq, _)| *seq);
        let answer = |(_, event)| match event {
            Event::Answered { by, text, .. } => {
                Some(Answer { asked: String::new(), words: String::new(), by, text })
            }
            _ => None,
        };
        let answers: Vec<Answer> = events.into_iter().filter_map(answer).collect();
        (!answers.is_empty()).then(|| prompt::answers_section(&answers).trim().to_owned())
    }
}
