//! Reading a branch's history, and beginning one.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::history::Commit;
use piton_core::message::{CONTENT_TRAILER, RUN_TRAILER, TASK_TRAILER};
use piton_core::plan::{Content, Oid};

use super::command::{Git, fields, lossy, oid, portions};
use super::error::GitError;
use super::repo::Repo;

/// What git writes into the message of a revert, before the reverted commit's hash.
const REVERTS: &str = "This reverts commit ";

/// The run in a commit's trailers, for git's formats.
const OF_RUN: &str = "%(trailers:key=Piton-Run,valueonly,separator=%x2C)";

/// A landing by its trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    pub commit: Oid,
    /// What the task asked for; earlier versions did not say.
    pub content: Option<Content>,
}

impl Repo {
    /// Every commit that `tip` holds, each before those it was made on.
    pub fn history(&self, tip: &Oid) -> Result<Vec<Commit>, GitError> {
        let format = Repo::history_format();
        let call = self.git().call(["log", "--topo-order", "-z", &format, "--no-show-signature"]);
        Ok(read_history(&call.args(["--end-of-options", tip.as_str(), "--"]).bytes()?))
    }

    /// What [`read_history`] reads.
    fn history_format() -> String {
        format!(
            "--format=%H %T %P%x00%s%x00%(trailers:key=Task,key={TASK_TRAILER},valueonly,separator=%x2C)%x00{OF_RUN}%x00\
             %(trailers:key={CONTENT_TRAILER},valueonly,separator=%x2C)"
        )
    }

    /// The runs of ours whose id begins so and that made commits of `tip`.
    pub fn runs_in(&self, tip: &Oid, prefix: &str) -> Result<BTreeSet<String>, GitError> {
        // Nothing of ours is older, and long histories are.
        const SINCE: &str = "--since=2026-01-01";
        let (format, says) = (format!("--format={OF_RUN}"), format!("{RUN_TRAILER}: {prefix}"));
        let call = self.git().call(["log", "-z", SINCE, &format, "--no-show-signature", "--fixed-strings"]);
        let call = call.args(["--grep", &says, "--end-of-options", tip.as_str(), "--"]);
        let list = call.bytes()?;
        Ok(fields(&list).map(lossy).filter(|run| run.starts_with(prefix)).collect())
    }

    /// The reverts in `tip`, each with the hashes of the commits that it reverts.
    pub fn reverts(&self, tip: &Oid) -> Result<Vec<(Oid, Vec<String>)>, GitError> {
        let call = self.git().call(["log", "-z", "--format=%H%x00%b", "--no-show-signature"]);
        let call = call.args(["--fixed-strings", "--grep", REVERTS, "--end-of-options", tip.as_str(), "--"]);
        Ok(read_reverts(&call.bytes()?))
    }

    /// The tips of branches and tags that have any of these commits.
    pub fn tips_with(&self, commits: &BTreeSet<Oid>) -> Result<Vec<Oid>, GitError> {
        let commits: Vec<String> = commits.iter().map(|commit| format!("--contains={commit}")).collect();
        let mut tips = Vec::new();
        for portion in portions(&commits) {
            let call = self.git().call(["for-each-ref", "--format=%(objectname)"]).args(portion);
            let list = call.args(["refs/heads", "refs/remotes", "refs/tags"]).line()?;
            tips.extend(list.lines().filter_map(oid));
        }
        Ok(tips)
    }

    /// Where two histories part, if they have anything in common.
    pub fn merge_base(&self, a: &Oid, b: &Oid) -> Result<Option<Oid>, GitError> {
        let answer = self.git().call(["merge-base", a.as_str(), b.as_str()]).answer()?;
        match answer.code {
            Some(0) => Ok(oid(lossy(&answer.stdout).trim_end())),
            Some(1) => Ok(None),
            _ => Err(answer.failed()),
        }
    }

    /// Make a repository with everything in `path` as its first commit.
    pub fn init(path: &Utf8Path, branch: &str, message: &str) -> Result<Repo, GitError> {
        let git = Git::new(path);
        git.call(["init", "--quiet", &format!("--initial-branch={branch}")]).run()?;
        git.call(["add", "--all"]).run()?;
        let mut commit = git.call(["commit", "--quiet", "--allow-empty", "-m", message]);
        for role in ["AUTHOR", "COMMITTER"] {
            commit = commit
                .env(&format!("GIT_{role}_NAME"), "Piton")
                .env(&format!("GIT_{role}_EMAIL"), "piton@localhost");
        }
        commit.run()?;
        Repo::discover_with(&git, path)
    }

    /// Clone a branch to a folder that does not exist yet, for a while: the clone borrows the objects of this repository.
    pub fn clone_to(&self, folder: &Utf8Path, branch: &str) -> Result<(), GitError> {
        let from = self.common_dir().as_str();
        let call = ["clone", "--quiet", "--shared", "--no-tags", "--single-branch", "--branch", branch, "--"];
        self.git().call(call).args([from, folder.as_str()]).run().map(drop)
    }

    /// The folder of the hooks that run when a person commits here.
    pub fn hooks(&self) -> Result<Option<Utf8PathBuf>, GitError> {
        let said = self.git().call(["config", "--path", "--get-all", "core.hooksPath"]).answer()?;
        // Our own calls are given one that has no hooks, which comes last.
        let said = lossy(&said.stdout);
        let own = said.lines().rfind(|path| *path != "/dev/null").map(Utf8PathBuf::from);
        let folder = own.unwrap_or_else(|| self.common_dir().join("hooks"));
        let folder = if folder.is_absolute() { folder } else { self.git().dir().join(folder) };
        Ok(Some(folder))
    }

    /// The tasks of a run that the history of `tip` says have landed, by the trailers of its merges. Nothing that a merge
    /// brings in counts: agents write the messages of their commits themselves.
    pub fn landed_by_trailer(&self, tip: &Oid, run: &str) -> Result<BTreeMap<String, Landing>, GitError> {
        let format = Repo::history_format();
        let call =
            self.git().call(["log", "--first-parent", "--merges", "-z", &format, "--no-show-signature"]);
        let list = call.args(["--end-of-options", tip.as_str(), "--"]).bytes()?;
        Ok(landings(&read_history(&list), run))
    }

    /// Hash and subject of the commits between the two, oldest first, at most 200. Commits that a merge brought in are
    /// left out.
    pub fn commits_since(&self, base: &Oid, tip: &Oid) -> Result<Vec<(Oid, String)>, GitError> {
        const MOST: &str = "--max-count=200";
        if base == tip {
            return Ok(Vec::new());
        }
        let range = format!("{base}..{tip}");
        let call = ["log", "--first-parent", "--reverse", "-z", "--format=%H %s", MOST, "--end-of-options"];
        let list = self.git().call(call).args([range.as_str(), "--"]).bytes()?;
        let commit = |line: &[u8]| {
            let line = lossy(line);
            let (hash, subject) = line.split_once(' ')?;
            Some((oid(hash)?, subject.to_owned()))
        };
        Ok(fields(&list).filter_map(commit).collect())
    }
}

/// A commit with its tree and its parents, its subject, the tasks its trailers name, its run, and what it was to do.
pub(super) fn read_history(list: &[u8]) -> Vec<Commit> {
    let mut found = Vec::new();
    let mut parts = fields(list).map(lossy);
    while let (Some(ids), Some(subject), Some(tasks), Some(runs), Some(contents)) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    {
        let first =
            |list: &str| list.split(',').map(str::trim).find(|one| !one.is_empty()).map(str::to_owned);
        let (task, run) = (first(&tasks), first(&runs));
        let mut ids = ids.split_whitespace().filter_map(oid);
        if let (Some(id), Some(tree)) = (ids.next(), ids.next()) {
            let (parent, merges) = (ids.next(), ids.collect());
            let content = first(&contents).and_then(|content| content.parse().ok());
            found.push(Commit { id, tree, parent, merges, subject, task, run, content });
        }
    }
    found
}

/// Pairs of a commit and its message.
pub(super) fn read_reverts(list: &[u8]) -> Vec<(Oid, Vec<String>)> {
    let mut found = Vec::new();
    let mut parts = fields(list).map(lossy);
    while let (Some(id), Some(body)) = (parts.next(), parts.next()) {
        let hex = |rest: &str| rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>();
        let names = body.split(REVERTS).skip(1).map(hex).filter(|name| !name.is_empty()).collect();
        found.extend(oid(id.trim()).map(|id| (id, names)));
    }
    found
}

/// The landings of a run, newest first: the last one of a task counts.
pub(super) fn landings(commits: &[Commit], run: &str) -> BTreeMap<String, Landing> {
    let mut landed = BTreeMap::new();
    for commit in commits.iter().filter(|commit| commit.run.as_deref() == Some(run)) {
        if let Some(task) = commit.lands() {
            let landing = Landing { commit: commit.id.clone(), content: commit.content };
            landed.entry(task.to_owned()).or_insert(landing);
        }
    }
    landed
}
