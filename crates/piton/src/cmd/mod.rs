//! The commands, in groups. The arguments of each command stand next to its code.

mod deferred;
#[cfg(test)]
mod documented;
pub(crate) mod help;
pub(crate) mod integrate;
pub(crate) mod ledger;
pub(crate) mod mistyped;
pub(crate) mod plan;
pub(crate) mod repair;
pub(crate) mod run;
pub(crate) mod steer;
pub(crate) mod system;
pub(crate) mod watch;

use camino::Utf8PathBuf;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::args::{OfRun, OfTask};
use crate::cmd::deferred::Deferred;
use crate::cmd::help::HelpArgs;
use crate::cmd::integrate::agents::AgentsArgs;
use crate::cmd::integrate::completions::CompletionsArgs;
use crate::cmd::integrate::export::ExportArgs;
use crate::cmd::integrate::hook::HookArgs;
use crate::cmd::integrate::import::ImportArgs;
use crate::cmd::integrate::init::InitArgs;
use crate::cmd::integrate::man::ManArgs;
use crate::cmd::integrate::mcp::McpArgs;
use crate::cmd::integrate::ops::OpsArgs;
use crate::cmd::integrate::prompt::PromptArgs;
use crate::cmd::integrate::schema::SchemaArgs;
use crate::cmd::ledger::notes::{GuardrailArgs, JournalArgs};
use crate::cmd::ledger::orient::OrientArgs;
use crate::cmd::ledger::report::{ConfirmArgs, NextArgs, StartArgs};
use crate::cmd::plan::PlanArgs;
use crate::cmd::plan::new::NewArgs;
use crate::cmd::plan::rehearse::RehearseArgs;
use crate::cmd::repair::archive::ArchiveArgs;
use crate::cmd::repair::clean::CleanArgs;
use crate::cmd::repair::doctor::DoctorArgs;
use crate::cmd::repair::rescue::RescueArgs;
use crate::cmd::run::demo::DemoArgs;
use crate::cmd::steer::add::AddArgs;
use crate::cmd::steer::close::CloseArgs;
use crate::cmd::steer::overrides::{AnswerArgs, RaiseArgs, SkipArgs, StopArgs, UnblockArgs, UnparkArgs};
use crate::cmd::steer::review::ReviewArgs;
use crate::cmd::system::phase::PhaseArgs;
use crate::cmd::system::phases::{BatchArgs, GateArgs};
use crate::cmd::watch::checks::ChecksArgs;
use crate::cmd::watch::cost::CostArgs;
use crate::cmd::watch::graph::GraphArgs;
use crate::cmd::watch::inbox::InboxArgs;
use crate::cmd::watch::live::WatchArgs;
use crate::cmd::watch::log::LogArgs;
use crate::cmd::watch::output::OutputArgs;
use crate::cmd::watch::runs::RunsArgs;
use crate::cmd::watch::serve::ServeArgs;
use crate::cmd::watch::status::StatusArgs;
use crate::cmd::watch::summary::SummaryArgs;
use crate::cmd::watch::timeline::TimelineArgs;
use crate::failure::{Exit, Outcome};
use crate::notify::watchdog;
use crate::runs::flags::RunArgs;
use crate::runs::report::ReportArgs;

#[derive(Debug, Parser)]
#[command(
    name = "piton",
    version,
    about = "Run a plan of many tasks with coding agents and never lose ground",
    help_template = help::screen(),
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Where the journal is: postgres://USER@HOST/DATABASE, or `here` [default: as piton.toml says, else where the runs of
    /// this checkout are]
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "PITON_JOURNAL",
        hide_env_values = true,
        hide_short_help = true,
        help_heading = "Which run"
    )]
    pub journal: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Each of them can be typed without `system`, too.")]
pub(crate) struct SystemArgs {
    #[command(subcommand)]
    pub command: SystemCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SystemCommand {
    /// Todolists: list the gates of the run, or report the result of one
    Gate(GateArgs),
    /// Todolists: list the batches of the run
    Batch(BatchArgs),
    /// Todolists: show where the run resumes
    ResumePoint(OfRun),
    /// Iterative work: show the phase, or set it where only a person can know
    Phase(PhaseArgs),
    /// Execute: show how the project's own description was updated with the run's results
    Context(OfRun),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch scripted agents work on a plan in a scratch repository
    Demo(Deferred<DemoArgs>),
    /// Write a plan to begin with, or make one of a list
    New(Deferred<NewArgs>),
    /// Check a plan: problems, layers, batches, critical path
    #[command(visible_alias = "validate")]
    Plan(Deferred<PlanArgs>),
    /// Try everything but the agents in a scratch clone: checks on the base, hooks, order, landing
    Rehearse(Deferred<RehearseArgs>),
    /// Run a plan, or resume its run
    #[command(visible_aliases = ["resume", "execute"])]
    Run(Deferred<Box<RunArgs>>),
    /// Show where a run stands
    #[command(visible_alias = "ps")]
    Status(Deferred<StatusArgs>),
    /// Watch a run on the whole screen, and steer it from there
    Watch(Deferred<WatchArgs>),
    /// List the runs of this project
    #[command(visible_alias = "ls")]
    Runs(Deferred<RunsArgs>),
    /// Close a run that is no longer wanted; nothing is removed
    Close(Deferred<CloseArgs>),
    /// List what waits for you, over all runs of this project
    Inbox(Deferred<InboxArgs>),
    /// Show the runs of this project on a page in a browser
    Serve(Deferred<ServeArgs>),
    /// Explain why a task is where it is, and what would help
    Why(Deferred<OfTask>),
    /// Show everything about a task on one page
    Show(Deferred<OfTask>),
    /// Show what happened
    #[command(visible_alias = "logs")]
    Log(Deferred<LogArgs>),
    /// Show where the time of a run went, and what decided when it ended
    Timeline(Deferred<TimelineArgs>),
    /// Sum up a run, as text or as a file to give away
    Summary(Deferred<SummaryArgs>),
    /// Draw the plan as a graph, with where each task stands
    Graph(Deferred<GraphArgs>),
    /// Show what a task's agent or checks printed
    Output(Deferred<OutputArgs>),
    /// Show what a task has changed
    Diff(Deferred<OfTask>),
    /// Add a task to a plan, and to its run
    Add(Deferred<AddArgs>),
    /// List the tasks to work on next
    Next(Deferred<NextArgs>),
    /// Take a task, to work on it yourself
    Start(Deferred<StartArgs>),
    /// Report on a task: its checks decide whether it is done
    Report(Deferred<Box<ReportArgs>>),
    /// Confirm that nothing was left to do on a task reported as done
    Confirm(Deferred<ConfirmArgs>),
    /// Stop the engine: running tasks finish, no new ones start
    Stop(Deferred<StopArgs>),
    /// Retry a failed, abandoned or blocked task
    Retry(Deferred<OfTask>),
    /// Reset a task's attempts; its worktree stays as it is
    Reset(Deferred<OfTask>),
    /// Continue without a task
    Skip(Deferred<SkipArgs>),
    /// Answer a task's question for its next attempt; a task that stopped continues
    Answer(Deferred<AnswerArgs>),
    /// Comment on lines of a task's work, for its next attempt
    Review(Deferred<ReviewArgs>),
    /// Release a task that needed a person
    Unblock(Deferred<UnblockArgs>),
    /// Allow a task more attempts
    Raise(Deferred<RaiseArgs>),
    /// Let a provider's agents start again, if it answers a test question
    Unpark(Deferred<UnparkArgs>),
    /// Show how often each check has run, passed and flaked
    Checks(Deferred<ChecksArgs>),
    /// Show what agents have used: tokens, money and time
    Cost(Deferred<CostArgs>),
    /// Take over another system's unfinished run: git decides what is done
    Import(Deferred<ImportArgs>),
    /// Write a run in another system's format, and report what does not fit
    Export(Deferred<ExportArgs>),
    /// Compare journal, git and disk, and explain what disagrees
    Doctor(Deferred<DoctorArgs>),
    /// Remove what finished runs left behind
    Clean(Deferred<CleanArgs>),
    /// Archive finished plans
    Archive(Deferred<ArchiveArgs>),
    /// List and restore content that was saved before a worktree was removed
    Rescue(RescueArgs),
    /// List the clients that can do the work, or test one
    Agents(AgentsArgs),
    /// Print the script by which a shell completes commands and ids
    Completions(Deferred<CompletionsArgs>),
    /// Write the manual pages to a folder
    #[command(hide = true)]
    Man(Deferred<ManArgs>),
    /// Print a JSON Schema
    Schema(Deferred<SchemaArgs>),
    /// Check that a file exists, is not empty and contains each of these texts, for checks of plans
    #[command(hide = true)]
    Look { file: Utf8PathBuf, holds: Vec<String> },
    /// Act out a script, as the agent of the demo and the tests
    #[command(hide = true)]
    ScriptedAgent { script: Utf8PathBuf },
    /// Notify a person when the engine that started this has died
    #[command(hide = true)]
    Watchdog,

    /// Run a task's checks now; the run does not change
    Verify(Deferred<OfTask>),
    /// Print what you need to know before you work on the run, or on a task
    Orient(Deferred<OrientArgs>),
    /// Summarize how far the run is
    Progress(Deferred<OfRun>),
    /// Add entries to the run's journal, or keep it in another place
    Journal(JournalArgs),
    /// Manage the rules that everyone who works on the run follows
    Guardrail(GuardrailArgs),
    /// List what has landed, what is landing and what waits to land
    Queue(Deferred<OfRun>),
    /// Check whether the whole run is complete, and what is missing
    Complete(Deferred<OfRun>),
    // As `piton system` has them: scripts use these spellings.
    /// Show how the project's own description was updated with the run's results
    #[command(hide = true)]
    Context(Deferred<OfRun>),
    /// List the gates of a todolist's run, or report the result of one
    #[command(hide = true)]
    Gate(Deferred<GateArgs>),
    /// List the batches of a todolist's run
    #[command(hide = true)]
    Batch(Deferred<BatchArgs>),
    /// Show where a todolist's run resumes
    #[command(hide = true)]
    ResumePoint(Deferred<OfRun>),
    /// Show the phase of iterative work, or set it where only a person can know
    #[command(hide = true)]
    Phase(Deferred<PhaseArgs>),
    /// List the operations of the ledger, each with the recipe it replaces
    Ops(Deferred<OpsArgs>),
    /// Serve the operations of the ledger as MCP tools, over stdin and stdout
    Mcp(Deferred<McpArgs>),
    /// Print the exact prompt that an agent would get if it started on a task now
    Prompt(Deferred<PromptArgs>),
    /// Find checks, agents and plans, and write piton.toml; or set up a client
    Init(Deferred<InitArgs>),
    /// Answer a client's hook
    #[command(hide = true)]
    Hook(Deferred<HookArgs>),
    /// Commands for plans of one system: gates, batches, phases
    System(SystemArgs),
    /// List all commands, or explain one
    Help(Deferred<HelpArgs>),
}

pub(crate) fn dispatch(command: &Command) -> Outcome<u8> {
    match command {
        Command::Demo(args) => run::demo::demo(args, run::run),
        Command::New(args) => plan::new::new(args),
        Command::Plan(args) => plan::plan(args),
        Command::Rehearse(args) => plan::rehearse::rehearse(args),
        Command::Run(args) => run::run(args),
        Command::Status(args) => watch::status::status(args),
        Command::Watch(args) => watch::live::watch(args),
        Command::Runs(args) => watch::runs::runs(args),
        Command::Close(args) => steer::close::close(args),
        Command::Inbox(args) => watch::inbox::inbox(args),
        Command::Serve(args) => watch::serve::serve(args),
        Command::Why(args) => watch::why::why(args),
        Command::Show(args) => watch::show::show(args),
        Command::Log(args) => watch::log::log(args),
        Command::Timeline(args) => watch::timeline::timeline(args),
        Command::Summary(args) => watch::summary::summary(args),
        Command::Graph(args) => watch::graph::graph(args),
        Command::Output(args) => watch::output::output(args),
        Command::Diff(args) => watch::output::diff(args),
        Command::Add(args) => steer::add::add(args),
        Command::Next(args) => ledger::report::next(args),
        Command::Start(args) => ledger::report::start(args),
        Command::Report(args) => ledger::report::report(args),
        Command::Confirm(args) => ledger::report::confirm(args),
        Command::Stop(args) => steer::overrides::stop(args),
        Command::Retry(args) => steer::overrides::retry(args),
        Command::Reset(args) => steer::overrides::reset(args),
        Command::Skip(args) => steer::overrides::skip(args),
        Command::Answer(args) => steer::overrides::answer(args),
        Command::Review(args) => steer::review::review(args),
        Command::Unblock(args) => steer::overrides::unblock(args),
        Command::Raise(args) => steer::overrides::raise(args),
        Command::Unpark(args) => steer::overrides::unpark(args),
        Command::Checks(args) => watch::checks::checks(args),
        Command::Cost(args) => watch::cost::cost(args),
        Command::Import(args) => integrate::import::import(args),
        Command::Export(args) => integrate::export::export(args),
        Command::Doctor(args) => repair::doctor::doctor(args),
        Command::Clean(args) => repair::clean::clean(args),
        Command::Archive(args) => repair::archive::archive(args),
        Command::Rescue(args) => repair::rescue::rescue(&args.command),
        Command::Agents(args) => integrate::agents::agents(args),
        Command::Completions(args) => integrate::completions::completions(args),
        Command::Man(args) => integrate::man::man(args, Cli::command()),
        Command::Schema(args) => integrate::schema::schema(args),
        Command::Look { file, holds } => integrate::look::look(file, holds),
        Command::ScriptedAgent { script } => integrate::scripted::act(script),
        Command::Watchdog => watchdog::watch(),

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
        Command::Phase(args) => system::phase::phase(args),
        Command::Ops(args) => integrate::ops::ops(args),
        Command::Mcp(args) => integrate::mcp::mcp(args),
        Command::Prompt(args) => integrate::prompt::prompt(args),
        Command::Init(args) => integrate::init::init(args),
        Command::Hook(args) => Ok(integrate::hook::hook(args)),
        Command::System(args) => system(&args.command),
        Command::Help(args) => help::help(args, Cli::command()),
    }
}

fn system(command: &SystemCommand) -> Outcome<Exit> {
    match command {
        SystemCommand::Gate(args) => system::phases::gate(args),
        SystemCommand::Batch(args) => system::phases::batch(args),
        SystemCommand::ResumePoint(args) => system::phases::resume_point(args),
        SystemCommand::Phase(args) => system::phase::phase(args),
        SystemCommand::Context(args) => watch::overview::context(args),
    }
}
