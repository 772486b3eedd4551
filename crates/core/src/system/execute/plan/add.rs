//! One more task in a folder of tasks: its own file, and its entries in the manifest and the layer plan.

use std::collections::BTreeSet;

use super::insert::{Edits, quoted};
use super::read::{LAYER_PLAN, MANIFEST, layer_number};
use super::task::{id_in_name, is_id};
use crate::plan::{GroupId, Plan, TaskId};
use crate::run::Refusal;
use crate::system::addition::{Addition, refused};
use crate::system::kit::json::{self, Node};
use crate::system::{Folder, config};

/// The files to write, in this order: the task's own comes last, and only with it is there a task. Nothing, if just
/// this task is there already. `plan` is what the folder says.
pub fn add(folder: &Folder, plan: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
    if !is_id(task.id.as_str()) {
        let hint = "write `L`, the number of the layer, and at least three digits: L1-002".to_owned();
        return Err(refused(format!("{} is not a task id of this system", task.id), Some(hint)));
    }
    let layer = layer(plan, task)?;
    let file = format!("{layer}/{}-{}.xml", task.id, slug(&task.title));
    let text = xml(task, &layer)?.into_bytes();
    let named = |name: &&String| id_in_name(name).is_some_and(|id| id.eq_ignore_ascii_case(task.id.as_str()));
    let there = folder.files.keys().find(named);
    let known = plan.tasks.iter().find(|spec| spec.id == task.id);
    // What it waits for is not in its own file.
    let waits_otherwise = known.is_some_and(|spec| {
        let said: BTreeSet<&TaskId> = spec.depends_on.iter().collect();
        said != task.after.iter().collect()
    });
    if waits_otherwise || there.map_or(task.is_in(plan), |name| folder.files[name] != text) {
        return Err(task.taken());
    }
    let mut written = Vec::new();
    for (name, edit) in [(LAYER_PLAN, in_layer_plan as Editor), (MANIFEST, in_manifest)] {
        let Some(bytes) = folder.files.get(name) else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(refused(format!("{name} is not UTF-8, so no task can be added"), None));
        };
        let (mark, document) = text.strip_prefix('\u{feff}').map_or(("", text), |text| ("\u{feff}", text));
        let top = json::parse(document).ok().map(|(top, _)| top);
        let Some(top) = top.filter(|top| top.entries().is_some()) else {
            return Err(refused(format!("{name} is not a JSON object, so no task can be added"), None));
        };
        let mut edits = Edits::new(document);
        edit(&mut edits, &top, &Entry { task, plan, layer: &layer, file: &file });
        written.extend(edits.finish().map(|text| (name.to_owned(), format!("{mark}{text}").into_bytes())));
    }
    if !task.after.is_empty() && !folder.files.contains_key(LAYER_PLAN) {
        let graph =
            format!("{{\n  \"dependency_graph\": {{{}: {}}}\n}}\n", quoted(task.id.as_str()), needs(task));
        written.push((LAYER_PLAN.to_owned(), graph.into_bytes()));
    }
    if there.is_none() {
        written.push((file, text));
    }
    Ok(written)
}

/// What an entry says.
struct Entry<'a> {
    task: &'a Addition,
    plan: &'a Plan,
    layer: &'a GroupId,
    file: &'a str,
}

type Editor = fn(&mut Edits<'_>, &Node, &Entry<'_>);

impl Entry<'_> {
    /// What belongs under a name that entries of this system have.
    fn value(&self, name: &str) -> Option<String> {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        Some(match name {
            "id" => quoted(self.task.id.as_str()),
            "name" | "title" => quoted(self.task.title.trim()),
            "layer" => quoted(self.layer.as_str()),
            "file" | "path" => quoted(self.file),
            "files" => list(self.task.files.iter().map(|file| quoted(file.as_str())).collect()),
            "depends_on" | "dependencies" => needs(self.task),
            "provides" => list(Vec::new()),
            _ => return None,
        })
    }

    fn is_id(&self, node: &Node) -> bool {
        let id = node.get("id").unwrap_or(node).text();
        id.is_some_and(|id| id.trim().eq_ignore_ascii_case(self.task.id.as_str()))
    }

    /// At the end of a list of tasks, in the form of the others, unless it is there.
    fn join(&self, edits: &mut Edits<'_>, list: &Node, must: &[&str]) {
        let items = list.items().unwrap_or_default();
        if items.iter().any(|item| self.is_id(item)) {
            return;
        }
        let item = match items.last() {
            Some(last) if last.text().is_some() => quoted(self.task.id.as_str()),
            model => edits.like(model, must, |name| self.value(name)),
        };
        edits.push(list, &item);
    }
}

fn needs(task: &Addition) -> String {
    let needs: Vec<String> = task.after.iter().map(|id| quoted(id.as_str())).collect();
    format!("[{}]", needs.join(", "))
}

fn in_manifest(edits: &mut Edits<'_>, top: &Node, entry: &Entry<'_>) {
    let summary = top.get("summary");
    let list = top.get("task_inventory").or_else(|| top.get("tasks")).filter(|list| list.items().is_some());
    if let Some(list) = list {
        entry.join(edits, list, &["id", "name", "layer", "file"]);
    }
    let totals = [top.get("total_tasks"), summary.and_then(|summary| summary.get("total_tasks"))];
    let layers = summary.and_then(|summary| summary.get("tasks_per_layer"));
    let own = layers.and_then(|layers| layers.get(entry.layer.as_str()));
    let layer = entry.plan.groups.iter().position(|group| group.id == *entry.layer);
    let others = || entry.plan.tasks.iter().filter(|spec| spec.id != entry.task.id);
    let in_layer = others().filter(|spec| layer == usize::try_from(spec.group).ok()).count();
    let counts = totals.map(|total| (total, others().count())).into_iter().chain([(own, in_layer)]);
    for (count, there) in counts {
        // A number that was wrong before is not ours to put right; one that counts it already is right.
        if let Some(node) = count.filter(|node| node.number() == u64::try_from(there).ok()) {
            edits.replace(node, &(there + 1).to_string());
        }
    }
}

fn in_layer_plan(edits: &mut Edits<'_>, top: &Node, entry: &Entry<'_>) {
    let id = entry.task.id.as_str();
    let graph = top.get("dependency_graph").filter(|graph| graph.entries().is_some());
    let layer = top.get("layers").and_then(|layers| match layers.items() {
        Some(items) => items.iter().find(|item| {
            item.get("id").and_then(Node::text).is_some_and(|id| id.trim() == entry.layer.as_str())
        }),
        None => layers.get(entry.layer.as_str()),
    });
    let tasks = layer.and_then(|layer| {
        if layer.items().is_some() { Some(layer) } else { layer.get("tasks").filter(|t| t.items().is_some()) }
    });
    // Its dependencies stand where those of other tasks stand.
    let objects = tasks
        .and_then(Node::items)
        .is_some_and(|items| items.last().is_none_or(|item| item.entries().is_some()));
    if let Some(tasks) = tasks {
        let model = tasks.items().and_then(<[Node]>::last);
        let said = model.is_some_and(|model| model.get("dependencies").is_some());
        let own = objects && graph.is_none() && !said && !entry.task.after.is_empty();
        let must: &[&str] = if own { &["id", "name", "depends_on"] } else { &["id", "name"] };
        entry.join(edits, tasks, must);
    }
    match graph {
        Some(graph) if graph.get(id).is_none() => edits.put(graph, id, &needs(entry.task)),
        Some(_) => {}
        None if !objects && !entry.task.after.is_empty() => {
            edits.put(top, "dependency_graph", &format!("{{{}: {}}}", quoted(id), needs(entry.task)));
        }
        None => {}
    }
}

/// The layer it goes into: the one that was named, or the one with the number in its id.
fn layer(plan: &Plan, task: &Addition) -> Result<GroupId, Refusal> {
    if let Some(layer) = &task.layer {
        return Ok(layer.clone());
    }
    let number = task.id.as_str().trim_start_matches('L').split('-').next().unwrap_or_default();
    let of_number = |id: &&GroupId| {
        layer_number(id.as_str()).is_some_and(|n| n.trim_start_matches('0') == number.trim_start_matches('0'))
    };
    let ids = || plan.groups.iter().map(|group| &group.id);
    let mut fitting = ids().filter(of_number);
    match (fitting.next(), fitting.next()) {
        (Some(layer), None) => Ok(layer.clone()),
        _ => {
            let names: Vec<&str> = ids().map(GroupId::as_str).collect();
            let hint = format!("--layer NAME, one of {}", names.join(", "));
            Err(refused(format!("the layer of {} is unknown", task.id), Some(hint)))
        }
    }
}

/// What of a title fits in a file's name.
fn slug(title: &str) -> String {
    let words: String =
        title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).take(6).collect();
    match words.join("-") {
        words if words.is_empty() => "task".to_owned(),
        words => config::name_from(&words),
    }
}

fn xml(task: &Addition, layer: &GroupId) -> Result<String, Refusal> {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let title = escaped(task.title.trim());
    let told = escaped(task.description.as_deref().unwrap_or(&task.title).trim());
    let mut steps: Vec<String> = Vec::new();
    for check in task.checks.iter().flatten() {
        let check = check.trim();
        // A command with backticks of its own cannot stand in them.
        steps.push(if check.contains('`') { format!("Run: {check}") } else { format!("Run: `{check}`") });
    }
    match &task.checks {
        Some(checks) if checks.is_empty() => steps.push(format!("Check: {}", task.title.trim())),
        Some(_) => {}
        None if task.files.is_empty() => {
            let hint = "--check 'COMMAND', or --file PATH, which must then exist".to_owned();
            return Err(refused("a task of this system needs a step that verifies it", Some(hint)));
        }
        None => steps.extend(task.files.iter().map(|file| format!("Verify: `{file}` exists"))),
    }
    let each = |name: &str, items: &[String]| -> String {
        items.iter().map(|item| format!("\n    <{name}>{}</{name}>", escaped(item))).collect()
    };
    let files: Vec<String> = task.files.iter().map(ToString::to_string).collect();
    let files = if files.is_empty() { String::new() } else { format!("{}\n  ", each("file", &files)) };
    Ok(format!(
        "<task>
  <meta>
    <id>{}</id>
    <name>{title}</name>
    <layer>{layer}</layer>
    <estimated-files>{}</estimated-files>
  </meta>
  <dependencies></dependencies>
  <objective>{title}</objective>
  <requirements>
    <requirement id=\"R1\">{told}</requirement>
  </requirements>
  <files-to-create>{files}</files-to-create>
  <verification>{}
  </verification>
</task>
",
        task.id,
        task.files.len(),
        each("step", &steps),
    ))
}
