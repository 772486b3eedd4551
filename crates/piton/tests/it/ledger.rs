//! The ledger: another program or a person does the work, and Piton keeps the state.

use crate::{folder, json, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task};

/// Two tasks, one after the other, in a repository.
fn ledger() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    sandbox
}

#[test]
fn a_plan_named_for_the_first_time_gets_its_run() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    shows!(sandbox.run("next --plan plan.toml").exits(0), @r"
    exit: 0
    --- stdout
    T1       Do T1
    ");
    // Asking again finds the same run.
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("next").exits(0);
    assert_eq!(sandbox.events().iter().filter(|event| event.contains("run_created")).count(), 1);
}

#[test]
fn a_report_of_done_is_proven_by_the_checks() {
    let sandbox = ledger();
    shows!(sandbox.run("start T1").exits(0), @r"
    exit: 0
    --- stdout
    [TIME] T1       attempt 1 started by you
    ");
    let failed = sandbox.run("report T1 done").exits(1);
    shows!(failed, @r"
    exit: 1
    --- stdout
    [TIME] T1       report by you
    [TIME] T1       0 of 1 checks passed
    [TIME] T1       failed: check `test -s T1.txt` failed with exit status 1
    --- stderr
    running `test -s T1.txt`

    Check `test -s T1.txt` failed with exit status 1.
    ");
    assert_eq!(status(&sandbox, "T1"), "failed");
    sandbox.write("T1.txt", "x");
    sandbox.commit("By hand");
    shows!(sandbox.run("report T1 done").exits(0), @r"
    exit: 0
    --- stdout
    [TIME] T1       attempt 2 started by you
    [TIME] T1       report by you
    [TIME] T1       completed, its checks passed
    --- stderr
    running `test -s T1.txt`
    ");
    assert_eq!(status(&sandbox, "T1"), "completed");
    let _ = sandbox.run("next").exits(0).says("T2       Do T2");
    assert_eq!(sandbox.history("main").len(), 3, "the ledger commits nothing");
}

#[test]
fn a_task_without_checks_is_reported_never_proven() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = []"));
    let _ = sandbox
        .run("report T1 done --plan plan.toml --no-change --reason nothing")
        .exits(0)
        .says("completed as reported, not proven");
    let _ = sandbox.run("status --all").exits(0).says("reported, not proven");
    let _ = sandbox.run("why T1").exits(0).says("reported, not proven");
    assert_eq!(json(&sandbox.run("status T1 --json").exits(0), "/proof/proof"), "reported");
}

#[test]
fn reports_of_failure_spend_attempts_and_reports_of_blocked_need_a_person() {
    let sandbox = ledger();
    let _ = sandbox.run("report T1 failed").exits(2).says("say why: --reason TEXT");
    let _ = sandbox.run("report T1 done --reason x").exits(2);
    let _ = sandbox.run("report T1 failed --reason slippery").exits(0).says("failed: slippery");
    assert_eq!(json(&sandbox.run("status T1 --json").exits(0), "/attempts_spent"), 1);
    let _ = sandbox.run("report T1 blocked --reason avalanche").exits(0).says("needs a person: avalanche");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["blocked", "skipped"]);
}

#[test]
fn what_somebody_holds_nobody_else_reports_on() {
    let sandbox = ledger();
    let _ = sandbox.run("start T1 --by ada").exits(0).says("attempt 1 started by ada");
    let _ = sandbox.run("start T1 --by ada").exits(0).says("T1 is already yours");
    let taken = sandbox.run("start T1 --by bob").exits(1).says("T1 is in progress, held by ada");
    let _ = taken.says("piton report T1 done --by ada").says("to free it: piton reset T1");
    sandbox.write("T1.txt", "x");
    sandbox.commit("By hand");
    let taken = sandbox.run("report T1 done --by bob").exits(1).says("T1 is in progress, held by ada");
    let _ = taken.says("to free it: piton reset T1");
    let _ = sandbox.run("next").exits(0).says("held by ada; `piton reset T1` frees it");
    let _ = sandbox.run("status").exits(0).says("held by ada; `piton reset T1` frees it");
    let _ = sandbox.run("why T1").exits(0).says("T1 has been held by ada").says("piton reset T1");
    let _ = sandbox.run("report T1 done --by ada").exits(0);
}

/// A holder's name does not say whether the holder is at work. The command in the hint works, also for a name with a space.
#[test]
fn what_is_held_by_a_name_is_freed_by_the_command_that_is_named() {
    let sandbox = ledger();
    let _ = sandbox.piton(["start", "T1", "--by", "Ada L."]).run().exits(0);
    let _ = sandbox.run("start T1").exits(1).says("piton report T1 done --by 'Ada L.'");
    let _ = sandbox.run("reset T1").exits(0);
    let _ = sandbox.run("start T1").exits(0);
    let _ = sandbox.run("start T1 --by ada").exits(1).says("held by you").says("--by you   if you hold it");
}

#[test]
fn a_hold_that_is_bound_to_a_process_ends_with_it() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return piton_testkit::skipped("processes cannot be watched here");
    }
    let sandbox = ledger();
    let _ = sandbox.run("start T1 --by ada --while 999999999").exits(2).says("cannot be watched");
    let mut client =
        std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
    let pid = client.id().to_string();
    let _ = sandbox.piton(["start", "T1", "--by", "ada", "--while", &pid]).run().exits(0);
    let _ = sandbox.run("next").exits(0).says("held by ada");
    let _ = sandbox.run("why T1").exits(0).says(&format!("as long as process {pid} lives"));
    drop(client.stdin.take());
    client.wait().expect("its end");
    let next =
        sandbox.run("next").exits(0).says(&format!("ada held it through process {pid}, which has ended"));
    let _ = next.lacks("held by ada;");
    assert_eq!((status(&sandbox, "T1").as_str(), spent(&sandbox)), ("pending", 0.into()));
    let _ = sandbox.run("start T1 --by bob").exits(0);
    let _ = sandbox.run("doctor").exits(0);
}

fn spent(sandbox: &Sandbox) -> serde_json::Value {
    json(&sandbox.run("status T1 --json").exits(0), "/attempts_spent")
}

#[test]
fn a_dependency_is_refused_with_the_reason() {
    let sandbox = ledger();
    shows!(sandbox.run("start T2").exits(1), @r"
    exit: 1
    --- stderr
    error: T2 depends on tasks that are not done: T1 (pending)

    hint: `piton why T2` says more
    ");
    let _ =
        sandbox.run("report T2 done").exits(1).says("T2 depends on tasks that are not done: T1 (pending)");
}

#[test]
fn answers_for_scripts_are_json() {
    let sandbox = ledger();
    let next = sandbox.run("next --json").exits(0);
    assert_eq!(json(&next, "/0/id"), "T1");
    let started = sandbox.run("start T1 --json --by bot").exits(0);
    assert_eq!(json(&started, "/event"), "attempt_started");
    sandbox.write("T1.txt", "x");
    sandbox.commit("By hand");
    let done = sandbox
        .run("report T1 done --json --by bot --note fine --file T1.txt --export Rope --decision knots")
        .exits(0);
    for line in done.stdout.lines() {
        let _: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{done}"));
    }
    let log = sandbox.run("log T1 --json").exits(0);
    let _ = log.says(r#""note":"fine""#).says(r#""exports":["Rope"]"#).says(r#""decisions":["knots"]"#);
    let why = sandbox.run("why T1 --json").exits(0);
    assert_eq!(json(&why, "/status"), "completed");
    assert_eq!(json(&sandbox.run("status --json").exits(0), "/counts/completed"), 1);
}

#[test]
fn a_report_from_inside_an_attempt_is_left_for_the_engine() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    let piton = env!("CARGO_BIN_EXE_piton");
    sandbox.script(&format!(
        "[T1]\nwrite T1.txt x\nrun {piton} report T1 done --note half-way\nrun {piton} report T1 done --note all-of-it\n\
         [T2]\nwrite T2.txt x\nrun {piton} report T2 blocked --reason fog\n"
    ));
    let _ = sandbox.run("run plan.toml").exits(4).says("needs a person: fog");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["completed", "blocked"]);
    let _ = sandbox.run("log T1 --json").exits(0).says("all-of-it");
    let _ = sandbox.run("output T1").exits(0);
}

#[test]
fn a_claim_of_done_is_no_proof_for_the_engine_either() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    let piton = env!("CARGO_BIN_EXE_piton");
    sandbox.script(&format!("[T1]\nwrite other.txt x\nrun {piton} report T1 done\nsignal DONE\n"));
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(status(&sandbox, "T1"), "abandoned");
}

#[test]
fn an_agent_cannot_report_on_another_task() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "attempts = 1") + &task("T2", "attempts = 1")));
    let piton = env!("CARGO_BIN_EXE_piton");
    sandbox.script(&format!("[T1]\nrun {piton} report T2 blocked --reason mischief\n[T2]\nwrite T2.txt x\n"));
    let _ = sandbox.run("run plan.toml").exits(4).lacks("mischief");
    assert_eq!(["T1", "T2"].map(|id| status(&sandbox, id)), ["abandoned", "completed"]);
}

#[test]
fn an_agent_can_look_around_from_inside_its_attempt() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let piton = env!("CARGO_BIN_EXE_piton");
    sandbox.script(&format!("[T1]\nrun {piton} status\nrun {piton} why T1\nrun {piton} status --plan {}/plan.toml\nwrite T1.txt x\n", sandbox.project()));
    let _ = sandbox.run("run plan.toml").exits(0).lacks("attempt 2");
}

#[test]
fn the_ledger_works_without_git() {
    let sandbox = folder();
    sandbox
        .write("plan.toml", &sandbox.plan_text("", &(task("T1", "") + &task("T2", "depends_on = ['T1']"))));
    let _ = sandbox.run("next --plan plan.toml").exits(0).says("T1       Do T1");
    assert!(sandbox.exists(".piton/piton.db"));
    let _ = sandbox.run("start T1").exits(0);
    let _ = sandbox.run("report T1 done").exits(1);
    sandbox.write("T1.txt", "x");
    let _ = sandbox.run("report T1 done").exits(0).says("completed, its checks passed");
    let _ = sandbox.run("status").exits(0).says("1/2");
    let _ = sandbox.run("doctor").exits(0).says("no git repository here");
    std::fs::create_dir(sandbox.project().join("deep")).expect("a new folder");
    let _ = sandbox.piton(["next"]).within(sandbox.project().join("deep")).run().exits(0).says("T2");
}

#[test]
fn the_ledger_without_git_needs_no_git_program() {
    let sandbox = folder();
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "checks = []")));
    let bin = sandbox.program("nothing", "exit 0");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let words = ["report", "T1", "done", "--no-change", "--reason", "nothing"];
    let _ = sandbox.piton(words).env("PATH", bin.as_str()).run().exits(0);
}

#[test]
fn an_engine_can_take_over_from_the_ledger() {
    let sandbox = ledger();
    sandbox.write("T1.txt", "x");
    sandbox.commit("By hand");
    let _ = sandbox.run("report T1 done").exits(0);
    sandbox.script("[T2]\nwrite T2.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0).lacks("T1       attempt");
    assert_eq!(sandbox.history("main").last().map(String::as_str), Some("Merge worktree-T2: Do T2"));
}

#[test]
fn an_engine_leaves_alone_what_somebody_holds() {
    let sandbox = ledger();
    let _ = sandbox.run("start T1 --by ada").exits(0);
    let _ = sandbox.run("run plan.toml").exits(3).says("ada");
    assert_eq!(status(&sandbox, "T1"), "in_progress");
}

#[test]
fn of_many_who_ask_at_once_one_gets_the_task() {
    let sandbox = ledger();
    let all: Vec<_> =
        (0..8).map(|n| sandbox.piton(["start", "T1", "--by", &format!("p{n}")]).spawn()).collect();
    let codes: Vec<_> = all.into_iter().map(|one| one.wait().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(1)).count(), 7, "{codes:?}");
    assert_eq!(crate::count(&sandbox.events(), "attempt_started"), 1);
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn a_check_that_changes_files_proves_nothing_in_the_ledger_either() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['echo more >> README.md']"));
    let _ = sandbox
        .run("report T1 done --plan plan.toml")
        .exits(1)
        .says("it changed files while it ran: README.md");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "", "not in the checkout of whoever reports");
}
