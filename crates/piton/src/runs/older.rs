//! Folders of an older layout: moved to where such folders are kept now, before they are imported.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RunId;
use piton_core::system::{Outdated, SystemRef, systems};
use piton_engine::crash;

use crate::failure::{Failure, Outcome};
use crate::paths::shown;
use crate::plans::{self, FoundPlan, How};
use crate::ui;

/// A folder of an older layout, and where it belongs now.
pub(crate) struct Older {
    system: SystemRef,
    from: Utf8PathBuf,
    now: Outdated,
}

/// The folder of an older layout that a command is about. `None`: it has the usual layout.
pub(crate) fn find(given: &Utf8Path) -> Outcome<Option<Older>> {
    let folder = if given.is_file() { given.parent().unwrap_or(given) } else { given };
    // It may have been moved already, by a command that was cut off.
    let from = folder.canonicalize_utf8().unwrap_or_else(|_| crate::paths::absolute(folder));
    let outdated = systems().find_map(|system| Some((system, system.outdated(from.as_str())?)));
    let (Some((system, now)), Some(name)) = (outdated, from.file_name()) else { return Ok(None) };
    RunId::new(name)
        .map_err(|bad| Failure::new(format!("{name:?} cannot be the name of a folder here: {bad}")))?;
    Ok(Some(Older { system, from, now }))
}

/// The plan of such a folder. The folder is moved to its new place, except in a dry run. One that cannot be read stays
/// where it is.
pub(crate) fn found(older: &Older, how: How<'_>, dry_run: bool) -> Outcome<FoundPlan> {
    let (from, to) = (older.from.as_path(), Utf8Path::new(&older.now.to));
    let is_moved = !from.is_dir() && to.is_dir();
    if !is_moved {
        let (found, warnings) = plans::read(from, older.system, how)?;
        warnings.into_iter().for_each(ui::say);
        if to.exists() {
            let failure = Failure::new(format!("{} already exists", shown(to)));
            return Err(failure.hint(format!("rename {} first, then import it again", shown(from))));
        }
        if dry_run {
            ui::say(format!("would move {} to {}", shown(from), shown(to)));
            return Ok(found);
        }
        bring(from, to, older.now.renamed)?;
    }
    Ok(plans::read(to, older.system, how)?.0)
}

/// Killed at any point, it can be done again.
fn bring(from: &Utf8Path, to: &Utf8Path, (before, now): (&str, &str)) -> Outcome {
    let cannot = |path: &Utf8Path| Failure::io(format!("cannot move {path}"));
    let (before, now) = (from.join(before), from.join(now));
    if before.is_file() && !now.exists() {
        std::fs::rename(&before, &now).map_err(cannot(&before))?;
    }
    let place = to.parent().unwrap_or(to);
    std::fs::create_dir_all(place).map_err(Failure::io(format!("cannot create {place}")))?;
    std::fs::rename(from, to).map_err(cannot(from))?;
    crash::point("older.moved");
    ui::say(format!("moved {} to {}", shown(from), shown(to)));
    Ok(())
}
