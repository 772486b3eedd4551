//! A task is reported as done in a file. The visible evidence of its work decides whether its checks run, and the
//! checks decide the rest.

use std::time::{Duration, Instant};

use camino::Utf8Path;
use piton_core::chronicle::Entry;
use piton_core::plan::{TaskId, TaskSpec};
use piton_core::run::{Claim, Command, Event, Evidence, Holder, Note, Report, Status, Task};
use piton_core::system::edit::{Edit, What};
use serde_json::Value;

use super::{Aide, FilesError, Mirror};
use crate::claims::{self, Judgement, Looked, Place};
use crate::journal::{CommandError, Journal};
use crate::{checks, clock};

/// How often Piton looks whether work that a claim waits for was committed: as soon as a person would look.
const LOOK: Duration = Duration::from_secs(2);

impl Mirror {
    /// A task is reported as done: its holder keeps it, and its checks decide. `None`: they still run.
    pub(in crate::files) fn claim(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        id: &TaskId,
        report: &Report,
        file: &str,
        edit: &Edit,
    ) -> Result<Option<Vec<Command>>, FilesError> {
        let (Some(task), Some(spec)) = (self.task(id), journal.spec(&self.run, id)?) else {
            return Ok(Some(vec![start(id, file)]));
        };
        let place = if self.claimed.contains(id) {
            None
        } else {
            match self.begin(journal, (&task, &spec), report, file, edit)? {
                Some(place) => Some(place),
                None => return Ok(Some(Vec::new())),
            }
        };
        // No one else may begin the task while its checks run.
        let by = held_by(&task, file);
        let refused = self.commit(journal, &[start(id, &by)])?;
        let (Some(task), true) = (self.task(id), refused.is_empty()) else {
            self.remember(journal, id, report, file)?;
            // The caller records the refusal when the rules refuse this command again.
            return Ok(Some(vec![start(id, &by)]));
        };
        match aide.judge(&task, &spec, place.as_ref()) {
            None => {
                if !self.claimed.contains(id) {
                    self.claimed.push(id.clone());
                    self.remember(journal, id, report, file)?;
                }
                Ok(None)
            }
            Some(judged) => {
                self.claimed.retain(|claimed| claimed != id);
                self.judged.push(id.clone());
                let judged =
                    judged.and_then(|judged| self.judged(journal, (&task, &spec), report, &by, judged));
                match judged {
                    Ok(commands) => Ok(Some(commands)),
                    Err(reason) => self.turn_down(journal, (id, file), report, edit, &reason).map(Some),
                }
            }
        }
    }

    /// Where the checks of a claim are to run. `None`: it waits, or was refused.
    fn begin(
        &mut self,
        journal: &mut Journal,
        (task, spec): (&Task, &TaskSpec),
        report: &Report,
        file: &str,
        edit: &Edit,
    ) -> Result<Option<Place>, FilesError> {
        let id = &task.id;
        let looked = match self.see(task, spec, report) {
            Ok(looked) => looked,
            Err(reason) => {
                return self.turn_down(journal, (id, file), report, edit, &reason).map(|_| None);
            }
        };
        for missing in &looked.missing {
            let what = format!("{id}: {missing}");
            let why = "it does not exist, so it is not recorded as work";
            self.refuse_in(journal, file, (Some(id), &what), why)?;
        }
        // First ask what would happen if every check passed: no check runs for a claim that is refused anyway.
        let (report, evidence, by) = (&looked.report, &looked.evidence, held_by(task, file));
        let claim = |results| Claim::Done { tree: None, results, evidence: evidence.clone() };
        let would = command(task, &by, claim(checks::as_if_passed(spec)), report);
        match journal.rehearse(&self.run, &would, clock::now()) {
            Ok(events) if events.iter().any(|recorded| is_waiting(&recorded.event)) => {
                self.commit(journal, &[command(task, &by, claim(Vec::new()), report)])?;
                let files = piton_core::run::waits_for(&evidence.uncommitted);
                let remedy = piton_core::view::commit_command(&evidence.uncommitted, id);
                let why = format!("it waits: {files}; {remedy}");
                self.refuse_in(journal, file, (Some(id), &edit.to_string()), &why)?;
                self.log(journal, Some(id), &format!("An edit of {file} waits: {edit}: {why}"))?;
                Ok(None)
            }
            Ok(_) => {
                if task.decided != Status::InProgress && !self.held.contains(id) {
                    self.held.push(id.clone());
                }
                Ok(Some(looked.place))
            }
            Err(CommandError::Refused(refusal)) => {
                let reason = match &refusal.hint {
                    Some(hint) => format!("{}; {hint}", refusal.reason),
                    None => refusal.reason,
                };
                self.turn_down(journal, (id, file), report, edit, &reason).map(|_| None)
            }
            Err(CommandError::Journal(error)) => Err(error.into()),
        }
    }

    /// The commands for a claim whose checks have ended, or why it is refused after all.
    fn judged(
        &mut self,
        journal: &mut Journal,
        (task, spec): (&Task, &TaskSpec),
        report: &Report,
        by: &str,
        judged: Judgement,
    ) -> Result<Vec<Command>, String> {
        let looked = self.see(task, spec, report)?;
        let seen = claims::seen(&self.project, &self.state, &task.id, &looked.report, &judged);
        let (tree, results) = judged;
        let passed = results.iter().all(|result| result.verdict.lets_pass());
        let claim = Claim::Done { tree: tree.clone(), results, evidence: looked.evidence.clone() };
        let command = command(task, by, claim, &self.unheard(&task.id, &looked.report));
        journal.rehearse(&self.run, &command, clock::now()).map_err(|error| error.to_string())?;
        if let Some(run) = self.state.run().filter(|_| passed) {
            looked.land(&self.project, run, tree.as_ref())?;
        }
        self.held.retain(|held| *held != task.id);
        Ok(seen.into_iter().chain([command]).collect())
    }

    /// Reject a claim, and note that where it was made. The task gets no holder by it.
    fn turn_down(
        &mut self,
        journal: &mut Journal,
        (id, file): (&TaskId, &str),
        report: &Report,
        edit: &Edit,
        reason: &str,
    ) -> Result<Vec<Command>, FilesError> {
        self.remember(journal, id, report, file)?;
        self.refuse_edit(journal, file, edit, reason)?;
        let held = self.held.iter().position(|held| held == id).map(|at| self.held.remove(at));
        if let (Some(_), Some(task)) = (held, self.task(id)) {
            let reason = claims::ONLY_CLAIMED.to_owned();
            self.commit(journal, &[Command::Release { task: id.clone(), fence: task.fence, reason }])?;
        }
        Ok(Vec::new())
    }

    /// Write an entry into the system's own log, if it has one that agents read.
    pub(in crate::files) fn log(
        &mut self,
        journal: &mut Journal,
        id: Option<&TaskId>,
        text: &str,
    ) -> Result<(), FilesError> {
        if !self.system.policy().logs_rejections {
            return Ok(());
        }
        // An entry is about a task of the run, or about none.
        let task = id.filter(|id| self.task(id).is_some()).cloned();
        // Agents read it once, however often it is tried; the run's own log has each.
        let by = "piton";
        let is_same = |entry: &Entry| entry.by == by && entry.task == task && entry.text == text;
        if self.chronicle.entries.iter().any(is_same) {
            return Ok(());
        }
        let note = Note::Entry { task, text: text.to_owned(), for_next: false };
        self.commit(journal, &[Command::Note { by: by.to_owned(), note }]).map(drop)
    }

    /// The same of an edit that its reader already rejected.
    pub(in crate::files) fn log_rejected(
        &mut self,
        journal: &mut Journal,
        file: &str,
        edit: &Edit,
    ) -> Result<(), FilesError> {
        match &edit.what {
            What::Rejected { what, why } => {
                self.log(journal, edit.task.as_ref(), &format!("Rejected an edit of {file}: {what}: {why}"))
            }
            _ => Ok(()),
        }
    }

    fn task(&self, id: &TaskId) -> Option<Task> {
        self.state.task(id).ok().flatten().cloned()
    }

    fn see(&self, task: &Task, spec: &TaskSpec, report: &Report) -> Result<Looked, String> {
        let run = self.state.run().ok_or_else(|| "there is no run".to_owned())?;
        let mut looked =
            claims::look(&self.project, run, task, spec, report).map_err(|error| error.to_string())?;
        let gates = run.gates.iter().filter_map(|id| self.state.task(id).ok().flatten());
        claims::see_whole(&self.project, run, gates, &mut looked).map_err(|error| error.to_string())?;
        Ok(looked)
    }

    /// Record the state of the project when a task begins in a file.
    pub(super) fn mark(&mut self, journal: &mut Journal, id: &TaskId) -> Result<(), FilesError> {
        let (Some(task), Some(spec)) = (self.task(id), journal.spec(&self.run, id)?) else { return Ok(()) };
        let held = task.decided == Status::InProgress && !task.is_engines();
        let Some(run) = self.state.run().filter(|_| held && task.progress.mark.is_none()) else {
            return Ok(());
        };
        let mark = claims::mark(&self.project, run, &spec).unwrap_or_default();
        self.commit(journal, &[Command::Mark { task: id.clone(), fence: task.fence, mark }]).map(drop)
    }

    /// Tasks whose claim waited for a commit that exists by now.
    pub(super) fn committed(&mut self) -> Vec<TaskId> {
        let waits = |task: &&Task| !task.progress.uncommitted.is_empty() && !self.claimed.contains(&task.id);
        let waiting: Vec<Task> = self.state.tasks().filter(waits).cloned().collect();
        if waiting.is_empty() || self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let Some(run) = self.state.run() else { return Vec::new() };
        let left = claims::uncommitted(&self.project, run).unwrap_or_default();
        let is_done = |task: &Task| !task.progress.uncommitted.iter().any(|file| left.contains(file));
        waiting.into_iter().filter(is_done).map(|task| task.id).collect()
    }

    pub(super) fn claim_again(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        id: &TaskId,
    ) -> Result<(), FilesError> {
        let report = Report::default();
        let edit = Edit { task: Some(id.clone()), what: What::ReportDone { report: report.clone() } };
        let file = self.file.clone();
        if let Some(commands) = self.claim(journal, aide, id, &report, &file, &edit)? {
            let refused = self.commit(journal, &commands)?;
            if let Some(reason) = refused.first() {
                self.refuse_edit(journal, &file, &edit, reason)?;
            }
        }
        Ok(())
    }

    /// For an engine that begins: release tasks that are in progress only according to a file. They have no worktree,
    /// and nothing has changed since.
    pub(in crate::files) fn take_back(&mut self, journal: &mut Journal) -> Result<(), FilesError> {
        let files = self.companions();
        let by_file = |task: &&Task| {
            let holder = task.holder.as_ref().map(ToString::to_string).unwrap_or_default();
            let is_file = holder == self.file || files.iter().any(|file| file.name() == holder);
            task.decided == Status::InProgress && !task.is_engines() && is_file
        };
        let held: Vec<Task> = self.state.tasks().filter(by_file).cloned().collect();
        for task in held {
            let Some(spec) = journal.spec(&self.run, &task.id)? else { continue };
            let Ok(looked) = self.see(&task, &spec, &Report::default()) else { continue };
            if self.has_worktree(&task)
                || shows_work(&looked.evidence)
                || !task.progress.uncommitted.is_empty()
            {
                continue;
            }
            let reason =
                format!("in progress in {}, but it has no worktree and nothing has changed since", self.file);
            self.commit(journal, &[Command::Release { task: task.id, fence: task.fence, reason }])?;
        }
        Ok(())
    }

    /// A worktree that the file names for a task.
    fn has_worktree(&self, task: &Task) -> bool {
        let fields = self.chronicle.carried.get(&self.file);
        let named = |path: &str| fields.and_then(|fields| fields.pointer(path)).and_then(Value::as_str);
        let id = &task.id;
        let paths = [
            format!("/tasks/{id}/worktree_path"),
            format!("/worktrees/{id}"),
            format!("/worktrees/{id}/path"),
        ];
        task.progress.worktree
            || paths.iter().filter_map(|path| named(path)).any(|path| Utf8Path::new(path).is_dir())
    }
}

fn command(task: &Task, by: &str, claim: Claim, report: &Report) -> Command {
    let (fence, report) = (Some(task.fence), Box::new(report.clone()));
    Command::Report { task: task.id.clone(), by: by.to_owned(), fence, claim, report }
}

/// The holder of a task keeps it; without one, the file in which it is called done holds it.
fn held_by(task: &Task, file: &str) -> String {
    match &task.holder {
        Some(Holder::Ledger(name)) => name.clone(),
        _ => file.to_owned(),
    }
}

fn start(id: &TaskId, by: &str) -> Command {
    Command::Start { task: id.clone(), holder: Holder::Ledger(by.to_owned()) }
}

fn is_waiting(event: &Event) -> bool {
    matches!(event, Event::ClaimWaits { .. })
}

fn shows_work(evidence: &Evidence) -> bool {
    !evidence.commits.is_empty() || !evidence.files.is_empty() || !evidence.uncommitted.is_empty()
}
