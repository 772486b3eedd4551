//! What holds for every list and for whatever becomes of its file.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::system::kit::boxes::tick;
use crate::system::kit::checklist;

/// Lists as they might be written: each line is indented, and most have a number.
fn lines() -> impl Strategy<Value = String> {
    let line =
        (0..4_usize, prop::sample::select(vec![" ", "x", "-", "~", "", "?"]), 0..12_u32, 0..4_u32, 0..6_u8);
    prop::collection::vec(line, 0..12).prop_map(|lines| {
        let mut text = String::new();
        for (indent, mark, major, minor, kind) in lines {
            let number = match kind {
                0 => String::new(),
                1 => format!("{major}.{minor}.{minor} "),
                2 | 3 => format!("{major}.{minor} "),
                _ => format!("{major}. "),
            };
            let star = if kind == 5 { "*" } else { "" };
            let end = if minor == 3 { "\r\n" } else { "\n" };
            text += &format!("{}- [{mark}]{star} {number}name {major}{end}", "  ".repeat(indent));
            if kind == 4 {
                text += "  - a detail\n### Phase 3\n";
            }
        }
        text
    })
}

proptest! {
    #[test]
    fn every_box_is_a_node_and_ids_are_unique(text in lines()) {
        let read = reading(&alone(&text));
        told(&read);
        let boxes = checklist::scan(&text.replace("\r\n", "\n")).items().count();
        prop_assert_eq!(read.outline.nodes.len(), boxes);
        let mut ids: Vec<String> = read.reading.plan.tasks.iter().map(|task| task.id.folded()).collect();
        let tasks = ids.len();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), tasks);
        prop_assert_eq!(read.reading.before.len(), tasks);
        // They start in the order of the file.
        let mut order: Vec<_> = read.reading.plan.tasks.iter().map(|task| (task.group, task.priority, task.id.clone())).collect();
        let written: Vec<_> = order.iter().map(|key| key.2.clone()).collect();
        order.sort();
        prop_assert_eq!(order.into_iter().map(|key| key.2).collect::<Vec<_>>(), written);
    }

    #[test]
    fn what_is_ticked_is_read_as_done_and_nothing_else_changes(text in lines(), picks: u16) {
        let read = reading(&alone(&text));
        let picked: BTreeMap<TaskId, Word> = read.reading.plan.tasks.iter().enumerate()
            .map(|(nth, task)| (task.id.clone(), if picks >> (nth % 16) & 1 == 1 { Word::Completed } else { Word::Pending })).collect();
        let ticked = tick(text.as_bytes(), &picked).expect("text");
        prop_assert_eq!(&ticked.missing, &[]);
        let new = String::from_utf8(ticked.bytes).expect("text");
        let again = reading(&alone(&new));
        prop_assert_eq!(read.reading.plan.hash(), again.reading.plan.hash());
        for (id, word) in &picked {
            prop_assert_eq!(again.reading.before[id].done, *word == Word::Completed, "{}: {:?} {:?}", id, text, new);
        }
        let bare = |text: &str| text.replace("[x]", "[]").replace("[ ]", "[]").replace("[-]", "[]").replace("[~]", "[]").replace("[?]", "[]");
        prop_assert_eq!(bare(&text), bare(&new));
        prop_assert_eq!(tick(new.as_bytes(), &picked).expect("text").bytes, new.into_bytes(), "ticking twice is ticking once");
    }

    #[test]
    fn any_text_is_read(text in "(?s)(- \\[ \\] |- \\[x\\]|1\\.|1\\.1 |_Requirements: |Depends on: |Status: |Checkpoint|`|```\n|<!--|-->|~~|\n|\n  |### Phase |\\PC){0,60}") {
        let read = reading(&folder(&[("requirements.md", &text), ("tasks.md", &text)]));
        told(&read);
        told_of(&read, &lint(&read));
    }
}
