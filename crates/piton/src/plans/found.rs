//! A plan as it is found on disk: its files, the defaults that count for it, and what is wrong with it.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::{Diagnostic, Severity};
use piton_core::plan::{Check, Plan, Requests, TaskId};
use piton_core::system::config::{Config, Notify, read_config};
use piton_core::system::{Policy, ReadPlan, Reading, SystemRef};
use piton_core::view::counted;

use crate::failure::{Failure, Outcome};
use crate::paths::{here, shown};
use crate::{picture, ui};

/// A larger file is not part of a plan.
pub(super) const LARGEST: u64 = 16 * 1024 * 1024;

/// A plan as read from disk.
#[derive(Debug)]
pub(crate) struct FoundPlan {
    /// The file, or the folder of a plan that is one.
    pub path: Utf8PathBuf,
    pub plan: Plan,
    /// What else its files say.
    pub read: Box<dyn ReadPlan>,
}

impl FoundPlan {
    pub(crate) fn system(&self) -> SystemRef {
        self.plan.settings.form.system()
    }

    pub(crate) fn policy(&self) -> Policy {
        self.system().policy()
    }

    /// Whether its own files say that a task was done before any run.
    pub(crate) fn is_done_before(&self, task: &TaskId) -> bool {
        self.read.reading().before.get(task).is_some_and(|before| before.done)
    }
}

/// What the command line says about reading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How<'a> {
    pub system: Option<SystemRef>,
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
pub(super) type Read = (FoundPlan, Option<String>);

/// The problems of a plan drawn into its files, which lie in this folder; errors end here.
pub(super) fn pictured(path: &Utf8Path, folder: &Utf8Path, reading: &Reading) -> Outcome<Option<String>> {
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
    if errors > 0 {
        let failure = refused(path, errors, picture);
        return Err(Failure { mistake: first_mistake(folder, reading), ..failure });
    }
    Ok(picture)
}

fn refused(path: &Utf8Path, errors: usize, picture: Option<String>) -> Failure {
    let problems = counted(errors as u64, "problem");
    Failure { picture, ..Failure::new(format!("{} has {problems}", shown(path))) }
}

/// `plan.toml:12: there is no task T9`
fn first_mistake(folder: &Utf8Path, reading: &Reading) -> Option<String> {
    let first = reading.problems.iter().find(|problem| problem.diagnostic.severity == Severity::Error)?;
    let text = reading.texts.get(&first.file).map(String::as_bytes).unwrap_or_default();
    let before = text.iter().take(first.diagnostic.span.start);
    let line = before.filter(|byte| **byte == b'\n').count() + 1;
    Some(format!("{}:{line}: {}", shown(&folder.join(&first.file)), first.diagnostic.message))
}

/// One of them. A link is followed in the plan and in the project around it, and not out of them: the author of the plan
/// could otherwise have any file read, and worked on.
pub(super) fn file_of(file: &Utf8Path, plan: &Utf8Path) -> Outcome<Vec<u8>> {
    checked(file, plan)?;
    std::fs::read(file).map_err(Failure::io(format!("cannot read {file}")))
}

/// Refuse a file that is not to be read.
pub(super) fn checked(file: &Utf8Path, plan: &Utf8Path) -> Outcome {
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
    Ok(())
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

/// The folder that a plan's paths are relative to.
pub(crate) fn folder_of(plan: &Utf8Path) -> &Utf8Path {
    let folder = plan.parent().filter(|folder| !folder.as_str().is_empty());
    if plan.is_dir() { plan } else { folder.unwrap_or(Utf8Path::new(".")) }
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

/// How people are notified of the runs of a plan. What is wrong in the file was said when the plan was read.
pub(crate) fn notify(plan: &Utf8Path, project: &Utf8Path) -> Notify {
    nearest(plan, project).notify
}

/// How its tasks land by requests, in a run that does.
pub(crate) fn requests(plan: &Utf8Path, project: &Utf8Path) -> Requests {
    nearest(plan, project).requests
}

fn nearest(plan: &Utf8Path, project: &Utf8Path) -> Config {
    let file = [folder_of(plan), project].into_iter().find_map(config_file);
    let text = file.and_then(|file| text_of(&file).ok());
    text.map(|text| read_config(&text).0).unwrap_or_default()
}

pub(crate) fn config_file(folder: &Utf8Path) -> Option<Utf8PathBuf> {
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
