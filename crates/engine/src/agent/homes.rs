//! The folders in which clients keep their conversations.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::{Adapter, Home};
use piton_core::plan::Agent;

use crate::disk;
use crate::environment::variable;

/// Make the folders in which a client keeps its conversations. Inside a fence it could not make them, and a fence
/// cannot give access to a folder that does not exist.
pub(super) fn make_homes(agent: &Agent) {
    for home in homes(agent, |name| variable(&agent.env, name)) {
        // Where that is impossible, the client itself says what it misses.
        let _ = disk::private_folder(&home);
    }
}

/// The folders of the agent's client, or of the client whose program its command names. Not those of other clients,
/// since they contain programs that those clients run.
pub(crate) fn homes(agent: &Agent, said: impl Fn(&str) -> Option<String>) -> Vec<Utf8PathBuf> {
    let words = || agent.command.iter().flat_map(|word| word.split_whitespace());
    let names = |client: Adapter| words().any(|word| Utf8Path::new(word).file_name() == Some(client.name()));
    let is_own =
        |client: &Adapter| agent.adapter == *client || (agent.adapter.is_command() && names(*client));
    let home = |home: &Home| match said(home.variable) {
        Some(folder) if home.below.is_empty() => Some(Utf8PathBuf::from(folder)),
        Some(folder) => Some(Utf8Path::new(&folder).join(home.below)),
        None => Some(Utf8Path::new(&said("HOME")?).join(home.usual)),
    };
    let own = Adapter::known().filter(|client| is_own(client));
    let all = own.flat_map(|client| client.facts().homes).filter_map(home);
    all.filter(|path| path.is_absolute()).collect()
}
