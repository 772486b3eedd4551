//! How an agent reaches Piton while it works: the MCP tools, and the question before it stops without a report. Both start
//! this very program, not whatever the search path has.

use std::collections::BTreeMap;
use std::io;

use camino::Utf8Path;
use piton_core::plan::Agent;
use piton_core::run::shell_word;

use super::outbox::{OUTBOX, TOKEN};
use super::place::{Place, Tools};
use crate::disk;
use crate::environment::variable;
use crate::keeper::MARKER;

/// What the server has to know of its attempt. Some clients pass only the variables that they are told to pass.
pub(super) const KNOWN: [&str; 6] = ["PITON_RUN", "PITON_TASK", "PITON_ATTEMPT", OUTBOX, TOKEN, MARKER];

/// Where login shells look for programs, whatever was in the path before: clients run commands in such shells.
const ALWAYS_IN_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// How this program is called in any shell.
pub(crate) fn shell_name(piton: &str) -> String {
    let (path, name) = (Utf8Path::new(piton), "piton");
    let is_found = path.file_name() == Some(name)
        && path.parent().is_some_and(|folder| ALWAYS_IN_PATH.contains(&folder.as_str()));
    if is_found || !path.is_absolute() { name.to_owned() } else { shell_word(piton) }
}

/// The folder in an attempt's folder that the path of its agent begins with. Nothing but this program is in it.
pub(crate) const BIN: &str = "bin";

impl Place<'_> {
    /// Let the agent find this program by its name, whatever its search path is.
    pub(crate) fn put_in_path(&self, env: &mut BTreeMap<String, String>) -> io::Result<()> {
        let Some(Tools { piton, .. }) = self.tools else { return Ok(()) };
        let folder = self.folder().join(BIN);
        disk::private_folder(&folder)?;
        link(piton, &folder.join("piton"))?;
        let path = variable(env, "PATH").unwrap_or_else(|| ALWAYS_IN_PATH.join(":"));
        env.insert("PATH".to_owned(), format!("{folder}:{path}"));
        Ok(())
    }

    /// The program whose tools the client gets.
    pub(super) fn server(&self, agent: &Agent) -> Option<&str> {
        self.tools.filter(|_| !agent.no_mcp).map(|tools| tools.piton)
    }

    /// The shell command that the client runs when it is about to stop.
    pub(super) fn hook(&self, agent: &Agent) -> Option<String> {
        let tools = self.tools.filter(|tools| agent.hooks && tools.asked)?;
        Some(format!("'{}' hook stop --attempt", tools.piton.replace('\'', r"'\''")))
    }
}

#[cfg(unix)]
fn link(to: &str, path: &Utf8Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(to, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(not(unix))]
fn link(to: &str, path: &Utf8Path) -> io::Result<()> {
    std::fs::copy(to, path).map(drop)
}
