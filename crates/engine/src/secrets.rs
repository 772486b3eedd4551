//! The secrets of this process: in its environment, in the login files of clients, and in what plans give to agents.
//! The output of agents and checks is written without them, and they are never written themselves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use camino::Utf8PathBuf;
use piton_core::client::{Adapter, Credentials};
use piton_core::plan::Agent;
use piton_core::redact::{self, MARK, Redactor};

use crate::disk;
use crate::environment::variable;

#[derive(Default)]
struct Known {
    /// What plans give to agents, by agent and variable.
    given: BTreeMap<(String, String), String>,
    /// Made when it is needed.
    redactor: Option<Arc<Redactor>>,
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The redactor for the secrets of this process.
pub fn redactor() -> Arc<Redactor> {
    let mut known = known();
    let Known { given, redactor } = &mut *known;
    let given = given.iter().flat_map(|((_, name), value)| redact::secrets_in(name, value));
    let make = || Arc::new(Redactor::new(inherited(&BTreeMap::new()).chain(given)));
    Arc::clone(redactor.get_or_insert_with(make))
}

/// Take the secrets out of a plan's agents, so that they are not written to disk; this process remembers them.
pub fn withhold(agents: &mut BTreeMap<String, Agent>) {
    for (name, agent) in agents {
        let mut secret: Vec<_> =
            agent.env.iter_mut().filter(|(key, value)| redact::is_secret(key, value)).collect();
        let mut known = known();
        for (key, value) in &mut secret {
            let value = std::mem::replace(*value, MARK.to_owned());
            known.given.insert((name.clone(), (*key).clone()), value);
            known.redactor = None;
        }
    }
}

/// Give them back to agents that are about to be started. What this process does not remember, the agents have to find
/// in the environment.
pub fn restore(agents: &mut BTreeMap<String, Agent>) {
    let known = known();
    for (name, agent) in agents {
        agent.env.retain(|key, value| match known.given.get(&(name.clone(), key.clone())) {
            Some(secret) if value == MARK => {
                value.clone_from(secret);
                true
            }
            _ => value != MARK,
        });
    }
}

/// The redactor for the secrets of a process that is started with `added` to its environment.
pub(crate) fn of_environment(added: &BTreeMap<String, String>) -> Arc<Redactor> {
    let secret = added.iter().flat_map(|(name, value)| redact::secrets_in(name, value));
    Arc::new(Redactor::new(inherited(added).chain(secret)))
}

/// The secrets that every process started from here knows, with `added` to its environment.
fn inherited(added: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let pairs = std::env::vars_os();
    let texts = pairs.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.flat_map(|(name, value)| redact::secrets_in(&name, &value)).chain(of_clients(added))
}

/// The secrets in the clients' login files.
fn of_clients(added: &BTreeMap<String, String>) -> Vec<String> {
    let said = |name: &str| variable(added, name).map(Utf8PathBuf::from);
    let file = |Credentials { variable, usual, file }: Credentials| {
        let folder = said(variable).or_else(|| Some(said("HOME")?.join(usual)))?;
        // If a file is missing or unreadable, an agent cannot read it either.
        String::from_utf8(disk::read_plain(&folder.join(file)).ok()?).ok()
    };
    let kept = Adapter::known().filter_map(|client| client.facts().credentials);
    kept.filter_map(file).flat_map(|text| redact::secrets_in_json(&text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_written_without_its_secrets_and_agents_get_them_all_the_same() {
        let env = [("A_TOKEN", "canary-12345678"), ("LOG", "1")];
        let env = env.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let agent: Agent = serde_json::from_value(serde_json::json!({ "command": ["x"] })).expect("an agent");
        let agent = Agent { env: env.clone().into(), ..agent };
        let mut agents = BTreeMap::from([("secrets-test".to_owned(), agent)]);
        withhold(&mut agents);
        let written = serde_json::to_string(&agents).expect("it can be written");
        assert!(!written.contains("canary") && written.contains("LOG"), "{written}");
        assert_eq!(redactor().text("say canary-12345678"), "say [redacted]");
        restore(&mut agents);
        assert_eq!(agents["secrets-test"].env, env.into());
        // Another process does not remember them.
        let mut agents =
            BTreeMap::from([("elsewhere".to_owned(), agents.remove("secrets-test").expect("it is there"))]);
        agents.values_mut().for_each(|agent| drop(agent.env.insert("A_TOKEN".to_owned(), MARK.to_owned())));
        restore(&mut agents);
        assert_eq!(agents["elsewhere"].env.keys().collect::<Vec<_>>(), ["LOG"]);
    }
}
