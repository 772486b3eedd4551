//! Gemini CLI, `gemini`.

use std::io;

use piton_core::plan::{Agent, Permissions};

use super::{Place, Session};
use crate::disk;
use crate::keeper::JobSpec;

/// One process, so that a signal reaches the one that works.
const QUIET: [(&str, &str); 1] = [("GEMINI_CLI_NO_RELAUNCH", "true")];

/// Without a policy it has no tool to change anything where nobody can be asked, and commands that write into a file
/// would be asked about even so.
const NARROW: &str = "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\", \"replace\"]\n\
                      decision = \"allow\"\npriority = 500\nallowRedirection = true\n";

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
    Ok(job)
}
