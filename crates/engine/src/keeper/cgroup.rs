//! A control group for one job, if the system lets us make one: no process in it can leave or be overlooked. Otherwise
//! the keeper follows the tree by descent and marker alone, which is enough except for a race.
//!
//! To put a process into a group takes the kernel as long as all other steps of starting a job together. So the job
//! does not wait for it: it is put into its group once it runs, with all processes that it has started by then.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Digest;

use super::Limits;

/// How often the removal of a group is tried, 10 ms apart: it fails while processes in it are still ending.
const REMOVAL_TRIES: u32 = 20;

#[derive(Debug, Clone)]
pub(super) struct Group {
    dir: Utf8PathBuf,
}

impl Group {
    /// Make a group for this job, below the group that this process is in. Needs a kernel that can kill a whole group
    /// (5.14), and the right to write there.
    pub(super) fn make(marker: &str) -> Option<Group> {
        let group =
            Group { dir: own()?.join(format!("piton-{}", Digest::of_bytes(marker.as_bytes()).short())) };
        match fs::create_dir(&group.dir) {
            Ok(()) => {}
            // Left by a keeper that was killed before it recorded the group.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
        let writable = |name: &str| fs::File::options().write(true).open(group.dir.join(name)).is_ok();
        if writable("cgroup.kill") && writable("cgroup.procs") {
            return Some(group);
        }
        group.remove();
        None
    }

    pub(super) fn at(dir: &Utf8Path) -> Group {
        Group { dir: dir.to_owned() }
    }

    pub(super) fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Limit all processes in it together, if the system lets us: it may not delegate these controllers.
    pub(super) fn limit(&self, limits: Limits) {
        for (name, most) in [("memory.max", limits.memory), ("pids.max", limits.processes)] {
            let file = most.and_then(|_| fs::File::options().write(true).open(self.dir.join(name)).ok());
            if let (Some(mut file), Some(most)) = (file, most) {
                // If that fails, the limits of each process still hold.
                let _ = write!(file, "{most}");
            }
        }
    }

    /// Put a process into it, and so everything it will ever start.
    pub(super) fn take(&self, pid: i32) -> io::Result<()> {
        fs::write(self.dir.join("cgroup.procs"), pid.to_string())
    }

    /// All processes in it, and in groups that the job has made below it.
    pub(super) fn pids(&self) -> HashSet<i32> {
        let listed = |dir: &Utf8PathBuf| fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        let pids = |list: String| list.lines().filter_map(|line| line.parse().ok()).collect::<Vec<i32>>();
        self.folders().iter().map(listed).flat_map(pids).collect()
    }

    /// Its folder, and those below it, outer ones first.
    fn folders(&self) -> Vec<Utf8PathBuf> {
        let mut folders = vec![self.dir.clone()];
        let mut next = 0;
        while let Some(dir) = folders.get(next) {
            let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
            let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let inner: Vec<Utf8PathBuf> = inner.map(camino::Utf8DirEntry::into_path).collect();
            folders.extend(inner);
            next += 1;
        }
        folders
    }

    /// End everything in it at once.
    pub(super) fn kill(&self) {
        // What is left after this is in the next list of processes.
        let _ = fs::write(self.dir.join("cgroup.kill"), "1");
    }

    pub(super) fn remove(&self) {
        for _ in 0..REMOVAL_TRIES {
            // Only the job makes groups in there, and it has ended.
            for inner in self.folders().iter().skip(1).rev() {
                let _ = fs::remove_dir(inner);
            }
            match fs::remove_dir(&self.dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => return,
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Whether jobs get groups of their own here.
pub fn groups_are_possible() -> bool {
    let probe = Group::make(&format!("probe {}", std::process::id()));
    probe.as_ref().map(Group::remove).is_some()
}

/// The folder of the group this process is in, of the hierarchy that can kill (version 2).
fn own() -> Option<Utf8PathBuf> {
    let path = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = path.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        (words.next()? == "cgroup2").then(|| place.to_owned())
    })?;
    Some(Utf8Path::new(&mount).join(path))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_bounded_as_far_as_it_has_the_controllers() {
        let temp = tempfile::tempdir().unwrap();
        let group = Group::at(Utf8Path::from_path(temp.path()).unwrap());
        fs::write(group.dir.join("pids.max"), "").unwrap();
        group.limit(Limits { memory: Some(1024), processes: Some(64) });
        assert_eq!(fs::read_to_string(group.dir.join("pids.max")).unwrap(), "64");
        assert!(!group.dir.join("memory.max").exists(), "this one is not ours to set");
    }

    #[test]
    fn a_group_is_removed_with_those_below_it() {
        let temp = tempfile::tempdir().unwrap();
        let group = Group::at(&Utf8Path::from_path(temp.path()).unwrap().join("piton-x"));
        fs::create_dir_all(group.dir.join("a/b")).unwrap();
        fs::create_dir_all(group.dir.join("c")).unwrap();
        group.remove();
        assert!(!group.dir.exists());
    }
}
