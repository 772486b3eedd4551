//! The plan that `piton new execute` writes: small, complete, and explained where one looks.

use crate::system::config::name_from;

/// The files of a plan that runs as it stands, by their names below its folder. A name that cannot be one is made fit.
pub fn starter(name: &str) -> Vec<(String, String)> {
    let name = name_from(name);
    let file = |path: &str, text: &str| (path.to_owned(), text.replace("NAME", &name));
    vec![
        file("manifest.json", MANIFEST),
        file("layer_plan.json", LAYER_PLAN),
        file("1-foundation/L1-001-notes.xml", NOTES),
        file("1-foundation/L1-002-greeting.xml", GREETING),
        file("2-backend/L2-001-readme.xml", README),
    ]
}

const MANIFEST: &str = r#"{
  "schema_version": "1.3",
  "prd": {"slug": "NAME", "name": "NAME"},
  "summary": {"total_tasks": 3, "tasks_per_layer": {"1-foundation": 2, "2-backend": 1}},
  "task_inventory": [
    {"id": "L1-001", "name": "Describe the project", "layer": "1-foundation", "file": "1-foundation/L1-001-notes.xml"},
    {"id": "L1-002", "name": "Write the greeting", "layer": "1-foundation", "file": "1-foundation/L1-002-greeting.xml"},
    {"id": "L2-001", "name": "Link both from the README", "layer": "2-backend", "file": "2-backend/L2-001-readme.xml"}
  ]
}
"#;

const LAYER_PLAN: &str = r#"{
  "project_type": "brownfield",
  "layers": [
    {
      "id": "1-foundation",
      "name": "Foundation",
      "description": "What everything else builds on; layers are worked on in the order of their numbers",
      "tasks": [
        {"id": "L1-001", "name": "Describe the project", "files": ["NOTES.md"], "depends_on": [], "provides": ["notes"]},
        {"id": "L1-002", "name": "Write the greeting", "files": ["greet.sh"], "depends_on": [], "provides": ["greet"]}
      ]
    },
    {
      "id": "2-backend",
      "name": "Backend",
      "description": "What needs the foundation",
      "tasks": [
        {"id": "L2-001", "name": "Link both from the README", "files": ["README.md"], "depends_on": ["L1-001", "L1-002"], "provides": []}
      ]
    }
  ],
  "dependency_graph": {"L1-001": [], "L1-002": [], "L2-001": ["L1-001", "L1-002"]}
}
"#;

const NOTES: &str = r#"<task>
  <!-- See what the plan means: `piton plan`; work on it: `piton run`. Replace these tasks by your own. -->
  <meta>
    <id>L1-001</id>                      <!-- L, the layer's number, three digits; the file's name begins with it -->
    <name>Describe the project</name>
    <layer>1-foundation</layer>          <!-- the folder this file lies in -->
    <priority>1</priority>               <!-- 1 is first in its layer -->
    <estimated-files>1</estimated-files>
  </meta>

  <!-- All an agent needs to know: it sees this file's content and its worktree, nothing else. -->
  <context>
    <prd-excerpt>A new developer should be able to build the project with one page of notes.</prd-excerpt>
    <tech-stack>Markdown</tech-stack>
  </context>

  <!-- What earlier tasks made, with its code. Dependencies are in layer_plan.json. -->
  <dependencies></dependencies>

  <objective>Write one page about this project.</objective>

  <requirements>
    <requirement id="R1">NOTES.md says what the project is, how it is built and how it is tested</requirement>
    <requirement id="R2">NOTES.md has a heading `# Notes`</requirement>
  </requirements>

  <test-requirements>
    <test id="T1">NOTES.md is there and has the heading</test>
  </test-requirements>

  <files-to-create>                      <!-- three at most, tests aside -->
    <file>NOTES.md</file>
  </files-to-create>

  <!-- Run: a command. Verify: a file and what it holds. Check: a condition for a reviewer. -->
  <verification>
    <step>Run: `grep -q "^# Notes" NOTES.md` - the heading is there</step>
    <step>Verify: `NOTES.md` exists</step>
    <step>Check: the page can be read in a minute</step>
  </verification>

  <exports>
    <interface name="notes" type="document">NOTES.md, with the heading `# Notes`</interface>
  </exports>
</task>
"#;

const GREETING: &str = r#"<task>
  <meta>
    <id>L1-002</id>
    <name>Write the greeting</name>
    <layer>1-foundation</layer>
    <priority>2</priority>
    <estimated-files>1</estimated-files>
  </meta>
  <context>
    <prd-excerpt>The project greets the person who starts it.</prd-excerpt>
    <tech-stack>POSIX shell</tech-stack>
  </context>
  <dependencies></dependencies>
  <objective>Write a script that greets by name.</objective>
  <requirements>
    <!-- Code needs no escaping in CDATA; elsewhere write &lt; and &amp;. -->
    <requirement id="R1"><![CDATA[`sh greet.sh Ada` prints `Hello, Ada!`; without a name it prints `Hello!`]]></requirement>
  </requirements>
  <test-requirements>
    <test id="T1">`sh greet.sh Ada` prints `Hello, Ada!`</test>
  </test-requirements>
  <files-to-create>
    <file>greet.sh</file>
  </files-to-create>
  <verification>
    <step>Run: `sh greet.sh Ada | grep "^Hello, Ada!$"` - it greets by name</step>
    <step>Run: `sh greet.sh | grep "^Hello!$"` - and without one</step>
  </verification>
  <exports>
    <interface name="greet" type="script">sh greet.sh [WHO]</interface>
  </exports>
</task>
"#;

const README: &str = r#"<task>
  <meta>
    <id>L2-001</id>
    <name>Link both from the README</name>
    <layer>2-backend</layer>
    <priority>1</priority>
    <estimated-files>1</estimated-files>
  </meta>
  <context>
    <prd-excerpt>A person who finds the project also finds its notes and its greeting.</prd-excerpt>
    <tech-stack>Markdown</tech-stack>
  </context>
  <dependencies>
    <interface name="notes" type="document">NOTES.md, with the heading `# Notes`</interface>
    <interface name="greet" type="script">sh greet.sh [WHO]</interface>
  </dependencies>
  <objective>Point to the notes and to the greeting in README.md.</objective>
  <requirements>
    <requirement id="R1">README.md links to NOTES.md and shows how greet.sh is called; what it says already stays</requirement>
  </requirements>
  <test-requirements>
    <test id="T1">README.md names both files</test>
  </test-requirements>
  <files-to-create>
    <file>README.md</file>
  </files-to-create>
  <verification>
    <step>Verify: `README.md` contains `NOTES.md` and `greet.sh`</step>
  </verification>
  <exports>
    <interface name="readme" type="document">README.md</interface>
  </exports>
</task>
"#;
