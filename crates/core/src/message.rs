//! The commit messages Piton writes, in the forms people's scripts look for.

use crate::plan::{RepoPath, RunId, TaskSpec};
use crate::run::ContextUpdate;

/// What identifies a commit's origin when there is no journal.
pub const RUN_TRAILER: &str = "Piton-Run";
pub const TASK_TRAILER: &str = "Piton-Task";
/// What the task asked for: another task under the same id has not landed by that.
pub const CONTENT_TRAILER: &str = "Piton-Content";

/// For work an agent left uncommitted. `fixes` is what its last attempt failed for.
pub fn work(
    spec: &TaskSpec,
    run: &RunId,
    prefix: Option<&str>,
    attempt: u32,
    budget: u32,
    fixes: Option<&str>,
) -> String {
    let prefix = prefix.map(|prefix| format!("{prefix} ")).unwrap_or_default();
    let id = &spec.id;
    let (subject, body) = match fixes {
        None => (format!("{prefix}[{id}] {}", line(&spec.title)), implements(spec)),
        Some(reason) => (
            format!("{prefix}[{id}] Fix: {}", line(&spec.title)),
            format!("Previous failure: {}\n\n", line(reason)),
        ),
    };
    format!(
        "{subject}\n\n{body}Task: {id}\nAttempt: {attempt}/{budget}\n{RUN_TRAILER}: {run}\n{TASK_TRAILER}: {id}\n"
    )
}

/// For the merge that lands a task.
pub fn merge(spec: &TaskSpec, run: &RunId, group: &str, commits: usize, prefix: Option<&str>) -> String {
    let prefix = prefix.map(|prefix| format!("{prefix} ")).unwrap_or_default();
    let id = &spec.id;
    let checks = match spec.checks.len() {
        0 => "no check".to_owned(),
        1 => "1 check passed".to_owned(),
        n => format!("{n} checks passed"),
    };
    format!(
        "{prefix}Merge worktree-{id}: {}\n\nLayer: {group}\nTask: {id}\nCommits: {commits}\nVerification: {checks}\n\
         {RUN_TRAILER}: {run}\n{TASK_TRAILER}: {id}\n{CONTENT_TRAILER}: {}\n",
        line(&spec.title),
        spec.content()
    )
}

/// The task that a merge of ours lands, by its subject; `None` for what [`merge`] does not write.
pub fn merged_task(subject: &str) -> Option<&str> {
    let (_, rest) = subject.split_once("Merge worktree-")?;
    rest.split_once(':').map(|(id, _)| id)
}

/// For the change of the project's description, with what was entered in it.
pub fn context(update: &ContextUpdate, run: &RunId, prefix: Option<&str>) -> String {
    let prefix = prefix.map(|prefix| format!("{prefix} ")).unwrap_or_default();
    let mut body = String::new();
    for (what, names) in
        [("Features", &update.features), ("Endpoints", &update.endpoints), ("Models", &update.models)]
    {
        if !names.is_empty() {
            body += &format!("{what}: {}\n", line(&names.join(", ")));
        }
    }
    format!("{prefix}Update project context\n\n{body}\n{RUN_TRAILER}: {run}\n")
}

fn implements(spec: &TaskSpec) -> String {
    let mut body = String::new();
    for criterion in &spec.criteria {
        body += &format!("Implements: {}\n", line(criterion));
    }
    if !spec.files.is_empty() {
        let files: Vec<&str> = spec.files.iter().map(RepoPath::as_str).collect();
        body += &format!("Files: {}\n", files.join(", "));
    }
    if !body.is_empty() {
        body.push('\n');
    }
    body
}

/// One line: a title with a newline in it must not become a trailer. Nor can git be told a NUL.
fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::native::testing::task;

    #[test]
    fn forms() {
        let run = RunId::new("demo-1").expect("valid");
        let mut spec = task("L1-002", &[]);
        spec.title = "Add store\nPiton-Task: forged\0".into();
        let said = [
            work(&spec, &run, None, 1, 5, None),
            work(&spec, &run, Some("feat:"), 2, 5, Some("check `a` failed\nmore")),
            merge(&spec, &run, "1-foundation", 2, None),
            context(
                &ContextUpdate {
                    endpoints: vec!["GET /a".into(), "POST /b\nPiton-Task: forged".into()],
                    models: vec!["Cart".into()],
                    ..ContextUpdate::default()
                },
                &run,
                Some("docs:"),
            ),
        ];
        insta::assert_snapshot!(said.join("---\n"), @r"
        [L1-002] Add store Piton-Task: forged

        Task: L1-002
        Attempt: 1/5
        Piton-Run: demo-1
        Piton-Task: L1-002
        ---
        feat: [L1-002] Fix: Add store Piton-Task: forged

        Previous failure: check `a` failed more

        Task: L1-002
        Attempt: 2/5
        Piton-Run: demo-1
        Piton-Task: L1-002
        ---
        Merge worktree-L1-002: Add store Piton-Task: forged

        Layer: 1-foundation
        Task: L1-002
        Commits: 2
        Verification: 1 check passed
        Piton-Run: demo-1
        Piton-Task: L1-002
        Piton-Content: 1:460beaaf2edfb0c1
        ---
        docs: Update project context

        Endpoints: GET /a, POST /b Piton-Task: forged
        Models: Cart

        Piton-Run: demo-1
        ");
    }
}
