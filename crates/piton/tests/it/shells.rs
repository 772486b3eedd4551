//! What shells and packagers get: completions and manual pages.

use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::sandbox;

fn done() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox
}

/// What fish is told for these words; the last one is to be completed.
fn completed(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let all = ["--", "piton"].iter().chain(words).copied();
    let out = sandbox.piton(all).env("PITON_COMPLETE", "fish").run().exits(0);
    out.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_commands_flags_and_the_ids_of_the_moment() {
    let sandbox = done();
    let has = |words: &[&str], text: &str| {
        let lines = completed(&sandbox, words);
        assert!(lines.iter().any(|line| line.starts_with(text)), "{words:?}: {lines:#?}");
    };
    has(&["compl"], "completions\t");
    has(&["run", "--det"], "--detach\t");
    has(&["why", "T"], "T2\tDo T2");
    has(&["show", ""], "T1\tDo T1");
    has(&["run", "plan.toml", "--task", "T"], "T1\tDo T1");
    has(&["status", "--run", "pl"], "plan-");
    assert_eq!(completed(&sandbox, &["why", "T9"]), [""; 0]);
    // Outside of a project there are no ids, and no error.
    let out = sandbox.piton(["--", "piton", "why", ""]).env("PITON_COMPLETE", "fish").within("/").run();
    let _ = out.exits(0).lacks("T1").lacks("error");
}

#[test]
fn a_shell_completes_paths_tasks_to_follow_and_what_waits() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script("[T1]\nwrite T1.txt x\n[T2]\nsignal BLOCKED:left or right?\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let all = |words: &[&str]| completed(&sandbox, words);
    let has = |words: &[&str], text: &str| {
        let lines = all(words);
        assert!(lines.iter().any(|line| line.starts_with(text)), "{words:?}: {lines:#?}");
    };
    for words in
        [&["graph", "pl"][..], &["plan", "pl"], &["run", "pl"], &["status", "pl"], &["watch", "--plan", "pl"]]
    {
        has(words, "plan.toml");
    }
    has(&["status", "T"], "T2\tDo T2");
    has(&["add", "T9", "--after", "T"], "T1\tDo T1");
    assert_eq!(all(&["add", "T"]), [""; 0], "a new task has an id of its own");
    assert!(all(&["runs", "--project-path", "plan"]).is_empty(), "only folders");
    let inbox: serde_json::Value =
        serde_json::from_str(&sandbox.run("inbox --json").exits(0).stdout).expect("JSON");
    let key = inbox["items"][0]["key"].as_str().expect("a key").to_owned();
    has(&["inbox", "--seen", ""], &format!("{key}\t"));
    has(&["inbox", "--seen", "al"], "all\t");
}

#[test]
fn bash_zsh_and_fish_ask_for_the_ids_of_the_moment() {
    let sandbox = done();
    for shell in ["bash", "zsh", "fish"] {
        let asked = sandbox.piton(["--", "piton", "why", "T"]).env("PITON_COMPLETE", shell);
        let asked = asked.env("_CLAP_COMPLETE_INDEX", "2").env("_CLAP_IFS", "\n");
        let _ = asked.run().exits(0).says("T1").says("T2").lacks("plan.toml");
    }
}

#[test]
fn each_shell_gets_a_script_of_its_own_that_calls_piton() {
    let sandbox = sandbox();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&format!("completions {shell}")).exits(0).stdout;
        assert!(script.contains("PITON_COMPLETE") && script.contains("piton"), "{shell}: {script}");
    }
    let _ = sandbox.run("completions tcsh").exits(2);
}

/// Bash, as a person has it: the script is read, and Tab is pressed.
#[test]
fn bash_completes_a_task() {
    let sandbox = done();
    let bin = env!("CARGO_BIN_EXE_piton").trim_end_matches("/piton");
    let script = format!(
        "cd {}; export PATH={bin}:$PATH; source <(piton completions bash); \
         COMP_WORDS=(piton why T); COMP_CWORD=2; COMP_TYPE=9; COMP_LINE='piton why T'; COMP_POINT=11; \
         complete -p piton; _clap_complete_piton piton T why; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        sandbox.project()
    );
    let out = std::process::Command::new("bash").args(["--norc", "-c", &script]).output();
    let Ok(out) = out else { return piton_testkit::skipped("completions: there is no bash") };
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("complete -") && said.contains("T1") && said.contains("T2"), "{said}\n{out:?}");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let sandbox = sandbox();
    let folder = sandbox.root().join("man");
    let _ = sandbox.piton(["man", folder.as_str()]).run().exits(0).says("manual pages are in");
    let names: Vec<String> = folder
        .read_dir_utf8()
        .expect("the pages")
        .flatten()
        .map(|entry| entry.file_name().to_owned())
        .collect();
    for name in ["piton.1", "piton-run.1", "piton-guardrail-add.1"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    let page = sandbox.read(folder.join("piton-run.1"));
    assert!(page.contains("\\-\\-max\\-parallel") && !page.contains("detached"), "{page}");
}
