//! What a task costs beside its agent: its start, and its landing.

use std::time::Duration;

use piton_core::plan::{RunId, TaskId};
use piton_core::run::Event;
use piton_engine::journal::Journal;

use crate::bench::{Figure, Project, median, plan, timed};
use crate::gits::{Watch, covered};
use crate::runs::began;

pub(crate) fn figures() -> Vec<Figure> {
    [100, 5_000].into_iter().flat_map(chain).collect()
}

/// Writes down when it began.
const STAMP: &str = "date +%s%N >> \"$HOME/.cache/began\"; echo $PITON_TASK > $PITON_TASK.txt";

/// Tasks one after the other, in a repository of so many files.
fn chain(files: usize) -> Vec<Figure> {
    let project = of_chain(files);
    let _ = project.piton("run plan.toml");
    let journal = Told::by(&project);
    let began = began(&project);
    let begun = (2..=LENGTH).map(|n| {
        let began = u64::try_from(began[n - 1] / 1_000_000).unwrap();
        Duration::from_millis(began.saturating_sub(journal.landed(n - 1)))
    });
    let (took, gits) = landings(files);
    vec![
        Figure::over(
            format!("a task became ready → its agent runs, {files} files (floor: `git worktree add`)"),
            median(begun.collect()),
            added_by_hand(&project),
            "5 ms over the floor",
        ),
        Figure::over(
            format!("one landing, {files} files (floor: the time of the same landing in which a git ran)"),
            took,
            gits,
            "10 ms over the floor",
        ),
    ]
}

const LENGTH: usize = 12;

fn of_chain(files: usize) -> Project {
    let each = |n: usize| if n == 1 { String::new() } else { format!("depends_on = [\"T{}\"]\n", n - 1) };
    Project::new(&plan(LENGTH, 4, STAMP, each), files)
}

/// What the journal of a run says about its tasks, in milliseconds.
struct Told(Journal, RunId);

impl Told {
    fn by(project: &Project) -> Told {
        let journal = Journal::open(&project.repo.join(".git/piton")).unwrap();
        let run = journal.runs().unwrap()[0].id.clone();
        Told(journal, run)
    }

    fn when(&self, task: usize, is_it: fn(&Event) -> bool) -> u64 {
        let task = TaskId::new(&format!("T{task}")).unwrap();
        let events = self.0.events(&self.1, 0, Some(&task), 100).unwrap();
        u64::try_from(events.iter().rfind(|recorded| is_it(&recorded.event)).unwrap().at.0).unwrap()
    }

    fn verified(&self, task: usize) -> u64 {
        self.when(task, |event| matches!(event, Event::Verified { .. }))
    }

    fn landed(&self, task: usize) -> u64 {
        self.when(task, |event| matches!(event, Event::Completed { .. }))
    }
}

/// How long a landing takes, and for how much of that a git runs. What is left is ours, with all that we sync.
fn landings(files: usize) -> (Duration, Duration) {
    let project = of_chain(files);
    let watch = Watch::beside(&project);
    let _ = project.piton("run plan.toml");
    let (journal, ran) = (Told::by(&project), watch.seen());
    let mut landings: Vec<(Duration, Duration)> = (2..=LENGTH)
        .map(|n| {
            let (from, to) = (journal.verified(n), journal.landed(n));
            let window = i128::from(from) * 1_000_000..i128::from(to) * 1_000_000;
            (Duration::from_millis(to.saturating_sub(from)), covered(&ran, &window))
        })
        .collect();
    // The one in the middle by what is ours of it.
    landings.sort_by_key(|(took, gits)| took.saturating_sub(*gits));
    landings[landings.len() / 2]
}

/// Adding a worktree by hand.
fn added_by_hand(project: &Project) -> Duration {
    let add = |n| {
        let path = project.root.join(format!("by-hand-{n}"));
        let git = |args: &[&str]| project.git(&project.repo, args);
        let took = timed(|| git(&["worktree", "add", "-q", "--detach", path.as_str(), "main"])).0;
        git(&["worktree", "remove", "--force", path.as_str()]);
        took
    };
    median((0..5).map(add).collect())
}
