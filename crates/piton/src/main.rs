//! Let people and programs see and steer: the command line.

mod args;
mod cmd;
mod failure;
mod find;
mod gone;
mod picture;
mod preflight;
mod progress;
mod reading;
mod refusals;
mod same_plan;
mod siblings;
mod ui;

use std::process::ExitCode;

use args::{Cli, Command, HookAt, SchemaName};
use clap::Parser;
use failure::Outcome;
use piton_core::system::{execute, issue, iterative, native, rwkit};

fn main() -> ExitCode {
    // A keeper is this binary in a small mode of its own: no thread, no arguments parsed, little memory.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "keeper") {
        let rest: Vec<_> = words.collect();
        return match piton_engine::keeper::enter(&rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                ui::say(error.to_string());
                ExitCode::FAILURE
            }
        };
    }
    let cli = Cli::parse();
    match dispatch(&cli.command) {
        Ok(exit) => ExitCode::from(exit),
        Err(failure) => {
            ui::fail(&failure);
            ExitCode::from(failure.exit)
        }
    }
}

fn dispatch(command: &Command) -> Outcome<u8> {
    match command {
        Command::Demo(args) => cmd::demo::demo(args),
        Command::New(args) => cmd::plan::new(args),
        Command::Plan(args) => cmd::plan::plan(args),
        Command::Run(args) => cmd::run::run(args),
        Command::Status(args) => cmd::status::status(args),
        Command::Runs(args) => cmd::runs::runs(args),
        Command::Close(args) => cmd::runs::close(args),
        Command::Why(args) => cmd::why::why(args),
        Command::Log(args) => cmd::log::log(args),
        Command::Output(args) => cmd::output::output(args),
        Command::Diff(args) => cmd::output::diff(args),
        Command::Add(args) => cmd::add::add(args),
        Command::Next(args) => cmd::ledger::next(args),
        Command::Start(args) => cmd::ledger::start(args),
        Command::Report(args) => cmd::ledger::report(args),
        Command::Confirm(args) => cmd::ledger::confirm(args),
        Command::Stop(args) => cmd::people::stop(args),
        Command::Retry(args) => cmd::people::retry(args),
        Command::Reset(args) => cmd::people::reset(args),
        Command::Skip(args) => cmd::people::skip(args),
        Command::Answer(args) => cmd::people::answer(args),
        Command::Unblock(args) => cmd::people::unblock(args),
        Command::Raise(args) => cmd::people::raise(args),
        Command::Unpark(args) => cmd::people::unpark(args),
        Command::Cost(args) => cmd::cost::cost(args),
        Command::Import(args) => cmd::import::import(args),
        Command::Export(args) => cmd::export::export(args),
        Command::Doctor(args) => cmd::doctor::doctor(args),
        Command::Clean(args) => cmd::clean::clean(args),
        Command::Archive(args) => cmd::archive::archive(args),
        Command::Rescue(args) => cmd::rescue::rescue(&args.command),
        Command::Agents(args) => cmd::agents::agents(args),
        Command::Schema(args) => {
            ui::answer_json(&match args.name {
                SchemaName::Plan => native::schema(),
                SchemaName::Config => native::config_schema(),
                SchemaName::ExecuteState => execute::state::schema(),
                SchemaName::ExecutionState => issue::state::schema(),
                SchemaName::RwKitState => rwkit::state::schema(),
                SchemaName::IterativeState => iterative::state::schema(),
            });
            Ok(cmd::FINE)
        }
        Command::Look { file, holds } => cmd::look::look(file, holds),
        Command::ScriptedAgent { script } => cmd::scripted::act(script),

        Command::Verify(args) => cmd::ledger::verify(args),
        Command::Orient(args) => cmd::orient::orient(args),
        Command::Progress(args) => cmd::overview::progress(args),
        Command::Journal(args) => cmd::notes::journal(&args.command),
        Command::Guardrail(args) => cmd::notes::guardrail(&args.command),
        Command::Queue(args) => cmd::overview::queue(args),
        Command::Complete(args) => cmd::overview::complete(args),
        Command::Context(args) => cmd::overview::context(args),
        Command::Gate(args) => cmd::phases::gate(args),
        Command::Batch(args) => cmd::phases::batch(args),
        Command::ResumePoint(args) => cmd::phases::resume_point(args),
        Command::Phase(args) => cmd::iterative::phase(args),
        Command::Ops(args) => cmd::ops::ops(args),
        Command::Mcp(args) => cmd::mcp::mcp(args),
        Command::Prompt(args) => cmd::prompt::prompt(args),
        Command::Init(args) => cmd::init::init(args),
        Command::Hook(args) => match args.at {
            HookAt::Stop => Ok(cmd::hook::hook(args)),
        },
    }
}
