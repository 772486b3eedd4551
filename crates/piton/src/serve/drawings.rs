//! What the page draws: the plan as a graph, and where the time of a run went.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::Response;
use piton_core::order::Pairs;
use piton_core::plan::{Digest, Group, TaskId};
use piton_core::view::graph::{Layout, layout};
use piton_core::view::timeline::Timeline;
use serde::Serialize;

use crate::runs::{graph as gathered, standing, timeline as spans};
use crate::serve::api::{Problem, Wanted, answer};
use crate::serve::app::App;

/// Where each task stands on the plane, and how it is.
#[derive(Serialize)]
struct Graph {
    /// The same as long as the layout is.
    plan: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    titles: Vec<String>,
    /// Of groups, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    group_titles: BTreeMap<String, String>,
    /// In the order of the layout.
    statuses: Vec<&'static str>,
}

#[derive(Serialize)]
struct Spans {
    #[serde(flatten)]
    timeline: Timeline,
    /// The position of each task's group, where there are several.
    groups: BTreeMap<TaskId, u32>,
    /// What they are called.
    group_titles: Vec<String>,
    /// Of the tasks that have bars.
    titles: BTreeMap<TaskId, String>,
}

pub(super) async fn graph(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response<Body>, Problem> {
    answer(app, format!("graph {run} {wanted:?}"), move |app| {
        app.with_run(&run, wanted.at, |journal, run| {
            let facts = standing::facts(journal, run)?;
            let nodes = gathered::of_run(journal, &facts)?;
            let shape: Vec<_> = nodes.iter().map(|node| (&node.id, &node.group, &node.after)).collect();
            let is_whole = wanted.part.as_deref() != Some("statuses");
            let named = facts.groups.iter().filter(|group| is_whole && !group.title.is_empty());
            Ok(Graph {
                group_titles: named.map(|group| (group.id.to_string(), group.title.clone())).into_map(),
                plan: Digest::of(&shape),
                layout: is_whole.then(|| layout(&nodes)),
                statuses: nodes.iter().map(|node| node.status.name()).collect(),
                titles: if is_whole {
                    nodes.into_iter().map(|node| node.title).collect()
                } else {
                    Vec::new()
                },
            })
        })
    })
    .await
}

pub(super) async fn timeline(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response<Body>, Problem> {
    answer(app, format!("timeline {run} {wanted:?}"), move |app| {
        app.with_run(&run, wanted.at, |journal, run| {
            let groups = standing::facts(journal, run)?.groups;
            let tasks = journal.titled(run)?;
            let timeline = spans::of_run(&app.project, journal, run)?;
            let drawn: BTreeSet<&TaskId> = timeline.bars.iter().map(|bar| &bar.task).collect();
            let positions = tasks.iter().filter(|_| groups.len() > 1);
            let group_title = |group: &Group| match group.title.as_str() {
                "" => group.id.to_string(),
                title => title.to_owned(),
            };
            Ok(Spans {
                groups: positions.map(|(task, _)| (task.id.clone(), task.group)).into_map(),
                group_titles: groups.iter().map(group_title).collect(),
                titles: tasks
                    .iter()
                    .filter(|(task, _)| drawn.contains(&task.id))
                    .map(|(task, title)| (task.id.clone(), title.clone()))
                    .into_map(),
                timeline,
            })
        })
    })
    .await
}
