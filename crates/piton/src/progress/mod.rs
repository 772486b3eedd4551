//! What is shown while the engine works: a live screen, plain lines, or JSON lines.

mod live;
mod terminal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use live::Live;
use piton_core::plan::TaskId;
use piton_core::run::{Event, Recorded, State};
use piton_core::time::Timestamp;
use piton_core::view::{self, Tone};
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
    match view::describe(event).tone {
        Tone::Quiet => loudness.verbose,
        Tone::Plain | Tone::Good => !loudness.quiet,
        Tone::Warning | Tone::Bad => true,
    }
}

/// `12:30:05  T1        landed as 0123456789`
pub(crate) fn line(recorded: &Recorded) -> String {
    let told = view::describe(&recorded.event);
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
