//! A plan on disk: which system it is of, what it says, and what is wrong with it.

mod issue;
mod iterative;
mod rwkit;
mod seen;
mod state;

pub(crate) use issue::PLANS;
pub(crate) use iterative::{ARCHIVE, OLDER, PLACE as ITERATIVE};
pub(crate) use rwkit::list_of;
pub(crate) use seen::seen;
pub(crate) use state::{Aside, Left, left};

use std::collections::BTreeMap;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::{Diagnostic, Severity};
use piton_core::plan::{Check, Dialect, Plan};
use piton_core::run::shell_word;
use piton_core::system::config::{Config, read_config};
use piton_core::system::issue::plan::IssueReading;
use piton_core::system::iterative::plan::IterativeReading;
use piton_core::system::rwkit as lists;
use piton_core::system::rwkit::plan::RwkitReading;
use piton_core::system::{Folder, Reading, execute, kept, native};
use piton_core::view::counted;
use piton_engine::secrets;

use crate::failure::{Failure, Outcome};
use crate::runs::find::{here, shown, typed};
use crate::{picture, ui};

/// A file of a plan that is larger than this is none.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Folders below a plan's own that are looked into.
const DEEPEST: usize = 3;

/// A plan as read from disk.
#[derive(Debug)]
pub(crate) struct FoundPlan {
    /// The file, or the folder of a plan that is one.
    pub path: Utf8PathBuf,
    pub plan: Plan,
    /// What else the folder of an issue tells.
    pub issue: Option<Box<IssueReading>>,
    /// What else a todolist tells.
    pub list: Option<Box<RwkitReading>>,
    /// What else a folder of the iterative system tells.
    pub iterative: Option<Box<IterativeReading>>,
}

/// What the command line says about reading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How<'a> {
    pub dialect: Option<Dialect>,
    /// What is usually repaired or let pass with a warning is an error.
    pub strict: bool,
    /// Also say what is merely poor.
    pub lint: bool,
    /// Where the project is, for the defaults it sets.
    pub project: Option<&'a Utf8Path>,
    /// Tests that were found in it when the run began: what it has by now is its agents' work.
    pub tests: Option<&'a [Check]>,
}

/// What was read, and the drawn warnings if there are any.
type Read = (FoundPlan, Option<String>);

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

fn is_execute(folder: &Utf8Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    let layered = || {
        let layers = folder.read_dir_utf8().into_iter().flatten().flatten();
        let numbered = |name: &str| {
            name.split_once('-').is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        layers.filter(|entry| numbered(entry.file_name())).any(|entry| {
            let mut files = entry.path().read_dir_utf8().into_iter().flatten().flatten();
            files.any(|file| file.path().extension() == Some("xml"))
        })
    };
    has("manifest.json") || has("layer_plan.json") || has("execute-state.json") || layered()
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

/// The problems of a plan drawn into its files, which lie in this folder; errors end here.
fn pictured(path: &Utf8Path, folder: &Utf8Path, reading: &Reading) -> Outcome<Option<String>> {
    let mut by_file: BTreeMap<&str, Vec<Diagnostic>> = BTreeMap::new();
    for problem in &reading.problems {
        by_file.entry(&problem.file).or_default().push(problem.diagnostic.clone());
    }
    let draw = |(file, diagnostics): (&&str, &Vec<Diagnostic>)| {
        let text = reading.texts.get(*file).map(String::as_str).unwrap_or_default();
        picture::draw(&shown(&folder.join(file)), text, diagnostics)
    };
    let pictures: Vec<String> = by_file.iter().map(draw).collect();
    let picture = (!pictures.is_empty()).then(|| pictures.join("\n\n"));
    let errors = reading.problems.iter().filter(|p| p.diagnostic.severity == Severity::Error).count();
    if errors > 0 { Err(refused(path, errors, picture)) } else { Ok(picture) }
}

fn refused(path: &Utf8Path, errors: usize, picture: Option<String>) -> Failure {
    let problems = counted(errors as u64, "problem");
    Failure { picture, ..Failure::new(format!("{} has {problems}", shown(path))) }
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

/// One of them. A link is followed in the plan and in the project around it, and not out of them: whoever wrote the plan
/// would have somebody else's file read, and worked on.
fn file_of(file: &Utf8Path, plan: &Utf8Path) -> Outcome<Vec<u8>> {
    stays_inside(file, plan)?;
    let size = file.metadata().map(|data| data.len()).map_err(Failure::io(format!("cannot read {file}")))?;
    if size > LARGEST {
        return Err(Failure::new(format!(
            "{} has {} MB; a part of a plan has at most {}",
            shown(file),
            size >> 20,
            LARGEST >> 20
        )));
    }
    std::fs::read(file).map_err(Failure::io(format!("cannot read {file}")))
}

/// Refuse a file that a plan, or a master list, in this folder reaches by a link that leads out of the project.
pub(crate) fn stays_inside(file: &Utf8Path, plan: &Utf8Path) -> Outcome {
    let real = |path: &Utf8Path| path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")));
    let (target, plan) = (real(file)?, real(plan)?);
    let top = plan.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&plan);
    if target != *file && !target.starts_with(top) && !target.starts_with(&plan) {
        let what = format!("{} is a link that leads out of the project, to {target}", shown(file));
        return Err(Failure::new(what).hint("put the file itself into the plan"));
    }
    Ok(())
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

/// The folder that a plan's paths are relative to.
pub(crate) fn folder_of(plan: &Utf8Path) -> &Utf8Path {
    if plan.is_dir() { plan } else { plan.parent().unwrap_or(Utf8Path::new(".")) }
}

/// The nearest piton.toml in a folder or above it, inside its repository.
pub(crate) fn config(folder: &Utf8Path) -> Outcome<Option<Config>> {
    let Some(path) = config_file(&here()?.join(folder)) else { return Ok(None) };
    let text = text_of(&path)?;
    let (config, diagnostics) = read_config(&text);
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    if !diagnostics.is_empty() {
        let picture = picture::draw(&shown(&path), &text, &diagnostics);
        if errors > 0 {
            let failure = Failure::new(format!("{} cannot be used", shown(&path)));
            return Err(Failure { picture: Some(picture), ..failure });
        }
        ui::say(picture);
    }
    Ok(Some(config))
}

fn config_file(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    for folder in folder.ancestors() {
        let path = folder.join("piton.toml");
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    None
}

fn text_of(path: &Utf8Path) -> Outcome<String> {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("{path} is not UTF-8 (at byte {at})"))
    })
}
