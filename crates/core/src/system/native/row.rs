//! Piton's own plans in the table of systems.

use super::{Config, Overrides, fit, read, write};
use crate::diagnostic::Severity;
use crate::plan::{Plan, TaskId};
use crate::system::export::{Note, Source, Written};
use crate::system::{Files, Form, Policy, System};

/// `plan.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl System for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn plain(&self) -> Form {
        Form::Native
    }

    fn policy(&self) -> Policy {
        Policy { as_written: true, holds_settings: true, asks_for_report: true, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, ..Files::default() }
    }

    fn fit(&self, plan: &Plan) -> Plan {
        fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, _: &dyn Fn(&TaskId) -> bool) -> Written {
        // What the project says already is not said again: it may hold what belongs in one place only.
        let mut own = fitted.clone();
        own.settings.agents.retain(|name, agent| config.agents.get(name) != Some(agent));
        let text = write(&own);
        let read = read(&text, &fitted.name, config, &Overrides::default());
        let wrong = read.diagnostics.into_iter().filter(|problem| problem.severity == Severity::Error);
        let wrong = wrong.map(|problem| Note::of_run("plan", problem.message)).collect();
        Written { files: vec![(format!("{}.toml", fitted.name), text)], back: read.plan, wrong }
    }

    fn untold(&self, _: Source<'_>) -> Vec<Note> {
        let text = "not written: a plan of Piton's own has no state file, and its runs are in the journal";
        vec![Note::of_run("state", text)]
    }
}
