//! The good day.

use super::*;

#[test]
fn a_folder_is_worked_on_until_everything_is_confirmed_verified_and_reviewed() {
    let sandbox = habits("");
    let before = sandbox.read(format!("{PLAN}/tasks.md"));
    let _ =
        sandbox.run("plan habits").exits(0).says("3 tasks and a review").says("T2       Count the days ← T1");
    let run = sandbox.run("run habits").exits(0).says("3 tasks and a review");
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    assert_eq!(marks(&sandbox), "xxx");
    insta::assert_snapshot!("finished_state", masked(&sandbox.read(format!("{PLAN}/state.json"))));
    insta::assert_snapshot!("finished_log", masked(&log(&sandbox)));
    let ticked = sandbox.read(format!("{PLAN}/tasks.md"));
    assert_eq!(ticked.replace("- [x] **T", "- [ ] **T"), before, "nothing else of the list has changed");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M .claude/iterative/habits/tasks.md");
    // Whoever asks again finds nothing to do.
    let _ = sandbox.run("run habits").exits(0).lacks("attempt");
    let _ = sandbox.run("status habits").exits(0).says("every task is completed");
}
