//! Reading a large list of boxes: what `piton plan` takes.

use std::fs;

use crate::bench::{Figure, Project, median, show, timed};

const SIZE: usize = 10 << 20;
const TIMES: usize = 5;

pub(crate) fn figures() -> Vec<Figure> {
    let project = Project::new("", 0);
    fs::write(project.repo.join("piton.toml"), "[defaults]\nchecks = [\"true\"]\n").unwrap();
    let told = plan(&project, 7, USUAL);
    let read = (0..TIMES).map(|_| timed(|| project.piton("plan 7 --strict")).0);
    let read = show(median(read.collect()));
    let dense = plan(&project, 8, DENSE);
    let short = (0..TIMES).map(|_| timed(|| project.piton("plan 8 --strict")).0);
    let short = show(median(short.collect()));
    vec![
        Figure::plain(format!("read and check a `tasks.md` of 10 MB, {told} tasks"), read, "1 s"),
        Figure::plain(format!("the same of nothing but short lines, {dense} tasks with steps"), short, "1 s"),
    ]
}

/// As people and agents write them: what to do, where, and what for.
const USUAL: &str = "    - Write it through a temporary file beside the old one, so that nobody reads half of it\n    - Add a test in `tests/part.rs` that fails without it, and one for an empty file\n    - _Requirements: 1.1_\n";

/// As few bytes as a task can have with all that belongs to it.
const DENSE: &str = "    - write through a temp file\n    - [ ] and try it\n    - _Requirements: 1.1_\n";

/// A plan of an issue with a large list, and how many tasks that has: phases, parents, tasks with these details.
fn plan(project: &Project, issue: u32, details: &str) -> usize {
    let folder = project.repo.join(format!(".claude/plans/issue-{issue}-large"));
    fs::create_dir_all(&folder).unwrap();
    let (mut text, mut tasks) = (format!("# Tasks: Issue #{issue} - Large\n\n## Tasks\n"), 0);
    for parent in 1.. {
        if parent % 50 == 1 {
            text += &format!("\n### Phase {}: Part of it\n\n", parent / 50 + 1);
        }
        text += &format!("- [ ] {parent}. Everything about number {parent}\n");
        for child in 1..=9 {
            tasks += 1;
            text += &format!("  - [ ] {parent}.{child} Add part {child} of it\n{details}");
        }
        if text.len() >= SIZE {
            break;
        }
    }
    fs::write(folder.join("tasks.md"), &text).unwrap();
    fs::write(folder.join("requirements.md"), "### Requirement 1: Sums\n\n1. THE system SHALL add\n")
        .unwrap();
    tasks
}
