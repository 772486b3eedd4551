//! Files of others, from their bytes on.

mod words;

use proptest::prelude::*;

use super::*;
use crate::chronicle::bench::{Bench, id};
use crate::run::{Command, Proof};
use crate::system::issue;
use crate::system::issue::state::tests::{fresh, lands, over};

fn wide(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = unit(0xfeff);
    mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect()
}

#[test]
fn a_state_file_is_read_in_whatever_encoding_a_tool_left_it() {
    let text = "{\"tasks\": [{\"notes\": \"für ✅\"}]}";
    let value = parse(text.as_bytes()).expect("JSON");
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for bytes in [marked, wide(text, u16::to_le_bytes), wide(text, u16::to_be_bytes)] {
        assert_eq!(parse(&bytes), Ok(value.clone()));
    }
    let large = format!("{{\"a\": 1{}}}", " ".repeat(text::LARGEST));
    assert!(parse(large.as_bytes()).is_ok(), "ours may be larger than what a person writes");
}

#[test]
fn what_is_no_state_file_says_where_and_what_is_said_twice_is_told() {
    let why = |text: &str| parse(text.as_bytes()).expect_err("no JSON");
    assert_eq!(
        why("{\n  \"tasks\": [\n    // Populated from tasks.md parsing\n  ]\n}"),
        "line 3, column 5: JSON has no comments"
    );
    assert_eq!(why("{\"a\": 1,}"), "line 1, column 8: a comma with nothing after it");
    assert_eq!(why("{\"tasks\": [{"), "line 1, column 13: the file breaks off in the middle");
    assert_eq!(why("{}{}"), "line 1, column 3: a second value follows the first");
    assert_eq!(why("{\"a\": NaN}"), "line 1, column 7: JSON has no such number");
    assert!(why(&"[".repeat(100_000)).ends_with("this is nested too deeply"));
    assert_eq!(
        parse(&wide("{", u16::to_le_bytes)[..3]).expect_err("half a character"),
        "this file is UTF-16, but not all of it"
    );
    let (value, twice) = parse(b"{\"a\": 1, \"a\": 2}").expect("JSON");
    assert_eq!((&value["a"], twice), (&2.into(), vec!["line 1, column 10: `a` appears twice".to_owned()]));
}

fn settled(beside: &dyn Companion, bytes: &[u8], bench: &Bench) -> Reconciled {
    beside.reconcile(Some(bytes), &bench.state, &bench.chronicle, &[], &Ticks::default())
}

/// What the journal is when all was done that was asked for.
fn grown(bytes: &[u8], bench: &mut Bench) -> Vec<u8> {
    settled(&issue::JOURNAL, bytes, bench).notes.into_iter().for_each(|note| bench.note(note));
    match settled(&issue::JOURNAL, bytes, bench).put {
        Put::Append(more) => [bytes, &more].concat(),
        _ => bytes.to_vec(),
    }
}

#[track_caller]
fn asks_for_nothing(bytes: &[u8], bench: &Bench) {
    let again = settled(&issue::JOURNAL, bytes, bench);
    assert_eq!((again.notes.len(), again.put), (0, Put::Nothing), "{:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn a_journal_grows_in_the_encoding_it_has() {
    for unit in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let mut bench = over();
        let whole = grown(&wide("# J\r\n\r\n---\r\n\r\n## Note\r\n\r\nA für ✅.\r\n", unit), &mut bench);
        let text = issue::journal::text(&whole);
        assert!(text.contains("A für ✅.\r\n\r\n---\r\n\r\n## Task 1: Add part 1\r\n"), "{text}");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "its line ends, too");
        asks_for_nothing(&whole, &bench);
    }
}

/// Half a character at the end is filled up by what follows; it is read as that from the first look on.
#[test]
fn half_a_character_at_the_end_changes_no_entry() {
    let entry = wide("## Task 2: Y\r\n\r\nDid it.\r\n", u16::to_be_bytes);
    for half in [b"\0", b"x", b"\xdc"] {
        let bytes = [&entry[..], half].concat();
        let mut bench = over();
        let whole = grown(&bytes, &mut bench);
        asks_for_nothing(&whole, &bench);
    }
}

/// PowerShell appends UTF-16 to whatever is there, and `cat` UTF-8.
#[test]
fn an_entry_that_was_appended_in_another_encoding_is_heard_once() {
    let mut bench = over();
    let entry = "\n---\n\n## Note\n\nAll is well.\n";
    let mixed = [b"# J\n".as_slice(), &wide(entry, u16::to_le_bytes)[2..]].concat();
    let heard = settled(&issue::JOURNAL, &mixed, &bench).notes;
    let note = Note::Entry { task: None, text: "## Note\n\nAll is well.".to_owned(), for_next: false };
    assert_eq!(heard, [note]);
    let whole = grown(&mixed, &mut bench);
    asks_for_nothing(&whole, &bench);
    // The other way round it cannot be told from text; but it is not begun anew again and again.
    for tail in ["\n---\n\n## Note\n\nOdd.\n", "even"] {
        let mut bench = over();
        let mixed = [wide("# J\n", u16::to_le_bytes), tail.as_bytes().to_vec()].concat();
        let whole = grown(&mixed, &mut bench);
        asks_for_nothing(&whole, &bench);
    }
    let mut bench = over();
    let large = [b"# J\n".as_slice(), &vec![b'x'; text::LARGEST]].concat();
    let whole = grown(&large, &mut bench);
    asks_for_nothing(&whole, &bench);
}

#[test]
fn an_entry_about_no_task_of_the_plan_is_kept_and_told_once() {
    let mut bench = fresh();
    let text = b"# J\n\n## Task 99: What\n\nDid it.\n";
    let first = settled(&issue::JOURNAL, text, &bench);
    assert_eq!(first.edits[0].to_string(), "there is no task 99 in the plan: kept without a task");
    first.notes.into_iter().for_each(|note| bench.note(note));
    let again = settled(&issue::JOURNAL, text, &bench);
    assert_eq!((again.notes.len(), again.edits.len()), (0, 0));
}

/// No person ticked it: Piton did, when it was done.
#[test]
fn the_tick_of_a_task_whose_work_is_gone_is_no_claim() {
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", None, [&[], &["a"]]);
    let list = b"- [x] 1. a\n- [ ] 2. b\n- [ ] 10. c\n";
    let boxes = |bench: &Bench| settled(&issue::TICKED_LISTS[0], list, bench);
    assert_eq!((boxes(&bench).edits.len(), boxes(&bench).put), (0, Put::Nothing));
    let Some(Proof::Landed { commit, .. }) = bench.task("1").proof.clone() else { panic!("it landed") };
    bench.accept(&Command::LandingLost { task: id("1"), commit, reason: "it was reset".to_owned() });
    let after = boxes(&bench);
    assert!(matches!(&after.edits[..], [Edit { what: What::Rejected { .. }, .. }]), "{:?}", after.edits);
    assert_eq!(after.put, Put::Whole(b"- [ ] 1. a\n- [ ] 2. b\n- [ ] 10. c\n".to_vec()));
    lands(&mut bench, "1", None, [&[], &["a"]]);
    assert_eq!((boxes(&bench).edits.len(), boxes(&bench).put), (0, Put::Nothing));
}

/// Piton has ticked a box, and a person clears it. The task stays completed: Piton ticks the box again and says so
/// once.
#[test]
fn a_box_that_somebody_unticks_is_refused_and_ticked_again() {
    let mut bench = fresh();
    bench.attach();
    for task in ["1", "2", "10"] {
        lands(&mut bench, task, None, [&[], &["a"]]);
    }
    let look = |list: &str, shown: &Ticks| {
        issue::TICKED_LISTS[0].reconcile(Some(list.as_bytes()), &bench.state, &bench.chronicle, &[], shown)
    };
    let said =
        |settled: &Reconciled| -> Vec<String> { settled.edits.iter().map(ToString::to_string).collect() };
    let (open, done) = ("- [ ] 1. a\n- [ ] 2. b\n- [ ] 10. c\n", "- [x] 1. a\n- [x] 2. b\n- [x] 10. c\n");
    // Piton has not ticked them yet.
    let first = look(open, &Ticks::default());
    assert_eq!((said(&first).len(), &first.put), (0, &Put::Whole(done.as_bytes().to_vec())));
    assert_eq!(first.ticks.0.len(), 3);
    let again = look(done, &first.ticks);
    assert_eq!((said(&again).len(), &again.put, &again.ticks), (0, &Put::Nothing, &first.ticks));
    let why = "completed, and is ticked again; to change or undo what was done, add a task to the plan";
    for mark in ["[ ]", "[]", "[-]"] {
        let one = look(&done.replace("[x] 2", &format!("{mark} 2")), &first.ticks);
        assert_eq!(said(&one), [format!("the box of 2 was unticked: it is {why}")], "{mark}");
        assert!(matches!(&one.put, Put::Whole(list) if list == done.as_bytes()), "{mark}");
    }
    let all = said(&look(open, &first.ticks));
    assert_eq!(all.len(), 1);
    assert!(all[0].starts_with("the boxes of 1, 2, 10 were unticked: they are completed"), "{all:?}");
    // Its status is part of it. A line that is gone is another plan.
    let status = done.replace("2. b\n", "2. b\n  - Status: pending\n");
    assert_eq!(said(&look(&status, &first.ticks)).len(), 1);
    assert_eq!(said(&look("- [x] 1. a\n- [x] 10. c\n", &first.ticks)), [""; 0]);
}

#[test]
fn of_ticks_that_build_on_each_other_the_first_is_judged_first() {
    let mut bench = fresh();
    bench.attach();
    let claims = |list: &[u8], bench: &Bench| {
        let settled = settled(&issue::TICKED_LISTS[0], list, bench);
        let ids: Vec<String> =
            settled.edits.iter().flat_map(|edit| &edit.task).map(TaskId::to_string).collect();
        (ids.join(" "), settled.put)
    };
    let list = b"- [x] 1. a\n- [x] 2. b\n- [ ] 10. c\n";
    let open = b"- [ ] 1. a\n- [x] 2. b\n- [ ] 10. c\n";
    assert_eq!(claims(list, &bench), ("1".to_owned(), Put::Whole(open.to_vec())));
    assert_eq!(claims(open, &bench).0, "2", "what it builds on is not reported done");
    lands(&mut bench, "1", None, [&[], &["a"]]);
    assert_eq!(claims(list, &bench).0, "2");
}

#[test]
fn a_report_of_an_earlier_validation_does_not_stay() {
    let bench = fresh();
    let reconcile = |found: &str| match settled(&issue::REPORT, found.as_bytes(), &bench).put {
        Put::Whole(text) => String::from_utf8(text).expect("text"),
        _ => found.to_owned(),
    };
    let old = "Verification report\n\nIssue:  #7 - X\nBranch: issue/7-x\nResult: passed\n";
    let new = reconcile(old);
    assert!(new.ends_with("Result: not known yet\n"), "{new}");
    assert_eq!(reconcile(&new), new);
    assert_eq!(reconcile("mine\n"), "mine\n");
    let none = issue::REPORT.reconcile(None, &bench.state, &bench.chronicle, &[], &Ticks::default());
    assert_eq!(none.put, Put::Nothing, "and none is written before there is something to tell");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// However often a journal is reconciled, Piton appends to it once.
    #[test]
    fn whatever_the_bytes_of_a_journal_are_it_is_settled_once(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                b"\xff\xfe".to_vec(), b"\xfe\xff".to_vec(), b"\xef\xbb\xbf".to_vec(), b"\0".to_vec(), b"\n".to_vec(),
                b"\xff".to_vec(), b"# J\n\n---\n\n".to_vec(), b"## Task 1: X\n\nDid it.\n".to_vec(), b"```\n".to_vec(),
                wide("## Task 2: Y\r\n\r\nDid it.\r\n", u16::to_le_bytes)[2..].to_vec(), "✅".as_bytes().to_vec(),
            ]),
            0..8,
        )
    ) {
        let mut bench = over();
        let bytes = pieces.concat();
        let whole = grown(&bytes, &mut bench);
        prop_assert!(whole.starts_with(&bytes));
        let again = settled(&issue::JOURNAL, &whole, &bench);
        prop_assert_eq!((again.notes.len(), again.put), (0, Put::Nothing));
    }
}

#[test]
fn ticks_of_earlier_versions_are_read() {
    let read = |text: &str| serde_json::from_str::<Ticks>(text).expect("ticks");
    assert_eq!(read(r#"["1", "2"]"#), read(r#"{"1": "", "2": ""}"#));
    let now = r#"{"1":{"title":"One","spec":0}}"#;
    assert_eq!(serde_json::to_string(&read(r#"{"1": "One"}"#)).expect("text"), now);
    assert_eq!(read(now), read(r#"{"1": "One"}"#));
}
