//! Where the files of BMAD lie.

use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask};
use crate::system::kit::frontmatter::{Fields, Value};

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

/// The file that says what a spec is about, beside the list of its stories.
pub(super) const SPEC: &str = "SPEC.md";
/// Companions of one spec; more are not read.
const COMPANIONS: usize = 100;

/// The folder that a spec's own files may name others in: the project, where that shows, or else the folder of the spec.
fn around_spec(root: &str) -> (&str, Option<String>) {
    let parts = root.match_indices(FOLDER).map(|(at, _)| at);
    let whole = |at: &usize| {
        (*at == 0 || root[..*at].ends_with('/'))
            && root[*at + FOLDER.len()..].chars().next().is_none_or(|c| c == '/')
    };
    match parts.filter(whole).last() {
        Some(at) => (root[..at].trim_end_matches('/'), Some(root[..at + FOLDER.len()].to_owned())),
        None => (root, None),
    }
}

/// Files that every agent should know besides the spec, its companions, and the stories: those of the project.
pub(super) fn about_spec(list: &str) -> Vec<String> {
    match around_spec(root_of(list)).1 {
        Some(output) => about_project(&join(&join(&output, ARTIFACTS), BOARD)),
        None => about_project(list),
    }
}

/// The files that a spec has as its companions, by what it calls them and where they are. `None`: Piton does not read such a
/// path.
pub(super) fn companions_of(list: &str, spec: &str) -> Vec<(Value, Option<String>)> {
    let (fields, _) = Fields::of_front(spec);
    let named = fields.list("companions").into_iter().take(COMPANIONS);
    named.map(|value| (value.clone(), resolved(root_of(list), &value.text))).collect()
}

/// A path that a file in this folder names. It may not lead out of the project.
fn resolved(root: &str, path: &str) -> Option<String> {
    let project = around_spec(root).0;
    let (from, rest) = match path.strip_prefix("{project-root}/") {
        Some(rest) => (project, rest),
        None => (root, path),
    };
    if rest.starts_with('/') || rest.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    if from.is_empty() {
        parts.clear();
    }
    let least = if project.is_empty() { 0 } else { project.split('/').count() };
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.len() > least => drop(parts.pop()),
            ".." => return None,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
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

    #[test]
    fn a_companion_of_a_spec_lies_in_the_project() {
        let of = |list: &str, path: &str| {
            let spec = format!("---\ncompanions:\n  - {path}\n---\n");
            companions_of(list, &spec).remove(0).1
        };
        let list = "_bmad-output/specs/spec-a/stories.yaml";
        assert_eq!(of(list, "words.md").as_deref(), Some("_bmad-output/specs/spec-a/words.md"));
        assert_eq!(
            of(list, "../../planning-artifacts/epics.md").as_deref(),
            Some("_bmad-output/planning-artifacts/epics.md")
        );
        assert_eq!(of(list, "'{project-root}/docs/a.md'").as_deref(), Some("docs/a.md"));
        assert_eq!(of(list, "../../../docs/a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(of("/p/_bmad-output/a/stories.yaml", "../../b.md").as_deref(), Some("/p/b.md"));
        for outside in ["../../../../a.md", "/etc/passwd", "a\\b.md"] {
            assert_eq!(of(list, outside), None, "{outside}");
        }
        assert_eq!(of("/p/_bmad-output/a/stories.yaml", "../../../b.md"), None);
        assert_eq!(of("docs/spec-a/stories.yaml", "../b.md"), None, "where the project begins is not known");
    }

    #[test]
    fn what_is_about_the_project_is_looked_for_around_a_spec() {
        let files = about_spec("a/_bmad-output/specs/spec-a/stories.yaml");
        assert!(files.contains(&"a/_bmad-output/project-context.md".to_owned()), "{files:?}");
        assert!(files.contains(&"a/docs/architecture.md".to_owned()), "{files:?}");
        assert!(about_spec("docs/spec-a/stories.yaml").contains(&"docs/spec-a/architecture.md".to_owned()));
    }
}
