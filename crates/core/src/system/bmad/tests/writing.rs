//! What is written into a board and its stories.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{BOARD, FIND};
use crate::plan::TaskId;
use crate::system::bmad::write::{Words, finished, stamped};
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;
use crate::time::Timestamp;

fn stand(of: &[(&str, Word)]) -> BTreeMap<TaskId, Word> {
    of.iter().map(|(name, word)| (TaskId::new(name).expect("an id"), *word)).collect()
}

/// A board whose stories all have files.
fn board() -> Words {
    let keys = ["1-1-keep", "1-2-find", "1-3-show", "2-1-share", "2-4-begun", "1-1-a", "1-2-b", "2-1-c"];
    Words { written: keys.map(str::to_owned).into_iter().collect() }
}

fn ticked(text: &str, of: &[(&str, Word)]) -> String {
    let ticked = board().tick(text.as_bytes(), &stand(of)).expect("a board");
    String::from_utf8(ticked.bytes).expect("text")
}

#[test]
fn the_word_of_a_story_changes_and_that_of_its_epic_when_it_begins() {
    for text in [BOARD.to_owned(), BOARD.replace('\n', "\r\n"), format!("\u{feff}{}", BOARD.trim_end())] {
        let wanted = text.replace("1-2-find: ready-for-dev", "1-2-find: review");
        assert_eq!(ticked(&text, &[("1-2-find", Word::Completed)]), wanted);
        let wanted = text
            .replace("2-1-share: drafted", "2-1-share: review")
            .replace("epic-2: backlog", "epic-2: in-progress");
        assert_eq!(ticked(&text, &[("2-1-share", Word::Completed)]), wanted);
        let wanted = text.replace("epic-2: backlog", "epic-2: in-progress");
        assert_eq!(ticked(&text, &[("2-1-share", Word::InProgress)]), wanted);
        assert_eq!(ticked(&text, &[("1-1-keep", Word::Completed)]), text, "done is more than review");
        assert_eq!(ticked(&text, &[("1-2-find", Word::Pending), ("2-4-begun", Word::Blocked)]), text);
    }
    assert_eq!(ticked(BOARD, &[("2-3-gone", Word::Completed)]), BOARD, "it has no file");
    assert_eq!(
        ticked("development_status:\n  1-1-a: \"ready-for-dev\"\n", &[("1-1-a", Word::Completed)]),
        "development_status:\n  1-1-a: \"review\"\n"
    );
}

#[test]
fn the_time_of_a_change_is_written_as_the_board_has_it() {
    let at = Timestamp::parse("2026-03-04T05:06:07Z").expect("a time");
    let now = |text: &str| String::from_utf8(stamped(text.as_bytes(), at).expect("a time")).expect("text");
    let board = |value: &str| format!("last_updated: {value}\ndevelopment_status:\n  a: done\n");
    assert_eq!(now(&board("2026-01-05")), board("2026-03-04"));
    assert_eq!(now(&board("'2026-01-05 10:20'")), board("'2026-03-04 05:06'"));
    assert_eq!(now(&board("2026-01-05T10:20:30Z")), board("2026-03-04T05:06:07Z"));
    assert_eq!(stamped(board("yesterday").as_bytes(), at), None);
    assert_eq!(stamped(b"development_status:\n  a: done\n", at), None);
}

#[test]
fn a_story_that_is_done_is_to_be_reviewed_and_its_steps_are_ticked() {
    let now = String::from_utf8(finished(FIND.as_bytes()).expect("text")).expect("text");
    let wanted =
        FIND.replace("Status: ready-for-dev", "Status: review").replace("- [ ] Task 1", "- [x] Task 1");
    assert_eq!(now, wanted, "what is not a step stays open");
    let older = "# Story\n\n## Status\n\nApproved\n\n## Tasks / Subtasks\n\n- [ ] a\n";
    let now = String::from_utf8(finished(older.as_bytes()).expect("text")).expect("text");
    assert_eq!(now, older.replace("Approved", "Review").replace("[ ]", "[x]"));
    for done in ["Status: done\n", "---\nstatus: 'in-review'\n---\n", "**Status:** Ready for Review\n"] {
        assert_eq!(finished(done.as_bytes()), Some(done.as_bytes().to_vec()));
    }
}

const PIECES: &str = "(?s)(development_status:\n|  epic-1: backlog\n|  1-1-a: ready-for-dev\n|  1-2-b: \"done\"\n|  2-1-c:\n|  1-1-a: x # y\n|last_updated: 2026-01-05\n|- [ ] |Status: ready\n|## Tasks\n|## Status\n|---\n|status: draft\n|\r\n|\n| |\\PC){0,30}";

proptest! {
    #[test]
    fn whatever_the_files_hold_only_words_and_boxes_change(text in PIECES, picks: u8) {
        let word = |nth: usize| if picks >> nth & 1 == 1 { Word::Completed } else { Word::Pending };
        let all: Vec<(&str, Word)> = ["1-1-a", "1-2-b", "2-1-c"].iter().enumerate().map(|(nth, name)| (*name, word(nth))).collect();
        if let Some(new) = board().tick(text.as_bytes(), &stand(&all)) {
            prop_assert!(board().holds(&new.bytes, text.as_bytes()), "{:?}", String::from_utf8_lossy(&new.bytes));
            prop_assert_eq!(board().tick(&new.bytes, &stand(&all)).map(|again| again.bytes), Some(new.bytes));
        }
        let once = finished(text.as_bytes()).expect("text");
        prop_assert_eq!(finished(&once), Some(once.clone()));
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(lines(&once), lines(text.as_bytes()));
    }
}
