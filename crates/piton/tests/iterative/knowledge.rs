//! Work that is not code: in a folder without git, and in a repository, with the same gates.

use super::*;

const KNOWLEDGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/iterative/knowledge");
const BENCH: &str = ".claude/iterative/bench";
const NOTICE: &str = ".claude/iterative/bench-notice";

/// What a good agent does for each phase of the two examples. Their ids are the same, so each script is one example's.
fn research() -> String {
    let r1 = "write PLAN/sources/oak.md material/oak.md: 640\nwrite PLAN/sources/steel.md material/steel.md: 990\n";
    phase("R1", r1)
        + &phase("R2", "write PLAN/analysis/comparison.md oak 64 a year, steel 39.60\n")
        + &phase("R3", "write PLAN/outputs/report.md Steel, and in the shade.\n")
}

fn notice() -> String {
    phase("R1", "write PLAN/analysis/facts.md oak 640 (oak.md), steel 990 (steel.md)\n")
        + &phase("D1", "write PLAN/drafts/outline.md what, when, who to tell\n")
        + &phase("D2", "write PLAN/outputs/notice.md There will be a bench.\n")
}

fn phase(id: &str, work: &str) -> String {
    format!("[{id}]\n{work}{}signal {id}_DONE\n", logged(id, 1, "None"))
}

fn logged(id: &str, number: u32, remaining: &str) -> String {
    let words = format!("## {id} - Iteration {number}\\n**Did:** some of it\\n**Remaining:** {remaining}");
    format!("append PLAN/progress.md \\n{words}\\n**Blockers:** None\n")
}

/// A copy of the examples, whose agents do this in the folder of a plan.
fn examples(sandbox: Sandbox, plan: &str, script: &str) -> Sandbox {
    sandbox.copy(KNOWLEDGE, "");
    let (agents, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    let agent = format!("\n[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{agents}\"]\n");
    let judges = judges(CONTENT.0, CONTENT.1).replace("SIDE", sandbox.root().as_str());
    let policy = "[policy]\nbackoff = \"0s\"\n";
    sandbox.write("piton.toml", &(sandbox.read("piton.toml") + &agent + &judges + policy));
    sandbox.script(&script.replace("PLAN", plan));
    sandbox
}

fn folder() -> Sandbox {
    Sandbox::without_git(env!("CARGO_BIN_EXE_piton"))
}

fn repository() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_piton"))
}

fn phases(sandbox: &Sandbox, plan: &str, ids: [&str; 3]) -> [String; 3] {
    let state: Value = serde_json::from_str(&sandbox.read(format!("{plan}/state.json"))).expect("JSON");
    ids.map(|id| state["phases"][id]["status"].as_str().unwrap_or("none").to_owned())
}

#[test]
fn research_is_done_in_a_folder_without_git() {
    let sandbox = examples(folder(), BENCH, &research());
    let _ = sandbox.run("plan bench").exits(0).says("R3");
    let run = sandbox.run("run bench").exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(phases(&sandbox, BENCH, ["R1", "R2", "R3"]), ["done"; 3]);
    assert!(!sandbox.exists(".git"));
    insta::assert_snapshot!("knowledge_state", masked(&sandbox.read(format!("{BENCH}/state.json"))));
    assert_eq!(sandbox.read(format!("{BENCH}/plan.md")).matches("- [x] **R").count(), 3);
    let logged = sandbox.read(format!("{BENCH}/progress.md"));
    // Each phase has an entry by its agent, and one by the agent that confirmed it.
    assert_eq!(logged.matches("## R2 - Iteration 1").count(), 2, "{logged}");
    let _ = sandbox.run("run bench").exits(0).lacks("attempt");
    let _ = sandbox.run("doctor").exits(0).lacks("wrong");
    // Sources and outputs are listed, each by its content.
    let status = sandbox.run("status").exits(0).says("sources  oak.md, steel.md");
    let _ = status.says("R3       .claude/iterative/bench/outputs/report.md").lacks("changed since");
    sandbox.write(format!("{BENCH}/outputs/report.md"), "Oak.\n");
    let _ = sandbox.run("status").exits(0).says("changed since it was proven");
    let told: Value = serde_json::from_str(&sandbox.run("status --json").exits(0).stdout).expect("JSON");
    let proven: Vec<&Value> =
        told["outputs"].as_array().expect("a list").iter().map(|one| &one["as_proven"]).collect();
    assert_eq!(proven, [true, true, false]);
    let source = &told["sources"][0];
    assert_eq!(source["path"], format!("{BENCH}/sources/oak.md"));
    assert!(source["content"].as_str().is_some_and(|content| content.len() == 40), "{source}");
}

#[test]
fn writing_follows_research_in_one_plan() {
    let sandbox = examples(folder(), NOTICE, &notice());
    let _ = sandbox.run("run bench-notice").exits(0);
    assert_eq!(phases(&sandbox, NOTICE, ["R1", "D1", "D2"]), ["done"; 3]);
    let state: Value = serde_json::from_str(&sandbox.read(format!("{NOTICE}/state.json"))).expect("JSON");
    assert_eq!(state["domain"], "research, writing");
}

/// A second agent gets the same prompt, finds that something is missing and adds it. What it wrote
/// into is ignored by git, or there is no git: it is work all the same.
#[test]
fn work_that_a_second_look_finds_in_an_output_counts_also_where_git_ignores_it() {
    // Before, nothing is there; then one line; then two, and nothing is left to do.
    let script = format!(
        "[R3]\nrun sh SIDE/look.sh PLAN/outputs/report.md\n{}signal R3_DONE\n{}",
        logged("R3", 1, "None"),
        research().replace("[R3]", "[unused]")
    );
    let look = "mkdir -p $(dirname $1); test \"$(wc -l < $1)\" = 2 || echo line >> $1\n";
    for is_ignored in [true, false] {
        let sandbox = if is_ignored { repository() } else { folder() };
        let sandbox = examples(sandbox, BENCH, &script);
        sandbox.write(sandbox.root().join("look.sh"), look);
        // There may be a repository among the sources, also one without a commit.
        let inner = sandbox.project().join(BENCH).join("sources/inner");
        std::fs::create_dir_all(&inner).expect("a new folder");
        sandbox.git_in(&inner, ["init", "-q"]);
        if is_ignored {
            sandbox.write(".gitignore", ".claude/\n");
            sandbox.commit("Plan");
        }
        let run = sandbox.run("run bench").exits(0);
        let state: Value = serde_json::from_str(&sandbox.read(format!("{BENCH}/state.json"))).expect("JSON");
        assert_eq!(state["phases"]["R3"]["confirmations_used"], 2, "ignored: {is_ignored}\n{run}");
        assert_eq!(sandbox.read(format!("{BENCH}/outputs/report.md")), "line\nline\n");
        if is_ignored {
            assert_eq!(sandbox.git(["status", "--porcelain"]), "");
            assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
        }
    }
}

/// Where git has the folder, what is made lands like any other work; until then it stays where it is made.
#[test]
fn in_a_repository_that_keeps_the_folder_outputs_land() {
    let sandbox = examples(repository(), BENCH, &research());
    let _ = sandbox.run("run bench").exits(0).says("in place");
    assert_eq!(sandbox.history("main"), ["First commit"]);
    let sandbox = examples(repository(), BENCH, &research());
    sandbox.commit("Plan");
    let _ = sandbox.run("run bench").exits(0).says("landing on main");
    assert_eq!(phases(&sandbox, BENCH, ["R1", "R2", "R3"]), ["done"; 3]);
    let landed = sandbox.git(["ls-files", BENCH]);
    assert!(landed.contains("outputs/report.md") && landed.contains("sources/oak.md"), "{landed}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M .claude/iterative/bench/plan.md");
}

/// Earlier work counts if it is there, in git or not.
#[test]
fn phases_that_are_called_done_are_done_if_their_output_is_there() {
    let told = r#"{"task": "Bench", "mode": "knowledge",
        "phases": {"R1": {"status": "done"}, "R2": {"status": "done"}}}"#;
    for sandbox in [folder(), repository()] {
        let sandbox = examples(sandbox, BENCH, &research());
        sandbox.write(format!("{BENCH}/state.json"), told);
        sandbox.write(format!("{BENCH}/sources/oak.md"), "640");
        if sandbox.exists(".git") {
            sandbox.commit("Plan");
        }
        let run = sandbox.run("run bench").exits(0).says("R1       completed: its outputs exist");
        let _ = run.says("R2       attempt 1").lacks("R1       attempt");
    }
}

/// Killed while its agent works, and again wherever the next one is: the next iteration goes on with what remains.
#[test]
fn killed_and_started_again_it_goes_on_in_place() {
    let half = format!(
        "[R2 1]\nwrite PLAN/analysis/comparison.md oak\n{}\n[R2 2]\nwrite PLAN/analysis/comparison.md oak\\nsteel\n{}signal R2_DONE\n",
        logged("R2", 1, "steel is missing"),
        logged("R2", 2, "None")
    );
    let script = format!("{half}{}", research().replace("[R2]", "[unused]"));
    for point in ["work.ended", "prepare.done", "engine.after-commit", "check.ended"] {
        let sandbox = examples(folder(), BENCH, &script);
        let _ = sandbox.piton(["run", "bench"]).env("PITON_CRASH", format!("{point}:2")).run();
        let _ = sandbox.run("run bench").exits(0);
        assert_eq!(phases(&sandbox, BENCH, ["R1", "R2", "R3"]), ["done"; 3], "killed at {point}");
        assert_eq!(
            sandbox.read(format!("{BENCH}/analysis/comparison.md")),
            "oak\nsteel\n",
            "killed at {point}"
        );
    }
}
