//! A repository to try things in, and a person who works beside Piton.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;
use piton_engine::git::*;
use tempfile::TempDir;

/// A repository at `project`, branch `main`, in a folder and with a home of its own.
pub(crate) struct Sandbox {
    _folder: TempDir,
    pub(crate) root: Utf8PathBuf,
}

impl Sandbox {
    pub(crate) fn empty() -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::create_dir(root.join("project")).unwrap();
        let sandbox = Sandbox { _folder: folder, root };
        sandbox.git("init --quiet --initial-branch=main");
        sandbox
    }

    /// With a first commit: `a`, `b` and `lib/c`, ten lines each.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::empty();
        for file in ["a", "b", "lib/c"] {
            sandbox.write(file, &lines(file));
        }
        sandbox.commit("first");
        sandbox
    }

    pub(crate) fn project(&self) -> Utf8PathBuf {
        self.root.join("project")
    }

    pub(crate) fn door(&self) -> Git {
        let home = self.root.join("home");
        let env = [("HOME", home.as_str()), ("XDG_CONFIG_HOME", home.as_str()), ("GIT_CONFIG_NOSYSTEM", "1")];
        Git::with_env(&self.project(), &env)
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover_with(&self.door(), &self.project()).unwrap()
    }

    pub(crate) fn discover(&self, folder: &str) -> Result<Repo, GitError> {
        Repo::discover_with(&self.door(), &self.root.join(folder))
    }

    /// A person's git, words split at spaces.
    pub(crate) fn git(&self, args: &str) -> String {
        self.git_in(&self.project(), args)
    }

    pub(crate) fn git_in(&self, folder: &Utf8Path, args: &str) -> String {
        let (ok, text) = self.try_git_in(folder, args);
        assert!(ok, "git {args}: {text}");
        text.trim_end().to_owned()
    }

    pub(crate) fn try_git_in(&self, folder: &Utf8Path, args: &str) -> (bool, String) {
        let mut command = Command::new("git");
        for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(key);
        }
        let output = command
            .current_dir(folder)
            .args(["-c", "user.name=Person", "-c", "user.email=person@example.org"])
            .args(["-c", "protocol.file.allow=always"])
            .args(args.split(' '))
            .env("HOME", self.root.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        write(&self.project().join(file), text);
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.project().join(file)).unwrap()
    }

    pub(crate) fn commit(&self, message: &str) -> Oid {
        self.git("add --all");
        self.git(&format!("commit --quiet --message {message}"));
        self.oid("HEAD")
    }

    pub(crate) fn oid(&self, revision: &str) -> Oid {
        Oid::new(&self.git(&format!("rev-parse {revision}"))).unwrap()
    }

    pub(crate) fn worktree(&self, name: &str) -> Worktree {
        let base = self.oid("main");
        Worktree::add(&self.repo(), &self.root.join("worktrees").join(name), &base).unwrap().worktree
    }

    /// A task's commit, made in a worktree of its own from the tip of main.
    pub(crate) fn task(&self, name: &str, edit: impl FnOnce(&Utf8Path)) -> Oid {
        let worktree = self.worktree(name);
        edit(worktree.path());
        worktree.capture(&format!("task {name}"), None).unwrap().commit
    }

    /// The merge of `theirs` into main as a commit.
    pub(crate) fn candidate(&self, theirs: &Oid) -> Oid {
        let (repo, ours) = (self.repo(), self.oid("main"));
        let Merged::Clean { tree } = repo.merge(&ours, theirs).unwrap() else { panic!("a conflict") };
        repo.commit_tree(&tree, &[&ours, theirs], "land", None).unwrap()
    }

    pub(crate) fn land(&self, old: &Oid, candidate: &Oid, recovering: Option<SystemTime>) -> Moved {
        let repo = self.repo();
        let lease = LandingLease::take(&repo, "main").unwrap();
        repo.move_target(&lease, old, candidate, recovering).unwrap()
    }

    /// The project checked out on another branch, so that main is checked out nowhere.
    pub(crate) fn leave_main(&self) {
        self.git("switch --quiet --create elsewhere");
    }

    /// Every file of the checkout with its bytes, and the index as git lists it.
    pub(crate) fn snapshot(&self) -> (BTreeMap<String, Vec<u8>>, String) {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.project()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8().unwrap().map(Result::unwrap) {
                if entry.file_name() == ".git" {
                    continue;
                }
                if entry.path().is_dir() {
                    folders.push(entry.path().to_owned());
                } else {
                    files.insert(entry.path().to_string(), fs::read(entry.path()).unwrap());
                }
            }
        }
        (files, self.git("ls-files --stage"))
    }
}

pub(crate) fn write(path: &Utf8Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn lines(of: &str) -> String {
    (1..=10).map(|n| format!("{of} {n}\n")).collect()
}

pub(crate) fn rescue(name: &str) -> Rescue {
    Rescue::at(name, "rescued")
}

pub(crate) fn waits_for_files(moved: Moved) -> Vec<String> {
    match moved {
        Moved::Waits(Wait::Files { files, .. }) => files,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn long_ago() -> Option<SystemTime> {
    Some(SystemTime::now() - Duration::from_secs(3600))
}
