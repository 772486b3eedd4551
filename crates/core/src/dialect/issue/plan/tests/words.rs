//! What a reviewer would say about a plan, and the plans that we write ourselves.

use super::*;
use crate::dialect::issue::plan::starter;

#[test]
fn requirements_nobody_is_for_and_tasks_for_none_are_told() {
    let read = reading(&invoices());
    assert_eq!(
        told_of(&read, &lint(&read)),
        "requirements.md:18:5: warning: no task is for requirement 3 (refer to it below one, like `_Requirements: 3_`)\n"
    );
    let read = reading(&folder(&[
        ("requirements.md", REQUIREMENTS),
        ("tasks.md", "- [ ] 1. a\n- [ ] 2. Checkpoint\n"),
    ]));
    assert!(told_of(&read, &lint(&read)).contains("tasks.md:1:7: warning: `1` is for no requirement"));
    assert!(!told_of(&read, &lint(&read)).contains("`2`"));
}

#[test]
fn the_starter_is_fine() {
    for (number, slug) in [(7, "greeting"), (0, "a.b_c"), (12345, "x")] {
        let (name, files) = starter(number, slug).expect("a name");
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let read = reading_with(&folder(&files), &name, &Config::default(), true);
        assert_eq!(told(&read), "");
        assert_eq!(told_of(&read, &lint(&read)), "");
        assert_eq!(read.issue.number, Some(number));
        assert_eq!(read.reading.plan.tasks.len(), 6);
        assert!(read.coverage.rows.iter().all(|row| !row.tasks.is_empty()));
        assert!(
            read.before.values().filter(|before| before.done).count() == 1,
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
    let read = reading_with(&folder, "issue-7-by-month", &config, true);
    assert_eq!(told(&read), "");
    assert_eq!(told_of(&read, &lint(&read)), "");
    assert_eq!((read.reading.plan.groups.len(), read.reading.plan.tasks.len()), (2, 8));
    assert!(read.coverage.rows.iter().all(|row| !row.tests.is_empty()), "every criterion has a test");
}
