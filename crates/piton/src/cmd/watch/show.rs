//! `piton show TASK`: everything about one task on one page.

use piton_core::plan::TaskId;
use piton_core::terminal::clean_text;
use piton_core::time::Span;
use piton_core::view::{self, Attempt, CheckRow, TaskDetail};
use piton_engine::clock;

use crate::args::OfTask;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, task_page};
use crate::ui::{self, BOLD, DIM};

/// So many files are named one by one.
const FILES: usize = 20;
/// So many lines of a failing check are shown; `piton output --checks` has all of them.
const TAIL: usize = 15;

pub(crate) fn show(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let detail = task_page::of_task(&project, &journal, &run, &args.task)?;
    match args.json {
        true => ui::answer_json(&detail),
        false => ui::answer(page(&detail)),
    }
    Ok(FINE)
}

fn page(of: &TaskDetail) -> String {
    let (sign, style) = ui::status_sign(of.status);
    let age = view::age(of.status, clock::now().since(of.since));
    let group = of.group.as_ref().map(|group| format!("  in {group}")).unwrap_or_default();
    let mut page = Page::default();
    let (id, title) = (ui::styled(BOLD, of.task.as_str()), ui::plain(&of.title));
    page.line(&format!("{id}  {title}{}", ui::styled(DIM, group)));
    page.line(&format!("{style}{sign} {}{style:#} {age}", of.status.name().replace('_', " ")));
    for cause in &of.why.causes {
        let indent = "  ".repeat(cause.depth as usize + 1);
        page.line(&format!("{indent}{}", ui::plain(&cause.text)));
    }
    if let Some(words) = &of.why.last_words {
        page.text("  ", words);
    }
    if let Some(reason) = &of.noticed {
        page.warning(&format!("  look at it: {reason}"));
    }
    if !of.conflicts_ahead.is_empty() {
        let conflicts = view::conflicts_ahead(&of.conflicts_ahead);
        page.warning(&format!("  it will be in conflict {conflicts}, as it is now"));
    }
    page.section("Prompt");
    page.text("  ", &of.prompt);
    of.criteria.iter().for_each(|text| page.line(&format!("  - {}", ui::plain(text))));
    page.section("Plan");
    let needs: Vec<&str> = of.depends_on.iter().map(TaskId::as_str).collect();
    page.fact("depends on", &needs.join(", "));
    let dependents: Vec<&str> = of.dependents.iter().map(TaskId::as_str).collect();
    page.fact("needed by", &dependents.join(", "));
    page.fact("files", &of.expected_files.join(", "));
    page.fact("checks", &of.checks.join(", "));
    page.fact("agent", &of.agent);
    if of.replanned > 0 {
        page.fact("changed", &format!("{} by edits of the plan", view::counted(of.replanned.into(), "time")));
    }
    page.fact("attempts", &format!("{} of {} spent", of.attempts_spent, of.attempts_allowed));
    let used = view::spent_at_least(&of.used).unwrap_or_else(|| "an unknown amount".to_owned());
    if !of.attempts.is_empty() {
        page.fact("used", &format!("{used}; agents worked for {}", of.worked_ms));
    }
    for attempt in &of.attempts {
        page.attempt(attempt);
    }
    let changed = &of.changed;
    let files =
        changed.created.iter().map(|file| ("+", file)).chain(changed.modified.iter().map(|file| ("~", file)));
    let files: Vec<(&str, &String)> = files.collect();
    if !files.is_empty() || changed.landed.is_some() {
        page.section("Changed");
        files.iter().take(FILES).for_each(|(sign, file)| page.line(&format!("  {sign} {}", ui::plain(file))));
        if files.len() > FILES {
            page.line(&format!("  … and {} more: piton diff {}", files.len() - FILES, of.task));
        }
        for commit in &changed.commits {
            page.line(&format!("  {}  {}", ui::styled(DIM, short(&commit.hash)), ui::plain(&commit.subject)));
        }
        if let Some(commit) = &changed.landed {
            page.line(&format!("  landed as {}", commit.short()));
        }
    }
    if !of.remarks.is_empty() {
        page.section("Remarks");
        for remark in &of.remarks {
            let ago = clock::now().since(remark.at);
            page.line(&format!("  {}, {ago} ago", ui::plain(&remark.by)));
            page.text("    ", &remark.text);
        }
    }
    if !of.guardrails.is_empty() {
        page.section("Guardrails");
        of.guardrails.iter().for_each(|text| page.line(&format!("  - {}", ui::plain(text))));
    }
    page.section("Next");
    let more = ["output", "diff", "log"].map(|verb| format!("piton {verb} {}", of.task));
    for help in of.why.helps.iter().chain(&more) {
        page.line(&format!("  $ {}", crate::commands::complete(help)));
    }
    page.0
}

fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        self.0 += text.trim_end();
        self.0.push('\n');
    }

    /// What a person should not overlook.
    fn warning(&mut self, text: &str) {
        self.line(&ui::styled(ui::WARNING, ui::plain(text)));
    }

    fn section(&mut self, name: &str) {
        self.0.push('\n');
        self.line(&ui::styled(BOLD, name));
    }

    /// What has nothing to say is left out.
    fn fact(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.line(&format!("  {} {}", ui::styled(DIM, format!("{name:11}")), ui::plain(text)));
        }
    }

    /// Several lines from outside.
    fn text(&mut self, indent: &str, text: &str) {
        clean_text(text.trim_end().as_bytes()).lines().for_each(|line| self.line(&format!("{indent}{line}")));
    }

    fn attempt(&mut self, attempt: &Attempt) {
        let again = match attempt.fences.len() {
            1 => String::new(),
            starts => format!(", started {starts} times"),
        };
        let by =
            if attempt.by.is_empty() { String::new() } else { format!(", by {}", ui::plain(&attempt.by)) };
        let took = match attempt.ended {
            Some(ended) => format!(", took {}", ended.since(attempt.started)),
            None => format!(", in progress for {}", clock::now().since(attempt.started)),
        };
        let used = view::spent_at_least(&attempt.used).map(|used| format!(", {used}")).unwrap_or_default();
        self.section(&format!("Attempt {}{again}{by}{took}{used}", attempt.attempt));
        for setback in &attempt.setbacks {
            self.warning(&format!("  {}", setback.outcome));
        }
        for pass in &attempt.agents {
            let what = if pass.confirms { "looked again: " } else { "" };
            self.line(&format!("  {what}{}", ui::plain(&pass.end)));
        }
        attempt.checks.iter().for_each(|check| self.check(check));
        let failure = attempt.failure();
        if let Some(outcome) = &attempt.outcome {
            let style = if failure.is_some() { ui::WARNING } else { ui::GOOD };
            self.line(&format!("  {}", ui::styled(style, ui::plain(outcome))));
        }
        let feedback = failure.map(|(_, feedback)| feedback).unwrap_or_default();
        // The output of a check is already there.
        if !feedback.trim().is_empty()
            && attempt.checks.iter().all(|check| check.passed || check.tail.is_empty())
        {
            self.text("    ", feedback);
        }
    }

    fn check(&mut self, check: &CheckRow) {
        let (sign, style) = if check.passed { ("✓", ui::GOOD) } else { ("✗", ui::BAD) };
        let tests = check.tests.map(|tests| match tests.failed {
            0 => format!(", {} tests passed", tests.passed),
            failed => format!(", {} tests passed and {failed} failed", tests.passed),
        });
        let tests = tests.unwrap_or_default();
        let place = if check.lands { ", where it lands" } else { "" };
        let about = format!("took {}{tests}{place}, on tree {}", Span(check.took_ms), check.tree.short());
        let (name, verdict) = (ui::plain(&check.name), ui::plain(check.verdict()));
        self.line(&format!("  {style}{sign}{style:#} `{name}` {verdict}  {}", ui::styled(DIM, about)));
        let lines = clean_text(check.tail.trim_end().as_bytes());
        let lines: Vec<&str> = lines.lines().collect();
        for line in &lines[lines.len().saturating_sub(TAIL)..] {
            self.line(&format!("      {line}"));
        }
    }
}
