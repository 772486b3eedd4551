//! What a reviewer would say about the words of a plan.

use super::*;
use crate::system::execute::plan::starter;

fn linted(folder: &Folder) -> String {
    let mut reading = reading(folder);
    reading.problems = lint(&reading);
    told(&reading)
}

#[test]
fn a_full_task_passes() {
    assert_eq!(linted(&folder(&[("1-foundation/L1-002-store.xml", STORE)])), "");
}

#[test]
fn what_is_missing_or_empty_is_told() {
    insta::assert_snapshot!(linted(&alone(&small("L1-001", "1-foundation").replace("<priority>1</priority>", ""))), @r"
    1-foundation/L1-001-x.xml:1:1: warning: `<context>` is missing (add it, even if it is short)
    1-foundation/L1-001-x.xml:1:1: warning: `<dependencies>` is missing (add it, even if it is short)
    1-foundation/L1-001-x.xml:1:1: warning: `<test-requirements>` is missing (add it, even if it is short)
    1-foundation/L1-001-x.xml:1:1: warning: `<exports>` is missing (add it, even if it is short)
    1-foundation/L1-001-x.xml:2:3: warning: there is no `<priority>` (1 to 99; 1 is first in its layer)
    ");
    insta::assert_snapshot!(linted(&alone(
        "<task><meta><id>L1-001</id><name>x</name><layer>1-foundation</layer><priority>1</priority></meta>
        <context/><dependencies/><objective> </objective><requirements>none</requirements>
        <test-requirements><!-- later --></test-requirements><files-to-create/>
        <verification><step>Check: it works</step></verification><exports/></task>"
    )), @r"
    1-foundation/L1-001-x.xml:2:9: warning: `<context>` is empty (write something here)
    1-foundation/L1-001-x.xml:2:34: warning: `<objective>` is empty (write something here)
    1-foundation/L1-001-x.xml:2:58: warning: `<requirements>` is empty (write something here)
    1-foundation/L1-001-x.xml:3:9: warning: `<test-requirements>` is empty (write something here)
    1-foundation/L1-001-x.xml:3:62: warning: `<files-to-create>` is empty (write something here)
    1-foundation/L1-001-x.xml:4:9: error: no step can be run: this task cannot be proven done (add a `Run:` or a `Verify:`)
    1-foundation/L1-001-x.xml:4:66: warning: `<exports>` is empty (write something here)
    ");
}

#[test]
fn setting_up_makes_no_files() {
    let task = STORE.replace("L1-002", "L0-001").replace("1-foundation", "0-setup");
    let (start, end) = (task.find("<file>").expect("there"), task.find("</files-to-create>").expect("there"));
    let empty = format!("{}{}", &task[..start], &task[end..]);
    assert_eq!(linted(&folder(&[("0-setup/L0-001-x.xml", &empty)])), "");
}

#[test]
fn words_that_say_nothing_are_told() {
    let words = |words: &str| {
        linted(&alone(&small("L1-001", "1-foundation").replace("It is written.", words)))
            .lines()
            .filter(|line| line.contains(":4:"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    insta::assert_snapshot!(words("TBD, TODO: handle errors appropriately, etc. and so on"), @r"
    1-foundation/L1-001-x.xml:4:37: error: `TBD` is a placeholder (write it)
    1-foundation/L1-001-x.xml:4:42: error: `TODO` is a placeholder (write it)
    1-foundation/L1-001-x.xml:4:62: warning: `appropriately` is vague (say exactly what you mean)
    1-foundation/L1-001-x.xml:4:77: error: `etc.` is a placeholder (write it)
    1-foundation/L1-001-x.xml:4:82: error: `and so on` is a placeholder (write it)
    ");
    insta::assert_snapshot!(words("Fields: a, b ..."), @"1-foundation/L1-001-x.xml:4:50: error: `...` is a placeholder (write it)");
    insta::assert_snapshot!(words("Remove what is there: rm -rf app/.git"), @"1-foundation/L1-001-x.xml:4:37: error: this asks to remove `.git` (a task must not remove its repository)");
    assert_eq!(words("A `TODO` list, Link(url=..., x), property, mastodon, `etc.`"), "");
}

#[test]
fn interfaces_files_and_ids_are_looked_at() {
    let text = STORE
        .replace(" type=\"struct\"><![CDATA", "><![CDATA")
        .replace("<requirement id=\"2\">", "<requirement id=\"R1\">")
        .replace(
            "<file>src/store.rs</file>",
            "<file>a.rs</file><file>b.rs</file><file>c.rs</file><file>d.rs</file>",
        );
    insta::assert_snapshot!(linted(&folder(&[("1-foundation/L1-002-store.xml", &text)])), @r"
    1-foundation/L1-002-store.xml:37:22: warning: the id `R1` is used twice (each needs its own)
    1-foundation/L1-002-store.xml:46:3: warning: this task has 4 files, not counting tests (split it: three are enough for one task)
    1-foundation/L1-002-store.xml:53:5: error: this interface has no `type` (others refer to it)
    ");
    let text = STORE.replace("1-foundation", "3-front");
    insta::assert_snapshot!(linted(&folder(&[("3-front/L1-002-store.xml", &text)])), @"3-front/L1-002-store.xml:5:9: warning: `L1-002` is in layer 3 (its number says otherwise)");
}

#[test]
fn two_tasks_at_once_with_one_file_are_told() {
    let other = STORE.replace("L1-002", "L1-003");
    let files =
        folder(&[("1-foundation/L1-002-store.xml", STORE), ("1-foundation/L1-003-store.xml", &other)]);
    insta::assert_snapshot!(linted(&files), @r"
    1-foundation/L1-003-store.xml:46:26: warning: `L1-002` and `L1-003` may change `src/store.rs` at the same time (their work may conflict when it lands)
    1-foundation/L1-003-store.xml:46:51: warning: `L1-002` and `L1-003` may change `tests/store.rs` at the same time (their work may conflict when it lands)
    ");
}

#[test]
fn the_starter_is_fine() {
    for name in ["shop", "a b/c", "NAME"] {
        let files: Vec<(String, String)> = starter(name);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = folder(&files);
        let reading = read(&folder, "stem", &Config::default(), Strictness::Strict);
        assert_eq!(told(&reading), "");
        assert_eq!(linted(&folder), "");
        assert_eq!(reading.plan.tasks.len(), 3);
    }
    assert!(starter("shop")[0].1.contains("\"slug\": \"shop\""));
}

#[test]
fn the_worked_example_is_fine() {
    macro_rules! example {
        ($($name:literal),* $(,)?) => {
            folder(&[$(($name, include_str!(concat!("../../../../../../../examples/execute/", $name)))),*])
        };
    }
    let folder = example![
        "manifest.json",
        "layer_plan.json",
        "1-foundation/L1-001-text.xml",
        "1-foundation/L1-002-store.xml",
        "2-commands/L2-001-count.xml",
        "2-commands/L2-002-top.xml",
        "3-finish/L3-001-usage.xml",
        "3-finish/L3-002-all.xml",
    ];
    let reading = read(&folder, "execute", &Config::default(), Strictness::Strict);
    assert_eq!(told(&reading), "");
    assert_eq!(linted(&folder), "");
    assert_eq!(
        (reading.plan.name.as_str(), reading.plan.groups.len(), reading.plan.tasks.len()),
        ("wordbook", 3, 6)
    );
    let looks = |task: &TaskSpec| task.checks.iter().any(|check| matches!(check.run, Argv::Look { .. }));
    assert!(reading.plan.tasks.iter().all(looks), "every task has a `Verify:`");
}
