//! What programs read, and what is safe to print.

use crate::{json, sandbox};
use piton_testkit::sandbox::{task, writers};

#[test]
fn json_lines_are_json_and_nothing_else() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "attempts = 1")));
    sandbox.script(&format!("{}[T2]\nsay no\n", writers(&["T1"])));
    let run = sandbox.run("run plan.toml --json").exits(4);
    let mut last = 0;
    for line in run.stdout.lines() {
        let event: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let seq = event["seq"].as_u64().expect("a number");
        assert!(seq > last && event["event"].is_string() && event["at"].is_string(), "{line}");
        last = seq;
    }
    assert_eq!(run.stdout.lines().count(), run.stdout.lines().filter(|line| line.starts_with('{')).count());
    assert!(run.stdout.contains("engine_stopped"));
    assert_eq!(run.stderr, "");
}

#[test]
fn quiet_says_only_what_went_wrong_and_verbose_says_all() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "attempts = 1")));
    sandbox.script(&format!("{}[T2]\nsay no\n", writers(&["T1"])));
    let _ = sandbox
        .run("run plan.toml --quiet")
        .exits(4)
        .lacks("landed as")
        .lacks("started")
        .says("the agent changed nothing");
    let _ = sandbox.run("retry T2").exits(0);
    sandbox.script(&writers(&["T2"]));
    let _ = sandbox
        .run("run plan.toml --verbose")
        .exits(0)
        .says("worktree ready on")
        .says("2 of 2 checks passed");
}

#[test]
fn control_sequences_are_stripped_when_shown() {
    let sandbox = sandbox();
    let agent = r#"[agents.default]
command = ["sh", "-c", "printf '\\033[31mred\\033[0m \\033]0;title\\007 bell\\a\\r\\n'; echo x > T1.txt; printf '<signal>BLOCKED:\\033[2Jwiped</signal>'"]
"#;
    sandbox.write("plan.toml", &format!("{agent}{}", task("T1", "")));
    let run = sandbox.run("run plan.toml").exits(4);
    let mut shown = run.to_string();
    for line in ["output T1", "log -v", "log --json", "status", "why T1", "status --json", "output T1 -f"] {
        shown += &sandbox.run(line).exits(0).to_string();
    }
    assert!(shown.contains("red") && shown.contains("wiped"), "{shown}");
    let control: Vec<char> = shown.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(control.is_empty(), "{control:?}");
    let raw = sandbox.run("output T1 --raw").exits(0);
    assert!(raw.stdout.contains("\u{1b}[31mred"), "{raw}");
}

#[test]
fn titles_cannot_draw_on_the_screen() {
    let sandbox = sandbox();
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "").replace("Do T1", "Do \\u001b[2J T1")));
    sandbox.script(&writers(&["T1"]));
    let plan = sandbox.run("plan plan.toml");
    let shown = plan.to_string()
        + &sandbox.run("run plan.toml").to_string()
        + &sandbox.run("status --all").to_string()
        + &sandbox.run("log -v").to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_flood_of_output_is_cut_in_the_middle() {
    let sandbox = sandbox();
    let agent = "[agents.default]\ncommand = ['sh', '-c', 'echo the beginning; head -c 40000000 /dev/zero | tr \"\\\\0\" x; echo; echo the end; echo x > T1.txt']\n";
    sandbox.write("plan.toml", &format!("{agent}{}", task("T1", "")));
    let _ = sandbox.run("run plan.toml").exits(0);
    let output = sandbox.run("output T1 --raw").exits(0);
    assert!(output.stdout.starts_with("the beginning") && output.stdout.trim_end().ends_with("the end"));
    assert!(output.stdout.len() < 40_000_000, "{}", output.stdout.len());
    assert!(output.stderr.contains("bytes left out"), "{}", output.stderr);
}

#[test]
fn no_colour_reaches_a_pipe() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let colourful =
        sandbox.piton(["run", "plan.toml"]).env("TERM", "xterm-256color").env("NO_COLOR", "").run().exits(0);
    assert!(!colourful.to_string().contains('\u{1b}'), "{colourful}");
}

#[test]
fn outputs_can_be_listed_and_chosen() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = ['cat T1.txt; grep -q two T1.txt']"));
    sandbox.script("[T1]\nsay first try\nwrite T1.txt one\n[T1 2]\nsay second try\nwrite T1.txt two\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    let list = sandbox.run("output T1 --list").exits(0);
    assert_eq!(list.stdout.lines().count(), 4, "{list}");
    let _ = sandbox.run("output T1").exits(0).says("second try").lacks("first try");
    let _ = sandbox.run("output T1 --attempt 1").exits(0).says("first try");
    let _ = sandbox.run("output T1 --checks --attempt 1").exits(0).says("one");
    let _ = sandbox.run("output T1 --attempt 9").exits(1).says("no agent of T1 has run");
    let _ = sandbox.run("output Z").exits(1).says("there is no task Z");
    let _ = sandbox.run("why t1").exits(1).says("there is no task t1").says("did you mean T1?");
    let _ = sandbox.run("retry t1").exits(1).says("did you mean T1?");
    let lines = |command: &str| sandbox.run(command).exits(0).stdout.lines().count();
    assert_eq!([lines("log -n 1"), lines("log -n 3"), lines("log -n 3 -v"), lines("log -n 0")], [1, 3, 3, 0]);
    // Many events are not shown, so the last lines come from more events than that.
    let all = lines("log");
    assert_eq!(lines(&format!("log -n {all}")), all);
}

#[test]
fn an_agent_that_printed_nothing_is_said_to_have_printed_nothing() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let _ = sandbox.run("output T1").exits(0).says("its agent has printed nothing (exit status 0)");
}

/// What was there before, committed or not, is not part of it; nor is the plan.
#[test]
fn a_diff_of_work_in_place_is_what_its_task_changed() {
    let sandbox = sandbox();
    sandbox.script("[T1]\nwrite T1.txt done\nmeet SIDE/gate\n[T2]\nwrite T2.txt done\n");
    sandbox.fifo("gate");
    sandbox
        .write("plan.toml", &sandbox.plan_text("", &(task("T1", "") + &task("T2", "depends_on = ['T1']"))));
    sandbox.write("mine.txt", "not committed\n");
    let run = sandbox.piton(["run", "plan.toml", "--no-commits"]).spawn();
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    for (id, other) in [("T1", "T2"), ("T2", "T1")] {
        let shown = sandbox.run(&format!("diff {id}")).exits(0).says(&format!("+++ b/{id}.txt"));
        let _ = shown.lacks(&format!("{other}.txt")).lacks("mine.txt").lacks("plan.toml");
        let files = json(&sandbox.run(&format!("diff {id} --json")).exits(0), "/files");
        assert_eq!(files, serde_json::json!([format!("{id}.txt")]));
    }
}

/// Commits that were made by hand count for the task that they were reported for.
#[test]
fn a_diff_of_a_reported_task_is_what_its_commits_changed() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    let _ = sandbox.run("start T1 --plan plan.toml").exits(0);
    sandbox.write("T1.txt", "by hand\n");
    sandbox.commit("Do T1");
    let _ = sandbox.run("report T1 done").exits(0);
    let _ = sandbox.run("diff T1").exits(0).says("+by hand");
}

#[test]
fn a_diff_is_what_landing_changed() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("diff T1").exits(1).says("T1 has changed nothing yet");
    let _ = sandbox.run("run plan.toml").exits(0);
    shows!(sandbox.run("diff T1").exits(0), @r"
    exit: 0
    --- stdout
     T1.txt | 1 +
     1 file changed, 1 insertion(+)

    diff --git a/T1.txt b/T1.txt
    new file mode 100644
    index 0000000..19f86f4
    --- /dev/null
    +++ b/T1.txt
    @@ -0,0 +1 @@
    +done
    ");
    assert_eq!(json(&sandbox.run("diff T1 --json").exits(0), "/files"), serde_json::json!(["T1.txt"]));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let piton = env!("CARGO_BIN_EXE_piton");
    let out = std::process::Command::new("sh")
        .args(["-c", &format!("{{ {piton} log --json; echo $? >&2; }} | true")])
        .current_dir(sandbox.project())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!said.contains("panicked"), "{said}");
}
