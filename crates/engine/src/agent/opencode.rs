//! opencode, `opencode run`.

use piton_core::plan::{Agent, Permissions};
use piton_core::settings_file::{self, Spot};
use serde_json::{Value, json};

use super::tools::SERVER;
use super::{Place, Session, variable};
use crate::keeper::JobSpec;

/// It has a list of models of its own, and keeps the one it fetched last.
const QUIET: [(&str, &str); 2] =
    [("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")];

/// Settings beside those in files; they may be the person's, too.
const SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";

pub(super) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> JobSpec {
    let mut words = place.words(agent, &["run", "--pure", "--format", "json"]);
    if agent.permissions == Permissions::All {
        // What its settings would ask about is allowed; without this it is refused.
        words.push("--auto".to_owned());
    }
    words.extend(agent.model.iter().flat_map(|model| ["-m".to_owned(), model.clone()]));
    let resumed = session.filter(|session| session.resumes).and_then(|session| session.id.clone());
    words.extend(resumed.into_iter().flat_map(|id| ["-s".to_owned(), id]));
    words.extend(agent.args.iter().cloned());
    let mut job = place.job(agent, words, &QUIET);
    if let Some(settings) = with_ours(agent, place.server(agent)) {
        job.env.remove(SETTINGS);
        // There may be keys in them, which are written nowhere.
        job.secrets.insert(SETTINGS.to_owned(), settings);
    }
    job
}

/// The settings with Piton's among them: conversations stay here, whatever the person's files say, and its tools. `None`
/// if they cannot be added to.
fn with_ours(agent: &Agent, server: Option<&str>) -> Option<String> {
    let put = |text: &str, below: &[&str], name: &str, value: &Value| {
        settings_file::put(text, Spot::Member { below, name }, value, &|_| false).ok()
    };
    let theirs = variable(&agent.env, SETTINGS).unwrap_or_default();
    let quiet = put(&put(&theirs, &[], "share", &json!("disabled"))?, &[], "autoupdate", &json!(false))?;
    let Some(program) = server else { return Some(quiet) };
    let server = json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
    put(&quiet, &["mcp"], SERVER, &server)
}
