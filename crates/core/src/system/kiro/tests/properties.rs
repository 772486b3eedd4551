//! What holds for every list, whatever becomes of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::system::kiro::read::DEPTH;
use crate::system::kit::numbered;
use crate::system::kit::outline::Word;

/// Pieces of which a list is made.
const PIECES: &str = "(?s)(- \\[ \\] |- \\[x\\] |- \\[ \\]\\* |\\* \\[X\\] |  - \\[ \\] |1\\. |1\\.1 |1\\.2 |2\\. |2\\.1 |\\(P\\) |## Task 3: C\n|_Requirements: 1\\.1_\n|_Depends: 1\\.1, 2_\n|Checkpoint |```json\n|```\n|\\{\"waves\":\\[\\[\"1\\.1\"\\],\\[\"2\\.1\"\\]\\]\\}\n|~~|`src/a\\.rs`|\r\n|\n|<!-- |-->|\\PC){0,50}";

fn is_acyclic(reading: &Reading) -> bool {
    let mut left: Vec<&TaskSpec> = reading.plan.tasks.iter().collect();
    let mut done: BTreeSet<&TaskId> = BTreeSet::new();
    loop {
        let (ready, rest): (Vec<&TaskSpec>, Vec<&TaskSpec>) =
            left.iter().partition(|task| task.depends_on.iter().all(|need| done.contains(need)));
        if ready.is_empty() {
            return rest.is_empty();
        }
        done.extend(ready.iter().map(|task| &task.id));
        left = rest;
    }
}

proptest! {
    #[test]
    fn any_text_is_read_and_ticks_do_not_change_the_plan(text in PIECES, more in PIECES, picks: u16) {
        let around = [(".kiro/specs/import/requirements.md", more.as_str()), (".kiro/specs/import/spec.json", &more), (".kiro/steering/x.md", &more)];
        let with = |text: &str| reading(&[&[(PLACE, text)], &around[..]].concat(), PLACE);
        let read = with(&text);
        drop(drawn(&read));
        let word = |nth: usize| if picks >> (nth % 16) & 1 == 1 { Word::Completed } else { Word::Pending };
        let stand: BTreeMap<TaskId, Word> =
            read.plan.tasks.iter().enumerate().map(|(nth, task)| (task.id.clone(), word(nth))).collect();
        let Some(new) = numbered::tick(text.as_bytes(), &stand, DEPTH) else { return Ok(()) };
        prop_assert_eq!(&new.missing, &[], "reader and writer call tasks the same");
        let new = String::from_utf8(new.bytes).expect("text");
        let again = with(&new);
        prop_assert_eq!(read.plan.hash(), again.plan.hash(), "{:?} {:?}", text, new);
    }

    #[test]
    fn a_graph_and_checkpoints_never_make_a_circle(
        kinds in prop::collection::vec(0..6_u8, 1..14),
        waves in prop::collection::vec(prop::collection::vec(1..15_usize, 0..4), 0..6),
    ) {
        let mut text = String::new();
        for (nth, kind) in kinds.iter().enumerate() {
            let nth = nth + 1;
            text += &match kind {
                0 => format!("- [ ] {nth}. Checkpoint\n"),
                1 => format!("- [-] {nth}. Name\n"),
                2 => format!("- [ ]* {nth}. Name\n"),
                _ => format!("- [ ] {nth}. Name\n"),
            };
        }
        let named = |wave: &Vec<usize>| format!("[{}]", wave.iter().map(|nth| format!("\"{nth}\"")).collect::<Vec<_>>().join(","));
        let waves: Vec<String> = waves.iter().map(named).collect();
        text += &format!("\n```json\n{{\"waves\":[{}]}}\n```\n", waves.join(","));
        let read = list(&text);
        prop_assert!(is_acyclic(&read), "{}", text);
        // Whatever stands before a checkpoint is done before what stands behind it.
        let ids: Vec<&TaskSpec> = read.plan.tasks.iter().filter(|task| !task.by_person).collect();
        let mut behind: BTreeMap<&TaskId, BTreeSet<&TaskId>> = BTreeMap::new();
        for _ in 0..=ids.len() {
            for task in &ids {
                let mut all: BTreeSet<&TaskId> = task.depends_on.iter().collect();
                all.extend(task.depends_on.iter().filter_map(|need| behind.get(need)).flatten());
                behind.insert(&task.id, all);
            }
        }
        for (nth, wall) in ids.iter().enumerate().filter(|(_, task)| task.title == "Checkpoint") {
            prop_assert!(ids[..nth].iter().all(|before| behind[&wall.id].contains(&before.id)), "{}", text);
            prop_assert!(ids[nth + 1..].iter().all(|after| behind[&after.id].contains(&wall.id)), "{}", text);
        }
    }
}
