//! What is around the folder of a worktree: another repository, or a checkout that should not see it.

use std::fs;
use std::io::{self, Write};

use camino::Utf8Path;

use super::command::{Git, lossy};
use super::error::GitError;
use super::repo::{self, Repo};
use super::worktree::is_empty;

/// The git of the repository around a path, if there is one. Another repository than ours is rejected.
pub(super) fn repository_around(repo: &Repo, path: &Utf8Path) -> Result<Option<Git>, GitError> {
    let Some(around) = path.ancestors().skip(1).find(|folder| folder.is_dir()) else { return Ok(None) };
    let git = repo.git().at(around);
    let answer = git.call(["rev-parse", "--path-format=absolute", "--git-common-dir"]).answer()?;
    if answer.code != Some(0) {
        return if answer.stderr.contains("not a git repository") { Ok(None) } else { Err(answer.failed()) };
    }
    let common = repo::real(Utf8Path::new(lossy(&answer.stdout).trim_end_matches('\n')))?;
    if common != repo.common_dir() {
        return Err(GitError::ForeignRepository { path: path.to_owned(), repository: common });
    }
    Ok(Some(git))
}

/// Reject a path inside another repository; hide one inside our own project from its status.
pub(super) fn check_surroundings(repo: &Repo, path: &Utf8Path) -> Result<(), GitError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    if repo.is_fit(parent) {
        return Ok(());
    }
    let Some(git) = repository_around(repo, path)? else {
        repo.call_fit(parent);
        return Ok(());
    };
    let Ok(top) = git.call(["rev-parse", "--show-toplevel"]).line() else { return Ok(()) };
    let top = repo::real(Utf8Path::new(&top))?;
    let Ok(inside) = path.strip_prefix(&top) else { return Ok(()) };
    let is_ignored = |folder: &Utf8Path| {
        // This command rejects literal pathspecs, but an absolute path contains no pathspec magic.
        let call = git.call(["check-ignore", "--quiet", "--", &format!("{folder}/")]);
        call.env("GIT_LITERAL_PATHSPECS", "0").yes()
    };
    if parent != top && is_ignored(parent)? {
        repo.call_fit(parent);
        return Ok(());
    }
    if is_ignored(path)? {
        return Ok(());
    }
    // A folder that holds nothing but worktrees is hidden as a whole, so this happens once.
    let free = !parent.exists() || is_empty(parent);
    let hidden = parent.strip_prefix(&top).ok().filter(|rest| free && !rest.as_str().is_empty());
    exclude(repo, &format!("{}/", hidden.unwrap_or(inside)))
}

/// Hide a path from `git status` and `git add` in every checkout of this repository. Once is enough.
pub(super) fn exclude(repo: &Repo, path: &str) -> Result<(), GitError> {
    exclude_line(repo, &format!("/{}", escaped(path)))
}

/// The same for every path that begins so.
pub(super) fn exclude_beginning(repo: &Repo, path: &str) -> Result<(), GitError> {
    exclude_line(repo, &format!("/{}*", escaped(path)))
}

pub(super) fn escaped(path: &str) -> String {
    path.chars().flat_map(|c| if "\\*?[ ".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}

fn exclude_line(repo: &Repo, line: &str) -> Result<(), GitError> {
    let file = repo.common_dir().join("info/exclude");
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other.map_err(GitError::io(file.clone()))?,
    };
    if text.lines().any(|other| other == line) {
        return Ok(());
    }
    let start = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
    }
    let mut open =
        fs::OpenOptions::new().append(true).create(true).open(&file).map_err(GitError::io(file.clone()))?;
    open.write_all(format!("{start}{line}\n").as_bytes()).map_err(GitError::io(file))
}
