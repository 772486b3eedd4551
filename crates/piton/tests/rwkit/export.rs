//! Runs of other systems written as todolists, and todolists as plans of Piton's own.

use piton_testkit::sandbox::{task, writers};

use super::*;

#[test]
fn a_run_of_pitons_own_goes_on_as_a_list() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let tasks = [
        task("walls", "files = [\"walls.txt\"]"),
        task("roof", "depends_on = [\"walls\"]\nfiles = [\"roof.txt\"]\nattempts = 1"),
        task("gate-front", "depends_on = [\"roof\"]\nfiles = [\"gate-front.txt\"]"),
    ];
    sandbox.plan(&tasks.concat());
    sandbox.script(&(writers(&["walls"]) + "[roof]\nsay no\n"));
    let _ = sandbox.run("run plan.toml").exits(4);
    let told = sandbox.run("export --dialect rwkit --out plans").exits(0);
    for line in [
        "id: called `T003`   (gate-front)",
        "attempts: 1 → 4   (roof)",
        "status: abandoned → blocked   (roof)",
    ] {
        assert!(told.stdout.contains(line), "{line}: {told}");
    }
    let told = told.stderr.replace(sandbox.project().as_str(), "[PROJECT]");
    assert_eq!(told, "hint: piton plan plans/plan-todolist.md\n");
    let list = sandbox.read("plans/plan-todolist.md");
    assert!(
        list.contains("- [x] T001 ") && list.contains("- [ ] T002 ") && list.contains("- [ ] T003 "),
        "{list}"
    );
    let _ = sandbox.run("plan plans/plan-todolist.md").exits(0).says("3 tasks in 3 batches and 0 gates");
    // The other system finds its state where it looks for it. Here Piton plays the other system.
    sandbox.write(STATE, &sandbox.read("plans/rw-kit.state.json"));
    let (script, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    sandbox.write(
        "piton.toml",
        &format!("[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{script}\"]\n"),
    );
    sandbox.commit("Exported");
    let _ = sandbox.run("import plans/plan-todolist.md").exits(0);
    let file = state(&sandbox);
    assert_eq!(file["tasks"]["T001"]["status"], "completed", "{file:#}");
    assert_eq!(file["tasks"]["T003"]["dependencies"], serde_json::json!(["T002"]));
    sandbox.script("[T002]\nwrite roof.txt x\n[T003]\nwrite gate-front.txt x\n");
    let _ = sandbox.run("retry T002 --plan plans/plan-todolist.md").exits(0);
    let _ =
        sandbox.run("run plans/plan-todolist.md").exits(0).lacks("T001     attempt").says("T003     landed");
}

#[test]
fn a_list_becomes_a_plan_of_pitons_own_with_the_same_tasks() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    let read_only = sandbox.run("export --dialect todo --out list").exits(2);
    let _ = read_only.says("nothing was written").says("--dialect native").lacks("panicked");
    assert!(!sandbox.exists("list"));
    let _ = sandbox.run("export --dialect native --out kept").exits(0);
    let told = |plan: &str| {
        let text = sandbox.run(&format!("plan {plan} --json")).exits(0).stdout;
        let mut tasks = serde_json::from_str::<Value>(&text).expect("JSON")["tasks"].take();
        // What tells the author's words from those of the system has no key of its own.
        for task in tasks.as_array_mut().expect("a list") {
            task.as_object_mut().expect("a task").remove("source");
        }
        tasks
    };
    assert_eq!(told("kept/1-1-receipts.toml"), told(LIST));
}
