//! The iterative system in the table of systems.

use serde_json::Value;

use super::companions::{GUARDRAILS, PROGRESS, TICKED_LISTS, report_in_words};
use super::new::PLACE;
use super::plan::is_review;
use super::prompt::Iteration;
use super::{context, ending, guardrails, new, ops, plan, progress, state, takeover};
use crate::chronicle::Chronicle;
use crate::diagnostic::Diagnostic;
use crate::plan::{Argv, Check, Group, Iterative, Oid, Plan, Settings, TaskId};
use crate::prompt::is_command;
use crate::run::{AgentEnd, Refusal, Run, State, Status, Task};
use crate::signal::Signal;
use crate::system::config::Config;
use crate::system::edit::{Edit, What};
use crate::system::export::{Names, Source, Written};
use crate::system::finding::join;
use crate::system::kit::text;
use crate::system::ops::Ops;
use crate::system::state_files::{self, AgentReport, Companion, Picture, Place};
use crate::system::{
    Account, Addition, Archive, Asked, Begun, Claim, Detects, Disk, Ended, FileClaim, Files, FindsChecks,
    Folder, Form, Given, LastWord, Outdated, Pass, Policy, ReadPlan, Starter, Strength, System,
};

/// A folder with `brief.md` and `tasks.md` or `plan.md`, whose units are worked on in iterations.
#[derive(Clone, Copy, Debug)]
pub struct Iterations;

/// What the list is about, if the task is one of its units. The review of the whole is not a unit.
fn about<'r>(run: &'r Run, task: &Task) -> Option<&'r Iterative> {
    run.settings.form.brief().filter(|_| !is_review(run, task))
}

/// Where an older layout of it kept them.
const OLDER: &str = ".claude/iterative-dev";
/// Files by which a folder is known wherever it lies. Other systems have a list, too.
const OWN: [&str; 4] = ["brief.md", progress::FILE, guardrails::FILE, context::FILE];

fn is_in(folder: &str, place: &str, disk: &dyn Disk) -> bool {
    let real = disk.real(folder).unwrap_or_default();
    real.rsplit_once('/').is_some_and(|(around, _)| around == place || around.ends_with(&format!("/{place}")))
}

impl System for Iterations {
    fn name(&self) -> &'static str {
        "iterative"
    }

    fn about(&self) -> &'static str {
        "A folder with brief.md and tasks.md, or plan.md, worked on in iterations"
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
            detects: Detects::AtBeginning,
            judged_by_target: true,
            makes_knowledge: true,
            ..Policy::USUAL
        }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            usual_folder: Some(PLACE),
            // Many a project has a `state.json` for itself.
            state_mark: Some("\"slug\""),
            offered: &[state::FILE, progress::FILE, guardrails::FILE],
            shown_along: &["context.md", "brief.md", "tasks.md", "plan.md"],
            log_in_place: Some(progress::FILE),
            lessons: Some(guardrails::FILE),
            archive: Some(Archive {
                place: takeover::ARCHIVE,
                is_dated: true,
                needs_success: true,
                last_word: Some(LastWord { field: "phase", word: "complete" }),
                is_removable: true,
            }),
            ..Files::default()
        }
    }

    fn owned(&self, _: &[Group]) -> Vec<String> {
        let own = ["brief.md", context::FILE, progress::FILE, guardrails::FILE];
        plan::LISTS.into_iter().chain(own).map(str::to_owned).collect()
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let has = |name: &&&str| disk.is_file(&join(folder, name));
        let list = plan::LISTS.iter().find(has)?;
        let strength = if is_in(folder, PLACE, disk) { Some(Strength::ByPlace) } else { None };
        let by_files = || OWN.iter().any(|name| has(&name)).then_some(Strength::ByFiles);
        strength.or_else(by_files).map(|strength| Claim::new(list, strength))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        let is_own = OWN.contains(&name) || name == state::FILE || self.is_part(name);
        if is_own { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn goes_by(&self, folder: &str, text: &str) -> bool {
        folder == text && text != takeover::ARCHIVE && !text.starts_with('.')
    }

    fn outdated(&self, folder: &str) -> Option<Outdated> {
        let (around, name) = folder.rsplit_once('/')?;
        let project = around.strip_suffix(OLDER)?.strip_suffix('/')?;
        let to = join(&join(project, PLACE), name);
        let [now, before] = plan::BRIEFS;
        Some(Outdated { place: PLACE, to, renamed: (before, now) })
    }

    fn is_part(&self, name: &str) -> bool {
        plan::LISTS.contains(&name) || plan::BRIEFS.contains(&name) || name == context::FILE
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(plan::read(folder, given))
    }

    fn add(&self, folder: &Folder, plan: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        Ok(plan::add(folder, plan, task)?.into_iter().collect())
    }

    fn check_state(&self, text: &str) -> Vec<Diagnostic> {
        state::read(text).problems
    }

    fn without_state(&self) -> &'static str {
        "the log and git are used"
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
        let lists = TICKED_LISTS.iter().filter(|list| list.name.is_some_and(is_there));
        let both: [&'static dyn Companion; 2] = [&PROGRESS, &GUARDRAILS];
        both.into_iter().chain(lists.map(|boxes| boxes as &'static dyn Companion)).collect()
    }

    fn report_in_copy(&self, task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<AgentReport> {
        if name != state::FILE {
            return report_in_words(task, name, before, after);
        }
        state_files::report_in_fields(task, before, after, &|shown, found| self.edits(shown, found))
    }

    /// A confirming agent gets the first prompt. It does not say that it is to confirm.
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
            plan: plan::list_of(about.mode),
            guardrails: &guardrails::parse(&text::decode(&lessons).text),
            commits: !run.settings.no_commits,
            commands: &commands,
            base: pass.base.map(Oid::short).unwrap_or_default(),
        };
        Some(if pass.number == 0 { iteration.prompt() } else { iteration.confirming() })
    }

    fn ending(&self, ended: &Ended<'_>) -> Option<(AgentEnd, Vec<String>)> {
        if about(ended.run, ended.task).is_none() {
            // An agent that fixes what the review found may end without a word, or ask for a person.
            let Some(Signal::Escalate(reason)) = &ended.heard.signal else { return None };
            return Some((AgentEnd::Blocked { reason: reason.clone() }, Vec::new()));
        }
        let mut reports = ended.reports.to_vec();
        match ended.reported {
            Some(What::Failed { .. }) => return None,
            Some(what) => reports.push(AgentReport::by_command(what.clone())),
            None => {}
        }
        Some((ending(ended.heard, &reports), ended.heard.notes.clone()))
    }

    fn ops(&self) -> Ops {
        ops::OPS
    }

    /// Units whose last iterations repeated each other, and that are not done yet.
    fn warnings(&self, tasks: &[Task], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
        let open = tasks.iter().filter(|task| task.decided != Status::Completed);
        let log = read(progress::FILE).map(|bytes| text::decode(&bytes).text).unwrap_or_default();
        open.filter_map(|task| progress::saturation(&log, &task.id)).collect()
    }

    fn log_entry(&self, account: &Account<'_>) -> Option<String> {
        (!is_review(account.run, account.task)).then(|| progress::Entry::reported(account).write())
    }

    fn starter(&self, words: &[String]) -> Result<Starter, Refusal> {
        new::starter(words)
    }

    fn begin(&self, asked: &Asked<'_>) -> Result<Begun, Refusal> {
        new::begin(asked)
    }

    /// Those that every unit has.
    fn detected(&self) -> Option<FindsChecks> {
        Some(|specs| {
            let runs = |check: &&Check| matches!(check.run, Argv::Words(_) | Argv::Shell(_));
            let first = specs.iter().find(|spec| spec.confirm);
            first.map(|spec| spec.checks.iter().filter(runs).cloned().collect()).unwrap_or_default()
        })
    }

    fn fit(&self, plan: &Plan) -> Plan {
        plan::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written {
        let given = Given::new(&fitted.name, "", config);
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
        state::UnitWord::from_status(status).word()
    }
}
