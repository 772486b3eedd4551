//! `piton runs`: the runs of a project.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::run::Status;
use piton_engine::clock;

use crate::failure::{Exit, FINE, Outcome};
use crate::runs::{find, hints, listing};
use crate::{paths, ui};

#[derive(Debug, Args)]
#[command(after_help = "Example: piton runs --json | jq '.runs[] | select(.finished | not) | .run'")]
pub(crate) struct RunsArgs {
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Every run, newest first. Reads only.
pub(crate) fn runs(args: &RunsArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let rows = listing::rows(&project)?;
    if args.json {
        ui::answer_json(&listing::document(&rows));
        return Ok(FINE);
    }
    if rows.is_empty() {
        ui::say(format!("there is no run in {}", project.root));
        hints::plan_hints(&project.root).iter().for_each(ui::hint);
        return Ok(FINE);
    }
    let width = rows.iter().map(|row| row.run.id.as_str().len()).max().unwrap_or(0);
    let words = rows.iter().map(|row| row.word().chars().count()).max().unwrap_or(0);
    let now = clock::now();
    for row in &rows {
        let done = row.run.counts.of(Status::Completed);
        let counts = format!("{done}/{}", row.run.counts.total());
        let touched = format!("{} ago", now.since(row.touched));
        let plan = ui::plain(&paths::shown(Utf8Path::new(&row.run.plan)));
        ui::answer_line(format!(
            "{}{:pad$}  {:words$}  {counts:>7} done  {touched:>12}  {plan}",
            ui::styled(ui::BOLD, row.run.id.as_str()),
            "",
            row.word(),
            pad = width - row.run.id.as_str().len(),
        ));
    }
    Ok(FINE)
}
