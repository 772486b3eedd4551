//! Holders of the ledger who are not alive. Only a hold that is bound to a process can be seen to be over: a name alone
//! says nothing about whether somebody is at work.

use std::fs;

use piton_core::plan::RunId;
use piton_core::run::{Command, Holder, HolderProcess, Recorded, Status, Task};

use crate::clock;
use crate::journal::{CommandError, Journal, JournalError};

/// A process of this machine, where that can be told.
pub fn process(pid: u32) -> Option<HolderProcess> {
    Some(HolderProcess { pid, born: born(pid)?, boot: boot()?, space: space()? })
}

/// Whether it has surely ended. Of a process in another namespace nobody here knows, unless the machine was started anew.
pub fn is_gone(process: &HolderProcess) -> bool {
    let (Some(boot), Some(space)) = (boot(), space()) else { return false };
    process.boot != boot || process.space == space && born(process.pid) != Some(process.born)
}

/// Take tasks back whose holders have ended. A claim that waits for a commit stays: its holder has done its part.
pub fn release_gone(journal: &mut Journal, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
    let mut released = Vec::new();
    for task in journal.under_way(run)?.into_iter().filter(is_bound) {
        let Some(process) = task.progress.process.filter(is_gone) else { continue };
        let command = Command::HolderGone { task: task.id, fence: task.fence, process };
        match journal.command(run, &command, clock::now()) {
            Ok(events) => released.extend(events),
            // Somebody else was faster, or the task has gone on.
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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of its program stands in brackets, and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    let born = fields.nth(18)?.parse().ok()?;
    (!is_over).then_some(born)
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
        assert!(!is_gone(&elsewhere), "nobody here can see it");
    }
}
