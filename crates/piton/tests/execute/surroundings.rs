//! The repositories that plans of this system meet: each run works, or ends with the reason, and the checkout of the
//! person who owns it stays as it was, but for what landed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use piton_testkit::sandbox::Sandbox;

use crate::{PLAN, all_write, follow_the_script, shop, statuses, write_plan};

const DONE: [&str; 3] = ["completed"; 3];

/// All that a checkout is: its branch and commit, what is staged, what is not, and every byte of every file. Work that
/// lands is in `src`, and the state file is Piton's.
#[derive(Debug, PartialEq)]
struct Checkout {
    head: String,
    commit: String,
    staged: String,
    status: String,
    files: BTreeMap<String, Vec<u8>>,
}

fn checkout(sandbox: &Sandbox) -> Checkout {
    let mut files = BTreeMap::new();
    read(sandbox.project(), sandbox.project(), &mut files);
    Checkout {
        head: fs::read_to_string(sandbox.project().join(".git/HEAD")).expect("a HEAD"),
        commit: sandbox.git(["rev-parse", "HEAD"]),
        staged: sandbox.git(["diff", "--cached", "--full-index"]),
        status: sandbox.git(["status", "--porcelain", "--ignored=no"]),
        files,
    }
}

fn read(top: &Utf8Path, folder: &Utf8Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in folder.read_dir_utf8().expect("a folder").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(top).expect("it is below").to_string();
        if name == ".git" || name == "src" || name.contains("/execute-state.") || name.contains("/.piton-") {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            read(top, path, files);
        } else {
            files.insert(name, fs::read(path).unwrap_or_default());
        }
    }
}

impl Checkout {
    /// Nothing but landed work came in.
    #[track_caller]
    fn has_only_moved_on(&self, sandbox: &Sandbox) {
        let mut now = checkout(sandbox);
        sandbox.git(["merge-base", "--is-ancestor", &self.commit, &now.commit]);
        now.commit.clone_from(&self.commit);
        assert_eq!(*self, now);
    }

    #[track_caller]
    fn is_untouched(&self, sandbox: &Sandbox) {
        assert_eq!(*self, checkout(sandbox));
    }
}

/// The run ends well, and the checkout has only moved on.
#[track_caller]
fn runs(sandbox: &Sandbox) {
    let before = checkout(sandbox);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(0);
    assert_eq!(statuses(sandbox), DONE);
    before.has_only_moved_on(sandbox);
}

/// Landing does not wait for the person who owns the checkout.
fn impatient(sandbox: &Sandbox) {
    let config = sandbox.read("piton.toml") + "landing_wait = \"0s\"\n";
    sandbox.write("piton.toml", &config);
    sandbox.commit("Do not wait");
}

/// The two tasks of the first layer work at the same time, from the same base.
fn side_by_side(sandbox: &Sandbox) {
    let plan = serde_json::json!({ "layers": [
        { "id": "1-foundation", "tasks": [{ "id": "L1-001", "depends_on": [] }, { "id": "L1-002", "depends_on": [] }] },
        { "id": "2-backend", "tasks": [{ "id": "L2-001", "depends_on": ["L1-002"] }] },
    ] });
    sandbox.write(format!("{PLAN}/layer_plan.json"), &plan.to_string());
    sandbox.commit("Side by side");
}

#[test]
fn no_remote_is_needed_and_none_is_asked() {
    let sandbox = shop();
    runs(&sandbox);
    let sandbox = shop();
    sandbox.git(["remote", "add", "origin", "/nowhere/at/all"]);
    sandbox.git(["config", "branch.main.remote", "origin"]);
    sandbox.git(["config", "branch.main.merge", "refs/heads/main"]);
    runs(&sandbox);
}

#[test]
fn the_base_branch_has_any_name() {
    let sandbox = shop();
    sandbox.git(["branch", "-m", "main", "release/2.0"]);
    runs(&sandbox);
    assert_eq!(sandbox.history("release/2.0").len(), 5);
}

#[test]
fn a_detached_head_is_named_and_stays_where_it_is() {
    let sandbox = shop();
    sandbox.git(["checkout", "-q", "--detach"]);
    let before = checkout(&sandbox);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(1).says("detached HEAD").says("--base-branch");
    before.is_untouched(&sandbox);
    let _ = sandbox.run(&format!("run {PLAN} --base-branch main")).exits(0);
    assert_eq!(statuses(&sandbox), DONE);
    before.is_untouched(&sandbox);
    assert_eq!(sandbox.history("main").len(), 5);
}

#[test]
fn what_is_staged_stays_staged() {
    let sandbox = shop();
    for (file, text) in [("mine.txt", "staged\n"), ("README.md", "staged\n")] {
        sandbox.write(file, text);
        sandbox.git(["add", file]);
    }
    sandbox.write("README.md", "and changed again\n");
    sandbox.write("untracked.txt", "new\n");
    runs(&sandbox);
}

#[test]
fn what_is_staged_in_the_way_of_a_landing_is_named() {
    let sandbox = shop();
    impatient(&sandbox);
    sandbox.write("src/L1-001.txt", "mine\n");
    sandbox.git(["add", "src"]);
    let before = checkout(&sandbox);
    let _ = sandbox
        .run(&format!("run {PLAN}"))
        .exits(3)
        .says("src/L1-001.txt")
        .says("hint: commit, stash or fix what is in the way");
    before.is_untouched(&sandbox);
    assert_eq!(sandbox.read("src/L1-001.txt"), "mine\n");
    sandbox.git(["rm", "-q", "-f", "src/L1-001.txt"]);
    runs(&sandbox);
}

#[test]
fn submodules_are_left_alone() {
    let sandbox = shop();
    let library = sandbox.root().join("library");
    sandbox.write(library.join("file"), "x");
    sandbox.git_in(&library, ["init", "-q", "-b", "main"]);
    sandbox.git_in(&library, ["add", "-A"]);
    sandbox.git_in(&library, ["commit", "-q", "-m", "Library"]);
    sandbox.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", library.as_str(), "lib"]);
    sandbox.commit("Submodule");
    // A person works in it.
    sandbox.write("lib/file", "changed");
    runs(&sandbox);
}

#[test]
fn a_repository_without_a_commit_is_named() {
    let sandbox = Sandbox::without_git(env!("CARGO_BIN_EXE_piton"));
    sandbox.git(["init", "-q", "-b", "main"]);
    write_plan(&sandbox);
    follow_the_script(&sandbox);
    let before = sandbox.fingerprint();
    let _ = sandbox.run(&format!("run {PLAN}")).exits(1).says("has no commit yet");
    assert_eq!(sandbox.fingerprint(), before);
}

#[test]
fn a_project_below_the_top_of_its_repository_works() {
    let sandbox = shop();
    let below = sandbox.project().join("parts/shop");
    fs::create_dir_all(&below).expect("a new folder");
    fs::rename(sandbox.project().join("docs"), below.join("docs")).expect("our own folder");
    sandbox.commit("Move");
    let before = checkout(&sandbox);
    let _ = sandbox.piton(["run", PLAN]).within(&below).run().exits(0);
    before.has_only_moved_on(&sandbox);
    assert!(sandbox.exists(format!("parts/shop/{PLAN}/execute-state.json")));
    assert_eq!(sandbox.git(["ls-files", "src"]).lines().count(), 3);
    assert_eq!(sandbox.git(["ls-files"]).matches("execute-state").count(), 0);
}

#[test]
fn a_bare_repository_is_named() {
    let sandbox = Sandbox::without_git(env!("CARGO_BIN_EXE_piton"));
    sandbox.git(["init", "-q", "--bare", "-b", "main"]);
    write_plan(&sandbox);
    follow_the_script(&sandbox);
    let before = sandbox.fingerprint();
    let _ = sandbox.run(&format!("run {PLAN}")).exits(1).says("is a bare repository");
    assert_eq!(sandbox.fingerprint(), before);
}

#[test]
fn a_branch_that_has_the_name_already_is_somebody_elses() {
    let sandbox = shop();
    sandbox.git(["branch", "worktree-L1-001", "main^"]);
    // Two names that differ only in case, which other file systems may not tell apart.
    sandbox.git(["branch", "worktree-l1-002", "main^"]);
    let branches =
        || sandbox.git(["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/worktree-*"]);
    let theirs = branches();
    runs(&sandbox);
    assert_eq!(branches(), theirs);
}

#[test]
fn worktrees_in_another_repository_are_refused() {
    let sandbox = shop();
    let other = sandbox.root().join("other");
    sandbox.write(other.join("file"), "x");
    sandbox.git_in(&other, ["init", "-q"]);
    let before = checkout(&sandbox);
    let refused = sandbox.run(&format!("run {PLAN} --worktree-dir {}", other.join("trees")));
    let _ = refused.exits(1).says("lies inside another repository");
    before.is_untouched(&sandbox);
    assert!(!other.join("trees").exists());
    assert_eq!(sandbox.git_in(&other, ["status", "--porcelain"]), "?? file");
}

#[test]
fn hooks_that_reject_everything_are_not_asked() {
    let sandbox = shop();
    let hooks =
        ["pre-commit", "commit-msg", "pre-merge-commit", "prepare-commit-msg", "reference-transaction"];
    for hook in hooks.into_iter().chain(["post-checkout", "post-merge", "post-commit", "pre-rebase"]) {
        let path = sandbox.project().join(".git/hooks").join(hook);
        sandbox.write(&path, "#!/bin/sh\necho rejected >&2\nexit 1\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    }
    runs(&sandbox);
}

#[test]
fn nobody_told_git_who_they_are() {
    let sandbox = shop();
    fs::write(sandbox.root().join("home/.gitconfig"), "[user]\n\tuseConfigOnly = true\n")
        .expect("our own file");
    runs(&sandbox);
    let author = sandbox.git(["log", "-1", "--format=%an <%ae>"]);
    assert!(author.to_lowercase().contains("piton"), "{author}");
}

/// A project with a file in its history whose line ends are not what its attributes say.
fn with_line_ends(attributes: &str) -> Sandbox {
    let sandbox = shop();
    // The set-up makes git look at it, as an editor does that saves without a change.
    let config =
        sandbox.read("piton.toml") + "landing_wait = \"0s\"\n[worktree]\nsetup = \"touch old.txt\"\n";
    sandbox.write("piton.toml", &config);
    sandbox.write("old.txt", "one\r\ntwo\r\n");
    sandbox.write("unix.txt", "one\ntwo\n");
    sandbox.commit("Line ends");
    sandbox.write(".gitattributes", attributes);
    sandbox.git(["add", ".gitattributes"]);
    sandbox.git(["commit", "-q", "-m", "Attributes"]);
    sandbox.write("old.txt", "one\r\ntwo\r\n");
    sandbox
}

#[test]
fn line_ends_that_git_leaves_as_they_are_make_nothing_dirty() {
    for attributes in ["* text=auto eol=crlf\n", "* text=auto eol=lf\n", "* -text\n"] {
        let sandbox = with_line_ends(attributes);
        let blob = sandbox.git(["rev-parse", "main:old.txt"]);
        runs(&sandbox);
        assert_eq!(sandbox.git(["rev-parse", "main:old.txt"]), blob, "{attributes:?}: nobody asked for this");
    }
}

/// Git calls the file changed in every checkout, and so it is in the way until a person commits what git wants.
#[test]
fn a_file_that_git_always_calls_changed_is_named() {
    let sandbox = with_line_ends("*.txt text\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M old.txt");
    let before = checkout(&sandbox);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(3).says("old.txt").says("commit your changes");
    before.is_untouched(&sandbox);
    sandbox.git(["add", "--renormalize", "old.txt"]);
    sandbox.git(["commit", "-q", "-m", "Line ends as they should be"]);
    runs(&sandbox);
}

/// Such a file system is not available everywhere, so git is told that this is one.
#[test]
fn names_that_differ_in_case_only_land_or_are_named() {
    let sandbox = shop();
    impatient(&sandbox);
    sandbox.git(["config", "core.ignorecase", "true"]);
    side_by_side(&sandbox);
    sandbox.fifo("gate");
    sandbox.script(&format!(
        "[L1-001]\nwrite src/L1-001.txt done\nwrite src/Note.txt one\n\
         [L1-002]\nmeet SIDE/gate\nwrite src/L1-002.txt done\nwrite src/note.txt two\n{}",
        all_write()
    ));
    let before = checkout(&sandbox);
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-001   landed");
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0);
    before.has_only_moved_on(&sandbox);
    let landed = sandbox.git(["ls-tree", "--name-only", "main", "src/"]);
    assert!(landed.contains("src/Note.txt") && landed.contains("src/note.txt"), "{landed}");
    assert_eq!([sandbox.read("src/Note.txt"), sandbox.read("src/note.txt")], ["one\n", "two\n"]);
}

#[test]
fn a_branch_without_any_change_is_never_merged() {
    let sandbox = shop();
    sandbox.script("[L1-001]\nrun git commit -q --allow-empty -m nothing\n");
    let before = checkout(&sandbox);
    let _ = sandbox.run(&format!("run {PLAN}")).exits(4).says("changed nothing");
    before.is_untouched(&sandbox);
    assert_eq!(statuses(&sandbox), ["abandoned", "pending", "pending"]);
}

#[test]
fn two_who_append_to_one_place_both_land() {
    let sandbox = shop();
    sandbox.write("src/log.txt", "Log\n");
    side_by_side(&sandbox);
    sandbox.fifo("gate");
    sandbox.script(&format!(
        "[L1-001]\nwrite src/L1-001.txt done\nappend src/log.txt one\n\
         [L1-002]\nif-conflict write src/log.txt Log\\none\\ntwo\nif-conflict exit 0\n\
         write src/L1-002.txt done\nappend src/log.txt two\nmeet SIDE/gate\n{}",
        all_write()
    ));
    let before = checkout(&sandbox);
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-001   landed");
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0).says("could not land: merge conflict in src/log.txt");
    before.has_only_moved_on(&sandbox);
    assert_eq!(sandbox.read("src/log.txt"), "Log\none\ntwo\n");
    let state = crate::state(&sandbox);
    assert_eq!(state["tasks"]["L1-002"]["attempts"], 1, "a conflict spends nothing");
}

/// One renames what the other deletes or changes. The second one has to resolve it.
#[test]
fn a_file_that_is_renamed_on_one_side_and_gone_on_the_other_is_decided_by_the_agent() {
    let sandbox = shop();
    let long: String = (0..20).map(|n| format!("line {n}\n")).collect();
    sandbox.write("src/log.txt", &long);
    side_by_side(&sandbox);
    sandbox.fifo("gate");
    sandbox.script(&format!(
        "[L1-001]\nwrite src/L1-001.txt done\nrun git mv src/log.txt src/diary.txt\n\
         [L1-002]\nif-conflict run git add -A src\nif-conflict exit 0\n\
         write src/L1-002.txt done\nremove src/log.txt\nmeet SIDE/gate\n{}",
        all_write()
    ));
    let before = checkout(&sandbox);
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-001   landed");
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0).says("could not land: merge conflict in src/diary.txt");
    before.has_only_moved_on(&sandbox);
    assert_eq!(sandbox.read("src/diary.txt"), long);
    assert!(!sandbox.exists("src/log.txt"));
}

#[test]
fn a_base_that_a_person_moves_meanwhile_is_merged_with() {
    let sandbox = shop();
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace("[L1-001]\n", "[L1-001]\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-001   attempt 1 started");
    sandbox.write("person.txt", "me too\n");
    sandbox.git(["add", "person.txt"]);
    sandbox.git(["commit", "-q", "-m", "By a person"]);
    let before = checkout(&sandbox);
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0);
    assert_eq!(statuses(&sandbox), DONE);
    before.has_only_moved_on(&sandbox);
}

/// The person was faster with the same file: their words stay, and the task has to live with them.
#[test]
fn a_base_that_a_person_moves_into_the_way_is_a_conflict() {
    let sandbox = shop();
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace(
        "[L1-001]\nwrite src/L1-001.txt done\n",
        "[L1-001]\nif-conflict write src/L1-001.txt mine\\ndone\nif-conflict exit 0\nwrite src/L1-001.txt done\nmeet SIDE/gate\n",
    ));
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-001   attempt 1 started");
    sandbox.write("src/L1-001.txt", "mine\n");
    sandbox.git(["add", "src"]);
    sandbox.git(["commit", "-q", "-m", "By a person"]);
    let before = checkout(&sandbox);
    run.until_at(&sandbox, "gate");
    let _ = run.wait().exits(0).says("could not land: merge conflict in src/L1-001.txt");
    before.has_only_moved_on(&sandbox);
    assert_eq!(sandbox.read("src/L1-001.txt"), "mine\ndone\n");
}

/// What was landed and taken back is not brought back by work that was built on it: a person decides.
#[test]
fn a_base_that_a_person_takes_back_is_named() {
    let sandbox = shop();
    sandbox.fifo("gate");
    sandbox.script(&all_write().replace("[L1-002]\n", "[L1-002]\nmeet SIDE/gate\n"));
    let mut run = sandbox.piton(["run", PLAN]).spawn();
    run.until_says("L1-002   attempt 1 started");
    run.until_at(&sandbox, "gate");
    sandbox.git(["reset", "-q", "--hard", "main^1"]);
    let before = checkout(&sandbox);
    let _ = run.wait().exits(4);
    let why = sandbox.run("why L1-002").exits(0).says("which this work was built on");
    let _ = why.says("piton clean --unfinished").says("piton reset L1-002");
    before.is_untouched(&sandbox);
    // As it says.
    sandbox.script(&all_write());
    let _ = sandbox.run("clean --unfinished").exits(0);
    let _ = sandbox.run("reset L1-002").exits(0);
    runs(&sandbox);
    assert_eq!(sandbox.git(["ls-files", "src"]).lines().count(), 3);
    let _ = sandbox.run("doctor").exits(0);
}
