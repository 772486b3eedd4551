//! What holds for every list, whatever becomes of it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::system::kit::numbered;
use crate::system::kit::outline::Word;
use crate::system::openspec::read::DEPTH;

/// Pieces of which a list is made.
const PIECES: &str = "(?s)(- \\[ \\] |- \\[x\\] |\\* \\[X\\] |  - \\[ \\] |1\\.1 |1\\.1\\.1 |2\\.3 |TASK-1: |## 1\\. A\n|### 1\\.2 B\n|## Acceptance Criteria\n|~~|Run `cargo test`|`src/a\\.rs`|Red: |Commit |```|\r\n|\n|<!-- |-->|\\PC){0,50}";

proptest! {
    #[test]
    fn any_text_is_read_and_ticks_do_not_change_the_plan(text in PIECES, delta in PIECES, picks: u16) {
        let files = [(PLACE, text.as_str()), ("openspec/changes/add-export/specs/a/spec.md", &delta)];
        let read = reading(&files, PLACE);
        drop(drawn(&read));
        let word = |nth: usize| if picks >> (nth % 16) & 1 == 1 { Word::Completed } else { Word::Pending };
        let stand: BTreeMap<TaskId, Word> =
            read.plan.tasks.iter().enumerate().map(|(nth, task)| (task.id.clone(), word(nth))).collect();
        let Some(new) = numbered::tick(text.as_bytes(), &stand, DEPTH) else { return Ok(()) };
        prop_assert_eq!(&new.missing, &[], "reader and writer call tasks the same");
        let new = String::from_utf8(new.bytes).expect("text");
        let again = reading(&[(PLACE, new.as_str()), files[1]], PLACE);
        prop_assert_eq!(read.plan.hash(), again.plan.hash(), "{:?} {:?}", text, new);
    }
}
