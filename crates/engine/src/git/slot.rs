//! A worktree that goes from one task to the next: cleared of all that is not a cache, and moved to another commit, with
//! only those files written that differ.
//!
//! Which files an agent has changed is seen by an index that only Piton writes (`exact`): whatever flags it set in its own,
//! and whatever time it gave a file. Of the worktree's git directory nothing stays but a list of known files.

use std::fs;

use camino::{Utf8DirEntry, Utf8Path};
use piton_core::plan::{Digest, Oid};

use super::command::{fields, lossy};
use super::error::GitError;
use super::exact::ExactWorktree;
use super::place;
use super::repo::Repo;
use super::rescue::{Rescue, Rescued};
use super::surroundings::escaped;
use super::view::View;
use super::worktree::{READY, Worktree, locked_by_a_person, remove_if_there, write};
use crate::crash;

/// For whom a worktree is that nobody works in. No task is called that.
const NOBODY: &str = "nobody";
/// In a worktree's git folder while its files are moved: what is there was rescued, or is on its way.
const MOVING: &str = "piton-moving";
/// What stays in a worktree's git folder. Anything else is of the one who worked there: settings, hooks, logs, refs,
/// notes of a merge.
const STAYS: [&str; 7] = ["HEAD", "commondir", "gitdir", "index", place::RECORD, READY, MOVING];

/// A worktree that was cleared for the next task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    pub rescued: Option<Rescued>,
    /// Whether it holds caches.
    pub is_warm: bool,
}

impl Worktree {
    /// Remember the files of a new one, in which nobody has worked: when it is parked, what differs was changed.
    pub fn remember_files(&self) -> Result<(), GitError> {
        ExactWorktree::remember_index(self)
    }

    /// Whether git passes over a folder here, whatever will be in it.
    pub fn ignores(&self, folder: &Utf8Path) -> Result<bool, GitError> {
        let view = self.view()?;
        // This one command does not take literal paths, and an absolute path has no magic in it.
        let call =
            view.git().call(["check-ignore", "--quiet", "--", &format!("{}/", self.path().join(folder))]);
        call.env("GIT_LITERAL_PATHSPECS", "0").yes()
    }

    /// The files that git knows here.
    pub fn tracked_files(&self) -> Result<Vec<String>, GitError> {
        let list = self.view()?.index().call(["ls-files", "-z"]).bytes()?;
        Ok(fields(&list).map(lossy).collect())
    }

    /// The same after their times were changed, and nothing else.
    pub fn refresh_files(&self) -> Result<(), GitError> {
        let exact = ExactWorktree::over(self.clone());
        if !exact.index().is_file() {
            self.remember_files()?;
        }
        exact.call(&self.view()?, ["update-index", "-q", "--refresh"]).run()?;
        exact.publish_index()
    }

    /// Whether another task may work in it one day. One with a sparse checkout holds less than others expect.
    pub fn is_reusable(&self) -> bool {
        !self.git_dir().join("info/sparse-checkout").exists() && locked_by_a_person(self.git_dir()).is_none()
    }

    /// Clear it for the next task: rescue what exists only here, bring it to `commit`, and remove what is ignored but for
    /// the folders that may stay. Nobody may be working in it. It can be repeated after a crash.
    pub fn park(
        &self,
        commit: &Oid,
        rescue: &Rescue,
        stays: &dyn Fn(&str) -> bool,
    ) -> Result<Parked, GitError> {
        self.check_place()?;
        let mut rescued = None;
        if !self.is_moving() {
            rescued = self.rescue_all(rescue)?;
        }
        let is_warm = self.clear(commit, stays)?;
        self.make_ready(NOBODY)?;
        self.end_move()?;
        Ok(Parked { rescued, is_warm })
    }

    /// Give a worktree that was parked, or that somebody else left, to the next task: at `commit`, with what is in there and
    /// nowhere else rescued. Nobody may be working in it. It can be repeated after a crash.
    pub fn hand_over(
        &self,
        commit: &Oid,
        rescue: &Rescue,
        stays: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Rescued>, GitError> {
        self.check_place()?;
        let nothing = |_: &str| false;
        // What a power cut left of a cache may be torn, and no tool would see it.
        let stays: &dyn Fn(&str) -> bool = if self.is_ready() { stays } else { &nothing };
        let mut rescued = None;
        if !self.is_moving() {
            if self.is_ready() && self.is_for(NOBODY) && self.step(commit)? {
                return Ok(None);
            }
            rescued = self.rescue_all(rescue)?;
        }
        self.clear(commit, stays)?;
        self.end_move()?;
        Ok(rescued)
    }

    /// Keep all that exists only here. Refused where another repository is inside: it would go.
    pub fn rescue_all(&self, rescue: &Rescue) -> Result<Option<Rescued>, GitError> {
        self.break_stale_lock()?;
        let status = self.status()?;
        if !status.nested.is_empty() || !status.submodules.is_empty() {
            let paths = [status.nested, status.submodules].concat();
            return Err(GitError::NestedRepositories { worktree: self.path().to_owned(), paths });
        }
        let lonely = self.repo().lonely_commits(self.git_dir(), status.head.as_ref(), rescue)?;
        let rescued = self.rescue_seen(rescue, status, lonely)?;
        crash::point("slot.rescued");
        Ok(rescued)
    }

    /// Move one that is as it was parked. `false`: it is not, or more than tracked files has to change.
    fn step(&self, commit: &Oid) -> Result<bool, GitError> {
        let Some(head) = self.head()? else { return Ok(false) };
        let exact = ExactWorktree::over(self.clone());
        if !exact.index().is_file() {
            return Ok(false);
        }
        let view = self.view()?;
        let status = match exact.status_in(&view, &[]) {
            Err(error) if error.is_kill() => return Err(error),
            // A failing disk may have taken some of the index.
            Err(_) => return Ok(false),
            Ok(status) => status,
        };
        if !status.is_clean() || !status.nested.is_empty() {
            return Ok(false);
        }
        if head == *commit {
            return Ok(true);
        }
        let changed = self.repo().diff_names(&head, commit)?;
        // What is ignored may change, or how files are written that are the same in both.
        let is_rule =
            |path: &String| matches!(path.rsplit('/').next(), Some(".gitignore" | ".gitattributes"));
        if changed.iter().any(is_rule) {
            return Ok(false);
        }
        self.begin_move()?;
        if is_simple(&changed) {
            // It reads and writes these files alone, where `read-tree` goes through all trees.
            let checkout =
                ["checkout", "--quiet", "--no-overlay", "--pathspec-from-file=-", "--pathspec-file-nul"];
            let paths: String = changed.iter().map(|path| format!("{path}\0")).collect();
            exact.call(&view, checkout).arg(commit.as_str()).input(paths).run()?;
        } else {
            exact.call(&view, ["read-tree", "-m", "-u", head.as_str(), commit.as_str()]).run()?;
        }
        exact.conclude(commit)?;
        self.end_move()?;
        Ok(true)
    }

    /// Bring it to `commit`, with nothing of the one before but the folders that stay. Says whether there are any.
    fn clear(&self, commit: &Oid, stays: &dyn Fn(&str) -> bool) -> Result<bool, GitError> {
        let exact = ExactWorktree::over(self.clone());
        let keeps_attributes = match self.keeps_attributes(&exact, commit) {
            Err(error) if error.is_kill() => return Err(error),
            // A failing disk may have taken some of the index.
            kept => kept.unwrap_or(false),
        };
        self.begin_move()?;
        self.strip()?;
        if !keeps_attributes {
            // As good as a new one: git would leave files as they are that differ in nothing but how they are written.
            exact.forget_index()?;
            self.empty()?;
        }
        let view = exact.quiet_view()?;
        exact.reset(&view, commit)?;
        let is_warm = self.clean_but(&exact, &view, stays)?;
        exact.conclude(commit)?;
        crash::point("slot.cleared");
        // What git itself has written meanwhile, such as a log.
        self.strip()?;
        Ok(is_warm)
    }

    /// Whether its files were written under the attributes of `commit`, and the one who worked there had no others.
    fn keeps_attributes(&self, exact: &ExactWorktree, commit: &Oid) -> Result<bool, GitError> {
        if !exact.index().is_file() {
            return Ok(false);
        }
        let view = self.view_at(commit)?;
        let differ = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
        let differ = exact.call(&view, differ).args(["--", ":(glob)**/.gitattributes"]);
        Ok(differ.env("GIT_LITERAL_PATHSPECS", "0").bytes()?.is_empty())
    }

    /// Remove all files.
    fn empty(&self) -> Result<(), GitError> {
        let path = self.path();
        let found = path.read_dir_utf8().map_err(GitError::io(path))?.flatten();
        found.filter(|found| found.file_name() != ".git").try_for_each(|found| remove_entry(&found))
    }

    /// Remove all that is not tracked but for ignored folders that may stay.
    fn clean_but(
        &self,
        exact: &ExactWorktree,
        view: &View,
        stays: &dyn Fn(&str) -> bool,
    ) -> Result<bool, GitError> {
        let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = exact.call(view, list).bytes()?;
        // A link has no slash at its end: it leads out of the worktree, whatever its name.
        let folders = fields(&ignored).map(lossy).filter(|path| path.ends_with('/'));
        let kept: Vec<String> = folders.filter(|path| stays(path)).collect();
        let mut clean = exact.call(view, ["clean", "--quiet", "-d", "-x", "--force", "--force"]);
        for folder in &kept {
            clean = clean.arg("-e").arg(format!("/{}", escaped(folder)));
        }
        clean.run()?;
        Ok(!kept.is_empty())
    }

    /// Remove all of its git directory that is not known.
    fn strip(&self) -> Result<(), GitError> {
        let entry = self.git_dir();
        for found in entry.read_dir_utf8().map_err(GitError::io(entry))?.flatten() {
            if STAYS.contains(&found.file_name()) {
                continue;
            }
            remove_entry(&found)?;
        }
        Ok(())
    }

    fn is_moving(&self) -> bool {
        self.git_dir().join(MOVING).exists()
    }

    fn begin_move(&self) -> Result<(), GitError> {
        if self.is_moving() { Ok(()) } else { write(&self.git_dir().join(MOVING), "") }
    }

    fn end_move(&self) -> Result<(), GitError> {
        remove_if_there(&self.git_dir().join(MOVING)).map(drop)
    }
}

fn remove_entry(found: &Utf8DirEntry) -> Result<(), GitError> {
    let is_folder = found.file_type().is_ok_and(|kind| kind.is_dir());
    let removed = if is_folder { fs::remove_dir_all(found.path()) } else { fs::remove_file(found.path()) };
    removed.map_err(GitError::io(found.path()))
}

/// So many files are checked out one by one. Git compares each of them with every file of the index.
const FEW: usize = 200;

/// Whether these paths can be checked out as they are: they are few, each is text, and none is a folder of another.
fn is_simple(paths: &[String]) -> bool {
    let is_below =
        |path: &str| path.match_indices('/').any(|(at, _)| paths.iter().any(|other| *other == path[..at]));
    (1..=FEW).contains(&paths.len()) && !paths.iter().any(|path| path.contains('\u{fffd}') || is_below(path))
}

impl Repo {
    /// What decides how git writes files besides what is committed. Files that were written under another are not moved.
    pub fn conversion(&self) -> Digest {
        let read = |file: &str| fs::read_to_string(self.common_dir().join(file)).unwrap_or_default();
        let settings = [read("config"), read("config.worktree")].map(|text| conversion_settings(&text));
        Digest::of(&(settings, read("info/attributes")))
    }
}

/// The lines of a file of settings that have a say in it.
fn conversion_settings(text: &str) -> Vec<String> {
    let mut counts = false;
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name: String = section.chars().take_while(char::is_ascii_alphanumeric).collect();
            let counting = ["core", "filter", "include", "includeif", "extensions", "lfs"];
            counts = counting.contains(&name.to_ascii_lowercase().as_str());
        }
        if counts {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_file_in_one_commit_and_a_folder_in_the_other_is_not_simple() {
        let simple =
            |paths: &[&str]| is_simple(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        assert!(simple(&["a", "b/a", "ab/c", "b.txt"]));
        assert!(!simple(&["a/b/c", "a/b"]));
        assert!(!simple(&["a\u{fffd}"]));
        assert!(!simple(&[]));
    }

    #[test]
    fn only_settings_about_files_count() {
        let before = "[core]\n\tautocrlf = false\n[remote \"origin\"]\n\turl = a\n";
        let settings = conversion_settings(before);
        assert_eq!(settings, conversion_settings(&before.replace("url = a", "url = b")));
        assert_ne!(settings, conversion_settings(&before.replace("= false", "= true")));
        let filter = format!("{before}[filter \"lfs\"]\n\tsmudge = x\n");
        assert_ne!(settings, conversion_settings(&filter));
    }
}
