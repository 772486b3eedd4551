//! State files that other systems keep with their plans.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::SystemRef;
use piton_engine::disk;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::plans::FoundPlan;
use crate::{paths, ui};

/// A state file in the project itself, besides the one in the plan. Some tools write one there. Piton does not read it.
pub(crate) fn second_copy(system: SystemRef, plan: &Utf8Path, project: &Project) -> Option<Utf8PathBuf> {
    let files = system.files();
    let copy = project.root.join(files.state.filter(|_| !files.of_project)?);
    let real = |folder: &Utf8Path| folder.canonicalize_utf8().ok();
    let has = |mark| std::fs::read_to_string(&copy).is_ok_and(|text| text.contains(mark));
    let is_one = copy.is_file() && files.state_mark.is_none_or(has);
    (is_one && real(&project.root) != real(plan)).then_some(copy)
}

pub(crate) fn warn_of_second_copy(found: &FoundPlan, project: &Project) {
    if let Some(copy) = second_copy(found.plan.settings.form.system(), &found.path, project) {
        let counts = paths::shown(&found.path.join(copy.file_name().unwrap_or_default()));
        ui::say(format!(
            "warning: {} is a second copy of the state file; {counts} is used",
            paths::shown(&copy)
        ));
    }
}

/// Whether a state file lies where the plan's system keeps it.
pub(crate) fn has_state_file(found: &FoundPlan, project: &Project) -> bool {
    let files = found.plan.settings.form.system().files();
    let home = if files.of_project { &project.root } else { &found.path };
    files.state.is_some_and(|name| home.join(name).is_file())
}

/// Copy a state file to `.bak` before it is replaced.
pub(crate) fn back_up(found: &FoundPlan) -> Outcome {
    keep(found, Original::Stays)
}

/// Move a state file to `.bak` before the plan begins again.
pub(crate) fn put_aside(found: &FoundPlan) -> Outcome {
    keep(found, Original::IsRemoved)
}

/// What becomes of a file after it was copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Original {
    Stays,
    IsRemoved,
}

fn keep(found: &FoundPlan, original: Original) -> Outcome {
    let Some(name) = found.plan.settings.form.system().files().state else { return Ok(()) };
    let path = found.path.join(name);
    let kept = Utf8PathBuf::from(format!("{path}.bak"));
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    // One that could not be used is kept already, and an older version of it may be all there is.
    let is_bad = || std::fs::read(format!("{path}.bad")).is_ok_and(|bad| bad == bytes);
    if original == Original::IsRemoved || !is_bad() {
        disk::write(&kept, &bytes).map_err(Failure::io(format!("cannot write {kept}")))?;
    }
    if original == Original::IsRemoved {
        std::fs::remove_file(&path).map_err(Failure::io(format!("cannot remove {path}")))?;
    }
    Ok(())
}
