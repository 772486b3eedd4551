//! A plan that was moved or removed by hand, as the recipes for archiving do. Its run stays in the journal, and Piton
//! does not write its files again.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RunId;
use piton_core::system::SystemRef;
use piton_engine::journal::Journal;

use crate::plans::OnDisk;
use crate::runs::attempt;
use crate::{paths, ui};

/// Where the recipes put what is finished, from the folder of the plans on.
const ARCHIVES: [&str; 3] = ["archive", "archive/completed", "completed"];

/// What has become of the plan of a run: `None` while it is where it was.
pub(crate) fn describe(plan: &Utf8Path, system: SystemRef, run: &RunId) -> Option<String> {
    // A plan that is only read is not missed.
    if !system.keeps_files() || plan.exists() {
        return None;
    }
    let name = paths::shown(plan);
    Some(match moved_to(plan, system, run) {
        Some(to) => format!("its plan {name} was moved to {}", paths::shown(&to)),
        None => format!("its plan {name} no longer exists"),
    })
}

/// Say so when such a run is shown.
pub(crate) fn say(journal: &Journal, run: &RunId) {
    let is_agent = attempt::attempt().map_or(true, |attempt| attempt.is_some());
    let Some(facts) = journal.facts(run).ok().flatten().filter(|_| !is_agent) else { return };
    if let Some(what) = describe(Utf8Path::new(&facts.plan), facts.settings.form.system(), run) {
        ui::say(format!("{run}: {what}; the journal keeps the run"));
    }
}

/// The folder in an archive whose state file names the run; a list is known by its name.
fn moved_to(plan: &Utf8Path, system: SystemRef, run: &RunId) -> Option<Utf8PathBuf> {
    if let Some(to) = system.moved_to(plan.as_str(), &OnDisk) {
        return Some(to.into());
    }
    let around = plan.parent()?;
    let archives = ARCHIVES.iter().map(|archive| around.join(archive));
    if system.files().of_project {
        return archives
            .map(|archive| archive.join(plan.file_name().unwrap_or_default()))
            .find(|to| to.is_file());
    }
    let file = system.files().state?;
    let is_it = |folder: &Utf8PathBuf| {
        std::fs::read_to_string(folder.join(file)).is_ok_and(|text| text.contains(run.as_str()))
    };
    let folders = archives.flat_map(|archive| archive.read_dir_utf8().into_iter().flatten().flatten());
    folders.map(|entry| entry.path().to_owned()).find(is_it)
}
