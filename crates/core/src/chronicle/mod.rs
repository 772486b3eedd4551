//! What a journal holds beyond the state: times, reports, errors and commits. No decision needs these, so the state
//! does not hold them. State files show them.
//!
//! It is a fold like the state, but over all events, and it cannot fail. Lists and texts are bounded, so that it stays
//! small enough to be stored with the journal. The full texts are in the events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{TaskId, TaskSpec};
use crate::run::{
    CheckResult, Class, CommitMade, Event, Holder, ImportedError, ImportedTask, Next, Note, Proof, Recorded,
    Reopening, Report, Session, Status, Tests, Verdict, verdict,
};
use crate::time::{Span, Timestamp};

#[cfg(test)]
pub(crate) mod bench;
mod facts;
mod made;
mod passes;
#[cfg(test)]
mod tests;

pub use facts::{
    Answered, BY_GIT, Changed, Commit, Context, Earlier, Entry, Failure, Feedback, Heard, Refused, Said,
    Stopped, WorkReport, Worktree,
};
pub use made::Made;
pub use passes::{Pass, PassFound};

/// Characters of the end of a check's output, as much as the files have always shown.
pub const DETAILS: usize = 1000;
/// Characters of any text from outside: several screens, which is more than people read in a state file.
pub const TEXT: usize = 4000;
/// The most characters of a journal's entry. Entries are written again if the file was deleted, so they are kept
/// unchanged up to this length.
pub const LONGEST_ENTRY: usize = 64_000;
/// Entries in a list. A task has at most 100 attempts; what comes more often is noise, and its newest part matters.
pub const ENTRIES: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chronicle {
    /// The last event that it has read, and its time.
    pub seq: u64,
    pub updated_at: Timestamp,
    pub created_at: Timestamp,
    /// When an engine first started, or a task was first worked on by hand.
    pub started_at: Option<Timestamp>,
    /// The session that began last, with what it was asked to do.
    pub session: Option<Session>,
    pub stopped: Option<Stopped>,
    /// A stop that was asked for since an engine began.
    pub stop_asked: Option<Said>,
    /// All of them, and all entries: a reader that finds one in a file has to know whether it is new.
    pub guardrails: Vec<Said>,
    pub entries: Vec<Entry>,
    pub refused: Vec<Refused>,
    /// Edits of state files that were applied: no edit is applied twice.
    pub heard: Vec<Heard>,
    /// Fields that Piton does not use, by file. They are copied into what Piton writes.
    pub carried: BTreeMap<String, Value>,
    /// How the last context update ended, until more is completed.
    pub context: Option<Context>,
    pub tasks: BTreeMap<TaskId, Story>,
}

/// One task from its first attempt on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Story {
    pub title: String,
    /// Where in the journal it was added: the order of the plan.
    pub added: u64,
    /// Position of its group in the plan.
    pub group: u32,
    /// The number of the attempt running or last run since the last reset; 0 before the first.
    pub attempt: u32,
    /// Passes of agents that were asked to confirm, since the last reset, and those of them that found work to do.
    pub confirmations: u32,
    pub reworked: u32,
    pub passes: Vec<Pass>,
    /// When it was first worked on, whatever was reset since.
    pub begun_at: Option<Timestamp>,
    /// The same since the last reset.
    pub started_at: Option<Timestamp>,
    pub verified_at: Option<Timestamp>,
    /// When the work was done: verified, or completed where nothing verified it.
    pub completed_at: Option<Timestamp>,
    /// When it became part of the target.
    pub merged_at: Option<Timestamp>,
    /// Where in the journal it was verified: the order of landing.
    pub queued: Option<u64>,
    /// Where in the journal it was completed, landed or not.
    pub completed: Option<u64>,
    /// It was completed, and its work has gone from the target since.
    pub lost: bool,
    pub worktree: Option<Worktree>,
    pub commits: Vec<Commit>,
    /// What git says about the work that was captured last; `None` if nothing was captured.
    pub changed: Option<Changed>,
    pub failures: Vec<Failure>,
    pub feedback: Vec<Feedback>,
    /// What people answered since the last reset.
    pub answers: Vec<Answered>,
    pub reports: Vec<WorkReport>,
    /// As last counted or reported.
    pub tests: Option<Tests>,
    /// The commands of the checks that ran last, and whether they passed.
    pub checked: Vec<(String, bool)>,
    /// What was before each reset.
    pub earlier: Vec<Earlier>,
    pub given_up: Option<Said>,
    pub skipped: Option<Said>,
    /// Time for one try.
    timeout: Span,
    open: Open,
}

/// What is known of a try until it fails: the first check that did not pass, and advice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Open {
    /// A fresh agent looks whether anything is left to do.
    confirming: bool,
    timed_out: bool,
    step: Option<String>,
    details: String,
    feedback: String,
}

impl Chronicle {
    pub fn of<'e>(events: impl IntoIterator<Item = &'e Recorded>) -> Chronicle {
        let mut chronicle = Chronicle::default();
        events.into_iter().for_each(|recorded| chronicle.apply(recorded));
        chronicle
    }

    pub fn task(&self, id: &TaskId) -> Option<&Story> {
        self.tasks.get(id)
    }

    /// Fold one event. An event about a task that was never added is ignored.
    pub fn apply(&mut self, recorded: &Recorded) {
        let Recorded { seq, at, event } = recorded;
        let (seq, at) = (*seq, *at);
        self.seq = seq;
        self.updated_at = at;
        match event {
            Event::RunCreated { .. } => self.created_at = at,
            Event::PlanAdopted { .. } | Event::SettingsAdopted { .. } => {}
            Event::TaskAdded { spec, .. } => {
                self.plan(spec);
                self.on(&spec.id, |story| story.added = seq);
            }
            Event::TaskChanged { spec, .. } => self.plan(spec),
            Event::TaskRemoved { task } => self.on(task, Story::release),
            Event::EngineStarted { session, .. } => {
                self.started_at.get_or_insert(at);
                self.session = Some(session.clone());
                self.stopped = None;
                self.stop_asked = None;
            }
            Event::EngineStopped { reason, .. } => {
                self.stopped = Some(Stopped { reason: reason.clone(), at });
            }
            Event::StopRequested { by, now } => {
                let text = if *now { "at once" } else { "after what is under way" };
                self.stop_asked = Some(Said { by: by.clone(), text: text.to_owned(), at });
            }
            Event::AttemptStarted { task, attempt, holder, .. } => {
                self.started_at.get_or_insert(at);
                self.on(task, |story| story.start(*attempt, holder, at));
            }
            Event::WorktreeReady { task, .. } => self.on(task, |story| {
                story.worktree.get_or_insert_default().created_at.get_or_insert(at);
            }),
            Event::AgentEnded { task, report, took, .. } => self.on(task, |story| {
                story.open.timed_out = *took >= story.timeout;
                story.pass_ended(at);
                report.iter().for_each(|report| story.hear(None, report, at));
            }),
            Event::WorkCaptured { task, work, .. } => self.on(task, |story| {
                story.pass_captured(work.found_work);
                work.commits.iter().for_each(|made| story.commit(made, Some(at)));
                if let (Some(commit), true, true) = (&work.commit, work.changed, work.commits.is_empty()) {
                    story.commit(&CommitMade { hash: commit.to_string(), subject: String::new() }, Some(at));
                }
                let named = !work.created.is_empty() || !work.modified.is_empty();
                if named || !work.changed {
                    let (created, modified) = (short(&work.created), short(&work.modified));
                    story.changed = Some(Changed { created, modified });
                }
            }),
            Event::ConfirmationStarted { task, .. } => self.on(task, |story| story.pass_began(at)),
            Event::VerificationStarted { .. }
            | Event::RunClosed { .. }
            | Event::ReviewerStarted { .. }
            | Event::ReviewerEnded { .. }
            | Event::ProviderAsked { .. }
            | Event::ProviderUnparked { .. } => {}
            Event::ChecksEnded { task, results, .. } => self.on(task, |story| story.check(results)),
            Event::Verified { task, .. } => self.on(task, |story| {
                story.verified_at = Some(at);
                story.completed_at = Some(at);
                story.queued = Some(seq);
            }),
            Event::Failed { task, class, reason, feedback, next, .. } => {
                self.on(task, |story| story.fail(*class, reason, feedback, next, at));
            }
            Event::ProofBegan { .. }
            | Event::ProofEnded { .. }
            | Event::LandingPrepared { .. }
            | Event::LandingReturned { .. }
            | Event::LandingWaits { .. }
            | Event::Request { .. } => {}
            Event::Completed { task, proof, counts, .. } => {
                self.context = None;
                let landed = matches!(proof, Proof::Landed { .. });
                self.on(task, |story| {
                    // Made by hand, and counted for this task.
                    for commit in counts {
                        story.commit(
                            &CommitMade { hash: commit.to_string(), subject: String::new() },
                            Some(at),
                        );
                    }
                    story.complete(landed.then_some(at), seq, at);
                });
            }
            Event::Marked { .. } | Event::HolderBound { .. } | Event::ClaimWaits { .. } => {}
            Event::Released { task, .. } => self.on(task, |story| {
                story.release();
                story.attempt = story.attempt.saturating_sub(1);
                if story.attempt == 0 {
                    story.started_at = None;
                }
            }),
            Event::LandingFound { task, .. } => {
                self.context = None;
                self.on(task, |story| story.complete(Some(at), seq, at));
            }
            Event::CleanedUp { task, .. } => self.on(task, |story| {
                if let Some(worktree) = &mut story.worktree {
                    worktree.cleaned_at = Some(at);
                    worktree.kept = None;
                }
            }),
            Event::CleanupRefused { task, reason, .. } => self.on(task, |story| {
                story.worktree.get_or_insert_default().kept = Some(cut(reason, TEXT));
            }),
            Event::Rescued { .. } => {}
            Event::Reported { task, by, report, .. } => {
                self.on(task, |story| story.hear(Some(by), report, at));
            }
            Event::Retried { task, .. } | Event::Unblocked { task, .. } | Event::Raised { task, .. } => {
                self.on(task, |story| story.given_up = None);
            }
            Event::Answered { task, by, text, .. } => {
                self.on(task, |story| {
                    let asked = story.failures.last().map(|failure| failure.message.clone());
                    // It is an order, so it is kept whole.
                    let said = Said { by: by.clone(), text: text.clone(), at };
                    let answered = Answered { asked: asked.unwrap_or_default(), said };
                    add(&mut story.answers, answered);
                });
            }
            Event::CommentsSent { .. } => {}
            Event::Reset { task, by } => self.on(task, |story| story.reset(by, at)),
            Event::Reopened { task, reason, .. } => {
                self.context = None;
                self.on(task, |story| story.reopen(reason, at));
            }
            Event::Skipped { task, by, reason } => self.on(task, |story| {
                story.release();
                story.skipped = Some(said(by, reason, at));
            }),
            Event::Adopted { task, past, .. } => {
                if past.started_at.is_some() || past.spent > 0 || past.proof.is_some() {
                    let began = past.started_at.unwrap_or(at);
                    // They come in the order of ids, not of time.
                    self.started_at = Some(self.started_at.map_or(began, |first| first.min(began)));
                }
                self.on(task, |story| story.adopt(past, seq, at));
            }
            Event::OutsideSeen { .. } => {}
            Event::GivenUp { task, by, reason } => self.on(task, |story| {
                story.release();
                story.given_up = Some(said(by, reason, at));
            }),
            Event::Noted { by, note } => self.note(by, note, at),
            Event::ContextUpdated { update } => {
                self.context = Some(Context { update: (**update).clone(), at });
            }
            Event::LandingLost { task, .. } => self.on(task, |story| {
                story.merged_at = None;
                story.completed = None;
                story.lost = true;
                story.release();
            }),
        }
    }

    fn on(&mut self, task: &TaskId, change: impl FnOnce(&mut Story)) {
        if let Some(story) = self.tasks.get_mut(task) {
            change(story);
        }
    }

    fn plan(&mut self, spec: &TaskSpec) {
        let story = self.tasks.entry(spec.id.clone()).or_default();
        story.title.clone_from(&spec.title);
        story.group = spec.group;
        story.timeout = spec.timeout;
    }

    fn note(&mut self, by: &str, note: &Note, at: Timestamp) {
        match note {
            Note::Guardrail { text } => self.guardrails.push(said(by, text, at)),
            Note::GuardrailRemoved { text } => {
                let text = cut(text, TEXT);
                self.guardrails.retain(|known| known.text != text);
            }
            Note::Entry { task, text, .. } => {
                let (task, text) = (task.clone(), cut(text, LONGEST_ENTRY));
                self.entries.push(Entry { task, by: by.to_owned(), text, at });
            }
            Note::Told { task, report } => self.on(task, |story| story.remark(by, report, at)),
            Note::Errors { task, errors } => {
                self.on(task, |story| story.write_down(errors));
            }
            Note::Carried { file, fields } => {
                lay_over(self.carried.entry(file.clone()).or_insert(Value::Null), fields);
            }
            Note::Began { began } => self.started_at = Some(*began),
            Note::Spent { .. }
            | Note::ChecksRan { .. }
            | Note::ConflictsAhead { .. }
            | Note::Commented { .. }
            | Note::CommentDropped { .. }
            | Note::Seen { .. }
            | Note::PlanUnreadable { .. } => {}
            Note::Heard { file, shown, edit } => {
                let heard = Heard { file: file.clone(), shown: *shown, edit: edit.clone() };
                add(&mut self.heard, heard);
            }
            Note::EditRefused { file, edit, reason, task } => {
                let attempt = |task: &TaskId| self.tasks.get(task).map_or(0, |story| story.attempt);
                let task = task.as_ref().map(|task| (task.clone(), attempt(task)));
                let (edit, reason) = (cut(edit, TEXT), cut(reason, TEXT));
                let refused = Refused { file: file.clone(), by: by.to_owned(), edit, reason, at, task };
                add(&mut self.refused, refused);
            }
        }
    }
}

impl Story {
    fn start(&mut self, attempt: u32, holder: &Holder, at: Timestamp) {
        if attempt != self.attempt {
            // What its passes did is in the number now.
            self.reworked = 0;
        }
        self.attempt = attempt;
        self.begun_at.get_or_insert(at);
        self.started_at.get_or_insert(at);
        self.given_up = None;
        self.skipped = None;
        self.open = Open::default();
        let gone = self.worktree.as_ref().is_none_or(|worktree| worktree.cleaned_at.is_some());
        if *holder == Holder::Engine && gone {
            self.worktree = Some(Worktree::default());
        }
    }

    fn check(&mut self, results: &[CheckResult]) {
        let passed = |result: &CheckResult| (result.command.clone(), result.verdict == Verdict::Pass);
        // What was only noticed is not a check of the plan's.
        let judged = results.iter().filter(|result| !matches!(result.verdict, Verdict::Noticed { .. }));
        self.checked = judged.map(passed).collect();
        // There is work to be judged, so the agent did not run out of time.
        self.open.timed_out = false;
        // Counted tests win over reported ones.
        self.tests = verdict::tests(results).or(self.tests);
        let failed = results.iter().find(|result| !result.verdict.lets_pass());
        if let Some(failed) = failed {
            self.open.step = Some(cut(&failed.command, TEXT));
            self.open.details = end_of(&failed.tail, DETAILS);
        }
    }

    fn fail(&mut self, class: Class, reason: &str, feedback: &str, next: &Next, at: Timestamp) {
        self.release();
        let open = std::mem::take(&mut self.open);
        // A stop is not a failure.
        if class != Class::Stopped {
            let failure = Failure {
                attempt: self.attempt,
                class,
                timed_out: open.timed_out,
                step: open.step.filter(|step| !step.is_empty()),
                message: cut(reason, TEXT),
                details: open.details,
                at: Some(at),
                kind: String::new(),
            };
            add(&mut self.failures, failure);
        }
        // The next prompt has only failures that an agent can fix. Only a code failure spends an attempt.
        let attempt = self.attempt + u32::from(class == Class::Code);
        let mut say =
            |text: &str| add(&mut self.feedback, Feedback { attempt, text: cut(text.trim_end(), TEXT) });
        if !open.feedback.is_empty() {
            say(&open.feedback);
        }
        // If a report gave advice, its bare reason is not advice.
        let repeats = feedback == open.feedback || feedback == reason && !open.feedback.is_empty();
        if !feedback.is_empty() && !repeats {
            say(feedback);
        }
        if let Next::Abandoned | Next::Skipped = next {
            self.given_up = Some(said("piton", reason, at));
        }
    }

    /// Import what another program recorded about it, with the times recorded there.
    fn adopt(&mut self, past: &ImportedTask, seq: u64, at: Timestamp) {
        self.attempt = past.attempt();
        self.confirmations = past.confirmations;
        self.begun_at = past.started_at;
        self.started_at = past.started_at;
        for commit in &past.commits {
            let (hash, subject) = (commit.hash.clone(), cut(&commit.subject, TEXT));
            let (attempt, is_fix, at) = (commit.attempt, commit.is_fix, commit.at);
            let fixed = cut(&commit.fixed, TEXT);
            add(&mut self.commits, Commit { hash, subject, attempt, is_fix, fixed, at });
        }
        for error in &past.errors {
            add(&mut self.failures, failure(error, error.attempt));
        }
        for told in &past.feedback {
            add(&mut self.feedback, Feedback { attempt: told.attempt, text: cut(&told.feedback, TEXT) });
        }
        if past.base.is_some() {
            let created_at = Some(past.started_at.unwrap_or(at));
            self.worktree = Some(Worktree { created_at, ..Worktree::default() });
        }
        match past.status {
            Status::Completed => {
                self.completed = Some(seq);
                self.queued = Some(seq);
                self.completed_at = Some(past.completed_at.unwrap_or(at));
                let landed = matches!(past.proof, Some(Proof::Landed { .. }));
                self.merged_at = past.merged_at.or(past.completed_at).or(Some(at)).filter(|_| landed);
            }
            Status::Abandoned => {
                let reason = past.errors.last().map(|error| error.message.as_str()).unwrap_or_default();
                self.given_up = Some(said("import", reason, at));
            }
            _ => {}
        }
    }

    /// Errors as a state file lists them, in their order. A failure with the message of one of them is that
    /// error with fewer details.
    fn write_down(&mut self, errors: &[ImportedError]) {
        for error in errors {
            let attempt = if error.attempt == 0 { self.attempt.max(1) } else { error.attempt };
            let mut written = failure(error, attempt);
            let is_same = |known: &Failure| known.message == written.message && known.kind.is_empty();
            if let Some(place) = self.failures.iter().rposition(is_same) {
                let known = self.failures.remove(place);
                (written.class, written.timed_out) = (known.class, known.timed_out);
                written.step = written.step.or(known.step);
                written.at = written.at.or(known.at);
                if written.details.is_empty() {
                    written.details = known.details;
                }
            }
            add(&mut self.failures, written);
        }
    }

    fn complete(&mut self, merged_at: Option<Timestamp>, seq: u64, at: Timestamp) {
        self.open = Open::default();
        self.completed_at.get_or_insert(at);
        self.queued.get_or_insert(seq);
        self.given_up = None;
        self.skipped = None;
        self.completed = Some(seq);
        self.lost = false;
        self.merged_at = merged_at;
    }

    /// What is under way ends. What is completed stays so.
    fn release(&mut self) {
        if self.completed.is_none() {
            self.verified_at = None;
            self.completed_at = None;
            self.queued = None;
        }
    }

    fn reset(&mut self, by: &str, at: Timestamp) {
        self.release();
        let earlier = Earlier {
            by: by.to_owned(),
            at,
            attempts: std::mem::take(&mut self.attempt),
            started_at: self.started_at.take(),
            failures: std::mem::take(&mut self.failures),
            feedback: std::mem::take(&mut self.feedback),
        };
        self.answers.clear();
        (self.confirmations, self.reworked) = (0, 0);
        self.passes.clear();
        add(&mut self.earlier, earlier);
        self.given_up = None;
        self.skipped = None;
        self.open = Open::default();
    }

    /// What an earlier task with this id did does not belong to this one.
    fn reopen(&mut self, reason: &Reopening, at: Timestamp) {
        self.completed = None;
        self.merged_at = None;
        self.release();
        if let Reopening::Content { .. } = reason {
            self.reset("piton", at);
            self.commits.clear();
            self.reports.clear();
            self.checked.clear();
            (self.changed, self.tests) = (None, None);
        }
    }

    /// A report that calls it neither done nor failed: advice is for the next attempt.
    fn remark(&mut self, by: &str, report: &Report, at: Timestamp) {
        let advice = std::mem::take(&mut self.open.feedback);
        self.hear(Some(by), report, at);
        self.open.feedback = advice;
        if !report.feedback.is_empty() {
            let text = cut(&report.feedback, TEXT);
            add(&mut self.feedback, Feedback { attempt: self.attempt + 1, text });
        }
    }

    fn hear(&mut self, by: Option<&str>, report: &Report, at: Timestamp) {
        report.commits.iter().for_each(|made| self.commit(made, Some(at)));
        self.tests = report.tests.or(self.tests);
        self.open.feedback = cut(&report.feedback, TEXT);
        let Report { note, files, created, exports, decisions, patterns, tests, .. } = report;
        let told = WorkReport {
            by: by.map(str::to_owned),
            attempt: self.attempt,
            at,
            note: cut(note, TEXT),
            files: short(files),
            created: short(created),
            exports: short(exports),
            decisions: short(decisions),
            patterns: short(patterns),
            tests: *tests,
        };
        add(&mut self.reports, told);
    }

    /// A capture names all that was committed since the base, and a person may name it again.
    fn commit(&mut self, made: &CommitMade, at: Option<Timestamp>) {
        if let Some(known) = self.commits.iter_mut().find(|known| same_object(&known.hash, &made.hash)) {
            if known.subject.is_empty() {
                known.subject = cut(&made.subject, TEXT);
            }
            return;
        }
        let mends = |failure: &Failure| matches!(failure.class, Class::Code | Class::Conflict);
        let is_fix = self.failures.iter().any(mends);
        let subject = cut(&made.subject, TEXT);
        let fixed = if is_fix { deed(&subject).to_owned() } else { String::new() };
        let (hash, attempt) = (cut(&made.hash, TEXT), self.attempt.max(1));
        let commit = Commit { hash, subject, attempt, is_fix, fixed, at };
        add(&mut self.commits, commit);
    }
}

/// What a subject says was done: without the task, and without the word that it is a fix. What went wrong before stands
/// with the failure.
fn deed(subject: &str) -> &str {
    let rest = subject.split_once("] ").filter(|(id, _)| id.contains('[')).map_or(subject, |(_, rest)| rest);
    rest.strip_prefix("Fix: ").unwrap_or(rest).trim()
}

fn failure(error: &ImportedError, attempt: u32) -> Failure {
    Failure {
        attempt,
        class: Class::Code,
        timed_out: false,
        step: Some(error.step.clone()).filter(|step| !step.is_empty()),
        message: cut(&error.message, TEXT),
        details: cut(&error.details, TEXT),
        at: error.at,
        kind: error.kind.clone(),
    }
}

/// Two spellings of one git object: one may be the beginning of the other.
pub fn same_object(a: &str, b: &str) -> bool {
    // What git itself takes for short is longer than this.
    const SHORTEST: usize = 4;
    a == b || (a.len().min(b.len()) >= SHORTEST && (a.starts_with(b) || b.starts_with(a)))
}

/// Lay the fields of an object over another: objects field by field, anything else whole. A null takes a field away.
pub fn lay_over(under: &mut Value, over: &Value) {
    let Value::Object(fields) = over else {
        *under = over.clone();
        return;
    };
    if !under.is_object() {
        *under = Value::Object(serde_json::Map::new());
    }
    let Value::Object(object) = under else { return };
    for (name, value) in fields {
        if value.is_null() {
            object.shift_remove(name);
        } else {
            lay_over(object.entry(name).or_insert(Value::Null), value);
        }
    }
}

fn said(by: &str, text: &str, at: Timestamp) -> Said {
    Said { by: by.to_owned(), text: cut(text, TEXT), at }
}

fn add<T>(list: &mut Vec<T>, entry: T) {
    if list.len() == ENTRIES {
        list.remove(0);
    }
    list.push(entry);
}

fn short(texts: &[String]) -> Vec<String> {
    texts.iter().take(ENTRIES).map(|text| cut(text, TEXT)).collect()
}

/// The first `limit` characters.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// The last `limit` characters.
fn end_of(text: &str, limit: usize) -> String {
    match text.char_indices().rev().nth(limit.saturating_sub(1)) {
        Some((start, _)) => text[start..].to_owned(),
        None => text.to_owned(),
    }
}
