//! The file as a run makes it. Nothing is counted up, everything is counted.

use std::collections::HashSet;

use serde_json::Value;

use super::file::{FILE, ROOT, StateFile, UnitEntry};
use super::words::{PhaseWord, UnitWord};
use crate::chronicle::{Chronicle, Commit, Story};
use crate::order::Arrange;
use crate::plan::{Iterative, Mode};
use crate::run::{Proof, Run, State, Status, Task};
use crate::system::iterative::plan::is_review;
use crate::system::kit::projection::{self, Map, Time, created_at};

/// How many characters of a hash this file has: enough to tell commits apart.
const SHORT: usize = 7;

/// The file of a run, at the last event of both. `None` before the run was made.
pub fn project(state: &State, chronicle: &Chronicle) -> Option<StateFile> {
    let run = state.run()?;
    let unsaid = Iterative::default();
    let about = run.settings.form.brief().unwrap_or(&unsaid);
    let none = Story::default();
    let all = state.tasks().filter(|task| !task.removed);
    let mut all: Vec<(&Task, &Story)> =
        all.map(|task| (task, chronicle.task(&task.id).unwrap_or(&none))).collect();
    all.arrange_by_key(|(_, story)| story.added);
    let commits = commits(&all, chronicle);
    let (review, units) = all.into_iter().partition(|(task, _)| is_review(run, task));
    Some(Writer { state, run, chronicle, about, units, review }.file(commits))
}

/// The file as a value: what an edit of it is compared with.
pub fn value(file: &StateFile) -> Value {
    projection::value(file, &file.carried, &ROOT)
}

/// The file's bytes, as `jq` would write them.
pub fn text(file: &StateFile) -> String {
    projection::text(&value(file))
}

struct Writer<'a> {
    state: &'a State,
    run: &'a Run,
    chronicle: &'a Chronicle,
    about: &'a Iterative,
    /// In the order of the list.
    units: Vec<(&'a Task, &'a Story)>,
    review: Vec<(&'a Task, &'a Story)>,
}

impl Writer<'_> {
    fn file(&self, commits: Vec<String>) -> StateFile {
        let Iterative { slug, name, mode, domains, .. } = self.about;
        let or_run = |text: &str| if text.is_empty() { self.run.name.clone() } else { text.to_owned() };
        let domain: Vec<&str> = domains.iter().map(|domain| domain.word()).collect();
        let current = self.current();
        let id = Some(current.map(|(task, _)| task.id.to_string()));
        let entries = self.units.iter().map(|(task, story)| (task.id.to_string(), self.entry(task, story)));
        let units = Some(Map(entries.collect()));
        let is_code = *mode == Mode::Development;
        let (current_task, current_phase) = if is_code { (id, None) } else { (None, id) };
        let (tasks, phases) = if is_code { (units, None) } else { (None, units) };
        StateFile {
            task: or_run(name),
            slug: or_run(slug),
            mode: *mode,
            domain: Some(domain.join(", ")).filter(|domain| !is_code && !domain.is_empty()),
            created: Time(created_at(self.state, self.chronicle)),
            updated: Time(self.chronicle.updated_at),
            phase: self.phase(),
            current_task,
            current_phase,
            current_iteration: current.map_or(0, |(task, story)| iterations(task, story)),
            tasks,
            phases,
            // A plan that commits nothing has no commits to show.
            commits: Some(commits).filter(|commits| is_code || !commits.is_empty()),
            piton_seq: self.chronicle.seq,
            piton_run: self.run.id.to_string(),
            carried: match self.chronicle.carried.get(FILE) {
                Some(Value::Object(fields)) => fields.clone(),
                _ => serde_json::Map::new(),
            },
        }
    }

    /// The unit that is worked on; else the first that could be.
    fn current(&self) -> Option<(&Task, &Story)> {
        let under_way = |(task, _): &&(&Task, &Story)| UnitWord::from_status(task.outcome()).is_under_way();
        let is_next = |(task, _): &&(&Task, &Story)| task.outcome() == Status::Pending && task.waiting == 0;
        self.units.iter().find(under_way).or_else(|| self.units.iter().find(is_next)).copied()
    }

    /// An edit counts where the run itself cannot know: before the first unit, and after the last.
    fn phase(&self) -> PhaseWord {
        let said = self.chronicle.carried.get(FILE).and_then(|fields| fields["phase"].as_str());
        let said = said.and_then(PhaseWord::exact);
        let done = |units: &[(&Task, &Story)]| units.iter().all(|(task, _)| task.outcome().satisfies());
        let begun = self.units.iter().any(|(task, story)| story.attempt > 0 || task.outcome().satisfies());
        if !self.units.is_empty() && done(&self.units) {
            return match said {
                _ if !done(&self.review) => PhaseWord::Verify,
                Some(PhaseWord::Complete) => PhaseWord::Complete,
                _ => PhaseWord::Deliver,
            };
        }
        match said {
            _ if begun || self.run.engine.is_some() => PhaseWord::Execute,
            Some(PhaseWord::Discover) => PhaseWord::Discover,
            _ => PhaseWord::Plan,
        }
    }

    fn entry(&self, task: &Task, story: &Story) -> UnitEntry {
        let status = task.outcome();
        let word = match UnitWord::from_status(status) {
            // Its checks run before a fresh agent looks at it, as part of the iteration.
            UnitWord::Verifying if task.decided == Status::Verifying && task.awaits_confirmation() => {
                UnitWord::InProgress
            }
            word => word,
        };
        let begun = story.attempt > 0;
        let is_done = word == UnitWord::Done;
        UnitEntry {
            status: word,
            reason: self.reason(task, story, status).filter(|reason| !reason.is_empty()),
            iterations_used: begun.then(|| iterations(task, story)),
            confirmations_used: begun.then_some(story.confirmations),
            verification_passed: is_done
                .then_some(matches!(task.proof, Some(Proof::Landed { .. } | Proof::Checked { .. }))),
            max_iterations: task.budget,
            completed_at: story.merged_at.or(story.completed_at).filter(|_| is_done).map(Time),
        }
    }

    fn reason(&self, task: &Task, story: &Story, status: Status) -> Option<String> {
        let failed = || story.failures.last().map(|failure| failure.message.clone());
        let given_up = story.given_up.as_ref().map(|said| said.text.clone());
        match status {
            Status::Blocked => failed(),
            Status::Abandoned => given_up.filter(|text| !text.is_empty()).or_else(failed),
            Status::Skipped | Status::PassedOver => {
                let said = story.skipped.as_ref().map(|said| said.text.as_str()).unwrap_or_default();
                Some(if said.is_empty() { "Skipped".to_owned() } else { format!("Skipped: {said}") })
            }
            Status::Unreachable => {
                let links = self.state.links(&task.id).ok()?;
                let is_dead =
                    |id: &&_| matches!(self.state.task(id), Ok(Some(need)) if need.status().is_dead());
                let dead: Vec<String> = links.needs.iter().filter(is_dead).map(ToString::to_string).collect();
                Some(format!("Waiting on {}", dead.join(", ")))
            }
            Status::Pending
            | Status::Waiting
            | Status::InProgress
            | Status::Confirming
            | Status::Verifying
            | Status::Verified
            | Status::Merging
            | Status::Completed
            | Status::Failed => None,
        }
    }
}

/// A pass that was to confirm and found work has done an iteration's work. A pass that found work when no iteration was
/// left has not: it showed that the unit is not finished.
fn iterations(task: &Task, story: &Story) -> u32 {
    let most = task.budget.max(story.attempt);
    story.attempt.saturating_add(story.reworked).min(most)
}

/// Those that were listed before this run, then its own, oldest first.
fn commits(tasks: &[(&Task, &Story)], chronicle: &Chronicle) -> Vec<String> {
    let mut own: Vec<&Commit> = tasks.iter().flat_map(|(_, story)| &story.commits).collect();
    own.arrange_by_key(|commit| commit.at);
    let short = |hash: &str| hash.chars().take(SHORT).collect::<String>();
    let mut known: HashSet<String> = own.iter().map(|commit| short(&commit.hash)).collect();
    let listed = chronicle.carried.get(FILE).and_then(|fields| fields["commits"].as_array());
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let hash_of = |line: &str| short(line.split(':').next().unwrap_or_default().trim());
    let mut lines: Vec<String> =
        listed.filter(|line| known.insert(hash_of(line))).map(str::to_owned).collect();
    lines.extend(own.iter().map(|commit| match commit.subject.lines().next().unwrap_or_default() {
        "" => short(&commit.hash),
        subject => format!("{}: {subject}", short(&commit.hash)),
    }));
    lines
}
