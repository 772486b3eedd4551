//! A plan that is edited while its run goes on. Tasks that are not in progress follow it. Everything else waits for a
//! person.

use piton_core::plan::{AboutTask, Agent, Budget, Plan, TaskSpec, WorktreeSetup};
use piton_core::run::{
    Action, AgentEnd, Class, Command, Event, Reopening, Revision, Session, Status, StopReason, Verdict, next,
    settings_that_wait,
};
use piton_core::time::Span;

use crate::bench::{Bench, check, id, oid, plan, spec, work};

fn follow(bench: &Bench, old: &[TaskSpec], new: Plan) -> Command {
    let from = bench.state.run().expect("created").plan_hash.clone();
    Command::Follow(Box::new(Revision::new(new, &from, old)))
}

fn titled(spec: TaskSpec) -> TaskSpec {
    TaskSpec { title: "Something else".to_owned(), ..spec }
}

fn judged(line: &str, spec: TaskSpec) -> TaskSpec {
    TaskSpec { checks: vec![check(line)], ..spec }
}

fn changed(bench: &Bench, since: usize) -> Vec<&str> {
    let events = bench.journal[since..].iter();
    events
        .filter_map(|recorded| match &recorded.event {
            Event::TaskChanged { spec, .. } => Some(spec.id.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn an_edit_of_a_task_that_has_not_begun_is_adopted_beside_an_engine() {
    let old = vec![spec("a", &[]), spec("b", &["a"]), spec("c", &["b"]), spec("d", &[])];
    let mut bench = Bench::running(old.clone());
    bench.land("d", 7);
    bench.start("a");
    let edits: [fn(TaskSpec) -> TaskSpec; 5] = [
        titled,
        |spec| TaskSpec { prompt: "more".to_owned(), ..spec },
        |spec| judged("other", spec),
        |spec| TaskSpec { priority: 9, attempts: 5, timeout: Span::minutes(9), ..spec },
        |spec| TaskSpec { depends_on: vec![id("a"), id("d")], ..spec },
    ];
    let mut now = old;
    for edit in edits {
        let (since, before) = (bench.journal.len(), now.clone());
        now[1] = edit(now[1].clone());
        bench.accept(&follow(&bench, &before, plan(now.clone())));
        assert_eq!(changed(&bench, since), ["b"]);
        assert_eq!(bench.state.run().expect("created").plan_hash, plan(now.clone()).hash());
    }
    assert_eq!((bench.task("b").priority, bench.task("b").budget, bench.task("b").waiting), (9, 5, 1));
    assert_eq!(["a", "b", "d"].map(|name| bench.task(name).decided), {
        [Status::InProgress, Status::Pending, Status::Completed]
    });
}

#[test]
fn a_task_that_is_added_is_adopted_and_one_that_is_taken_away_waits() {
    let old = vec![spec("a", &[]), spec("b", &["a"])];
    let mut bench = Bench::running(old.clone());
    bench.start("a");
    let grown = vec![spec("a", &[]), spec("b", &["c"]), spec("c", &["a"])];
    bench.accept(&follow(&bench, &old, plan(grown.clone())));
    assert_eq!(
        (bench.task("c").decided, bench.task("a").tail, bench.task("b").level),
        (Status::Pending, 2, 2)
    );
    let refused = bench.refuse(&follow(&bench, &grown, plan(vec![spec("a", &[]), spec("c", &["a"])])));
    assert_eq!(refused.reason, "b is no longer in the plan");
}

#[test]
fn an_edit_of_a_task_that_is_worked_on_or_completed_waits_for_a_person() {
    let old = vec![spec("a", &[]), spec("b", &[]), spec("c", &[])];
    for status in [Status::InProgress, Status::Verifying, Status::Verified, Status::Merging] {
        let mut bench = Bench::running(old.clone());
        bench.bring("a", status);
        let new = vec![TaskSpec { priority: 9, ..spec("a", &[]) }, titled(spec("b", &[])), spec("c", &[])];
        let refused = bench.refuse(&follow(&bench, &old, plan(new)));
        assert_eq!(refused.reason, format!("a is {status}, and the plan changes it"));
        assert!(!refused.stale);
        // Nor is it judged by other checks where it lands.
        let mut landing = plan(old.clone());
        landing.settings.landing_checks = vec![check("all")];
        let refused = bench.refuse(&follow(&bench, &old, landing));
        assert_eq!(refused.reason, format!("a is {status}, and the landing checks change"));
    }
    let mut bench = Bench::running(old.clone());
    bench.land("a", 7);
    for edit in [titled, |spec| judged("other", spec)] {
        let new = vec![edit(spec("a", &[])), spec("b", &[]), spec("c", &[])];
        let refused = bench.refuse(&follow(&bench, &old, plan(new)));
        assert_eq!(refused.reason, "a is completed, and the plan changes it");
    }
    // What it was completed for is the same.
    let new = vec![TaskSpec { priority: 9, ..spec("a", &[]) }, spec("b", &[]), spec("c", &[])];
    bench.accept(&follow(&bench, &old, plan(new)));
    assert_eq!(bench.task("a").decided, Status::Completed);
}

#[test]
fn a_comparison_with_another_plan_than_the_runs_is_stale() {
    let old = vec![spec("a", &[]), spec("b", &[])];
    let mut bench = Bench::running(old.clone());
    let late = follow(&bench, &old, plan(vec![spec("a", &[]), titled(spec("b", &[]))]));
    bench.accept(&Command::Extend(Box::new(plan(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]))));
    assert!(bench.refuse(&late).stale);
}

/// Batches of a list are made of its tasks: they shift under those that are done.
#[test]
fn a_list_may_be_batched_otherwise() {
    let listed = |tasks: Vec<TaskSpec>| {
        let mut plan = plan(tasks);
        let about = plan.tasks.iter().map(|spec| (spec.id.clone(), AboutTask::default())).collect();
        let about = piton_core::plan::About { tasks: about, ..Default::default() };
        plan.settings.form = piton_core::system::Form::Rwkit(Box::new(about));
        plan
    };
    let old = vec![spec("a", &[]), TaskSpec { group: 1, ..spec("b", &[]) }];
    let new = vec![TaskSpec { group: 1, ..spec("a", &[]) }, titled(spec("b", &[]))];
    let mut bench = Bench::new(listed(old.clone()));
    let session = crate::bench::session(piton_core::plan::Schedule::Flow);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.land("a", 7);
    bench.accept(&follow(&bench, &old, listed(new.clone())));
    assert_eq!((bench.task("a").group, bench.task("b").group), (1, 0));
    // Elsewhere the group is what the author says.
    let mut bench = Bench::running(old.clone());
    bench.start("a");
    let _ = bench.refuse(&follow(&bench, &old, plan(new)));
}

fn rejudged(bench: &Bench, since: usize) -> bool {
    bench.journal[since..]
        .iter()
        .any(|recorded| matches!(recorded.event, Event::Reopened { reason: Reopening::Rejudged, .. }))
}

/// An agent has worked on it, and its checks say this.
fn judge(bench: &mut Bench, name: &str, verdict: Verdict) {
    bench.bring(name, Status::Verifying);
    bench.accept(&bench.checks_end(name, 7, verdict));
}

/// Its work is there: other checks look at it, and an agent begins only if they find something.
#[test]
fn a_task_that_failed_by_its_checks_is_judged_again_by_others_without_an_agent() {
    let ends: [(u32, Verdict, Status); 3] = [
        (1, Verdict::Fail { exit: 1 }, Status::Abandoned),
        (3, Verdict::Fail { exit: 1 }, Status::Failed),
        (3, Verdict::Impossible { reason: "no such program".to_owned() }, Status::Blocked),
    ];
    for (attempts, verdict, status) in ends {
        let old = vec![TaskSpec { attempts, ..spec("a", &[]) }, spec("b", &["a"])];
        let mut bench = Bench::running(old.clone());
        judge(&mut bench, "a", verdict);
        assert_eq!(bench.task("a").decided, status);
        let since = bench.journal.len();
        let new = vec![judged("right", old[0].clone()), old[1].clone()];
        bench.accept(&follow(&bench, &old, plan(new)));
        assert!(rejudged(&bench, since), "{status}");
        bench.start("a");
        let (task, fence) = (id("a"), bench.task("a").fence);
        assert_eq!(bench.task("a").progress.tree, Some(oid(7)));
        assert!(next(&bench.state, bench.now).contains(&Action::Check { task, fence }), "{status}");
        assert_eq!(bench.task("b").status(), Status::Pending);
    }
}

#[test]
fn a_longer_limit_of_a_check_judges_again_too() {
    let old = vec![TaskSpec { attempts: 1, ..spec("a", &[]) }];
    let mut bench = Bench::running(old.clone());
    judge(&mut bench, "a", Verdict::Fail { exit: 1 });
    let mut new = old.clone();
    new[0].checks[0].timeout = Span::minutes(9);
    let since = bench.journal.len();
    bench.accept(&follow(&bench, &old, plan(new)));
    assert!(rejudged(&bench, since));
}

#[test]
fn what_was_not_stopped_by_checks_is_not_judged_by_others() {
    let old = vec![spec("a", &[])];
    let new = || plan(vec![judged("right", spec("a", &[]))]);
    // Its agent says that it is blocked: there may be no work.
    let mut bench = Bench::running(old.clone());
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Blocked { reason: "which one?".to_owned() }));
    let since = bench.journal.len();
    bench.accept(&follow(&bench, &old, new()));
    assert!(!rejudged(&bench, since));
    assert_eq!(bench.task("a").decided, Status::Blocked);
    // It is another task: what was done was done for the one before.
    let mut bench = Bench::running(old.clone());
    judge(&mut bench, "a", Verdict::Fail { exit: 1 });
    let since = bench.journal.len();
    let other = titled(spec("a", &[]));
    bench.accept(&follow(&bench, &old, plan(vec![other.clone()])));
    bench.accept(&follow(&bench, std::slice::from_ref(&other), plan(vec![judged("right", other.clone())])));
    assert!(!rejudged(&bench, since));
    // The new plan does not ask for it.
    let mut bench = Bench::running(old.clone());
    judge(&mut bench, "a", Verdict::Fail { exit: 1 });
    bench.accept(&Command::Abandon { task: id("a"), by: "ann".to_owned(), reason: String::new() });
    let since = bench.journal.len();
    bench.accept(&follow(&bench, &old, new()));
    assert!(!rejudged(&bench, since));
}

#[test]
fn landing_checks_that_change_judge_what_failed_by_them() {
    let old = vec![spec("a", &[]), spec("b", &[])];
    let mut bench = Bench::running(old.clone());
    judge(&mut bench, "b", Verdict::Impossible { reason: "no such program".to_owned() });
    bench.verify("a", 2, 0);
    bench.accept(&Command::BeginProof { chain: vec![id("a")], alone: false });
    let action = Action::Prove { proof: 1, task: id("a"), fence: bench.task("a").fence };
    let (reason, feedback) = ("check `all` cannot be run".to_owned(), String::new());
    bench.accept(&Command::TryFailed { action, class: Class::Defect, reason, feedback });
    assert_eq!(bench.task("a").decided, Status::Blocked);
    let mut new = plan(old.clone());
    new.settings.landing_checks = vec![check("all")];
    bench.accept(&follow(&bench, &old, new));
    bench.start("a");
    assert_eq!((bench.task("a").decided, bench.task("b").decided), (Status::Verifying, Status::Blocked));
}

/// A plan that is adopted between two runs does the same.
#[test]
fn a_plan_that_is_read_again_judges_again_too() {
    let mut bench = Bench::running(vec![TaskSpec { attempts: 1, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(1)));
    bench.accept(&bench.checks_end("a", 1, Verdict::Fail { exit: 1 }));
    let (engine, reason) = ("e1".to_owned(), StopReason::Ended);
    bench.accept(&Command::Detach { engine, reason, tip: Vec::new() });
    let since = bench.journal.len();
    bench.accept(&Command::Replan(Box::new(plan(vec![judged("right", spec("a", &[]))]))));
    assert!(rejudged(&bench, since));
}

#[test]
fn settings_alone_are_adopted_beside_an_engine_without_a_word_about_tasks() {
    let old = vec![spec("a", &[]), spec("b", &[])];
    let mut bench = Bench::running(old.clone());
    bench.start("a");
    let since = bench.journal.len();
    let mut now = plan(old.clone());
    now.settings.max_parallel = 7;
    now.settings.budget = Budget { run_tokens: Some(9), ..Budget::default() };
    now.settings.agents.insert("w".to_owned(), Agent { model: Some("m".to_owned()), ..Agent::default() });
    now.settings.fences.processes = Some(99);
    now.settings.worktree =
        WorktreeSetup { shared: Some("elsewhere".to_owned()), ..WorktreeSetup::default() };
    now.settings.no_commits = true;
    let session = Session {
        max_parallel: 7,
        budget: now.settings.budget,
        agent: Some("somebody".to_owned()),
        ..bench.state.run().expect("created").session.clone()
    };
    let from = bench.state.run().expect("created").plan_hash.clone();
    let follow = |plan: &Plan| {
        Command::Follow(Box::new(Revision::new(plan.clone(), &from, &old).for_session(session.clone())))
    };
    bench.accept(&follow(&now));
    let Event::SettingsAdopted { changed, .. } = &bench.journal[since].event else {
        panic!("{:?}", bench.journal[since])
    };
    assert_eq!(changed.join(" "), "agents.w budget.run_tokens policy.max_parallel sandbox.processes");
    assert_eq!(bench.journal.len(), since + 1);
    let run = bench.state.run().expect("created");
    assert_eq!((run.session.max_parallel, run.session.budget.run_tokens), (7, Some(9)));
    // What only this start was asked for stays, and so does where it works.
    assert_eq!((run.session.agent.as_deref(), run.settings.no_commits), (None, false));
    assert_eq!(run.settings.worktree.shared, None);
    // Once is enough.
    bench.accept(&follow(&now));
    assert_eq!(bench.journal.len(), since + 1);
}

#[test]
fn what_the_commits_of_a_run_are_bound_to_waits_for_a_replan() {
    let old = vec![spec("a", &[])];
    let mut bench = Bench::running(old.clone());
    let mut now = plan(vec![titled(spec("a", &[]))]);
    now.settings.commit_prefix = Some("feat:".to_owned());
    now.settings.author = Some("A <a@b>".to_owned());
    let run = bench.state.run().expect("created");
    assert_eq!(settings_that_wait(run, &now), ["policy.commit_prefix", "policy.author"]);
    bench.accept(&follow(&bench, &old, now.clone()));
    assert_eq!(bench.state.run().expect("created").settings.commit_prefix, None);
    let reason = StopReason::Person;
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    bench.accept(&Command::Replan(Box::new(now.clone())));
    let run = bench.state.run().expect("created");
    assert_eq!(run.settings.commit_prefix.as_deref(), Some("feat:"));
    assert!(settings_that_wait(run, &now).is_empty());
}
