//! The output of a job: its beginning and its end, whatever the child writes.
//!
//! It is kept in pieces, each named by where in the stream it starts: `output.log` is the beginning,
//! `output-<offset>.log` are the pieces of the end, the oldest deleted as new ones come. So a gap, from the
//! caps or from a full disk, is visible in the names, and readers need no index that could be torn.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};

use camino::{Utf8Path, Utf8PathBuf};

use super::Job;
use crate::disk;

const HEAD: &str = "output.log";

/// The writing side, used by the keeper alone. It never fails: what cannot be written is counted.
#[derive(Debug)]
pub(super) struct Log {
    dir: Utf8PathBuf,
    head_cap: u64,
    tail_cap: u64,
    /// Where in the stream the next byte stands.
    end: u64,
    lost: u64,
    current: Option<Piece>,
    /// The pieces of the end, oldest first, without the current one.
    tail: VecDeque<(Utf8PathBuf, u64)>,
    closed: bool,
}

#[derive(Debug)]
struct Piece {
    file: File,
    path: Utf8PathBuf,
    len: u64,
    cap: u64,
}

impl Log {
    pub(super) fn new(dir: &Utf8Path, head_cap: u64, tail_cap: u64) -> Log {
        Log {
            dir: dir.to_owned(),
            head_cap,
            tail_cap,
            end: 0,
            lost: 0,
            current: None,
            tail: VecDeque::new(),
            closed: false,
        }
    }

    pub(super) fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.closed {
            let piece = match self.piece() {
                Ok(Some(piece)) => piece,
                Ok(None) => {
                    self.end += bytes.len() as u64;
                    return;
                }
                Err(_) => return self.lose(bytes.len()),
            };
            let room = usize::try_from(piece.cap - piece.len).unwrap_or(usize::MAX).min(bytes.len());
            match piece.file.write(&bytes[..room]) {
                Ok(0) => return self.lose(bytes.len()),
                Ok(written) => {
                    piece.len += written as u64;
                    self.end += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.lose(bytes.len()),
            }
        }
    }

    /// Sync what is kept and refuse more output. Returns the bytes seen and the bytes lost.
    pub(super) fn close(&mut self) -> (u64, u64) {
        self.closed = true;
        self.retire();
        let kept = self.tail.iter().map(|(path, _)| path.clone()).chain([self.dir.join(HEAD)]);
        for path in kept {
            // A disk that refuses this has lost output at worst; the outcome still counts.
            let _ = File::open(path).and_then(|file| file.sync_all());
        }
        let _ = disk::sync_folder(&self.dir);
        (self.end, self.lost)
    }

    /// A piece with room; `None` if no more is to be kept.
    fn piece(&mut self) -> io::Result<Option<&mut Piece>> {
        if self.current.as_ref().is_some_and(|piece| piece.len >= piece.cap) {
            self.retire();
        }
        if self.current.is_none() {
            let is_head = self.end == 0 && self.head_cap > 0;
            let (name, cap) = if is_head {
                (HEAD.to_owned(), self.head_cap)
            } else {
                (format!("output-{}.log", self.end), self.tail_cap / 2)
            };
            if cap == 0 {
                return Ok(None);
            }
            if !is_head {
                self.forget_oldest();
            }
            let path = self.dir.join(name);
            let file = File::options().write(true).create(true).truncate(true).open(&path)?;
            self.current = Some(Piece { file, path, len: 0, cap });
        }
        Ok(self.current.as_mut())
    }

    /// The rest of a chunk is gone: the next byte that can be written starts a piece of its own.
    fn lose(&mut self, bytes: usize) {
        self.lost += bytes as u64;
        self.end += bytes as u64;
        self.retire();
    }

    fn retire(&mut self) {
        let Some(piece) = self.current.take() else { return };
        if piece.path.file_name() == Some(HEAD) {
        } else if piece.len == 0 {
            let _ = fs::remove_file(piece.path);
        } else {
            self.tail.push_back((piece.path, piece.len));
        }
    }

    /// Delete old pieces as long as the younger ones hold half of the cap: a new piece fills the other half.
    fn forget_oldest(&mut self) {
        let mut kept: u64 = self.tail.iter().map(|(_, len)| len).sum();
        while let Some((_, len)) = self.tail.front()
            && kept - len >= self.tail_cap / 2
        {
            kept -= len;
            if let Some((path, _)) = self.tail.pop_front() {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The reading side; works while the child still writes.
#[derive(Debug, Clone)]
pub struct Output {
    job: Job,
}

/// The output with what was left out of its middle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    pub head: Vec<u8>,
    /// How many bytes are missing between `head` and `tail`.
    pub omitted: u64,
    /// Empty if nothing is missing.
    pub tail: Vec<u8>,
}

/// A stretch of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it starts in the stream: later than asked for if what stood there was left out.
    pub at: u64,
    /// Empty if there is nothing (yet) at or after the place asked for.
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// Where to read on.
    pub fn next(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }
}

/// How much is read at once.
const STEP: usize = 256 * 1024;

impl Output {
    pub(super) fn new(job: &Job) -> Output {
        Output { job: job.clone() }
    }

    /// The file that holds its beginning, and all of it unless there is very much.
    pub fn beginning(&self) -> Utf8PathBuf {
        self.job.dir().join(HEAD)
    }

    /// Everything that is kept.
    pub fn read_all(&self) -> io::Result<Whole> {
        let end = self.end()?;
        let mut whole = Whole { head: Vec::new(), omitted: 0, tail: Vec::new() };
        let (mut at, mut gap) = (0, false);
        while at < end {
            let chunk = self.read_from(at, STEP)?;
            if chunk.bytes.is_empty() {
                break;
            }
            if chunk.at > at {
                gap = true;
                whole.tail.clear();
            }
            at = chunk.next();
            if gap { &mut whole.tail } else { &mut whole.head }.extend(chunk.bytes);
        }
        let written = self.job.outcome().ok().flatten().map_or(0, |outcome| outcome.output_bytes);
        whole.omitted = at.max(written) - (whole.head.len() + whole.tail.len()) as u64;
        Ok(whole)
    }

    /// The last `most` bytes, or fewer if something is missing in them.
    pub fn tail(&self, most: usize) -> io::Result<Vec<u8>> {
        let end = self.end()?;
        let mut at = end.saturating_sub(most as u64);
        let mut tail = Vec::new();
        while at < end {
            let chunk = self.read_from(at, STEP)?;
            if chunk.bytes.is_empty() {
                break;
            }
            if chunk.at > at {
                tail.clear();
            }
            at = chunk.next();
            tail.extend(chunk.bytes);
        }
        // The child may have written on meanwhile.
        tail.drain(..tail.len().saturating_sub(most));
        Ok(tail)
    }

    /// At most `most` bytes from `at` on. To follow a job, ask again from [`Chunk::next`].
    pub fn read_from(&self, at: u64, most: usize) -> io::Result<Chunk> {
        loop {
            let Some((start, path)) = self
                .pieces()?
                .into_iter()
                .find(|(start, len, _)| start + len > at)
                .map(|(start, _, path)| (start, path))
            else {
                return Ok(Chunk { at, bytes: Vec::new() });
            };
            let from = at.max(start);
            let mut file = match File::open(&path) {
                // Deleted since it was listed, for younger output: look again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                result => result?,
            };
            file.seek(SeekFrom::Start(from - start))?;
            let mut bytes = Vec::new();
            file.take(most as u64).read_to_end(&mut bytes)?;
            return Ok(Chunk { at: from, bytes });
        }
    }

    /// Where the stream ends so far.
    pub fn end(&self) -> io::Result<u64> {
        Ok(self.pieces()?.last().map_or(0, |(start, len, _)| start + len))
    }

    /// Start, length and path of every piece, in order.
    fn pieces(&self) -> io::Result<Vec<(u64, u64, Utf8PathBuf)>> {
        let mut pieces = Vec::new();
        let entries = match self.job.dir().read_dir_utf8() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pieces),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let start = match entry.file_name() {
                HEAD => Some(0),
                name => name
                    .strip_prefix("output-")
                    .and_then(|rest| rest.strip_suffix(".log"))
                    .and_then(|offset| offset.parse().ok()),
            };
            let Some(start) = start else { continue };
            match entry.metadata() {
                Ok(metadata) if metadata.is_file() => {
                    pieces.push((start, metadata.len(), entry.into_path()));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        pieces.sort();
        Ok(pieces)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Job) {
        let temp = tempfile::tempdir().unwrap();
        let job = Job::at(Utf8Path::from_path(temp.path()).unwrap());
        (temp, job)
    }

    fn stream(len: usize) -> Vec<u8> {
        (0..len).map(|i| b'a' + u8::try_from(i % 26).unwrap()).collect()
    }

    #[test]
    fn small_output_is_whole() {
        let (_temp, job) = folder();
        let mut log = Log::new(job.dir(), 10, 10);
        // Beyond the head, but nothing had to be deleted yet.
        log.append(&stream(14));
        assert_eq!(log.close(), (14, 0));
        assert_eq!(job.output().read_all().unwrap(), Whole { head: stream(14), omitted: 0, tail: vec![] });
    }

    #[test]
    fn head_and_tail_survive_any_chunking() {
        for len in [0, 1, 99, 100, 101, 149, 150, 151, 200, 201, 1000, 1024, 5000] {
            for chunk in [1, 7, 50, 4096] {
                let (_temp, job) = folder();
                let mut log = Log::new(job.dir(), 100, 100);
                let all = stream(len);
                for bytes in all.chunks(chunk) {
                    log.append(bytes);
                }
                assert_eq!(log.close(), (len as u64, 0));
                let whole = job.output().read_all().unwrap();
                assert!(all.starts_with(&whole.head) && all.ends_with(&whole.tail), "{len} {chunk}");
                assert_eq!(whole.omitted, (len - whole.head.len() - whole.tail.len()) as u64);
                assert!(whole.omitted == 0 || whole.tail.len() >= 50 && whole.head.len() == 100);
                assert!(whole.head.len() + whole.tail.len() <= 200);
                let tail = job.output().tail(30).unwrap();
                assert_eq!(tail, &all[len.saturating_sub(30)..]);
            }
        }
    }

    #[test]
    fn a_follower_sees_every_byte_of_a_slow_stream() {
        let (_temp, job) = folder();
        let mut log = Log::new(job.dir(), 10, 10);
        let (mut at, mut seen) = (0, Vec::new());
        for bytes in stream(200).chunks(3) {
            log.append(bytes);
            loop {
                let chunk = job.output().read_from(at, 2).unwrap();
                assert_eq!(chunk.at, at);
                if chunk.bytes.is_empty() {
                    break;
                }
                at = chunk.next();
                seen.extend(chunk.bytes);
            }
        }
        assert_eq!(seen, stream(200));
    }

    #[test]
    fn no_caps_keep_nothing() {
        let (_temp, job) = folder();
        let mut log = Log::new(job.dir(), 0, 0);
        log.append(&stream(5));
        assert_eq!(log.close(), (5, 0));
        assert_eq!(job.output().end().unwrap(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_loses_bytes_and_nothing_else() {
        let (_temp, job) = folder();
        let head = job.dir().join(HEAD);
        std::os::unix::fs::symlink("/dev/full", &head).unwrap();
        let mut log = Log::new(job.dir(), 10, 100);
        log.append(b"lost");
        log.append(b"found");
        assert_eq!(log.close(), (9, 4));
        fs::remove_file(&head).unwrap();
        assert_eq!(
            job.output().read_all().unwrap(),
            Whole { head: vec![], omitted: 4, tail: b"found".to_vec() }
        );
    }
}
