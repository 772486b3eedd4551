//! Changes of OpenSpec.

use piton_testkit::sandbox::Sandbox;

use crate::{landed, project};

const LIST: &str = "openspec/changes/add-total/tasks.md";
const SCRIPT: &str = "\
[1.1]
write spend.sh case $1 in add) shift && echo \"$*\" >> spent.txt;; total) cat spent.txt 2>/dev/null | awk '{sum += $1} END {print sum + 0}';; help) echo \"add AMOUNT WHAT\";; esac
[1.2]
write spend.sh case $1 in add) shift && echo \"$*\" >> spent.txt;; total) cat spent.txt 2>/dev/null | awk '{sum += $1} END {print sum + 0}';; help) echo \"add total\";; esac
[2.1]
write tests/total.sh test \"$(sh spend.sh total)\" = 0
";

fn change() -> Sandbox {
    project("openspec", SCRIPT)
}

#[test]
fn a_change_is_planned_from_its_folder_its_list_and_its_name() {
    let sandbox = change();
    let plan = sandbox.run("plan openspec/changes/add-total").exits(0);
    insta::assert_snapshot!("openspec_plan", plan.to_string());
    for name in [LIST, "add-total"] {
        let again = sandbox.run(&format!("plan {name}")).exits(0);
        assert_eq!(again.stdout, plan.stdout, "{name}");
    }
}

#[test]
fn a_change_is_run_and_its_boxes_are_ticked_byte_for_byte() {
    let sandbox = change();
    let before = sandbox.read(LIST);
    let odd = before
        .replace("## 1. Command\n", "\u{feff}## 1. Command\r\n")
        .replace("`spend.sh help`\n", "`spend.sh help`\t \r\n");
    let odd = odd.trim_end().to_owned();
    sandbox.write(LIST, &odd);
    sandbox.commit("As an editor writes it");
    let run = sandbox.run("run add-total").exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(sandbox.read(LIST), odd.replace("[ ]", "[x]"));
    assert_eq!(sandbox.git(["status", "--porcelain"]), format!(" M {LIST}"));
    assert_eq!(landed(&sandbox), ["1.1", "1.2", "2.1"], "a task that only looks lands nothing");
    let _ = sandbox.run("run add-total").exits(0).lacks("attempt");
}

#[test]
fn ticked_boxes_are_claims_and_are_not_run_again() {
    let sandbox = change();
    sandbox
        .write(LIST, &sandbox.read(LIST).replace("- [ ] 1.", "- [x] 1.").replace("[ ] 1.1.1", "[x] 1.1.1"));
    let work = SCRIPT.lines().find_map(|line| line.strip_prefix("write spend.sh ")).expect("it is written");
    sandbox.write("spend.sh", &format!("{work}\n"));
    sandbox.commit("Done by hand");
    let _ = sandbox.run("run add-total").exits(0).lacks("1.1     attempt").says("2.1");
    assert!(!sandbox.read(LIST).contains("[ ]"));
    assert_eq!(landed(&sandbox), ["2.1"]);
}

#[test]
fn a_change_that_was_archived_is_named_where_it_is_now() {
    let sandbox = change();
    let _ = sandbox.run("run add-total").exits(0);
    sandbox.commit("Done");
    sandbox.write("openspec/changes/archive/.keep", "");
    sandbox.git(["mv", "openspec/changes/add-total", "openspec/changes/archive/2026-01-31-add-total"]);
    let _ = sandbox
        .run("plan openspec/changes/add-total")
        .exits(1)
        .says("it was moved to openspec/changes/archive/2026-01-31-add-total");
    let _ = sandbox.run("status").says("was moved to openspec/changes/archive/2026-01-31-add-total");
    let _ = sandbox
        .run("plan openspec/changes/archive/2026-01-31-add-total")
        .exits(1)
        .says("this change is archived")
        .says("move it to openspec/changes as `add-total`");
}
