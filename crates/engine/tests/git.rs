//! The safety catalogue of the git room: real git, a home of its own, and every odd surrounding we know.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RepoPath};
use piton_engine::git::*;
use piton_engine::lock::Lock;
use tempfile::TempDir;

/// A repository at `project`, branch `main`, in a folder and with a home nobody else has.
struct Sandbox {
    _folder: TempDir,
    root: Utf8PathBuf,
}

impl Sandbox {
    fn empty() -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::create_dir(root.join("project")).unwrap();
        let sandbox = Sandbox { _folder: folder, root };
        sandbox.git("init --quiet --initial-branch=main");
        sandbox
    }

    /// With a first commit: `a`, `b` and `lib/c`, ten lines each.
    fn new() -> Sandbox {
        let sandbox = Sandbox::empty();
        for file in ["a", "b", "lib/c"] {
            sandbox.write(file, &lines(file));
        }
        sandbox.commit("first");
        sandbox
    }

    fn project(&self) -> Utf8PathBuf {
        self.root.join("project")
    }

    fn door(&self) -> Git {
        let home = self.root.join("home");
        let env = [("HOME", home.as_str()), ("XDG_CONFIG_HOME", home.as_str()), ("GIT_CONFIG_NOSYSTEM", "1")];
        Git::with_env(&self.project(), &env)
    }

    fn repo(&self) -> Repo {
        Repo::discover_with(&self.door(), &self.project()).unwrap()
    }

    fn discover(&self, folder: &str) -> Result<Repo, GitError> {
        Repo::discover_with(&self.door(), &self.root.join(folder))
    }

    /// A person's git, words split at spaces.
    fn git(&self, args: &str) -> String {
        self.git_in(&self.project(), args)
    }

    fn git_in(&self, folder: &Utf8Path, args: &str) -> String {
        let (ok, text) = self.try_git_in(folder, args);
        assert!(ok, "git {args}: {text}");
        text.trim_end().to_owned()
    }

    fn try_git_in(&self, folder: &Utf8Path, args: &str) -> (bool, String) {
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

    fn write(&self, file: &str, text: &str) {
        write(&self.project().join(file), text);
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.project().join(file)).unwrap()
    }

    fn commit(&self, message: &str) -> Oid {
        self.git("add --all");
        self.git(&format!("commit --quiet --message {message}"));
        self.oid("HEAD")
    }

    fn oid(&self, revision: &str) -> Oid {
        Oid::new(&self.git(&format!("rev-parse {revision}"))).unwrap()
    }

    fn worktree(&self, name: &str) -> Worktree {
        let base = self.oid("main");
        Worktree::add(&self.repo(), &self.root.join("worktrees").join(name), &base).unwrap().worktree
    }

    /// A task's commit, made in a worktree of its own from the tip of main.
    fn task(&self, name: &str, edit: impl FnOnce(&Utf8Path)) -> Oid {
        let worktree = self.worktree(name);
        edit(worktree.path());
        worktree.capture(&format!("task {name}"), None).unwrap().commit
    }

    /// The merge of `theirs` into main as a commit.
    fn candidate(&self, theirs: &Oid) -> Oid {
        let (repo, ours) = (self.repo(), self.oid("main"));
        let Merged::Clean { tree } = repo.merge(&ours, theirs).unwrap() else { panic!("a conflict") };
        repo.commit_tree(&tree, &[&ours, theirs], "land", None).unwrap()
    }

    fn land(&self, old: &Oid, candidate: &Oid, recovering: Option<SystemTime>) -> Moved {
        let repo = self.repo();
        let lease = LandingLease::take(&repo, "main").unwrap();
        repo.move_target(&lease, old, candidate, recovering).unwrap()
    }

    /// The project checked out on another branch, so that main is checked out nowhere.
    fn leave_main(&self) {
        self.git("switch --quiet --create elsewhere");
    }

    /// Every file of the checkout with its bytes, and the index as git lists it.
    fn snapshot(&self) -> (BTreeMap<String, Vec<u8>>, String) {
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

fn write(path: &Utf8Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn lines(of: &str) -> String {
    (1..=10).map(|n| format!("{of} {n}\n")).collect()
}

fn rescue(name: &str) -> Rescue {
    Rescue::at(name, "rescued")
}

fn waits_for_files(moved: Moved) -> Vec<String> {
    match moved {
        Moved::Waits(Wait::Files { files, .. }) => files,
        other => panic!("{other:?}"),
    }
}

fn long_ago() -> Option<SystemTime> {
    Some(SystemTime::now() - Duration::from_secs(3600))
}

// --- finding the repository

#[test]
fn facts_of_a_repository() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert_eq!(repo.top(), sandbox.project());
    assert_eq!(repo.common_dir(), sandbox.project().join(".git"));
    assert_eq!(repo.current_branch().unwrap(), "main");
    assert_eq!(repo.main_checkout().unwrap(), Some(sandbox.project()));
    assert_eq!(repo.format(), ObjectFormat::Sha1);
    assert!(!repo.has_submodules() && !repo.is_linked_worktree() && repo.subdirectory().is_none());
    let first = sandbox.oid("main");
    assert_eq!(repo.branch_tip("main").unwrap(), Some(first.clone()));
    assert_eq!(repo.branch_tip("none").unwrap(), None);
    assert!(matches!(repo.resolve("--all"), Err(GitError::UnknownRevision(_))));
    sandbox.write("a", "changed\n");
    let second = sandbox.commit("second");
    assert_eq!(repo.beyond(&first, &[&second, &first]).unwrap(), std::slice::from_ref(&second));
    assert_eq!(repo.reachable_from(&second).unwrap().len(), 2);
    assert!(repo.is_ancestor(&first, &second).unwrap() && !repo.is_ancestor(&second, &first).unwrap());
    assert_eq!(repo.diff_names(&first, &second).unwrap(), ["a"]);
    assert!(repo.diff_text(&first, &second).unwrap().contains("+changed"));
}

#[test]
fn places_piton_cannot_work_in_are_named() {
    let sandbox = Sandbox::empty();
    assert!(matches!(sandbox.discover("project"), Err(GitError::EmptyRepository { .. })));
    assert!(matches!(sandbox.discover("home"), Err(GitError::NotARepository { .. })));
    assert!(matches!(sandbox.discover("project/.git"), Err(GitError::NotARepository { .. })));
    sandbox.git_in(&sandbox.root, "init --quiet --bare bare");
    assert!(matches!(sandbox.discover("bare"), Err(GitError::Bare { .. })));
}

#[test]
fn detached_head_has_no_branch() {
    let sandbox = Sandbox::new();
    sandbox.git("checkout --quiet --detach");
    let repo = sandbox.repo();
    assert!(matches!(repo.current_branch(), Err(GitError::DetachedHead { .. })));
    assert_eq!(repo.where_is_target("main").unwrap(), None);
}

#[test]
fn a_project_in_a_subdirectory_and_in_a_linked_worktree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.discover("project/lib").unwrap();
    assert_eq!(repo.top(), sandbox.project());
    assert_eq!(repo.subdirectory(), Some(Utf8Path::new("lib")));
    sandbox.git("worktree add --quiet ../linked -b side");
    let repo = sandbox.discover("linked").unwrap();
    assert!(repo.is_linked_worktree());
    assert_eq!(repo.common_dir(), sandbox.project().join(".git"));
    assert_eq!(repo.main_checkout().unwrap(), Some(sandbox.project()));
    assert_eq!(repo.where_is_target("main").unwrap(), Some(sandbox.project()));
    assert_eq!(repo.current_branch().unwrap(), "side");
}

#[test]
fn a_bare_repository_with_worktrees_is_fine_from_a_worktree() {
    let sandbox = Sandbox::new();
    sandbox.git_in(&sandbox.root, "clone --quiet --bare project bare");
    sandbox.git_in(&sandbox.root.join("bare"), "worktree add --quiet ../linked main");
    let repo = sandbox.discover("linked").unwrap();
    assert_eq!(repo.main_checkout().unwrap(), None);
    assert_eq!(repo.where_is_target("main").unwrap(), Some(sandbox.root.join("linked")));
}

#[test]
fn nobody_told_git_who_they_are() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert!(!repo.identity().unwrap().configured);
    let commit = sandbox.task("T1", |at| write(&at.join("new"), "new\n"));
    assert_eq!(sandbox.git(&format!("show -s --format=%an<%ae>%cn {commit}")), "Piton<piton@localhost>Piton");
    sandbox.git("config user.name Ann");
    sandbox.git("config user.email ann@example.org");
    assert!(!repo.identity().unwrap().configured, "asked once");
    let repo = sandbox.repo();
    assert!(repo.identity().unwrap().configured);
    let tree = repo.tree_of(&commit).unwrap();
    let named = repo.commit_tree(&tree, &[&commit], "m", Some("Agent <agent@example.org>")).unwrap();
    assert_eq!(sandbox.git(&format!("show -s --format=%an<%ae>%cn {named}")), "Agent<agent@example.org>Ann");
}

#[test]
fn a_guard_lives_as_long_as_a_git_that_holds_it() {
    let sandbox = Sandbox::new();
    let path = sandbox.root.join("guard.lock");
    let guard = Arc::new(Lock::take(&path).unwrap());
    let repo = sandbox.repo().guarded_by(Arc::clone(&guard));
    assert!(repo.branch_tip("main").unwrap().is_some(), "git reads the end of file at once");
    // What a child has: a second handle. The lock stays when the first one goes.
    let child = guard.share().unwrap();
    drop((guard, repo));
    assert!(Lock::try_take(&path).unwrap().is_none());
    drop(child);
    // Waiting, since a child that another test is just starting has a copy of every handle.
    Lock::take(&path).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_git_holds_the_guard_as_long_as_it_works() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "held filter=look\n");
    sandbox.commit("attributes");
    // A filter looks at what the git that started it has for a standard input.
    let seen = sandbox.root.join("seen");
    let config = sandbox.project().join(".git/config");
    let filter = format!("[filter \"look\"]\n\tclean = \"readlink /proc/$PPID/fd/0 > {seen}; cat\"\n");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &filter).unwrap();
    let path = sandbox.root.join("guard.lock");
    let repo = sandbox.repo().guarded_by(Arc::new(Lock::take(&path).unwrap()));
    let place = sandbox.root.join("worktrees/T1");
    let worktree = Worktree::add(&repo, &place, &sandbox.oid("main")).unwrap().worktree;
    write(&place.join("held"), "work\n");
    worktree.capture("work", None).unwrap();
    assert_eq!(fs::read_to_string(&seen).unwrap().trim_end(), path);
}

// --- worktrees

/// Whether somebody waits for the lock at `path`.
#[cfg(target_os = "linux")]
fn is_waited_for(path: &Utf8Path) -> bool {
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|lock| lock.contains("-> FLOCK") && lock.contains(&format!(":{inode} ")))
}

#[cfg(target_os = "linux")]
#[test]
fn worktrees_are_made_and_taken_away_one_at_a_time() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    let lock = repo.piton_dir().join("locks/worktrees.lock");
    let path = sandbox.root.join("worktrees/T1");
    let add = || drop(Worktree::add(&repo, &path, &base).unwrap());
    let remove = || drop(Worktree::remove(&repo, &path, &rescue("T1")).unwrap());
    let deeds: [(&(dyn Fn() + Sync), bool); 2] = [(&add, false), (&remove, true)];
    for (deed, before) in deeds {
        let held = Lock::take(&lock).unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(deed);
            while !is_waited_for(&lock) {
                assert!(!other.is_finished(), "it did not wait");
                std::thread::yield_now();
            }
            assert_eq!(path.exists(), before);
            drop(held);
        });
        assert_eq!(path.exists(), !before);
    }
}

/// The index calls a file unchanged whose size and times are those it knows, whatever a power cut left in it.
#[test]
fn a_worktree_from_before_the_machine_started_is_made_anew() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let whole = fs::read(sandbox.project().join("a")).unwrap();
    let made = Worktree::add(&repo, &path, &base).unwrap().worktree;
    made.make_ready("me").unwrap();
    let known = fs::metadata(path.join("a")).unwrap().modified().unwrap();
    let torn = vec![0; whole.len()];
    fs::write(path.join("a"), &torn).unwrap();
    fs::File::open(path.join("a")).unwrap().set_modified(known).unwrap();
    write(&path.join("new"), "and torn, for all we know\n");
    write(&repo.common_dir().join("worktrees/T1/piton-ready"), "another boot\n");
    let again = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = again.how else { panic!("{:?}", again.how) };
    assert_eq!(fs::read(path.join("a")).unwrap(), whole);
    assert!(!path.join("new").exists());
    assert!(!again.worktree.is_ready(), "nobody has said so yet");
    assert!(repo.rescue_show(&rescued.name).unwrap().contains("for all we know"));
}

#[test]
fn a_worktree_is_made_once_and_found_again() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let first = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(first.how, Making::Made);
    first.worktree.make_ready("me").unwrap();
    write(&path.join("a"), "work in progress\n");
    let again = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(again.how, Making::Existing);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "work in progress\n");
    let status = again.worktree.status().unwrap();
    assert_eq!((status.dirty, status.branch, status.head), (vec!["a".to_owned()], None, Some(base)));
}

/// Where tasks share a worktree, each must know whether what it finds is its own.
#[test]
fn a_worktree_knows_for_whom_it_was_made_ready() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    assert!(!worktree.is_for("run/T1"));
    worktree.make_ready("run/T1").unwrap();
    assert!(worktree.is_ready() && worktree.is_for("run/T1") && !worktree.is_for("run/T"));
    worktree.make_ready("run/T2").unwrap();
    assert!(worktree.is_ready() && worktree.is_for("run/T2") && !worktree.is_for("run/T1"));
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_kept() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    write(&path.join("thesis.txt"), "years of work\n");
    assert!(matches!(Worktree::add(&repo, &path, &base), Err(GitError::ForeignFolder { .. })));
    assert!(matches!(Worktree::remove(&repo, &path, &rescue("x")), Err(GitError::ForeignFolder { .. })));
    assert!(path.join("thesis.txt").exists());
}

#[test]
fn a_half_made_worktree_is_put_right() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let entry = sandbox.project().join(".git/worktrees/T1");
    // Killed during the checkout: some files, no index, git's own mark.
    Worktree::add(&repo, &path, &base).unwrap();
    fs::remove_file(path.join("b")).unwrap();
    fs::rename(entry.join("index"), entry.join("index.lock")).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.how, Making::PutRight { rescued: None });
    assert!(added.worktree.status().unwrap().is_clean() && path.join("b").exists());
    assert!(!entry.join("locked").exists() && !entry.join("index.lock").exists());
    // Killed before there was a HEAD or a `.git`.
    fs::remove_file(path.join(".git")).unwrap();
    fs::write(entry.join("HEAD"), "0000000000000000000000000000000000000000\n").unwrap();
    fs::remove_file(entry.join("index")).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.worktree.status().unwrap().head, Some(base.clone()));
    assert!(added.worktree.status().unwrap().is_clean());
    // Killed before there was a folder.
    fs::remove_dir_all(&path).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    assert_eq!(added.how, Making::PutRight { rescued: None });
    assert!(added.worktree.status().unwrap().is_clean());
    assert_eq!(repo.checkouts().unwrap().len(), 2);
}

#[test]
fn a_worktree_that_lost_its_registration_is_rescued_and_put_right() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    Worktree::add(&repo, &path, &base).unwrap();
    write(&path.join("new"), "only here\n");
    fs::remove_dir_all(sandbox.project().join(".git/worktrees")).unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = added.how else { panic!("{:?}", added.how) };
    assert_eq!(sandbox.git(&format!("show {}:new", rescued.commit)), "only here");
    assert!(added.worktree.status().unwrap().is_clean() && !path.join("new").exists());
}

#[test]
fn a_deleted_folder_costs_no_commit_and_no_other_entry() {
    let sandbox = Sandbox::new();
    let (repo, base, path) = (sandbox.repo(), sandbox.oid("main"), sandbox.root.join("worktrees/T1"));
    let worktree = sandbox.worktree("T1");
    write(&path.join("new"), "new\n");
    let commit = worktree.capture("work", None).unwrap().commit;
    // Somebody else's worktree, on a drive that is away.
    sandbox.git("worktree add --quiet --detach ../drive");
    fs::remove_dir_all(sandbox.root.join("drive")).unwrap();
    fs::remove_dir_all(sandbox.root.join("worktrees")).unwrap();
    let added = Worktree::add(&repo, &path, &base).unwrap();
    let Making::PutRight { rescued: Some(rescued) } = added.how else { panic!("{:?}", added.how) };
    assert_eq!(rescued.commit, commit);
    assert!(repo.checkouts().unwrap().iter().any(|other| other.path.ends_with("drive")));
}

#[test]
fn worktrees_in_another_repository_are_refused_and_in_the_project_hidden() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    sandbox.git_in(&sandbox.root, "init --quiet other");
    let path = sandbox.root.join("other/trees/T1");
    assert!(matches!(Worktree::add(&repo, &path, &base), Err(GitError::ForeignRepository { .. })));
    assert!(!path.exists());
    for name in ["T1", "T2"] {
        Worktree::add(&repo, &sandbox.project().join(".trees").join(name), &base).unwrap();
    }
    assert_eq!(sandbox.git("status --porcelain"), "");
    let excluded = sandbox.read(".git/info/exclude");
    assert_eq!(excluded.lines().filter(|line| *line == "/.trees/").count(), 1);
    // A folder with files of its own is not hidden.
    Worktree::add(&repo, &sandbox.project().join("lib/T3"), &base).unwrap();
    sandbox.write("lib/visible", "");
    assert_eq!(sandbox.git("status --porcelain"), "?? lib/visible");
}

#[test]
fn capture_takes_what_the_agent_left_however_it_left_it() {
    let sandbox = Sandbox::new();
    let base = sandbox.oid("main");
    let worktree = sandbox.worktree("T1");
    let nothing = worktree.capture("m", None).unwrap();
    assert_eq!((nothing.commit, nothing.made_commit), (base.clone(), false));
    // On a branch of its own, half staged, with a lock left behind and a hook that says no.
    write(&sandbox.project().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    write(&sandbox.project().join(".git/hooks/commit-msg"), "#!/bin/sh\nexit 1\n");
    for hook in ["pre-commit", "commit-msg"] {
        let hook = sandbox.project().join(".git/hooks").join(hook);
        Command::new("chmod").arg("+x").arg(hook).status().unwrap();
    }
    sandbox.git_in(worktree.path(), "switch --quiet --create agents-own");
    write(&worktree.path().join("new"), "new\n");
    sandbox.git_in(worktree.path(), "add new");
    write(&worktree.path().join("-dash ü"), "odd name\n");
    fs::remove_file(worktree.path().join("b")).unwrap();
    fs::write(sandbox.project().join(".git/worktrees/T1/index.lock"), "").unwrap();
    let captured = worktree.capture("# not a comment\n\nPiton-Task: T1", Some("Agent <a@b>")).unwrap();
    assert!(captured.made_commit && worktree.status().unwrap().is_clean());
    let mut names = sandbox.repo().diff_names(&base, &captured.commit).unwrap();
    names.sort();
    assert_eq!(names, ["-dash ü", "b", "new"]);
    assert_eq!(sandbox.git(&format!("show -s --format=%s {}", captured.commit)), "# not a comment");
    assert_eq!(sandbox.oid("agents-own"), base, "no branch is moved");
    assert_eq!(sandbox.repo().tree_of(&captured.commit).unwrap(), captured.tree);
}

#[test]
fn autocrlf_makes_nothing_dirty_and_captures_line_feeds() {
    let sandbox = Sandbox::new();
    sandbox.git("config core.autocrlf true");
    sandbox.git("config core.safecrlf true");
    let worktree = sandbox.worktree("T1");
    assert!(fs::read_to_string(worktree.path().join("a")).unwrap().contains("\r\n"));
    assert!(worktree.status().unwrap().is_clean());
    write(&worktree.path().join("new"), "one\r\ntwo\n");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.repo().diff_names(&sandbox.oid("main"), &captured.commit).unwrap(), ["new"]);
    assert!(worktree.status().unwrap().is_clean());
    // The project's own checkout has line feeds still: dirty or not, it lands.
    let (old, candidate) = (sandbox.oid("main"), sandbox.candidate(&captured.commit));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
}

#[test]
fn bringing_a_worktree_up_to_the_target_leaves_the_conflict_to_the_agent() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| write(&at.join("a"), "mine\n"));
    sandbox.write("a", "theirs\n");
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    write(&worktree.path().join("scratch"), "unsaved\n");
    let brought = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(brought.conflicted, ["a"]);
    let rescued = brought.rescued.unwrap();
    assert_eq!(sandbox.git(&format!("show {}:scratch", rescued.commit)), "unsaved");
    let again = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!((again.conflicted, again.rescued), (vec!["a".to_owned()], None));
    assert!(
        matches!(worktree.capture("m", None), Err(GitError::ConflictMarkers { files }) if files == ["a"])
    );
    // Staged with the markers in it: still a conflict.
    sandbox.git_in(worktree.path(), "add a");
    assert!(
        matches!(worktree.capture("m", None), Err(GitError::ConflictMarkers { files }) if files == ["a"])
    );
    write(&worktree.path().join("a"), "both\n");
    let captured = worktree.capture("m", None).unwrap();
    let repo = sandbox.repo();
    assert!(repo.is_ancestor(&tip, &captured.commit).unwrap());
    assert!(repo.is_ancestor(&verified, &captured.commit).unwrap());
    let done = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(done.conflicted, Vec::<String>::new());
}

#[test]
fn a_conflict_without_markers_must_be_decided() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| {
        fs::remove_file(at.join("b")).unwrap();
        fs::write(at.join("image"), b"\0mine").unwrap();
    });
    sandbox.write("b", "changed\n");
    fs::write(sandbox.project().join("image"), b"\0theirs").unwrap();
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    let brought = worktree.bring_up_to(&tip, &verified, &rescue("run/T1/1")).unwrap();
    assert_eq!(brought.conflicted, ["b", "image"]);
    let refused = worktree.capture("m", None);
    assert!(matches!(refused, Err(GitError::Undecided { files }) if files == ["b", "image"]));
    fs::remove_file(worktree.path().join("b")).unwrap();
    sandbox.git_in(worktree.path(), "checkout --quiet --theirs image");
    sandbox.git_in(worktree.path(), "add image");
    let captured = worktree.capture("m", None).unwrap();
    assert_eq!(sandbox.repo().diff_names(&tip, &captured.commit).unwrap(), ["b"]);
}

#[test]
fn checkout_detached_is_exact_but_keeps_caches() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "target/\n");
    let base = sandbox.commit("ignore");
    let worktree = sandbox.worktree("integration");
    for (file, text) in [("target/cache", "warm"), ("junk", "x"), ("a", "dirty"), ("lib/junk", "y")] {
        write(&worktree.path().join(file), text);
    }
    let (merging, _) = sandbox.try_git_in(worktree.path(), "rebase --exec false HEAD~1");
    assert!(!merging);
    worktree.checkout_detached(&base).unwrap();
    worktree.checkout_detached(&base).unwrap();
    assert!(worktree.status().unwrap().is_clean());
    assert!(worktree.path().join("target/cache").exists() && !worktree.path().join("junk").exists());
    assert_eq!(
        sandbox.repo().worktree_tree(worktree.path()).unwrap(),
        sandbox.repo().tree_of(&base).unwrap()
    );
}

#[test]
fn the_tree_of_a_checkout_is_read_without_touching_it() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.commit("ignore");
    sandbox.write("a", "staged\n");
    sandbox.git("add a");
    sandbox.write("a", "then changed\n");
    sandbox.write("new", "untracked\n");
    sandbox.write("ignored", "secret\n");
    let index = fs::read(sandbox.project().join(".git/index")).unwrap();
    let before = sandbox.snapshot();
    let repo = sandbox.repo();
    let tree = repo.worktree_tree(&sandbox.project().join("lib")).unwrap();
    assert_eq!(sandbox.snapshot(), before);
    assert_eq!(fs::read(sandbox.project().join(".git/index")).unwrap(), index);
    assert_eq!(sandbox.git(&format!("show {tree}:a")), "then changed");
    assert_eq!(sandbox.git(&format!("ls-tree -r --name-only {tree}")), ".gitignore\na\nb\nlib/c\nnew");
    // A change that leaves size and time of the file as they were in the index.
    sandbox.commit("all");
    let file = sandbox.project().join("a");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let clean = repo.worktree_tree(&sandbox.project()).unwrap();
    fs::write(&file, "THEN CHANGED\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_ne!(repo.worktree_tree(&sandbox.project()).unwrap(), clean);
}

// --- rescue and removal

#[test]
fn removal_rescues_first_and_survives_collection() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.commit("ignore");
    let worktree = sandbox.worktree("T1");
    let path = worktree.path().to_owned();
    write(&path.join("new"), "committed\n");
    let commit = worktree.capture("work", None).unwrap().commit;
    write(&path.join("a"), "staged\n");
    sandbox.git_in(&path, "add a");
    write(&path.join("a"), "dirty\n");
    write(&path.join("untracked"), "here only\n");
    write(&path.join("ignored"), "not rescued\n");
    let removed = Worktree::remove(&sandbox.repo(), &path, &rescue("run/T1/1")).unwrap();
    let rescued = removed.rescued.unwrap();
    assert_eq!(rescued.name, "refs/piton/rescue/run/T1/1");
    assert!(!path.exists());
    let repo = sandbox.repo();
    let pinned = sandbox.task("T2", |at| write(&at.join("pinned"), "pinned\n"));
    repo.change_refs(&[RefChange::pin("verified/T2", &pinned).unwrap()]).unwrap();
    let loose = sandbox.task("T3", |at| write(&at.join("loose"), "loose\n"));
    for name in ["T2", "T3"] {
        let mut rescue = rescue(name);
        rescue.kept = vec!["refs".to_owned()];
        let removed = Worktree::remove(&repo, &sandbox.root.join("worktrees").join(name), &rescue).unwrap();
        assert_eq!(removed.rescued.is_some(), name == "T3", "a pinned commit needs no rescue");
    }
    sandbox.git("reflog expire --expire=now --all");
    sandbox.git("gc --quiet --prune=now");
    for (file, text) in [("a", "dirty"), ("untracked", "here only"), ("new", "committed")] {
        assert_eq!(sandbox.git(&format!("show {}:{file}", rescued.commit)), text);
    }
    assert!(!sandbox.git(&format!("ls-tree --name-only {}", rescued.commit)).contains("ignored\n"));
    assert_eq!(sandbox.git(&format!("show {}^2:a", rescued.commit)), "staged");
    assert!(repo.is_ancestor(&commit, &rescued.commit).unwrap());
    assert_eq!(repo.resolve(pinned.as_str()).unwrap(), pinned);
    assert_eq!(repo.resolve(loose.as_str()).unwrap(), loose);
    // Again: nothing is there, nothing to do.
    let again = Worktree::remove(&repo, &path, &rescue("run/T1/1")).unwrap();
    assert_eq!(again.rescued, None);
    assert_eq!(repo.rescue_list("run/T1").unwrap(), std::slice::from_ref(&rescued));
    assert!(repo.rescue_show(&rescued.name).unwrap().contains("+here only"));
    let folder = sandbox.root.join("back");
    repo.rescue_restore("run/T1/1", RestoreInto::Folder(&folder)).unwrap();
    assert_eq!(fs::read_to_string(folder.join("untracked")).unwrap(), "here only\n");
    repo.rescue_restore("run/T1/1", RestoreInto::Branch("back")).unwrap();
    assert_eq!(sandbox.oid("back"), rescued.commit);
    let taken = repo.rescue_restore("T3", RestoreInto::Branch("back"));
    assert!(matches!(taken, Err(GitError::BranchMoved { .. })));
}

#[test]
fn rescue_does_not_touch_and_does_not_overwrite() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    assert_eq!(worktree.rescue(&rescue("r/1")).unwrap(), None);
    write(&worktree.path().join("a"), "one\n");
    let first = worktree.rescue(&rescue("r/1")).unwrap().unwrap();
    assert_eq!(worktree.status().unwrap().dirty, ["a"]);
    assert_eq!(worktree.rescue(&rescue("r/1")).unwrap().unwrap(), first, "the same content once");
    write(&worktree.path().join("a"), "two\n");
    let second = worktree.rescue(&rescue("r/1")).unwrap().unwrap();
    assert_eq!(second.name, "refs/piton/rescue/r/1-2");
    assert_eq!(sandbox.repo().rescue_list("").unwrap().len(), 2);
    assert!(matches!(RefChange::unpin("rescue/r/1"), Err(GitError::BadName(_))));
}

#[test]
fn rescue_of_a_merge_in_conflict() {
    let sandbox = Sandbox::new();
    let verified = sandbox.task("T1", |at| write(&at.join("a"), "mine\n"));
    sandbox.write("a", "theirs\n");
    let tip = sandbox.commit("moved");
    let worktree = sandbox.worktree("T1");
    worktree.bring_up_to(&tip, &verified, &rescue("x")).unwrap();
    let rescued = worktree.rescue(&rescue("x")).unwrap().unwrap();
    assert!(sandbox.git(&format!("show {}:a", rescued.commit)).contains("<<<<<<<"));
    assert_eq!(worktree.status().unwrap().unmerged, ["a"]);
}

#[test]
fn nested_repositories_refuse_removal_and_capture() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    for inside in ["vendor/dep", "lib", "."] {
        let worktree = sandbox.worktree("T1");
        fs::create_dir_all(worktree.path().join(inside)).unwrap();
        let dot_git = worktree.path().join(".git");
        let own = fs::read(&dot_git).unwrap();
        if inside == "." {
            fs::remove_file(&dot_git).unwrap();
        }
        sandbox.git_in(&worktree.path().join(inside), "init --quiet");
        let paths_of = |error| match error {
            GitError::NestedRepositories { paths, .. } => paths,
            other => panic!("{other}"),
        };
        let refused = Worktree::remove(&repo, worktree.path(), &rescue("x")).unwrap_err();
        assert_eq!(paths_of(refused), [inside]);
        assert_eq!(paths_of(worktree.capture("m", None).unwrap_err()), [inside]);
        assert!(worktree.path().join(inside).join(".git/HEAD").exists());
        fs::remove_dir_all(worktree.path().join(inside).join(".git")).unwrap();
        if inside == "." {
            fs::write(&dot_git, own).unwrap();
        }
    }
    Worktree::remove(&repo, &sandbox.root.join("worktrees/T1"), &rescue("x")).unwrap();
}

#[test]
fn an_interrupted_removal_is_finished() {
    let sandbox = Sandbox::new();
    let worktree = sandbox.worktree("T1");
    fs::remove_file(worktree.path().join(".git")).unwrap();
    fs::remove_dir_all(worktree.path().join("lib")).unwrap();
    Worktree::remove(&sandbox.repo(), worktree.path(), &rescue("x")).unwrap();
    assert!(!worktree.path().exists());
    assert_eq!(sandbox.repo().checkouts().unwrap().len(), 1);
}

#[test]
fn a_submodule_is_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.git_in(&sandbox.root, "clone --quiet project module");
    sandbox.git("submodule --quiet add ../module sub");
    let base = sandbox.commit("submodule");
    assert!(sandbox.repo().has_submodules());
    sandbox.write("sub/a", "dirty in there\n");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    assert_eq!(sandbox.repo().diff_names(&base, &task).unwrap(), ["a"]);
    assert_eq!(sandbox.land(&base, &sandbox.candidate(&task), None), Moved::Done);
    assert_eq!(sandbox.read("sub/a"), "dirty in there\n");
    let path = sandbox.root.join("worktrees/T1");
    sandbox.git_in(&path, "submodule --quiet update --init");
    let refused = Worktree::remove(&sandbox.repo(), &path, &rescue("x"));
    assert!(matches!(refused, Err(GitError::NestedRepositories { paths, .. }) if paths == ["sub"]));
}

// --- branches and pins

#[test]
fn branches_are_moved_by_compare_and_swap_and_never_under_a_checkout() {
    let sandbox = Sandbox::new();
    let (repo, base) = (sandbox.repo(), sandbox.oid("main"));
    let task = sandbox.task("T1", |at| write(&at.join("a"), "x\n"));
    repo.set_branch("worktree-T1", &base, None).unwrap();
    assert!(matches!(repo.set_branch("worktree-T1", &task, None), Err(GitError::BranchMoved { .. })));
    repo.set_branch("worktree-T1", &task, Some(&base)).unwrap();
    repo.set_branch("worktree-T1", &task, Some(&base)).unwrap();
    assert!(matches!(repo.set_branch("main", &task, Some(&base)), Err(GitError::BranchCheckedOut { .. })));
    assert!(matches!(repo.set_branch("a..b", &task, None), Err(GitError::BadName(_))));
    assert_eq!(repo.branch_removal("worktree-T1", &base).unwrap(), None, "its commit is nowhere else");
    let away = repo.branch_removal("worktree-T1", &task).unwrap().unwrap();
    repo.change_refs(&[RefChange::branch("worktree-T1", &base, Some(&task)).unwrap()]).unwrap();
    assert!(repo.change_refs(std::slice::from_ref(&away)).is_err(), "it was moved in between");
    repo.change_refs(&[RefChange::branch("worktree-T1", &task, Some(&base)).unwrap()]).unwrap();
    repo.change_refs(&[away]).unwrap();
    assert_eq!(repo.branch_removal("worktree-T1", &task).unwrap(), None, "it is gone");
    assert_eq!(repo.branch_removal("main", &task).unwrap(), None, "it is checked out");
    let pin = RefChange::pin("run/T1/verified", &task).unwrap();
    let taken = RefChange::branch("main", &task, None).unwrap();
    assert!(repo.change_refs(&[pin.clone(), taken]).is_err());
    assert_eq!(repo.pin_at("run/T1/verified").unwrap(), None, "all or none");
    repo.change_refs(std::slice::from_ref(&pin)).unwrap();
    repo.change_refs(&[pin]).unwrap();
    assert_eq!(repo.pin_at("run/T1/verified").unwrap(), Some(task.clone()));
    assert_eq!(repo.pins("run").unwrap(), [Pin { name: "run/T1/verified".to_owned(), oid: task }]);
    let unpin = RefChange::unpin("run/T1/verified").unwrap();
    repo.change_refs(std::slice::from_ref(&unpin)).unwrap();
    repo.change_refs(&[unpin]).unwrap();
    assert_eq!(repo.pins("").unwrap(), []);
}

// --- merging

#[test]
fn merges_are_built_without_a_checkout() {
    type Edit = fn(&Utf8Path);
    let check = |task: Edit, person: Edit, expected: &[&str]| {
        let sandbox = Sandbox::new();
        let task = sandbox.task("T1", task);
        person(&sandbox.project());
        let ours = sandbox.commit("person");
        let before = sandbox.snapshot();
        let merged = sandbox.repo().merge(&ours, &task).unwrap();
        assert_eq!(sandbox.snapshot(), before);
        match merged {
            Merged::Clean { tree } => {
                assert!(expected.is_empty(), "clean: {}", sandbox.git(&format!("ls-tree -r {tree}")));
            }
            Merged::Conflict { files, messages } => {
                assert_eq!(files, expected);
                assert!(messages.contains("CONFLICT"), "{messages}");
            }
        }
    };
    let move_a: Edit = |at| fs::rename(at.join("a"), at.join("moved")).unwrap();
    let edit_a: Edit = |at| write(&at.join("a"), &lines("a").replace("a 3\n", "a three\n"));
    let edit_b: Edit = |at| write(&at.join("b"), "b\n");
    let other_a: Edit = |at| write(&at.join("a"), &lines("a").replace("a 3\n", "a drei\n"));
    let delete_a: Edit = |at| fs::remove_file(at.join("a")).unwrap();
    let binary: Edit = |at| fs::write(at.join("image"), b"\0one").unwrap();
    let other_binary: Edit = |at| fs::write(at.join("image"), b"\0two").unwrap();
    check(edit_a, edit_b, &[]);
    check(move_a, edit_a, &[]);
    check(edit_a, other_a, &["a"]);
    check(edit_a, edit_a, &[]);
    check(delete_a, edit_a, &["a"]);
    check(binary, other_binary, &["image"]);
    check(move_a, delete_a, &["moved"]);
}

#[test]
fn the_targets_attributes_decide_a_merge() {
    let sandbox = Sandbox::new();
    let task = sandbox.task("T1", |at| write(&at.join("log"), "task\n"));
    sandbox.write("log", "person\n");
    sandbox.write(".gitattributes", "log merge=union\n");
    let ours = sandbox.commit("union");
    // The checkout says otherwise.
    sandbox.write(".gitattributes", "log -merge\n");
    let merged = sandbox.repo().merge(&ours, &task).unwrap();
    assert!(matches!(merged, Merged::Clean { .. }), "{merged:?}");
}

#[test]
fn unrelated_histories_are_named() {
    let sandbox = Sandbox::new();
    let ours = sandbox.oid("main");
    let tree = sandbox.repo().tree_of(&ours).unwrap();
    let root = sandbox.repo().commit_tree(&tree, &[], "root", None).unwrap();
    assert!(matches!(sandbox.repo().merge(&ours, &root), Err(GitError::Unrelated { .. })));
}

#[test]
fn owned_paths_are_put_back() {
    let sandbox = Sandbox::new();
    sandbox.write("state.json", "{}\n");
    let base = sandbox.commit("state");
    let task = sandbox.task("T1", |at| {
        write(&at.join("state.json"), "{\"done\": true}\n");
        write(&at.join(".plan/notes"), "scribbled\n");
        fs::remove_dir_all(at.join("lib")).unwrap();
        write(&at.join("lib"), "now a file\n");
        write(&at.join("a"), "work\n");
    });
    let repo = sandbox.repo();
    let paths: Vec<RepoPath> =
        ["state.json", ".plan", "lib", "absent"].iter().map(|path| RepoPath::new(path).unwrap()).collect();
    let tree = repo.settle(repo.tree_of(&task).unwrap(), &base, &paths).unwrap();
    assert_eq!(repo.diff_names(&base, &tree).unwrap(), ["a"]);
    assert_eq!(repo.settle(tree.clone(), &base, &paths).unwrap(), tree);
}

// --- moving the target

#[test]
fn a_target_checked_out_nowhere_moves_by_compare_and_swap() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    let candidate = sandbox.candidate(&task);
    sandbox.leave_main();
    let repo = sandbox.repo();
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::AtOld);
    let before = sandbox.snapshot();
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    assert_eq!(sandbox.oid("main"), candidate);
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done, "again");
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::Landed);
    assert_eq!(sandbox.snapshot(), before);
}

#[test]
fn a_target_that_a_person_moved_is_left_alone() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| write(&at.join("a"), "work\n"));
    let candidate = sandbox.candidate(&task);
    sandbox.write("b", "by hand\n");
    let now = sandbox.commit("person");
    let repo = sandbox.repo();
    for _ in 0..2 {
        assert_eq!(sandbox.land(&old, &candidate, long_ago()), Moved::TargetMoved { now: Some(now.clone()) });
        let state = repo.landed_state("main", &old, &candidate).unwrap();
        assert_eq!(state, LandedState::MovedForward { tip: now.clone() });
        if repo.where_is_target("main").unwrap().is_some() {
            sandbox.leave_main();
        }
    }
    sandbox.git(&format!("branch --force main {task}"));
    sandbox.git("commit --quiet --amend --allow-empty --message rewritten");
    sandbox.git("branch --force main");
    let tip = sandbox.oid("main");
    assert_eq!(
        repo.landed_state("main", &now, &candidate).unwrap(),
        LandedState::Elsewhere { tip: Some(tip) }
    );
    sandbox.git("branch --delete --force main");
    assert_eq!(repo.landed_state("main", &old, &candidate).unwrap(), LandedState::Elsewhere { tip: None });
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::TargetMoved { now: None });
}

#[test]
fn a_landed_candidate_stays_landed_when_work_goes_on() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    sandbox.write("b", "on top\n");
    sandbox.commit("person");
    assert_eq!(sandbox.repo().landed_state("main", &old, &candidate).unwrap(), LandedState::Landed);
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
}

#[test]
fn a_dirty_checkout_is_the_same_to_the_byte_after_a_landing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    let old = sandbox.commit("ignore");
    let task = sandbox.task("T1", |at| {
        write(&at.join("a"), "work\n");
        write(&at.join("dir/new"), "new\n");
    });
    let candidate = sandbox.candidate(&task);
    sandbox.write("b", "staged\n");
    sandbox.git("add b");
    sandbox.write("b", "and changed\n");
    sandbox.write("lib/c", "dirty\n");
    sandbox.write("staged-new", "new\n");
    sandbox.git("add staged-new");
    sandbox.write("dir/other", "untracked\n");
    sandbox.write("ignored", "ignored\n");
    // Stashed and brought back, what was staged would not be staged any more.
    sandbox.git("config merge.autostash true");
    let (mut files, _) = sandbox.snapshot();
    let staged = sandbox.git("diff --cached --raw");
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    assert_eq!(sandbox.oid("main"), candidate);
    files.insert(sandbox.project().join("a").to_string(), b"work\n".to_vec());
    files.insert(sandbox.project().join("dir/new").to_string(), b"new\n".to_vec());
    assert_eq!(sandbox.snapshot().0, files);
    assert_eq!(sandbox.git("diff --cached --raw"), staged);
    assert_eq!(sandbox.git("stash list"), "");
}

#[test]
fn files_in_the_way_make_the_landing_wait() {
    let check = |spoil: fn(&Sandbox), expected: &str| {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", ".env\n");
        let old = sandbox.commit("ignore");
        let task = sandbox.task("T1", |at| {
            write(&at.join("a"), "work\n");
            write(&at.join("new"), "new\n");
            write(&at.join(".env"), "KEY=theirs\n");
            fs::remove_file(at.join("b")).unwrap();
            sandbox.git_in(at, "add --force .env");
        });
        let candidate = sandbox.candidate(&task);
        spoil(&sandbox);
        let before = sandbox.snapshot();
        for recovering in [None, long_ago()] {
            let files = waits_for_files(sandbox.land(&old, &candidate, recovering));
            assert_eq!(files, [expected]);
            assert_eq!(sandbox.snapshot(), before);
            assert_eq!(sandbox.oid("main"), old);
        }
    };
    check(|s| s.write("a", "dirty\n"), "a");
    check(
        |s| {
            s.write("a", "staged\n");
            s.git("add a");
        },
        "a",
    );
    check(
        |s| {
            s.write("a", "staged only\n");
            s.git("add a");
            s.write("a", &lines("a"));
        },
        "a",
    );
    check(|s| s.write("new", "untracked\n"), "new");
    check(|s| s.write(".env", "KEY=mine\n"), ".env");
    check(|s| s.write("b", "edited, while the landing deletes it\n"), "b");
    check(|s| fs::remove_file(s.project().join("a")).unwrap(), "a");
}

#[test]
fn a_folder_in_the_way_is_left_to_gits_refusal() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("new"), "new\n")));
    sandbox.write("new/precious", "mine\n");
    let before = sandbox.snapshot();
    let moved = sandbox.land(&old, &candidate, None);
    assert!(matches!(moved, Moved::Waits(Wait::Refused { .. })), "{moved:?}");
    assert_eq!(sandbox.snapshot(), before);
}

#[test]
fn an_operation_or_a_lock_makes_the_landing_wait() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    let git_dir = sandbox.project().join(".git");
    fs::write(git_dir.join("CHERRY_PICK_HEAD"), format!("{old}\n")).unwrap();
    let moved = sandbox.land(&old, &candidate, None);
    assert!(matches!(moved, Moved::Waits(Wait::Operation { what: "a cherry-pick", .. })), "{moved:?}");
    fs::remove_file(git_dir.join("CHERRY_PICK_HEAD")).unwrap();
    let lock = git_dir.join("index.lock");
    fs::write(&lock, "").unwrap();
    let waits = Moved::Waits(Wait::Locked { path: lock.clone() });
    assert_eq!(sandbox.land(&old, &candidate, None), waits);
    let later = Some(SystemTime::now() + Duration::from_secs(60));
    assert_eq!(sandbox.land(&old, &candidate, later), waits, "older than the intent");
    let held = fs::File::open(&lock).unwrap();
    assert_eq!(sandbox.land(&old, &candidate, long_ago()), waits, "somebody has it open");
    drop(held);
    assert!(lock.exists());
    if cfg!(target_os = "linux") {
        // A child that another test is just starting may have a copy of the handle for a moment.
        let moved =
            (0..100).map(|_| sandbox.land(&old, &candidate, long_ago())).find(|moved| *moved != waits);
        assert_eq!(moved, Some(Moved::Done));
        assert_eq!(sandbox.git("status --porcelain"), "");
    }
}

#[test]
fn a_branch_being_rebased_elsewhere_makes_the_landing_wait() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "more\n");
    let old = sandbox.commit("second");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("b"), "work\n")));
    let (ok, _) = sandbox.try_git_in(&sandbox.project(), "rebase --quiet --exec false --force-rebase HEAD~1");
    assert!(!ok);
    let moved = sandbox.land(&old, &candidate, None);
    assert!(matches!(moved, Moved::Waits(Wait::Operation { what: "a rebase", .. })), "{moved:?}");
}

#[test]
fn a_leftover_ref_lock_is_ours_only_with_our_candidate_in_it() {
    for checked_out in [false, true] {
        let sandbox = Sandbox::new();
        let old = sandbox.oid("main");
        let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
        if !checked_out {
            sandbox.leave_main();
        }
        let lock = sandbox.project().join(".git/refs/heads/main.lock");
        let before = sandbox.snapshot();
        // An empty one may be ours if it was made after the intent; without an intent it is not.
        for (foreign, recovering) in [(String::new(), None), (format!("{old}\n"), long_ago())] {
            fs::write(&lock, foreign).unwrap();
            let waits = Moved::Waits(Wait::Locked { path: lock.clone() });
            assert_eq!(sandbox.land(&old, &candidate, recovering), waits);
            assert!(lock.exists());
            assert_eq!(sandbox.snapshot(), before);
        }
        fs::write(&lock, format!("{candidate}\n")).unwrap();
        assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
        assert_eq!(sandbox.oid("main"), candidate);
        assert_eq!(sandbox.git("status --porcelain"), "");
    }
}

#[test]
fn a_half_done_checkout_is_finished() {
    let check = |leave: fn(&Sandbox, &Oid)| {
        let sandbox = Sandbox::new();
        sandbox.write("kind", "a file\n");
        let old = sandbox.commit("kind");
        let task = sandbox.task("T1", |at| {
            write(&at.join("a"), "work\n");
            write(&at.join("deep/new"), "new\n");
            fs::remove_file(at.join("b")).unwrap();
            fs::remove_file(at.join("kind")).unwrap();
            write(&at.join("kind/of"), "now a folder\n");
        });
        let candidate = sandbox.candidate(&task);
        sandbox.write("lib/c", "a person's own\n");
        leave(&sandbox, &candidate);
        assert_eq!(sandbox.land(&old, &candidate, long_ago()), Moved::Done);
        assert_eq!(sandbox.oid("main"), candidate);
        assert_eq!(sandbox.git("status --porcelain").trim(), "M lib/c");
        assert_eq!(sandbox.read("a"), "work\n");
        assert_eq!(sandbox.read("kind/of"), "now a folder\n");
        assert_eq!(sandbox.read("lib/c"), "a person's own\n");
    };
    // Some files, index and ref as they were.
    check(|s, _| s.write("a", "work\n"));
    check(|s, _| {
        s.write("deep/new", "new\n");
        fs::remove_file(s.project().join("b")).unwrap();
        fs::remove_file(s.project().join("kind")).unwrap();
        s.write("kind/of", "now a folder\n");
    });
    // All files and the index, but not the ref.
    check(|s, candidate| drop(s.git(&format!("read-tree -m -u HEAD {candidate}"))));
    if cfg!(target_os = "linux") {
        // Killed in the middle of a write, with the index locked.
        check(|s, _| {
            s.write("a", "wo");
            s.write("deep/new", "");
            fs::remove_file(s.project().join("kind")).unwrap();
            s.write(".git/index.lock", "half an index");
        });
    }
}

#[test]
fn a_half_done_checkout_with_a_persons_work_in_it_waits() {
    let sandbox = Sandbox::new();
    let old = sandbox.oid("main");
    let task = sandbox.task("T1", |at| {
        write(&at.join("a"), "work\n");
        write(&at.join("b"), "work\n");
    });
    let candidate = sandbox.candidate(&task);
    sandbox.write("a", "work\n");
    sandbox.write("b", "a person came by\n");
    sandbox.write(".git/index.lock", "");
    let before = sandbox.snapshot();
    assert_eq!(waits_for_files(sandbox.land(&old, &candidate, long_ago())), ["b"]);
    assert_eq!(sandbox.snapshot(), before);
    assert!(sandbox.project().join(".git/index.lock").exists());
}

#[test]
fn landings_on_one_target_are_serialised() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    let lease = LandingLease::take(&repo, "main").unwrap();
    assert!(LandingLease::try_take(&repo, "main").unwrap().is_none());
    assert!(LandingLease::try_take(&repo, "other").unwrap().is_some());
    drop(lease);
    LandingLease::take(&repo, "main").unwrap();
    let elsewhere = Sandbox::new();
    let lease = LandingLease::take(&elsewhere.repo(), "main").unwrap();
    let old = sandbox.oid("main");
    assert!(matches!(repo.move_target(&lease, &old, &old, None), Err(GitError::WrongLease)));
}

#[test]
fn a_target_in_a_linked_worktree_and_one_whose_folder_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.leave_main();
    sandbox.git("worktree add --quiet ../linked main");
    let old = sandbox.oid("main");
    let candidate = sandbox.candidate(&sandbox.task("T1", |at| write(&at.join("a"), "work\n")));
    assert_eq!(sandbox.land(&old, &candidate, None), Moved::Done);
    let linked = sandbox.root.join("linked");
    assert_eq!(fs::read_to_string(linked.join("a")).unwrap(), "work\n");
    assert_eq!(sandbox.git_in(&linked, "status --porcelain"), "");
    let next = sandbox.candidate(&sandbox.task("T2", |at| write(&at.join("b"), "work\n")));
    sandbox.git("worktree lock ../linked");
    fs::remove_dir_all(&linked).unwrap();
    let moved = sandbox.land(&candidate, &next, None);
    assert!(matches!(moved, Moved::Waits(Wait::Away { .. })), "{moved:?}");
    sandbox.git("worktree unlock ../linked");
    assert_eq!(sandbox.land(&candidate, &next, None), Moved::Done);
}

#[test]
fn waits_say_what_a_person_can_do() {
    let files: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
    let wait = Wait::Files { checkout: "/p".into(), files };
    assert_eq!(wait.to_string(), "/p has changes of its own in f1, f2, f3, f4, f5 and 2 more");
    let wait = Wait::Locked { path: "/p/.git/index.lock".into() };
    assert!(wait.to_string().contains("/p/.git/index.lock"));
}
