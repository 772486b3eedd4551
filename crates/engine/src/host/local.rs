//! Programs that keep issues in the project itself, such as `bd`. They are started here because they need the same bounds as
//! those of hosts.

use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::terminal::{clean_text, one_line};
use piton_core::time::Span;
use serde_json::Value;

use super::process::{End, Process};
use crate::secrets;

/// They answer from a database on this disk, but may wait for a lock of others.
const PATIENCE: Span = Span::seconds(60);
/// Ten thousand issues of the usual length.
const MOST: usize = 32 * 1024 * 1024;

/// A program, and the project that it is started in.
#[derive(Clone, Debug)]
pub struct Local {
    program: &'static str,
    folder: Utf8PathBuf,
}

impl Local {
    /// The first of these programs that is installed.
    pub fn find(programs: &[&'static str], folder: &Utf8Path) -> Option<Local> {
        let is_there = |program: &&&'static str| {
            let local = Local { program, folder: folder.to_owned() };
            !matches!(local.run(&["--version".to_owned()]), End::NotInstalled)
        };
        let program = programs.iter().find(is_there)?;
        Some(Local { program, folder: folder.to_owned() })
    }

    /// What it prints, or what it says is wrong.
    pub fn ask(&self, args: &[String]) -> Result<String, String> {
        let (program, verb) = (self.program, args.first().map(String::as_str).unwrap_or_default());
        match self.run(args) {
            End::Exited { code: 0, stdout, .. } => Ok(String::from_utf8_lossy(&stdout).into_owned()),
            End::Exited { code, stderr, .. } => {
                let said = clean_text(&secrets::redactor().bytes(&stderr));
                let said = match message(&said) {
                    Some(said) => said,
                    None if said.trim().is_empty() => format!("exit code {code}"),
                    None => one_line(said.trim()),
                };
                Err(format!("`{program} {verb}` failed: {said}"))
            }
            End::NotInstalled => Err(format!("`{program}` is not installed")),
            End::NotStarted(error) => Err(format!("`{program}` could not be started: {error}")),
            End::TimedOut => {
                Err(format!("`{program} {verb}` had not ended after {PATIENCE}, and was stopped"))
            }
            End::Stopped => Err(format!("`{program} {verb}` was stopped")),
            End::TooMuchOutput => {
                Err(format!("`{program} {verb}` printed more than {MOST} bytes, and was stopped"))
            }
        }
    }

    fn run(&self, args: &[String]) -> End {
        let set = |text: &str| Some(text.to_owned());
        let env = vec![
            ("LC_ALL", set("C")),
            ("NO_COLOR", set("1")),
            ("PAGER", set("cat")),
            ("EDITOR", set("true")),
            ("BD_JSON_ENVELOPE", set("1")),
            ("BD_NON_INTERACTIVE", set("1")),
            ("GIT_DIR", None),
            ("GIT_WORK_TREE", None),
            ("GIT_INDEX_FILE", None),
        ];
        let process = Process {
            program: self.program,
            args,
            text: None,
            folder: &self.folder,
            env,
            guard: None,
            patience: PATIENCE,
            most: MOST,
            stopped: &AtomicBool::new(false),
        };
        process.run()
    }
}

/// What the JSON on its standard error says.
fn message(said: &str) -> Option<String> {
    let value: Value = serde_json::from_str(said.trim()).ok()?;
    Some(one_line(value.get("error")?.as_str()?))
}
