//! A run to give away: what it was to do, what it has come to, how it got there, and how to go on.
//!
//! It is gathered in one pass over the events, and written as HTML, as Markdown, or by the command line as text. What comes
//! from a plan, an agent or a file is escaped by each writer.

mod html;
mod markdown;
mod markup;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, Serializer};

use super::detail::remark;
use super::graph::Node;
use super::timeline::{Fold, Step, Timeline, Totals};
use super::{
    Attempt, By, Cost, Costs, GroupStatus, Item, Kind, Remark, Results, RunStatus, Used, attempts, describe,
    group_status, sign,
};
use crate::plan::{RunId, TaskId};
use crate::run::{Bill, Counts, Event, Note, Recorded, Run, Status, Task};
use crate::time::{Span, Timestamp};

pub use html::html;
pub use markdown::{MOST_CHARACTERS, markdown};

/// So many tasks that a task waits for are named.
const NEEDS: usize = 5;

/// A run, told.
#[derive(Clone, Debug, Serialize)]
pub struct Recap {
    pub run: RunId,
    pub name: String,
    /// The branch that work lands on.
    pub target: Option<String>,
    /// The branch that one request brings it all to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    pub status: RunStatus,
    /// The same in words.
    pub state_text: String,
    #[serde(rename = "started_ms")]
    pub started: Timestamp,
    /// Where what goes on is cut.
    #[serde(rename = "until_ms")]
    pub until: Timestamp,
    pub took_ms: Span,
    pub results: Results,
    pub cost: CostRow,
    pub checks: Vec<CheckTotal>,
    /// What waits for a person, those that hold up most first.
    pub needs: Vec<Item>,
    pub groups: Vec<GroupRow>,
    /// In the order of the groups.
    pub tasks: Vec<TaskStory>,
    /// Costs by agent.
    pub agents: Vec<CostRow>,
    pub times: Times,
    /// Commands by which a person goes on, each with what it does.
    pub next: Vec<NextStep>,
    /// The last event that it knows.
    pub seq: u64,
    #[serde(skip)]
    pub timeline: Timeline,
    #[serde(skip)]
    pub nodes: Vec<Node>,
}

/// What belongs together has cost so much.
#[derive(Clone, Debug, Serialize)]
pub struct CostRow {
    pub name: String,
    #[serde(flatten, serialize_with = "as_cost")]
    pub cost: Cost,
}

/// How often a check ran, for all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckTotal {
    pub name: String,
    pub runs: u32,
    pub passes: u32,
    /// It was red and then passed on the same files.
    pub flakes: u32,
    pub took_ms: Span,
}

#[derive(Clone, Debug, Serialize)]
pub struct GroupRow {
    pub id: String,
    pub title: String,
    pub status: GroupStatus,
    pub completed: u32,
    pub total: u32,
}

/// A task from its first attempt on.
#[derive(Clone, Debug, Serialize)]
pub struct TaskStory {
    pub task: TaskId,
    pub title: String,
    /// If the plan has several.
    pub group: Option<String>,
    pub status: Status,
    /// How it came to its status, in one line.
    pub how: String,
    pub attempts_spent: u32,
    pub attempts_allowed: u32,
    /// How long all attempts took.
    pub took_ms: Span,
    #[serde(serialize_with = "as_used")]
    pub used: Bill,
    pub attempts: Vec<Attempt>,
    pub remarks: Vec<Remark>,
}

/// Where the time went.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    pub all_tasks: Totals,
    pub critical_path: Totals,
    pub steps: Vec<Step>,
    pub most_at_once: u32,
}

/// A command, and what it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    pub command: String,
    pub about: String,
}

/// What the events do not say.
#[derive(Clone, Debug)]
pub struct RecapSources<'a> {
    pub run: &'a Run,
    pub status: RunStatus,
    /// The same in words.
    pub state_text: String,
    /// Every task of the plan, with where it stands in the graph.
    pub tasks: Vec<(Task, Node)>,
    pub needs: Vec<Item>,
    /// The end of what goes on.
    pub now: Timestamp,
}

fn as_used<S: Serializer>(bill: &Bill, serializer: S) -> Result<S::Ok, S::Error> {
    Used::new(bill).serialize(serializer)
}

fn as_cost<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Document {
        #[serde(flatten)]
        used: Used,
        unpriced_tokens: u64,
        worked_ms: Span,
    }
    let (used, unpriced_tokens, worked_ms) = (Used::new(&cost.bill), cost.unpriced, cost.worked);
    Document { used, unpriced_tokens, worked_ms }.serialize(serializer)
}

/// What one pass over the events finds.
#[derive(Default)]
struct Pass {
    timeline: Fold,
    costs: Costs,
    checks: BTreeMap<String, CheckTotal>,
    of_task: HashMap<TaskId, Vec<Recorded>>,
    seq: u64,
}

impl Pass {
    fn read(&mut self, run: &RunId, recorded: Recorded) {
        self.seq = self.seq.max(recorded.seq);
        self.timeline.read(&recorded);
        self.costs.read(run, &recorded);
        if let Event::Noted { note: Note::ChecksRan { runs, .. }, .. } = &recorded.event {
            for ran in runs {
                let total = self.checks.entry(ran.name.clone()).or_default();
                total.name.clone_from(&ran.name);
                total.runs += ran.runs;
                total.passes += ran.passes;
                total.flakes += u32::from(ran.flaked);
                total.took_ms = total.took_ms.plus(ran.took);
            }
        }
        // What a task asks for is long, and its story does not begin with it.
        let is_planned = matches!(recorded.event, Event::TaskAdded { .. } | Event::TaskChanged { .. });
        if let Some(task) = recorded.event.task().filter(|_| !is_planned).cloned() {
            self.of_task.entry(task).or_default().push(recorded);
        }
    }
}

impl Recap {
    /// From the events of the run as a whole, and of the tasks that something has happened to, in order.
    pub fn new(of: RecapSources<'_>, events: impl IntoIterator<Item = Recorded>) -> Recap {
        let RecapSources { run, status, state_text, tasks, needs, now } = of;
        let mut pass = Pass::default();
        events.into_iter().for_each(|recorded| pass.read(&run.id, recorded));
        let Pass { timeline, costs, checks, mut of_task, seq } = pass;
        let timeline = timeline.timeline(now);
        let results = Results::new(tasks.iter().map(|(task, _)| task));
        let next = next_steps(&status, &results);
        let groups = group_rows(run, &tasks);
        let open: HashMap<&TaskId, Status> =
            tasks.iter().map(|(task, _)| (&task.id, task.status())).filter(|(_, s)| !s.satisfies()).collect();
        let mut stories: Vec<(u32, TaskStory)> = Vec::with_capacity(tasks.len());
        for (task, node) in &tasks {
            let events = of_task.remove(&task.id).unwrap_or_default();
            stories.push((task.group, story(task, node, &events, &open, now)));
        }
        // Within a group they stay in the order in which they came.
        stories.sort_by_key(|(group, _)| *group);
        let row = |(name, cost)| CostRow { name, cost };
        Recap {
            run: run.id.clone(),
            name: run.name.clone(),
            target: run.target.clone().filter(|_| !run.settings.no_commits),
            into: run.whole().map(|whole| whole.into.clone()),
            status,
            state_text,
            started: timeline.from,
            until: timeline.to,
            took_ms: timeline.to.since(timeline.from),
            results,
            cost: CostRow { name: "total".to_owned(), cost: costs.total() },
            checks: checks.into_values().collect(),
            needs,
            groups,
            tasks: stories.into_iter().map(|(_, story)| story).collect(),
            agents: costs.by(By::Agent).into_iter().map(row).collect(),
            times: Times {
                all_tasks: timeline.totals,
                critical_path: timeline.decided,
                steps: timeline.critical.clone(),
                most_at_once: timeline.most_at_once(),
            },
            next,
            seq,
            nodes: tasks.into_iter().map(|(_, node)| node).collect(),
            timeline,
        }
    }

    /// Where its work goes, with its branches as `name` writes them.
    pub fn goes_to(&self, name: impl Fn(&str) -> String) -> String {
        let on = |branch: &String| format!(", landing on {}", name(branch));
        let into = |branch: &String| format!(", and by one request on {}", name(branch));
        self.target.iter().map(on).chain(self.into.iter().map(into)).collect()
    }

    /// Nothing has been started yet.
    pub fn is_untouched(&self) -> bool {
        self.timeline.bars.is_empty()
    }

    pub fn completed(&self) -> u32 {
        self.results.landed + self.results.completed_otherwise + self.results.claimed
    }

    /// Check runs, passes and flakes.
    pub fn check_runs(&self) -> (u32, u32, u32) {
        let sum = |of: fn(&CheckTotal) -> u32| self.checks.iter().map(of).sum();
        (sum(|check| check.runs), sum(|check| check.passes), sum(|check| check.flakes))
    }

    /// Those that ran most first.
    pub fn most_run(&self) -> impl Iterator<Item = &CheckTotal> {
        let mut all: Vec<&CheckTotal> = self.checks.iter().collect();
        all.sort_by_key(|check| std::cmp::Reverse((check.flakes, check.runs)));
        all.into_iter()
    }

    /// What it has cost, in a word: what was not measured is unknown.
    pub fn spent(&self) -> String {
        spent(&self.cost.cost.bill)
    }

    /// Tasks that did not go well, or did not come to their end, in the order in which they are told.
    pub fn unfinished(&self) -> impl Iterator<Item = &TaskStory> {
        self.tasks.iter().filter(|story| story.status != Status::Completed)
    }
}

impl TaskStory {
    pub fn spent(&self) -> String {
        if self.attempts.is_empty() { String::new() } else { spent(&self.used) }
    }

    pub fn sign(&self) -> &'static str {
        sign(self.status)
    }

    pub fn status_words(&self) -> String {
        self.status.name().replace('_', " ")
    }

    /// An attempt at it failed, or was interrupted and resumed.
    pub fn had_trouble(&self) -> bool {
        self.attempts.iter().any(|one| one.failure().is_some() || !one.setbacks.is_empty())
    }

    /// It was tried and failed, or a person has to look at it. One that a person skipped just like that is none of these.
    fn went_wrong(&self) -> bool {
        self.had_trouble() || (self.is_stuck() && self.status != Status::Skipped)
    }

    /// How it came to its status is said by its last attempt, or not at all.
    fn how_is_told(&self) -> bool {
        let last = self.attempts.last().and_then(|last| last.outcome.as_ref());
        self.how.is_empty() || last == Some(&self.how)
    }

    /// It is over without being completed, or waits for a person.
    pub fn is_stuck(&self) -> bool {
        matches!(self.status, Status::Abandoned | Status::Blocked | Status::PassedOver | Status::Skipped)
    }
}

/// `$0.42`, or `unknown`.
fn spent(bill: &Bill) -> String {
    match super::spent_at_least(bill) {
        Some(known) => known,
        None if bill.is_empty() => "nothing".to_owned(),
        None => "unknown".to_owned(),
    }
}

fn group_rows(run: &Run, tasks: &[(Task, Node)]) -> Vec<GroupRow> {
    let mut counts = vec![Counts::default(); run.groups.len()];
    for (task, _) in tasks {
        if let Some(counts) = counts.get_mut(task.group as usize) {
            counts.add(task.status(), 1);
        }
    }
    let row = |(group, counts): (&crate::plan::Group, Counts)| GroupRow {
        id: group.id.to_string(),
        title: group.title.clone(),
        status: group_status(&counts, run.settings.exhausted),
        completed: counts.of(Status::Completed),
        total: counts.total(),
    };
    run.groups.iter().zip(counts).map(row).filter(|row| row.total > 0).collect()
}

fn story(
    task: &Task,
    node: &Node,
    events: &[Recorded],
    open: &HashMap<&TaskId, Status>,
    now: Timestamp,
) -> TaskStory {
    let attempts = attempts(events);
    let took = attempts.iter().fold(Span(0), |sum, attempt| sum.plus(attempt.took(now)));
    let mut used = Bill::default();
    attempts.iter().for_each(|attempt| used.merge(&attempt.used));
    // Why it was skipped is how it came to where it is.
    let said = events.iter().filter(|recorded| !matches!(recorded.event, Event::Skipped { .. }));
    let remarks = said.filter_map(|recorded| {
        let (by, text) = remark(&recorded.event)?;
        Some(Remark { at: recorded.at, by: by.to_owned(), text })
    });
    TaskStory {
        task: task.id.clone(),
        title: node.title.clone(),
        group: node.group.clone(),
        status: task.status(),
        how: how(task, node, events, open),
        attempts_spent: task.spent,
        attempts_allowed: task.budget,
        took_ms: took,
        used,
        remarks: remarks.collect(),
        attempts,
    }
}

/// How a task came to where it is, in one line. Empty if there is nothing to say.
fn how(task: &Task, node: &Node, events: &[Recorded], open: &HashMap<&TaskId, Status>) -> String {
    let decided = |event: &Event| {
        matches!(
            event,
            Event::Failed { .. }
                | Event::Skipped { .. }
                | Event::GivenUp { .. }
                | Event::Completed { .. }
                | Event::LandingFound { .. }
                | Event::Reopened { .. }
                | Event::Adopted { .. }
        )
    };
    let last = || events.iter().rfind(|recorded| decided(&recorded.event));
    match task.status() {
        Status::Pending | Status::Unreachable | Status::Waiting => {
            let outside = task.outside.iter().filter(|need| !need.done).map(|need| need.need.to_string());
            let inside = node.after.iter().filter(|need| open.contains_key(need)).map(ToString::to_string);
            let needs: Vec<String> = outside.chain(inside).collect();
            match needs.len() {
                0 => String::new(),
                all @ 1..=NEEDS => format!("waits for {}", needs[..all].join(", ")),
                all => format!("waits for {} and {} more", needs[..NEEDS].join(", "), all - NEEDS),
            }
        }
        Status::InProgress | Status::Confirming | Status::Verifying | Status::Verified | Status::Merging => {
            task.progress.waits.clone().unwrap_or_default()
        }
        Status::Completed
        | Status::Failed
        | Status::Abandoned
        | Status::Blocked
        | Status::Skipped
        | Status::PassedOver => last().map(|last| describe(&last.event).text).unwrap_or_default(),
    }
}

/// How to go on, most useful first. Commands name the plan and a task in capitals.
fn next_steps(status: &RunStatus, results: &Results) -> Vec<NextStep> {
    let step = |command: &str, about: &str| NextStep { command: command.to_owned(), about: about.to_owned() };
    let mut steps = Vec::new();
    let waits = results.given_up + results.blocked > 0;
    match status {
        RunStatus::Running | RunStatus::Stopping { .. } => {
            steps.push(step("piton watch", "follows the run while it goes on"));
        }
        RunStatus::Completed { .. } => {}
        RunStatus::NotStarted => steps.push(step("piton run PLAN", "starts the run")),
        RunStatus::Interrupted
        | RunStatus::Stopped(_)
        | RunStatus::Stale { .. }
        | RunStatus::Ended
        | RunStatus::Closed(_) => {
            let about = if waits {
                "resumes the run, once you have answered what needs you"
            } else {
                "resumes the run"
            };
            steps.push(step("piton run PLAN", about));
        }
    }
    if waits {
        steps.push(step("piton inbox", "lists what waits for you, with the commands that answer it"));
        steps.push(step("piton why TASK", "says why a task is where it is, and what would help"));
        steps.push(step("piton retry TASK", "lets a task be tried again"));
        steps.push(step("piton skip TASK", "continues without a task"));
    }
    steps.push(step("piton show TASK", "shows everything about a task"));
    steps.push(step("piton log", "shows everything that happened"));
    steps
}

/// The items that are about tasks that cannot complete as things stand.
fn is_given_up(item: &Item) -> bool {
    matches!(item.kind, Kind::GivenUp | Kind::Blocked)
}
