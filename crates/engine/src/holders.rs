//! Ledger holders whose process has ended. Only a hold that is bound to a process can be seen to be over: a name alone
//! does not say whether its owner is at work.

use std::fs;

use piton_core::plan::RunId;
use piton_core::run::{Command, Holder, HolderProcess, Recorded, Status, Task};

use crate::clock;
use crate::journal::{CommandError, Journal, JournalError};

/// A process of this machine, if the system describes it.
pub fn process(pid: u32) -> Option<HolderProcess> {
    Some(HolderProcess { pid, born: born(pid)?, boot: boot()?, space: space()? })
}

/// Whether it has surely ended. A process in another PID namespace cannot be seen from here: it counts as alive, unless
/// the machine was restarted since.
pub fn is_gone(process: &HolderProcess) -> bool {
    let (Some(boot), Some(space)) = (boot(), space()) else { return false };
    process.boot != boot || process.space == space && born(process.pid) != Some(process.born)
}

/// The client of this name that this process works for. The hold of a client ends with the client's process.
pub fn client_around(name: &str) -> Option<HolderProcess> {
    process(above_us().into_iter().find(|pid| is_called(*pid, name))?)
}

/// Whether the holder is an ancestor of this process, or was started by one, as clients start their servers.
pub fn is_of_our_client(holder: &HolderProcess) -> bool {
    let is_it = process(holder.pid).as_ref() == Some(holder);
    let above = above_us();
    is_it && [Some(holder.pid), parent(holder.pid)].into_iter().flatten().any(|pid| above.contains(&pid))
}

/// The ancestors of this process, the nearest first.
fn above_us() -> Vec<u32> {
    std::iter::successors(parent(std::process::id()), |pid| parent(*pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

/// By its own name, by its program, or by the script that its program runs.
fn is_called(pid: u32, name: &str) -> bool {
    let own = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).take(2).map(String::from_utf8_lossy);
    let mut words = words.map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
    own.trim() == name || words.any(|word| word == name)
}

/// Release tasks whose holders have ended. A claim that waits for a commit stays: its holder has done its part.
pub fn release_gone(journal: &mut Journal, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
    let mut released = Vec::new();
    for task in journal.under_way(run)?.into_iter().filter(is_bound) {
        let Some(process) = task.progress.process.clone().filter(is_gone) else { continue };
        let command = Command::HolderGone { task: task.id, fence: task.fence, process };
        match journal.command(run, &command, clock::now()) {
            Ok(events) => released.extend(events),
            // Another process was faster, or the task has changed since.
            Err(CommandError::Refused(_)) => {}
            Err(CommandError::Journal(error)) => return Err(error),
        }
    }
    Ok(released)
}

/// Whether a task is held as long as a process lives.
pub fn is_bound(task: &Task) -> bool {
    let held = task.decided == Status::InProgress && matches!(task.holder, Some(Holder::Ledger(_)));
    held && task.progress.process.is_some() && task.progress.uncommitted.is_empty()
}

/// When a process began, if it is there and has not ended.
fn born(pid: u32) -> Option<u64> {
    let stat = stat(pid)?;
    let mut fields = stat.split_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    let born = fields.nth(18)?.parse().ok()?;
    (!is_over).then_some(born)
}

/// What the kernel tells of a process, from its state on.
fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of its program stands in brackets, and may hold anything.
    Some(stat.rsplit_once(')')?.1.to_owned())
}

fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

fn space() -> Option<String> {
    Some(fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let Some(own) = process(std::process::id()) else { return };
        assert!(!is_gone(&own));
        assert!(is_gone(&HolderProcess { born: own.born + 1, ..own.clone() }), "a later one with its number");
        assert!(is_gone(&HolderProcess { boot: "before".to_owned(), ..own.clone() }), "the machine was off");
        let elsewhere = HolderProcess { space: "pid:[1]".to_owned(), born: 1, ..own };
        assert!(!is_gone(&elsewhere), "it cannot be seen from here");
    }
}
