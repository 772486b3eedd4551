//! What is written into the file of a task.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::KEEP;
use crate::plan::TaskId;
use crate::system::backlog::place::tasks;
use crate::system::backlog::write::OneTask;
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;

fn file() -> OneTask {
    let task = tasks(["tasks/task-1 - Keep.md"]).remove(0);
    OneTask { task, done: "Done".to_owned(), open: "To Do".to_owned() }
}

fn stand(word: Word) -> BTreeMap<TaskId, Word> {
    BTreeMap::from([(file().task.id, word)])
}

fn ticked(text: &str, word: Word) -> String {
    String::from_utf8(file().tick(text.as_bytes(), &stand(word)).expect("a task").bytes).expect("text")
}

#[test]
fn the_status_and_the_criteria_change_and_not_a_byte_else() {
    for text in [KEEP.to_owned(), KEEP.replace('\n', "\r\n"), format!("\u{feff}{}", KEEP.trim_end())] {
        let done = text.replace("\"To Do\"", "\"Done\"").replace("- [ ] #1 It", "- [x] #1 It");
        assert_eq!(ticked(&text, Word::Completed), done);
        assert_eq!(ticked(&done, Word::Completed), done);
        assert_eq!(
            ticked(&done, Word::Pending),
            text.replace("- [ ] #1 It", "- [x] #1 It"),
            "who ticked it is not known"
        );
        assert_eq!(ticked(&text, Word::InProgress), text);
    }
    let bare = |status: &str| format!("---\ntitle: A\nstatus:{status}\n---\n");
    assert_eq!(ticked(&bare(""), Word::Completed), bare(" Done"));
    assert_eq!(ticked(&bare(" 'To Do' # why"), Word::Completed), bare(" 'Done' # why"));
}

#[test]
fn a_file_without_a_status_is_left_alone() {
    let text = "---\ntitle: A\n---\n";
    assert_eq!(ticked(text, Word::Completed), text);
    assert!(file().tick(b"no fields", &stand(Word::Completed)).is_none());
}

#[test]
fn the_file_is_about_one_task() {
    assert_eq!(file().task().map(TaskId::as_str), Some("task-1"));
    assert_eq!(file().ticked(ticked(KEEP, Word::Completed).as_bytes()).len(), 1);
    assert!(file().ticked(KEEP.as_bytes()).is_empty());
    assert!(file().is_like(KEEP.as_bytes()) && !file().is_like(KEEP.replace("task-1", "task-2").as_bytes()));
}

const PIECES: &str = "(?s)(---\n|status: To Do\n|status: \"Done\"\n|status:\n|title: 'a: b'\n|updated_date: '2026-01-05 10:20'\n|dependencies: \\[a,\n|## Acceptance Criteria\n|- \\[ \\] #1 x\n|- \\[x\\] y\n|## Notes\n|<!-- AC:END -->\n|\r\n|\n| |\\PC){0,30}";

proptest! {
    #[test]
    fn whatever_the_file_holds_only_words_and_boxes_change(text in PIECES, done: bool) {
        let stand = stand(if done { Word::Completed } else { Word::Pending });
        let Some(new) = file().tick(text.as_bytes(), &stand) else { return Ok(()) };
        prop_assert!(file().holds(&new.bytes, text.as_bytes()), "{:?}", String::from_utf8_lossy(&new.bytes));
        prop_assert_eq!(file().tick(&new.bytes, &stand).map(|again| again.bytes), Some(new.bytes.clone()));
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(lines(&new.bytes), lines(text.as_bytes()));
    }
}
