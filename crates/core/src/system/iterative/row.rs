//! The iterative system in the table of systems.

use serde_json::Value;

use super::companions::{BOXES, GUARDRAILS, PROGRESS, told_in_words};
use super::plan::is_review;
use super::prompt::Iteration;
use super::{ending, guardrails, plan, progress, state};
use crate::chronicle::Chronicle;
use crate::plan::{Iterative, Mode, Oid, Plan, Settings, TaskId};
use crate::prompt::is_command;
use crate::run::{AgentEnd, Run, State, Status, Task};
use crate::signal::Signal;
use crate::system::config::Config;
use crate::system::edit::{Edit, What};
use crate::system::export::{Names, Source, Written};
use crate::system::kept::{self, Companion, Picture, Place, Told};
use crate::system::kit::text;
use crate::system::{Ended, Files, Form, Pass, Policy, System};

/// A folder with `brief.md` and `tasks.md` or `plan.md`, whose units are worked on in iterations.
#[derive(Clone, Copy, Debug)]
pub struct Iterations;

/// What the list is about, if the task is one of its units. The review of the whole is none.
fn about<'r>(run: &'r Run, task: &Task) -> Option<&'r Iterative> {
    run.settings.form.brief().filter(|_| !is_review(run, task))
}

impl System for Iterations {
    fn name(&self) -> &'static str {
        "iterative"
    }

    fn plain(&self) -> Form {
        Form::Iterative(Box::default())
    }

    fn policy(&self) -> Policy {
        Policy {
            max_rejections: Some(Settings::REJECTIONS),
            review_of_all: true,
            tells_failures: false,
            logs_rejections: true,
            ..Policy::USUAL
        }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            usual_folder: Some(".claude/iterative"),
            offered: &[state::FILE, progress::FILE, guardrails::FILE],
            shown_along: &["context.md", "brief.md", "tasks.md", "plan.md"],
            log_in_place: Some(progress::FILE),
            ..Files::default()
        }
    }

    fn picture(
        &self,
        state: &State,
        chronicle: &Chronicle,
        _: &Place,
        claimed: &[TaskId],
    ) -> Option<Picture> {
        let mut file = state::project(state, chronicle)?;
        let value = state::value(&file);
        file.claim(claimed);
        Some(Picture { value, text: state::text(&file) })
    }

    fn edits(&self, shown: &Value, found: &Value) -> Vec<Edit> {
        state::edits(shown, found)
    }

    fn companions(&self, is_there: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        let lists = BOXES.iter().filter(|boxes| is_there(boxes.0));
        let both: [&'static dyn Companion; 2] = [&PROGRESS, &GUARDRAILS];
        both.into_iter().chain(lists.map(|boxes| boxes as &'static dyn Companion)).collect()
    }

    fn told(&self, task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<Told> {
        if name != state::FILE {
            return told_in_words(task, name, before, after);
        }
        kept::told_in_fields(task, before, after, &|shown, found| self.edits(shown, found))
    }

    /// One that confirms gets the first prompt, and is not told that it confirms.
    fn prompt(&self, pass: &Pass<'_>) -> Option<String> {
        let Pass { run, task, spec, .. } = *pass;
        let about = about(run, task)?;
        let commands: Vec<String> = spec
            .checks
            .iter()
            .filter(|check| is_command(check) && check.cwd.is_none())
            .map(|check| check.run.to_string())
            .collect();
        let outputs = about.units.get(&task.id).map(|unit| unit.outputs.as_slice()).unwrap_or_default();
        let made = outputs.iter().map(|output| format!("`{output}` is there, and not empty"));
        let criteria: Vec<String> = spec.criteria.iter().cloned().chain(made).collect();
        // A file that cannot be read holds nothing.
        let lessons = (pass.read)(guardrails::FILE).unwrap_or_default();
        let iteration = Iteration {
            slug: &about.slug,
            unit: task.id.as_str(),
            title: &spec.title,
            criteria: &criteria,
            number: task.attempt,
            limit: task.budget,
            folder: pass.folder,
            plan: plan::LISTS[usize::from(about.mode == Mode::Knowledge)],
            guardrails: &guardrails::parse(&text::decode(&lessons).text),
            commits: !run.settings.no_commits,
            commands: &commands,
            base: pass.base.map(Oid::short).unwrap_or_default(),
        };
        Some(if pass.number == 0 { iteration.prompt() } else { iteration.confirming() })
    }

    fn ending(&self, ended: &Ended<'_>) -> Option<(AgentEnd, Vec<String>)> {
        if about(ended.run, ended.task).is_none() {
            // Whoever mends what the review found may do so without a word, or ask for a person.
            let Some(Signal::Escalate(reason)) = &ended.heard.signal else { return None };
            return Some((AgentEnd::Blocked { reason: reason.clone() }, Vec::new()));
        }
        let mut told = ended.told.to_vec();
        match ended.reported {
            Some(What::Failed { .. }) => return None,
            Some(what) => told.push(Told::by_command(what.clone())),
            None => {}
        }
        Some((ending(ended.heard, &told), ended.heard.notes.clone()))
    }

    fn fit(&self, plan: &Plan) -> Plan {
        plan::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written {
        let given = plan::Given { name: &fitted.name, place: "", config, detected: &[], strict: false };
        Written::read_back(plan::write(fitted, is_done), |folder| plan::read(folder, &given).reading)
    }

    fn write_state(&self, source: Source<'_>, names: &Names, _: &Place) -> Vec<(String, String)> {
        let Some(mut file) = state::project(source.state, source.chronicle) else { return Vec::new() };
        let units = [&mut file.tasks, &mut file.phases].into_iter().flatten();
        let current = [&mut file.current_task, &mut file.current_phase].into_iter().flatten().flatten();
        for id in units.flat_map(|units| units.0.iter_mut().map(|(id, _)| id)).chain(current) {
            *id = names.task(id).to_owned();
        }
        vec![(state::FILE.to_owned(), state::text(&file))]
    }

    fn word(&self, status: Status) -> &'static str {
        state::UnitWord::of(status).word()
    }
}
