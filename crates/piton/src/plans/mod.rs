//! A plan on disk: which system it is of, what it says, and what is wrong with it. It is the same for every system; the
//! system's row decides what differs.

mod around;
mod disk;
mod found;
mod issues;
mod seen;
mod state;
mod unchanged;

pub(crate) use around::{checks, ci_files, files_at, parts_of};
pub(crate) use disk::OnDisk;
pub(crate) use found::{FoundPlan, How, config, config_file, folder_of, notify, requests, stays_inside};
pub(crate) use issues::{is_beads, watch as watch_issues};
pub(crate) use seen::{below, seen};
pub(crate) use state::{Aside, left};
pub(crate) use unchanged::Stamp;

use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::nearest;
use piton_core::plan::RepoPath;
use piton_core::run::shell_word;
use piton_core::system::config::Config;
use piton_core::system::{Folder, Given, ReadPlan, Strictness, SystemRef, finding, own, systems};
use piton_core::time::Timestamp;
use piton_engine::git::not_in_git;
use piton_engine::secrets;

use crate::failure::{Failure, Outcome};
use crate::paths::{here, shown, typed};
use crate::plans::around::{detected, root};
use crate::plans::found::{Read, file_of, pictured};
use crate::ui;

/// Folders below a plan's own that are looked into.
const DEEPEST: usize = 3;

/// Read a plan and the project's defaults; warnings are shown, errors end here.
pub(crate) fn plan(given: &Utf8Path, how: How<'_>) -> Outcome<FoundPlan> {
    let is_asked = issues::ask(given)?;
    let (path, system) = place(given, how.system)?;
    if !is_asked {
        issues::renew(&path)?;
    }
    if system == own() && how.system.is_none() && path.extension() == Some("md") {
        let failure =
            Failure::new(format!("{} has no task: a task is a line with a box, `- [ ] …`", shown(&path)));
        return Err(failure.hint(format!("piton new NAME --from {}   makes a plan of a list", typed(&path))));
    }
    let (found, warnings) = read(&path, system, how)?;
    if let Some(warnings) = warnings {
        ui::say(warnings);
    }
    if system != own() {
        ui::say(format!("{} is read as a plan of the {} system", shown(&path), system.name()));
    }
    Ok(found)
}

/// Where the plan is that `given` names, and which system's it is.
pub(crate) fn place(given: &Utf8Path, wanted: Option<SystemRef>) -> Outcome<(Utf8PathBuf, SystemRef)> {
    if let Some(file) = issues::file(given)? {
        return Ok((real(&file)?, finding::of_file(file.as_str(), &OnDisk)));
    }
    if given.is_dir() {
        return place_of_folder(given, wanted);
    }
    if !given.is_file() {
        return place_of_name(given);
    }
    let system = wanted.unwrap_or_else(|| finding::of_file(given.as_str(), &OnDisk));
    let folder = given.parent().filter(|folder| !folder.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    Ok((real(if system.files().plan_is_file { given } else { folder })?, system))
}

fn real(path: &Utf8Path) -> Outcome<Utf8PathBuf> {
    path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))
}

fn place_of_folder(given: &Utf8Path, wanted: Option<SystemRef>) -> Outcome<(Utf8PathBuf, SystemRef)> {
    let folder = real(given)?;
    if let Some(outdated) = systems().find_map(|system| system.outdated(folder.as_str())) {
        return Err(Failure::new(format!("{} is of an older layout", shown(given))).hint(format!(
            "piton import {}   brings it to {}",
            typed(given),
            outdated.place
        )));
    }
    let system = match (wanted, &finding::claimants(given.as_str(), &OnDisk)[..]) {
        (Some(system), _) | (None, &[system]) => system,
        (None, []) => own(),
        (None, several) => {
            let failure = Failure::usage(format!("{given} could be a plan of several systems"));
            return Err(several.iter().fold(failure, |failure, system| {
                failure.hint(format!("piton plan {} --dialect {}", typed(given), system.name()))
            }));
        }
    };
    if !system.files().plan_is_file {
        return Ok((folder, system));
    }
    match system.claims_folder(given.as_str(), &OnDisk) {
        Some(claim) => Ok((real(&given.join(claim.file))?, system)),
        None if system == own() => Err(no_plan(&given.join("plan.toml"))),
        None => {
            let what = format!(
                "{} is a folder, and a plan of the {} system is one file",
                shown(&folder),
                system.name()
            );
            Err(Failure::usage(what).hint("name the file"))
        }
    }
}

/// A plan by its short name: the folder of that name, where plans of some system are kept.
fn place_of_name(given: &Utf8Path) -> Outcome<(Utf8PathBuf, SystemRef)> {
    let text = given.as_str();
    for system in systems() {
        match &named(system, text)?[..] {
            [] => {}
            [folder] if system.files().plan_is_file => return place_of_folder(folder, Some(system)),
            [folder] => return Ok((real(folder)?, system)),
            several => {
                let what = system.typed(text).map_or_else(|| text.to_owned(), |typed| typed.what);
                let failure = Failure::usage(format!("{what} has several plans: name one"));
                return Err(several.iter().fold(failure, |failure, folder| failure.hint(shown(folder))));
            }
        }
    }
    let typed = systems().find_map(|system| Some((system.typed(text)?, system.files().usual_folder?)));
    let issue = issues::numbered(text).map(|ask| format!("piton plan {ask}   asks for the issue"));
    Err(match typed {
        Some((typed, place)) => {
            let failure = Failure::new(format!("there is no plan for {} in {place}", typed.what));
            issue.into_iter().fold(failure.hint(typed.new), Failure::hint)
        }
        None => match moved(given)? {
            Some(to) => Failure::new(format!("there is no plan at {given}; it was moved to {}", shown(&to))),
            None => no_plan(given),
        },
    })
}

/// Where the program of some system has moved a plan that is no longer at this path.
fn moved(given: &Utf8Path) -> Outcome<Option<Utf8PathBuf>> {
    let path = here()?.join(given);
    Ok(systems().find_map(|system| system.moved_to(path.as_str(), &OnDisk)).map(Utf8PathBuf::from))
}

/// The folders of a system that go by a typed text, in the nearest place where such are kept.
fn named(system: SystemRef, text: &str) -> Outcome<Vec<Utf8PathBuf>> {
    let Some(place) = system.files().usual_folder.filter(|_| !text.contains(['/', '\\'])) else {
        return Ok(Vec::new());
    };
    for above in here()?.ancestors() {
        let entries = above.join(place).read_dir_utf8().into_iter().flatten().flatten();
        let is_it = |name: &str| system.goes_by(name, text);
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

/// Whether a typed text means a plan by its short name.
pub(crate) fn is_meant(text: &str) -> bool {
    systems().any(|system| {
        system.typed(text).is_some_and(|typed| typed.is_certain)
            || named(system, text).is_ok_and(|found| !found.is_empty())
    })
}

/// The plans of this folder and of the project around it.
fn in_reach(here: &Utf8Path) -> Vec<Utf8PathBuf> {
    let top = here.ancestors().find(|above| above.join(".git").exists()).filter(|top| *top != here);
    std::iter::once(here).chain(top).flat_map(seen).collect()
}

fn no_plan(path: &Utf8Path) -> Failure {
    let failure = Failure::new(format!("there is no plan at {path}"));
    if path.as_str().contains("://") {
        return failure
            .hint(format!("git clone {}   then run a plan of the clone", shell_word(path.as_str())));
    }
    let plans = here().map(|here| in_reach(&here)).unwrap_or_default();
    let names: Vec<String> = plans.iter().map(|plan| shown(plan)).collect();
    let near = nearest(path.as_str(), names.iter().map(String::as_str)).map(str::to_owned);
    // The same name elsewhere: it was typed in another folder.
    let namesake = || plans.iter().find(|plan| plan.file_name() == path.file_name()).map(|plan| shown(plan));
    match near.or_else(namesake) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint(format!("piton new {}", shell_word(path.file_stem().unwrap_or("plan")))),
    }
}

/// The plan at a place that [`place`] gave.
pub(crate) fn read(path: &Utf8Path, system: SystemRef, how: How<'_>) -> Outcome<Read> {
    understand(path, system, &source(path, system)?, how)
}

/// Its files, as they are on disk.
pub(crate) fn source(path: &Utf8Path, system: SystemRef) -> Outcome<Folder> {
    let base = base(path, system);
    let mut folder = Folder::default();
    for file in parts(path, system) {
        let name = file.strip_prefix(&base).unwrap_or(&file).to_string();
        let around = if system.files().plan_is_file { folder_of(&file) } else { path };
        folder.files.insert(name, file_of(&file, around)?);
    }
    Ok(folder)
}

/// The folder that the names of a plan's files begin at.
pub(crate) fn base(path: &Utf8Path, system: SystemRef) -> Utf8PathBuf {
    if system.files().plan_is_file { root(path, system, None) } else { path.to_owned() }
}

/// What the files of a plan say, as if they were on disk at this place.
pub(crate) fn understand(path: &Utf8Path, system: SystemRef, source: &Folder, how: How<'_>) -> Outcome<Read> {
    let mut read = reading(path, system, source, how)?;
    let picture = pictured(path, &base(path, system), read.reading())?;
    let mut plan = read.take_plan();
    bring(&mut plan.settings.worktree.copy, &base(path, system), read.named())?;
    // From here on the plan may be written anywhere.
    secrets::withhold(&mut plan.settings.agents);
    Ok((FoundPlan { path: path.to_owned(), plan, read }, picture))
}

/// What agents are to read and git ignores is copied into their worktrees, which lack it.
fn bring(copied: &mut Vec<RepoPath>, root: &Utf8Path, named: &[String]) -> Outcome {
    for file in not_in_git(root, named)?.ignored {
        if let Ok(file) = RepoPath::new(&file)
            && !copied.contains(&file)
        {
            copied.push(file);
        }
    }
    Ok(())
}

/// The same with all that is wrong with it. The plan is to be used only if that is no error.
pub(crate) fn reading(
    path: &Utf8Path,
    system: SystemRef,
    source: &Folder,
    how: How<'_>,
) -> Outcome<Box<dyn ReadPlan>> {
    let root = root(path, system, how.project);
    let config = config_for(path, system, &root, how)?;
    let detected = detected(&root, system, how)?;
    let mut others = Folder::default();
    for other in system.others(path.as_str(), root.as_str(), &OnDisk) {
        let other = Utf8PathBuf::from(other);
        if let Ok(bytes) = file_of(&other, folder_of(&other)) {
            others.files.insert(other.strip_prefix(&root).unwrap_or(&other).to_string(), bytes);
        }
    }
    let given = Given {
        name: path.file_name().unwrap_or("plan"),
        place: path.strip_prefix(&root).unwrap_or(path).as_str(),
        config: &config,
        detected: &detected,
        others: &others,
        strictness: if how.strict { Strictness::Strict } else { Strictness::Lenient },
    };
    let mut read = system.read(source, &given);
    if how.lint {
        let poor = read.lint();
        read.reading_mut().problems.extend(poor);
    }
    Ok(read)
}

/// The defaults that count for a plan: the nearest ones, else those of its project.
fn config_for(path: &Utf8Path, system: SystemRef, root: &Utf8Path, how: How<'_>) -> Outcome<Config> {
    if let Some(config) = config(folder_of(path))? {
        return Ok(config);
    }
    if system.policy().holds_settings {
        return Ok(Config::default());
    }
    let named = || project_named(path).filter(|project| project.is_dir());
    let project = how.project.map(Utf8Path::to_owned).or_else(named);
    Ok(config(project.as_deref().unwrap_or(root))?.unwrap_or_default())
}

/// Where a plan says its project is: in its own files, or, if it lies outside of every repository, in its state file.
pub(crate) fn project_named(plan: &Utf8Path) -> Option<Utf8PathBuf> {
    let named = |system: SystemRef| system.project_named(plan.as_str(), &OnDisk).in_plan;
    let said = systems().find_map(named).map(|said| plan.join(said));
    let is_outside = || !plan.ancestors().any(|folder| folder.join(".git").exists());
    said.or_else(|| project_in_state(plan).filter(|_| is_outside()))
}

/// The project that the state file of a plan names, if there is such a folder.
pub(crate) fn project_in_state(plan: &Utf8Path) -> Option<Utf8PathBuf> {
    let named = |system: SystemRef| system.project_named(plan.as_str(), &OnDisk).in_state;
    systems().find_map(named).map(|said| plan.join(said)).filter(|said| said.is_dir())
}

/// The paths of a plan's files.
pub(crate) fn parts(path: &Utf8Path, system: SystemRef) -> Vec<Utf8PathBuf> {
    if system.files().plan_is_file {
        let along = system.read_along(path.as_str(), &OnDisk).into_iter().map(Utf8PathBuf::from);
        return std::iter::once(path.to_owned()).chain(along.filter(|file| file.is_file())).collect();
    }
    files(path).iter().map(|name| path.join(name)).collect()
}

/// Their names, with `/` between the parts.
fn files(path: &Utf8Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            let name = format!("{prefix}{}", entry.file_name());
            let is_dir = entry.path().is_dir();
            if entry.file_name().starts_with('.') {
                continue;
            } else if is_dir && depth < DEEPEST {
                open.push((entry.path().to_owned(), format!("{name}/"), depth + 1));
            } else if !is_dir && is_part(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn is_part(name: &str) -> bool {
    systems().any(|system| system.is_part(name))
}

/// When a part of a plan was last written, as far as that is known.
pub(crate) fn written(path: &Utf8Path, project: &Utf8Path) -> Option<Timestamp> {
    let last = stamp(path, project).into_iter().filter_map(|(_, written, _)| written).max()?;
    let since = last.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

/// When the parts of a plan, and the defaults that count for it, were last written, and how long they are: what is equal need not be read again.
pub(crate) fn stamp(path: &Utf8Path, project: &Utf8Path) -> Vec<(String, Option<SystemTime>, u64)> {
    let stamp = |name: String, file: &Utf8Path| {
        let data = std::fs::metadata(file).ok();
        let written = data.as_ref().and_then(|data| data.modified().ok());
        (name, written, data.map_or(0, |data| data.len()))
    };
    let defaults = [folder_of(path), project].into_iter().filter_map(config_file);
    let defaults = defaults.map(|file| stamp(file.to_string(), &file));
    if !path.is_dir() {
        // A system reads more with its own plans alone.
        let along = systems().flat_map(|system| system.read_along(path.as_str(), &OnDisk));
        let along = along.map(|file| stamp(file.clone(), Utf8Path::new(&file)));
        return [stamp(String::new(), path)].into_iter().chain(along).chain(defaults).collect();
    }
    let parts = files(path).into_iter().map(|name| stamp(name.clone(), &path.join(&name)));
    let mut stamps: Vec<_> = parts.chain(defaults).collect();
    stamps.sort();
    stamps
}
