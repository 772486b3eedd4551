//! What is left when a run has ended: in git, on disk, and among the processes.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8Path;

use crate::sandbox::{Sandbox, until};

impl Sandbox {
    /// How often each task's trailer is among the merges of a branch.
    pub fn landed(&self, branch: &str) -> BTreeMap<String, usize> {
        let format = "--format=%(trailers:key=Piton-Task,valueonly)";
        let list = self.git(["log", "--first-parent", "--merges", format, branch]);
        let mut landed = BTreeMap::new();
        for task in list.lines().filter(|line| !line.is_empty()) {
            *landed.entry(task.to_owned()).or_insert(0) += 1;
        }
        landed
    }

    #[track_caller]
    pub fn assert_landed_once(&self, branch: &str, tasks: &[&str]) {
        let once: BTreeMap<String, usize> = tasks.iter().map(|task| ((*task).to_owned(), 1)).collect();
        assert_eq!(self.landed(branch), once, "the landings on {branch}");
    }

    /// That a finished run has left nothing behind: no process, worktree, ref or lock of its own.
    #[track_caller]
    pub fn assert_tidy(&self) {
        // A keeper that wrote its outcome is about to end.
        until(&format!("the end of {:?}", self.processes()), || self.processes().is_empty().then_some(()));
        let mut left: Vec<String> = Vec::new();
        let worktrees = self.git(["worktree", "list"]);
        left.extend(worktrees.lines().filter(|line| line.contains("/.worktrees/")).map(str::to_owned));
        let refs = self.git(["for-each-ref", "--format=%(refname)"]);
        let ours = |name: &&str| name.starts_with("refs/piton/") || name.starts_with("refs/heads/worktree-");
        left.extend(refs.lines().filter(ours).map(str::to_owned));
        locks(&self.project().join(".git"), &mut left);
        assert_eq!(left, Vec::<String>::new());
    }

    /// Everything that lives and has this sandbox in its environment, with its command line. Linux only.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            // A zombie has neither.
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&environ).contains(self.root().as_str()) {
                found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }
}

/// Git's lock files, and half-written files. Piton's own lock files may stay: what counts is whether they are held.
fn locks(folder: &Utf8Path, left: &mut Vec<String>) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let of_git = name.ends_with(".lock") && !path.as_str().contains("/piton/");
        if of_git || name.starts_with(".piton-") || name.starts_with("index-") {
            left.push(path.to_string());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            locks(path, left);
        }
    }
}
