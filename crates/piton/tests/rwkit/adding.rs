//! One more task: by command, and by the document's own recipe; with an engine at work, and without one.

use super::*;

/// The recipe of the document, with its variables filled in.
fn adds(id: &str, about: &str, story: &str, needs: &str) -> String {
    format!(
        r#".tasks["{id}"] = {{
            "description": "{about}", "status": "pending", "agent": "writer", "batch_id": null, "story_id": "{story}",
            "dependencies": {needs}, "started_at": null, "completed_at": null, "files_modified": [],
            "files_mentioned": [], "error": null,
            "verification": {{ "agent_done": false, "files_exist": false, "state_synced": false }}
        }} | .progress.total_tasks += 1 | .progress.pending += 1 | .updated_at = (now | todate)"#
    )
}

const MORE: [&str; 14] = [
    "add",
    "T007",
    "--title",
    "Tell more",
    "--after",
    "T006",
    "--file",
    "docs/more.md",
    "--story",
    "US-001",
    "--agent",
    "writer",
    "--size",
    "S",
];
const LINE: &str =
    "- [x] T007 P2 US-001 Tell more [agent: writer] [deps: T006] [files: docs/more.md] [size: S]\n";

/// How often a text is printed.
fn times(output: &str, what: &str) -> usize {
    output.matches(what).count()
}

#[test]
fn a_task_is_added_to_the_list_and_to_the_run() {
    let sandbox = receipts("", "[T007]\nwrite docs/more.md more\n");
    let _ = sandbox.run(RUN).exits(0);
    let before = sandbox.read(LIST);
    let _ = sandbox.piton(MORE).run().exits(0).says("has taken up T007");
    let _ = sandbox.piton(MORE).run().exits(0).says("T007 is already in the plan");
    // Behind the tasks of its story, and nothing else is touched.
    let line = LINE.replace("[x]", "[ ]");
    let story = "[size: S]\n\n### Story Progress: 0/3\n\n## User Story: US-002";
    let grown = story.replacen("[size: S]\n", &format!("[size: S]\n{line}"), 1);
    assert_eq!(sandbox.read(LIST), before.replacen(story, &grown, 1));
    // What was passed has not seen it.
    assert_eq!(state(&sandbox)["quality_gates"]["unit_tests"], Value::Null);
    let _ = sandbox.run(RUN).exits(0).says("T007     landed").lacks("T006     attempt");
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(file["tasks"]["T007"]["batch_id"], 3);
    assert_eq!(
        (&file["tasks"]["T007"]["story_id"], &file["tasks"]["T007"]["agent"]),
        (&"US-001".into(), &"writer".into())
    );
    assert_eq!(file["quality_gates"]["unit_tests"], "passed");
    assert!(sandbox.read(LIST).contains(LINE), "{}", sandbox.read(LIST));
}

#[test]
fn a_task_is_added_by_command_beside_an_engine() {
    let sandbox =
        receipts("", "[T001]\nmeet SIDE/gate\nwrite receipts.sh help\n[T007]\nwrite docs/more.md more\n");
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T001     attempt 1 started");
    let _ = sandbox.piton(MORE).run().exits(0).says("has taken up T007");
    // One that nothing stands in the way of belongs to the batch that is being worked on.
    let _ = sandbox.piton(["add", "T008", "--title", "Tell early", "--file", "docs/early.md"]).run().exits(0);
    act(
        &sandbox,
        "[T001]\nmeet SIDE/gate\nwrite receipts.sh help\n[T007]\nwrite docs/more.md more\n[T008]\nwrite docs/early.md x\n",
    );
    assert_eq!(state(&sandbox)["tasks"]["T008"]["batch_id"], 0);
    sandbox.meet("gate");
    let run = run.wait().exits(0);
    for id in TASKS.iter().chain(&["T007", "T008"]) {
        assert_eq!(times(&run.stderr, &format!("{id}     landed")), 1, "{run}");
    }
    let place = |text: &str| run.stderr.find(text).unwrap_or_else(|| panic!("{text}: {run}"));
    assert!(place("T006     landed") < place("T007     attempt 1 started"), "{run}");
    assert!(place("T008     landed") < place("T002     attempt 1 started"), "{run}");
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!((&file["status"], &file["progress"]["completed"]), (&"completed".into(), &8.into()));
    assert_eq!(marks(&sandbox), "xxxxxxxx");
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn a_task_is_added_by_the_recipe_beside_an_engine() {
    let more = "[task-007]\nwrite docs/more.md more\n";
    let sandbox = receipts("", &format!("[T001]\nmeet SIDE/gate\nwrite receipts.sh help\n{more}"));
    sandbox.fifo("gate");
    let mut run = sandbox.piton(RUN.split(' ')).spawn();
    run.until_says("T001     attempt 1 started");
    let added = adds("task-007", "Tell more", "US-001", r#"["T003"]"#);
    let added = format!(r#"{added} | .logs += [{{"level": "info", "message": "it is there"}}]"#);
    if !recipe(&sandbox, &added) {
        sandbox.meet("gate");
        let _ = run.wait();
        return;
    }
    run.until_says("it is there");
    sandbox.meet("gate");
    let run = run.wait().exits(0);
    assert_eq!(times(&run.stderr, "task-007 landed"), 1, "{run}");
    let list = sandbox.read(LIST);
    assert_eq!(
        times(&list, "- [x] task-007 P2 US-001 Tell more [agent: writer] [deps: T003]\n"),
        1,
        "{list}"
    );
    let file = state(&sandbox);
    is_counted(&file);
    assert_eq!(file["user_stories"]["US-001"]["total_tasks"], 3);
    assert_eq!(file["tasks"]["task-007"]["status"], "completed", "{file:#}");
}

#[test]
fn a_task_that_is_added_by_the_recipe_is_there_once_wherever_we_die() {
    for point in ["add.before-write", "add.written", "files.added", "files.before-write", "files.written"] {
        let sandbox = receipts("", "[T007]\nwrite docs/more.md more\n");
        let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
        if !recipe(&sandbox, &adds("T007", "Tell more", "US-002", r#"["T006"]"#)) {
            return;
        }
        let looks = ["journal", "add", "looked"];
        let killed = sandbox.piton(looks).env("PITON_CRASH", format!("{point}:1")).run();
        assert_eq!(killed.code, None, "{point}: {killed}");
        let run = sandbox.run(RUN).exits(0);
        assert_eq!(times(&run.stderr, "T007     landed"), 1, "{point}: {run}");
        assert_eq!(times(&sandbox.read(LIST), "T007"), 1, "{point}");
        let events = sandbox.run("log --json").exits(0).stdout;
        let added = times(&events, "\"event\":\"task_added\"");
        assert_eq!(added, 6 + 2 + 1, "{point}: the tasks, two gates, and this one");
        is_counted(&state(&sandbox));
        let _ = sandbox.run("doctor").exits(0);
    }
}

/// The list has the first of them, the run has none.
#[test]
fn two_tasks_that_are_added_by_the_recipe_are_there_although_we_die_between_them() {
    let sandbox = receipts("", "[T007]\nwrite docs/more.md more\n[T008]\nwrite docs/most.md most\n");
    let _ = sandbox.run(&format!("next --plan {LIST}")).exits(0);
    let both = ["T007", "T008"].map(|id| adds(id, &format!("Tell {id}"), "US-002", r#"["T006"]"#));
    if !recipe(&sandbox, &both.join(" | ")) {
        return;
    }
    let killed = sandbox.piton(["journal", "add", "looked"]).env("PITON_CRASH", "add.written:1").run();
    assert_eq!(killed.code, None, "{killed}");
    let run = sandbox.run(RUN).exits(0).lacks("rejected an edit");
    for id in ["T007", "T008"] {
        assert_eq!(times(&run.stderr, &format!("{id}     landed")), 1, "{run}");
        assert_eq!(times(&sandbox.read(LIST), &format!("- [x] {id}")), 1);
    }
    is_counted(&state(&sandbox));
}

#[test]
fn a_task_that_is_added_by_the_recipe_is_taken_up_although_the_list_was_edited_too() {
    let sandbox = receipts("", "[T007]\nwrite docs/more.md more\n");
    let _ = sandbox.run(&format!("next --plan {LIST}")).exits(0);
    sandbox.write(LIST, &sandbox.read(LIST).replace("Find receipts by shop", "Find receipts by their shop"));
    if !recipe(&sandbox, &adds("T007", "Tell more", "US-002", r#"["T006"]"#)) {
        return;
    }
    let run = sandbox.run(RUN).exits(0).says("adopted as it is now").lacks("rejected an edit");
    assert_eq!(times(&run.stderr, "T007     landed"), 1, "{run}");
}

/// An edit of the list in the very moment in which a task is added is kept, and so is the task.
#[test]
fn a_list_that_somebody_writes_meanwhile_keeps_both() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    let mut adding = sandbox.piton(MORE).pausing_at(&sandbox, "add.before-write", 1).spawn();
    let pause = adding.until_paused(&sandbox);
    sandbox.write(LIST, &(sandbox.read(LIST) + "\nA word of mine.\n"));
    drop(pause);
    let _ = adding.wait().exits(0).says("has taken up T007");
    let list = sandbox.read(LIST);
    assert!(list.ends_with("\nA word of mine.\n") && list.contains(&LINE.replace("[x]", "[ ]")), "{list}");
    assert_eq!(times(&list, "T007"), 1);
}

#[test]
fn what_the_list_cannot_hold_is_refused_and_told() {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    let before = sandbox.read(LIST);
    for (id, about, story, needs, why) in [
        ("T007", "Tell", "US-001", r#"["T099"]"#, "the task cannot wait for T099: the plan has no such task"),
        ("T007", "Tell [deps: T001]", "US-001", "[]", "would be read as something else"),
        ("sweep", "Tell", "US-001", "[]", "cannot be a task of a list; like T012"),
        ("T007", "Tell", "the shop", "[]", "would be read as something else"),
    ] {
        if !recipe(&sandbox, &adds(id, about, story, needs)) {
            return;
        }
        let _ = sandbox.run("journal add looked").exits(0);
        let told = sandbox.run("log").exits(0);
        assert!(told.contains(why), "{why}: {told}");
        assert!(sandbox.read(format!("{STATE}.refused")).contains(about), "it is kept");
        assert_eq!(state(&sandbox)["tasks"].get(id), None);
    }
    assert_eq!(sandbox.read(LIST), before);
    let _ =
        sandbox.piton(["add", "T007", "--title", "x", "--check", "true"]).run().exits(1).says("[defaults]");
}
