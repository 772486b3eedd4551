//! `piton export`: a run in another system's form. Nothing of the run changes.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::plan::{Plan, TaskId};
use piton_core::system::export::{self, Note, Source};
use piton_core::view::counted;
use piton_engine::files;
use serde_json::json;

use crate::args::{SystemArg, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{self, shown, typed};
use crate::plans;
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui::{self, BOLD};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run, or an unambiguous beginning of its id [default: the newest unfinished one here]
    #[arg(value_name = "RUN", conflicts_with = "run")]
    pub id: Option<String>,
    /// The system to export to
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: SystemArg,
    /// Where to write; files that are there stay [default: the project, or docs/tasks/NAME in it for execute]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Tasks that are named behind a note; the rest is counted.
const NAMED: usize = 5;

pub(crate) fn export(args: &ExportArgs) -> Outcome<Exit> {
    let which = Which { run: args.id.clone().or_else(|| args.which.run.clone()), ..args.which.clone() };
    let FoundRun { project, mut journal, run } = find::run(&which)?;
    let facts = standing::facts(&journal, &run)?;
    let SystemArg(to) = args.dialect;
    if facts.settings.form.system() == to {
        return Err(Failure::new(format!("the run {run} is already one of the {} system", to.name()))
            .hint(format!("its plan is {}", shown(facts.plan.as_str().into()))));
    }
    let plan = Plan {
        name: facts.name.clone(),
        groups: facts.groups.clone(),
        tasks: journal.specs(&run)?,
        settings: facts.settings.clone(),
    };
    let state = journal.load(&run)?;
    let chronicle = journal.chronicle(&run)?;
    let out = match &args.out {
        Some(out) => paths::here()?.join(out),
        None => match to.files().usual_folder {
            Some(folder) => project.root.join(folder).join(&plan.name),
            None => project.root.clone(),
        },
    };
    let config = plans::config(&out)?.unwrap_or_default();
    let place = files::place(&project, &run, &state, &out);
    let source = Source { plan: &plan, state: &state, chronicle: &chronicle };
    let exported = export::export(source, to, &config, &place);
    if exported.files.is_empty() {
        let failure =
            Failure::usage(format!("nothing was written: {}", note_lines(&exported.notes).join("; ")));
        return Err(failure.hint(format!("piton export {run} --dialect native")));
    }
    let paths: Vec<Utf8PathBuf> = exported.files.iter().map(|(name, _)| out.join(name)).collect();
    let there: Vec<String> =
        paths.iter().filter(|path| path.symlink_metadata().is_ok()).map(|path| shown(path)).collect();
    if !there.is_empty() {
        let failure =
            Failure::new(format!("nothing was written, because these files exist: {}", there.join(", ")));
        return Err(failure.hint(format!("piton export {run} --dialect {} --out FOLDER", to.name())));
    }
    for (path, (_, text)) in paths.iter().zip(&exported.files) {
        crate::paths::write(path, text)?;
    }
    if args.json {
        let files: Vec<&str> = exported.files.iter().map(|(name, _)| name.as_str()).collect();
        ui::answer_json(&json!({
            "run": run, "dialect": to.name(), "folder": out, "files": files, "notes": exported.notes,
        }));
        return Ok(FINE);
    }
    for path in &paths {
        ui::answer_line(shown(path));
    }
    if !exported.notes.is_empty() {
        ui::answer_line(ui::styled(BOLD, "\nwhat does not fit"));
    }
    for line in note_lines(&exported.notes) {
        ui::answer_line(format!("  {line}"));
    }
    let plan = if to.files().plan_is_file { &paths[0] } else { &out };
    ui::hint(format!("piton plan {}", typed(plan)));
    Ok(FINE)
}

/// The notes in lines: what holds for several tasks is said once.
fn note_lines(notes: &[Note]) -> Vec<String> {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    let mut tasks: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for note in notes {
        let line = (note.field.as_str(), note.text.as_str());
        let known = tasks.entry(line).or_insert_with(|| {
            lines.push(line);
            Vec::new()
        });
        known.extend(note.task.as_ref().map(TaskId::as_str));
    }
    let tell = |line: (&str, &str)| {
        let of = &tasks[&line];
        let (field, text) = (line.0, ui::plain(line.1));
        match of.len() {
            0 => format!("{field}: {text}"),
            1..=NAMED => format!("{field}: {text}   ({})", of.join(", ")),
            more => {
                let rest = counted((more - NAMED) as u64, "more task");
                format!("{field}: {text}   ({} and {rest})", of[..NAMED].join(", "))
            }
        }
    };
    lines.into_iter().map(tell).collect()
}
