//! Gates: a pass is bound to the tree that was seen. And agents whose verdicts are carried over.

use piton_core::plan::{AboutUnit, Argv, Check, Exhausted, Iterative, Schedule, TaskSpec};
use piton_core::run::{
    Action, AgentEnd, CheckResult, Claim, Class, Command, Event, Evidence, Next, Reopening, Status,
    StopReason, Verdict, Waived, Work, next,
};
use piton_core::system::Form;
use piton_core::time::Span;

use crate::bench::{Bench, evidence, id, oid, plan, session, spec, work};

fn gate(name: &str, group: u32, attempts: u32) -> TaskSpec {
    let (gate, check_first, may_fail) = (true, true, true);
    TaskSpec { gate, check_first, may_fail, group, attempts, ..spec(name, &[]) }
}

fn review(name: &str) -> Check {
    let run = Argv::Review { agent: "default".to_owned(), ask: format!("whether {name} is done") };
    Check {
        name: name.to_owned(),
        run,
        timeout: Span::minutes(1),
        cwd: None,
        fresh: false,
        uncached: false,
        pipefail: None,
    }
}

fn reviewed(spec: TaskSpec) -> TaskSpec {
    TaskSpec { checks: vec![review(spec.id.as_str())], ..spec }
}

fn verdict_of(name: &str, verdict: Verdict) -> CheckResult {
    CheckResult { check: review(name).digest(), verdict, ..evidence(name, Verdict::Pass) }
}

impl Bench {
    /// Started, and its checks have looked at what is there.
    fn look(&mut self, name: &str, tree: u64, results: Vec<CheckResult>) {
        self.start(name);
        let landed = self.state.run().expect("there is one").landed;
        self.ready(name, 0, landed);
        self.accept(&self.captured(name, Work { changed: false, found_work: false, ..work(tree) }));
        let fence = self.task(name).fence;
        self.accept(&Command::ChecksEnded { task: id(name), fence, tree: oid(tree), results });
    }

    fn pass(&mut self, name: &str, tree: u64) {
        self.look(name, tree, vec![evidence(name, Verdict::Pass)]);
        let (task, fence) = (id(name), self.task(name).fence);
        self.accept(&Command::NothingToLand { task, fence, tree: oid(tree), results: Vec::new() });
    }

    fn leaves(&self, tip: u64) -> Command {
        let (engine, reason) = ("e1".to_owned(), StopReason::Completed);
        Command::Detach { engine, reason, tip: vec![oid(tip)] }
    }

    fn reopenings(&self) -> usize {
        self.journal.iter().filter(|recorded| matches!(recorded.event, Event::Reopened { .. })).count()
    }
}

fn layered(tasks: Vec<TaskSpec>) -> Bench {
    Bench::running_as(Schedule::Layered, Exhausted::Pass, tasks)
}

/// A blocked task is retried after the gates passed: they have not seen it.
#[test]
fn what_lands_after_a_gate_passed_opens_it_again() {
    let mut bench = layered(vec![spec("a", &[]), spec("b", &[]), gate("g", 1, 4)]);
    bench.land("a", 1);
    bench.bring("b", Status::Blocked);
    bench.pass("g", 1);
    bench.accept(&Command::Retry { task: id("b"), by: "ann".to_owned() });
    bench.verify("b", 2, 1);
    bench.accept(&bench.prepare_landing("b", 2, &[]));
    bench.accept(&bench.landed("b", 2));
    assert_eq!((bench.task("g").decided, bench.task("g").proof.clone()), (Status::Pending, None));
    let reason = Reopening::Stale { reason: "b was completed after it had passed".to_owned() };
    assert!(
        matches!(&bench.journal.last().expect("not empty").event, Event::Reopened { reason: it, .. } if *it == reason)
    );
    // Its check looks before any agent does.
    bench.look("g", 2, vec![evidence("g", Verdict::Pass)]);
    let (task, fence) = (id("g"), bench.task("g").fence);
    let alone = Action::BeginProof { chain: vec![task.clone()], alone: true };
    assert!(next(&bench.state, bench.now).contains(&alone));
    bench.accept(&Command::NothingToLand { task, fence, tree: oid(2), results: Vec::new() });
    assert_eq!(bench.task("g").held_on(), Some(&oid(2)));
    bench.accept(&bench.leaves(2));
}

/// The fix of one gate may break what another saw; it is not asked whether it did.
#[test]
fn the_fix_of_one_gate_opens_the_other_again_and_not_itself() {
    let mut bench = layered(vec![spec("a", &[]), gate("g", 1, 4), gate("h", 2, 4)]);
    bench.land("a", 1);
    bench.pass("g", 1);
    bench.look("h", 1, vec![evidence("h", Verdict::Fail { exit: 1 })]);
    bench.verify("h", 2, 1);
    bench.accept(&bench.prepare_landing("h", 2, &[]));
    bench.accept(&bench.landed("h", 2));
    assert_eq!((bench.task("g").decided, bench.task("h").decided), (Status::Pending, Status::Completed));
    assert_eq!(bench.task("h").held_on(), Some(&oid(2)), "the tree that landed");
    assert!(bench.refuse(&bench.leaves(2)).reason.contains("added"), "not everything is completed");
    bench.pass("g", 2);
    assert_eq!(bench.reopenings(), 1, "who changes nothing opens nothing");
    bench.accept(&bench.leaves(2));
}

/// Rounds of fixes count over the whole run: a gate that passed does not get them back.
#[test]
fn an_open_gate_keeps_what_it_has_spent_and_ends_as_its_system_says() {
    let mut bench = layered(vec![spec("a", &[]), spec("b", &[]), gate("g", 1, 2)]);
    bench.land("a", 1);
    bench.bring("b", Status::Blocked);
    bench.look("g", 1, vec![evidence("g", Verdict::Fail { exit: 1 })]);
    bench.verify("g", 2, 1);
    bench.accept(&bench.prepare_landing("g", 2, &[]));
    bench.accept(&bench.landed("g", 2));
    bench.accept(&Command::Retry { task: id("b"), by: "ann".to_owned() });
    bench.verify("b", 3, 2);
    bench.accept(&bench.prepare_landing("b", 3, &[]));
    bench.accept(&bench.landed("b", 3));
    assert_eq!((bench.task("g").spent, bench.task("g").budget), (1, 2));
    bench.look("g", 3, vec![evidence("g", Verdict::Fail { exit: 1 })]);
    let last = &bench.journal.last().expect("not empty").event;
    assert!(matches!(last, Event::Failed { next: Next::Skipped, .. }), "degraded, and no agent: {last:?}");
}

#[test]
fn a_run_is_complete_only_on_a_tree_that_every_gate_has_seen() {
    let mut bench = layered(vec![spec("a", &[]), gate("g", 1, 4)]);
    bench.land("a", 1);
    bench.pass("g", 1);
    let refusal = bench.refuse(&bench.leaves(9));
    assert!(refusal.reason.contains("gate g has not passed") && !refusal.stale, "{refusal}");
    let reopen = Command::Reopen { task: id("g"), reason: "somebody moved the target".to_owned() };
    bench.accept(&reopen);
    assert!(bench.refuse(&reopen).stale, "once is enough");
    bench.pass("g", 9);
    bench.accept(&bench.leaves(9));
    assert!(bench.refuse(&Command::Reopen { task: id("a"), reason: String::new() }).stale, "only gates");
}

/// A look that is red on what the target holds by now has failed, like one that is red at once. Otherwise two gates whose
/// fixes undo each other could go on for ever.
#[test]
fn a_look_that_is_red_where_it_would_land_costs_a_round_of_fixes() {
    let mut bench = layered(vec![spec("a", &[]), gate("g", 1, 2)]);
    bench.land("a", 1);
    bench.look("g", 1, vec![evidence("g", Verdict::Pass)]);
    let (task, fence) = (id("g"), bench.task("g").fence);
    let (tip, reason, feedback) = (oid(2), "red".to_owned(), String::new());
    bench.accept(&Command::LandingFailed { task, fence, tip, reason, feedback, pointers: Box::default() });
    let gate = bench.task("g");
    assert_eq!((gate.decided, gate.spent, gate.conflicts), (Status::Failed, 1, 0));
    // What its agent then makes may meet others, as that of any task.
    bench.verify("g", 3, 1);
    let (task, fence) = (id("g"), bench.task("g").fence);
    let (tip, reason, feedback) = (oid(4), "conflict".to_owned(), String::new());
    bench.accept(&Command::LandingFailed { task, fence, tip, reason, feedback, pointers: Box::default() });
    assert_eq!((bench.task("g").spent, bench.task("g").conflicts), (1, 1));
}

/// What is added reopens a review that was given up, too. It has no rounds of fixes back: its checks decide.
#[test]
fn a_review_that_was_given_up_looks_again_at_what_is_added_with_what_it_has_left() {
    let review = TaskSpec { may_fail: false, ..gate("r", 0, 2) };
    let after = |needs: &[&str]| TaskSpec {
        depends_on: needs.iter().map(|need| id(need)).collect(),
        ..review.clone()
    };
    let mut first = plan(vec![spec("a", &[]), after(&["a"])]);
    let about = |ids: &[&str]| {
        let units = ids.iter().map(|name| (id(name), AboutUnit::default())).collect();
        Form::Iterative(Box::new(Iterative { units, ..Iterative::default() }))
    };
    first.settings.form = about(&["a"]);
    let mut grown = first.clone();
    let mut bench = Bench::new(first);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench.land("a", 1);
    bench.look("r", 1, vec![evidence("r", Verdict::Fail { exit: 1 })]);
    bench.start("r");
    bench.fail("r", Class::Code);
    assert_eq!((bench.task("r").decided, bench.task("r").spent), (Status::Abandoned, 2));
    grown.tasks = vec![spec("a", &[]), spec("b", &[]), after(&["a", "b"])];
    grown.settings.form = about(&["a", "b"]);
    bench.accept(&Command::Extend(Box::new(grown)));
    let review = bench.task("r");
    assert_eq!((review.decided, review.spent, review.budget), (Status::Pending, 2, 2), "nothing is refilled");
    bench.verify("b", 2, 1);
    bench.accept(&bench.prepare_landing("b", 2, &[]));
    bench.accept(&bench.landed("b", 2));
    bench.look("r", 2, vec![evidence("r", Verdict::Fail { exit: 1 })]);
    let review = bench.task("r");
    assert_eq!(
        (review.decided, review.spent, review.attempt),
        (Status::Abandoned, 2, 2),
        "no agent, and no 3 of 2"
    );
}

fn reported(name: &str, tree: u64, same: &[u64]) -> Command {
    let (whole, same) = (Some(oid(tree)), same.iter().map(|tree| oid(*tree)).collect());
    let shown = Evidence { whole, same, ..Evidence::file("work") };
    let results = vec![evidence(name, Verdict::Pass)];
    let claim = Claim::Done { tree: Some(oid(tree)), results, evidence: shown };
    Command::Report { task: id(name), by: "ann".to_owned(), fence: None, claim, report: Box::default() }
}

/// A run that the ledger keeps has no engine that compares gates at its end: each claim does.
#[test]
fn what_the_ledger_reports_later_opens_its_gates_again() {
    let mut bench = Bench::new(plan(vec![spec("a", &[]), gate("g", 0, 4), gate("h", 0, 4)]));
    bench.accept(&reported("g", 1, &[]));
    // Between two gates only the plan's own files were written.
    bench.accept(&reported("h", 2, &[1]));
    assert_eq!(bench.reopenings(), 0);
    assert_eq!(bench.task("h").held_on(), Some(&oid(2)));
    bench.accept(&reported("a", 3, &[]));
    assert_eq!(["g", "h"].map(|name| bench.task(name).decided), [Status::Pending; 2]);
    bench.accept(&reported("g", 3, &[]));
    // What one gate fixes the other has not seen.
    bench.accept(&reported("h", 4, &[]));
    assert_eq!(["g", "h"].map(|name| bench.task(name).decided), [Status::Pending, Status::Completed]);
    bench.accept(&reported("g", 5, &[4]));
    assert!(bench.state.is_complete());
    // A gate that nothing checks has seen something, too.
    let mut bench =
        Bench::new(plan(vec![spec("a", &[]), TaskSpec { checks: Vec::new(), ..gate("g", 0, 4) }]));
    let claim = Claim::Done {
        tree: None,
        results: Vec::new(),
        evidence: Evidence { whole: Some(oid(1)), ..Evidence::no_change("looked at it") },
    };
    let (by, report) = ("ann".to_owned(), Box::default());
    bench.accept(&Command::Report { task: id("g"), by, fence: None, claim, report });
    assert_eq!(bench.task("g").held_on(), Some(&oid(1)));
}

/// What changes nothing has to hold on what the target is, not on what it was when the task began.
#[test]
fn who_lands_nothing_is_proven_on_the_target() {
    let mut bench = Bench::running(vec![TaskSpec { may_change_nothing: true, ..spec("a", &[]) }]);
    bench.verify("a", 1, 0);
    let nothing = |tree: u64, results| {
        let fence = bench.task("a").fence;
        Command::NothingToLand { task: id("a"), fence, tree: oid(tree), results }
    };
    assert!(bench.refuse(&nothing(2, Vec::new())).reason.contains("has not passed on what the target holds"));
    assert!(bench.decide(&nothing(1, Vec::new())).is_ok());
    assert!(bench.decide(&nothing(2, vec![evidence("a", Verdict::Pass)])).is_ok());
}

/// Reviews by agents are expensive: they wait until nothing else can happen, and run once then.
#[test]
fn a_gate_that_agents_judge_is_judged_again_when_all_else_is_done() {
    let last = reviewed(gate("r", 0, 4));
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[]), last]);
    bench.look("r", 1, vec![verdict_of("r", Verdict::Pass)]);
    let (task, fence) = (id("r"), bench.task("r").fence);
    bench.accept(&Command::NothingToLand { task, fence, tree: oid(1), results: Vec::new() });
    bench.land("a", 2);
    let starts = |bench: &Bench| -> Vec<String> {
        let start = |action: Action| match action {
            Action::Start { task } => Some(task.to_string()),
            _ => None,
        };
        next(&bench.state, bench.now).into_iter().filter_map(start).collect()
    };
    assert_eq!(starts(&bench), ["b", "c"], "not yet");
    bench.bring("b", Status::Blocked);
    bench.start("c");
    assert_eq!(starts(&bench), [""; 0], "nor while somebody works");
    bench.fail("c", Class::Defect);
    assert_eq!(starts(&bench), ["r"]);
}

/// The reviewer did not judge. The work cannot fix that.
#[test]
fn a_reviewer_without_a_verdict_costs_its_task_no_attempt() {
    let mut bench = Bench::running(vec![reviewed(spec("a", &[]))]);
    let silent = Verdict::Broken { reason: "it did not say what it found".to_owned() };
    for _ in 0..5 {
        bench.now = bench.now.plus(Span::minutes(20));
        bench.start("a");
        if bench.task("a").decided == Status::InProgress {
            bench.ready("a", 0, 0);
            bench.accept(&bench.agent_ends("a", AgentEnd::Done));
            bench.accept(&bench.captured("a", work(1)));
        }
        let (fence, results) = (bench.task("a").fence, vec![verdict_of("a", silent.clone())]);
        bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree: oid(1), results });
        assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 0));
        assert!(bench.task("a").progress.recheck, "its agent is not paid for twice");
    }
    bench.now = bench.now.plus(Span::minutes(20));
    bench.start("a");
    let (fence, results) = (bench.task("a").fence, vec![verdict_of("a", silent)]);
    bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree: oid(1), results });
    assert_eq!(
        (bench.task("a").decided, bench.task("a").spent),
        (Status::Blocked, 0),
        "a person looks at it"
    );
}

/// A neighbour's verifier is asked again at a landing only where the files that it judged differ.
#[test]
fn verdicts_of_agents_are_carried_over_to_what_leaves_their_files_alone() {
    let mut bench = Bench::running(vec![reviewed(spec("a", &[])), spec("b", &[])]);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(1)));
    let (fence, results) = (bench.task("a").fence, vec![verdict_of("a", Verdict::Pass)]);
    bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree: oid(1), results });
    bench.verify("b", 2, 0);
    bench.accept(&bench.prepare_landing("a", 1, &[]));
    bench.accept(&bench.landed("a", 1));
    let Command::PrepareLanding { task, fence, tree, intent, results, .. } =
        bench.prepare_landing("b", 3, &["b"])
    else {
        panic!("it prepares a landing")
    };
    let land = |untouched| {
        let (task, tree, intent, results) = (task.clone(), tree.clone(), intent.clone(), results.clone());
        let (before, waived) = (Vec::new(), Waived { untouched, ..Waived::default() });
        Command::PrepareLanding { task, fence, tree, intent, before, results, waived }
    };
    assert!(bench.refuse(&land(Vec::new())).reason.contains("may not land"));
    assert!(bench.decide(&land(vec![id("a")])).is_ok());
    // At a landing, too, it is the reviewer who failed.
    let cut = Command::ReviewerCut {
        task: id("b"),
        fence,
        lands: true,
        tree: oid(2),
        results: Vec::new(),
        agent: "default".to_owned(),
        end: AgentEnd::Transient { reason: "it did not say what it found".to_owned() },
    };
    // The result of an engine that was stopped during its checks comes too late.
    let Command::ReviewerCut { task, fence, tree, results, agent, end, .. } = cut.clone() else {
        panic!("it is one")
    };
    let late = Command::ReviewerCut { task, fence, lands: false, tree, results, agent, end };
    assert!(bench.refuse(&late).stale);
    bench.accept(&cut);
    let at = bench.task("b");
    assert_eq!((at.decided, at.spent, at.conflicts, at.progress.recheck), (Status::Failed, 0, 0, true));
}
