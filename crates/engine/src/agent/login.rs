//! Whether a client is logged in, as it says itself. No model is asked.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Adapter, Agent};
use piton_core::terminal::clean_text;
use piton_core::time::Span;

use super::variable;
use crate::disk;
use crate::keeper::{Ended, Job, JobSpec};

/// Longer than any client takes to look at its own files.
const ANSWER: Span = Span::seconds(20);

/// The job in a folder in which a client is asked.
pub(super) const LOGIN_JOB: &str = "login";

/// The command that installs a known client.
pub fn install_command(adapter: Adapter) -> Option<&'static str> {
    match adapter {
        Adapter::Command => None,
        Adapter::Claude => Some("npm install -g @anthropic-ai/claude-code"),
        Adapter::Codex => Some("npm install -g @openai/codex"),
        Adapter::Gemini => Some("npm install -g @google/gemini-cli"),
        Adapter::Opencode => Some("npm install -g opencode-ai"),
    }
}

/// The command that logs a client in which says that it is logged out. `None` where it is logged in, or nobody knows: a client
/// that cannot tell, a program of your own in `program`, a provider of your own. It is asked in `folder`, which is for nothing
/// else.
pub fn login_command(agent: &Agent, folder: &Utf8Path, keeper: &[String]) -> Option<&'static str> {
    let (question, login) = match agent.adapter {
        Adapter::Claude => (["claude", "auth", "status"], "claude auth login"),
        Adapter::Codex => (["codex", "login", "status"], "codex login"),
        Adapter::Command | Adapter::Gemini | Adapter::Opencode => return None,
    };
    if agent.program.is_some() || agent.adapter == Adapter::Codex && has_another_way_in(agent) {
        return None;
    }
    let mut spec = JobSpec::new(question, folder);
    spec.env = agent.env.clone();
    spec.wall_ms = Some(ANSWER.0);
    let job = Job::at(folder.join(LOGIN_JOB));
    let outcome = job.run(&spec, keeper).ok()?;
    let Ended::Exited { code: 1.. } = outcome.ended else { return None };
    let said = clean_text(&job.output().tail(16 * 1024).unwrap_or_default());
    says_logged_out(agent.adapter, &said).then_some(login)
}

/// What the clients of the versions that were checked say.
fn says_logged_out(adapter: Adapter, said: &str) -> bool {
    match adapter {
        Adapter::Claude => {
            let object = said.find('{').and_then(|start| said.get(start..=said.rfind('}')?));
            let status: Option<serde_json::Value> = object.and_then(|text| serde_json::from_str(text).ok());
            status.is_some_and(|status| status["loggedIn"] == false)
        }
        Adapter::Codex => said.lines().any(|line| line.trim() == "Not logged in"),
        Adapter::Command | Adapter::Gemini | Adapter::Opencode => false,
    }
}

/// `codex` tells of its own login alone. It also takes a key, and other providers.
fn has_another_way_in(agent: &Agent) -> bool {
    let said = |name: &str| variable(&agent.env, name);
    let folder = said("CODEX_HOME").map(Utf8PathBuf::from);
    let folder = folder.or_else(|| Some(Utf8PathBuf::from(said("HOME")?).join(".codex")));
    let settings = folder.and_then(|folder| disk::read_plain(&folder.join("config.toml")).ok());
    let settings = settings.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let names = |text: &str| ["provider", "oss", "profile"].iter().any(|word| text.contains(word));
    ["CODEX_API_KEY", "OPENAI_API_KEY"].into_iter().any(|name| said(name).is_some())
        || names(&settings)
        || agent.args.iter().any(|word| names(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clients_own_word_logs_it_out() {
        let claude = "{\n  \"loggedIn\": false,\n  \"authMethod\": \"none\"\n}\n";
        assert!(says_logged_out(Adapter::Claude, claude));
        assert!(!says_logged_out(Adapter::Claude, &claude.replace("false", "true")));
        assert!(!says_logged_out(Adapter::Claude, "error: unknown command 'auth'"));
        assert!(says_logged_out(Adapter::Codex, "WARNING: no aliases\nNot logged in\n"));
        assert!(!says_logged_out(Adapter::Codex, "Logged in using ChatGPT\n"));
        assert!(!says_logged_out(Adapter::Codex, "error: unrecognized subcommand 'status'"));
    }
}
