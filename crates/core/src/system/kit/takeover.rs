//! Taking over what another system left: its files say what it believes, git and the disk say what is there.
//!
//! A system says what it wants to know ([`Questions`]); the engine looks and answers ([`Evidence`]); the system judges
//! each task on that and makes a [`Takeover`]: commands for the run, and lines for people. All of it is plain values,
//! so that the simulator runs a take-over as an engine does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::history::Target;
use crate::plan::{Oid, Settings, TaskId, TaskSpec};
use crate::run::{Command, ImportedTask, Note, Proof, Report, Status};
use crate::time::Timestamp;
use crate::view::counted;

/// The files that another program left next to a plan, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub struct LeftFiles<'a> {
    pub state: StateText,
    /// The branch that work is to land on.
    pub onto: Option<&'a str>,
    /// The log of what was done.
    pub log: String,
    pub lessons: Lessons,
    /// What the plan's own files say to be done is done again.
    pub distrusts_ticks: bool,
}

/// A state file that another program left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StateText {
    #[default]
    Missing,
    /// Neither it nor an older version of it can be used.
    Broken,
    Text(String),
}

impl StateText {
    pub fn text(&self) -> Option<&str> {
        if let StateText::Text(text) = self { Some(text) } else { None }
    }
}

/// What was learned in this plan's work, and in finished work: each with the name of its folder in the archive.
#[derive(Clone, Debug, Default)]
pub struct Lessons {
    pub known: String,
    pub archived: Vec<(String, String)>,
}

/// Whose a state file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateOf {
    ThisPlan,
    /// A run of Piton's wrote it. If the journal has that run, it knows more.
    Run(String),
    /// Another plan's.
    Another(String),
}

/// What another system left about the tasks of a plan.
pub trait Legacy {
    /// Keep the settings that a run began with, unless they are set differently now.
    fn keep_settings(&self, _settings: &mut Settings) {}

    /// The folder in which its worktrees lie.
    fn worktree_dir(&self) -> Option<&str> {
        None
    }

    /// What has to be known to judge it.
    fn questions(&self, specs: &[TaskSpec]) -> Questions;

    /// Judge every task.
    fn take_over(&self, specs: &[TaskSpec], evidence: &Evidence) -> Result<Takeover, Refused>;
}

/// What a system wants to know before it judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// The commits by which tasks prove themselves, newest first, named as in [`Target::elsewhere`]. `None`: what the
    /// target holds does not matter.
    pub commits: Option<BTreeMap<TaskId, Vec<String>>>,
    /// Commits that are recorded as the work of a task, whatever they prove.
    pub owned: BTreeMap<TaskId, Vec<String>>,
    /// Which of those are compared with the target if it does not contain them.
    pub compared: Compared,
    /// Where work that is not part of the target may lie.
    pub places: BTreeMap<TaskId, Place>,
    pub files: Files,
}

impl Questions {
    /// Give the commits of a target to the tasks that they are recorded for.
    pub fn give(&self, target: &mut Target) {
        for (task, hashes) in &self.owned {
            for hash in hashes {
                target.history.find(hash).into_iter().for_each(|place| target.history.give(place, task));
            }
        }
    }
}

/// Files that have to be there where tasks are done that were to make them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub of: BTreeMap<TaskId, Vec<String>>,
    /// The branch that they are on. Without it, or while it does not exist, they are in the project's folder.
    pub onto: Option<String>,
    /// One that is there and empty is there.
    pub may_be_empty: bool,
}

/// Which lost commits are compared with the target. It takes git a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compared {
    /// The newest of each task that the target does not name.
    #[default]
    Newest,
    /// All of them.
    Each,
}

/// Where the work of a task may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder that a state file names as its worktree.
    pub worktree: Option<String>,
    pub branch: String,
    /// It was done: also its branch is looked at, and whether its worktree is clean.
    pub is_done: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub now: Timestamp,
    /// A run begins with it. Otherwise it is only shown.
    pub begins: bool,
    pub target: Option<Target>,
    pub worktrees: BTreeMap<TaskId, Worktree>,
    pub branches: BTreeMap<TaskId, Branch>,
    /// The first file of each task that is not there.
    pub missing: BTreeMap<TaskId, String>,
    pub onto: Onto,
}

/// The branch that files were to be on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Onto {
    /// No branch was named, or there is no repository.
    #[default]
    Nowhere,
    /// It is yet to be made.
    Missing,
    At(Oid),
}

/// A place where the next attempt of a task would continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worktree {
    Gone,
    /// Another run works there.
    Taken,
    /// The named worktree exists, but not where Piton looks for it. It is left alone.
    Elsewhere {
        named: String,
        dir: String,
    },
    There {
        path: String,
        tip: Option<Tip>,
        is_clean: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub name: String,
    pub tip: Tip,
}

/// The end of a line of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    pub head: Oid,
    pub tree: Oid,
    /// Where it parted from the target; `None`: they have nothing in common.
    pub base: Option<Oid>,
}

/// What is believed about one task, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    pub task: TaskId,
    /// What the state file says of it.
    pub claimed: Option<&'static str>,
    /// What is imported; `None`: there is nothing to import.
    pub past: Option<ImportedTask>,
    pub why: String,
    /// The evidence did not confirm the claim, or there was no claim.
    pub corrected: bool,
    /// A worktree in which the task continues.
    pub worktree: Option<String>,
}

/// The result of a take-over.
#[derive(Clone, Debug, Default)]
pub struct Takeover {
    pub beliefs: Vec<Belief>,
    /// Tasks that only the state file has.
    pub orphans: Vec<TaskId>,
    /// What the run begins with, after it was made.
    pub commands: Vec<Command>,
    pub lines: Vec<Line>,
}

/// A line for people. Text from other systems' files may hold anything: the caller that shows it escapes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Title(String),
    Answer(String),
    Say(String),
}

/// Open tasks that only the state file has. No agent can work on them, and a run without them would be called complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub open: Vec<TaskId>,
    pub lines: Vec<Line>,
}

impl Refused {
    /// A run that would leave out open tasks does not begin. Where it is only shown, they are named.
    pub(in crate::system) fn unless_none<'i>(
        open: impl Iterator<Item = &'i TaskId>,
        lines: &[Line],
        evidence: &Evidence,
    ) -> Result<(), Refused> {
        let open: Vec<TaskId> = open.cloned().collect();
        if evidence.begins && !open.is_empty() {
            return Err(Refused { open, lines: lines.to_vec() });
        }
        Ok(())
    }
}

impl Takeover {
    pub(in crate::system) fn say(&mut self, text: String) {
        self.lines.push(Line::Say(text));
    }

    /// With the tasks that only the state file has, not the `plan`; it is refused if one of them is open.
    pub(in crate::system) fn with_orphans<'i>(
        mut self,
        plan: &str,
        specs: &[TaskSpec],
        told: impl Iterator<Item = &'i TaskId>,
        is_open: impl Fn(&TaskId) -> bool,
        evidence: &Evidence,
    ) -> Result<Takeover, Refused> {
        self.orphans = orphans(specs, told);
        if !self.orphans.is_empty() {
            let names: Vec<&str> = self.orphans.iter().map(TaskId::as_str).collect();
            self.say(format!("no longer in the {plan}, but kept: {}", names.join(", ")));
        }
        Refused::unless_none(self.orphans.iter().filter(|id| is_open(id)), &self.lines, evidence)?;
        Ok(self)
    }

    /// The same for programs.
    pub fn document(&self) -> Value {
        let belief = |belief: &Belief| {
            json!({
                "task": belief.task,
                "claimed": belief.claimed,
                "believed": believed(belief),
                "corrected": belief.corrected,
                "why": belief.why,
            })
        };
        let tasks: Vec<Value> = self.beliefs.iter().map(belief).collect();
        json!({ "tasks": tasks, "counts": tally(&self.beliefs), "orphans": self.orphans })
    }
}

/// The command that imports what is known about a task.
pub(in crate::system) fn adopt(task: &TaskId, by: &str, past: ImportedTask) -> Command {
    Command::Adopt { task: task.clone(), by: by.to_owned(), past: Box::new(past) }
}

/// The report of a state file about the work on a task, if it has one.
pub(in crate::system) fn report_work(task: &TaskId, by: &str, report: &Report) -> Option<Command> {
    let note = Note::Told { task: task.clone(), report: Box::new(report.clone()) };
    (*report != Report::default()).then(|| Command::Note { by: by.to_owned(), note })
}

/// A claim that a file does not bear out.
pub(in crate::system) fn not_there(task: &TaskId, file: &str, is: &str) -> Line {
    Line::Say(format!("{task} is marked done, but {file} {is}: it is still to be done"))
}

/// How many tasks count as done because people wrote so.
pub(in crate::system) fn done_before(done: u64) -> Option<Line> {
    let line = || {
        Line::Say(format!("{} already done, according to the list or the state file", counted(done, "task")))
    };
    (done > 0).then(line)
}

/// What a state file says about the whole run: when it began, and fields of other programs that are kept.
pub(in crate::system) fn notes(by: &str, began: Option<Timestamp>, carried: Value) -> Vec<Command> {
    let mut notes = Vec::new();
    notes.extend(began.map(|began| Note::Began { began }));
    if carried.as_object().is_some_and(|fields| !fields.is_empty()) {
        notes.push(Note::Carried { file: by.to_owned(), fields: carried });
    }
    notes.into_iter().map(|note| Command::Note { by: by.to_owned(), note }).collect()
}

/// Tasks of a state file that the plan lacks.
pub(in crate::system) fn orphans<'i>(
    specs: &[TaskSpec],
    told: impl Iterator<Item = &'i TaskId>,
) -> Vec<TaskId> {
    told.filter(|id| !specs.iter().any(|spec| spec.id == **id)).cloned().collect()
}

/// A task whose work is a commit of the target.
pub(in crate::system) fn landed(commit: &Oid) -> Proof {
    Proof::Landed { commit: commit.clone(), verified: commit.clone() }
}

/// What is believed of every task and what is not, in words.
pub(in crate::system) fn lines(beliefs: &[Belief], orphans: &[TaskId]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (title, corrected) in [("believed", false), ("corrected", true)] {
        let is_worth = |belief: &&Belief| belief.corrected == corrected && belief.past.is_some();
        let worth: Vec<&Belief> = beliefs.iter().filter(is_worth).collect();
        if worth.is_empty() {
            continue;
        }
        lines.push(Line::Title(format!("{title} {}", counted(worth.len() as u64, "task"))));
        for belief in worth {
            let (claimed, now) = (belief.claimed.unwrap_or("not mentioned"), believed(belief));
            let change = if claimed == now { now.to_owned() } else { format!("{claimed} → {now}") };
            lines.push(Line::Answer(format!("  {:8} {change}: {}", belief.task, belief.why)));
        }
    }
    let carried = |id: &TaskId| format!("  {id:8} is in the state file but not in the plan; it is kept");
    lines.extend(orphans.iter().map(|id| Line::Answer(carried(id))));
    let told: Vec<String> = tally(beliefs).iter().map(|(word, count)| format!("{count} {word}")).collect();
    lines.push(Line::Answer(told.join(", ")));
    lines
}

fn believed(belief: &Belief) -> &'static str {
    belief.past.as_ref().map_or("pending", |past| past.status.name())
}

/// How many of each claim were borne out, and how many were not.
fn tally(beliefs: &[Belief]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for belief in beliefs {
        let word = match belief.past.as_ref().map(|past| past.status) {
            Some(Status::Completed) => "completed",
            Some(Status::Abandoned) => "abandoned",
            Some(Status::Failed) => "to be tried again",
            Some(_) if belief.worktree.is_some() => "under way",
            _ => "to be done",
        };
        *counts.entry(word).or_default() += 1;
    }
    counts
}
