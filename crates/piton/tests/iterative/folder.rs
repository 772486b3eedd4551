//! The life of a folder: begun, filled in, worked on, put away; and one of the layout before.

use super::*;

const DAY: &str = "2026-02-01T12:00:00Z";

/// A day that tests can know: the clock is set to it.
fn on_a_day(sandbox: &Sandbox) -> String {
    let wanted: jiff::Timestamp = DAY.parse().expect("a time");
    let by = wanted.as_millisecond() - jiff::Timestamp::now().as_millisecond();
    let file = sandbox.root().join("clock");
    sandbox.write(&file, &by.to_string());
    file.into_string()
}

/// A project in which agents do what the text says.
fn project(sandbox: Sandbox, script: &str) -> Sandbox {
    let (agents, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    let agent = format!("[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{agents}\"]\n");
    let judges = judges(CONTENT.0, CONTENT.1).replace("SIDE", sandbox.root().as_str());
    sandbox.write("piton.toml", &format!("{agent}{judges}[policy]\nbackoff = \"0s\"\n"));
    sandbox.script(script);
    sandbox
}

fn without_git(script: &str) -> Sandbox {
    project(Sandbox::without_git(env!("CARGO_BIN_EXE_piton")), script)
}

const PHASES: [(&str, &str); 4] = [
    ("R1", "sources/readme.md"),
    ("R2", "analysis/findings.md"),
    ("R3", "analysis/synthesis.md"),
    ("R4", "outputs/report.md"),
];

/// What the phases of the template for research make, in the folder of a slug.
fn research(slug: &str) -> String {
    let phase =
        |(id, file)| format!("[{id}]\nwrite .claude/iterative/{slug}/{file} something\nsignal {id}_DONE\n");
    PHASES.into_iter().map(phase).collect()
}

#[test]
fn a_new_folder_is_filled_in_planned_and_run() {
    let sandbox = without_git(&research("why"));
    let wrote = sandbox.run("new iterative why --knowledge research").exits(0);
    let _ = wrote.says("wrote .claude/iterative/why").says("then: piton plan why");
    let plan = ".claude/iterative/why/plan.md";
    let filled = sandbox.read(plan).replace("Gather sources", "Gather what the project says");
    sandbox.write(plan, &filled);
    let _ = sandbox.run("plan why").exits(0).says("Gather what the project says").says("R4");
    let _ = sandbox.run("run why").exits(0);
    assert_eq!(sandbox.read(plan).matches("- [x] **R").count(), 4);
    // What is there stays, and code has a list of another name.
    let _ = sandbox.run("new iterative why --knowledge writing").exits(1).says("already exists");
    assert_eq!(sandbox.read(plan).matches("- [x] **R").count(), 4);
    let _ = sandbox.run("new iterative greet").exits(0);
    assert!(sandbox.exists(".claude/iterative/greet/tasks.md"));
    let _ = sandbox.run("new iterative ../up").exits(2).says("cannot be the name of a folder");
    let _ = sandbox.run("new iterative archive").exits(2).says("choose another name");
    let _ = sandbox.run("new rwkit list --knowledge research").exits(2).says("piton new iterative NAME");
}

#[test]
fn a_finished_folder_is_put_away_by_day_and_what_was_learned_goes_on() {
    let sandbox = without_git("");
    let clock = on_a_day(&sandbox);
    let piton = |line: &str| sandbox.piton(line.split(' ')).env("PITON_CLOCK", &clock).run();
    let lesson = "\\n## Sources die\\n- **When**: gathering\\n- **Problem**: links rot\\n\
                  - **Solution**: keep a copy\\n- **Learned**: R1 iteration 1";
    for away in ["why-20260201", "why-20260201-2"] {
        let lesson = format!("append .claude/iterative/why/guardrails.md {lesson}\n");
        sandbox.script(&research("why").replace("[R1]\n", &format!("[R1]\n{lesson}")));
        let begun = piton("new iterative why --knowledge research").exits(0);
        assert_eq!(begun.contains("1 guardrail from the archive"), away.ends_with("-2"), "{begun}");
        // The run that had this name is put away with its folder.
        let _ = piton("archive why").exits(1).says("no run ");
        let _ = piton("archive").lacks("moved");
        let _ = piton("run why").exits(0);
        let _ = piton("archive why --dry-run").exits(0).says("would move");
        let killed =
            sandbox.piton(["archive"]).env("PITON_CLOCK", &clock).env("PITON_CRASH", "archive.completed");
        assert_eq!(killed.run().code, None);
        let _ = piton("archive").exits(0).says(away);
        assert!(!sandbox.exists(".claude/iterative/why"), "it is still there");
        let folder = format!(".claude/iterative/archive/{away}");
        let state: Value = serde_json::from_str(&sandbox.read(format!("{folder}/state.json"))).expect("JSON");
        assert_eq!(state["phase"], "complete");
        assert!(sandbox.read(format!("{folder}/guardrails.md")).contains("keep a copy"));
        assert!(sandbox.exists(format!("{folder}/outputs/report.md")));
    }
}

#[test]
fn a_folder_that_is_taken_away_can_be_had_back() {
    for is_ignored in [true, false] {
        let sandbox = match is_ignored {
            true => project(Sandbox::new(env!("CARGO_BIN_EXE_piton")), &research("why")),
            false => without_git(&research("why")),
        };
        if is_ignored {
            sandbox.write(".gitignore", ".claude\n");
            sandbox.commit("Settings");
        }
        let _ = sandbox.run("new iterative why --knowledge research").exits(0);
        let _ = sandbox.run("archive why --remove").exits(1);
        let _ = sandbox.run("run why").exits(0);
        let _ = sandbox.run("archive --remove").exits(2);
        let asked = sandbox.run("archive why --remove").exits(2).says("would remove .claude/iterative/why");
        let _ = asked.says("confirm with --yes").says("--remove --yes");
        assert!(sandbox.exists(".claude/iterative/why/outputs/report.md"));
        let remove = ["archive", "why", "--remove", "--yes"];
        assert_eq!(sandbox.piton(remove).env("PITON_CRASH", "archive.kept").run().code, None);
        assert!(sandbox.exists(".claude/iterative/why/outputs/report.md"));
        let removed = sandbox.piton(remove).run().exits(0).says("brings it back");
        assert!(!sandbox.exists(".claude/iterative/why") && !sandbox.exists(".claude/iterative/archive/why"));
        let words: Vec<&str> = removed.stderr.split_whitespace().collect();
        let name = words.iter().position(|word| *word == "restore").map(|nth| words[nth + 1]);
        let name = name.expect("the name of a rescue");
        let _ = sandbox.run(&format!("rescue restore {name} --into ../back")).exits(0);
        let back = sandbox.root().join("back/.claude/iterative/why");
        assert_eq!(sandbox.read(back.join("outputs/report.md")), "something\n");
        assert!(sandbox.read(back.join("state.json")).contains("\"complete\""));
    }
}

const OLDER: &str = ".claude/iterative-dev/greet";

/// A folder of the layout before: other names for the brief, the phases and what was used.
fn older(sandbox: &Sandbox) {
    let state = r#"{"feature": "Greeting", "slug": "greet", "created": "2026-01-02T10:00:00Z",
        "updated": "2026-01-02T11:00:00Z", "phase": "loop", "current_task": "T2",
        "tasks": {"T1": {"status": "done", "iterations": 2}, "T2": {"status": "in_progress", "iterations": 1}}}"#;
    let unit = |id: &str, title: &str| {
        format!(
            "- [ ] **{id}**: {title}\n  - Files: `{id}.txt`\n  - Criteria: it is there\n  - Max iterations: 5\n"
        )
    };
    let list = format!("# Greeting - Tasks\n\n## Tasks\n\n{}{}", unit("T1", "Greet"), unit("T2", "Part"));
    let entry = |id: &str, nth: u32, rest: &str| {
        format!("## {id} - Iteration {nth} - 2026-01-02T10:0{nth}:00Z\n**Did:** some\n{rest}\n\n")
    };
    let log = entry("T1", 1, "**Remaining:** more")
        + &entry("T1", 2, "**Remaining:** None\n**Signal:** T1_DONE")
        + &entry("T2", 1, "**Remaining:** the end of it");
    sandbox.write(format!("{OLDER}/state.json"), state);
    sandbox.write(format!("{OLDER}/prd.md"), "# Greeting\n\n## Outcome Needed\n\nGreet.\n");
    sandbox.write(format!("{OLDER}/tasks.md"), &list);
    sandbox.write(format!("{OLDER}/progress.md"), &format!("# Progress Log\n\n{log}"));
}

#[test]
fn a_folder_of_the_layout_before_is_brought_to_its_place_and_taken_over() {
    let script = "[T2]\nwrite T2.txt done\nsignal T2_DONE\n";
    let sandbox = project(Sandbox::new(env!("CARGO_BIN_EXE_piton")), script);
    older(&sandbox);
    sandbox.write("T1.txt", "done");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "feat(greet): Greet", "-m", "Task: T1"]);
    let _ = sandbox
        .run("run .claude/iterative-dev/greet")
        .exits(1)
        .says("piton import .claude/iterative-dev/greet");
    let before = sandbox.fingerprint().len();
    let _ = sandbox.run(&format!("import {OLDER} --dry-run")).exits(0).says("would move").says("T1");
    assert!(sandbox.exists(OLDER) && sandbox.fingerprint().len() >= before);
    // Killed on the way, it is done again.
    let killed = sandbox.piton(["import", OLDER]).env("PITON_CRASH", "older.moved").run();
    assert_eq!(killed.code, None, "{killed}");
    let _ = sandbox.run(&format!("import {OLDER}")).exits(0).says("T1       completed");
    assert!(!sandbox.exists(OLDER));
    let place = ".claude/iterative/greet";
    assert!(sandbox.exists(format!("{place}/brief.md")) && !sandbox.exists(format!("{place}/prd.md")));
    let state: Value = serde_json::from_str(&sandbox.read(format!("{place}/state.json"))).expect("JSON");
    assert_eq!((&state["mode"], &state["phase"]), (&"development".into(), &"execute".into()));
    assert_eq!(
        (&state["tasks"]["T1"]["status"], &state["tasks"]["T1"]["iterations_used"]),
        (&"done".into(), &2.into())
    );
    let _ = sandbox.run("run greet").exits(0).lacks("T1       attempt").says("T2       attempt 2");
    // One that cannot be read stays where it is.
    sandbox.write(".claude/iterative-dev/empty/prd.md", "# Nothing\n");
    let _ = sandbox.run("import .claude/iterative-dev/empty").exits(1).says("tasks.md");
    assert!(sandbox.exists(".claude/iterative-dev/empty/prd.md"));
}

/// As people do it, without `piton archive`: the new folder has the same units by name, and they are other work.
#[test]
fn a_folder_that_was_moved_away_and_begun_again_owes_nothing_to_the_old_run() {
    let sandbox = habits("");
    let _ = sandbox.run("run habits").exits(0);
    assert_eq!(statuses(&sandbox), ["done"; 3]);
    let (old, away) =
        (sandbox.project().join(PLAN), sandbox.project().join(".claude/iterative/archive/habits"));
    std::fs::create_dir_all(away.parent().expect("it has one")).expect("writable");
    std::fs::rename(&old, &away).expect("it is there");
    sandbox.copy(format!("{EXAMPLE}/{PLAN}"), PLAN);
    let tasks = sandbox.read(format!("{PLAN}/tasks.md")).replace("**: ", "**: Once more: ");
    sandbox.write(format!("{PLAN}/tasks.md"), &tasks);
    sandbox.commit("Begin again");
    // What the old run made is still there, and is not theirs.
    let again = |id: &str| {
        format!("[{id}]\nwrite again-{id}.txt x\n{}signal {id}_DONE\n", entry(id, 1, "it", "None"))
    };
    sandbox.script(&TASKS.map(again).concat());
    let _ =
        sandbox.run("complete --plan habits").exits(4).says("T1       has changed in the plan, or is new");
    let refused = sandbox.run("run habits").exits(1);
    let first = refused.stderr.lines().find(|line| line.starts_with("hint:"));
    assert!(
        first.is_some_and(|hint| hint.contains("--reset") && hint.contains("begins a new run")),
        "{refused}"
    );
    let run = sandbox.run("run habits --reset").exits(0);
    for id in TASKS {
        assert!(run.contains(&format!("{id}       landed")), "{id}: {run}");
        assert_eq!(sandbox.git(["show", &format!("main:again-{id}.txt")]), "x", "{id}");
    }
    assert_eq!((statuses(&sandbox), marks(&sandbox)), (vec!["done".to_owned(); 3], "xxx".to_owned()));
    let _ = sandbox.run("complete --plan habits").exits(0);
}
