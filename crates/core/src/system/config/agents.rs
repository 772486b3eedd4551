//! `[agents.NAME]`: the agents that do the work.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::checks::read_command;
use super::keys::quoted;
use super::walk::{Section, Spanned, Walk};
use crate::client::Adapter;
use crate::diagnostic::Diagnostic;
use crate::plan::{Agent, Argv, Permissions, PromptBy};

/// No useful limit of a try is larger; a larger number is a mistake.
const MOST_TURNS: u32 = 10_000;
const MOST_DOLLARS: f64 = 1_000_000.0;

/// Keys that mean something to one kind of agent only.
const OF_COMMANDS: [&str; 2] = ["command", "prompt"];
const OF_CLIENTS: [&str; 7] = ["program", "model", "max_turns", "budget_usd", "permissions", "mcp", "hooks"];
/// Limits that only some clients keep. For the others they are rejected.
const TURNS: &str = "max_turns";
const BUDGET: &str = "budget_usd";
/// What only clients have that ask before they stop, and say when they were sent on.
const OF_ASKED: &str = "hooks";

/// An agent, completed by the weaker file's agent of that name. One without a command, which is an error, is kept
/// all the same, so that tasks that name it are not wrong too.
pub(in crate::system) fn read_agent(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    weaker: Option<&Agent>,
) -> Agent {
    let adapters: Vec<(&str, Adapter)> = Adapter::all().map(|adapter| (adapter.name(), adapter)).collect();
    let said = section.choice(walk, "adapter", &adapters);
    let misspelt = said.is_none() && section.has("adapter");
    // Who names a command means that command, whichever client the weaker file names.
    let own_command = || (section.has("command") && !misspelt).then(Adapter::default);
    let adapter = said.or_else(own_command).or(weaker.map(|agent| agent.adapter)).unwrap_or_default();
    // Only the environment can be reused for another client.
    let same = weaker.filter(|agent| agent.adapter == adapter);
    let mut agent = same.cloned().unwrap_or_else(|| Agent {
        adapter,
        env: weaker.map(|agent| agent.env.clone()).unwrap_or_default(),
        ..Agent::default()
    });
    refuse_foreign_keys(walk, section, adapter);
    read_env(walk, section, &mut agent);
    read_args(walk, section, adapter, &mut agent);
    if adapter.is_command() {
        read_command_agent(walk, section, same.is_none() && !misspelt, &mut agent);
        return agent;
    }
    let program = section.line(walk, "program").and_then(|said| read_program(walk, &said));
    agent.program = program.or(agent.program);
    let model = section.line(walk, "model").and_then(|said| not_an_option(walk, "model", &said));
    agent.model = model.or(agent.model);
    agent.max_turns = section.number(walk, "max_turns", 1..=MOST_TURNS).or(agent.max_turns);
    agent.budget =
        section.get("budget_usd").and_then(|said| read_dollars(walk, "budget_usd", &said)).or(agent.budget);
    let permissions = [("narrow", Permissions::Narrow), ("all", Permissions::All)];
    agent.permissions = section.choice(walk, "permissions", &permissions).unwrap_or(agent.permissions);
    agent.no_mcp = section.flag(walk, "mcp").map_or(agent.no_mcp, |mcp| !mcp);
    agent.hooks = section.flag(walk, "hooks").unwrap_or(agent.hooks);
    agent
}

/// A fallback has to exist, and no chain of fallbacks may lead back to its agent.
pub(in crate::system) fn check_fallback(
    walk: &mut Walk<'_>,
    agents: &BTreeMap<String, Agent>,
    name: &str,
    said: &Spanned<&str>,
) {
    if !agents.contains_key(said.value) {
        let message = format!("the fallback of `{name}` is `{}`, which is not an agent", said.value);
        let known = quoted(agents.keys().map(String::as_str));
        walk.push(Diagnostic::error(said.at.clone(), message).label(format!("defined agents: {known}")));
        return;
    }
    let next = |name: &str| agents.get(name).and_then(|agent| agent.fallback.as_deref());
    let way: Vec<&str> =
        std::iter::successors(Some(said.value), |name| next(name)).take(agents.len() + 1).collect();
    if let Some(end) = way.iter().position(|stop| *stop == name) {
        let message = format!("`{name}` is its own fallback: {name} → {}", way[..=end].join(" → "));
        walk.push(Diagnostic::error(said.at.clone(), message).label("remove the `fallback` of one of them"));
    }
}

fn refuse_foreign_keys(walk: &mut Walk<'_>, section: &Section<'_>, adapter: Adapter) {
    let facts = adapter.facts();
    let missing =
        [(facts.takes_max_turns, TURNS), (facts.takes_budget, BUDGET), (facts.can_be_asked, OF_ASKED)];
    let missing = missing.into_iter().filter_map(|(has, key)| (!has).then_some(key));
    let foreign: Vec<&str> = if adapter.is_command() {
        OF_CLIENTS.to_vec()
    } else {
        OF_COMMANDS.into_iter().chain(missing).collect()
    };
    for key in foreign {
        if let Some(said) = section.get(key) {
            let message = format!("the adapter `{}` does not use `{key}`", adapter.name());
            let label = match key {
                _ if adapter.is_command() => "only known clients support this".to_owned(),
                TURNS | BUDGET => "this client has no such limit; `timeout` limits every agent".to_owned(),
                OF_ASKED => format!("only {} can be asked before they stop", askable()),
                _ => "Piton knows how this client is started; `program` says where it is".to_owned(),
            };
            walk.push(Diagnostic::error(said.at, message).label(label));
        }
    }
}

/// The clients that ask before they stop.
fn askable() -> String {
    let clients = Adapter::known().filter(|client| client.facts().can_be_asked);
    let names: Vec<String> = clients.map(|client| format!("`{}`", client.name())).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".to_owned(),
    }
}

fn read_env(walk: &mut Walk<'_>, section: &Section<'_>, agent: &mut Agent) {
    let Some(Spanned { value: table, .. }) = section.table(walk, "env") else { return };
    for (name, value) in table.iter() {
        let key = name.get_ref().as_ref();
        if key.is_empty() || key.contains('=') || key.chars().any(char::is_control) {
            let message = format!("{key:?} cannot name an environment variable");
            walk.push(Diagnostic::error(name.span(), message).label("letters, digits and `_`"));
            continue;
        }
        match value.get_ref() {
            DeValue::String(text) if text.contains('\0') => {
                let message = format!("the value of `{key}` holds a NUL character");
                walk.push(
                    Diagnostic::error(value.span(), message)
                        .label("a NUL character cannot be passed to a process"),
                );
            }
            DeValue::String(text) => drop(agent.env.insert(key.to_owned(), text.clone().into_owned())),
            other => walk.wrong(&format!("`{key}`"), "text, in quotes", other, value.span()),
        }
    }
}

/// Whether Piton says this itself on the client's command line.
fn is_pitons(adapter: Adapter, word: &str) -> bool {
    let own = adapter.facts().own_arguments;
    own.contains(&word.split('=').next().unwrap_or(word))
}

fn read_args(walk: &mut Walk<'_>, section: &Section<'_>, adapter: Adapter, agent: &mut Agent) {
    if !section.has("args") {
        return;
    }
    agent.args.clear();
    for said in section.texts(walk, "args") {
        if said.value.contains('\0') {
            let message = "a word of `args` holds a NUL character";
            walk.push(
                Diagnostic::error(said.at, message).label("a NUL character cannot be passed to a process"),
            );
        } else if is_pitons(adapter, said.value) {
            let message = format!("Piton passes `{}` to `{}` itself", said.value, adapter.name());
            let label = "remove it; `model`, `permissions` and `max_turns` are keys of the profile";
            walk.push(Diagnostic::error(said.at, message).label(label));
        } else {
            agent.args.push(said.value.to_owned());
        }
    }
}

fn read_command_agent(walk: &mut Walk<'_>, section: &Section<'_>, required: bool, agent: &mut Agent) {
    let command = section.get("command");
    if required {
        section.require(walk, "command", "[\"my-agent\", \"--flag\"]");
    }
    if let Some(words) = command.as_ref().and_then(|said| read_words(walk, said)) {
        agent.command = words;
    }
    let ways = [("stdin", PromptBy::Stdin), ("file", PromptBy::File)];
    agent.prompt = section.choice(walk, "prompt", &ways).unwrap_or(agent.prompt);
    if agent.command.is_empty() {
        return;
    }
    let place = command.map_or_else(|| section.at.clone(), |said| said.at);
    match (agent.prompt, agent.command.iter().chain(&agent.args).any(|word| word.contains("{prompt}"))) {
        (PromptBy::File, false) => walk.push(
            Diagnostic::error(
                place,
                "this agent gets its prompt as a file, but its command does not name it",
            )
            .label("put `{prompt}` where the path belongs"),
        ),
        (PromptBy::Stdin, true) => walk.push(
            Diagnostic::warning(place, "`{prompt}` is not replaced: this agent gets its prompt on stdin")
                .label("add `prompt = \"file\"` to have it replaced by a path"),
        ),
        (PromptBy::File, true) | (PromptBy::Stdin, false) => {}
    }
}

/// An agent's command: never through a shell.
fn read_words(walk: &mut Walk<'_>, said: &Spanned<&DeValue<'_>>) -> Option<Vec<String>> {
    let DeValue::String(line) = said.value else {
        return match read_command(walk, "`command`", said)? {
            Argv::Words(words) => Some(words),
            Argv::Shell(_) | Argv::Look { .. } | Argv::Review { .. } => None,
        };
    };
    walk.text_of("`command`", said.value, &said.at)?;
    let words = shell_words::split(line).unwrap_or_default();
    if words.first().is_none_or(String::is_empty) || line.contains('\0') {
        let message = "`command` cannot be split into words";
        walk.push(
            Diagnostic::error(said.at.clone(), message)
                .label("a quote is not closed, or there is no first word"),
        );
        return None;
    }
    if let Some(operator) =
        words.iter().find(|word| matches!(word.as_str(), "|" | "||" | "&&" | "&" | ";" | ">" | "<"))
    {
        walk.push(
            Diagnostic::warning(said.at.clone(), format!("`{operator}` reaches the agent as an argument"))
                .label("this is not run in a shell")
                .help("write `command = [\"sh\", \"-c\", \"…\"]` if a shell is wanted"),
        );
    }
    Some(words)
}

/// A name or an absolute path: an agent is not started in the folder of the plan.
fn read_program(walk: &mut Walk<'_>, said: &Spanned<&str>) -> Option<String> {
    if said.value.contains('/') && !said.value.starts_with('/') {
        let message = "`program` is a relative path";
        walk.push(
            Diagnostic::error(said.at.clone(), message).label("write a name, or a path that begins with `/`"),
        );
        return None;
    }
    not_an_option(walk, "program", said)
}

/// A value on a command line must not be mistaken for an option.
fn not_an_option(walk: &mut Walk<'_>, key: &str, said: &Spanned<&str>) -> Option<String> {
    if said.value.starts_with('-') {
        let message = format!("`{key}` begins with a dash");
        walk.push(
            Diagnostic::error(said.at.clone(), message).label("the client would take it for an option"),
        );
        return None;
    }
    Some(said.value.to_owned())
}

/// Dollars, as millionths.
pub(in crate::system) fn read_dollars(
    walk: &mut Walk<'_>,
    key: &str,
    said: &Spanned<&DeValue<'_>>,
) -> Option<u64> {
    let written = match said.value {
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        other => {
            walk.wrong(&format!("`{key}`"), "a number of dollars, like 2.50", other, said.at.clone());
            return None;
        }
    };
    match written.parse::<f64>() {
        Ok(dollars) if (0.000_001..=MOST_DOLLARS).contains(&dollars) =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 1 and 10^12"
            )]
            Some((dollars * 1e6).round() as u64)
        }
        _ => {
            walk.push(
                Diagnostic::error(said.at.clone(), format!("`{key}` is out of range"))
                    .label("more than 0, and at most 1000000"),
            );
            None
        }
    }
}
