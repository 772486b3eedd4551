//! Specs of Kiro.

use piton_testkit::sandbox::Sandbox;

use crate::{landed, project};

const LIST: &str = ".kiro/specs/word-count/tasks.md";
const SCRIPT: &str = "\
[1.1]
write count.sh wc -w < \"$1\"
[1.2]
write count.sh test -f \"$1\" || exit 2; wc -w < \"$1\"
[3]
write top.sh tr ' ' '\\n' < \"$1\" | sort | uniq -c
";

fn spec() -> Sandbox {
    project("kiro", SCRIPT)
}

#[test]
fn a_spec_is_planned_from_its_folder_its_list_and_its_name() {
    let sandbox = spec();
    let plan = sandbox.run("plan .kiro/specs/word-count").exits(0);
    insta::assert_snapshot!("kiro_plan", plan.to_string());
    for name in [LIST, "word-count"] {
        let again = sandbox.run(&format!("plan {name}")).exits(0);
        assert_eq!(again.stdout, plan.stdout, "{name}");
    }
}

#[test]
fn a_spec_is_run_and_parents_are_ticked_with_their_last_task() {
    let sandbox = spec();
    let before = sandbox.read(LIST).replace("- [ ]* 1.3", "- [ ]\\* 1.3").replace('\n', "\r\n");
    sandbox.write(LIST, &before);
    sandbox.commit("As an editor writes it");
    let _ = sandbox.run("run word-count").exits(0).lacks("attempt 2").lacks("1.3      attempt");
    let ticked = before.replace("- [ ]", "- [x]").replace("- [x]\\* 1.3", "- [ ]\\* 1.3");
    assert_eq!(sandbox.read(LIST), ticked, "all but what is optional");
    assert_eq!(landed(&sandbox), ["1.1", "1.2", "3"], "a checkpoint lands nothing");
}

#[test]
fn what_is_optional_is_done_once_its_star_is_removed() {
    let sandbox = spec();
    sandbox.write(LIST, &sandbox.read(LIST).replace("- [ ]* 1.3", "- [ ] 1.3"));
    sandbox.script(&format!("{SCRIPT}[1.3]\nwrite tests/many.sh true\n"));
    sandbox.commit("All of it");
    let _ = sandbox.run("run word-count").exits(0);
    assert!(!sandbox.read(LIST).contains("[ ]"));
}

#[test]
fn a_parent_stays_open_while_a_task_below_it_is() {
    let sandbox = spec();
    sandbox.script(&SCRIPT.replace("[1.2]\nwrite", "[1.2]\nexit 1\nwrite"));
    sandbox.write(
        "piton.toml",
        &sandbox.read("piton.toml").replace("[defaults]\n", "[defaults]\nattempts = 1\n"),
    );
    sandbox.commit("One attempt");
    let _ = sandbox.run("run word-count").lacks("attempt 2");
    let list = sandbox.read(LIST);
    assert!(
        list.contains("- [ ] 1. Count") && list.contains("- [x] 1.1") && list.contains("- [ ] 1.2"),
        "{list}"
    );
}

#[test]
fn a_spec_that_was_put_away_is_named_where_it_is_now() {
    let sandbox = spec();
    sandbox.write(".kiro/specs/_completed/.keep", "");
    sandbox.git(["mv", ".kiro/specs/word-count", ".kiro/specs/_completed/word-count"]);
    let _ = sandbox
        .run("run .kiro/specs/word-count/tasks.md")
        .exits(1)
        .says("it was moved to .kiro/specs/_completed/word-count");
    let _ = sandbox.run("plan .kiro/specs/_completed/word-count").exits(0).says("1.1");
}
