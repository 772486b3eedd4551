//! The log and the lessons of the iterative system, through the door to all files.

use super::super::*;
use crate::chronicle::bench::Bench;
use crate::plan::TaskId;
use crate::run::{Command, Report};
use crate::system::iterative::{GUARDRAILS, PROGRESS, report_in_words};

const LOG: &str = "# Progress Log\n\n## L0-001 - Iteration 1 - 2026-01-14\n**Did:** a\n**Remaining:** b\n";

/// What the engine does with the file: notes are journaled, then what is missing is appended.
fn kept(beside: &dyn Companion, found: Option<&str>, bench: &mut Bench) -> String {
    let look = |bench: &Bench| {
        beside.reconcile(found.map(str::as_bytes), &bench.state, &bench.chronicle, &[], &Ticks::default())
    };
    for note in look(bench).notes {
        let by = beside.name().expect("a file of its own").to_owned();
        bench.accept(&Command::Note { by, note });
    }
    let Put::Append(more) = look(bench).put else { return found.unwrap_or_default().to_owned() };
    found.unwrap_or_default().to_owned() + &String::from_utf8(more).expect("text")
}

#[test]
fn a_changed_entry_is_journaled_once_with_its_line() {
    let mut bench = Bench::small();
    assert_eq!(kept(&PROGRESS, Some(LOG), &mut bench), LOG);
    let edited = LOG.replace("**Did:** a", "**Did:** all");
    for _ in 0..2 {
        assert_eq!(kept(&PROGRESS, Some(&edited), &mut bench), edited);
    }
    let [told] = &bench.chronicle.refused[..] else { panic!("{:?}", bench.chronicle.refused) };
    assert_eq!(
        (told.file.as_str(), told.reason.as_str()),
        ("progress.md", "entries are only added (line 3)")
    );
    assert!(told.edit.contains("`## L0-001 - Iteration 1 - 2026-01-14` was changed"), "{}", told.edit);
}

#[test]
fn lessons_go_into_the_journal_and_back() {
    let mut bench = Bench::small();
    let file = kept(&GUARDRAILS, Some("# Guardrails\n\n## A\n- **Do**: this\n"), &mut bench);
    bench.note(Note::Guardrail { text: "Heed that".to_owned() });
    let more = kept(&GUARDRAILS, Some(&file), &mut bench);
    assert!(more.starts_with(&file) && more.contains("## Heed that\n"), "{more}");
    assert!(GUARDRAILS.holds(more.as_bytes(), file.as_bytes()));
    assert!(!GUARDRAILS.holds(file.as_bytes(), more.as_bytes()));
}

#[test]
fn what_an_agent_writes_into_its_copies_is_told() {
    let unit = TaskId::new("L0-001").expect("a valid id");
    let log = |more: &str| {
        report_in_words(&unit, "progress.md", LOG.as_bytes(), format!("{LOG}\n{more}\n").as_bytes())
    };
    let told = log("## L0-001 - Iteration 2\n**Did:** c\n**Remaining:** d").expect("an entry");
    assert_eq!((told.report.note.as_str(), told.report.feedback.as_str()), ("c", "d"));
    assert_eq!((told.what, told.entries.len()), (None, 1));
    let told = log("## L0-001 - Iteration 2\n**Did:** c\n**Signal:** L0-001_DONE").expect("an entry");
    assert!(matches!(told.what, Some(What::ReportDone { .. })), "{told:?}");
    let told = log("## L0-001 - Iteration 2\n**Signal:** BLOCKED: no key").expect("an entry");
    assert!(matches!(&told.what, Some(What::Blocked { reason, .. }) if reason == "no key"), "{told:?}");
    assert!(log("").is_none());
    // About another unit it is kept, and decides nothing of this one: done, blocked, or what is left to do.
    for signal in ["L0-002_DONE", "BLOCKED: no key"] {
        let told = log(&format!("## L0-002 - Iteration 1\n**Remaining:** x\n**Signal:** {signal}"));
        let told = told.expect("an entry");
        assert_eq!((told.what, told.entries.len()), (None, 1));
        assert_eq!(told.report, Report::default());
    }
    let told = log("## L0-001 - Iteration 2\n**Signal:** L0-001_DONE\n\n## L0-002 - Iteration 1\n**Did:** y");
    assert!(matches!(told.expect("entries").what, Some(What::ReportDone { .. })));
    let told =
        report_in_words(&unit, "guardrails.md", b"# Guardrails\n", b"# Guardrails\n\n## A\n- **Do**: x\n");
    assert_eq!(told.expect("a lesson").guardrails, ["## A\n- **Do**: x"]);
    assert!(report_in_words(&unit, "tasks.md", b"", b"## A\n").is_none());
}

#[test]
fn what_is_added_has_the_line_ends_of_the_file() {
    let mut bench = Bench::small();
    let note = Note::Entry { task: None, text: "## Note\n\nMind this".to_owned(), for_next: false };
    bench.accept(&Command::Note { by: "ann".to_owned(), note });
    let file = kept(&PROGRESS, Some(&LOG.replace('\n', "\r\n")), &mut bench);
    assert!(file.ends_with("\r\n## Note\r\n\r\nMind this\r\n"), "{file:?}");
}

/// Whatever an editor made of the file, Piton appends to it once and reads it back.
#[test]
fn the_log_and_the_lessons_grow_in_whatever_encoding_they_have() {
    let wide: Vec<u8> = "\u{feff}# Mine\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [wide, b"\xff\xfe#\0x".to_vec(), b"# a\0b \xff\n".to_vec()] {
        for beside in [&PROGRESS as &dyn Companion, &GUARDRAILS] {
            let mut bench = Bench::small();
            let note = Note::Entry { task: None, text: "## Note\n\nMind this".to_owned(), for_next: false };
            bench.accept(&Command::Note { by: "ann".to_owned(), note });
            bench.note(Note::Guardrail { text: "Mind this".to_owned() });
            let look = |bytes: &[u8], bench: &Bench| {
                beside.reconcile(Some(bytes), &bench.state, &bench.chronicle, &[], &Ticks::default())
            };
            for note in look(&bytes, &bench).notes {
                bench.note(note);
            }
            let Put::Append(more) = look(&bytes, &bench).put else { panic!("{bytes:?}") };
            let whole = [&bytes[..], &more].concat();
            assert!(entries::text(&whole).contains("Mind this"), "{whole:?}");
            let again = look(&whole, &bench);
            assert_eq!((again.notes, again.put), (Vec::new(), Put::Nothing), "{whole:?}");
        }
    }
}
