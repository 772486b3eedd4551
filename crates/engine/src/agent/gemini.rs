//! Gemini CLI, `gemini`.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Agent, Permissions};
use piton_core::settings_file::{self, Spot};
use serde_json::{Map, Value, json};

use super::tools::{KNOWN, SERVER};
use super::{Place, Session, variable};
use crate::keeper::JobSpec;
use crate::{disk, secrets};

/// One process, so that a signal reaches the one that works.
const QUIET: [(&str, &str); 1] = [("GEMINI_CLI_NO_RELAUNCH", "true")];

/// What it does unless its settings say `false`, and is not for the work.
const QUIET_SETTINGS: [(&str, &str); 2] =
    [("privacy", "usageStatisticsEnabled"), ("general", "enableAutoUpdate")];

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
    words.extend(agent.args.iter().cloned());
    let mut job = place.job(agent, words, &QUIET);
    // It leaves a report of every failed request among the temporary files.
    let temporary = place.folder().join("tmp");
    disk::private_folder(&temporary)?;
    job.env.insert("TMPDIR".to_owned(), temporary.into_string());
    let settings = settings_of(agent, place)?;
    job.env.extend(settings.map(|path| (MACHINE.to_owned(), path.into_string())));
    Ok(job)
}

/// The settings of the machine with Piton's among them: there is no other place but the person's own files. `None` if
/// there are some that cannot be read, or added to, or that hold a secret: it stays where it is.
fn settings_of(agent: &Agent, place: &Place<'_>) -> io::Result<Option<Utf8PathBuf>> {
    let text = match fs::read_to_string(variable(&agent.env, MACHINE).as_deref().unwrap_or(USUAL)) {
        Ok(theirs) => with_ours(&theirs, agent, place.server(agent)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => with_ours("", agent, place.server(agent)),
        Err(_) => None,
    };
    let text = text.filter(|text| *secrets::redactor().bytes(text.as_bytes()) == *text.as_bytes());
    let path = place.folder().join("gemini.json");
    if let Some(text) = &text {
        disk::write(&path, text.as_bytes())?;
    }
    // A limit that nobody keeps is not passed over: somebody relies on it.
    if agent.max_turns.is_some() && !(text.is_some() && is_taken(&path)) {
        let why = "`max_turns` cannot be kept here: gemini takes settings from outside of its home only if they and \
                   all folders above are root's and nobody else may write to them, and Piton adds to those of the \
                   machine only if they hold no secret";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(text.map(|_| path))
}

/// `None` if these cannot be added to.
pub(super) fn with_ours(theirs: &str, agent: &Agent, server: Option<&str>) -> Option<String> {
    let put = |text: &str, below: &str, name: &str, value: &Value| {
        settings_file::put(text, Spot::Member { below: &[below], name }, value, &|_| false).ok()
    };
    let mut text = theirs.to_owned();
    for (below, name) in QUIET_SETTINGS {
        text = put(&text, below, name, &json!(false)).unwrap_or(text);
    }
    if let Some(turns) = agent.max_turns {
        text = put(&text, "model", "maxSessionTurns", &json!(turns))?;
    }
    if let Some(program) = server {
        let env: Map<String, Value> =
            KNOWN.into_iter().map(|name| (name.to_owned(), json!(format!("${name}")))).collect();
        let server = json!({ "command": program, "args": ["mcp"], "env": env, "trust": true });
        text = put(&text, "mcpServers", SERVER, &server)?;
    }
    Some(text)
}

/// Whether it takes its settings from there. Others it passes over with a warning.
#[cfg(unix)]
fn is_taken(path: &Utf8Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_roots =
        |path: &Utf8Path| fs::metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0);
    path.canonicalize_utf8().is_ok_and(|path| path.ancestors().all(is_roots))
}

#[cfg(not(unix))]
fn is_taken(_path: &Utf8Path) -> bool {
    false
}
