//! What can be typed.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};
use piton_core::plan::{Dialect, Domain, GroupId, Sandbox, Schedule, TaskId};

mod cost;
mod ledger;
mod runs;
mod talk;

pub(crate) use cost::{Cost, CostBy, Unpark};
pub(crate) use ledger::{
    Add, Answer, Batch, By, Confirm, Gate, GateSaid, Guardrail, GuardrailCommand, Journal, JournalCommand,
    Next, Ops, Orient, Phase, Raise, Report, Reported, Skip, Start, Stop, Unblock,
};
pub(crate) use runs::{Close, Runs};
pub(crate) use talk::{Client, Hook, HookAt, Init, Mcp, Prompt};

#[derive(Debug, Parser)]
#[command(
    name = "piton",
    version,
    about = "Run a plan of many tasks with coding agents and never lose ground",
    long_about = "Run a plan of many tasks with coding agents and never lose ground.\n\n\
        Each task is worked on in a git worktree of its own, proven by checks that Piton runs itself, retried with \
        feedback, and landed through a merge queue. Kill anything at any moment and start again: the run goes on.",
    after_help = "Exit codes: 0 complete · 1 error · 2 usage · 3 stopped, can go on · 4 ended with unfinished work\n\
        Try `piton demo` first.",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole thing in a scratch repository
    Demo(Demo),
    /// Write a commented starter plan
    New(New),
    /// Read and check a plan: problems, layers, batches, critical path
    Plan(Plan),
    /// Start the run of a plan, or go on with it
    #[command(visible_alias = "execute")]
    Run(Box<Run>),
    /// Show where a run stands
    Status(Status),
    /// List the runs of this project
    Runs(Runs),
    /// Close a run that nobody wants any more; nothing of it is removed
    Close(Close),
    /// Tell why a task is where it is, and what would help
    Why(OfTask),
    /// Show what happened
    Log(Log),
    /// Show what a task's agent or checks printed
    Output(Output),
    /// Show what a task has changed
    Diff(OfTask),
    /// Add a task to a plan, and to its run
    Add(Add),
    /// Name the tasks to work on next
    Next(Next),
    /// Take a task, to work on it yourself
    Start(Start),
    /// Report on a task: its checks decide whether it is done
    Report(Box<Report>),
    /// Confirm what somebody else called done: nothing was left to do
    Confirm(Confirm),
    /// Ask the engine to stop: nothing new begins, what runs is finished
    Stop(Stop),
    /// Try a failed, abandoned or blocked task again
    Retry(OfTask),
    /// Count a task's attempts anew; its worktree and what is in it stay
    Reset(OfTask),
    /// Go on without a task
    Skip(Skip),
    /// Answer what a task asked: the next try is told, and a task that has stopped goes on
    Answer(Answer),
    /// Release a task that needed a person
    Unblock(Unblock),
    /// Allow a task more attempts
    Raise(Raise),
    /// Let agents of a provider start again, if it answers a test question
    Unpark(Unpark),
    /// Show what agents have used: tokens, money and time
    Cost(Cost),
    /// Take over a run that another system left half-done, judging each task by git
    Import(Import),
    /// Write a run in another system's form, and tell what does not fit
    Export(Export),
    /// Compare journal, git and disk, and explain what disagrees
    Doctor(Doctor),
    /// Remove what finished runs left behind
    Clean(Clean),
    /// Put plans away that are finished
    Archive(Archive),
    /// Content that was put aside before a worktree went
    Rescue(Rescue),
    /// List the clients that can do the work, or try one out
    Agents(Agents),
    /// Print a JSON Schema
    Schema(Schema),
    /// See whether a file is there, is not empty and holds each of these, as checks of plans ask
    #[command(hide = true)]
    Look { file: Utf8PathBuf, holds: Vec<String> },
    /// Act out a script, as the agent of the demo and the tests
    #[command(hide = true)]
    ScriptedAgent { script: Utf8PathBuf },

    /// Run a task's checks now; nothing in the run changes
    Verify(OfTask),
    /// Tell what somebody who begins to work has to know of the run, and of a task
    Orient(Orient),
    /// Sum up how far the run is
    Progress(OfRun),
    /// Write into the run's journal
    Journal(Journal),
    /// Rules that everybody who works on the run has to heed
    Guardrail(Guardrail),
    /// List what has landed, what is landing and what waits for it, in order
    Queue(OfRun),
    /// See whether the run as a whole is complete, and what is missing
    Complete(OfRun),
    /// Show how the project's own description was updated with the run's results
    Context(OfRun),
    /// List the gates of a todolist's run, or say what one came to
    Gate(Gate),
    /// List the batches of a todolist's run
    Batch(Batch),
    /// Tell where a todolist's run goes on
    ResumePoint(OfRun),
    /// Tell the phase that iterative work is in, or say it where only a person can know
    Phase(Phase),
    /// List the operations of the ledger, each with the recipe it replaces
    Ops(Ops),
    /// Serve the operations of the ledger as MCP tools, over standard input and output
    Mcp(Mcp),
    /// Print exactly what an agent would be told that began to work on a task now
    Prompt(Prompt),
    /// Let an interactive client keep the ledger with Piton: skill, hook and MCP entry
    Init(Init),
    /// Answer a client's hook
    #[command(hide = true)]
    Hook(Hook),
}

/// Which run is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Which {
    /// The run, or an unambiguous beginning of its id [default: the newest unfinished one here]
    #[arg(long = "run", value_name = "RUN", env = "PITON_RUN")]
    pub run: Option<String>,
    /// The newest run of this plan
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<Utf8PathBuf>,
    /// The project [default: the one around this folder, or around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Ask an agent one harmless question, in a temporary folder
    Test {
        /// A name in `[agents]` of piton.toml, or of a client
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The variant in which a task has to be abandoned
    #[arg(long)]
    pub sad: bool,
    /// Where to make the scratch repository [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub loudness: Loudness,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The plan's name, after the system it is for: `piton new NAME` writes NAME.toml, `piton new execute NAME` a
    /// folder docs/tasks/NAME, or NAME itself if it is a path, `piton new issue NUMBER SLUG` a folder
    /// .claude/plans/issue-NUMBER-SLUG, `piton new iterative NAME` a folder .claude/iterative/NAME
    #[arg(value_name = "[SYSTEM] NAME", num_args = 1..=3, required = true)]
    pub words: Vec<String>,
    /// For `iterative`: something to be read instead of code
    #[arg(long, value_name = "DOMAIN")]
    pub knowledge: Option<DomainArg>,
    /// Replace a file that exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DomainArg {
    Research,
    Writing,
    Analysis,
    Planning,
}

impl From<DomainArg> for Domain {
    fn from(arg: DomainArg) -> Domain {
        match arg {
            DomainArg::Research => Domain::Research,
            DomainArg::Writing => Domain::Writing,
            DomainArg::Analysis => Domain::Analysis,
            DomainArg::Planning => Domain::Planning,
        }
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Plan {
    /// The plan's file, its folder, or the number or slug that it goes by
    pub plan: Utf8PathBuf,
    /// The system the plan is of [default: as its files tell]
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: Option<DialectArg>,
    /// Refuse what would be repaired or let pass with a warning
    #[arg(long)]
    pub strict: bool,
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are
    #[arg(long)]
    pub all: bool,
    /// Write signs that were decoded wrongly, like `âœ…`, as they were meant; what was there is kept beside it
    #[arg(long)]
    pub fix_encoding: bool,
}

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Run {
    /// The plan's file, its folder, or the number or slug that it goes by [default: that of the only unfinished run]
    pub plan: Option<Utf8PathBuf>,
    /// The system the plan is of [default: as its files tell]
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: Option<DialectArg>,
    /// Refuse what would be repaired or let pass with a warning
    #[arg(long)]
    pub strict: bool,
    /// The project [default: the repository around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Where worktrees are made [default: ../.worktrees/PROJECT beside the project]
    #[arg(long, value_name = "DIR", env = "PITON_WORKTREE_DIR")]
    pub worktree_dir: Option<Utf8PathBuf>,
    /// How many tasks at once [default: the plan's, else 3]
    #[arg(long, value_name = "N", env = "PITON_MAX_PARALLEL", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub max_parallel: Option<u32>,
    /// Work on this layer only
    #[arg(long, value_name = "NAME", conflicts_with_all = ["start_layer", "task"])]
    pub layer: Option<GroupId>,
    /// Work on this layer and those after it
    #[arg(long, value_name = "NAME", conflicts_with = "task")]
    pub start_layer: Option<GroupId>,
    /// Work on this task only; what it depends on must be done
    #[arg(long, value_name = "ID")]
    pub task: Option<TaskId>,
    /// Go on with a run that exists, or fail
    #[arg(long)]
    pub resume: bool,
    /// Begin a new run; the old one stays in the journal, its worktrees where they are
    #[arg(long, conflicts_with_all = ["resume", "reset_task", "run", "replan"])]
    pub reset: bool,
    /// Start this task over first
    #[arg(long, value_name = "ID")]
    pub reset_task: Vec<TaskId>,
    /// Adopt the plan as it is now, task by task
    #[arg(long)]
    pub replan: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not wait for the end of a usage limit: stop there (exit status 3), to go on later
    #[arg(long)]
    pub no_wait: bool,
    /// Work in place, one task at a time: no worktree, branch or commit
    #[arg(long, conflicts_with_all = ["worktree_dir", "onto", "base_branch", "commit_prefix", "author"])]
    pub no_commits: bool,
    /// Put before `[ID]` in commit subjects
    #[arg(long, value_name = "TEXT")]
    pub commit_prefix: Option<String>,
    /// Author of Piton's commits
    #[arg(long, value_name = "NAME <EMAIL>")]
    pub author: Option<String>,
    /// The branch to start from and land on [default: the current one]
    #[arg(long, value_name = "BRANCH")]
    pub base_branch: Option<String>,
    /// Land on this branch instead; it is made if it does not exist
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// Let agents decide what they would ask, unless it destroys something
    #[arg(long)]
    pub auto_answer: bool,
    /// Send the pull request, or the comment and the label, of an issue with `gh`
    #[arg(long)]
    pub gh: bool,
    /// The order in which tasks may start [default: the plan's, else layered]
    #[arg(long, value_enum)]
    pub schedule: Option<ScheduleArg>,
    /// The agent for every task
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Keep agents from writing outside of their worktree [default: PITON_SANDBOX, `[sandbox]`, else auto]
    #[arg(long, value_name = "MODE")]
    pub sandbox: Option<SandboxArg>,
    /// The run to go on with
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub loudness: Loudness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// Where the system can
    Auto,
    /// Or do not start them
    On,
    /// Let them write what you may
    Off,
}

impl From<SandboxArg> for Sandbox {
    fn from(arg: SandboxArg) -> Sandbox {
        match arg {
            SandboxArg::Auto => Sandbox::Auto,
            SandboxArg::On => Sandbox::On,
            SandboxArg::Off => Sandbox::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// plan.toml
    Native,
    /// manifest.json, layer_plan.json and an XML file for each task
    Execute,
    /// An issue's folder with tasks.md, or plan.md
    Issue,
    /// A todolist with stories and tags, of rw-kit
    Rwkit,
    /// A folder with brief.md and tasks.md, or plan.md, worked on in iterations
    Iterative,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Dialect {
        match arg {
            DialectArg::Native => Dialect::Native,
            DialectArg::Execute => Dialect::Execute,
            DialectArg::Issue => Dialect::Issue,
            DialectArg::Rwkit => Dialect::Rwkit,
            DialectArg::Iterative => Dialect::Iterative,
        }
    }
}

/// How much is said while something runs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Loudness {
    /// Say everything
    #[arg(long, short, conflicts_with_all = ["quiet", "json"])]
    pub verbose: bool,
    /// Say only what went wrong, and the end
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
    /// One JSON object per event
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScheduleArg {
    /// Layers in order; a freed slot is filled at once
    Layered,
    /// Besides, a barrier after each dependency level
    Batch,
    /// Each task as soon as its dependencies have landed
    Flow,
}

impl From<ScheduleArg> for Schedule {
    fn from(arg: ScheduleArg) -> Schedule {
        match arg {
            ScheduleArg::Layered => Schedule::Layered,
            ScheduleArg::Batch => Schedule::Batch,
            ScheduleArg::Flow => Schedule::Flow,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// A task, or a plan's file [default: the whole run]
    pub what: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfTask {
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Only what concerns this task
    pub task: Option<TaskId>,
    #[command(flatten)]
    pub which: Which,
    /// Go on as things happen
    #[arg(long, short)]
    pub follow: bool,
    /// One JSON object per event
    #[arg(long)]
    pub json: bool,
    /// Show everything, also what is rarely wanted
    #[arg(long, short)]
    pub verbose: bool,
    /// Only the last N
    #[arg(long, short = 'n', value_name = "N")]
    pub last: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
    /// Go on as it grows
    #[arg(long, short)]
    pub follow: bool,
    /// The checks' output instead of the agent's
    #[arg(long)]
    pub checks: bool,
    /// Of this attempt [default: the last]
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Name what there is
    #[arg(long)]
    pub list: bool,
    /// As it was written, control characters and all
    #[arg(long)]
    pub raw: bool,
    /// One JSON object for each thing that happened, in words that all clients share
    #[arg(long, conflicts_with_all = ["raw", "list"])]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The plan's folder, or the state file in it
    pub plan: Utf8PathBuf,
    /// The project [default: where the plan says, else the repository around it]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// The branch that work landed on [default: the current one]
    #[arg(long, value_name = "BRANCH")]
    pub base_branch: Option<String>,
    /// Also where the plan has a run already: a new one is made
    #[arg(long)]
    pub reset: bool,
    /// Tell what would be believed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The run, or an unambiguous beginning of its id [default: the newest unfinished one here]
    #[arg(value_name = "RUN", conflicts_with = "run")]
    pub id: Option<String>,
    /// The system whose form it gets
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: DialectArg,
    /// Where to write; files that are there stay [default: the project, or docs/tasks/NAME in it for execute]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Archive {
    /// Plans of issues by folder or number, of the iterative system by folder or slug [default: all that are finished]
    pub plans: Vec<Utf8PathBuf>,
    /// Take folders of the iterative system away instead; what is in them is kept under a rescue ref
    #[arg(long, requires = "plans")]
    pub remove: bool,
    /// Do it without being asked again
    #[arg(long, requires = "remove")]
    pub yes: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Only say what would be moved
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Put right what can be put right without deleting anything
    #[arg(long)]
    pub repair: bool,
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also worktrees of runs that are not finished; their content goes to a rescue ref first
    #[arg(long)]
    pub unfinished: bool,
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rescue {
    #[command(subcommand)]
    pub command: RescueCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RescueCommand {
    /// List what was put aside
    List {
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
        #[arg(long)]
        json: bool,
    },
    /// Show one
    Show {
        /// As `rescue list` names it
        name: String,
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
    },
    /// Bring one back, as a branch or into an empty folder
    Restore {
        /// As `rescue list` names it
        name: String,
        /// A new branch for it
        #[arg(long, value_name = "NAME", required_unless_present = "into")]
        branch: Option<String>,
        /// An empty or new folder for its files
        #[arg(long, value_name = "DIR", conflicts_with = "branch")]
        into: Option<Utf8PathBuf>,
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    pub name: SchemaName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaName {
    /// plan.toml
    Plan,
    /// piton.toml
    Config,
    /// execute-state.json
    ExecuteState,
    /// execution-state.json
    ExecutionState,
    /// rw-kit.state.json
    #[value(name = "rw-kit-state")]
    RwKitState,
    /// state.json
    IterativeState,
}

#[derive(Debug, Args)]
pub(crate) struct OfRun {
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

impl Run {
    /// `piton run PLAN` without any flag.
    pub(crate) fn of_plan(plan: Utf8PathBuf, loudness: Loudness) -> Run {
        Run {
            plan: Some(plan),
            dialect: None,
            strict: false,
            project_path: None,
            worktree_dir: None,
            max_parallel: None,
            layer: None,
            start_layer: None,
            task: None,
            resume: false,
            reset: false,
            reset_task: Vec::new(),
            replan: false,
            dry_run: false,
            no_wait: false,
            no_commits: false,
            commit_prefix: None,
            author: None,
            base_branch: None,
            onto: None,
            auto_answer: false,
            gh: false,
            schedule: None,
            agent: None,
            sandbox: None,
            run: None,
            loudness,
        }
    }
}
