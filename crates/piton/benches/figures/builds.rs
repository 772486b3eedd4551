//! The first `cargo test` of an agent: in a cold worktree, in one that was filled from the main checkout, and in one that
//! another task has used. `PITON_BENCH_CRATE=PATH` is the checkout of a crate that can be tested offline; without it nothing
//! is measured.

use std::fs;
use std::time::Duration;

use crate::bench::{Figure, PITON, Project, median, plan};

const TASKS: usize = 12;
/// Each task adds a test to another source file, so the next one has something to build.
const AGENT: &str = r#"n=${PITON_TASK#T}; set -- src/*.rs; shift $(( n % $# )); s=$(date +%s%N)
cargo test -q --offline --lib >/dev/null 2>&1 || exit 1
echo $(( ($(date +%s%N) - s) / 1000000 )) >> "$HOME/.cache/times"
printf "\n#[cfg(test)]\nmod added_by_task_%s {\n    #[test]\n    fn passes() {}\n}\n" $n >> "$1""#;

pub(crate) fn figures() -> Vec<Figure> {
    let Ok(place) = std::env::var("PITON_BENCH_CRATE") else { return Vec::new() };
    let cold = median(times(&place, "reuse = \"never\"\n", 3));
    // With one place, the first two tasks get new slots: the second is made ready while the first is worked on.
    let filled = median(times(&place, "warm = [\"target\"]\n", 2));
    let reused = median(times(&place, "", TASKS).split_off(2));
    let what = |how: &str| format!("first `cargo test` of an agent, {how} (floor: in a cold one)");
    vec![
        Figure::times(what("in a worktree that another task has used"), reused, cold, "0.2 ×"),
        Figure::times(what("in one filled from the main checkout"), filled, cold, "0.33 ×"),
    ]
}

/// How long it took in each task, one after the other.
fn times(place: &str, worktree: &str, tasks: usize) -> Vec<Duration> {
    let homes = ["CARGO_HOME", "RUSTUP_HOME"].map(|name| (name, home(name)));
    let exports = homes.map(|(name, home)| format!("export {name}={home}; ")).concat();
    // Between quotes of three, so that the command may have several lines.
    let agent = format!("''{exports}{AGENT}''");
    let text = plan(tasks, 1, &agent, |_| String::new()) + &format!("[worktree]\n{worktree}");
    let project = Project::new("", 0);
    let copied = project.command("cp", &project.repo).args(["-r", &format!("{place}/."), "."]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{place} cannot be copied");
    let _ = fs::remove_dir_all(project.repo.join("target"));
    fs::write(project.repo.join(".gitignore"), "target\n").unwrap();
    fs::write(project.repo.join("plan.toml"), text).unwrap();
    project.git(&project.repo, &["add", "-A"]);
    project.git(&project.repo, &["commit", "-q", "-m", "A crate"]);
    if worktree.contains("warm") {
        let mut build = project.command("cargo", &project.repo);
        build.args(["test", "-q", "--offline", "--lib", "--no-run"]);
        build.envs(["CARGO_HOME", "RUSTUP_HOME"].map(|name| (name, home(name))));
        assert!(build.status().is_ok_and(|status| status.success()), "{place} cannot be built offline");
    }
    let mut run = project.command(PITON, &project.repo);
    // Cargo locks its own folder.
    run.args(["run", "plan.toml", "--quiet"]).env("PITON_SANDBOX", "off");
    assert!(run.status().is_ok_and(|status| status.success()), "not all landed");
    let text = fs::read_to_string(project.root.join(".cache/times")).unwrap();
    let times: Vec<Duration> =
        text.lines().map(|line| Duration::from_millis(line.parse().unwrap())).collect();
    println!("  {worktree:?}: {times:.1?}");
    times
}

fn home(name: &str) -> String {
    let usual =
        || format!("{}/.{}", std::env::var("HOME").unwrap(), name.trim_end_matches("_HOME").to_lowercase());
    std::env::var(name).unwrap_or_else(|_| usual())
}
