//! The plans in `examples/native`: each can be used as it is.

use std::collections::BTreeSet;

use piton_core::run::Status;
use piton_testkit::sandbox::Sandbox;

use crate::{sandbox, status};

/// A repository with one of the examples at its top.
fn example(name: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.copy(format!("{}/../../examples/native/{name}", env!("CARGO_MANIFEST_DIR")), ".");
    sandbox.commit("Begin");
    sandbox
}

#[test]
fn every_plan_is_read_without_a_warning() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/native");
    let entries = std::fs::read_dir(folder).expect("the examples");
    let names = entries.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = names.map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    assert_eq!(names, ["claude", "codex", "monorepo", "smallest"]);
    for name in names {
        let sandbox = example(&name);
        let bin = sandbox.program("claude", "exit 0");
        sandbox.program("codex", "exit 0");
        let plan = sandbox.piton(["plan", "plan.toml", "--strict"]).with_path(&bin).run().exits(0);
        assert_eq!(plan.stderr, "", "{name}");
        let plan = plan.says("critical path");
        assert!(!plan.contains("no check"), "{name}: {plan}");
    }
}

/// Each is a plan, or a `piton.toml`.
#[test]
fn every_recipe_is_read_without_a_warning() {
    let page = include_str!("../../../../docs/recipes.md");
    let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().expect("a block"));
    let mut count = 0;
    for recipe in blocks {
        let sandbox = sandbox();
        let bin = sandbox.program("claude", "exit 0");
        for other in ["codex", "claude-by-key"] {
            sandbox.program(other, "exit 0");
        }
        let recipe = recipe.replace("/home/ada/bin", bin.as_str());
        if recipe.contains("[[task]]") {
            sandbox.write("plan.toml", &recipe);
        } else {
            sandbox.write("piton.toml", &recipe);
            sandbox.write("plan.toml", &piton_testkit::sandbox::task("T1", ""));
        }
        sandbox.commit("Plan");
        let plan = sandbox.piton(["plan", "plan.toml", "--strict"]).with_path(&bin).run().exits(0);
        assert_eq!(plan.stderr, "", "{recipe}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn the_picture_of_a_tasks_life_has_every_status() {
    let picture = include_str!("../../../../docs/images/life-of-a-task.svg");
    let names = picture.split("<text class=\"name\"").skip(1).filter_map(|rest| {
        let (_, rest) = rest.split_once('>')?;
        Some(rest.split_once('<')?.0.replace(' ', "_"))
    });
    let drawn: BTreeSet<String> = names.collect();
    let known = Status::ALL.map(|status| status.name().to_owned());
    assert_eq!(drawn, BTreeSet::from(known));
}

#[test]
fn the_smallest_plan_runs_to_its_end() {
    let sandbox = example("smallest");
    let _ = sandbox.run("run plan.toml").exits(0).says("every task is completed");
    assert_eq!(status(&sandbox, "T1"), "completed");
    assert_eq!(sandbox.git(["show", "main:hello.txt"]), "Hello, world!");
}
