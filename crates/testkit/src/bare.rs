//! Runs of bare tasks, for simulations that are about time: a task has one check and nothing else that matters.

use piton_core::plan::{
    Argv, Budget, Check, Digest, Fences, Group, GroupId, Oid, Plan, RunId, Schedule, Settings, TaskId,
    TaskSpec,
};
use piton_core::run::{
    CheckResult, Command, NewRun, Recorded, Selection, Session, State, Stop, Verdict, Work, decide,
};
use piton_core::time::{Span, Timestamp};

pub(crate) fn task_id(task: usize) -> TaskId {
    TaskId::new(&format!("T{task}")).expect("a letter and digits")
}

/// The place of a task that [`task_id`] has named.
pub(crate) fn index(task: &TaskId) -> usize {
    task.as_str()[1..].parse().expect("a letter and digits")
}

/// A task that needs others.
pub fn spec(task: usize, needs: &[usize]) -> TaskSpec {
    TaskSpec {
        id: task_id(task),
        title: String::new(),
        prompt: String::new(),
        group: 0,
        depends_on: needs.iter().map(|&need| task_id(need)).collect(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: vec![check()],
        priority: 50,
        agent: "default".to_owned(),
        attempts: 1,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(60),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    }
}

fn check() -> Check {
    Check::new("true".to_owned(), Argv::parse("true"), Span::minutes(1))
}

pub(crate) fn oid(no: u64) -> Oid {
    Oid::new(&format!("{no:040x}")).expect("forty hex digits")
}

/// The check of every task has passed.
pub(crate) fn passed() -> CheckResult {
    CheckResult {
        name: String::new(),
        check: check().digest(),
        command: String::new(),
        verdict: Verdict::Pass,
        environment: Digest::of_bytes(b""),
        took: Span(0),
        log: String::new(),
        tail: String::new(),
        tests: None,
        ran: None,
    }
}

/// The check of every task has failed.
pub(crate) fn failed() -> CheckResult {
    CheckResult { verdict: Verdict::Fail { exit: 1 }, ..passed() }
}

/// What an agent left, as this commit and tree.
pub(crate) fn work(tree: Oid) -> Work {
    Work {
        commit: Some(tree.clone()),
        tree,
        changed: true,
        found_work: true,
        touches_judges: false,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    }
}

/// A run that an engine has just begun to work on.
pub(crate) fn begin(tasks: Vec<TaskSpec>, settings: Settings, landing_parallel: u32, at: Timestamp) -> State {
    let max_parallel = settings.max_parallel;
    let group = Group { id: GroupId::new("all").expect("a word"), title: String::new() };
    let plan = Plan { name: "plan".to_owned(), groups: vec![group], tasks, settings };
    let run = NewRun {
        run: RunId::new("run").expect("a word"),
        plan,
        plan_path: String::new(),
        target: Some("main".to_owned()),
        base: Some(oid(0)),
        worktree_dir: None,
    };
    let session = Session {
        schedule: Schedule::Flow,
        max_parallel,
        landing_parallel,
        landing_by_load: false,
        selection: Selection::All,
        agent: None,
        budget: Budget::default(),
        fences: Fences::default(),
        verbose: false,
        quiet: false,
    };
    let mut state = State::new();
    for command in [Command::Create(Box::new(run)), Command::Attach { engine: "engine".to_owned(), session }]
    {
        submit(&mut state, &command, at).expect("a new run can be begun");
    }
    state
}

/// Decide, and apply what was decided.
pub(crate) fn submit(state: &mut State, command: &Command, at: Timestamp) -> Result<(), Stop> {
    for event in decide(state, command, at)? {
        let recorded = Recorded { seq: state.seq() + 1, at, event };
        state.apply(&recorded).expect("a complete state misses nothing");
    }
    Ok(())
}
