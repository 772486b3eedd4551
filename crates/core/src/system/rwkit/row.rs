//! The rw-kit system in the table of systems.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    boxes, is_list, is_master, master, new, ops, plan, plan_path, said, siblings, state, takeover, write,
};
use crate::chronicle::Chronicle;
use crate::diagnostic::Diagnostic;
use crate::plan::{Plan, RepoPath, TaskId};
use crate::run::{Refusal, Report, State, Status};
use crate::system::config::Config;
use crate::system::edit::Edit;
use crate::system::export::{Names, Source, Written};
use crate::system::kit::takeover::StateOf;
use crate::system::kit::{self, text};
use crate::system::ops::Ops;
use crate::system::state_files::{Companion, Picture, Place, TickedList};
use crate::system::{
    Addition, Asked, Begun, Collection, Detects, Disk, FileClaim, Files, FindsChecks, Folder, Form, Given,
    ListEntry, Lists, LooksElsewhere, Policy, ReadPlan, Standing, Starter, System,
};

/// A todolist with stories, tags and batches.
#[derive(Clone, Copy, Debug)]
pub struct Rwkit;

/// Where lists usually lie.
pub(super) const FOLDER: &str = "plans";

impl System for Rwkit {
    fn name(&self) -> &'static str {
        "rwkit"
    }

    fn about(&self) -> &'static str {
        "A todolist with stories and tags, of rw-kit"
    }

    fn plain(&self) -> Form {
        Form::Rwkit(Box::default())
    }

    fn policy(&self) -> Policy {
        Policy { shifting_groups: true, detects: Detects::Once, has_stories: true, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            state: Some(state::FILE),
            of_project: true,
            plan_is_file: true,
            usual_folder: Some(FOLDER),
            offered: &[state::FILE],
            ..Files::default()
        }
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if is_list(name) { FileClaim::Yes } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, _: &dyn Disk) -> Vec<String> {
        plan_path(plan).into_iter().collect()
    }

    fn others(&self, plan: &str, root: &str, disk: &dyn Disk) -> Vec<String> {
        siblings::beside(plan, root, disk)
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(plan::read(folder, given))
    }

    fn add(&self, folder: &Folder, plan: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        Ok(write::add(folder, plan, task)?.into_iter().collect())
    }

    fn is_added(&self, grown: &Plan, task: &Addition) -> Result<(), Refusal> {
        write::is_said(grown, &task.id, &task.about)
    }

    fn collection(&self, file: &str) -> Option<&'static dyn Collection> {
        is_master(file).then_some(&MasterList)
    }

    fn check_state(&self, text: &str) -> Vec<Diagnostic> {
        state::read(text).problems
    }

    fn without_state(&self) -> &'static str {
        "only the list is used"
    }

    fn state_of(&self, text: &str, place: &str) -> StateOf {
        let state = state::read(text).state;
        match (&state.piton_run, takeover::about_another(place, &state)) {
            (Some(run), _) => StateOf::Run(run.clone()),
            (None, Some(other)) => StateOf::Another(other.to_owned()),
            (None, None) => StateOf::ThisPlan,
        }
    }

    fn picture(
        &self,
        state: &State,
        chronicle: &Chronicle,
        place: &Place,
        claimed: &[TaskId],
    ) -> Option<Picture> {
        let mut file = state::project(state, chronicle, &place.project_path)?;
        let value = state::value(&file);
        file.claim(claimed);
        Some(Picture { value, text: state::text(&file) })
    }

    fn edits(&self, shown: &Value, found: &Value) -> Vec<Edit> {
        state::edits(shown, found)
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&LIST]
    }

    fn said(&self, tail: &str) -> Option<Report> {
        said::said(tail)
    }

    fn ops(&self) -> Ops {
        ops::OPS
    }

    fn task_name(&self, task: &TaskId) -> String {
        match state::gate_of(task) {
            Some(gate) => format!("the gate {gate}"),
            None => task.to_string(),
        }
    }

    fn starter(&self, words: &[String]) -> Result<Starter, Refusal> {
        new::starter(words)
    }

    fn begin(&self, asked: &Asked<'_>) -> Result<Begun, Refusal> {
        Ok(new::begin(asked))
    }

    /// The tests of the project, which a gate runs.
    fn detected(&self) -> Option<FindsChecks> {
        Some(|specs| {
            let gate = specs.iter().find(|spec| state::gate_of(&spec.id) == Some("unit_tests"));
            gate.map(|spec| spec.checks.clone()).unwrap_or_default()
        })
    }

    fn done_elsewhere(&self) -> Option<LooksElsewhere> {
        Some(siblings::done)
    }

    fn fit(&self, plan: &Plan) -> Plan {
        write::fit(plan)
    }

    fn write(&self, fitted: &Plan, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written {
        let files = write::write(fitted, is_done);
        let list = files.first().map(|(name, _)| name.clone()).unwrap_or_default();
        Written::read_back(files, |folder| plan::read(folder, &Given::new(&list, &list, config)).reading)
    }

    /// It has one place in the project, and is not of the list's folder.
    fn write_state(&self, source: Source<'_>, names: &Names, place: &Place) -> Vec<(String, String)> {
        let Some(mut file) = state::project(source.state, source.chronicle, &place.project_path) else {
            return Vec::new();
        };
        // It shows no run, so the next run takes it over.
        (file.piton_run, file.piton_seq) = (String::new(), 0);
        file.rename(&|old| names.task(old).to_owned());
        let name = state::FILE.rsplit('/').next().unwrap_or_default();
        vec![(name.to_owned(), state::text(&file))]
    }

    fn word(&self, status: Status) -> &'static str {
        state::TaskWord::from_status(status).word()
    }
}

/// The list of lists.
#[derive(Clone, Copy, Debug)]
struct MasterList;

impl Collection for MasterList {
    fn read(&self, text: &str, count: &dyn Fn(&RepoPath) -> Option<(usize, usize)>) -> Lists {
        let master = master::read(text);
        let mut problems = master.problems.clone();
        problems.extend(master::compare(&master, count));
        let entry = |entry: &master::Entry| ListEntry {
            name: entry.name.clone(),
            plan: entry.plan.clone(),
            list: entry.list.clone(),
            is_open: entry.is_open(),
        };
        Lists { entries: master.entries.iter().map(entry).collect(), problems }
    }

    fn count(&self, list: &[u8]) -> Option<(usize, usize)> {
        boxes::count(list)
    }

    fn update(&self, file: &[u8], list: &str, standing: Standing) -> Option<Vec<u8>> {
        master::update(file, list, standing)
    }
}

/// The plan itself is a list in which boxes are ticked.
pub static LIST: TickedList = TickedList {
    name: None,
    ticked: boxes::ticked,
    titles: |_| BTreeMap::new(),
    tick: boxes::tick,
    holds: |now, left| {
        let open = |bytes| text::decode(bytes).text.replace("[x]", "[ ]").replace("[X]", "[ ]");
        open(now) == open(left)
    },
    is_like: kit::boxes::has_boxes,
};
