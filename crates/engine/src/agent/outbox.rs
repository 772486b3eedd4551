//! What an agent reports by command from inside its attempt. It needs no access to the journal: it appends to a file in
//! the attempt's folder, and the engine reads that file when the agent has ended.

use std::fs::OpenOptions;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::TaskId;
use piton_core::run::{Note, Report};
use serde::{Deserialize, Serialize};

use crate::keeper::Job;

/// The variable that names the file; where it is set, `piton report` writes there.
pub const OUTBOX: &str = "PITON_OUTBOX";
/// That file, in the folder of an agent's job.
pub(crate) const OUTBOX_FILE: &str = "outbox.jsonl";

/// The variable with a value that only this attempt knows: a message without it does not come from this attempt.
pub const TOKEN: &str = "PITON_TOKEN";

/// Larger files are rejected: no agent has that much to report.
const LARGEST: u64 = 1024 * 1024;
/// At most so many notes of one attempt are kept: more would be a log.
const MOST_NOTES: usize = 100;

/// The attempt that this process is a part of.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub task: TaskId,
    token: String,
    outbox: Utf8PathBuf,
}

/// Why the environment's description of an attempt is rejected.
#[derive(Debug, thiserror::Error)]
#[error("the environment names an attempt that this process is not part of ({OUTBOX}, {TOKEN}, PITON_TASK)")]
pub struct NoAttempt;

impl Attempt {
    /// As the environment says and the attempt's own folder confirms; `None` outside of attempts.
    pub fn around_us() -> Result<Option<Attempt>, NoAttempt> {
        let said = |name| std::env::var(name).map_err(|_| NoAttempt);
        let Ok(outbox) = said(OUTBOX) else { return Ok(None) };
        let outbox = Utf8PathBuf::from(outbox);
        let task = TaskId::new(&said("PITON_TASK")?).map_err(|_| NoAttempt)?;
        let spec =
            outbox.parent().and_then(|folder| Job::at(folder).spec().ok().flatten()).ok_or(NoAttempt)?;
        let given = |name| spec.env.get(name).map(String::as_str);
        let token = given(TOKEN).unwrap_or_default().to_owned();
        let genuine = token == said(TOKEN).unwrap_or_default() && given("PITON_TASK") == Some(task.as_str());
        if genuine { Ok(Some(Attempt { task, token, outbox })) } else { Err(NoAttempt) }
    }

    /// Whether it has said what came of its task.
    pub fn has_reported(&self) -> bool {
        take(&self.outbox, &self.token).message.is_some()
    }

    pub fn report(&self, message: Message) -> io::Result<()> {
        let Message { said, report } = message;
        self.leave(Left { said: Some(said), report: Some(report), ..Left::default() })
    }

    pub fn note(&self, note: Note) -> io::Result<()> {
        self.leave(Left { note: Some(note), ..Left::default() })
    }

    fn leave(&self, line: Left) -> io::Result<()> {
        Left { token: self.token.clone(), ..line }.append_to(&self.outbox)
    }
}

/// One line of the file: a message, or a note.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Left {
    #[serde(default)]
    token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<Said>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    report: Option<Report>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Note>,
}

/// What was found in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The last one: a later message replaces an earlier one.
    pub message: Option<Message>,
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub said: Said,
    #[serde(default)]
    pub report: Report,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Done,
    /// Everything the task asks for was done before the agent began.
    Already {
        reason: String,
    },
    Failed {
        reason: String,
    },
    Blocked {
        reason: String,
    },
}

impl Left {
    /// Append it, whole and durable: the agent may be killed right after.
    fn append_to(&self, outbox: &Utf8Path) -> io::Result<()> {
        let mut line = crate::secrets::redactor().bytes(&serde_json::to_vec(self)?);
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(outbox)?;
        file.write_all(&line)?;
        file.sync_all()
    }
}

/// What the attempt that knows the token left there. Lines that an agent wrote there by hand may hold anything.
pub fn take(outbox: &Utf8Path, token: &str) -> Taken {
    if std::fs::metadata(outbox).is_ok_and(|data| data.len() <= LARGEST) {
        return understood(&std::fs::read(outbox).unwrap_or_default(), token);
    }
    Taken::default()
}

#[doc(hidden)]
pub fn understood(bytes: &[u8], token: &str) -> Taken {
    let mut taken = Taken::default();
    for line in String::from_utf8_lossy(bytes).lines() {
        let Ok(left) = serde_json::from_str::<Left>(line) else { continue };
        match (left.said, left.note) {
            _ if left.token != token => {}
            (Some(said), _) => {
                taken.message = Some(Message { said, report: left.report.unwrap_or_default() });
            }
            (None, Some(note @ (Note::Guardrail { .. } | Note::Entry { .. }))) => taken.notes.push(note),
            // The other notes are the engine's own.
            (None, _) => {}
        }
    }
    taken.notes.truncate(MOST_NOTES);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_a_note_of_the_attempt_that_knows_the_token() {
        let temp = tempfile::tempdir().expect("a folder");
        let outbox = Utf8Path::from_path(temp.path()).expect("a path").join(OUTBOX_FILE);
        let task = TaskId::new("T1").expect("an id");
        let attempt = Attempt { task, token: "t".to_owned(), outbox: outbox.clone() };
        let message = Message { said: Said::Failed { reason: "no".to_owned() }, report: Report::default() };
        let note = Note::Guardrail { text: "heed".to_owned() };
        attempt.report(message.clone()).expect("written");
        attempt.note(note.clone()).expect("written");
        let lines = std::fs::read_to_string(&outbox).expect("written");
        let lines: Vec<&str> = lines.lines().collect();
        assert!(
            lines[0].starts_with(r#"{"token":"t","said":{"failed":{"reason":"no"}},"report":{"#),
            "{}",
            lines[0]
        );
        assert_eq!(lines[1], r#"{"token":"t","note":{"note":"guardrail","text":"heed"}}"#);
        assert_eq!(take(&outbox, "t"), Taken { message: Some(message), notes: vec![note] });
        assert_eq!(take(&outbox, "another"), Taken::default());
        assert_eq!(
            understood(br#"{"said":"done"}"#, "").message.map(|message| message.said),
            Some(Said::Done)
        );
    }
}
