//! Roadmaps and plans of GSD as its agents leave them, and what is made of each.

mod writing;

use insta::assert_snapshot;

use super::row::GSD;
use crate::system::kit::draft::testing::{self, shown};
use crate::system::{Disk, FileClaim, ReadPlan, Strength, System};

const PLACE: &str = ".planning/ROADMAP.md";

const ROADMAP: &str = "\
# Roadmap: Receipts

## Phases

- [x] **Phase 1: Keep** - receipts are kept
- [ ] **Phase 2: Find** - they are found again
- [ ] ~~**Phase 3: Share**~~ - ABANDONED

## Phase Details

### Phase 1: Keep
**Goal**: A clerk keeps receipts
**Depends on**: Nothing (first phase)
**Success Criteria** (what must be TRUE):
  1. A receipt has a day
  2. It is still there tomorrow
**Plans**: 2 plans

Plans:
- [x] 01-01-PLAN.md — Keep a receipt
- [x] 01-02-PLAN.md — Keep many

### Phase 2: Find
**Goal**: Receipts are found by shop
**Depends on**: Phase 1

Plans:
- [ ] 02-01: Search by shop
- [ ] 02-02: Show what was found
- [ ] 02-03-PLAN.md — Polish

## Progress

| Phase | Plans Complete | Status |
|---|---|---|
| 1. Keep | 1/2 | In progress |
";

const KEEP: &str = "\
---
phase: 01-keep
plan: 01
type: execute
wave: 1
depends_on: []
files_modified:
  - src/keep.rs
  - src/old.rs (DELETE)
  - src/gen/ (regenerated)
autonomous: true
must_haves:
  truths:
    - \"A receipt can be kept\"
  artifacts:
    - path: src/keep.rs
---

<objective>
Keep one receipt.

Purpose: nothing is lost.
</objective>

<execution_context>
@~/.claude/get-shit-done/workflows/execute-plan.md
</execution_context>

<context>
@.planning/PROJECT.md
</context>

<tasks>

<task type=\"auto\" tdd=\"true\">
  <name>Task 1: Write it</name>
  <files>src/keep.rs</files>
  <action>Make `fn keep<T>(receipt: &T) -> bool && more`.</action>
  <verify>
    <automated>cargo test keep &amp;&amp; cargo build</automated>
  </verify>
  <done>Receipts are kept</done>
</task>

</tasks>

<verification>
- [x] `cargo test keep` passes
</verification>

<success_criteria>
- A receipt can be kept
- It has a day
</success_criteria>

<output>
After completion, create `.planning/phases/01-keep/01-01-SUMMARY.md`
</output>
";

fn plan(fields: &str, body: &str) -> String {
    format!("---\n{fields}---\n\n<objective>\n{body}\n</objective>\n")
}

fn receipts() -> Vec<(&'static str, String)> {
    vec![
        (PLACE, ROADMAP.to_owned()),
        (".planning/PROJECT.md", "# Receipts\n".to_owned()),
        (".planning/STATE.md", "# State\n".to_owned()),
        (".planning/phases/01-keep/01-01-PLAN.md", KEEP.to_owned()),
        (".planning/phases/01-keep/01-01-SUMMARY.md", "Done.\n".to_owned()),
        (".planning/phases/01-keep/01-02-PLAN.md", plan("wave: 2\ndepends_on: [\"01\"]\n", "Keep many.")),
        (".planning/phases/02-find/02-CONTEXT.md", "Search is by shop only.\n".to_owned()),
        (".planning/phases/02-find/02-RESEARCH.md", "Long.\n".to_owned()),
        (
            ".planning/phases/02-find/02-01-PLAN.md",
            plan("wave: 1\ndepends_on: [01-keep-01, 01-09]\n", "Search."),
        ),
        (
            ".planning/phases/02-find/02-02-PLAN.md",
            plan(
                "wave: 1\ndepends_on: []\nfiles_modified: [/home/me/x/src/a.rs]\nautonomous: false\n",
                "Show.",
            ) + "<task type=\"checkpoint:human-verify\" gate=\"blocking\">\n<verify>`cargo test`</verify>\n</task>\n",
        ),
        (".planning/phases/03-share/03-01-PLAN.md", plan("wave: 1\n", "Share.")),
    ]
}

fn read(files: &[(&str, String)]) -> Box<dyn ReadPlan> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    testing::read(&GSD, &files)
}

#[test]
fn a_roadmap_becomes_a_plan() {
    assert_snapshot!(shown(read(&receipts()).reading()));
}

#[test]
fn a_prompt_has_the_plan_and_what_was_agreed_on_but_no_orders_of_gsd() {
    let found = read(&receipts());
    let prompt = |id: &str| {
        let task = found.reading().plan.tasks.iter().find(|task| task.id.as_str() == id);
        task.expect("it is there").prompt.clone()
    };
    assert_snapshot!(prompt("01-01"));
    let second = prompt("02-02");
    assert!(second.contains("Search is by shop only.") && second.contains("02-RESEARCH.md"), "{second}");
    assert!(second.contains("report that you are blocked"), "{second}");
}

#[test]
fn ticks_and_summaries_do_not_change_the_plan() {
    let before = read(&receipts());
    let mut files = receipts();
    files.push((".planning/phases/02-find/02-01-SUMMARY.md", "Done.\n".to_owned()));
    files[0].1 = files[0].1.replace("- [ ]", "- [x]");
    files[3].1 = files[3].1.replace("- [x]", "- [ ]");
    let after = read(&files);
    assert_eq!(before.reading().plan.hash(), after.reading().plan.hash());
    let done = |found: &dyn ReadPlan| found.reading().before.values().filter(|before| before.done).count();
    assert_eq!((done(&*before), done(&*after)), (1, 2));
}

#[test]
fn plans_that_are_odd_are_read_as_far_as_they_go() {
    let files = [
        (PLACE, "# Roadmap\n- [ ] 01-01: x\n".to_owned()),
        (".planning/phases/01-a/01-01-PLAN.md", "# Set it up\n\nNo fields at all.\n".to_owned()),
        (
            ".planning/phases/01-a/01-02-PLAN.md",
            "---\nwave: two\nbroken \\ line\ndepends_on: 01-01, nine\n---\n<task type=\"auto\">\n<verify><automated>MISSING — wave 0</automated>\n\
             <task type='auto'>\n<verify>\n  <automated>cd /Users/me/app && npm test</automated>\n</verify>\n"
                .to_owned(),
        ),
        (".planning/phases/01-a/01-03-PLAN.md", String::new()),
        (".planning/phases/01-a/01-04-PLAN.md", "\u{feff}---\r\nwave: 1\r\nstatus: Superseded\r\n---\r\nold\r\n".to_owned()),
    ];
    assert_snapshot!(shown(read(&files).reading()));
}

#[test]
fn a_roadmap_without_plans_is_not_run() {
    let found = read(&[(PLACE, ROADMAP.to_owned())]);
    assert!(!found.reading().is_usable());
}

/// Files by their paths.
struct Files(&'static [&'static str]);

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains(&path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let below = self.0.iter().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<String> =
            below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect();
        names.dedup();
        names
    }

    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn the_folder_is_recognised_by_its_roadmap_and_what_lies_beside_it() {
    let claim = |files: &'static [&'static str], folder: &str| GSD.claims_folder(folder, &Files(files));
    let usual: &[&str] = &["a/.planning/ROADMAP.md", "a/.planning/phases/01-x/01-01-PLAN.md"];
    let found = claim(usual, "a/.planning").expect("it is one");
    assert_eq!((found.file.as_str(), found.strength), ("ROADMAP.md", Strength::ByPlace));
    assert!(claim(&["a/.planning/ROADMAP.md", "a/.planning/STATE.md"], "a/.planning").is_some());
    assert_eq!(claim(&["a/.planning/ROADMAP.md"], "a/.planning"), None);
    assert_eq!(claim(&["docs/ROADMAP.md", "docs/STATE.md"], "docs"), None);
    let disk = Files(usual);
    assert_eq!(GSD.claims_file("ROADMAP.md", "a/.planning/ROADMAP.md", &disk), FileClaim::InItsFolder);
    assert_eq!(
        GSD.claims_file("01-01-PLAN.md", "a/.planning/phases/01-x/01-01-PLAN.md", &disk),
        FileClaim::No
    );
    let along = GSD.read_along("a/.planning/ROADMAP.md", &disk);
    assert!(along.contains(&"a/.planning/phases/01-x/01-01-PLAN.md".to_owned()), "{along:?}");
}
