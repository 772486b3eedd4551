//! Whole plans, and what is not done although a client ends well.

use piton_testkit::models::{say, script, shell, tool};
use piton_testkit::sandbox::task;
use serde_json::{Value, json};

use crate::{Bench, Client, run, with_each_client, with_the_others};

with_each_client![
    a_plan_is_worked_on_to_its_last_commit,
    what_a_client_was_not_allowed_or_did_not_do_is_not_done,
    nothing_of_a_client_outlives_it,
    a_client_can_be_tried_out,
    arguments_of_a_profile_reach_the_client,
];

with_the_others![what_a_client_was_not_allowed_or_did_not_do_is_not_done, nothing_of_a_client_outlives_it];

#[test]
fn codex_commits_from_inside_its_own_sandbox() {
    run(Client::Codex, |bench| {
        let mut probe = std::process::Command::new(&bench.program);
        probe.args(["sandbox", "true"]).env("HOME", bench.sandbox.root().join("home"));
        if !probe.output().is_ok_and(|output| output.status.success()) {
            return piton_testkit::skipped("codex cannot put up its own sandbox here");
        }
        let outside = bench.sandbox.root().join("outside.txt");
        let commit = "echo done > T1.txt && git add -A && git commit -qm 'By the agent: T1'";
        let work = [shell(&format!("echo x > {outside}")), shell(commit), say("It is done.")];
        let models = bench.serve([script("Please do T1", work)]);
        bench.plan(&models, &task("T1", ""));
        let _ = bench.run().env("PITON_SANDBOX", "off").run().exits(0);
        let log = bench.sandbox.git(["log", "--format=%s", "main"]);
        assert!(log.contains("By the agent: T1"), "{log}");
        assert!(bench.argv("T1", "1.agent0").contains("workspace-write"));
        assert!(!outside.exists(), "the sandbox was there");
    });
}

#[test]
fn a_shell_that_claude_would_leave_in_the_background_never_begins() {
    run(Client::Claude, |bench| {
        let line = "echo begun > begun.txt; sleep 60";
        let behind = tool("Bash", json!({ "command": line, "run_in_background": true }));
        let here = shell("echo done > T1.txt");
        let models = bench.serve([script("Please do T1", [behind, here, say("It is done.")])]);
        bench.plan(&models, &task("T1", ""));
        let _ = bench.run_fenced().run().exits(0);
        // Claude is told that it has no background, and refuses the call.
        assert!(!bench.sandbox.git(["ls-tree", "--name-only", "main"]).contains("begun.txt"));
        assert_eq!(bench.sandbox.git(["show", "main:T1.txt"]), "done");
        assert_eq!(bench.processes(), []);
    });
}

/// What the model is asked shows that the client has understood them.
fn arguments_of_a_profile_reach_the_client(bench: &Bench) {
    let (args, asked) = match bench.client {
        Client::Claude => (r#"["--append-system-prompt", "Words of the profile."]"#, "Words of the profile."),
        Client::Codex => {
            (r#"["-c", 'developer_instructions="Words of the profile."']"#, "Words of the profile.")
        }
        Client::Gemini | Client::Opencode => unreachable!("it is not among these tests"),
    };
    let models = bench.serve([script("Please do T1", [shell("echo done > T1.txt"), say("It is done.")])]);
    let profile = bench.profile("default", (bench.client, &bench.program), &models, 2);
    bench.plan_of(&format!("{profile}args = {args}\n"), &task("T1", ""));
    let _ = bench.run_fenced().run().exits(0);
    let request = models.last_request();
    assert!(request.contains(asked), "{request}");
}

fn a_plan_is_worked_on_to_its_last_commit(bench: &Bench) {
    let work = |id: &str| {
        script(
            &format!("Please do {id}"),
            [
                shell(&format!("echo \"You've hit your usage limit\" > {id}.txt && cat {id}.txt")),
                shell(&format!("git add -A && git commit -qm 'By the agent: {id}'")),
                say(&format!("It is done.\n<signal>{id}_DONE</signal>")),
            ],
        )
    };
    let review = script("# Review", [say("I looked at it.\n\nFINDINGS: none")]);
    let models = bench.serve([review, work("T1"), work("T2"), work("T3")]);
    let reviewed = "checks = [\"test -s T3.txt\", { review = \"default\" }]\ndepends_on = [\"T1\", \"T2\"]";
    bench.plan(&models, &[task("T1", ""), task("T2", ""), task("T3", reviewed)].concat());
    let _ = bench.run_fenced().run().exits(0).says("every task is completed");
    let log = bench.sandbox.git(["log", "--format=%s", "main"]);
    for id in ["T1", "T2", "T3"] {
        assert!(log.contains(&format!("By the agent: {id}")), "{log}");
    }
    let status = bench.sandbox.run("status --plan plan.toml --json").exits(0);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    let used = &status["used"][0];
    assert_eq!((&used["agent"], &used["tries"]), (&json!("default"), &json!(4)), "{used}");
    assert_eq!((&used["input_tokens"], &used["output_tokens"]), (&json!(1000), &json!(100)), "{used}");
    assert_eq!(used["cost_usd"].is_null(), bench.client == Client::Codex, "it tells no cost: {used}");
    assert_eq!(status["tasks"][0]["used"]["input_tokens"], 300);
    let _ = bench.sandbox.run("status --plan plan.toml").exits(0).says("used: 1k tokens in, 100 out");
    assert_eq!(bench.processes(), []);
}

fn what_a_client_was_not_allowed_or_did_not_do_is_not_done(bench: &Bench) {
    let outside = bench.sandbox.root().join("outside.txt");
    let forbidden = match bench.client {
        Client::Claude => tool("Write", json!({ "file_path": outside, "content": "x" })),
        Client::Codex => shell(&format!("echo x > {outside}")),
        Client::Gemini => tool("write_file", json!({ "file_path": outside, "content": "x" })),
        Client::Opencode => tool("write", json!({ "filePath": outside, "content": "x" })),
    };
    let models = bench.serve([
        script("Please do T1", [forbidden, say("I was not allowed to, but all is well.")]),
        script("Please do T2", [say("There is no such thing.\n<signal>BLOCKED: nobody knows it</signal>")]),
    ]);
    bench.plan(&models, &format!("attempts = 1\n{}{}", task("T1", ""), task("T2", "")));
    // Without our fence: here it is the client that refuses.
    let _ = bench.run().run().exits(4).says("nobody knows it");
    assert!(!outside.exists());
    let status = bench.sandbox.run("status --plan plan.toml --json").exits(0);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    // Some clients say that they were not allowed to: then a person has to decide.
    let first = if matches!(bench.client, Client::Claude) { "blocked" } else { "abandoned" };
    assert_eq!([&status["tasks"][0]["status"], &status["tasks"][1]["status"]], [first, "blocked"]);
    if bench.client == Client::Claude {
        let why = bench.sandbox.run("why T1 --plan plan.toml").exits(0);
        let _ = why.says("its client denied it Write").says("outside.txt").says("The agent's last words:");
    }
}

fn nothing_of_a_client_outlives_it(bench: &Bench) {
    let linger = "nohup setsid sleep 600 >/dev/null 2>&1 & echo started > T1.txt";
    let models = bench.serve([script("Please do T1", [shell(linger), say("It runs.")])]);
    bench.plan(&models, &task("T1", ""));
    let _ = bench.run_fenced().run().exits(0);
    assert_eq!(bench.processes(), []);
}

fn a_client_can_be_tried_out(bench: &Bench) {
    let models = bench.serve([script("one word: ready", [say("ready")])]);
    bench.plan(&models, &task("T1", ""));
    // The profile is a project's as well as a plan's.
    let plan = bench.sandbox.read("plan.toml");
    let agents = plan.find("[agents").zip(plan.find("[policy]")).map(|(from, to)| &plan[from..to]);
    bench.sandbox.write("piton.toml", agents.expect("an agent"));
    let _ = bench.sandbox.run("agents test default").exits(0).says("default answered").says("ready");
    let _ = bench.sandbox.run("agents test nobody").exits(1).says("there is no agent `nobody`");
    let name = bench.client.name();
    let _ = bench.sandbox.run(&format!("agents test {name}")).exits(0).says(&format!("{name} answered"));
    let _ = bench.sandbox.run("agents").exits(0).says(name).says("the tested version");
}
