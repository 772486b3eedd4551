//! What would make a run fail, or hold it up, and can be seen before any work is done: agents that cannot start, programs
//! that checks need, and what is wrong with the place.

mod place;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Agent, Check, Plan, Sandbox, TaskSpec, first_program};
use piton_core::run::shell_word;
use piton_core::system::SystemRef;
use piton_engine::project::Project;
use piton_engine::{agent, sandbox, secrets};
use serde_json::{Value, json};

use crate::clients::logged_out;
use crate::failure::{Failure, Outcome};
use crate::paths::typed;
use crate::programs::is_runnable;
use crate::ui;

/// How a run would be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub root: &'a Utf8Path,
    /// Where work would land, if the plan lies in a project.
    pub project: Option<&'a Project>,
    /// The plan's file or folder.
    pub plan: &'a Utf8Path,
    /// Files that its prompts tell agents to read.
    pub named: &'a [String],
    /// The branch it would land on, if it is not the one checked out.
    pub target: Option<&'a str>,
    /// The agent that is to do all tasks, if there is one.
    pub agent: Option<&'a str>,
    pub sandbox: Option<Sandbox>,
}

impl Start<'_> {
    fn mode(&self, plan: &Plan) -> Sandbox {
        self.sandbox.or_else(sandbox::wished).unwrap_or(plan.settings.fences.sandbox)
    }
}

/// Something that is missing here, or in the way.
#[derive(Debug)]
pub(crate) struct Finding {
    kind: &'static str,
    failure: Failure,
    /// A run does not begin with such a finding.
    stops: bool,
}

impl Finding {
    /// One that a run begins with nevertheless.
    fn warning(kind: &'static str, failure: Failure) -> Finding {
        Finding { kind, failure, stops: false }
    }

    /// Whether a run does not begin with it.
    pub(crate) fn stops(&self) -> bool {
        self.stops
    }

    pub(crate) fn as_json(&self) -> Value {
        let Failure { message, hints, .. } = &self.failure;
        json!({ "problem": self.kind, "message": message, "hints": hints, "stops": self.stops })
    }
}

/// Refuse to begin with what stops a run; warn of the rest.
pub(crate) fn check(plan: &Plan, start: Start<'_>, is_quiet: bool) -> Outcome {
    let mut findings = landing(plan, start)?;
    findings.extend(look(plan, start)?);
    let (stops, warns): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(|found| found.stops);
    if !is_quiet {
        tell(&warns);
    }
    stops.into_iter().next().map_or(Ok(()), |found| Err(found.failure))
}

/// Print the findings and continue.
pub(crate) fn tell(findings: &[Finding]) {
    for Finding { failure, .. } in findings {
        ui::say(format!("{} {}", ui::styled(ui::WARNING, "warning:"), failure.message));
        failure.hints.iter().for_each(ui::hint);
    }
}

/// Everything that is missing, agents first.
fn look(plan: &Plan, start: Start<'_>) -> Outcome<Vec<Finding>> {
    let mut findings = agents(plan, start)?;
    findings.extend(programs(plan, start));
    if sandbox::is_in_force(start.mode(plan)) {
        let closed = place::closed(&mut opened(plan));
        findings.extend(closed.into_iter().map(|failure| Finding::warning("writable_missing", failure)));
    }
    findings.extend(
        place::unseen(start.root, start.named)?.map(|failure| Finding::warning("not_committed", failure)),
    );
    let little = start.project.map(place::room).unwrap_or_default();
    findings.extend(little.into_iter().map(|failure| Finding::warning("little_room", failure)));
    Ok(findings)
}

/// What each request of the run will wait for, if it lands by requests. An error is why none could be merged.
fn landing(plan: &Plan, start: Start<'_>) -> Outcome<Vec<Finding>> {
    let (Some(requests), Some(project)) = (&plan.settings.requests, start.project) else {
        return Ok(Vec::new());
    };
    let Some(repo) = project.repo()? else { return Ok(Vec::new()) };
    let target = start.target.map_or_else(|| repo.current_branch(), |target| Ok(target.to_owned()))?;
    let waits = requests::look(requests, repo, &target)?;
    Ok(waits.into_iter().map(|failure| Finding::warning("request_rules", failure)).collect())
}

/// The same for those who ask before they begin, with what a landing would wait for. A run says that when it waits.
pub(crate) fn foresee(plan: &Plan, start: Start<'_>) -> Outcome<Vec<Finding>> {
    let mut findings = match landing(plan, start) {
        Ok(findings) => findings,
        Err(failure) => vec![Finding { kind: "requests", failure, stops: true }],
    };
    findings.extend(look(plan, start)?);
    let Some(project) = start.project else { return Ok(findings) };
    let waits = place::waits(plan, start.plan, project, start.target)?;
    findings.extend(waits.map(|failure| Finding::warning("target_not_clean", failure)));
    Ok(findings)
}

fn agents(plan: &Plan, start: Start<'_>) -> Outcome<Vec<Finding>> {
    let settings = &plan.settings;
    let mut findings = Vec::new();
    let workers: BTreeSet<&str> = match start.agent {
        Some(agent) => [agent].into(),
        None => plan.tasks.iter().filter(|task| !task.by_person).map(|task| task.agent.as_str()).collect(),
    };
    let checks = plan.tasks.iter().flat_map(|task| &task.checks).chain(&settings.landing_checks);
    let reviewers = checks.filter_map(Check::reviewer).filter(|name| settings.agents.contains_key(*name));
    let names: BTreeSet<&str> =
        workers.into_iter().chain(settings.feedback.as_deref()).chain(reviewers).collect();
    let mut known: BTreeMap<String, Agent> = settings.agents.clone();
    secrets::restore(&mut known);
    let mut askable = Vec::new();
    for name in names {
        let Some(agent) = known.get(name) else {
            findings.push(undefined(plan, name));
            continue;
        };
        if is_runnable(agent.program(), start.root) {
            askable.push((name, agent));
        } else {
            findings.push(not_installed(name, agent));
        }
    }
    let logins = logged_out(&askable.iter().map(|(_, agent)| *agent).collect::<Vec<_>>())?;
    for ((name, agent), login) in askable.into_iter().zip(logins) {
        if let Some(login) = agent::login_unseen(agent, start.root) {
            let failure = Failure::new(format!("there is no sign that the agent `{name}` is logged in"));
            let failure = failure.hint(format!("{login}   logs it in"));
            let (name, plan) = (shell_word(name), typed(start.plan));
            let failure = failure.hint(format!("piton agents test {name} --plan {plan}   asks it"));
            findings.push(Finding { kind: "agent_login_unseen", failure, stops: false });
        }
        let Some(login) = login else { continue };
        let (failure, stands_in) = match &agent.fallback {
            Some(other) => (format!("the agent `{name}` is not logged in: `{other}` stands in for it"), true),
            None => (format!("the agent `{name}` cannot work: its client is not logged in"), false),
        };
        let failure = Failure::new(failure).hint(login);
        findings.push(Finding { kind: "agent_not_logged_in", failure, stops: !stands_in });
    }
    Ok(findings)
}

fn undefined(plan: &Plan, name: &str) -> Finding {
    let known: Vec<&str> = plan.settings.agents.keys().map(String::as_str).collect();
    let failure = Failure::usage(format!("the agent `{name}` is not defined in the plan or piton.toml"));
    let failure = if known.is_empty() {
        let place = if plan.settings.policy().holds_settings { "the plan" } else { "piton.toml" };
        failure.hint(format!(
            "add to {place}:\n  [agents.{name}]\n  command = [\"your-agent\", \"--its-flags\"]"
        ))
    } else {
        failure.hint(format!("defined are: {}", known.join(", ")))
    };
    Finding { kind: "agent_not_defined", failure, stops: true }
}

fn not_installed(name: &str, agent: &Agent) -> Finding {
    let program = agent.program();
    let failure =
        Failure::new(format!("the agent `{name}` cannot be started: there is no program `{program}`"));
    let key = if agent.adapter.is_command() { "command" } else { "program" };
    let usual = agent.adapter.facts().install.filter(|_| agent.program.is_none());
    let failure = match usual {
        Some(install) => failure.hint(format!("{install}   installs it")),
        None => failure.hint(format!("install it, or change `{key}` of [agents.{name}]")),
    };
    Finding { kind: "agent_not_installed", failure, stops: true }
}

/// Programs that checks begin with and that are not here. A check that cannot be run proves nothing, whatever agents do.
fn programs(plan: &Plan, start: Start<'_>) -> Vec<Finding> {
    let mut missing: BTreeMap<String, (String, Vec<&TaskSpec>)> = BTreeMap::new();
    // The checks of a large plan begin with few programs, and a look for one asks for many files.
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let mut missing_in = |check: &Check| {
        let program = first_program(check)?;
        let is_here = known.entry(program.clone()).or_insert_with(|| is_runnable(&program, start.root));
        (!*is_here).then_some(program)
    };
    for task in &plan.tasks {
        for check in &task.checks {
            if let Some(program) = missing_in(check) {
                missing.entry(program).or_insert_with(|| (check.run.to_string(), Vec::new())).1.push(task);
            }
        }
    }
    for check in &plan.settings.landing_checks {
        missing.extend(missing_in(check).map(|program| (program, (check.run.to_string(), Vec::new()))));
    }
    let system = plan.settings.form.system();
    let is_final = !can_be_made(plan, start);
    let found = missing.into_iter().map(|(program, (line, tasks))| {
        let what = format!("there is no program `{program}`, which {} needs", needed_by(&tasks, system));
        let why = if is_final {
            "; agents cannot install it, because they can only write in their worktrees"
        } else {
            ""
        };
        let failure = Failure::new(format!("{what}{why}"));
        let failure = failure.hint(format!("install it, or change the check `{line}`"));
        // What may fail holds nothing up.
        let stops = is_final && (tasks.is_empty() || tasks.iter().any(|task| !task.may_fail));
        Finding { kind: "check_program_missing", failure, stops }
    });
    found.collect()
}

fn needed_by(tasks: &[&TaskSpec], system: SystemRef) -> String {
    const SHOWN: usize = 3;
    let name = |task: &&TaskSpec| system.task_name(&task.id);
    let shown: Vec<String> = tasks.iter().take(SHOWN).map(name).collect();
    match tasks.len() {
        0 => "each landing".to_owned(),
        1 => format!("the check of {}", shown[0]),
        count if count > SHOWN => {
            format!("the checks of {} and {} more", shown.join(", "), count - SHOWN)
        }
        _ => format!("the checks of {}", shown.join(", ")),
    }
}

/// Whether a task, or the set-up of a worktree, could put a program where checks find it: agents that nothing holds back can,
/// and so can all where the path leads into the project or to what the plan lets them write.
fn can_be_made(plan: &Plan, start: Start<'_>) -> bool {
    let open: Vec<Utf8PathBuf> =
        opened(plan).map(|(_, place)| place).chain([start.root.to_owned()]).collect();
    let is_open = |folder: &Utf8Path| {
        !folder.is_absolute()
            || open.iter().any(|place| folder.starts_with(place) || place.starts_with(folder))
    };
    let path = std::env::var("PATH").unwrap_or_default();
    !sandbox::is_in_force(start.mode(plan))
        || plan.settings.worktree.setup.is_some()
        || path.split(':').any(|folder| is_open(Utf8Path::new(folder)))
}

/// What the plan lets agents write to beside their worktrees: as it says it, and where that is.
fn opened(plan: &Plan) -> impl Iterator<Item = (&str, Utf8PathBuf)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let place = move |said: &str| match said.strip_prefix("~/") {
        Some(below) => Utf8Path::new(&home).join(below),
        None => Utf8PathBuf::from(said),
    };
    plan.settings.fences.writable.iter().map(move |said| (said.as_str(), place(said)))
}

#[cfg(test)]
mod tests {
    use piton_core::plan::TaskId;
    use piton_core::system::config::Config;

    use super::*;

    #[test]
    fn whoever_needs_it_is_named() {
        let spec = |id: &str| Config::default().task(TaskId::new(id).expect("an id"), "x", "x");
        let all = ["T1", "T2", "T3", "T4", "T5"].map(spec);
        let all: Vec<&TaskSpec> = all.iter().collect();
        let own = piton_core::system::own();
        assert_eq!(needed_by(&[], own), "each landing");
        assert_eq!(needed_by(&all[..1], own), "the check of T1");
        assert_eq!(needed_by(&all[..3], own), "the checks of T1, T2, T3");
        assert_eq!(needed_by(&all, own), "the checks of T1, T2, T3 and 2 more");
    }
}
