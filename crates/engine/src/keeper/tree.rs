//! The processes of a job, and how they are ended.
//!
//! A process belongs to the job if it descends from the keeper (which, on Linux, adopts every orphan of its
//! tree), carries the job's marker in its environment, is in its control group, was seen to belong earlier, or
//! descends from one that does. This process, its ancestors and pid 1 never belong.
//!
//! A look at the list of processes may miss one that is just being made. So an empty list alone is never believed: the
//! control group has to be empty, and the keeper must have no children, which the kernel reports reliably. If neither
//! is known, two looks have to agree.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process_group, test_kill_process_group};

use super::cgroup::Group;
use super::job::StopSignal;
use super::processes;

/// A process that KILL cannot end in this time is stuck in the kernel, or not ours to kill.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same for processes that have been waited for already.
const SECOND_PATIENCE: Duration = Duration::from_secs(1);

/// At least so many looks, whatever time they take: on a busy machine one look may take longer than `PATIENCE`.
const LEAST_LOOKS: u32 = 10;

/// So many times, processes that were started in the meantime are put into the group, too. The processes of a job that
/// never stops starting new ones are followed by descent.
const ROUNDS: u32 = 4;

/// So many looks have to agree that no process is left, where nothing else can tell.
const LOOKS: u32 = 2;

/// So long the keeper kills its descendants in a row, before it looks at all processes again.
const RACE: Duration = Duration::from_millis(100);

/// A process as listed. `born` tells it from a later one with the same pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) born: u64,
    pub(super) zombie: bool,
    pub(super) marked: bool,
    /// Processor time of its own and of the children it has outlived, in ticks; 0 where that cannot be told.
    pub(super) ticks: u64,
}

#[derive(Debug)]
pub(super) struct Tree {
    marker: String,
    /// The keeper and its child, when this process is the keeper.
    kept: Option<Kept>,
    group: Option<Group>,
    known: HashSet<(i32, u64)>,
}

#[derive(Debug, Clone)]
struct Kept {
    keeper: i32,
    child: i32,
    /// Set when the keeper has no children left. On Linux it adopts the orphans of its tree, so then no process of the
    /// tree is left.
    childless: Arc<AtomicBool>,
}

/// The end of a tree: processes that had to be signalled (the child itself not counted) and those left.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Toll {
    pub(super) ended: u32,
    pub(super) survivors: u32,
}

impl Tree {
    /// The tree under this process, a keeper, and its `child`.
    pub(super) fn kept(marker: &str, child: i32, childless: Arc<AtomicBool>) -> Tree {
        let kept = Some(Kept { keeper: getpid().as_raw_nonzero().get(), child, childless });
        Tree { marker: marker.to_owned(), kept, group: None, known: HashSet::new() }
    }

    /// What is left of a job whose keeper is gone.
    pub(super) fn marked(marker: &str, group: Option<Group>) -> Tree {
        Tree { marker: marker.to_owned(), kept: None, group, known: HashSet::new() }
    }

    /// Put all of it into a control group, which is removed with it.
    pub(super) fn gather(&mut self, group: Group) {
        let group = self.group.insert(group).clone();
        for _ in 0..ROUNDS {
            let Ok(living) = self.living() else { return };
            let inside = group.pids();
            let outside: Vec<_> = living.iter().filter(|process| !inside.contains(&process.pid)).collect();
            if outside.is_empty() {
                return;
            }
            for process in outside.into_iter().filter(|process| processes::is_still(process)) {
                // Outside of its group it is still found as a descendant.
                let _ = group.take(process.pid);
            }
        }
    }

    /// Ask every process to end, and after `grace` kill it. The processes are listed before the first signal, since
    /// each death changes who descends from whom.
    pub(super) fn end(&mut self, ask: StopSignal, grace: Duration) -> Toll {
        let ask = match ask {
            StopSignal::Term => Signal::TERM,
            StopSignal::Int => Signal::INT,
        };
        let mut signalled = HashSet::new();
        match self.signal_until_gone(ask, grace, &mut signalled) {
            Ok(left) if left > 0 => self.kill_all(&mut signalled, PATIENCE),
            Ok(_) => self.toll(&signalled, 0),
            Err(_) => self.end_group(ask, grace),
        }
    }

    /// Remove the control group of a tree that has ended. Any process that is still in it is killed.
    pub(super) fn disband(self) {
        if let Some(group) = &self.group {
            group.kill();
            group.remove();
        }
    }

    /// Make every process end, without asking.
    pub(super) fn sweep(&mut self) -> Toll {
        self.kill_all(&mut HashSet::new(), PATIENCE)
    }

    /// The same once more, for processes that survived it.
    pub(super) fn sweep_again(&mut self) -> Toll {
        self.kill_all(&mut HashSet::new(), SECOND_PATIENCE)
    }

    fn kill_all(&mut self, signalled: &mut HashSet<(i32, u64)>, patience: Duration) -> Toll {
        // If processes cannot be listed, they are not known to be gone.
        let left = self.signal_until_gone(Signal::KILL, patience, signalled).unwrap_or(1);
        self.toll(signalled, left)
    }

    fn toll(&self, signalled: &HashSet<(i32, u64)>, survivors: usize) -> Toll {
        let child = self.kept.as_ref().map(|kept| kept.child);
        let ended = signalled.iter().filter(|(pid, _)| Some(*pid) != child).count();
        Toll {
            ended: u32::try_from(ended.saturating_sub(survivors)).unwrap_or(u32::MAX),
            survivors: u32::try_from(survivors).unwrap_or(u32::MAX),
        }
    }

    /// Signal all there are, and those that appear while we wait, until none is left or time is up.
    /// A death may hand its children over to us and a fork may beat the list, hence the loop.
    fn signal_until_gone(
        &mut self,
        signal: Signal,
        time: Duration,
        signalled: &mut HashSet<(i32, u64)>,
    ) -> io::Result<usize> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(2);
        let mut told = HashSet::new();
        let (mut looks, mut empty_looks) = (0, 0);
        loop {
            let living = self.living()?;
            looks += 1;
            // Asked after the look: a process that it missed is still a child, or in the group.
            empty_looks = if living.is_empty() { empty_looks + 1 } else { 0 };
            if living.is_empty() && self.is_gone(empty_looks) {
                return Ok(0);
            }
            let mut fresh = false;
            for process in &living {
                let identity = (process.pid, process.born);
                if told.insert(identity) {
                    fresh = true;
                    signalled.insert(identity);
                    // It is gone, or it is not ours to signal: the next list tells which.
                    let _ = processes::signal(process, signal);
                }
            }
            if signal == Signal::KILL {
                self.group.iter().for_each(Group::kill);
                self.race(signalled);
            }
            let elapsed = start.elapsed();
            if elapsed >= time && looks >= LEAST_LOOKS {
                // At least one process is left, even if none was seen.
                return Ok(living.len().max(1));
            }
            // Newcomers mean that a process forks: race it rather than wait.
            if !fresh {
                thread::sleep(pause.min(time.saturating_sub(elapsed).max(Duration::from_millis(2))));
                pause = (pause * 2).min(Duration::from_millis(100));
            }
        }
    }

    /// Whether an empty list may be believed, after so many of them in a row.
    fn is_gone(&self, empty_looks: u32) -> bool {
        let childless = self.kept.as_ref().map(|kept| kept.childless.load(Ordering::Acquire));
        let settled = match childless {
            Some(childless) if cfg!(target_os = "linux") => childless,
            _ => empty_looks >= LOOKS,
        };
        settled && self.group.as_ref().is_none_or(|group| group.pids().is_empty())
    }

    /// A process that forks and ends again and again may outrun a look at all processes. Those below the keeper are
    /// few.
    fn race(&self, signalled: &mut HashSet<(i32, u64)>) {
        let Some(kept) = &self.kept else { return };
        let own_group = getpgrp();
        let start = Instant::now();
        while start.elapsed() < RACE {
            let below = processes::descendants(kept.keeper);
            if below.is_empty() {
                return;
            }
            for process in &below {
                signalled.insert((process.pid, process.born));
                let _ = processes::signal(process, Signal::KILL);
                // A whole group at once: no member of it can fork in between.
                if let Some(group) = Pid::from_raw(process.group).filter(|group| *group != own_group)
                    && process.group == process.pid
                {
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        }
    }

    /// Everything of the job that still runs.
    fn living(&mut self) -> io::Result<Vec<Process>> {
        let mut all = processes::list(&self.marker)?;
        if let Some(group) = &self.group {
            all = with_group(all, &group.pids(), processes::look);
        }
        let members = members(&all, self.kept.as_ref(), &self.known, getpid().as_raw_nonzero().get());
        self.known.extend(members.iter().map(|process| (process.pid, process.born)));
        Ok(members)
    }

    /// The processor time of all of it so far, in ticks.
    pub(super) fn ticks(&mut self) -> io::Result<u64> {
        Ok(self.living()?.iter().map(|process| process.ticks).sum())
    }

    /// Without a list of processes only the process group can be signalled.
    fn end_group(&self, ask: Signal, grace: Duration) -> Toll {
        let Some(group) = self.kept.as_ref().and_then(|kept| Pid::from_raw(kept.child)) else {
            return Toll { ended: 0, survivors: 1 };
        };
        let start = Instant::now();
        let _ = kill_process_group(group, ask);
        while test_kill_process_group(group).is_ok() && start.elapsed() < grace {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let start = Instant::now();
        loop {
            self.group.iter().for_each(Group::kill);
            if self.is_gone(LOOKS) {
                return Toll::default();
            }
            if start.elapsed() >= PATIENCE {
                return Toll { ended: 0, survivors: 1 };
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn members(all: &[Process], kept: Option<&Kept>, known: &HashSet<(i32, u64)>, own: i32) -> Vec<Process> {
    let parents: HashMap<i32, i32> = all.iter().map(|process| (process.pid, process.parent)).collect();
    let mut protected = HashSet::from([0, 1]);
    let mut ancestor = Some(own);
    while let Some(pid) = ancestor
        && protected.insert(pid)
    {
        ancestor = parents.get(&pid).copied();
    }
    let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut open: Vec<&Process> = all
        .iter()
        .filter(|process| {
            process.marked
                || known.contains(&(process.pid, process.born))
                || kept.is_some_and(|kept| {
                    process.parent == kept.keeper
                        || cfg!(not(target_os = "linux")) && process.group == kept.child
                })
        })
        .collect();
    let mut found = HashMap::new();
    while let Some(process) = open.pop() {
        if protected.contains(&process.pid) || found.insert(process.pid, process).is_some() {
            continue;
        }
        open.extend(children.get(&process.pid).into_iter().flatten());
    }
    found.into_values().filter(|process| !process.zombie).cloned().collect()
}

/// These, with every member of a group marked. The list may have missed some; the kernel names all.
fn with_group(
    mut all: Vec<Process>,
    inside: &HashSet<i32>,
    look: impl Fn(i32) -> Option<Process>,
) -> Vec<Process> {
    all.iter_mut().for_each(|process| process.marked |= inside.contains(&process.pid));
    let listed: HashSet<i32> = all.iter().map(|process| process.pid).collect();
    let missed = inside.difference(&listed).filter_map(|pid| look(*pid));
    all.extend(missed.map(|process| Process { marked: true, ..process }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_the_group_that_the_list_missed_is_there() {
        let found = with_group(vec![process(1, 0), process(2, 0)], &HashSet::from([2, 3, 4]), |pid| {
            (pid == 3).then(|| process(3, 0))
        });
        let found: Vec<(i32, bool)> = found.iter().map(|process| (process.pid, process.marked)).collect();
        assert_eq!(found, [(1, false), (2, true), (3, true)], "one of them has ended");
    }

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, group: pid, born: 7, zombie: false, marked: false, ticks: 0 }
    }

    fn kept() -> Kept {
        Kept { keeper: 20, child: 30, childless: Arc::default() }
    }

    fn pids(members: Vec<Process>) -> Vec<i32> {
        let mut pids: Vec<i32> = members.into_iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn a_keeper_owns_what_descends_from_it_and_never_what_it_descends_from() {
        // 1 ─ 10 (engine) ─ 20 (keeper) ─ 30 ─ 40; 50 is a marked stray with a child; 60 is a stranger.
        let mut all = vec![
            process(1, 0),
            process(10, 1),
            process(20, 10),
            process(30, 20),
            process(40, 30),
            process(50, 1),
            process(51, 50),
            process(60, 1),
        ];
        all[5].marked = true;
        let kept = kept();
        let kept = Some(&kept);
        assert_eq!(pids(members(&all, kept, &HashSet::new(), 20)), [30, 40, 50, 51]);
        // Even marked, ancestors are safe, and so is everything that hangs on them alone.
        all[1].marked = true;
        all[0].marked = true;
        assert_eq!(pids(members(&all, kept, &HashSet::new(), 20)), [30, 40, 50, 51]);
        assert_eq!(pids(members(&all, None, &HashSet::new(), 20)), [50, 51]);
    }

    #[test]
    fn a_known_process_is_known_by_its_birth() {
        let all = [process(30, 1), process(31, 1)];
        let known = HashSet::from([(30, 7), (31, 6)]);
        assert_eq!(pids(members(&all, None, &known, 20)), [30]);
    }

    #[test]
    fn zombies_are_dead_but_their_children_are_not() {
        let mut all = vec![process(30, 20), process(31, 30)];
        all[0].zombie = true;
        assert_eq!(pids(members(&all, Some(&kept()), &HashSet::new(), 20)), [31]);
    }

    #[test]
    fn an_empty_list_is_believed_only_with_the_kernels_word() {
        let mut tree =
            Tree { marker: "none".to_owned(), kept: Some(kept()), group: None, known: HashSet::new() };
        if cfg!(target_os = "linux") {
            assert!(!tree.is_gone(LOOKS), "there are children that no look has found");
        }
        tree.kept.iter().for_each(|kept| kept.childless.store(true, Ordering::Release));
        assert!(tree.is_gone(LOOKS));
        // No keeper adopts the orphans of a job whose keeper is gone.
        tree.kept = None;
        assert!(!tree.is_gone(1) && tree.is_gone(LOOKS));
    }

    #[test]
    fn a_member_of_the_group_that_the_list_missed_is_alive() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = camino::Utf8Path::from_path(temp.path()).expect("UTF-8");
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
        std::fs::create_dir(dir.join("inner")).expect("a new folder");
        // In a group below the job's own, as the job may make them.
        std::fs::write(dir.join("inner/cgroup.procs"), format!("{}\n", other.id())).expect("a new file");
        let mut tree = Tree::marked("no such job", Some(Group::at(dir)));
        assert!(!tree.is_gone(LOOKS), "the group has a member");
        let found = pids(tree.living().expect("a list"));
        assert_eq!(found, [i32::try_from(other.id()).expect("a pid")]);
        other.kill().and_then(|()| other.wait()).expect("our own child");
    }
}
