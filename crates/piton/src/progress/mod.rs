//! What is shown while the engine works: a live screen, plain lines, or JSON lines.

pub(crate) mod line;
mod live;
mod terminal;

use std::collections::BTreeMap;

use piton_core::plan::TaskId;
use piton_core::run::{Recorded, State};
use piton_engine::drive::Observer;
use piton_engine::project::Project;

use crate::args::Loudness;
use crate::progress::live::Live;
use crate::ui;

pub(crate) use terminal::restore as restore_terminal;

pub(crate) fn observer(
    loudness: Loudness,
    project: &Project,
    titles: BTreeMap<TaskId, String>,
) -> Box<dyn Observer> {
    if loudness.json {
        Box::new(JsonLines)
    } else if ui::is_terminal() && !loudness.quiet {
        Box::new(Live::new(loudness, project.clone(), titles))
    } else {
        Box::new(Lines { loudness })
    }
}

/// One JSON object per event, as the journal has it, with its place and time.
struct JsonLines;

impl Observer for JsonLines {
    fn event(&mut self, recorded: &Recorded, _: &State) {
        ui::answer_json_line(&json(recorded));
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
        if line::is_said(self.loudness, &recorded.event) {
            ui::say(line::line(recorded));
        }
    }

    fn tick(&mut self, _: &State) {}
}
