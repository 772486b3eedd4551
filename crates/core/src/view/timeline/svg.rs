//! A timeline as a picture: a row for each task, without a script and without anything from elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::{Bar, Phase, Timeline, strip};
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::time::{Span, Timestamp};
use crate::view::escape::xml;

/// All in pixels. The names of tasks stand to the left of the bars.
const WIDTH: u32 = 960;
const NAMES: u32 = 132;
const RIGHT: u32 = 14;
const AXIS: u32 = 26;
const ROW: u32 = 18;
const HEAD: u32 = 20;
const STRIP: u32 = 34;
const STRIP_CELLS: usize = 200;
const LEGEND: u32 = 30;
/// Characters of a name that fit.
const FITS: usize = 17;
/// About so many moments are named on the axis.
const TICKS: u64 = 6;

/// A timeline that was drawn, and how many tasks it does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub svg: String,
    pub left_out: usize,
}

/// The timeline as a self-contained SVG with at most so many rows: first those of the critical path, then those that took
/// longest. Tasks of a group stand together, with a faint envelope around them. It follows the colour scheme of its reader.
pub fn svg(timeline: &Timeline, group: &dyn Fn(&TaskId) -> Option<String>, most: usize) -> Picture {
    let (groups, left_out) = rows(timeline, group, most);
    let mut y = AXIS;
    let mut places: HashMap<&TaskId, u32> = HashMap::new();
    let (mut envelopes, mut bars) = (String::new(), String::new());
    let scale = Scale::new(timeline);
    for group in &groups {
        let top = y;
        y += if group.name.is_some() { HEAD } else { 0 };
        for (task, of_task) in &group.rows {
            places.insert(task, y);
            row(&mut bars, task, of_task, y, &scale);
            y += ROW;
        }
        if let Some(name) = &group.name {
            envelope(&mut envelopes, name, group, (top, y), &scale);
            y += 8;
        }
    }
    let bottom = y;
    let height = bottom + STRIP + LEGEND;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>Where the time went: {} tasks in {}</title>\n<style>\n{STYLE}</style>\n",
        places.len(),
        timeline.to.since(timeline.from),
    );
    axis(&mut text, timeline, bottom, &scale);
    text += &envelopes;
    text += &bars;
    critical(&mut text, timeline, &places, &scale);
    at_once(&mut text, timeline, bottom);
    legend(&mut text, bottom + STRIP + 18);
    text.push_str("</svg>\n");
    Picture { svg: text, left_out }
}

/// Each phase has a height of its own: it can be told from others without a colour.
const STYLE: &str = "\
.timeline text{font:11px system-ui,sans-serif;fill:#3f3f46}.timeline .names text{font-weight:600}
.timeline .working{fill:#2563eb}.timeline .checking{fill:#15803d}.timeline .landing{fill:#7c3aed}.timeline .waiting{fill:#8a8a93}.timeline .held{fill:#b45309}
.timeline .grid{stroke:#e4e4e7;fill:none}.timeline .envelope{fill:#71717a;fill-opacity:.08;stroke:#71717a;stroke-opacity:.35;stroke-dasharray:4 3}
.timeline .critical{stroke:#dc2626;stroke-width:2;fill:none}.timeline .strip{fill:#2563eb;fill-opacity:.35}
@media (prefers-color-scheme:dark){
.timeline text{fill:#d4d4d8}.timeline .working{fill:#60a5fa}.timeline .checking{fill:#4ade80}.timeline .landing{fill:#a78bfa}.timeline .waiting{fill:#8a8a93}.timeline .held{fill:#fbbf24}
.timeline .grid{stroke:#3f3f46}.timeline .critical{stroke:#f87171}.timeline .strip{fill:#60a5fa}
}
";

struct Group<'t> {
    name: Option<String>,
    rows: Vec<(&'t TaskId, Vec<&'t Bar>)>,
}

/// The rows that are drawn, by group and by their beginning, and how many are not.
fn rows<'t>(
    timeline: &'t Timeline,
    group: &dyn Fn(&TaskId) -> Option<String>,
    most: usize,
) -> (Vec<Group<'t>>, usize) {
    let mut of_task: BTreeMap<&TaskId, Vec<&Bar>> = BTreeMap::new();
    for bar in &timeline.bars {
        of_task.entry(&bar.task).or_default().push(bar);
    }
    let critical: BTreeSet<&TaskId> = timeline.critical.iter().map(|step| &step.task).collect();
    let mut rows: Vec<(&TaskId, Vec<&Bar>)> = of_task.into_iter().collect();
    let left_out = rows.len().saturating_sub(most);
    if left_out > 0 {
        rows.sort_by_cached_key(|(task, bars)| {
            let took = bars.iter().fold(Span(0), |sum, bar| sum.plus(bar.took(timeline.to)));
            std::cmp::Reverse((critical.contains(task), took))
        });
        rows.truncate(most);
    }
    rows.arrange_by_key(|(task, bars)| (bars.first().map(|bar| bar.from), *task));
    let mut groups: Vec<Group<'t>> = Vec::new();
    for (task, bars) in rows {
        let name = group(task);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.rows.push((task, bars)),
            None => groups.push(Group { name, rows: vec![(task, bars)] }),
        }
    }
    (groups, left_out)
}

/// From moments to pixels.
struct Scale {
    from: Timestamp,
    to: Timestamp,
    whole: u64,
}

impl Scale {
    fn new(timeline: &Timeline) -> Scale {
        let (from, to) = (timeline.from, timeline.to);
        Scale { from, to, whole: to.since(from).0.max(1) }
    }

    /// In tenths of a pixel, so that a drawing is the same everywhere.
    fn x(&self, at: Timestamp) -> f64 {
        let room = u128::from(WIDTH - NAMES - RIGHT) * 10;
        let tenths = u128::from(at.since(self.from).0) * room / u128::from(self.whole);
        f64::from(NAMES) + u32::try_from(tenths.min(room)).map_or(0.0, f64::from) / 10.0
    }
}

fn axis(text: &mut String, timeline: &Timeline, bottom: u32, scale: &Scale) {
    let whole = timeline.to.since(timeline.from);
    let step = step(whole);
    let mut at = Span(0);
    text.push_str("<g class=\"axis\">");
    while at <= whole {
        let x = scale.x(timeline.from.plus(at));
        // A name at the right end would be cut.
        let anchor = if x > f64::from(WIDTH - 60) { "end" } else { "middle" };
        let _ = write!(
            text,
            "<path class=\"grid\" d=\"M{x} {top}V{bottom}\"/><text x=\"{x}\" y=\"14\" text-anchor=\"{anchor}\">{at}</text>",
            top = AXIS - 6,
        );
        at = at.plus(step);
    }
    text.push_str("</g>\n");
}

/// The distance between moments that are named: a round number.
fn step(whole: Span) -> Span {
    const ROUND: [u64; 20] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
        600_000, 1_800_000, 3_600_000,
    ];
    let wanted = (whole.0 / TICKS).max(1);
    let hours = wanted.div_ceil(3_600_000) * 3_600_000;
    Span(ROUND.into_iter().find(|&round| round >= wanted).unwrap_or(hours))
}

fn envelope(text: &mut String, name: &str, group: &Group<'_>, (top, bottom): (u32, u32), scale: &Scale) {
    let bars = || group.rows.iter().flat_map(|(_, bars)| bars.iter());
    let from = bars().map(|bar| bar.from).min().unwrap_or(scale.from);
    let to = bars().map(|bar| bar.to.unwrap_or(scale.to)).max().unwrap_or(scale.to);
    let (x, end) = (scale.x(from), scale.x(to));
    let _ = writeln!(
        text,
        "<g><text class=\"of-group\" x=\"8\" y=\"{}\">{}</text><rect class=\"envelope\" x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" rx=\"4\"/></g>",
        top + 15,
        xml(&cut(name)),
        x - 3.0,
        top + 4,
        end - x + 6.0,
        bottom - top,
    );
}

fn row(text: &mut String, task: &TaskId, bars: &[&Bar], y: u32, scale: &Scale) {
    let _ = write!(
        text,
        "<g><g class=\"names\"><text x=\"16\" y=\"{}\">{}</text></g>",
        y + 13,
        xml(&cut(task.as_str()))
    );
    for bar in bars {
        let (x, end) = (scale.x(bar.from), scale.x(bar.to.unwrap_or(scale.to)));
        let took = bar.took(scale.to);
        let attempt = if bar.attempt == 0 { String::new() } else { format!(", attempt {}", bar.attempt) };
        let how = bar.end.as_ref().map(|how| format!("; {how}")).unwrap_or_default();
        let (class, height) = class(bar.phase);
        let _ = write!(
            text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"{:.1}\" height=\"{height}\"><title>{}</title></rect>",
            y + (ROW - height) / 2,
            // What took no time is there, too.
            (end - x).max(1.0),
            xml(&format!("{task}{attempt}: {} for {took}{how}", bar.phase.words())),
        );
    }
    text.push_str("</g>\n");
}

fn class(phase: Phase) -> (&'static str, u32) {
    match phase {
        Phase::Working => ("working", 12),
        Phase::Checking => ("checking", 8),
        Phase::Landing => ("landing", 6),
        Phase::Waiting => ("waiting", 2),
        Phase::Held => ("held", 4),
    }
}

/// One line through the rows of the chain that decided when the run ended.
fn critical(text: &mut String, timeline: &Timeline, places: &HashMap<&TaskId, u32>, scale: &Scale) {
    let mut path = String::new();
    for step in &timeline.critical {
        let Some(y) = places.get(&step.task).map(|y| y + ROW - 1) else { continue };
        let (x, end) = (scale.x(step.from), scale.x(step.to));
        let begin = if path.is_empty() { format!("M{x} {y}") } else { format!("L{x} {y}") };
        let _ = write!(path, "{begin}H{end}");
    }
    if !path.is_empty() {
        let _ = writeln!(text, "<path class=\"critical\" d=\"{path}\"/>");
    }
}

/// How many tasks were worked on or checked at once.
fn at_once(text: &mut String, timeline: &Timeline, top: u32) {
    let most = timeline.most_at_once().max(1);
    let cells = strip(&timeline.at_once, (timeline.from, timeline.to), STRIP_CELLS);
    let width = f64::from(WIDTH - NAMES - RIGHT) / STRIP_CELLS as f64;
    let full = STRIP - 12;
    let mut path = format!("M{NAMES} {}", top + full + 6);
    for (nth, count) in cells.iter().enumerate() {
        let y = top + full + 6 - full * count / most;
        let _ = write!(path, "V{y}H{:.1}", f64::from(NAMES) + width * (nth + 1) as f64);
    }
    let _ = writeln!(
        text,
        "<g><text x=\"16\" y=\"{}\">at once, up to {}</text><path class=\"strip\" d=\"{path}V{}Z\"/></g>",
        top + full,
        timeline.most_at_once(),
        top + full + 6,
    );
}

fn legend(text: &mut String, y: u32) {
    text.push_str("<g class=\"legend\">");
    let mut x = 16;
    for phase in Phase::ALL {
        let (class, height) = class(phase);
        let words = phase.words();
        let _ = write!(
            text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"22\" height=\"{height}\"/><text x=\"{}\" y=\"{y}\">{words}</text>",
            y - 4 - height / 2,
            x + 28,
        );
        x += 28 + 22 + 6 * u32::try_from(words.len()).unwrap_or(20);
    }
    let _ = writeln!(
        text,
        "<path class=\"critical\" d=\"M{x} {}h22\"/><text x=\"{}\" y=\"{y}\">critical path</text></g>",
        y - 4,
        x + 28,
    );
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(FITS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
