//! Those who look once more, and the review of the whole.

use super::*;
use crate::run::Closing;
use crate::system::Form;
use crate::time::Span;

fn confirming() -> Bench {
    let mut unit = spec("T1", &[]);
    (unit.confirm, unit.attempts) = (true, 3);
    let mut review = spec("review", &["T1"]);
    (review.group, review.may_change_nothing, review.check_first) = (1, true, true);
    let mut plan = plan(&["tasks", "review"], vec![unit, review]);
    plan.settings.form = Form::Iterative(Box::default());
    let mut bench = Bench::new(plan);
    bench.attach();
    bench
}

/// A fresh agent looks at what was done, and writes this.
fn looks(bench: &mut Bench, told: Option<&str>) {
    worked(bench, "T1", None);
    passes(bench, "T1");
    let (fence, tree) = (bench.task("T1").fence, bench.task("T1").progress.tree.clone());
    if let Some(words) = told {
        hear(bench, "T1", Some(id("T1")), own("T1", 1, words));
    }
    let (end, took) = (AgentEnd::Done, Span::minutes(1));
    bench.accept(&Command::AgentEnded {
        task: id("T1"),
        fence,
        pass: 1,
        end,
        took,
        report: None,
        closing: Closing::default(),
    });
    let work = Work {
        commit: Some(oid(7)),
        tree: tree.expect("captured"),
        changed: true,
        found_work: false,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    };
    bench.accept(&Command::Captured { task: id("T1"), fence, pass: 1, work });
    passes(bench, "T1");
}

#[test]
fn who_looks_once_more_and_says_nothing_gets_an_entry_of_their_own() {
    let mut bench = confirming();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "All of it"));
    looks(&mut bench, None);
    let file = after(None, &mut bench);
    let entries = entries(&file);
    assert_eq!(entries.iter().filter(|entry| entry.head.kind == Kind::Revise).count(), 1, "{file}");
    insta::assert_snapshot!(entries[1].write(), @r"
    ## Revise - Iteration 1 - 2026-01-10T10:08:00Z
    **Unit:** T1
    **Did:** The agent that looked once more did not say what it did. It changed nothing.
    **Remaining:** None
    **Blockers:** None
    **Signal:** T1_DONE
    ");
    assert!(nothing(&settled(Some(&file), &bench)));
}

/// The entry of an iteration is made when it is over, which is after another agent has confirmed it.
#[test]
fn where_nobody_says_anything_the_iteration_stands_before_who_looked_at_it() {
    let mut bench = confirming();
    looks(&mut bench, None);
    let file = after(None, &mut bench);
    let kinds: Vec<Kind> = entries(&file).iter().map(|entry| entry.head.kind).collect();
    assert_eq!(kinds, [Kind::Iteration, Kind::Revise], "{file}");
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn what_they_say_stands_for_no_iteration_but_theirs() {
    let mut bench = confirming();
    looks(&mut bench, Some("Nothing was left"));
    let file = after(None, &mut bench);
    assert!(!file.contains("looked once more did not say"), "{file}");
    assert!(file.contains("The agent did not say what it did"), "the first of them said nothing:\n{file}");
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn the_review_of_the_whole_is_no_iteration() {
    let mut bench = confirming();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "All of it"));
    looks(&mut bench, Some("Nothing was left"));
    bench.land("T1");
    bench.clean("T1");
    let before = after(None, &mut bench);
    bench.start("review");
    bench.ready("review");
    let work = Work {
        commit: Some(oid(9)),
        tree: oid(9),
        changed: false,
        found_work: false,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    };
    bench.accept(&Command::Captured { task: id("review"), fence: 1, pass: 0, work });
    passes(&mut bench, "review");
    let file = after(Some(&before), &mut bench);
    insta::assert_snapshot!(file[before.len()..].trim(), @r"
    ## Review - Iteration 1 - 2026-01-10T10:19:00Z
    **Unit:** review
    **Did:** Reviewed the whole, and found nothing to fix
    **Remaining:** None
    **Blockers:** None
    **Signal:** REVIEW_PASS
    *(Written by Piton)*
    ");
    assert!(nothing(&settled(Some(&file), &bench)));
}
