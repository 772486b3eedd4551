use super::*;

fn id(name: &str) -> TaskId {
    TaskId::new(name).expect("a valid id")
}

fn ids(names: &str) -> Vec<TaskId> {
    names.split_whitespace().map(id).collect()
}

fn tree(no: u32) -> Oid {
    Oid::new(&format!("{no:040x}")).expect("forty digits")
}

/// A line whose checks take long enough for proofs beside each other, and the time.
struct Bench {
    line: Line,
    now: Timestamp,
    window: u32,
    land: Land,
    landing_waits: bool,
}

impl Bench {
    fn new(window: u32) -> Bench {
        let line = Line { took: Span::minutes(2), ..Line::default() };
        Bench { line, now: Timestamp(0), window, land: Land::Batch, landing_waits: false }
    }

    /// Begin what the line wants for these candidates, and tell it: `1:a 2:a,b`.
    fn begin(&mut self, queue: &str) -> String {
        self.begin_with(queue, "")
    }

    fn begin_with(&mut self, queue: &str, exclusive: &str) -> String {
        let (queue, exclusive) = (ids(queue), ids(exclusive));
        let queue: Vec<&TaskId> = queue.iter().collect();
        let is_exclusive = |task: &TaskId| exclusive.contains(task);
        let wanted = self.line.wanted(&queue, is_exclusive, self.window, self.land, self.landing_waits);
        let mut told = Vec::new();
        for Proposal { chain, alone } in wanted {
            let number = self.line.next_number();
            let names: Vec<&str> = chain.iter().map(TaskId::as_str).collect();
            told.push(format!("{number}{}{}", if alone { "!" } else { ":" }, names.join(",")));
            self.line.begin(number, &chain, alone, self.now);
        }
        told.join(" ")
    }

    fn end(&mut self, number: u64, end: &ProofEnd) {
        self.now = self.now.plus(Span::minutes(2));
        self.line.end(number, end, self.now);
    }

    fn pass(&mut self, number: u64) {
        self.end(number, &ProofEnd::Passed { tree: tree(1) });
    }

    fn red(&mut self, number: u64) {
        self.end(number, &ProofEnd::Red { reason: "red".to_owned(), of: Vec::new() });
    }

    /// Land what lands next, and say what that was.
    fn land(&mut self) -> String {
        let Some((_, proof)) = self.line.landable(self.land) else { return String::new() };
        let chain = proof.chain.clone();
        self.line.prepare(&chain, &tree(1), self.now);
        chain.iter().for_each(|task| self.line.land(task, Timestamp(0)));
        chain.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",")
    }

    fn fail(&mut self, task: &str) {
        self.line.fail();
        self.line.leave(&id(task));
    }
}

#[test]
fn the_longest_chain_that_passes_lands_and_those_behind_it_stay_true() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.begin("a b c"), "1:a 2:a,b 3:a,b,c");
    bench.pass(2);
    assert_eq!(bench.land(), "a,b");
    assert_eq!(bench.line.proof(1), None, "what it was to prove has landed");
    assert_eq!(bench.line.proof(3).map(|proof| proof.chain.clone()), Some(ids("c")));
    // Whoever comes meanwhile goes on from there.
    assert_eq!(bench.begin("c d e"), "4:c,d 5:c,d,e");
    bench.pass(3);
    assert_eq!(bench.land(), "c");
    bench.pass(5);
    assert_eq!(bench.land(), "d,e");
    assert!(bench.line.proofs.is_empty());
}

#[test]
fn a_group_is_as_large_as_the_backlog_and_the_rate_of_failures_allow() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b c d e f"), "1:a,b,c 2:a,b,c,d,e,f");
}

#[test]
fn where_more_wait_than_pass_together_groups_are_proven_apart() {
    let mut bench = Bench::new(2);
    // One of twenty fails as far as is known: fourteen pass together in every second case. Little is known, so the groups are
    // small.
    assert_eq!(bench.begin(&names(0..15)), "1!t0,t1,t2,t3 2!t4,t5,t6,t7");
    bench.pass(1);
    assert_eq!(bench.land(), "t0,t1,t2,t3");
    assert_eq!(bench.begin(&names(4..40)), "3!t8,t9,t10,t11,t12", "more is known now");
    bench.pass(2);
    assert_eq!(bench.land(), "", "the target has moved");
    assert_eq!(bench.begin(&names(4..40)), "4:t4,t5,t6,t7");
    bench.pass(3);
    assert_eq!(bench.land(), "", "it would make the chain begin again");
    assert_eq!(bench.begin(&names(4..40)), "5!t13,t14,t15,t16,t17");
    bench.pass(4);
    assert_eq!(bench.land(), "t4,t5,t6,t7");
}

#[test]
fn of_a_red_group_a_quarter_is_proven_next() {
    let mut bench = Bench::new(1);
    (0..60).for_each(|_| bench.line.rate.count(false));
    let all: Vec<String> = (0..16).map(|no| format!("t{no}")).collect();
    assert_eq!(bench.begin(&names(0..100)), format!("1!{}", all.join(",")));
    bench.red(1);
    assert_eq!(bench.begin(&names(0..100)), "2!t0,t1,t2,t3");
    bench.red(2);
    assert_eq!(bench.begin(&names(0..100)), "3!t0");
    bench.fail("t0");
    assert_eq!(bench.begin(&names(1..100)), "4!t1");
    bench.pass(4);
    assert_eq!(bench.land(), "t1");
    assert_eq!(bench.line.times_set_aside(&id("t4")), 0, "nobody was passed over: all are proven apart");
}

#[test]
fn one_that_was_proven_apart_does_not_land_before_a_chain_that_is_proven() {
    let mut bench = Bench::new(2);
    bench.line.put_aside(&id("a"), 1, true);
    assert_eq!(bench.begin("a b"), "1!a 2:b");
    assert!(!bench.line.may_land(1) && bench.line.may_land(2));
    bench.pass(2);
    assert_eq!(bench.land(), "b");
    assert!(!bench.line.may_land(1), "the target has moved");
}

fn names(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|no| format!("t{no}")).collect::<Vec<_>>().join(" ")
}

/// Else it would never land: each lands by itself, and its first has no proof any more.
#[test]
fn what_was_built_on_a_proof_that_is_dropped_is_proven_again() {
    let mut bench = Bench::new(2);
    bench.land = Land::Each;
    assert_eq!(bench.begin("a b"), "1:a 2:a,b");
    bench.pass(2);
    bench.end(1, &ProofEnd::Dropped { reason: "the target has moved".to_owned() });
    assert_eq!(bench.begin("a b"), "3:a 4:a,b");
}

#[test]
fn short_checks_prove_all_that_wait_at_once() {
    let mut bench = Bench::new(4);
    bench.line.took = Span(50);
    assert_eq!(bench.begin("a b c"), "1:a,b,c");
    assert_eq!(bench.begin("a b c d e"), "", "those who come meanwhile are proven together next");
    bench.line.end(1, &ProofEnd::Passed { tree: tree(1) }, bench.now);
    bench.land();
    assert_eq!(bench.begin("d e f"), "2:d,e,f");
}

#[test]
fn while_a_landing_waits_for_a_person_others_are_proven_on_top_of_it() {
    let mut bench = Bench::new(4);
    bench.line.took = Span(50);
    assert_eq!(bench.begin("a"), "1:a");
    bench.line.prepare(&ids("a"), &tree(1), bench.now);
    assert_eq!(bench.begin("b"), "", "it takes no time");
    bench.landing_waits = true;
    assert_eq!(bench.begin("b"), "2:a,b");
    assert_eq!(bench.begin("b c"), "", "one short proof at a time");
    bench.line.end(2, &ProofEnd::Passed { tree: tree(2) }, bench.now);
    assert_eq!(bench.begin("b c"), "3:a,b,c");
    bench.line.end(3, &ProofEnd::Red { reason: "red".to_owned(), of: Vec::new() }, bench.now);
    assert_eq!(bench.begin("b c"), "4!c", "whose fault it is, is found out");
}

#[test]
fn each_member_of_a_red_group_is_proven_alone_and_the_good_ones_land() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.begin("a b c"), "1:a,b,c");
    bench.red(1);
    assert_eq!(bench.begin("a b c"), "2!a");
    bench.fail("a");
    assert_eq!(bench.begin("b c"), "3!b");
    bench.pass(3);
    assert_eq!(bench.land(), "b");
    assert_eq!(bench.begin("c d"), "4!c");
}

#[test]
fn whose_own_check_is_red_is_proven_without_the_others() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.begin("a b c d"), "1:a,b,c,d");
    bench.end(1, &ProofEnd::Red { reason: "red".to_owned(), of: ids("b") });
    assert_eq!(bench.begin("a b c d"), "2!b");
    bench.fail("b");
    assert_eq!(bench.begin("a c d"), "3:a,c,d");
    bench.pass(3);
    assert_eq!(bench.land(), "a,c,d");
}

#[test]
fn those_are_to_blame_that_no_shorter_chain_has() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b c d"), "1:a,b 2:a,b,c,d");
    bench.red(2);
    assert_eq!(bench.begin("a b c d"), "", "the shorter one is not over");
    bench.pass(1);
    assert_eq!(bench.land(), "a,b");
    assert_eq!(bench.begin("c d e"), "3!c 4!d");
    // Side by side on one tip: the first that lands leaves the other to be proven again, together with the rest.
    bench.pass(3);
    assert_eq!(bench.land(), "c");
    bench.pass(4);
    assert_eq!(bench.land(), "");
    assert_eq!(bench.begin("d e"), "5:d 6:d,e");
}

#[test]
fn a_conflict_within_a_chain_sets_one_candidate_aside() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b"), "1:a 2:a,b");
    bench.end(2, &ProofEnd::Conflict { task: id("b"), files: Vec::new() });
    assert!(bench.line.is_set_aside(&id("b")));
    assert_eq!(bench.begin("a b c"), "3!b");
    bench.pass(1);
    assert_eq!(bench.land(), "a");
    assert!(bench.line.proof(3).is_some_and(|proof| proof.outdated));
}

#[test]
fn nobody_is_passed_over_more_than_twice() {
    let conflict = ProofEnd::Conflict { task: id("b"), files: Vec::new() };
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b"), "1:a 2:a,b");
    bench.end(2, &conflict);
    assert_eq!(bench.begin("a b"), "3!b");
    bench.pass(3);
    bench.pass(1);
    assert_eq!(bench.land(), "a", "the chain was there first, so the other is proven again");
    assert_eq!(bench.begin("c b"), "4:c 5:c,b");
    bench.end(5, &conflict);
    assert_eq!(bench.begin("c b d e"), "6!b");
    bench.pass(6);
    assert_eq!(bench.begin("c b d e"), "", "it goes first now: nothing is begun before it");
    bench.pass(4);
    assert_eq!(bench.land(), "c");
    assert_eq!(
        bench.begin("b d e"),
        "7:b 8:b,d,e",
        "by itself, so that no other can take it out of the chain"
    );
    bench.red(8);
    bench.pass(7);
    assert_eq!(bench.land(), "b");
}

#[test]
fn one_that_agents_judge_is_proven_when_nobody_else_is() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.begin_with("a x b", "x"), "1:a");
    bench.pass(1);
    assert_eq!(bench.land(), "a");
    assert_eq!(bench.begin_with("x b", "x"), "2!x");
    assert_eq!(bench.begin_with("x b", "x"), "");
    bench.pass(2);
    assert_eq!(bench.land(), "x");
    assert_eq!(bench.begin_with("b", "x"), "3:b");
}

#[test]
fn where_many_fail_each_is_first_proven_alone() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.line.policy(), Policy::Together(4));
    for _ in 0..20 {
        bench.line.fail();
    }
    assert_eq!(bench.line.policy(), Policy::Alone);
    assert_eq!(bench.begin("a b c"), "1!a 2!b");
    bench.pass(2);
    assert_eq!(bench.land(), "b");
    assert_eq!(bench.begin("a c d"), "3!c");
    bench.pass(1);
    // The target moved since: it is known to be good, and is proven again with the next.
    assert_eq!(bench.land(), "");
    assert_eq!(bench.begin("a c d"), "4:a");
}

#[test]
fn one_that_has_passed_alone_while_another_landed_is_proven_again_with_the_next() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b"), "1:a 2:a,b");
    bench.red(2);
    bench.line.leave(&id("a"));
    bench.line.put_aside(&id("b"), 1, false);
    bench.line.put_aside(&id("c"), 1, false);
    assert_eq!(bench.begin("b c"), "3!b 4!c");
    bench.line.prepare(&ids("b"), &tree(1), bench.now);
    bench.pass(4);
    bench.line.land(&id("b"), Timestamp(0));
    assert_eq!(bench.land(), "", "the target has moved");
    assert_eq!(bench.begin("c d"), "5:c 6:c,d");
}

#[test]
fn one_by_one_every_candidate_is_proven() {
    let mut bench = Bench { land: Land::Each, ..Bench::new(3) };
    assert_eq!(bench.begin("a b c d"), "1:a 2:a,b 3:a,b,c");
    bench.pass(3);
    assert_eq!(bench.land(), "", "those before it are not proven");
    bench.pass(1);
    assert_eq!(bench.land(), "a");
    assert_eq!(bench.land(), "");
    bench.pass(2);
    assert_eq!((bench.land(), bench.land()), ("b".to_owned(), "c".to_owned()));
}

#[test]
fn whoever_comes_while_another_lands_is_built_on_it() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin_with("x", "x"), "1!x");
    bench.line.prepare(&ids("x"), &tree(1), bench.now);
    assert_eq!(bench.begin("a b"), "2:x,a 3:x,a,b");
    bench.line.land(&id("x"), Timestamp(0));
    assert_eq!(bench.line.proof(3).map(|proof| proof.chain.clone()), Some(ids("a b")));
}

#[test]
fn who_moves_the_target_ends_all_proofs() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.begin("a b"), "1:a 2:a,b");
    bench.pass(1);
    bench.line.move_target();
    assert_eq!((bench.land(), bench.begin("a b")), (String::new(), "3:a 4:a,b".to_owned()));
}

#[test]
fn a_task_that_leaves_takes_along_what_was_built_on_it() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.begin("a b c"), "1:a 2:a,b 3:a,b,c");
    bench.line.leave(&id("b"));
    assert_eq!(bench.begin("a c"), "4:a,c");
    assert!(!bench.line.knows(&id("b")));
}

#[test]
fn nothing_is_begun_beside_what_is_about_to_land() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.begin("a b c"), "1:a 2:a,b 3:a,b,c");
    bench.line.prepare(&ids("a b"), &tree(1), bench.now);
    let under_way: Vec<u64> = bench.line.under_way().map(|(number, _)| number).collect();
    assert_eq!(under_way, [3], "what is about to land need not be proven");
    assert!(bench.line.is_landing(&id("a")) && bench.line.is_landing(&id("b")));
    assert_eq!(bench.begin("c d"), "4:a,b,c,d", "who comes later is built on it");
    // The target was moved away under it.
    bench.line.leave(&id("b"));
    assert!(!bench.line.is_landing(&id("a")));
}

#[test]
fn after_a_short_proof_the_next_waits_a_moment_for_more() {
    let mut line = Line { took: Span(500), ..Line::default() };
    line.land(&id("a"), Timestamp(10_000));
    let until = |now| line.gathers_until(Timestamp(now));
    assert_eq!([10_000, 10_999].map(until), [Some(Timestamp(11_000)); 2]);
    assert_eq!(until(11_000), None);
    assert_eq!(until(9_000), None, "the clock was set back");
    line.took = Span::seconds(60);
    line.land(&id("b"), Timestamp(10_000));
    assert_eq!(line.gathers_until(Timestamp(10_000)), None, "long proofs do not wait");
}
