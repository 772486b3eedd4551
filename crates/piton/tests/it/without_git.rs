//! Work in a folder that is in no repository: in place, with the same gates, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use piton_testkit::sandbox::{Sandbox, task};

use crate::{count, folder, status};

/// Two tasks after each other; the second is done when a fresh agent finds nothing left to do.
fn begun() -> Sandbox {
    let sandbox = folder();
    let second = task("T2", "depends_on = ['T1']\nconfirm = true\nchecks = ['grep -q more notes.txt']");
    let first = task("T1", "checks = ['test -s T1.txt']");
    sandbox.write("plan.toml", &sandbox.plan_text("", &(first + &second)));
    sandbox.script("[T1]\nwrite T1.txt done\nwrite notes.txt begun\n[T2]\nwrite notes.txt more\n");
    sandbox.write("notes.txt", "mine\r\n");
    sandbox.write("secret.txt", "x");
    sandbox.write(".gitignore", "secret.txt\n");
    sandbox.write("node_modules/a/index.js", "x");
    sandbox
}

#[test]
fn a_plan_runs_in_place_without_a_repository() {
    let sandbox = begun();
    let _ = sandbox.run("run plan.toml --dry-run --no-commits").exits(0).says("itself, without git");
    assert!(!sandbox.exists(".piton"), "a dry run made something");
    let _ = sandbox.run("run plan.toml --no-commits --task T1").exits(0).says("completed, its checks passed");
    // When it resumes, the flag is not needed again.
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!((status(&sandbox, "T1"), status(&sandbox, "T2")), ("completed".into(), "completed".into()));
    let events = sandbox.events();
    assert_eq!(count(&events, "confirmation_started"), 1);
    assert!(!sandbox.exists(".git"), "somebody made a repository of it");
    let _ = sandbox.run("status").exits(0).says("2/2");
    let _ =
        sandbox.run("prompt T1").exits(0).says("own folder, without git").lacks("worktree").lacks("ommit");
    let _ = sandbox.run("doctor").exits(0).says("work is done in place").lacks("wrong");
    let _ = sandbox.run("clean").exits(0).says("the output of agents and checks");

    // What was there before each attempt is kept, byte by byte, and without what can be made again.
    let list = sandbox.run("rescue list").exits(0).says("Before attempt 1 of T1").says("attempt 1 of T2");
    let first = list.stdout.split_whitespace().next().expect("a name").to_owned();
    let _ = sandbox.run(&format!("rescue restore {first} --branch x")).exits(2).says("--into DIR");
    let _ = sandbox.run(&format!("rescue restore {first} --into ../back")).exits(0);
    let back = sandbox.root().join("back");
    assert_eq!(sandbox.read(back.join("notes.txt")), "mine\r\n");
    let mut kept: Vec<String> = names(&back).into_iter().collect();
    kept.sort();
    assert_eq!(kept, [".gitignore", "notes.txt", "plan.toml"]);
}

#[test]
fn a_repository_that_is_made_later_is_left_alone() {
    let sandbox = begun();
    let _ = sandbox.run("run plan.toml --no-commits --task T1").exits(0);
    sandbox.git(["init", "-q", "-b", "main"]);
    sandbox.commit("First commit");
    assert_eq!(sandbox.git(["ls-files", ".piton"]), "");
    let before = sandbox.git(["for-each-ref"]);
    let _ = sandbox.run("run plan.toml").exits(0);
    let _ = sandbox.run("status").exits(0).says("2/2");
    assert_eq!(sandbox.git(["for-each-ref"]), before);
    assert!(!sandbox.own().exists(), "Piton has a second home");
    sandbox.write("other.toml", &sandbox.plan_text("", &task("T1", "")));
    let _ = sandbox.run("run other.toml").exits(1).says("were begun without git").says("mv ");
}

#[test]
fn without_git_itself_the_next_step_is_told() {
    let sandbox = begun();
    let out = sandbox.piton(["run", "plan.toml", "--no-commits"]).env("PATH", "/nowhere").run().exits(1);
    let _ = out.says("the program `git` was not found").says("https://git-scm.com/downloads");
    assert!(!sandbox.exists(".piton"));
}

#[test]
fn what_is_kept_and_cannot_be_read_is_told_with_the_next_step() {
    let sandbox = begun();
    let _ = sandbox.run("run plan.toml --no-commits --task T1").exits(0);
    std::fs::remove_file(sandbox.project().join(".piton/store/HEAD")).expect("our own file");
    let _ = sandbox.run("doctor").exits(1).says("before each attempt, is damaged");
    let _ = sandbox.run("run plan.toml").exits(1).says("-damaged");
    let place = sandbox.project().join(".piton/store");
    std::fs::rename(&place, format!("{place}-damaged")).expect("our own folder");
    let _ = sandbox.run("run plan.toml").exits(0);
}

/// Killed at each of the points that such a run passes, it goes on to the same end.
#[test]
fn wherever_it_is_killed_it_goes_on_to_the_same_end() {
    let whole = begun();
    let trace = whole.root().join("trace");
    let run = ["run", "plan.toml", "--no-commits"];
    let _ = whole.piton(run).env("PITON_CRASH_TRACE", &trace).run().exits(0);
    let points: BTreeSet<String> = whole.read(&trace).lines().map(str::to_owned).collect();
    assert!(points.contains("store.made") && points.contains("prepare.done"), "{points:?}");
    for point in &points {
        let sandbox = begun();
        let trace = sandbox.root().join("trace");
        let killed = sandbox.piton(run).env("PITON_CRASH_TRACE", &trace).env("PITON_CRASH", point);
        let _ = killed.run();
        assert!(sandbox.root().join("trace.crashed").exists(), "{point} was not passed");
        let _ = sandbox.piton(run).run().exits(0);
        assert_eq!(files(&sandbox), files(&whole), "killed at {point}");
        let kept = sandbox.run("rescue list").exits(0);
        assert!(kept.stdout.lines().count() >= 2, "killed at {point}\n{kept}");
        let _ = sandbox.run("doctor").exits(0).lacks("wrong");
    }
}

/// What a person sees of the project.
fn files(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let own = |name: &String| name != ".piton" && name != "node_modules" && name != "plan.toml";
    let names = names(sandbox.project()).into_iter().filter(own);
    names.map(|name| (name.clone(), sandbox.read(&name))).collect()
}

fn names(folder: &Utf8Path) -> BTreeSet<String> {
    let entries = folder.read_dir_utf8().expect("a readable folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_owned()).collect()
}
