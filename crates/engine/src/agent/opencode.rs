//! opencode, `opencode run`.

use piton_core::dialect::settings::{self, Spot};
use piton_core::plan::{Agent, Permissions};
use serde_json::json;

use super::talk::SERVER;
use super::{Place, Session, variable};
use crate::keeper::JobSpec;

const QUIET: [(&str, &str); 1] = [("OPENCODE_DISABLE_AUTOUPDATE", "1")];

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
    let mut job = place.job(agent, words, &QUIET);
    if let Some(settings) = place.server(agent).and_then(|program| with_server(agent, program)) {
        job.env.remove(SETTINGS);
        // There may be keys in them, which are written nowhere.
        job.secrets.insert(SETTINGS.to_owned(), settings);
    }
    job
}

/// The settings with Piton's server among them. `None` if they cannot be added to.
fn with_server(agent: &Agent, program: &str) -> Option<String> {
    let server = json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
    let spot = Spot::Member { below: &["mcp"], name: SERVER };
    settings::put(&variable(&agent.env, SETTINGS).unwrap_or_default(), spot, &server, &|_| false).ok()
}
