use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::read::draft;
use super::row::{LIST, TODO};
use crate::plan::{Plan, RepoPath, TaskId};
use crate::system::config::Config;
use crate::system::finding::{Claim, of_file};
use crate::system::kit::checklist;
use crate::system::kit::outline::Word;
use crate::system::state_files::Companion;
use crate::system::{Disk, FileClaim, Folder, Given, Strength, System};

/// Files by their paths. Folders are where files are.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl Files {
    fn of(files: &[(&str, &str)]) -> Files {
        Files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }
}

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = |path: &String| {
            let rest = if folder.is_empty() { path } else { path.strip_prefix(folder)?.strip_prefix('/')? };
            rest.split('/').next().map(str::to_owned)
        };
        let mut names: Vec<String> = self.0.keys().filter_map(inside).collect();
        names.dedup();
        names
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

fn read(text: &str) -> Box<dyn crate::system::ReadPlan> {
    let folder = Folder { files: [("TODO.md".to_owned(), text.as_bytes().to_vec())].into() };
    TODO.read(&folder, &Given::new("TODO.md", "TODO.md", &Config::default()))
}

/// Every task in a line: its group, its id, what it waits for, who does it, and its title.
fn shown(text: &str) -> String {
    let read = read(text);
    let reading = read.reading();
    let Plan { groups, tasks, .. } = &reading.plan;
    let mut out = String::new();
    for spec in tasks {
        let done = if reading.before[&spec.id].done { "x" } else { " " };
        let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
        let by = if spec.by_person { " (person)" } else { "" };
        let files: Vec<&str> = spec.files.iter().map(RepoPath::as_str).collect();
        let files = if files.is_empty() { String::new() } else { format!(" {{{}}}", files.join(" ")) };
        let group = &groups[spec.group as usize].title;
        writeln!(out, "[{done}] {group} | {} ← {} | {}{by}{files}", spec.id, needs.join(","), spec.title)
            .expect("text");
    }
    for problem in &reading.problems {
        let diagnostic = &problem.diagnostic;
        let line = crate::diagnostic::place(text, diagnostic.span.start).0;
        writeln!(out, "{:?} {line}: {}: {}", diagnostic.severity, diagnostic.message, diagnostic.label)
            .expect("text");
    }
    out
}

const LONG: &str = "# Shop

Rules for all of it.

## 🔴 Critical
- [x] **Cart**: keep items - in `src/cart.ts`
  - [x] model
  - [X] test
* [ ] API-2: Checkout (depends on T7)
\tDetails of it.
\t- [ ] step one
\t- [ ]* maybe

## Later work
1. [ ] T7: Pay with card in src/pay.ts:12
2. [-] Refunds
3. [ ] ~~Coupons~~

### Acceptance Criteria
- [ ] Money is never lost

## Ideas
- [ ] Drones
";

#[test]
fn a_list_is_a_plan_of_its_outermost_boxes() {
    insta::assert_snapshot!(shown(LONG));
}

#[test]
fn a_prompt_has_the_steps_and_what_is_around_them() {
    let read = read(LONG);
    let tasks = &read.reading().plan.tasks;
    insta::assert_snapshot!(tasks[1].prompt);
    assert_eq!(
        tasks.iter().find(|task| task.id.as_str() == "refunds").expect("there").criteria,
        ["Money is never lost"]
    );
}

#[test]
fn lists_of_every_habit_are_read() {
    insta::assert_snapshot!(shown(
        "- [ ] one\n\n- [ ] one\n+ [x] Run `npm test`\n- [ ] Commit changes\n* plain\n"
    ));
    insta::assert_snapshot!(shown(
        "\u{feff}# A\r\n- [ ] a\r\n   - [ ] b\r\n- [] c\r\n```\r\n- [ ] code\r\n```\r\n"
    ));
    insta::assert_snapshot!(shown("# 待办\n- [ ] 写测试\n- [x] 写文档\n"));
    insta::assert_snapshot!(shown("# Nothing here\n\n| a | [ ] |\n"));
    insta::assert_snapshot!(shown("## Verification\n- [ ] all green\n"));
    insta::assert_snapshot!(shown(
        "## A\n- [ ] 1. First\n- [ ] 2. Second (after #1)\n## B\n- [ ] 1. Third, blocked by the bank\n"
    ));
}

#[test]
fn which_files_are_lists() {
    let boxes = "- [ ] a\n";
    let disk = Files::of(&[
        (".git/HEAD", ""),
        ("TODO.md", boxes),
        ("todo.md", "no boxes [x](y)\n"),
        ("notes/work.md", boxes),
        ("docs/PLAN.md", boxes),
        (".specify/templates/tasks-template.md", boxes),
        ("plans/1-1-shop-todolist.md", boxes),
        ("plans/00-master-todolist.md", boxes),
        ("plans/x/tasks.md", boxes),
        ("work.txt", boxes),
    ]);
    let claim = |path: &str| TODO.claims_file(path.rsplit('/').next().unwrap_or(path), path, &disk);
    assert_eq!(claim("TODO.md"), FileClaim::Yes);
    assert_eq!(claim("docs/PLAN.md"), FileClaim::Yes);
    assert_eq!(claim("notes/work.md"), FileClaim::LastResort);
    assert_eq!(claim("todo.md"), FileClaim::No);
    assert_eq!(claim(".specify/templates/tasks-template.md"), FileClaim::No);
    assert_eq!(claim("work.txt"), FileClaim::No);
    assert_eq!(TODO.claims_folder("", &disk), Some(Claim::new("TODO.md", Strength::Fallback)));
    assert_eq!(TODO.claims_folder("notes", &disk), None);
    for (path, system) in [
        ("TODO.md", "todo"),
        ("notes/work.md", "todo"),
        ("plans/1-1-shop-todolist.md", "rwkit"),
        ("plans/00-master-todolist.md", "native"),
        ("plans/x/tasks.md", "issue"),
        ("work.txt", "native"),
    ] {
        assert_eq!(of_file(path, &disk).name(), system, "{path}");
    }
}

fn all(text: &str, word: Word) -> BTreeMap<TaskId, Word> {
    let text = crate::system::kit::text::decode(text.as_bytes()).text;
    draft(&text, "").ids().into_iter().map(|id| (id, word)).collect()
}

fn ticked(text: &str) -> Vec<String> {
    (LIST.ticked)(text.as_bytes())
        .iter()
        .filter(|(_, against)| against.is_none())
        .map(|(id, _)| id.to_string())
        .collect()
}

#[test]
fn the_marks_change_and_nothing_else() {
    let text = "\u{feff}# A  \r\n- [ ] one\t\r\n  - [ ] step\r\n* [] two\r\n- [-] three\r\n- [X] four";
    let one = [(TaskId::new("one").expect("an id"), Word::Completed)].into();
    let new = (LIST.tick)(text.as_bytes(), &one).expect("a text").bytes;
    let expected = text.replace("- [ ] one", "- [X] one").replace("- [ ] step", "- [X] step");
    assert_eq!(String::from_utf8(new).expect("UTF-8"), expected);
    let new = (LIST.tick)(text.as_bytes(), &all(text, Word::Completed)).expect("a text").bytes;
    let whole = "\u{feff}# A  \r\n- [X] one\t\r\n  - [X] step\r\n* [X] two\r\n- [X] three\r\n- [X] four";
    assert_eq!(String::from_utf8(new).expect("UTF-8"), whole);
    // An open task keeps a mark that says more, and its steps.
    let opened = LIST.opened(whole.as_bytes()).expect("ticks");
    let open = whole.replace("[X]", "[ ]").replace("  - [ ] step", "  - [X] step");
    assert_eq!(String::from_utf8(opened).expect("UTF-8"), open);
    assert_eq!(
        (LIST.tick)(text.as_bytes(), &all(text, Word::Pending)).map(|new| new.missing),
        Some(Vec::new())
    );
}

#[test]
fn a_ticked_task_with_an_open_step_is_open() {
    let text = "- [x] a\n  - [ ] step\n- [x] b\n  - [ ]* maybe\n";
    assert_eq!(ticked(text), ["b"]);
    assert_eq!((LIST.ticked)(text.as_bytes()).len(), 2);
}

/// Lines of lists as people write them.
fn line() -> impl Strategy<Value = String> {
    let text = prop_oneof!["[a-c]{1,3}", "T00[1-4] [a-b]", "[1-3]\\. [a-b]", "写[a-b]", "Run `npm test`"];
    let lead = prop_oneof![Just("- "), Just("* "), Just("  - "), Just("\t- "), Just("1. ")];
    let mark = prop_oneof![
        Just("[ ]"),
        Just("[x]"),
        Just("[X]"),
        Just("[]"),
        Just("[-]"),
        Just("[~]"),
        Just("[ ]*")
    ];
    let item = (lead, mark, text, prop_oneof![Just(""), Just("  "), Just(" ✅")])
        .prop_map(|(lead, mark, text, tail)| format!("{lead}{mark} {text}{tail}"));
    let other = prop_oneof![
        Just("## Part".to_owned()),
        Just("# Acceptance Criteria".to_owned()),
        Just("### Ideas".to_owned()),
        Just(String::new()),
        Just("  more words".to_owned()),
        Just("```".to_owned()),
        Just("| a | [ ] T001 |".to_owned()),
        Just("<!-- - [ ] T001 -->".to_owned()),
    ];
    prop_oneof![3 => item, 1 => other]
}

fn list() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (prop::collection::vec(line(), 0..20), end, any::<bool>(), any::<bool>()).prop_map(
        |(lines, end, bom, last)| {
            let last = if last { end } else { "" };
            format!("{}{}{last}", if bom { "\u{feff}" } else { "" }, lines.join(end))
        },
    )
}

proptest! {
    #[test]
    fn ticking_a_task_changes_its_marks_and_no_other_task(text in list(), nth in any::<prop::sample::Index>()) {
        let decoded = crate::system::kit::text::decode(text.as_bytes()).text;
        let ids = draft(&decoded, "").ids();
        let open: Vec<&TaskId> = ids.iter().filter(|id| {
            let ticked = (LIST.ticked)(text.as_bytes());
            !ticked.contains_key(*id)
        }).collect();
        prop_assume!(!open.is_empty());
        let id = (*nth.get(&open)).clone();
        let new = (LIST.tick)(text.as_bytes(), &[(id.clone(), Word::Completed)].into()).expect("UTF-8");
        let mut expected = (LIST.ticked)(text.as_bytes());
        let is_dropped = new.missing.contains(&id);
        if !is_dropped {
            expected.insert(id, None);
        }
        prop_assert_eq!(&(LIST.ticked)(&new.bytes), &expected);
        // The ids stay, and the plan is the same.
        let after = crate::system::kit::text::decode(&new.bytes).text;
        prop_assert_eq!(&draft(&after, "").ids(), &ids);
        prop_assert!(LIST.holds(&new.bytes, text.as_bytes()));
        let plans = [text.as_bytes(), &new.bytes].map(|bytes| {
            let folder = Folder { files: [("a.md".to_owned(), bytes.to_vec())].into() };
            TODO.read(&folder, &Given::new("a.md", "a.md", &Config::default())).reading().plan.clone()
        });
        let has_odd_mark = text.contains("[-]") || text.contains("[~]");
        prop_assert!(has_odd_mark || plans[0] == plans[1], "{:#?}", plans);
    }

    #[test]
    fn ticking_one_by_one_is_ticking_all_at_once(text in list(), seed in any::<u64>()) {
        let decoded = crate::system::kit::text::decode(text.as_bytes()).text;
        let whole = (LIST.tick)(text.as_bytes(), &all(&decoded, Word::Completed)).expect("UTF-8").bytes;
        let mut ids = draft(&decoded, "").ids();
        let turn = usize::try_from(seed % 1000).unwrap_or(0) % ids.len().max(1);
        ids.rotate_left(turn);
        let sign = whole.clone();
        let mut bytes = text.clone().into_bytes();
        for id in ids {
            bytes = (LIST.tick)(&bytes, &[(id, Word::Completed)].into()).expect("UTF-8").bytes;
        }
        // The sign of the majority may change on the way.
        prop_assert_eq!(bytes.to_ascii_lowercase(), sign.to_ascii_lowercase());
    }

    #[test]
    fn every_box_is_a_task_a_step_a_criterion_or_left_out(text in list()) {
        let decoded = crate::system::kit::text::decode(text.as_bytes()).text;
        let list = checklist::scan(&decoded);
        let draft = draft(&decoded, "");
        let steps: usize = draft.tasks.iter().map(|task| task.steps.len()).sum();
        let criteria: usize = draft.tasks.iter().map(|task| task.criteria.len()).sum();
        let lost = draft.problems.iter().filter(|problem| problem.diagnostic.message.contains("judge no task")).count();
        let items = list.items().count();
        let told = draft.tasks.len() + steps + criteria + lost;
        let unneeded = list.items().filter(|(_, _, item)| item.optional || item.struck).count();
        prop_assert!(told <= items && items <= told + unneeded + nested_criteria(&decoded), "{items} boxes, {told} read");
    }
}

/// Boxes inside of criteria.
fn nested_criteria(text: &str) -> usize {
    let list = checklist::scan(text);
    list.items().filter(|(_, line, _)| line.indent >= 2).count()
}
