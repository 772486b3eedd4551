//! What an agent is told.

use crate::plan::{RepoPath, TaskSpec};

/// The text for one try of an agent that the engine starts.
pub fn prompt(spec: &TaskSpec, attempt: u32, feedback: Option<&str>) -> String {
    asked(spec)
        + "\n## How to work\n\
        - You are in a git worktree of your own; work only here.\n\
        - Commit your work, or leave it uncommitted: it is committed for you.\n\
        - Do not push, and do not touch other branches.\n\
        - When the task itself is wrong and a person has to decide, say so: end with the line\n  \
          `<signal>BLOCKED:the reason</signal>`\n"
        + &mend(attempt, feedback)
}

/// What a task asks, and what decides about it.
pub fn asked(spec: &TaskSpec) -> String {
    let mut text = format!("# Task {}: {}\n\n{}\n", spec.id, spec.title, spec.prompt.trim());
    section(&mut text, "Criteria", spec.criteria.iter().map(String::as_str));
    section(&mut text, "Files this task is about", spec.files.iter().map(RepoPath::as_str));
    let checks: Vec<String> = spec.checks.iter().map(|check| format!("`{}`", check.run)).collect();
    section(&mut text, "Checks that decide whether it is done", checks.iter().map(String::as_str));
    text
}

/// What the last try failed for, if there was one.
pub fn mend(attempt: u32, feedback: Option<&str>) -> String {
    let Some(feedback) = feedback.filter(|feedback| !feedback.trim().is_empty()) else {
        return String::new();
    };
    let nth = if attempt > 1 { format!("This is attempt {attempt}. ") } else { String::new() };
    format!(
        "\n## What went wrong last time\n{nth}Your earlier work is still here. Mend this:\n\n{}\n",
        feedback.trim_end()
    )
}

fn section<'a>(text: &mut String, title: &str, items: impl Iterator<Item = &'a str>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        *text += &format!("\n## {title}\n");
        items.for_each(|item| *text += &format!("- {item}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::native::testing::task;

    #[test]
    fn a_retry_is_told_what_went_wrong() {
        let mut spec = task("T1", &[]);
        spec.criteria = vec!["it works".into()];
        insta::assert_snapshot!(prompt(&spec, 2, Some("Check `true` failed with exit status 1.\n")), @r"
        # Task T1: Do T1

        Please do T1

        ## Criteria
        - it works

        ## Checks that decide whether it is done
        - `true`

        ## How to work
        - You are in a git worktree of your own; work only here.
        - Commit your work, or leave it uncommitted: it is committed for you.
        - Do not push, and do not touch other branches.
        - When the task itself is wrong and a person has to decide, say so: end with the line
          `<signal>BLOCKED:the reason</signal>`

        ## What went wrong last time
        This is attempt 2. Your earlier work is still here. Mend this:

        Check `true` failed with exit status 1.
        ");
        assert!(!prompt(&spec, 1, None).contains("went wrong"));
    }
}
