//! Tasks of Backlog.md as people and agents leave them, and what is made of each.

mod writing;

use insta::assert_snapshot;

use super::row::BACKLOG;
use crate::system::kit::draft::testing::{self, shown};
use crate::system::{Disk, FileClaim, ReadPlan, System};

const PLACE: &str = "backlog/config.yml";

const CONFIG: &str = "\
project_name: \"Receipts\"
default_status: \"To Do\"
statuses: [\"To Do\", \"In Progress\", \"Done\", \"Wontfix\"]
definition_of_done:
  - \"`cargo clippy` passes\"
  - Reviewed
";

pub(super) const KEEP: &str = "\
---
id: task-1
title: 'Keep: a receipt'
status: \"To Do\"
assignee: []
updated_date: 2026-01-05
dependencies: []
references:
  - src/keep.rs
  - https://example.com/keep
documentation: [docs/keep.md]
priority: high
ordinal: 2000
onStatusChange: 'rm -rf .'
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Keep it.

- [x] a step
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 It is kept
- [x] #2 `cargo test keep` passes
<!-- AC:END -->

## Definition of Done
<!-- DOD:BEGIN -->
- [ ] #1 Documented
<!-- DOD:END -->

## Final Summary

<!-- SECTION:FINAL_SUMMARY:BEGIN -->
Was done.
<!-- SECTION:FINAL_SUMMARY:END -->
";

fn task(fields: &str) -> String {
    format!("---\n{fields}---\n\n## Description\n\nWords.\n")
}

fn receipts() -> Vec<(&'static str, String)> {
    vec![
        (PLACE, CONFIG.to_owned()),
        ("backlog/tasks/task-1 - Keep.md", KEEP.to_owned()),
        (
            "backlog/tasks/task-2 - Find.md",
            task(
                "title: Find\nstatus: To Do\ndependencies: [TASK-01, 9, 77]\nmilestone: First\nordinal: 1000\n",
            ),
        ),
        ("backlog/tasks/task-7 - Show.md", task("title: Show\nstatus: To Do\npriority: soon\n")),
        ("backlog/tasks/task-7.1 - Draw.md", task("title: Draw\nstatus: Done\nparent_task_id: task-7\n")),
        (
            "backlog/tasks/task-7.2 - Colour.md",
            task("title: Colour\nstatus: to do\nparent_task_id: task-7\ndependencies:\n  - task-7\n"),
        ),
        ("backlog/tasks/task-8 - Theirs.md", task("title: Theirs\nstatus: In Progress\n")),
        ("backlog/tasks/task-10 - Odd.md", task("title: Odd\nstatus: Maybe\nnot a field\n")),
        ("backlog/tasks/task-11 - Note.md", "A note.\n".to_owned()),
        ("backlog/completed/task-9 - Set-up.md", task("title: Set up\nstatus: To Do\n")),
        ("backlog/completed/task-1 - Older.md", task("title: Older\nstatus: Done\n")),
    ]
}

fn read(files: &[(&str, String)]) -> Box<dyn ReadPlan> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    testing::read(&BACKLOG, &files)
}

#[test]
fn a_folder_of_tasks_becomes_a_plan() {
    assert_snapshot!(shown(read(&receipts()).reading()));
}

#[test]
fn a_prompt_has_the_words_of_the_task_and_no_command_of_its_fields() {
    let found = read(&receipts());
    let first =
        found.reading().plan.tasks.iter().find(|task| task.id.as_str() == "task-1").expect("it is there");
    assert_snapshot!(first.prompt);
}

#[test]
fn statuses_and_boxes_do_not_change_the_plan() {
    let before = read(&receipts());
    let mut files = receipts();
    files[1].1 =
        KEEP.replace("\"To Do\"", "\"Done\"").replace("- [ ]", "- [x]").replace("2026-01-05", "2026-02-06");
    let after = read(&files);
    assert_eq!(before.reading().plan.hash(), after.reading().plan.hash());
    let done = |found: &dyn ReadPlan| found.reading().before.values().filter(|before| before.done).count();
    assert_eq!((done(&*before), done(&*after)), (3, 4));
}

#[test]
fn a_configuration_of_another_tool_is_refused() {
    let found =
        read(&[(PLACE, "layers: 3\n".to_owned()), ("backlog/tasks/task-1 - A.md", task("title: A\n"))]);
    assert!(!found.reading().is_usable());
}

#[test]
fn a_configuration_at_the_root_of_the_project_names_the_folder() {
    let plain: Vec<String> =
        read(&receipts()).reading().plan.tasks.iter().map(|task| task.id.to_string()).collect();
    for (directory, folder) in
        [("", "backlog"), ("", ".backlog"), ("backlog_directory: docs/work\n", "docs/work")]
    {
        let files: Vec<(String, String)> = receipts()
            .into_iter()
            .map(|(name, text)| match name {
                PLACE => ("backlog.config.yml".to_owned(), format!("{text}{directory}")),
                name => (name.replacen("backlog", folder, 1), text),
            })
            .collect();
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        let found = read(&files);
        let ids: Vec<String> = found.reading().plan.tasks.iter().map(|task| task.id.to_string()).collect();
        assert_eq!(ids, plain, "{folder}");
        assert!(
            found
                .reading()
                .problems
                .iter()
                .all(|problem| !problem.file.starts_with("backlog/") || folder == "backlog")
        );
    }
}

/// A project whose files all say this.
struct Project<'p>(&'p [(&'p str, &'p str)]);

impl Disk for Project<'_> {
    fn is_file(&self, path: &str) -> bool {
        self.read(path).is_some()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Some(folder) = self.real(folder) else { return Vec::new() };
        let below = self.0.iter().filter_map(|(path, _)| match folder.as_str() {
            "" => Some(*path),
            _ => path.strip_prefix(folder.as_str())?.strip_prefix('/'),
        });
        below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let path = self.real(path)?;
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." => drop(parts.pop()?),
                _ => parts.push(part),
            }
        }
        Some(parts.join("/"))
    }
}

#[test]
fn the_configuration_at_the_root_counts_for_the_folder_that_it_names() {
    let root = format!("{CONFIG}backlog_directory: docs/work\n");
    let all: &[(&str, &str)] = &[
        ("backlog.config.yml", &root),
        ("docs/work/tasks/task-1 - A.md", ""),
        ("docs/work/config.yml", CONFIG),
        ("backlog/config.yml", CONFIG),
        ("backlog/tasks/task-2 - B.md", ""),
    ];
    let disk = Project(all);
    let claim = |folder: &str| BACKLOG.claims_folder(folder, &disk).map(|claim| claim.file);
    assert_eq!(claim("docs/work").as_deref(), Some("../../backlog.config.yml"));
    assert_eq!(claim("backlog").as_deref(), Some("config.yml"), "it is another folder");
    assert_eq!(claim(".").as_deref(), Some("backlog.config.yml"));
    assert_eq!(claim("docs"), None);
    assert_eq!(BACKLOG.claims_file("backlog.config.yml", "backlog.config.yml", &disk), FileClaim::Yes);
    assert_eq!(BACKLOG.read_along("backlog.config.yml", &disk), ["docs/work/tasks/task-1 - A.md"]);
    let names: Vec<String> = BACKLOG
        .companions_below(root.as_bytes(), &|folder| disk.names(folder))
        .iter()
        .filter_map(|companion| companion.name().map(str::to_owned))
        .collect();
    assert_eq!(names, ["docs/work/tasks/task-1 - A.md"]);
    let none = Project(&[("backlog.config.yml", CONFIG), ("backlog/notes.md", "")]);
    assert_eq!(BACKLOG.claims_folder(".", &none), None, "there is no task");
}

/// A configuration and the names of files.
struct Files(&'static str, &'static [&'static str]);

impl Disk for Files {
    fn is_file(&self, path: &str) -> bool {
        path == PLACE
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let below = self.1.iter().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        (path == PLACE).then(|| self.0.as_bytes().to_vec())
    }

    fn real(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

#[test]
fn the_folder_is_recognised_by_its_configuration_and_a_task() {
    let claim =
        |config, files| BACKLOG.claims_folder("backlog", &Files(config, files)).map(|claim| claim.file);
    let tasks: &[&str] = &["backlog/tasks/epics/task-1 - A.md"];
    assert_eq!(claim(CONFIG, tasks).as_deref(), Some("config.yml"));
    assert_eq!(claim(CONFIG, &["backlog/tasks/readme.md"]), None);
    assert_eq!(claim("a: b\n", tasks), None);
    let disk = Files(CONFIG, tasks);
    assert_eq!(BACKLOG.claims_file("config.yml", PLACE, &disk), FileClaim::InItsFolder);
    assert_eq!(BACKLOG.read_along(PLACE, &disk), ["backlog/tasks/epics/task-1 - A.md"]);
}
