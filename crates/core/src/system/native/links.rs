//! How tasks hang together: dependencies that exist, no cycles, no waiting for a later group, and a word of
//! warning where two tasks at once would change one file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::walk::{Spanned, Walk};
use crate::diagnostic::Diagnostic;
use crate::plan::{Cycle, Graph, Group, Schedule, Settings, TaskId, TaskSpec};
use crate::system::kit::shared_files::{Shared, shared_files};

/// Where a task stands.
#[derive(Debug)]
pub(super) struct Origin<'a> {
    pub(super) id: Range<usize>,
    pub(super) depends_on: Vec<Spanned<&'a str>>,
    /// As long as the task's files.
    pub(super) files: Vec<Range<usize>>,
    /// Its group is one that was declared.
    pub(super) grouped: bool,
}

/// Fill in the dependencies of all tasks, and report what cannot be. `broken` are ids of tasks left out.
pub(super) fn link(
    walk: &mut Walk<'_>,
    tasks: &mut [TaskSpec],
    origins: &[Origin<'_>],
    broken: &HashSet<&str>,
    groups: &[Group],
    settings: &Settings,
) {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let positions: HashMap<&str, usize> = ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let folded: HashMap<String, usize> = ids.iter().enumerate().map(|(i, id)| (id.folded(), i)).collect();
    let in_order = settings.schedule != Schedule::Flow;

    for (task, origin) in origins.iter().enumerate() {
        let mut seen = HashSet::new();
        for said in &origin.depends_on {
            let need = said.value;
            if need == ids[task].as_str() {
                let message = format!("the task `{need}` depends on itself");
                walk.push(Diagnostic::error(said.at.clone(), message).label("remove this"));
                continue;
            }
            let Some(&position) = positions.get(need) else {
                if !broken.contains(need) {
                    let twin = folded.get(&need.to_ascii_lowercase()).map(|&i| &ids[i]);
                    let diagnostic = unknown(walk, said, twin, &ids);
                    walk.push(diagnostic);
                }
                continue;
            };
            if !seen.insert(position) {
                let message = format!("the dependency on `{need}` is listed twice");
                walk.push(Diagnostic::warning(said.at.clone(), message).label("once is enough"));
                continue;
            }
            let (own, its) = (tasks[task].group, tasks[position].group);
            if in_order && origin.grouped && origins[position].grouped && its > own {
                let title = |group: u32| groups.get(group as usize).map_or("", |group| group.id.as_str());
                let message = format!(
                    "`{}` is in the group `{}` and waits for `{need}` in the later group `{}`",
                    ids[task],
                    title(own),
                    title(its)
                );
                walk.push(
                    Diagnostic::error(said.at.clone(), message)
                        .label("groups run in order, so this task can never start")
                        .help("move one of the tasks, reorder the groups, or set `schedule = \"flow\"` in `[policy]`"),
                );
            }
            tasks[task].depends_on.push(ids[position].clone());
        }
    }

    match Graph::new(tasks) {
        Ok(graph) => warn_of_shared_files(walk, tasks, origins, &graph, settings),
        Err(cycle) => report_cycle(walk, cycle, &positions, origins),
    }
}

/// A dependency on a task that is not there.
fn unknown(walk: &mut Walk<'_>, said: &Spanned<&str>, twin: Option<&TaskId>, ids: &[TaskId]) -> Diagnostic {
    let diagnostic = Diagnostic::error(said.at.clone(), format!("there is no task {:?}", said.value));
    if let Some(twin) = twin {
        return diagnostic.label(format!("did you mean \"{twin}\"? ids are case-sensitive"));
    }
    let near = walk.nearest(said.value, ids.iter().map(TaskId::as_str));
    match near {
        Some(near) => diagnostic.label(format!("did you mean \"{near}\"?")),
        None => diagnostic.label("not in this plan").help("add the task, or remove it from `depends_on`"),
    }
}

fn report_cycle(walk: &mut Walk<'_>, cycle: Cycle, positions: &HashMap<&str, usize>, origins: &[Origin<'_>]) {
    let position = |id: &TaskId| positions.get(id.as_str()).copied().unwrap_or(usize::MAX);
    let Some((start, next, way)) = cycle.describe(position) else { return };
    let at = origins.get(position(&start)).map_or(0..0, |origin| {
        let entry = origin.depends_on.iter().find(|said| said.value == next.as_str());
        entry.map_or_else(|| origin.id.clone(), |said| said.at.clone())
    });
    walk.push(
        Diagnostic::error(at, format!("these tasks wait for each other: {way}"))
            .label(format!("`{start}` waits for `{next}`"))
            .help("remove one of these dependencies"),
    );
}

fn warn_of_shared_files(
    walk: &mut Walk<'_>,
    tasks: &[TaskSpec],
    origins: &[Origin<'_>],
    graph: &Graph,
    settings: &Settings,
) {
    for Shared { first, second, nth } in shared_files(tasks, graph, settings) {
        let Some(at) = origins[second].files.get(nth) else { continue };
        let (first, second, file) = (&tasks[first].id, &tasks[second].id, &tasks[second].files[nth]);
        walk.push(
            Diagnostic::warning(
                at.clone(),
                format!("`{first}` and `{second}` may change `{file}` at the same time"),
            )
            .label("their work may conflict when it lands")
            .help(format!(
                "let one depend on the other, for example `depends_on = [\"{first}\"]` in `{second}`"
            )),
        );
    }
}
