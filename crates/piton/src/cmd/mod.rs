//! Each command in a group of its own, with what can be typed for it beside its code.

pub(crate) mod integrate;
pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod repair;
pub(crate) mod run;
pub(crate) mod steer;
pub(crate) mod system;
pub(crate) mod watch;

use camino::Utf8PathBuf;
use clap::{Parser, Subcommand};
use integrate::agents::AgentsArgs;
use integrate::export::ExportArgs;
use integrate::hook::HookArgs;
use integrate::import::ImportArgs;
use integrate::init::InitArgs;
use integrate::mcp::McpArgs;
use integrate::ops::OpsArgs;
use integrate::prompt::PromptArgs;
use integrate::schema::SchemaArgs;
use ledger::notes::{GuardrailArgs, JournalArgs};
use ledger::orient::OrientArgs;
use ledger::report::{ConfirmArgs, NextArgs, ReportArgs, StartArgs};
use plan::{NewArgs, PlanArgs};
use repair::archive::ArchiveArgs;
use repair::clean::CleanArgs;
use repair::doctor::DoctorArgs;
use repair::rescue::RescueArgs;
use run::demo::DemoArgs;
use steer::add::AddArgs;
use steer::people::{AnswerArgs, RaiseArgs, SkipArgs, StopArgs, UnblockArgs, UnparkArgs};
use system::iterative::PhaseArgs;
use system::phases::{BatchArgs, GateArgs};
use watch::cost::CostArgs;
use watch::log::LogArgs;
use watch::output::OutputArgs;
use watch::runs::{CloseArgs, RunsArgs};
use watch::status::StatusArgs;

use crate::args::{OfRun, OfTask};
use crate::failure::Outcome;
use crate::runs::flags::RunArgs;

/// How a command ends when nothing went wrong.
pub(crate) type Exit = u8;

pub(crate) const FINE: Exit = 0;

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
    Demo(DemoArgs),
    /// Write a commented starter plan
    New(NewArgs),
    /// Read and check a plan: problems, layers, batches, critical path
    Plan(PlanArgs),
    /// Start the run of a plan, or go on with it
    #[command(visible_alias = "execute")]
    Run(Box<RunArgs>),
    /// Show where a run stands
    Status(StatusArgs),
    /// List the runs of this project
    Runs(RunsArgs),
    /// Close a run that nobody wants any more; nothing of it is removed
    Close(CloseArgs),
    /// Tell why a task is where it is, and what would help
    Why(OfTask),
    /// Show what happened
    Log(LogArgs),
    /// Show what a task's agent or checks printed
    Output(OutputArgs),
    /// Show what a task has changed
    Diff(OfTask),
    /// Add a task to a plan, and to its run
    Add(AddArgs),
    /// Name the tasks to work on next
    Next(NextArgs),
    /// Take a task, to work on it yourself
    Start(StartArgs),
    /// Report on a task: its checks decide whether it is done
    Report(Box<ReportArgs>),
    /// Confirm what somebody else called done: nothing was left to do
    Confirm(ConfirmArgs),
    /// Ask the engine to stop: nothing new begins, what runs is finished
    Stop(StopArgs),
    /// Try a failed, abandoned or blocked task again
    Retry(OfTask),
    /// Count a task's attempts anew; its worktree and what is in it stay
    Reset(OfTask),
    /// Go on without a task
    Skip(SkipArgs),
    /// Answer what a task asked: the next try is told, and a task that has stopped goes on
    Answer(AnswerArgs),
    /// Release a task that needed a person
    Unblock(UnblockArgs),
    /// Allow a task more attempts
    Raise(RaiseArgs),
    /// Let agents of a provider start again, if it answers a test question
    Unpark(UnparkArgs),
    /// Show what agents have used: tokens, money and time
    Cost(CostArgs),
    /// Take over a run that another system left half-done, judging each task by git
    Import(ImportArgs),
    /// Write a run in another system's form, and tell what does not fit
    Export(ExportArgs),
    /// Compare journal, git and disk, and explain what disagrees
    Doctor(DoctorArgs),
    /// Remove what finished runs left behind
    Clean(CleanArgs),
    /// Put plans away that are finished
    Archive(ArchiveArgs),
    /// Content that was put aside before a worktree went
    Rescue(RescueArgs),
    /// List the clients that can do the work, or try one out
    Agents(AgentsArgs),
    /// Print a JSON Schema
    Schema(SchemaArgs),
    /// See whether a file is there, is not empty and holds each of these, as checks of plans ask
    #[command(hide = true)]
    Look { file: Utf8PathBuf, holds: Vec<String> },
    /// Act out a script, as the agent of the demo and the tests
    #[command(hide = true)]
    ScriptedAgent { script: Utf8PathBuf },

    /// Run a task's checks now; nothing in the run changes
    Verify(OfTask),
    /// Tell what somebody who begins to work has to know of the run, and of a task
    Orient(OrientArgs),
    /// Sum up how far the run is
    Progress(OfRun),
    /// Write into the run's journal
    Journal(JournalArgs),
    /// Rules that everybody who works on the run has to heed
    Guardrail(GuardrailArgs),
    /// List what has landed, what is landing and what waits for it, in order
    Queue(OfRun),
    /// See whether the run as a whole is complete, and what is missing
    Complete(OfRun),
    /// Show how the project's own description was updated with the run's results
    Context(OfRun),
    /// List the gates of a todolist's run, or say what one came to
    Gate(GateArgs),
    /// List the batches of a todolist's run
    Batch(BatchArgs),
    /// Tell where a todolist's run goes on
    ResumePoint(OfRun),
    /// Tell the phase that iterative work is in, or say it where only a person can know
    Phase(PhaseArgs),
    /// List the operations of the ledger, each with the recipe it replaces
    Ops(OpsArgs),
    /// Serve the operations of the ledger as MCP tools, over standard input and output
    Mcp(McpArgs),
    /// Print exactly what an agent would be told that began to work on a task now
    Prompt(PromptArgs),
    /// Let an interactive client keep the ledger with Piton: skill, hook and MCP entry
    Init(InitArgs),
    /// Answer a client's hook
    #[command(hide = true)]
    Hook(HookArgs),
}

pub(crate) fn dispatch(command: &Command) -> Outcome<u8> {
    match command {
        Command::Demo(args) => run::demo::demo(args),
        Command::New(args) => plan::new(args),
        Command::Plan(args) => plan::plan(args),
        Command::Run(args) => run::run(args),
        Command::Status(args) => watch::status::status(args),
        Command::Runs(args) => watch::runs::runs(args),
        Command::Close(args) => watch::runs::close(args),
        Command::Why(args) => watch::why::why(args),
        Command::Log(args) => watch::log::log(args),
        Command::Output(args) => watch::output::output(args),
        Command::Diff(args) => watch::output::diff(args),
        Command::Add(args) => steer::add::add(args),
        Command::Next(args) => ledger::report::next(args),
        Command::Start(args) => ledger::report::start(args),
        Command::Report(args) => ledger::report::report(args),
        Command::Confirm(args) => ledger::report::confirm(args),
        Command::Stop(args) => steer::people::stop(args),
        Command::Retry(args) => steer::people::retry(args),
        Command::Reset(args) => steer::people::reset(args),
        Command::Skip(args) => steer::people::skip(args),
        Command::Answer(args) => steer::people::answer(args),
        Command::Unblock(args) => steer::people::unblock(args),
        Command::Raise(args) => steer::people::raise(args),
        Command::Unpark(args) => steer::people::unpark(args),
        Command::Cost(args) => watch::cost::cost(args),
        Command::Import(args) => integrate::import::import(args),
        Command::Export(args) => integrate::export::export(args),
        Command::Doctor(args) => repair::doctor::doctor(args),
        Command::Clean(args) => repair::clean::clean(args),
        Command::Archive(args) => repair::archive::archive(args),
        Command::Rescue(args) => repair::rescue::rescue(&args.command),
        Command::Agents(args) => integrate::agents::agents(args),
        Command::Schema(args) => integrate::schema::schema(args),
        Command::Look { file, holds } => integrate::look::look(file, holds),
        Command::ScriptedAgent { script } => integrate::scripted::act(script),

        Command::Verify(args) => ledger::report::verify(args),
        Command::Orient(args) => ledger::orient::orient(args),
        Command::Progress(args) => watch::overview::progress(args),
        Command::Journal(args) => ledger::notes::journal(&args.command),
        Command::Guardrail(args) => ledger::notes::guardrail(&args.command),
        Command::Queue(args) => watch::overview::queue(args),
        Command::Complete(args) => watch::overview::complete(args),
        Command::Context(args) => watch::overview::context(args),
        Command::Gate(args) => system::phases::gate(args),
        Command::Batch(args) => system::phases::batch(args),
        Command::ResumePoint(args) => system::phases::resume_point(args),
        Command::Phase(args) => system::iterative::phase(args),
        Command::Ops(args) => integrate::ops::ops(args),
        Command::Mcp(args) => integrate::mcp::mcp(args),
        Command::Prompt(args) => integrate::prompt::prompt(args),
        Command::Init(args) => integrate::init::init(args),
        Command::Hook(args) => Ok(integrate::hook::hook(args)),
    }
}
