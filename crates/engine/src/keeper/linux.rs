//! Processes as Linux shows them in `/proc`.

use std::fs;
use std::io;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper, wait,
};

use super::MARKER;
use super::job::Ended;
use super::tree::Process;

/// Every process that can be seen, with whether `PITON_JOB=<marker>` is in its environment.
pub(super) fn list(marker: &str) -> io::Result<Vec<Process>> {
    // A `/proc` of another pid namespace lists other processes under our numbers: worse than none.
    let own = fs::read_link("/proc/self")?;
    if own.to_str().and_then(|pid| pid.parse().ok()) != Some(getpid().as_raw_nonzero().get()) {
        return Err(io::Error::other("/proc belongs to another pid namespace"));
    }
    let wanted = format!("{MARKER}={marker}");
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end, and its files with it, at any line here.
        let Some(mut process) = stat(pid) else { continue };
        process.marked = fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes()));
        all.push(process);
    }
    Ok(all)
}

/// One process, if it is there.
pub(super) fn look(pid: i32) -> Option<Process> {
    stat(pid)
}

/// Everything that descends from this process, parents first, without a look at all processes. Empty if the kernel does
/// not list children.
pub(super) fn descendants(own: i32) -> Vec<Process> {
    let mut found: Vec<Process> = children(own);
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let more = children(process.pid);
        found.extend(more);
        next += 1;
    }
    found
}

/// The children of a process, whichever of its threads has them.
fn children(of: i32) -> Vec<Process> {
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
    let listed =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<i32> = listed
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .collect();
    // A zombie may have been a parent; its children are ours by now, and are found as ours.
    pids.into_iter().filter_map(stat).filter(|process| process.parent == of && !process.zombie).collect()
}

/// Identifies this boot of the machine.
pub(crate) fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

/// Send a signal to this very process, not to a later one with its pid.
pub(super) fn signal(process: &Process, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(process.pid) else { return Ok(()) };
    // Before Linux 5.3, or under a strict seccomp filter, there is no handle on a process.
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok();
    if !is_still(process) {
        return Ok(());
    }
    match handle {
        Some(handle) => pidfd_send_signal(handle, signal)?,
        None => kill_process(pid, signal)?,
    }
    Ok(())
}

/// Whether its pid does not belong to a later process.
pub(super) fn is_still(process: &Process) -> bool {
    stat(process.pid).is_some_and(|now| now.born == process.born)
}

/// Orphans of the tree become this process's children.
pub(super) fn adopt_orphans() {
    // Without it, orphans are still found by their marker.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Reap every child until there is none, and report the end of `child`.
pub(super) fn reap(child: i32, mut tell: impl FnMut(Ended)) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == child => {
                let signal = status.terminating_signal();
                tell(match signal {
                    Some(signal) => Ended::Signalled { signal },
                    None => Ended::Exited { code: status.exit_status().unwrap_or(-1) },
                });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No child is left, so no process can leave us an orphan any more.
            Err(_) => return,
        }
    }
}

/// Parse `/proc/PID/stat`. The name in it may hold anything, `)` and newlines too, so split after the last.
fn stat(pid: i32) -> Option<Process> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Group was the fifth field; the 14th to 17th are the times, own and of children, the 20th counts the threads, the
    // 22nd is the start time.
    let mut ticks = 0_u64;
    for skipped in [8, 0, 0, 0] {
        ticks = ticks.saturating_add(fields.nth(skipped)?.parse().ok()?);
    }
    let threads: u32 = fields.nth(2)?.parse().ok()?;
    let born = fields.nth(1)?.parse().ok()?;
    // A first thread that ended before the others looks like a zombie, but the process lives.
    let zombie = matches!(state, "Z" | "X") && threads <= 1;
    Some(Process { pid, parent, group, born, zombie, marked: false, ticks })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn finds_itself() {
        let own = getpid().as_raw_nonzero().get();
        let all = list("no such job").unwrap();
        let process = all.iter().find(|process| process.pid == own).unwrap();
        assert_eq!(process.parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        assert_eq!(process.group, rustix::process::getpgrp().as_raw_nonzero().get());
        assert!(process.born > 0 && !process.zombie && !process.marked);
        assert!(all.iter().all(|process| !process.marked));
    }
}
