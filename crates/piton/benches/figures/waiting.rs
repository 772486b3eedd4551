//! Runs that mostly wait: for agents of one second, and checks of three. With `PITON_BENCH_BEFORE=PATH` another binary does
//! the same, and is the floor.

use std::time::Duration;

use crate::bench::{Figure, PITON, Project, plan, show, timed};

const TASKS: usize = 60;
/// Every so manieth task is red together with the others of these.
const RED: usize = 7;

/// What a task writes that is red together with another. It knows how many such files there are where it works, and its
/// check accepts as many: two that began on the same target are red together, and right once one has seen the other.
const CLASH: &str = "echo x > R$PITON_TASK.txt; ls R*.txt | wc -l > A$PITON_TASK.txt";
const CLASHES: &str = "test $(ls R*.txt | wc -l) -le $(cat A*.txt | sort -n | tail -n 1)";

pub(crate) fn figures() -> Vec<Figure> {
    let before = std::env::var("PITON_BENCH_BEFORE").ok();
    [("", false), (", 15 % of them red together", true)]
        .into_iter()
        .map(|(kind, clash)| {
            let what = format!("{TASKS} tasks{kind}: agents of 1 s, checks of 3 s, eight at a time");
            let ours = run(PITON, clash);
            match &before {
                Some(before) => {
                    let floor = run(before, clash);
                    Figure::times(format!("{what} (floor: the binary before)"), ours, floor, "0.33 ×")
                }
                None => Figure::plain(what, show(ours), "–"),
            }
        })
        .collect()
}

fn run(program: &str, clash: bool) -> Duration {
    let agent = format!("sleep 1; echo x > $PITON_TASK.txt; case $PITON_TASK in *-clash) {CLASH} ;; esac");
    let clashes = |n: usize| clash && n.is_multiple_of(RED);
    let own = |n: usize| match clashes(n) {
        true => format!("checks = [\"sleep 3; {CLASHES}\"]\n"),
        false => format!("checks = [\"sleep 3; test -s T{n}.txt\"]\n"),
    };
    let mut text =
        plan(TASKS, 8, &agent, own).replace("[policy]\n", "[policy]\nlanding_checks = [\"sleep 3\"]\n");
    for n in (1..=TASKS).filter(|n| clashes(*n)) {
        text = text.replace(&format!("id = \"T{n}\"\n"), &format!("id = \"T{n}-clash\"\n"));
    }
    let project = Project::new(&text, 100);
    let mut command = project.command(program, &project.repo);
    let (took, output) = timed(|| command.args(["run", "plan.toml"]).output().unwrap());
    let is_done = output.status.success();
    assert!(is_done || program != PITON, "{}", String::from_utf8_lossy(&output.stderr));
    println!("  {program}: {}{}", show(took), if is_done { "" } else { ", and not all landed" });
    took
}
