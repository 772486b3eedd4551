//! One run of a program: within a time, a size, and the life of this process.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use piton_core::time::Span;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::lock::Lock;

/// How soon a request to stop is seen. People do not notice it, and nobody else waits for it.
const GLANCE: Duration = Duration::from_millis(50);
/// How long output is read after the program itself has ended: something that it started may hold the pipe open.
const REST: Duration = Duration::from_secs(2);
/// Of errors, more than the beginning says nothing.
const ERRORS: usize = 64 * 1024;

pub(super) struct Process<'a> {
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    pub(super) text: Option<&'a str>,
    pub(super) folder: &'a Utf8Path,
    /// Variables that are set, or removed.
    pub(super) env: Vec<(&'a str, Option<String>)>,
    pub(super) guard: Option<&'a Lock>,
    pub(super) patience: Span,
    pub(super) most: usize,
    pub(super) stopped: &'a AtomicBool,
}

pub(super) enum End {
    Exited { code: i32, stdout: Vec<u8>, stderr: Vec<u8> },
    NotInstalled,
    NotStarted(io::Error),
    TimedOut,
    Stopped,
    TooMuchOutput,
}

/// What its threads tell.
enum News {
    Ended,
    /// One of its outputs has ended.
    Closed,
    /// More was printed than is wanted.
    Flood,
}

impl Process<'_> {
    pub(super) fn run(&self) -> End {
        if self.stopped.load(Ordering::SeqCst) {
            return End::Stopped;
        }
        let mut child = match self.start() {
            Ok(child) => child,
            // A missing folder gives the same error as a missing program.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.folder.is_dir() => {
                return End::NotInstalled;
            }
            Err(error) => return End::NotStarted(error),
        };
        let end = self.follow(&mut child);
        // Nothing of it stays behind. It is not reaped yet, so the group is its own.
        kill_group(&child);
        match (end, child.wait()) {
            (Ok((stdout, stderr)), Ok(status)) => {
                // A shell's way to say which signal ended it.
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                End::Exited { code, stdout, stderr }
            }
            (Ok(_), Err(error)) => End::NotStarted(error),
            (Err(end), _) => end,
        }
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(self.program);
        command.args(self.args).current_dir(self.folder).process_group(0);
        for (key, value) in &self.env {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        let input = match (self.text, self.guard) {
            (Some(_), _) => Stdio::piped(),
            (None, Some(guard)) => Stdio::from(guard.share()?),
            (None, None) => Stdio::null(),
        };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Give it its text and read what it prints, until it has ended.
    fn follow(&self, child: &mut Child) -> Result<(Vec<u8>, Vec<u8>), End> {
        let (tell, news) = channel();
        // The threads are not joined: a process that left the group may hold a pipe open for as long as it likes.
        if let (Some(mut input), Some(text)) = (child.stdin.take(), self.text) {
            let text = text.to_owned();
            // A program that does not read its input says why when it ends.
            thread::spawn(move || drop(input.write_all(text.as_bytes())));
        }
        let (stdout, stderr) = (Text::default(), Text::default());
        if let Some(output) = child.stdout.take() {
            let (text, most, tell) = (Arc::clone(&stdout), self.most, tell.clone());
            thread::spawn(move || {
                let all = read(output, &text, most);
                drop(tell.send(if all { News::Closed } else { News::Flood }));
            });
        }
        if let Some(mut errors) = child.stderr.take() {
            let (text, tell) = (Arc::clone(&stderr), tell.clone());
            thread::spawn(move || {
                read(&mut errors, &text, ERRORS);
                // The rest is thrown away, so that the program does not wait for us.
                let _ = io::copy(&mut errors, &mut io::sink());
                drop(tell.send(News::Closed));
            });
        }
        watch(child, tell);
        self.gather(child, &news)?;
        let taken = |text: &Text| std::mem::take(&mut *locked(text));
        Ok((taken(&stdout), taken(&stderr)))
    }

    fn gather(&self, child: &Child, news: &Receiver<News>) -> Result<(), End> {
        let mut deadline = Instant::now() + Duration::from_millis(self.patience.0);
        let (mut open, mut ended) = (2, false);
        while !ended || open > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            match news.recv_timeout(left.min(GLANCE)) {
                Ok(News::Closed) => open -= 1,
                Ok(News::Flood) => return Err(End::TooMuchOutput),
                Ok(News::Ended) => {
                    // What it left running may hold the pipes open.
                    kill_group(child);
                    (ended, deadline) = (true, Instant::now() + REST);
                }
                Err(RecvTimeoutError::Timeout) if self.stopped.load(Ordering::SeqCst) => {
                    return Err(End::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() && !ended => return Err(End::TimedOut),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => break,
                Err(RecvTimeoutError::Timeout) => {}
                // All threads have told what they had to tell.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }
}

/// What has been read so far.
type Text = Arc<Mutex<Vec<u8>>>;

fn locked(text: &Text) -> MutexGuard<'_, Vec<u8>> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Report its end, and leave it a zombie, so that its id stays taken.
fn watch(child: &Child, tell: Sender<News>) {
    let Some(pid) = pid(child) else { return };
    thread::spawn(move || {
        let gone = |error| error != rustix::io::Errno::INTR;
        let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while match waitid(WaitId::Pid(pid), exited) {
            Ok(status) => status.is_none(),
            Err(error) => !gone(error),
        } {}
        drop(tell.send(News::Ended));
    });
}

fn kill_group(child: &Child) {
    if let Some(pid) = pid(child) {
        // There may be nobody left.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Read at most so many bytes into `text`. Returns whether that was all.
fn read(mut source: impl Read, text: &Text, most: usize) -> bool {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return true,
            Ok(length) => {
                let mut text = locked(text);
                let fits = length.min(most - text.len());
                text.extend_from_slice(&piece[..fits]);
                if fits < length {
                    return false;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What was read before an error is all that there is.
            Err(_) => return true,
        }
    }
}

/// Wait for a time, or until the flag is set.
pub(super) fn wait(span: Span, stopped: &AtomicBool) {
    let deadline = Instant::now() + Duration::from_millis(span.0);
    while !stopped.load(Ordering::SeqCst) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(GLANCE));
    }
}
