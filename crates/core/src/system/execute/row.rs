//! The execute system in the table of systems.

use serde_json::Value;

use super::new::FOLDER;
use super::plan::{LAYER_PLAN, MANIFEST};
use super::takeover::Left;
use super::{context, new, ops, plan, state};
use crate::chronicle::Chronicle;
use crate::diagnostic::Diagnostic;
use crate::plan::{Group, Plan, TaskId};
use crate::run::{Refusal, State, Status};
use crate::system::config::Config;
use crate::system::edit::Edit;
use crate::system::export::{Names, Note, Source, Written, other_words};
use crate::system::finding::join;
use crate::system::kit::takeover::{LeftFiles, Legacy, StateText};
use crate::system::ops::Ops;
use crate::system::state_files::{self, Picture, Place};
use crate::system::{
    Addition, Asked, Begun, Claim, Description, Disk, FileClaim, Files, Folder, Form, Given, Habits, Policy,
    Problem, ProjectNamed, ReadPlan, Reading, Starter, Strength, Strictness, System,
};

/// A folder with `manifest.json`, `layer_plan.json` and a task XML per task.
#[derive(Clone, Copy, Debug)]
pub struct Execute;

/// Files by which a folder is one.
const OWN: [&str; 3] = [MANIFEST, LAYER_PLAN, state::FILE];

/// The layers as they were read.
#[derive(Debug)]
struct Layers(Reading);

impl ReadPlan for Layers {
    fn reading(&self) -> &Reading {
        &self.0
    }

    fn reading_mut(&mut self) -> &mut Reading {
        &mut self.0
    }

    fn lint(&self) -> Vec<Problem> {
        plan::lint(&self.0)
    }

    /// Without a state file there is nothing to resume from. One that is broken leaves it all to git.
    fn left<'r>(&'r self, files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        match files.state {
            StateText::Missing => None,
            StateText::Broken => Some(Box::new(Left::default())),
            StateText::Text(text) => Some(Box::new(Left { state: state::read(&text).state })),
        }
    }
}

impl System for Execute {
    fn name(&self) -> &'static str {
        "execute"
    }

    fn about(&self) -> &'static str {
        "manifest.json, layer_plan.json and an XML file for each task"
    }

    fn plain(&self) -> Form {
        Form::Execute
    }

    fn policy(&self) -> Policy {
        Policy { keeps_description: true, early_branch: true, adopts_worktrees: true, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            usual_folder: Some(FOLDER),
            offered: &[state::FILE],
            ..Files::default()
        }
    }

    fn habits(&self) -> Option<Habits> {
        Some(Habits {
            max_parallel: "EXECUTE_MAX_PARALLEL",
            worktree_dir: "EXECUTE_WORKTREE_DIR",
            verbose: "EXECUTE_VERBOSE",
            most_at_once: 10,
        })
    }

    fn owned(&self, groups: &[Group]) -> Vec<String> {
        let layers = groups.iter().map(|group| group.id.to_string());
        [MANIFEST, LAYER_PLAN].map(str::to_owned).into_iter().chain(layers).collect()
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let is_layer = |name: &String| {
            name.split_once('-').is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let has_task =
            |layer: String| disk.names(&join(folder, &layer)).iter().any(|name| name.ends_with(".xml"));
        let has_file = OWN.iter().any(|name| disk.is_file(&join(folder, name)));
        let is_plan = has_file || disk.names(folder).into_iter().filter(is_layer).any(has_task);
        is_plan.then(|| Claim::new(MANIFEST, Strength::ByName))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if OWN.contains(&name) { FileClaim::Yes } else { FileClaim::No }
    }

    fn is_part(&self, name: &str) -> bool {
        [MANIFEST, LAYER_PLAN].contains(&name) || (name.contains('/') && name.ends_with(".xml"))
    }

    fn project_named(&self, folder: &str, disk: &dyn Disk) -> ProjectNamed {
        let manifest = disk.read(&join(folder, MANIFEST));
        let state = || {
            let (state, _) = state_files::parse(&disk.read(&join(folder, state::FILE))?).ok()?;
            let said = state.get("project_path")?.as_str().filter(|said| !said.trim().is_empty())?;
            Some(said.to_owned())
        };
        let in_plan = manifest.and_then(|bytes| plan::project_path(&bytes));
        ProjectNamed { in_plan, in_state: state() }
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(Layers(plan::read(folder, given.name, given.config, given.strictness)))
    }

    fn add(&self, folder: &Folder, plan: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        plan::add(folder, plan, task)
    }

    fn check_state(&self, text: &str) -> Vec<Diagnostic> {
        state::read(text).problems
    }

    fn without_state(&self) -> &'static str {
        "git decides"
    }

    fn picture(
        &self,
        state: &State,
        chronicle: &Chronicle,
        place: &Place,
        claimed: &[TaskId],
    ) -> Option<Picture> {
        let mut file = state::project(state, chronicle, place)?;
        let value = state::value(&file);
        for (id, entry) in &mut file.tasks.0 {
            if claimed.iter().any(|task| task.as_str() == id) {
                entry.status = state::TaskStatus::Verifying;
            }
        }
        Some(Picture { value, text: state::text(&file) })
    }

    fn edits(&self, shown: &Value, found: &Value) -> Vec<Edit> {
        state::edits(shown, found)
    }

    fn overruled(&self, fields: &Value, shown: &Value) -> Vec<(String, String)> {
        state::overruled(fields, shown)
    }

    fn ops(&self) -> Ops {
        ops::OPS
    }

    fn starter(&self, words: &[String]) -> Result<Starter, Refusal> {
        new::starter(words)
    }

    fn begin(&self, asked: &Asked<'_>) -> Result<Begun, Refusal> {
        Ok(new::begin(asked))
    }

    fn description(&self) -> Option<Description> {
        Some(context::DESCRIPTION)
    }

    fn fit(&self, plan: &Plan) -> Plan {
        plan::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, _: &dyn Fn(&TaskId) -> bool) -> Written {
        Written::read_back(plan::write(fitted), |folder| {
            let mut read = plan::read(folder, &fitted.name, config, Strictness::Lenient);
            let poor = plan::lint(&read);
            read.problems.extend(poor);
            read
        })
    }

    fn write_state(&self, source: Source<'_>, names: &Names, place: &Place) -> Vec<(String, String)> {
        let Some(mut file) = state::project(source.state, source.chronicle, place) else { return Vec::new() };
        file.rename(&|task| names.task(task).to_owned(), &|group| names.group(group).to_owned());
        vec![(state::FILE.to_owned(), state::text(&file))]
    }

    fn word(&self, status: Status) -> &'static str {
        state::TaskStatus::from_status(status).word()
    }

    fn not_exported(&self, source: Source<'_>) -> Vec<Note> {
        let mut notes = other_words(source, |status| self.word(status));
        for task in source.state.tasks().filter(|task| !task.removed) {
            let reports = source.chronicle.task(&task.id).map_or(0, |story| story.reports.len());
            if reports > 0 {
                let text = "what was reported, with notes, decisions and test counts, is not written";
                notes.push(Note::of_task(&task.id, "reports", text));
            }
        }
        let of_run =
            [("guardrails", source.chronicle.guardrails.len()), ("journal", source.chronicle.entries.len())];
        for (field, count) in of_run.into_iter().filter(|(_, count)| *count > 0) {
            notes.push(Note::of_run(field, format!("{count} not written")));
        }
        notes
    }
}
