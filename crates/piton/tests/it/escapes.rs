//! Ways out of the fence by git: an agent plants something in its worktree that git outside of the fence would run.
//! `crates/engine/tests/git/planted.rs` has the ways one by one; here a real agent plants them behind a real fence.

use std::fs;

use piton_engine::keeper::fences_are_possible;
use piton_testkit::sandbox::Sandbox;

use super::*;

/// A plan with one task, whose agent is this script.
fn plan(sandbox: &Sandbox, script: &str, checks: &str) {
    let programs = sandbox.program("agent", script);
    sandbox.write(
        "plan.toml",
        &format!(
            "name = \"plan\"\n[agents.default]\ncommand = [\"{programs}/agent\"]\nenv = {{ SIDE = \"{}\" }}\n\
             [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [{checks}]\n",
            sandbox.root()
        ),
    );
    sandbox.commit("Plan");
}

#[test]
fn nothing_that_a_fenced_agent_plants_in_its_worktree_is_run_outside_of_the_fence() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    sandbox.git(["config", "extensions.worktreeConfig", "true"]);
    let gate = sandbox.fifo("gate");
    // What it runs leaves a mark outside, which no process behind the fence can do.
    let programs = sandbox.program("evil", &format!("echo \"$0 $*\" >> {}/escaped; cat", sandbox.root()));
    let evil = programs.join("evil");
    let script = format!(
        r#"
        set -e
        own=$(git rev-parse --absolute-git-dir); common=$(git rev-parse --git-common-dir)
        echo work > a.txt; echo '* filter=e diff=e' > .gitattributes
        for key in filter.e.clean filter.e.smudge diff.e.textconv diff.e.command core.fsmonitor; do
            git config --worktree $key {evil}
        done
        fake="${{TMPDIR:-/tmp}}/fake-$$"; git clone -q --bare "$common" "$fake"
        git --git-dir="$fake" config filter.e.clean {evil}; git --git-dir="$fake" config core.fsmonitor {evil}
        echo "$fake" > "$own/commondir"; ln -sf "$SIDE/home/.profile" "$own/COMMIT_EDITMSG"
        read go < "$SIDE/gate" || true
        rm -rf "$fake"
        "#
    );
    plan(&sandbox, &script, "\"test -s a.txt\"");
    sandbox.write(sandbox.root().join("home/.profile"), "mine\n");
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).spawn();
    // Opening it waits until the agent is there: all is planted, and it is still at work.
    let open = fs::File::options().write(true).open(&gate).expect("a FIFO");
    let _ = sandbox.run("diff T1 --plan plan.toml").exits(0).says("a.txt");
    let _ = sandbox.run("status --plan plan.toml").exits(0);
    let _ = sandbox.run("orient T1 --plan plan.toml");
    assert!(!sandbox.root().join("escaped").exists(), "a person looked at it");
    drop(open);
    let run = run.wait().exits(0);
    let escaped = fs::read_to_string(sandbox.root().join("escaped")).unwrap_or_default();
    assert_eq!(escaped, "", "{run}");
    assert_eq!(sandbox.read(sandbox.root().join("home/.profile")), "mine\n");
    assert!(sandbox.git(["log", "--format=%s", "main"]).contains("One"), "its work has landed");
}

/// Filters such as git-lfs keep what they take out of a file in the git directory.
#[test]
fn an_agents_commit_works_in_a_repository_with_a_filter_like_that_of_lfs() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    // As git-lfs does it: by their SHA-256, in the git directory, and those of others by the alternates.
    let programs = sandbox.program(
        "clean",
        "set -e; t=$(mktemp); cat > $t; id=$(sha256sum < $t | cut -c1-64)\n\
         store=$(git rev-parse --git-common-dir)/lfs/objects/$(echo $id | sed 's,\\(..\\)\\(..\\).*,\\1/\\2,')\n\
         mkdir -p $store; mv $t $store/$id; echo \"pointer $id\"",
    );
    let shared = sandbox.project().join(".git");
    sandbox.program(
        "smudge",
        &format!(
            "read word id; for all in $(git rev-parse --git-common-dir) {shared}; do\n\
             file=$all/lfs/objects/$(echo $id | sed 's,\\(..\\)\\(..\\).*,\\1/\\2,')/$id\n\
             test ! -f $file || exec cat $file; done; exit 1"
        ),
    );
    for (key, value) in [("clean", "clean"), ("smudge", "smudge")] {
        sandbox.git(["config", &format!("filter.lfs.{key}"), programs.join(value).as_str()]);
    }
    sandbox.git(["config", "filter.lfs.required", "true"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs\n");
    let agent = "set -e\necho 'by the agent' > one.bin; git add one.bin; git commit -q -m 'By the agent'\n\
                 echo 'by Piton' > two.bin\n";
    plan(&sandbox, agent, "\"grep -q agent one.bin\", \"grep -q Piton two.bin\"");
    let _ = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run().exits(0);
    for file in ["main:one.bin", "main:two.bin"] {
        assert!(sandbox.git(["show", file]).starts_with("pointer "), "{file}");
    }
    assert_eq!(sandbox.read("two.bin"), "by Piton\n", "it was landed in the checkout");
}

/// The real one: an agent uses the project's files, adds files of its own, and cannot damage the project's.
#[test]
fn an_agent_works_with_the_real_git_lfs_and_cannot_damage_the_projects_files() {
    git_lfs_behind_the_fence(None);
}

/// `lfs.storage` is absolute, or in the git directory.
#[test]
fn an_agent_works_with_the_real_git_lfs_where_its_files_have_a_place_of_their_own() {
    git_lfs_behind_the_fence(Some("large"));
    git_lfs_behind_the_fence(Some("../../large files"));
    git_lfs_behind_the_fence(Some("ROOT/large"));
}

fn git_lfs_behind_the_fence(storage: Option<&str>) {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let version = std::process::Command::new("git-lfs").arg("version").output();
    if !version.is_ok_and(|version| version.status.success()) {
        return piton_testkit::skipped("git-lfs: it is not installed");
    }
    let storage = storage.map(|storage| storage.replace("ROOT", sandbox.root().as_str()));
    if let Some(storage) = &storage {
        sandbox.git(["config", "lfs.storage", storage]);
    }
    sandbox.git(["lfs", "install", "--local"]);
    sandbox.git(["lfs", "track", "*.bin"]);
    sandbox.write("old.bin", "the person's\n");
    sandbox.commit("A large file");
    let lfs = sandbox.project().join(".git").join(storage.as_deref().unwrap_or("lfs"));
    assert!(lfs.join("objects").is_dir(), "{lfs}");
    let agent = format!(
        "set -e\ngrep -q person old.bin; rm old.bin; git checkout -q old.bin; grep -q person old.bin\n\
         echo 'a draft' > one.bin; git add one.bin; git commit -q -m 'A draft'\n\
         echo 'by the agent' > one.bin; git add one.bin; git commit -q -m 'By the agent'\n\
         echo 'by Piton' > two.bin\n\
         test -z \"$(find $(git rev-parse --git-dir)/lfs -type f -links +1)\"\n\
         find '{lfs}' -type f | while read file; do (echo damaged > \"$file\") || true; rm -f \"$file\" || true; done\n\
         touch '{lfs}/mine' || true\n"
    );
    plan(
        &sandbox,
        &agent,
        "\"grep -q agent one.bin\", \"grep -q Piton two.bin\", \"grep -q person old.bin\"",
    );
    let _ = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run().exits(0);
    for file in ["main:one.bin", "main:two.bin", "main:old.bin"] {
        assert!(sandbox.git(["show", file]).starts_with("version https://git-lfs"), "{file}");
    }
    assert_eq!(sandbox.read("two.bin"), "by Piton\n", "it was landed in the checkout");
    let fsck = sandbox.git(["lfs", "fsck"]);
    assert!(fsck.contains("OK"), "{fsck}");
    // The draft was in no worktree when the attempt ended: only the agent's git-lfs had it.
    let commits = sandbox.git(["log", "--format=%H", "main", "--", "one.bin"]);
    assert_eq!(commits.lines().count(), 2, "{commits}");
    for commit in commits.lines() {
        let pointer = sandbox.git(["show", &format!("{commit}:one.bin")]);
        let id = pointer.lines().find_map(|line| line.strip_prefix("oid sha256:")).expect("it is a pointer");
        let object = lfs.join("objects").join(&id[..2]).join(&id[2..4]).join(id);
        assert!(object.is_file(), "{object}");
    }
    assert!(!lfs.join("mine").exists());
    // A clone that has nothing but the repository's files gets all of them.
    sandbox.git(["lfs", "checkout"]);
    assert_eq!(["one.bin", "old.bin"].map(|file| sandbox.read(file)), ["by the agent\n", "the person's\n"]);
}

/// The key, or the agent that holds it, is not to be reached from behind a fence.
#[test]
fn an_agents_commit_works_where_the_person_signs_theirs() {
    let sandbox = sandbox();
    sandbox.script("[T1]\nwrite a.txt x\ncommit By the agent\nwrite b.txt x\n");
    sandbox.plan("[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s b.txt\"]\n");
    sandbox.git(["config", "commit.gpgSign", "true"]);
    sandbox.git(["config", "tag.gpgSign", "true"]);
    sandbox.git(["config", "gpg.program", "/bin/false"]);
    // Then Piton does not sign either: no person is here to unlock the key.
    sandbox.git(["config", "piton.sign", "false"]);
    let _ = sandbox.run("run plan.toml").exits(0);
    assert!(sandbox.git(["log", "--format=%s", "main"]).contains("By the agent"));
}
