//! What Piton takes beside eight agents that talk all the time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use crate::bench::{Figure, OWN_PLACE, Project};
use crate::runs::{began, engine, stop, until};

const AGENTS: usize = 8;
/// With a bound the engine reads along; without one it does not.
const FAR_AWAY: u64 = 4_000_000_000;
const WATCHED: Duration = Duration::from_secs(10);

/// The recorded output of a client, line by line.
const RECORDED: &str = include_str!("../../../core/src/client/fixtures/claude-woken.jsonl");

/// Says it again and again, some twenty lines a second.
const CLIENT: &str = "#!/bin/sh
date +%s%N >> \"$HOME/.cache/began\"
while :; do
    while read -r line; do printf '%s\\n' \"$line\"; sleep 0.05; done < \"$HOME/recorded\"
done
";

pub(crate) fn figures() -> Vec<Figure> {
    let project = Project::new("", 100);
    let client = project.root.join("client");
    fs::write(&client, CLIENT).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(project.root.join("recorded"), RECORDED).unwrap();
    let mut plan = format!(
        "name = \"bench\"\n[agents.default]\nadapter = \"claude\"\nprogram = \"{client}\"\n\
         [policy]\nmax_parallel = {AGENTS}\n[budget]\nattempt_tokens = {FAR_AWAY}\n{OWN_PLACE}"
    );
    for n in 1..=AGENTS {
        plan += &format!("[[task]]\nid = \"T{n}\"\ntitle = \"Talk\"\nprompt = \"Talk.\"\nchecks = []\n");
    }
    fs::write(project.repo.join("plan.toml"), plan).unwrap();
    project.git(&project.repo, &["commit", "-q", "-a", "-m", "Plan"]);
    let child = engine(&project);
    until(|| began(&project).len() == AGENTS);
    thread::sleep(Duration::from_millis(500));
    let (before, earlier) = (busy(child.id()), said(&project));
    thread::sleep(WATCHED);
    let used = (busy(child.id()) - before).as_secs_f64() / WATCHED.as_secs_f64() * 100.0;
    let lines = (said(&project) - earlier) as f64 / AGENTS as f64 / WATCHED.as_secs_f64();
    let keepers = memory_of_keepers(&project);
    stop(&project, child);
    assert_eq!(keepers.len(), AGENTS, "each agent has its keeper");
    let most = keepers.into_iter().max().unwrap_or_default();
    vec![
        Figure::plain(
            format!("memory of one keeper, {AGENTS} agents that talk (PSS, the largest)"),
            format!("{:.1} MB", most as f64 / 1024.0),
            "5 MB",
        ),
        Figure::plain(
            format!(
                "processor of the engine while {AGENTS} agents with a budget talk, {lines:.0} lines a second each"
            ),
            format!("{used:.2} %"),
            "1 %",
        ),
    ]
}

/// The time that its threads have had a processor, more exactly than in ticks.
pub(crate) fn busy(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let nanos = stats.filter_map(|stat| stat.split(' ').next()?.parse::<u64>().ok());
    Duration::from_nanos(nanos.sum())
}

/// How many lines the agents have printed so far, as their keepers recorded them.
fn said(project: &Project) -> usize {
    let mut folders = vec![project.repo.join(".git/piton/runs")];
    let mut lines = 0;
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.into_path());
            } else if entry.file_name() == "output.log" {
                let text = fs::read(entry.path()).unwrap();
                lines += text.iter().filter(|byte| **byte == b'\n').count();
            }
        }
    }
    lines
}

/// What each keeper of this project has for itself, with its share of what it shares, in KB.
fn memory_of_keepers(project: &Project) -> Vec<u64> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let pss = |process: std::path::PathBuf| {
        let words = fs::read_to_string(process.join("cmdline")).ok()?;
        let mut words = words.split('\0').skip(1);
        if words.next() != Some("keeper") || !words.next()?.starts_with(project.root.as_str()) {
            return None;
        }
        let told = fs::read_to_string(process.join("smaps_rollup")).ok()?;
        let line = told.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    processes.filter_map(pss).collect()
}
