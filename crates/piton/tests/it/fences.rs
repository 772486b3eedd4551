//! Agents that go where they should not, and tell what they should not.

use std::fs;

use camino::Utf8Path;
use piton_engine::keeper::{fences_are_possible, scopes_are_possible, views_are_possible};
use piton_testkit::sandbox::{task, until};
use rustix::process::{Pid, Signal, test_kill_process};

use super::*;

const CANARY: &str = "canary-7f3a9c1e5b2d8064";

/// Files below a folder that hold a text.
fn holders(folder: &Utf8Path, text: &str, found: &mut Vec<String>) {
    for entry in folder.read_dir_utf8().expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            holders(path, text, found);
        } else if fs::read(path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.to_string());
        }
    }
}

#[test]
fn a_fenced_agent_commits_and_reports_and_writes_nowhere_else() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let script = sandbox.program(
        "agent",
        r#"
        try() { if sh -c "$1" 2>/dev/null; then echo "ESCAPED: $1"; fi; }
        try 'echo x > ../../../project/README.md'
        try 'echo x > ../../../project/new'
        try 'echo x >> "$COMMON/config"'
        try 'git config --file "$COMMON/config" user.name Mallory'
        try 'echo x > "$COMMON/hooks/pre-commit"'
        for git in "$COMMON" "$COMMON/worktrees/T1"; do
            try "git --git-dir='$git' branch mine"; try "git --git-dir='$git' tag mine"
            try "git --git-dir='$git' update-ref refs/heads/main main~1"; try "git --git-dir='$git' pack-refs --all"
            try "git --git-dir='$git' hash-object -w --stdin < /dev/null"; try "git --git-dir='$git' gc --quiet"
            try "echo x > '$git/new'"; try "echo x > '$git/HEAD'"; try "echo x > '$git/commondir'"; try "mkdir '$git/piton-own.old'"
        done
        try 'rm -rf "$COMMON/refs"'; try 'rm -f "$COMMON/packed-refs"'; try 'echo x > "$COMMON/packed-refs"'; try 'rm -rf "$COMMON/objects"'
        try 'rm -rf "$COMMON"/objects/pack/*'; try 'mv "$COMMON/objects" "$COMMON/gone"'
        for object in "$COMMON"/objects/*/*; do try "rm -f '$object'"; try "echo x > '$object'"; done
        try 'ln "$COMMON/packed-refs" mine && echo x > mine'; rm -f mine
        try 'echo x > "$HOME/.profile"'
        try 'echo x > "$HOME/.codex/config.toml"'
        try 'echo x > "$HOME/.local/share/pnpm/tool"'
        try 'echo x > "$PITON_JOB/outcome.json"'
        try 'ln -s /etc/passwd "$PITON_JOB/output-8388608.log"'
        try 'echo x > ../other'
        if [ -n "$VIEW" ]; then
            for file in ../../../project ../../../project/README.md "$COMMON" "$COMMON/config" "$COMMON/piton" "$PITON_JOB"; do
                try "chmod 755 '$file'"; try "touch '$file'"; try "touch -d 2020-01-01 '$file'"
            done
        fi
        set -e
        git config user.name Agent && git branch mine && git tag mine && git branch -f other HEAD
        echo work > a.txt && chmod 755 a.txt && touch -d 2020-01-01 a.txt && ln a.txt b && rm b && git add -A && git commit -q -m 'By the agent'
        git config core.fsync | grep -q committed
        echo temporary > "${TMPDIR:-/tmp}/t" && rm "${TMPDIR:-/tmp}/t"
        "$PITON" orient T1 > /dev/null
        "$PITON" report T1 done --note 'from inside'
        echo more > b.txt
        "#,
    );
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"{script}/agent\"]\nenv = {{ COMMON = \"{}\", PITON = \"{}\", VIEW = \"{}\" }}\n\
         [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\", \"test -s b.txt\"]\n",
        sandbox.project().join(".git"),
        env!("CARGO_BIN_EXE_piton"),
        if views_are_possible().is_ok() { "yes" } else { "" },
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    for folder in [".codex", ".local/share/pnpm"] {
        fs::create_dir_all(sandbox.root().join("home").join(folder)).expect("a new folder");
    }
    // Packed and loose, both.
    sandbox.git(["branch", "other", "HEAD~1"]);
    sandbox.git(["gc", "--quiet"]);
    sandbox.git(["branch", "loose"]);
    sandbox.write("later.txt", "later\n");
    sandbox.commit("Later");
    let held = |sandbox: &Sandbox| {
        let names = ["refs/heads/other", "refs/heads/loose", "refs/heads/mine"];
        let refs = sandbox.git(["for-each-ref", "refs/tags", names[0], names[1], names[2]]);
        (sandbox.git(["config", "--list", "--local"]), refs)
    };
    let before = held(&sandbox);
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run();
    let output = sandbox.run("output T1 --plan plan.toml").stdout;
    assert!(run.code == Some(0) && !output.contains("ESCAPED"), "{output}{}", run.stderr);
    assert_eq!(sandbox.read("README.md"), "A project\n");
    assert_eq!(before, held(&sandbox));
    sandbox.git(["fsck", "--full", "--strict", "--no-dangling"]);
    let log = sandbox.git(["log", "--format=%s %an", "main"]);
    assert!(log.contains("By the agent Agent") && log.contains("Later"), "{log}");
    assert!(sandbox.events().iter().any(|event| event.contains("from inside")));
    assert!(sandbox.events().iter().all(|event| !event.contains("was running")), "nothing to tell");
}

/// What people do with git in a checkout works, the work is captured wherever it ended, and what was put aside is kept.
#[test]
fn git_works_behind_a_fence_as_people_use_it() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let script = sandbox.program(
        "agent",
        r#"
        set -e
        test -z "$(git stash list)"
        echo one > a.txt; git add a.txt; git stash -q; test ! -e a.txt; git stash pop -q; test -e a.txt
        git commit -q -m One 2> "$TMPDIR/said"; cat "$TMPDIR/said"; test ! -s "$TMPDIR/said"
        git checkout -q -b mine; echo two > b.txt; git add -A; git commit -q -m Two
        git bisect start HEAD HEAD~2 > /dev/null; git bisect reset > /dev/null 2>&1
        git rebase -q --force-rebase HEAD~2; git checkout -q -b side HEAD~1; git cherry-pick mine > /dev/null
        echo lost > lost.txt; git add -A; git commit -q -m Lost; git reset -q --hard HEAD~1
        echo aside > aside.txt; git add -A; git stash -q
        git worktree list > /dev/null; git fsck --strict > /dev/null 2>&1; git gc --quiet
        echo three > c.txt
        "#,
    );
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"{script}/agent\"]\n\
         [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\", \"test -s b.txt\", \"test -s c.txt\"]\n"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    sandbox.write("mine.txt", "my own\n");
    sandbox.git(["stash", "--include-untracked"]);
    let _ = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run().exits(0);
    let log = sandbox.git(["log", "--format=%s", "main"]);
    assert!(log.contains("One") && log.contains("Two") && !log.contains("Lost"), "{log}");
    assert_eq!(sandbox.git(["stash", "list"]).lines().count(), 1, "the person's");
    assert!(!sandbox.exists("aside.txt") && !sandbox.exists("lost.txt"));
    let rescued = sandbox.git(["log", "--format=", "-m", "--name-only", "--glob=refs/piton/rescue"]);
    assert!(rescued.contains("aside.txt") && rescued.contains("lost.txt"), "{rescued}");
    sandbox.git(["fsck", "--full", "--strict", "--no-dangling"]);
}

/// A person looks at everything and collects garbage while an agent is at work.
#[test]
fn a_persons_git_works_beside_a_fenced_agent() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let gate = sandbox.fifo("gate");
    let script = sandbox.program(
        "agent",
        "set -e; echo one > a.txt; git add -A; git commit -q -m One; echo two > b.txt; git add b.txt\n\
         read go < \"$SIDE/gate\" || true\n\
         git log -1 --format=%s | grep -q One; git show HEAD:README.md > c.txt; git commit -q -m Two",
    );
    sandbox.plan(&task("T1", "checks = ['test -s a.txt', 'test -s b.txt', 'test -s c.txt']"));
    let plan = sandbox.read("plan.toml");
    let agent = format!("command = [\"{script}/agent\"]\nenv = {{ SIDE = \"{}\" }}", sandbox.root());
    let own = plan.lines().find(|line| line.starts_with("command = ")).expect("an agent");
    sandbox.write("plan.toml", &plan.replacen(own, &agent, 1));
    sandbox.commit("Another agent");
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).spawn();
    // Opening it waits until the agent is there, and it goes on when this is closed.
    let open = fs::File::options().write(true).open(&gate).expect("a FIFO");
    let list = sandbox.git(["worktree", "list"]);
    assert!(list.contains("/.slot-0 ") && !list.contains("prunable"), "{list}");
    // What the attempt began at is reachable by nothing but its worktree.
    sandbox.git(["commit", "--quiet", "--amend", "--message", "Amended"]);
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    sandbox.git(["worktree", "prune"]);
    sandbox.git(["fsck", "--full", "--strict", "--no-dangling"]);
    let _ = sandbox.run("diff T1 --plan plan.toml").exits(0).says("a.txt").says("b.txt");
    drop(open);
    let run = run.wait();
    sandbox.git(["fsck", "--full", "--strict", "--no-dangling"]);
    let log = sandbox.git(["log", "--topo-order", "--format=%s", "main"]);
    assert!(log.contains("\nTwo\nOne\n"), "{log}{run}");
}

#[test]
fn a_fenced_agent_that_damages_its_own_git_directory_loses_its_commits_and_not_its_files() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let damage = "set -e; echo work > a.txt; git add -A; git commit -q -m One; rm -rf \"$(git rev-parse --git-dir)/objects\"";
    let script = sandbox.program("agent", damage);
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"{script}/agent\"]\n\
         [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\"]\n"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run().exits(0);
    let _ = run.says("The commits of this attempt could not be taken over");
    assert_eq!(sandbox.read("a.txt"), "work\n");
    sandbox.git(["fsck", "--full", "--strict", "--no-dangling"]);
}

/// What a person should know who uses git in there: Piton itself never does.
#[test]
fn git_that_a_person_runs_in_a_worktree_runs_what_was_planted_only_during_the_attempt() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    let gate = sandbox.fifo("gate");
    let evil = sandbox.program("evil", &format!("echo run >> {}/mark; cat", sandbox.root())).join("evil");
    let script = sandbox.program(
        "agent",
        &format!(
            "set -e; git config filter.e.clean {evil}; echo '* filter=e' > .gitattributes; echo work > a.txt\n\
             read go < {gate} || true; exit 1"
        ),
    );
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"{script}/agent\"]\n\
         [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nattempts = 1\nchecks = [\"true\"]\n"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let (place, mark) = (sandbox.root().join(".worktrees/project/T1"), sandbox.root().join("mark"));
    let add = || sandbox.git(["-C", place.as_str(), "add", "--dry-run", "--renormalize", "."]);
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).spawn();
    let open = fs::File::options().write(true).open(&gate).expect("a FIFO");
    let _ = sandbox.run("diff T1 --plan plan.toml").exits(0).says("a.txt");
    assert!(!mark.exists(), "Piton does not");
    add();
    assert!(mark.exists(), "git does, with what it finds there");
    fs::remove_file(&mark).expect("our own file");
    drop(open);
    let _ = run.wait().exits(4);
    add();
    assert!(!mark.exists(), "the attempt's settings have gone with it");
}

#[test]
fn what_an_unfenced_agent_touches_outside_is_told_and_what_is_pitons_is_put_back() {
    let sandbox = sandbox();
    sandbox.script(
        "[T1 1]\nwrite a.txt one\ncommit First\nrun git branch mine\nrun git config user.name Mallory\n\
         write SIDE/project/stray.txt x\nrun git -C SIDE/project checkout -q README.md\n\
         run rm SIDE/project/notes.txt\nappend SIDE/project/draft.txt more\n\
         [T1 2]\nrun sh SIDE/forge.sh\nwrite a.txt two\n",
    );
    // Whatever the run is called: each of its pins of this task, and the branch.
    sandbox.write(
        sandbox.root().join("forge.sh"),
        "git for-each-ref --format='%(refname)' 'refs/piton/**/T1' | while read ref; do git update-ref -d $ref; done\n\
         git branch -D worktree-T1\n\
         common=$(git rev-parse --git-common-dir)\n\
         echo /nowhere > $(git rev-parse --git-dir)/commondir\n\
         echo \"in $common\"\n",
    );
    sandbox
        .plan("[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"grep -q two a.txt\"]\n");
    sandbox.write("README.md", "My work\n");
    for mine in ["notes.txt", "draft.txt", "other.txt"] {
        sandbox.write(mine, "mine\n");
    }
    let _ = sandbox.run("run plan.toml").exits(0).says("README.md was restored in the main checkout");
    let notes: Vec<String> =
        sandbox.events().into_iter().filter(|event| event.contains("was running")).collect();
    let [first, second] = &notes[..] else { panic!("{notes:#?}") };
    for told in [
        "refs/heads/mine was made at",
        "git's config was changed",
        "stray.txt was changed in the main checkout",
        "draft.txt was changed in the main checkout",
        "notes.txt was removed from the main checkout",
        "README.md was restored in the main checkout to what is committed",
    ] {
        assert!(first.contains(told), "{told}: {first}");
    }
    assert!(!first.contains("other.txt"), "nobody touched it: {first}");
    assert!(
        notes.iter().all(|note| !note.contains("attributes of")),
        "what was written is no more than that: {notes:#?}"
    );
    assert!(
        second.contains("restored it: commondir of the worktree; refs/heads/worktree-T1; refs/piton/plan-"),
        "{second}"
    );
    assert!(sandbox.exists("stray.txt"), "what may be a person's stays");
}

/// A landing writes the files of the main checkout before it moves the branch. An agent that ends in between did not
/// write them.
#[test]
fn what_a_landing_writes_is_not_taken_for_the_work_of_an_agent() {
    let sandbox = sandbox();
    sandbox.fifo("agent");
    sandbox.write("old.txt", "x");
    sandbox.commit("Before");
    sandbox.script(
        "[A]\nwrite a.txt x\nappend README.md more\nrun rm old.txt\n\
         [B]\nmeet SIDE/agent\nwrite b.txt x\nwrite SIDE/project/stray.txt x\n",
    );
    sandbox.plan(&(task("A", "checks = ['test -s a.txt']") + &task("B", "checks = ['test -s b.txt']")));
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "off", "--max-parallel", "2"]);
    let mut run = run.pausing_at(&sandbox, "landing.files", 1).spawn();
    // The files are there, the branch is where it was, and now the agent of B ends.
    until("the files of a landing", || sandbox.exists("a.txt").then_some(()));
    run.until_at(&sandbox, "agent");
    let seen = || sandbox.events().into_iter().find(|event| event.contains("was running"));
    let note = until("a note", seen);
    drop(run.until_paused(&sandbox));
    let run = run.wait().exits(0);
    assert!(note.contains("stray.txt was changed in the main checkout"), "{note}");
    for file in ["a.txt", "README.md", "old.txt"] {
        assert!(!note.contains(file), "{file}: {note}\n{run}");
    }
}

#[test]
fn where_a_plan_opens_the_fence_the_main_checkout_is_looked_at_all_the_same() {
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = sandbox();
    sandbox.script("[T1]\nwrite a.txt x\nwrite SIDE/project/draft.txt lost\n");
    sandbox.plan("[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\"]\n");
    let open = format!("[sandbox]\nwritable = [\"{}\"]\n", sandbox.project());
    sandbox.write("piton.toml", &open);
    sandbox.commit("Open the checkout");
    sandbox.write("draft.txt", "mine\n");
    let run = sandbox.piton(["run", "plan.toml", "--sandbox", "on"]).run().exits(0);
    let _ = run.says("draft.txt was changed in the main checkout");
}

/// Where there is no read-only view, nothing holds these back: they are reported, and what is Piton's own is put back.
#[test]
fn without_a_view_modes_times_and_attributes_of_a_persons_files_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let script = sandbox.program(
        "agent",
        "echo work > a.txt; chmod 640 ../../../project/README.md; touch -d '2020-01-01' ../../../project/plan.toml\n\
         chmod 755 ../../../project/.git/piton\n",
    );
    sandbox.script(&format!("[T1]\nrun {script}/agent\n"));
    sandbox.write("quiet.txt", "nobody touches it\n");
    sandbox.plan("[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\"]\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    let readme = fs::File::options().write(true).open(sandbox.project().join("README.md")).expect("a file");
    readme.set_modified(long_ago).expect("our own file");
    let run = sandbox.piton(["run", "plan.toml"]).env("PITON_SANDBOX", "auto").env("PITON_VIEW", "off").run();
    let _ = run
        .exits(0)
        .says("the mode, times or attributes of README.md were changed")
        .says("the mode, times or attributes of plan.toml were changed")
        .says("restored it: the mode of ")
        .lacks("quiet.txt")
        .lacks("of a.txt were changed");
    let home = fs::metadata(sandbox.project().join(".git/piton")).expect("a folder");
    assert_eq!(home.permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_doctor_says_whether_there_is_a_fence_and_not_only_whether_there_could_be() {
    let sandbox = sandbox();
    let doctor = |mode: &str| sandbox.piton(["doctor"]).env("PITON_SANDBOX", mode).run().exits(0);
    let _ = doctor("off").says("agents can write whatever you can").lacks("agents cannot write outside");
    if let Err(why) = fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let fence = doctor("").says("agents cannot write outside of their worktree (Landlock");
    let fence = match scopes_are_possible() {
        Ok(()) => fence.says("agents cannot signal your processes or connect to their abstract sockets"),
        Err(why) => fence.says(&format!("connect to their abstract sockets: {why}")),
    };
    let open = "agents can change modes, times and attributes of files outside";
    let _ = match views_are_possible() {
        Ok(()) => fence.says("(Landlock and a read-only view)").lacks(open),
        Err(why) => fence.says(&format!("{open}: {why}")),
    };
    let without = sandbox.piton(["doctor"]).env("PITON_SANDBOX", "").env("PITON_VIEW", "off").run().exits(0);
    let _ = without.says(&format!("{open}: PITON_VIEW says so"));
    sandbox.write("piton.toml", "[sandbox]\nmode = \"off\"\n");
    let _ = doctor("").says("agents can write whatever you can: [sandbox] in piton.toml says so");
    let _ = doctor("on").says("agents cannot write outside of their worktree");
}

#[test]
fn a_client_that_is_tried_out_leaves_nothing_behind_when_piton_is_ended() {
    let sandbox = sandbox();
    let bin = sandbox.program("slow", "echo $$ > \"$SIDE/pid\"; echo x > \"$SIDE/up\"; exec sleep 100");
    sandbox.fifo("up");
    let temporary = sandbox.root().join("tmp");
    fs::create_dir(&temporary).expect("a new folder");
    let env = format!("env = {{ SIDE = \"{}\", API_TOKEN = \"{CANARY}\" }}", sandbox.root());
    sandbox.write("piton.toml", &format!("[agents.slow]\ncommand = [\"{bin}/slow\"]\n{env}\n"));
    let test = sandbox.piton(["agents", "test", "slow"]).env("TMPDIR", &temporary).spawn();
    // Opening it waits for the client.
    assert_eq!(sandbox.read(sandbox.root().join("up")), "x\n");
    let mut found = Vec::new();
    holders(&temporary, CANARY, &mut found);
    assert!(found.is_empty(), "the key is in {found:?}");
    test.signal(Signal::TERM);
    let _ = test.wait().exits(3).says("slow was stopped before it answered");
    let pid: i32 = sandbox.read(sandbox.root().join("pid")).trim().parse().expect("a pid");
    let alive = test_kill_process(Pid::from_raw(pid).expect("a pid"));
    assert!(alive.is_err(), "the client lives on");
    let left: Vec<_> = temporary.read_dir_utf8().expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn no_file_of_pitons_holds_a_secret() {
    let sandbox = sandbox();
    let key = format!("ghp_{}", "Zx9".repeat(12));
    sandbox.script(&format!(
        "[T1 1]\nsay the key is {CANARY} and {key}\nwrite a.txt {CANARY}\ncommit Use {CANARY}\n\
         run {binary} report T1 failed --reason {CANARY} --feedback use-{CANARY}\nexit 1\n\
         [T1 2]\nsay {CANARY}\nrun sh SIDE/tell.sh\nsignal FAILED:{CANARY}\n\
         [T1 3]\nwrite a.txt fine\ncommit Without {CANARY}\n",
        binary = env!("CARGO_BIN_EXE_piton"),
    ));
    sandbox.write(
        sandbox.root().join("tell.sh"),
        &format!("echo '{{\"said\":{{\"failed\":{{\"reason\":\"{CANARY}\"}}}},\"report\":{{\"note\":\"{CANARY}\"}}}}' >> \"$PITON_OUTBOX\"\n"),
    );
    sandbox.plan(
        "[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"sh -c 'echo $DEPLOY_TOKEN; grep -q fine a.txt'\"]\n",
    );
    // A known client works and reviews, and prints all it has: where a database is, settings, headers, what lets it in.
    let [url, member, header, kept] =
        ["url", "member", "header", "kept"].map(|of| format!("{of}-3e9d1c7b5a2f"));
    let tells = format!("I found {url}, {member}, {header} and {kept}.");
    let bin = sandbox.program(
        "claude",
        &format!(
            "cat > /dev/null; test -s a2.txt || echo work > a2.txt\ncat <<'END'\n{tells}\n\
             {{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}}\n\
             {{\"type\":\"assistant\",\"message\":{{\"id\":\"a\",\"content\":[{{\"type\":\"text\",\"text\":\"{tells}\\n\\nFINDINGS: none\"}}]}}}}\n\
             {{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{tells}\\n\\nFINDINGS: none\"}}\nEND"
        ),
    );
    let home = sandbox.root().join("home");
    sandbox.write(
        home.join(".claude/.credentials.json"),
        &format!("{{\"claudeAiOauth\": {{\"accessToken\": \"{kept}\", \"expiresAt\": 1}}}}"),
    );
    let client = format!(
        "[agents.client]\nadapter = \"claude\"\nprogram = \"{bin}/claude\"\n\
         [agents.client.env]\nDATABASE_URL = \"postgres://app:{url}@db/app\"\nANTHROPIC_CUSTOM_HEADERS = \"X-Own: {header}\"\n\
         OPENCODE_CONFIG_CONTENT = '{{\"provider\": {{\"options\": {{\"apiKey\": \"{member}\"}}}}}}'\n\n[policy]"
    );
    let plan = sandbox.read("plan.toml");
    let own = format!("env = {{ AGENT_SECRET = \"{CANARY}-agents\" }}\n\n{client}");
    let second = "[[task]]\nid = \"T2\"\ntitle = \"Two\"\nprompt = \"p\"\nagent = \"client\"\nchecks = [{ review = \"client\" }]\n";
    sandbox.write("plan.toml", &(plan.replacen("\n[policy]", &own, 1) + second));
    sandbox.commit("Give the agents secrets");
    let temporary = sandbox.root().join("tmp");
    fs::create_dir(&temporary).expect("a new folder");
    let run = sandbox.piton(["run", "plan.toml"]).env("DEPLOY_TOKEN", CANARY).env("TMPDIR", &temporary);
    let _ = run.run().exits(0);
    let _ = sandbox.piton(["journal", "add", CANARY]).env("DEPLOY_TOKEN", CANARY).run();
    fs::remove_file(home.join(".claude/.credentials.json")).expect("the one place where it may be");
    for secret in [CANARY, &key, &format!("{CANARY}-agents"), &url, &member, &header, &kept] {
        let mut found = Vec::new();
        for folder in [&sandbox.own(), &home, &temporary] {
            holders(folder, secret, &mut found);
        }
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
    assert!(sandbox.run("log --plan plan.toml").stdout.contains("[redacted]"));
    let _ = sandbox
        .run("output T2 --plan plan.toml")
        .says("I found [redacted], [redacted], [redacted] and [redacted].");
}

#[test]
fn a_change_of_what_judges_work_is_a_verdict_of_its_own() {
    let sandbox = sandbox();
    sandbox.script("[T1]\nwrite a.txt x\nwrite .github/workflows/ci.yml true\nwrite tests/a.sh true\n[T2]\nwrite tests/b.sh x\n");
    let tasks = "[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\"]\n\
                 [[task]]\nid = \"T2\"\ntitle = \"Two\"\nprompt = \"p\"\nfiles = [\"tests/b.sh\"]\nchecks = []\n";
    sandbox.plan_with("protected = [\"tests/**\"]", tasks);
    let _ = sandbox.run("run plan.toml").exits(0);
    let log = sandbox.run("log --plan plan.toml").stdout;
    assert!(log.contains("protected files: the work changes .github/workflows/ci.yml; tests/a.sh"), "{log}");
    assert!(!log.contains("tests/b.sh"), "a file that the task names is its own: {log}");

    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.script("[T1]\nwrite a.txt x\nwrite Jenkinsfile x\n[T1 2]\nif-feedback remove Jenkinsfile\n");
    sandbox.plan_with(
        "protect = \"block\"",
        "[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nchecks = [\"test -s a.txt\"]\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0);
    let log = sandbox.run("log --plan plan.toml").stdout;
    assert!(log.contains("check `protected files` found problems (the work changes Jenkinsfile)"), "{log}");
    assert!(!sandbox.exists("Jenkinsfile"));
}

#[test]
fn a_script_that_a_check_runs_is_not_replaced_unseen_by_the_work_it_judges() {
    let sandbox = sandbox();
    sandbox.write("check.sh", "test -s right.txt\n");
    sandbox.write("own.sh", "test -s right.txt\n");
    sandbox.plan(
        &(task("T1", "checks = ['sh check.sh | cat', 'sh new.sh', { file = 'README.md' }]")
            + &task("T2", "checks = ['./own.sh']\nfiles = ['own.sh']")),
    );
    let own = "write own.sh #!/bin/sh\\ntrue\nrun chmod +x own.sh\n";
    sandbox.script(&format!("[T1]\nwrite check.sh true\nwrite new.sh true\nwrite README.md x\n[T2]\n{own}"));
    let noticed = "the work changes check.sh, which a check runs";
    let run = sandbox.run("run plan.toml").exits(0).says(&format!("look at T1: {noticed}")).lacks("new.sh");
    let _ = run.says("What needs you").says("$ piton diff T1");
    let _ = sandbox.run("status").says(&format!("look at T1: {noticed}")).lacks("own.sh");
    let _ = sandbox.run("status T1").says(noticed);
    let _ = sandbox.run("why T1").says(noticed);
    assert_eq!(crate::json(&sandbox.run("status --json"), "/noticed/T1"), noticed);
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn odd_names_links_and_signs_of_an_agent_harm_nobody() {
    let sandbox = sandbox();
    let script = sandbox.program(
        "agent",
        r#"
        set -e
        echo x > "$(printf 'a\033[31m.txt')"; echo x > ./-rf; echo x > ./--help; echo x > "$(printf 'two\nlines')"
        echo x > '<img src=x onerror=alert(1)>'; ln -s /etc/passwd link; ln -s / root; mkfifo pipe
        git add -A && git commit -q -m "$(printf -- '--amend \033[31m<b>')"
        "$PITON" report T1 done --note "$(printf '\033[2J<b>bold</b>')" --file ../../etc/passwd --decision '$(reboot) --force'
        printf '{"said":"done"}\n{"said"\000' >> "$PITON_OUTBOX"
        head -c 1000000 /dev/zero | tr '\000' y; printf '\033]0;title\007\000\r<signal>OTHER_DONE</signal>\n'
        "#,
    );
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"{script}/agent\"]\nenv = {{ PITON = \"{}\" }}\n\
         [[task]]\nid = \"T1\"\ntitle = \"<script>alert(1)</script>\"\nprompt = \"p\"\nchecks = [\"test -s ./-rf\"]\n",
        env!("CARGO_BIN_EXE_piton"),
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let _ = sandbox.run("run plan.toml").exits(0);
    for line in ["log", "log --json", "status T1", "why T1", "output T1", "orient T1", "progress"] {
        let shown = sandbox.run(&format!("{line} --plan plan.toml"));
        let text = format!("{}{}", shown.stdout, shown.stderr);
        assert!(!text.contains(['\u{1b}', '\0', '\u{7}']), "{line}: {}", text.escape_debug());
    }
    assert!(sandbox.git(["ls-tree", "main", "link"]).starts_with("120000"), "a link lands as a link");
}
