//! A timeline as lines of text, for whatever shows lines: `piton timeline` and the screen of `piton watch`.

use std::collections::{BTreeMap, BTreeSet};

use anstyle::Style;
use piton_core::order::Arrange;
use piton_core::plan::{RunId, TaskId};
use piton_core::time::{Span, Timestamp};
use piton_core::view::counted;
use piton_core::view::timeline::{self, Bar, Cause, Phase, Step, Timeline};

use crate::ui::{self, BAD, BOLD, BUSY, DIM, GOOD, WARNING};

/// Columns for a task's name, unless all names are shorter, and for what is behind its bar.
const NAME: usize = 16;
const BEHIND: usize = 14;
/// Fewer cells show nothing.
const NARROWEST: usize = 16;
/// The longest words for a phase.
const WORDS: usize = 29;
/// In fewer columns, tables are narrower.
const NARROW: usize = 72;
/// So many steps of the critical path are named at its beginning and at its end.
const STEPS: usize = 6;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const PLAIN: Style = Style::new();

/// A line in pieces.
pub(crate) type Line = Vec<(Style, String)>;

/// One task's row.
struct Row<'t> {
    task: &'t TaskId,
    bars: Vec<&'t Bar>,
    took: Span,
    attempts: u32,
    is_critical: bool,
}

fn rows(timeline: &Timeline) -> Vec<Row<'_>> {
    let mut bars: BTreeMap<&TaskId, Vec<&Bar>> = BTreeMap::new();
    for bar in &timeline.bars {
        bars.entry(&bar.task).or_default().push(bar);
    }
    let critical: BTreeSet<&TaskId> = timeline.critical.iter().map(|step| &step.task).collect();
    let mut rows = Vec::new();
    for (task, bars) in bars {
        let took = took(&bars, timeline);
        let attempts = bars.iter().map(|bar| bar.attempt).max().unwrap_or(0);
        rows.push(Row { task, bars, took, attempts, is_critical: critical.contains(task) });
    }
    rows
}

fn took(bars: &[&Bar], timeline: &Timeline) -> Span {
    bars.iter().fold(Span(0), |sum, bar| sum.plus(bar.took(timeline.to)))
}

/// Where the time of a run went, in so many columns: at most so many tasks, those that mattered most.
pub(crate) fn of_run(run: &RunId, timeline: &Timeline, columns: usize, most: usize) -> Vec<Line> {
    let mut rows = rows(timeline);
    let whole = timeline.to.since(timeline.from);
    let attempts = rows.iter().map(|row| u64::from(row.attempts)).sum();
    let verb = if timeline.bars.iter().any(|bar| bar.to.is_none()) { "has taken" } else { "took" };
    let (tasks, attempts) = (counted(rows.len() as u64, "task"), counted(attempts, "attempt"));
    let head = format!(" {verb} {whole}: {tasks}, {attempts}");
    let mut lines = vec![vec![(BOLD, run.to_string()), (PLAIN, head)], Line::new()];

    let started = rows.len();
    if started > most {
        rows.arrange_by_key(|row| std::cmp::Reverse((row.is_critical, row.took)));
        rows.truncate(most);
    }
    rows.arrange_by_key(|row| (row.bars.first().map(|bar| bar.from), row.task));
    let name = rows.iter().map(|row| row.task.as_str().chars().count()).max().unwrap_or(0).clamp(7, NAME);
    let width = columns.saturating_sub(2 + name + 1 + BEHIND).max(NARROWEST);
    let span = (timeline.from, timeline.to);
    for row in &rows {
        let (mark, style) = if row.is_critical { ("* ", BOLD) } else { ("  ", PLAIN) };
        let again = if row.attempts > 1 { format!(" ×{}", row.attempts) } else { String::new() };
        let mut line = vec![(PLAIN, mark.to_owned()), (style, format!("{:name$.name$} ", row.task.as_str()))];
        line.extend(bar(&timeline::cells(row.bars.iter().copied(), span, width)));
        line.push((PLAIN, format!(" {:>8}{again}", row.took.to_string())));
        lines.push(line);
    }
    if started > rows.len() {
        lines.push(vec![(DIM, format!("  … and {} more (piton timeline --all)", started - rows.len()))]);
    }
    let at_once = timeline.most_at_once();
    let strip = timeline::strip(&timeline.at_once, span, width);
    let strip: String = strip.iter().map(|&count| spark(count, at_once)).collect();
    let label = |text: &str| (PLAIN, format!("  {text:name$} "));
    lines.push(vec![label("at once"), (BUSY, strip), (PLAIN, format!(" up to {at_once}"))]);
    let end = whole.to_string();
    lines.push(vec![label(""), (PLAIN, format!("0s{end:>rest$}", rest = width.saturating_sub(2)))]);
    lines.push(Line::new());

    lines.extend(key(columns));
    lines.push(Line::new());
    lines.extend(sums(timeline, columns));
    lines.extend(critical(&timeline.critical, columns));
    lines
}

fn style(phase: Phase) -> Style {
    match phase {
        Phase::Waiting => DIM,
        Phase::Working => BUSY,
        Phase::Checking => GOOD,
        Phase::Landing => WARNING,
        Phase::Held => BAD,
    }
}

fn sign(phase: Option<Phase>) -> (Style, char) {
    phase.map_or((PLAIN, ' '), |phase| (style(phase), phase.sign()))
}

/// Cells of one look are one piece.
fn bar(cells: &[Option<Phase>]) -> Line {
    let mut pieces = Line::new();
    for part in cells.chunk_by(|one, next| one == next) {
        let (style, sign) = sign(part.first().copied().flatten());
        pieces.push((style, sign.to_string().repeat(part.len())));
    }
    pieces
}

/// What the cells mean, in as few lines as these columns permit.
fn key(columns: usize) -> Vec<Line> {
    let mut parts: Vec<Line> = Phase::ALL
        .into_iter()
        .map(|phase| {
            let (style, sign) = sign(Some(phase));
            vec![(style, sign.to_string()), (PLAIN, format!(" {}", phase.words()))]
        })
        .collect();
    parts.push(vec![(PLAIN, "* critical path".to_owned())]);
    let mut lines: Vec<Line> = Vec::new();
    let mut used = usize::MAX;
    for part in parts {
        let width: usize = part.iter().map(|(_, text)| text.chars().count()).sum();
        if used.saturating_add(2 + width) > columns {
            lines.push(Line::new());
            used = 0;
        }
        used += 2 + width;
        if let Some(line) = lines.last_mut() {
            line.push((PLAIN, "  ".to_owned()));
            line.extend(part);
        }
    }
    lines
}

fn sums(timeline: &Timeline, columns: usize) -> Vec<Line> {
    let (names, widths) = match columns < NARROW {
        true => (["all", "critical"], [7, 9]),
        false => (["all tasks", "critical path"], [13, 15]),
    };
    let cells = |[all, path]: [&str; 2]| format!("{all:>0$}{path:>1$}", widths[0], widths[1]);
    let mut lines = vec![vec![(BOLD, format!("{:WORDS$}", "where the time went")), (PLAIN, cells(names))]];
    for phase in Phase::ALL {
        let [all, path] = [&timeline.totals, &timeline.decided].map(|totals| totals.of(phase).to_string());
        lines.push(vec![(PLAIN, format!("{:WORDS$}{}", phase.words(), cells([&all, &path])))]);
    }
    lines
}

fn spark(count: u32, most: u32) -> char {
    let level = (u64::from(count) * SPARKS.len() as u64).div_ceil(u64::from(most.max(1)));
    match usize::try_from(level).unwrap_or(SPARKS.len()) {
        0 => ' ',
        level => SPARKS[level.min(SPARKS.len()) - 1],
    }
}

/// The chain, with how long each task held it up. A long one is cut in the middle.
fn critical(steps: &[Step], columns: usize) -> Vec<Line> {
    let mut words: Vec<String> = Vec::new();
    for (nth, step) in steps.iter().enumerate() {
        if steps.len() > 2 * STEPS + 1 && nth == STEPS {
            words.push(format!("→ … {} more …", steps.len() - 2 * STEPS));
        }
        if steps.len() > 2 * STEPS + 1 && (STEPS..steps.len() - STEPS).contains(&nth) {
            continue;
        }
        let arrow = match step.after {
            Cause::Nothing => "",
            Cause::Dependency => "→ ",
            Cause::Place | Cause::Group => "⇢ ",
        };
        words.push(format!("{arrow}{} {}", step.task, step.to.since(step.from)));
    }
    let mut lines = vec![Line::new(), vec![(BOLD, "critical path".to_owned())]];
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && line.chars().count() + word.chars().count() + 3 > columns {
            lines.push(vec![(PLAIN, format!(" {line}"))]);
            line.clear();
        }
        line += &format!(" {word}");
    }
    lines.push(vec![(PLAIN, format!(" {line}"))]);
    if steps.iter().any(|step| matches!(step.after, Cause::Place | Cause::Group)) {
        let text = "  ⇢ waited for the place of the task before it, or for its group to end";
        lines.push(vec![(DIM, text.to_owned())]);
    }
    lines
}

/// What one task did with its time, step by step. Nothing, if it has not started.
pub(crate) fn of_task(task: &TaskId, timeline: &Timeline, columns: usize) -> Vec<Line> {
    let bars: Vec<&Bar> = timeline.bars_of(task).collect();
    let Some(first) = bars.first() else { return Vec::new() };
    let took = took(&bars, timeline);
    let verb = if bars.iter().any(|bar| bar.to.is_none()) { "has taken" } else { "took" };
    let since = |at: Timestamp| at.since(timeline.from);
    let head = format!(" {verb} {took}; it could start {} after the run began", since(first.from));
    let mut lines = vec![vec![(BOLD, task.to_string()), (PLAIN, head)]];
    for bar in bars {
        let goes_on = if bar.to.is_none() { "so far" } else { "" };
        let (style, sign) = sign(Some(bar.phase));
        let end = ui::plain(bar.end.as_deref().unwrap_or(goes_on));
        let (from, took) = (format!("+{}", since(bar.from)), bar.took(timeline.to).to_string());
        let words = bar.phase.words();
        let (before, after) = if columns < NARROW {
            let attempt = if bar.attempt == 0 { String::new() } else { format!("#{}", bar.attempt) };
            (format!("{from:>8} {attempt:3}"), format!(" {words} {took} {end}"))
        } else {
            let attempt = if bar.attempt == 0 { String::new() } else { format!("attempt {}", bar.attempt) };
            (format!("  {from:>9}  {attempt:10}  "), format!(" {words:WORDS$} {took:>8} {end}"))
        };
        lines.push(vec![(PLAIN, before), (style, sign.to_string()), (PLAIN, after.trim_end().to_owned())]);
    }
    lines
}
