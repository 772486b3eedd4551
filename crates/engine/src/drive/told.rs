//! What an agent is told, gathered from the journal: the same by the engine and by whoever asks what it would say.

use camino::Utf8Path;
use piton_core::dialect::chronicle::{self, Chronicle};
use piton_core::plan::{RunId, TaskId, TaskSpec};
use piton_core::prompt::{self, Advice, Answer, Broken, Caller, Prompts};
use piton_core::run::{Event, Note, Proof, Recorded, Reopening, Run, Task};
use piton_core::view::{Form, Orientation};

use super::iteration;
use crate::agent;
use crate::journal::{Journal, JournalError};
use crate::project::Project;
use crate::sandbox::{self, Guard};

/// Room for what the whole run has come to.
const OF_RUN: usize = 24 * 1024;
/// Room for what the tasks before it made.
const OF_NEEDS: usize = 12 * 1024;
/// So many of these tasks are looked at, and so many events of each: the last say what it came to.
const NEEDS: usize = 32;
const EVENTS: usize = 200;

/// The words of others that go into a prompt.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Why the last try failed, and what it is told about that.
    pub failure: Option<(String, String)>,
    /// What was completed under its id before.
    pub earlier: Option<Advice>,
    /// What people and scripts say it should do.
    pub advice: Vec<Advice>,
    pub guardrails: Vec<Advice>,
    /// What people answered.
    pub answers: Vec<Answer>,
    /// What the tasks that it rests on made.
    pub made: String,
    /// What the run has come to, for an agent that is to look further than its task.
    pub orientation: String,
}

/// What an agent can do where it works.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// Where it can write, in a sentence; empty without a fence.
    pub writable: String,
    /// How it calls Piton in a shell.
    pub piton: String,
}

impl Here {
    /// `place`: where it works, or the project it will be a worktree of. `piton`: this program.
    pub(super) fn new(guard: &Guard, place: &Utf8Path, piton: Option<&str>) -> Here {
        let piton = piton.map_or_else(|| "piton".to_owned(), agent::shell_name);
        Here { writable: guard.writable_in_words(place), piton }
    }
}

impl Told {
    pub(super) fn gather(
        journal: &Journal,
        run: &Run,
        task: &Task,
        spec: &TaskSpec,
        guardrails: Vec<Advice>,
    ) -> Result<Told, JournalError> {
        let failure = failure(journal, &run.id, task)?;
        let advice = advice(journal, &run.id, task, failure.as_ref())?;
        let wider = run.settings.rung(task.spent) == Some(prompt::WIDER);
        Ok(Told {
            earlier: earlier(journal, &run.id, task)?,
            advice,
            guardrails,
            answers: answers(journal, &run.id, task)?,
            made: made(journal, run, spec)?,
            orientation: if wider { orientation(journal, run)? } else { String::new() },
            failure,
        })
    }

    /// The text for one try. A confirming agent gets the first prompt and is not told that it confirms.
    pub(super) fn text(
        &self,
        prompts: &Prompts,
        run: &Run,
        task: &Task,
        spec: &TaskSpec,
        pass: u32,
        here: &Here,
    ) -> Result<String, Broken> {
        let first = pass > 0;
        let failure = self.failure.as_ref().filter(|_| !first);
        let feedback = failure.map(|(reason, feedback)| if feedback.is_empty() { reason } else { feedback });
        let caller = Caller {
            role: run.settings.rung(task.spent).filter(|_| !first),
            orientation: if first { "" } else { &self.orientation },
            made: &self.made,
            guardrails: &self.guardrails,
            // Whoever confirms has to know them, too: they are part of what is asked.
            answers: &self.answers,
            auto_answer: run.settings.auto_answer,
            writable: &here.writable,
            piton: Some(&here.piton),
        };
        let advice: Vec<Advice> = match first {
            true => Vec::new(),
            false => self.earlier.iter().chain(&self.advice).cloned().collect(),
        };
        let attempt = if first { 1 } else { task.attempt };
        prompt::prompt(prompts, spec, caller, attempt, feedback.map(String::as_str), &advice)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NoPrompt {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// What an agent would be told that began to work on the task now; `None` if there is no such task.
pub fn next_prompt(
    project: &Project,
    journal: &Journal,
    run: &Run,
    id: &TaskId,
    prompts: &Prompts,
) -> Result<Option<String>, NoPrompt> {
    let (Some(mut task), Some(spec)) = (journal.task(&run.id, id)?, journal.spec(&run.id, id)?) else {
        return Ok(None);
    };
    if !(task.is_engines() && task.status().holds_slot()) {
        task.attempt = task.spent + 1;
    }
    let piton = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    let guard = Guard::new(&run.session.fences, sandbox::wished(), project);
    let here = Here::new(&guard, &project.root, piton.as_deref());
    if let Some(text) = iteration::prompt(&project.root, run, &task, &spec, 0) {
        let earlier = earlier(journal, &run.id, &task)?;
        let answers = answers(journal, &run.id, &task)?;
        return Ok(Some(with_rest(text, earlier.as_ref(), &answers, &here)));
    }
    let told = Told::gather(journal, run, &task, &spec, guardrails(journal, &run.id)?)?;
    Ok(Some(told.text(prompts, run, &task, &spec, 0, &here)?))
}

/// The prompt of an iteration, with what was completed under its id before, where it can write and what people answered.
pub(super) fn with_rest(text: String, earlier: Option<&Advice>, answers: &[Answer], here: &Here) -> String {
    let earlier = earlier.map(|earlier| ("Before", earlier.text.as_str()));
    let writable = Some(("Where you can write", here.writable.as_str())).filter(|(_, text)| !text.is_empty());
    let with = |text: String, (title, more)| format!("{}\n\n## {title}\n\n{more}\n", text.trim_end());
    earlier.into_iter().chain(writable).fold(text, with) + &prompt::answers_section(answers)
}

/// What people answered, each with the reason for which the task had stopped then.
fn answers(journal: &Journal, run: &RunId, task: &Task) -> Result<Vec<Answer>, JournalError> {
    let mut answers = Vec::new();
    for known in &task.progress.answers {
        let Some(Event::Answered { by, text, to, said, .. }) = event(journal, run, Some(known.seq))? else {
            continue;
        };
        let asked = match event(journal, run, to)? {
            Some(Event::Failed { reason, .. }) => reason,
            _ => String::new(),
        };
        let words = match event(journal, run, said)? {
            Some(Event::AgentEnded { closing, .. }) => closing.words,
            _ => String::new(),
        };
        answers.push(Answer { asked, words, by, text });
    }
    Ok(answers)
}

fn event(journal: &Journal, run: &RunId, seq: Option<u64>) -> Result<Option<Event>, JournalError> {
    Ok(seq.map(|seq| journal.event(run, seq)).transpose()?.flatten().map(|recorded| recorded.event))
}

/// What its agent has to know about a task that was completed before and is open again.
fn earlier(journal: &Journal, run: &RunId, task: &Task) -> Result<Option<Advice>, JournalError> {
    let Some(reopened) = task.reopened.map(|seq| journal.event(run, seq)).transpose()?.flatten() else {
        return Ok(None);
    };
    let Event::Reopened { reason, was, .. } = reopened.event else { return Ok(None) };
    let landed = match &was {
        Some(Proof::Landed { commit, .. }) => format!("landed as {}", commit.short()),
        Some(_) => "was completed".to_owned(),
        // What nobody landed is in a rescue ref, and not in the way.
        None => return Ok(None),
    };
    let text = match reason {
        Reopening::Content { spec } => {
            let title = match journal.event(run, spec)?.map(|recorded| recorded.event) {
                Some(Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. }) => spec.title,
                _ => String::new(),
            };
            format!(
                "An earlier task with this id {landed}: {title}\nIts work is in the project. This is another task: do \
                 what is asked above, and undo the earlier work only where that asks for it."
            )
        }
        // Only work that never landed is judged again so.
        Reopening::Rejudged => return Ok(None),
        Reopening::Checks => format!("This task {landed}. Other checks decide about it now."),
        Reopening::Stale { reason } => format!("This task {landed}. It is open again: {reason}"),
    };
    Ok(Some(Advice { by: "piton".to_owned(), text }))
}

pub(super) fn failure(
    journal: &Journal,
    run: &RunId,
    task: &Task,
) -> Result<Option<(String, String)>, JournalError> {
    let Some(seq) = task.progress.feedback else { return Ok(None) };
    Ok(journal.event(run, seq)?.and_then(|recorded| match recorded.event {
        Event::Failed { reason, feedback, .. } => Some((reason, feedback)),
        Event::Adopted { past, .. } => past.failure(),
        _ => None,
    }))
}

/// What was said about the task and is not part of its failure anyway.
fn advice(
    journal: &Journal,
    run: &RunId,
    task: &Task,
    failure: Option<&(String, String)>,
) -> Result<Vec<Advice>, JournalError> {
    let told = failure.map(|(reason, feedback)| if feedback.is_empty() { reason } else { feedback });
    let failed = task.progress.feedback.unwrap_or(0);
    let mut advice: Vec<Advice> = Vec::new();
    for seq in &task.progress.advice {
        let recorded = journal.event(run, *seq)?;
        let Some((by, text)) = recorded.as_ref().and_then(|recorded| recorded.event.advice()) else {
            continue;
        };
        // What was written about an earlier failure is mended, or was of no use.
        if prompt::is_feedback_writer(by) && *seq < failed {
            continue;
        }
        if !told.is_some_and(|told| told.contains(text)) && advice.iter().all(|known| known.text != text) {
            advice.push(Advice { by: by.to_owned(), text: text.to_owned() });
        }
    }
    Ok(advice)
}

/// What everybody has to heed.
pub(super) fn guardrails(journal: &Journal, run: &RunId) -> Result<Vec<Advice>, JournalError> {
    let mut guardrails = Vec::new();
    journal.events_of_no_task(run)?.iter().for_each(|recorded| heed(&mut guardrails, recorded));
    Ok(guardrails)
}

/// Add a guardrail to the others, or take one out.
pub(super) fn heed(guardrails: &mut Vec<Advice>, recorded: &Recorded) {
    match &recorded.event {
        Event::Noted { by, note: Note::Guardrail { text } } => {
            guardrails.push(Advice { by: by.clone(), text: text.clone() });
        }
        Event::Noted { note: Note::GuardrailRemoved { text }, .. } => {
            // Lists show so much of it, and it is named by what they show.
            guardrails.retain(|known| chronicle::cut(&known.text, chronicle::TEXT) != *text);
        }
        _ => {}
    }
}

/// What the tasks came to that this one rests on: only these, so that a step costs the same in a plan of any size.
fn made(journal: &Journal, run: &Run, spec: &TaskSpec) -> Result<String, JournalError> {
    let (mut needs, mut events) = (Vec::new(), Vec::new());
    for id in spec.depends_on.iter().take(NEEDS) {
        let Some(need) = journal.spec(&run.id, id)? else { continue };
        let last = journal.last_events(&run.id, Some(id), EVENTS)?;
        if last.len() == EVENTS {
            // The plan's own event is what a story begins with, and may be long ago.
            events.extend(journal.events(&run.id, 0, Some(id), 1)?);
        }
        events.extend(last);
        needs.push(need);
    }
    if needs.is_empty() {
        return Ok(String::new());
    }
    events.sort_by_key(|recorded| recorded.seq);
    events.dedup_by_key(|recorded| recorded.seq);
    let mut told = Orientation::of_needs(run, &needs, &Chronicle::of(&events));
    told.cut_to(OF_NEEDS, Form::Text);
    Ok(told.to_string().trim().to_owned())
}

/// What the run has come to, in as much room as a prompt has for it.
fn orientation(journal: &Journal, run: &Run) -> Result<String, JournalError> {
    let chronicle = journal.chronicle(&run.id)?;
    let mut told = Orientation::new(run, &journal.specs(&run.id)?, &chronicle, None);
    told.cut_to(OF_RUN, Form::Text);
    Ok(told.to_string())
}
