//! opencode, `opencode run`.

use piton_core::plan::{Agent, Permissions};

use super::{Place, Session};
use crate::keeper::JobSpec;

const QUIET: [(&str, &str); 1] = [("OPENCODE_DISABLE_AUTOUPDATE", "1")];

pub(super) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> JobSpec {
    let mut words = place.words(agent, &["run", "--pure", "--format", "json"]);
    if agent.permissions == Permissions::All {
        // What its settings would ask about is allowed; without this it is refused.
        words.push("--auto".to_owned());
    }
    words.extend(agent.model.iter().flat_map(|model| ["-m".to_owned(), model.clone()]));
    let resumed = session.filter(|session| session.resumes).and_then(|session| session.id.clone());
    words.extend(resumed.into_iter().flat_map(|id| ["-s".to_owned(), id]));
    place.job(agent, words, &QUIET)
}
