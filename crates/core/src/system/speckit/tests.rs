use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::ids::{id_at, ids_in};
use super::line::{TaskLine, without_needs};
use super::read::draft;
use super::row::{LIST, SpecKit};
use crate::plan::{Plan, RepoPath, TaskId};
use crate::system::config::{Config, Order};
use crate::system::finding::of_file;
use crate::system::kit::outline::Word;
use crate::system::kit::text::decode;
use crate::system::state_files::Companion;
use crate::system::{Disk, Folder, Given, ReadPlan, System};

const PLACE: &str = "specs/001-albums/tasks.md";
const EXAMPLE: &str = include_str!("../../../../../examples/speckit/specs/001-albums/tasks.md");
const SPEC: &str = include_str!("../../../../../examples/speckit/specs/001-albums/spec.md");

fn read_with(text: &str, spec: Option<&str>, config: &Config) -> Box<dyn ReadPlan> {
    let mut files: BTreeMap<String, Vec<u8>> = [(PLACE.to_owned(), text.as_bytes().to_vec())].into();
    if let Some(spec) = spec {
        files.insert("specs/001-albums/spec.md".to_owned(), spec.as_bytes().to_vec());
        files.insert("specs/001-albums/contracts/api.yaml".to_owned(), Vec::new());
        files.insert(".specify/memory/constitution.md".to_owned(), Vec::new());
    }
    SpecKit.read(&Folder { files }, &Given::new("tasks.md", PLACE, config))
}

/// Every task in a line, and every problem.
fn shown(read: &dyn ReadPlan, text: &str) -> String {
    let reading = read.reading();
    let Plan { groups, tasks, .. } = &reading.plan;
    let (mut out, mut group) = (String::new(), None);
    for spec in tasks {
        if group.replace(spec.group) != Some(spec.group) {
            writeln!(out, "# {}", groups[spec.group as usize].title).expect("text");
        }
        let done = if reading.before[&spec.id].done { "x" } else { " " };
        let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
        let by = if spec.by_person { " (person)" } else { "" };
        let files: Vec<&str> = spec.files.iter().map(RepoPath::as_str).collect();
        let files = if files.is_empty() { String::new() } else { format!(" {{{}}}", files.join(" ")) };
        writeln!(out, "[{done}] {} ← {} | {}{by}{files}", spec.id, needs.join(","), spec.title)
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

fn plain(text: &str) -> String {
    shown(&*read_with(text, None, &Config::default()), text)
}

#[test]
fn the_example_is_read_by_phases() {
    let read = read_with(EXAMPLE, Some(SPEC), &Config::default());
    insta::assert_snapshot!(shown(&*read, EXAMPLE));
    let tasks = &read.reading().plan.tasks;
    let last = tasks.iter().find(|spec| spec.id.as_str() == "T004").expect("a task");
    insta::assert_snapshot!(last.prompt);
    insta::assert_snapshot!(last.criteria.join("\n"));
}

#[test]
fn stories_overlap_by_setting_and_the_phases_around_them_do_not() {
    let mut config = Config::default();
    config.policy.order = Some(Order::Groups);
    let text = "## Phase 1: Setup\n- [ ] T001 a\n## Phase 2: Foundational\n- [ ] T002 b\n\
        ## Phase 3: User Story 1 - A (Priority: P1)\n- [ ] T003 [US1] c\n\
        ## Phase 4: User Story 2 - B (Priority: P2)\n- [ ] T004 [US2] d\n## Phase 5: Polish\n- [ ] T005 e\n";
    let read = read_with(text, None, &config);
    let edges = |read: &dyn ReadPlan| {
        let edge = |spec: &crate::plan::TaskSpec| {
            let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
            format!("{}←{}", spec.id, needs.join(","))
        };
        read.reading().plan.tasks.iter().map(edge).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(edges(&*read), "T001← T002←T001 T003←T002 T004←T002 T005←T003,T004");
    let strict = read_with(text, None, &Config::default());
    assert_eq!(edges(&*strict), "T001← T002←T001 T003←T002 T004←T003 T005←T004");
    let priorities: Vec<u32> = strict.reading().plan.tasks.iter().map(|spec| spec.priority).collect();
    assert_eq!(priorities, [50, 50, 20, 30, 50]);
}

#[test]
fn ids_are_told_from_words() {
    for (text, id) in [
        ("T001 x", Some("T001")),
        ("T1000", Some("T1000")),
        ("T068A [P]", Some("T068A")),
        ("T007a", Some("T007a")),
        ("T028.1 x", Some("T028.1")),
        ("T-HF04", Some("T-HF04")),
        ("T001**", Some("T001")),
        ("T12", None),
        ("TTFB", None),
        ("T001abc", None),
        ("Turborepo", None),
    ] {
        assert_eq!(id_at(text).map(|length| &text[..length]), id, "{text}");
    }
    let named = |text: &str| {
        let one = |named: &super::ids::Named| {
            named.last.as_ref().map_or(named.first.clone(), |last| format!("{}..{last}", named.first))
        };
        ids_in(text).iter().map(one).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(named("T014, T015 and T016/T017; T020"), "T014 T015 T016 T017 T020");
    assert_eq!(
        named("T022-T025, T030–T032, T040-042, T050 to T052"),
        "T022..T025 T030..T032 T040..T042 T050..T052"
    );
    assert_eq!(named("T001 - same file, T002-2024-01, XT003"), "T001 T002");
}

#[test]
fn labels_are_told_from_brackets_in_the_text() {
    let line = |text: &str| {
        let line = TaskLine::read(text, 0..text.len());
        let TaskLine { id, beside, story, waits, dropped, rest } = line;
        let flags = [(beside, "P"), (waits.is_some(), "waits"), (dropped, "dropped")];
        let flags: Vec<&str> = flags.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        format!("{id} {} {} | {}", flags.join(","), story.unwrap_or_default(), &text[rest])
    };
    insta::assert_snapshot!(
        [
            "T021 [P] [US2] Write exporter",
            "**T001** [P] [Setup] Create structure",
            "T004 (antwort-58h.1) [US1] Add",
            "T005 [US1+US2] Both",
            "T006 [US1.5] Half",
            "T007 [FOUND] Base",
            "T008 [Required] attribute on Name",
            "T009 [id] route",
            "T010 [DEFERRED] Later",
            "T011 [BLOCKED: Xcode not installed] Build",
            "~~T012~~ **Deleted** — not needed",
            "T013: Colon",
            "T014 [P] `Depends(get_current_user)` in auth",
            "T015 **Bold title** - text",
            "[P] T016 Lost",
            "No id at all",
        ]
        .map(line)
        .join("\n")
    );
    assert_eq!(without_needs("Do it (depends on T014, T015) in a.rs (new)"), "Do it in a.rs (new)");
    assert_eq!(without_needs("Use (fast) code (requires care)"), "Use (fast) code (requires care)");
}

#[test]
fn dependencies_count_where_they_leave_no_doubt() {
    insta::assert_snapshot!(plain(
        "## Phase 1: All\n- [ ] T001 a\n- [ ] T002 [P] b (depends on T001 — same file)\n\
        - [ ] T003 [P] c, no longer depends on `vmIp`\n- [ ] T004 [P] d (depends on T001-T003)\n\
        - [ ] T005 [P] e\n  - Depends on: T002 and T004\n- [ ] T006 [P] f (depends on T099)\n\
        - [ ] T007 [P] g `Depends(get_current_user)`\n\
        ## Dependencies\n- T003 blocks T006, T007\n- Tests (T001-T002) before implementation (T005)\n\
        - T004 can run before T005\n- Setup first\n"
    ));
}

#[test]
fn lists_of_every_habit_are_read() {
    insta::assert_snapshot!(plain(
        "# Tasks: X\n## Phase 3.1: Setup\n- [x] **T001** [P] Init\n- [X] T002 Tool\n\
        - [ ] no id here\n\n## Notes\n- [P] tasks = different files\n- [P] T003 Lost its box\n\n\
        ## Validation Checklist\n- [ ] All good\n- [ ] SC-001: fast\n"
    ));
    insta::assert_snapshot!(plain(
        "# Tasks\n### T001 [P] Extend schemas ✅\n**File**: `src/a.ts`\n- [x] part\n\
        ### T002 Write routes\n**File**: `src/b.ts`\n"
    ));
    insta::assert_snapshot!(plain(
        "# T\n| ID | Task | Outcome |\n|---|---|---|\n| T001 | Make it | good |\n| T002 | Test it | good |\n"
    ));
    insta::assert_snapshot!(plain("## Phase 1\n17. **T032**: [x] Old numbering\n18. **T033**: [ ] More\n"));
    insta::assert_snapshot!(plain(
        "## 阶段 1：设置\n- [ ] T001 创建项目结构\n## 阶段 2：核心\n- [ ] T002 [P] 写测试\n- [ ] T003 [P] 写文档\n"
    ));
    insta::assert_snapshot!(plain("# Tasks: [FEATURE NAME]\n- [ ] TXXX Do\n- [ ] T001 a\n"));
    insta::assert_snapshot!(plain(
        "## Phase 1\n- [ ] T001 a\n## Phase 2\n- [ ] T001 b\n- [ ] ~~T002~~ **Deleted**\n"
    ));
}

#[test]
fn a_list_that_speaks_of_placeholders_is_no_template() {
    let told = plain("# Tasks: Albums\nIds look like TXXX, and titles like [FEATURE NAME].\n- [ ] T001 a\n");
    assert!(!told.contains("template"), "{told}");
}

struct Files(BTreeMap<&'static str, &'static str>);

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = |path: &&&str| {
            path.strip_prefix(folder)?.trim_start_matches('/').split('/').next().map(str::to_owned)
        };
        self.0.keys().collect::<Vec<_>>().iter().filter_map(inside).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn a_list_is_known_by_its_place_and_one_mark() {
    const BOXES: &str = "- [ ] T001 a\n- [ ] T002 b\n";
    let disk = Files(
        [
            ("/p/specs/001-a/tasks.md", BOXES),
            ("/p/specs/002-b/tasks.md", "# Tasks: B\n"),
            ("/p/specs/003-c/tasks.md", "- [ ] something\n"),
            ("/p/specs/001-a/checklists/ux.md", "- [ ] CHK001 x\n"),
            ("/p/.kiro/specs/d/tasks.md", BOXES),
            ("/p/feature/tasks.md", BOXES),
            ("/q/.specify/memory/constitution.md", "x"),
            ("/q/specs/001-a/tasks.md", "- [ ] something\n"),
            ("/q/specs/001-a/plan.md", "x"),
            ("/q/specs/001-a/contracts/api.yaml", "x"),
        ]
        .into(),
    );
    for (path, system) in [
        ("/p/specs/001-a/tasks.md", "speckit"),
        ("/p/specs/002-b/tasks.md", "speckit"),
        ("/p/specs/003-c/tasks.md", "issue"),
        ("/p/specs/001-a/checklists/ux.md", "native"),
        ("/p/feature/tasks.md", "issue"),
        ("/q/specs/001-a/tasks.md", "speckit"),
    ] {
        assert_eq!(of_file(path, &disk).name(), system, "{path}");
    }
    assert_ne!(of_file("/p/.kiro/specs/d/tasks.md", &disk).name(), "speckit");
    assert_eq!(
        SpecKit.claims_folder("/q/specs/001-a", &disk).map(|claim| claim.file),
        Some("tasks.md".to_owned())
    );
    let along = SpecKit.read_along("/q/specs/001-a/tasks.md", &disk);
    assert!(along.contains(&"/q/specs/001-a/contracts/api.yaml".to_owned()), "{along:?}");
    assert_eq!(along.last().map(String::as_str), Some("/q/.specify/memory/constitution.md"));
    let goes_by = |text: &str| SpecKit.goes_by("001-photo-albums", text);
    assert!(
        goes_by("001")
            && goes_by("photo-albums")
            && goes_by("001-photo-albums")
            && !goes_by("1")
            && !goes_by("")
    );
}

#[test]
fn the_mark_of_the_file_is_written_and_nothing_else() {
    let done = |id: &str| [(TaskId::new(id).expect("an id"), Word::Completed)].into();
    let ticked = |text: &str, id: &str| {
        String::from_utf8((LIST.tick)(text.as_bytes(), &done(id)).expect("a text").bytes).expect("UTF-8")
    };
    assert_eq!(
        ticked("## P\r\n- [ ] T001 a  \r\n- [ ] T002 b", "T002"),
        "## P\r\n- [ ] T001 a  \r\n- [X] T002 b"
    );
    assert_eq!(ticked("- [x] T001 a\n- [ ] T002 b\n", "T002"), "- [x] T001 a\n- [x] T002 b\n");
    let missing = (LIST.tick)(b"### T001 a\n", &done("T001")).expect("a text").missing;
    assert_eq!(missing, Vec::<TaskId>::new(), "it is there, without a box");
}

fn line() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just("[ ]"), Just("[x]"), Just("[X]"), Just("[]"), Just("[~]")];
    let id = prop_oneof![
        "T00[1-9]",
        "\\*\\*T0[1-2][0-9]\\*\\*",
        "T001a",
        Just(String::new()),
        Just("~~T005~~".to_owned())
    ];
    let label =
        prop_oneof![Just(""), Just(" [P]"), Just(" [US1]"), Just(" [P] [US2]"), Just(" [BLOCKED: x]")];
    let needs = prop_oneof![
        Just(""),
        Just(" (depends on T001)"),
        Just(" (depends on T001-T009)"),
        Just(" in a/b.rs")
    ];
    let item = (prop_oneof![Just("- "), Just("  - ")], mark, id, label, "[a-c]{1,4}", needs)
        .prop_map(|(lead, mark, id, label, text, needs)| format!("{lead}{mark} {id}{label} {text}{needs}"));
    let other = prop_oneof![
        Just("## Phase 1: Setup".to_owned()),
        Just("## Phase 2: User Story 1 (Priority: P1)".to_owned()),
        Just("### Tests for User Story 1".to_owned()),
        Just("## Dependencies".to_owned()),
        Just("- T001 blocks T002, T003".to_owned()),
        Just("- T009 before T001-T004".to_owned()),
        Just("**Independent Test**: x".to_owned()),
        Just("- [P] tasks = different files".to_owned()),
        Just(String::new()),
    ];
    prop_oneof![3 => item, 1 => other]
}

proptest! {
    #[test]
    fn ticking_keeps_the_plan_and_its_ids(lines in prop::collection::vec(line(), 0..25), crlf in any::<bool>()) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        let ids = draft(&decode(text.as_bytes()).text, "").ids();
        for id in &ids {
            let before = (LIST.ticked)(text.as_bytes());
            let new = (LIST.tick)(text.as_bytes(), &[(id.clone(), Word::Completed)].into()).expect("UTF-8");
            let after = (LIST.ticked)(&new.bytes);
            prop_assert_eq!(&draft(&decode(&new.bytes).text, "").ids(), &ids);
            let others = |ticked: &BTreeMap<TaskId, Option<&'static str>>| {
                ticked.iter().filter(|(other, _)| *other != id).map(|(id, why)| (id.clone(), *why)).collect::<Vec<_>>()
            };
            prop_assert_eq!(others(&before), others(&after));
            prop_assert!(LIST.holds(&new.bytes, text.as_bytes()));
            let plans = [text.as_bytes(), &new.bytes].map(|bytes| {
                let folder = Folder { files: [(PLACE.to_owned(), bytes.to_vec())].into() };
                let config = Config::default();
                SpecKit.read(&folder, &Given::new("tasks.md", PLACE, &config)).reading().plan.clone()
            });
            prop_assert!(text.contains("[~]") || plans[0] == plans[1]);
        }
    }

    #[test]
    fn whatever_a_list_says_there_is_no_circle(lines in prop::collection::vec(line(), 0..25)) {
        let text = lines.join("\n");
        let read = read_with(&text, None, &Config::default());
        prop_assert!(crate::plan::Graph::new(&read.reading().plan.tasks).is_ok());
    }
}
