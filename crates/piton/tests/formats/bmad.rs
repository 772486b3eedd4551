//! Sprints of BMAD, from outside: the worked example is planned and run, and its files are looked at byte by byte.

use piton_testkit::sandbox::Sandbox;

use crate::{landed, project, status};

const FOLDER: &str = "_bmad-output/implementation-artifacts";
const BOARD: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const FIRST: &str = "1-1-greet-by-name";
const WORK: &str = "\
[1-1-greet-by-name]
write greet.sh printf 'Hello, %s\\n' \"$1\"
[1-2-greet-nobody]
write greet.sh test -n \"$1\" || exit 2; printf 'Hello, %s\\n' \"$1\"
[2-1-greet-in-german]
write greet.sh test -n \"$1\" || exit 2; printf 'Hallo, %s\\n' \"$1\"
";

fn sprint() -> Sandbox {
    project("bmad", WORK)
}

#[test]
fn the_plan_shows_the_stories_of_each_epic_with_what_judges_them() {
    let sandbox = sprint();
    let plan = sandbox.run("plan _bmad-output").exits(0);
    insta::assert_snapshot!(plan.to_string(), @r"
    exit: 0
    --- stdout
    Greetings 3 tasks in 2 groups, up to 3 at once

    Epic 1: Greet
      1-1-greet-by-name Greet by name  _bmad-output/implementation-artifacts/1-1-greet-by-name.md:1  [sh -n greet.sh]
      1-2-greet-nobody Greet nobody ← 1-1-greet-by-name  _bmad-output/implementation-artifacts/1-2-greet-nobody.md:1  [grep -q 'exit 2' greet.sh; sh -n greet.sh]

    Epic 2: Languages
      2-1-greet-in-german Greet in German ← 1-2-greet-nobody  _bmad-output/implementation-artifacts/2-1-greet-in-german.md:8  [grep -q Hallo greet.sh; sh -n greet.sh]

    critical path 3 steps: 1-1-greet-by-name → 1-2-greet-nobody → 2-1-greet-in-german
    --- stderr
    warning: 1 story is in the backlog
      --> _bmad-output/implementation-artifacts/sprint-status.yaml:15:3
       |
    15 |   2-2-greet-in-french: backlog
       |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not a task yet: its story has no file
    _bmad-output/implementation-artifacts/sprint-status.yaml is read as a plan of the bmad system
    ");
    for name in [FOLDER, BOARD] {
        assert_eq!(sandbox.run(&format!("plan {name}")).exits(0).stdout, plan.stdout, "{name}");
    }
}

#[test]
fn a_run_sets_stories_to_review_and_changes_nothing_else() {
    let sandbox = sprint();
    let board = sandbox.read(BOARD).replace('\n', "\r\n");
    sandbox.write(BOARD, &board);
    sandbox.commit("As an editor writes it");
    let story = |key: &str| sandbox.read(format!("{FOLDER}/{key}.md"));
    let (first, third) = (story(FIRST), story("2-1-greet-in-german"));
    let run = sandbox.run("run _bmad-output").exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(landed(&sandbox), [FIRST, "1-2-greet-nobody", "2-1-greet-in-german"]);
    let now = sandbox.read(BOARD);
    let day =
        now.lines().find_map(|line| line.strip_prefix("last_updated: ")).expect("a day").trim().to_owned();
    assert_ne!(day, "2026-01-05");
    let wanted = board
        .replace(": ready-for-dev\r", ": review\r")
        .replace(": ready-for-dev   #", ": review   #")
        .replace("epic-2: backlog", "epic-2: in-progress")
        .replace("last_updated: 2026-01-05", &format!("last_updated: {day}"));
    assert_eq!(now, wanted);
    let ticked = first.replace("Status: ready-for-dev", "Status: review").replace("- [ ]", "- [x]");
    assert_eq!(story(FIRST), ticked);
    let ticked = third.replace("status: ready-for-dev", "status: in-review").replace("- [ ]", "- [x]");
    assert_eq!(story("2-1-greet-in-german"), ticked);
    let _ = sandbox.run("run _bmad-output").exits(0).lacks("attempt");
}

#[test]
fn what_is_reviewed_or_done_is_not_done_again_and_stays_as_it_is() {
    let sandbox = sprint();
    sandbox.write("greet.sh", "printf 'Hello, %s\\n' \"$1\"\n");
    sandbox.write(
        BOARD,
        &sandbox.read(BOARD).replace(&format!("{FIRST}: ready-for-dev"), &format!("{FIRST}: done")),
    );
    sandbox.commit("The first story is done");
    let _ =
        sandbox.run("plan _bmad-output").exits(0).says("the file of 1-1-greet-by-name says `ready-for-dev`");
    let _ = sandbox.run("run _bmad-output").exits(0);
    assert_eq!(landed(&sandbox), ["1-2-greet-nobody", "2-1-greet-in-german"]);
    assert!(sandbox.read(BOARD).contains("1-1-greet-by-name: done"));
    assert!(sandbox.read(format!("{FOLDER}/{FIRST}.md")).contains("Status: ready-for-dev"));
}

#[test]
fn a_word_that_is_set_during_a_run_is_a_claim() {
    let sandbox = sprint();
    let _ = sandbox.run("next --plan _bmad-output").exits(0);
    let before = sandbox.read(BOARD);
    sandbox.write(BOARD, &before.replace(&format!("{FIRST}: ready-for-dev"), &format!("{FIRST}: done")));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_ne!(status(&sandbox, FIRST), "completed");
    assert!(sandbox.read(BOARD).contains("1-1-greet-by-name: ready-for-dev"));
    let _ = sandbox.run("log").exits(0).says("sprint-status.yaml");
}

/// Stories of version 4 say themselves how far they are.
#[test]
fn stories_without_a_board_are_implemented_in_their_order() {
    let sandbox = project("bmad", "[1.1]\nwrite one.txt one\n[1.2]\nwrite two.txt two\n");
    sandbox.git(["rm", "-q", "-r", "_bmad-output"]);
    let story = |number: &str, status: &str| {
        format!(
            "# Story {number}: Text {number}\n\n## Status\n\n{status}\n\n## Story\n\nAs a reader, I want a text.\n\n\
             ## Acceptance Criteria\n\n1. It is there\n\n## Tasks / Subtasks\n\n- [ ] Task 1: Write it (AC: 1)\n"
        )
    };
    sandbox.write("docs/stories/1.1.one.md", &story("1.1", "Approved"));
    sandbox.write("docs/stories/1.2.two.md", &story("1.2", "Approved"));
    sandbox.write("docs/stories/1.3.three.md", &story("1.3", "Draft"));
    let settings = sandbox.read("piton.toml");
    sandbox.write(
        "piton.toml",
        &settings.replace("[defaults]\n", "[defaults]\nchecks = [\"test -e one.txt\"]\n#"),
    );
    sandbox.commit("Stories of version 4");
    let told = sandbox.run("plan docs/stories").exits(0);
    let told = told.says("3 tasks in 1 group").says("Text 1.2 ← 1.1").says("left to others: it is a draft");
    let _ = told.says("is read as a plan of the bmad-v4 system");
    let _ = sandbox.run("init --dry-run").exits(0).says("piton plan docs/stories");
    let _ = sandbox.run("run docs/stories").exits(4).lacks("attempt 2");
    assert_eq!(landed(&sandbox), ["1.1", "1.2"]);
    let done = |number: &str| story(number, "Review").replace("- [ ]", "- [x]");
    assert_eq!(sandbox.read("docs/stories/1.1.one.md"), done("1.1"));
    assert_eq!(sandbox.read("docs/stories/1.2.two.md"), done("1.2"));
    assert_eq!(sandbox.read("docs/stories/1.3.three.md"), story("1.3", "Draft"));
    // A status that somebody takes back is set again: what is completed stays completed.
    sandbox.write("docs/stories/1.1.one.md", &story("1.1", "Approved"));
    let _ = sandbox.run("run docs/stories").lacks("attempt");
    assert!(sandbox.read("docs/stories/1.1.one.md").contains("Review"));
}
