//! Where the files of BMAD lie.

use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask};

pub(super) const BOARD: &str = "sprint-status.yaml";
/// Where a project keeps what its agents make.
pub(super) const FOLDER: &str = "_bmad-output";
/// The folder of stories in there.
pub(super) const ARTIFACTS: &str = "implementation-artifacts";
/// Folders beside the board that may hold the stories.
const STORIES: [&str; 2] = ["", "stories"];
/// Names of one folder; more are not looked at.
const MOST: usize = 5000;

/// The ids of the stories with these keys: reader and writer call them the same.
pub(super) fn ids(keys: &[&str]) -> Vec<TaskId> {
    let task = |key: &&str| DraftTask { name: (*key).to_owned(), ..DraftTask::default() };
    Draft { tasks: keys.iter().map(task).collect(), ..Draft::default() }.ids()
}

/// The folder of a board.
pub(super) fn root_of(board: &str) -> &str {
    board.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The key that a file of the board's folder is the story of: `1-2-sign-in.md`, `spec-1-2-sign-in.md`.
pub(super) fn key_of(name: &str) -> Option<&str> {
    let stem = name.rsplit('/').next().unwrap_or(name).strip_suffix(".md")?;
    let stem = stem.strip_prefix("story-").or_else(|| stem.strip_prefix("spec-")).unwrap_or(stem);
    (!stem.is_empty()).then_some(stem)
}

/// The Markdown files that may be stories, by their paths from the folder of the board on.
pub(super) fn stories(names: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in STORIES {
        let own = names(folder).into_iter().filter(|name| key_of(name).is_some());
        found.extend(own.take(MOST).map(|name| join(folder, &name)));
    }
    found
}

/// Files that every agent should know, by their paths: those of the project, which lie in several places.
pub(super) fn about_project(board: &str) -> Vec<String> {
    let root = root_of(board);
    let above = root.strip_suffix(ARTIFACTS).map(|above| above.trim_end_matches('/')).unwrap_or(root);
    let project = above.strip_suffix(FOLDER).map(|project| project.trim_end_matches('/')).unwrap_or_default();
    let mut files: Vec<String> = Vec::new();
    for folder in
        [above.to_owned(), join(above, "planning-artifacts"), join(project, "docs"), project.to_owned()]
    {
        for name in ["project-context.md", "architecture.md", "epics.md"] {
            let file = join(&folder, name);
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_found_by_its_key() {
        assert_eq!(key_of("1-2-sign-in.md"), Some("1-2-sign-in"));
        assert_eq!(key_of("stories/spec-1-2-sign-in.md"), Some("1-2-sign-in"));
        assert_eq!(key_of("sprint-status.yaml"), None);
    }

    #[test]
    fn what_is_about_the_project_is_looked_for_around_the_board() {
        let files = about_project("a/_bmad-output/implementation-artifacts/sprint-status.yaml");
        assert!(files.contains(&"a/_bmad-output/planning-artifacts/epics.md".to_owned()), "{files:?}");
        assert!(
            files.contains(&"a/docs/project-context.md".to_owned())
                && files.contains(&"a/project-context.md".to_owned())
        );
        assert!(about_project("sprint-status.yaml").contains(&"docs/architecture.md".to_owned()));
    }
}
