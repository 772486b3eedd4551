//! The plan's words.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Argv, Budget, Check, Content, Fences, GroupId, RepoPath, Requests, TaskId};
use crate::client::Adapter;
use crate::system::{Form, Policy, SystemRef};
use crate::time::Span;

/// Beyond this, agents fight for the machine rather than help each other.
pub const MAX_PARALLEL: u32 = 64;

/// A plan as read and checked: groups in order, tasks with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub name: String,
    pub groups: Vec<Group>,
    pub tasks: Vec<TaskSpec>,
    pub settings: Settings,
}

impl Plan {
    /// What there is to do, where its system does not count it in tasks alone.
    pub fn size(&self) -> Option<String> {
        self.settings.form.size(&self.tasks)
    }

    /// The same where groups have a name of their own.
    pub fn size_in_groups(&self) -> Option<String> {
        self.settings.form.size_in_groups(self)
    }

    /// Covers what the tasks say and what judges them; not comments, order of keys or layout.
    pub fn hash(&self) -> Digest {
        let tasks: Vec<Cow<'_, TaskSpec>> = self.tasks.iter().map(|spec| self.as_authored(spec)).collect();
        let landing: Vec<Check> = self.settings.landing_checks.iter().map(Check::as_written).collect();
        Digest::of(&(&self.groups, &tasks, &landing))
    }

    /// A task of this plan, or of an earlier version of it, with only what the plan's author wrote. The author wrote
    /// neither the gate of another system nor `source`. Older journals have neither, and the hash stays the same.
    pub(crate) fn as_authored<'s>(&self, spec: &'s TaskSpec) -> Cow<'s, TaskSpec> {
        let says_gates = self.settings.policy().as_written;
        let spec = as_written(spec);
        if !(spec.gate && !says_gates || spec.source.is_some()) {
            return spec;
        }
        let spec = spec.into_owned();
        Cow::Owned(TaskSpec { gate: spec.gate && says_gates, source: None, ..spec })
    }
}

/// A task without what its reader added to its checks. So an unchanged plan has the same hash in every version of
/// Piton.
fn as_written(task: &TaskSpec) -> Cow<'_, TaskSpec> {
    if task.checks.iter().all(|check| check.pipefail != Some(true)) {
        return Cow::Borrowed(task);
    }
    Cow::Owned(TaskSpec { checks: task.checks.iter().map(Check::as_written).collect(), ..task.clone() })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    pub title: String,
}

/// One task, with its judges and limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    pub id: TaskId,
    pub title: String,
    /// What the agent is asked to do.
    pub prompt: String,
    /// Position of its group in the plan.
    pub group: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RepoPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// 1 is first.
    pub priority: u32,
    /// A name in [`Settings::agents`].
    pub agent: String,
    /// Code failures allowed.
    pub attempts: u32,
    /// One more pass by a fresh agent until it finds nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    /// Exit 0 without any change is success for this task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_change_nothing: bool,
    /// Its checks are run before any agent: where they pass, there is nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_first: bool,
    /// When its budget is spent, or it turns out to be impossible, the run and its dependents continue without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_fail: bool,
    /// It judges the whole: its pass counts for the tree that it saw, and no other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gate: bool,
    /// A person does it: no agent is started, and what the person says about it is believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    /// Wall-clock limit of one try.
    pub timeout: Span,
    /// Longest time without output. 0: no limit. `None`: the client's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Span>,
    /// What it makes for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<Export>,
    /// Tasks of other lists that it waits for, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    /// What its author wrote, where the fields above hold more than that; see [`TaskSpec::content`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Content>,
}

/// A task of another list, which has a run of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Outside {
    /// The list, from the root of the project.
    pub list: String,
    pub task: TaskId,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.task, self.list)
    }
}

/// The longest a client with a stream may do nothing, unless the plan says otherwise.
pub const SILENCE: Span = Span::minutes(10);

impl TaskSpec {
    /// The longest an agent may do nothing. A command may be one that speaks only at its end.
    pub fn silence_of(&self, adapter: Adapter) -> Option<Span> {
        match self.silence {
            Some(silence) => Some(silence).filter(|silence| !silence.is_zero()),
            None => (!adapter.is_command()).then_some(SILENCE),
        }
    }
}

/// Something a task makes that others build on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Export {
    Interface {
        name: String,
        /// `struct`, `model`, `component`: as the plan says it.
        kind: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    Endpoint {
        method: String,
        path: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
}

/// What holds for a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The system of the plan: Piton keeps its state files and follows its rules.
    #[serde(flatten)]
    pub form: Form,
    pub schedule: Schedule,
    pub max_parallel: u32,
    pub exhausted: Exhausted,
    /// The agents that take over after the first failure, the second, and so on; the last one stays. Each is a name in
    /// `agents`, or a role for the task's own agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<String>,
    /// The agent that turns a failed check into words for the next try, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Run on the merged tree before the target moves, whatever the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landing_checks: Vec<Check>,
    pub agents: BTreeMap<String, Agent>,
    #[serde(default)]
    pub worktree: WorktreeSetup,
    /// What holds agents back.
    #[serde(default, skip_serializing_if = "Fences::is_default")]
    pub fences: Fences,
    #[serde(default, skip_serializing_if = "Budget::is_unbounded")]
    pub budget: Budget,
    /// Put before `[ID]` in commit subjects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Agents decide for themselves what they would ask, unless it destroys something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_answer: bool,
    /// Work in place: no worktree, branch or commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_commits: bool,
    /// The list is one sequence: each task comes after all before it, also where one of them is ticked already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_sequence: bool,
    /// First pause after a transient failure; it grows fourfold up to [`Settings::LONGEST_PAUSE`].
    pub backoff: Span,
    /// How long a landing waits for the user's checkout once nothing else is left to do.
    pub landing_wait: Span,
    #[serde(default, skip_serializing_if = "Land::is_batch")]
    pub land: Land,
    /// How many checks of candidates for landing run at the same time. None: as many as the processors bear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing_parallel: Option<u32>,
    /// Nobody looks for conflicts while work is under way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late_conflicts: bool,
    /// Each task lands by a request on the host of a remote. None: Piton moves the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

impl Settings {
    pub const LONGEST_PAUSE: Span = Span::minutes(10);
    /// Transient failures in a row, over all tasks, after which the run stops: the agent is broken, not a task.
    pub const TRANSIENT_STREAK: u32 = 20;
    /// Tries within one attempt that may end in a transient failure.
    pub const TRANSIENT_TRIES: u32 = 5;
    /// How often a verifier finds gaps before a person is asked, where work is done in iterations.
    pub const REJECTIONS: u32 = 3;
    /// Conflicts in the life of a task.
    pub const CONFLICTS: u32 = 3;

    /// The system of the plan.
    pub fn system(&self) -> SystemRef {
        self.form.system()
    }

    /// What holds for all plans of that system.
    pub fn policy(&self) -> Policy {
        self.form.policy()
    }

    /// The agent that takes over a task after this many failures.
    pub fn rung(&self, failures: u32) -> Option<&str> {
        let nth = usize::try_from(failures).unwrap_or(usize::MAX).min(self.escalation.len());
        self.escalation.get(nth.checked_sub(1)?).map(String::as_str)
    }
}

impl Settings {
    /// Whether each task waits for all before it, whatever it depends on. Journals of earlier versions do not say it of
    /// issues.
    pub fn is_sequence(&self) -> bool {
        self.in_sequence || self.policy().in_sequence
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            form: Form::default(),
            schedule: Schedule::Layered,
            max_parallel: 3,
            exhausted: Exhausted::Continue,
            escalation: Vec::new(),
            feedback: None,
            landing_checks: Vec::new(),
            agents: BTreeMap::new(),
            worktree: WorktreeSetup::default(),
            fences: Fences::default(),
            budget: Budget::default(),
            commit_prefix: None,
            author: None,
            auto_answer: false,
            no_commits: false,
            in_sequence: false,
            backoff: Span::seconds(5),
            landing_wait: Span::minutes(10),
            land: Land::default(),
            landing_parallel: None,
            late_conflicts: false,
            requests: None,
        }
    }
}

/// An issue of the project's tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// 0: it has no number.
    pub number: u64,
    pub title: String,
}

/// A client that does the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Which client it is, and so how it is started and what its output means.
    #[serde(default, skip_serializing_if = "Adapter::is_command")]
    pub adapter: Adapter,
    /// Of the adapter `command` alone: the others know their command line.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub prompt: PromptBy,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where the client is: a name in the path, or an absolute path. None: the name of its adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// None: the client's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// More arguments for the client, after Piton's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The most one try may cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    #[serde(default, skip_serializing_if = "Permissions::is_narrow")]
    pub permissions: Permissions,
    /// Whose limits and credentials it works under. None: as its client usually does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The stand-in while its provider is unavailable: a name in [`Settings::agents`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// It does not get Piton's tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_mcp: bool,
    /// It is asked once for a report when it is about to stop without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks: bool,
}

impl Agent {
    /// Its provider; `name` is the agent's own name. Agents of one provider share its limits.
    pub fn provider<'a>(&'a self, name: &'a str) -> &'a str {
        let usual = || self.adapter.provider(self.model.as_deref()).unwrap_or(name);
        self.provider.as_deref().unwrap_or_else(usual)
    }

    /// What is started: a name, or a path.
    pub fn program(&self) -> &str {
        let own = self.command.first().filter(|_| self.adapter.is_command());
        own.or(self.program.as_ref()).map_or(self.adapter.name(), String::as_str)
    }
}

/// What a client may do without asking, since no person is there to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Commands, and files in its worktree, as far as the client can tell them apart.
    #[default]
    Narrow,
    /// Everything: the client's own fences are off.
    All,
}

impl Permissions {
    pub fn is_narrow(&self) -> bool {
        *self == Permissions::Narrow
    }
}

/// How an agent gets its prompt. As a file, `{prompt}` in its command stands for the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    #[default]
    Stdin,
    File,
}

/// How a fresh worktree is made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeSetup {
    /// Files copied from the main checkout, such as `.env`, where they exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<RepoPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Argv>,
    /// What of a worktree the next task finds.
    #[serde(default, skip_serializing_if = "Reuse::is_usual")]
    pub reuse: Reuse,
    /// Folders of caches. A worktree that has none gets a copy of the main checkout's, and keeps it for the next task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm: Vec<RepoPath>,
    /// The most that worktrees which nobody works in may fill, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_mib: Option<u32>,
    /// One folder for all tasks of the run, which then go one after the other. None: each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
}

/// What becomes of the worktree of a task that is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// The next task works in it, with its caches.
    #[default]
    Warm,
    /// The next task works in it, without anything that git ignores.
    Clean,
    /// It is removed.
    Never,
}

impl Reuse {
    /// As plans write it.
    pub const ALL: [(&str, Reuse); 3] =
        [("warm", Reuse::Warm), ("clean", Reuse::Clean), ("never", Reuse::Never)];

    fn is_usual(&self) -> bool {
        *self == Reuse::default()
    }

    pub fn word(self) -> &'static str {
        Reuse::ALL.iter().find(|(_, reuse)| *reuse == self).map_or("warm", |(word, _)| word)
    }
}

/// Room for a few builds of a large project; a disk on which agents work has more to spare.
const KEEP_MIB: u32 = 20 * 1024;

impl WorktreeSetup {
    /// The most that worktrees which nobody works in may fill, in bytes.
    pub fn keep_bytes(&self) -> u64 {
        u64::from(self.keep_mib.unwrap_or(KEEP_MIB)) << 20
    }

    /// Where a task's worktree is, below the folder of the run's worktrees.
    pub fn place<'a>(&'a self, task: &'a TaskId) -> &'a str {
        self.shared.as_deref().unwrap_or(task.as_str())
    }
}

/// In which order tasks may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Groups strictly in order; inside one, a freed slot is filled at once.
    Layered,
    /// Besides, a barrier after each dependency level.
    Batch,
    /// Every task as soon as its dependencies have landed.
    Flow,
}

/// How tasks that were proven together land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    /// In one move of the target, from a proven tree to a proven tree.
    #[default]
    Batch,
    /// One by one: each commit of the target's first parents is proven, so that `git bisect` works.
    Each,
}

impl Land {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_batch(&self) -> bool {
        *self == Land::Batch
    }
}

/// What a spent budget means for the rest of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// Nothing new starts; what is verified still lands.
    Stop,
    /// Tasks of its group that do not depend on it continue.
    Continue,
    /// The same in later groups: a group is over when nothing in it can continue.
    Pass,
    /// Everything continues without it, even its dependents.
    Skip,
}

impl Exhausted {
    pub const ALL: [Exhausted; 4] = [Exhausted::Stop, Exhausted::Continue, Exhausted::Pass, Exhausted::Skip];

    pub fn name(self) -> &'static str {
        match self {
            Exhausted::Stop => "stop",
            Exhausted::Continue => "continue",
            Exhausted::Pass => "pass",
            Exhausted::Skip => "skip",
        }
    }
}

/// A SHA-256 in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Of a value's JSON, whose field order is fixed by its type.
    pub fn of<T: Serialize>(value: &T) -> Digest {
        let bytes = serde_json::to_vec(value).expect("plan values have string keys and finite numbers");
        Digest::of_bytes(&bytes)
    }

    pub fn of_bytes(bytes: &[u8]) -> Digest {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            hex.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            hex.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        }
        Digest(hex.into())
    }

    /// One that was written as text.
    pub fn from_hex(text: &str) -> Option<Digest> {
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| Digest(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}
