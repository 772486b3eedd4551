//! The output of a job in pieces, in words where its client has a stream. A page asks for what comes after the piece that it
//! has; what the reader has to remember until then is kept here, and made again from the beginning where it is not.

use std::collections::VecDeque;
use std::sync::Mutex;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::Adapter;
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use piton_core::view::{Description, Lines, Stream, Tone};
use piton_engine::clock;
use piton_engine::keeper::Job;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::serve::live::tone;

/// Bytes of output in one answer.
const PIECE: usize = 256 * 1024;
/// Readers that are remembered: more than people look at.
const REMEMBERED: usize = 64;

/// What was read of one job so far.
#[derive(Clone, Debug)]
struct Reader {
    job: Utf8PathBuf,
    at: u64,
    /// Lines that were answered.
    lines_before: u64,
    lines: Lines,
    stream: Option<Stream>,
}

/// Readers of pages that will ask for more.
#[derive(Debug, Default)]
pub(super) struct Readers(Mutex<VecDeque<Reader>>);

impl Readers {
    /// The piece of a job's output that begins at `from`.
    pub(super) fn read(&self, path: &Utf8Path, adapter: Adapter, from: u64) -> Outcome<Value> {
        let job = Job::at(path);
        // Asked for before the output is: what a job has written when it ends is then all of it.
        let outcome = job.outcome().map_err(|error| Failure::new(error.to_string()))?;
        let is_over = outcome.is_some();
        let now = outcome.map_or_else(clock::now, |outcome| outcome.ended_at());
        let mut reader = self.take(path, from).unwrap_or_else(|| Reader::new(path, adapter));
        let mut told = Vec::new();
        loop {
            let before = reader.at;
            let is_wanted = before >= from;
            let limit =
                if is_wanted { PIECE } else { usize::try_from(from - before).unwrap_or(PIECE).min(PIECE) };
            let chunk = job.output().read_from(before, limit);
            let chunk = chunk.map_err(Failure::io(format!("cannot read the output in {path}")))?;
            let mut piece = reader.take_in(chunk.at, &chunk.bytes, now);
            let is_end =
                chunk.bytes.is_empty() || is_over && job.output().end().is_ok_and(|end| end <= reader.at);
            if is_end && is_over {
                piece.extend(reader.end(now));
            }
            if is_wanted || is_end {
                told.append(&mut piece);
            } else {
                reader.lines_before += piece.len() as u64;
            }
            if is_wanted || is_end {
                let first = reader.lines_before;
                reader.lines_before += told.len() as u64;
                let next = reader.at;
                self.keep(reader);
                let lines: Vec<Value> = told.iter().map(|line| json!([tone(line.tone), line.text])).collect();
                return Ok(json!({
                    "from": from, "next": next, "first_line": first, "lines": lines,
                    "over": is_end && is_over,
                }));
            }
        }
    }

    fn take(&self, path: &Utf8Path, from: u64) -> Option<Reader> {
        let readers = self.0.lock().ok()?;
        let found = readers.iter().position(|reader| reader.at == from && reader.job == path)?;
        // Another page may be at the same place.
        readers.get(found).cloned()
    }

    fn keep(&self, reader: Reader) {
        let Ok(mut readers) = self.0.lock() else { return };
        readers.retain(|other| other.at != reader.at || other.job != reader.job);
        readers.push_back(reader);
        if readers.len() > REMEMBERED {
            readers.pop_front();
        }
    }
}

impl Reader {
    fn new(path: &Utf8Path, adapter: Adapter) -> Reader {
        let stream = Stream::of(adapter);
        Reader { job: path.to_owned(), at: 0, lines_before: 0, lines: Lines::default(), stream }
    }

    fn take_in(&mut self, at: u64, bytes: &[u8], now: Timestamp) -> Vec<Description> {
        let mut told = Vec::new();
        if at > self.at {
            self.lines.tear();
            let text = format!("… {} bytes left out …", at - self.at);
            told.push(Description { tone: Tone::Warning, text });
        }
        self.at = at + bytes.len() as u64;
        for line in self.lines.take(bytes) {
            self.hear(&line, now, &mut told);
        }
        told
    }

    fn hear(&mut self, line: &str, now: Timestamp, told: &mut Vec<Description>) {
        match &mut self.stream {
            Some(stream) => told.extend(stream.hear(line, now)),
            None => told.push(Description { tone: Tone::Plain, text: clean_text(line.as_bytes()) }),
        }
    }

    fn end(&mut self, now: Timestamp) -> Vec<Description> {
        let mut told = Vec::new();
        if let Some(line) = self.lines.last() {
            self.hear(&line, now, &mut told);
        }
        // Said once: what is asked for after the end has nothing more to say.
        if let Some(mut stream) = self.stream.take() {
            told.extend(stream.close());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(answer: &Value) -> Vec<String> {
        let lines = answer["lines"].as_array().expect("lines");
        lines.iter().map(|line| line[1].as_str().expect("text").to_owned()).collect()
    }

    #[test]
    fn output_in_pieces_is_the_output_also_for_a_reader_that_was_forgotten() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = Utf8Path::from_path(temp.path()).expect("UTF-8");
        let whole: String = (0..40_000).map(|n| format!("line {n} of the output\n")).collect();
        std::fs::write(folder.join("output.log"), whole.as_bytes()).expect("a file");
        let (mut from, mut all, mut numbers) = (0, Vec::new(), Vec::new());
        for round in 0.. {
            // Every second time the readers are forgotten.
            let readers = Readers::default();
            if round % 2 == 0 && round > 0 {
                drop(readers.read(folder, Adapter::default(), 0).expect("output"));
            }
            let answer = readers.read(folder, Adapter::default(), from).expect("output");
            numbers.push((answer["first_line"].as_u64().expect("a number"), all.len() as u64));
            all.extend(lines(&answer));
            let next = answer["next"].as_u64().expect("a place");
            if next == from {
                break;
            }
            from = next;
        }
        assert!(numbers.len() > 3 && numbers.iter().all(|(told, counted)| told == counted), "{numbers:?}");
        let expected: Vec<&str> = whole.lines().collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_missing_is_said_and_control_characters_are_not_shown() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = Utf8Path::from_path(temp.path()).expect("UTF-8");
        std::fs::write(folder.join("output.log"), b"one\ntorn").expect("a file");
        std::fs::write(folder.join("output-100.log"), b"half\n\x1b[31mthree\n").expect("a file");
        let readers = Readers::default();
        let first = readers.read(folder, Adapter::default(), 0).expect("output");
        let second = readers.read(folder, Adapter::default(), 8).expect("output");
        assert_eq!([lines(&first), lines(&second)].concat(), ["one", "… 92 bytes left out …", "three"]);
    }
}
