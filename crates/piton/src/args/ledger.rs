//! What can be typed by whoever keeps the ledger: people, agents and scripts that do the work themselves.

use clap::{Args, Subcommand, ValueEnum};
use piton_core::plan::{GroupId, RepoPath, TaskId};

use super::{DialectArg, OfRun, Which};

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its id, in the form that ids of this plan have
    pub task: TaskId,
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT")]
    pub title: String,
    /// What whoever works on it is told [default: the title]
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The layer it goes into [default: the only one, or the one with the number in its id]
    #[arg(long, value_name = "NAME")]
    pub layer: Option<GroupId>,
    /// A task that has to be completed first
    #[arg(long, value_name = "ID")]
    pub after: Vec<TaskId>,
    /// A file it makes or changes
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<RepoPath>,
    /// The story it is for; only todolists have them
    #[arg(long, value_name = "ID")]
    pub story: Option<String>,
    /// The agent it names; only in todolists
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Its size, S or M; only in todolists
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// A command that proves it done
    #[arg(long = "check", value_name = "COMMAND")]
    pub checks: Vec<String>,
    /// Nothing can prove it: a report about it is taken as it is
    #[arg(long, conflicts_with = "checks")]
    pub no_check: bool,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Next {
    #[command(flatten)]
    pub which: Which,
    /// How many to name at most
    #[arg(long, short = 'n', default_value_t = 5)]
    pub count: usize,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    pub task: TaskId,
    /// Begin it although tasks of an earlier group or batch are open
    #[arg(long)]
    pub ahead: bool,
    /// Hold it only as long as this process lives; then it is free again [default: the client that --by names, where it
    /// runs this command]
    #[arg(long = "while", value_name = "PID", env = "PITON_HOLDER_PID")]
    pub held_while: Option<u32>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct By {
    /// Who does it
    #[arg(long, value_name = "NAME", env = "PITON_HOLDER", default_value = "you")]
    pub by: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Report {
    pub task: TaskId,
    pub what: Reported,
    /// Why, for already, failed and blocked and with --no-change
    #[arg(long, visible_alias = "blockers", value_name = "TEXT")]
    pub reason: Option<String>,
    /// Nothing had to change: it is done without work, which is shown as reported, not proven
    #[arg(long, requires = "reason")]
    pub no_change: bool,
    /// What was done, and what the next ones should know
    #[arg(long, visible_alias = "did", value_name = "TEXT")]
    pub note: Option<String>,
    /// A file that was made or changed
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// A file that was made
    #[arg(long = "created", value_name = "PATH")]
    pub created: Vec<String>,
    /// Something later tasks can use
    #[arg(long = "export", value_name = "NAME")]
    pub exports: Vec<String>,
    /// A decision that was taken
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// A convention that later work should follow
    #[arg(long = "pattern", value_name = "TEXT")]
    pub patterns: Vec<String>,
    /// What the next try should do about it
    #[arg(long, visible_alias = "remaining", value_name = "TEXT")]
    pub feedback: Option<String>,
    /// What the tests came to: a file with a runner's output, or a text such as `12 passed, 1 failed`. What the
    /// task's checks count beats it
    #[arg(long, value_name = "FILE|TEXT")]
    pub test_results: Option<String>,
    /// A commit of this work
    #[arg(long = "commit", value_name = "HASH")]
    pub commits: Vec<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

impl Report {
    /// Without anything but the claim.
    pub(crate) fn of(
        task: TaskId,
        what: Reported,
        reason: Option<String>,
        by: By,
        which: Which,
        json: bool,
    ) -> Report {
        Report {
            task,
            what,
            reason,
            no_change: false,
            note: None,
            files: Vec::new(),
            created: Vec::new(),
            exports: Vec::new(),
            decisions: Vec::new(),
            patterns: Vec::new(),
            feedback: None,
            test_results: None,
            commits: Vec::new(),
            by,
            which,
            json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Gate {
    /// Its name, such as unit_tests [default: all]
    pub name: Option<String>,
    /// What it came to; its check decides whether it has passed
    pub said: Option<GateSaid>,
    /// Why, for failed and degraded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateSaid {
    Passed,
    Approved,
    Failed,
    Degraded,
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// Its number, from 0 [default: all]
    pub number: Option<u32>,
    /// Note that the context of whoever drives it was compacted after it
    #[arg(long, requires = "number")]
    pub compacted: bool,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reported {
    Done,
    /// Nothing had to be changed for it; --reason says why. The same as done --no-change
    Already,
    /// It goes on with what remains
    Unfinished,
    Failed,
    Blocked,
}

#[derive(Debug, Args)]
pub(crate) struct Confirm {
    pub task: TaskId,
    /// What was looked at
    #[arg(long, visible_alias = "did", value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Phase {
    /// What the phase is, where only a person can know: discover or plan before the first unit, deliver or complete
    /// after the review [default: only tell it]
    pub word: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Also stop what is running; it goes on with the next `piton run`. What an engine left running that was killed is
    /// stopped with or without this
    #[arg(long)]
    pub now: bool,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Skip {
    pub task: TaskId,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    pub task: TaskId,
    /// What the next agent of the task should do
    pub text: String,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Unblock {
    pub task: TaskId,
    /// Tell its next agent, as `piton answer` does
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub note: String,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Raise {
    pub task: TaskId,
    /// Attempts allowed in all
    #[arg(long, value_name = "N")]
    pub attempts: u32,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Orient {
    /// Add what is asked of this task, and what its last try was told
    pub task: Option<TaskId>,
    /// Leave out what is oldest beyond this size
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub max_bytes: usize,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Journal {
    #[command(subcommand)]
    pub command: JournalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Add an entry for those who read later
    Add {
        text: String,
        /// The task it is about; its next prompts have it
        #[arg(long, value_name = "ID")]
        task: Option<TaskId>,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Guardrail {
    #[command(subcommand)]
    pub command: GuardrailCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuardrailCommand {
    /// Add one
    Add {
        text: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
    /// Take one out again
    Remove {
        /// Its text, or a part of it that no other has
        text: String,
        #[command(flatten)]
        by: By,
        #[command(flatten)]
        of: OfRun,
    },
    /// List them all
    List {
        #[command(flatten)]
        of: OfRun,
    },
    /// List those that have these words, the most fitting first
    Search {
        query: String,
        #[command(flatten)]
        of: OfRun,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ops {
    /// The system whose recipes are shown [default: that of the current run]
    #[arg(long, value_enum)]
    pub dialect: Option<DialectArg>,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}
