//! Codex, `codex exec`.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Agent, Permissions};

use super::tools::{KNOWN, SERVER};
use super::{Place, Session, variable};
use crate::disk;
use crate::keeper::{Fence, JobSpec, StopSignal};

/// No servers but the model's, and no waiting for ever for one that is not there.
const QUIET: [&str; 4] = [
    "analytics.enabled=false",
    "features.plugins=false",
    "features.unbounded_connection_retries=false",
    "check_for_update_on_startup=false",
];

pub(super) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> io::Result<JobSpec> {
    let resumed = session.filter(|session| session.resumes).and_then(|session| session.id.as_ref());
    let command: &[&str] = if resumed.is_some() { &["exec", "resume"] } else { &["exec"] };
    let mut words = place.words(agent, command);
    words.extend(["--json", "--skip-git-repo-check"].map(str::to_owned));
    let mut set = |setting: String| words.extend(["-c".to_owned(), setting]);
    let own = own_settings(agent);
    let is_own = |setting: &&str| {
        // What the person has set about retries stays.
        let name = setting.split('=').next().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
        name == "unbounded_connection_retries" && own.contains(name)
    };
    QUIET.into_iter().filter(|setting| !is_own(setting)).for_each(|setting| set(setting.to_owned()));
    if let Some(program) = place.server(agent) {
        set(format!(
            "mcp_servers.{SERVER}={{command={},args=[\"mcp\"],env_vars={},default_tools_approval_mode=\"approve\"}}",
            toml(program),
            toml(KNOWN.as_slice())
        ));
    }
    let hook = place.hook(agent);
    if let Some(line) = &hook {
        set(format!("hooks.Stop=[{{hooks=[{{type=\"command\",command={}}}]}}]", toml(line.as_str())));
    }
    let own_sandbox = agent.permissions == Permissions::Narrow && !place.fenced;
    match agent.permissions {
        Permissions::Narrow if own_sandbox => {
            let folders: Vec<String> = writable(place).into_iter().map(Utf8PathBuf::into_string).collect();
            set("sandbox_mode=\"workspace-write\"".to_owned());
            set(format!("sandbox_workspace_write.writable_roots={}", toml(folders)));
        }
        // Nobody may make namespaces behind a fence, so its own sandbox cannot be put up there. One is enough.
        Permissions::Narrow => set("sandbox_mode=\"danger-full-access\"".to_owned()),
        Permissions::All => words.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
    }
    // Without it, hooks that no person has looked at are passed over without a word.
    words.extend(hook.map(|_| "--dangerously-bypass-hook-trust".to_owned()));
    words.extend(agent.model.iter().flat_map(|model| ["-m".to_owned(), model.clone()]));
    words.extend(agent.args.iter().cloned());
    words.extend(resumed.cloned());
    // The prompt is on standard input.
    words.push("-".to_owned());
    // It tells the end of a limit by the local clock, and nobody can tell afterwards which clock that was.
    let mut job = place.job(agent, words, &[]);
    job.env.insert("TZ".to_owned(), "UTC".to_owned());
    if agent.permissions == Permissions::Narrow && place.fenced {
        // Nothing else keeps it.
        job.fence = Some(Fence { writable: Vec::new(), required: true, view: false });
    }
    if own_sandbox && is_home_temporary(agent) {
        let temporary = place.folder().join("tmp");
        disk::private_folder(&temporary)?;
        job.env.insert("TMPDIR".to_owned(), temporary.into_string());
    }
    // At a TERM it dies and leaves what its tools had started.
    job.stop_signal = StopSignal::Int;
    Ok(job)
}

/// Beside the worktree: where `piton report` writes, and of git what a commit on a detached HEAD needs.
fn writable(place: &Place<'_>) -> Vec<Utf8PathBuf> {
    let mut folders = vec![place.folder().to_owned()];
    folders.extend(git_folders(place.cwd).into_iter().flatten());
    folders
}

/// The folder of a linked worktree in the repository, and that of the objects; or a private git directory, which has its
/// own.
fn git_folders(worktree: &Utf8Path) -> Option<Vec<Utf8PathBuf>> {
    let pointer = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = worktree.join(pointer.strip_prefix("gitdir: ")?.trim_end());
    let Ok(common) = fs::read_to_string(own.join("commondir")) else { return Some(vec![own]) };
    let objects = own.join(common.trim_end()).join("objects").canonicalize_utf8().ok()?;
    Some(vec![own, objects])
}

/// What the person has set.
fn own_settings(agent: &Agent) -> String {
    home(agent)
        .and_then(|home| fs::read_to_string(Utf8Path::new(&home).join("config.toml")).ok())
        .unwrap_or_default()
}

fn home(agent: &Agent) -> Option<String> {
    let variable = |name: &str| variable(&agent.env, name);
    variable("CODEX_HOME").or_else(|| Some(format!("{}/.codex", variable("HOME")?)))
}

/// Its sandbox does not work while its home lies in the folder for temporary files, and the run ends with 0 all the same.
fn is_home_temporary(agent: &Agent) -> bool {
    let home = home(agent);
    let temporary = variable(&agent.env, "TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    home.is_some_and(|home| Utf8Path::new(&home).starts_with(temporary))
}

/// TOML and JSON write texts and lists of them alike.
fn toml(value: impl Into<serde_json::Value>) -> String {
    value.into().to_string()
}
