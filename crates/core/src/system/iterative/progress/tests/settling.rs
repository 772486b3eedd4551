//! Files and runs brought together.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::place;
use crate::run::Claim;

#[test]
fn a_new_file_is_a_header() {
    assert_eq!(after(None, &mut fresh()), "# Progress Log\n");
}

#[test]
fn what_an_agent_wrote_stands_for_its_iteration() {
    let mut bench = fresh();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "The tables"));
    unfinished(&mut bench, "T1");
    let file = after(None, &mut bench);
    assert_eq!(file, format!("# Progress Log\n\n{}\n", own("T1", 1, "The tables")));
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn an_entry_without_a_number_stands_for_an_iteration_too() {
    let mut bench = fresh();
    let entry = "## T1 - 2026-01-14\n**Did:** The tables".to_owned();
    hear(&mut bench, "T1", Some(id("T1")), entry.clone());
    unfinished(&mut bench, "T1");
    assert_eq!(after(None, &mut bench), format!("# Progress Log\n\n{entry}\n"));
}

#[test]
fn a_very_long_log_of_one_heading_is_settled_in_time() {
    let text: String = (0..4_000).map(|n| format!("## T1 - Iteration 1\n**Did:** {n}\n\n")).collect();
    let mut bench = fresh();
    let heard = settled(Some(&text), &bench).heard;
    assert_eq!(heard.len(), 4_000);
    for Section { task, text } in heard.into_iter().take(100) {
        hear(&mut bench, FILE, task, text);
    }
    let edited = text.replace("**Did:** 7\n", "**Did:** more\n");
    assert_eq!(settled(Some(&edited), &bench).changed.len(), 1);
    assert_eq!(added(&text, &edited), []);
}

#[test]
fn an_iteration_of_which_nobody_told_gets_an_entry_that_says_so() {
    let mut bench = fresh();
    unfinished(&mut bench, "T1");
    worked(&mut bench, "T1", None);
    passes(&mut bench, "T1");
    let file = after(None, &mut bench);
    insta::assert_snapshot!(file);
    assert!(nothing(&settled(Some(&file), &bench)));
    assert_eq!(entries(&file).len(), 2);
    assert!(entries(&file).iter().all(|entry| entry.made));
}

#[test]
fn what_an_entry_lacks_stands_in_another() {
    let mut bench = fresh();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "All of it"));
    worked(&mut bench, "T1", None);
    passes(&mut bench, "T1");
    let file = after(None, &mut bench);
    insta::assert_snapshot!(file, @r"
    # Progress Log

    ## T1 - Iteration 1 - 2026-01-14T11:00:00Z
    **Did:** All of it
    **Remaining:** More

    ## Review - Iteration 1 - 2026-01-10T10:07:00Z
    **Unit:** T1
    **Did:** Iteration 1 of T1 passed its gates
    **Remaining:** None
    **Blockers:** None
    **Signal:** T1_VERIFIED
    **Commit:** 0000000000
    *(Written by Piton)*
    ");
    assert!(nothing(&settled(Some(&file), &bench)));
    let mut bench = fresh();
    let whole = format!("{}\n**Signal:** T1_DONE\n**Commit:** abc1234", own("T1", 1, "All of it"));
    hear(&mut bench, "T1", Some(id("T1")), whole);
    worked(&mut bench, "T1", None);
    passes(&mut bench, "T1");
    assert_eq!(entries(&after(None, &mut bench)).len(), 1, "nothing is lacking");
}

#[test]
fn what_the_checks_found_is_there_for_the_next_agent() {
    let mut bench = fresh();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "All of it"));
    worked(&mut bench, "T1", None);
    let tail = "## T2 - Iteration 1\n**Did:** nothing\n```\nassertion failed\n";
    bench.checks_end("T1", &Verdict::Fail { exit: 101 }, tail);
    let file = after(None, &mut bench);
    insta::assert_snapshot!(file);
    let left = remaining(&file, &id("T1")).expect("an entry");
    assert!(left.contains("Fix what `cargo test T1` finds") && left.contains("assertion failed"), "{left}");
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn blockers_and_the_limit_are_logged() {
    let mut bench = fresh();
    ends(&mut bench, "T2", AgentEnd::Blocked { reason: "no key: ask ann".to_owned() });
    ends(
        &mut bench,
        "T1",
        AgentEnd::Failed {
            reason: "the agent had not finished after 10m".to_owned(),
            feedback: String::new(),
        },
    );
    for number in 2..=3 {
        hear(&mut bench, "T1", Some(id("T1")), own("T1", number, "Tried"));
        unfinished(&mut bench, "T1");
    }
    let file = after(None, &mut bench);
    insta::assert_snapshot!(file);
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn circles_are_warned_of_once_for_as_long_as_they_go_on() {
    let mut bench = fresh();
    bench.accept(&Command::Raise { task: id("T1"), by: "ann".to_owned(), attempts: 9 });
    let (mut file, mut warned) = (String::new(), Vec::new());
    for (nth, words) in ["Tried", "Tried", "tried.", "Other things", "Tried", "Tried"].iter().enumerate() {
        let number = u32::try_from(nth + 1).expect("few");
        hear(&mut bench, "T1", Some(id("T1")), own("T1", number, words));
        file = after(Some(&file), &mut bench);
        let under_way = file.matches("did the same").count();
        unfinished(&mut bench, "T1");
        file = after(Some(&file), &mut bench);
        warned.push((under_way, file.matches("did the same").count()));
    }
    assert_eq!(warned, [(0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 2)], "{file}");
    assert_eq!(remaining(&file, &id("T1")).as_deref(), Some("More"), "what is left to do is still told");
    assert!(nothing(&settled(Some(&file), &bench)));
    assert_eq!(after(None, &mut bench).matches("did the same").count(), 2);
    // Who is done in the end needs no word.
    let mut bench = fresh();
    for number in 1..=2 {
        hear(&mut bench, "T1", Some(id("T1")), own("T1", number, "Tried"));
        if number == 1 { unfinished(&mut bench, "T1") } else { worked(&mut bench, "T1", None) }
    }
    passes(&mut bench, "T1");
    assert!(!after(None, &mut bench).contains("did the same"));
}

#[test]
fn a_blocker_that_the_agent_told_is_not_told_twice() {
    let mut bench = fresh();
    let entry = own("T2", 1, "Looked") + "\n**Blockers:** no key";
    hear(&mut bench, "T2", Some(id("T2")), entry.clone());
    ends(&mut bench, "T2", AgentEnd::Blocked { reason: "no key".to_owned() });
    assert_eq!(after(None, &mut bench), format!("# Progress Log\n\n{entry}\n"));
}

#[test]
fn a_file_that_others_write_is_heard_once_and_stays_as_it_is() {
    let text = format!(
        "\u{feff}# Log\n\n{}\n\n---\n\n## Review\nFine.\n\n{}",
        own("T1", 1, "a"),
        own("T99", 1, "b")
    );
    let mut bench = fresh();
    let first = settled(Some(&text), &bench);
    assert_eq!(units(&first.heard), [Some("T1"), None, None]);
    assert_eq!(first.problems.len(), 1);
    assert_eq!(first.problems[0].message, "there is no T99 in the plan");
    assert_eq!(after(Some(&text), &mut bench), text);
    assert!(nothing(&settled(Some(&text), &bench)));
    assert!(nothing(&settled(Some(&text.replace('\n', "\r\n")), &bench)));
    // Lost, it is written again.
    let again = after(None, &mut bench);
    assert_eq!(entries(&again), entries(&text));
}

/// P6.
#[test]
fn an_old_entry_that_was_changed_or_taken_out_is_noticed_and_left_so() {
    let text = format!(
        "# Progress Log\n\n{}\n\n{}\n\n{}\n",
        own("T1", 1, "a"),
        own("T1", 2, "b"),
        own("T2", 1, "c")
    );
    let mut bench = fresh();
    after(Some(&text), &mut bench);
    let edited = text.replace("**Did:** b", "**Did:** much more than b");
    let found = settled(Some(&edited), &bench);
    assert!(nothing(&found), "{found:?}");
    let [problem] = &found.changed[..] else { panic!("{found:?}") };
    assert_eq!(
        problem.message,
        "the entry `## T1 - Iteration 2 - 2026-01-14T12:00:00Z` was changed after it was written"
    );
    assert_eq!(place(&edited, problem.span.start).0, 7);
    let less = text.replace(&own("T1", 1, "a"), "");
    let found = settled(Some(&less), &bench);
    assert!(nothing(&found), "{found:?}");
    assert_eq!(
        found.changed[0].message,
        "the entry `## T1 - Iteration 1 - 2026-01-14T11:00:00Z` was removed"
    );
}

#[test]
fn what_piton_wrote_is_watched_as_well() {
    let mut bench = fresh();
    unfinished(&mut bench, "T1");
    unfinished(&mut bench, "T2");
    let file = after(None, &mut bench);
    let edited = file.replacen("The agent did not say", "I did not say", 1);
    let found = settled(Some(&edited), &bench);
    assert!(nothing(&found) && found.changed.len() == 1, "{found:?}");
    let less: String = file.split("## T1").next().expect("a header").to_owned()
        + "## T2"
        + file.split("## T2").nth(1).expect("the second");
    let found = settled(Some(&less), &bench);
    assert!(nothing(&found) && found.changed.len() == 1, "{found:?}");
}

#[test]
fn an_entry_that_is_still_being_written_may_grow() {
    let half = "# Progress Log\n\n## T1 - Iteration 1 - 2026-01-14\n**Did:** a\n";
    let mut bench = fresh();
    after(Some(half), &mut bench);
    let whole = format!("{half}**Remaining:** b\n");
    let found = settled(Some(&whole), &bench);
    assert_eq!((found.heard.len(), found.changed.len(), found.append.is_none()), (1, 0, true));
    after(Some(&whole), &mut bench);
    assert_eq!(settled(Some(&whole), &bench), Reconciled::default());
    assert_eq!(entries(&after(None, &mut bench)).len(), 1, "the half of it is not written again");
}

#[test]
fn what_was_noted_elsewhere_is_quoted() {
    let mut bench = fresh();
    bench.note(Note::Entry {
        task: Some(id("T1")),
        text: "Mind this:\n## T1 - Iteration 1\n```\nopen".to_owned(),
        for_next: false,
    });
    let file = after(None, &mut bench);
    insta::assert_snapshot!(file, @r"
    # Progress Log

    ## Note on T1 - 2026-01-10T10:02:00Z
    *(ann)*

    > Mind this:
    > ## T1 - Iteration 1
    > ```
    > open
    ");
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn after_a_reset_numbers_begin_again_and_each_iteration_is_told() {
    let mut bench = fresh();
    hear(&mut bench, "T1", Some(id("T1")), own("T1", 1, "First"));
    unfinished(&mut bench, "T1");
    let file = after(None, &mut bench);
    bench.accept(&Command::Reset { task: id("T1"), by: "ann".to_owned() });
    unfinished(&mut bench, "T1");
    let file = after(Some(&file), &mut bench);
    let made: Vec<bool> = entries(&file).iter().map(|entry| entry.made).collect();
    assert_eq!(made, [false, true]);
    assert!(nothing(&settled(Some(&file), &bench)));
}

#[test]
fn the_log_of_a_run_before_is_kept_and_stands_for_no_iteration_of_this_one() {
    let mut before = fresh();
    hear(&mut before, "T1", Some(id("T1")), own("T1", 1, "First"));
    unfinished(&mut before, "T1");
    unfinished(&mut before, "T1");
    let log = after(None, &mut before).replace("2026-01-10", "2026-01-09");
    let mut bench = created();
    hear(&mut bench, "piton", None, ANEW.to_owned());
    let file = after(Some(&log), &mut bench);
    assert!(file.starts_with(&log) && file.ends_with(&format!("> {ANEW}\n")), "{file}");
    assert_eq!(settled(Some(&file), &bench), Reconciled::default());
    bench.attach();
    unfinished(&mut bench, "T1");
    unfinished(&mut bench, "T1");
    let more = after(Some(&file), &mut bench);
    let new: Vec<(Option<u32>, bool)> =
        entries(&more[file.len()..]).iter().map(|entry| (entry.head.number, entry.made)).collect();
    assert_eq!(new, [(Some(1), true), (Some(2), true)], "{more}");
    assert!(nothing(&settled(Some(&more), &bench)));
}

const PIECES: &[&str] = &[
    "## T1 - Iteration 1 - 2026-01-14T10:00:00Z\n",
    "## T10 – Iter 2\r\n",
    "## Tests - Iteration 1\n",
    "### T2 - Iteration 1\n",
    "## Other\n",
    "# Top\n",
    "---\n",
    "\n",
    "```\n",
    "~~~~ts\n",
    "**Did:** x\n",
    "**Remaining:**\n- y\n",
    "**Blockers:** None\n",
    "**Signal:** T1_DONE\n",
    "**Unit:** T1\n",
    "*(Written by Piton)*\n",
    "\u{feff}",
    "text",
    "   ",
];

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(0..PIECES.len(), 0..24)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect())
}

fn any_run() -> impl Strategy<Value = Bench> {
    proptest::collection::vec((0..3_usize, 0..9_u8), 0..16).prop_map(|steps| {
        let mut bench = fresh();
        for (task, choice) in steps {
            let name = ["T1", "T2", "T10"][task];
            let free = bench.task(name).decided == crate::run::Status::Pending
                || bench.task(name).decided == crate::run::Status::Failed;
            match choice {
                0 if free => unfinished(&mut bench, name),
                1 if free => {
                    ends(
                        &mut bench,
                        name,
                        AgentEnd::Blocked { reason: "no\n## T1 - Iteration 1".to_owned() },
                    );
                }
                2 if free => {
                    worked(&mut bench, name, None);
                    bench.checks_end(name, &Verdict::Fail { exit: 1 }, "```\nred");
                }
                3 if free => {
                    worked(
                        &mut bench,
                        name,
                        Some(Report { note: "# x\n~~~".to_owned(), ..Report::default() }),
                    );
                    passes(&mut bench, name);
                }
                4 => hear(&mut bench, name, Some(id(name)), own(name, 1, "told")),
                5 => bench.note(Note::Entry {
                    task: None,
                    text: "---\n## T1 - Iteration 1\n```".to_owned(),
                    for_next: false,
                }),
                6 => drop(bench.try_(&Command::Reset { task: id(name), by: "ann".to_owned() })),
                7 => drop(bench.try_(&Command::Retry { task: id(name), by: "ann".to_owned() })),
                8 if free => {
                    bench.report(name, Claim::Failed { reason: "by hand".to_owned() }, Report::default());
                }
                _ => {}
            }
        }
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that stands in the file is changed, and what was done once is not asked for again.
    #[test]
    fn settled_once_is_settled(text in any_text(), bench in any_run()) {
        let mut bench = bench;
        let whole = after(Some(&text), &mut bench);
        prop_assert!(whole.starts_with(&text));
        prop_assert!(nothing(&settled(Some(&whole), &bench)), "{}\n{:?}", whole, settled(Some(&whole), &bench));
        let anew = after(None, &mut bench);
        prop_assert!(nothing(&settled(Some(&anew), &bench)), "{}\n{:?}", anew, settled(Some(&anew), &bench));
    }

    /// What was only added to is as it should be.
    #[test]
    fn what_nobody_touched_is_no_problem(bench in any_run()) {
        let mut bench = bench;
        let file = after(None, &mut bench);
        prop_assert_eq!(settled(Some(&file), &bench).changed, vec![]);
    }
}
