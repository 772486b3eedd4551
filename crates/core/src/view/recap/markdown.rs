//! A run as Markdown for a pull request, an issue or a comment on one.

use super::markup::{COST_COLUMNS, cost_cells, utc};
use super::{CostRow, NextStep, Recap, TaskStory, is_given_up};
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::Status;
use crate::view::escape::{code, fenced, html_in_markdown, markdown as escaped, one_line, telling_lines};
use crate::view::timeline::Phase;
use crate::view::{Item, counted, graph};

/// GitHub accepts no longer text in a pull request, an issue or a comment. Bytes are counted: characters are never more.
pub const MOST_CHARACTERS: usize = 65_536;
/// A share of that for each part that may be long, so that a long one leaves room for those after it.
const NEEDS: usize = 6_000;
const TABLE: usize = 24_000;
const FAILURES: usize = 16_000;
const GRAPH: usize = 6_000;
const COSTS: usize = 3_000;
const NEXT: usize = 4_000;
/// A larger graph cannot be read in a comment.
const NODES: usize = 40;
const ITEMS: usize = 12;
const HELPS: usize = 2;
const LINES: usize = 20;
const BYTES: usize = 1500;
const ATTEMPTS: usize = 4;
/// Characters of a title, and of a reason.
const TITLE: usize = 90;
const REASON: usize = 200;

/// The document, of at most [`MOST_CHARACTERS`]. What does not fit is left out, and that is said.
pub fn markdown(recap: &Recap) -> String {
    let mut text = head(recap);
    text += &needs(recap);
    let mut left_out = Vec::new();
    text += &tasks(recap, &mut left_out);
    text += &failures(recap, &mut left_out);
    text += &plan(recap, &mut left_out);
    text += &times(recap);
    text += &costs(recap);
    text += &next(recap);
    if !left_out.is_empty() {
        text += &format!("\nLeft out: {}. `piton summary --html FILE` has more.\n", left_out.join("; "));
    }
    text += &format!(
        "\n<sub>Written by Piton from the journal of {}, up to event {}, {}.</sub>\n",
        html_in_markdown(recap.run.as_str()),
        recap.seq,
        utc(recap.until)
    );
    debug_assert!(text.len() <= MOST_CHARACTERS, "{} bytes", text.len());
    text
}

/// Those parts that fit, in their order, and how many do not.
fn fitting(parts: impl IntoIterator<Item = String>, mut room: usize) -> (String, usize) {
    let (mut text, mut left) = (String::new(), 0);
    for part in parts {
        if part.len() <= room {
            room -= part.len();
            text += &part;
        } else {
            left += 1;
        }
    }
    (text, left)
}

fn title(text: &str) -> String {
    escaped(&one_line(text, TITLE))
}

/// A reason, with the commands in it as code.
fn reason(text: &str) -> String {
    let line = one_line(text, REASON);
    let parts: Vec<&str> = line.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(&line);
    }
    let part = |(number, part): (usize, &&str)| match number % 2 {
        1 if !part.is_empty() => code(part),
        _ => escaped(part),
    };
    parts.iter().enumerate().map(part).collect()
}

fn command(help: &str) -> String {
    let (command, about) = help.split_once("   ").unwrap_or((help, ""));
    let about = if about.is_empty() { String::new() } else { format!(" {}", reason(about)) };
    if command.starts_with("piton ") || command.starts_with("git ") {
        format!("{}{about}", code(&one_line(command, REASON)))
    } else {
        reason(help)
    }
}

fn head(recap: &Recap) -> String {
    let results = &recap.results;
    let onto = recap.goes_to(|branch| code(&one_line(branch, TITLE)));
    let (runs, passes, flakes) = recap.check_runs();
    let flaked = if flakes == 0 { String::new() } else { format!(", {flakes} flaked") };
    let bill = &recap.cost.cost.bill;
    let unmeasured = match bill.unmeasured {
        0 => String::new(),
        n => format!(" ({n} of {} tries not measured)", bill.tries),
    };
    let took = match recap.is_untouched() {
        true => "nothing has been started yet".to_owned(),
        false => format!("{}, {} – {}", recap.took_ms, utc(recap.started), utc(recap.until)),
    };
    format!(
        "## Run {}\n\n{}{}. {}.\n\n| | |\n|---|---|\n| Tasks | {} of {} completed |\n| Took | {took} |\n| Cost | {}{unmeasured} |\n\
         | Agents worked for | {} |\n| Check runs | {runs}, {passes} passed{flaked} |\n",
        title(recap.run.as_str()),
        reason(&recap.state_text),
        onto,
        results.words(),
        recap.completed(),
        recap.tasks.len(),
        recap.spent(),
        recap.cost.cost.worked,
    )
}

fn needs(recap: &Recap) -> String {
    if recap.needs.is_empty() {
        return String::new();
    }
    let one = |item: &Item| {
        let tasks: Vec<&str> = item.tasks.iter().take(5).map(TaskId::as_str).collect();
        let about = if tasks.is_empty() { String::new() } else { format!(" {}", title(&tasks.join(", "))) };
        let helps = item.helps.iter().take(HELPS).map(|help| format!("  - {}\n", command(help)));
        format!("- **{}**{about}: {}\n{}", item.kind.word(), reason(&item.reason), helps.collect::<String>())
    };
    let (items, left) = fitting(recap.needs.iter().take(ITEMS).map(one), NEEDS);
    let left = left + recap.needs.len().saturating_sub(ITEMS);
    let more = if left == 0 { String::new() } else { format!("- … and {left} more: `piton inbox`\n") };
    format!("\n### What needs you\n\n{items}{more}")
}

/// What did not go well first, and within that the order of the plan: this is what has to fit.
fn by_trouble(recap: &Recap) -> Vec<&TaskStory> {
    let mut all: Vec<&TaskStory> = recap.tasks.iter().collect();
    all.arrange_by_key(|story| match story {
        story if story.is_stuck() => 0,
        story if story.had_trouble() => 1,
        story if story.status != Status::Completed => 2,
        _ => 3,
    });
    all
}

fn status(story: &TaskStory) -> String {
    let words =
        if story.status == Status::PassedOver { "abandoned".to_owned() } else { story.status_words() };
    format!("{} {words}", story.sign())
}

fn tasks(recap: &Recap, left_out: &mut Vec<String>) -> String {
    let text = "\n### Tasks\n\n| Task | | Status | Attempts | Took | Cost |\n|---|---|---|---:|---:|---:|\n"
        .to_owned();
    let row = |story: &TaskStory| {
        let took = if story.attempts.is_empty() { String::new() } else { story.took_ms.to_string() };
        let attempts = match story.attempts.len() {
            0 => String::new(),
            n => n.to_string(),
        };
        format!(
            "| {} | {} | {} | {attempts} | {took} | {} |\n",
            title(story.task.as_str()),
            title(&story.title),
            status(story),
            story.spent()
        )
    };
    // In the order of the plan if all of them fit.
    let all: String = recap.tasks.iter().map(row).collect();
    if all.len() <= TABLE {
        return text + &all;
    }
    let (some, left) = fitting(by_trouble(recap).into_iter().map(row), TABLE);
    left_out.push(format!("{left} of {} tasks", recap.tasks.len()));
    text + &some
}

fn failures(recap: &Recap, left_out: &mut Vec<String>) -> String {
    let told: Vec<&TaskStory> = by_trouble(recap).into_iter().filter(|story| story.went_wrong()).collect();
    if told.is_empty() {
        return String::new();
    }
    let (text, left) = fitting(told.into_iter().map(failure), FAILURES);
    if left > 0 {
        left_out.push(format!("the failures of {}", counted(left as u64, "task")));
    }
    format!("\n### What did not go well\n{text}")
}

fn failure(story: &TaskStory) -> String {
    let summary = |text: &str, longest| html_in_markdown(&one_line(text, longest));
    let mut text = format!(
        "\n<details><summary><strong>{}</strong> {}: {}</summary>\n\n",
        summary(story.task.as_str(), TITLE),
        summary(&story.title, TITLE),
        summary(
            &format!("{}, {}", story.status_words(), counted(story.attempts.len() as u64, "attempt")),
            TITLE
        ),
    );
    if !story.how_is_told() {
        text += &format!("{}\n", reason(&story.how));
    }
    let earlier = story.attempts.len().saturating_sub(ATTEMPTS);
    if earlier > 0 {
        text += &format!("\n{} are left out.\n", counted(earlier as u64, "earlier attempt"));
    }
    for attempt in story.attempts.iter().skip(earlier) {
        for setback in attempt.setbacks.iter().rev().take(ATTEMPTS).rev() {
            text += &format!("\n**Attempt {}** {}\n", attempt.attempt, reason(&setback.outcome));
        }
        let Some(outcome) = &attempt.outcome else { continue };
        text += &format!("\n**Attempt {}** {}\n", attempt.attempt, reason(outcome));
        let feedback = attempt.failure().map(|(_, feedback)| feedback).unwrap_or_default();
        let lines = telling_lines(feedback, LINES, BYTES);
        if !lines.is_empty() {
            text += &format!("\n{}", fenced(&lines));
        }
    }
    text + "\n</details>\n"
}

fn plan(recap: &Recap, left_out: &mut Vec<String>) -> String {
    if recap.nodes.is_empty() {
        return String::new();
    }
    if recap.nodes.len() <= NODES {
        let mermaid = graph::mermaid(&recap.nodes);
        if mermaid.len() <= GRAPH {
            return format!(
                "\n### The plan\n\n<details><summary>Graph</summary>\n\n```mermaid\n{mermaid}```\n\n</details>\n"
            );
        }
    }
    left_out.push(format!("the graph of {}", counted(recap.nodes.len() as u64, "task")));
    String::new()
}

fn times(recap: &Recap) -> String {
    if recap.is_untouched() {
        return String::new();
    }
    let mut text =
        "\n### Where the time went\n\n| | All tasks | Critical path |\n|---|---:|---:|\n".to_owned();
    for phase in Phase::ALL {
        let (all, path) = (recap.times.all_tasks.of(phase), recap.times.critical_path.of(phase));
        text += &format!("| {} | {all} | {path} |\n", phase.words());
    }
    text
}

fn costs(recap: &Recap) -> String {
    if recap.agents.is_empty() {
        return String::new();
    }
    let columns = COST_COLUMNS.join(" | ");
    let row = |row: &CostRow| {
        let name = if row.name.is_empty() { "(not named)".to_owned() } else { title(&row.name) };
        format!("| {name} | {} |\n", cost_cells(&row.cost).join(" | "))
    };
    let (rows, left) = fitting(recap.agents.iter().map(row), COSTS);
    let more = if left == 0 { String::new() } else { format!("\n{left} more: `piton cost --by agent`\n") };
    let rule = "|---:".repeat(COST_COLUMNS.len());
    format!("\n### Cost by agent\n\n| agent | {columns} |\n|---{rule}|\n{rows}{}{more}", row(&recap.cost))
}

fn next(recap: &Recap) -> String {
    let given_up = recap.needs.iter().filter(|item| is_given_up(item)).take(ITEMS).map(|item| {
        let tasks: Vec<&str> = item.tasks.iter().map(TaskId::as_str).collect();
        let helps: Vec<String> = item.helps.iter().map(|help| command(help)).collect();
        format!("- {}: {}\n", title(&tasks.join(", ")), helps.join(" · "))
    });
    let step =
        |step: &NextStep| format!("- {} {}\n", code(&one_line(&step.command, REASON)), reason(&step.about));
    let (text, _) = fitting(given_up.chain(recap.next.iter().map(step)), NEXT);
    format!("\n### How to go on\n\n{text}")
}
