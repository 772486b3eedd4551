//! Edits of a state file that Piton rejected or took back, reported once by the next command.

use piton_core::plan::RunId;
use piton_core::run::{Event, Note};
use piton_engine::claims::ONLY_CLAIMED;
use piton_engine::disk;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::runs::attempt;
use crate::ui;

/// How many are reported at once; the log has them all.
const MOST: usize = 5;
const PAGE: usize = 4096;
/// The position up to which they were reported is saved at least this often, so that a command reads few events.
const FAR: u64 = 1000;

/// Report which edits were refused since the last command. If that cannot be found out, nothing is said: `piton log`
/// has it.
pub(crate) fn say(project: &Project, journal: &Journal, run: &RunId) {
    let is_agent = attempt::attempt().map_or(true, |attempt| attempt.is_some());
    let keeps_files =
        || journal.facts(run).ok().flatten().is_some_and(|facts| facts.settings.system().keeps_files());
    if is_agent || !keeps_files() {
        return;
    }
    let place = project.home.join("runs").join(run.as_str()).join("refusals-said");
    let said = std::fs::read_to_string(&place).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let (mut after, mut refused) = (said, Vec::new());
    while let Ok(page) = journal.events(run, after, None, PAGE) {
        let Some(last) = page.last().map(|recorded| recorded.seq) else { break };
        after = last;
        for recorded in page {
            match recorded.event {
                Event::Noted { note: Note::EditRefused { file, edit, reason, .. }, .. } => {
                    refused.push(format!("rejected an edit of {file}: {edit}: {reason}"));
                }
                Event::Released { task, reason, .. } if reason != ONLY_CLAIMED => {
                    refused.push(format!("{task} is free again: {reason}"));
                }
                _ => {}
            }
        }
    }
    for text in refused.iter().rev().take(MOST).rev() {
        ui::say(ui::plain(text));
    }
    if refused.len() > MOST {
        ui::say(format!("and {} more: piton log", refused.len() - MOST));
    }
    if !refused.is_empty() || after > said + FAR {
        // If the position cannot be saved, they are reported again.
        let _ = disk::private_folder(place.parent().unwrap_or(&project.home))
            .and_then(|()| disk::replace(&place, after.to_string().as_bytes()));
    }
}
