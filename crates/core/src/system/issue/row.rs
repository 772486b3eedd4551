//! The issue system in the table of systems.

use serde_json::Value;

use super::companions::{JOURNAL, REPORT, TICKED_LISTS};
use super::new::FOLDER;
use super::plan::{DESIGN, LISTS, REQUIREMENTS};
use super::progress::{Next, Progress};
use super::{journal, new, ops, plan, state, tell};
use crate::chronicle::Chronicle;
use crate::diagnostic::Diagnostic;
use crate::plan::{Group, Plan, TaskId};
use crate::run::{Refusal, Report, State, Status};
use crate::system::config::Config;
use crate::system::edit::{Edit, What};
use crate::system::export::{Names, Source, Written};
use crate::system::finding::join;
use crate::system::kit::entries;
use crate::system::ops::Ops;
use crate::system::state_files::{self, AgentReport, Companion, Picture, Place};
use crate::system::{
    Addition, Archive, Asked, Begun, Claim, Concludes, Detects, Disk, FileClaim, Files, Folder, Form, Given,
    Policy, ReadPlan, Starter, Strength, System, Tally, Typed,
};

/// A folder `issue-N-slug` with `tasks.md`, whose boxes are the tasks.
#[derive(Clone, Copy, Debug)]
pub struct Issues;

fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

impl System for Issues {
    fn name(&self) -> &'static str {
        "issue"
    }

    fn about(&self) -> &'static str {
        "An issue's folder with tasks.md, or plan.md"
    }

    fn plain(&self) -> Form {
        Form::Issue(crate::plan::Issue::default())
    }

    fn policy(&self) -> Policy {
        Policy {
            in_sequence: true,
            logs_rejections: true,
            detects: Detects::Always,
            shared_worktree: true,
            name_words: 2,
            ..Policy::USUAL
        }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            usual_folder: Some(FOLDER),
            archive: Some(Archive {
                place: "archive/completed",
                is_dated: false,
                needs_success: false,
                last_word: None,
                is_removable: false,
            }),
            offered: &[state::FILE, journal::FILE, tell::REPORT],
            ..Files::default()
        }
    }

    fn owned(&self, _: &[Group]) -> Vec<String> {
        let own = [REQUIREMENTS, DESIGN, journal::FILE, tell::REPORT];
        LISTS.into_iter().chain(own).map(str::to_owned).collect()
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let has = |name: &str| disk.is_file(&join(folder, name));
        let real = disk.real(folder).unwrap_or_default();
        let is_named = real.rsplit('/').next().and_then(plan::number_of).is_some();
        let is_planned = has(REQUIREMENTS) || has(DESIGN) || has(state::FILE);
        let [tasks, plan] = LISTS.map(|name| (name, has(name)));
        match (tasks, plan) {
            ((name, true), _) if is_planned || is_named => Some(Claim::new(name, Strength::ByName)),
            (_, (name, true)) if is_named => Some(Claim::new(name, Strength::ByName)),
            (_, (name, true)) => Some(Claim::new(name, Strength::Fallback)),
            _ => None,
        }
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        let is_own = [state::FILE, journal::FILE].contains(&name) || self.is_part(name);
        if is_own { FileClaim::Yes } else { FileClaim::No }
    }

    /// `42` or `#42`.
    fn typed(&self, text: &str) -> Option<Typed> {
        let number = number(text)?;
        let new = format!("piton new issue {number} SLUG");
        Some(Typed { what: format!("issue {number}"), new, is_certain: text.starts_with('#') })
    }

    fn goes_by(&self, folder: &str, text: &str) -> bool {
        number(text).is_some_and(|number| plan::number_of(folder).is_some_and(|(own, _)| own == number))
    }

    fn is_part(&self, name: &str) -> bool {
        LISTS.contains(&name) || [REQUIREMENTS, DESIGN].contains(&name)
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(plan::read(folder, given))
    }

    fn add(&self, folder: &Folder, _: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        Ok(plan::add(folder, task)?.into_iter().collect())
    }

    fn check_state(&self, text: &str) -> Vec<Diagnostic> {
        state::read(text).problems
    }

    fn without_state(&self) -> &'static str {
        "only the list is used"
    }

    fn picture(
        &self,
        state: &State,
        chronicle: &Chronicle,
        _: &Place,
        claimed: &[TaskId],
    ) -> Option<Picture> {
        let mut file = state::project(state, chronicle, &state::about(state))?;
        let value = state::value(&file);
        for entry in &mut file.tasks {
            if claimed.iter().any(|task| task.as_str() == entry.id) {
                // This file has no word for a claim in progress, so the claim is shown as true.
                entry.status = state::TaskWord::Completed;
            }
        }
        Some(Picture { value, text: state::text(&file) })
    }

    fn edits(&self, shown: &Value, found: &Value) -> Vec<Edit> {
        state::edits(shown, found)
    }

    fn companions(&self, is_there: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        let list = TICKED_LISTS.iter().find(|list| list.name.is_some_and(is_there));
        let both: [&'static dyn Companion; 2] = [&JOURNAL, &REPORT];
        both.into_iter().chain(list.map(|boxes| boxes as &'static dyn Companion)).collect()
    }

    fn report_in_copy(&self, task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<AgentReport> {
        if name != journal::FILE {
            return state_files::report_in_fields(task, before, after, &|shown, found| {
                self.edits(shown, found)
            });
        }
        let text = entries::text;
        let new = journal::added(&text(before), &text(after)).into_iter();
        let own: Vec<String> =
            new.filter(|section| section.task.as_ref() == Some(task)).map(|section| section.text).collect();
        let parsed = journal::parse(own.last()?);
        let what = (parsed.status == Some(journal::Outcome::Failed)).then(|| What::Failed {
            reason: parsed.did.lines().next().unwrap_or_default().to_owned(),
            report: Report::default(),
        });
        Some(AgentReport { what, report: parsed.report(), entries: own, guardrails: Vec::new() })
    }

    fn ops(&self) -> Ops {
        ops::OPS
    }

    fn next_line(&self) -> Option<fn(&State, &Chronicle) -> String> {
        Some(|state, chronicle| Next::new(state, chronicle).to_string())
    }

    /// By the words of the state file, and without the validation that no list has. The text is for a comment on the issue.
    fn progress(&self) -> Option<fn(&State) -> Tally> {
        Some(|state| Progress::new(state).tally())
    }

    fn conclusion(&self) -> Option<Concludes> {
        Some(tell::conclusion)
    }

    fn starter(&self, words: &[String]) -> Result<Starter, Refusal> {
        new::starter(words)
    }

    fn begin(&self, asked: &Asked<'_>) -> Result<Begun, Refusal> {
        new::begin(asked)
    }

    fn fit(&self, plan: &Plan) -> Plan {
        plan::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written {
        let given = Given::new(&fitted.name, "", config);
        Written::read_back(plan::write(fitted, is_done), |folder| plan::read(folder, &given).reading)
    }

    /// The state file and the journal.
    fn write_state(&self, source: Source<'_>, names: &Names, _: &Place) -> Vec<(String, String)> {
        let about = state::about(source.state);
        let Some(mut file) = state::project(source.state, source.chronicle, &about) else {
            return Vec::new();
        };
        for task in &mut file.tasks {
            task.id = names.task(&task.id).to_owned();
        }
        let journal = journal::reconcile(None, source.state, source.chronicle, &about).append;
        let journal = journal.map(|text| (journal::FILE.to_owned(), text));
        [(state::FILE.to_owned(), state::text(&file))].into_iter().chain(journal).collect()
    }

    fn word(&self, status: Status) -> &'static str {
        state::TaskWord::from_status(status).word()
    }
}
