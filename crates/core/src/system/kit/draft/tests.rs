use std::collections::BTreeSet;

use super::*;
use crate::plan::{Argv, Check};
use crate::system::config::{Config, Defaults};
use crate::system::todo::Todo;
use crate::time::Span;

static ROW: Todo = Todo;

fn phases(barriers: &[bool]) -> Vec<Phase> {
    let phase = |(nth, barrier): (usize, &bool)| Phase { title: format!("Part {nth}"), barrier: *barrier };
    barriers.iter().enumerate().map(phase).collect()
}

fn task(name: &str, group: usize) -> DraftTask {
    DraftTask { name: name.to_owned(), title: format!("Do {name}"), group, ..DraftTask::default() }
}

fn beside(name: &str, group: usize) -> DraftTask {
    DraftTask { beside: true, ..task(name, group) }
}

fn needing(needs: &[&str], task: DraftTask) -> DraftTask {
    let need = |name: &&str| Need { name: (*name).to_owned(), at: 0..0 };
    DraftTask { needs: needs.iter().map(need).collect(), ..task }
}

fn check(line: &str) -> Check {
    Check::new(line.to_owned(), Argv::parse(line), Span::minutes(5))
}

fn config(order: Option<Order>) -> Config {
    let defaults = Defaults {
        checks: Some(vec![check("cargo test"), check("cargo fmt --check")]),
        ..Defaults::default()
    };
    let mut config = Config { defaults, ..Config::default() };
    config.policy.order = order;
    config
}

fn read(draft: Draft) -> DraftReading {
    read_with(draft, &config(None))
}

fn read_with(draft: Draft, config: &Config) -> DraftReading {
    draft.plan(&ROW, &Given::new("list.md", "list.md", config))
}

/// Each task with what it waits for: `B←A`.
fn edges(reading: &DraftReading) -> String {
    let edge = |spec: &TaskSpec| {
        let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
        format!("{}←{}", spec.id, needs.join(","))
    };
    reading.reading.plan.tasks.iter().map(edge).collect::<Vec<_>>().join(" ")
}

fn problems(reading: &DraftReading) -> Vec<String> {
    reading
        .reading
        .problems
        .iter()
        .map(|problem| {
            let Diagnostic { message, label, .. } = &problem.diagnostic;
            format!("{message}: {label}")
        })
        .collect()
}

fn order_of(order: Order, groups: &[bool], tasks: Vec<DraftTask>) -> String {
    edges(&read(Draft { order, groups: phases(groups), tasks, ..Draft::default() }))
}

#[test]
fn tasks_beside_each_other_wait_for_the_last_in_order_and_the_next_for_all_of_them() {
    let tasks = vec![task("A", 0), beside("B", 0), beside("C", 0), task("D", 0), beside("E", 0)];
    assert_eq!(order_of(Order::Groups, &[false], tasks), "A← B←A C←A D←B,C E←D");
}

#[test]
fn a_barrier_holds_back_what_follows_and_other_groups_go_on() {
    let tasks = || vec![task("A", 0), beside("B", 0), task("C", 1), task("D", 2)];
    assert_eq!(order_of(Order::Groups, &[true, true, false], tasks()), "A← B←A C←B D←C");
    assert_eq!(order_of(Order::Groups, &[false, false, false], tasks()), "A← B←A C← D←");
    assert_eq!(order_of(Order::Groups, &[true, false, false], tasks()), "A← B←A C←B D←B");
    // A barrier is behind everything before it.
    assert_eq!(order_of(Order::Groups, &[false, true, false], tasks()), "A← B←A C← D←B,C");
    assert_eq!(order_of(Order::All, &[false, false, false], tasks()), "A← B←A C←B D←C");
    assert_eq!(order_of(Order::Free, &[false, false, false], tasks()), "A← B← C← D←");
    assert_eq!(order_of(Order::Free, &[true, true, false], tasks()), "A← B← C←A,B D←C");
}

#[test]
fn nobody_waits_for_a_person_unless_it_is_said_and_people_wait_for_what_is_before() {
    let person = DraftTask { kind: Kind::Person, ..task("B", 0) };
    let tasks = vec![task("A", 0), person, task("C", 0), needing(&["B"], task("D", 0))];
    let reading = read(Draft { tasks, groups: phases(&[true]), ..Draft::default() });
    assert_eq!(edges(&reading), "A← B←A C←A D←B,C");
    let specs = &reading.reading.plan.tasks;
    assert_eq!(specs.iter().map(|spec| spec.by_person).collect::<Vec<_>>(), [false, true, false, false]);
    assert!(specs[1].checks.is_empty() && specs[0].checks.len() == 2, "a person is believed");
}

#[test]
fn what_was_dropped_is_not_there_and_not_waited_for() {
    let dropped = DraftTask { standing: Standing::Dropped, ..task("B", 0) };
    let tasks = vec![task("A", 0), dropped, needing(&["B", "X"], task("C", 0))];
    let reading = read(Draft { tasks, groups: phases(&[false]), ..Draft::default() });
    assert_eq!(edges(&reading), "A← C←A");
    assert_eq!(
        problems(&reading),
        ["C waits for a task that was dropped: not waited for", "there is no task `X`: not waited for",]
    );
}

#[test]
fn a_task_may_name_a_later_one_and_a_circle_is_an_error() {
    let tasks = vec![needing(&["C"], task("A", 0)), task("B", 0), task("C", 0)];
    assert_eq!(order_of(Order::All, &[false], tasks), "A←C B←A C←");
    let tasks = vec![needing(&["B"], task("A", 0)), needing(&["A"], task("B", 0))];
    let reading = read(Draft { tasks, groups: phases(&[false]), ..Draft::default() });
    assert_eq!(problems(&reading), ["B and A wait for each other: remove one of the dependencies"]);
    assert!(!reading.reading.is_usable());
}

#[test]
fn whatever_is_named_there_is_never_a_circle() {
    // All ways in which five tasks in two groups may each name one other.
    for pattern in 0..6_usize.pow(5) {
        let names = ["A", "B", "C", "D", "E"];
        let need = |nth: usize| names.get(pattern / 6_usize.pow(u32::try_from(nth).expect("small")) % 6);
        let tasks = (0..5).map(|nth| {
            let needs: Vec<&str> = need(nth).copied().into_iter().collect();
            let task = if nth % 2 == 0 { beside(names[nth], nth / 3) } else { task(names[nth], nth / 3) };
            needing(&needs, task)
        });
        let tasks = tasks.collect();
        let draft = Draft { order: Order::Groups, groups: phases(&[true, false]), tasks, ..Draft::default() };
        let plan = read(draft).reading.plan;
        assert!(crate::plan::Graph::new(&plan.tasks).is_ok(), "{pattern}");
    }
}

#[test]
fn a_wide_barrier_is_waited_for_by_one_task_for_all() {
    let tasks: Vec<DraftTask> = (0..1000).map(|nth| beside(&format!("T{nth}"), nth / 500)).collect();
    let reading =
        read(Draft { order: Order::Groups, groups: phases(&[true, true]), tasks, ..Draft::default() });
    let specs = &reading.reading.plan.tasks;
    assert_eq!((specs[500].depends_on.len(), specs[501].depends_on.len()), (500, 1));
    assert_eq!(specs[999].depends_on, [specs[500].id.clone()]);
}

#[test]
fn tasks_that_name_the_same_file_run_one_after_the_other() {
    let with = |file: &str, task: DraftTask| DraftTask { files: vec![file.to_owned()], ..task };
    let tasks =
        vec![with("a.rs", beside("A", 0)), with("b.rs", beside("B", 0)), with("a.rs", beside("C", 0))];
    let reading = read(Draft { tasks, groups: phases(&[false]), ..Draft::default() });
    assert_eq!(edges(&reading), "A← B← C←A");
    let told = "1 task may run beside others that name the same file: they run one after the other; this is the first";
    assert_eq!(problems(&reading), [told]);
    let tasks = vec![with("a.rs", task("A", 0)), with("a.rs", task("B", 1))];
    assert_eq!(order_of(Order::Groups, &[false, false], tasks), "A← B←A");
}

#[test]
fn names_are_those_of_the_file_as_far_as_they_can_be() {
    let titled = |title: &str, group| DraftTask { title: title.to_owned(), group, ..DraftTask::default() };
    let tasks = vec![
        task("T001", 0),
        task("t001", 0),
        task("3.1 / API", 0),
        titled("Write the **docs**: all of them", 0),
        titled("Write the docs, all of them", 1),
        titled("Write the docs all of them!", 1),
        titled("测试", 0),
        task("con", 0),
    ];
    let mut draft = Draft { tasks, groups: phases(&[false, false]), ..Draft::default() };
    let ids: Vec<String> = draft.ids().iter().map(ToString::to_string).collect();
    let hashed = ids[6].clone();
    assert_eq!(
        ids[..6],
        [
            "T001",
            "t001-part-0",
            "3.1-API",
            "write-the-docs-all-of-them",
            "write-the-docs-all-of-them-part-1",
            "write-the-docs-all-of-them-2",
        ]
    );
    assert!(hashed.starts_with("task-") && hashed.len() == 13, "{hashed}");
    // A name that no file may have gives way to the title.
    assert_eq!(ids[7], "do-con");
    let told: Vec<String> = draft.problems.iter().map(|problem| problem.diagnostic.message.clone()).collect();
    assert_eq!(told, ["the id `t001` was used before"]);
    // Lines above do not change a name.
    draft.tasks.rotate_right(1);
    assert_eq!(draft.ids()[7].as_str(), hashed);
}

#[test]
fn thousands_of_tasks_of_one_name_get_numbers() {
    let long = "x".repeat(300);
    let tasks: Vec<DraftTask> =
        (0..5000).map(|_| DraftTask { name: long.clone(), ..DraftTask::default() }).collect();
    let mut draft = Draft { tasks, ..Draft::default() };
    let ids: BTreeSet<TaskId> = draft.ids().into_iter().collect();
    assert_eq!(ids.len(), 5000);
    assert!(draft.problems.len() <= 5);
}

#[test]
fn tests_that_fail_at_first_judge_only_the_last_task_of_their_group() {
    let red = |name: &str| DraftTask { fails_first: true, ..task(name, 0) };
    let tasks = vec![task("A", 0), red("B"), task("C", 0), task("D", 0), task("E", 1)];
    let reading = read(Draft { tasks, groups: phases(&[true, false]), ..Draft::default() });
    let checks: Vec<usize> = reading.reading.plan.tasks.iter().map(|spec| spec.checks.len()).collect();
    assert_eq!(checks, [2, 1, 1, 2, 2]);
    assert_eq!(
        problems(&reading),
        ["this task writes tests that fail at first: tests judge its group from `D` on"]
    );
}

#[test]
fn a_look_is_judged_by_its_own_command_and_may_change_nothing() {
    let look =
        DraftTask { kind: Kind::Verify, commands: vec!["cargo bench --no-run".to_owned()], ..task("A", 0) };
    let work = DraftTask { commands: vec!["npm test".to_owned(), "rm -rf .git".to_owned()], ..task("B", 0) };
    let reading = read(Draft { tasks: vec![look, work], groups: phases(&[false]), ..Draft::default() });
    let [look, work] = &reading.reading.plan.tasks[..] else { panic!("two tasks") };
    assert_eq!((look.checks.len(), look.may_change_nothing, look.check_first), (1, true, true));
    let names: Vec<String> = work.checks.iter().map(|check| check.run.to_string()).collect();
    assert_eq!(
        (names.join("; "), work.may_change_nothing),
        ("npm test; cargo test; cargo fmt --check".to_owned(), false)
    );
}

#[test]
fn a_plan_does_not_depend_on_what_is_ticked() {
    let tasks = |standing: &Standing| {
        let all = [task("A", 0), beside("B", 0), beside("C", 0), task("D", 1)];
        let with = |task: DraftTask| DraftTask {
            standing: standing.clone(),
            files: vec!["a.rs".to_owned()],
            fails_first: task.name == "B",
            ..task
        };
        all.map(with).to_vec()
    };
    let plan = |standing| {
        let draft = Draft { tasks: tasks(&standing), groups: phases(&[true, true]), ..Draft::default() };
        read(draft).reading.plan
    };
    assert_eq!(plan(Standing::Open), plan(Standing::Claimed));
    let draft = Draft { tasks: tasks(&Standing::Claimed), groups: phases(&[true, true]), ..Draft::default() };
    let reading = read(draft);
    assert!(reading.reading.before.values().all(|before| before.done));
    assert_eq!((reading.claims(), problems(&reading)), (Some(4), Vec::new()));
}

#[test]
fn a_setting_changes_the_order() {
    let tasks = || vec![task("A", 0), task("B", 0), task("C", 1)];
    let with = |order| {
        let draft = Draft { tasks: tasks(), groups: phases(&[false, false]), ..Draft::default() };
        edges(&read_with(draft, &config(Some(order))))
    };
    assert_eq!(with(Order::All), "A← B←A C←B");
    assert_eq!(with(Order::Groups), "A← B←A C←");
    assert_eq!(with(Order::Free), "A← B← C←");
}

#[test]
fn what_nothing_judges_and_what_is_empty_is_said() {
    let draft = Draft { tasks: vec![task("A", 0), task("B", 0)], ..Draft::default() };
    assert_eq!(
        problems(&read_with(draft, &Config::default())),
        ["nothing judges 2 tasks: Piton would trust what agents report: A is the first of them"]
    );
    let empty = read(Draft::default());
    assert_eq!(problems(&empty), ["this plan has no tasks: Piton found nothing here that it could work on"]);
}

#[test]
fn an_agent_is_told_its_task_and_what_is_around_it() {
    let task = DraftTask {
        file: "list.md".to_owned(),
        words: "- keep the old format\n".to_owned(),
        around: "It stands below: API".to_owned(),
        ..task("A", 0)
    };
    let context = vec!["docs/design.md".to_owned()];
    let reading = read(Draft { tasks: vec![task], context, groups: phases(&[false]), ..Draft::default() });
    insta::assert_snapshot!(reading.reading.plan.tasks[0].prompt, @r"
    Do A

    - keep the old format

    It stands below: API

    Read first, as far as it concerns this task:
    - docs/design.md

    This is task A of list.md. Do only this task, and do not change that file: Piton does when the task is completed.
    ");
}

#[test]
fn a_preview_shows_where_a_task_stands_and_what_judges_it() {
    let at = |line: usize, task: DraftTask| DraftTask { file: "list.md".to_owned(), at: line..line, ..task };
    let tasks = vec![
        at(0, DraftTask { standing: Standing::Claimed, ..task("A", 0) }),
        at(1, task("B", 0)),
        at(2, DraftTask { kind: Kind::Person, ..task("C", 0) }),
        at(3, DraftTask { kind: Kind::Git, ..task("D", 1) }),
        at(4, DraftTask { kind: Kind::Verify, commands: vec!["npm test".to_owned()], ..task("E", 1) }),
        at(5, DraftTask { standing: Standing::NotOurs("`[-]` is in progress elsewhere"), ..task("F", 1) }),
    ];
    let texts = [("list.md".to_owned(), "\n".repeat(9))].into();
    let reading = read(Draft { tasks, texts, groups: phases(&[true, false]), ..Draft::default() });
    let plan = &reading.reading.plan;
    let shown = |line: &Line| {
        let part = |part: &crate::view::preview::Part| match part {
            crate::view::preview::Part::Plain(text)
            | crate::view::preview::Part::Bold(text)
            | crate::view::preview::Part::Dim(text) => text.clone(),
        };
        line.0.iter().map(part).collect::<String>()
    };
    let lines: Vec<String> = reading.preview(plan, false).expect("a preview").iter().map(shown).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let mut document = serde_json::json!({ "tasks": plan.tasks });
    reading.describe(&mut document);
    let told = |nth: usize| {
        let task = &document["tasks"][nth];
        format!("{} {} {} {}", task["source_file"]["line"], task["kind"], task["claimed"], task["judged_by"])
    };
    assert_eq!(told(0), r#"1 "work" true ["cargo test","cargo fmt --check"]"#);
    assert_eq!(told(2), r#"3 "person" false "person""#);
    assert_eq!(told(3), r#"4 "git" false "piton""#);
    assert_eq!(told(4), r#"5 "verify" false ["npm test"]"#);
    assert_eq!(told(5), r#"6 "work" false "person""#);
}

#[test]
fn files_are_found_in_backticks_or_by_their_folder_and_ending() {
    let paths = |text: &str| paths_of(text, 0, &mut Vec::new()).join(" ");
    assert_eq!(
        paths("Write `src/app/[id]/page.tsx` and `README.md`, see docs/x.md"),
        "src/app/[id]/page.tsx README.md"
    );
    assert_eq!(paths("Create model in src/models/user.py:12-40."), "src/models/user.py");
    assert_eq!(
        paths("in app/(auth)/login.tsx (new), packages/@scope/a.ts#L3"),
        "app/(auth)/login.tsx packages/@scope/a.ts"
    );
    assert_eq!(paths("(see src/a.rs) and `src/b.rs (DELETE)`"), "src/b.rs");
    assert_eq!(
        paths("(see src/a.rs), and/or 1/2.5, 3.1/4, https://x.org/a.html, ./b/c.rs"),
        "src/a.rs b/c.rs"
    );
    assert_eq!(
        paths("GET `/api/users`, `user.name`, `obj.save()`, `npm run a/b.js`, `*.rs`, `../x/y.rs`"),
        ""
    );
    let mut problems = Vec::new();
    assert_eq!(paths_of("edit `/home/doug/app/src/a.ts`", 7, &mut problems), Vec::<String>::new());
    assert_eq!((problems.len(), problems[0].span.clone()), (1, 13..14));
}

#[test]
fn who_does_a_task_is_told_by_its_words_and_a_doubt_makes_it_work() {
    for (text, kind) in [
        ("Run `cargo test --workspace` and check the output", Kind::Verify),
        ("**Validate** with `openspec validate x --strict`", Kind::Verify),
        ("Validate: `openspec validate x --strict`", Kind::Verify),
        ("Verify: the login page", Kind::Work),
        ("Run `npm install lodash`", Kind::Work),
        ("Run `cargo clippy --fix`", Kind::Work),
        ("Run `npm test` and fix what fails", Kind::Work),
        ("Run the whole test suite", Kind::Work),
        ("Add `npm test` to CI", Kind::Work),
        ("Manual smoke test on device", Kind::Person),
        ("Manually verify the checkout flow", Kind::Person),
        ("Test the login by hand", Kind::Person),
        ("Write a manual test plan", Kind::Work),
        ("Document how to update by hand", Kind::Work),
        ("Add manual override", Kind::Work),
        ("[HUMAN] Approve the wording", Kind::Person),
        ("Commit changes", Kind::Git),
        ("commit: all of it", Kind::Git),
        ("Commit message linter", Kind::Work),
        ("Commit and push", Kind::Person),
        ("Push notifications for chat", Kind::Work),
        ("Push to origin", Kind::Person),
        ("Open a pull request", Kind::Person),
        ("Create feature branch `x`", Kind::Git),
        ("Create branch selector component", Kind::Work),
    ] {
        assert_eq!(kind_of(text), kind, "{text}");
    }
}

#[test]
fn tests_that_are_to_fail_are_told_from_tests_that_fail() {
    for text in [
        "Write failing test for the parser",
        "Contract test in tests/a.py (must FAIL before implementation)",
        "Red: the total is wrong",
        "Property test. EXPECTED OUTCOME: it FAILS on unfixed code",
        "Write the test and verify it fails",
    ] {
        assert!(fails_first(text, ""), "{text}");
    }
    for text in
        ["Fix failing tests in CI", "Login must fail with a wrong password", "Handle failures", "Reduce size"]
    {
        assert!(!fails_first(text, ""), "{text}");
    }
    assert!(fails_first("Unit test for x", "Tests for User Story 1 (OPTIONAL)"));
    assert!(!fails_first("Model for x", "Implementation for User Story 1"));
}
