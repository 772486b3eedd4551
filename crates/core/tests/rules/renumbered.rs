//! Lists that their tools have written again with other ids: what holds whatever the new list is.

use std::collections::BTreeMap;

use piton_core::plan::{Check, TaskId, TaskSpec};
use piton_core::run::{Command, Status, StopReason};
use proptest::prelude::*;

use crate::bench::{Bench, check, plan, spec};

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TITLES: [&str; 5] = ["parser", "command", "docs", "tests", "release"];

/// Its id, what it asks for, and the task of the first list by whose check it is judged.
type Line = (&'static str, &'static str, &'static str);

/// How far a task of the first list comes.
#[derive(Clone, Copy, Debug)]
enum End {
    Landed,
    Failed,
    Open,
}

fn ids() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(IDS.to_vec(), 1..=IDS.len()).prop_shuffle()
}

/// The first list: each task has a check of its own.
fn first() -> impl Strategy<Value = Vec<Line>> {
    (ids(), prop::collection::vec(prop::sample::select(TITLES.to_vec()), IDS.len()))
        .prop_map(|(ids, titles)| ids.into_iter().zip(titles).map(|(id, title)| (id, title, id)).collect())
}

/// A list made from another one: with new ids, some tasks left out, some twice, some with another check, and some new ones.
fn later(before: Vec<Line>) -> impl Strategy<Value = Vec<Line>> {
    let kept = prop::sample::select(before).prop_map(|(_, title, judge)| (title, judge));
    let any = (prop::sample::select(TITLES.to_vec()), prop::sample::select(IDS.to_vec()));
    let line = prop_oneof![4 => kept, 1 => any];
    (ids(), prop::collection::vec(line, IDS.len())).prop_map(|(ids, lines)| {
        ids.into_iter().zip(lines).map(|(id, (title, judge))| (id, title, judge)).collect()
    })
}

fn specs(list: &[Line]) -> Vec<TaskSpec> {
    let judged = |judge: &str| -> Vec<Check> { vec![check(&format!("check {judge}"))] };
    let of = |(id, title, judge): &Line| TaskSpec {
        title: (*title).to_owned(),
        checks: judged(judge),
        ..spec(id, &[])
    };
    list.iter().map(of).collect()
}

fn completed<'l>(bench: &Bench, list: &'l [Line]) -> Vec<&'l Line> {
    list.iter().filter(|(id, ..)| bench.task(id).decided == Status::Completed).collect()
}

fn counts(list: &[Line]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    list.iter().for_each(|(_, title, _)| *counts.entry(*title).or_default() += 1);
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_done_stays_done_where_it_can_be_recognised_and_nothing_else_becomes_done(
        (lists, ends) in first()
            .prop_flat_map(|first| (Just(first.clone()), later(first)))
            .prop_flat_map(|(first, second)| (Just(first), Just(second.clone()), later(second)))
            .prop_flat_map(|(first, second, third)| {
                let ends = prop::sample::select(vec![End::Landed, End::Landed, End::Failed, End::Open]);
                (Just([first, second, third]), prop::collection::vec(ends, IDS.len()))
            })
    ) {
        let mut bench = Bench::running(specs(&lists[0]));
        let mut done = 0;
        for ((id, ..), end) in lists[0].iter().zip(ends) {
            match end {
                End::Open => continue,
                End::Failed => {
                    bench.bring(id, Status::Failed);
                    continue;
                }
                End::Landed => {}
            }
            let tree = 10 + u64::from(done);
            bench.verify(id, tree, done);
            bench.accept(&bench.prepare_landing(id, tree, &[]));
            bench.accept(&bench.landed(id, tree));
            done += 1;
        }
        let reason = StopReason::Environment { detail: "it died".to_owned() };
        bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
        let ever: Vec<Line> = completed(&bench, &lists[0]).into_iter().copied().collect();
        for pair in lists.windows(2) {
            let (old, new) = (&pair[0], &pair[1]);
            let before: Vec<Line> = completed(&bench, old).into_iter().copied().collect();
            // What was tried under its own id, and not done, is done there again.
            let tried = |spec: &TaskSpec| {
                let task = bench.state.task(&spec.id).ok().flatten();
                task.is_some_and(|task| task.attempt > 0 && task.content == spec.content())
            };
            let tried: Vec<TaskId> = specs(new).into_iter().filter(tried).map(|spec| spec.id).collect();
            bench.accept(&Command::Replan(Box::new(plan(specs(new)))));
            let (was, is) = (counts(old), counts(new));
            for (id, title, judge) in &before {
                if (was[title], is.get(title)) != (1, Some(&1)) {
                    continue;
                }
                let (now, _, now_judge) = new.iter().find(|(_, known, _)| known == title).expect("it is there once");
                if now_judge == judge && !(now != id && tried.iter().any(|id| id.as_str() == *now)) {
                    prop_assert_eq!(bench.task(now).decided, Status::Completed, "{} was {}", now, id);
                }
            }
            for (id, title, judge) in completed(&bench, new) {
                let is_known = ever.iter().any(|(_, known, by)| (known, by) == (title, judge));
                prop_assert!(is_known, "{} is done, and nobody did it", id);
            }
            let events = bench.journal.len();
            bench.accept(&Command::Replan(Box::new(plan(specs(new)))));
            let is_quiet = |recorded: &piton_core::run::Recorded| {
                !matches!(recorded.event, piton_core::run::Event::Adopted { .. })
            };
            prop_assert!(bench.journal[events..].iter().all(is_quiet), "once is enough");
        }
    }
}
