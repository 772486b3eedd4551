//! A run to try commands on: small plans, and the way of a task through its states.

use piton_core::plan::{
    Argv, Budget, Check, Digest, Exhausted, Fences, Group, GroupId, Oid, Plan, RunId, Schedule, Settings,
    TaskId, TaskSpec,
};
use piton_core::run::{
    Action, AgentEnd, CheckResult, Class, Closing, Command, Event, Holder, Intent, NewRun, Recorded, Refusal,
    Selection, Session, State, Status, Stop, Task, Verdict, Waived, Work, decide,
};
use piton_core::time::{Span, Timestamp};

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a valid id")
}

pub(crate) fn oid(n: u64) -> Oid {
    Oid::new(&format!("{n:040x}")).expect("forty digits")
}

pub(crate) fn check(line: &str) -> Check {
    Check::new(line.to_owned(), Argv::parse(line), Span::minutes(1))
}

pub(crate) fn spec(name: &str, needs: &[&str]) -> TaskSpec {
    TaskSpec {
        id: id(name),
        title: name.to_owned(),
        prompt: String::new(),
        group: 0,
        depends_on: needs.iter().map(|need| id(need)).collect(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: vec![check(&format!("check {name}"))],
        priority: 1,
        agent: "default".to_owned(),
        attempts: 3,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(1),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    }
}

pub(crate) fn plan(tasks: Vec<TaskSpec>) -> Plan {
    let groups = (0..3).map(|n| {
        let id = GroupId::new(&format!("g{n}")).expect("a valid id");
        Group { id, title: String::new() }
    });
    let settings = Settings { schedule: Schedule::Flow, max_parallel: 4, ..Settings::default() };
    Plan { name: "plan".to_owned(), groups: groups.collect(), tasks, settings }
}

pub(crate) fn session(schedule: Schedule) -> Session {
    Session {
        schedule,
        max_parallel: 4,
        landing_parallel: 1,
        landing_by_load: false,
        selection: Selection::All,
        agent: None,
        budget: Budget::default(),
        fences: Fences::default(),
        verbose: false,
        quiet: false,
    }
}

/// The evidence of a check of the task of that name.
pub(crate) fn evidence(name: &str, verdict: Verdict) -> CheckResult {
    CheckResult {
        name: format!("check {name}"),
        check: check(&format!("check {name}")).digest(),
        command: format!("check {name}"),
        verdict,
        environment: Digest::of_bytes(b"bench"),
        took: Span::seconds(1),
        log: String::new(),
        tail: String::new(),
        tests: None,
        ran: None,
    }
}

pub(crate) fn work(tree: u64) -> Work {
    Work {
        commit: Some(oid(tree + 1000)),
        tree: oid(tree),
        changed: true,
        found_work: true,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    }
}

/// A complete state, its journal, and a clock that stands still until it is moved.
pub(crate) struct Bench {
    pub(crate) state: State,
    pub(crate) journal: Vec<Recorded>,
    pub(crate) now: Timestamp,
}

impl Bench {
    pub(crate) fn new(plan: Plan) -> Bench {
        let state = State::new();
        let mut bench = Bench { state, journal: Vec::new(), now: Timestamp(1_800_000_000_000) };
        bench.accept(&Command::Create(Box::new(NewRun {
            run: RunId::new("run").expect("a valid id"),
            plan,
            plan_path: "plan.toml".to_owned(),
            target: Some("main".to_owned()),
            base: Some(oid(0)),
            worktree_dir: None,
        })));
        bench
    }

    /// With an engine at work on it.
    pub(crate) fn running(tasks: Vec<TaskSpec>) -> Bench {
        Bench::running_as(Schedule::Flow, Exhausted::Continue, tasks)
    }

    pub(crate) fn running_as(schedule: Schedule, exhausted: Exhausted, tasks: Vec<TaskSpec>) -> Bench {
        let mut plan = plan(tasks);
        plan.settings.exhausted = exhausted;
        let mut bench = Bench::new(plan);
        bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(schedule) });
        bench
    }

    pub(crate) fn decide(&self, command: &Command) -> Result<Vec<Event>, Stop> {
        decide(&self.state, command, self.now)
    }

    pub(crate) fn record(&mut self, events: Vec<Event>) {
        for event in events {
            let recorded = Recorded { seq: self.state.seq() + 1, at: self.now, event };
            self.state.apply(&recorded).expect("a complete state misses nothing");
            self.journal.push(recorded);
        }
    }

    pub(crate) fn accept(&mut self, command: &Command) {
        match self.decide(command) {
            Ok(events) => self.record(events),
            Err(stop) => panic!("{command:?}: {stop:?}"),
        }
    }

    pub(crate) fn refuse(&self, command: &Command) -> Refusal {
        match self.decide(command) {
            Err(Stop::Refused(refusal)) => refusal,
            other => panic!("{command:?}: {other:?}"),
        }
    }

    pub(crate) fn task(&self, name: &str) -> &Task {
        self.state.task(&id(name)).expect("complete").expect("in the plan")
    }

    pub(crate) fn start(&mut self, name: &str) {
        self.accept(&Command::Start { task: id(name), holder: Holder::Engine });
    }

    pub(crate) fn ready(&mut self, name: &str, base: u64, landed: u32) {
        let (task, fence) = (id(name), self.task(name).fence);
        self.accept(&Command::Prepared { task, fence, base: oid(base), landed });
    }

    pub(crate) fn agent_ends(&self, name: &str, end: AgentEnd) -> Command {
        let at = self.task(name);
        let (fence, pass) = (at.fence, at.progress.confirmations);
        Command::AgentEnded {
            task: id(name),
            fence,
            pass,
            end,
            took: Span::seconds(1),
            report: None,
            closing: Closing::default(),
        }
    }

    pub(crate) fn captured(&self, name: &str, work: Work) -> Command {
        let at = self.task(name);
        Command::Captured { task: id(name), fence: at.fence, pass: at.progress.confirmations, work }
    }

    pub(crate) fn checks_end(&self, name: &str, tree: u64, verdict: Verdict) -> Command {
        let fence = self.task(name).fence;
        Command::ChecksEnded {
            task: id(name),
            fence,
            tree: oid(tree),
            results: vec![evidence(name, verdict)],
        }
    }

    pub(crate) fn prepare_landing(&self, name: &str, tree: u64, passed: &[&str]) -> Command {
        Command::PrepareLanding {
            task: id(name),
            fence: self.task(name).fence,
            tree: oid(tree),
            intent: Intent { old: oid(tree + 2000), candidate: oid(tree + 3000), on: Vec::new() },
            before: Vec::new(),
            results: passed.iter().map(|other| evidence(other, Verdict::Pass)).collect(),
            waived: Waived::default(),
        }
    }

    pub(crate) fn landed(&self, name: &str, tree: u64) -> Command {
        Command::Landed { task: id(name), fence: self.task(name).fence, commit: oid(tree + 3000) }
    }

    /// Started, worked on and verified, on a worktree made when so many had landed.
    pub(crate) fn verify(&mut self, name: &str, tree: u64, landed: u32) {
        self.start(name);
        self.ready(name, 0, landed);
        self.accept(&self.agent_ends(name, AgentEnd::Done));
        self.accept(&self.captured(name, work(tree)));
        self.accept(&self.checks_end(name, tree, Verdict::Pass));
    }

    pub(crate) fn land(&mut self, name: &str, tree: u64) {
        self.verify(name, tree, 0);
        self.accept(&self.prepare_landing(name, tree, &[]));
        self.accept(&self.landed(name, tree));
    }

    pub(crate) fn fail(&mut self, name: &str, class: Class) {
        let fence = self.task(name).fence;
        let action = Action::Prepare { task: id(name), fence };
        let (reason, feedback) = ("it failed".to_owned(), String::new());
        self.accept(&Command::TryFailed { action, class, reason, feedback });
    }

    /// Bring a pending task to a state. `Unreachable` needs a dependency, called `first`.
    pub(crate) fn bring(&mut self, name: &str, status: Status) {
        match status {
            // What it waits for in another list is part of its spec.
            Status::Pending | Status::Waiting => {}
            Status::InProgress => self.start(name),
            Status::Confirming => {
                self.start(name);
                self.ready(name, 0, 0);
                self.accept(&self.agent_ends(name, AgentEnd::Done));
                self.accept(&self.captured(name, work(7)));
                if self.task(name).confirm {
                    self.accept(&self.checks_end(name, 7, Verdict::Pass));
                }
            }
            Status::Verifying => {
                self.bring(name, Status::Confirming);
                if self.task(name).decided == Status::Confirming {
                    self.accept(&self.agent_ends(name, AgentEnd::Done));
                    self.accept(&self.captured(name, Work { found_work: false, ..work(7) }));
                }
            }
            Status::Verified => {
                self.bring(name, Status::Verifying);
                self.accept(&self.checks_end(name, 7, Verdict::Pass));
            }
            Status::Merging => {
                self.bring(name, Status::Verified);
                self.accept(&self.prepare_landing(name, 7, &[]));
            }
            Status::Completed => {
                self.bring(name, Status::Merging);
                self.accept(&self.landed(name, 7));
            }
            Status::Failed => {
                self.start(name);
                self.fail(name, Class::Code);
            }
            Status::Abandoned => {
                while self.task(name).decided != Status::Abandoned {
                    self.bring(name, Status::Failed);
                }
            }
            Status::Blocked => {
                self.start(name);
                self.fail(name, Class::Defect);
            }
            Status::Skipped => self.accept(&Command::Skip {
                task: id(name),
                by: "ann".to_owned(),
                reason: "not needed".to_owned(),
            }),
            Status::Unreachable => self.bring("first", Status::Blocked),
            // Its plan says that it may fail.
            Status::PassedOver => self.bring(name, Status::Blocked),
        }
    }
}
