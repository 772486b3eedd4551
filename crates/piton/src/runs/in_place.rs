//! Whether work is done in the checkout itself.

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::project::Project;

use crate::failure::Outcome;
use crate::plans::FoundPlan;
use crate::runs::known;

/// A run that began in place without git continues so. Plans for knowledge read and write in their own folder. If there
/// is no git, or git does not have that folder, they can only be worked on in place.
pub(crate) fn settle_in_place(found: &mut FoundPlan, project: &Project) -> Outcome {
    let settings = &mut found.plan.settings;
    if project.repo()?.is_none()
        && let Some(journal) = project.existing_journal()?
        && let Some(run) = known::run_of_plan(&journal, &found.path)?
    {
        settings.no_commits |= journal.facts(&run)?.is_some_and(|facts| facts.settings.no_commits);
    }
    let Some(list) = settings.form.made_by() else { return Ok(()) };
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let place = found.path.strip_prefix(root).ok();
    let made = settings.form.outputs(place.map(Utf8Path::as_str));
    let made: Vec<String> = made.iter().map(ToString::to_string).collect();
    settings.no_commits |= match project.repo()? {
        Some(repo) => {
            let list = place.map(|place| place.join(list));
            let is_kept = |list: Utf8PathBuf| repo.has(&repo.resolve("HEAD")?, list.as_str());
            !list.map(is_kept).transpose()?.unwrap_or(false) || repo.ignores(&made)?
        }
        None => true,
    };
    Ok(())
}
