//! Stories of version 4, which have no board.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::plan::TaskId;
use crate::system::bmad::one_story::OneStory;
use crate::system::bmad::v4::STORIES;
use crate::system::kit::draft::testing::shown;
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;
use crate::system::{Disk, FileClaim, Folder, Given, ReadPlan, System, config};

const FIND: &str = "\
# Story 1.2: Find a receipt

## Status

Approved

## Story

**As a** clerk, **I want** to find receipts.

## Acceptance Criteria

1. By shop

## Tasks / Subtasks

- [ ] Task 1: Search in `src/find.rs` (AC: 1)
  - [x] Write the test

## Dev Notes

Use an index.

## Dev Agent Record

- [ ] not a step
";

fn story(number: &str, status: &str) -> String {
    FIND.replace("1.2", number).replace("Approved", status)
}

fn stories() -> Vec<(&'static str, String)> {
    vec![
        ("1.2.find.md", FIND.to_owned()),
        ("1.1.keep.md", story("1.1", "Done")),
        ("1.10.show.md", story("1.10", "Draft")),
        ("2.1.share.md", story("2.1", "Ready for Review")),
        ("2.2.print.md", story("2.2", "InProgress")),
        ("2.3.odd.md", story("2.3", "Who knows")),
        ("story-3.1.md", story("3.1", "**Approved**")),
        ("3.2-none.md", "# Notes\n\nOf a meeting.\n".to_owned()),
    ]
}

fn read(files: &[(&str, String)]) -> Box<dyn ReadPlan> {
    let config = config::read_config("[defaults]\nchecks = [\"true\"]\n").0;
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    STORIES.read(&Folder { files }, &Given::new("stories", "docs/stories", &config))
}

#[test]
fn each_story_is_a_task_in_the_order_of_the_numbers() {
    assert_snapshot!(shown(read(&stories()).reading()), @r#"
    group 1-epic-1: Epic 1
    group 2-epic-2: Epic 2
    group 3-epic-3: Epic 3
    1.1 "Find a receipt" done in src/find.rs so that "By shop"
    1.2 "Find a receipt" after 1.1 in src/find.rs so that "By shop"
    1.10 "Find a receipt" by a person in src/find.rs so that "By shop"
    2.1 "Find a receipt" done after 1.2 in src/find.rs so that "By shop"
    2.2 "Find a receipt" by a person in src/find.rs so that "By shop"
    2.3 "Find a receipt" by a person in src/find.rs so that "By shop"
    3.1 "Find a receipt" after 2.1 in src/find.rs so that "By shop"
    3.2 "Notes" by a person
    1.10.show.md:1:3: warning: 1 story is a draft (left to a person)
    2.3.odd.md:5:1: warning: `Who knows` is not a status of BMAD (Piton does not take this story)
    3.2-none.md:1:3: warning: this story has no status (Piton does not take it)
    "#);
}

#[test]
fn a_prompt_has_the_story_without_its_status_and_its_record() {
    let found = read(&stories());
    assert_snapshot!(found.reading().plan.tasks[1].prompt, @r"
    Find a receipt

    # Story 1.2: Find a receipt

    ## Status

    ## Story

    **As a** clerk, **I want** to find receipts.

    ## Acceptance Criteria

    1. By shop

    ## Tasks / Subtasks

    - [ ] Task 1: Search in `src/find.rs` (AC: 1)
      - [ ] Write the test

    ## Dev Notes

    Use an index.

    This is task 1.2 of 1.2.find.md. Do only this story. Leave its file as it is: Piton writes how far it is.
    ");
}

#[test]
fn statuses_and_boxes_do_not_change_the_plan() {
    let mut files = stories();
    let before = read(&files);
    files[0].1 = FIND.replace("Approved", "Review").replace("- [ ] Task", "- [x] Task");
    let after = read(&files);
    assert_eq!(before.reading().plan.hash(), after.reading().plan.hash());
    assert!(after.reading().before[&TaskId::new("1.2").expect("an id")].done);
}

/// Files of one folder.
struct Stored(Vec<(&'static str, String)>);

impl Disk for Stored {
    fn is_file(&self, path: &str) -> bool {
        self.read(path).is_some()
    }

    fn names(&self, _: &str) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let name = path.rsplit('/').next()?;
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_folder_is_known_by_a_story_with_a_status_and_no_board() {
    let claims =
        |files: Vec<(&'static str, String)>| STORIES.claims_folder("docs/stories", &Stored(files)).is_some();
    assert!(claims(stories()));
    assert!(!claims(vec![("3.2-none.md", "# Notes\n".to_owned())]));
    assert!(!claims(vec![("notes.md", FIND.to_owned())]));
    assert!(!claims(vec![("1.2.find.md", FIND.to_owned()), ("sprint-status.yaml", String::new())]));
    let disk = Stored(stories());
    assert_eq!(STORIES.claims_file("1.2.find.md", "docs/stories/1.2.find.md", &disk), FileClaim::InItsFolder);
    for name in ["1.2find.md", "notes-1.2.md", "1.md", "1.2.find.txt", "v1.2.md"] {
        assert!(!STORIES.is_part(name), "{name}");
    }
}

#[test]
fn the_status_and_the_boxes_change_and_no_other_byte() {
    let companions =
        STORIES.companions_below(b"", &|_| vec!["1.2.find.md".to_owned(), "readme.md".to_owned()]);
    let [story] = &companions[..] else { panic!("one story") };
    assert_eq!(story.name(), Some("1.2.find.md"));
    let text = FIND.replace('\n', "\r\n");
    let done = text.replace("Approved", "Review").replace("- [ ] Task", "- [x] Task");
    assert_eq!(
        story.opened(done.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text")),
        Some(done.replace("Review", "Approved"))
    );
    assert_eq!(story.opened(text.as_bytes()), None, "it is open");
    assert!(story.holds(done.as_bytes(), text.as_bytes()));
    assert!(!story.holds(done.as_bytes(), text.replace("By shop", "By day").as_bytes()));
    assert!(story.holds(text.as_bytes(), text.replace("Approved", "Done").as_bytes()), "any status");
    let stand = BTreeMap::from([(TaskId::new("1.2").expect("an id"), Word::Completed)]);
    let id = TaskId::new("1.2").expect("an id");
    let story = OneStory { id, name: "1.2.find.md".to_owned(), open: "Approved" };
    let ticked = story.tick(text.as_bytes(), &stand).expect("text");
    assert_eq!((String::from_utf8(ticked.bytes).expect("text"), ticked.missing), (done, Vec::new()));
    let none = story.tick(b"# Story 1.2\n", &stand).expect("text");
    assert_eq!((none.bytes, none.missing.len()), (b"# Story 1.2\n".to_vec(), 1), "it has no status");
}
