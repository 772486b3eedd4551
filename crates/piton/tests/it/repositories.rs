//! The repositories one meets in the wild: each works, or is refused with the reason and left as it was.

use crate::{folder, sandbox, status};
use piton_testkit::sandbox::{Sandbox, task, writers};

/// A plan of one task that is done at once.
fn ready() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    sandbox
}

#[test]
fn a_detached_head_is_refused_with_the_way_out() {
    let sandbox = ready();
    sandbox.git(["checkout", "-q", "--detach"]);
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: [ROOT]/project is not on a branch (detached HEAD): check one out, or name the target branch

    hint: git switch BRANCH
    hint: or name the target: piton run PLAN --base-branch BRANCH
    ");
    let _ = sandbox.run("run plan.toml --base-branch main").exits(0);
    assert_eq!(sandbox.history("main").len(), 3);
}

#[test]
fn an_empty_repository_is_refused() {
    let sandbox = folder();
    sandbox.git(["init", "-q", "-b", "main"]);
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "")));
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: the repository at [ROOT]/project has no commit yet: make a first one (git commit --allow-empty)
    ");
}

#[test]
fn a_bare_repository_is_refused() {
    let sandbox = folder();
    sandbox.git(["init", "-q", "--bare", "-b", "main"]);
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "")));
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: [ROOT]/project is a bare repository: run Piton in a checkout of it
    ");
}

#[test]
fn without_a_repository_nothing_can_land() {
    let sandbox = folder();
    sandbox.write("plan.toml", &sandbox.plan_text("", &task("T1", "")));
    let before = sandbox.fingerprint();
    shows!(sandbox.run("run plan.toml").exits(1), @r"
    exit: 1
    --- stderr
    error: [ROOT]/project is not in a git repository, which Piton needs to land work

    hint: git init && git add -A && git commit -m 'First commit'
    hint: piton run plan.toml --no-commits   works in the folder itself, without git
    hint: piton next --plan plan.toml   begins a run whose tasks you do yourself
    ");
    assert_eq!(sandbox.fingerprint(), before);
}

#[test]
fn a_plan_that_lies_outside_of_the_repository_is_worked_on_in_the_one_that_is_named() {
    let sandbox = sandbox();
    let plan = sandbox.root().join("plans").join("my plan.toml");
    sandbox.write(&plan, &sandbox.plan_text("", &task("T1", "")));
    sandbox.script(&writers(&["T1"]));
    let refused = sandbox.piton(["run", plan.as_str()]).run().exits(1).lacks("git init");
    let _ = refused.says("hint: piton run '[ROOT]/plans/my plan.toml' --project-path .   works");
    let named = ["run", plan.as_str(), "--project-path", sandbox.project().as_str()];
    let _ = sandbox.piton(named).run().exits(0);
    assert_eq!(sandbox.history("main").len(), 2);
}

#[test]
fn a_project_in_a_folder_of_a_repository_works() {
    let sandbox = sandbox();
    sandbox.write("parts/api/plan.toml", &sandbox.plan_text("", &task("T1", "")));
    sandbox.commit("Plan");
    sandbox.script(&writers(&["T1"]));
    let parts = sandbox.project().join("parts/api");
    let _ = sandbox.piton(["run", "plan.toml"]).within(&parts).run().exits(0);
    let _ = sandbox.piton(["status"]).within(&parts).run().exits(0).says("every task is completed");
    assert_eq!(sandbox.history("main").len(), 3);
}

#[test]
fn a_branch_of_any_name_will_do() {
    for branch in ["trunk", "feature/deep/er", "ünï"] {
        let sandbox = ready();
        sandbox.git(["switch", "-q", "-c", branch]);
        let _ = sandbox.run("run plan.toml").exits(0).says(&format!("landing on {branch}"));
        assert_eq!(sandbox.history(branch).len(), 3);
        assert_eq!(sandbox.history("main").len(), 2);
    }
}

#[test]
fn the_base_branch_need_not_be_checked_out() {
    let sandbox = ready();
    sandbox.git(["switch", "-q", "-c", "other"]);
    sandbox.write("README.md", "dirty");
    let _ = sandbox.run("run plan.toml --base-branch main").exits(0);
    assert_eq!(sandbox.history("main").len(), 3);
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M README.md");
    let _ = sandbox
        .run("run plan.toml --reset --base-branch nowhere")
        .exits(2)
        .says("there is no branch `nowhere`");
}

#[test]
fn a_run_can_land_on_a_branch_of_its_own() {
    let sandbox = ready();
    let _ = sandbox.run("run plan.toml --onto piton/work").exits(0).says("landing on piton/work");
    assert_eq!(sandbox.history("piton/work").len(), 3);
    assert_eq!(sandbox.history("main").len(), 2);
    assert_eq!(sandbox.git(["branch", "--show-current"]), "main");
    assert!(!sandbox.exists("T1.txt"));
    let _ = sandbox.run("run plan.toml --onto elsewhere").exits(2).says("--onto cannot be changed");
}

#[test]
fn a_target_with_a_name_git_would_not_take_is_refused() {
    let sandbox = ready();
    for name in ["a..b", "-x", "a b"] {
        let refused = sandbox.piton(["run", "plan.toml", &format!("--onto={name}")]).run();
        assert!(matches!(refused.code, Some(1 | 2)), "{refused}");
        let _ = refused.says("not a valid name");
    }
    assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn worktrees_inside_the_project_are_kept_out_of_sight() {
    let sandbox = ready();
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n");
    let run = sandbox.piton(["run", "plan.toml", "--worktree-dir", "work/trees"]).spawn();
    sandbox.meet("arrived");
    assert!(sandbox.exists("work/trees/T1/README.md"));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(sandbox.git(["ls-files"]), "README.md\nT1.txt\nplan.toml");
}

#[test]
fn worktrees_inside_another_repository_are_refused() {
    let sandbox = ready();
    let other = sandbox.root().join("other");
    sandbox.write(other.join("file"), "x");
    sandbox.git_in(&other, ["init", "-q"]);
    let refused =
        sandbox.run("run plan.toml --worktree-dir ../other/trees").says("lies inside another repository");
    let _ = refused.exits(1);
    assert!(!other.join("trees").exists());
}

#[test]
fn a_folder_of_somebody_elses_is_not_taken() {
    let sandbox = ready();
    sandbox.write(sandbox.worktrees().join("T1/precious.txt"), "mine");
    let _ = sandbox.run("run plan.toml").exits(4).says("is not empty and not a worktree of this repository");
    assert_eq!(sandbox.read(sandbox.worktrees().join("T1/precious.txt")), "mine");
}

#[test]
fn nobody_told_git_who_they_are() {
    let sandbox = ready();
    std::fs::remove_file(sandbox.root().join("home/.gitconfig")).expect("it is there");
    let _ = sandbox.run("run plan.toml").exits(0);
    let author = sandbox.git(["log", "-1", "--format=%an <%ae>", "main"]);
    assert!(author.to_lowercase().contains("piton"), "{author}");
}

#[test]
fn hooks_that_reject_everything_stop_only_the_agent() {
    let sandbox = ready();
    for hook in [
        "pre-commit",
        "commit-msg",
        "pre-merge-commit",
        "reference-transaction",
        "post-checkout",
        "post-merge",
    ] {
        sandbox.write(format!(".git/hooks/{hook}"), "#!/bin/sh\necho rejected >&2\nexit 1\n");
        let path = sandbox.project().join(".git/hooks").join(hook);
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("our own file");
    }
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("T1.txt"), "done\n");
    // An agent's own commits see the hooks as ever.
    sandbox.script("[T1]\nwrite T1.txt again\ncommit Mine\n");
    let _ = sandbox.run("run plan.toml --reset").exits(4).says("the agent ended with exit status");
}

#[test]
fn submodules_are_left_alone_with_a_word() {
    let sandbox = ready();
    let library = sandbox.root().join("library");
    sandbox.write(library.join("file"), "x");
    sandbox.git_in(&library, ["init", "-q", "-b", "main"]);
    sandbox.git_in(&library, ["add", "-A"]);
    sandbox.git_in(&library, ["commit", "-q", "-m", "Library"]);
    sandbox.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", library.as_str(), "lib"]);
    sandbox.commit("Submodule");
    let _ = sandbox.run("run plan.toml").exits(0).says("this repository has submodules");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(sandbox.read("lib/file"), "x");
    assert!(sandbox.git(["ls-tree", "main", "lib"]).contains("commit"));
}

#[test]
fn a_branch_of_the_same_name_is_somebody_elses() {
    let sandbox = ready();
    sandbox.git(["branch", "worktree-T1", "main^"]);
    let theirs = sandbox.git(["rev-parse", "worktree-T1"]);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["rev-parse", "worktree-T1"]), theirs);
    assert_eq!(sandbox.git(["branch", "--format=%(refname:short)"]), "main\nworktree-T1");
}

#[test]
fn two_runs_with_the_same_ids_do_not_meet() {
    let sandbox = sandbox();
    for plan in ["one", "two"] {
        let text = sandbox.plan_text("", &task("T1", &format!("checks = ['test -s {plan}.txt']")));
        sandbox.write(format!("{plan}.toml"), &text.replace("agents.script", &format!("{plan}.script")));
        let script =
            format!("[T1]\nmeet {0}/{plan}-here\nmeet {0}/{plan}-gate\nwrite {plan}.txt x\n", sandbox.root());
        sandbox.write(sandbox.root().join(format!("{plan}.script")), &script);
        sandbox.fifo(&format!("{plan}-here"));
        sandbox.fifo(&format!("{plan}-gate"));
    }
    sandbox.commit("Plans");
    let mut one = sandbox.piton(["run", "one.toml"]).spawn();
    let mut two = sandbox.piton(["run", "two.toml"]).spawn();
    one.until_at(&sandbox, "one-here");
    two.until_at(&sandbox, "two-here");
    let _ = sandbox.run("status").exits(2).says("several runs are unfinished here: choose one with --run");
    // A task that both have could be either.
    let _ = sandbox.run("why T1").exits(2).says("several runs are unfinished here: choose one with --run");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 3);
    one.until_at(&sandbox, "one-gate");
    two.until_at(&sandbox, "two-gate");
    let _ = one.wait().exits(0);
    let _ = two.wait().exits(0);
    assert_eq!(["one.txt", "two.txt"].map(|file| sandbox.read(file)), ["x\n", "x\n"]);
    assert_eq!(sandbox.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_run_from_inside_a_worktree_finds_the_project() {
    let sandbox = ready();
    sandbox.script("[T1]\nsay nothing\n");
    sandbox.write("plan.toml", &sandbox.read("plan.toml").replace("timeout", "attempts = 1\ntimeout"));
    let _ = sandbox.run("run plan.toml").exits(4);
    let within = sandbox.worktrees().join("T1");
    let _ = sandbox.piton(["status"]).within(&within).run().exits(0).says("T1");
    let _ = sandbox.piton(["retry", "T1"]).within(&within).run().exits(0);
    assert_eq!(status(&sandbox, "T1"), "failed");
}

#[test]
fn without_git_installed_the_error_says_so() {
    let sandbox = ready();
    let bin = sandbox.program("nothing", "exit 0");
    let run = sandbox.piton(["run", "plan.toml"]).env("PATH", bin.as_str()).run();
    shows!(run.exits(1), @r"
    exit: 1
    --- stderr
    error: the program `git` was not found: install git [VERSION] or newer

    hint: see https://git-scm.com/downloads, then the same command again
    hint: Piton uses git to see what changed, even in a project without a repository
    ");
}

#[test]
fn an_old_git_is_refused() {
    let sandbox = ready();
    let bin = sandbox.program("git", "echo git version 2.30.1");
    let _ = sandbox
        .piton(["run", "plan.toml"])
        .with_path(&bin)
        .run()
        .exits(1)
        .says("git 2.30 is too old: Piton needs 2.38 or newer");
}

#[test]
fn a_path_with_spaces_and_umlauts_works() {
    let sandbox = sandbox();
    let place = sandbox.root().join("mein schönes projekt");
    sandbox.git_in(sandbox.root(), ["clone", "-q", "project", place.as_str()]);
    sandbox.write(place.join("plan.toml"), &sandbox.plan_text("", &task("T1", "")));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.piton(["run", "plan.toml"]).within(&place).run().exits(0);
    assert_eq!(sandbox.read(place.join("T1.txt")), "done\n");
}

#[test]
fn line_ends_that_git_converts_make_nothing_dirty() {
    let sandbox = ready();
    sandbox.write(".gitattributes", "*.txt text eol=crlf\n");
    sandbox.write("old.txt", "one\r\ntwo\r\n");
    sandbox.commit("Line ends");
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.read("T1.txt"), "done\r\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}
