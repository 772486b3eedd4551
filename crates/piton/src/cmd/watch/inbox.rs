//! `piton inbox`: what waits for a person.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::order::Arrange;
use piton_core::plan::RunId;
use piton_core::run::{Command, Note};
use piton_core::time::Span;
use piton_core::view::{Item, NOTIFIER};
use piton_engine::clock;
use piton_engine::project::Project;
use serde_json::json;

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::{command, find, inbox as gathered, standing};
use crate::ui::{self, BOLD, DIM};

/// So many lines of a detail are shown; JSON has all of them.
const DETAIL: usize = 10;
/// What stands for every item.
const ALL: &str = "all";

#[derive(Debug, Args)]
#[command(after_help = "Example: piton inbox --json | jq -r '.items[].helps[0]'")]
pub(crate) struct InboxArgs {
    /// Only what you have not marked as seen
    #[arg(long)]
    pub new: bool,
    /// Mark these as seen by you, by their keys, or `all`; what is answered goes by itself
    #[arg(long, value_name = "KEY", num_args = 1..)]
    pub seen: Vec<String>,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn inbox(args: &InboxArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let you = command::caller()?;
    if you.starts_with(NOTIFIER) {
        return Err(Failure::usage(format!("`{NOTIFIER}…` is not the name of a person or an agent")));
    }
    let mut items = gathered::of_project(&project)?;
    if !args.seen.is_empty() {
        mark(&project, &items, &args.seen, &you)?;
        items = gathered::of_project(&project)?;
    }
    let is_seen = |item: &Item| item.seen_by.contains(&you);
    items.retain(|item| !args.new || !is_seen(item));
    if args.json {
        ui::answer_json(&json!({ "items": items }));
        return Ok(FINE);
    }
    // What you have seen comes last.
    items.arrange_by_key(|item| is_seen(item));
    let mut lines = String::new();
    let several = items.iter().any(|item| item.run != items[0].run);
    for item in &items {
        lines += &shown(item, is_seen(item), several);
    }
    ui::answer(lines);
    if items.is_empty() {
        ui::say(if args.new { "nothing new waits for you" } else { "nothing waits for you" });
    }
    Ok(FINE)
}

fn shown(item: &Item, is_seen: bool, names_run: bool) -> String {
    let age = item.since.map(|since| lasting(clock::now().since(since))).unwrap_or_default();
    let (key, kind) = (ui::styled(DIM, &item.key), item.kind.word());
    let about: Vec<&str> = item.tasks.iter().map(piton_core::plan::TaskId::as_str).collect();
    let about = match about.len() {
        0 => String::new(),
        1..=3 => format!(" {}", about.join(", ")),
        many => format!(" {} and {} more", about[..2].join(", "), many - 2),
    };
    let run = if names_run { format!(" of {}", item.run) } else { String::new() };
    let seen = if is_seen { ", seen" } else { "" };
    let head = format!(
        "{key}  {}{run}{}",
        ui::styled(BOLD, format!("{kind}{about}")),
        ui::styled(DIM, format!("{age}{seen}"))
    );
    let mut lines = format!("{head}\n        {}\n", ui::plain(&item.reason));
    let detail = item.detail.as_deref().unwrap_or_default().lines();
    for line in detail.clone().take(DETAIL) {
        lines += &format!("          {}\n", ui::styled(DIM, ui::plain(line)));
    }
    let left = detail.count().saturating_sub(DETAIL);
    if left > 0 {
        let left = format!("… and {}", piton_core::view::counted(left as u64, "more line"));
        lines += &format!("          {}\n", ui::styled(DIM, left));
    }
    if !is_seen {
        for help in item.helps.iter().take(3) {
            lines += &format!("        {}\n", ui::styled(DIM, format!("$ {help}")));
        }
    }
    lines
}

/// For how long it has waited.
fn lasting(span: Span) -> String {
    match span.0 {
        0..1000 => ", for less than a second".to_owned(),
        _ => format!(", for {span}"),
    }
}

/// Note in the journals of their runs that these were seen.
fn mark(project: &Project, items: &[Item], keys: &[String], you: &str) -> Outcome {
    if let Some(unknown) = keys.iter().find(|key| *key != ALL && items.iter().all(|item| item.key != **key)) {
        let failure = Failure::new(format!("nothing that waits for you has the key {}", ui::plain(unknown)));
        return Err(failure.hint("piton inbox"));
    }
    let is_new = |item: &&Item| {
        keys.iter().any(|key| key == ALL || *key == item.key) && !item.seen_by.iter().any(|who| who == you)
    };
    let mut by_run: BTreeMap<&RunId, Vec<String>> = BTreeMap::new();
    for item in items.iter().filter(is_new) {
        by_run.entry(&item.run).or_default().push(item.key.clone());
    }
    for (run, seen) in by_run {
        let project_path = Some(project.root.clone());
        let which = Which { run: Some(run.to_string()), plan: None, project_path };
        let mut found = command::run(&which, None)?;
        let facts = standing::facts(&found.journal, run)?;
        let known = facts.seen.get(you).into_iter().flatten().cloned();
        let over = known.filter(|key| items.iter().all(|item| item.key != *key)).collect();
        found.command(&Command::Note { by: you.to_owned(), note: Note::Seen { items: seen, over } })?;
    }
    Ok(())
}
