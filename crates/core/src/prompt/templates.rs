//! The templates of prompts: ours, and what people put in their place. A template that cannot be used is found when it
//! is read, not when an agent waits for it.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt;
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, context};

use crate::diagnostic::{Diagnostic, nearest};

/// Ours, by name. `worker` is the whole prompt; `task`, `fix`, `answers` and `comments` are parts of it. An agent that takes over
/// after a failure gets the template of its name as its role.
const OURS: [(&str, &str); 11] = [
    ("worker", include_str!("worker.md")),
    ("task", include_str!("task.md")),
    ("fix", include_str!("fix.md")),
    ("answers", include_str!("answers.md")),
    ("comments", include_str!("comments.md")),
    ("debugger", include_str!("debugger.md")),
    ("specialist", include_str!("specialist.md")),
    ("wider-context", include_str!("wider-context.md")),
    (REVIEWER, include_str!("reviewer.md")),
    (VERIFIER, include_str!("verifier.md")),
    (FEEDBACK, include_str!("feedback.md")),
];
pub(super) const REVIEWER: &str = "reviewer";
pub(super) const VERIFIER: &str = "verifier";
pub(super) const FEEDBACK: &str = "feedback";

/// The variables of templates about work.
const OF_WORK: [&str; 31] = [
    "task",
    "task.id",
    "task.title",
    "task.prompt",
    "task.criteria",
    "task.files",
    "task.checks",
    "task.judges",
    "task.has_commands",
    "task.may_change_nothing",
    "attempt",
    "attempts",
    "tries",
    "order",
    "logs",
    "feedback",
    "before",
    "role",
    "place",
    "base",
    "writable",
    "piton",
    "has_tools",
    "auto_answer",
    "guardrails",
    "advice",
    "answers",
    "comments",
    "made",
    "run",
    "range",
];
const OF_REVIEWS: [&str; 2] = ["ask", "ending"];
const OF_FEEDBACK: [&str; 14] = [
    "task",
    "task.id",
    "task.title",
    "task.prompt",
    "task.criteria",
    "task.files",
    "task.checks",
    "task.judges",
    "task.has_commands",
    "task.may_change_nothing",
    "attempt",
    "feedback",
    "diff",
    "range",
];

/// Steps of one prompt: ours take hundreds, a loop without end takes more.
const FUEL: u64 = 1_000_000;

/// The templates in force.
#[derive(Clone, Debug)]
pub struct Prompts(Environment<'static>);

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub name: String,
    pub text: String,
    pub problem: Box<Diagnostic>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, _) = crate::diagnostic::place(&self.text, self.problem.span.start);
        write!(f, "the prompt template `{}` is wrong at line {line}: {}", self.name, self.problem.message)
    }
}

impl std::error::Error for Broken {}

impl Default for Prompts {
    fn default() -> Prompts {
        let mut all = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build()
            .expect("these are only switches");
        all.set_syntax(syntax);
        all.set_undefined_behavior(UndefinedBehavior::Strict);
        all.set_auto_escape_callback(|_| AutoEscape::None);
        all.set_fuel(Some(FUEL));
        all.set_debug(true);
        for (name, text) in OURS {
            all.add_template(name, text).expect("a test renders each of ours");
        }
        Prompts(all)
    }
}

impl Prompts {
    /// With templates that people wrote, by name. They replace or extend ours.
    pub fn with(own: impl IntoIterator<Item = (String, String)>) -> Result<Prompts, Vec<Broken>> {
        let (mut prompts, mut broken, mut names) = (Prompts::default(), Vec::new(), Vec::new());
        for (name, text) in own {
            match prompts.0.add_template_owned(name.clone(), text.clone()) {
                Ok(()) => names.push(name),
                Err(error) => broken.push(describe(&error, &name, &text)),
            }
        }
        // A template may fail because of a broken one that it includes. So those that are broken by themselves are
        // reported first.
        if broken.is_empty() {
            broken.extend(names.iter().flat_map(|name| prompts.strangers(name)));
        }
        if broken.is_empty() {
            let wholes = ["worker", REVIEWER, VERIFIER, FEEDBACK].map(str::to_owned);
            let tried = names.iter().chain(&wholes).filter_map(|name| prompts.tried(name).err());
            broken.extend(tried);
            // A template that several include is reported once.
            broken.dedup_by(|one, other| one.name == other.name);
        }
        if broken.is_empty() { Ok(prompts) } else { Err(broken) }
    }

    /// Those that have a use whatever a plan says.
    pub fn names() -> impl Iterator<Item = &'static str> {
        OURS.into_iter().map(|(name, _)| name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get_template(name).is_ok()
    }

    pub(super) fn render(&self, name: &str, with: Value) -> Result<String, Broken> {
        let template = self.0.get_template(name).map_err(|error| describe(&error, name, ""))?;
        template.render(with).map_err(|error| describe(&error, name, template.source()))
    }

    /// Names that no prompt has a value for, also where they stand behind a condition.
    fn strangers(&self, name: &str) -> Vec<Broken> {
        let Ok(template) = self.0.get_template(name) else { return Vec::new() };
        let (text, known) = (template.source(), known(name));
        let used: BTreeSet<String> = template.undeclared_variables(true).into_iter().collect();
        let strange = used.into_iter().filter(|word| !known.contains(&word.as_str()));
        let broken = |word: String| {
            // The template may have spaces around the dots. Then only the first part is found.
            let whole = [word.as_str(), word.split('.').next().unwrap_or_default()];
            let span = whole.into_iter().find_map(|part| Some((text.find(part)?, part.len())));
            let span = span.map_or(0..0, |(start, length)| start..start + length);
            let problem = Diagnostic::error(span, format!("unknown name `{word}`"));
            let problem = match nearest(&word, known.iter().copied()) {
                Some(meant) => problem.help(format!("did you mean `{meant}`?")),
                None => problem.help(format!("there are {}", known.join(", "))),
            };
            Broken { name: name.to_owned(), text: text.to_owned(), problem: Box::new(problem) }
        };
        strange.map(broken).collect()
    }

    /// Render it with everything there is, and with as little as there can be.
    fn tried(&self, name: &str) -> Result<(), Broken> {
        for full in [true, false] {
            let said = |text: &'static str| if full { text } else { "" };
            let list = || Value::from_iter(full.then_some("x"));
            let task = context! {
                id => "T1", title => "x", prompt => "x", criteria => list(), files => list(), checks => list(),
                judges => list(), has_commands => full, may_change_nothing => full,
            };
            self.render(
                name,
                context! {
                    task => task, attempt => if full { 2 } else { 1 }, attempts => if full { 3 } else { 0 },
                    tries => said("x"), order => said("x"), logs => said("x"), feedback => said("x"),
                    before => said("x"), role => said("x"), place => "worktree", base => said("x"),
                    writable => said("x"), piton => "piton", has_tools => full, auto_answer => full,
                    guardrails => said("x"), advice => said("x"), answers => said("x"),
                    comments => said("x"), made => said("x"), run => said("x"), ask => "x", ending => "x", diff => said("x"),
                },
            )?;
        }
        Ok(())
    }
}

fn known(name: &str) -> &'static [&'static str] {
    match name {
        REVIEWER | VERIFIER => &OF_REVIEWS,
        FEEDBACK => &OF_FEEDBACK,
        _ => &OF_WORK,
    }
}

/// Where it is wrong, in the template that is: one that is included may be.
fn describe(error: &Error, name: &str, text: &str) -> Broken {
    let mut innermost = error;
    while let Some(cause) = innermost.source().and_then(|cause| cause.downcast_ref::<Error>()) {
        innermost = cause;
    }
    let name = innermost.name().unwrap_or(name).to_owned();
    let text = innermost.template_source().unwrap_or(text).to_owned();
    let span = innermost.range().unwrap_or_else(|| line(&text, innermost.line().unwrap_or(1)));
    let span = whole(&text, span);
    let kind = innermost.kind().to_string();
    let message = innermost.detail().map_or_else(|| kind.clone(), |detail| format!("{kind}: {detail}"));
    Broken { name, text, problem: Box::new(Diagnostic::error(span, message)) }
}

/// A span as it can be shown: of whole letters, where the reader counted bytes.
fn whole(text: &str, span: Range<usize>) -> Range<usize> {
    let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let end = (span.end.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at));
    let start = start.unwrap_or(0);
    start..end.unwrap_or(text.len()).max(start)
}

/// The bytes of a line, from 1.
fn line(text: &str, number: usize) -> Range<usize> {
    let mut start = 0;
    for (nth, line) in text.split_inclusive('\n').enumerate() {
        if nth + 1 == number {
            return start..start + line.trim_end().len();
        }
        start += line.len();
    }
    start..start
}
