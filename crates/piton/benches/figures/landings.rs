//! What a task costs beside its agent: its start, and its landing.

use std::ops::Range;
use std::time::Duration;

use piton_core::plan::{RunId, TaskId};
use piton_core::run::Event;
use piton_engine::journal::Journal;

use crate::bench::{Figure, Project, Raw, median, plan};
use crate::gits::{Ran, Watch, covered};
use crate::runs::began;

pub(crate) fn figures() -> Vec<Figure> {
    [100, 5_000].into_iter().flat_map(chain).chain([from_the_pool(10_000)]).collect()
}

/// The first two tasks run at once, and the others one after the other: so a slot is free whenever one of them begins.
fn from_the_pool(files: usize) -> Figure {
    let each = |n: usize| match n {
        1 | 2 => String::new(),
        3 => "depends_on = [\"T1\", \"T2\"]\n".to_owned(),
        n => format!("depends_on = [\"T{}\"]\n", n - 1),
    };
    let project = Project::new(&plan(LENGTH, 4, STAMP, each), files);
    let (watch, stamp) = (Watch::beside(&project), stamp(&project));
    let before = watch.seen().len();
    let _ = project.piton("run plan.toml");
    let (journal, began) = (RunTimes::by(&project), began(&project));
    let writes =
        |git: &Ran| [" --no-overlay ", " read-tree -m -u "].iter().any(|step| git.words.contains(step));
    let writing: Vec<Ran> = watch.seen().into_iter().skip(before).filter(writes).collect();
    let start = |n: usize| journal.landed(n - 1)..i128::try_from(began[n - 1]).unwrap() - stamp;
    let (started, writing) = middle(&writing, 4, start);
    Figure::over(
        format!("the same from the pool, {files} files (floor: the git process that writes what differs)"),
        started,
        writing,
        "50 ms over the floor",
    )
}

/// Writes down when it began.
const STAMP: &str = "date +%s%N >> \"$HOME/.cache/began\"; echo $PITON_TASK > $PITON_TASK.txt";

/// Tasks one after the other, in a repository of so many files.
fn chain(files: usize) -> Vec<Figure> {
    let project = of_chain(files);
    let (watch, stamp, commits) = (Watch::beside(&project), stamp(&project), commits(&project));
    let (lingering, before) = (watch.lingering(&project), watch.seen().len());
    let _ = project.piton("run plan.toml");
    let (journal, began) = (RunTimes::by(&project), began(&project));
    let ran: Vec<Ran> = watch.seen().into_iter().skip(before).collect();
    // A worktree is added in two steps. That of the task before is cleared, and moved in one step. What else runs beside
    // them takes one away.
    let steps = [" worktree add ", " reset "];
    let clears = [" --no-overlay ", " clean ", " ls-files -z --others "];
    // A landing looks at the checkout and moves it in the same way.
    let moves = [" read-tree -m -u ", " status "];
    let is_one = |git: &Ran, words: &[&str]| words.iter().any(|word| git.words.contains(word));
    let is_adding = |git: &&Ran| [&steps[..], &clears, &moves].iter().any(|words| is_one(git, words));
    let is_landing = |git: &&Ran| !is_one(git, &steps) && !is_one(git, &clears);
    let (mut adds, others): (Vec<Ran>, Vec<Ran>) =
        (ran.iter().filter(is_adding).cloned().collect(), ran.iter().filter(is_landing).cloned().collect());
    for (step, longer) in steps.into_iter().zip(lingering) {
        adds.iter_mut().filter(|git| git.words.contains(step)).for_each(|git| git.lingers(longer));
    }
    let start = |n: usize| journal.landed(n - 1)..i128::try_from(began[n - 1]).unwrap() - stamp;
    let landing = |n: usize| journal.verified(n)..journal.landed(n);
    let (started, adding) = middle(&adds, 2, start);
    let (landed, landing) = middle(&others, 2, landing);
    vec![
        Figure::over(
            format!(
                "a task became ready → its agent runs, {files} files (floor: the git processes that add its worktree)"
            ),
            started,
            adding,
            "5 ms over the floor",
        ),
        Figure::over(
            format!("the same, {files} files (floor: also two raw commits after such processes)"),
            started,
            adding + commits,
            "–",
        ),
        Figure::over(
            format!(
                "one landing, {files} files (floor: the time of the same landing in which a git process ran)"
            ),
            landed,
            landing,
            "10 ms over the floor",
        ),
    ]
}

/// How long such windows are, and for how much of that a git process runs. What is left is ours, with all that we sync.
/// Of the one in the middle by that, from the task `first` on.
fn middle(gits: &[Ran], first: usize, window: impl Fn(usize) -> Range<i128>) -> (Duration, Duration) {
    let mut all: Vec<(Duration, Duration)> = (first..=LENGTH)
        .map(|n| {
            let window = window(n);
            let took = Duration::from_nanos(u64::try_from(window.end - window.start).unwrap_or_default());
            (took, covered(gits.iter(), &window))
        })
        .collect();
    all.sort_by_key(|(took, gits)| took.saturating_sub(*gits));
    all[all.len() / 2]
}

/// How long an agent takes, at least, before it has written down that it runs: nanoseconds.
fn stamp(project: &Project) -> i128 {
    let once = |_| {
        let before = jiff::Timestamp::now().as_nanosecond();
        let told = project.command("sh", &project.root).args(["-c", "date +%s%N"]).output().unwrap();
        String::from_utf8(told.stdout).unwrap().trim().parse::<i128>().unwrap() - before
    };
    (0..21).map(once).min().unwrap()
}

/// What a start needs besides its git processes: a journal that records first that the task is in progress, and then
/// that it has a worktree. As long as such commits take where git has just made a worktree.
fn commits(project: &Project) -> Duration {
    let raw = Raw::open(&project.root);
    let once = |n: usize| {
        let place = project.root.join(format!("least-{n}"));
        project.git(&project.repo, &["worktree", "add", "-q", "--detach", place.as_str()]);
        let took = raw.commit(&"x".repeat(200)) + raw.commit(&"x".repeat(200));
        project.git(&project.repo, &["worktree", "remove", "--force", place.as_str()]);
        took
    };
    median((0..7).map(once).collect())
}

const LENGTH: usize = 12;

fn of_chain(files: usize) -> Project {
    let each = |n: usize| if n == 1 { String::new() } else { format!("depends_on = [\"T{}\"]\n", n - 1) };
    Project::new(&plan(LENGTH, 4, STAMP, each), files)
}

/// What the journal of a run says about its tasks, in nanoseconds. It says the millisecond: the moment is in the middle of
/// it.
struct RunTimes(Journal, RunId);

impl RunTimes {
    fn by(project: &Project) -> RunTimes {
        let journal = Journal::open(&project.repo.join(".git/piton")).unwrap();
        let run = journal.runs().unwrap()[0].id.clone();
        RunTimes(journal, run)
    }

    fn when(&self, task: usize, is_it: fn(&Event) -> bool) -> i128 {
        let task = TaskId::new(&format!("T{task}")).unwrap();
        let events = self.0.events(&self.1, 0, Some(&task), 100).unwrap();
        let found = events.iter().rfind(|recorded| is_it(&recorded.event)).unwrap();
        i128::from(found.at.0) * 1_000_000 + 500_000
    }

    fn verified(&self, task: usize) -> i128 {
        self.when(task, |event| matches!(event, Event::Verified { .. }))
    }

    fn landed(&self, task: usize) -> i128 {
        self.when(task, |event| matches!(event, Event::Completed { .. }))
    }
}
