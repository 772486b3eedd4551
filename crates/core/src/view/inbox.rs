//! What waits for a person, over a whole run. Derived from its journal: what has solved itself is not in it.

use serde::{Serialize, Serializer};

use super::RunStatus;
use crate::order::Arrange;
use crate::plan::{Digest, RunId, TaskId};
use crate::run::{Outage, Run, Status, StopReason, Task, parked, refused, shell_word, waits_for_the_host};
use crate::time::Timestamp;

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Names it. The same thing at another time has another key.
    pub key: String,
    pub run: RunId,
    pub kind: Kind,
    /// The tasks that it is about; none, if it is about the run.
    pub tasks: Vec<TaskId>,
    /// Why, in one line.
    pub reason: String,
    /// What does not fit in that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// It stands for so many of its kind that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
    /// Since when it waits, where that is known.
    #[serde(serialize_with = "as_text")]
    pub since: Option<Timestamp>,
    /// Commands that answer it, most useful first.
    pub helps: Vec<String>,
    /// Who has seen it.
    pub seen_by: Vec<String>,
}

fn as_text<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

/// What kind of thing it is. Those that hold up most come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The run itself stands still: its engine has died, or cannot go on.
    Run,
    /// What may be spent is spent.
    Budget,
    /// A provider of agents lets none of them work.
    Provider,
    /// Proven work cannot land: a person's checkout is in the way, or the target is red.
    Landing,
    /// The plan has changed, and the run has not adopted that.
    Plan,
    /// An agent waits for an answer, a permission, or something else that only a person can do.
    Blocked,
    /// A person reported a task as done, and another one has to confirm it.
    Confirm,
    /// No attempt is left.
    GivenUp,
    /// It was accepted, and somebody should look at it.
    Look,
}

impl Kind {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Budget => "budget",
            Kind::Provider => "provider",
            Kind::Landing => "landing",
            Kind::Plan => "plan",
            Kind::Blocked => "blocked",
            Kind::Confirm => "confirm",
            Kind::GivenUp => "abandoned",
            Kind::Look => "look",
        }
    }
}

/// What the facts about a run do not hold, so that the caller looks it up.
#[expect(missing_debug_implementations, reason = "closures have nothing to show")]
pub struct Around<'a> {
    pub status: &'a RunStatus,
    /// When something last happened in it. Notes do not count: that an item was seen is one.
    pub active: Timestamp,
    /// What has become of the plan, if a person has to see to it.
    pub plan: Option<&'a PlanNews>,
    /// How many tasks of a status are not among those given.
    pub more: &'a [(Status, u64)],
    /// Why a task waits for a person, and the commands that would help.
    pub explain: &'a dyn Fn(&Task) -> (String, Vec<String>),
}

/// The plan's files say something that the run does not follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanNews {
    /// The run adopts the change when it is resumed: these tasks are new, or are done again.
    Adopts { tasks: Vec<TaskId>, since: Option<Timestamp> },
    /// It does not adopt the change by itself, for this reason. The difference, in lines.
    Refuses { why: String, tasks: Vec<TaskId>, difference: String, since: Option<Timestamp> },
    /// The file, the line and the cause.
    Unreadable { why: String, since: Option<Timestamp> },
}

/// What waits for a person in this run, those first that hold up most, and of these the oldest. `tasks`: at least those
/// that are under way, those of [`CONCERNS`], gates that are out of date, and those in which something was noticed.
pub fn inbox(run: &Run, tasks: &[Task], around: &Around<'_>) -> Vec<Item> {
    let mut list = List { run, items: Vec::new() };
    list.providers(around);
    list.whole(tasks, around);
    list.landings(tasks, around);
    list.looks(tasks);
    for task in tasks {
        list.task(task, around);
    }
    list.more(around);
    list.items.arrange_by(|a, b| place(a).cmp(&place(b)));
    list.items
}

/// What stands for others comes after those that are listed.
fn place(item: &Item) -> impl Ord {
    (item.kind, item.more.is_some(), item.since, &item.tasks, &item.key)
}

/// Statuses of tasks that may wait for a person.
pub const CONCERNS: [Status; 3] = [Status::Blocked, Status::Abandoned, Status::PassedOver];

/// The plan stands for itself: who shows it knows how it is typed.
const RESUME: &str = "piton run PLAN";

/// Why a run stands still whose engine was killed.
const DEATH: &str = "the engine stopped without saying why: it crashed, or was killed";

/// What names a thing that began at this time.
fn began(name: impl std::fmt::Display, since: Option<Timestamp>) -> String {
    format!("{name} {}", since.unwrap_or_default().0)
}

/// The first line, and the others.
fn in_one_line(text: &str) -> (String, Option<String>) {
    let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
    let rest = rest.trim_matches('\n').trim_end();
    (first.trim_end().to_owned(), (!rest.is_empty()).then(|| rest.to_owned()))
}

struct List<'r> {
    run: &'r Run,
    items: Vec<Item>,
}

impl List<'_> {
    /// `what` tells two of a kind apart, and the same one at two times: it holds when this one began, and nothing that may
    /// change while it lasts.
    fn add(&mut self, kind: Kind, what: &str, reason: &str, since: Option<Timestamp>) -> &mut Item {
        let digest = Digest::of(&(&self.run.id, kind, what));
        let key = digest.short()[..6].to_owned();
        let seen_by = self.run.seen.iter().filter(|(_, keys)| keys.contains(&key));
        let seen_by = seen_by.map(|(person, _)| person.clone()).collect();
        let run = self.run.id.clone();
        let (reason, detail) = in_one_line(reason);
        let (tasks, helps) = (Vec::new(), Vec::new());
        let item = Item { key, run, kind, tasks, reason, detail, more: None, since, helps, seen_by };
        self.items.push(item);
        self.items.last_mut().expect("it was just put there")
    }

    fn whole(&mut self, tasks: &[Task], around: &Around<'_>) {
        let since = Some(around.active);
        match around.status {
            RunStatus::Interrupted => {
                let engine = self.run.engine.clone().unwrap_or_default();
                self.add(Kind::Run, &engine, DEATH, since).helps = vec![RESUME.to_owned()];
            }
            RunStatus::Stale { gates } => {
                for gate in gates {
                    let passed = tasks.iter().find(|task| task.id == *gate).map(|task| task.since);
                    let reason = format!("{gate} has not passed on what there is now");
                    let item = self.add(Kind::Run, &began(gate, passed), &reason, since);
                    item.tasks = vec![gate.clone()];
                    item.helps = vec![format!("piton report {gate} done")];
                }
            }
            RunStatus::Stopped(reason) => self.stopped(reason, around),
            _ => {}
        }
        if let Some(news) = around.plan {
            self.plan(news);
        }
    }

    /// It lasts until the run adopts another plan, however often that is changed.
    fn plan(&mut self, news: &PlanNews) {
        let adopted = self.run.plan_hash.short();
        match news {
            PlanNews::Adopts { tasks, since } => {
                let reason = "the plan has changed since the run adopted it";
                let item = self.add(Kind::Plan, &format!("{adopted} changed"), reason, *since);
                (item.tasks, item.helps) = (tasks.clone(), vec![format!("{RESUME}   adopts it")]);
            }
            PlanNews::Refuses { why, tasks, difference, since } => {
                let reason = format!("the plan has changed, and you decide about that: {why}\n{difference}");
                let item = self.add(Kind::Plan, &format!("{adopted} changed"), &reason, *since);
                item.tasks.clone_from(tasks);
                item.helps = vec![
                    format!("{RESUME} --replan   adopts it, task by task"),
                    format!("{RESUME} --reset   begins a new run"),
                ];
            }
            PlanNews::Unreadable { why, since } => {
                let reason = format!("the plan cannot be read: {why}");
                let item = self.add(Kind::Plan, &format!("{adopted} unreadable"), &reason, *since);
                item.helps = vec!["piton plan PLAN   shows what is wrong".to_owned()];
            }
        }
    }

    /// The engine has stopped for this.
    fn stopped(&mut self, reason: &StopReason, around: &Around<'_>) {
        let halt = self.run.halt.as_ref();
        let since = halt.map_or(around.active, |halt| halt.since);
        let (kind, detail, helps) = match reason {
            // The same item as before anybody noted that the engine is gone.
            reason if reason.is_death() => {
                let engine = halt.map(|halt| halt.engine.clone()).unwrap_or_default();
                self.add(Kind::Run, &engine, DEATH, Some(since)).helps = vec![RESUME.to_owned()];
                return;
            }
            StopReason::Budget { detail } => {
                let helps = vec!["piton cost".to_owned(), format!("{RESUME}   once `[budget]` allows more")];
                (Kind::Budget, detail, helps)
            }
            // The provider is an item already.
            StopReason::Environment { detail } if self.is_of_provider(detail) => return,
            StopReason::Environment { detail } => {
                (Kind::Run, detail, vec!["piton doctor".to_owned(), RESUME.to_owned()])
            }
            StopReason::Elsewhere { detail } | StopReason::Siblings { detail } => {
                (Kind::Run, detail, vec![RESUME.to_owned()])
            }
            // What the plan says now counts: somebody may have taken the change back.
            StopReason::PlanChanged { .. }
            | StopReason::Completed
            | StopReason::Ended
            | StopReason::Filter
            | StopReason::Person
            | StopReason::LandingWaits { .. } => return,
        };
        self.add(kind, &began("stop", Some(since)), detail, Some(since)).helps = helps;
    }

    /// Whether a run has stopped for what a provider is an item for.
    fn is_of_provider(&self, detail: &str) -> bool {
        let refused = refused(self.run).map(|(name, _)| format!("{name} rejects the login of "));
        let limits = self.run.outages.iter().filter(|(_, outage)| outage.until.is_some());
        let limits = limits.map(|(name, _)| format!("the usage limit of {name} lasts "));
        let silent = parked(self.run).map(|(name, _)| format!("{name} does not answer"));
        refused.chain(limits).chain(silent).any(|words| detail.starts_with(&words))
    }

    fn providers(&mut self, around: &Around<'_>) {
        let from = self.items.len();
        for (name, outage) in &self.run.outages {
            let Outage { until, agent, reason, since, .. } = outage;
            let (told, help) = match until {
                Some(until) => (
                    format!("the usage limit of {name} lasts until {until}: {reason}"),
                    format!("piton unpark {}", shell_word(name)),
                ),
                None => (
                    format!("{name} rejects the login of `{agent}`: {reason}"),
                    format!("piton agents test {} --plan PLAN", shell_word(agent)),
                ),
            };
            self.add(Kind::Provider, &began(name, Some(*since)), &told, Some(*since)).helps = vec![help];
        }
        for (name, overload) in parked(self.run) {
            let reason = format!("{name} does not answer: {}", overload.reason);
            let since = Some(overload.since);
            self.add(Kind::Provider, &began(name, since), &reason, since).helps =
                vec![format!("piton unpark {}", shell_word(name))];
        }
        // If the run has stopped for that, somebody has to start it again.
        if matches!(around.status, RunStatus::Stopped(_)) {
            self.items[from..].iter_mut().for_each(|item| item.helps.push(RESUME.to_owned()));
        }
    }

    /// Tasks that wait for the same thing are one item.
    fn landings(&mut self, tasks: &[Task], around: &Around<'_>) {
        let mut known: Vec<(&str, Vec<&Task>)> = Vec::new();
        for task in tasks {
            let Some(waits) = &task.progress.waits else { continue };
            if waits_for_the_host(self.run, task) {
                continue;
            }
            match known.iter_mut().find(|(reason, _)| reason == waits) {
                Some((_, tasks)) => tasks.push(task),
                None => known.push((waits, vec![task])),
            }
        }
        for (reason, tasks) in known {
            // Others may come to wait for the same, and the words may change.
            let since = |task: &&Task| task.progress.waits_since.unwrap_or(task.since);
            let Some(first) = tasks.iter().min_by_key(|task| (since(task), &task.id)) else { continue };
            let since = Some(since(first));
            let item = self.add(Kind::Landing, &began(&first.id, since), reason, since);
            item.tasks = tasks.iter().map(|task| task.id.clone()).collect();
            // An engine that is there sees for itself when it can go on.
            let is_alive = matches!(around.status, RunStatus::Running | RunStatus::Stopping { .. });
            item.helps.extend((!is_alive).then_some(RESUME.to_owned()));
            item.helps.push(format!("piton why {}", tasks[0].id));
        }
    }

    fn task(&mut self, task: &Task, around: &Around<'_>) {
        let id = &task.id;
        let kind = match task.status() {
            Status::Blocked => Some(Kind::Blocked),
            Status::Abandoned => Some(Kind::GivenUp),
            Status::PassedOver if task.progress.left_behind => Some(Kind::GivenUp),
            Status::Confirming if !task.is_engines() => Some(Kind::Confirm),
            _ => None,
        };
        if let Some(kind) = kind {
            let (reason, helps) = (around.explain)(task);
            // A task that is blocked again is a new item, also for the same reason.
            let what = format!("{id} {} {}", task.fence, task.failure_seq.unwrap_or_default());
            let item = self.add(kind, &what, &reason, Some(task.since));
            (item.tasks, item.helps) = (vec![id.clone()], helps);
        }
    }

    /// Tasks that are not listed one by one.
    fn more(&mut self, around: &Around<'_>) {
        for (status, more) in around.more.iter().filter(|(_, more)| *more > 0) {
            let kind = if *status == Status::Blocked { Kind::Blocked } else { Kind::GivenUp };
            let newer = super::counted(*more, &format!("more {} task", kind.word()));
            let item =
                self.add(kind, &format!("more {status}"), &format!("{newer}, newer than those listed"), None);
            (item.more, item.helps) = (Some(*more), vec!["piton status".to_owned()]);
        }
    }

    fn looks(&mut self, tasks: &[Task]) {
        for (id, reason) in self.run.noticed.clone() {
            let task = tasks.iter().find(|task| task.id == id);
            let what = format!("{id} {}", task.map_or(0, |task| task.fence));
            let item = self.add(Kind::Look, &what, &reason, task.map(|task| task.since));
            item.helps = vec![format!("piton diff {id}")];
            item.tasks = vec![id];
        }
    }
}
