//! `manifest.json` and `layer_plan.json`: what they say about the task files, in any of the shapes that exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Diagnostic;
use crate::system::kit::json::{self, Kind, Node};
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::text;

/// The version of the manifest's own shape up to which everything in it is known.
const KNOWN: (u64, u64) = (1, 3);

/// `manifest.json`.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) slug: Option<Spanned<String>>,
    pub(super) project_path: Option<String>,
    /// How many tasks it claims.
    pub(super) total: Option<Spanned<u64>>,
    /// The tasks it lists, if it lists any.
    pub(super) listed: Option<Vec<Spanned<String>>>,
}

/// `layer_plan.json`.
#[derive(Debug, Default)]
pub(super) struct LayerPlan {
    pub(super) layers: Vec<Layer>,
    pub(super) tasks: Vec<Planned>,
    pub(super) edges: Vec<Edge>,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub(super) id: Spanned<String>,
    pub(super) title: Option<String>,
    /// It is empty on purpose.
    pub(super) skipped: bool,
}

/// A task that the plan mentions.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) id: Spanned<String>,
    pub(super) layer: String,
}

/// `task` waits for `need`.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) task: String,
    pub(super) need: Spanned<String>,
}

impl Manifest {
    pub(super) fn read(document: &str, found: &mut Problems) -> Manifest {
        let Some(top) = open(document, found) else { return Manifest::default() };
        let prd = top.get("prd");
        let summary = top.get("summary");
        let inventory = top.get("task_inventory");
        let forked = inventory.is_some() || top.get("toolchain_version").is_some();
        read_version(&top, forked, found);
        let slug = top
            .get("prd_slug")
            .or_else(|| prd?.get("slug"))
            .or_else(|| top.get("slug"))
            .and_then(|node| Some(Spanned { value: node.text()?.trim().to_owned(), at: node.at.clone() }))
            .filter(|slug| !slug.value.is_empty());
        let places = [prd, Some(&top)].into_iter().flatten();
        let project_path = places
            .flat_map(|node| [node.get("project_path"), node.get("output_dir")])
            .flatten()
            .find_map(|node| node.text().filter(|path| !path.trim().is_empty()))
            .map(str::to_owned);
        let total = top.get("total_tasks").or_else(|| summary?.get("total_tasks"));
        let total = total.and_then(|node| Some(Spanned { value: node.number()?, at: node.at.clone() }));
        let listed = inventory.or_else(|| top.get("tasks")).and_then(|node| read_listed(node, found));
        Manifest { slug, project_path, total, listed }
    }
}

/// The path of the project in `manifest.json`, if it has one. Nothing else is read.
pub fn project_path(manifest: &[u8]) -> Option<String> {
    let decoded = text::decode(manifest);
    Manifest::read(&decoded.text, &mut Problems::default()).project_path
}

fn open(document: &str, found: &mut Problems) -> Option<Node> {
    if document.trim().is_empty() {
        found.push(Diagnostic::error(0..0, "this file is empty").label("an object is expected"));
        return None;
    }
    let (top, twice) = match json::parse(document) {
        Ok(parsed) => parsed,
        Err(diagnostic) => {
            found.push(diagnostic);
            return None;
        }
    };
    twice.into_iter().for_each(|diagnostic| found.push(diagnostic));
    if top.entries().is_none() {
        wrong(&top, "this file", "an object", found);
        return None;
    }
    Some(top)
}

/// A value of another kind than was expected.
fn wrong(node: &Node, what: &str, expected: &str, found: &mut Problems) {
    let message = format!("{what} must be {expected}");
    found.push(Diagnostic::error(node.at.clone(), message).label(format!("this is {}", node.name())));
}

fn read_version(top: &Node, forked: bool, found: &mut Problems) {
    let Some(node) = top.get("schema_version") else {
        if forked {
            let message = "this manifest has no `schema_version`";
            found.push(Diagnostic::warning(0..0, message).label("read as version 1"));
        }
        return;
    };
    let number = || node.number().map(|number| number.to_string());
    let version = node.text().map(str::to_owned).or_else(number).unwrap_or_default();
    let mut parts = version.trim().trim_start_matches('v').split('.').map(str::parse::<u64>);
    let major = parts.next().and_then(Result::ok);
    let minor = parts.next().and_then(Result::ok).unwrap_or(0);
    if major != Some(KNOWN.0) {
        let message = format!("the version {:?} of this manifest is unknown", cut(&version));
        let label = format!("{}.x is", KNOWN.0);
        found.push(Diagnostic::error(node.at.clone(), message).label(label));
    } else if minor > KNOWN.1 {
        let message = format!("the version {:?} of this manifest is newer than this Piton", cut(&version));
        let label = format!("what is newer than {}.{} is ignored", KNOWN.0, KNOWN.1);
        found.push(Diagnostic::warning(node.at.clone(), message).label(label));
    }
}

/// The ids that a manifest lists. Where only a file is named, its name has the id.
fn read_listed(node: &Node, found: &mut Problems) -> Option<Vec<Spanned<String>>> {
    let Some(items) = node.items() else {
        wrong(node, "the list of tasks", "a list", found);
        return None;
    };
    let mut listed = Vec::new();
    for item in items {
        let file = item.get("file").and_then(Node::text).map(|file| file.replace('\\', "/"));
        let named = file.as_deref().and_then(super::task::id_in_name).map(str::to_owned);
        let at = item.get("id").unwrap_or(item).at.clone();
        let said = item.get("id").and_then(Node::text).or_else(|| item.text());
        let Some(value) = said.map(str::to_owned).or(named) else {
            let message = "this entry does not name a task";
            found.forgive(Diagnostic::warning(at, message).label("an `id` is missing"));
            continue;
        };
        listed.push(Spanned { value: text::key(&value), at });
    }
    Some(listed)
}

impl LayerPlan {
    pub(super) fn read(document: &str, found: &mut Problems) -> LayerPlan {
        let mut plan = LayerPlan::default();
        let Some(top) = open(document, found) else { return plan };
        let brownfield =
            top.get("project_type").and_then(Node::text).is_some_and(|kind| kind == "brownfield");
        // What each source says about a task, to see where they differ.
        let (mut graph, mut own) = (Vec::new(), Vec::new());
        if let Some(node) = top.get("dependency_graph") {
            read_edges(node, "`dependency_graph`", &mut graph, found);
        }
        match top.get("layers") {
            None => {}
            Some(layers) => match (layers.items(), layers.entries()) {
                (Some(items), _) => {
                    for item in items {
                        let Some(id) = item
                            .get("id")
                            .and_then(|id| Some(Spanned { value: id.text()?.to_owned(), at: id.at.clone() }))
                        else {
                            wrong(item, "a layer", "an object with an `id`", found);
                            continue;
                        };
                        plan.read_layer(id, item, brownfield, &mut own, found);
                    }
                }
                (None, Some(entries)) => {
                    for (id, item) in entries {
                        let id = Spanned { value: id.clone(), at: item.name_at.clone() };
                        plan.read_layer(id, item, brownfield, &mut own, found);
                    }
                }
                (None, None) => wrong(layers, "`layers`", "a list or an object", found),
            },
        }
        report_difference(&graph, &own, found);
        let lists = graph.into_iter().chain(own);
        plan.edges = lists
            .flat_map(|(task, needs)| needs.into_iter().map(move |need| Edge { task: task.clone(), need }))
            .collect();
        plan
    }

    fn read_layer(
        &mut self,
        id: Spanned<String>,
        node: &Node,
        brownfield: bool,
        own: &mut Vec<(String, Vec<Spanned<String>>)>,
        found: &mut Problems,
    ) {
        let id = Spanned { value: text::key(&id.value), at: id.at };
        let tasks = if node.items().is_some() { Some(node) } else { node.get("tasks") };
        let tasks = tasks.map(|tasks| (tasks, tasks.items()));
        if let Some((tasks, None)) = &tasks {
            wrong(tasks, "the tasks of a layer", "a list", found);
        }
        for task in tasks.and_then(|(_, items)| items).unwrap_or_default() {
            let place = task.get("id").unwrap_or(task);
            let Some(name) = place.text() else {
                wrong(task, "a task", "an id, or an object with one", found);
                continue;
            };
            let name = text::key(name);
            for list in ["depends_on", "dependencies"].into_iter().filter_map(|key| task.get(key)) {
                own.push((name.clone(), read_needs(list, found)));
            }
            self.tasks
                .push(Planned { id: Spanned { value: name, at: place.at.clone() }, layer: id.value.clone() });
        }
        if let Some(edges) = node.get("dependencies").filter(|edges| edges.entries().is_some()) {
            read_edges(edges, "`dependencies`", own, found);
        }
        let skipped =
            brownfield && node.get("skip_if_brownfield").is_some_and(|node| node.kind == Kind::Bool(true));
        let title = node.get("name").and_then(Node::text).map(text::key).filter(|title| !title.is_empty());
        self.layers.push(Layer { id, title, skipped });
    }
}

/// An object of tasks with what each waits for.
fn read_edges(node: &Node, what: &str, into: &mut Vec<(String, Vec<Spanned<String>>)>, found: &mut Problems) {
    let Some(entries) = node.entries() else {
        return wrong(node, what, "an object of tasks with their dependencies", found);
    };
    for (task, needs) in entries {
        into.push((text::key(task), read_needs(needs, found)));
    }
}

/// The ids a task waits for: a list, or one by itself, or nothing.
fn read_needs(node: &Node, found: &mut Problems) -> Vec<Spanned<String>> {
    let items = match &node.kind {
        Kind::Null => &[],
        Kind::List(items) => &items[..],
        Kind::Text(_) => std::slice::from_ref(node),
        Kind::Bool(_) | Kind::Number(_) | Kind::Object(_) => {
            wrong(node, "the dependencies of a task", "a list of ids", found);
            return Vec::new();
        }
    };
    let mut needs = Vec::new();
    for item in items {
        match item.text() {
            Some(text) if super::prompt::is_none(text) => {}
            Some(text) => needs.push(Spanned { value: text::key(text), at: item.at.clone() }),
            None => wrong(item, "a dependency", "the id of a task", found),
        }
    }
    needs
}

/// Both the graph and the task itself may say what it waits for. All of it counts, but the author should know about the
/// difference.
fn report_difference(
    graph: &[(String, Vec<Spanned<String>>)],
    own: &[(String, Vec<Spanned<String>>)],
    found: &mut Problems,
) {
    let collect = |lists: &[(String, Vec<Spanned<String>>)]| {
        let mut sets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (task, needs) in lists {
            let set = sets.entry(task.to_lowercase()).or_default();
            set.extend(needs.iter().map(|need| need.value.to_lowercase()));
        }
        sets
    };
    let (one, two) = (collect(graph), collect(own));
    let mut told = BTreeSet::new();
    for (task, needs) in own.iter().chain(graph) {
        let key = task.to_lowercase();
        let (Some(first), Some(second)) = (one.get(&key), two.get(&key)) else { continue };
        if first == second || !told.insert(key) {
            continue;
        }
        let difference: Vec<&str> = first.symmetric_difference(second).map(String::as_str).collect();
        let message = format!(
            "`dependency_graph` and the task `{task}` disagree about what it waits for: {}",
            difference.join(", ").to_uppercase()
        );
        let at = needs.first().map_or(0..0, |need| need.at.clone());
        found
            .push(Diagnostic::warning(at, message).label("it waits for all tasks that either of them names"));
    }
}
