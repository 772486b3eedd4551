//! Whole runs: the time until an agent works, what an engine takes, and two hundred small tasks.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::bench::{Figure, PITON, Project, median, plan, show, timed};

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures = vec![resumed()];
    figures.extend(at_rest());
    figures.push(conflicts());
    figures.push(two_hundred());
    let size = fs::metadata(PITON).unwrap().len();
    let size = format!("{:.1} MB", size as f64 / 1e6);
    figures.push(Figure::plain("the binary of the release profile", size, "28 MB"));
    figures
}

pub(crate) fn began(project: &Project) -> Vec<u128> {
    let text = fs::read_to_string(project.root.join(".cache/began")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

pub(crate) fn engine(project: &Project) -> Child {
    let mut command = project.command(PITON, &project.repo);
    command.args(["run", "plan.toml"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(900), "it does not come");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn stop(project: &Project, mut engine: Child) {
    let _ = project.command(PITON, &project.repo).args(["stop", "--now"]).output();
    let _ = engine.wait();
}

/// From the start of an engine that goes on with 10,000 tasks to the first agent of it.
fn resumed() -> Figure {
    let agent = "date +%s%N >> \"$HOME/.cache/began\"; sleep 600";
    let project = Project::new(&plan(10_000, 1, agent, |_| String::new()), 100);
    let _ = project.piton("next --plan plan.toml");
    let mut times = Vec::new();
    for round in 1..=3 {
        let start = now();
        let child = engine(&project);
        until(|| began(&project).len() == round);
        times.push(Duration::from_nanos(u64::try_from(began(&project)[round - 1] - start).unwrap()));
        stop(&project, child);
    }
    Figure::plain("from start to the first agent, going on with 10,000 tasks", show(median(times)), "0.5 s")
}

/// What an engine takes while agents work and nothing happens.
fn at_rest() -> Vec<Figure> {
    const REST: Duration = Duration::from_secs(10);
    let project = Project::new(
        &plan(10_000, 8, "date +%s%N >> \"$HOME/.cache/began\"; sleep 600", |_| String::new()),
        100,
    );
    let child = engine(&project);
    until(|| began(&project).len() == 8);
    thread::sleep(Duration::from_millis(500));
    let before = cpu_ticks(child.id());
    thread::sleep(REST);
    let used = (cpu_ticks(child.id()) - before) as f64 / 100.0 / REST.as_secs_f64() * 100.0;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    stop(&project, child);
    vec![
        Figure::plain(
            "memory of the engine at its peak, 10,000 tasks",
            format!("{} MB", peak / 1024),
            "60 MB",
        ),
        Figure::plain(
            "processor while eight agents work and nothing happens",
            format!("{used:.2} %"),
            "0.5 %",
        ),
    ]
}

/// What it takes to look for conflicts, with the git processes of it, while agents have changed the same file.
fn conflicts() -> Figure {
    /// A look that is over uses nothing for so long.
    const OVER: Duration = Duration::from_secs(3);
    let agent = "echo $PITON_TASK >> src/0/0/0.txt; echo $PITON_TASK > $PITON_TASK.txt; \
                 date +%s%N >> \"$HOME/.cache/began\"; sleep 600";
    let project = Project::new(&plan(16, 16, agent, |_| String::new()), 10_000);
    let child = engine(&project);
    until(|| began(&project).len() == 16);
    until(|| project.piton("log").contains("a conflict is coming"));
    let git = || cpu_ticks_of_children(child.id());
    let at_rest = || {
        let before = git();
        thread::sleep(OVER);
        git() == before
    };
    until(at_rest);
    // From the end of one look to the end of the next.
    let (all, since, first) = (|| cpu_ticks(child.id()) + git(), Instant::now(), git());
    let before = all();
    until(|| git() > first && at_rest());
    let used = (all() - before) as f64 / since.elapsed().as_secs_f64();
    stop(&project, child);
    Figure::plain(
        "processor with conflicts looked for, 16 agents in 10,000 files (with all git processes)",
        format!("{used:.2} %"),
        "1 %",
    )
}

/// User and system time in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    ticks(pid, 11)
}

/// The same of processes that it has started and that have ended.
fn cpu_ticks_of_children(pid: u32) -> u64 {
    ticks(pid, 13)
}

fn ticks(pid: u32, field: usize) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(field).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// What a shell script does that works on one task after the other.
const SCRIPT: &str = "
for n in $(seq 200); do
    git worktree add -q --detach ../w/T$n main
    (cd ../w/T$n && sh -c \"echo T$n > T$n.txt\" && git add -A && git commit -q -m T$n)
    git merge -q --no-ff -m \"Merge T$n\" $(git -C ../w/T$n rev-parse HEAD)
    git worktree remove --force ../w/T$n
done";

fn two_hundred() -> Figure {
    let agent = "echo $PITON_TASK > $PITON_TASK.txt";
    let text = plan(200, 8, agent, |_| String::new());
    let rounds: Vec<(Duration, Duration)> = (0..3)
        .map(|_| {
            let project = Project::new(&text, 100);
            let ours = timed(|| project.piton("run plan.toml")).0;
            assert_eq!(project.git(&project.repo, &["rev-list", "--count", "--merges", "main"]), "200");
            let project = Project::new(&text, 100);
            let mut script = project.command("sh", &project.repo);
            let floor = timed(|| assert!(script.args(["-ec", SCRIPT]).status().unwrap().success())).0;
            (ours, floor)
        })
        .collect();
    let (ours, floor) = rounds.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    Figure::times(
        "200 tasks that write one file, eight at a time (floor: a shell script, one after the other)",
        median(ours),
        median(floor),
        "1.2 ×",
    )
}

/// Nanoseconds since 1970.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}
