//! Where the journal of a project is, and how its runs get to another place.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::RunId;
use piton_core::run::Command;
use piton_engine::drive::EngineError;
use piton_engine::journal::{Journal, JournalError, RunSummary, Server};
use piton_engine::project::Project;
use piton_engine::{clock, lead};
use serde_json::json;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::typed;
use crate::runs::{attempt, command, find, location, lock};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct WhereArgs {
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UseArgs {
    /// postgres://USER@HOST/DATABASE, or `here` for the file in Piton's folder
    pub place: String,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The runs [default: all that are not over]
    pub runs: Vec<RunId>,
    /// postgres://USER@HOST/DATABASE, or `here` for the file in Piton's folder
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Print where the journal is.
pub(crate) fn tell(args: &WhereArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let journal = project.existing_journal()?;
    let runs = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    let place = place_of(&project);
    match args.json {
        true => ui::answer_json(&json!({
            "journal": place, "is_on_a_server": project.server().is_some(),
            "exists": journal.is_some(), "runs": runs.len(),
        })),
        false => ui::answer_line(place),
    }
    Ok(FINE)
}

/// Commands of this checkout are about another journal from now on.
pub(crate) fn set(args: &UseArgs) -> Outcome<Exit> {
    attempt::outside_of_attempts()?;
    let project = location::at(plain(args.project_path.as_deref())?, &args.place)?;
    // Fail now if it cannot be opened.
    project.existing_journal()?;
    location::remember(&project)?;
    ui::say(format!("commands in this checkout use the journal in {} from now on", place_of(&project)));
    Ok(FINE)
}

/// Copy runs to another journal, where they continue.
pub(crate) fn copy(args: &CopyArgs) -> Outcome<Exit> {
    attempt::outside_of_attempts()?;
    let from = find::project(args.project_path.as_deref())?;
    let to = location::at(plain(args.project_path.as_deref())?, &args.to)?;
    let (source, target) = (place_of(&from), place_of(&to));
    if source == target {
        return Err(Failure::usage(format!("the journal is in {source} already")));
    }
    let nothing = || Failure::new(format!("there is no journal in {source}"));
    let mut journal = Some(&from).filter(|from| from.may_have_journal()).ok_or_else(nothing)?.journal()?;
    let mut copies = to.journal()?;
    if journal.runs()?.is_empty() {
        return Err(find::no_run(&from, None));
    }
    let runs = chosen(&journal, &args.runs)?;
    if runs.is_empty() {
        return Err(Failure::new(format!("every run in {source} is over"))
            .hint(format!("piton journal copy RUN --to {}   copies one all the same", typed_place(&to))));
    }
    let mut told = Vec::new();
    for run in runs {
        let (id, plan) = (&run.id, Utf8Path::new(&run.plan));
        if from.is_led(&journal, id) {
            return Err(
                Failure::new(format!("an engine is working on {id}")).hint(format!("piton stop --run {id}"))
            );
        }
        let _alone = lock::take_lock(&from, id)?;
        lock::detach(&mut journal, id)?;
        // In both: until somebody works on it again, where it continues.
        if !run.is_over() {
            let reason = format!("it continues in {target}");
            journal.command(id, &Command::Close { by: command::you(), reason }, clock::now())?;
        }
        let copied = journal.copy_run(id, &mut copies).map_err(|error| unlike(&error))?;
        lead::settle(&to, &mut copies, id).map_err(EngineError::from)?;
        if !args.json {
            ui::say(format!(
                "{id}: {} of {} events are new in {target}; both journals have the same",
                copied.new, copied.events
            ));
            ui::hint(format!("piton run {}   continues it there", typed(plan)));
        }
        told.push(json!({ "run": id, "events": copied.events, "new": copied.new, "digest": copied.digest }));
    }
    location::remember(&to)?;
    match args.json {
        true => ui::answer_json(&json!({ "from": source, "to": target, "runs": told })),
        false => ui::say(format!("commands in this checkout use the journal in {target} from now on")),
    }
    Ok(FINE)
}

fn unlike(error: &JournalError) -> Failure {
    Failure::new(format!("not copied: {error}")).hint("piton doctor")
}

fn chosen(journal: &Journal, wanted: &[RunId]) -> Outcome<Vec<RunSummary>> {
    let mut runs = journal.runs()?;
    if let Some(unknown) = wanted.iter().find(|id| !runs.iter().any(|run| run.id == **id)) {
        return Err(Failure::new(format!("there is no run {unknown}")).hint("piton runs"));
    }
    runs.retain(|run| if wanted.is_empty() { !run.is_over() } else { wanted.contains(&run.id) });
    Ok(runs)
}

/// The project itself, wherever its journal is.
fn plain(path: Option<&Utf8Path>) -> Outcome<Project> {
    find::project_without_journal(path)
}

/// As it is typed, without a password.
fn typed_place(project: &Project) -> &str {
    project.server().map_or(location::HERE, Server::url)
}

fn place_of(project: &Project) -> String {
    match project.server() {
        Some(server) => server.place().to_owned(),
        None => project.home.to_string(),
    }
}
