//! Lists of stories of a spec, whose files say how far they are.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::plan::TaskId;
use crate::system::bmad::one_story::OneStory;
use crate::system::bmad::specs::SPECS;
use crate::system::kit::draft::testing::{self, shown};
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;
use crate::system::{Disk, FileClaim, Folder, Given, ReadPlan, System, config};

const PLACE: &str = "_bmad-output/specs/spec-receipts/stories.yaml";

const LIST: &str = "\
# Stories run top to bottom.

- id: \"1\"
  title: Keep receipts
  description: Keep them, see CAP-1.
  done_checkpoint: false
- id: '2'
  title: \"Find: a receipt\"
  description: >-
    Search them by shop.
    See CAP-2.

    Not by day.
  done_checkpoint: true
  invoke_dev_with: |
    Use an index.
      - of shops
- id: 3-1
  title: Share
    receipts
  description: Send them.  # by mail
  spec_checkpoint: true
  done_checkpoint: true
- id: \"3-2\"
  description: Print them.
  title: Print receipts
  depends_on: [\"1\"]
- id: \"4\"
  title: Count receipts
  description:
- id: \"5\"
  title: Sort receipts
  description: Sort them.
- id: \"6\"
  title: Sum receipts
  description: Sum them up.
- id: \"7\"
  title: Throw receipts away
  description: Not now.
";

const FIND: &str = "\
---
title: 'Find a receipt'
status: 'ready-for-dev' # draft | ready-for-dev | done
context: ['{project-root}/docs/finding.md']
---

<intent-contract>

## Intent

**Problem:** Nobody finds a receipt.

</intent-contract>

## Tasks & Acceptance

**Execution:**
- [ ] `src/find.rs` -- search -- CAP-2

## Review Triage Log

- [ ] looked at

## Verification

**Commands:**
- `cargo test find` -- expected: all pass

## Auto Run Result

Status: done
";

fn story(status: &str) -> String {
    FIND.replace("ready-for-dev'", &format!("{status}'"))
}

fn path(name: &str) -> String {
    format!("_bmad-output/specs/spec-receipts/{name}")
}

fn receipts() -> Vec<(String, String)> {
    let spec = "---\ncompanions: [words.md, ../../../docs/gone.md]\n---\n# Receipts\n";
    [
        (PLACE.to_owned(), LIST.to_owned()),
        (path("SPEC.md"), spec.to_owned()),
        (path("words.md"), "Words\n".to_owned()),
        (path("stories/1-keep.md"), story("done")),
        (path("stories/2-find.md"), FIND.to_owned()),
        (path("stories/5-sort.md"), story("blocked")),
        (path("stories/6-sum.md"), story("draft").replace("find.rs", "sum.rs")),
        (path("stories/7-throw.md"), story("cancelled")),
        (path("stories/8-nothing.md"), story("done")),
        ("_bmad-output/project-context.md".to_owned(), "Context\n".to_owned()),
    ]
    .to_vec()
}

fn read(files: &[(String, String)]) -> Box<dyn ReadPlan> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    testing::read(&SPECS, &files)
}

/// A list alone.
fn listed(text: &str) -> Box<dyn ReadPlan> {
    read(&[(PLACE.to_owned(), text.to_owned())])
}

fn prompt(found: &dyn ReadPlan, id: &str) -> String {
    let task = found.reading().plan.tasks.iter().find(|task| task.id.as_str() == id);
    task.expect("it is there").prompt.clone()
}

#[test]
fn a_list_becomes_a_plan_in_which_people_look_where_it_asks_for_them() {
    assert_snapshot!(shown(read(&receipts()).reading()));
}

#[test]
fn a_prompt_has_the_file_of_a_story_or_what_the_list_says() {
    let found = read(&receipts());
    assert_snapshot!(prompt(&*found, "2"), @r"
    Find: a receipt

    <intent-contract>

    ## Intent

    **Problem:** Nobody finds a receipt.

    </intent-contract>

    ## Tasks & Acceptance

    **Execution:**
    - [ ] `src/find.rs` -- search -- CAP-2

    ## Verification

    **Commands:**
    - `cargo test find` -- expected: all pass

    The planner's instructions for this story:
    Use an index.
      - of shops

    The story says that these files matter:
    - docs/finding.md

    Read first, as far as it concerns this task:
    - _bmad-output/specs/spec-receipts/SPEC.md
    - _bmad-output/specs/spec-receipts/words.md
    - _bmad-output/project-context.md

    This is task 2 of _bmad-output/specs/spec-receipts/stories/2-find.md. Do only this story. Leave its file and the list of the stories as they are: Piton writes how far it is.
    ");
    assert_snapshot!(prompt(&*listed(LIST), "2"), @r"
    Find: a receipt

    Search them by shop. See CAP-2.

    Not by day.

    The planner's instructions for this story:
    Use an index.
      - of shops

    This is task 2 of _bmad-output/specs/spec-receipts/stories.yaml. Do only this story. Leave its file and the list of the stories as they are: Piton writes how far it is.
    ");
    assert_snapshot!(prompt(&*found, "3-1.spec"), @r"
    Look at the plan of: Share receipts

    A person looks at the plan of this story before an agent implements it (`spec_checkpoint`).

    Read first, as far as it concerns this task:
    - _bmad-output/specs/spec-receipts/SPEC.md
    - _bmad-output/specs/spec-receipts/words.md
    - _bmad-output/project-context.md

    This is task 3-1.spec of _bmad-output/specs/spec-receipts/stories.yaml. Do only this story. Leave its file and the list of the stories as they are: Piton writes how far it is.
    ");
}

#[test]
fn statuses_and_boxes_do_not_change_the_plan() {
    let mut files = receipts();
    let before = read(&files);
    files[4].1 =
        story("in-review").replace("- [ ] `src", "- [x] `src").replace("Status: done", "Status: else");
    let after = read(&files);
    assert_eq!(before.reading().plan.hash(), after.reading().plan.hash());
    let done = |id: &str| after.reading().before[&TaskId::new(id).expect("an id")].done;
    assert!(done("2") && !done("2.done"), "a review is not the look of a person");
    files[4].1 = story("done");
    assert!(read(&files).reading().before[&TaskId::new("2.done").expect("an id")].done);
    files[4].1 = story("in-progress");
    assert!(!read(&files).reading().before[&TaskId::new("2").expect("an id")].done);
}

#[test]
fn stories_wait_for_those_that_are_left_to_a_person() {
    let needs = |order: &str| {
        let config = config::read_config(&format!("[defaults]\nchecks = [\"true\"]\n{order}")).0;
        let files = receipts().into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
        let found = SPECS.read(&Folder { files }, &Given::new("stories.yaml", PLACE, &config));
        let task = found.reading().plan.tasks.iter().find(|task| task.id.as_str() == "6").cloned();
        task.expect("it is there").depends_on.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(needs(""), ["5"], "the story before it is blocked");
    assert_eq!(needs("[policy]\norder = \"free\"\n"), [""; 0]);
}

const ODD: &str = "\
---
  -
    id: 1
    title: 'It''s one'
    description: |
      - a
      # b
    status: done
    priority: high
    files: [a.rs]
    depends_on:
    - 2

# A comment
  - title: Two
    description: x
    nonsense
  - id: 1-2
    title: Three
    description: y
    spec_checkpoint: maybe
  - id: 1
    title: Four
    description: z
  - description: nobody
 odd
";

#[test]
fn lists_as_agents_write_them_are_read_as_far_as_they_go() {
    assert_snapshot!(shown(listed(ODD).reading()));
    for text in
        ["", "[]\n", "stories:\n  - id: 1\n    title: A\n", "- a\n- b\n", "- id: 1\n", "\u{feff}- x\n"]
    {
        assert!(!listed(text).reading().is_usable(), "{text:?}");
    }
}

#[test]
fn a_story_with_two_files_is_left_to_a_person() {
    let mut files = receipts();
    files.push((path("stories/2-again.md"), FIND.to_owned()));
    let told = shown(read(&files).reading());
    assert!(told.contains("2 \"Find: a receipt\" by a person"), "{told}");
    assert!(told.contains("2 files could be that of story 2"), "{told}");
}

/// Files by their paths.
struct Stored(Vec<(String, String)>);

impl Disk for Stored {
    fn is_file(&self, path: &str) -> bool {
        self.0.iter().any(|(known, _)| known == path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = format!("{folder}/");
        let below = self.0.iter().filter_map(|(name, _)| name.strip_prefix(&inside));
        below.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_list_is_recognised_by_its_fields_or_by_the_spec_beside_it() {
    let disk = |list: &str, beside: &str| {
        Stored(vec![(PLACE.to_owned(), list.to_owned()), (path(beside), String::new())])
    };
    let claims = |disk: &Stored| SPECS.claims_folder("_bmad-output/specs/spec-receipts", disk).is_some();
    let plain = "- id: 1\n  title: A\n  description: x\n";
    assert!(claims(&disk(LIST, "README.md")) && claims(&disk(plain, "SPEC.md")));
    assert!(!claims(&disk(plain, "README.md")) && !claims(&disk("- a\n", "SPEC.md")));
    assert_eq!(SPECS.claims_file("stories.yaml", PLACE, &disk(LIST, "SPEC.md")), FileClaim::Yes);
    assert_eq!(SPECS.claims_file("stories.yaml", PLACE, &disk(plain, "README.md")), FileClaim::No);
    let along = SPECS.read_along(PLACE, &Stored(receipts()));
    for name in ["SPEC.md", "words.md", "stories/2-find.md", "../../project-context.md"] {
        let path = path(name).replace("specs/spec-receipts/../../", "");
        assert!(along.contains(&path), "{path} in {along:?}");
    }
    assert_eq!(SPECS.read_along("plan.toml", &Stored(receipts())), [""; 0]);
}

#[test]
fn the_status_of_a_story_is_written_into_its_own_file_and_no_other_byte() {
    let names = ["1-keep.md", "2-find.md", "3-1-share.md", "3-2-a.md", "3-2-b.md", "8-x.md", "notes.txt"];
    let companions = SPECS.companions_below(LIST.as_bytes(), &|folder| {
        if folder == "stories" { names.map(str::to_owned).to_vec() } else { Vec::new() }
    });
    let known: Vec<Option<&str>> = companions.iter().map(|companion| companion.name()).collect();
    assert_eq!(known, [Some("stories/1-keep.md"), Some("stories/2-find.md"), Some("stories/3-1-share.md")]);
    let text = FIND.replace('\n', "\r\n");
    let done = text.replace("'ready-for-dev'", "'in-review'").replace("- [ ] `src", "- [x] `src");
    let id = TaskId::new("2").expect("an id");
    let story = OneStory { id: id.clone(), name: "stories/2-find.md".to_owned(), open: "ready-for-dev" };
    let ticked = |text: &str, word| {
        let ticked = story.tick(text.as_bytes(), &BTreeMap::from([(id.clone(), word)])).expect("text");
        String::from_utf8(ticked.bytes).expect("text")
    };
    assert_eq!(ticked(&text, Word::Completed), done);
    assert_eq!(ticked(&done, Word::Completed), done);
    assert_eq!(ticked(&done, Word::Pending), done.replace("'in-review'", "'ready-for-dev'"));
    for status in ["draft", "blocked", "in-progress"] {
        let text = text.replace("'ready-for-dev'", status);
        assert_eq!(ticked(&text, Word::InProgress), text, "{status}");
    }
    let kept = text.replace("'ready-for-dev'", "done");
    assert_eq!(ticked(&kept, Word::Completed), kept.clone(), "done is more than review");
}
