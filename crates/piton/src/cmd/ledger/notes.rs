//! What is written down and changes no task: entries of the journal, and guardrails.

use camino::Utf8Path;
use clap::{Args, Subcommand};
use piton_core::chronicle::Said;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Command, Note};
use piton_core::system::kit::guardrails::{self, Guardrail as Lesson};
use piton_core::terminal::clean_text;
use piton_engine::journal::Journal;
use serde_json::json;

use crate::args::{By, OfRun};
use crate::cmd::ledger::places::{self, CopyArgs, UseArgs, WhereArgs};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::command::{self, holder};
use crate::runs::found::FoundRun;
use crate::runs::{attempt, find, standing};
use crate::{paths, ui};

#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    #[command(subcommand)]
    pub command: JournalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Add an entry for those who read later
    Add {
        text: String,
        /// The task it is about; its next prompts have it
        #[arg(long, value_name = "ID")]
        task: Option<TaskId>,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
    /// Print where the journal is
    Where(WhereArgs),
    /// Let commands in this checkout use the journal in another place
    Use(UseArgs),
    /// Copy runs to the journal in another place, where they continue
    Copy(CopyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GuardrailArgs {
    #[command(subcommand)]
    pub command: GuardrailCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuardrailCommand {
    /// Add one
    Add {
        text: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
    /// Take one out again
    Remove {
        /// Its text, or a part of it that no other has
        text: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
    /// List them all
    List {
        #[command(flatten)]
        of: OfRun,
    },
    /// List those that have these words, the most fitting first
    Search {
        query: String,
        #[command(flatten)]
        of: OfRun,
    },
}

/// A longer text belongs into a file of its own.
const LONGEST: usize = 16 * 1024;

pub(crate) fn journal(command: &JournalCommand) -> Outcome<Exit> {
    let (text, task, by, of) = match command {
        JournalCommand::Add { text, task, by, of } => (text, task, by, of),
        JournalCommand::Where(args) => return places::tell(args),
        JournalCommand::Use(args) => return places::set(args),
        JournalCommand::Copy(args) => return places::copy(args),
    };
    keep(Note::Entry { task: task.clone(), text: words(text)?, for_next: task.is_some() }, by, of)
}

pub(crate) fn guardrail(command: &GuardrailCommand) -> Outcome<Exit> {
    match command {
        GuardrailCommand::Add { text, by, of } => keep(Note::Guardrail { text: words(text)? }, by, of),
        GuardrailCommand::Remove { text, by, of } => remove(text, by, of),
        GuardrailCommand::List { of } => {
            let said = guardrails_of(of)?;
            list(&said, of.json, "there are none; `piton guardrail add TEXT` adds one");
            Ok(FINE)
        }
        GuardrailCommand::Search { query, of } => {
            let said = guardrails_of(of)?;
            let lessons: Vec<(Lesson, Said)> =
                said.into_iter().map(|said| (Lesson::parse(&said.text), said)).collect();
            let all: Vec<Lesson> = lessons.iter().map(|(lesson, _)| lesson.clone()).collect();
            let place = |hit: &Lesson| all.iter().position(|lesson| std::ptr::eq(lesson, hit));
            let hits = guardrails::search(&all, query).into_iter().filter_map(place);
            let hits: Vec<Said> =
                hits.filter_map(|nth| lessons.get(nth)).map(|(_, said)| said.clone()).collect();
            list(&hits, of.json, "no guardrail contains this text");
            Ok(FINE)
        }
    }
}

/// Take one out, by its text or a part of it that no other has.
fn remove(part: &str, by: &By, of: &OfRun) -> Outcome<Exit> {
    let mut found = find::run_to_change(&of.which, None)?;
    let all = known(&found.journal, &found.run)?;
    let part = clean_text(part.as_bytes()).trim().to_lowercase();
    let mut texts: Vec<&str> = all.iter().map(|said| said.text.as_str()).collect();
    texts.dedup();
    let whole: Vec<&str> = texts.iter().copied().filter(|text| text.to_lowercase() == part).collect();
    let parts =
        || texts.iter().copied().filter(|text| !part.is_empty() && text.to_lowercase().contains(&part));
    let hits: Vec<&str> = if whole.is_empty() { parts().collect() } else { whole };
    match &hits[..] {
        [text] => {
            let lesson = all.iter().find(|said| said.text == *text).expect("it already exists");
            forget(&mut found, lesson, &holder(&by.by)?, of.json)
        }
        [] => Err(Failure::new("no guardrail contains this text").hint("piton guardrail list")),
        several => {
            let failure = Failure::new(format!("{} guardrails contain this text", several.len()));
            Err(failure.hint("piton guardrail list   shows them; give more of the text"))
        }
    }
}

/// How often the file may change, or an engine read the lesson again, while it is being removed.
const ROUNDS: usize = 8;

/// Take a lesson out of the journal and, where a file has it as well, out of that: what one of the two has, the other gets
/// again.
fn forget(found: &mut FoundRun, lesson: &Said, by: &str, as_json: bool) -> Outcome<Exit> {
    let facts = standing::facts(&found.journal, &found.run)?;
    let plan = Utf8Path::new(&facts.plan);
    let file = facts.settings.form.system().files().lessons.map(|name| plan.join(name));
    for round in 0..ROUNDS {
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let left = text.as_ref().and_then(|text| guardrails::without(text, lesson));
        if let (Some(file), Some(text), Some(left)) = (&file, &text, &left) {
            paths::put(file, Some(text.as_bytes()), left.as_bytes())?;
        }
        let known = known(&found.journal, &found.run)?;
        let is_it = |said: &&Said| said.text == lesson.text || guardrails::are_one(said, lesson);
        if let Some(said) = known.iter().find(is_it) {
            let note = Note::GuardrailRemoved { text: said.text.clone() };
            let events = found.command(&Command::Note { by: by.to_owned(), note })?;
            if round == 0 {
                command::tell(&events, as_json);
            }
        } else if left.is_none() {
            return Ok(FINE);
        }
    }
    let file = file.map_or_else(|| "the journal".to_owned(), |file| paths::shown(&file));
    Err(Failure::new(format!("{file} keeps being changed by another program"))
        .hint("run the same command again"))
}

fn guardrails_of(of: &OfRun) -> Outcome<Vec<Said>> {
    let FoundRun { journal, run, .. } = find::run(&of.which)?;
    known(&journal, &run)
}

fn known(journal: &Journal, run: &RunId) -> Outcome<Vec<Said>> {
    Ok(journal.guardrails(run)?)
}

fn list(guardrails: &[Said], as_json: bool, none: &str) {
    if as_json {
        let said = |said: &Said| json!({ "text": said.text, "by": said.by, "at": said.at.to_string() });
        ui::answer_json(&json!(guardrails.iter().map(said).collect::<Vec<_>>()));
    } else if guardrails.is_empty() {
        ui::say(none);
    }
    for said in guardrails.iter().filter(|_| !as_json) {
        ui::answer_line(format!("{}  ({})", clean_text(said.text.as_bytes()), said.by));
    }
}

/// From inside an attempt it goes the way of a report.
fn keep(note: Note, by: &By, of: &OfRun) -> Outcome<Exit> {
    let Some(attempt) = attempt::attempt()? else {
        return command::say(&of.which, of.json, &Command::Note { by: holder(&by.by)?, note });
    };
    attempt.note(note).map_err(Failure::io("cannot write the attempt's outbox"))?;
    ui::say("noted; it is in the journal when you are done");
    Ok(FINE)
}

/// Text from outside, as it may be shown.
fn words(text: &str) -> Outcome<String> {
    let text = clean_text(text.as_bytes()).trim().to_owned();
    match text.len() {
        0 => Err(Failure::usage("there is nothing to write down")),
        1..=LONGEST => Ok(text),
        _ => Err(Failure::usage(format!(
            "this is longer than {LONGEST} bytes: write it into a file, and name it"
        ))),
    }
}
