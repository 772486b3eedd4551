//! What a reviewer would say about a plan, and the plans that we write ourselves.

use super::*;
use crate::system::Addition;
use crate::system::issue::plan::{add, starter};

#[test]
fn requirements_nobody_is_for_and_tasks_for_none_are_told() {
    let read = reading(&invoices());
    assert_eq!(
        told_of(&read, &lint(&read)),
        "requirements.md:18:5: warning: no task covers requirement 3 (refer to it below one, like `_Requirements: 3_`)\n"
    );
    let read = reading(&folder(&[
        ("requirements.md", REQUIREMENTS),
        ("tasks.md", "- [ ] 1. a\n- [ ] 2. Checkpoint\n"),
    ]));
    assert!(told_of(&read, &lint(&read)).contains("tasks.md:1:7: warning: `1` does not cover a requirement"));
    assert!(!told_of(&read, &lint(&read)).contains("`2`"));
}

#[test]
fn the_starter_is_fine() {
    for (number, slug) in [(7, "greeting"), (0, "a.b_c"), (12345, "x")] {
        let (name, files) = starter(number, slug).expect("a name");
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let read = reading_with(&folder(&files), &name, &Config::default(), Strictness::Strict);
        assert_eq!(told(&read), "");
        assert_eq!(told_of(&read, &lint(&read)), "");
        assert_eq!(read.issue.number, Some(number));
        assert_eq!(read.reading.plan.tasks.len(), 6);
        assert!(read.coverage.rows.iter().all(|row| !row.tasks.is_empty()));
        assert!(
            read.reading.before.values().filter(|before| before.done).count() == 1,
            "but for the branch, all is open"
        );
    }
    assert!(starter(7, "../x").is_err());
}

#[test]
fn the_worked_example_is_fine() {
    macro_rules! example {
        ($($name:literal),* $(,)?) => {
            folder(&[$(($name, include_str!(concat!("../../../../../../../examples/issue/.claude/plans/issue-7-by-month/", $name)))),*])
        };
    }
    let folder = example!["requirements.md", "design.md", "tasks.md"];
    let (config, problems) = read_config(include_str!("../../../../../../../examples/issue/piton.toml"));
    assert_eq!(problems, []);
    let read = reading_with(&folder, "issue-7-by-month", &config, Strictness::Strict);
    assert_eq!(told(&read), "");
    assert_eq!(told_of(&read, &lint(&read)), "");
    assert_eq!((read.reading.plan.groups.len(), read.reading.plan.tasks.len()), (2, 8));
    assert!(read.coverage.rows.iter().all(|row| !row.tests.is_empty()), "every criterion has a test");
}

fn added(list: &str, id: &str, after: &[&str]) -> Result<String, String> {
    let task = Addition {
        id: TaskId::new(id).expect("an id"),
        title: "New".to_owned(),
        description: None,
        layer: None,
        after: after.iter().map(|id| TaskId::new(id).expect("an id")).collect(),
        files: Vec::new(),
        checks: None,
        about: crate::plan::AboutTask::default(),
    };
    match add(&folder(&[("tasks.md", list)]), &task) {
        Ok(Some((_, bytes))) => Ok(String::from_utf8(bytes).expect("text")),
        Ok(None) => Ok(list.to_owned()),
        Err(refusal) => Err(refusal.reason),
    }
}

#[test]
fn a_box_is_added_where_its_turn_is_and_nothing_else_changes() {
    let list = "\u{feff}# A\r\n* [x] 1. a\r\n\t* [ ] 1.1 b\r\n\r\n  words\r\n\r\n* [ ] 2. c\r\n\r\n## End";
    assert_eq!(added(list, "1.2", &[]), Ok(list.replace("  words", "  words\r\n\t- [ ] 1.2 New")));
    assert_eq!(added(list, "3", &[]), Ok(list.replace("2. c", "2. c\r\n- [ ] 3. New")));
    assert_eq!(added(list, "7", &["1.1"]), Ok(list.replace("  words", "  words\r\n\t- [ ] 7. New")));
    let both = added(list, "3", &["2", "1.1"]).expect("room");
    assert_eq!(both, list.replace("2. c", "2. c\r\n- [ ] 3. New\r\n  - Depends on: 2, 1.1"));
    assert_eq!(added(&both, "3", &["2", "1.1"]), Ok(both.clone()), "once is enough");
    assert!(added(&both, "3", &[]).is_err());
    assert_eq!(added("- [ ] 1. a", "2", &[]), Ok("- [ ] 1. a\n- [ ] 2. New".to_owned()));
    assert!(added("# Nothing\n", "2", &[]).is_err());
    assert!(added("### TASK-1: a\n- [ ] b\n", "2", &[]).is_err());
}
