//! What every reader of Piton must hold on any input.
//!
//! A target is a function of bytes that panics where a promise is broken. The tests replay the inputs in
//! `corpus/` with a bounded number of variations; `cargo xtask fuzz` looks for new ones with coverage to guide
//! it. An input that broke a promise once is kept in the corpus.

mod answers;
mod beginnings;
mod checklists;
mod clients;
mod events;
mod file_plans;
mod folders;
mod hosts;
mod issues;
mod iterations;
mod iterative;
mod json_plans;
mod lists;
mod names;
mod outputs;
mod plans;
mod refs;
mod rwkit;
mod secrets;
mod settings;
mod specs;
mod states;
mod talk;
mod templates;
mod todolists;
mod trackers;
mod vary;
mod verdicts;
mod words;

use std::path::PathBuf;

pub use vary::Variations;

/// One reader, or several of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub check: fn(&[u8]),
    /// Words that are worth putting into an input.
    pub words: &'static [&'static str],
}

pub const TARGETS: &[Target] = &[
    Target { name: "plan", check: plans::plan, words: plans::WORDS },
    Target { name: "config", check: plans::config, words: plans::WORDS },
    Target { name: "names", check: names::names, words: names::WORDS },
    Target { name: "time", check: words::time, words: words::TIMES },
    Target { name: "signal", check: words::signal, words: words::SIGNALS },
    Target { name: "unit_signal", check: words::unit_signal, words: words::SIGNALS },
    Target { name: "message", check: words::message, words: words::LINES },
    Target { name: "text", check: words::text, words: words::ESCAPES },
    Target { name: "events", check: events::events, words: events::WORDS },
    Target { name: "jobs", check: events::jobs, words: events::WORDS },
    Target { name: "execute", check: folders::execute, words: folders::WORDS },
    Target { name: "decode", check: folders::decode, words: folders::BYTES },
    Target { name: "list", check: lists::list, words: lists::WORDS },
    Target { name: "issue", check: lists::issue, words: lists::WORDS },
    Target { name: "rwkit", check: todolists::rwkit, words: todolists::WORDS },
    Target { name: "todo", check: checklists::todo, words: checklists::WORDS },
    Target { name: "speckit", check: checklists::speckit, words: checklists::WORDS },
    Target { name: "openspec", check: specs::openspec, words: specs::WORDS },
    Target { name: "kiro", check: specs::kiro, words: specs::WORDS },
    Target { name: "state", check: states::state, words: states::WORDS },
    Target { name: "edits", check: states::heard, words: states::WORDS },
    Target { name: "issue_state", check: issues::state, words: issues::STATES },
    Target { name: "issue_edits", check: issues::heard, words: issues::STATES },
    Target { name: "rwkit_state", check: rwkit::state, words: rwkit::WORDS },
    Target { name: "rwkit_edits", check: rwkit::heard, words: rwkit::WORDS },
    Target { name: "iterative", check: iterative::plan, words: iterative::LISTS },
    Target { name: "iterative_state", check: iterative::state, words: iterative::STATES },
    Target { name: "iterative_edits", check: iterative::heard, words: iterative::STATES },
    Target { name: "journal", check: issues::journal, words: issues::ENTRIES },
    Target { name: "progress", check: iterations::log, words: iterations::ENTRIES },
    Target { name: "guardrails", check: iterations::lessons, words: iterations::LESSONS },
    Target { name: "git", check: answers::git, words: answers::WORDS },
    Target { name: "runners", check: outputs::runners, words: outputs::SUMMARIES },
    Target { name: "redact", check: secrets::redact, words: secrets::WORDS },
    Target { name: "context", check: outputs::context, words: outputs::BLOCKS },
    Target { name: "clients", check: clients::streams, words: clients::LINES },
    Target { name: "review", check: verdicts::review, words: verdicts::FINDINGS },
    Target { name: "answer", check: verdicts::question, words: verdicts::QUESTIONS },
    Target { name: "settings", check: settings::settings, words: settings::WORDS },
    Target { name: "refs", check: refs::refs, words: refs::WORDS },
    Target { name: "places", check: hosts::places, words: hosts::URLS },
    Target { name: "failures", check: hosts::failures, words: hosts::ENDS },
    Target { name: "host_answers", check: hosts::answers, words: hosts::ANSWERS },
    Target { name: "templates", check: templates::templates, words: templates::WORDS },
    Target { name: "taskmaster", check: json_plans::tasks, words: json_plans::TASKS },
    Target { name: "ralph", check: json_plans::stories, words: json_plans::STORIES },
    Target { name: "gsd", check: file_plans::gsd, words: file_plans::GSD },
    Target { name: "bmad", check: file_plans::bmad, words: file_plans::BMAD },
    Target { name: "bmad_v4", check: file_plans::bmad_v4, words: file_plans::BMAD_V4 },
    Target { name: "bmad_stories", check: file_plans::bmad_stories, words: file_plans::BMAD_STORIES },
    Target { name: "backlog", check: file_plans::backlog, words: file_plans::BACKLOG },
    Target { name: "tracker", check: trackers::issues, words: trackers::ANSWERS },
    Target { name: "requests", check: talk::request, words: talk::REQUESTS },
    Target { name: "stops", check: talk::stop, words: talk::STOPS },
    Target { name: "project", check: beginnings::project, words: beginnings::FILES },
    Target { name: "list_plan", check: beginnings::list, words: lists::WORDS },
];

impl Target {
    pub fn named(name: &str) -> Option<Target> {
        TARGETS.iter().find(|target| target.name == name).copied()
    }

    /// The inputs that are kept, in the order of their names.
    pub fn corpus(&self) -> Vec<Vec<u8>> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name);
        let entries = std::fs::read_dir(&folder).expect("every target has a corpus");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
        files.sort();
        files.iter().map(|file| std::fs::read(file).expect("a readable file")).collect()
    }
}

/// Reading twice gives the same; the value comes back.
fn same<T: PartialEq + std::fmt::Debug>(read: impl Fn() -> T) -> T {
    let value = read();
    assert_eq!(value, read(), "reading twice gives two values");
    value
}

/// What is read, written and read again is the same value.
fn round_trip<T>(text: &str) -> Option<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let value: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(value, again, "written as {written}");
    Some(value)
}
