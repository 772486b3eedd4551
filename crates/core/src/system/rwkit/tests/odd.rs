//! Lists one meets: each row is one, with what is made of it.

use super::*;
use crate::system::kit::text;

fn problems(text: &str) -> String {
    told(&reading(text))
}

/// A whole task, so that nothing about it is told.
fn whole(id: &str) -> String {
    format!("- [ ] {id} P1 ALL Do it [deps: none] [files: {id}] [size: S]\n")
}

fn bytes(list: &[u8], strictness: Strictness) -> RwkitReading {
    let mut files = folder(&[]);
    files.files.insert(LIST.to_owned(), list.to_vec());
    reading_with(&files, &profiles(), strictness)
}

// Bytes.

#[test]
fn b1_b2_b8_marks_at_the_start_line_ends_and_a_missing_last_one_are_no_part_of_a_task() {
    let text = whole("T001") + whole("T002").trim_end();
    for text in
        [text.clone(), format!("\u{feff}{text}"), text.replace('\n', "\r\n"), text.replace('\n', "\r")]
    {
        let read = reading(&text);
        assert_eq!(told(&read), "");
        assert_eq!(tasks(&read), ["T001 Do it", "T002 Do it"]);
        assert_eq!(by_id(&read, "T002").files[0].as_str(), "T002");
    }
}

#[test]
fn b3_b4_b5_signs_that_were_read_wrongly_are_understood() {
    let text = "- [âœ…] T001 a [files: a] [size: S] âœ…\n- [ ] T002 b [files: b] [size: S] âŒ\n- [x] T003 c Ã¢Å“â€¦\n";
    let read = reading(text);
    assert_eq!(tasks(&read), ["T001 a x", "T002 b", "T003 c x"]);
    assert_eq!(told(&read), "1:3: warning: `[âœ…]` is unusual (read as `[x]`)\n");
}

#[test]
fn b6_b7_other_encodings_are_read_by_their_mark_or_refused() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(whole("T001").encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let read = bytes(&wide, Strictness::Lenient);
    assert_eq!(tasks(&read), ["T001 Do it"]);
    assert_eq!(told(&read), "1:1: warning: this file is UTF-16 (Piton reads it anyway)\n");
    assert_eq!(
        told(&bytes(&wide[2..], Strictness::Lenient)),
        "1:1: error: this file looks like UTF-16 without a byte order mark (save it as UTF-8)\n"
    );
    assert!(bytes(b"- [ ] T001 \xff\n", Strictness::Lenient).reading.is_usable());
    assert!(!bytes(b"- [ ] T001 \xff\n", Strictness::Strict).reading.is_usable());
}

#[test]
fn b9_b10_b13_odd_spaces_and_other_scripts_are_read() {
    let text = "-\u{a0}[ ] T001 P1 US\u{2011}001 请求 “x” – ทดสอบ [deps：none] [files: ü.ts] [size: S]\n\t- [ ] Schritt\n";
    let read = reading(text);
    assert_eq!((told(&read).as_str(), tasks(&read)), ("", vec!["T001 请求 “x” – ทดสอบ".to_owned()]));
    assert_eq!(read.about.stories[0].id, "US-001");
}

#[test]
fn b11_nothing_to_do_is_never_complete() {
    for text in
        ["", "# TodoList: x\n", " \n\t\n", "```\n- [ ] T001 a\n```\n", "## Acceptance Criteria\n- [ ] x\n"]
    {
        assert!(problems(text).contains("error: the list has no tasks"), "{text:?}");
    }
    let none = reading_with(&folder(&[]), &profiles(), Strictness::Lenient);
    assert!(told(&none).contains("error: `plans/1-1-invoices-todolist.md` does not exist"));
}

#[test]
fn b12_more_than_a_list_can_have_is_refused() {
    assert!(problems(&"x".repeat(text::LARGEST + 1)).contains("error: this file has 16 MiB; 16 are read"));
}

/// Large lists, in shapes that would make the square of it out of a careless reader.
#[test]
fn b12_a_large_list_takes_no_longer_than_its_size() {
    let plain =
        |nth: usize| format!("- [ ] T{nth:06} P1 US-001 Name [deps: none] [files: f{nth}]\n  - a detail\n");
    let ranges = |nth: usize| format!("- [ ] T{nth:06} P1 US-001 Name [deps: T000001-T999999]\n");
    let stories = |nth: usize| format!("- [ ] T{nth:06} P1 US-001 Name [deps: All US-001 tasks]\n");
    let unknown = |nth: usize| format!("- [ ] T{nth:06} Name [deps: X{nth}Y{nth}]\n");
    let twice = |_: usize| "- [ ] T001 Name [deps: T001] [agent: a]\n".to_owned();
    let writers = |nth: usize| format!("- [ ] T{nth:06} Name [files: one]\n");
    let chain = |nth: usize| format!("- [ ] T{nth:06} Name [deps: T{:06}]\n", nth - 1);
    let criteria = |nth: usize| {
        format!(
            "## User Story: US-001 x\n### Acceptance Criteria\n- [ ] {nth}\n### Tasks\n- [ ] T{nth:06} Name\n"
        )
    };
    let table = |nth: usize| format!("| Task | Deps |\n|---|---|\n| T{nth:06} | All US-001 tasks |\n\n");
    let shapes: [&dyn Fn(usize) -> String; 9] =
        [&plain, &ranges, &stories, &unknown, &twice, &writers, &chain, &criteria, &table];
    for line in shapes {
        let (mut text, mut count) = (String::new(), 0);
        while text.len() < 200 << 10 {
            count += 1;
            text += &line(count);
        }
        assert_eq!(reading(&text).reading.plan.tasks.len(), count, "{}", &text[..60]);
    }
    let long = format!("- [ ] T001 {}", "[files: a] [x: y] [".repeat(50_000));
    assert_eq!(reading(&long).reading.plan.tasks.len(), 1);
}

// Boxes.

#[test]
fn c1_to_c7_marks_and_bullets() {
    let text = "- [X] T001 a\n* [ ] T002 b\n+ [ ] T003 c\n1. [ ] T004 d\n2) [x] T005 e\n- [-] T006 f\n- [~] T007 g\n- [/] T008 h\n- [✓] T009 i\n-[ ] T010 j\n- [x ] T011 k\n- [] T012 l\n- [ ]* T013 m\n- [BLOCKED] T014 n\n- T015 [ ] o\n- [ ][size: S] T016 p\n";
    let read = reading(text);
    assert_eq!(
        tasks(&read),
        [
            "T001 a x", "T002 b", "T003 c", "T004 d", "T005 e x", "T006 f", "T007 g", "T008 h", "T009 i x",
            "T010 j", "T011 k x", "T012 l", "T013 m", "T014 n", "T015 o", "T016 p"
        ]
    );
    assert!(read.reading.before[&TaskId::new("T014").expect("an id")].blocked);
    insta::assert_snapshot!("unusual_boxes", told(&read));
}

#[test]
fn blocked_is_known_where_the_file_says_so() {
    let text = "- [ ] T001 a [blocked: no key]\n- [ ] T002 b (BLOCKED - by Bob)\n- [ ] T003 [BLOCKED] c\n- [ ] T004 d [status: blocked]\n- [x] T005 e [blocked: once]\n- [ ] T006 f\n";
    let read = reading(text);
    let blocked: Vec<&str> =
        read.reading.before.iter().filter(|(_, before)| before.blocked).map(|(id, _)| id.as_str()).collect();
    assert_eq!(blocked, ["T001", "T002", "T003", "T004"]);
}

#[test]
fn c8_c12_c15_boxes_below_a_task_are_its_steps() {
    let text = whole("T001")
        + "  - [x] one\n\n  - [ ] two\n\n    more\n"
        + &whole("T002")
        + "  - [ ] T003 c [deps: none] [files: c] [size: S]\n";
    let read = reading(&text);
    assert_eq!(
        (told(&read).as_str(), tasks(&read)),
        ("", vec!["T001 Do it".to_owned(), "T002 Do it".into(), "T003 c".into()])
    );
    assert!(
        by_id(&read, "T001").prompt.ends_with("- one\n\n- two\n\n  more"),
        "{}",
        by_id(&read, "T001").prompt
    );
}

#[test]
fn c16_c17_c18_boxes_in_other_places_are_told_where_they_look_like_tasks() {
    let text = format!(
        "```\n- [ ] T001 a\n```\n<!-- - [ ] T002 b -->\n> - [ ] T003 c\n~~- [x] T004 d~~\n{}  ```js\n{}",
        whole("T005"),
        whole("T006")
    );
    let read = reading(&text);
    assert_eq!(tasks(&read), ["T005 Do it", "T006 Do it"]);
    insta::assert_snapshot!("boxes_in_other_places", told(&read));
}

#[test]
fn c19_what_is_said_behind_the_tags_is_advice_and_the_box_decides() {
    let text = "- [x] T001 a [files: a] [size: S] (Pre-existing)\n- [ ] T002 b [files: b] [size: S] (Skipped - no header)\n- [ ] T003 c [files: c] [size: S] ✅\n- [x] T004 d <!-- DONE: 3 iterations -->\n";
    let read = reading(text);
    assert_eq!(tasks(&read), ["T001 a x", "T002 b", "T003 c", "T004 d x"]);
    assert_eq!(told(&read), "3:35: warning: this says done, but the box does not (the box decides)\n");
}

#[test]
fn c20_c21_headings_with_boxes_below_are_no_tasks_and_are_told() {
    let text = "### TASK-2.7.1: Name ✅\n- **Status**: [x] Completed (today)\n- [ ] untitled\n- [ ] more\n### PAY-001: Pay\n- [ ] untitled\n";
    assert_eq!(
        problems(text),
        "1:1: error: the list has no tasks (no task in this file, like `- [ ] T001 P1 US-001 Name [agent: x] [deps: none] [files: a.ts]`)\n\
         1:5: warning: `TASK-2.7.1` is a heading without a box (not read as a task; write it like `- [ ] T001 …`)\n\
         2:15: warning: this box is in the middle of a line (not read as a task)\n\
         3:7: warning: boxes in this part of the file are not read as tasks (they have no id like `T001`)\n\
         5:5: warning: `PAY-001` is a heading without a box (not read as a task; write it like `- [ ] T001 …`)\n\
         6:7: warning: boxes in this part of the file are not read as tasks (they have no id like `T001`)\n"
    );
    let strict = reading_with(
        &folder(&[(LIST, &(text.to_owned() + &whole("T001")))]),
        &profiles(),
        Strictness::Strict,
    );
    assert!(!strict.reading.is_usable());
}

#[test]
fn c22_c23_criteria_are_no_tasks_whatever_letter_they_begin_with() {
    let criteria = "- [ ] TTFB under a second\n- [x] Turborepo is set up\n- [ ] Twitter card\n- [ ] Title\n- [ ] 3 retries\n";
    for head in
        ["### Acceptance Criteria\n", "**Acceptance Criteria:**\n", "## Definition of Done\n\n### Code\n"]
    {
        let text = format!("## User Story: US-001 Save\n{head}{criteria}### Tasks\n{}", whole("T001"));
        let text = if head.starts_with("##  ") { text } else { text.replace("### Tasks", "## Tasks") };
        let read = reading(&text);
        assert_eq!((told(&read).as_str(), tasks(&read)), ("", vec!["T001 Do it".to_owned()]), "{head}");
    }
    let text = format!("### Acceptance Criteria\n- [ ] T3 machines are enough\n{}", whole("T001"));
    let read = reading(&text);
    assert_eq!(tasks(&read), ["T001 Do it"], "a whole task is one wherever it stands");
    assert_eq!(
        told(&read),
        "2:7: warning: this looks like a task, but is among criteria (not read as one: it has neither a priority nor a tag)\n"
    );
}

#[test]
fn c24_front_matter_is_passed_over() {
    assert_eq!(problems(&format!("---\ntitle: x\n---\n{}", whole("T001"))), "");
}

#[test]
fn i6_ids_are_compared_as_numbers() {
    let text = (8..=11).map(|nth| whole(&format!("T{nth}"))).collect::<String>()
        + "- [ ] T12 P1 ALL a [deps: T9-T11] [files: z] [size: S]\n";
    assert_eq!(needs(&reading(&text))[4], "T12 < [T9, T10, T11]");
}

#[test]
fn a_task_without_an_id_is_a_task_and_is_told() {
    let text = format!(
        "### Tasks\n- [ ] Write it down\n- [ ] 1.2 Count it\n{}- [ ] Do [agent: backend-architect] [files: q] [size: S]\n",
        whole("T001")
    );
    let read = reading(&text);
    assert_eq!(tasks(&read), ["U1 Write it down", "1.2 Count it", "T001 Do it", "U2 Do"]);
    assert_eq!(
        told(&read),
        "2:7: warning: this task has no id (called `U1` here; give it one, like `T001`)\n\
         2:7: warning: no files are named by 2 tasks, so nothing proves that work was done (Piton trusts what agents report)\n\
         5:7: warning: this task has no id (called `U2` here; give it one, like `T001`)\n"
    );
}

// Lines.

#[test]
fn k2_doubled_tags_are_both_heard() {
    let text = whole("T016")
        + &whole("T020")
        + "- [ ] T021 P1 ALL a [deps: T016] [deps: T020] [files: a] [files: b] [size: S]\n- [ ] T022 P1 ALL a [deps: T016] [deps: none] [files: c] [size: S]\n";
    let read = reading(&text);
    assert_eq!(needs(&read)[2..], ["T021 < [T016, T020]", "T022 < [T016]"]);
    assert_eq!(format!("{:?}", by_id(&read, "T021").files), "[a, b]");
    assert_eq!(told(&read).lines().count(), 3);
}

#[test]
fn k3_agents_without_a_profile_are_told_once_and_the_default_takes_over() {
    let line =
        |id: &str, agent: &str| format!("- [ ] {id} P1 ALL Do it [agent: {agent}] [files: {id}] [size: S]\n");
    let text = line("T001", "devops")
        + &line("T002", "devops")
        + &line("T003", "x:y:frontend-developer")
        + &line("T004", "x:devops")
        + &line("T005", "");
    let read = reading(&text);
    let agents: Vec<&str> = read.reading.plan.tasks.iter().map(|task| task.agent.as_str()).collect();
    assert_eq!(agents, ["default", "default", "frontend-developer", "default", "default"]);
    assert_eq!(
        read.about.tasks[&TaskId::new("T003").expect("an id")].agent.as_deref(),
        Some("x:y:frontend-developer")
    );
    assert_eq!(
        told(&read),
        "1:33: warning: there is no profile `devops` (`default` is used instead)\n\
         4:33: warning: there is no profile `x:devops` (`default` is used instead)\n"
    );
}

#[test]
fn k4_an_unknown_tag_is_kept_and_checked_but_deferred_is_told() {
    let text = "- [x] T038 P3 ALL Do [files: a] [deferred: production]\n- [ ] T039 P3 ALL Do [files: b] [size: S] [deferred: production] [risk: high]\n";
    let read = reading(text);
    assert_eq!(told(&read), "1:33: warning: this task is both checked and deferred (the box decides)\n");
    assert!(by_id(&read, "T039").prompt.contains("[deferred: production]\n\n[risk: high]"));
    assert_eq!(tasks(&read)[0], "T038 Do x");
}

#[test]
fn k5_files_may_be_none_folders_patterns_and_have_spaces() {
    let line = |id: &str, files: &str| format!("- [ ] {id} P1 ALL Do it [files: {files}] [size: S]\n");
    let text = line("T001", "-")
        + &line("T002", "src/dir/")
        + &line("T003", "lib/**/*.{ts,tsx}, e2e/*.spec.ts")
        + &line("T004", "supabase migrations/1.sql; `a.ts` (new)")
        + &line("T005", "./a\\b.ts, app/(shop)/[id]/page.tsx, , none")
        + &line("T006", "/etc/passwd, ../x, ok");
    let read = reading(&text);
    let files: Vec<String> = read.reading.plan.tasks.iter().map(|task| format!("{:?}", task.files)).collect();
    assert_eq!(
        files,
        [
            "[]",
            "[src/dir/]",
            "[lib/**/*.{ts,tsx}, e2e/*.spec.ts]",
            "[supabase migrations/1.sql, a.ts]",
            "[a/b.ts, app/(shop)/[id]/page.tsx]",
            "[ok]"
        ]
    );
    assert!(by_id(&read, "T001").may_change_nothing && by_id(&read, "T001").checks.is_empty());
    assert_eq!(by_id(&read, "T003").checks[0].name, "lib/**/*.{ts,tsx} exists");
    assert_eq!(
        told(&read),
        "6:33: warning: \"/etc/passwd\" cannot be a file of the project: it is absolute, or leaves the project (left out)\n\
         6:46: warning: \"../x\" cannot be a file of the project: it is absolute, or leaves the project (left out)\n"
    );
}

#[test]
fn k6_tasks_that_are_too_large_are_told_and_refused_if_strict() {
    let text = "- [ ] T001 P1 ALL a [files: a] [size: L]\n- [ ] T002 P1 ALL b [files: b] [size: XL]\n- [ ] T003 P1 ALL c [files: c]\n- [ ] T004 P1 ALL d [files: 1, 2, 3, 4, 5, 6, 7] [size: M]\n- [ ] T005 P1 ALL e [files: e] [size: huge]\n- [x] T006 P1 ALL f [files: f] [size: XL]\n";
    insta::assert_snapshot!("sizes", problems(text));
    let strict = reading_with(&folder(&[(LIST, text)]), &profiles(), Strictness::Strict);
    assert_eq!(told(&strict).matches("error").count(), 5);
}

#[test]
fn k7_k8_stories_may_be_missing_or_words() {
    let text = format!(
        "## User Story: US-001 Save\n### Tasks\n{}- [ ] T002 Do [files: b] [size: S]\n- [ ] T003 P2 US-009 Do [files: c] [size: S]\n- [ ] T004 P1 DB Make [files: d] [size: S]\n## Other Tasks\n- [ ] T005 P1 Do [files: e] [size: S]\n",
        whole("T001")
    );
    let read = reading(&text);
    let stories: Vec<String> =
        read.about.tasks.iter().map(|(id, task)| format!("{id} {:?}", task.story.as_deref())).collect();
    assert_eq!(
        stories,
        [
            "T001 Some(\"ALL\")",
            "T002 Some(\"US-001\")",
            "T003 Some(\"US-009\")",
            "T004 Some(\"DB\")",
            "T005 None"
        ]
    );
    assert_eq!(
        told(&read),
        "5:15: warning: no part of this file describes `US-009` (a story without a title)\n\
         8:7: warning: there is no story for 1 task (from here on)\n"
    );
    assert_eq!(by_id(&read, "T002").priority, 2, "the middle, where nothing is said");
}

#[test]
fn stories_are_known_by_headings_in_many_forms() {
    let heads = [
        "## User Story: US-001 Save it",
        "### US-001: Save it",
        "## User Story US-001 - Save it",
        "## Story: US-001 Save it",
        "## 📋 User Story: US-001: **Save it**",
    ];
    for head in heads {
        let read = reading(&format!("{head}\n### Tasks\n{}", whole("T001")));
        assert_eq!(
            (read.about.stories[0].id.as_str(), read.about.stories[0].title.as_str()),
            ("US-001", "Save it"),
            "{head}"
        );
    }
    let read = reading(&format!(
        "## User Story: ALL Shared work\n{}## User Story: Print it\n- [ ] T002 Do [files: x] [size: S]\n## User Stories\n",
        whole("T001")
    ));
    let stories: Vec<&str> = read.about.stories.iter().map(|story| story.title.as_str()).collect();
    assert_eq!(stories, ["Shared work", "Print it"]);
}

#[test]
fn k10_tags_may_be_wrapped_on_the_next_lines() {
    let text = "- [ ] T001 P1 ALL Do it\n  [agent: backend-architect] [deps: none]\n  [files: a.ts,\n   b/[id].ts] [size: S]\n  and more\n- [ ] T002 P1 ALL Do that\n  - [deps: T001] [files: c.ts]\n  - [size: S]\n";
    let read = reading(text);
    assert_eq!(told(&read), "");
    assert_eq!(tasks(&read), ["T001 Do it", "T002 Do that"]);
    assert_eq!(format!("{:?}", by_id(&read, "T001").files), "[a.ts, b/[id].ts]");
    assert_eq!(by_id(&read, "T001").agent, "backend-architect");
    assert!(by_id(&read, "T001").prompt.contains("and more"));
    assert_eq!(needs(&read)[1], "T002 < [T001]");
}

#[test]
fn k11_tasks_of_tables_are_tasks_unless_a_line_has_them() {
    let text = format!(
        "{}| Task ID | Description | Story | Files | Deps | Agent |\n|---|---|---|---|---|---|\n| T001 | again | | | | |\n| **T0E1** | Test it | US-001 | e2e/[id].ts | T001 | frontend-developer |\n| total | 2 | | | | |\n\n| Name | Value |\n|---|---|\n| T999 | x |\n",
        whole("T001")
    );
    let read = reading(&text);
    assert_eq!(tasks(&read), ["T001 Do it", "T0E1 Test it"]);
    assert_eq!(needs(&read)[1], "T0E1 < [T001]");
    assert_eq!(by_id(&read, "T0E1").agent, "frontend-developer");
    assert_eq!(told(&read), "");
}

#[test]
fn k12_i15_the_files_own_batches_are_compared_and_its_tasks_are_right() {
    let line = |nth: u8, deps: &str| {
        format!("- [ ] T00{nth} P1 ALL Do it [deps: {deps}] [files: f{nth}] [size: S]\n")
    };
    let lines: String = (1..=9)
        .map(|nth| {
            line(
                nth,
                if nth == 2 {
                    "T001"
                } else if nth == 3 {
                    "T009"
                } else {
                    "none"
                },
            )
        })
        .collect();
    let rows = |ids: &[&str]| ids.iter().map(|id| format!("| {id} | none |\n")).collect::<String>();
    let head = "| Task | Deps |\n|---|---|\n";
    let text = format!(
        "## Tasks\n{lines}## Execution Batches\n### Batch 0 - All\n{head}{}### Batch 1\n{head}{}",
        rows(&["T001", "T002", "T003", "T004", "T005", "T006", "T007", "T0X"]),
        rows(&["T009", "T001"])
    );
    let read = reading(&text);
    insta::assert_snapshot!("batches_that_disagree", told(&read));
    let batch = |id: &str| by_id(&read, id).group;
    assert!(batch("T002") > batch("T001") && batch("T003") > batch("T009"));
    let strict = reading_with(&folder(&[(LIST, &text)]), &profiles(), Strictness::Strict);
    assert_eq!(told(&strict).matches("error").count(), 2, "a dependency in the same or a later batch");
}

#[test]
fn k12_batches_may_be_lists_of_boxes() {
    let text = format!(
        "## Tasks\n{}{}## Execution Batches\n### Batch 1\n- [ ] T001\n### Batch 2\n- [ ] T002 Do it\n- [ ] T003 Only here\n",
        whole("T001"),
        whole("T002")
    );
    let read = reading(&text);
    assert_eq!(tasks(&read), ["T001 Do it", "T002 Do it", "T003 Only here"], "no task is lost");
}

#[test]
fn k13_totals_are_counted_again() {
    let text = format!(
        "## Overview\n- **Total Tasks:** 62\n## User Story: US-001 a\n### Tasks\n{}{}### Story Progress: 0/29\n## Progress Summary\n- **Total:** 2 tasks (1 original)\n- **Completed:** 35\n- Pending: 1\n\n## Story Progress: 45/45 ✅ COMPLETE\n",
        whole("T001"),
        whole("T002").replace("[ ]", "[x]")
    );
    insta::assert_snapshot!("totals", problems(&text));
}

#[test]
fn k14_two_writers_of_a_file_are_told_and_kept_apart() {
    let line =
        |nth: u8, file: &str| format!("- [ ] T00{nth} P1 ALL Do it [deps: none] [files: {file}] [size: S]\n");
    let text: String = (1..=6).map(|nth| line(nth, if nth == 2 { "other" } else { "layout.tsx" })).collect();
    let read = reading(&text);
    assert_eq!(
        told(&read),
        "3:46: warning: `T001`, `T003`, `T004`, `T005` and 1 more write `layout.tsx`, but they do not wait for each other (they run one after the other, in separate batches)\n"
    );
    let batches: Vec<u32> = read.reading.plan.tasks.iter().map(|task| task.group).collect();
    assert_eq!(batches, [0, 0, 1, 2, 3, 4]);
}

#[test]
fn k14_one_place_in_other_words_a_folder_and_a_pattern_are_writers_of_the_same() {
    let meets = |a: &str, b: &str| {
        let line = |id: &str, files: &str| format!("- [ ] {id} P1 ALL Do it [files: {files}] [size: S]\n");
        let read = reading(&(line("T001", a) + &line("T002", b)));
        let apart = read.reading.plan.tasks[0].group != read.reading.plan.tasks[1].group;
        assert_eq!(apart, !told(&read).is_empty(), "{}", told(&read));
        apart
    };
    for (a, b) in [
        ("a.ts", "./a.ts"),
        ("src/a.ts", "src//a.ts"),
        ("src/./a.ts", "src/a.ts"),
        ("src\\a.ts", "src/a.ts"),
        ("src", "src/"),
        ("src/", "src/a.ts"),
        ("src/api/b.ts", "src"),
        ("src/*.ts", "src/a.ts"),
        ("**/*.ts", "docs/a.md"),
        ("src/a?.ts", "src/*.md"),
    ] {
        assert!(meets(a, b) && meets(b, a), "{a} and {b}");
    }
    for (a, b) in
        [("src/a.ts", "src/b.ts"), ("src", "srcs/a"), ("app/[id]/a", "app/[no]/a"), ("a/*.ts", "b/*.ts")]
    {
        assert!(!meets(a, b) && !meets(b, a), "{a} and {b}");
    }
    let told = problems(
        "- [ ] T001 P1 ALL a [files: src/] [size: S]\n- [ ] T002 P1 ALL b [files: src/b.ts, src/c.ts] [size: S]\n",
    );
    assert_eq!(
        told,
        "2:29: warning: `T001` writes `src/`, `T002` writes `src/b.ts`, but they do not wait for each other (they run one after the other, in separate batches)\n"
    );
}

/// A list of so many bytes in which every part of the grammar comes up: forty tasks to a story.
fn large(bytes: usize) -> (String, usize) {
    let (mut text, mut count) =
        ("# TodoList: Large\n\n## Overview\n- Generated: today\n".to_owned(), 0_usize);
    while text.len() < bytes {
        if count % 40 == 0 {
            let story = count / 40;
            text += &format!(
                "\n## User Story: US-{story:05} Part {story}\n> As somebody, I want part {story}.\n\n"
            );
            text += "### Acceptance Criteria\n- [ ] It works\n- [x] Title is kept\n\n### Tasks\n";
        }
        count += 1;
        let (before, story, last) = (count - count.min(41), (count - 1) / 40, count - 1);
        let deps = match count % 8 {
            _ if before == 0 => "none".to_owned(),
            0 => format!("T{:06}-T{before:06}", before - before.min(5).saturating_sub(1)),
            1 => format!("All US-{:05} tasks", story - 1),
            2 => "none".to_owned(),
            _ => format!("T{before:06}, T{:06}", before.max(2) - 1),
        };
        let mark = if count % 3 == 0 { 'x' } else { ' ' };
        text += &format!(
            "- [{mark}] T{count:06} P{} US-{story:05} Add the part of that name [agent: backend-architect] [deps: {deps}] [files: src/parts/[id]/p{last}.ts] [size: S]\n",
            count % 3 + 1
        );
    }
    (text, count)
}

/// How long this takes is told by `cargo test --release -p piton-core --lib ten_megabytes`: well below a second.
#[test]
fn b12_a_list_of_ten_megabytes_is_read_whole() {
    let (text, count) = large(10_000_000);
    let read = reading(&text);
    assert_eq!(told(&read), "");
    assert_eq!(read.reading.plan.tasks.len(), count);
}
