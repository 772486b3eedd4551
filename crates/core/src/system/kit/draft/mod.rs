//! Plans of other tools, on their way to Piton's: a reader says what it found in their files ([`Draft`]), and this makes
//! tasks of it, in one way for all of them.
//!
//! `ids` gives each task a name that Piton can use, `order` says who waits for whom, `judges` what proves a task, and
//! `left` what counts as done before any run. `boxes` and `marks` write back that a task is done. `kinds`, `paths` and
//! `wording` read what a task's own words say. `preview` shows the plan before a run.

mod boxes;
#[allow(dead_code, reason = "each room takes what it needs")]
mod entries;
mod ids;
mod judges;
mod kinds;
mod left;
#[allow(dead_code, reason = "for rooms whose marks are not boxes")]
mod marks;
mod order;
mod paths;
mod preview;
#[cfg(test)]
pub(in crate::system) mod testing;
#[cfg(test)]
mod tests;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use self::left::Left;
use self::preview::{LineStarts, Source};
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Pairs;
use crate::plan::{Content, Group, GroupId, Plan, RepoPath, Schedule, Settings, TaskId, TaskSpec, Words};
use crate::system::config::name_from;
use crate::system::kit::takeover::{LeftFiles, Legacy};
use crate::system::{Before, Form, Given, Problem, ReadPlan, Reading, SystemRef};
use crate::view::counted;
use crate::view::preview::Line;

pub(in crate::system) use crate::system::config::Order;
pub(in crate::system) use boxes::{BoxAt, holds, sign_of, standing, tick_in, ticked_in, titles_in};
#[allow(unused_imports, reason = "each room takes what it needs")]
pub(in crate::system) use entries::{Entries, Entry, Section};
#[allow(unused_imports, reason = "each room takes what it needs")]
pub(in crate::system) use ids::{named, slug};
pub(in crate::system) use kinds::{commands_of, fails_first, kind_of};
#[allow(unused_imports, reason = "each room takes what it needs")]
pub(in crate::system) use marks::{Marked, Signs, ticked};
pub(in crate::system) use paths::paths_of;
pub(in crate::system) use wording::title_of;

/// What a reader found.
#[derive(Clone, Debug, Default)]
pub(in crate::system) struct Draft {
    pub(in crate::system) name: String,
    /// The branch that the work is to land on, if the plan names one that git would take.
    pub(in crate::system) branch: Option<String>,
    pub(in crate::system) groups: Vec<Phase>,
    pub(in crate::system) tasks: Vec<DraftTask>,
    pub(in crate::system) order: Order,
    /// What the end of each prompt says instead of the usual: which files to leave alone.
    pub(in crate::system) closing: Option<&'static str>,
    /// What agents should read first, by paths from the root of the project.
    pub(in crate::system) context: Vec<String>,
    /// The texts of its files as they were decoded, and what is wrong with them.
    pub(in crate::system) texts: BTreeMap<String, String>,
    pub(in crate::system) problems: Vec<Problem>,
}

/// A heading above tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Phase {
    pub(in crate::system) title: String,
    /// Nothing of the next group begins before all of this one, and of those before it, is done.
    pub(in crate::system) barrier: bool,
}

/// One task.
#[derive(Clone, Debug, Default)]
pub(in crate::system) struct DraftTask {
    /// Its id as the file has it. Empty: one is made of its title.
    pub(in crate::system) name: String,
    /// The file that it stands in, and where.
    pub(in crate::system) file: String,
    pub(in crate::system) at: Range<usize>,
    pub(in crate::system) title: String,
    /// What its author wrote below the title.
    pub(in crate::system) words: String,
    /// What the plan says around it, which its agent has to know.
    pub(in crate::system) around: String,
    /// A position in [`Draft::groups`].
    pub(in crate::system) group: usize,
    pub(in crate::system) needs: Vec<Need>,
    /// It may run beside its neighbours that say the same.
    pub(in crate::system) beside: bool,
    /// Paths as the file has them.
    pub(in crate::system) files: Vec<String>,
    pub(in crate::system) criteria: Vec<String>,
    /// Commands that prove it.
    pub(in crate::system) commands: Vec<String>,
    pub(in crate::system) kind: Kind,
    pub(in crate::system) standing: Standing,
    /// 1 is first.
    pub(in crate::system) priority: Option<u32>,
    /// It writes tests that fail until a later task of its group is done.
    pub(in crate::system) fails_first: bool,
    /// Its box, if a task of its file is a box.
    pub(in crate::system) mark: Option<BoxAt>,
    /// The boxes of its required steps, which are ticked with it.
    pub(in crate::system) steps: Vec<BoxAt>,
    /// What people call the place that it comes from, where that is not its file.
    pub(in crate::system) origin: Option<String>,
}

/// Another task, as its file names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Need {
    pub(in crate::system) name: String,
    pub(in crate::system) at: Range<usize>,
}

/// Who does a task, and what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::system) enum Kind {
    #[default]
    Work,
    /// Something is looked at. Where it is right, nothing is landed.
    Verify,
    /// A person does it.
    Person,
    /// Piton itself does it: it commits, merges and pushes nothing else.
    Git,
}

/// How far a task is, according to its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) enum Standing {
    #[default]
    Open,
    /// Somebody says that it is done.
    Claimed,
    /// It is not to be done.
    Dropped,
    /// The same since it became part of the plan: a run skips it, so that the plan stays what it is.
    Unwanted(&'static str),
    /// It is not Piton's to do: somebody else has it, or it is not due yet.
    NotOurs(&'static str),
    /// The same, with the name of the person who has it.
    HeldBy(String),
}

impl Standing {
    /// Why Piton leaves it to others, if it does.
    pub(in crate::system) fn why_not_ours(&self) -> Option<String> {
        match self {
            Standing::NotOurs(why) => Some((*why).to_owned()),
            Standing::HeldBy(who) => Some(format!("{who} works on it")),
            Standing::Open | Standing::Claimed | Standing::Dropped | Standing::Unwanted(_) => None,
        }
    }
}

/// A plan that was made of a draft.
#[derive(Clone, Debug)]
pub(in crate::system) struct DraftReading {
    reading: Reading,
    /// Of each task of the plan.
    sources: Vec<Source>,
    branch: Option<String>,
    context: Vec<String>,
}

impl ReadPlan for DraftReading {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn reading_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }

    fn branch(&self) -> Option<String> {
        self.branch.clone()
    }

    fn named(&self) -> &[String] {
        &self.context
    }

    fn preview(&self, plan: &Plan, all: bool) -> Option<Vec<Line>> {
        preview::lines(plan, &self.sources, all)
    }

    fn describe(&self, document: &mut Value) {
        preview::describe(document, &self.sources);
    }

    fn claims(&self) -> Option<usize> {
        Some(self.sources.iter().filter(|source| source.is_claimed()).count())
    }

    fn left<'r>(&'r self, files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        Some(Box::new(Left { before: &self.reading.before, distrusts: files.distrusts_ticks }))
    }
}

impl Draft {
    /// The plan of a system that has no more to say than a draft holds. It does not depend on which tasks are ticked.
    pub(in crate::system) fn plan(mut self, row: SystemRef, given: &Given<'_>) -> DraftReading {
        self.order = given.config.policy.order.unwrap_or(self.order);
        let ids = self.ids();
        let mut needs = self.order(&ids);
        let mut judged = self.judge(given);
        // Where the project has checks, those that do not judge a task are said with the tests that fail at first.
        let has_checks =
            given.config.defaults.checks.as_ref().map_or(!given.detected.is_empty(), |own| !own.is_empty());
        let mut specs = Vec::with_capacity(self.tasks.len());
        let mut sources = Vec::with_capacity(self.tasks.len());
        let mut before = BTreeMap::new();
        let mut unjudged = Vec::new();
        let lines = LineStarts::new(&self.texts);
        for (nth, task) in self.tasks.iter().enumerate() {
            // Nobody works on what was dropped, and nobody waits for it.
            if task.standing == Standing::Dropped {
                continue;
            }
            let depends_on = std::mem::take(&mut needs[nth]).iter().map(|need| ids[*need].clone()).collect();
            let checks = std::mem::take(&mut judged[nth]);
            if checks.is_empty() && !has_checks && task.standing == Standing::Open && !task.is_of_others() {
                unjudged.push(nth);
            }
            let words = self.words(task, &ids[nth], given);
            specs.push(task.spec(TaskSpec { depends_on, checks, ..words }));
            sources.push(Source::new(task, &lines));
            before.insert(ids[nth].clone(), task.before());
        }
        self.tell_unjudged(&unjudged, &ids);
        let is_broken = self.problems.iter().any(|problem| problem.diagnostic.severity == Severity::Error);
        if specs.is_empty() && !is_broken {
            let file = self.tasks.first().map_or(given.place, |task| &task.file).to_owned();
            let told = Diagnostic::error(0..0, "this plan has no tasks");
            self.problem(&file, told.label("Piton found nothing here that it could work on"));
        }
        let groups = self.own_groups(&mut specs);
        let settings = Settings {
            form: Form::Added(row),
            schedule: given.config.policy.schedule.unwrap_or(Schedule::Flow),
            ..given.config.settings()
        };
        Problem::sort(&mut self.problems);
        let plan = Plan { name: name_from(&self.name), groups, tasks: specs, settings };
        let Draft { problems, texts, branch, context, .. } = self;
        let reading = Reading { plan, problems, texts, project_path: None, before };
        DraftReading { reading, sources, branch, context }
    }

    /// The groups that have tasks, to which their tasks are given.
    fn own_groups(&self, specs: &mut [TaskSpec]) -> Vec<Group> {
        let used: BTreeSet<u32> = specs.iter().map(|spec| spec.group).collect();
        let places: BTreeMap<u32, u32> = used.iter().copied().zip(0..).into_map();
        specs.iter_mut().for_each(|spec| spec.group = places[&spec.group]);
        let title = |group: &u32| {
            let phase = usize::try_from(*group).ok().and_then(|group| self.groups.get(group));
            phase.map_or(self.name.as_str(), |phase| phase.title.as_str())
        };
        let mut groups: Vec<Group> =
            used.iter().enumerate().map(|(nth, used)| group(nth, title(used))).collect();
        if groups.is_empty() {
            groups.push(group(0, &self.name));
        }
        groups
    }

    /// A task with its texts.
    fn words(&self, task: &DraftTask, id: &TaskId, given: &Given<'_>) -> TaskSpec {
        let files: Vec<RepoPath> = task.paths();
        let own = task.words.trim();
        let words = Words {
            title: &task.title,
            prompt: own,
            files: &files,
            criteria: &task.criteria,
            ..Words::default()
        };
        let source = Some(Content::of_words(&words));
        let title = if task.title.is_empty() { format!("Task {id}") } else { task.title.clone() };
        let prompt = self.prompt(task, id, &title);
        TaskSpec { files, source, ..given.config.task(id.clone(), title, prompt) }
    }

    fn problem(&mut self, file: &str, diagnostic: Diagnostic) {
        self.problems.push(Problem { file: file.to_owned(), diagnostic });
    }

    /// Tasks that nothing can judge are said before a run, not after it.
    fn tell_unjudged(&mut self, unjudged: &[usize], ids: &[TaskId]) {
        let Some(first) = unjudged.first() else { return };
        let (file, at) = (self.tasks[*first].file.clone(), self.tasks[*first].at.clone());
        let tasks = counted(unjudged.len() as u64, "task");
        let told =
            Diagnostic::warning(at, format!("nothing judges {tasks}: Piton would trust what agents report"));
        let told = told.label(format!("{} is the first of them", ids[*first]));
        let help = "name a check for all tasks in `piton.toml`: `[defaults]` with `checks = [\"…\"]`";
        self.problem(&file, told.help(help));
    }
}

impl DraftTask {
    /// Neither an agent nor Piton does it.
    fn is_of_others(&self) -> bool {
        self.kind == Kind::Person || self.standing.why_not_ours().is_some()
    }

    fn spec(&self, spec: TaskSpec) -> TaskSpec {
        let verifies = self.kind == Kind::Verify;
        TaskSpec {
            group: u32::try_from(self.group).unwrap_or(0),
            criteria: self.criteria.clone(),
            priority: self.priority.unwrap_or(spec.priority),
            by_person: self.is_of_others(),
            check_first: spec.check_first || verifies && !spec.checks.is_empty(),
            may_change_nothing: spec.may_change_nothing || verifies,
            ..spec
        }
    }

    /// The files that it is about, as far as they are paths in the project.
    fn paths(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = Vec::new();
        for file in &self.files {
            if let Ok(path) = RepoPath::new(file)
                && !paths.contains(&path)
            {
                paths.push(path);
            }
        }
        paths
    }

    fn before(&self) -> Before {
        let done = self.standing == Standing::Claimed || self.kind == Kind::Git;
        Before { done, is_branch: self.kind == Kind::Git, ..Before::default() }
    }
}

fn group(nth: usize, title: &str) -> Group {
    let id = slug(title);
    let id = if id.is_empty() { format!("{}", nth + 1) } else { format!("{}-{id}", nth + 1) };
    let id = GroupId::new(&id)
        .unwrap_or_else(|_| GroupId::new(&format!("{}", nth + 1)).expect("a number is an id"));
    Group { id, title: title.to_owned() }
}
