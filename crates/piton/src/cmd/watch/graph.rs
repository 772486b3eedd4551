//! `piton graph`: the plan as a graph, with where each task stands.

use anstyle::Style;
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use piton_core::run::Status;
use piton_core::view::counted;
use piton_core::view::graph::{self, Extent, Node, Row};

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::plans::{self, FoundPlan, How};
use crate::runs::found::FoundRun;
use crate::runs::{find, graph as gathered, master, standing};
use crate::ui::{self, BOLD, DIM};
use crate::{columns, paths};

#[derive(Debug, Args)]
#[command(after_help = "Example: piton graph --format svg > plan.svg")]
pub(crate) struct GraphArgs {
    /// A plan, with or without a run [default: the plan of the run]
    #[arg(value_name = "PLAN")]
    pub what: Option<Utf8PathBuf>,
    /// How to draw it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: GraphFormat,
    /// Show every task of a large plan in text, not only its groups
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub which: Which,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A tree for the terminal
    Text,
    /// For Graphviz: `dot -Tpdf`
    Dot,
    /// For Markdown on GitHub and GitLab
    Mermaid,
    /// A picture in one file
    Svg,
}

pub(crate) fn graph(args: &GraphArgs) -> Outcome<Exit> {
    let mut which = args.which.clone();
    if let Some(what) = &args.what {
        which = Which { plan: Some(what.clone()), run: None, ..which };
    }
    let (name, nodes) = match without_run(&which)? {
        Some(found) => (found.plan.name.clone(), gathered::of_plan(&found.plan)),
        None => {
            let FoundRun { journal, run, .. } = find::run(&which)?;
            let facts = standing::facts(&journal, &run)?;
            (run.as_str().to_owned(), gathered::of_run(&journal, &facts)?)
        }
    };
    match args.format {
        GraphFormat::Text => text(&name, &nodes, args.all),
        GraphFormat::Dot => ui::answer(graph::dot(&nodes)),
        GraphFormat::Mermaid => ui::answer(graph::mermaid(&nodes)),
        GraphFormat::Svg => ui::answer(graph::svg(&nodes, &name)),
    }
    Ok(FINE)
}

/// The plan that is named, if it has no run yet.
fn without_run(which: &Which) -> Outcome<Option<FoundPlan>> {
    let Some(given) = &which.plan else { return Ok(None) };
    if master::collection(given).is_some() {
        let failure =
            Failure::usage(format!("{} lists several plans: name one of them", paths::shown(given)));
        return Err(failure.hint(format!("piton plan {}", paths::typed(given))));
    }
    let (path, _) = plans::place(given, None)?;
    if has_run(&path, which.project_path.as_deref())? {
        return Ok(None);
    }
    plans::plan(given, How { project: which.project_path.as_deref(), ..How::default() }).map(Some)
}

fn has_run(plan: &Utf8Path, project: Option<&Utf8Path>) -> Outcome<bool> {
    // A plan outside of every project can be looked at, too.
    let Ok(project) = find::of_plan(plan, project) else { return Ok(false) };
    let Some(journal) = project.existing_journal()? else { return Ok(false) };
    Ok(journal.runs()?.iter().any(|run| run.plan == plan))
}

fn text(name: &str, nodes: &[Node], all: bool) {
    let shown = graph::rows(nodes, if all { Extent::EveryTask } else { Extent::Folded });
    let size =
        format!("{} in {}", counted(nodes.len() as u64, "task"), counted(shown.layers as u64, "level"));
    let counts: Vec<String> = Status::ALL
        .into_iter()
        .map(|status| (status, nodes.iter().filter(|node| node.status == status).count()))
        .filter(|&(_, count)| count > 0)
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    let mut lines = format!("{} {size}: {}\n\n", ui::styled(BOLD, name), counts.join(", "));
    let width = columns::columns();
    for row in &shown.rows {
        lines += &line(row, width);
        lines.push('\n');
    }
    ui::answer(lines);
    if shown.folded > 0 {
        ui::say(format!(
            "{} are folded into their groups: piton graph --all",
            counted(shown.folded as u64, "task")
        ));
    }
    if shown.left_out > 0 {
        ui::say(format!("… and {} more: piton graph --all", counted(shown.left_out as u64, "task")));
    }
}

fn line(row: &Row, width: Option<usize>) -> String {
    let (sign, style) = row.status.map_or(("", DIM), ui::status_sign);
    let spaced = |text: &str| if text.is_empty() { String::new() } else { format!("  {}", ui::plain(text)) };
    let sign = if sign.is_empty() { String::new() } else { format!("{sign} ") };
    let parts = [
        (DIM, row.stem.clone()),
        (style, sign),
        (BOLD, ui::plain(&row.label)),
        (Style::new(), spaced(&row.title)),
        (DIM, spaced(&row.note)),
    ];
    columns::fitted(&parts, width)
}
