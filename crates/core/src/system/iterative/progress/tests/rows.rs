//! Headings and fields in every spelling, and what is derived from them.

use super::*;
use crate::system::iterative::progress::head::head;

/// P4.
#[test]
fn a_heading_is_read_however_it_is_spelled() {
    let time = "2026-01-14T10:30:00Z";
    for (title, number, at) in [
        ("T1 - Iteration 2 - 2026-01-14T10:30:00Z", Some(2), Some(time)),
        ("T1 – Iteration 2 – 2026-01-14T10:30:00Z", Some(2), Some(time)),
        ("T1—Iteration 2—2026-01-14T10:30:00Z", Some(2), Some(time)),
        ("T1 â€“ Iteration 2 â€“ 2026-01-14T10:30:00Z", Some(2), Some(time)),
        ("T1: Iteration 2: 2026-01-14T10:30:00Z", Some(2), Some(time)),
        ("T1： Iteration 2 (2026-01-14T10:30:00Z)", Some(2), Some(time)),
        ("**T1** - Iter 2", Some(2), None),
        ("T1 - Iter. 2 of 5", Some(2), None),
        ("Task T1 - iteration #2", Some(2), None),
        ("T1 iter2", Some(2), None),
        ("T1 - Iteration 2/5 - {timestamp}", Some(2), None),
        ("T1 - Iteration - 2026-01-14", None, Some("2026-01-14")),
    ] {
        let read = head(title);
        assert_eq!((read.kind, read.unit.as_ref()), (Kind::Iteration, Some(&id("T1"))), "{title}");
        assert_eq!((read.number, read.time.as_deref()), (number, at), "{title}");
    }
    for (title, kind, unit, number) in [
        ("Tests - Iteration 1 - 2026-01-14", Kind::Tests, None, Some(1)),
        ("Tests - T1 - Iteration 1", Kind::Tests, Some("T1"), Some(1)),
        ("Fix - Iteration 3", Kind::Fix, None, Some(3)),
        ("Revise", Kind::Revise, None, None),
        ("Review - 2026-01-14", Kind::Review, None, None),
        ("T1 - Done", Kind::Other, Some("T1"), None),
        ("Details", Kind::Other, None, None),
        ("Iteration 3", Kind::Other, None, None),
        ("", Kind::Other, None, None),
    ] {
        let read = head(title);
        assert_eq!((read.kind, read.unit, read.number), (kind, unit.map(id), number), "{title}");
    }
    assert_ne!(head("T1 - Iteration 1").unit, head("T10 - Iteration 1").unit);
    assert_eq!(head("US-001 - Iteration 1").unit, Some(id("US-001")));
}

#[test]
fn a_heading_as_it_is_written_reads_back() {
    for title in [
        "T1 - Iteration 2 - 2026-01-14T10:30:00Z",
        "Tests - Iteration 1 - 2026-01-14T10:30:00Z",
        "Fix",
        "R1 - Iteration 3",
    ] {
        assert_eq!(head(title).to_string(), title);
    }
}

/// P4 and P5.
#[test]
fn entries_are_read_in_any_form() {
    let text = "# Progress Log

## T1 - Iteration 2 - 2026-01-14T10:30:00Z
**Remaining:** None
**Did:** All of it: see `src/a.rs`
**Delta:** The parser
**Signal:** `<signal>T1_DONE</signal>`
**Commit:** [abc1234](x)

---

## T1 - Iteration 1
- **Did**:
  - the tables
  - the index
- **Blockers**: none.
- Remaining: the tests

### T2 - Iter 1
Did: one
line more

```
**Remaining:** this is code
## T3 - Iteration 1
```
Blockers: No key
Signal: BLOCKED: no key: ask

## T1 - Iteration 2
Words without a field.
**Notes:** kept apart

## Whatever
";
    insta::assert_debug_snapshot!(entries(text));
}

#[test]
fn an_entry_as_it_is_written_reads_back() {
    let texts = [
        "x",
        "one\n- two\n- three",
        "## T1 - Iteration 9\n**Did:** no",
        "Remaining: hidden",
        "```\nopen",
        "> a",
    ];
    for text in texts {
        let head = Head {
            kind: Kind::Iteration,
            unit: Some(id("T1")),
            number: Some(1),
            time: Some("2026-01-14".to_owned()),
        };
        let entry = Entry {
            head,
            did: text.to_owned(),
            remaining: text.to_owned(),
            signal: "T1_DONE".to_owned(),
            commit: "abc1234".to_owned(),
            ..Entry::default()
        };
        let written = entry.write();
        let read = entries(&written);
        assert_eq!(read.len(), 1, "{written}");
        let plain = |text: &str| text.replace("> ", "");
        assert_eq!(plain(&read[0].did), plain(text), "{written}");
        assert_eq!(plain(&read[0].remaining), plain(text), "{written}");
        let rest = |entry: &Entry| Entry { did: String::new(), remaining: String::new(), ..entry.clone() };
        assert_eq!(rest(&read[0]), rest(&entry), "{written}");
    }
}

#[test]
fn what_remains_is_what_the_last_entry_says() {
    let text = format!("{}\n\n{}\n\n", own("T1", 1, "a"), own("T10", 1, "b").replace("More", "Ten"));
    assert_eq!(remaining(&text, &id("T1")).as_deref(), Some("More"));
    assert_eq!(remaining(&text, &id("T10")).as_deref(), Some("Ten"));
    assert_eq!(remaining(&text, &id("T2")), None);
    let red = "## Tests - Iteration 1\n**Unit:** T1\n**Did:** x\n**Remaining:** Mend it\n";
    assert_eq!(remaining(&(text.clone() + red), &id("T1")).as_deref(), Some("Mend it"));
    let done = "## T1 - Iteration 1\n**Remaining:** None\n**Did:** x\n";
    assert_eq!(remaining(&(text + done), &id("T1")).as_deref(), Some(""), "numbers may come twice");
}

#[test]
fn iterations_that_do_the_same_are_warned_of() {
    let same = "Looked at the parser and changed the order of the tokens";
    let text = |first: &str, last: &str| format!("{}\n\n{}\n", own("T1", 1, first), own("T1", 2, last));
    let warned = |first: &str, last: &str| saturation(&text(first, last), &id("T1"));
    insta::assert_snapshot!(warned(same, &format!("{same} again.")).expect("nearly the same"), @"the last two iterations of T1 say that they did the same (95 % of the words): try another approach, ask a person, or skip it");
    assert_eq!(warned(same, "Wrote the missing test of the parser"), None);
    assert_eq!(warned("a b c d", "a b c x"), None, "three of four words");
    assert_eq!(saturation(&text(same, same), &id("T10")), None);
    assert_eq!(saturation(&own("T1", 1, same), &id("T1")), None, "one alone");
    let apart =
        format!("{}\n\n{}\n\n{}\n", own("T1", 1, same), own("T1", 2, "Other things"), own("T1", 3, same));
    assert_eq!(saturation(&apart, &id("T1")), None, "not in a row");
    assert_eq!(alike("", ""), 0);
    assert_eq!(alike("b a a", "a A b"), 100);
}

#[test]
fn what_an_agent_adds_to_its_copy_is_its_entry() {
    let before = format!("# Progress Log\n\n{}\n", own("T1", 1, "a"));
    let after = format!("{before}\n{}\n\n## Details\n\nSome.\n", own("T1", 2, "b"));
    assert_eq!(units(&added(&before, &after)), [Some("T1"), None]);
    assert_eq!(added(&before, &before), []);
    assert_eq!(added(&before, ""), []);
    let edited = after.replace("**Did:** a", "**Did:** much more");
    assert_eq!(added(&before, &edited).len(), 2, "an old entry that it changed is no new one");
}
