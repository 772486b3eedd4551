//! What holds for every list and for whatever becomes of its file.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::plan::Graph;
use crate::system::issue::plan::Word;
use crate::system::kit::boxes::tick;

/// Lists as they might be written, with arrows above them.
fn lists() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(vec![" ", "x", "X", "-", "~", ""]);
    let line = (0..2_usize, mark, 1..9_u32, 0..8_u8, 1..9_u32);
    let arrow = (1..9_u32, 1..9_u32, prop::sample::select(vec!["→", "->", "──►", ",", "┐"]));
    let both = (prop::collection::vec(line, 0..10), prop::collection::vec(arrow, 0..4));
    both.prop_map(|(lines, arrows)| {
        let mut text = "# x - Tasks\n\n## Dependencies\n\n".to_owned();
        arrows.iter().for_each(|(from, to, sign)| text += &format!("T{from} {sign} T{to}\n"));
        text += "\n## Tasks\n\n";
        for (indent, mark, id, kind, other) in lines {
            let end = if kind == 3 { "\r\n" } else { "\n" };
            let name = if kind == 0 { String::new() } else { format!("**T{id}**: ") };
            let comment = if kind == 1 { " <!-- DONE: 2 iterations -->" } else { "" };
            let field = match kind {
                2 => format!("  - Depends: T{other}\n"),
                4 => "  - Criteria:\n    - [ ] 1. one\n".to_owned(),
                5 => format!("  - Max iterations: {other}\n  - Output: `out/{other}.md`\n"),
                _ => String::new(),
            };
            text += &format!("{}- [{mark}] {name}name {id}{comment}{end}{field}", "  ".repeat(indent));
        }
        text
    })
}

proptest! {
    #[test]
    fn ids_are_unique_and_what_is_usable_can_be_run(text in lists()) {
        let read = reading(&alone(&text));
        told(&read);
        let plan = &read.reading.plan;
        let mut ids: Vec<String> = plan.tasks.iter().map(|task| task.id.folded()).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), count);
        prop_assert_eq!(read.reading.before.len() + 1, count);
        prop_assert_eq!(read.about.units.len() + 1, count);
        if read.reading.is_usable() {
            prop_assert!(count > 1 && Graph::new(&plan.tasks).is_ok());
        }
        let review = plan.tasks.last().expect("a review");
        prop_assert_eq!(review.depends_on.len() + 1, count, "it waits for every unit");
        for task in units(&read) {
            prop_assert!(task.confirm && task.attempts > 0 && !task.checks.is_empty());
        }
    }

    #[test]
    fn what_is_ticked_is_read_as_done_and_nothing_else_changes(text in lists(), picks: u16) {
        let read = reading(&alone(&text));
        let picked: BTreeMap<TaskId, Word> = units(&read).iter().enumerate()
            .map(|(nth, task)| (task.id.clone(), if picks >> (nth % 16) & 1 == 1 { Word::Completed } else { Word::Pending })).collect();
        let ticked = tick(text.as_bytes(), &picked).expect("text");
        prop_assert_eq!(&ticked.missing, &[]);
        let new = String::from_utf8(ticked.bytes).expect("text");
        let again = reading(&alone(&new));
        prop_assert_eq!(read.reading.plan.hash(), again.reading.plan.hash());
        for (id, word) in &picked {
            prop_assert_eq!(again.reading.before[id].done, *word == Word::Completed, "{}: {:?} {:?}", id, text, new);
        }
        let bare = |text: &str| ["[x]", "[X]", "[ ]", "[-]", "[~]"].iter().fold(text.to_owned(), |text, mark| text.replace(mark, "[]"));
        prop_assert_eq!(bare(&text), bare(&new));
    }

    #[test]
    fn any_text_is_read(text in "(?s)(- \\[ \\] |- \\[x\\]|\\*\\*T1\\*\\*: |T2|## Dependencies\n|## Tasks\n|→|->|──|┐|┘|├|│|▼|↗|  - Criteria:|  - Depends: |  - Max iterations: |\\{title\\}|`|```\n|<!--|-->|~~|\n|\n  |\\PC){0,60}") {
        told(&reading(&folder(&[("brief.md", &text), ("tasks.md", &text)])));
        told(&reading(&folder(&[("brief.md", "**Mode:** knowledge\n"), ("plan.md", &text)])));
    }
}
