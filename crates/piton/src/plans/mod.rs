//! A plan on disk: which system it is of, what it says, and what is wrong with it.

mod found;
mod issue;
mod iterative;
mod rwkit;
mod seen;
mod state;

pub(crate) use found::{FoundPlan, How, config, folder_of, stays_inside};
pub(crate) use issue::PLANS;
pub(crate) use iterative::{ARCHIVE, OLDER, PLACE as ITERATIVE};
pub(crate) use rwkit::list_of;
pub(crate) use seen::seen;
pub(crate) use state::{Aside, Left, left};

use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Severity;
use piton_core::plan::Dialect;
use piton_core::run::shell_word;
use piton_core::system::{Folder, execute, kept, native, rwkit as lists};
use piton_engine::secrets;

use crate::failure::{Failure, Outcome};
use crate::paths::{shown, typed};
use crate::plans::found::{Read, config_file, file_of, is_execute, pictured, refused, text_of};
use crate::{picture, ui};
/// Folders below a plan's own that are looked into.
const DEEPEST: usize = 3;

/// Read a plan and the project's defaults; warnings are shown, errors end here.
pub(crate) fn plan(given: &Utf8Path, how: How<'_>) -> Outcome<FoundPlan> {
    let (path, dialect) = place(given, how.dialect)?;
    let (found, warnings) = read(&path, dialect, how)?;
    if let Some(warnings) = warnings {
        ui::say(warnings);
    }
    if dialect != Dialect::Native {
        ui::say(format!("{} is read as a plan of the {} system", shown(&path), dialect.name()));
    }
    Ok(found)
}

/// Where the plan is that `given` names, and which system's it is.
pub(crate) fn place(given: &Utf8Path, wish: Option<Dialect>) -> Outcome<(Utf8PathBuf, Dialect)> {
    let real = |path: &Utf8Path| path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")));
    if given.is_dir() && iterative::is_older(given) {
        return Err(iterative::too_old(given));
    }
    if given.is_dir() {
        return match (wish, &systems(given)[..]) {
            (None, [Dialect::Native]) => Ok((real(&given.join("plan.toml"))?, Dialect::Native)),
            (Some(Dialect::Native), systems) if systems.contains(&Dialect::Native) => {
                Ok((real(&given.join("plan.toml"))?, Dialect::Native))
            }
            (Some(Dialect::Native), _) | (None, []) => Err(no_plan(&given.join("plan.toml"))),
            (Some(dialect), _) => Ok((real(given)?, dialect)),
            (None, [dialect]) => Ok((real(given)?, *dialect)),
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|dialect| dialect.name()).collect();
                let failure = Failure::usage(format!("{given} could be a plan of several systems"));
                Err(names.iter().fold(failure, |failure, name| {
                    failure.hint(format!("piton plan {} --dialect {name}", typed(given)))
                }))
            }
        };
    }
    if !given.is_file() {
        return match (issue::number(given.as_str()), iterative::find(given.as_str())) {
            (_, Some(folder)) => Ok((real(&folder)?, Dialect::Iterative)),
            (Some(number), None) => Ok((real(&issue::find(number)?)?, Dialect::Issue)),
            (None, None) => Err(no_plan(given)),
        };
    }
    let folder = given.parent().filter(|folder| !folder.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    let name = given.file_name().unwrap_or_default();
    let dialect = wish.unwrap_or_else(|| match name {
        "manifest.json" | "layer_plan.json" | "execute-state.json" => Dialect::Execute,
        "execution-state.json" | "journal.md" => Dialect::Issue,
        name if (iterative::is_own(name) || iterative::is_part(name)) && iterative::is_iterative(folder) => {
            Dialect::Iterative
        }
        name if issue::is_part(name) => Dialect::Issue,
        name if lists::is_list(name) => Dialect::Rwkit,
        _ => Dialect::Native,
    });
    let is_file = matches!(dialect, Dialect::Native | Dialect::Rwkit);
    Ok((real(if is_file { given } else { folder })?, dialect))
}

/// Whether somebody who types this means a plan by its name: an issue, or a slug.
pub(crate) fn is_meant(text: &str) -> bool {
    issue::is_meant(text) || iterative::find(text).is_some()
}

/// The systems that a folder could be a plan of.
fn systems(folder: &Utf8Path) -> Vec<Dialect> {
    let mut systems = Vec::new();
    let mut found = |is: bool, dialect| is.then(|| systems.push(dialect));
    let is_iterative = iterative::is_iterative(folder);
    found(is_execute(folder), Dialect::Execute);
    // Lists are called the same there, and folders by any name.
    found(issue::is_issue(folder) && !is_iterative, Dialect::Issue);
    found(is_iterative, Dialect::Iterative);
    found(folder.join("plan.toml").is_file(), Dialect::Native);
    if systems.is_empty() && issue::has_plan(folder) {
        systems.push(Dialect::Issue);
    }
    systems
}

fn no_plan(path: &Utf8Path) -> Failure {
    Failure::new(format!("there is no plan at {path}"))
        .hint(format!("piton new {}", shell_word(path.file_stem().unwrap_or("plan"))))
}

/// A plan's files, whole.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    File(String),
    Folder(Folder),
    Issue(Folder),
    /// A todolist, and what it was made from.
    List(Folder),
    Iterative(Folder),
}

/// The plan at a place that [`place`] gave.
pub(crate) fn read(path: &Utf8Path, dialect: Dialect, how: How<'_>) -> Outcome<Read> {
    understand(path, &source(path, dialect)?, how)
}

/// Its files, as they are on disk.
pub(crate) fn source(path: &Utf8Path, dialect: Dialect) -> Outcome<Source> {
    match dialect {
        Dialect::Native => text_of(path).map(Source::File),
        Dialect::Execute => folder(path).map(Source::Folder),
        Dialect::Issue => folder(path).map(Source::Issue),
        Dialect::Rwkit => rwkit::source(path).map(Source::List),
        Dialect::Iterative => folder(path).map(Source::Iterative),
    }
}

/// What the files of a plan say, as if they were on disk at this place.
pub(crate) fn understand(path: &Utf8Path, source: &Source, how: How<'_>) -> Outcome<Read> {
    let (mut found, picture) = match source {
        Source::File(text) => understand_native(path, text),
        Source::Folder(folder) => understand_execute(path, folder, how),
        Source::Issue(folder) => issue::understand(path, folder, how),
        Source::List(folder) => rwkit::understand(path, folder, how),
        Source::Iterative(folder) => iterative::understand(path, folder, how),
    }?;
    // From here on the plan may be written anywhere.
    secrets::withhold(&mut found.plan.settings.agents);
    Ok((found, picture))
}

fn understand_native(path: &Utf8Path, text: &str) -> Outcome<Read> {
    let config = config(folder_of(path))?.unwrap_or_default();
    let overrides = native::Overrides::default();
    let reading = native::read(text, path.file_stem().unwrap_or("plan"), &config, &overrides);
    let picture =
        (!reading.diagnostics.is_empty()).then(|| picture::draw(&shown(path), text, &reading.diagnostics));
    let errors = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 0 {
        return Err(refused(path, errors, picture));
    }
    Ok((
        FoundPlan { path: path.to_owned(), plan: reading.plan, issue: None, list: None, iterative: None },
        picture,
    ))
}

fn understand_execute(path: &Utf8Path, folder: &Folder, how: How<'_>) -> Outcome<Read> {
    let stem = path.file_name().unwrap_or("plan");
    let mut config = config(path)?;
    if config.is_none()
        && let Some(project) = how.project
    {
        config = self::config(project)?;
    }
    let mut reading = execute::plan::read(folder, stem, &config.clone().unwrap_or_default(), how.strict);
    let said = project_named(path);
    // Where the plan lies elsewhere, the project's own defaults count.
    if config.is_none()
        && let Some(project) = said.as_deref().filter(|said| said.is_dir())
        && let Some(config) = self::config(project)?
    {
        reading = execute::plan::read(folder, stem, &config, how.strict);
    }
    if how.lint {
        let poor = execute::plan::lint(&reading);
        reading.problems.extend(poor);
    }
    let picture = pictured(path, path, &reading)?;
    Ok((
        FoundPlan { path: path.to_owned(), plan: reading.plan, issue: None, list: None, iterative: None },
        picture,
    ))
}

/// Where a plan says its project is: its manifest does, or, if it lies outside of every repository, its state file.
pub(crate) fn project_named(plan: &Utf8Path) -> Option<Utf8PathBuf> {
    let manifest = std::fs::read(plan.join("manifest.json")).ok();
    let said = manifest.and_then(|bytes| execute::plan::project_path(&bytes)).map(|said| plan.join(said));
    let is_outside = || !plan.ancestors().any(|folder| folder.join(".git").exists());
    said.or_else(|| project_in_state(plan).filter(|_| is_outside()))
}

/// The project that the state file of a plan names, if there is such a folder.
pub(crate) fn project_in_state(plan: &Utf8Path) -> Option<Utf8PathBuf> {
    let bytes = std::fs::read(plan.join(execute::state::FILE)).ok()?;
    let (state, _) = kept::parse(&bytes).ok()?;
    let said = plan.join(state.get("project_path")?.as_str().filter(|said| !said.trim().is_empty())?);
    said.is_dir().then_some(said)
}

/// The files of a plan that is a folder.
fn folder(path: &Utf8Path) -> Outcome<Folder> {
    let mut folder = Folder::default();
    for name in files(path) {
        let bytes = file_of(&path.join(&name), path)?;
        folder.files.insert(name, bytes);
    }
    Ok(folder)
}

/// The paths of a plan's files.
pub(crate) fn parts(path: &Utf8Path, dialect: Dialect) -> Vec<Utf8PathBuf> {
    match dialect {
        Dialect::Native | Dialect::Rwkit => vec![path.to_owned()],
        Dialect::Execute | Dialect::Issue | Dialect::Iterative => {
            files(path).iter().map(|name| path.join(name)).collect()
        }
    }
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
    let execute = ["manifest.json", "layer_plan.json"].contains(&name);
    execute
        || issue::is_part(name)
        || iterative::is_part(name)
        || (name.contains('/') && name.ends_with(".xml"))
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
        return [stamp(String::new(), path)].into_iter().chain(defaults).collect();
    }
    let parts = files(path).into_iter().map(|name| stamp(name.clone(), &path.join(&name)));
    let mut stamps: Vec<_> = parts.chain(defaults).collect();
    stamps.sort();
    stamps
}
