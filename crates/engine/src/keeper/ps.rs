//! Processes as `ps` shows them, where there is no `/proc`.
#![cfg_attr(
    target_os = "linux",
    expect(dead_code, reason = "Linux has its own half; the tests need `list` only")
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::MARKER;
use super::job::Ended;
use super::tree::Process;

/// Every process, with whether `PITON_JOB=<marker>` is in its environment.
pub(super) fn list(marker: &str) -> io::Result<Vec<Process>> {
    let (own, text) = ps(&["-axo", "pid=,ppid=,pgid=,stat=,lstart="])?;
    // macOS shows the environment behind the command, of our own processes at least.
    let (_, marked) = ps(&["-axwwE", "-o", "pid=,command="]).unwrap_or_default();
    let marked = carriers(&marked, marker);
    let mut all = parse(&text);
    // The lister is a child of ours too, and gone by now.
    all.retain(|process| process.pid != own);
    all.iter_mut().for_each(|process| process.marked = marked.contains(&process.pid));
    Ok(all)
}

/// Only control groups name single processes, and there are none here.
pub(super) fn look(_: i32) -> Option<Process> {
    None
}

/// Unknown here without a look at all processes.
pub(super) fn descendants(_: i32) -> Vec<Process> {
    Vec::new()
}

/// Identifies this boot of the machine: when its first process began.
pub(crate) fn boot() -> Option<String> {
    ps(&["-o", "lstart=", "-p", "1"]).ok().map(|(_, text)| text)
}

/// Assumed: only another run of `ps` could tell, and it takes too long.
pub(super) fn is_still(_: &Process) -> bool {
    true
}

pub(super) fn signal(process: &Process, signal: Signal) -> io::Result<()> {
    match Pid::from_raw(process.pid) {
        Some(pid) => Ok(kill_process(pid, signal)?),
        None => Ok(()),
    }
}

/// Only Linux lets a process adopt orphans; elsewhere they are found by group and marker.
pub(super) fn adopt_orphans() {}

/// Report the end of `child`, which is left a zombie: so its pid, which names the group, stays taken.
pub(super) fn reap(child: i32, mut tell: impl FnMut(Ended)) {
    let Some(pid) = Pid::from_raw(child) else { return };
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                return tell(match status.terminating_signal() {
                    Some(signal) => Ended::Signalled { signal },
                    None => Ended::Exited { code: status.exit_status().unwrap_or(-1) },
                });
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// What `ps` prints, and its own pid.
fn ps(args: &[&str]) -> io::Result<(i32, String)> {
    let mut command = Command::new("ps");
    command.args(args).env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn()?;
    let own = i32::try_from(child.id()).unwrap_or(0);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("ps: {}", output.status)));
    }
    Ok((own, String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn parse(text: &str) -> Vec<Process> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let pid = words.next()?.parse().ok()?;
            let parent = words.next()?.parse().ok()?;
            let group = words.next()?.parse().ok()?;
            let zombie = words.next()?.starts_with('Z');
            let mut born = DefaultHasher::new();
            words.for_each(|word| word.hash(&mut born));
            Some(Process { pid, parent, group, born: born.finish(), zombie, marked: false, ticks: 0 })
        })
        .collect()
}

fn carriers(text: &str, marker: &str) -> Vec<i32> {
    let wanted = format!(" {MARKER}={marker}");
    text.lines()
        .filter(|line| {
            // The marker must end where it ends: the folder of job 1 also begins that of job 10.
            line.match_indices(&wanted)
                .any(|(at, _)| line[at + wanted.len()..].chars().next().is_none_or(|next| next == ' '))
        })
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ps_prints() {
        let text = "    1     0     1 Ss   Mon Oct 13 10:00:00 2025\n  501     1   501 Z+   Mon Oct 13 10:00:01 2025\n";
        let all = parse(text);
        assert_eq!(all.len(), 2);
        assert_eq!((all[1].pid, all[1].parent, all[1].group, all[1].zombie), (501, 1, 501, true));
        assert_ne!(all[0].born, all[1].born);
    }

    #[test]
    fn finds_itself() {
        // Skipped where there is no `ps`, as in small containers.
        let Ok(all) = list("no such job") else { return };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(all.iter().any(|process| process.pid == own && !process.zombie));
        assert!(all.iter().all(|process| !process.marked));
    }

    #[test]
    fn finds_carriers_by_the_whole_marker() {
        let text =
            "  7 sh -c x HOME=/ PITON_JOB=/jobs/1 A=b\n  8 sh PITON_JOB=/jobs/10\n  9 sh PITON_JOB=/jobs/1\n";
        assert_eq!(carriers(text, "/jobs/1"), [7, 9]);
    }
}
