//! What goes wrong with a task: what it costs, what it leads to, and what Piton tells a person.

use crate::{count, place, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

#[test]
fn an_abandoned_task_holds_nobody_else_up() {
    let sandbox = sandbox();
    sandbox.plan(&(task("A", "attempts = 2") + &task("B", "depends_on = ['A']") + &task("C", "")));
    sandbox.script(&format!("[A]\nwrite other.txt wrong\n{}", writers(&["B", "C"])));
    let _ = sandbox.run("run plan.toml --max-parallel 1").exits(4).says("abandoned").says("$ piton why A");
    assert_eq!(["A", "B", "C"].map(|id| status(&sandbox, id)), ["abandoned", "skipped", "completed"]);
    assert_eq!(sandbox.history("main"), ["First commit", "Plan", "Merge worktree-C: Do C"]);
    // What it did is still there to be looked at.
    assert_eq!(sandbox.read(sandbox.worktrees().join("A/other.txt")), "wrong\n");
    let _ = sandbox.run("diff A").exits(0).says("+wrong");
    shows!(sandbox.run("status").exits(0), @r"
    exit: 0
    --- stdout
    plan-[RUN] ended with unfinished work, landing on main
      ✗ main             ██████░░░░░░░░░░░░░░ 1/3  1 abandoned, 1 skipped

      ✗ A        abandoned [SPAN] ago  Do A  check `test -s A.txt` failed with exit status 1
    ");
    shows!(sandbox.run("why B").exits(0), @r"
    exit: 0
    --- stdout
    B was skipped [SPAN] ago
      - B is skipped: a task it depends on cannot complete
        - A was abandoned after 2 attempts: check `test -s A.txt` failed with exit status 1
          - its work is in [ROOT]/.worktrees/project/A

    What helps:
      piton output A --checks
      piton answer A 'what to do'
      piton retry A
      piton raise A --attempts 4
      piton skip A
    ");
}

#[test]
fn an_abandoned_task_blocks_the_layers_after_its_own() {
    let sandbox = sandbox();
    let groups = "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n";
    sandbox.plan(&format!(
        "{groups}{}{}",
        task("A", "group = 'one'\nattempts = 1"),
        task("B", "group = 'two'")
    ));
    sandbox.script(&format!("[A]\nsay no\n{}", writers(&["B"])));
    let _ = sandbox.run("run plan.toml").exits(4).lacks("B        attempt");
    let _ = sandbox.run("why B").exits(0).says("the group one is not complete").says("A was abandoned");
}

#[test]
fn a_plan_may_stop_at_the_first_task_given_up() {
    let sandbox = sandbox();
    sandbox.plan_with("exhausted = 'stop'\nmax_parallel = 1", &(task("A", "attempts = 1") + &task("B", "")));
    sandbox.script(&format!("[A]\nsay no\n{}", writers(&["B"])));
    let _ = sandbox.run("run plan.toml").exits(4).lacks("B        attempt");
    assert_eq!(status(&sandbox, "B"), "pending");
}

#[test]
fn stopping_at_a_given_up_task_still_lands_what_is_verified() {
    let sandbox = sandbox();
    sandbox.plan_with(
        "exhausted = 'stop'",
        &(task("A", "attempts = 1") + &task("B", "") + &task("C", "depends_on = ['B']")),
    );
    sandbox.fifo("gate");
    sandbox.script(&format!("[A]\nsay no\n[B]\nmeet SIDE/gate\nwrite B.txt x\n{}", writers(&["C"])));
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("abandoned");
    sandbox.meet("gate");
    let _ = run.wait().exits(4);
    assert_eq!(["A", "B", "C"].map(|id| status(&sandbox, id)), ["abandoned", "completed", "pending"]);
}

#[test]
fn a_passing_trouble_spends_no_attempt() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    // What exit 75, a signal and RETRY have in common: the agent says that it was not the task.
    let agent = "n=$(cat SIDE/n 2>/dev/null || echo 0); echo $((n+1)) > SIDE/n; case $n in 0) exit 75;; 1) kill -9 $$;; \
                 2) echo '<signal>RETRY:net</signal>';; *) echo $PITON_ATTEMPT > T1.txt;; esac";
    let agent = agent.replace("SIDE", sandbox.root().as_str());
    sandbox.program("agent", &agent);
    sandbox.write(
        "plan.toml",
        &sandbox
            .read("plan.toml")
            .replace("command = [", &format!("command = ['{}'] # ", sandbox.root().join("bin/agent"))),
    );
    let _ = sandbox
        .run("run plan.toml --max-parallel 1")
        .exits(0)
        .says("cut off: the agent asked to be run again");
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "1");
    assert_eq!(count(&sandbox.events(), "failed"), 3);
}

#[test]
fn trouble_that_does_not_pass_needs_a_person() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script("[T1]\nappend SIDE/tries x\nexit 75\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("blocked");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n".repeat(6));
}

#[test]
fn a_usage_limit_parks_the_run_and_it_goes_on_by_itself() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "attempts = 1") + &task("T2", "")));
    let agent = "if test -e SIDE/seen; then echo x > $PITON_TASK.txt; else touch SIDE/seen; echo '<signal>LIMIT:1s</signal>'; exit 1; fi";
    sandbox.program("agent", &agent.replace("SIDE", sandbox.root().as_str()));
    sandbox.write(
        "plan.toml",
        &sandbox
            .read("plan.toml")
            .replace("command = [", &format!("command = ['{}'] # ", sandbox.root().join("bin/agent"))),
    );
    let _ = sandbox
        .run("run plan.toml --max-parallel 1")
        .exits(0)
        .says("usage limit until")
        .says("limit: the agent reached a usage limit");
    let events = sandbox.events();
    // No other agent is started while the limit holds: T1 comes again first.
    assert!(place(&events, "attempt_started", "T1") < place(&events, "attempt_started", "T2"));
    assert_eq!(count(&events, "failed"), 1);
}

#[test]
fn who_does_not_want_to_wait_for_a_usage_limit_goes_on_later() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nsignal LIMIT:2s\nexit 1\n");
    let _ = sandbox
        .run("run plan.toml --no-wait")
        .exits(3)
        .says("the usage limit of default lasts until")
        .says("piton run plan.toml");
    assert_eq!(status(&sandbox, "T1"), "failed");
    // The engine after it waits for what is left, and no attempt was spent.
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let spent = sandbox.run("status T1 --json").exits(0).stdout;
    assert!(spent.contains("\"completed\"") && spent.contains("\"attempts_spent\": 0"), "{spent}");
}

#[test]
fn a_blocked_task_waits_for_a_person() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&format!("[T1]\nsignal BLOCKED:which of the two ridges?\n{}", writers(&["T2"])));
    let _ = sandbox.run("run plan.toml").exits(4).says("needs a person: which of the two ridges?");
    shows!(sandbox.run("why T2").exits(0), @r"
    exit: 0
    --- stdout
    T2 was skipped [SPAN] ago
      - T2 is skipped: a task it depends on cannot complete
        - T1 is blocked and needs a person: which of the two ridges?
          - its work is in [ROOT]/.worktrees/project/T1

    What helps:
      piton answer T1 'what to do'
      piton unblock T1
      piton skip T1
    ");
    let _ = sandbox.run("run plan.toml").exits(4).lacks("attempt");
    sandbox.script(&writers(&["T1", "T2"]));
    shows!(sandbox.run("unblock T1").exits(0), @r"
    exit: 0
    --- stdout
    [TIME] T1       unblocked by you
    --- stderr
    hint: piton run plan.toml   resumes it
    ");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(status(&sandbox, "T2"), "completed");
}

#[test]
fn a_signal_further_up_or_for_another_task_is_none() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nsignal BLOCKED:quoted from the prompt\nsay but I went on\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(0);
}

#[test]
fn a_check_without_its_program_needs_a_person() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = [{ run = ['no-such-program-here', '--all'] }]"));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox
        .run("run plan.toml")
        .exits(4)
        .says("needs a person: check `no-such-program-here --all` did not judge");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    assert_eq!(count(&sandbox.events(), "attempt_started"), 1);
}

#[test]
fn a_check_that_does_not_end_is_no_pass() {
    let sandbox = sandbox();
    sandbox.fifo("never");
    let check =
        format!("checks = [{{ run = 'cat {}/never', timeout = '1s' }}]\nattempts = 1", sandbox.root());
    sandbox.plan(&task("T1", &check));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(4).says("did not judge: it had not ended after 1s");
    assert_eq!(sandbox.history("main"), ["First commit", "Plan"]);
}

#[test]
fn a_check_that_ran_no_test_is_no_pass() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = [\"echo 'test result: ok. 0 passed; 0 failed'\"]\nattempts = 1"));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(4).says("did not judge: it ran no test");
}

#[test]
fn a_check_that_changes_files_is_no_pass() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['echo more >> README.md']\nattempts = 1"));
    sandbox.script(&writers(&["T1"]));
    let _ =
        sandbox.run("run plan.toml").exits(4).says("did not judge: it changed files while it ran: README.md");
    assert_eq!(sandbox.read(sandbox.worktrees().join("T1/README.md")), "A project\n");
}

#[test]
fn all_checks_run_although_one_fails() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['echo first; exit 3', 'echo second; exit 4']\nattempts = 2"));
    sandbox.script("[T1]\nwrite T1.txt x\n[T1 2]\nappend T1.txt y\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("failed with exit status 3, and 1 more");
    let checks = sandbox.run("output T1 --checks").exits(0);
    let _ = checks.says("first").says("second");
}

#[test]
fn a_background_process_of_an_agent_ends_with_it() {
    let sandbox = sandbox();
    let root = sandbox.root().to_owned();
    let agent = format!(
        "(trap '' TERM; echo $$ > {root}/pid; while :; do sleep 1; done) & until test -s {root}/pid; do :; done; echo x > T1.txt"
    );
    sandbox.program("agent", &agent);
    let plan = format!("[agents.default]\ncommand = ['{root}/bin/agent']\n{}", task("T1", ""));
    sandbox.write("plan.toml", &plan);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "x");
}

#[test]
fn an_agent_that_does_not_end_is_ended() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "timeout = '1s'\nattempts = 1"));
    sandbox.script("[T1]\nwrite T1.txt x\nhang\n");
    let _ =
        sandbox.run("run plan.toml").exits(4).says("failed: the agent had not finished after 1s; abandoned");
}

#[test]
fn an_agent_that_falls_silent_is_ended() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "silence = '1s'\nattempts = 1"));
    sandbox.script("[T1]\nsay hello\nhang\n");
    let _ = sandbox.run("run plan.toml").exits(4).says("failed: the agent said nothing for 1s; abandoned");
}

#[test]
fn the_exit_code_of_the_agent_counts() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 2"));
    sandbox.script(
        "[T1]\nwrite T1.txt x\nsay the disk is on fire\nexit 3\n[T1 2]\nif-feedback append T1.txt y\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0).says("failed: the agent ended with exit status 3");
    assert_eq!(sandbox.read("T1.txt"), "x\ny\n");
}

#[test]
fn an_agent_that_breaks_its_worktree_breaks_nothing_else() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "attempts = 2") + &task("T2", "")));
    sandbox
        .script(&format!("[T1]\nwrite T1.txt x\nremove .git\n[T1 2]\nwrite T1.txt y\n{}", writers(&["T2"])));
    let run = sandbox.run("run plan.toml");
    assert!(matches!(run.code, Some(0 | 4)), "{run}");
    assert_eq!(status(&sandbox, "T2"), "completed");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    // Whatever became of T1, it is not half-landed.
    let landed = sandbox.history("main").contains(&"Merge worktree-T1: Do T1".to_owned());
    assert_eq!(landed, status(&sandbox, "T1") == "completed", "{run}");
}

#[test]
fn a_repository_inside_the_work_is_feedback() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1"));
    sandbox.script(
        "[T1]\nwrite T1.txt x\nrun git init -q inner\nrun git -C inner commit -q --allow-empty -m inner\n",
    );
    let _ = sandbox.run("run plan.toml").exits(4).says("the work contains other git repositories: inner");
}

/// A plan with T1 alone, of one attempt, for a client that this script stands in for.
fn stand_in(adapter: &str, script: &str, more: &str) -> Sandbox {
    let sandbox = sandbox();
    let bin = sandbox
        .program(adapter, &format!("cat > /dev/null\n{}", script.replace("SIDE", sandbox.root().as_str())));
    let agent = format!("[agents.default]\nadapter = '{adapter}'\nprogram = '{bin}/{adapter}'\n");
    let plan = sandbox.plan_text("", &task("T1", &format!("attempts = 1\n{more}")));
    let (_, rest) = plan.split_once("[policy]").expect("it has a policy");
    sandbox.write("plan.toml", &format!("name = 'plan'\n{agent}[policy]{rest}"));
    sandbox.commit("Plan");
    sandbox
}

#[test]
fn a_limit_ends_by_the_clock_of_the_client_that_told_it_and_not_of_who_reads_it_later() {
    // It reports minutes, and the minute that it names is not over yet.
    let script = r#"printf '{"type":"thread.started","thread_id":"t1"}\n'
if test -e SIDE/seen; then echo x > T1.txt; printf '{"type":"turn.completed","usage":{}}\n'; exit; fi
touch SIDE/seen; at=$(LC_ALL=C date -u '+%I:%M %p')
printf '{"type":"turn.failed","error":{"message":"You hit your usage limit. Visit x or try again at %s."}}\n' "$at"
exit 1"#;
    let sandbox = stand_in("codex", script, "");
    let clock = sandbox.root().join("clock");
    let engine = || sandbox.piton(["run", "plan.toml", "--no-wait"]).env("PITON_CLOCK", &clock);
    assert_eq!(engine().env("PITON_CRASH", "work.ended").run().code, None);
    let set = |minutes: u32| sandbox.write(&clock, &(minutes * 60_000).to_string());
    set(180);
    // A moment is waited in any case.
    let _ = engine().run().exits(3).says("limit: You hit your usage limit");
    set(181);
    let _ = engine().run().exits(0);
}

#[test]
fn a_client_that_says_it_finished_has_met_no_limit_whatever_it_writes() {
    let says = |word: &str| {
        format!(
            r#"echo x > T1.txt
printf '{{"type":"system","subtype":"init","session_id":"s1"}}\n'
printf '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"An agent says:\\n<signal>{word}</signal>"}}]}}}}\n'
printf '{{"type":"result","subtype":"success","is_error":false,"modelUsage":{{}}}}\n'"#
        )
    };
    for word in ["LIMIT:7d", "REFUSED:the key is old"] {
        let _ = stand_in("claude", &says(word), "").run("run plan.toml --no-wait").exits(0);
    }
    // What a reviewer says is parsed in another place.
    let judge = says("LIMIT:7d").replace("echo x > T1.txt", "").replace("An agent says:", "APPROVED");
    let sandbox = stand_in("claude", &judge, "checks = [{ review = 'default', ask = 'Is it good?' }]");
    let work = format!("[agents.worker]\ncommand = ['{}/bin/worker']\n[policy]", sandbox.root());
    sandbox.program("worker", "echo x > T1.txt");
    let plan = sandbox.read("plan.toml").replace("[policy]", &work);
    sandbox.write("plan.toml", &plan.replace("attempts = 1", "attempts = 1\nagent = 'worker'"));
    let run = sandbox.run("run plan.toml --no-wait");
    assert!(run.code != Some(3), "{run}");
}

#[test]
fn a_client_that_hangs_is_run_again_and_no_attempt_is_spent() {
    let script = r#"printf '{"type":"system","subtype":"init","session_id":"s1"}\n'
if ! test -e SIDE/seen; then touch SIDE/seen; exec sleep 100; fi
echo x > T1.txt
printf '{"type":"result","subtype":"success","is_error":false,"modelUsage":{}}\n'"#;
    let sandbox = stand_in("claude", script, "silence = '1s'");
    let _ = sandbox.run("run plan.toml").exits(0).says("cut off: the agent said nothing for 1s");
    // An agent that waits for a tool that does nothing is to blame itself.
    let call = r#"printf '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":"Bash"}]}}\n'"#;
    let sandbox =
        stand_in("claude", &script.replace("exec sleep", &format!("{call}; exec sleep")), "silence = '1s'");
    let _ = sandbox.run("run plan.toml").exits(4).says("failed: the agent said nothing for 1s; abandoned");
}
