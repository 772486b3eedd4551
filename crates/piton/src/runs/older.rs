//! Folders of the layout before the iterative system's own: brought to where such folders are kept now, before they are
//! taken over.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Dialect, RunId};
use piton_core::system::iterative::plan::BRIEFS;
use piton_engine::crash;

use crate::failure::{Failure, Outcome};
use crate::paths::shown;
use crate::plans::{self, FoundPlan, How, ITERATIVE, OLDER};
use crate::ui;

/// The folder of that layout which is meant, and where it belongs now. `None`: it is of another kind.
pub(crate) fn meant(given: &Utf8Path) -> Outcome<Option<(Utf8PathBuf, Utf8PathBuf)>> {
    let folder = if given.is_file() { given.parent().unwrap_or(given) } else { given };
    // It may have been brought there already, by somebody who was cut off.
    let from = folder.canonicalize_utf8().unwrap_or_else(|_| crate::paths::absolute(folder));
    let around = from.parent().filter(|around| around.ends_with(OLDER));
    let project = around.and_then(|around| around.parent()?.parent());
    let (Some(project), Some(slug)) = (project, from.file_name()) else { return Ok(None) };
    RunId::new(slug)
        .map_err(|bad| Failure::new(format!("{slug:?} cannot be the name of a folder here: {bad}")))?;
    let to = project.join(ITERATIVE).join(slug);
    Ok(Some((from, to)))
}

/// The plan of such a folder, which is brought to its new place unless that is only to be told. One that cannot be read
/// stays where it is.
pub(crate) fn found(from: &Utf8Path, to: &Utf8Path, how: How<'_>, dry_run: bool) -> Outcome<FoundPlan> {
    let is_moved = !from.is_dir() && to.is_dir();
    if !is_moved {
        let (found, warnings) = plans::read(from, Dialect::Iterative, how)?;
        warnings.into_iter().for_each(ui::say);
        if to.exists() {
            let failure = Failure::new(format!("{} exists already", shown(to)));
            return Err(failure.hint(format!("rename {} first, then import it again", shown(from))));
        }
        if dry_run {
            ui::say(format!("would move {} to {}", shown(from), shown(to)));
            return Ok(found);
        }
        bring(from, to)?;
    }
    Ok(plans::read(to, Dialect::Iterative, how)?.0)
}

/// Killed at any point, it can be done again.
fn bring(from: &Utf8Path, to: &Utf8Path) -> Outcome {
    let cannot = |path: &Utf8Path| Failure::io(format!("cannot move {path}"));
    let [brief, older] = BRIEFS.map(|name| from.join(name));
    if older.is_file() && !brief.exists() {
        std::fs::rename(&older, &brief).map_err(cannot(&older))?;
    }
    let place = to.parent().unwrap_or(to);
    std::fs::create_dir_all(place).map_err(Failure::io(format!("cannot create {place}")))?;
    std::fs::rename(from, to).map_err(cannot(from))?;
    crash::point("older.moved");
    ui::say(format!("moved {} to {}", shown(from), shown(to)));
    Ok(())
}
