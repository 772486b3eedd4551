//! What can be read about a stopped process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use nix::libc;

use super::Who;
use super::calls::Place;

/// The process that a thread belongs to.
pub(super) fn of_thread(thread: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|text| text.trim().parse().ok()).unwrap_or(thread)
}

/// By its environment and its command line.
pub(super) fn who(pid: i32) -> Who {
    let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let line = read("cmdline");
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    if read("environ").split(|byte| *byte == 0).any(|entry| entry.starts_with(b"PITON_JOB=")) {
        return Who::Job;
    }
    match (name, words.first().map(AsRef::as_ref)) {
        ("piton", Some("run")) => Who::Engine,
        ("piton", Some("keeper")) => Who::Keeper,
        ("git", _) => Who::Git(subcommand(words.iter().map(AsRef::as_ref))),
        (_, first) => match name.strip_prefix("git-") {
            Some(command) => Who::Git(command.to_owned()),
            None => Who::Other(format!("{name} {}", first.unwrap_or_default()).trim_end().to_owned()),
        },
    }
}

/// Options may come first, two of them with a value of their own.
fn subcommand<'a>(mut words: impl Iterator<Item = &'a str>) -> String {
    while let Some(word) = words.next() {
        match word {
            "-c" | "-C" => drop(words.next()),
            option if option.starts_with('-') => {}
            command => return command.to_owned(),
        }
    }
    String::new()
}

/// The path that the arguments of a call name.
pub(super) fn path(thread: i32, args: &[u64; 6], place: Place) -> String {
    match place {
        Place::Descriptor(at) => link(thread, &format!("fd/{}", descriptor(args[at]))),
        Place::Path(at) => absolute(thread, libc::AT_FDCWD, &text(thread, args[at])),
        Place::At(folder, at) => absolute(thread, descriptor(args[folder]), &text(thread, args[at])),
    }
}

/// The kernel looks at the lower half of the register alone.
#[expect(clippy::cast_possible_truncation, reason = "that is what it means")]
pub(super) fn descriptor(register: u64) -> i32 {
    register as i32
}

fn absolute(thread: i32, folder: i32, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let folder =
        if folder == libc::AT_FDCWD { link(thread, "cwd") } else { link(thread, &format!("fd/{folder}")) };
    format!("{folder}/{path}")
}

fn link(thread: i32, name: &str) -> String {
    let target = fs::read_link(format!("/proc/{thread}/{name}")).unwrap_or_default();
    target.to_string_lossy().into_owned()
}

/// A text in its memory, up to the NUL.
fn text(thread: i32, address: u64) -> String {
    let mut bytes = vec![0; usize::try_from(libc::PATH_MAX).expect("a small number")];
    let mut read = 0;
    if let Ok(memory) = File::open(format!("/proc/{thread}/mem")) {
        // The memory may end before the longest possible path does.
        while let Ok(more @ 1..) = memory.read_at(&mut bytes[read..], address + read as u64) {
            read += more;
            if bytes[..read].contains(&0) {
                break;
            }
        }
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subcommand_comes_after_the_options() {
        let words = ["-c", "core.fsync=all", "--no-pager", "-C", "/a", "worktree", "add", "-b"];
        assert_eq!(subcommand(words.into_iter()), "worktree");
        assert_eq!(subcommand(["--version"].into_iter()), "");
    }
}
