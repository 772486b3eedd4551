//! Folders of the iterative system: found by slug, and read with what the project around them says.

pub(crate) use piton_core::system::iterative::takeover::ARCHIVE;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::Folder;
use piton_core::system::iterative::context;
use piton_core::system::iterative::plan::{self, BRIEFS, Given, LISTS};
use piton_core::toolchain;

use crate::failure::{Failure, Outcome};
use crate::paths::{here, shown, typed};
use crate::plans::found::{FoundPlan, How, Read, config, pictured};
use crate::plans::issue::{files_at, is_issue, root};
use crate::plans::rwkit::settled;

/// Where folders of this system are kept, from the root of a project.
pub(crate) const PLACE: &str = ".claude/iterative";
/// Where an older layout of it kept them.
pub(crate) const OLDER: &str = ".claude/iterative-dev";

/// Files by which a folder is known wherever it lies; others have a list, too.
const OWN: [&str; 4] = ["brief.md", "progress.md", "guardrails.md", "context.md"];

/// Whether a folder is a plan of this system: by its place, or by its files.
pub(super) fn is_iterative(folder: &Utf8Path) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| folder.join(name).is_file());
    has(&LISTS) && (is_in_place(folder, PLACE) || has(&OWN) && !is_issue(folder))
}

fn is_in_place(folder: &Utf8Path, place: &str) -> bool {
    let real = folder.canonicalize_utf8();
    real.is_ok_and(|path| path.parent().is_some_and(|around| around.ends_with(place)))
}

/// Whether it is one of the layout before this one, which is brought up to date before it is worked on.
pub(crate) fn is_older(folder: &Utf8Path) -> bool {
    is_in_place(folder, OLDER)
}

pub(super) fn too_old(folder: &Utf8Path) -> Failure {
    Failure::new(format!("{} is of an older layout", shown(folder)))
        .hint(format!("piton import {}   brings it to {PLACE}", typed(folder)))
}

/// Whether a file is one that only such folders have.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name) || name == "state.json"
}

/// The files that such a plan is made of, and the one that every agent reads beside them.
pub(super) fn is_part(name: &str) -> bool {
    LISTS.contains(&name) || BRIEFS.contains(&name) || name == context::FILE
}

/// The folder of a slug, in the nearest place where such are kept.
pub(super) fn find(slug: &str) -> Option<Utf8PathBuf> {
    if slug.is_empty() || slug.contains(['/', '\\']) || slug.starts_with('.') || slug == ARCHIVE {
        return None;
    }
    for above in here().ok()?.ancestors() {
        let folder = above.join(PLACE).join(slug);
        if folder.is_dir() {
            return Some(folder);
        }
        if above.join(".git").exists() {
            break;
        }
    }
    None
}

pub(super) fn understand(path: &Utf8Path, folder: &Folder, how: How<'_>) -> Outcome<Read> {
    let root = root(path, how.project);
    let config = match config(path)? {
        Some(config) => config,
        None => self::config(&root)?.unwrap_or_default(),
    };
    let detected = match how.tests {
        None => toolchain::detect(&files_at(&root)?),
        Some(tests) => tests.iter().map(settled).collect(),
    };
    let place = path.strip_prefix(&root).unwrap_or(path);
    let given = Given {
        name: path.file_name().unwrap_or("plan"),
        place: place.as_str(),
        config: &config,
        detected: &detected,
        strict: how.strict,
    };
    let read = plan::read(folder, &given);
    let picture = pictured(path, path, &read.reading)?;
    let found = FoundPlan {
        path: path.to_owned(),
        plan: read.reading.plan.clone(),
        issue: None,
        list: None,
        iterative: Some(Box::new(read)),
    };
    Ok((found, picture))
}
