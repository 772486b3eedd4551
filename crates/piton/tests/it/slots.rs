//! Worktrees that go from one task to the next: what the agents themselves find.

use piton_testkit::sandbox::{Sandbox, task};

use super::*;

/// Three tasks, one after the other, by an agent that is this shell script.
fn plan(worktree: &str, script: &str) -> Sandbox {
    plan_of(worktree, script, ["", "depends_on = [\"T1\"]", "depends_on = [\"T2\"]"])
}

/// In the script, `FREE N` waits until slot N is free.
fn plan_of(worktree: &str, script: &str, tasks: [&str; 3]) -> Sandbox {
    let sandbox = sandbox();
    let records = sandbox.project().join(".git/piton/slots");
    let free = format!("free() {{ until grep -qs '\"free\"' {records}/$1-*; do sleep 0.01; done; }}");
    let script = script.replace("FREE", "free");
    let bin = sandbox.program(
        "agent",
        &format!("set -e\n{free}\ncase $PITON_TASK in\n{script}\nesac\necho done > $PITON_TASK.txt"),
    );
    sandbox.write(".gitignore", "target\n.env\n*.log\n");
    sandbox.write(
        "plan.toml",
        &format!(
            "name = \"plan\"\n[agents.default]\ncommand = [\"{bin}/agent\"]\n[worktree]\n{worktree}\n[defaults]\nattempts = 1\n{}{}{}",
            task("T1", tasks[0]),
            task("T2", tasks[1]),
            task("T3", tasks[2]),
        ),
    );
    sandbox.commit("Plan");
    sandbox
}

#[track_caller]
fn completes(sandbox: &Sandbox) {
    let run = sandbox.piton(["run", "plan.toml"]).run();
    let outputs =
        ["T1", "T2", "T3"].map(|task| sandbox.run(&format!("output {task} --plan plan.toml")).stdout);
    assert!(run.code == Some(0), "{run}\n{outputs:?}");
}

#[test]
fn the_next_agent_finds_the_caches_in_the_same_place_and_nothing_else() {
    let sandbox = plan(
        "",
        "T1) mkdir -p target; echo built > target/x; pwd > target/where; echo TOKEN=1 > .env; echo x > a.log
             echo left > untracked.txt; rm untracked.txt
             (setsid sh -c 'while :; do echo leak > leak.log; sleep 0.02; done' >/dev/null 2>&1 &) ;;
         T2) test \"$(cat target/where)\" = \"$(pwd)\" ;;
         T3) test \"$(cat target/x)\" = built; test \"$(cat target/where)\" = \"$(pwd)\"
             test ! -e .env; test ! -e a.log; test -e T1.txt; test -e T2.txt
             sleep 0.1; test ! -e leak.log ;;",
    );
    completes(&sandbox);
    let slot = sandbox.worktrees().join(".slot-0");
    assert!(slot.join("target/x").exists(), "it stays for the next run");
    assert!(!sandbox.worktrees().join(".slot-1").exists(), "each waited for the slot of the one before");
    assert!(sandbox.worktrees().join("T1").symlink_metadata().is_err());
    let document: serde_json::Value =
        serde_json::from_str(&sandbox.run("status --json --plan plan.toml").stdout).expect("JSON");
    assert_eq!(document["slots"][0]["state"], "free", "{document:#}");
    let _ = sandbox.run("doctor").says("warm worktree");
    let _ = sandbox.run("clean").exits(0).says(".slot-0");
    assert!(!slot.exists() && !sandbox.worktrees().exists());
}

#[test]
fn a_slot_has_the_name_of_its_task_while_that_is_under_way() {
    let sandbox =
        plan("", "T1) test \"$(readlink \"$(dirname \"$(pwd)\")\"/T1)\" = \"$(basename \"$(pwd)\")\" ;;");
    completes(&sandbox);
    assert!(!sandbox.worktrees().exists(), "nothing in it was warm");
}

#[test]
fn a_clean_slot_comes_without_caches_and_where_none_is_reused_each_task_has_its_own_folder() {
    let work = "T1) mkdir target; echo built > target/x; pwd > target/where ;;";
    let clean = plan("reuse = \"clean\"", &format!("{work} T*) test ! -e target;;"));
    completes(&clean);
    assert!(!clean.worktrees().exists());
    let never = plan("reuse = \"never\"", "T*) test \"$(basename \"$(pwd)\")\" = $PITON_TASK;;");
    completes(&never);
    assert!(!never.worktrees().exists());
}

#[test]
fn a_new_slot_gets_the_caches_of_the_main_checkout_with_their_times() {
    let sandbox = plan(
        "warm = [\"target\", \"missing\", \"docs\"]",
        "T*) test \"$(cat target/debug/x)\" = built
             test ! target/debug/x -nt OLD; test ! old.txt -nt OLD; test differs.txt -nt target/debug/x
             test ! -e docs; test -z \"$(git status --porcelain)\" ;;",
    );
    let old = sandbox.root().join("old");
    let agent = sandbox.root().join("bin/agent");
    sandbox.write(&agent, &sandbox.read(&agent).replace("OLD", old.as_str()));
    sandbox.write("old.txt", "the same\n");
    sandbox.write("differs.txt", "committed\n");
    sandbox.commit("Files");
    sandbox.write("target/debug/x", "built\n");
    sandbox.write("docs/page", "not ignored\n");
    sandbox.write(&old, "");
    for file in ["target/debug/x", "old.txt", old.as_str()] {
        sandbox.age(file);
    }
    // What the caches were built from, and not what the agent works on.
    sandbox.git(["update-index", "--assume-unchanged", "differs.txt"]);
    sandbox.write("differs.txt", "changed!!\n");
    sandbox.age("differs.txt");
    completes(&sandbox);
    assert!(!sandbox.worktrees().join(".filling-slot-0").exists());
}

#[test]
fn a_filling_that_was_killed_is_done_again_and_never_half_seen() {
    let sandbox = plan("warm = [\"target\"]", "T*) test \"$(cat target/x)\" = built;;");
    sandbox.write("target/x", "built\n");
    let killed = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", "slot.filled:1").run();
    assert_eq!(killed.code, None, "{killed}");
    assert!(!sandbox.worktrees().join(".slot-0/target").exists());
    assert!(sandbox.worktrees().join(".filling-slot-0").exists(), "what was copied so far");
    completes(&sandbox);
    assert!(!sandbox.worktrees().join(".filling-slot-0").exists());
}

#[test]
fn slots_beyond_the_bound_go() {
    let sandbox = plan("keep_mib = 0", "T1) mkdir target; echo built > target/x ;; T*) test ! -e target ;;");
    completes(&sandbox);
    assert!(!sandbox.worktrees().exists());
}

/// The second and the third are under way at once, when the first is done.
const FORK: [&str; 3] = ["", "depends_on = [\"T1\"]", "depends_on = [\"T1\"]"];

#[test]
fn a_slot_is_made_and_filled_before_a_task_asks_for_it() {
    let sandbox =
        plan_of("warm = [\"target\"]", "T1) FREE 1 ;; T*) test \"$(cat target/x)\" = built ;;", FORK);
    sandbox.write("target/x", "built\n");
    completes(&sandbox);
    let log = sandbox.run("status --json --plan plan.toml").stdout;
    let document: serde_json::Value = serde_json::from_str(&log).expect("JSON");
    let states: Vec<&str> = document["slots"]
        .as_array()
        .expect("slots")
        .iter()
        .filter_map(|slot| slot["state"].as_str())
        .collect();
    assert_eq!(states, ["free"; 2], "as many as were needed at once: {document:#}");
}

#[test]
fn an_engine_that_is_killed_while_it_makes_a_slot_ahead_leaves_nothing_half_made() {
    let sandbox =
        plan_of("warm = [\"target\"]", "T1) FREE 1 ;; T*) test \"$(cat target/x)\" = built ;;", FORK);
    sandbox.write("target/x", "built\n");
    let killed = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", "slot.ahead:1").run();
    assert_eq!(killed.code, None, "{killed}");
    let record = || {
        let records = sandbox.project().join(".git/piton/slots").read_dir_utf8().expect("records").flatten();
        let of_one = records.filter(|entry| entry.file_name().starts_with("1-"));
        of_one.map(|entry| sandbox.read(entry.path())).next().unwrap_or_default()
    };
    assert!(record().contains("making"), "{}", record());
    completes(&sandbox);
    assert!(!record().contains("making"), "{}", record());
    assert_eq!(sandbox.git(["for-each-ref", "refs/piton/rescue"]), "", "nobody worked in it");
}

#[test]
fn where_attributes_or_settings_about_files_change_the_next_agent_gets_files_as_a_new_worktree_has_them() {
    let attributes = plan(
        "",
        "T1) mkdir target; echo '*.txt text eol=crlf' > .gitattributes ;;
         T2) od -c T1.txt | grep -q '\\\\r'; od -c old.txt | grep -q '\\\\r'; test ! -e target ;;",
    );
    let settings = plan(
        "",
        "T1) mkdir target; git config core.autocrlf true ;;
         T2) od -c old.txt | grep -q '\\\\r'; test ! -e target ;;",
    );
    for sandbox in [attributes, settings] {
        sandbox.write("old.txt", "line\n");
        sandbox.commit("Files");
        completes(&sandbox);
    }
}

#[test]
fn two_runs_at_once_have_slots_of_their_own_and_the_next_run_gets_one_with_its_caches() {
    let sandbox = plan(
        "",
        "T1) mkdir -p target; echo built > target/x; pwd >> PLACES
             until [ $(wc -l < PLACES) -ge 2 ]; do sleep 0.01; done
             test $(sort -u PLACES | wc -l) = 2 ;;
         T4) test \"$(cat target/x)\" = built; grep -qx \"$(pwd)\" PLACES ;;",
    );
    let (agent, places) = (sandbox.root().join("bin/agent"), sandbox.root().join("places"));
    sandbox.write(&agent, &sandbox.read(&agent).replace("PLACES", places.as_str()));
    let plan = sandbox.read("plan.toml").replace("name = \"plan\"", "name = \"other\"");
    sandbox.write("other.toml", &plan);
    let head = plan.split("[[task]]").next().expect("a beginning").replace("\"other\"", "\"next\"");
    sandbox.write("next.toml", &(head + &task("T4", "")));
    sandbox.commit("Plans");
    let other = sandbox.piton(["run", "other.toml", "--onto", "side"]).spawn();
    completes(&sandbox);
    let _ = other.wait().exits(0);
    let _ = sandbox.run("run next.toml").exits(0);
    assert_eq!(sandbox.git(["show", "main:T4.txt"]), "done");
}

#[test]
fn a_slot_that_git_cannot_clear_is_removed_and_the_next_task_gets_another() {
    let sandbox = plan("", "T1) mkdir target ;; T2) test ! -e target ;; T3) test ! -e target ;;");
    let git = std::env::split_paths(&std::env::var_os("PATH").expect("a PATH"))
        .map(|folder| folder.join("git"))
        .find(|file| file.is_file())
        .expect("git is installed");
    let bin = sandbox.program(
        "git",
        &format!(
            "case \" $* \" in *' clean '*' -x '*) echo 'cannot remove' >&2; exit 1 ;; esac\nexec {} \"$@\"",
            git.display()
        ),
    );
    let run = sandbox.piton(["run", "plan.toml"]).with_path(&bin).run();
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!sandbox.worktrees().exists());
}
