//! State files that another system left next to a plan. One that cannot be read is kept.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::{Diagnostic, Severity};
use piton_core::system::SystemRef;
use piton_core::system::kit::takeover::StateText;
use piton_core::system::kit::text;
use piton_engine::project::Project;
use piton_engine::{disk, files};

use crate::failure::{Failure, Outcome};
use crate::paths::shown;
use crate::{picture, ui};

/// Whether a copy of a state file may be put aside. A command that only reads writes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    Put,
    Leave,
}

impl Aside {
    /// Keep a copy under another ending.
    pub(crate) fn keep(self, path: &Utf8Path, ending: &str, bytes: &[u8]) -> Outcome<Utf8PathBuf> {
        let kept = Utf8PathBuf::from(format!("{path}.{ending}"));
        if self == Aside::Put {
            disk::write(&kept, bytes).map_err(Failure::io(format!("cannot write {kept}")))?;
        }
        Ok(kept)
    }
}

/// Look at a state file, and show what is wrong with it. One that cannot be used is kept as `.bad`. Then its backup
/// counts, else its committed version, else what the system uses without one. The bytes of a file that counts come with
/// it.
pub(crate) fn left(
    project: &Project,
    path: &Utf8Path,
    system: SystemRef,
    aside: Aside,
) -> Outcome<(StateText, Vec<u8>)> {
    // What could not be written is not read either.
    files::real_path(project, path)?;
    let Some(bytes) = bytes_of(path)? else { return Ok((StateText::Missing, Vec::new())) };
    let (text, problems) = understand(&bytes, system);
    if !problems.is_empty() {
        ui::say(picture::draw(&shown(path), &text, &problems));
    }
    if is_usable(&problems) {
        return Ok((StateText::Text(text), bytes));
    }
    let bad = aside.keep(path, "bad", &bytes)?;
    let backup = Utf8PathBuf::from(format!("{path}.bak"));
    let older =
        [(bytes_of(&backup)?, shown(&backup)), (committed(project, path)?, "what is committed".to_owned())];
    for (bytes, name) in older {
        let Some(bytes) = bytes else { continue };
        let (text, problems) = understand(&bytes, system);
        if is_usable(&problems) {
            tell(path, &bad, &format!("{name} counts"));
            return Ok((StateText::Text(text), bytes));
        }
    }
    tell(path, &bad, system.without_state());
    Ok((StateText::Broken, Vec::new()))
}

fn tell(path: &Utf8Path, bad: &Utf8Path, instead: &str) {
    ui::say(format!("{} cannot be used; it is kept as {}, and {instead}", shown(path), shown(bad)));
}

fn bytes_of(path: &Utf8Path) -> Outcome<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io(format!("cannot read {path}"))(error)),
    }
}

/// The file as the project's last commit has it.
fn committed(project: &Project, path: &Utf8Path) -> Outcome<Option<Vec<u8>>> {
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let (Some(repo), Ok(path)) = (project.repo()?, path.strip_prefix(root)) else { return Ok(None) };
    let Ok(head) = repo.resolve("HEAD") else { return Ok(None) };
    Ok(repo.file_at(&head, path.as_str())?)
}

fn understand(bytes: &[u8], system: SystemRef) -> (String, Vec<Diagnostic>) {
    let decoded = text::decode(bytes);
    let problems = system.check_state(&decoded.text);
    (decoded.text, decoded.problems.into_iter().chain(problems).collect())
}

fn is_usable(problems: &[Diagnostic]) -> bool {
    problems.iter().all(|problem| problem.severity < Severity::Error)
}
