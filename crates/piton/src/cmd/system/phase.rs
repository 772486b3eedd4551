//! `piton phase`: where iterative work stands.

use clap::Args;
use piton_core::system::System;
use piton_core::system::iterative::Iterations;
use piton_core::system::iterative::state::{self, What};
use serde_json::json;

use crate::args::{By, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::command::{self, holder};
use crate::runs::find;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct PhaseArgs {
    /// What the phase is, where only a person can know: discover or plan before the first unit, deliver or complete
    /// after the review [default: only tell it]
    pub word: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `piton phase`: where the whole stands. Most of it is derived; what only a person knows can be said, as in the file.
pub(crate) fn phase(args: &PhaseArgs) -> Outcome<Exit> {
    let mut found =
        if args.word.is_some() { find::run_to_change(&args.which, None) } else { find::run(&args.which) }?;
    if args.word.is_some() {
        found.settle_file()?;
    }
    let (now, chronicle) = (found.journal.load(&found.run)?, found.journal.chronicle(&found.run)?);
    let is_ours = now.run().is_some_and(|run| run.settings.form.system().name() == Iterations.name());
    let Some(file) = state::project(&now, &chronicle).filter(|_| is_ours) else {
        return Err(Failure::usage("only iterative work is in phases"));
    };
    let Some(word) = &args.word else {
        match args.json {
            true => ui::answer_json(&json!({ "phase": file.phase })),
            false => ui::answer_line(file.phase.word()),
        }
        return Ok(FINE);
    };
    let shown = state::value(&file);
    let mut wanted = shown.clone();
    wanted["phase"] = word.as_str().into();
    let edits = state::edits(&shown, &wanted);
    let refused = edits.iter().find_map(|edit| match &edit.what {
        What::Rejected { why, .. } => Some(why.clone()),
        _ => None,
    });
    let now = file.phase.word();
    // Only before the first unit and after the last one is there a choice.
    let hint = match now {
        "discover" => "piton phase plan   is possible now",
        "plan" => "piton phase discover   is possible now",
        "deliver" => "piton phase complete   is possible now",
        "complete" => "piton phase deliver   is possible now",
        _ => "piton status   shows what is left to do",
    };
    if let Some(why) = refused {
        let failure = Failure::new(format!("the phase is {now}, not {}: {why}", ui::plain(word)));
        return Err(failure.hint(hint));
    }
    if edits.is_empty() && word != now {
        return Err(Failure::new(format!("the phase is {now}: it follows from the units")).hint(hint));
    }
    let by = holder(&args.by.by)?;
    for command in edits.iter().flat_map(|edit| state::commands(edit, &by)) {
        command::tell(&found.command(&command)?, args.json);
    }
    Ok(FINE)
}
