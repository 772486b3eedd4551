//! The texts of the views, from values that were read before.

use piton_core::plan::{TaskId, TaskSpec};
use piton_core::run::{Recorded, Run, Status, Task};
use piton_core::time::{Span, Timestamp};
use piton_core::view::{self, Attempt, AttemptEnd, CheckRow, Item, Why};

use crate::progress::line;
use crate::screen::picture::sign;
use crate::screen::text::{Ink, Text};

/// What is known about a task.
#[derive(Debug)]
pub(super) struct TaskFacts<'f> {
    pub task: &'f Task,
    pub spec: Option<&'f TaskSpec>,
    /// The tasks that depend on it.
    pub dependents: &'f [TaskId],
    pub group: Option<String>,
    pub why: Option<&'f Why>,
    pub events: &'f [Recorded],
    pub now: Timestamp,
}

fn heading(text: &str) -> [Text; 2] {
    [Text::default(), Text::new(Ink::Bold, text)]
}

/// All of a text, indented.
fn block(ink: Ink, text: &str) -> Vec<Text> {
    let indented: String = text.trim_end().lines().map(|line| format!("  {line}\n")).collect();
    Text::lines(ink, &indented)
}

fn named(name: &str, value: &str) -> Vec<Text> {
    if value.is_empty() {
        return Vec::new();
    }
    Text::named(Ink::Dim, &format!("{name:11}"), value).parts()
}

/// Everything about one task.
pub(super) fn task(facts: &TaskFacts<'_>) -> Vec<Text> {
    let TaskFacts { task, spec, why, events, now, .. } = facts;
    let (mark, ink) = sign(task.status());
    let status = task.status().name().replace('_', " ");
    let title = spec.map_or("", |spec| spec.title.as_str());
    let mut lines = Text::new(Ink::Bold, task.id.as_str()).and(Ink::Plain, &format!("  {title}")).parts();
    let age = view::age(task.status(), now.since(task.since));
    lines.push(Text::new(ink, &format!("{mark} {status}")).and(Ink::Dim, &format!(" {age}")));
    lines.push(Text::default());
    lines.extend(named("group", facts.group.as_deref().unwrap_or_default()));
    let agent = if task.progress.agent.is_empty() { &task.agent } else { &task.progress.agent };
    lines.extend(named("agent", agent));
    let spent = format!("{} spent of {}", task.spent, task.budget);
    lines.extend(named("attempts", &spent));
    if !task.used.is_empty() {
        let used = format!("{}; worked {}", view::of_bill(&task.used), task.worked);
        lines.extend(named("used", &used));
    }
    if let Some(spec) = spec {
        let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
        lines.extend(named("after", &needs.join(", ")));
        let dependents: Vec<&str> = facts.dependents.iter().map(TaskId::as_str).collect();
        lines.extend(named("needed by", &dependents.join(", ")));
        let files: Vec<&str> = spec.files.iter().map(piton_core::plan::RepoPath::as_str).collect();
        lines.extend(named("files", &files.join(", ")));
    }
    if let Some(why) = why.filter(|_| task.status() != Status::Completed) {
        lines.extend(explained(why));
    }
    let attempts = view::attempts(*events);
    lines.extend(attempts_of(facts, &attempts));
    if let Some((reason, feedback)) = last_failure(&attempts) {
        lines.extend(heading("Feedback for the next attempt"));
        lines.extend(block(Ink::Warning, if feedback.is_empty() { reason } else { feedback }));
    }
    if let Some(last) = attempts.iter().rfind(|attempt| attempt.commit.is_some()) {
        lines.extend(work(last));
    }
    if let Some(spec) = spec {
        let checks: Vec<String> = spec.checks.iter().map(|check| check.run.to_string()).collect();
        if !checks.is_empty() {
            lines.extend(heading("It is done when these pass"));
            lines.extend(checks.iter().flat_map(|check| block(Ink::Plain, check)));
        }
        lines.extend(heading("Prompt"));
        lines.extend(block(Ink::Plain, &spec.prompt));
    }
    lines
}

fn explained(why: &Why) -> Vec<Text> {
    let mut lines = heading("Why").to_vec();
    for cause in &why.causes {
        let indent = "  ".repeat(cause.depth as usize + 1);
        lines.extend(Text::new(Ink::Plain, &format!("{indent}- {}", cause.text)).parts());
    }
    if let Some(words) = &why.last_words {
        lines.extend(heading("The agent's last words"));
        lines.extend(block(Ink::Plain, words));
    }
    if !why.helps.is_empty() || !why.settings.is_empty() {
        lines.extend(heading("What helps"));
        lines.extend(why.helps.iter().map(|help| helping(help)));
        for setting in &why.settings {
            let told = format!("  {}   in {}, {}", setting.line, setting.place, setting.when);
            lines.extend(Text::new(Ink::Plain, &told).parts());
        }
    }
    lines
}

/// A command, or advice that is none.
fn helping(help: &str) -> Text {
    if help.starts_with("piton ") { Text::command(help) } else { Text::new(Ink::Plain, &format!("  {help}")) }
}

fn attempts_of(facts: &TaskFacts<'_>, attempts: &[Attempt]) -> Vec<Text> {
    if attempts.is_empty() {
        return Vec::new();
    }
    let mut lines = heading("Attempts").to_vec();
    for attempt in attempts {
        let took = attempt.took(facts.now);
        let (ink, end) = match &attempt.end {
            None => (Ink::Busy, format!("in progress for {took}")),
            Some(AttemptEnd::Landed { commit }) => {
                (Ink::Good, format!("landed as {}, took {took}", commit.short()))
            }
            Some(AttemptEnd::Completed) => (Ink::Good, format!("completed, took {took}")),
            Some(AttemptEnd::Failed { reason, .. }) => {
                let first = reason.lines().next().unwrap_or_default();
                (Ink::Warning, format!("failed, took {took}: {first}"))
            }
            Some(AttemptEnd::Released { reason }) => {
                (Ink::Warning, format!("released, took {took}: {reason}"))
            }
            Some(AttemptEnd::GivenUp { by, reason }) => {
                (Ink::Bad, format!("abandoned by {by}, took {took}: {reason}"))
            }
            Some(AttemptEnd::CutOff) => (Ink::Warning, format!("cut off, took {took}")),
        };
        let by = if attempt.by.is_empty() { String::new() } else { format!("{}: ", attempt.by) };
        let head =
            Text::new(Ink::Bold, &format!("  {} ", attempt.attempt)).and(Ink::Plain, &by).and(ink, &end);
        lines.extend(head.parts());
        if !attempt.used.is_empty() {
            let used = format!("    used {}, worked {}", view::of_bill(&attempt.used), attempt.worked);
            lines.extend(Text::new(Ink::Dim, &used).parts());
        }
        for pass in &attempt.agents {
            let what = if pass.confirms { "looked again: " } else { "" };
            let told = format!("    {what}{} {}", pass.agent, pass.end);
            lines.extend(Text::new(Ink::Dim, told.trim_end()).parts());
        }
        lines.extend(attempt.checks.iter().flat_map(check));
    }
    lines
}

/// A check as evidence: what it ran, how it ended, how long it took.
fn check(check: &CheckRow) -> Vec<Text> {
    let (sign, ink) = if check.passed { ("✓", Ink::Good) } else { ("✗", Ink::Bad) };
    let place = if check.lands { ", where it lands" } else { "" };
    let tests = check.tests.as_ref().map(|tests| format!(", {tests}")).unwrap_or_default();
    let detail = if check.detail.is_empty() { String::new() } else { format!(": {}", check.detail) };
    let about = format!("  took {}{place}{tests}{detail}", Span(check.took_ms));
    Text::new(ink, &format!("    {sign} "))
        .and(Ink::Plain, if check.command.is_empty() { &check.name } else { &check.command })
        .and(Ink::Dim, &about)
        .parts()
}

/// The reason and the feedback of a last attempt that failed.
fn last_failure(attempts: &[Attempt]) -> Option<(&str, &str)> {
    attempts.last()?.failure()
}

fn work(attempt: &Attempt) -> Vec<Text> {
    let mut lines = Vec::new();
    if !attempt.commits.is_empty() {
        lines.extend(heading("Commits"));
        for commit in &attempt.commits {
            let hash: String = commit.hash.chars().take(10).collect();
            lines
                .extend(Text::new(Ink::Busy, &format!("  {hash} ")).and(Ink::Plain, &commit.subject).parts());
        }
    }
    if !attempt.created.is_empty() || !attempt.modified.is_empty() {
        lines.extend(heading("Files"));
        let one =
            |sign: &str, ink: Ink, file: &String| Text::new(ink, &format!("  {sign} ")).and(Ink::Plain, file);
        lines.extend(attempt.created.iter().map(|file| one("+", Ink::Good, file)));
        lines.extend(attempt.modified.iter().map(|file| one("~", Ink::Warning, file)));
    }
    lines
}

/// A diff as git prints it.
pub(super) fn diff(text: &str) -> Vec<Text> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let ink = match line {
            _ if line.starts_with("diff ") || line.starts_with("+++") || line.starts_with("---") => Ink::Bold,
            _ if line.starts_with('+') => Ink::Good,
            _ if line.starts_with('-') => Ink::Bad,
            _ if line.starts_with("@@") => Ink::Busy,
            _ => Ink::Plain,
        };
        match Text::lines(ink, line) {
            empty if empty.is_empty() => lines.push(Text::default()),
            parts => lines.extend(parts),
        }
    }
    lines
}

/// What waits for a person, those that they have not seen first.
pub(super) fn inbox(items: &[Item], you: &str, now: Timestamp) -> Vec<Text> {
    let mut lines = Vec::new();
    let is_seen = |item: &Item| item.seen_by.iter().any(|who| who == you);
    let several = items.iter().any(|item| item.run != items[0].run);
    let (seen, new): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| is_seen(item));
    for item in new.into_iter().chain(seen) {
        if !lines.is_empty() {
            lines.push(Text::default());
        }
        let about: Vec<&str> = item.tasks.iter().map(TaskId::as_str).collect();
        let run = if several { format!(" of {}", item.run) } else { String::new() };
        let age = item.since.map(|since| format!(", for {}", now.since(since))).unwrap_or_default();
        let seen = if is_seen(item) { ", seen" } else { "" };
        let ink = if is_seen(item) { Ink::Dim } else { Ink::Warning };
        let about = if about.is_empty() { String::new() } else { format!(" {}", about.join(", ")) };
        let head = Text::new(ink, &format!("{}{about}{run}", item.kind.word()));
        lines.extend(head.and(Ink::Dim, &format!("{age}{seen}")).parts());
        lines.extend(block(Ink::Plain, &item.reason));
        lines.extend(item.detail.iter().flat_map(|detail| block(Ink::Dim, detail)));
        lines.extend(item.helps.iter().map(|help| helping(help)));
        if !is_seen(item) {
            lines.push(Text::command(&format!("piton inbox --seen {}   marks it as seen", item.key)));
        }
    }
    lines
}

/// What is on its way to the target, and what got there last.
pub(super) fn landing(facts: &Run, tasks: &[(Task, String)], landed: &[Recorded]) -> Vec<Text> {
    let mut lines = Vec::new();
    for (task, title) in tasks {
        let (mark, ink) = sign(task.status());
        let state = match task.status() {
            Status::Merging => "lands now".to_owned(),
            _ => task.status().name().replace('_', " "),
        };
        let head = Text::new(ink, &format!("{mark} {:8} ", task.id)).and(Ink::Plain, title);
        lines.extend(head.and(Ink::Dim, &format!("  {state}")).parts());
        let line = || view::in_line(facts, &task.id).filter(|_| task.is_candidate());
        if let Some(waits) = task.progress.waits.clone().or_else(line) {
            lines.extend(block(Ink::Dim, &format!("  {waits}")));
        }
    }
    for (task, conflicts) in &facts.conflicts_ahead {
        let told = format!("{task} will be in conflict {}, as it is now", view::conflicts_ahead(conflicts));
        lines.extend(Text::new(Ink::Warning, &told).parts());
    }
    if tasks.iter().any(|(task, _)| task.is_candidate()) {
        lines.push(Text::new(Ink::Dim, &view::policy(facts)));
    }
    if !landed.is_empty() {
        let [gap, title] = heading("Landed last");
        lines.extend((!lines.is_empty()).then_some(gap));
        lines.push(title);
        lines.extend(landed.iter().rev().flat_map(event));
    }
    lines
}

/// An event in one line.
pub(super) fn event(recorded: &Recorded) -> Vec<Text> {
    let told = view::describe(&recorded.event);
    let task = recorded.event.task().map(ToString::to_string).unwrap_or_default();
    let text = Text::new(Ink::Dim, &line::clock_time(recorded.at))
        .and(Ink::Plain, &format!(" {task:8} "))
        .and(told.tone.into(), &told.text);
    text.parts()
}
