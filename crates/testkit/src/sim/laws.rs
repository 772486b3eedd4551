//! What must hold after every event, whatever happened before. Each law is a function with a sentence. It uses the
//! plan, the journal and the world, and not the counters that the core keeps.

use std::collections::BTreeMap;

use piton_core::plan::{Check, Digest, Exhausted, Oid, Schedule, TaskId};
use piton_core::run::{
    Action, Class, Counts, Event, Holder, Intent, Next, Proof, Reopening, RequestFact, Selection, State,
    Status, StopReason, Task, is_current,
};

use piton_core::run::request::Step;

use super::attempts;
use super::claims::{
    completion_has_evidence, nothing_builds_on_uncommitted, only_the_bound_are_released, says_no_change,
};
use super::confirming::waits_for_somebody;
use super::driver::Sim;
use super::git::commit_no;
use super::identity;
use super::overloads;
use super::providers;
use super::requests;
use super::scenario::task_id;
use super::siblings::{starts_wait_for_other_lists, waiting_is_derived};
use super::stacks;
use super::whole;

pub(super) type Verdict = Result<(), String>;
pub(super) type Broken = (&'static str, String);

/// Laws about an event that is about to be folded.
pub(super) fn before(sim: &Sim, event: &Event) -> Result<(), Broken> {
    named("starts_wait_for_dependencies", starts_wait_for_dependencies(sim, event))?;
    named("starts_wait_for_other_lists", starts_wait_for_other_lists(sim, event))?;
    named("merged_after_what_it_stands_on", stacks::merged_after_what_it_stands_on(sim, event))?;
    named("stands_on_what_is_proven", stacks::stands_on_what_is_proven(sim, event))?;
    named("barriers_hold", barriers_hold(sim, event))?;
    named("budgets_end_as_planned", budgets_end_as_planned(sim, event))?;
    named("merges_are_green", requests::merges_are_green(sim, event))?;
    named("brings_what_was_seen", whole::brings_what_was_seen(sim, event))?;
    named("nobody_pays_for_the_target", requests::nobody_pays_for_the_target(sim, event))?;
    named("limits_park", providers::limits_park(sim, event))?;
    named("one_looks_first", providers::one_looks_first(sim, event))?;
    named("the_refused_rest", providers::the_refused_rest(sim, event))?;
    named("the_overloaded_rest", overloads::the_overloaded_rest(sim, event))?;
    named("the_overloaded_are_waited_for", overloads::the_overloaded_are_waited_for(sim, event))?;
    named("the_overloaded_cost_nothing", overloads::the_overloaded_cost_nothing(sim, event))?;
    named("stand_ins_are_planned", providers::stand_ins_are_planned(sim, event))?;
    named("nothing_builds_on_uncommitted", nothing_builds_on_uncommitted(sim, event))?;
    named("gates_hold_at_the_end", super::gates::hold_at_the_end(sim, event))?;
    named("complete_but_for_what_people_skip", super::bounds::complete_but_for_skips(sim, event))?;
    named("the_closed_rest", super::bounds::the_closed_rest(sim, event))?;
    named("what_landed_is_not_done_again", super::takeover::stays_completed(sim, event))?;
    named("the_description_comes_last", the_description_comes_last(sim, event))
}

/// Laws about an event that was folded, and the state it led to.
pub(super) fn after(sim: &Sim, event: &Event, old: Option<&Task>) -> Result<(), Broken> {
    named("slots_are_bounded", slots_are_bounded(sim, event))?;
    named("no_agent_does_what_a_person_does", no_agent_does_what_a_person_does(sim, event))?;
    named("attempts_are_spent_by_code", attempts::attempts_are_spent_by_code(sim, event, old))?;
    named("comments_are_read", attempts::comments_are_read(sim, event))?;
    named("fences_never_decrease", attempts::fences_never_decrease(sim, event, old))?;
    named("verified_is_confirmed", verified_is_confirmed(sim, event))?;
    named("waits_for_somebody", waits_for_somebody(sim, event, old))?;
    named("lands_once", lands_once(sim, event))?;
    named("landings_were_observed", landings_were_observed(sim, event, old))?;
    named("never_red", never_red(sim, event))?;
    named("completion_has_evidence", completion_has_evidence(sim, event, old))?;
    named("only_the_bound_are_released", only_the_bound_are_released(sim, event, old))?;
    named("gates_are_bounded", super::bounds::are_bounded(sim, event, old))?;
    named("already_is_confirmed", super::gates::already_is_confirmed(sim, event))?;
    named("completed_is_proven", completed_is_proven(sim, event, old))?;
    named("only_what_rests_is_changed", identity::only_what_rests_is_changed(sim, event, old))?;
    named("landed_is_the_hosts_word", requests::landed_is_the_hosts_word(sim, event))?;
    named("work_counts_for_its_task", identity::work_counts_for_its_task(sim, event))?;
    named("landings_found_are_its_own", identity::landings_found_are_its_own(sim, event))
}

/// Laws about a state at rest between two transactions.
pub(super) fn between(sim: &Sim) -> Result<(), Broken> {
    named("counters_equal_recounts", counters_equal_recounts(sim))?;
    named("dependencies_are_counted", dependencies_are_counted(sim))?;
    named("waiting_is_derived", waiting_is_derived(sim))?;
    named("one_landing_at_a_time", one_landing_at_a_time(sim))?;
    named("the_host_is_respected", requests::the_host_is_respected(sim))?;
    named("rounds_are_bounded", requests::rounds_are_bounded(sim))?;
    named("landed_is_reachable", landed_is_reachable(sim))?;
    named("one_looks_first", sim.too_early.clone().map_or(Ok(()), Err))?;
    named("completed_for_what_is_asked", identity::completed_for_what_is_asked(sim))?;
    named("agents_run_once", agents_run_once(sim))
}

pub(super) fn named(name: &'static str, verdict: Verdict) -> Result<(), Broken> {
    verdict.map_err(|detail| (name, detail))
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

pub(super) fn tasks(sim: &Sim) -> impl Iterator<Item = &Task> {
    sim.state.tasks().filter(|task| !task.removed)
}

pub(super) fn known<'s>(sim: &'s Sim, id: &TaskId) -> Option<&'s Task> {
    sim.state.task(id).ok().flatten()
}

/// No task starts before everything it depends on is completed, or skipped by a person. With stacks the engine may start it
/// on open requests.
fn starts_wait_for_dependencies(sim: &Sim, event: &Event) -> Verdict {
    let Event::AttemptStarted { task, holder, .. } = event else { return Ok(()) };
    let stands = |need: &TaskId| {
        *holder == Holder::Engine && known(sim, need).is_some_and(|it| stacks::may_stand_on(sim, it))
    };
    let needs = sim.scenario.spec(task).map(|spec| spec.depends_on.as_slice()).unwrap_or_default();
    let open = needs.iter().find(|need| {
        let is_done = |t: &Task| matches!(t.decided, Status::Completed | Status::Skipped);
        !known(sim, need).is_some_and(is_done) && !stands(need)
    });
    open.map_or(Ok(()), |open| Err(format!("{task} starts before {open} is done")))
}

/// Whether a task is held back by nothing but those before it in a sequence.
pub(super) fn waits_for_its_turn(sim: &Sim) -> bool {
    let run = sim.run();
    let ready = |task: &Task| matches!(task.status(), Status::Pending | Status::Failed) && task.waiting == 0;
    let horizon = sim.state.horizon();
    let is_held = |task: &Task| {
        piton_core::run::barrier(run, &horizon, task).is_some_and(|why| why.starts_with("a task before it"))
    };
    run.settings.in_sequence && tasks(sim).any(|task| ready(task) && is_held(task))
}

/// Layered: no task starts while an earlier group is unfinished, or, if the run passes over tasks that were given up,
/// while something can still happen in that group. Batch: the same for levels.
fn barriers_hold(sim: &Sim, event: &Event) -> Verdict {
    if sim.people.works.ahead {
        return Ok(());
    }
    let Event::AttemptStarted { task, .. } = event else { return Ok(()) };
    let (run, Some(task)) = (sim.run(), known(sim, task)) else { return Ok(()) };
    let first = match &run.session.selection {
        Selection::All => 0,
        Selection::From(_) => run.first_group(),
        Selection::Group(_) | Selection::Task(_) => return Ok(()),
    };
    let schedule = run.session.schedule;
    let settings = &run.settings;
    let is_before = |t: &Task| (t.group, t.level) < (task.group, task.level);
    let earlier = tasks(sim).filter(|t| t.group >= first).find(|t| match schedule {
        // A task that waits for another list holds back only tasks that wait, too.
        _ if t.status() == Status::Waiting => false,
        // In a sequence, nothing overtakes what is open before it.
        _ if settings.in_sequence && is_before(t) && !t.status().is_settled() => true,
        _ if settings.in_sequence && is_before(t) && settings.exhausted == Exhausted::Stop => {
            !t.status().satisfies()
        }
        Schedule::Flow => false,
        _ if t.group < task.group && passes(sim) => !t.status().is_settled(),
        _ if t.group < task.group => !t.status().satisfies(),
        Schedule::Layered => false,
        Schedule::Batch => is_before(t) && !t.status().is_settled(),
    });
    let late = |t: &Task| format!("{schedule:?}: {} starts while {} is {}", task.id, t.id, t.status());
    earlier.map_or(Ok(()), |t| Err(late(t)))
}

fn passes(sim: &Sim) -> bool {
    matches!(sim.run().settings.exhausted, Exhausted::Pass | Exhausted::Skip)
}

/// Whether a task of a later group starts although one of an earlier group was given up.
pub(super) fn goes_past_the_dead(sim: &Sim, event: &Event) -> bool {
    let Event::AttemptStarted { task, .. } = event else { return false };
    let layers =
        sim.run().session.schedule != Schedule::Flow && sim.run().session.selection == Selection::All;
    layers
        && known(sim, task)
            .is_some_and(|task| tasks(sim).any(|t| t.group < task.group && t.status().is_dead()))
}

/// A task is left behind only where its plan says so, and given up only where it does not.
fn budgets_end_as_planned(sim: &Sim, event: &Event) -> Verdict {
    let Event::Failed { task, class, next, .. } = event else { return Ok(()) };
    let Some(task) = known(sim, task) else { return Ok(()) };
    let skips = sim.run().settings.exhausted == Exhausted::Skip;
    let may = task.may_fail || skips && *class != Class::Defect;
    ensure(*next != Next::Skipped || may, || format!("{} is left behind", task.id))?;
    ensure(*next != Next::Abandoned || !may, || format!("{} is given up", task.id))
}

/// The project's description is updated when every task is completed, and before an engine ends the run as complete.
fn the_description_comes_last(sim: &Sim, event: &Event) -> Verdict {
    let Some(run) = sim.state.run() else { return Ok(()) };
    let kept = run.settings.policy().keeps_description && !run.settings.no_commits;
    match event {
        Event::ContextUpdated { .. } => {
            ensure(kept, || "it is settled where nobody keeps one".to_owned())?;
            let open = tasks(sim).find(|task| !super::bounds::is_finished(task));
            open.map_or(Ok(()), |task| Err(format!("it is settled while {} is {}", task.id, task.decided)))
        }
        Event::EngineStopped { reason: StopReason::Completed, .. } => {
            let owed = kept && run.session.selection == Selection::All && run.context.is_none();
            ensure(!owed, || "an engine ends without it".to_owned())
        }
        _ => Ok(()),
    }
}

/// A task that a person does is never begun by the engine.
fn no_agent_does_what_a_person_does(sim: &Sim, event: &Event) -> Verdict {
    let Event::AttemptStarted { task, holder: Holder::Engine, .. } = event else { return Ok(()) };
    let theirs = sim.scenario.spec(task).is_some_and(|spec| spec.by_person);
    ensure(!theirs, || format!("an agent begins {task}, which a person does"))
}

/// The engine has at most `max_parallel` tasks at work when it starts one, and fewer than that wait to be judged where they
/// are to land.
fn slots_are_bounded(sim: &Sim, event: &Event) -> Verdict {
    let Event::AttemptStarted { holder: Holder::Engine, .. } = event else { return Ok(()) };
    let max = sim.run().session.max_parallel as usize;
    let open = sim.state.tasks().filter(|t| t.is_engines() && t.decided.holds_slot());
    let (judged_there, at_work): (Vec<_>, Vec<_>) = open.partition(|task| task.is_candidate());
    let (ahead, at_work) = (judged_there.len(), at_work.len());
    ensure(at_work <= max, || format!("{at_work} slots are taken of {max}"))?;
    ensure(ahead + at_work < 2 * max, || format!("{ahead} candidates beside {at_work} of {max} at work"))
}

/// If a plan asks for confirmation, only work is verified in which a fresh agent has found nothing to do, or a task
/// that no agent has worked on.
fn verified_is_confirmed(sim: &Sim, event: &Event) -> Verdict {
    let Event::Verified { task, .. } = event else { return Ok(()) };
    if !known(sim, task).is_some_and(|task| task.confirm) {
        return Ok(());
    }
    // Attempts that only check again come after the one in which the work was done.
    let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
    let mut own = own.filter(|event| event.task() == Some(task)).skip_while(|event| {
        !matches!(event, Event::WorkCaptured { .. } | Event::Reset { .. } | Event::Adopted { .. })
    });
    let nothing_found = match own.next() {
        Some(Event::WorkCaptured { work, .. }) => !work.found_work,
        _ => false,
    };
    let mut who = own.filter(|event| {
        matches!(
            event,
            Event::AgentEnded { .. } | Event::ConfirmationStarted { .. } | Event::AttemptStarted { .. }
        )
    });
    let fine = match who.next() {
        Some(Event::AgentEnded { .. }) => {
            nothing_found && matches!(who.next(), Some(Event::ConfirmationStarted { .. }))
        }
        // Its checks ran before any agent.
        _ => sim.scenario.spec(task).is_some_and(|spec| spec.check_first) || is_judged_again(sim, task),
    };
    ensure(fine, || format!("{task} is verified, and nobody has confirmed it"))
}

/// Whether it was completed before, and its checks come first for that reason.
fn is_judged_again(sim: &Sim, id: &TaskId) -> bool {
    let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
    let mut own = own.filter(|event| event.task() == Some(id));
    own.find_map(|event| match event {
        // The same work under other checks: the reason it began for still holds.
        Event::Reopened { reason: Reopening::Rejudged, .. } => None,
        Event::Reopened { checks_first, .. } => Some(*checks_first),
        Event::Completed { .. } | Event::LandingFound { .. } => Some(false),
        _ => None,
    }) == Some(true)
}

/// A task's landing is in the target's history once, unless a person rewound the target.
fn lands_once(sim: &Sim, event: &Event) -> Verdict {
    // What was merged with a request above it is in the history once more when its own is merged.
    let is_told_twice = sim.people.rewound || sim.people.overtook;
    if is_told_twice || !matches!(event, Event::Completed { .. }) {
        return Ok(());
    }
    // Another task under the same id lands, too.
    let mut counts: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (commit, task) in sim.git.landings() {
        let content = sim.git.content_of(commit).map(|content| content.to_string()).unwrap_or_default();
        *counts.entry((task, content)).or_default() += 1;
    }
    // So does the same one that was judged again.
    let again = |task: usize| {
        let own = task_id(task);
        let is_same = |event: &Event| match event {
            Event::Reopened { task, reason, .. } => {
                *task == own && !matches!(reason, Reopening::Content { .. })
            }
            _ => false,
        };
        sim.journal.iter().filter(|recorded| is_same(&recorded.event)).count()
    };
    let twice = counts.iter().find(|((task, _), n)| **n > 1 + again(*task));
    twice.map_or(Ok(()), |((task, _), n)| Err(format!("{} landed {n} times", task_id(*task))))
}

/// Checks were seen to pass on exactly the tree that lands: the task's own checks, those of every task that landed
/// since its base, and the landing checks. With checks that flake this is all that can be promised; no report stands in
/// for a check.
fn landings_were_observed(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    if let (Event::Request { fact: RequestFact::Prepared { base, head, .. }, .. }, Some(old)) = (event, old) {
        return is_observed(sim, old, &Intent { old: base.clone(), candidate: head.clone(), on: Vec::new() });
    }
    let (Event::LandingPrepared { task, intent, before, .. }, Some(old)) = (event, old) else {
        return Ok(());
    };
    for carried in before {
        let with = known(sim, &carried.task).ok_or_else(|| format!("nobody knows {}", carried.task))?;
        let commit = commit_no(&carried.commit).zip(commit_no(&intent.candidate));
        let brought = with.progress.commit.as_ref().and_then(commit_no);
        let is_part = commit.zip(brought).is_some_and(|((own, top), brought)| {
            sim.git.is_ancestor(own, top) && sim.git.is_ancestor(brought, own)
        });
        ensure(is_part, || format!("{task} does not bring {}", carried.task))?;
        is_observed(sim, with, intent)?;
    }
    is_observed(sim, old, intent)
}

/// Whether all checks that decide about a task's work were seen to pass on the tree that is about to land.
fn is_observed(sim: &Sim, old: &Task, intent: &Intent) -> Verdict {
    let task = &old.id;
    let number = |oid: Option<&Oid>| oid.and_then(commit_no).ok_or(format!("{task} lands from nowhere"));
    let (candidate, base) = (number(Some(&intent.candidate))?, number(old.progress.base.as_ref())?);
    let tip = number(Some(&intent.old))?;
    // Read from git, and not from the numbers that the core keeps.
    let since = sim.git.landings_before(tip).filter(|&(commit, _)| !sim.git.is_ancestor(commit, base));
    // A landing that a person reverted, and that comes back with what was built on it, belongs to no task any more.
    let since = since.filter(|_| !sim.people.touched);
    // One that is open again does not decide about others, nor one that then had nothing to land.
    let others = since.filter_map(|(commit, other)| {
        let other = known(sim, &task_id(other)).filter(|other| !other.removed && has_landed(other))?;
        Some((other, sim.git.lines_of(commit)))
    });
    let landing = sim.run().settings.landing_checks.iter().map(|check| (check.digest(), None));
    let verified = number(old.progress.commit.as_ref())?;
    let own = super::content::changed(sim.git.tree(base), sim.git.tree(verified));
    let of = |(task, lines): (&Task, Vec<super::content::Line>)| {
        let lines = move |judge: &Digest| task.reviews.contains(judge).then(|| lines.clone());
        // A gate that landed before is open again after this landing.
        let asked = |judge: &&Digest| !(task.gate && task.id != old.id && task.reviews.contains(judge));
        task.judges.iter().filter(asked).map(|judge| (judge.clone(), lines(judge))).collect::<Vec<_>>()
    };
    let mut judges = [(old, own)].into_iter().chain(others).flat_map(of).chain(landing);
    let tree = sim.git.tree_at(candidate);
    let brought = super::content::changed(sim.git.tree(tip), sim.git.tree(candidate));
    let unseen = judges.find(|(judge, lines)| {
        let carried =
            lines.as_ref().is_some_and(|lines| super::reviews::is_carried(sim, judge, lines, &brought, tree));
        !carried && !sim.observed.contains(&(tree, judge.clone()))
    });
    let unseen = unseen.map(|(judge, _)| judge);
    let told =
        |judge: &Digest| format!("{task} lands, and nobody saw {:?} pass", sim.scenario.predicates[judge]);
    unseen.map_or(Ok(()), |judge| Err(told(&judge)))
}

fn has_landed(task: &Task) -> bool {
    matches!(task.proof, Some(Proof::Landed { .. }))
}

/// After a landing the target passes the landing checks and those of every task that has landed, as long
/// as no person touched the target. Only a check that once passed on a red tree may be red itself: checks that
/// fail without a reason cost time, and let nothing in.
fn never_red(sim: &Sim, event: &Event) -> Verdict {
    let Event::Completed { proof: Proof::Landed { .. }, task: landed, .. } = event else { return Ok(()) };
    if sim.people.touched {
        return Ok(());
    }
    let red = |check: &Digest| {
        !sim.lied.contains(check)
            && !sim.scenario.subjects.holds(sim.scenario.predicates[check], sim.git.tip())
    };
    let all = tasks(sim).filter(|t| matches!(t.proof, Some(Proof::Landed { .. })));
    // Reviews are left out: a review of files holds as long as the files stay the same.
    for (who, check) in all.flat_map(|t| t.commands().map(move |judge| (&t.id, judge))) {
        let told = || format!("{:?} of {who} is red: {:?}", sim.scenario.predicates[check], sim.git.tip());
        ensure(!red(check), || format!("{landed} landed and {}", told()))?;
    }
    for check in sim.run().settings.landing_checks.iter().map(Check::digest) {
        let predicate = sim.scenario.predicates[&check];
        ensure(!red(&check), || format!("{landed} landed and the landing check {predicate:?} is red"))?;
    }
    Ok(())
}

/// Whether a check that lied is red on the target now.
pub(super) fn is_red(sim: &Sim) -> bool {
    let red = |check: &Digest| !sim.scenario.subjects.holds(sim.scenario.predicates[check], sim.git.tip());
    let landed = tasks(sim).filter(|t| matches!(t.proof, Some(Proof::Landed { .. })));
    landed.flat_map(|t| &t.judges).any(|check| sim.lied.contains(check) && red(check))
}

/// A completed task was proven: landed by its own verified commit, checked by all its checks on that tree, or reported
/// if there was nothing to check.
fn completed_is_proven(sim: &Sim, event: &Event, old: Option<&Task>) -> Verdict {
    let (Event::Completed { task, proof, .. }, Some(old)) = (event, old) else { return Ok(()) };
    match proof {
        Proof::Reported => ensure(old.judges.is_empty() || says_no_change(sim, task), || {
            format!("{task} has checks, and none was run")
        }),
        Proof::Work { .. } => {
            ensure(old.judges.is_empty(), || format!("{task} has checks, and none was run"))
        }
        Proof::Landed { verified, .. } => ensure(old.progress.commit.as_ref() == Some(verified), || {
            format!("{task} landed what was not verified")
        }),
        Proof::Checked { tree, .. } => {
            let Some(tree) = tree.as_ref().and_then(|tree| sim.git.find_tree(tree)) else {
                return Err(format!("{task} was checked on no tree"));
            };
            let red = old.judges.iter().find(|judge| {
                let green = sim.scenario.subjects.holds(sim.scenario.predicates[*judge], tree);
                let carried = old.reviews.contains(judge) && !old.gate;
                !green && !carried && !sim.lied.contains(*judge)
            });
            ensure(red.is_none(), || format!("{task} is called checked, and a check of it is red"))
        }
    }
}

/// A landed commit can be reached from the target, unless a person rewound it.
fn landed_is_reachable(sim: &Sim) -> Verdict {
    if sim.people.rewound {
        return Ok(());
    }
    let lost = tasks(sim).find(|t| match &t.proof {
        Some(Proof::Landed { commit, .. }) if sim.run().is_its_request(&t.id) => {
            !commit_no(commit).is_some_and(|no| sim.git.is_ancestor(no, sim.git.trunk))
        }
        Some(Proof::Landed { commit, .. }) => !sim.git.is_landed(commit),
        _ => false,
    });
    lost.map_or(Ok(()), |t| Err(format!("{} is called landed and is not in the target", t.id)))
}

/// An agent runs once for a task, fence and pass: its outcome on disk is used, and not made again.
fn agents_run_once(sim: &Sim) -> Verdict {
    let twice = sim.keepers.twice;
    twice.map_or(Ok(()), |(task, fence, pass)| {
        Err(format!("the agent of {} fence {fence} pass {pass} was run again", task_id(task)))
    })
}

/// Counts, slots and the number of dead tasks are what one finds by counting.
fn counters_equal_recounts(sim: &Sim) -> Verdict {
    let mut counts = Counts::default();
    tasks(sim).for_each(|task| counts.add(task.status(), 1));
    ensure(counts == sim.state.counts(), || format!("{:?}, not {counts:?}", sim.state.counts()))?;
    let count = |which: fn(&Task) -> bool| sim.state.tasks().filter(|t| which(t)).count();
    let slots = count(|t| t.is_engines() && t.decided.holds_slot());
    let dead = count(|t| t.decided == Status::Abandoned || t.decided == Status::Blocked && !t.by_person);
    let run = sim.run();
    ensure(run.slots as usize == slots, || format!("{} slots, not {slots}", run.slots))?;
    let ahead = count(|t| t.is_candidate() && t.decided.holds_slot());
    ensure(run.judged_there as usize == ahead, || format!("{} ahead, not {ahead}", run.judged_there))?;
    ensure(run.dead as usize == dead, || format!("{} dead, not {dead}", run.dead))
}

/// What each task waits for, and what cannot complete of it, is what one finds by looking.
fn dependencies_are_counted(sim: &Sim) -> Verdict {
    for spec in &sim.scenario.plan.tasks {
        let Some(task) = known(sim, &spec.id) else { continue };
        let needs = || spec.depends_on.iter().filter_map(|id| known(sim, id)).map(Task::status);
        let waiting = needs().filter(|status| !status.satisfies()).count();
        let dead = needs().filter(|status| status.is_dead()).count();
        let is_open = |task: &&Task| {
            let request = task.progress.request.as_deref().filter(|it| it.opened.is_some());
            task.decided == Status::Merging && request.is_some_and(|it| it.step > Step::Open)
        };
        let open = spec.depends_on.iter().filter_map(|id| known(sim, id)).filter(is_open).count();
        ensure(task.open as usize == open, || format!("{}: {} open, not {open}", spec.id, task.open))?;
        let fine = (task.waiting as usize, task.dead as usize) == (waiting, dead);
        let told = || format!("{}: {} and {}, not {waiting} and {dead}", spec.id, task.waiting, task.dead);
        ensure(fine, told)?;
    }
    Ok(())
}

/// At most one task is landing, and the run knows which.
fn one_landing_at_a_time(sim: &Sim) -> Verdict {
    let merging: Vec<&TaskId> =
        sim.state.tasks().filter(|t| requests::holds_the_landing(sim, t)).map(|t| &t.id).collect();
    let known: Vec<&TaskId> = sim.run().merging.iter().collect();
    ensure(merging == known, || format!("{merging:?} are landing, and the run says {known:?}"))
}

/// The state as it was kept is the fold of the journal from scratch, and leads to the same actions.
pub(super) fn fold_agrees(sim: &Sim) -> Result<State, Broken> {
    let mut fresh = State::new();
    for recorded in &sim.journal {
        fresh.apply(recorded).map_err(|missing| ("fold_agrees", format!("{missing:?}")))?;
    }
    let now = sim.now();
    let same = fresh.agrees_with(&sim.state)
        && piton_core::run::next(&fresh, now) == piton_core::run::next(&sim.state, now);
    named("fold_agrees", ensure(same, || "the fold from scratch is another state".to_owned()))?;
    let tasks = sim.state.tasks().map(|task| {
        let needs = sim.state.links(&task.id).map(|links| links.needs.clone()).unwrap_or_default();
        (task.clone(), needs)
    });
    let restored = State::restore(sim.state.run().cloned(), sim.state.seq(), tasks);
    let same = restored.agrees_with(&sim.state)
        && piton_core::run::next(&restored, now) == piton_core::run::next(&sim.state, now);
    named("restore_agrees", ensure(same, || "the state from its snapshot is another".to_owned()))?;
    Ok(fresh)
}

/// Every offered action fits the state of its task, and none is offered twice.
pub(super) fn offers_are_current(sim: &Sim, actions: &[Action]) -> Result<(), Broken> {
    let stray = actions.iter().enumerate().find(|(at, action)| {
        (action.decision().is_none() && !is_current(&sim.state, action)) || actions[..*at].contains(action)
    });
    named("offers_are_current", stray.map_or(Ok(()), |(_, action)| Err(format!("{action:?}"))))
}
