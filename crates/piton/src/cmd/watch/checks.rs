//! `piton checks`: how often each check has run, with which results, and which of them flake.

use clap::Args;

use crate::args::Which;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{figures, find};
use crate::ui;

/// How many are shown without `--all`.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ChecksArgs {
    /// Show every check, not only those that flake or run most; JSON has every one
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn checks(args: &ChecksArgs) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let most = if args.all || args.json { usize::MAX } else { SHOWN };
    // One more shows that there are more.
    let mut counts = journal.check_counts(&run, most.saturating_add(1))?;
    let has_more = counts.len() > most;
    counts.truncate(most);
    if args.json {
        ui::answer_json(&figures::checks(&counts));
        return Ok(FINE);
    }
    if counts.is_empty() {
        ui::say("no check has run yet");
        return Ok(FINE);
    }
    let mut lines = format!("{:>6}  {:>6}  {:>6}  {:>8}  check\n", "runs", "passed", "flakes", "mean");
    for count in &counts {
        let (mean, name) = (figures::mean(count).to_string(), ui::plain(&count.name));
        lines += &format!("{:>6}  {:>6}  {:>6}  {mean:>8}  {name}\n", count.runs, count.passes, count.flakes);
    }
    ui::answer(lines);
    if counts.iter().any(|count| count.flakes > 0) {
        ui::say("a flake failed and then passed on the same files: it spends no attempt");
    }
    if has_more {
        ui::say("more checks have run: piton checks --all");
    }
    Ok(FINE)
}
