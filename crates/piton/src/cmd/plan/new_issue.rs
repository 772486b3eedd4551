//! A folder for the plan of an issue.

use camino::Utf8Path;
use piton_core::system::issue::plan::starter;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{here, write};
use crate::plans::PLANS;
use crate::ui;

pub(super) fn new(number: &str, slug: &str, force: bool) -> Outcome<Exit> {
    let nth: u64 = number
        .trim_start_matches('#')
        .parse()
        .map_err(|_| Failure::usage(format!("`{number}` is not the number of an issue")))?;
    let (name, files) = starter(nth, slug)
        .map_err(|bad| Failure::usage(format!("{slug:?} cannot be part of a folder and a branch: {bad}")))?;
    let here = here()?;
    let root = here.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&here);
    let folder = crate::paths::shown(&root.join(PLANS).join(name));
    let folder = Utf8Path::new(&folder);
    let is_used = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !force {
        let failure = Failure::new(format!("{folder} exists already"));
        return Err(failure.hint(format!("piton new issue {number} {slug} --force")));
    }
    for (file, text) in files {
        write(&folder.join(file), &text)?;
    }
    ui::say(format!("wrote {folder}"));
    ui::hint(format!("edit its tasks, then: piton plan {nth}"));
    Ok(FINE)
}
