//! Files of Ralph loops as agents leave them, and what is made of each.

mod odd;
mod properties;
mod writing;

use crate::system::kit::draft::testing::{self, shown};
use crate::system::ralph::RALPH;
use crate::system::{Disk, FileClaim, ReadPlan, Strength, System};

pub(super) const PLACE: &str = "scripts/ralph/prd.json";

/// The way the loop's own skill writes it.
pub(super) const RECEIPTS: &str = r#"{
  "project": "Receipts",
  "branchName": "ralph/keep-receipts",
  "description": "Keep receipts and find them again",
  "userStories": [
    {
      "id": "US-001",
      "title": "Keep a receipt",
      "description": "As a clerk, I want to keep a receipt so that I find it again.",
      "acceptanceCriteria": [
        "A receipt has a day, a shop and an amount",
        "`npm run typecheck` passes",
        "Typecheck passes"
      ],
      "priority": 1,
      "passes": true,
      "notes": ""
    },
    {
      "id": "US-003",
      "title": "Show receipts",
      "description": "As a clerk, I want a page.",
      "acceptanceCriteria": ["The page lists receipts", "Verify in browser using dev-browser skill"],
      "priority": 3,
      "passes": false,
      "notes": "Use the table component."
    },
    {
      "id": "US-002",
      "title": "Find a receipt",
      "description": "As a clerk, I want to search.",
      "acceptanceCriteria": ["By shop"],
      "priority": 2,
      "passes": false,
      "notes": ""
    }
  ]
}
"#;

pub(super) fn read(text: &str) -> Box<dyn ReadPlan> {
    testing::read(&RALPH, &[(PLACE, text)])
}

pub(super) fn with_stories(stories: &str) -> String {
    format!("{{\"userStories\":[{stories}]}}")
}

fn seen(text: &str) -> String {
    shown(read(text).reading())
}

#[test]
fn stories_go_by_their_priority_and_each_builds_on_those_before_it() {
    insta::assert_snapshot!(seen(RECEIPTS), @r#"
    group 1-receipts: Receipts
    US-001 "Keep a receipt" done priority 1 checks npm run typecheck, true so that "A receipt has a day, a shop and an amount", "`npm run typecheck` passes", "Typecheck passes"
    US-002 "Find a receipt" after US-001 priority 2 so that "By shop"
    US-003 "Show receipts" after US-002 priority 3 so that "The page lists receipts", "A person looks at this: Verify in browser using dev-browser skill"
    scripts/ralph/prd.json:23:57: warning: a criterion asks a person to look at the result (no check does that)
    "#);
    let reading = read(RECEIPTS);
    assert_eq!(reading.branch().as_deref(), Some("ralph/keep-receipts"));
    assert_eq!(reading.reading().plan.name, "Receipts");
}

#[test]
fn stories_that_name_what_they_wait_for_wait_for_nothing_else() {
    let text = with_stories(
        r#"{"id":"A 1","title":"One","passes":false,"priority":3,"files":["a.ts"]},
{"id":"B","title":"Two","passes":false,"priority":2,"dependsOn":["a 1","gone"],"files":["b.ts"]},
{"id":"C","title":"Three","passes":false,"priority":1,"dependencies":[],"files":["b.ts"]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-prd: prd
    C "Three" in b.ts priority 1
    B "Two" after C, A-1 in b.ts priority 2
    A-1 "One" in a.ts priority 3
    scripts/ralph/prd.json:2:19: warning: 1 task may run beside others that name the same file (they run one after the other; this is the first)
    scripts/ralph/prd.json:2:72: warning: there is no task `gone` (not waited for)
    "#);
}

#[test]
fn an_agent_gets_the_story_what_all_of_it_is_for_and_what_was_learned() {
    let files = [(PLACE, RECEIPTS), ("scripts/ralph/progress.txt", "## Codebase Patterns\n")];
    let reading = testing::read(&RALPH, &files);
    let task =
        reading.reading().plan.tasks.iter().find(|task| task.id.as_str() == "US-003").expect("it is there");
    insta::assert_snapshot!(task.prompt, @r"
    Show receipts

    As a clerk, I want a page.

    Use the table component.

    What all of it is for:
    Keep receipts and find them again

    Read first, as far as it concerns this task:
    - scripts/ralph/progress.txt

    This is task US-003 of scripts/ralph/prd.json. Do only this task, and do not change that file: Piton does when the task is completed.
    ");
}

#[test]
fn criteria_may_have_commands_of_their_own() {
    let text = with_stories(
        r#"{"id":"US-1","title":"One","passes":false,"acceptanceCriteria":[
{"id":"AC-1","text":"It is there","testCommand":"test -f one.txt","passes":true,"lastRun":null},
{"id":"AC-2","text":"It works","testCommand":"bin/rails test"},
{"id":"AC-3","testCommand":"rm -rf .git"},
{"id":"AC-4"},
7, true]},
{"id":"US-2","title":"Two","passes":false,"acceptanceCriteria":"Only one"}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-prd: prd
    US-1 "One" checks test -f one.txt, sh -c 'bin/rails test', true so that "It is there", "It works", "7"
    US-2 "Two" after US-1 so that "Only one"
    scripts/ralph/prd.json:4:1: warning: `rm -rf .git` would remove the repository (not run)
    scripts/ralph/prd.json:5:1: warning: this criterion has no text (left out)
    scripts/ralph/prd.json:6:4: warning: a criterion must be text, not true or false (left out)
    "#);
}

/// A project as far as the claims look.
struct Files(Vec<(&'static str, &'static str)>);

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        self.read(path).is_some()
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_file_is_known_by_its_shape_and_a_product_document_is_not_one() {
    let disk = Files(vec![
        ("prd.json", RECEIPTS),
        ("tasks/prd-print.json", r#"{"stories":[{"title":"One","passes":false}]}"#),
        ("doc/prd.json", r#"{"title":"A product","goals":[],"userStories":["As a clerk …"]}"#),
        (
            "list/prd.json",
            r#"[{"category":"ui","description":"One","steps":["Click"],"started":false,"complete":false}]"#,
        ),
        ("one/prd.json", r#"{"userStories":[{"id":"1","acceptanceCriteria":[]}]}"#),
        ("broken/prd.json", "{\"userStories\":["),
    ]);
    let claims = |path: &str| RALPH.claims_file(path.rsplit('/').next().expect("a name"), path, &disk);
    assert_eq!(claims("prd.json"), FileClaim::Yes);
    assert_eq!(claims("tasks/prd-print.json"), FileClaim::Yes);
    assert_eq!(claims("list/prd.json"), FileClaim::Yes);
    assert_eq!(claims("one/prd.json"), FileClaim::Yes);
    assert_ne!(claims("doc/prd.json"), FileClaim::Yes);
    assert_ne!(claims("broken/prd.json"), FileClaim::Yes);
    assert_eq!(RALPH.claims_file("stories.json", "prd.json", &disk), FileClaim::No);
    assert_eq!(RALPH.claims_folder("list", &disk).map(|claim| claim.strength), Some(Strength::Fallback));
    assert_eq!(RALPH.claims_folder("doc", &disk), None);
}
