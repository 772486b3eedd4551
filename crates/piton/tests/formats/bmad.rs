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
mod without_a_board {
    use super::*;

    const PLACE: &str = "docs/stories";
    const WORK: &str = "\
[1.1]
write greet.sh printf 'Hello, %s\\n' \"$1\"
[1.2]
write greet.sh test -n \"$1\" || exit 2; printf 'Hello, %s\\n' \"$1\"
[2.1]
write greet.sh test -n \"$1\" || exit 2; printf 'Hallo, %s\\n' \"$1\"
";

    fn stories() -> Sandbox {
        project("bmad-v4", WORK)
    }

    fn story(sandbox: &Sandbox, name: &str) -> String {
        sandbox.read(format!("{PLACE}/{name}.md"))
    }

    #[test]
    fn the_plan_shows_each_story_in_the_order_of_its_number() {
        let sandbox = stories();
        insta::assert_snapshot!(sandbox.run("plan docs/stories").exits(0).to_string(), @r"
        exit: 0
        --- stdout
        stories 3 tasks in 2 groups, up to 3 at once

        Epic 1
          1.1      Greet by name  1.1.greet-by-name.md:1  [sh -n greet.sh]
          1.2      Greet nobody ← 1.1  1.2.greet-nobody.md:1  [sh -n greet.sh]

        Epic 2
          2.1      Greet in German  2.1.greet-in-german.md:1  [left to others: it is a draft]

        critical path 2 steps: 1.1 → 1.2
        --- stderr
        warning: 1 story is a draft
         --> docs/stories/2.1.greet-in-german.md:1:3
          |
        1 | # Story 2.1: Greet in German
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^ left to a person
          |
        help: set the status to `Approved`, and Piton does it
        docs/stories is read as a plan of the bmad-v4 system
        ");
    }

    #[test]
    fn what_is_approved_is_implemented_and_set_to_review() {
        let sandbox = stories();
        let first = story(&sandbox, "1.1.greet-by-name").replace('\n', "\r\n");
        sandbox.write("docs/stories/1.1.greet-by-name.md", &first);
        sandbox.commit("As an editor writes it");
        let (second, draft) = (story(&sandbox, "1.2.greet-nobody"), story(&sandbox, "2.1.greet-in-german"));
        let _ = sandbox.run("run docs/stories").exits(4).lacks("attempt 2");
        assert_eq!(landed(&sandbox), ["1.1", "1.2"]);
        let ticked = first.replace("Approved", "Review").replace("- [ ] Task", "- [x] Task");
        let ticked = ticked.replace("- [ ] Print", "- [x] Print");
        assert_eq!(story(&sandbox, "1.1.greet-by-name"), ticked, "boxes elsewhere stay open");
        let reviewed = second.replace("Approved", "Review").replace("- [ ]", "- [x]");
        assert_eq!(story(&sandbox, "1.2.greet-nobody"), reviewed);
        assert_eq!(story(&sandbox, "2.1.greet-in-german"), draft);
        // A status that somebody takes back is set again: what is completed stays completed.
        sandbox.write("docs/stories/1.2.greet-nobody.md", &second);
        let _ = sandbox.run("run docs/stories").exits(4).lacks("attempt");
        assert_eq!(story(&sandbox, "1.2.greet-nobody"), reviewed);
        // A draft that is approved is one more task.
        sandbox.write("docs/stories/2.1.greet-in-german.md", &draft.replace("Draft", "Approved"));
        let _ = sandbox.run("run docs/stories").exits(0);
        assert_eq!(landed(&sandbox), ["1.1", "1.2", "2.1"]);
        assert!(story(&sandbox, "2.1.greet-in-german").contains("Review"));
    }

    #[test]
    fn a_status_that_is_set_during_a_run_is_a_claim() {
        let sandbox = stories();
        let _ = sandbox.run("next --plan docs/stories").exits(0);
        let before = story(&sandbox, "1.2.greet-nobody");
        sandbox.write("docs/stories/1.2.greet-nobody.md", &before.replace("Approved", "Done"));
        let _ = sandbox.run("journal add looked").exits(0);
        assert_ne!(status(&sandbox, "1.2"), "completed");
        assert_eq!(story(&sandbox, "1.2.greet-nobody"), before);
    }
}

/// The list of stories of a spec.
mod of_a_spec {
    use super::*;

    const PLACE: &str = "_bmad-output/specs/spec-greetings";
    const WORK: &str = "\
[1]
write greet.sh printf 'Hello, %s\\n' \"$1\"
write _bmad-output/specs/spec-greetings/stories/3-made-up.md x
[2]
write greet.sh test -n \"$1\" || exit 2; printf 'Hello, %s\\n' \"$1\"
[3]
write greet.sh test -n \"$1\" || exit 2; printf 'Hallo, %s\\n' \"$1\"
";

    fn spec() -> Sandbox {
        project("bmad-stories", WORK)
    }

    fn file(sandbox: &Sandbox, name: &str) -> String {
        sandbox.read(format!("{PLACE}/{name}"))
    }

    #[test]
    fn the_plan_shows_the_stories_and_where_a_person_looks() {
        let sandbox = spec();
        let plan = sandbox.run(&format!("plan {PLACE}")).exits(0);
        insta::assert_snapshot!(plan.to_string(), @r"
        exit: 0
        --- stdout
        spec-greetings 5 tasks in 1 group, up to 3 at once

        spec-greetings
          1        Greet by name  _bmad-output/specs/spec-greetings/stories/1-greet-by-name.md:2  [sh -n greet.sh]
          2        Greet nobody ← 1  _bmad-output/specs/spec-greetings/stories/2-greet-nobody.md:2  [grep -q 'exit 2' greet.sh; sh -n greet.sh]
          2.done   Look at what was made: Greet nobody ← 2  _bmad-output/specs/spec-greetings/stories.yaml:13  [done by a person]
          3.spec   Look at the plan of: Greet in German ← 2, 2.done  _bmad-output/specs/spec-greetings/stories.yaml:20  [done by a person]
          3        Greet in German ← 2, 2.done, 3.spec  _bmad-output/specs/spec-greetings/stories.yaml:16  [sh -n greet.sh]

        critical path 5 steps: 1 → 2 → 2.done → 3.spec → 3
        --- stderr
        warning: 1 story has no file
          --> _bmad-output/specs/spec-greetings/stories.yaml:16:3
           |
        16 |   title: Greet in German
           |   ^^^^^^^^^^^^^^^^^^^^^^ Piton does what the list says; BMAD does not see when it is completed
        _bmad-output/specs/spec-greetings/stories.yaml is read as a plan of the bmad-stories system
        ");
        let list = sandbox.run(&format!("plan {PLACE}/stories.yaml")).exits(0);
        assert_eq!(list.stdout, plan.stdout);
    }

    #[test]
    fn a_run_stops_where_a_person_looks_and_writes_into_the_files_of_the_stories_alone() {
        let sandbox = spec();
        let (list, first, second) = (
            file(&sandbox, "stories.yaml"),
            file(&sandbox, "stories/1-greet-by-name.md").replace('\n', "\r\n"),
            file(&sandbox, "stories/2-greet-nobody.md"),
        );
        sandbox.write(format!("{PLACE}/stories/1-greet-by-name.md"), &first);
        sandbox.commit("As an editor writes it");
        let run = sandbox.run(&format!("run {PLACE}")).exits(4);
        let _ = run.lacks("attempt 2").says("piton report 2.done done");
        assert_eq!(landed(&sandbox), ["1", "2"]);
        let ticked = first.replace("'ready-for-dev'", "'in-review'").replace("- [ ]", "- [x]");
        assert_eq!(file(&sandbox, "stories/1-greet-by-name.md"), ticked);
        let reviewed = second.replace("ready-for-dev", "in-review");
        assert_eq!(file(&sandbox, "stories/2-greet-nobody.md"), reviewed);
        let _ = sandbox.run("report 2.done done").exits(0);
        let _ =
            sandbox.run(&format!("run {PLACE}")).exits(4).lacks("attempt").says("piton report 3.spec done");
        let _ = sandbox.run("report 3.spec done").exits(0);
        let _ = sandbox.run(&format!("run {PLACE}")).exits(0);
        assert_eq!(landed(&sandbox), ["1", "2", "3"]);
        assert_eq!(file(&sandbox, "stories.yaml"), list);
        assert_eq!(file(&sandbox, "stories/2-greet-nobody.md"), reviewed);
        // The third one has no file. Neither Piton makes one, nor may the agent of another story.
        let files = sandbox.git(["ls-files", "--cached", "--others", "--", PLACE]);
        assert_eq!(files.lines().filter(|name| name.contains("/stories/")).count(), 2, "{files}");
    }

    #[test]
    fn a_status_that_is_set_during_a_run_is_a_claim() {
        let sandbox = spec();
        let _ = sandbox.run(&format!("next --plan {PLACE}")).exits(0);
        let before = file(&sandbox, "stories/2-greet-nobody.md");
        let done = before.replace("ready-for-dev", "done");
        sandbox.write(format!("{PLACE}/stories/2-greet-nobody.md"), &done);
        let _ = sandbox.run("journal add looked").exits(0);
        assert_ne!(status(&sandbox, "2"), "completed");
        assert_eq!(file(&sandbox, "stories/2-greet-nobody.md"), before);
        let _ = sandbox.run("log").exits(0).says("2-greet-nobody.md");
    }

    #[test]
    fn a_blocked_story_holds_up_those_after_it_until_its_file_says_otherwise() {
        let sandbox = spec();
        let second = file(&sandbox, "stories/2-greet-nobody.md");
        let write = |text: &str| {
            sandbox.write(format!("{PLACE}/stories/2-greet-nobody.md"), text);
            sandbox.commit("Another status");
        };
        write(&second.replace("ready-for-dev", "blocked"));
        let told = sandbox.run(&format!("plan {PLACE}")).exits(0);
        let _ = told.says("1 story is blocked").says("left to others: it is blocked");
        let _ = sandbox.run(&format!("run {PLACE}")).exits(4);
        assert_eq!(landed(&sandbox), ["1"]);
        write(&second);
        let _ = sandbox.run(&format!("run {PLACE}")).exits(4);
        assert_eq!(landed(&sandbox), ["1", "2"]);
    }
}
