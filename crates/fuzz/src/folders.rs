//! Plans that are folders: whatever their files hold, problems are shown at their own bytes, and no task file is left
//! out in silence.

use std::collections::BTreeMap;

use piton_core::diagnostic::Severity;
use piton_core::plan::{Argv, Graph, TaskId};
use piton_core::system::config::Config;
use piton_core::system::execute::plan::{lint, read};
use piton_core::system::kit::text;
use piton_core::system::{Folder, Problem, Reading, Strictness};

use crate::names::safe_path;
use crate::plans::{can_be_told, point_inside, safe};
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\n==> 1-a/L1-003-c.xml <==\n",
    "\n==> 2-b/L2-001-d.xml <==\n",
    "\n==> layer_plan.json <==\n",
    "\n==> manifest.json <==\n",
    "<task>",
    "</task>",
    "<meta>",
    "</meta>",
    "<id>",
    "</id>",
    "L1-001",
    "L1-002",
    "L2-001",
    "<layer>1-a</layer>",
    "<name>x</name>",
    "<priority>",
    "<cwd>",
    "<context>",
    "<objective>",
    "<requirement id=\"1\">",
    "</requirement>",
    "<file>",
    "</file>",
    "<verification>",
    "<step>",
    "</step>",
    "Run: `",
    "Verify: `",
    "` contains `",
    "Check: ",
    " - ",
    "<interface name=\"",
    "\" type='",
    "<api endpoint=\"/\" method=\"GET\"/>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<!DOCTYPE ",
    "<?",
    "?>",
    "&amp;",
    "&nbsp;",
    "&#x",
    "&",
    "<",
    "Vec<T>",
    "```xml\n",
    "{TARGET_DIR}",
    "rm -rf .git",
    "\"dependency_graph\": {",
    "\"depends_on\": [",
    "\"layers\": ",
    "\"schema_version\": \"2\"",
    "\\ud800",
    "\u{feff}",
    "\u{202e}",
    "\r\n",
    "../",
    "`",
    "[[[[",
];

/// The files of a folder in one input, each under a line with its name.
pub(crate) fn folder(bytes: &[u8]) -> Folder {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut name: Option<String> = None;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let head = line.strip_suffix(b"\n").unwrap_or(line);
        let head = head.strip_prefix(b"==> ").and_then(|rest| rest.strip_suffix(b" <=="));
        match (head, &name) {
            (Some(head), _) => name = Some(String::from_utf8_lossy(head).into_owned()),
            (None, Some(name)) => files.entry(name.clone()).or_default().extend_from_slice(line),
            (None, None) => {}
        }
    }
    Folder { files }
}

pub(crate) fn execute(bytes: &[u8]) {
    let folder = folder(bytes);
    let config = Config::default();
    let reading = read(&folder, "stem", &config, Strictness::Lenient);
    let again = read(&folder, "stem", &config, Strictness::Lenient);
    assert_eq!((&reading.plan, &reading.problems), (&again.plan, &again.problems), "reading twice");
    let strict = read(&folder, "stem", &config, Strictness::Strict);
    assert_eq!(reading.plan, strict.plan, "strictness changes what is allowed, not what is read");
    assert!(reading.is_usable() || !strict.is_usable());
    for found in [&reading.problems, &strict.problems, &same(|| lint(&reading))] {
        shown_in_their_files(&reading, found);
    }
    let plan = &reading.plan;
    safe(plan);
    for check in plan.tasks.iter().flat_map(|task| &task.checks) {
        check.cwd.iter().for_each(|path| safe_path(path.as_str()));
        if let Argv::Look { file, .. } = &check.run {
            safe_path(file.as_str());
        }
        assert!(!check.name.chars().any(char::is_control), "{:?}", check.name);
    }
    plan.tasks.iter().take(5).for_each(can_be_told);
    for name in folder.files.keys().filter(|name| is_task_file(name)) {
        let planned = plan.tasks.iter().any(|task| {
            let file = name.rsplit('/').next().unwrap_or_default();
            file.get(..task.id.as_str().len()).is_some_and(|id| id.eq_ignore_ascii_case(task.id.as_str()))
        });
        let named = reading.problems.iter().any(|problem| {
            problem.diagnostic.severity == Severity::Error
                && (problem.file == *name || problem.diagnostic.message.contains(name.as_str()))
        });
        assert!(planned || named, "{name} is lost");
    }
    if reading.is_usable() {
        assert!(!plan.tasks.is_empty() && Graph::new(&plan.tasks).is_ok());
        for task in &plan.tasks {
            let group = |id: &TaskId| {
                plan.tasks.iter().find(|other| other.id == *id).expect("a task of the plan").group
            };
            assert!(task.depends_on.iter().all(|id| group(id) <= task.group), "{} waits for ever", task.id);
        }
    }
}

fn is_task_file(name: &str) -> bool {
    let layer = name.split('/').next().and_then(|folder| folder.split('-').next()).unwrap_or_default();
    let hidden = name.split('/').any(|part| part.starts_with('.'));
    let numbered = !layer.is_empty() && layer.bytes().all(|byte| byte.is_ascii_digit());
    numbered && !hidden && name.contains('/') && name.ends_with(".xml")
}

pub(crate) fn shown_in_their_files(reading: &Reading, problems: &[Problem]) {
    let mut by_file: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for problem in problems {
        by_file.entry(&problem.file).or_default().push(problem.diagnostic.clone());
    }
    for (file, found) in by_file {
        point_inside(reading.texts.get(file).expect("a file that was read"), &found);
    }
}

pub(crate) const BYTES: &[&str] =
    &["\u{feff}", "\r", "\r\n", "\n", "é", "\u{0}", "{", "🧗", "\u{fffd}", "\u{200b}"];

/// Any bytes become text with lines that end in one way, or are refused.
pub(crate) fn decode(bytes: &[u8]) {
    let decoded = same(|| text::decode(bytes));
    point_inside(&decoded.text, &[]);
    decoded.problems.iter().for_each(|problem| assert!(decoded.text.get(problem.span.clone()).is_some()));
    assert!(!decoded.text.contains(['\r', '\0']));
    let refused = decoded.problems.iter().any(|problem| problem.severity == Severity::Error);
    assert!(!refused || decoded.text.is_empty());
    if !refused {
        let again = text::decode_with(decoded.text.as_bytes(), Strictness::Strict);
        assert!(
            again.problems.is_empty() || decoded.text.starts_with('\u{feff}'),
            "what was decoded is text"
        );
    }
    assert!(!text::key(&decoded.text).contains(['\u{200b}', '\u{a0}']));
}
