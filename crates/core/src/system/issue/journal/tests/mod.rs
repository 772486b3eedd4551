//! Journals as agents and people leave them, and what Piton makes of them.

use proptest::prelude::*;

use super::*;
use crate::chronicle::bench::{Bench, id};
use crate::plan::TaskId;
use crate::run::{Claim, Note, Report};
use crate::system::issue::state::tests::anything::any_run;
use crate::system::issue::state::tests::{fresh, issue, lands, over, told};

const EXAMPLE: &str = include_str!("example.md");

fn settled(found: Option<&str>, bench: &Bench) -> Reconciled {
    reconcile(found, &bench.state, &bench.chronicle, &issue())
}

/// What the file is after all was done that was asked for; what was heard is journaled.
fn after(found: Option<&str>, bench: &mut Bench) -> String {
    let settled = settled(found, bench);
    for Section { task, text } in settled.heard {
        bench.note(Note::Entry { task, text, for_next: false });
    }
    found.unwrap_or_default().to_owned() + &settled.append.unwrap_or_default()
}

fn tasks(sections: &[Section]) -> Vec<Option<&str>> {
    sections.iter().map(|section| section.task.as_ref().map(TaskId::as_str)).collect()
}

fn entry(task: &str, words: &str) -> String {
    format!(
        "## Task {task}: Something\n\n**Status**: ✅ Completed\n**Time**: 2026-01-20T10:05:00Z → 2026-01-20T10:25:00Z\n\n### What I Did\n{words}"
    )
}

#[test]
fn a_new_file_is_a_header() {
    insta::assert_snapshot!(after(None, &mut fresh()));
}

#[test]
fn what_nobody_wrote_is_written_and_marked() {
    insta::assert_snapshot!(after(None, &mut over()));
}

#[test]
fn the_example_is_heard_once_and_stays_as_it_is() {
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", Some(told()), [&["src/export.rs"], &[]]);
    let first = settled(Some(EXAMPLE), &bench);
    assert_eq!(tasks(&first.heard), [Some("1")], "what is still to be written is none");
    assert!(first.heard[0].text.starts_with("## Task 1: Add the tables"));
    assert!(first.heard[0].text.ends_with("- Long lists need the index"));
    assert_eq!(first.append, None, "task 1 has its entry, and nothing is over besides");
    let text = after(Some(EXAMPLE), &mut bench);
    assert_eq!(text, EXAMPLE);
    assert_eq!(settled(Some(EXAMPLE), &bench), Reconciled::default());
    lands(&mut bench, "2", None, [&[], &["src/lib.rs"]]);
    let text = after(Some(EXAMPLE), &mut bench);
    assert!(text.starts_with(EXAMPLE));
    insta::assert_snapshot!(&text[EXAMPLE.len()..]);
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
}

#[test]
fn two_entries_of_one_time_are_two_and_an_edited_one_is_the_same() {
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", None, [&[], &[]]);
    let first = format!("{}\n\n---\n\n", entry("1", "It failed."));
    let text = after(Some(&first), &mut bench);
    let second = format!("{text}{}\n\n---\n\n", entry("1", "It works."));
    let heard = settled(Some(&second), &bench).heard;
    assert_eq!(heard.len(), 1);
    assert!(heard[0].text.ends_with("It works."), "{heard:?}");
    let text = after(Some(&second), &mut bench);
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
    let edited = text.replace("It failed.", "It failed, for a reason.");
    assert_eq!(settled(Some(&edited), &bench), Reconciled::default());
    // Of two that are known, the one that is gone is put back.
    let less = text.replace(&entry("1", "It works."), "");
    let back = settled(Some(&less), &bench).append.expect("one is missing");
    assert!(back.contains("It works.") && !back.contains("It failed."), "{back}");
}

/// An entry that is in progress is kept as it stands, and tells of no end: that is written when it comes.
#[test]
fn an_entry_that_is_in_progress_is_kept_and_the_end_is_told_behind_it() {
    let begun = "## Task 1: Add part 1\n\n**Status**: 🔄 In Progress\n**Started**: 2026-01-20T10:30:00Z\n\n";
    for more in ["(Entry will be completed by sub-agent)\n", "### What I Did\nHalf of it.\n"] {
        let file = format!("# Implementation Journal\n\n---\n\n{begun}{more}\n---\n");
        let mut bench = fresh();
        bench.attach();
        assert_eq!(after(Some(&file), &mut bench), file, "nothing is added while it is in progress");
        lands(&mut bench, "1", None, [&[], &["src/lib.rs"]]);
        let text = after(Some(&file), &mut bench);
        assert!(text.starts_with(file.trim_end()), "{text}");
        assert_eq!(text.matches("## Task 1:").count(), 2, "{text}");
        assert_eq!(text.matches("✅ Completed").count(), 1, "{text}");
        assert_eq!(settled(Some(&text), &bench), Reconciled::default());
    }
}

#[test]
fn an_entry_is_read_into_its_parts() {
    let bench = fresh();
    let heard = settled(Some(EXAMPLE), &bench).heard;
    let parsed = parse(&heard[0].text);
    insta::assert_debug_snapshot!(parsed);
    assert_eq!(parsed.report().files, ["db/schema.sql", "src/db.rs"]);
    assert_eq!(parsed.report().created, ["db/schema.sql"]);
}

#[test]
fn what_piton_writes_reads_back() {
    let journal = after(None, &mut over());
    let entries = added("", &journal);
    assert_eq!(tasks(&entries), [Some("1"), Some("2"), Some("10")]);
    let one = parse(&entries[0].text);
    assert_eq!(one.status, Some(Outcome::Completed));
    assert_eq!(one.files_created, ["src/export.rs", "src/new.rs"]);
    assert_eq!(one.files_modified, ["src/lib.rs"]);
    assert_eq!(one.exports, told().exports);
    assert_eq!((one.decisions, one.patterns), (told().decisions, told().patterns));
    assert_eq!(parse(&entries[2].text).status, Some(Outcome::Failed));
}

#[test]
fn what_the_next_task_should_know_has_its_own_part() {
    let mut bench = fresh();
    bench.attach();
    let note = "It streams.\n\n- Call `flush`\n- Mind the locale";
    lands(&mut bench, "1", Some(Report { note: note.to_owned(), ..told() }), [&[], &["src/lib.rs"]]);
    let journal = after(None, &mut bench);
    assert!(journal.contains("### What I Did\nIt streams.\n\nChecks that passed"), "{journal}");
    assert!(
        journal.ends_with("### What Next Task Should Know\n- Call `flush`\n- Mind the locale\n"),
        "{journal}"
    );
    let read = parse(&added("", &journal)[0].text);
    assert_eq!(read.next, "- Call `flush`\n- Mind the locale");
    // A part of it must not look like another part of the file.
    let note = "It streams.\n\n---\n\n## Task 2: No";
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", Some(Report { note: note.to_owned(), ..told() }), [&[], &["src/lib.rs"]]);
    let journal = after(None, &mut bench);
    assert_eq!(tasks(&added("", &journal)), [Some("1")], "{journal}");
}

#[test]
fn a_file_that_is_deleted_or_emptied_is_written_again_from_the_run() {
    let mut bench = over();
    let text = after(Some(&format!("# Mine\n\n{}\n", entry("2", "Two things."))), &mut bench);
    let again = after(None, &mut bench);
    for file in [&text, &again] {
        assert_eq!(file.matches("## Task 2:").count(), 1, "{file}");
        assert!(file.contains("Two things."));
    }
    assert!(again.starts_with("# Implementation Journal\n\n**Issue**: #42 - Export invoices as PDF\n"));
    for empty in ["", "\n", "\u{feff}", " \r\n"] {
        assert_eq!(settled(Some(empty), &bench).append.as_deref(), Some(again.as_str()), "{empty:?}");
    }
}

#[test]
fn a_header_only_journal_gets_what_is_missing() {
    let mut bench = over();
    let header = "# Implementation Journal\n\n**Issue**: #42 - X\n\n---\n\n";
    let text = after(Some(header), &mut bench);
    assert!(text.starts_with(&format!("{header}## Task 1: Add part 1\n")), "{text}");
    assert!(!text.contains("---\n\n---"), "{text}");
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
}

#[test]
fn one_is_neither_ten_nor_one_point_one() {
    let text = format!("{}\n\n{}\n\n{}\n", entry("1.1", "a"), entry("10.", "b"), entry("100", "c"));
    let heard = settled(Some(&text), &over());
    assert_eq!(tasks(&heard.heard), [None, Some("10"), None]);
    let missing = heard.append.expect("1 and 2 have none, and 10 failed");
    for task in ["## Task 1: ", "## Task 2: ", "## Task 10: "] {
        assert_eq!(missing.matches(task).count(), 1, "{missing}");
    }
}

#[test]
fn an_entry_about_no_known_task_is_kept_and_told() {
    let text = format!("# J\n\n{}\n", entry("99", "What is this?"));
    let mut bench = fresh();
    let heard = settled(Some(&text), &bench);
    assert_eq!(tasks(&heard.heard), [None]);
    assert_eq!(heard.problems.len(), 1);
    assert_eq!(heard.problems[0].message, "there is no task 99 in the plan");
    assert_eq!(&text[heard.problems[0].span.clone()], entry("99", "What is this?"));
    after(Some(&text), &mut bench);
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
    assert!(after(None, &mut bench).contains("What is this?"));
}

#[test]
fn headings_are_found_however_they_are_dressed() {
    for heading in [
        "## Task 1: X",
        "##  task 1 - X",
        "## ✅ Task 1: X",
        "## âœ… Task 1: X",
        "## Ã¢Å“â€¦ Task 1: X",
        "## **Task 1.**: X",
        "## Task #1: X",
        "## Task 1) X: y",
        "   ## Task 1",
        "\u{feff}## Task 1: X",
        "## Task 1： X",
    ] {
        let heard = settled(Some(&format!("{heading}\r\n\r\nDid it.\r\n")), &fresh()).heard;
        assert_eq!(tasks(&heard), [Some("1")], "{heading}");
    }
    for other in ["### Task 1: X", "# Task 1: X", "    ## Task 1: X", "##Task 1: X", "- ## Task 1"] {
        assert_eq!(settled(Some(&format!("Text\n{other}\n\nDid it.\n")), &fresh()).heard, [], "{other}");
    }
    for other in ["## Tasks 1: X", "## Task list", "## Task 1 and 2", "## The task 1: X"] {
        let heard = settled(Some(&format!("{other}\n\nDid it.\n")), &fresh()).heard;
        assert_eq!(tasks(&heard), [None], "{other}");
    }
}

#[test]
fn a_heading_in_a_fence_is_code() {
    let text = format!(
        "{}\n\n```markdown\n---\n\n## Task 2: Not me\n```\n\n~~~~\n## Task 2: Nor me\n~~~\n~~~~\n",
        entry("1", "See:")
    );
    let heard = settled(Some(&text), &fresh()).heard;
    assert_eq!(tasks(&heard), [Some("1")]);
    assert!(heard[0].text.ends_with("~~~~"));
}

#[test]
fn a_fence_that_nobody_closed_is_closed_before_anything_follows() {
    for open in ["```ts\nlet x;", "~~~~\nlet x;\n\n---\n\n", "````\n```\n"] {
        // Without a time, by which it would be known again whatever becomes of it.
        let text = format!("## Task 1: X\n\nSee:\n\n{open}");
        let mut bench = over();
        let whole = after(Some(&text), &mut bench);
        assert!(whole.starts_with(&text));
        assert_eq!(tasks(&added("", &whole)), [Some("1"), Some("2"), Some("10")], "{whole}");
        assert_eq!(settled(Some(&whole), &bench), Reconciled::default(), "{whole}");
    }
}

#[test]
fn line_ends_a_byte_order_mark_and_a_missing_last_newline_stay() {
    let mut bench = over();
    let text = format!("\u{feff}# J\n\n{}", entry("1", "Did it.")).replace('\n', "\r\n");
    let whole = after(Some(&text), &mut bench);
    assert!(whole.starts_with(&text));
    assert_eq!(whole.matches('\n').count(), whole.matches("\r\n").count(), "{whole:?}");
    assert!(whole[text.len()..].starts_with("\r\n\r\n---\r\n\r\n## Task 2: "), "{whole:?}");
    assert_eq!(settled(Some(&whole), &bench), Reconciled::default());
    // The same file, whatever an editor made of its lines.
    assert_eq!(settled(Some(&whole.replace('\r', "")), &bench), Reconciled::default());
}

#[test]
fn a_status_is_a_word_or_a_mark_however_it_was_decoded() {
    use Outcome::{Completed, Failed, InProgress};
    for (line, outcome) in [
        ("**Status**: ✅ Completed", Some(Completed)),
        ("**Status:** Done", Some(Completed)),
        ("Status: COMPLETE", Some(Completed)),
        ("- **Status**: âœ… Completed", Some(Completed)),
        ("**Status**: Ã¢Å“â€¦ Completed", Some(Completed)),
        ("**Status**: ✅", Some(Completed)),
        ("**Status**: âœ…", Some(Completed)),
        ("**Status**: âŒ Failed", Some(Failed)),
        ("**Status**: âŒ", Some(Failed)),
        ("**Status**: ❌", Some(Failed)),
        ("**Status**: ðŸ”„ In Progress", Some(InProgress)),
        ("**Status**: 🔄", Some(InProgress)),
        ("**Status**: not completed", None),
        ("**Status**: [✅ Completed | ❌ Failed]", None),
        ("**Status**: who knows", None),
    ] {
        assert_eq!(parse(&format!("## Task 1: X\n\n{line}\n")).status, outcome, "{line}");
    }
    let mojibake = "## Task 1: X\n\n**Status**: âœ… Completed\n**Time**: 10:00 â†’ 11:00\n\nDid it.\n";
    let whole = after(Some(mojibake), &mut over());
    assert!(whole.starts_with(mojibake), "it is read, not mended");
    let parsed = parse(mojibake);
    assert_eq!(parsed.time, parse(&mojibake.replace("â†’", "→")).time);
}

#[test]
fn an_entry_still_to_be_written_is_none() {
    let announced = "## Task 1: X\n\n**Status**: 🔄 In Progress\n**Started**: 2026-01-20T10:30:00Z\n\n(Entry will be completed by sub-agent)\n";
    assert_eq!(settled(Some(announced), &fresh()), Reconciled::default());
    let missing = settled(Some(announced), &over()).append.expect("it is over, and nobody wrote of it");
    assert!(missing.contains("## Task 1: Add part 1"));
    assert!(!missing.contains("will be completed"));
    let left = announced.replace("(Entry will be completed by sub-agent)", "### What I Did\nAll of it.");
    assert_eq!(tasks(&settled(Some(&left), &over()).heard), [Some("1")], "the state decides, not the mark");
    let bare = "## Task 1: X\n\n**Status**: ✅ Completed\n";
    assert_eq!(tasks(&settled(Some(bare), &fresh()).heard), [Some("1")]);
}

#[test]
fn two_entries_for_one_task_are_two_and_one_that_was_edited_is_one() {
    let again = entry("1", "And then.").replace("10:25", "11:45");
    let text = format!("{}\n\n---\n\n{again}\n", entry("1", "First."));
    let mut bench = fresh();
    assert_eq!(settled(Some(&text), &bench).heard.len(), 2);
    after(Some(&text), &mut bench);
    let edited = text.replace("First.", "First of all.");
    assert_eq!(settled(Some(&edited), &bench), Reconciled::default());
}

#[test]
fn an_entry_that_says_the_contrary_is_about_another_end() {
    let mut bench = over();
    let failed = entry("1", "No.").replace("✅ Completed", "❌ Failed");
    let claimed = entry("10", "All done!");
    let text = format!("{failed}\n\n---\n\n{claimed}\n");
    let whole = after(Some(&text), &mut bench);
    assert_eq!(whole.matches("## Task 1: ").count(), 2, "it failed first and was completed then");
    assert_eq!(whole.matches("## Task 10: ").count(), 2, "somebody said so, but it was abandoned");
    assert_eq!(settled(Some(&whole), &bench), Reconciled::default());
}

#[test]
fn a_task_that_is_over_twice_has_both_its_ends_told() {
    let mut bench = over();
    let first = after(None, &mut bench);
    bench.accept(&crate::run::Command::Retry { task: id("10"), by: "ann".to_owned() });
    let results = bench.results("10", &crate::run::Verdict::Pass, "");
    bench.report(
        "10",
        Claim::Done { tree: None, results, evidence: crate::run::Evidence::file("work") },
        Report::default(),
    );
    let second = after(Some(&first), &mut bench);
    assert!(second.starts_with(&first));
    assert_eq!(second.matches("## Task 10: ").count(), 2);
    assert_eq!(settled(Some(&second), &bench), Reconciled::default());
    let anew = after(None, &mut bench);
    assert_eq!(anew.matches("## Task 10: ").count(), 2, "and both are known when the file is gone");
}

#[test]
fn what_was_noted_elsewhere_is_quoted_and_not_taken_for_an_entry() {
    let mut bench = fresh();
    let text = "Mind this:\n---\n\n## Task 1: Not an entry\n```\nopen";
    bench.note(Note::Entry { task: Some(id("1")), text: text.to_owned(), for_next: false });
    bench.note(Note::Entry { task: None, text: "The review is on Monday".to_owned(), for_next: false });
    let whole = after(None, &mut bench);
    insta::assert_snapshot!(whole);
    assert_eq!(settled(Some(&whole), &bench), Reconciled::default());
}

#[test]
fn a_person_may_write_under_any_heading_after_a_rule() {
    let text =
        "# J\n\nIntro\n\n## Scope\n\nAll.\n\n---\n\n## Review\n\nFine.\n\n## Details\n\nSome.\n\n---\n";
    let heard = settled(Some(text), &fresh()).heard;
    assert_eq!(heard, [Section { task: None, text: "## Review\n\nFine.\n\n## Details\n\nSome.".to_owned() }]);
}

#[test]
fn a_very_long_entry_is_heard_once() {
    let long = entry("1", &"word ".repeat(20_000));
    let text = format!("{long}\n\n```\n{}\n```\n", "x".repeat(70_000));
    let mut bench = fresh();
    after(Some(&text), &mut bench);
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
    let whole = after(None, &mut bench);
    assert_eq!(settled(Some(&whole), &bench).append, None);
}

#[test]
fn hundreds_of_entries_are_all_known() {
    let entries: Vec<String> =
        (0..450).map(|n| entry("1", "x").replace("10:25:00Z", &format!("{n}"))).collect();
    let text = entries.join("\n\n---\n\n");
    let mut bench = fresh();
    after(Some(&text), &mut bench);
    assert_eq!(settled(Some(&text), &bench), Reconciled::default());
}

#[test]
fn what_an_agent_adds_to_its_copy_is_its_entry() {
    let new = added(EXAMPLE, &format!("{EXAMPLE}\n---\n\n{}\n", entry("2", "It streams.")));
    assert_eq!(tasks(&new), [Some("2")]);
    assert_eq!(parse(&new[0].text).report().note, "It streams.");
    assert_eq!(added(EXAMPLE, EXAMPLE), []);
    assert_eq!(added(EXAMPLE, ""), []);
}

const PIECES: &[&str] = &[
    "## Task 1: One\n",
    "## Task 10: Ten\r\n",
    "## Task 99: None\n",
    "## Other\n",
    "# Top\n",
    "---\n",
    "\n",
    "```\n",
    "~~~~ts\n",
    "~~~~\n",
    "**Status**: ✅ Completed\n",
    "**Status**: âŒ Failed\n",
    "**Time**: 2026-01-20T10:05:00Z → x\n",
    "(Entry will be completed by sub-agent)\n",
    "*(Entry auto-generated by Piton: the agent did not write one)*\n",
    "### What I Did\nThings.\n",
    "### Files Created\n- `a.rs` - a\n",
    "\u{feff}",
    "text",
    "   ",
];

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(0..PIECES.len(), 0..30)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that stands in the file is changed, and what was done once is not asked for again.
    #[test]
    fn settled_once_is_settled(text in any_text(), bench in any_run()) {
        let mut bench = bench;
        let whole = after(Some(&text), &mut bench);
        prop_assert!(whole.starts_with(&text));
        let again = settled(Some(&whole), &bench);
        prop_assert_eq!(&again.heard, &[], "{}", whole);
        prop_assert_eq!(&again.append, &None, "{}", whole);
        let anew = after(None, &mut bench);
        let again = settled(Some(&anew), &bench);
        prop_assert_eq!(&again.heard, &[], "{}", anew);
        prop_assert_eq!(&again.append, &None, "{}", anew);
    }
}
