//! A feature of Spec Kit.

use super::*;

const LIST: &str = "specs/001-albums/tasks.md";

/// The example without what a person has to do.
fn albums(others: &str) -> Sandbox {
    let sandbox = project("speckit", &well(others));
    let list = sandbox.read(LIST).replace("- [ ] T008 Ask the team whether the names are clear\n", "");
    sandbox.write(LIST, &list);
    sandbox.commit("Nobody is asked");
    sandbox
}

/// What good agents do, but for what `others` says.
pub(super) fn well(others: &str) -> String {
    let work = [
        ("T001", "append albums.sh echo again"),
        ("T002", "write tests/add.sh grep -q kept albums.sh"),
        ("T003", "write tests/twice.sh grep -q kept albums.sh"),
        ("T004", "append albums.sh echo kept"),
        ("T005", "append albums.sh echo shown"),
        ("T006", "write docs/albums.md albums.sh add and albums.sh show"),
    ];
    let usual = work.iter().filter(|(id, _)| !others.contains(&format!("[{id}]")));
    usual.map(|(id, line)| format!("[{id}]\n{line}\n")).collect::<String>() + others
}

#[test]
fn a_feature_is_shown_as_a_plan() {
    let sandbox = project("speckit", "");
    let shown = sandbox.run("plan specs/001-albums/tasks.md").exits(0);
    let shown = shown.says("001-albums 8 tasks in 4 groups, 1 claimed done, up to 3 at once");
    let shown = shown.says("Phase 2: User Story 1 - Keep photos in albums (Priority: P1)");
    let shown = shown.says("← T002, T003  specs/001-albums/tasks.md:32  [sh check.sh]");
    let shown = shown.says("tests judge its group from `T004` on");
    let shown = shown.says("critical path 6 steps: T001 → T002 → T004 → T005 → T007 → T008");
    // By its folder, its name and its number.
    for name in ["specs/001-albums", "001-albums", "albums", "001"] {
        assert_eq!(sandbox.run(&format!("plan {name}")).exits(0).stdout, shown.stdout, "{name}");
    }
}

#[test]
fn a_feature_is_worked_through_phase_by_phase_and_ticked() {
    let sandbox = albums("");
    let before = sandbox.read(LIST);
    let _ = sandbox.run("run specs/001-albums").exits(0);
    let mut order = landed(&sandbox);
    assert_eq!(order.len(), 5, "{order:?}");
    order[..2].sort();
    order[3..].sort();
    assert_eq!(
        order,
        ["T002", "T003", "T004", "T005", "T006"],
        "tests that fail at first land before their code"
    );
    let ticked = before.replace("- [ ] T0", "- [X] T0");
    assert_eq!(sandbox.read(LIST), ticked, "the marks have changed, and nothing else");
    let _ = sandbox.run("show T001").exits(0).says("claimed before this run began, not proven");
    let _ = sandbox.run("run specs/001-albums").exits(0).lacks("attempt");
}

#[test]
fn ticks_of_a_feature_are_not_believed_on_request() {
    let sandbox = albums("");
    let _ = sandbox.run("run specs/001-albums --distrust-ticks").exits(0).says("1 tick removed from");
    assert_eq!(landed(&sandbox)[0], "T001");
    assert!(sandbox.read(LIST).contains("- [X] T001"));
}

#[test]
fn an_agent_that_ticks_its_own_copy_changes_nothing_there() {
    let sandbox = albums(&format!(
        "[T006]\nreplace {LIST} [ ] [x]\nwrite docs/albums.md albums.sh add and albums.sh show\n"
    ));
    let before = sandbox.read(LIST);
    let _ = sandbox.run("run specs/001-albums").exits(0);
    assert_eq!(sandbox.read(LIST), before.replace("- [ ] T0", "- [X] T0"));
    let lands = sandbox.git(["show", &format!("HEAD:{LIST}")]);
    assert_eq!(lands.trim_end(), before.trim_end(), "the plan lands as it was");
}

#[test]
fn a_run_that_is_killed_is_resumed_and_ends_with_the_same_list() {
    for point in ["landing.moved:2", "files.written:2", "engine.after-commit:9"] {
        let sandbox = albums("");
        let before = sandbox.read(LIST);
        let killed = sandbox.piton(["run", "specs/001-albums"]).env("PITON_CRASH", point).run();
        assert_eq!(killed.code, None, "{point}: {killed}");
        let _ = sandbox.run("run specs/001-albums").exits(0);
        assert_eq!(sandbox.read(LIST), before.replace("- [ ] T0", "- [X] T0"), "{point}");
        assert_eq!(landed(&sandbox).len(), 5, "{point}");
    }
}

/// A list that is written again may use an id for something else.
#[test]
fn a_task_that_is_called_otherwise_by_now_is_not_ticked() {
    let sandbox = project("speckit", &well(""));
    let _ = sandbox.run("run specs/001-albums").exits(4);
    let other = "- [ ] T002 [P] [US1] Test that albums can be removed in tests/remove.sh";
    let list = sandbox.read(LIST);
    let old = list.lines().find(|line| line.contains(" T002 ")).expect("a line").to_owned();
    sandbox.write(LIST, &list.replace(&old, other));
    for _ in 0..2 {
        let _ = sandbox.run("report T008 done");
        assert!(sandbox.read(LIST).contains(other), "nobody has done this");
        let _ = sandbox.run("doctor").exits(0).lacks("was unticked");
    }
    let _ = sandbox.run("run specs/001-albums").exits(1).says("T002 is completed, and the plan changes it");
    // As it was, it is done.
    sandbox.write(LIST, &list.replace(&old, &old.replace("[X]", "[ ]")));
    let told = sandbox.run("report T008 done");
    let _ = told.says("T002").says("unticked");
    assert!(sandbox.read(LIST).contains(&old));
}

/// `.gitignore` may name a plan that is nobody else's business.
#[test]
fn documents_that_git_ignores_are_copied_into_worktrees() {
    let sandbox = albums("[T004]\nrun test -s specs/001-albums/spec.md\nappend albums.sh echo kept\n");
    let _ = sandbox.git(["rm", "-q", "-r", "--cached", "specs"]);
    sandbox.write(".gitignore", "specs/\n");
    sandbox.commit("The plan is private");
    let _ = sandbox.run("plan specs/001-albums").exits(0).lacks("not committed");
    let _ = sandbox.run("run specs/001-albums").exits(0);
    assert_eq!(landed(&sandbox).len(), 5);
    assert_eq!(sandbox.read(LIST).matches("- [X] T0").count(), 7, "ticked where it is");
    assert!(sandbox.git(["ls-files", "specs"]).is_empty(), "nothing of it landed");
}

#[test]
fn documents_that_are_not_committed_are_said_before_a_run() {
    let sandbox = albums("");
    let _ = sandbox.git(["rm", "-q", "-r", "--cached", "specs"]);
    let _ = sandbox.git(["commit", "-q", "-m", "The plan is not there yet"]);
    let told = sandbox.run("plan specs/001-albums").exits(0);
    let told = told.says(
        "agents are to read 3 files that are not committed, such as specs/001-albums/contracts/commands.md",
    );
    let _ = told.says("specs/001-albums/plan.md specs/001-albums/spec.md && git commit");
}
