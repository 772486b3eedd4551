//! A run as one file of HTML: no script, no request, every colour and picture in it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::markup::{COST_COLUMNS, cost_cells, utc};
use super::{Recap, TaskStory, is_given_up};
use crate::plan::TaskId;
use crate::run::Status;
use crate::time::Span;
use crate::view::escape::{one_line, telling_lines, xml};
use crate::view::timeline::{self, Cause, Phase};
use crate::view::{Attempt, AttemptEnd, CheckRow, Item, counted, graph};

/// As much as a person reads, and a browser opens at once. What is left out is said.
const GRAPH: usize = 400;
const ROWS: usize = 150;
const STORIES: usize = 400;
const ITEMS: usize = 50;
const GROUPS: usize = 100;
const ATTEMPTS: usize = 12;
const CHECKS: usize = 40;
const COMMITS: usize = 30;
const LINES: usize = 40;
const BYTES: usize = 4000;
const STEPS: usize = 24;
/// Characters of a title, a reason, and the like.
const LINE: usize = 400;

/// The document. `name` is what the run is called in its title.
pub fn html(recap: &Recap) -> String {
    let numbers = recap.tasks.iter().enumerate().map(|(number, story)| (&story.task, number)).collect();
    let mut page = Page { text: String::new(), recap, numbers, told: told(&recap.tasks) };
    page.head();
    page.needs();
    page.plan();
    page.time();
    page.tasks();
    page.costs();
    page.checks();
    page.next();
    page.foot();
    page.text
}

struct Page<'r> {
    text: String,
    recap: &'r Recap,
    /// The numbers of the tasks.
    numbers: HashMap<&'r TaskId, usize>,
    told: BTreeSet<usize>,
}

/// The tasks whose stories are in the document, by their numbers: all of them, or of many those that did not go well.
fn told(stories: &[TaskStory]) -> BTreeSet<usize> {
    let is_told = |story: &TaskStory| stories.len() <= STORIES || went_badly(story);
    let told = stories.iter().enumerate().filter(|(_, story)| is_told(story));
    told.map(|(number, _)| number).take(STORIES).collect()
}

fn went_badly(story: &TaskStory) -> bool {
    story.is_stuck() || story.had_trouble()
}

/// One line from outside.
fn line(text: &str) -> String {
    xml(&one_line(text, LINE))
}

/// A text with commands between backticks.
fn with_code(text: &str) -> String {
    let parts = line(text);
    let parts: Vec<&str> = parts.split('`').collect();
    // Without its partner a backtick is one.
    let whole = parts.len() % 2 == 1;
    let part = |(number, part): (usize, &&str)| match (whole, number % 2) {
        (true, 1) => format!("<code>{part}</code>"),
        (false, _) if number > 0 => format!("`{part}"),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(part).collect()
}

fn command(text: &str) -> String {
    let (command, about) = text.split_once("   ").unwrap_or((text, ""));
    let about = if about.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"muted small\">{}</span>", line(about))
    };
    if command.starts_with("piton ") || command.starts_with("git ") {
        format!("<span class=\"command\"><code>{}</code>{about}</span>", line(command))
    } else {
        format!("<span class=\"command small\">{}{about}</span>", with_code(command))
    }
}

fn block(text: &str) -> String {
    let lines = telling_lines(text, LINES, BYTES);
    if lines.is_empty() { String::new() } else { format!("<pre>{}</pre>\n", xml(&lines)) }
}

impl<'r> Page<'r> {
    fn add(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn open(&mut self, id: &str, title: &str, class: &str) {
        self.add(&format!(
            "<section class=\"card {class}\" aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>"
        ));
    }

    fn close(&mut self) {
        self.add("</section>");
    }

    fn head(&mut self) {
        let recap = self.recap;
        let (run, state) = (line(recap.run.as_str()), with_code(&recap.state_text));
        let chips: String = graph::chip_styles(".chip");
        let style = include_str!("style.css");
        self.add(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{run}: {}</title>\n<style>\n{style}{chips}</style>\n</head>\n<body>",
            line(&recap.results.words()),
        ));
        let onto = recap.goes_to(|branch| format!("<code>{}</code>", line(branch)));
        self.add(&format!("<header>\n<h1>{run}</h1>\n<p class=\"lead\">{state}{onto}.</p>"));
        let when = if recap.is_untouched() {
            "Nothing has been started yet.".to_owned()
        } else {
            format!("{} – {}", utc(recap.started), utc(recap.until))
        };
        self.add(&format!("<p class=\"muted small\">{when}</p>"));
        self.tiles();
        let mut links = vec![("needs", "Needs you")];
        links.retain(|_| !recap.needs.is_empty());
        links.extend([
            ("plan", "Plan"),
            ("time", "Time"),
            ("tasks", "Tasks"),
            ("cost", "Cost"),
            ("checks", "Checks"),
            ("next", "How to go on"),
        ]);
        let links: String = links.iter().map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>")).collect();
        self.add(&format!("<nav aria-label=\"Parts\">{links}</nav>\n</header>\n<main>"));
    }

    fn tiles(&mut self) {
        let recap = self.recap;
        let (results, total) = (&recap.results, recap.tasks.len());
        let (runs, passes, flakes) = recap.check_runs();
        let done = format!("{} of {total}{}", recap.completed(), bar(recap.completed(), total as u64));
        let others = [
            (results.completed_otherwise, "completed without a landing"),
            (results.claimed, "claimed done before"),
        ];
        let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let others = others.collect::<Vec<_>>().join(", ");
        let open = [(results.blocked, "blocked"), (results.skipped, "skipped"), (results.open, "not done")];
        let open: Vec<String> =
            open.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let tries = counted(u64::from(recap.cost.cost.bill.tries), "try").replace("trys", "tries");
        let unmeasured = match recap.cost.cost.bill.unmeasured {
            0 => String::new(),
            n => format!(", {n} not measured"),
        };
        let flaked = if flakes == 0 { String::new() } else { format!(", {flakes} flaked") };
        let took = if recap.is_untouched() { "–".to_owned() } else { recap.took_ms.to_string() };
        let tiles = [
            ("Completed", done, String::new()),
            ("Landed", results.landed.to_string(), others),
            ("Retried", results.retried.to_string(), "completed after a retry".to_owned()),
            ("Given up", results.given_up.to_string(), open.join(", ")),
            ("Took", took, format!("agents worked for {}", recap.cost.cost.worked)),
            ("Cost", recap.spent(), format!("{tries}{unmeasured}")),
            ("Check runs", runs.to_string(), format!("{passes} passed{flaked}")),
        ];
        self.add("<dl class=\"tiles\">");
        for (name, value, about) in tiles {
            let about = if about.is_empty() { String::new() } else { format!("<dd>{about}</dd>") };
            self.add(&format!("<div><dt>{name}</dt><dd>{value}</dd>{about}</div>"));
        }
        self.add("</dl>");
    }

    /// A task, as a link to its story if there is one.
    fn task(&self, task: &TaskId) -> String {
        let name = line(task.as_str());
        match self.numbers.get(task) {
            Some(number) if self.told.contains(number) => {
                format!("<a class=\"mono\" href=\"#t{number}\">{name}</a>")
            }
            _ => format!("<span class=\"mono\">{name}</span>"),
        }
    }

    fn needs(&mut self) {
        let recap = self.recap;
        if recap.needs.is_empty() {
            return;
        }
        self.open("needs", "What needs you", "asks");
        self.add("<ul class=\"plain needs\">");
        for item in recap.needs.iter().take(ITEMS) {
            let tasks: Vec<String> = item.tasks.iter().take(8).map(|task| self.task(task)).collect();
            let since = item
                .since
                .map(|since| format!("<span class=\"muted small\">for {}</span>", recap.until.since(since)));
            self.add(&format!(
                "<li><div class=\"row\"><span class=\"chip s-failed\">{}</span>{}{}</div><p>{}</p>{}</li>",
                item.kind.word(),
                tasks.join(" "),
                since.unwrap_or_default(),
                with_code(&item.reason),
                item.helps.iter().take(2).map(|help| command(help)).collect::<String>(),
            ));
        }
        self.add("</ul>");
        self.more(recap.needs.len(), ITEMS, "entry", "entries", "piton inbox");
        self.close();
    }

    /// Says what was left out, and how to see it.
    fn more(&mut self, all: usize, shown: usize, one: &str, several: &str, how: &str) {
        if all > shown {
            let left = all - shown;
            let noun = if left == 1 { one } else { several };
            self.add(&format!(
                "<p class=\"muted small\">{left} more {noun} left out: <code>{how}</code></p>"
            ));
        }
    }

    fn plan(&mut self) {
        let recap = self.recap;
        self.open("plan", "The plan", "long");
        if recap.groups.len() > 1 {
            self.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Groups\"><table><thead><tr><th scope=\"col\">group</th><th scope=\"col\">progress</th><th scope=\"col\" class=\"n\">completed</th></tr></thead><tbody>");
            for group in recap.groups.iter().take(GROUPS) {
                let title = if group.title.is_empty() || group.title == group.id {
                    String::new()
                } else {
                    format!(" <span class=\"muted\">{}</span>", line(&group.title))
                };
                self.add(&format!(
                    "<tr><th scope=\"row\">{}{title}</th><td>{}</td><td class=\"n\">{} of {}</td></tr>",
                    line(&group.id),
                    bar(group.completed, u64::from(group.total)),
                    group.completed,
                    group.total,
                ));
            }
            self.add("</tbody></table></div>");
            self.more(recap.groups.len(), GROUPS, "group", "groups", "piton status");
        }
        if recap.nodes.len() > GRAPH {
            self.add(&format!(
                "<p class=\"muted\">The graph of {} tasks is left out here, and fits into a file of its own: <code>piton graph --format svg</code></p>",
                recap.nodes.len()
            ));
        } else if !recap.nodes.is_empty() {
            let svg = graph::svg(&recap.nodes, recap.run.as_str());
            self.chart("Graph of the plan", &svg);
        }
        self.close();
    }

    /// A picture that may be wider than the page.
    fn chart(&mut self, name: &str, svg: &str) {
        self.add(&format!(
            "<div class=\"scroll chart\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n{svg}</div>"
        ));
    }

    fn time(&mut self) {
        let recap = self.recap;
        self.open("time", "Where the time went", "long");
        if recap.is_untouched() {
            self.add("<p class=\"muted\">No task has started yet.</p>");
            return self.close();
        }
        let groups: HashMap<&TaskId, &Option<String>> =
            recap.tasks.iter().map(|story| (&story.task, &story.group)).collect();
        let group = |task: &TaskId| groups.get(task).and_then(|group| (*group).clone());
        let picture = timeline::svg(&recap.timeline, &group, ROWS);
        self.chart("Timeline", &picture.svg);
        self.more(ROWS + picture.left_out, ROWS, "task", "tasks", "piton timeline --all");
        self.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Times\"><table><thead><tr><th scope=\"col\">where the time went</th><th scope=\"col\" class=\"n\">all tasks</th><th scope=\"col\" class=\"n\">critical path</th></tr></thead><tbody>");
        for phase in Phase::ALL {
            let (all, path) = (recap.times.all_tasks.of(phase), recap.times.critical_path.of(phase));
            self.add(&format!(
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{all}</td><td class=\"n\">{path}</td></tr>",
                phase.words()
            ));
        }
        self.add("</tbody></table></div>");
        let mut steps = Vec::new();
        for step in recap.times.steps.iter().take(STEPS) {
            let arrow = match step.after {
                Cause::Nothing => "",
                Cause::Dependency => "→ ",
                Cause::Place | Cause::Group => "⇢ ",
            };
            steps.push(format!("{arrow}{} {}", self.task(&step.task), step.to.since(step.from)));
        }
        self.add(&format!("<h3>Critical path</h3><p>{}</p>", steps.join(" ")));
        self.more(recap.times.steps.len(), STEPS, "step", "steps", "piton timeline");
        self.close();
    }

    fn tasks(&mut self) {
        let recap = self.recap;
        self.open("tasks", "Tasks", "long");
        for (number, story) in recap.tasks.iter().enumerate() {
            if self.told.contains(&number) {
                self.story(number, story);
            }
        }
        let (all, told) = (recap.tasks.len(), self.told.len());
        if told < all {
            let bad = recap.tasks.iter().filter(|story| went_badly(story)).count();
            let which = match bad == told {
                true => format!("the {told} that did not go well are shown here"),
                false => format!("{bad} did not go well, and {told} of these are shown here"),
            };
            self.add(&format!(
                "<p class=\"muted\">Of {all} tasks, {which}; {} are left out. All of them: <code>piton status --all</code></p>",
                all - told
            ));
        }
        self.close();
    }

    fn story(&mut self, number: usize, story: &TaskStory) {
        let open = if story.is_stuck() && !story.attempts.is_empty() { " open" } else { "" };
        let attempts = match story.attempts.len() {
            0 => String::new(),
            n => counted(n as u64, "attempt"),
        };
        let took = if story.attempts.is_empty() { String::new() } else { story.took_ms.to_string() };
        self.add(&format!(
            "<details class=\"task\" id=\"t{number}\"{open}><summary><span><span class=\"mono\">{}</span> <span class=\"title\">{}</span></span>{}\
             <span class=\"facts\"><span class=\"n\">{attempts}</span><span class=\"n\">{took}</span><span class=\"n\">{}</span></span></summary>\n<div class=\"inside\">",
            line(story.task.as_str()),
            line(&story.title),
            chip(story),
            if story.attempts.is_empty() { String::new() } else { format!("cost {}", story.spent()) },
        ));
        if !story.how_is_told() {
            self.add(&format!("<p>{}</p>", with_code(&story.how)));
        }
        for attempt in story.attempts.iter().rev().take(ATTEMPTS).rev() {
            self.attempt(attempt);
        }
        self.more(story.attempts.len(), ATTEMPTS, "earlier attempt", "earlier attempts", "piton show TASK");
        for remark in &story.remarks {
            self.add(&format!(
                "<p class=\"small\"><strong>{}</strong>, {}</p>",
                line(&remark.by),
                utc(remark.at)
            ));
            self.add(&block(&remark.text));
        }
        if story.attempts.is_empty() && story.how.is_empty() && story.remarks.is_empty() {
            self.add("<p class=\"muted\">It has not been started.</p>");
        }
        self.add("</div></details>");
    }

    fn attempt(&mut self, attempt: &Attempt) {
        let recap = self.recap;
        let by = if attempt.by.is_empty() { String::new() } else { format!(", by {}", line(&attempt.by)) };
        let took = attempt.took(recap.until);
        let took = if attempt.ended.is_some() {
            format!(", took {took}")
        } else {
            format!(", in progress for {took}")
        };
        let cost = crate::view::spent_at_least(&attempt.used).unwrap_or_else(|| "unknown".to_owned());
        self.add(&format!(
            "<div class=\"attempt\"><h3>Attempt {}<span class=\"muted\">{by}{took}, cost {cost}</span></h3>",
            attempt.attempt
        ));
        for setback in attempt.setbacks.iter().rev().take(ATTEMPTS).rev() {
            self.add(&format!("<p class=\"warning\">{}</p>", with_code(&setback.outcome)));
        }
        if !attempt.checks.is_empty() {
            self.add("<ul class=\"plain checks\">");
            for check in attempt.checks.iter().take(CHECKS) {
                self.add(&check_row(check));
            }
            self.add("</ul>");
            self.more(attempt.checks.len(), CHECKS, "check", "checks", "piton show TASK");
        }
        if let Some(outcome) = &attempt.outcome {
            let tone = match attempt.end {
                Some(AttemptEnd::Landed { .. } | AttemptEnd::Completed) => "good",
                Some(AttemptEnd::Failed { next: "again", .. }) => "warning",
                Some(AttemptEnd::Failed { .. } | AttemptEnd::GivenUp { .. }) => "bad",
                _ => "muted",
            };
            self.add(&format!("<p class=\"{tone}\">{}</p>", with_code(outcome)));
        }
        if let Some((_, feedback)) = attempt.failure() {
            self.add(&block(feedback));
        }
        if !attempt.commits.is_empty() {
            self.add("<ul class=\"plain small\">");
            for commit in attempt.commits.iter().rev().take(COMMITS).rev() {
                let hash: String = commit.hash.chars().take(10).collect();
                self.add(&format!(
                    "<li><span class=\"mono muted\">{}</span> {}</li>",
                    line(&hash),
                    line(&commit.subject)
                ));
            }
            self.add("</ul>");
            self.more(attempt.commits.len(), COMMITS, "earlier commit", "earlier commits", "piton diff TASK");
        }
        let files = (attempt.created.len() as u64, attempt.modified.len() as u64);
        if files != (0, 0) {
            let files = format!("{} created, {} changed", counted(files.0, "file"), files.1);
            self.add(&format!("<p class=\"small muted\">{files}</p>"));
        }
        self.add("</div>");
    }

    fn costs(&mut self) {
        let recap = self.recap;
        self.open("cost", "Cost by agent", "");
        if recap.agents.is_empty() {
            self.add("<p class=\"muted\">No agent has worked yet.</p>");
            return self.close();
        }
        let columns: String =
            COST_COLUMNS.iter().map(|name| format!("<th scope=\"col\" class=\"n\">{name}</th>")).collect();
        self.add(&format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Costs\"><table><thead><tr><th scope=\"col\">agent</th>{columns}</tr></thead><tbody>"));
        for row in recap.agents.iter().chain([&recap.cost]) {
            let name = if row.name.is_empty() { "(not named)".to_owned() } else { line(&row.name) };
            let cells: String =
                cost_cells(&row.cost).iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
            self.add(&format!("<tr><th scope=\"row\">{name}</th>{cells}</tr>"));
        }
        self.add("</tbody></table></div>");
        self.close();
    }

    fn checks(&mut self) {
        let recap = self.recap;
        self.open("checks", "Checks", "");
        if recap.checks.is_empty() {
            self.add("<p class=\"muted\">No check has run yet.</p>");
            return self.close();
        }
        self.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Check runs\"><table><thead><tr><th scope=\"col\">check</th><th scope=\"col\" class=\"n\">runs</th><th scope=\"col\" class=\"n\">passed</th><th scope=\"col\" class=\"n\">flaked</th><th scope=\"col\" class=\"n\">took</th></tr></thead><tbody>");
        for check in recap.most_run().take(GROUPS) {
            self.add(&format!(
                "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                line(&check.name), check.runs, check.passes, check.flakes, check.took_ms
            ));
        }
        self.add("</tbody></table></div>");
        self.more(recap.checks.len(), GROUPS, "check", "checks", "piton checks");
        self.close();
    }

    fn next(&mut self) {
        let recap = self.recap;
        self.open("next", "How to go on", "long");
        let open: Vec<&TaskStory> = recap.unfinished().collect();
        if open.is_empty() {
            self.add("<p>Every task is completed.</p>");
        } else {
            let helps = |task: &TaskId| -> Option<&'r Item> {
                recap.needs.iter().find(|item| is_given_up(item) && item.tasks.contains(task))
            };
            self.add("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tasks that are not completed\"><table><thead><tr><th scope=\"col\">not completed</th><th scope=\"col\">status</th><th scope=\"col\" class=\"why\">why, and what helps</th></tr></thead><tbody>");
            for story in open.iter().take(ITEMS) {
                let helps = helps(&story.task).map(|item| &item.helps[..]).unwrap_or_default();
                let helps: String = helps.iter().map(|help| command(help)).collect();
                self.add(&format!(
                    "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{helps}</td></tr>",
                    self.task(&story.task),
                    chip(story),
                    with_code(&story.how),
                ));
            }
            self.add("</tbody></table></div>");
            self.more(open.len(), ITEMS, "task", "tasks", "piton status --all");
        }
        self.add("<h3>Commands</h3>\n<ul class=\"plain\">");
        for step in &recap.next {
            self.add(&format!(
                "<li><code>{}</code> <span class=\"muted small\">{}</span></li>",
                line(&step.command),
                line(&step.about)
            ));
        }
        self.add("</ul>");
        self.close();
    }

    fn foot(&mut self) {
        let recap = self.recap;
        self.add(&format!(
            "</main>\n<footer>Written by Piton from the journal of {}, up to event {}, {}. What was not measured is unknown, not zero. Times are in UTC.</footer>\n</body>\n</html>",
            line(recap.run.as_str()),
            recap.seq,
            utc(recap.until),
        ));
    }
}

/// A share, drawn.
fn bar(part: u32, whole: u64) -> String {
    let width = u64::from(part) * 100 / whole.max(1);
    let mut text = String::new();
    let _ = write!(
        text,
        "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"whole\" width=\"100\" height=\"8\" rx=\"2\"/><rect class=\"part\" width=\"{width}\" height=\"8\" rx=\"2\"/></svg>"
    );
    text
}

fn chip(story: &TaskStory) -> String {
    format!(
        "<span class=\"chip s-{}\">{} {}</span>",
        graph::shade(story.status),
        story.sign(),
        if story.status == Status::PassedOver { "abandoned".to_owned() } else { story.status_words() },
    )
}

fn check_row(check: &CheckRow) -> String {
    let (tone, sign) = if check.passed { ("good", "✓") } else { ("bad", "✗") };
    let tests = check.tests.map(|tests| format!(", {tests}")).unwrap_or_default();
    let place = if check.lands { ", where it lands" } else { "" };
    format!(
        "<li><span class=\"{tone}\">{sign}</span> <code>{}</code> {} <span class=\"muted small\">took {}{tests}{place}, on tree {}</span></li>",
        line(&check.name),
        with_code(check.verdict()),
        Span(check.took_ms),
        check.tree.short(),
    )
}
