//! `piton clean` or one of its git processes is killed: what only a worktree had is kept, and the next `clean` finishes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use piton_testkit::cases::{in_parallel, told};

use crate::points::{Mode, Place, killed_at, passes};
use crate::sandbox::Sandbox;
use crate::syscalls::cases;

/// Named as in the reference plan, so that points have the same names.
const PLAN: &str = r#"
[agents.default]
command = ["sh", "-c", 'exec "$HOME/piton" scripted-agent "$HOME/agents.script"']

[defaults]
attempts = 1

[[task]]
id = "L1-001"
title = "Never right"
prompt = "Write one.txt."
checks = ["test -e never.txt"]

[[task]]
id = "L1-002"
title = "Never right either"
prompt = "Write two.txt."
checks = ["test -e never.txt"]
"#;

/// One commits and takes that back, so that only a reflog has it. Both leave work that lands nowhere.
const SCRIPT: &str = "
[L1-001]
write taken-back.txt Once
run git add taken-back.txt
run git commit --quiet -m Once
run git reset --quiet --hard HEAD~1
write one.txt One
[L1-002]
write two.txt Two
";

const CLEAN: [&str; 2] = ["clean", "--unfinished"];

/// With two worktrees that hold work of tasks that failed.
fn unfinished() -> Sandbox {
    let sandbox = Sandbox::new("reference.toml", SCRIPT, &[("a.txt", "a\n"), ("reference.toml", PLAN)]);
    sandbox.run().expect(4);
    sandbox
}

/// All work can be reached from a ref, and nothing else is left.
#[track_caller]
fn assert_cleaned(sandbox: &Sandbox) {
    let kept = sandbox.git(&["rev-list", "--objects", "--all"]);
    for file in ["one.txt", "two.txt", "taken-back.txt"] {
        assert!(kept.lines().any(|line| line.ends_with(&format!(" {file}"))), "{file} is lost");
    }
    let is_kept =
        |left: &String| left.starts_with("refs/piton/rescue/") || left.starts_with("refs/heads/worktree-");
    let left: Vec<String> = sandbox.leftovers().into_iter().filter(|left| !is_kept(left)).collect();
    assert_eq!(left, Vec::<String>::new());
    sandbox.piton(&["doctor"]).expect(0);
}

fn crash_free() -> &'static BTreeMap<String, usize> {
    static PASSES: OnceLock<BTreeMap<String, usize>> = OnceLock::new();
    PASSES.get_or_init(|| {
        let sandbox = unfinished();
        let (ended, passes) = passes(&sandbox, &CLEAN);
        ended.expect(0);
        assert_cleaned(&sandbox);
        passes
    })
}

/// `PITON_CRASH_SYSCALLS` says how many, as for runs.
#[test]
fn a_clean_that_is_killed_loses_nothing_and_the_next_one_finishes() {
    let cases = cases(crash_free());
    let runs = in_parallel(&cases, |(kind, nth, mode)| {
        let sandbox = unfinished();
        let (ended, reached) = killed_at(&sandbox, &CLEAN, &Place::Kind(kind.clone(), *nth), *mode);
        assert!(reached, "it never got to its point");
        if *mode != Mode::Alone || ended.code() != Some(0) {
            sandbox.piton(&CLEAN).expect(0);
        }
        assert_cleaned(&sandbox);
    })
    .len();
    told(&format!("{runs} kills of a clean"));
}

/// The last steps of a removal, when no folder shows any more that something is left.
#[test]
fn what_a_killed_clean_has_left_is_found_without_its_folder() {
    let sandbox = unfinished();
    sandbox.piton(&["clean", "--unfinished", "--dry-run"]).expect(0);
    let worktree = sandbox.root.join(".worktrees/p/L1-002");
    let slot = worktree.canonicalize_utf8().expect("a link to its slot");
    let entry = slot.file_name().expect("a name").replacen('.', "-", 1);
    fs::remove_dir_all(&slot).expect("a worktree");
    fs::remove_file(sandbox.repo.join(".git/worktrees").join(entry).join("HEAD")).expect("a file");
    sandbox.piton(&CLEAN).expect(0);
    let run = sandbox.events()[0]["run"].as_str().expect("a run").to_owned();
    let locks = sandbox.repo.join(format!(".git/refs/piton/rescue/{run}"));
    fs::create_dir_all(&locks).expect("a folder");
    fs::write(locks.join("L1-002.lock"), "").expect("a lock");
    sandbox.piton(&CLEAN).expect(0);
    assert_cleaned(&sandbox);
}
