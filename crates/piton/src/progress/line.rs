//! An event in one line.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use piton_core::run::{Event, Recorded};
use piton_core::time::Timestamp;
use piton_core::view::{self, Tone};

use crate::args::Loudness;
use crate::ui;

/// Width of the column of ids; longer ids push the text to the right.
pub(crate) const ID: usize = 8;

pub(crate) fn is_said(loudness: Loudness, event: &Event) -> bool {
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
pub(crate) fn clock_time(at: Timestamp) -> String {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(zone);
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|time| time.to_zoned(ZONE.clone()));
    zoned.map_or_else(|_| at.to_string(), |zoned| zoned.strftime("%H:%M:%S").to_string())
}

/// The zone of this machine, or the one in `TZ`. A lookup by name reads the folder of all zones first, which takes as
/// long as a whole command. So the file at the usual place is tried first.
fn zone() -> TimeZone {
    let named = std::env::var("TZ").ok();
    let path = named.as_deref().map_or_else(
        || PathBuf::from("/etc/localtime"),
        |name| Path::new("/usr/share/zoneinfo").join(name.trim_start_matches(':')),
    );
    let zone = std::fs::read(path).ok().and_then(|zone| TimeZone::tzif("", &zone).ok());
    zone.unwrap_or_else(TimeZone::system)
}
