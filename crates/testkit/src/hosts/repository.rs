//! The bare repository of a scripted host: merges really happen in it.

use std::process::{Command, Output};

use camino::Utf8PathBuf;

use super::state::Method;

/// A bare repository, and the time of its commits.
pub(super) struct Repository {
    pub(super) path: Utf8PathBuf,
    pub(super) now: String,
}

/// What a merge left.
pub(super) struct Merged {
    pub(super) tip: String,
    /// The commit with the squashed work, where it is not the tip.
    pub(super) squash: Option<String>,
}

impl Repository {
    fn call(&self, args: &[&str]) -> Output {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.path).args(args);
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "The Host")
                .env(format!("GIT_{who}_EMAIL"), "host@example.org");
            command.env(format!("GIT_{who}_DATE"), &self.now);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        command.output().expect("git is installed")
    }

    fn line(&self, args: &[&str]) -> Option<String> {
        let output = self.call(args);
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    fn must(&self, args: &[&str]) -> String {
        let output = self.call(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The tip of a branch.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        self.line(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}^{{commit}}")])
    }

    pub(super) fn delete(&self, branch: &str) {
        self.must(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    }

    pub(super) fn contains(&self, branch: &str, commit: &str) -> bool {
        self.call(&["merge-base", "--is-ancestor", commit, &format!("refs/heads/{branch}")]).status.success()
    }

    /// Whether `head` has all commits of `branch`.
    pub(super) fn is_up_to_date(&self, head: &str, branch: &str) -> bool {
        self.call(&["merge-base", "--is-ancestor", &format!("refs/heads/{branch}"), head]).status.success()
    }

    /// The tree of a merge, if it has no conflict.
    fn merge_tree(&self, args: &[&str]) -> Option<String> {
        let output = self.call(&[&["merge-tree", "--write-tree"], args].concat());
        let text = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
        output.status.success().then_some(text)
    }

    pub(super) fn can_merge(&self, base: &str, head: &str) -> bool {
        self.tip(base).is_some_and(|tip| self.merge_tree(&[&tip, head]).is_some())
    }

    /// Merge a commit into a branch. `None`: it conflicts.
    pub(super) fn merge(
        &self,
        base: &str,
        head: &str,
        method: Method,
        title: &str,
        body: &str,
    ) -> Option<Merged> {
        let old = self.tip(base)?;
        let message = if body.is_empty() { title.to_owned() } else { format!("{title}\n\n{body}") };
        let commit = |tree: &str, parents: &[&str], message: &str| {
            let parents = parents.iter().flat_map(|parent| ["-p", parent]);
            let args: Vec<&str> =
                ["commit-tree", tree].into_iter().chain(parents).chain(["-m", message]).collect();
            self.must(&args)
        };
        let new = match method {
            Method::Merge => commit(&self.merge_tree(&[&old, head])?, &[&old, head], &message),
            Method::Squash => commit(&self.merge_tree(&[&old, head])?, &[&old], &message),
            Method::Rebase => {
                let range = format!("{old}..{head}");
                let commits = self.must(&["rev-list", "--reverse", "--no-merges", "--topo-order", &range]);
                let mut tip = old.clone();
                for picked in commits.lines() {
                    let base = format!("--merge-base={picked}^");
                    let tree = self.merge_tree(&[&base, &tip, picked])?;
                    let message = self.must(&["log", "-1", "--format=%B", picked]);
                    tip = commit(&tree, &[&tip], &message);
                }
                tip
            }
        };
        self.must(&["update-ref", &format!("refs/heads/{base}"), &new, &old]);
        Some(Merged { tip: new, squash: None })
    }

    /// Squash, and merge the squashed commit: GitLab's way.
    pub(super) fn squash_and_merge(&self, base: &str, head: &str, title: &str) -> Option<Merged> {
        let old = self.tip(base)?;
        let tree = self.merge_tree(&[&old, head])?;
        let squash = self.must(&["commit-tree", &tree, "-p", &old, "-m", title]);
        let tip =
            self.must(&["commit-tree", &tree, "-p", &old, "-p", &squash, "-m", &format!("Merge: {title}")]);
        self.must(&["update-ref", &format!("refs/heads/{base}"), &tip, &old]);
        Some(Merged { tip, squash: Some(squash) })
    }

    /// Move a branch forward to a commit that has all of its own. `None`: it has not.
    pub(super) fn fast_forward(&self, base: &str, head: &str) -> Option<Merged> {
        let old = self.tip(base)?;
        if !self.is_up_to_date(head, base) {
            return None;
        }
        self.must(&["update-ref", &format!("refs/heads/{base}"), head, &old]);
        Some(Merged { tip: head.to_owned(), squash: None })
    }

    /// Merge a branch into another one, as `gh pr update-branch` does. `None`: it conflicts.
    pub(super) fn bring_in(&self, branch: &str, base: &str) -> Option<String> {
        let (tip, base) = (self.tip(branch)?, self.tip(base)?);
        self.merge(branch, &base, Method::Merge, &format!("Merge {base} into {tip}"), "")
            .map(|merged| merged.tip)
    }

    /// A commit on a branch that writes one file, as a person would push it.
    pub(super) fn write(&self, branch: &str, path: &str, text: &str) -> String {
        use std::io::Write;
        let old = self.tip(branch).expect("a branch");
        let input = format!(
            "commit refs/heads/{branch}\ncommitter A Person <person@example.org> 1772366400 +0000\ndata <<END\nWrite {path}\nEND\nfrom {old}\nM 100644 inline {path}\ndata {}\n{text}\n",
            text.len()
        );
        let mut child = Command::new("git")
            .arg("--git-dir")
            .arg(&self.path)
            .args(["fast-import", "--quiet"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("git is installed");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("git reads it");
        assert!(child.wait().expect("its end").success(), "git fast-import");
        self.tip(branch).expect("a branch")
    }
}
