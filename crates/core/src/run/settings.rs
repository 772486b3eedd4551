//! The settings of a plan and of `piton.toml`, and which of them a run adopts while it is in progress.

use std::collections::BTreeSet;

use serde_json::Value;

use super::event::{Event, Session};
use super::state::Run;
use crate::plan::{Plan, Requests, Settings, WorktreeSetup};

/// The settings of a run that follows a plan. What the run's commits are bound to, and where it works, stays as it began.
fn followed(run: &Run, now: &Settings) -> Settings {
    let now = now.clone();
    Settings {
        schedule: now.schedule,
        max_parallel: now.max_parallel,
        exhausted: now.exhausted,
        escalation: now.escalation,
        feedback: now.feedback,
        agents: now.agents,
        worktree: WorktreeSetup { shared: run.settings.worktree.shared.clone(), ..now.worktree },
        fences: now.fences,
        budget: now.budget,
        backoff: now.backoff,
        landing_wait: now.landing_wait,
        land: now.land,
        landing_parallel: now.landing_parallel,
        late_conflicts: now.late_conflicts,
        requests: requests(run, now.requests.as_ref()),
        ..run.settings.clone()
    }
}

/// Whether a run lands by requests, and what each is for, stays as it began.
pub(super) fn requests(run: &Run, now: Option<&Requests>) -> Option<Requests> {
    let began = run.settings.requests.as_ref()?;
    let now = now.unwrap_or(began).clone();
    Some(Requests { per: began.per, whole: began.whole.clone(), stack: began.stack, ..now })
}

/// The session of a running engine from now on. The flags of its start stay in force.
fn session_of(run: &Run, wanted: Option<&Session>) -> Option<Session> {
    let wanted = wanted.filter(|_| run.engine.is_some())?.clone();
    Some(Session {
        schedule: wanted.schedule,
        max_parallel: wanted.max_parallel,
        landing_parallel: wanted.landing_parallel,
        budget: wanted.budget,
        fences: wanted.fences,
        ..run.session.clone()
    })
}

/// Adopt the settings of a plan, and the session that a running engine derives from them, if anything differs.
pub(super) fn adopt(run: &Run, plan: &Plan, session: Option<&Session>) -> Option<Event> {
    let settings = followed(run, &plan.settings);
    let session = session_of(run, session).filter(|session| *session != run.session);
    if settings == run.settings && session.is_none() {
        return None;
    }
    let changed = differences(&run.settings, &settings);
    Some(Event::SettingsAdopted { settings: Box::new(settings), session: session.map(Box::new), changed })
}

/// Whether a run has adopted all settings of a plan that it can adopt while it is in progress.
pub fn follows_settings(run: &Run, plan: &Plan, session: Option<&Session>) -> bool {
    adopt(run, plan, session).is_none()
}

/// The settings in which a plan differs from what its run began with, and which only `--replan` adopts.
pub fn settings_that_wait(run: &Run, plan: &Plan) -> Vec<&'static str> {
    let (began, now) = (&run.settings, &plan.settings);
    // Flags the run began with hold where the plan says nothing.
    let differs = |began: &Option<String>, now: &Option<String>| now.is_some() && now != began;
    let prefix = differs(&began.commit_prefix, &now.commit_prefix).then_some("policy.commit_prefix");
    let author = differs(&began.author, &now.author).then_some("policy.author");
    prefix.into_iter().chain(author).collect()
}

/// The settings that differ, as `piton.toml` calls them.
fn differences(before: &Settings, now: &Settings) -> Vec<String> {
    let mut changed = BTreeSet::new();
    compare("", &value_of(before), &value_of(now), &mut changed);
    changed.into_iter().collect()
}

/// With all tables, also those that say nothing.
fn value_of(settings: &Settings) -> Value {
    let value = |text: serde_json::Result<Value>| text.unwrap_or_default();
    let mut all = value(serde_json::to_value(settings));
    all["fences"] = value(serde_json::to_value(&settings.fences));
    all["budget"] = value(serde_json::to_value(settings.budget));
    all
}

fn compare(path: &str, before: &Value, now: &Value, changed: &mut BTreeSet<String>) {
    let (Some(old), Some(new)) = (before.as_object(), now.as_object()) else {
        if before != now {
            changed.insert(written(path));
        }
        return;
    };
    let none = Value::Null;
    for key in old.keys().chain(new.keys()) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(&path, old.get(key).unwrap_or(&none), new.get(key).unwrap_or(&none), changed);
    }
}

/// A setting's name in `piton.toml`. An environment may hold secrets, so not even its names are printed.
fn written(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["agents", name, "env", ..] => format!("agents.{name}.env"),
        ["agents", name, "budget"] => format!("agents.{name}.budget_usd"),
        ["agents", name, "no_mcp"] => format!("agents.{name}.mcp"),
        ["fences", "sandbox"] => "sandbox.mode".to_owned(),
        ["fences", key @ ("writable" | "memory_mib" | "processes"), ..] => format!("sandbox.{key}"),
        ["fences", key, ..] => format!("policy.{key}"),
        ["agents" | "budget" | "worktree", ..] => path.to_owned(),
        ["requests"] => "--land".to_owned(),
        ["requests", "per"] => "--pr".to_owned(),
        ["requests", "method"] => "--merge-method".to_owned(),
        ["requests", key, ..] => format!("--{key}"),
        [key, ..] => format!("policy.{key}"),
        [] => String::new(),
    }
}
