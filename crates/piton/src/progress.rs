//! What is shown while the engine works: a live screen, plain lines, or JSON lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;
use piton_core::plan::TaskId;
use piton_core::run::{self, Event, Recorded, State, Status};
use piton_core::time::{Span, Timestamp};
use piton_core::view::{self, Tone};
use piton_engine::clock;
use piton_engine::drive::Observer;

use crate::args::Loudness;
use crate::ui;

/// Width of the column of ids; longer ids push the text to the right.
const ID: usize = 8;

pub(crate) fn observer(loudness: Loudness, titles: BTreeMap<TaskId, String>) -> Box<dyn Observer> {
    if loudness.json {
        Box::new(JsonLines)
    } else if ui::is_terminal() && !loudness.quiet {
        Box::new(Live::new(loudness, titles))
    } else {
        Box::new(Lines { loudness })
    }
}

/// One JSON object per event, as the journal has it, with its place and time.
struct JsonLines;

impl Observer for JsonLines {
    fn event(&mut self, recorded: &Recorded, _: &State) {
        ui::answer_line(json(recorded).to_string());
    }

    fn tick(&mut self, _: &State) {}
}

pub(crate) fn json(recorded: &Recorded) -> serde_json::Value {
    let mut object = serde_json::json!({ "seq": recorded.seq, "at": recorded.at.to_string() });
    if let (Some(object), Ok(serde_json::Value::Object(event))) =
        (object.as_object_mut(), serde_json::to_value(&recorded.event))
    {
        object.extend(event);
    }
    object
}

/// A line per event worth it.
struct Lines {
    loudness: Loudness,
}

impl Observer for Lines {
    fn event(&mut self, recorded: &Recorded, _: &State) {
        if is_said(self.loudness, &recorded.event) {
            ui::say(line(recorded));
        }
    }

    fn tick(&mut self, _: &State) {}
}

fn is_said(loudness: Loudness, event: &Event) -> bool {
    match view::tell(event).tone {
        Tone::Quiet => loudness.verbose,
        Tone::Plain | Tone::Good => !loudness.quiet,
        Tone::Warning | Tone::Bad => true,
    }
}

/// `12:30:05  T1        landed as 0123456789`
pub(crate) fn line(recorded: &Recorded) -> String {
    let told = view::tell(&recorded.event);
    let style = ui::tone(told.tone);
    let time = clock_time(recorded.at);
    let task = recorded.event.task().map(ToString::to_string).unwrap_or_default();
    format!("{} {task:ID$} {style}{}{style:#}", ui::styled(ui::DIM, time), ui::plain(&told.text))
}

/// The time of day as the clock on the wall shows it.
fn clock_time(at: Timestamp) -> String {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(zone);
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|time| time.to_zoned(ZONE.clone()));
    zoned.map_or_else(|_| at.to_string(), |zoned| zoned.strftime("%H:%M:%S").to_string())
}

/// The zone of this machine, or the one in `TZ`. To look for one by its name, the folder of all zones is read first, which
/// takes as long as a whole command: the file is mostly where it always is.
fn zone() -> TimeZone {
    let named = std::env::var("TZ").ok();
    let path = named.as_deref().map_or_else(
        || PathBuf::from("/etc/localtime"),
        |name| Path::new("/usr/share/zoneinfo").join(name.trim_start_matches(':')),
    );
    let zone = std::fs::read(path).ok().and_then(|zone| TimeZone::tzif("", &zone).ok());
    zone.unwrap_or_else(TimeZone::system)
}

/// A bar for the plan, and a line for each task at work.
struct Live {
    loudness: Loudness,
    titles: BTreeMap<TaskId, String>,
    screen: MultiProgress,
    bar: ProgressBar,
    rows: BTreeMap<TaskId, ProgressBar>,
    started: BTreeMap<TaskId, Timestamp>,
    took: Vec<Span>,
}

impl Live {
    fn new(loudness: Loudness, titles: BTreeMap<TaskId, String>) -> Live {
        let screen = MultiProgress::new();
        let bar = screen.add(ProgressBar::new(titles.len() as u64));
        // Fixed templates: they cannot fail to parse.
        if let Ok(style) = ProgressStyle::with_template("{bar:30.green/dim} {pos}/{len} {wide_msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Live {
            loudness,
            titles,
            screen,
            bar,
            rows: BTreeMap::new(),
            started: BTreeMap::new(),
            took: Vec::new(),
        }
    }

    /// A line above those that change. On a terminal that is gone drawing fails, which must not end the run.
    fn print(&self, text: &str) {
        let _ = self.screen.println(ui::as_shown(text));
    }

    fn row(&mut self, id: &TaskId) -> &ProgressBar {
        let (screen, bar) = (&self.screen, &self.bar);
        self.rows.entry(id.clone()).or_insert_with(|| {
            let row = screen.insert_before(bar, ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {wide_msg}") {
                row.set_style(style.tick_chars("⠁⠂⠄⡀⢀⠠⠐⠈ "));
            }
            row.enable_steady_tick(Duration::from_millis(150));
            row
        })
    }

    fn show(&mut self, state: &State) {
        let now = clock::now();
        let busy =
            |status: Status| status.holds_slot() || matches!(status, Status::Verified | Status::Merging);
        let at_work: Vec<(TaskId, String)> = self
            .rows
            .keys()
            .chain(self.started.keys())
            .filter_map(|id| state.task(id).ok().flatten())
            .filter(|task| busy(task.status()))
            .map(|task| {
                let title = self.titles.get(&task.id).map(String::as_str).unwrap_or_default();
                let since = now.since(task.since);
                let what = match (task.status(), &task.progress.waits) {
                    (_, Some(waits)) => format!("landing waits: {waits}"),
                    (Status::InProgress, _) if task.attempt > 1 => format!("attempt {}", task.attempt),
                    (Status::InProgress, _) => "working".to_owned(),
                    (status, _) => status.to_string(),
                };
                let text = format!("{:ID$} {what} {since}  {}", task.id, ui::plain(title));
                (task.id.clone(), text)
            })
            .collect();
        self.rows.retain(|id, row| {
            let stays = at_work.iter().any(|(busy, _)| busy == id);
            if !stays {
                row.finish_and_clear();
            }
            stays
        });
        for (id, text) in at_work {
            self.row(&id).set_message(text);
        }
        let counts = state.counts();
        let done = counts.of(Status::Completed);
        let left = counts.total() - counts.sum(Status::is_settled);
        let parallel = state.run().map_or(1, |run| run.session.max_parallel);
        let eta = view::eta(&self.took, left, parallel).filter(|_| left > 0);
        self.bar.set_length(u64::from(counts.total()));
        self.bar.set_position(u64::from(done));
        let limits = state.run().into_iter().flat_map(|run| run::limits(run, now));
        let limits =
            limits.map(|(name, until)| format!("usage limit of {name}, over in {}", until.since(now)));
        let parked = state.run().into_iter().flat_map(run::parked);
        let parked = parked.map(|(name, overload)| match overload.ask_at {
            at if at > now => format!("{name} does not answer, asked again in {}", at.since(now)),
            _ => format!("{name} does not answer, asking"),
        });
        let limits: Vec<String> = limits.chain(parked).collect();
        self.bar.set_message(match eta {
            _ if !limits.is_empty() => ui::plain(&limits.join("; ")),
            Some(eta) => format!("about {eta} left"),
            None => String::new(),
        });
    }
}

impl Observer for Live {
    fn event(&mut self, recorded: &Recorded, state: &State) {
        match &recorded.event {
            Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } => {
                self.titles.insert(spec.id.clone(), spec.title.clone());
            }
            Event::AttemptStarted { task, .. } => {
                self.started.entry(task.clone()).or_insert(recorded.at);
            }
            Event::Completed { task, .. } => {
                self.took.extend(self.started.remove(task).map(|start| recorded.at.since(start)));
            }
            _ => {}
        }
        if is_said(self.loudness, &recorded.event) {
            let text = line(recorded);
            self.print(&text);
        }
        if let Event::StopRequested { now, .. } = &recorded.event {
            let hint = match now {
                false => {
                    "what runs is finished first; Ctrl-C again stops at once, and nothing is lost either way"
                }
                true => "`piton run` goes on from here",
            };
            self.print(&ui::hinted(hint));
        }
        self.show(state);
    }

    fn tick(&mut self, state: &State) {
        // An adopted attempt was started before this screen was there.
        for task in state.tasks().filter(|task| task.is_engines() && task.status().holds_slot()) {
            self.started.entry(task.id.clone()).or_insert(task.since);
        }
        self.show(state);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.rows.values().for_each(ProgressBar::finish_and_clear);
        self.bar.finish_and_clear();
    }
}
