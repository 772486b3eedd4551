//! What a person may decide about a run: stop, retry, reset, skip, answer, unblock, raise, unpark.

use clap::Args;
use piton_core::plan::{Agent, TaskId};
use piton_core::prompt::LONGEST_ANSWER;
use piton_core::run::{Command, Event, Recorded, State, is_of, shell_word};
use piton_core::terminal::clean_text;
use piton_engine::drive::{self, LeftJob, Observer};

use crate::args::{OfTask, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{command, engine, lock, standing};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Also stop running tasks; the next `piton run` resumes them. What a killed engine left running is
    /// always stopped
    #[arg(long)]
    pub now: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkipArgs {
    /// The task's id
    pub task: TaskId,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The task's id
    pub task: TaskId,
    /// What the next agent of the task should do
    pub text: String,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnblockArgs {
    /// The task's id
    pub task: TaskId,
    /// Tell its next agent, as `piton answer` does
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub note: String,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RaiseArgs {
    /// The task's id
    pub task: TaskId,
    /// Attempts allowed in all
    #[arg(long, value_name = "N")]
    pub attempts: u32,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnparkArgs {
    /// The provider, as `piton status` names it
    pub provider: String,
    /// Ask no test question
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn stop(args: &StopArgs) -> Outcome<Exit> {
    let mut found = command::run(&args.which, None)?;
    if !found.project.is_led(&found.journal, &found.run) {
        return wind_up(found, args.json);
    }
    let events = found.command(&Command::RequestStop { by: command::you(), now: args.now })?;
    command::tell(&events, args.json);
    Ok(FINE)
}

/// End what a dead engine left running. No engine waits for those processes, so they are ended at once. The next engine
/// resumes their tasks.
fn wind_up(mut found: FoundRun, json: bool) -> Outcome<Exit> {
    let (project, run) = (found.project.clone(), found.run.clone());
    let left = drive::left_running(&project, &run);
    if left.is_empty() {
        let failure = Failure::new(format!(
            "no engine is working on the run {run}, and nothing that one has started is running"
        ));
        return Err(failure.hint("piton status"));
    }
    let names: Vec<String> = left.iter().map(LeftJob::describe).collect();
    ui::say(format!("the engine of the run {run} has ended; stopping what it left: {}", names.join(", ")));
    end_jobs(&mut found, &left, json)?;
    command::go_on(&found, json)
}

/// End these jobs of a dead engine, and record what became of them and of those that died with it.
pub(crate) fn end_jobs(found: &mut FoundRun, left: &[LeftJob], json: bool) -> Outcome {
    let lock = lock::take_lock(&found.project, &found.run)?;
    let engine = engine::to_wind_up(&found.project, &found.run, lock)?;
    let (_, inbox) = drive::channels();
    engine.wind_up(&command::you(), left, inbox, &mut Printer { json })?;
    if found.has_state_file()? {
        found.settle_file()?;
    }
    Ok(())
}

/// Tells what is written down when the jobs of a dead engine are ended.
struct Printer {
    json: bool,
}

impl Observer for Printer {
    fn event(&mut self, recorded: &Recorded, _: &State) {
        // That an engine begins, only to end them, is of no interest to a person.
        if self.json || !matches!(recorded.event, Event::EngineStarted { .. }) {
            command::tell(std::slice::from_ref(recorded), self.json);
        }
    }

    fn tick(&mut self, _: &State) {}
}

pub(crate) fn retry(args: &OfTask) -> Outcome<Exit> {
    let mut found = command::run(&args.which, Some(&args.task))?;
    // A retry cannot start while its provider is unavailable: say so.
    let facts = standing::facts(&found.journal, &found.run)?;
    let task = found.journal.task(&found.run, &args.task)?;
    let provider = task.map(|task| facts.provider(piton_core::run::worker(&facts, &task)).to_owned());
    if let Some(provider) = provider
        && let Some(kept) = kept_by(&found, &provider)?
    {
        match answers(&kept)? {
            Ok(()) => {
                command::tell(&found.command(&Command::Unpark { provider, by: command::you() })?, args.json);
            }
            Err(reason) => {
                ui::say(format!("{provider} does not accept agents yet: {}", ui::plain(&reason)));
            }
        }
    }
    let events = found.command(&Command::Retry { task: args.task.clone(), by: command::you() })?;
    command::tell(&events, args.json);
    command::go_on(&found, args.json)
}

/// Let agents of a provider start again, if one of them gets an answer.
pub(crate) fn unpark(args: &UnparkArgs) -> Outcome<Exit> {
    let mut found = command::run(&args.which, None)?;
    let provider = args.provider.clone();
    if !args.force {
        let Some(kept) = kept_by(&found, &provider)? else {
            let facts = standing::facts(&found.journal, &found.run)?;
            let out: Vec<&str> =
                facts.outages.keys().chain(facts.overloads.keys()).map(String::as_str).collect();
            let known =
                if out.is_empty() { "none is".to_owned() } else { format!("parked: {}", out.join(", ")) };
            return Err(
                Failure::new(format!("the provider {provider} is not parked; {known}")).hint("piton status")
            );
        };
        if let Err(reason) = answers(&kept)? {
            let failure =
                Failure::new(format!("{provider} still does not accept agents: {}", ui::plain(&reason)));
            return Err(failure.hint(format!("piton unpark {} --force", shell_word(&provider))));
        }
    }
    let events = found.command(&Command::Unpark { provider, by: command::you() })?;
    command::tell(&events, args.json);
    command::go_on(&found, args.json)
}

/// The agent that a parked provider kept from its work, by its name.
fn kept_by(found: &FoundRun, provider: &str) -> Outcome<Option<(String, Agent)>> {
    let mut facts = standing::facts(&found.journal, &found.run)?;
    piton_engine::secrets::restore(&mut facts.settings.agents);
    let outage = facts.outages.iter().find(|(name, _)| is_of(name, provider));
    let name = outage.map(|(_, outage)| &outage.agent);
    let name = name.or_else(|| facts.overloads.get(provider).map(|overload| &overload.agent));
    Ok(name.and_then(|name| Some((name.clone(), facts.settings.agents.get(name)?.clone()))))
}

/// Ask it a harmless question. The inner error is why that is not an answer.
fn answers((name, agent): &(String, Agent)) -> Outcome<Result<(), String>> {
    ui::say(format!("asking {}", ui::plain(name)));
    Ok(crate::clients::ask(agent)?.wrong.map_or(Ok(()), Err))
}

pub(crate) fn reset(args: &OfTask) -> Outcome<Exit> {
    command::say_of(
        &args.task,
        &args.which,
        args.json,
        &Command::Reset { task: args.task.clone(), by: command::you() },
    )
}

pub(crate) fn skip(args: &SkipArgs) -> Outcome<Exit> {
    let command = Command::Skip { task: args.task.clone(), by: command::you(), reason: args.reason.clone() };
    command::say_of(&args.task, &args.which, args.json, &command)
}

pub(crate) fn unblock(args: &UnblockArgs) -> Outcome<Exit> {
    let note = answer_of(&args.note)?;
    let command = Command::Unblock { task: args.task.clone(), by: command::you(), note };
    command::say_of(&args.task, &args.which, args.json, &command)
}

pub(crate) fn answer(args: &AnswerArgs) -> Outcome<Exit> {
    let mut found = command::run(&args.which, Some(&args.task))?;
    let by = command::caller()?;
    let command = Command::Answer { task: args.task.clone(), by, text: answer_of(&args.text)? };
    let events = found.command(&command)?;
    command::tell(&events, args.json);
    if events.is_empty() {
        ui::say(format!("{} already has this answer", args.task));
    }
    ui::say(format!("piton prompt {}   prints the prompt of the next try", args.task));
    command::go_on(&found, args.json)
}

/// An answer as it may stand in a prompt. It is not cut there, so it has to fit.
fn answer_of(text: &str) -> Outcome<String> {
    let text = clean_text(text.as_bytes()).trim().to_owned();
    match text.len() > LONGEST_ANSWER {
        true => Err(Failure::usage(format!(
            "the answer is longer than {LONGEST_ANSWER} bytes: write it into a file of the project, and name that"
        ))),
        false => Ok(text),
    }
}

pub(crate) fn raise(args: &RaiseArgs) -> Outcome<Exit> {
    let command = Command::Raise { task: args.task.clone(), by: command::you(), attempts: args.attempts };
    command::say_of(&args.task, &args.which, args.json, &command)
}
