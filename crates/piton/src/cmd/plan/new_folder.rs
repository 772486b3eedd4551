//! The folder of the iterative system: how it begins.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Domain;
use piton_core::system::iterative::Iterations;
use piton_core::system::iterative::guardrails;
use piton_core::system::iterative::plan::starter;
use piton_core::system::kit::takeover::Lessons;
use piton_engine::clock;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{here, shown, write};
use crate::plans::{ARCHIVE, ITERATIVE};
use crate::runs::takeover;
use crate::ui;

pub(super) fn new(slug: &str, domain: Domain, force: bool) -> Outcome<Exit> {
    let files = starter(slug, domain, clock::now())
        .map_err(|bad| Failure::usage(format!("{slug:?} cannot be the name of a folder: {bad}")))?;
    if slug.eq_ignore_ascii_case(ARCHIVE) {
        return Err(Failure::usage(format!("`{ARCHIVE}` is where finished folders go: choose another name")));
    }
    let here = here()?;
    let is_top = |above: &&Utf8Path| above.join(".git").exists() || above.join(ITERATIVE).is_dir();
    let root = here.ancestors().find(is_top).unwrap_or(&here);
    let folder = Utf8PathBuf::from(shown(&root.join(ITERATIVE).join(slug)));
    let is_used = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !force {
        let failure = Failure::new(format!("{folder} exists already"));
        return Err(failure
            .hint(format!("piton archive {slug}   puts it away, once it is finished"))
            .hint(format!("piton new iterative {slug} --force   writes over its brief, list and context")));
    }
    for (file, text) in files {
        write(&folder.join(file), &text)?;
    }
    ui::say(format!("wrote {folder}"));
    seed(&folder)?;
    ui::hint(format!("edit its brief and its list, then: piton plan {slug}"));
    Ok(FINE)
}

/// Put what was learned in finished work into its guardrails.
fn seed(folder: &Utf8Path) -> Outcome {
    let new = takeover::lessons(&Iterations, folder).new_here();
    Lessons::line(&new).into_iter().for_each(ui::say);
    let learned = new.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n");
    let file = folder.join(guardrails::FILE);
    let before = std::fs::read_to_string(&file).ok();
    match guardrails::seed(before.as_deref(), &learned) {
        Some(more) => write(&file, &(before.unwrap_or_default() + &more)),
        None => Ok(()),
    }
}
