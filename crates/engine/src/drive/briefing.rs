//! What goes into an agent's prompt, gathered from the journal. The engine and the commands that show a prompt use the
//! same code.

use camino::Utf8Path;
use piton_core::chronicle::{self, Chronicle};
use piton_core::order::Arrange;
use piton_core::plan::{Agent, Oid, RunId, TaskId, TaskSpec};
use piton_core::prompt::{
    self, Advice, Answer, Before, Brief, Broken, Commented, Failure, Other, Prompts, Try, Workplace,
};
use piton_core::run::{
    self, CheckLog, Class, Counts, Ending, Event, Holder, Note, Pointers, Proof, Recorded, Reopening, Run,
    Status, Task,
};
use piton_core::view::{self, Asked, Format, Orientation};

use super::{comments, iteration};
use crate::agent;
use crate::journal::{Journal, JournalError};
use crate::keeper::Job;
use crate::project::Project;
use crate::sandbox::{self, Guard};

/// Bytes for the state of the whole run.
const OF_RUN: usize = 24 * 1024;
/// Bytes for what the tasks that it depends on made.
const OF_NEEDS: usize = 12 * 1024;
/// At most so many of these tasks are read, and so many events of each: the last events tell the result.
const NEEDS: usize = 32;
const EVENTS: usize = 200;

/// What goes into a prompt beside the task.
#[derive(Clone, Debug, Default)]
pub(super) struct Briefing {
    /// How the last try failed.
    pub failure: Option<Failure>,
    /// The tries in which an agent worked.
    pub tries: Vec<Try>,
    /// Attempts that were spent before any agent worked. They are not counted in what agents read.
    pub looks: u32,
    /// What was completed under its id before.
    pub before: Option<Before>,
    /// What people and scripts say it should do.
    pub advice: Vec<Advice>,
    pub guardrails: Vec<Advice>,
    /// What people answered.
    pub answers: Vec<Answer>,
    /// What people say about lines of the work.
    pub comments: Vec<Commented>,
    /// What the tasks that it depends on made.
    pub made: String,
    /// The state of the run, for an agent that should look further than its task.
    pub orientation: String,
}

/// Where an agent works, and what it can do there.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// Where it can write, in sentences; empty without a fence.
    writable: String,
    /// How it calls Piton in a shell.
    piton: String,
    /// The commit that its work begins at, shortened; empty if it is unknown.
    base: String,
    has_git: bool,
    has_tools: bool,
}

impl Here {
    /// `place`: where it works, or the project it will be a worktree of. `piton`: this program. `base`: the commit that its
    /// work begins at.
    pub(super) fn new(
        project: &Project,
        guard: &Guard,
        place: &Utf8Path,
        piton: Option<&str>,
        base: Option<&Oid>,
        client: Option<&Agent>,
    ) -> Here {
        Here {
            writable: guard.writable_in_words(place),
            piton: piton.map_or_else(|| "piton".to_owned(), agent::shell_name),
            base: base.map(|base| base.short().to_owned()).unwrap_or_default(),
            has_git: project.repo().is_ok_and(|repo| repo.is_some()),
            has_tools: client.is_some_and(|client| !client.adapter.is_command() && !client.no_mcp),
        }
    }

    fn place(&self, run: &Run) -> Workplace<'_> {
        match (run.settings.no_commits, self.has_git) {
            (false, _) => Workplace::Worktree { base: &self.base },
            (true, true) => Workplace::Checkout,
            (true, false) => Workplace::Folder,
        }
    }
}

impl Briefing {
    pub(super) fn gather(
        journal: &Journal,
        project: &Project,
        run: &Run,
        task: &Task,
        spec: &TaskSpec,
        guardrails: Vec<Advice>,
    ) -> Result<Briefing, JournalError> {
        let History { failure, tries, looks } = history(journal, &project.home, &run.id, task)?;
        let mut advice = advice(journal, &run.id, task, failure.as_ref())?;
        advice.extend(run.conflicts_ahead.get(&task.id).map(|conflicts| Advice {
            by: "Piton".to_owned(),
            text: format!(
                "What others change meets this work: it will be in conflict {}. Keep your changes there small, so that both fit.",
                view::conflicts_ahead(conflicts)
            ),
        }));
        let wider = run.settings.rung(task.spent) == Some(prompt::WIDER);
        Ok(Briefing {
            before: before(journal, &run.id, task)?,
            advice,
            guardrails,
            answers: answers(journal, &run.id, task)?,
            comments: comments::gather(journal, project, run, task)?,
            made: made(journal, run, spec)?,
            orientation: if wider { orientation(journal, run)? } else { String::new() },
            failure,
            tries,
            looks,
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
        let brief = Brief {
            attempt: 1,
            attempts: task.budget.saturating_sub(self.looks),
            place: here.place(run),
            writable: &here.writable,
            piton: Some(&here.piton),
            has_tools: here.has_tools,
            auto_answer: run.settings.auto_answer,
            landing_checks: if run.settings.no_commits { &[] } else { &run.settings.landing_checks },
            made: &self.made,
            guardrails: &self.guardrails,
            // The agent that confirms needs them, too: they are part of what the task asks for.
            answers: &self.answers,
            comments: &self.comments,
            ..Brief::default()
        };
        let brief = match pass {
            0 => Brief {
                attempt: task.attempt.saturating_sub(self.looks).max(1),
                failure: self.failure.as_ref(),
                tries: &self.tries,
                before: self.before.as_ref(),
                role: run.settings.rung(task.spent),
                advice: &self.advice,
                orientation: &self.orientation,
                ..brief
            },
            _ => brief,
        };
        prompt::prompt(prompts, spec, brief)
    }

    /// The prompt of an iteration, with everything else that its agent has to know.
    pub(super) fn with_rest(&self, text: String, task: &Task, pass: u32, here: &Here) -> String {
        let before = self.before.as_ref().filter(|_| pass == 0).map(Before::with_title);
        let before = before.map(|text| ("What was here before", text));
        let writable = Some(("Where you can write", here.writable.clone()));
        let parts = before.into_iter().chain(writable).filter(|(_, text)| !text.is_empty());
        let with = |text: String, (title, more)| format!("{}\n\n## {title}\n{more}\n", text.trim_end());
        let mut text = parts.fold(text, with);
        // What an iteration left to do is in its log, and is not a failure.
        let is_told = |failure: &&Failure| pass == 0 && Ending::of(&failure.reason) != Ending::Other;
        if let Some(failure) = self.failure.as_ref().filter(is_told) {
            text += &prompt::order_section(&task.id, failure, &self.tries);
        }
        text + &prompt::answers_section(&self.answers) + &prompt::comments_section(&self.comments)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NoPrompt {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// The prompt of an agent that would begin the task now; `None` if there is no such task.
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
    let base = next_base(project, run, &task);
    let client = run.settings.agents.get(run::worker(run, &task));
    let here = Here::new(project, &guard, &project.root, piton.as_deref(), base.as_ref(), client);
    let guardrails = guardrails(journal, &run.id)?;
    let told = Briefing::gather(journal, project, run, &task, &spec, guardrails)?;
    Ok(Some(match iteration::prompt(&project.root, run, &task, &spec, 0, base.as_ref()) {
        Some(text) => told.with_rest(text, &task, 0, &here),
        None => told.text(prompts, run, &task, &spec, 0, &here)?,
    }))
}

/// The commit that an attempt would begin at now.
fn next_base(project: &Project, run: &Run, task: &Task) -> Option<Oid> {
    let progress = &task.progress;
    if progress.ready {
        return progress.base.clone();
    }
    let repo = project.repo().ok().flatten()?;
    let tip = repo.branch_tip(run.target.as_deref()?).ok().flatten()?;
    let base = progress.base.as_ref().filter(|base| repo.is_ancestor(base, &tip).unwrap_or(false));
    Some(progress.behind.as_ref().or(base).unwrap_or(&tip).clone())
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
fn before(journal: &Journal, run: &RunId, task: &Task) -> Result<Option<Before>, JournalError> {
    let Some(reopened) = task.reopened.map(|seq| journal.event(run, seq)).transpose()?.flatten() else {
        return Ok(None);
    };
    let Event::Reopened { reason, was, .. } = reopened.event else { return Ok(None) };
    let landed = match &was {
        Some(Proof::Landed { commit, .. }) => format!("landed as {}", commit.short()),
        Some(_) => "was completed".to_owned(),
        // Work that never landed is in a rescue ref, and not in the way.
        None => return Ok(None),
    };
    Ok(Some(match reason {
        Reopening::Content { spec } => {
            let title = match journal.event(run, spec)?.map(|recorded| recorded.event) {
                Some(Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. }) => spec.title,
                _ => String::new(),
            };
            let text = format!(
                "Another task had this id before and {landed}. Its work is in the project. Do what is asked above, and \
                 undo the earlier work only where that asks for it. The earlier task, quoted:"
            );
            Before { text, title }
        }
        // Only work that never landed is judged again in this way.
        Reopening::Rejudged => return Ok(None),
        Reopening::Checks => Before {
            text: format!("This task {landed}. Its checks have changed since."),
            title: String::new(),
        },
        Reopening::Stale { reason } => {
            Before { text: format!("This task {landed}. It is open again, because:"), title: reason }
        }
    }))
}

/// Why the last try failed, and what the next agent reads about that.
pub(super) fn failure(
    journal: &Journal,
    run: &RunId,
    task: &Task,
) -> Result<Option<(Failure, Pointers)>, JournalError> {
    let Some(seq) = task.progress.feedback else { return Ok(None) };
    let is_answered = task.progress.answers.iter().any(|answer| answer.to == Some(seq));
    Ok(journal.event(run, seq)?.and_then(|recorded| match recorded.event {
        Event::Failed { reason, feedback, pointers, .. } => {
            Some((Failure { reason, feedback, is_answered, ..Failure::default() }, *pointers))
        }
        Event::Adopted { past, .. } => past.failure().map(|(reason, feedback)| {
            (Failure { reason, feedback, is_answered, ..Failure::default() }, Pointers::default())
        }),
        _ => None,
    }))
}

/// How the last try failed, with all that it points to, and the tries in which an agent worked.
fn history(journal: &Journal, home: &Utf8Path, run: &RunId, task: &Task) -> Result<History, JournalError> {
    if task.failure_seq.is_none() && task.progress.feedback.is_none() && task.spent == 0 {
        return Ok(History::default());
    }
    let (history, conflict) = tries(&journal.last_events(run, Some(&task.id), EVENTS)?);
    let Some((mut failure, mut pointers)) = failure(journal, run, task)? else { return Ok(history) };
    if Ending::of(&failure.reason) == Ending::Markers {
        // The conflict before it still has to be resolved.
        pointers = conflict;
    }
    let log = |CheckLog { check, log }: &CheckLog| {
        let path = Job::at(home.join(log)).output().beginning();
        path.exists().then(|| (check.clone(), path.into_string()))
    };
    failure.logs = pointers.logs.iter().filter_map(log).collect();
    failure.files = pointers.files;
    for id in pointers.others {
        if let Some(spec) = journal.spec(run, &id)? {
            let aim = spec.prompt.trim().split("\n\n").next().unwrap_or_default().to_owned();
            failure.others.push(Other { id, title: spec.title, aim });
        }
    }
    Ok(History { failure: Some(failure), ..history })
}

/// What has become of a task so far.
#[derive(Default)]
struct History {
    failure: Option<Failure>,
    /// The tries in which an agent worked since the task was last begun from nothing.
    tries: Vec<Try>,
    /// Attempts that were spent before any agent worked: the checks came first, and were red.
    looks: u32,
}

/// The tries so far, numbered as agents count them, and what the last conflict pointed to.
fn tries(events: &[Recorded]) -> (History, Pointers) {
    let (mut history, mut conflict) = (History::default(), Pointers::default());
    let (mut attempt, mut worked, mut commit) = (1, false, None);
    // Whether an agent or a person worked since an attempt was last spent: what an agent left may be judged in a later
    // try.
    let mut was_worked_on = false;
    for recorded in events {
        match &recorded.event {
            Event::AttemptStarted { attempt: number, holder, .. } => {
                (attempt, worked, commit) = (number.saturating_sub(history.looks).max(1), false, None);
                was_worked_on |= *holder != Holder::Engine;
            }
            Event::AgentEnded { .. } => (worked, was_worked_on) = (true, true),
            Event::WorkCaptured { work, .. } => commit = work.commit.clone(),
            Event::Failed { class: Class::Stopped, .. } => {}
            Event::Failed { reason, pointers, class, .. } => {
                if Ending::of(reason) == Ending::Conflict {
                    conflict = (**pointers).clone();
                }
                if worked {
                    let commit = commit.as_ref().map(|commit: &Oid| commit.short().to_owned());
                    history.tries.push(Try { attempt, end: reason.clone(), commit });
                }
                if *class == Class::Code {
                    history.looks += u32::from(!was_worked_on);
                    was_worked_on = false;
                }
            }
            Event::Reopened { reason: Reopening::Rejudged, .. } => {}
            // They are counted from the start again.
            Event::Reset { .. } | Event::Reopened { reason: Reopening::Content { .. }, .. } => {
                (history, was_worked_on) = (History::default(), false);
            }
            Event::Reopened { .. } | Event::LandingLost { .. } => history.tries.clear(),
            _ => {}
        }
    }
    (history, conflict)
}

/// Notes about the task that are not part of its failure anyway.
fn advice(
    journal: &Journal,
    run: &RunId,
    task: &Task,
    failure: Option<&Failure>,
) -> Result<Vec<Advice>, JournalError> {
    let told = failure.map(|Failure { reason, feedback, .. }| match feedback.is_empty() {
        true => reason.as_str(),
        false => feedback,
    });
    let failed = task.progress.feedback.unwrap_or(0);
    let mut advice: Vec<Advice> = Vec::new();
    for seq in &task.progress.advice {
        let recorded = journal.event(run, *seq)?;
        let Some((by, text)) = recorded.as_ref().and_then(|recorded| recorded.event.advice()) else {
            continue;
        };
        // Advice on an earlier failure is outdated: that failure is fixed, or the advice did not help.
        if prompt::is_feedback_writer(by) && *seq < failed {
            continue;
        }
        if !told.is_some_and(|told| told.contains(text)) && advice.iter().all(|known| known.text != text) {
            advice.push(Advice { by: by.to_owned(), text: text.to_owned() });
        }
    }
    Ok(advice)
}

/// The guardrails of the run, which every agent has to follow.
pub(super) fn guardrails(journal: &Journal, run: &RunId) -> Result<Vec<Advice>, JournalError> {
    let mut guardrails = Vec::new();
    journal.guardrail_events(run)?.iter().for_each(|recorded| heed(&mut guardrails, recorded));
    Ok(guardrails)
}

/// Add a guardrail to the others, or take one out.
pub(super) fn heed(guardrails: &mut Vec<Advice>, recorded: &Recorded) {
    match &recorded.event {
        Event::Noted { by, note: Note::Guardrail { text } } => {
            guardrails.push(Advice { by: by.clone(), text: text.clone() });
        }
        Event::Noted { note: Note::GuardrailRemoved { text }, .. } => {
            // Lists show only this much of the text, and a person names a guardrail by what they show.
            guardrails.retain(|known| chronicle::cut(&known.text, chronicle::TEXT) != *text);
        }
        _ => {}
    }
}

/// The results of the tasks that this one depends on: only these, so that a step costs the same in a plan of any size.
fn made(journal: &Journal, run: &Run, spec: &TaskSpec) -> Result<String, JournalError> {
    let (mut needs, mut events) = (Vec::new(), Vec::new());
    for id in spec.depends_on.iter().take(NEEDS) {
        let Some(need) = journal.spec(&run.id, id)? else { continue };
        let last = journal.last_events(&run.id, Some(id), EVENTS)?;
        if last.len() == EVENTS {
            // A story begins with the event that added the task, which may be long ago.
            events.extend(journal.events(&run.id, 0, Some(id), 1)?);
        }
        events.extend(last);
        needs.push(need);
    }
    if needs.is_empty() {
        return Ok(String::new());
    }
    events.arrange_by_key(|recorded| recorded.seq);
    events.dedup_by_key(|recorded| recorded.seq);
    let told = Orientation::of_needs(&run.id, &needs, &Chronicle::of(&events), OF_NEEDS);
    Ok(told.to_string().trim().to_owned())
}

/// The state of the run, cut to the room that a prompt has for it.
fn orientation(journal: &Journal, run: &Run) -> Result<String, JournalError> {
    let mut counts = Counts::default();
    journal.cells(&run.id)?.iter().for_each(|(_, of_cell)| counts.merge(of_cell));
    let told = journal.orientation(Asked {
        run: &run.id,
        done: counts.of(Status::Completed) as usize,
        planned: counts.total() as usize,
        task: None,
        most: OF_RUN,
        form: Format::Text,
    })?;
    Ok(told.to_string())
}

#[cfg(test)]
mod tests {
    use piton_core::run::{AgentEnd, Next};
    use piton_core::time::{Span, Timestamp};

    use super::*;

    fn task() -> TaskId {
        TaskId::new("T1").expect("an id")
    }

    fn begins(attempt: u32) -> Event {
        let (task, fence, holder) = (task(), u64::from(attempt), Holder::Engine);
        Event::AttemptStarted {
            task,
            attempt,
            fence,
            holder,
            agent: String::new(),
            instead_of: None,
            resumed: false,
        }
    }

    fn agent_ended() -> Event {
        Event::AgentEnded {
            task: task(),
            fence: 1,
            agent: String::new(),
            end: AgentEnd::Done,
            took: Span(0),
            report: None,
            closing: run::Closing::default(),
        }
    }

    fn failed(class: Class) -> Event {
        Event::Failed {
            task: task(),
            fence: 1,
            class,
            reason: "red".to_owned(),
            feedback: String::new(),
            next: Next::Again { not_before: None },
            behind: None,
            pointers: Box::default(),
        }
    }

    fn told(events: Vec<Event>) -> (u32, Vec<u32>) {
        let at = Timestamp(0);
        let events: Vec<Recorded> =
            events.into_iter().zip(1..).map(|(event, seq)| Recorded { seq, at, event }).collect();
        let (history, _) = tries(&events);
        (history.looks, history.tries.iter().map(|one| one.attempt).collect())
    }

    #[test]
    fn agents_are_told_how_often_agents_have_tried() {
        let red = || failed(Class::Code);
        assert_eq!(told(vec![begins(1), red(), begins(2)]), (1, vec![]), "its checks came first");
        let second = vec![begins(1), red(), begins(2), agent_ended(), red(), begins(3)];
        assert_eq!(told(second), (1, vec![1]));
        assert_eq!(told(vec![begins(1), agent_ended(), red(), begins(2)]), (0, vec![1]));
        // What an agent left is judged in a try of its own.
        let cut = vec![begins(1), agent_ended(), failed(Class::Limit), begins(1), red(), begins(2)];
        assert_eq!(told(cut), (0, vec![1]));
        let reset = Event::Reset { task: task(), by: "ann".to_owned() };
        assert_eq!(told(vec![begins(1), red(), reset, begins(1)]), (0, vec![]));
    }
}
