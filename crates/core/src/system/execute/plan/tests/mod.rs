//! Folders as people and models write them, and what is made of each.

mod content;
mod odd;
mod properties;
mod words;

use std::fmt::Write as _;

use super::{lint, read};
use crate::diagnostic::{Severity, place};
use crate::plan::{Argv, Exhausted, RepoPath, Schedule, TaskId, TaskSpec};
use crate::system::config::{Config, read_config};
use crate::system::{Folder, Reading, Strictness};
use crate::time::Span;

const MANIFEST: &str = r#"{
  "schema_version": "1.3",
  "prd": {"slug": "invoices", "name": "Invoices", "project_path": "/home/ada/invoices"},
  "summary": {"total_tasks": 3, "tasks_per_layer": {"1-foundation": 2, "2-backend": 1}},
  "task_inventory": [
    {"id": "L1-001", "name": "Add Invoice type", "layer": "1-foundation", "file": "1-foundation/L1-001-invoice.xml"},
    {"id": "L1-002", "name": "Add Invoice store", "layer": "1-foundation", "file": "1-foundation/L1-002-store.xml"},
    {"id": "L2-001", "name": "List invoices", "layer": "2-backend", "file": "2-backend/L2-001-list.xml"}
  ]
}"#;

const LAYER_PLAN: &str = r#"{
  "project_type": "brownfield",
  "layers": [
    {"id": "1-foundation", "name": "Foundation", "tasks": [
      {"id": "L1-001", "name": "Add Invoice type", "files": ["src/invoice.rs"], "depends_on": [], "provides": ["Invoice"]},
      {"id": "L1-002", "name": "Add Invoice store", "files": ["src/store.rs"], "depends_on": ["L1-001"], "provides": ["Store"]}]},
    {"id": "2-backend", "name": "Backend", "tasks": [
      {"id": "L2-001", "name": "List invoices", "depends_on": ["L1-002"]}]}
  ],
  "dependency_graph": {"L1-001": [], "L1-002": ["L1-001"], "L2-001": ["L1-002"]}
}"#;

/// A task with everything in it.
const STORE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<task>
  <!-- The store comes before everything that lists. -->
  <meta>
    <id>L1-002</id><name>Add Invoice store</name><layer>1-foundation</layer>
    <priority>2</priority><estimated-files>2</estimated-files>
    <cwd>crates/store</cwd>
    <source-feature slug="keep" moscow="must-have" satisfies-criteria="1,2" requirement-level="P0"/>
  </meta>
  <context>
    <acceptance-criteria>
      <criterion id="1">What was put is there after a restart.</criterion>
    </acceptance-criteria>
    <prd-excerpt>
      Invoices must survive a restart.

      Nobody deletes one.
    </prd-excerpt>
    <tech-stack>Rust 1.90</tech-stack>
    <project-structure>
    src/
      invoice.rs   (exists)
      store.rs     NEW
    </project-structure>
  </context>
  <dependencies>
    <interface name="Invoice" type="struct">
    pub struct Invoice {
        pub id: u64,
        pub lines: Vec&lt;Line&gt;,
    }
    </interface>
  </dependencies>
  <objective>Store invoices in a file, so that they are there after a restart.</objective>
  <requirements>
    <requirement id="R1">`Store::put` and `Store::get` in `src/store.rs`</requirement>
    <requirement id="2">
    Fields of the file:
    - id: u64
    - lines: one JSON object each
    </requirement>
  </requirements>
  <test-requirements>
    <test id="T1">File: tests/store.rs. put then get returns the same id</test>
  </test-requirements>
  <files-to-create><file>src/store.rs</file><file>./tests\store.rs</file></files-to-create>
  <verification>
    <step>Run: `cargo test --test store` - all tests pass</step>
    <step>Verify: `src/store.rs` exports Store</step>
    <step>Check: no warnings in clippy output</step>
  </verification>
  <exports>
    <interface name="Store" type="struct"><![CDATA[pub struct Store<T> { file: T }]]></interface>
    <api endpoint="/invoices" method="get">200: a list of Invoice</api>
  </exports>
</task>
"#;

/// A small task that is right.
fn small(id: &str, layer: &str) -> String {
    format!(
        "<task>
  <meta><id>{id}</id><name>Task {id}</name><layer>{layer}</layer><priority>1</priority></meta>
  <objective>Write {id}.</objective>
  <requirements><requirement id=\"1\">It is written.</requirement></requirements>
  <files-to-create><file>src/{id}.rs</file></files-to-create>
  <verification><step>Run: `test -s src/{id}.rs` - it is there</step></verification>
</task>
"
    )
}

fn folder(files: &[(&str, &str)]) -> Folder {
    Folder {
        files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
    }
}

fn invoices() -> Folder {
    folder(&[
        ("manifest.json", MANIFEST),
        ("layer_plan.json", LAYER_PLAN),
        ("analysis.json", "{}"),
        ("1-foundation/.done", ""),
        ("1-foundation/L1-001-invoice.xml", &small("L1-001", "1-foundation")),
        ("1-foundation/L1-002-store.xml", STORE),
        ("2-backend/L2-001-list.xml", &small("L2-001", "2-backend")),
    ])
}

/// One task file by itself, with just enough around it.
fn alone(text: &str) -> Folder {
    folder(&[
        ("manifest.json", r#"{"prd_slug": "alone"}"#),
        ("layer_plan.json", r#"{"layers": {"1-foundation": {"tasks": ["L1-001"]}}}"#),
        ("1-foundation/L1-001-x.xml", text),
    ])
}

fn reading(folder: &Folder) -> Reading {
    read(folder, "stem", &Config::default(), Strictness::Lenient)
}

/// The problems as people read them: `file:line:column: severity: message (label)`.
fn told(reading: &Reading) -> String {
    let mut text = String::new();
    for problem in &reading.problems {
        let diagnostic = &problem.diagnostic;
        let source = reading.texts.get(&problem.file).map_or("", String::as_str);
        assert!(source.get(diagnostic.span.clone()).is_some(), "{problem:?}");
        let (line, column) = place(source, diagnostic.span.start);
        let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        writeln!(
            text,
            "{}:{line}:{column}: {severity}: {} ({})",
            problem.file, diagnostic.message, diagnostic.label
        )
        .expect("a string takes everything");
    }
    text
}

#[test]
fn a_folder_becomes_a_plan_without_a_word() {
    let reading = read(&invoices(), "stem", &Config::default(), Strictness::Strict);
    assert_eq!(told(&reading), "");
    let plan = &reading.plan;
    assert_eq!(plan.name, "invoices");
    assert_eq!(reading.project_path.as_deref(), Some("/home/ada/invoices"));
    let groups: Vec<(&str, &str)> =
        plan.groups.iter().map(|group| (group.id.as_str(), group.title.as_str())).collect();
    assert_eq!(groups, [("1-foundation", "Foundation"), ("2-backend", "Backend")]);
    let links: Vec<String> = plan
        .tasks
        .iter()
        .map(|task| format!("{} in {} waits for {:?}", task.id, task.group, task.depends_on))
        .collect();
    assert_eq!(
        links,
        ["L1-001 in 0 waits for []", "L1-002 in 0 waits for [L1-001]", "L2-001 in 1 waits for [L1-002]",]
    );
}

#[test]
fn everything_in_a_task_file_arrives() {
    let plan = reading(&invoices()).plan;
    let task = &plan.tasks[1];
    assert_eq!(
        (task.title.as_str(), task.priority, task.agent.as_str()),
        ("Add Invoice store", 2, "default")
    );
    insta::assert_debug_snapshot!((&task.files, &task.checks, &task.criteria, &task.exports), @r#"
    (
        [
            src/store.rs,
            tests/store.rs,
        ],
        [
            Check {
                name: "cargo test --test store",
                run: Words(
                    [
                        "cargo",
                        "test",
                        "--test",
                        "store",
                    ],
                ),
                timeout: Span(
                    300000,
                ),
                cwd: Some(
                    crates/store,
                ),
                pipefail: None,
                fresh: false,
                uncached: false,
            },
            Check {
                name: "src/store.rs holds Store",
                run: Look {
                    file: src/store.rs,
                    holds: [
                        "Store",
                    ],
                },
                timeout: Span(
                    300000,
                ),
                cwd: None,
                pipefail: None,
                fresh: false,
                uncached: false,
            },
        ],
        [
            "no warnings in clippy output",
        ],
        [
            Interface {
                name: "Store",
                kind: "struct",
                text: "pub struct Store<T> { file: T }",
            },
            Endpoint {
                method: "GET",
                path: "/invoices",
                text: "200: a list of Invoice",
            },
        ],
    )
    "#);
    insta::assert_snapshot!(task.prompt, @r"
    Store invoices in a file, so that they are there after a restart.

    ## Requirements

    - **R1** `Store::put` and `Store::get` in `src/store.rs`
    - **R2** Fields of the file:
      - id: u64
      - lines: one JSON object each

    ## Tests to write first

    - **T1** File: tests/store.rs. put then get returns the same id

    ## What you can build on

    ### `Invoice` (struct)

    ```
    pub struct Invoice {
        pub id: u64,
        pub lines: Vec<Line>,
    }
    ```

    ## What this task must provide

    ### `Store` (struct)

    ```
    pub struct Store<T> { file: T }
    ```

    ### `GET /invoices`

    ```
    200: a list of Invoice
    ```

    ## Acceptance criteria

    - **1** What was put is there after a restart.

    ## Background

    Invoices must survive a restart.

    Nobody deletes one.

    ## Technology

    Rust 1.90

    ## Project structure

    ```
    src/
      invoice.rs   (exists)
      store.rs     NEW
    ```

    ## What the checks should show

    - `cargo test --test store`: all tests pass
    ");
}

#[test]
fn this_system_has_habits_of_its_own() {
    let plan = reading(&invoices()).plan;
    let settings = &plan.settings;
    assert_eq!(
        (settings.system().name(), settings.schedule, settings.max_parallel, settings.exhausted),
        ("execute", Schedule::Layered, 3, Exhausted::Stop)
    );
    let task = &plan.tasks[0];
    assert_eq!(
        (task.attempts, task.timeout, task.checks[0].timeout),
        (5, Span::minutes(10), Span::minutes(5))
    );
}

#[test]
fn the_project_may_have_other_habits() {
    let (config, problems) = read_config(
        "[policy]\nexhausted = \"continue\"\nmax_parallel = 7\nschedule = \"flow\"\n\
         [defaults]\nattempts = 2\ntimeout = \"1h\"\nagent = \"deep\"\nchecks = [\"make\"]\n\
         [agents.deep]\ncommand = \"deep\"\n",
    );
    assert!(problems.is_empty());
    let plan = read(&invoices(), "stem", &config, Strictness::Lenient).plan;
    let settings = &plan.settings;
    assert_eq!(
        (settings.schedule, settings.max_parallel, settings.exhausted),
        (Schedule::Flow, 7, Exhausted::Continue)
    );
    let task = &plan.tasks[0];
    assert_eq!((task.attempts, task.timeout, task.agent.as_str()), (2, Span::minutes(60), "deep"));
    assert_eq!(task.checks[0].run, Argv::parse("test -s src/L1-001.rs"), "its own checks are stronger");
}

#[test]
fn a_plan_is_named_by_its_manifest_or_by_its_folder() {
    let named = |manifest: &str| {
        let mut folder = invoices();
        folder.files.insert("manifest.json".into(), manifest.into());
        reading(&folder).plan.name
    };
    assert_eq!(named(r#"{"prd_slug": "docs-shape"}"#), "docs-shape");
    assert_eq!(named(r#"{"prd": {"slug": "skill-shape"}}"#), "skill-shape");
    assert_eq!(named(r#"{"prd": {"slug": "Größe / x"}}"#), "Gr-e-x");
    assert_eq!(named("{}"), "stem");
}
