//! Reading a large list of boxes, as whoever types `piton plan` waits for it.

use std::fs;

use crate::bench::{Figure, Project, median, show, timed};

const SIZE: usize = 10 << 20;
const TIMES: usize = 5;

pub(crate) fn figures() -> Vec<Figure> {
    let project = Project::new("", 0);
    let folder = project.repo.join(".claude/plans/issue-7-large");
    fs::create_dir_all(&folder).unwrap();
    let (list, tasks) = list();
    fs::write(folder.join("tasks.md"), &list).unwrap();
    fs::write(folder.join("requirements.md"), "### Requirement 1: Sums\n\n1. THE system SHALL add\n")
        .unwrap();
    fs::write(project.repo.join("piton.toml"), "[defaults]\nchecks = [\"true\"]\n").unwrap();
    let read = (0..TIMES).map(|_| timed(|| project.piton("plan 7 --strict")).0);
    let shown = (0..TIMES).map(|_| timed(|| project.piton("plan 7 --strict --all")).0);
    vec![
        Figure::plain(
            format!("read and check a `tasks.md` of 10 MB, {tasks} tasks"),
            show(median(read.collect())),
            "1 s",
        ),
        Figure::plain("the same, and every task is listed", show(median(shown.collect())), "–"),
    ]
}

/// Phases, parents, tasks with details, steps and references.
fn list() -> (String, usize) {
    let (mut text, mut tasks) = ("# Tasks: Issue #7 - Large\n\n## Tasks\n".to_owned(), 0);
    for parent in 1.. {
        if parent % 50 == 1 {
            text += &format!("\n### Phase {}: Part of it\n\n", parent / 50 + 1);
        }
        text += &format!("- [ ] {parent}. Everything about number {parent}\n");
        for child in 1..=9 {
            tasks += 1;
            text += &format!(
                "  - [ ] {parent}.{child} Add part {child} of it\n    - write through a temp file\n    - [ ] and try it\n    - _Requirements: 1.1_\n"
            );
        }
        if text.len() >= SIZE {
            break;
        }
    }
    (text, tasks)
}
