//! What is written into a roadmap: the bytes between the brackets of a plan's box.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{ROADMAP, receipts};
use crate::plan::TaskId;
use crate::system::gsd::place;
use crate::system::gsd::write::Boxes;
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;

/// The boxes of the example. Only the first plan has a summary.
fn boxes() -> Boxes {
    let files = receipts();
    let plans = place::plans(files.iter().map(|(path, _)| path.trim_start_matches(".planning/")));
    let done = plans.iter().map(|plan| plan.id.as_str() == "01-01").collect();
    Boxes { plans, done }
}

fn stand(of: &[(&str, Word)]) -> BTreeMap<TaskId, Word> {
    of.iter().map(|(name, word)| (TaskId::new(name).expect("an id"), *word)).collect()
}

fn ticked(text: &str, of: &[(&str, Word)]) -> String {
    let ticked = boxes().tick(text.as_bytes(), &stand(of)).expect("text");
    String::from_utf8(ticked.bytes).expect("text")
}

#[test]
fn one_box_is_ticked_and_not_a_byte_else_changes() {
    for text in [ROADMAP.to_owned(), ROADMAP.replace('\n', "\r\n"), format!("\u{feff}{}", ROADMAP.trim_end())]
    {
        let open = text.replace("- [x] 01-02", "- [ ] 01-02");
        assert_eq!(ticked(&text, &[("01-02", Word::Pending)]), open);
        assert_eq!(ticked(&open, &[("01-02", Word::Completed)]), text);
        let second = text.replace("- [ ] 02-01:", "- [x] 02-01:");
        assert_eq!(ticked(&text, &[("02-01", Word::Completed)]), second, "a box that names no file");
        assert_eq!(ticked(&text, &[("02-01", Word::InProgress), ("01-01", Word::Completed)]), text);
    }
}

#[test]
fn a_tick_counts_only_with_a_summary() {
    let found = boxes().ticked(ROADMAP.as_bytes());
    let found: Vec<(&str, bool)> =
        found.iter().map(|(id, against)| (id.as_str(), against.is_none())).collect();
    assert_eq!(found, [("01-01", true), ("01-02", false)]);
    let opened = boxes().without_ticks(ROADMAP.as_bytes()).expect("there are ticks");
    assert!(boxes().without_ticks(&opened).is_none() && boxes().holds(&opened, ROADMAP.as_bytes()));
}

#[test]
fn a_plan_without_a_box_is_missing_and_nothing_is_written_for_it() {
    let written = boxes().tick(b"# Roadmap\n", &stand(&[("01-01", Word::Completed)])).expect("text");
    assert_eq!((written.bytes.as_slice(), written.missing.len()), (&b"# Roadmap\n"[..], 1));
}

const PIECES: &str = "(?s)(- \\[ \\] |- \\[x\\] |\\* \\[X\\] |01-01-PLAN\\.md|01-01: |02-02|\\*\\*Phase 1: A\\*\\*|### Phase 2: B\n|~~|```\n|<details>\n|\r\n|\n| — |\\PC){0,40}";

proptest! {
    #[test]
    fn whatever_the_roadmap_only_marks_change(text in PIECES, picks: u8) {
        let word = |nth: usize| if picks >> nth & 1 == 1 { Word::Completed } else { Word::Pending };
        let names = ["01-01", "01-02", "02-01", "02-02"];
        let all: Vec<(&str, Word)> = names.iter().enumerate().map(|(nth, name)| (*name, word(nth))).collect();
        let Some(new) = boxes().tick(text.as_bytes(), &stand(&all)) else { return Ok(()) };
        prop_assert!(boxes().holds(&new.bytes, text.as_bytes()));
        // In any order it comes to the same, but for `x` or `X`: a tick is written as most ticks of the file are.
        let mut one_by_one = text.clone().into_bytes();
        for one in all.iter().rev() {
            one_by_one = boxes().tick(&one_by_one, &stand(&[*one])).expect("the same text").bytes;
        }
        prop_assert_eq!(one_by_one.to_ascii_lowercase(), new.bytes.to_ascii_lowercase());
    }
}
