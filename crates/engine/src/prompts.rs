//! Templates with which people replace Piton's: `.piton/prompts/NAME.md` in the project.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Diagnostic;
use piton_core::prompt::{Broken, Prompts};

use crate::project::Project;

/// Where they are, in the project.
pub const FOLDER: &str = ".piton/prompts";

/// A longer file is not a template of a prompt.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum NoPrompts {
    #[error("cannot read {path}: {source}")]
    Io { path: Utf8PathBuf, source: io::Error },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Broken(Vec<Broken>),
}

/// The templates that a project uses.
pub fn of(project: &Project) -> Result<Prompts, NoPrompts> {
    let mut own = Vec::new();
    for (name, path) in files(project)? {
        own.push((name.clone(), read(&name, &path)?));
    }
    Prompts::with(own).map_err(NoPrompts::Broken)
}

/// The files there, by the names of the templates.
pub fn files(project: &Project) -> Result<Vec<(String, Utf8PathBuf)>, NoPrompts> {
    let folder = project.root.join(FOLDER);
    let failed = |source| NoPrompts::Io { path: folder.clone(), source };
    let entries = match folder.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.into_path();
        let name = path.file_name().and_then(|name| name.strip_suffix(".md"));
        if let Some(name) = name.filter(|name| !name.starts_with('.') && *name != "README") {
            found.push((name.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

fn read(name: &str, path: &Utf8Path) -> Result<String, NoPrompts> {
    let failed = |source| NoPrompts::Io { path: path.to_owned(), source };
    let wrong = |why: &str| {
        let problem = Box::new(Diagnostic::error(0..0, why));
        NoPrompts::Broken(vec![Broken { name: name.to_owned(), text: String::new(), problem }])
    };
    let data = fs::metadata(path).map_err(failed)?;
    if !data.is_file() {
        return Err(wrong("it is not a file"));
    }
    if data.len() > LONGEST {
        return Err(wrong("it is longer than 64 KiB"));
    }
    String::from_utf8(fs::read(path).map_err(failed)?).map_err(|_| wrong("it is not UTF-8"))
}
