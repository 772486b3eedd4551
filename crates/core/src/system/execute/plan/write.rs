//! A plan as files of this system: the manifest, the layer plan and the XML of each task. What they cannot express is
//! left out; the export reads them back and compares.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::prompt::is_none;
use super::read::{layer_number, layer_order};
use super::steps::{self, Step};
use super::task::{self, Names, is_id};
use super::xml::dedent;
use crate::order::Pairs;
use crate::plan::{Argv, Check, Export, Group, GroupId, Plan, RepoPath, TaskId, TaskSpec};
use crate::system::kit::problems::{Problems, Spanned, cut};

/// The plan with the names that this system asks for, and its texts as its files have them. Tasks and groups stay in
/// their order; where one waits for another of a later group, which is not known here, all are in one.
pub fn fit(plan: &Plan) -> Plan {
    let mut fitted = plan.clone();
    let groups: BTreeMap<&TaskId, u32> = plan.tasks.iter().map(|task| (&task.id, task.group)).into_map();
    let waits_for_later = |task: &TaskSpec| {
        task.depends_on.iter().any(|need| groups.get(need).is_some_and(|group| *group > task.group))
    };
    if plan.tasks.iter().any(waits_for_later) {
        fitted.groups.truncate(1);
        fitted.tasks.iter_mut().for_each(|task| task.group = 0);
    }
    fit_groups(&mut fitted.groups);
    fit_ids(&mut fitted);
    for task in &mut fitted.tasks {
        let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        task.title = on_one_line(&task.title);
        task.prompt = dedent(&task.prompt);
        task.criteria = task.criteria.iter().map(|text| on_one_line(text)).collect();
    }
    fitted
}

/// Layers are folders with a number, worked on in its order.
fn fit_groups(groups: &mut [Group]) {
    let numbered = groups.iter().all(|group| layer_number(group.id.as_str()).is_some());
    if numbered && groups.is_sorted_by_key(|group| layer_order(group.id.as_str())) {
        return;
    }
    for (number, group) in (1..).zip(groups) {
        let old = group.id.as_str();
        let name = layer_number(old).map_or(old, |own| &old[own.len() + 1..]);
        let id =
            GroupId::new(&format!("{number}-{name}")).or_else(|_| GroupId::new(&format!("{number}-layer")));
        group.id = id.expect("a number and a plain word are an id");
    }
}

/// `L`, the layer's number, and a number in the layer. Ids that are so already stay.
fn fit_ids(plan: &mut Plan) {
    let mut taken: HashSet<String> =
        plan.tasks.iter().filter(|task| is_id(task.id.as_str())).map(|task| task.id.folded()).collect();
    let mut last = vec![0; plan.groups.len()];
    let mut names: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    for task in plan.tasks.iter().filter(|task| !is_id(task.id.as_str())) {
        let layer = task.group as usize;
        let number = plan.groups.get(layer).and_then(|group| layer_number(group.id.as_str())).unwrap_or("1");
        let id = loop {
            last[layer] += 1;
            let id =
                TaskId::new(&format!("L{number}-{:03}", last[layer])).expect("digits and a dash are an id");
            if taken.insert(id.folded()) {
                break id;
            }
        };
        names.insert(task.id.clone(), id);
    }
    for task in &mut plan.tasks {
        for id in std::iter::once(&mut task.id).chain(&mut task.depends_on) {
            if let Some(name) = names.get(id) {
                *id = name.clone();
            }
        }
        task.depends_on.sort();
    }
}

/// The files of a plan whose names fit, by their own names below its folder.
pub fn write(plan: &Plan) -> Vec<(String, String)> {
    let layer =
        |task: &TaskSpec| plan.groups.get(task.group as usize).map_or("1-layer", |group| group.id.as_str());
    let file = |task: &TaskSpec| format!("{}/{}-{}.xml", layer(task), task.id, slug(&task.title));
    let inventory = plan
        .tasks
        .iter()
        .map(|task| json!({ "id": task.id, "name": task.title, "layer": layer(task), "file": file(task) }));
    let (mut layers, mut counts) = (Vec::new(), Map::new());
    for (group, nth) in plan.groups.iter().zip(0..) {
        let tasks: Vec<Value> = plan.tasks.iter().filter(|task| task.group == nth).map(planned).collect();
        counts.insert(group.id.to_string(), json!(tasks.len()));
        layers.push(json!({ "id": group.id, "name": group.title, "tasks": tasks }));
    }
    let graph: Map<String, Value> =
        plan.tasks.iter().map(|task| (task.id.to_string(), json!(task.depends_on))).collect();
    let manifest = json!({
        "schema_version": "1.3",
        "prd": { "slug": plan.name, "name": plan.name },
        "summary": { "total_tasks": plan.tasks.len(), "tasks_per_layer": counts },
        "task_inventory": inventory.collect::<Vec<_>>(),
    });
    let layer_plan = json!({ "project_type": "brownfield", "layers": layers, "dependency_graph": graph });
    let pretty = |value: &Value| serde_json::to_string_pretty(value).expect("its keys are strings") + "\n";
    let outline = [("manifest.json", pretty(&manifest)), ("layer_plan.json", pretty(&layer_plan))];
    let outline = outline.map(|(name, text)| (name.to_owned(), text));
    let tasks = plan.tasks.iter().map(|task| (file(task), task_file(task, layer(task))));
    outline.into_iter().chain(tasks).collect()
}

fn planned(task: &TaskSpec) -> Value {
    let provides = task.exports.iter().map(|export| match export {
        Export::Interface { name, .. } => name.clone(),
        Export::Endpoint { method, path, .. } => format!("{method} {path}"),
    });
    json!({
        "id": task.id, "name": task.title, "files": task.files, "depends_on": task.depends_on,
        "provides": provides.collect::<Vec<_>>(),
    })
}

/// A title as a part of a file's name.
fn slug(title: &str) -> String {
    const LONGEST: usize = 40;
    let letters = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let words = letters.collect::<String>();
    let mut slug = String::new();
    for word in words.split_whitespace().take_while(|word| word.len() <= LONGEST) {
        if slug.len() + word.len() > LONGEST {
            break;
        }
        slug += if slug.is_empty() { "" } else { "-" };
        slug += word;
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}

fn task_file(task: &TaskSpec, layer: &str) -> String {
    let cwd = shared_cwd(&task.checks);
    let files: Vec<&str> = task.files.iter().map(RepoPath::as_str).filter(|path| is_plain(path)).collect();
    let mut steps: Vec<String> = task.checks.iter().map(|check| step(check, cwd)).collect();
    steps.extend(task.criteria.iter().map(|text| format!("Check: {}", cut_to_fit(text))));
    if steps.is_empty() {
        // A task is nothing without a step, if only for a reviewer.
        steps.push(format!("Check: {}", cut_to_fit(&task.title)));
    }
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<task>\n  <meta>\n".to_owned();
    xml += &format!("    <id>{}</id>\n    <name>{}</name>\n", task.id, text(&task.title));
    xml += &format!("    <layer>{layer}</layer>\n    <priority>{}</priority>\n", task.priority);
    xml += &format!("    <estimated-files>{}</estimated-files>\n", task.files.len());
    if let Some(cwd) = cwd {
        xml += &format!("    <cwd>{}</cwd>\n", text(cwd.as_str()));
    }
    xml += &format!(
        "  </meta>\n  <dependencies></dependencies>\n  <objective>{}</objective>\n",
        text(&task.prompt)
    );
    xml += &section("files-to-create", files.iter().map(|path| format!("<file>{}</file>", text(path))));
    xml += &section("verification", steps.iter().map(|step| format!("<step>{}</step>", text(step))));
    xml += &section("exports", task.exports.iter().map(export));
    xml + "</task>\n"
}

fn section(name: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("    {item}\n")).collect();
    if items.is_empty() {
        format!("  <{name}></{name}>\n")
    } else {
        format!("  <{name}>\n{items}  </{name}>\n")
    }
}

fn export(export: &Export) -> String {
    match export {
        Export::Interface { name, kind, text: code } => {
            format!(
                "<interface name=\"{}\" type=\"{}\">{}</interface>",
                attribute(name),
                attribute(kind),
                text(code)
            )
        }
        Export::Endpoint { method, path, text: code } => {
            format!(
                "<api endpoint=\"{}\" method=\"{}\">{}</api>",
                attribute(path),
                attribute(method),
                text(code)
            )
        }
    }
}

/// Whether a path is read as nothing but a path.
fn is_plain(path: &str) -> bool {
    let remark = path.contains(" (") || path.contains(" - ") || path.contains('`');
    !remark && !is_none(path) && task::placeholders(path, 0..path.len(), Names::Any).is_empty()
}

/// The folder of all commands of a task, if they share one.
fn shared_cwd(checks: &[Check]) -> Option<&RepoPath> {
    let mut places =
        checks.iter().filter(|check| !matches!(check.run, Argv::Look { .. })).map(|check| check.cwd.as_ref());
    let first = places.next()??;
    places.all(|place| place == Some(first)).then_some(first)
}

/// A check in words that are read as this check, if there are any.
fn step(check: &Check, cwd: Option<&RepoPath>) -> String {
    let command = match &check.run {
        Argv::Look { file, holds } => {
            let look = match &holds.iter().map(|text| code(text)).collect::<Vec<_>>()[..] {
                [] => format!("Verify: {} exists", code(file.as_str())),
                holds => format!("Verify: {} contains {}", code(file.as_str()), holds.join(" and ")),
            };
            if reads_as(&look, &Step::Look { file: file.clone(), holds: holds.clone() }) {
                return look;
            }
            let file = shell_words::quote(file.as_str()).into_owned();
            let holds = holds.iter().map(|text| format!("grep -qF -e {} {file}", shell_words::quote(text)));
            std::iter::once(format!("test -s {file}")).chain(holds).collect::<Vec<_>>().join(" && ")
        }
        // The reader of the file has to judge it.
        Argv::Review { ask, .. } => return format!("Check: {}", ask.lines().next().unwrap_or_default()),
        Argv::Words(words) => shell_words::join(words),
        Argv::Shell(line) => line.trim().to_owned(),
    };
    let elsewhere = check.cwd.as_ref().filter(|place| Some(*place) != cwd);
    let command = match elsewhere {
        Some(place) => format!("cd {} && {command}", shell_words::quote(place.as_str())),
        None => command,
    };
    // Lines of a script would be joined; in quotes they stay.
    let quoted = format!("sh -c {}", shell_words::quote(&command));
    for command in [command, quoted] {
        let run = format!("Run: {}", code(&command));
        if reads_as(&run, &Step::Run { command, expected: String::new() }) {
            return run;
        }
    }
    format!("Check: {}", cut(&check.name))
}

fn reads_as(step: &str, meant: &Step) -> bool {
    let said = Spanned { value: step, at: 0..step.len() };
    steps::read(&said, &mut Problems::default())[..] == [meant.clone()]
}

/// In backticks, with more of them around it than are in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

/// A condition that is not too long for a step.
fn cut_to_fit(condition: &str) -> String {
    let room = steps::LONGEST - "Check: ".len();
    if condition.len() > room { cut(condition) } else { condition.to_owned() }
}

/// What may stand between tags.
fn text(raw: &str) -> String {
    let mut plain: String = raw.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    // What looks like a gap that a template left would be refused.
    for place in task::placeholders(&plain, 0..plain.len(), Names::OfTemplates).into_iter().rev() {
        plain.insert(place.start + 1, ' ');
    }
    if plain.contains(['<', '&']) && !plain.contains("]]>") {
        return format!("<![CDATA[{plain}]]>");
    }
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn attribute(raw: &str) -> String {
    let line: String = raw.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
