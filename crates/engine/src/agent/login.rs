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

/// The command that logs a client in of which nothing here tells that it is: no key in its environment, no credentials, no
/// settings that name a way in. Asked of clients that cannot tell themselves, for a project at `root`. They may know a way that
/// Piton does not, so it proves nothing.
pub fn login_unseen(agent: &Agent, root: &Utf8Path) -> Option<&'static str> {
    if agent.program.is_some() {
        return None;
    }
    match agent.adapter {
        Adapter::Gemini => (!gemini_has_a_way_in(agent, root)).then_some("gemini"),
        // Some models of its own provider need no login, and one of those is its choice where nobody says.
        Adapter::Opencode => {
            let provider = agent.model.as_deref().and_then(|model| model.split_once('/'));
            let needs = provider.is_some_and(|(provider, _)| provider != "opencode");
            (needs && !opencode_has_a_way_in(agent, root)).then_some("opencode auth login")
        }
        Adapter::Command | Adapter::Claude | Adapter::Codex => None,
    }
}

fn gemini_has_a_way_in(agent: &Agent, root: &Utf8Path) -> bool {
    let said = |name: &str| variable(&agent.env, name);
    let home = said("GEMINI_CLI_HOME").or_else(|| said("HOME")).map(Utf8PathBuf::from);
    let folders: Vec<Utf8PathBuf> =
        home.iter().map(Utf8PathBuf::as_path).chain([root]).map(|folder| folder.join(".gemini")).collect();
    let files = ["oauth_creds.json", "gemini-credentials.json", ".env"];
    let has = |folder: &Utf8PathBuf| files.iter().any(|file| folder.join(file).is_file());
    let chosen = |folder: &Utf8PathBuf| {
        let text = text_of(&folder.join("settings.json"));
        ["selectedType", "selectedAuthType", "apiKey"].iter().any(|key| text.contains(key))
    };
    has_key(agent)
        || ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "CLOUD_SHELL"]
            .into_iter()
            .any(|name| said(name).is_some())
        || folders.iter().any(|folder| has(folder) || chosen(folder))
        || home.iter().map(Utf8PathBuf::as_path).chain([root]).any(|folder| folder.join(".env").is_file())
}

fn opencode_has_a_way_in(agent: &Agent, root: &Utf8Path) -> bool {
    let said = |name: &str| variable(&agent.env, name).map(Utf8PathBuf::from);
    let below_home = |below: &str| said("HOME").map(|home| home.join(below));
    let data = said("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
    let config = said("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    // Without a login it is an empty object.
    let is_in = data.is_some_and(|data| text_of(&data.join("opencode/auth.json")).contains(':'));
    let folders = config.map(|config| config.join("opencode")).into_iter().chain([root.to_owned()]);
    let settings =
        folders.flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|file| folder.join(file)));
    is_in
        || has_key(agent)
        || ["OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"]
            .into_iter()
            .any(|name| said(name).is_some())
        || settings.into_iter().any(|file| text_of(&file).contains("\"provider\""))
        || root.join(".opencode").exists()
}

/// Whether its environment holds what looks like a key for some provider.
fn has_key(agent: &Agent) -> bool {
    let ends = ["_API_KEY", "_TOKEN", "_ACCESS_KEY_ID", "_APPLICATION_CREDENTIALS", "AWS_PROFILE"];
    let is_key = |name: &str| ends.iter().any(|end| name.ends_with(end));
    let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    agent
        .env
        .keys()
        .cloned()
        .chain(inherited)
        .any(|name| is_key(&name) && variable(&agent.env, &name).is_some())
}

fn text_of(path: &Utf8Path) -> String {
    let bytes = disk::read_plain(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
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
