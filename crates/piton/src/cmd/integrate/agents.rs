//! `piton agents`: which clients are here, and whether one answers. Neither touches the project.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Subcommand};
use piton_core::client::Adapter;
use piton_core::plan::Agent;
use piton_core::run::shell_word;
use piton_core::view;
use piton_engine::{agent, secrets};
use serde_json::json;

use crate::clients::{STOPPED, Tries};
use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::paths;
use crate::plans::{self, How};
use crate::runs::engine;
use crate::ui::{self, BAD, DIM, GOOD};

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    /// Also the agents of this plan
    #[arg(long, value_name = "PLAN", global = true)]
    pub plan: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Ask an agent one harmless question, in a temporary folder
    Test {
        /// A name in `[agents]` of piton.toml or of the plan, or of a client
        name: String,
    },
}

pub(crate) fn agents(args: &AgentsArgs) -> Outcome<Exit> {
    match &args.command {
        None => list(args),
        Some(AgentsCommand::Test { name }) => test(name, args.plan.as_deref()),
    }
}

/// The profiles of piton.toml and of the plan, and the clients that none of them uses.
fn known(plan: Option<&Utf8Path>) -> Outcome<BTreeMap<String, Agent>> {
    let mut agents = match plan {
        Some(plan) => plans::plan(plan, How::default())?.plan.settings.agents,
        None => plans::config(&paths::here()?)?.map(|config| config.agents).unwrap_or_default(),
    };
    secrets::restore(&mut agents);
    for adapter in Adapter::known() {
        if agents.values().all(|agent| agent.adapter != adapter) {
            agents.entry(adapter.name().to_owned()).or_insert(Agent { adapter, ..Agent::default() });
        }
    }
    Ok(agents)
}

fn list(args: &AgentsArgs) -> Outcome<Exit> {
    let (as_json, keeper) = (args.json, engine::keeper()?);
    let mut rows = Vec::new();
    let agents = known(args.plan.as_deref())?;
    let tries = Tries::new(agents.len())?;
    for ((name, agent), folder) in agents.into_iter().zip(&tries.folders) {
        let (adapter, program) = (agent.adapter, agent.program());
        // Any program may be a `command`: it is unknown what `--version` does there.
        let version = if adapter.is_command() {
            Err("a command of your own".to_owned())
        } else {
            agent::version(&agent, folder, &keeper)
        };
        if tries.are_stopped() {
            return Ok(STOPPED);
        }
        let checked = adapter.facts().checked_version;
        if as_json {
            rows.push(json!({
                "name": name, "adapter": adapter, "program": program, "model": agent.model,
                "version": version.as_ref().ok(), "problem": version.as_ref().err(), "checked_version": checked,
            }));
            continue;
        }
        let told = match (&version, checked) {
            (Ok(version), Some(checked)) if version == checked => {
                ui::styled(GOOD, format!("{version}, the tested version"))
            }
            (Ok(version), Some(checked)) => format!("{version}; tested with {checked}"),
            (Ok(version), None) => version.clone(),
            (Err(problem), _) => ui::styled(DIM, problem),
        };
        let model = agent.model.as_ref().map(|model| format!("  {}", ui::plain(model))).unwrap_or_default();
        ui::answer_line(format!("{:12} {:9} {told}{model}", ui::plain(&name), adapter.name()));
    }
    if as_json {
        ui::answer_json(&json!({ "agents": rows }));
    }
    Ok(FINE)
}

/// A client by its own name, though profiles use it: as the only one does, else as it is installed.
fn of_client(name: &str, agents: &BTreeMap<String, Agent>) -> Option<Agent> {
    let adapter = Adapter::known().find(|adapter| adapter.name() == name)?;
    let mut using = agents.values().filter(|agent| agent.adapter == adapter);
    match (using.next(), using.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => Some(Agent { adapter, ..Agent::default() }),
    }
}

fn test(name: &str, plan: Option<&Utf8Path>) -> Outcome<Exit> {
    let agents = known(plan)?;
    let agent = agents.get(name).cloned().or_else(|| of_client(name, &agents)).ok_or_else(|| {
        let names: Vec<&str> = agents.keys().map(String::as_str).collect();
        let failure = Failure::new(format!("there is no agent `{name}`; known here: {}", names.join(", ")));
        match plan {
            Some(_) => failure,
            None => failure
                .hint(format!("piton agents test {} --plan PLAN   if a plan defines it", shell_word(name))),
        }
    })?;
    let tries = Tries::new(1)?;
    let trial = agent::trial(&agent, &tries.folders[0], &engine::keeper()?)
        .map_err(|error| Failure::new(error.to_string()))?;
    match trial.wrong {
        Some(_) if tries.are_stopped() => {
            ui::say(format!("{name} was stopped before it answered"));
            Ok(STOPPED)
        }
        None => {
            ui::answer_line(ui::styled(GOOD, format!("{name} answered after {}", trial.took)));
            let said = ui::plain(&trial.said);
            said.lines().take(10).for_each(|line| ui::answer_line(format!("  {line}")));
            if !agent.adapter.is_command() {
                ui::answer_line(format!("  used: {}", view::used(trial.used.as_ref())));
            }
            Ok(FINE)
        }
        Some(reason) => {
            ui::answer_line(ui::styled(BAD, format!("{name} did not answer: {}", ui::plain(&reason))));
            Ok(ERROR)
        }
    }
}
