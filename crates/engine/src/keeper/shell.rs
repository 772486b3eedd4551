//! Finds a shell that notices if a command in the middle of a pipe has failed.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The name of a shell that supports `-o pipefail`, tried once. Some shells that are called `sh` do not support it.
pub fn with_pipefail() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&'static str>> = OnceLock::new();
    *FOUND.get_or_init(|| ["sh", "bash"].into_iter().find(|shell| knows_pipefail(shell)))
}

fn knows_pipefail(shell: &str) -> bool {
    let mut command = Command::new(shell);
    command.args(["-o", "pipefail", "-c", ":"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
