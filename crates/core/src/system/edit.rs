//! What an edit of a state file asks for, in terms that are the same for every system, and the commands that follow
//! from it. Each system's module decides which change means what.

use std::fmt;

use serde_json::{Map, Value};

use super::Addition;
use crate::plan::TaskId;
use crate::run::{Claim, Command, ContextUpdate, Holder, ImportedError, Note, Report};
use crate::time::Timestamp;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// None: about the run.
    pub task: Option<TaskId>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// It is worked on now.
    Start,
    /// It was abandoned, and is to be retried. `start`: it is worked on already.
    Retry {
        start: bool,
    },
    /// Its work is done, they say. Its checks have to be run before that is believed.
    ReportDone {
        report: Report,
    },
    Failed {
        reason: String,
        report: Report,
    },
    /// A person is needed.
    Blocked {
        reason: String,
        report: Report,
    },
    Skip,
    /// It is not to be done any more.
    Unwanted {
        reason: String,
    },
    /// It may have this many attempts in all.
    Raise {
        attempts: u32,
    },
    Abandon {
        reason: String,
    },
    Reset,
    /// A task that the plan does not have yet.
    Add {
        task: Box<Addition>,
    },
    /// Commits or advice, while its status stays.
    Report {
        report: Report,
    },
    /// Errors that were added to the file. They do not end an attempt by themselves.
    Errors {
        errors: Vec<ImportedError>,
    },
    /// An error that did not end the attempt, or an entry about the run.
    Noted {
        text: String,
    },
    Stop,
    /// The project's description was updated, they say. The commit may have to be looked up.
    Context {
        update: ContextUpdate,
        commit: Option<String>,
    },
    /// Fields that Piton does not use, to be merged into those carried so far.
    Carried {
        fields: Value,
    },
    /// What cannot be understood, or is not allowed.
    Rejected {
        what: String,
        why: String,
    },
}

impl What {
    /// Its report about work, if it has one.
    pub fn report(&self) -> Option<&Report> {
        match self {
            What::ReportDone { report }
            | What::Failed { report, .. }
            | What::Blocked { report, .. }
            | What::Report { report } => Some(report),
            _ => None,
        }
    }
}

/// The commands that follow from an edit of this file. Three kinds give none here. For a claim of done, the caller runs
/// the checks first and reports with their results. For an update of the context, it looks up the commit. A new task it
/// writes into the plan, and then extends the run by what it reads there.
pub fn commands(edit: &Edit, by: &str, file: &str) -> Vec<Command> {
    let by = by.to_owned();
    let note = |note: Note| vec![Command::Note { by: by.clone(), note }];
    let task = match (&edit.task, &edit.what) {
        (Some(task), _) => task.clone(),
        (None, What::Stop) => return vec![Command::RequestStop { by, now: false }],
        (None, What::Noted { text }) => {
            return note(Note::Entry { task: None, text: text.clone(), for_next: false });
        }
        (None, What::Carried { fields }) => {
            return note(Note::Carried { file: file.to_owned(), fields: fields.clone() });
        }
        (None, What::Context { update, commit }) => {
            let resolved = update.commit.is_some() || commit.is_none();
            return resolved.then(|| Command::ContextUpdated(Box::new(update.clone()))).into_iter().collect();
        }
        (None, _) => return note(refused(edit, file)),
    };
    let report = |claim: Claim, report: &Report| {
        let (task, by, report) = (task.clone(), by.clone(), Box::new(report.clone()));
        vec![Command::Report { task, by, fence: None, claim, report }]
    };
    let start = || Command::Start { task: task.clone(), holder: Holder::Ledger(by.clone()) };
    match &edit.what {
        What::Start => vec![start()],
        What::Retry { start: begin } => {
            let retry = Command::Retry { task: task.clone(), by: by.clone() };
            if *begin { vec![retry, start()] } else { vec![retry] }
        }
        What::ReportDone { .. } | What::Add { .. } => Vec::new(),
        What::Failed { reason, report: told } => report(Claim::Failed { reason: reason.clone() }, told),
        What::Blocked { reason, report: told } => report(Claim::Blocked { reason: reason.clone() }, told),
        What::Skip => vec![Command::Skip { task, by, reason: format!("skipped in {file}") }],
        What::Unwanted { reason } => vec![Command::Skip { task, by, reason: reason.clone() }],
        What::Raise { attempts } => vec![Command::Raise { task, by, attempts: *attempts }],
        What::Abandon { reason } => vec![Command::Abandon { task, by, reason: reason.clone() }],
        What::Reset => vec![Command::Reset { task, by }],
        What::Report { report } => note(Note::Told { task, report: Box::new(report.clone()) }),
        What::Noted { text } => note(Note::Entry { task: Some(task), text: text.clone(), for_next: false }),
        What::Errors { errors } if errors.is_empty() => Vec::new(),
        What::Errors { errors } => note(Note::Errors { task, errors: errors.clone() }),
        What::Stop | What::Context { .. } | What::Carried { .. } | What::Rejected { .. } => {
            note(refused(edit, file))
        }
    }
}

fn refused(edit: &Edit, file: &str) -> Note {
    let (what, reason) = match &edit.what {
        What::Rejected { what, why } => (what.clone(), why.clone()),
        _ => (edit.to_string(), "it does not belong to a task".to_owned()),
    };
    Note::EditRefused { file: file.to_owned(), edit: what, reason, task: edit.task.clone() }
}

/// In one line, for the log.
impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.task, &self.what) {
            // It names its place itself.
            (None, _) | (_, What::Rejected { .. }) => {}
            (Some(task), _) => write!(f, "{task}: ")?,
        }
        match &self.what {
            What::Start => f.write_str("in progress"),
            What::Retry { .. } => f.write_str("retry"),
            What::ReportDone { .. } => f.write_str("reported done"),
            What::Failed { reason, .. } => write!(f, "failed: {reason}"),
            What::Blocked { reason, .. } => write!(f, "blocked: {reason}"),
            What::Skip => f.write_str("skipped"),
            What::Unwanted { reason } => write!(f, "skipped: {reason}"),
            What::Raise { attempts } => write!(f, "allowed {attempts} attempts"),
            What::Abandon { reason } => write!(f, "abandoned: {reason}"),
            What::Reset => f.write_str("reset"),
            What::Add { task, .. } => write!(f, "added: {}", task.title),
            What::Report { report } => {
                let hashes: Vec<&str> = report.commits.iter().map(|commit| commit.hash.as_str()).collect();
                write!(f, "reported: {}", format!("{} {}", hashes.join(" "), report.feedback).trim())
            }
            What::Noted { text } => write!(f, "noted: {text}"),
            // The errors themselves are printed where they are noted.
            What::Errors { errors } if errors.len() == 1 => f.write_str("1 error noted"),
            What::Errors { errors } => write!(f, "{} errors noted", errors.len()),
            What::Stop => f.write_str("stop"),
            What::Context { commit, .. } => {
                write!(f, "context updated: {}", commit.as_deref().unwrap_or("skipped"))
            }
            What::Carried { fields } => write!(f, "fields of others: {fields}"),
            What::Rejected { what, why } => write!(f, "{what}: {why}"),
        }
    }
}

/// An error as a file has it, an object or text.
pub(super) fn past_error(entry: &Value) -> ImportedError {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let at = entry["timestamp"].as_str().map(str::trim);
    ImportedError {
        attempt: entry["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0),
        kind: text("type"),
        step: text("step"),
        message: entry["message"].as_str().or(entry.as_str()).unwrap_or_default().to_owned(),
        details: text("details"),
        // What names no zone is in UTC, as the recipes write it.
        at: at.and_then(|at| Timestamp::parse(at).or_else(|| Timestamp::parse(&format!("{at}Z")))),
    }
}

/// What must be laid over `before` to get `after`: a null takes a field away.
pub(super) fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, new) in after {
        match (before.get(key), new) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => merge_under(&mut patch, key, changes(old, new)),
            _ => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    patch
}

pub(super) fn merge(under: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

pub(super) fn merge_under(fields: &mut Map<String, Value>, key: &str, inner: Map<String, Value>) {
    if !inner.is_empty() {
        merge(fields, [(key.to_owned(), Value::Object(inner))].into_iter().collect());
    }
}
