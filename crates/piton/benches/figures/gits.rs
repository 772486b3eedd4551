//! When git processes run. Git itself logs its start and its end to the file that its settings name.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::bench::{Project, median, timed};

/// Records the git processes of a project.
pub(crate) struct Watch {
    log: Utf8PathBuf,
    /// What a git process takes at least before its first and after its last log line: mostly the start of a process.
    unseen: Duration,
}

impl Watch {
    pub(crate) fn beside(project: &Project) -> Watch {
        let log = project.root.join("gits");
        let settings = project.root.join(".gitconfig");
        let known = fs::read_to_string(&settings).unwrap();
        fs::write(settings, format!("{known}[trace2]\neventTarget = {log}\n")).unwrap();
        let mut watch = Watch { log, unseen: Duration::ZERO };
        let unseen = |_| {
            let before = watch.seen().len();
            let took = timed(|| project.git(&project.repo, &["rev-parse", "HEAD"])).0;
            let seen = &watch.seen()[before..][0].time;
            took.saturating_sub(Duration::from_nanos(u64::try_from(seen.end - seen.start).unwrap()))
        };
        // The least of many: what more a start may take counts as ours.
        watch.unseen = (0..21).map(unseen).min().unwrap();
        watch
    }

    /// How much longer each of the two git processes that make a worktree takes until it is gone, in the middle: their
    /// starts and their ends are their own, and a process that has written much takes longer to end.
    pub(crate) fn lingering(&self, project: &Project) -> [Duration; 2] {
        let beyond = |folder: &Utf8Path, words: &[&str]| {
            let took = timed(|| project.git(folder, words)).0;
            let ran = self.seen();
            let told = &ran[ran.len() - 1].time;
            took.saturating_sub(Duration::from_nanos(u64::try_from(told.end - told.start).unwrap()))
        };
        let once = |n: usize| {
            let place = project.root.join(format!("by-hand-{n}"));
            let add = ["worktree", "add", "-q", "--detach", "--no-checkout", place.as_str()];
            let both = (beyond(&project.repo, &add), beyond(&place, &["reset", "--quiet", "--hard"]));
            project.git(&project.repo, &["worktree", "remove", "--force", place.as_str()]);
            both
        };
        let (add, reset): (Vec<Duration>, Vec<Duration>) = (0..7).map(once).unzip();
        [median(add), median(reset)]
    }

    /// Which git processes ran when, in nanoseconds since 1970, in the order in which they began. One that stays and
    /// waits for questions is not at work all that time: all that it takes counts as ours.
    pub(crate) fn seen(&self) -> Vec<Ran> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let mut gits: BTreeMap<String, Ran> = BTreeMap::new();
        for line in text.lines() {
            let told: Value = serde_json::from_str(line).unwrap();
            let at = told["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_nanosecond();
            let begun = at - i128::try_from(self.unseen.as_nanos()).unwrap();
            let git = gits.entry(told["sid"].as_str().unwrap().to_owned());
            let git = git.or_insert(Ran { words: String::new(), time: begun..at });
            git.time.end = at;
            for word in told["argv"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                git.words += &format!("{word} ");
            }
        }
        let stays = |git: &Ran| git.words.contains(" --batch") || git.words.contains(" --stdin ");
        let mut ran: Vec<Ran> = gits.into_values().filter(|git| !stays(git)).collect();
        ran.sort_by_key(|git| git.time.start);
        ran
    }
}

/// A git that ran.
#[derive(Clone)]
pub(crate) struct Ran {
    pub(crate) words: String,
    time: Range<i128>,
}

impl Ran {
    pub(crate) fn lingers(&mut self, for_so_long: Duration) {
        self.time.end += i128::try_from(for_so_long.as_nanos()).unwrap();
    }
}

/// For how much of this window at least one of them ran.
pub(crate) fn covered<'r>(ran: impl Iterator<Item = &'r Ran>, window: &Range<i128>) -> Duration {
    let (mut sum, mut until) = (0, window.start);
    for Ran { time, .. } in ran {
        let (start, end) = (time.start.max(until), time.end.min(window.end));
        sum += (end - start).max(0);
        until = until.max(end);
    }
    Duration::from_nanos(u64::try_from(sum).unwrap())
}
