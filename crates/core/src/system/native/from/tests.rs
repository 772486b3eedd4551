use proptest::prelude::*;

use crate::client::client;
use crate::plan::{Argv, Check};
use crate::system::config::Config;
use crate::system::native::{Overrides, new, read};
use crate::system::{Asked, Begun, ListText, UsualChecks, Worker};
use crate::time::{Span, Timestamp};

fn made(bytes: &[u8], checks: UsualChecks<'_>) -> Result<Begun, crate::run::Refusal> {
    new::begin(&Asked {
        words: &[],
        domain: None,
        path: "work.toml",
        typed: "work.toml",
        worker: Worker::Client(client("codex")),
        checks,
        is_full: false,
        list: Some(ListText { name: "notes.md", bytes }),
        now: Timestamp(0),
        read: &|_| None,
        archived: &|_| Vec::new(),
    })
}

fn check() -> Vec<(Check, String)> {
    let run = Argv::parse("cargo test");
    vec![(Check::new("cargo test".to_owned(), run, Span::minutes(5)), "Cargo.toml".to_owned())]
}

fn shown(text: &str) -> String {
    let begun = made(text.as_bytes(), UsualChecks::Found(&check())).expect("a list");
    let toml = begun.files[0].1.split_once("run side by side.\n").expect("a head").1.to_owned();
    format!("{toml}---\n{}", begun.said.join("\n"))
}

const NOTES: &str = "# Release 2

What we want to have by May.

## Parser
- [ ] API-1: **Read the header**
  - it has 4 bytes
    - the last one is a sum

  `cargo test header` passes
- [x] API-2: Read the body
  - [ ] with a length
- [ ] API-3: Write it all
and flush

Ask Ada about this.
It matters.

## Command
1. [ ] CLI-1 Show \"a file\"
- a bullet without a box
";

#[test]
fn boxes_become_tasks_and_the_rest_is_named() {
    insta::assert_snapshot!(shown(NOTES), @r#"

    [[group]]
    id = "1-parser"
    title = "Parser"

    [[group]]
    id = "2-command"
    title = "Command"

    [[task]]
    id = "T1"
    title = "API-1: Read the header"
    group = "1-parser"
    prompt = """
    API-1: **Read the header**
    - it has 4 bytes
      - the last one is a sum

    `cargo test header` passes"""

    [[task]]
    id = "T2"
    title = "API-3: Write it all"
    group = "1-parser"
    depends_on = ["T1"]
    prompt = """
    API-3: Write it all
    and flush"""

    [[task]]
    id = "T3"
    title = "CLI-1 Show \"a file\""
    group = "2-command"
    depends_on = ["T2"]
    prompt = "CLI-1 Show \"a file\""
    ---
    3 tasks from notes.md
    1 task left out: done or crossed out
    notes.md:3: not part of a task: What we want to have by May.
    notes.md:12: left out with the done task above: - [ ] with a length
    notes.md:16: not part of a task: Ask Ada about this.
    notes.md:21: not part of a task: - a bullet without a box
    "#);
}

#[test]
fn bullets_and_numbered_lines_are_tasks_where_there_are_no_boxes() {
    insta::assert_snapshot!(shown("Plan:\n\n1. Write a parser\n   for all\n2. Test it\n"), @r#"

    [[task]]
    id = "T1"
    title = "Write a parser"
    prompt = """
    Write a parser
    for all"""

    [[task]]
    id = "T2"
    title = "Test it"
    depends_on = ["T1"]
    prompt = "Test it"
    ---
    2 tasks from notes.md
    notes.md:1: not part of a task: Plan:
    "#);
    insta::assert_snapshot!(shown("* a\r\n\t* b\r\n* c\r\n"), @r#"

    [[task]]
    id = "T1"
    title = "a"
    prompt = """
    a
    * b"""

    [[task]]
    id = "T2"
    title = "c"
    depends_on = ["T1"]
    prompt = "c"
    ---
    2 tasks from notes.md
    "#);
}

#[test]
fn ids_of_the_list_are_kept_where_all_have_one() {
    let shown = shown("- [ ] API-1: Read it\n- [ ] **API-2**: Write it\n- [ ] T003 Test it\n");
    insta::assert_snapshot!(shown, @r#"

    [[task]]
    id = "API-1"
    title = "Read it"
    prompt = "API-1: Read it"

    [[task]]
    id = "API-2"
    title = "Write it"
    depends_on = ["API-1"]
    prompt = "**API-2**: Write it"

    [[task]]
    id = "T003"
    title = "Test it"
    depends_on = ["API-2"]
    prompt = "T003 Test it"
    ---
    3 tasks from notes.md
    "#);
}

#[test]
fn without_any_check_each_task_says_what_to_change() {
    let begun = made(b"- a\n- b\n", UsualChecks::Found(&[])).expect("a list");
    assert_eq!(begun.files[0].1.matches("checks = []   # CHANGE THIS").count(), 2);
    assert!(begun.hints[0].starts_with("no check was found here"), "{:?}", begun.hints);
    let begun = made(b"- a\n", UsualChecks::OfProject).expect("a list");
    assert!(!begun.files[0].1.contains("CHANGE THIS"));
}

#[test]
fn a_text_without_a_list_is_refused() {
    for (text, reason) in [
        ("", "notes.md has no list to make tasks of"),
        ("Only words.\n", "notes.md has no list to make tasks of"),
        ("- [x] done\n", "notes.md has nothing that is open to make tasks of"),
    ] {
        assert_eq!(made(text.as_bytes(), UsualChecks::OfProject).expect_err("nothing").reason, reason);
    }
}

#[test]
fn long_titles_are_cut_and_the_prompt_has_all() {
    let long = "word ".repeat(60);
    let shown = shown(&format!("- {long}end\n"));
    assert!(shown.contains("word…\"\n") && shown.contains("word end\"\n"), "{shown}");
}

#[test]
fn many_notes_are_counted() {
    let text = "- [ ] a\n".to_owned() + &"\nx\n\n".repeat(30);
    assert!(shown(&text).ends_with("and 10 more lines that are not part of a task"));
}

fn line() -> impl Strategy<Value = String> {
    let begin = prop::sample::select(vec!["", "  ", "\t", "    "]);
    let bullet = prop::sample::select(vec![
        "- ", "* ", "1. ", "- [ ] ", "- [x] ", "- [~] ", "# ", "> ", "```", "| ", "---", "", "~~",
    ]);
    let words =
        prop_oneof!["[a-zA-Z0-9 .:`\"'*_\\\\-]{0,12}", "\\PC{0,6}", "T00[1-9]:? x", "[\u{0}-\u{20}]{0,3}"];
    (begin, bullet, words).prop_map(|(begin, bullet, words)| format!("{begin}{bullet}{words}\n"))
}

proptest! {
    #[test]
    fn every_list_becomes_a_plan_without_mistakes(lines in prop::collection::vec(line(), 0..30)) {
        let text = lines.concat();
        for checks in [UsualChecks::OfProject, UsualChecks::Found(&[])] {
            let Ok(begun) = made(text.as_bytes(), checks) else { continue };
            let config = match checks {
                UsualChecks::OfProject => crate::system::config::read_config("[defaults]\nchecks = ['true']\n").0,
                UsualChecks::Found(_) => Config::default(),
            };
            let reading = read(&begun.files[0].1, "work", &config, &Overrides::default());
            prop_assert!(reading.is_usable(), "{:#?}\n{}", reading.diagnostics, begun.files[0].1);
            prop_assert!(!reading.plan.tasks.is_empty());
        }
    }
}
