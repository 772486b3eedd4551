//! A run to write down: its journal, and the commands that move it, each a minute after the last.

use super::Chronicle;
use crate::plan::{
    Argv, Check, Digest, Exhausted, Group, GroupId, Oid, Plan, RunId, Settings, TaskId, TaskSpec,
};
use crate::run::{
    AgentEnd, CheckResult, Claim, Closing, Command, CommitMade, Holder, Intent, NewRun, Note, Recorded,
    Report, Selection, Session, State, Status, StopReason, Task, Verdict, Waived, Work, decide,
};
use crate::time::{Span, Timestamp};

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a valid id")
}

pub(crate) fn oid(n: u64) -> Oid {
    Oid::new(&format!("{n:040x}")).expect("forty digits")
}

/// A task of an execute plan, such as `L1-002`, with one check.
pub(crate) fn spec(name: &str, needs: &[&str]) -> TaskSpec {
    let layer = name.strip_prefix('L').and_then(|rest| rest.split('-').next()).and_then(|n| n.parse().ok());
    TaskSpec {
        id: id(name),
        title: format!("Add part {name}"),
        prompt: String::new(),
        group: layer.unwrap_or(0),
        depends_on: needs.iter().map(|need| id(need)).collect(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: vec![Check::new(
            "test".to_owned(),
            Argv::parse(&format!("cargo test {name}")),
            Span::minutes(5),
        )],
        priority: 1,
        agent: "default".to_owned(),
        attempts: 5,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(10),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    }
}

pub(crate) fn layer(name: &str) -> Group {
    Group { id: GroupId::new(name).expect("a valid id"), title: name.to_owned() }
}

pub(crate) fn plan(layers: &[&str], tasks: Vec<TaskSpec>) -> Plan {
    let settings = Settings {
        form: crate::system::named("execute").expect("it is one of ours").plain(),
        exhausted: Exhausted::Stop,
        backoff: Span::seconds(1),
        ..Settings::default()
    };
    Plan {
        name: "voice-notes".to_owned(),
        groups: layers.iter().map(|name| layer(name)).collect(),
        tasks,
        settings,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) state: State,
    pub(crate) chronicle: Chronicle,
    pub(crate) journal: Vec<Recorded>,
    pub(crate) now: Timestamp,
}

impl Bench {
    pub(crate) fn new(plan: Plan) -> Bench {
        Bench::placed(plan, Some("/home/ann/.worktrees/notes".to_owned()))
    }

    /// With its worktrees there.
    pub(crate) fn placed(plan: Plan, worktree_dir: Option<String>) -> Bench {
        let mut bench = Bench {
            state: State::new(),
            chronicle: Chronicle::default(),
            journal: Vec::new(),
            now: Timestamp::parse("2026-01-10T09:59:00Z").expect("a time"),
        };
        bench.accept(&Command::Create(Box::new(NewRun {
            run: RunId::new("voice-notes-1").expect("valid"),
            plan,
            plan_path: "/home/ann/docs/tasks/voice-notes".to_owned(),
            target: Some("main".to_owned()),
            base: Some(oid(1)),
            worktree_dir,
        })));
        bench
    }

    /// Two layers: `L0-001`; `L1-001` and `L1-002`, and `L1-003` after both.
    pub(crate) fn small() -> Bench {
        let tasks = vec![
            spec("L0-001", &[]),
            spec("L1-001", &["L0-001"]),
            spec("L1-002", &["L0-001"]),
            spec("L1-003", &["L1-001", "L1-002"]),
        ];
        Bench::new(plan(&["0-setup", "1-foundation"], tasks))
    }

    /// Whether it was accepted. The clock moves on by a minute either way.
    pub(crate) fn try_(&mut self, command: &Command) -> Result<(), String> {
        self.now = self.now.plus(Span::minutes(1));
        let events = decide(&self.state, command, self.now).map_err(|stop| format!("{stop:?}"))?;
        for event in events {
            let recorded = Recorded { seq: self.state.seq() + 1, at: self.now, event };
            self.state.apply(&recorded).expect("the state is complete");
            self.chronicle.apply(&recorded);
            self.journal.push(recorded);
        }
        Ok(())
    }

    #[track_caller]
    pub(crate) fn accept(&mut self, command: &Command) {
        self.try_(command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
    }

    pub(crate) fn task(&self, name: &str) -> &Task {
        self.state.task(&id(name)).expect("complete").expect("a task")
    }

    pub(crate) fn session(&self) -> Session {
        self.state.run().expect("it was made").session.clone()
    }

    pub(crate) fn attach(&mut self) {
        self.attach_to(Selection::All);
    }

    pub(crate) fn attach_to(&mut self, selection: Selection) {
        let session = Session { selection, ..self.session() };
        self.accept(&Command::Attach { engine: "e1".to_owned(), session });
    }

    pub(crate) fn detach(&mut self, reason: StopReason) {
        self.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    }

    pub(crate) fn start(&mut self, name: &str) {
        self.accept(&Command::Start { task: id(name), holder: Holder::Engine });
    }

    pub(crate) fn ready(&mut self, name: &str) {
        let fence = self.task(name).fence;
        self.accept(&Command::Prepared { task: id(name), fence, base: oid(1), landed: 0 });
    }

    pub(crate) fn agent_ends(&mut self, name: &str, end: AgentEnd, report: Option<Report>) {
        self.accept(&Command::AgentEnded {
            task: id(name),
            fence: self.task(name).fence,
            pass: 0,
            end,
            took: Span::minutes(1),
            report: report.map(Box::new),
            closing: Closing::default(),
        });
    }

    /// The agent is done and leaves these commits; the last is what is verified.
    pub(crate) fn work(&mut self, name: &str, commits: &[(u64, &str)]) {
        self.agent_ends(name, AgentEnd::Done, None);
        let made = |&(n, subject): &(u64, &str)| CommitMade {
            hash: oid(n).to_string(),
            subject: format!("[{name}] {subject}"),
        };
        let last = commits.last().map_or(0, |commit| commit.0);
        let work = Work {
            commit: Some(oid(last)),
            tree: oid(last + 1000),
            changed: true,
            found_work: true,
            touches_judges: true,
            markers: Vec::new(),
            commits: commits.iter().map(made).collect(),
            created: Vec::new(),
            modified: Vec::new(),
        };
        self.accept(&Command::Captured { task: id(name), fence: self.task(name).fence, pass: 0, work });
    }

    pub(crate) fn results(&self, name: &str, verdict: &Verdict, tail: &str) -> Vec<CheckResult> {
        let judges = &self.task(name).judges;
        let result = |check: &Digest| CheckResult {
            name: "test".to_owned(),
            check: check.clone(),
            command: format!("cargo test {name}"),
            verdict: verdict.clone(),
            environment: Digest::of(&"here"),
            took: Span::seconds(3),
            log: "log".to_owned(),
            tail: tail.to_owned(),
            tests: None,
            ran: None,
        };
        judges.iter().map(result).collect()
    }

    pub(crate) fn checks_end(&mut self, name: &str, verdict: &Verdict, tail: &str) {
        let (fence, tree) = (self.task(name).fence, self.task(name).progress.tree.clone());
        self.accept(&Command::ChecksEnded {
            task: id(name),
            fence,
            tree: tree.expect("captured"),
            results: self.results(name, verdict, tail),
        });
    }

    /// One whole try whose checks fail.
    pub(crate) fn fails(&mut self, name: &str, commits: &[(u64, &str)], tail: &str) {
        self.start(name);
        self.ready(name);
        self.work(name, commits);
        self.checks_end(name, &Verdict::Fail { exit: 101 }, tail);
    }

    /// One whole try whose checks pass.
    pub(crate) fn verify(&mut self, name: &str, commits: &[(u64, &str)]) {
        self.start(name);
        self.ready(name);
        self.work(name, commits);
        self.checks_end(name, &Verdict::Pass, "");
    }

    pub(crate) fn prepare_landing(&mut self, name: &str) {
        let at = self.task(name).clone();
        let (commit, tree) =
            (at.progress.commit.clone().expect("captured"), at.progress.tree.clone().expect("captured"));
        let mut results = Vec::new();
        for other in self.state.landed_since(at.progress.landed_at_base) {
            results.extend(self.results(other.as_str(), &Verdict::Pass, ""));
        }
        let intent = Intent { old: oid(1), candidate: commit, on: Vec::new() };
        let (fence, before, waived) = (at.fence, Vec::new(), Waived::default());
        let task = id(name);
        self.accept(&Command::PrepareLanding { task, fence, tree, intent, before, results, waived });
    }

    /// The engine's next step on proven work: it prepares the landing, unless another one is under way, or finishes it.
    pub(crate) fn advance_landing(&mut self, name: &str) {
        let at = self.task(name).clone();
        if at.decided == Status::Merging {
            let (fence, commit) = (at.fence, at.progress.commit.clone().expect("captured"));
            let _refused = self.try_(&Command::Landed { task: id(name), fence, commit });
        } else if self.state.run().is_some_and(|run| run.merging.is_none()) {
            self.prepare_landing(name);
        }
    }

    pub(crate) fn land(&mut self, name: &str) {
        self.prepare_landing(name);
        let commit = self.task(name).progress.commit.clone().expect("captured");
        self.accept(&Command::Landed { task: id(name), fence: self.task(name).fence, commit });
    }

    pub(crate) fn clean(&mut self, name: &str) {
        self.accept(&Command::CleanedUp { task: id(name), fence: self.task(name).fence });
    }

    /// From nothing to landed and cleaned up.
    pub(crate) fn finish(&mut self, name: &str, commit: u64) {
        self.verify(name, &[(commit, "Do it")]);
        self.land(name);
        self.clean(name);
    }

    pub(crate) fn report(&mut self, name: &str, claim: Claim, report: Report) {
        let report = Box::new(report);
        self.accept(&Command::Report { task: id(name), by: "ann".to_owned(), fence: None, claim, report });
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.accept(&Command::Note { by: "ann".to_owned(), note });
    }
}
