//! `piton log`: what happened, in order.

use std::time::Duration;

use piton_core::view::{self, Tone};

use super::{Exit, FINE};
use crate::args;
use crate::failure::Outcome;
use crate::find::{self, FoundRun};
use crate::{progress, ui};

/// Events read at once.
const PAGE: usize = 500;
/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) fn log(args: &args::Log) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run(&args.which)?;
    let is_shown =
        |event: &piton_core::run::Event| args.verbose || args.json || view::tell(event).tone != Tone::Quiet;
    let mut after = match args.last {
        Some(last) => {
            let events = journal.last_events(&run, args.task.as_ref(), last)?;
            events.first().map_or(0, |first| first.seq.saturating_sub(1))
        }
        None => 0,
    };
    loop {
        let page = journal.events(&run, after, args.task.as_ref(), PAGE)?;
        for recorded in &page {
            after = recorded.seq;
            if is_shown(&recorded.event) {
                ui::answer_line(if args.json {
                    progress::json(recorded).to_string()
                } else {
                    progress::line(recorded)
                });
            }
        }
        if page.len() == PAGE {
            continue;
        }
        // Nobody will add to a run that has no engine, except by hand: that is no reason to wait.
        if !args.follow || !project.engine_lives(&run) {
            return Ok(FINE);
        }
        std::thread::sleep(LOOK);
    }
}
