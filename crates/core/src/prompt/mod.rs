//! Prompts of agents. The words stand in templates. Text of others is quoted here, so that no template can pass it off
//! as Piton's.

mod comments;
mod failure;
mod templates;
#[cfg(test)]
mod tests;

use minijinja::context;
use minijinja::value::Value;

use comments::commented;
pub use comments::{Commented, comments_section};
pub use failure::{Failure, Other, Try};
pub use templates::{Broken, Prompts};
use templates::{FEEDBACK, REVIEWER, VERIFIER};

use crate::fence::Fence;
use crate::plan::{Argv, Check, RepoPath, TaskId, TaskSpec};
use crate::review;
use crate::run::verdict;
use crate::terminal::clean_text;

/// Advice beyond this is cut: every try reads it.
const LONGEST_ADVICE: usize = 8 * 1024;
/// Feedback beyond this is cut: an agent would not find the first error in more.
const LONGEST_FEEDBACK: usize = 16 * 1024;
/// The agent that writes feedback sees the beginning of a diff; all of it is in the worktree.
const LONGEST_DIFF: usize = 32 * 1024;
/// Rules beyond this are not heeded any more; the newest stay.
const LONGEST_GUARDRAILS: usize = 4 * 1024;

/// What a person or an agent noted for the next agent, about one task or about all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub by: String,
    pub text: String,
}

/// What a person answered to a task that had stopped. It may give orders, so it is not advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Why the task had stopped; may be empty.
    pub asked: String,
    /// What its agent had said last, where that is more.
    pub words: String,
    pub by: String,
    pub text: String,
}

/// The longest answer that is accepted. It is never cut: half an order may be the wrong one.
pub const LONGEST_ANSWER: usize = 8 * 1024;
/// Only the end of a question is kept: questions come last.
const LONGEST_QUESTION: usize = 2 * 1024;

/// The role whose prompt also describes the rest of the run.
pub const WIDER: &str = "wider-context";

/// A task that was completed under the same id before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// What the agent should do about it, in Piton's own words.
    pub text: String,
    /// What it was called, where it was another task.
    pub title: String,
}

impl Before {
    /// Its text, with its title quoted.
    pub fn with_title(&self) -> String {
        match one_line(&self.title) {
            title if title.is_empty() => self.text.clone(),
            title => format!("{}\n{}", self.text, quoted(&title)),
        }
    }
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workplace<'a> {
    /// A git worktree of its own. `base`: the commit its work begins at, shortened; empty if it is unknown.
    Worktree { base: &'a str },
    /// The project's checkout: nothing is committed.
    Checkout,
    /// A folder without git.
    Folder,
}

impl Default for Workplace<'_> {
    fn default() -> Self {
        Workplace::Worktree { base: "" }
    }
}

/// What a prompt says besides the task itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brief<'a> {
    pub attempt: u32,
    /// How many there may be; 0 if unknown.
    pub attempts: u32,
    /// How the last try failed.
    pub failure: Option<&'a Failure>,
    /// The tries in which an agent worked, the first one first.
    pub tries: &'a [Try],
    /// What was completed under its id before.
    pub before: Option<&'a Before>,
    /// The rung of the escalation, if the task has failed before.
    pub role: Option<&'a str>,
    pub place: Workplace<'a>,
    /// Where it can write, in sentences. Empty: wherever its user can.
    pub writable: &'a str,
    /// How it calls Piton in a shell, if not by its name.
    pub piton: Option<&'a str>,
    /// It has Piton's tools.
    pub has_tools: bool,
    /// The agent decides for itself what it would ask, unless it destroys something.
    pub auto_answer: bool,
    /// What is checked before any task lands.
    pub landing_checks: &'a [Check],
    /// What people answered, the newest last.
    pub answers: &'a [Answer],
    /// What people say about lines of the work, the newest last.
    pub comments: &'a [Commented],
    /// Rules for all agents, the newest last.
    pub guardrails: &'a [Advice],
    /// What people and scripts say about the task.
    pub advice: &'a [Advice],
    /// What the tasks that it depends on made, decided and noted.
    pub made: &'a str,
    /// A description of the run, for the role that gets one.
    pub orientation: &'a str,
}

/// The text for one try of an agent that the engine starts.
pub fn prompt(prompts: &Prompts, spec: &TaskSpec, brief: Brief<'_>) -> Result<String, Broken> {
    let (place, base) = match brief.place {
        Workplace::Worktree { base } => ("worktree", base),
        Workplace::Checkout => ("checkout", ""),
        Workplace::Folder => ("folder", ""),
    };
    let retry = retry(&spec.id, brief.attempt, brief.attempts, brief.failure, brief.tries);
    let with = context! {
        task => task(spec, brief.landing_checks),
        place => place,
        base => base,
        writable => brief.writable,
        piton => brief.piton.unwrap_or("piton"),
        has_tools => brief.has_tools,
        auto_answer => brief.auto_answer,
        before => brief.before.map(Before::with_title).unwrap_or_default(),
        guardrails => heeded(brief.guardrails),
        advice => advised(brief.advice),
        answers => answered(brief.answers),
        comments => commented(brief.comments),
        made => quoted(brief.made),
        run => quoted(brief.orientation),
        ..retry
    };
    let role = match brief.role.filter(|role| prompts.has(role)) {
        Some(role) => prompts.render(role, context! { role => "", ..with.clone() })?,
        None => String::new(),
    };
    let mut text = prompts.render("worker", context! { role => role.trim(), ..with })?;
    // A project's own template may be older than these parts, and neither must get lost.
    let mut missing = String::new();
    if let Some(failure) = brief.failure.filter(|failure| failure.is_about_a_merge())
        && !text.contains(&failure.order(&spec.id, !brief.tries.is_empty()))
    {
        missing += &order_section(&spec.id, failure, brief.tries);
    }
    if !text.contains(&answered(brief.answers)) {
        missing += &answers_section(brief.answers);
    }
    if !text.contains(&commented(brief.comments)) {
        missing += &comments_section(brief.comments);
    }
    if !missing.is_empty() {
        text = text.trim_end().to_owned() + "\n" + &missing;
    }
    Ok(text)
}

/// The section with what people answered, for prompts that are not made from a template.
pub fn answers_section(answers: &[Answer]) -> String {
    ours("answers", context! { answers => answered(answers) })
}

/// The section about what went wrong, without what was printed then: for prompts that are not made from a template.
pub fn order_section(task: &TaskId, failure: &Failure, tries: &[Try]) -> String {
    let (order, reason) = (failure.order(task, !tries.is_empty()), quoted(&one_line(&failure.reason)));
    let logs = failure.list_logs();
    let logs = if logs.is_empty() { logs } else { format!("\n\nThe whole output:\n{logs}") };
    format!("\n## What went wrong last time\nQuoted:\n{reason}\n\n{order}{logs}\n")
}

/// The text for an agent that reviews: the template of its own name, if it is to verify.
pub fn of_review(prompts: &Prompts, agent: &str, ask: &str) -> Result<String, Broken> {
    let name = if agent == VERIFIER { VERIFIER } else { REVIEWER };
    prompts.render(name, context! { ask => ask.trim(), ending => review::ending().trim_end() })
}

/// The text for an agent that turns failed checks into words for the next try.
pub fn of_feedback(
    prompts: &Prompts,
    spec: &TaskSpec,
    attempt: u32,
    feedback: &str,
    diff: &str,
) -> Result<String, Broken> {
    let with = context! {
        task => task(spec, &[]),
        attempt => attempt,
        feedback => fenced(feedback, LONGEST_FEEDBACK),
        diff => fenced(diff, LONGEST_DIFF),
    };
    prompts.render(FEEDBACK, with)
}

/// How such an agent is named where its words are handed on.
pub fn feedback_writer(agent: &str) -> String {
    format!("{agent}{WRITER}")
}

/// Whether a note of this author is feedback. Feedback is about one failure only.
pub fn is_feedback_writer(name: &str) -> bool {
    name.ends_with(WRITER)
}

const WRITER: &str = " (feedback writer)";

/// What a task asks, and what decides about it.
pub fn asked(spec: &TaskSpec) -> String {
    ours("task", context! { task => task(spec, &[]) })
}

/// What the last try failed for, if there was one.
pub fn fix(task: &TaskId, attempt: u32, feedback: Option<&str>) -> String {
    let feedback = feedback.filter(|feedback| !feedback.trim().is_empty());
    let failure = feedback.map(|feedback| Failure { feedback: feedback.to_owned(), ..Failure::default() });
    ours("fix", retry(task, attempt, 0, failure.as_ref(), &[]))
}

/// The variables of the template about the last failure.
fn retry(task: &TaskId, attempt: u32, attempts: u32, failure: Option<&Failure>, tries: &[Try]) -> Value {
    context! {
        attempt => attempt,
        attempts => if attempts < attempt { 0 } else { attempts },
        tries => failure::list_tries(tries),
        order => failure.map(|failure| failure.order(task, !tries.is_empty())).unwrap_or_default(),
        logs => failure.map(Failure::list_logs).unwrap_or_default(),
        feedback => failure.map(Failure::quotation).unwrap_or_default(),
    }
}

fn ours(name: &str, with: Value) -> String {
    Prompts::default().render(name, with).expect("a test renders each of ours")
}

fn task(spec: &TaskSpec, landing_checks: &[Check]) -> Value {
    let own = spec.checks.iter().map(|check| (check, ""));
    let landing = landing_checks.iter().map(|check| (check, ", on the merged result before it lands"));
    let judges: Vec<String> = own.chain(landing).map(|(check, when)| judge(check) + when).collect();
    context! {
        id => spec.id.as_str(),
        title => spec.title.as_str(),
        prompt => spec.prompt.trim(),
        criteria => spec.criteria.iter().map(String::as_str).collect::<Value>(),
        files => spec.files.iter().map(RepoPath::as_str).collect::<Value>(),
        checks => spec.checks.iter().map(|check| check.run.to_string()).collect::<Value>(),
        judges => judges.into_iter().collect::<Value>(),
        has_commands => spec.checks.iter().chain(landing_checks).any(is_command),
        may_change_nothing => spec.may_change_nothing,
    }
}

/// Whether it can be run in a shell.
pub fn is_command(check: &Check) -> bool {
    matches!(check.run, Argv::Words(_) | Argv::Shell(_))
}

/// A check in words; what can be run is marked as code.
fn judge(check: &Check) -> String {
    let words = check.run.to_string();
    let below = check.cwd.as_ref().map(|cwd| format!(", in `{cwd}`")).unwrap_or_default();
    match is_command(check) {
        // A mark inside would end the code.
        true if words.contains('`') => format!("`` {words} ``{below}"),
        true => format!("`{words}`{below}"),
        false => words + &below,
    }
}

/// In one line, without control characters.
fn one_line(text: &str) -> String {
    clean_text(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `most` characters of it.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text of others, cut to `longest`, between marks that nothing in it can close.
fn fenced(text: &str, longest: usize) -> String {
    let text = clean_text(text.as_bytes());
    let text = text.trim_end();
    if text.trim().is_empty() {
        return String::new();
    }
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= longest);
    let (kept, rest) = text.split_at(end.unwrap_or(text.len()));
    let mut said = kept.to_owned();
    if !rest.is_empty() {
        said += &format!("\n… {} bytes left out", rest.len());
    }
    Fence::around(&said)
}

/// Text of others in the run, quoted.
fn quoted(text: &str) -> String {
    let text = clean_text(text.as_bytes());
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Advice from outside, quoted, with its author.
fn advised(advice: &[Advice]) -> String {
    let said = |Advice { by, text }: &Advice| {
        let by = clean_text(by.as_bytes()).replace('\n', " ");
        let text: String = clean_text(text.as_bytes()).chars().take(LONGEST_ADVICE).collect();
        format!("From {by}:\n{}", quoted(text.trim()))
    };
    advice.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

/// What people answered: quoted, so that it is clear where it ends.
fn answered(answers: &[Answer]) -> String {
    let part = |title: &str, text: &str| {
        let text = clean_text(text.as_bytes());
        let text = verdict::excerpt(text.trim(), LONGEST_QUESTION);
        if text.is_empty() { String::new() } else { format!("{title}:\n{}\n", quoted(text)) }
    };
    let said = |Answer { asked, words, by, text }: &Answer| {
        let by = clean_text(by.as_bytes()).replace('\n', " ");
        // One line that says no more than the reason is left out.
        let is_more = words.trim().lines().count() > 1 || !words.contains(asked.as_str());
        let words = if is_more { words.as_str() } else { "" };
        let before = part("The task had stopped", asked) + &part("Its agent's last words were", words);
        format!("{before}{} answered:\n{}", by.trim(), quoted(text.trim()))
    };
    answers.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

/// One line for each, the newest first as far as there is room.
fn heeded(guardrails: &[Advice]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut room = LONGEST_GUARDRAILS;
    for Advice { by, text } in guardrails.iter().rev() {
        let text = clean_text(format!("{text} ({by})").as_bytes());
        let line = format!("> - {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
        let Some(left) = room.checked_sub(line.len()) else {
            lines.push(format!("> - … {} older left out", guardrails.len() - lines.len()));
            break;
        };
        room = left;
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}
