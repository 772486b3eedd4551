//! Runs whose tasks have checks: each one of its own, and one that every landing has.

use std::time::Duration;

use serde_json::Value;

use crate::bench::{Figure, Project, plan, show, timed};

pub(crate) fn figures() -> Vec<Figure> {
    let all: Vec<(usize, Run)> = [25, 200, 1_000].into_iter().map(|tasks| (tasks, run(tasks))).collect();
    let first = all[0].1.each;
    let figures = all.into_iter().flat_map(|(tasks, Run { each, checks })| {
        let what = format!("{tasks} tasks with a check each and a landing check, eight at a time");
        let runs = Figure::plain(format!("{what}: check runs for each task"), format!("{checks:.1}"), "3");
        [Figure::times(format!("{what}: time for each (floor: with 25)"), each, first, "1.2 ×"), runs]
    });
    figures.collect()
}

struct Run {
    each: Duration,
    checks: f64,
}

fn run(tasks: usize) -> Run {
    let agent = "echo $PITON_TASK > $PITON_TASK.txt";
    let own = |n: usize| format!("checks = [\"test -s T{n}.txt\"]\n");
    let text =
        plan(tasks, 8, agent, own).replace("[policy]\n", "[policy]\nlanding_checks = [\"test -d .\"]\n");
    let project = Project::new(&text, 100);
    let took = timed(|| project.piton("run plan.toml")).0;
    println!("  {tasks} tasks: {}", show(took));
    let counts: Value = serde_json::from_str(&project.piton("checks --json")).unwrap();
    let runs: u64 = counts.as_array().unwrap().iter().filter_map(|check| check["runs"].as_u64()).sum();
    let count = u32::try_from(tasks).unwrap();
    Run { each: took / count, checks: runs as f64 / f64::from(count) }
}
