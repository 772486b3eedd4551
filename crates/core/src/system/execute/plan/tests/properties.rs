//! What holds for every plan and for whatever becomes of its files.

use proptest::prelude::*;

use super::super::task::id_in_name;
use super::*;

/// A task as it is meant, to be written down and read again.
#[derive(Clone, Debug)]
struct Meant {
    layer: usize,
    name: String,
    priority: u32,
    needs: Vec<prop::sample::Index>,
    words: String,
    files: Vec<String>,
    holds: String,
    /// In the graph, at the task, or in both.
    said_in: u8,
}

fn meant() -> impl Strategy<Value = Meant> {
    (
        0..3_usize,
        "[A-Za-z<>&\"'äß→]{1,12}( [A-Za-z<>&;]{1,8}){0,2}",
        1..=99_u32,
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        "[a-z<>&\\]{}|;:äß→\n -]{0,60}",
        prop::collection::btree_set("[a-z]{1,8}(/[a-z]{1,8}){0,2}\\.rs", 0..3),
        "[A-Z][a-zA-Z_<>&]{0,10}",
        0..3_u8,
    )
        .prop_map(|(layer, name, priority, needs, words, files, holds, said_in)| {
            let files = files.into_iter().collect();
            Meant { layer, name, priority, needs, words, files, holds, said_in }
        })
}

const LAYERS: [&str; 3] = ["0-setup", "2-middle", "10-top"];

/// The id of each task, and those it waits for: of its own layer or a lower one, and before it.
fn links(meant: &[Meant]) -> Vec<(String, Vec<String>)> {
    let id =
        |nth: usize| format!("L{}-{:03}", LAYERS[meant[nth].layer].split('-').next().expect("a number"), nth);
    (0..meant.len())
        .map(|nth| {
            let lower: Vec<usize> =
                (0..nth).filter(|&other| meant[other].layer <= meant[nth].layer).collect();
            let mut needs: Vec<usize> = Vec::new();
            if !lower.is_empty() {
                needs = meant[nth].needs.iter().map(|index| lower[index.index(lower.len())]).collect();
            }
            needs.sort_unstable();
            needs.dedup();
            (id(nth), needs.into_iter().map(id).collect())
        })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn written(meant: &[Meant]) -> Folder {
    let links = links(meant);
    let mut folder = Folder::default();
    let (mut inventory, mut graph) = (Vec::new(), serde_json::Map::new());
    let mut layers: Vec<Vec<serde_json::Value>> = vec![Vec::new(); LAYERS.len()];
    for (task, (id, needs)) in meant.iter().zip(&links) {
        let layer = LAYERS[task.layer];
        let file = format!("{layer}/{id}-task.xml");
        inventory.push(serde_json::json!({"id": id, "layer": layer, "file": file}));
        let mut entry = serde_json::json!({"id": id});
        if task.said_in != 1 {
            graph.insert(id.clone(), serde_json::json!(needs));
        }
        if task.said_in != 0 {
            entry["depends_on"] = serde_json::json!(needs);
        }
        layers[task.layer].push(entry);
        let files: String = task.files.iter().map(|file| format!("<file>{file}</file>")).collect();
        let (name, words, holds) = (escaped(&task.name), escaped(&task.words), escaped(&task.holds));
        let text = format!(
            "<task><meta><id>{id}</id><name>{name}</name><layer>{layer}</layer><priority>{}</priority></meta>
            <objective>{words}</objective><files-to-create>{files}</files-to-create>
            <verification><step>Run: `test -n &quot;{id}&quot;`</step><step>Verify: `a.rs` contains `{holds}`</step>
            <step>Check: {name}</step></verification>
            <exports><interface name=\"{holds}\" type=\"struct\">{words}</interface></exports></task>",
            task.priority
        );
        folder.files.insert(file, text.into_bytes());
    }
    let layers: Vec<serde_json::Value> = layers
        .into_iter()
        .zip(LAYERS)
        .filter(|(tasks, _)| !tasks.is_empty())
        .map(|(tasks, id)| serde_json::json!({"id": id, "tasks": tasks}))
        .collect();
    let plan = serde_json::json!({"layers": layers, "dependency_graph": graph});
    let manifest = serde_json::json!({
        "schema_version": "1.0", "prd": {"slug": "x"}, "summary": {"total_tasks": meant.len()}, "task_inventory": inventory,
    });
    folder.files.insert("layer_plan.json".into(), plan.to_string().into_bytes());
    folder.files.insert("manifest.json".into(), manifest.to_string().into_bytes());
    folder
}

proptest! {
    #[test]
    fn what_is_written_is_read(meant in prop::collection::vec(meant(), 1..8)) {
        let reading = read(&written(&meant), "stem", &Config::default(), Strictness::Strict);
        prop_assert_eq!(told(&reading), "");
        let plan = &reading.plan;
        prop_assert_eq!(plan.tasks.len(), meant.len());
        for (task, (id, needs)) in meant.iter().zip(links(&meant)) {
            let spec = plan.tasks.iter().find(|spec| spec.id.as_str() == id).expect("every task is read");
            prop_assert_eq!(&spec.title, &task.name);
            prop_assert_eq!(plan.groups[spec.group as usize].id.as_str(), LAYERS[task.layer]);
            prop_assert_eq!(spec.priority, task.priority);
            let mut waits: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
            let mut needs: Vec<&str> = needs.iter().map(String::as_str).collect();
            waits.sort_unstable();
            needs.sort_unstable();
            prop_assert_eq!(waits, needs);
            let files: Vec<&str> = spec.files.iter().map(RepoPath::as_str).collect();
            prop_assert_eq!(&files, &task.files);
            prop_assert_eq!(&spec.checks[0].run, &Argv::parse(&format!("test -n \"{id}\"")));
            let look = Argv::Look { file: RepoPath::new("a.rs").expect("a path"), holds: vec![task.holds.clone()] };
            prop_assert_eq!(&spec.checks[1].run, &look);
            prop_assert_eq!(&spec.criteria, std::slice::from_ref(&task.name));
            let words: Vec<&str> = task.words.split_whitespace().collect();
            let told: Vec<&str> = spec.prompt.split("\n\n## ").next().unwrap_or_default().split_whitespace().collect();
            prop_assert!(words.is_empty() || told == words, "{:?} is told as {:?}", words, told);
        }
    }

    #[test]
    fn no_task_is_lost_in_silence(
        meant in prop::collection::vec(meant(), 1..5),
        breaks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12_usize, any::<Vec<u8>>()), 1..4),
        strictness in prop::sample::select(vec![Strictness::Lenient, Strictness::Strict]),
    ) {
        let mut folder = written(&meant);
        let names: Vec<String> = folder.files.keys().cloned().collect();
        for (file, at, length, bytes) in breaks {
            let text = folder.files.get_mut(&names[file.index(names.len())]).expect("there");
            let start = at.index(text.len() + 1);
            let end = (start + length).min(text.len());
            text.splice(start..end, bytes.into_iter().take(6));
        }
        let reading = read(&folder, "stem", &Config::default(), strictness);
        told(&reading);
        for name in names.iter().filter(|name| name.ends_with(".xml")) {
            let id = id_in_name(name).expect("a task file");
            let planned = reading.plan.tasks.iter().any(|task| task.id.as_str() == id);
            let named = reading.problems.iter().any(|problem| {
                problem.file == *name && problem.diagnostic.severity == Severity::Error
            });
            prop_assert!(planned || named, "{name} is lost");
        }
    }

    #[test]
    fn any_text_is_read(text in "(?s)(<task>|</task>|<meta>|<id>|</id>|<step>|<!--|-->|<!\\[CDATA\\[|\\]\\]>|&amp;|&|`|Run: |.){0,60}") {
        let reading = reading(&alone(&text));
        told(&reading);
        lint(&reading);
    }
}
