//! The files one meets in the wild, one test for each kind.

use super::*;

fn problems(folder: &Folder) -> String {
    told(&reading(folder))
}

fn strictly(folder: &Folder) -> Reading {
    read(folder, "stem", &Config::default(), Strictness::Strict)
}

/// A task file with another text in one of its places.
fn changed(from: &str, to: &str) -> Folder {
    let text = small("L1-001", "1-foundation");
    assert!(text.contains(from), "{from}");
    alone(&text.replace(from, to))
}

/// The checks and criteria of a task with these steps, and what was said about them.
fn steps(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("<step>{step}</step>\n")).collect();
    let folder = changed("<step>Run: `test -s src/L1-001.rs` - it is there</step>", &steps);
    let reading = reading(&folder);
    let mut text = told(&reading);
    for task in &reading.plan.tasks {
        task.checks.iter().for_each(|check| writeln!(text, "{:?}", check.run).expect("a string"));
        task.criteria.iter().for_each(|line| writeln!(text, "criterion: {line}").expect("a string"));
    }
    text
}

#[test]
fn bytes_of_any_kind_are_read_or_refused_by_name() {
    let task = small("L1-001", "1-foundation");
    let mut with_bom = alone("");
    for name in ["manifest.json", "layer_plan.json", "1-foundation/L1-001-x.xml"] {
        let text =
            if name.ends_with("xml") { task.as_bytes().to_vec() } else { with_bom.files[name].clone() };
        let crlf = String::from_utf8(text).expect("UTF-8").replace('\n', "\r\n");
        with_bom.files.insert(name.into(), [b"\xef\xbb\xbf", crlf.as_bytes()].concat());
    }
    let reading = strictly(&with_bom);
    assert_eq!(told(&reading), "");
    assert!(!format!("{:?}", reading.plan).contains("\\r"));
}

#[test]
fn a_task_file_that_is_no_text_is_refused_by_name() {
    let mut folder = alone("");
    folder.files.insert("1-foundation/L1-001-x.xml".into(), b"<\0t\0a\0s\0k\0>\0".to_vec());
    insta::assert_snapshot!(problems(&folder), @"1-foundation/L1-001-x.xml:1:1: error: this file looks like UTF-16 without a byte order mark (save it as UTF-8)");
    let broken = small("L1-001", "1-foundation").replace("It is", "It \u{1}s").into_bytes();
    let broken = broken.into_iter().map(|byte| if byte == 1 { 0xff } else { byte }).collect();
    folder.files.insert("1-foundation/L1-001-x.xml".into(), broken);
    insta::assert_snapshot!(problems(&folder), @"1-foundation/L1-001-x.xml:4:40: warning: byte 189 of this file is not UTF-8 (read as `�`)");
    assert!(!strictly(&folder).is_usable());
    assert!(reading(&folder).is_usable());
    folder.files.insert("1-foundation/L1-001-x.xml".into(), vec![b' '; 17 << 20]);
    insta::assert_snapshot!(problems(&folder), @"1-foundation/L1-001-x.xml:1:1: error: this file has 17 MiB; 16 are read (too large to be read)");
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(told(&strictly(&alone(small("L1-001", "1-foundation").trim_end()))), "");
}

#[test]
fn text_in_any_language_is_kept() {
    let reading = strictly(&changed("Write L1-001.", "เขียน 中文 größer “so” — 🧗"));
    assert_eq!(told(&reading), "");
    assert!(reading.plan.tasks[0].prompt.starts_with("เขียน 中文 größer “so” — 🧗"));
}

#[test]
fn what_cannot_be_seen_does_not_change_an_id() {
    let reading = reading(&changed("<id>L1-001</id>", "<id>\u{feff}L1\u{2013}001\u{200b}\u{a0}</id>"));
    assert_eq!(told(&reading), "");
    assert_eq!(reading.plan.tasks[0].id.as_str(), "L1-001");
}

#[test]
fn tabs_and_hard_spaces_are_space() {
    let text = small("L1-001", "1-foundation").replace("\n  ", "\n\t\u{a0}").replace("Run: ", "Run:\u{a0}");
    let reading = strictly(&alone(&text));
    assert_eq!(told(&reading), "");
    assert_eq!(reading.plan.tasks[0].checks[0].run, Argv::parse("test -s src/L1-001.rs"));
    let block = changed("It is written.", "\n\t\tFields:\n\t\t- a\n\t\t  - b\n\t");
    assert!(super::reading(&block).plan.tasks[0].prompt.contains("Fields:\n  - a\n    - b"));
}

#[test]
fn an_empty_file_is_refused() {
    insta::assert_snapshot!(problems(&alone(" \n")), @"1-foundation/L1-001-x.xml:1:1: error: this file is empty (a task file holds one `<task>…</task>`)");
    insta::assert_snapshot!(problems(&folder(&[("manifest.json", ""), ("layer_plan.json", "[]")])), @r"
    layer_plan.json:1:1: error: this file must be an object (this is a list)
    manifest.json:1:1: error: this file is empty (an object is expected)
    ");
}

#[test]
fn code_that_nobody_escaped_is_repaired_and_told() {
    let folder = changed("It is written.", "Vec<T> && a < b; AT&T, x &lt; y");
    let reading = reading(&folder);
    insta::assert_snapshot!(told(&reading), @r"
    1-foundation/L1-001-x.xml:4:40: warning: a bare `<` in the text (read as is; in XML write `&lt;`)
    1-foundation/L1-001-x.xml:4:44: warning: a bare `&` in the text (read as is; in XML write `&amp;`)
    1-foundation/L1-001-x.xml:4:49: warning: a bare `<` in the text (read as is; in XML write `&lt;`)
    1-foundation/L1-001-x.xml:4:56: warning: a bare `&` in the text (read as is; in XML write `&amp;`)
    ");
    assert!(
        reading.plan.tasks[0].prompt.contains("Vec<T> && a < b; AT&T, x < y"),
        "{}",
        reading.plan.tasks[0].prompt
    );
    assert!(!strictly(&folder).is_usable());
}

#[test]
fn markup_in_text_that_is_well_formed_is_text() {
    let reading = strictly(&changed("It is written.", "Render <b class=\"x\">bold</b> and <br/>"));
    assert_eq!(told(&reading), "");
    assert!(reading.plan.tasks[0].prompt.contains("Render <b class=\"x\">bold</b> and <br/>"));
}

#[test]
fn comments_entities_and_cdata_are_read_as_they_were_meant() {
    let folder =
        changed("It is written.", "<!-- a -- b -->one&nbsp;two ]]> &#x41;&unknown;<![CDATA[<x> & ]]>");
    let reading = reading(&folder);
    insta::assert_snapshot!(told(&reading), @r"
    1-foundation/L1-001-x.xml:4:44: warning: a comment holds `--` (XML has no such comments)
    1-foundation/L1-001-x.xml:4:55: warning: `&nbsp;` is not an XML entity (read as '\u{a0}')
    1-foundation/L1-001-x.xml:4:65: warning: `]]>` in the text (read as is)
    1-foundation/L1-001-x.xml:4:75: warning: a bare `&` in the text (read as is; in XML write `&amp;`)
    ");
    assert!(reading.plan.tasks[0].prompt.contains("one\u{a0}two ]]> A&unknown;<x> &"));
    assert!(!strictly(&folder).is_usable());
}

#[test]
fn documents_with_declarations_are_refused() {
    let text = format!(
        "<!DOCTYPE task [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n{}",
        small("L1-001", "1-foundation")
    );
    insta::assert_snapshot!(problems(&alone(&text)), @"1-foundation/L1-001-x.xml:1:1: error: this file declares a document type or entities (Piton does not read these)");
}

#[test]
fn a_task_in_a_fence_is_taken_out_of_it() {
    let folder = alone(&format!("Here it is:\n\n```xml\n{}```\nDone.\n", small("L1-001", "1-foundation")));
    let reading = reading(&folder);
    insta::assert_snapshot!(told(&reading), @r"
    1-foundation/L1-001-x.xml:1:1: warning: there is text before `<task>` (ignored)
    1-foundation/L1-001-x.xml:11:1: warning: there is text after `</task>` (ignored)
    ");
    assert_eq!(reading.plan.tasks.len(), 1);
    assert!(!strictly(&folder).is_usable());
}

#[test]
fn a_file_holds_one_task() {
    let one = small("L1-001", "1-foundation");
    insta::assert_snapshot!(problems(&alone(&format!("{one}{one}"))), @"1-foundation/L1-001-x.xml:8:1: error: there is a second `<task>` in this file (a file holds one task)");
    insta::assert_snapshot!(problems(&alone("<tasks/>")), @"1-foundation/L1-001-x.xml:1:1: error: there is no `<task>` in this file (a task file holds one `<task>…</task>`)");
}

#[test]
fn a_task_holds_no_other() {
    let inside = "<dependencies><task>L1-000</task></dependencies><objective>";
    insta::assert_snapshot!(problems(&changed("<objective>", inside)), @"1-foundation/L1-001-x.xml:3:17: error: a `<task>` begins inside `<dependencies>` (a file holds one task, and tasks cannot be nested)");
    insta::assert_snapshot!(problems(&changed("<name>", "<name>First</name><name>")), @"1-foundation/L1-001-x.xml:2:42: error: `<name>` appears twice (keep one of them)");
}

#[test]
fn what_is_not_closed_swallows_nothing() {
    let missing = |closing: &str| {
        let folder = changed(closing, "");
        assert!(!reading(&folder).is_usable());
        problems(&folder)
    };
    insta::assert_snapshot!(missing("</id>"), @"1-foundation/L1-001-x.xml:2:9: error: `<id>` is not closed (`</id>` is missing, or comes too late)");
    insta::assert_snapshot!(missing("</meta>"), @"1-foundation/L1-001-x.xml:2:3: error: `<meta>` is not closed (`</meta>` is missing, or comes too late)");
    insta::assert_snapshot!(missing("</objective>"), @"1-foundation/L1-001-x.xml:3:3: error: `<objective>` is not closed (`</objective>` is missing, or comes too late)");
    insta::assert_snapshot!(missing("</requirement>"), @"1-foundation/L1-001-x.xml:4:17: error: `<requirement>` is not closed (`</requirement>` is missing, or comes too late)");
    insta::assert_snapshot!(missing("</requirements>"), @"1-foundation/L1-001-x.xml:4:3: error: `<requirements>` is not closed (`</requirements>` is missing, or comes too late)");
    insta::assert_snapshot!(missing("</task>"), @"1-foundation/L1-001-x.xml:1:1: error: `<task>` is not closed (`</task>` is missing, or comes too late)");
    let folder = changed("<requirement id=\"1\">", "<requirement id=\"1>");
    insta::assert_snapshot!(problems(&folder), @r"
    1-foundation/L1-001-x.xml:4:17: warning: a bare `<` in the text (read as is; in XML write `&lt;`)
    1-foundation/L1-001-x.xml:4:33: error: the value of `id` is not closed (this quote has no partner in its line)
    1-foundation/L1-001-x.xml:4:50: warning: this tag closes nothing (ignored)
    ");
}

#[test]
fn a_task_is_what_its_file_and_its_folder_say() {
    insta::assert_snapshot!(problems(&changed("<id>L1-001", "<id>L1-002")), @"1-foundation/L1-001-x.xml:2:13: error: this task is `L1-002`, but its file is `1-foundation/L1-001-x.xml` (the file's name says `L1-001`)");
    insta::assert_snapshot!(problems(&changed("<layer>1-foundation", "<layer>2-backend")), @"1-foundation/L1-001-x.xml:2:55: error: this task names layer `2-backend`, but its file is `1-foundation/L1-001-x.xml` (it is in the folder `1-foundation`)");
    insta::assert_snapshot!(problems(&changed("<id>L1-001", "<id>T1")), @r#"1-foundation/L1-001-x.xml:2:13: error: "T1" is not a task id (write `L`, the number of the layer, and at least three digits: `L1-002`)"#);
    let task = small("L1-001", "1-foundation");
    let twice = folder(&[
        ("manifest.json", "{}"),
        ("layer_plan.json", "{}"),
        ("1-foundation/L1-001-a.xml", &task),
        ("1-foundation/L1-001-b.xml", &task),
    ]);
    insta::assert_snapshot!(problems(&twice), @"1-foundation/L1-001-b.xml:2:13: error: `L1-001` is the id of two tasks: `1-foundation/L1-001-a.xml` and `1-foundation/L1-001-b.xml` (give one of them another id)");
    let nowhere = folder(&[
        ("manifest.json", "{}"),
        ("layer_plan.json", "{}"),
        ("L1-001-a.xml", &task),
        ("x/a.xml", &task),
    ]);
    insta::assert_snapshot!(problems(&nowhere), @r"
    L1-001-a.xml:1:1: error: `L1-001-a.xml` is not in a layer (a layer is a folder with a number and a name, like `2-backend`)
    x/a.xml:1:1: error: `x/a.xml` is not in a layer (a layer is a folder with a number and a name, like `2-backend`)
    ");
}

#[test]
fn layers_are_ordered_by_number_and_may_have_any() {
    let files: Vec<(String, String)> =
        [("10-late", "L10-0001"), ("2-early", "L2-001"), ("0-setup", "L0-001")]
            .iter()
            .map(|(layer, id)| (format!("{layer}/{id}-x.xml"), small(id, layer)))
            .collect();
    let mut all: Vec<(&str, &str)> = vec![("manifest.json", "{}"), ("layer_plan.json", "{}")];
    all.extend(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let reading = strictly(&folder(&all));
    assert_eq!(told(&reading), "");
    let groups: Vec<&str> = reading.plan.groups.iter().map(|group| group.id.as_str()).collect();
    assert_eq!(groups, ["0-setup", "2-early", "10-late"]);
    let tasks: Vec<&str> = reading.plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(tasks, ["L0-001", "L2-001", "L10-0001"]);
}

#[test]
fn without_meta_or_verification_there_is_no_task() {
    let text = small("L1-001", "1-foundation");
    let cut = |from: &str, to: &str| {
        let (start, end) = (text.find(from).expect("there"), text.find(to).expect("there") + to.len());
        problems(&alone(&format!("{}{}", &text[..start], &text[end..])))
    };
    insta::assert_snapshot!(cut("<meta>", "</meta>"), @"1-foundation/L1-001-x.xml:1:1: error: `<meta>` is missing (a task needs its `meta`)");
    insta::assert_snapshot!(cut("<verification>", "</verification>"), @"1-foundation/L1-001-x.xml:1:1: error: `<verification>` is missing (a task needs its `verification`)");
    insta::assert_snapshot!(cut("<step>", "</step>"), @"1-foundation/L1-001-x.xml:6:3: error: no step verifies this task (add `<step>Run: `…`</step>`: a command that proves it done)");
    insta::assert_snapshot!(cut("<name>", "</name>"), @"1-foundation/L1-001-x.xml:2:3: error: `<name>` is missing (a task needs its `name`)");
    assert_eq!(cut("<requirements>", "</requirements>"), "", "that is for the lint");
    assert_eq!(cut("<files-to-create>", "</files-to-create>"), "");
}

#[test]
fn paths_stay_in_the_project() {
    let file = |path: &str| {
        let reading = reading(&changed("<file>src/L1-001.rs</file>", &format!("<file>{path}</file>")));
        let files = reading.plan.tasks.first().map(|task| task.files.clone());
        format!("{}{files:?}", told(&reading))
    };
    assert_eq!(file("`./src\\a.rs`"), "Some([src/a.rs])");
    insta::assert_snapshot!(file("src/a.rs (modify)"), @r#"
    1-foundation/L1-001-x.xml:5:26: warning: the file "src/a.rs (modify)" has a comment (read as `src/a.rs`)
    Some([src/a.rs])
    "#);
    insta::assert_snapshot!(file("/etc/passwd"), @r#"
    1-foundation/L1-001-x.xml:5:26: error: "/etc/passwd" cannot be a file of this task: it is absolute, or leaves the project (write it from the top of the project, like `src/a.rs`)
    Some([])
    "#);
    insta::assert_snapshot!(file("../a.rs"), @r#"
    1-foundation/L1-001-x.xml:5:26: error: "../a.rs" cannot be a file of this task: it is absolute, or leaves the project (write it from the top of the project, like `src/a.rs`)
    Some([])
    "#);
    assert_eq!(file("None"), "Some([])");
}

#[test]
fn steps_are_understood_in_every_spelling() {
    insta::assert_snapshot!(steps(&[
        "Run: `cargo test -p api` - all tests pass",
        "run: cargo test -p api",
        "**Run:** `make`",
        "1. Run\u{ff1a} ls -la dir - shows files",
        "Run `npm test`",
        "`pytest -q` passes",
        "Run: echo \"a - b\" - prints it",
        "Run: `python -c \"import x\nprint(1)\"` - prints `1`",
        "Run: `cargo test\n      --all`",
        "Verify: `src/lib.rs` exports Router",
        "verify: src/lib.rs exports Router and Store, and more",
        "Verify: `src/lib.rs` contains `fn a()` and `fn b()`",
        "Verify: `docs/a.md` exists",
        "Verify: `a.txt` and `b/c.txt` exist",
        "Verify: `src/lib.rs` defines Router class",
        "Verify: `app/db.py` has get_db and Session.local_x for tests",
        "Verify: \u{a0}`src/lib.rs`\texports `Router` from `src/router.rs`",
        "Verify: `a.md` contains `no warnings` and `does not`",
        "Check: no warnings in clippy output",
    ]), @r#"
    Words(["cargo", "test", "-p", "api"])
    Words(["cargo", "test", "-p", "api"])
    Words(["make"])
    Words(["ls", "-la", "dir"])
    Words(["npm", "test"])
    Words(["pytest", "-q"])
    Words(["echo", "a - b"])
    Shell("python -c \"import x\nprint(1)\"")
    Words(["cargo", "test", "--all"])
    Look { file: src/lib.rs, holds: ["Router"] }
    Look { file: src/lib.rs, holds: ["Router", "Store"] }
    Look { file: src/lib.rs, holds: ["fn a()", "fn b()"] }
    Look { file: docs/a.md, holds: [] }
    Look { file: a.txt, holds: [] }
    Look { file: b/c.txt, holds: [] }
    Look { file: src/lib.rs, holds: ["Router"] }
    Look { file: app/db.py, holds: ["get_db", "Session.local_x"] }
    Look { file: src/lib.rs, holds: ["Router"] }
    Look { file: a.md, holds: ["no warnings", "does not"] }
    criterion: no warnings in clippy output
    "#);
}

#[test]
fn a_step_that_is_not_clear_is_told() {
    insta::assert_snapshot!(steps(&[
        "cargo test",
        "Run migration command - completes without error",
        "Run: make a - b - c",
        "Run: make dev (in background)",
        "Run: `a` and `b`",
        "Run: cd web &amp;&amp; `npm test`",
        "Verify: the server starts",
        "Verify: `src/a.rs` compiles cleanly",
        "Verify: `src/a.rs` does not contain TODO",
        "Verify: `cargo build` succeeds",
        "Verify: `README.md` contains instructions for setup",
        "Verify: `src/a.rs` exports the following functions",
        "Run: `npm test` in `web/`",
        "Verify: the Node.js 18.2 server and/or proxy starts",
    ]), @r#"
    1-foundation/L1-001-x.xml:6:23: warning: this step has no prefix (read as a command; write `Run: …`)
    1-foundation/L1-001-x.xml:7:7: warning: this step has no prefix (left to the reviewer; write `Run:`, `Verify:` or `Check:`)
    1-foundation/L1-001-x.xml:8:7: warning: it is not clear where this command ends (run as `make a - b`)
    1-foundation/L1-001-x.xml:9:7: warning: this looks like a command with a comment (put the command in backticks)
    1-foundation/L1-001-x.xml:10:7: warning: this step has several commands (each becomes its own check)
    1-foundation/L1-001-x.xml:11:7: warning: only a part of this command is in backticks (all of it is run, without the backticks)
    1-foundation/L1-001-x.xml:12:7: warning: this step does not name a file (left to the reviewer)
    1-foundation/L1-001-x.xml:13:7: warning: Piton cannot check this (the file must exist; the rest is left to the reviewer)
    1-foundation/L1-001-x.xml:14:7: warning: Piton cannot check that something is absent (left to the reviewer)
    1-foundation/L1-001-x.xml:15:7: warning: `Verify:` names a command (run as `cargo build`; write `Run:`)
    1-foundation/L1-001-x.xml:16:7: warning: it is not clear what the file should contain (only its existence is checked; quote the text)
    1-foundation/L1-001-x.xml:17:7: warning: it is not clear what the file should contain (only its existence is checked; quote the text)
    1-foundation/L1-001-x.xml:18:7: warning: the command is run at the top of the project, not in `web/` (set `<cwd>` in `<meta>`, or write `cd … &&` in the command)
    1-foundation/L1-001-x.xml:19:7: warning: Piton cannot check this (left to the reviewer; put a file in backticks)
    Words(["cargo", "test"])
    Words(["make", "a", "-", "b"])
    Shell("make dev (in background)")
    Words(["a"])
    Words(["b"])
    Shell("cd web && npm test")
    Look { file: src/a.rs, holds: [] }
    Words(["cargo", "build"])
    Look { file: README.md, holds: [] }
    Look { file: src/a.rs, holds: [] }
    Words(["npm", "test"])
    criterion: Run migration command - completes without error
    criterion: the server starts
    criterion: `src/a.rs` compiles cleanly
    criterion: `src/a.rs` does not contain TODO
    criterion: `README.md` contains instructions for setup
    criterion: `src/a.rs` exports the following functions
    criterion: the Node.js 18.2 server and/or proxy starts
    "#);
    insta::assert_snapshot!(steps(&["Run: `` - x", " ", "Verify: `/etc/passwd` exists"]), @r#"
    1-foundation/L1-001-x.xml:6:23: error: this step does not name a command (there is nothing to run)
    1-foundation/L1-001-x.xml:7:8: error: this step is empty (name a command or a condition)
    1-foundation/L1-001-x.xml:8:7: error: "/etc/passwd" cannot be checked: it is absolute, or leaves the project (write it from the top of the project, like `src/a.rs`)
    "#);
}

#[test]
fn no_step_takes_the_repository_away() {
    for command in [
        "rm -rf .git",
        "rm -rf ./app/.git/",
        "cd x &amp;&amp; rm -r -f \".git\"",
        "find . -name .git -delete",
        "mv .git /tmp",
    ] {
        assert!(
            steps(&[&format!("Run: `{command}`")]).contains("this command would remove `.git`"),
            "{command}"
        );
    }
    for command in ["rm -rf .github", "test -d .git", "rm .gitignore", "git rm a.txt"] {
        assert!(!steps(&[&format!("Run: `{command}`")]).contains("remove"), "{command}");
    }
}

#[test]
fn commands_run_where_the_task_says() {
    let folder = changed("<priority>", "<cwd>./web/</cwd><priority>");
    let task = reading(&folder).plan.tasks.remove(0);
    assert_eq!(task.checks[0].cwd.as_ref().map(crate::plan::RepoPath::as_str), Some("web"));
    insta::assert_snapshot!(problems(&changed("<priority>", "<cwd>../web</cwd><priority>")), @r#"1-foundation/L1-001-x.xml:2:80: error: "../web" cannot be the folder of the commands: it is absolute, or leaves the project (write it from the top of the project, like `src/a.rs`)"#);
}

#[test]
fn where_the_manifest_disagrees_the_files_win() {
    let mut folder = invoices();
    let manifest = MANIFEST.replace("\"L1-002\"", "\"L1-009\"").replace(": 3,", ": 20,");
    folder.files.insert("manifest.json".into(), manifest.into_bytes());
    insta::assert_snapshot!(problems(&folder), @r"
    1-foundation/L1-002-store.xml:5:9: warning: the manifest does not list `L1-002` (it is done anyway)
    manifest.json:4:30: warning: the manifest counts 20 tasks, but there are 3 (the files decide)
    manifest.json:7:12: warning: the manifest lists `L1-009`, which has no file (ignored)
    ");
    assert_eq!(reading(&folder).plan.tasks.len(), 3);
    assert!(!strictly(&folder).is_usable());
}

#[test]
fn every_shape_of_a_manifest_is_read() {
    let shapes = [
        r#"{"prd_slug": "x", "total_tasks": 3, "layers": {"1-foundation": {"status": "ready", "task_count": 2}},
            "tasks": [{"id": "L1-001", "layer": "1-foundation", "file": "docs\\tasks\\x\\1-foundation\\L1-001-invoice.xml"},
                      {"file": "1-foundation/L1-002-store.xml"}, {"id": "L2-001"}], "output_dir": "/p"}"#,
        r#"{"prd": {"slug": "x", "project_path": "/p"}, "summary": {"total_tasks": "3"}, "layers": {}}"#,
        r#"{"schema_version": "1.0", "prd": {"slug": "x", "output_dir": "/p"}, "toolchain_version": "2.0", "task_inventory":
            [{"id": "L1-001"}, {"id": "L1-002"}, {"id": "L2-001"}]}"#,
    ];
    for shape in shapes {
        let mut folder = invoices();
        folder.files.insert("manifest.json".into(), shape.into());
        let reading = strictly(&folder);
        assert_eq!(told(&reading), "", "{shape}");
        assert_eq!((reading.plan.name.as_str(), reading.project_path.as_deref()), ("x", Some("/p")));
    }
}

#[test]
fn versions_that_are_not_known_are_refused() {
    let version = |said: &str| {
        let mut folder = invoices();
        let manifest = MANIFEST.replace("\"schema_version\": \"1.3\",", said);
        folder.files.insert("manifest.json".into(), manifest.into_bytes());
        problems(&folder)
    };
    insta::assert_snapshot!(version("\"schema_version\": \"2.0\","), @r#"manifest.json:2:21: error: the version "2.0" of this manifest is unknown (1.x is)"#);
    insta::assert_snapshot!(version("\"schema_version\": \"1.9\","), @r#"manifest.json:2:21: warning: the version "1.9" of this manifest is newer than this Piton (what is newer than 1.3 is ignored)"#);
    insta::assert_snapshot!(version(""), @"manifest.json:1:1: warning: this manifest has no `schema_version` (read as version 1)");
    assert_eq!(version("\"schema_version\": 1,"), "");
}

#[test]
fn dependencies_are_gathered_from_every_place() {
    let plan = |text: &str| {
        let mut folder = invoices();
        folder.files.insert("layer_plan.json".into(), text.into());
        let reading = reading(&folder);
        let links: Vec<String> =
            reading.plan.tasks.iter().map(|task| format!("{}: {:?}", task.id, task.depends_on)).collect();
        format!("{}{}", told(&reading), links.join("\n"))
    };
    insta::assert_snapshot!(plan(
        r#"{"layers": {"1-foundation": {"tasks": ["L1-001", {"id": "L1-002", "name": "x"}], "dependencies": {"L1-002": ["L1-001"]}},
                       "2-backend": {"tasks": ["L2-001"]}}, "dependency_graph": {"L2-001": ["l1-002", "L1-001"]}}"#
    ), @r#"
    layer_plan.json:2:93: warning: "l1-002" is spelled differently in its file (read as `L1-002`)
    L1-001: []
    L1-002: [L1-001]
    L2-001: [L1-001, L1-002]
    "#);
    insta::assert_snapshot!(plan(
        r#"{"layers": [{"id": "1-foundation", "tasks": [{"id": "L1-002", "depends_on": ["L1-001"]}]}, {"id": "2-backend", "tasks": []}],
            "dependency_graph": {"L1-002": [], "L2-001": "L1-001"}}"#
    ), @r"
    layer_plan.json:1:78: warning: `dependency_graph` and the task `L1-002` disagree about what it waits for: L1-001 (it waits for all tasks that either of them names)
    L1-001: []
    L1-002: [L1-001]
    L2-001: [L1-001]
    ");
}

#[test]
fn dependencies_that_cannot_be_are_refused() {
    let graph = |graph: &str| {
        let mut folder = invoices();
        folder
            .files
            .insert("layer_plan.json".into(), format!("{{\"dependency_graph\": {graph}}}").into_bytes());
        assert!(!reading(&folder).is_usable());
        problems(&folder)
    };
    insta::assert_snapshot!(graph(r#"{"L1-001": ["L2-001"]}"#), @"layer_plan.json:1:34: error: `L1-001` in layer `1-foundation` waits for `L2-001` in the later layer `2-backend` (layers run in order, so this task can never start)");
    insta::assert_snapshot!(graph(r#"{"L1-001": ["L1-001"]}"#), @"layer_plan.json:1:34: error: the task `L1-001` depends on itself (remove this)");
    insta::assert_snapshot!(graph(r#"{"L1-001": ["L1-002"], "L1-002": ["L1-001"]}"#), @"layer_plan.json:1:34: error: these tasks wait for each other: L1-001 → L1-002 → L1-001 (`L1-001` waits for `L1-002`)");
    insta::assert_snapshot!(graph(r#"{"L1-001": ["L1-022"]}"#), @"layer_plan.json:1:34: error: `L1-001` waits for `L1-022`, which does not exist (did you mean `L1-002`?)");
    insta::assert_snapshot!(graph(r#"{"L1-001": [7]}"#), @"layer_plan.json:1:34: error: a dependency must be the id of a task (this is a number)");
    insta::assert_snapshot!(graph("{\"L1-001\": [],}"), @"layer_plan.json:1:35: error: a comma with nothing after it (reading stopped here)");
}

#[test]
fn layers_that_only_one_side_knows_are_told() {
    let mut folder = invoices();
    let plan = r#"{"project_type": "brownfield", "layers": [{"id": "0-setup", "skip_if_brownfield": true, "tasks": []},
        {"id": "1-foundation", "tasks": ["L1-001", "L1-002"]}, {"id": "3-frontend", "tasks": ["L3-001"]}]}"#;
    folder.files.insert("layer_plan.json".into(), plan.into());
    insta::assert_snapshot!(problems(&folder), @r"
    2-backend/L2-001-list.xml:2:13: warning: the layer `2-backend` is not in `layer_plan.json` (its number decides its order)
    layer_plan.json:2:71: warning: no task is in the layer `3-frontend` (it is ignored)
    layer_plan.json:2:95: warning: the task `L3-001` is planned, but has no file (ignored)
    ");
    let groups: Vec<String> = reading(&folder).plan.groups.iter().map(|group| group.id.to_string()).collect();
    assert_eq!(groups, ["0-setup", "1-foundation", "2-backend", "3-frontend"]);
}

#[test]
fn a_plan_without_tasks_is_an_error() {
    insta::assert_snapshot!(problems(&folder(&[("manifest.json", MANIFEST), ("layer_plan.json", LAYER_PLAN), ("1-foundation/.done", "")])), @r"
    layer_plan.json:4:12: warning: no task is in the layer `1-foundation` (it is ignored)
    layer_plan.json:5:14: warning: the task `L1-001` is planned, but has no file (ignored)
    layer_plan.json:6:14: warning: the task `L1-002` is planned, but has no file (ignored)
    layer_plan.json:7:12: warning: no task is in the layer `2-backend` (it is ignored)
    layer_plan.json:8:14: warning: the task `L2-001` is planned, but has no file (ignored)
    manifest.json:1:1: error: the plan has no tasks (no layer has a task file, like `1-foundation/L1-001-name.xml`)
    manifest.json:4:30: warning: the manifest counts 3 tasks, but there are 0 (the files decide)
    manifest.json:6:12: warning: the manifest lists `L1-001`, which has no file (ignored)
    manifest.json:7:12: warning: the manifest lists `L1-002`, which has no file (ignored)
    manifest.json:8:12: warning: the manifest lists `L2-001`, which has no file (ignored)
    ");
    insta::assert_snapshot!(problems(&Folder::default()), @r"
    layer_plan.json:1:1: warning: `layer_plan.json` does not exist (no task waits for another of its layer)
    manifest.json:1:1: warning: `manifest.json` does not exist (the plan is named after its folder)
    manifest.json:1:1: error: the plan has no tasks (no layer has a task file, like `1-foundation/L1-001-name.xml`)
    ");
}

#[test]
fn marks_of_another_run_mean_nothing() {
    let mut folder = invoices();
    for name in
        ["2-backend/.done", "execute-state.json", "1-foundation/.L1-003.xml", "1-foundation/L1-004-x.xml.bak"]
    {
        folder.files.insert(name.into(), b"\0\0".to_vec());
    }
    assert_eq!(told(&strictly(&folder)), "");
}

#[test]
fn what_a_template_left_open_is_refused() {
    insta::assert_snapshot!(problems(&changed("It is written.", "mkdir -p {TARGET_DIR}")), @"1-foundation/L1-001-x.xml:4:46: error: `{TARGET_DIR}` was never filled in (a template left this here)");
    insta::assert_snapshot!(steps(&["Run: ls {TARGET_DIR} - shows files"]), @r#"
    1-foundation/L1-001-x.xml:6:31: error: `{TARGET_DIR}` was never filled in (a template left this here)
    Shell("ls {TARGET_DIR}")
    "#);
    insta::assert_snapshot!(problems(&changed("src/L1-001.rs</file>", "{MODULE}/x.rs</file>")), @"1-foundation/L1-001-x.xml:5:26: error: `{MODULE}` was never filled in (a template left this here)");
    for code in ["${TARGET_DIR}", "{ pub id: u64 }", "f\"{BASE_URL}/x\"", "{...}", "/links/{link_id}"] {
        assert_eq!(problems(&changed("It is written.", code)), "", "{code}");
    }
}

#[test]
fn an_element_that_is_misspelt_is_told_and_others_pass() {
    let folder = changed(
        "<objective>",
        "<requirement-list>x</requirement-list><notes>y <z/></notes><requirments></requirments><objective>",
    );
    insta::assert_snapshot!(problems(&folder), @r"
    1-foundation/L1-001-x.xml:3:3: warning: there is no element `<requirement-list>` in `<task>` (did you mean `<requirements>`?)
    1-foundation/L1-001-x.xml:3:62: warning: there is no element `<requirments>` in `<task>` (did you mean `<requirements>`?)
    ");
    assert!(!strictly(&folder).is_usable());
}
