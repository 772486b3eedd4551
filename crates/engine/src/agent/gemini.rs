//! Gemini CLI, `gemini`.

use std::{fs, io};

use camino::Utf8PathBuf;
use piton_core::dialect::settings::{self, Spot};
use piton_core::plan::{Agent, Permissions};
use serde_json::{Map, Value, json};

use super::talk::{KNOWN, SERVER};
use super::{Place, Session, variable};
use crate::keeper::JobSpec;
use crate::{disk, secrets};

/// One process, so that a signal reaches the one that works.
const QUIET: [(&str, &str); 1] = [("GEMINI_CLI_NO_RELAUNCH", "true")];

/// Without a policy it has no tool to change anything where nobody can be asked, and commands that write into a file
/// would be asked about even so.
const NARROW: &str = "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\", \"replace\"]\n\
                      decision = \"allow\"\npriority = 500\nallowRedirection = true\n";

/// The variable that says where the settings of the machine are, which are stronger than all others, and where they are
/// without it.
const MACHINE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const USUAL: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};

pub(super) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> io::Result<JobSpec> {
    let mut words = place.words(agent, &["-o", "stream-json", "--skip-trust"]);
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match agent.permissions {
        Permissions::Narrow => {
            let policy = place.folder().join("policy.toml");
            disk::write(&policy, NARROW.as_bytes())?;
            option("--policy", policy.into_string());
        }
        Permissions::All => option("--approval-mode", "yolo".to_owned()),
    }
    agent.model.iter().for_each(|model| option("-m", model.clone()));
    if let Some((session, id)) = session.and_then(|session| Some((session, session.id.clone()?))) {
        option(if session.resumes { "-r" } else { "--session-id" }, id);
    }
    let mut job = place.job(agent, words, &QUIET);
    // It leaves a report of every failed request among the temporary files.
    let temporary = place.folder().join("tmp");
    disk::private_folder(&temporary)?;
    job.env.insert("TMPDIR".to_owned(), temporary.into_string());
    if let Some(program) = place.server(agent) {
        let settings = with_server(agent, place, program)?;
        job.env.extend(settings.map(|path| (MACHINE.to_owned(), path.into_string())));
    }
    Ok(job)
}

/// The settings of the machine, with Piton's server among them: there is no other place but the person's own files. `None`
/// if there are some that cannot be read, or added to, or that hold a secret: it stays where it is.
fn with_server(agent: &Agent, place: &Place<'_>, program: &str) -> io::Result<Option<Utf8PathBuf>> {
    let theirs = match fs::read_to_string(variable(&agent.env, MACHINE).as_deref().unwrap_or(USUAL)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(_) => return Ok(None),
    };
    let env: Map<String, Value> =
        KNOWN.into_iter().map(|name| (name.to_owned(), json!(format!("${name}")))).collect();
    let server = json!({ "command": program, "args": ["mcp"], "env": env, "trust": true });
    let spot = Spot::Member { below: &["mcpServers"], name: SERVER };
    let Ok(text) = settings::put(&theirs, spot, &server, &|_| false) else { return Ok(None) };
    if *secrets::redactor().bytes(text.as_bytes()) != *text.as_bytes() {
        return Ok(None);
    }
    let path = place.folder().join("gemini.json");
    disk::write(&path, text.as_bytes())?;
    Ok(Some(path))
}
