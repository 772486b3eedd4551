//! Git processes that keep running as long as the engine, so that not every question and every change starts one.
//! They end when their standard input closes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Mutex;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::{Git, oid};
use super::error::GitError;

/// A git process that reads lines and answers with lines.
#[derive(Debug)]
struct Resident {
    child: Child,
    /// `None` only while it goes away.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Resident {
    fn start(git: &Git, common: &Utf8Path, args: &[&str]) -> Result<Resident, GitError> {
        // It runs in another folder: a search for git processes at work in the repository must not find this one.
        let git = git.at(common.ancestors().last().unwrap_or(common));
        let (child, input, output) = git.call(args).global(format!("--git-dir={common}")).converse()?;
        Ok(Resident { child, input: Some(input), output: BufReader::new(output) })
    }

    /// Send a text and read so many lines; `None` if the process has ended, and then a new one is needed.
    fn ask<const N: usize>(&mut self, text: &str) -> Option<[String; N]> {
        self.input.as_mut()?.write_all(text.as_bytes()).ok()?;
        let mut lines = [const { String::new() }; N];
        for line in &mut lines {
            self.output.read_line(line).ok()?;
            if line.pop() != Some('\n') {
                return None;
            }
        }
        Some(lines)
    }
}

impl Resident {
    /// End it. Returns how it was killed, if it was.
    fn end(mut self) -> Option<String> {
        drop(self.input.take());
        self.child.wait().ok().filter(|status| status.code().is_none()).map(|status| status.to_string())
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has nothing left to do.
        let _ = self.child.wait();
    }
}

/// Answers questions about refs and objects. It only reads.
///
/// Names are asked for in full: a ref, an object id, with a suffix such as `^{tree}`. What `HEAD` means depends
/// on the checkout, and this git has none.
#[derive(Debug)]
pub(super) struct Oracle {
    git: Git,
    common: Utf8PathBuf,
    talk: Mutex<Option<Resident>>,
}

impl Oracle {
    pub(super) fn new(git: &Git, common: &Utf8Path) -> Oracle {
        Oracle { git: git.clone(), common: common.to_owned(), talk: Mutex::new(None) }
    }

    /// The object that a name stands for now, if it stands for one.
    pub(super) fn ask(&self, name: &str) -> Result<Option<Oid>, GitError> {
        const ARGS: [&str; 2] = ["cat-file", "--batch-check=%(objectname)"];
        let unexpected = |answer: &str| GitError::Unexpected {
            args: format!("{} < {name}", ARGS.join(" ")),
            answer: answer.to_owned(),
        };
        if name.contains('\n') {
            return Ok(None);
        }
        let Ok(mut talk) = self.talk.lock() else { return Err(unexpected("")) };
        // It may have been killed since the last question: then ask a new one.
        for _ in 0..2 {
            let mut current = match talk.take() {
                Some(current) => current,
                None => Resident::start(&self.git, &self.common, &ARGS)?,
            };
            if let Some([answer]) = current.ask(&format!("{name}\n")) {
                *talk = Some(current);
                return match oid(&answer) {
                    Some(oid) => Ok(Some(oid)),
                    None if answer.starts_with(name) => Ok(None),
                    None => Err(unexpected(&answer)),
                };
            }
        }
        Err(unexpected(""))
    }
}

/// Changes refs, one transaction after the other.
#[derive(Debug, Default)]
pub(super) struct Scribe(Mutex<Option<Resident>>);

impl Scribe {
    /// Carry out lines of `update-ref --stdin`, all or none.
    pub(super) fn write(&self, git: &Git, common: &Utf8Path, lines: &str) -> Result<(), GitError> {
        const ARGS: [&str; 4] = ["update-ref", "-m", "piton", "--stdin"];
        if let Ok(mut talk) = self.0.lock() {
            let _writing = git.writing();
            let current = match talk.take() {
                Some(current) => Ok(current),
                None => Resident::start(git, common, &ARGS),
            };
            if let Ok(mut current) = current {
                if let Some([_, committed]) = current.ask(&format!("start\n{lines}commit\n"))
                    && committed == "commit: ok"
                {
                    *talk = Some(current);
                    return Ok(());
                }
                if let Some(status) = current.end() {
                    git.lose_one();
                    return Err(GitError::Killed { args: ARGS.join(" "), status });
                }
            }
        }
        // It ends at the first refusal, and its stderr is not read: a fresh process with the same input says why.
        git.call(ARGS).input(lines.to_owned()).run()
    }
}
