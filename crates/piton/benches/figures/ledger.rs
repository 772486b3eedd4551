//! One-shot commands, as a script or another agent gives them, and reading plans.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use piton_core::system::config::Config;
use piton_core::system::rwkit::plan::Given;
use piton_core::system::{Folder, rwkit};

use crate::bench::{Figure, PITON, Project, Raw, median, plan, show, timed};

/// Enough for a log that is read by each to become long.
const ROUNDS: usize = 100;

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures = vec![large_list()];
    for tasks in [100, 10_000, 100_000] {
        let project = Project::new(&plan(tasks, 3, "true", |_| String::new()), 1);
        if tasks > 100 {
            let most = if tasks == 10_000 { "0.3 s" } else { "3 s" };
            let times = (0..3).map(|_| timed(|| project.piton("plan plan.toml")).0);
            let time = median(times.collect());
            figures.push(Figure::plain(
                format!("load and check a plan of {}", number(tasks)),
                show(time),
                most,
            ));
        }
        let _ = project.piton("next --plan plan.toml");
        figures.extend(commands(&project, tasks));
        if tasks > 100 {
            let most = if tasks == 10_000 { "20 ms" } else { "60 ms" };
            let times = (0..ROUNDS).map(|_| timed(|| project.piton("status")).0);
            let time = median(times.collect());
            figures.push(Figure::plain(format!("`status`, {} tasks", number(tasks)), show(time), most));
        }
    }
    figures
}

/// Reading alone, without a process and a screen: a todolist of stories, each of whose tasks waits for two of the one before.
fn large_list() -> Figure {
    const BYTES: usize = 10_000_000;
    let (mut text, mut count) = ("# Todolist: large\n".to_owned(), 0_usize);
    while text.len() < BYTES {
        if count % 40 == 0 {
            let story = count / 40;
            text += &format!("\n## User Story: US-{story:05} Part {story}\n\n### Tasks\n\n");
        }
        count += 1;
        let deps = match count.checked_sub(42) {
            Some(first) => format!("T{:06}, T{:06}", first + 1, first + 2),
            None => "none".to_owned(),
        };
        text += &format!(
            "- [ ] T{count:06} P2 US-{:05} Add the part of that name [agent: backend-architect] [deps: {deps}] \
             [files: src/parts/[id]/p{count}.ts] [size: S]\n",
            (count - 1) / 40
        );
    }
    let (list, config) = ("plans/large-todolist.md", Config::default());
    let folder = Folder { files: [(list.to_owned(), text.into_bytes())].into() };
    let given = Given::new(list, list, &config);
    let read = || assert_eq!(rwkit::plan::read(&folder, &given).reading.plan.tasks.len(), count);
    let time = median((0..5).map(|_| timed(read).0).collect());
    Figure::plain(
        format!("read a todolist of 10 MB, {} tasks, and put it into batches", number(count)),
        show(time),
        "1 s",
    )
}

/// What each of the commands has to ask git: where the checkout stands, and whether there is work in it.
const GITS: [&[&str]; 3] = [
    &["rev-parse --show-toplevel HEAD", "rev-parse HEAD"],
    &[
        "rev-parse --show-toplevel HEAD",
        "rev-parse HEAD",
        "status --porcelain --untracked-files=all",
        "ls-files --stage",
        "rev-parse HEAD^{tree}",
    ],
    &[],
];

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn commands(project: &Project, tasks: usize) -> Vec<Figure> {
    let raw = Raw::open(&project.root);
    let names = ["start", "report … done", "status of one task"];
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut floors: [Vec<Duration>; 3] = Default::default();
    for n in 0..ROUNDS {
        let task = format!("T{}", n * 7919 % tasks + 1);
        let lines = [
            format!("start {task} --by me"),
            format!("report {task} done --by me --note finished --no-change --reason measured"),
            format!("status {task}"),
        ];
        for (line, times) in lines.iter().zip(&mut times) {
            times.push(timed(|| project.piton(line)).0);
        }
        // A process that does nothing, and one commit.
        let mut nothing = project.command(PITON, &project.repo);
        nothing.arg("--version").stdout(Stdio::null());
        let nothing = timed(|| nothing.status().unwrap()).0 + raw.commit(&"x".repeat(200));
        for (asks, floors) in GITS.iter().zip(&mut floors) {
            let gits = |line: &&str| timed(|| project.git(&project.repo, &words(line))).0;
            floors.push(nothing + asks.iter().map(gits).sum::<Duration>());
        }
    }
    let (times, floors) = (times.map(median), floors.map(median));
    let figure = |((name, asks), (time, floor)): ((&str, &[&str]), (Duration, Duration))| {
        let gits = if asks.is_empty() { "" } else { " (floor: also the git processes that it runs)" };
        let name = format!("`{name}`, {} tasks{gits}", number(tasks));
        Figure::over(name, time, floor, "5 ms over the floor")
    };
    let pairs = names.into_iter().zip(GITS).zip(times.into_iter().zip(floors));
    let mut figures: Vec<Figure> = pairs.map(figure).collect();
    figures.extend(recipe(project, tasks));
    figures
}

/// What the same change costs with `jq` on a state file of that many tasks.
fn recipe(project: &Project, tasks: usize) -> Option<Figure> {
    if Command::new("jq").arg("--version").output().is_err() {
        return None;
    }
    let state = project.root.join("state.json");
    let entry = |n: usize| {
        format!(
            "\"T{n}\": {{\"name\": \"Write the file of {n}\", \"layer\": \"main\", \"status\": \"pending\", \
             \"attempts\": 0, \"dependencies\": [], \"commits\": [], \"error\": null, \"started_at\": null, \
             \"completed_at\": null, \"retry_feedback\": null}}"
        )
    };
    let all: Vec<String> = (1..=tasks).map(entry).collect();
    fs::write(&state, format!("{{\"status\": \"running\", \"tasks\": {{\n{}\n}}}}\n", all.join(",\n")))
        .unwrap();
    let script =
        "jq '.tasks[\"T7\"].status = \"in_progress\"' state.json > state.tmp && mv state.tmp state.json";
    let run =
        || assert!(project.command("sh", &project.root).args(["-c", script]).status().unwrap().success());
    let time = median((0..3).map(|_| timed(run).0).collect());
    Some(Figure::plain(
        format!("for comparison: one field by `jq`, {} tasks", number(tasks)),
        show(time),
        "–",
    ))
}

fn number(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},000", n / 1000) }
}
