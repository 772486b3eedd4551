//! Folders of the iterative system, read with what the project around them says.

use camino::Utf8Path;
use piton_core::dialect::iterative::plan::{self, BRIEFS, Given, LISTS};
use piton_core::dialect::{Folder, toolchain};

use super::issue::{files_at, root};
use super::{FoundPlan, How, Read, config, pictured};
use crate::failure::Outcome;

/// The files that such a plan is made of.
pub(super) fn is_part(name: &str) -> bool {
    LISTS.contains(&name) || BRIEFS.contains(&name)
}

pub(super) fn understand(path: &Utf8Path, folder: &Folder, how: How<'_>) -> Outcome<Read> {
    let root = root(path, how.project);
    let config = match config(path)? {
        Some(config) => config,
        None => self::config(&root)?.unwrap_or_default(),
    };
    let detected = toolchain::detect(&files_at(&root)?);
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
    let plan = read.reading.plan;
    Ok((FoundPlan { path: path.to_owned(), plan, project_path: None, issue: None, list: None }, picture))
}
