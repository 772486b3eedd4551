//! Folders of issues: found by number, and read with what the project around them says.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::Folder;
use piton_core::system::issue::plan::{self, DESIGN, Given, LISTS, REQUIREMENTS};
use piton_core::toolchain;
use piton_engine::git::Repo;

use crate::failure::{Failure, Outcome};
use crate::paths::{here, shown};
use crate::plans::found::{FoundPlan, How, Read, config, pictured};

/// Where plans of issues are kept, from the root of a project.
pub(crate) const PLANS: &str = ".claude/plans";
/// A file at a project's root that is larger than this configures nothing.
const LARGEST: u64 = 1 << 20;

/// Whether a folder holds the plan of an issue.
pub(super) fn is_issue(folder: &Utf8Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    let named =
        folder.canonicalize_utf8().is_ok_and(|path| path.file_name().and_then(plan::number_of).is_some());
    let planned = has(REQUIREMENTS) || has(DESIGN) || has("execution-state.json");
    (has(LISTS[0]) && (planned || named)) || (has(LISTS[1]) && named)
}

/// Whether a folder has nothing but an issue's `plan.md` to go by.
pub(super) fn has_plan(folder: &Utf8Path) -> bool {
    folder.join(LISTS[1]).is_file()
}

/// The files that such a plan is made of.
pub(super) fn is_part(name: &str) -> bool {
    LISTS.contains(&name) || [REQUIREMENTS, DESIGN].contains(&name)
}

/// `42` or `#42`.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Whether somebody who types this means an issue: always with `#`, and else if there is a plan for it.
pub(super) fn is_meant(text: &str) -> bool {
    number(text)
        .is_some_and(|number| text.starts_with('#') || folders(number).is_ok_and(|found| !found.is_empty()))
}

/// The plan's folder of an issue.
pub(super) fn find(number: u64) -> Outcome<Utf8PathBuf> {
    let mut found = folders(number)?;
    match found.len() {
        0 => Err(Failure::new(format!("there is no plan for issue {number} in {PLANS}"))
            .hint(format!("piton new issue {number} SLUG"))),
        1 => Ok(found.remove(0)),
        _ => {
            let failure = Failure::usage(format!("issue {number} has several plans: say which"));
            Err(found.iter().fold(failure, |failure, folder| failure.hint(shown(folder))))
        }
    }
}

/// The folders of an issue, in the nearest place where plans are kept.
fn folders(number: u64) -> Outcome<Vec<Utf8PathBuf>> {
    for above in here()?.ancestors() {
        let entries = above.join(PLANS).read_dir_utf8().into_iter().flatten().flatten();
        let is_it = |name: &str| plan::number_of(name).is_some_and(|(own, _)| own == number);
        let mut found: Vec<Utf8PathBuf> = entries
            .filter(|entry| is_it(entry.file_name()) && entry.path().is_dir())
            .map(|entry| entry.path().to_owned())
            .collect();
        if !found.is_empty() || above.join(".git").exists() {
            found.sort();
            return Ok(found);
        }
    }
    Ok(Vec::new())
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
    let mut issue = plan::read(folder, &given);
    if how.lint {
        let poor = plan::lint(&issue);
        issue.reading.problems.extend(poor);
    }
    let picture = pictured(path, path, &issue.reading)?;
    let found = FoundPlan {
        path: path.to_owned(),
        plan: issue.sequence(),
        issue: Some(Box::new(issue)),
        list: None,
        iterative: None,
    };
    Ok((found, picture))
}

/// The project that a plan is for: the repository around it, or the folder that its own place is in.
pub(super) fn root(path: &Utf8Path, given: Option<&Utf8Path>) -> Utf8PathBuf {
    if let Some(given) = given.and_then(|given| given.canonicalize_utf8().ok()) {
        return given;
    }
    let is_top = |above: &&Utf8Path| above.join(".git").exists() || Repo::has_store(&above.join(".piton"));
    let repository = path.ancestors().find(is_top);
    let place = || path.ancestors().find(|above| above.file_name() == Some(".claude"))?.parent();
    repository.or_else(place).unwrap_or(path).to_owned()
}

/// What stands at a project's root: the names of its files, and the text of those that configure something.
pub(super) fn files_at(root: &Utf8Path) -> Outcome<Folder> {
    let mut files = Folder::default();
    for entry in root.read_dir_utf8().into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(data) = path.metadata().ok().filter(std::fs::Metadata::is_file) else { continue };
        let is_read = toolchain::READ.contains(&entry.file_name()) && data.len() <= LARGEST;
        let text = is_read.then(|| std::fs::read(path)).transpose();
        let text = text.map_err(Failure::io(format!("cannot read {path}")))?;
        files.files.insert(entry.file_name().to_owned(), text.unwrap_or_default());
    }
    Ok(files)
}
