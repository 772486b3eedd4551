//! What Piton writes: a new folder, one more unit, a plan of another system.

use super::super::{add, fit, starter, write};
use super::*;
use crate::plan::Plan;
use crate::system::Addition;
use crate::time::Timestamp;

fn bytes(files: &[(String, String)]) -> Folder {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    folder(&files)
}

fn now() -> Timestamp {
    Timestamp::parse("2026-01-14T10:30:00Z").expect("a time")
}

#[test]
fn a_new_folder_reads_back_without_a_word() {
    for domain in Domain::ALL {
        let files = starter("user-auth", domain, now()).expect("a slug");
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let list = if domain.mode() == Mode::Development { "tasks.md" } else { "plan.md" };
        assert_eq!(names, ["brief.md", list, "context.md"]);
        let read = reading_with(&bytes(&files), "user-auth", &Config::default(), Strictness::Strict);
        assert_eq!(told(&read), "", "{domain}");
        assert_eq!((read.about.name.as_str(), read.about.domains.as_slice()), ("User auth", &[domain][..]));
        assert!(!read.about.outcome.is_empty() && !read.about.done_when.is_empty());
        let count = if domain.mode() == Mode::Development { 3 } else { 4 };
        assert_eq!(units(&read).len(), count);
        assert!(!files[2].1.contains("more\n"), "all of it fits: {}", files[2].1);
    }
}

#[test]
fn new_folders_are_as_they_are() {
    for (name, domain) in
        [("a_new_folder_of_code", Domain::Feature), ("a_new_folder_of_research", Domain::Research)]
    {
        let files = starter("user-auth", domain, now()).expect("a slug");
        let text: String = files.iter().map(|(name, text)| format!("==> {name} <==\n{text}\n")).collect();
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn i18_a_slug_that_cannot_be_a_path_is_refused() {
    let long = "x".repeat(256);
    for slug in ["", "a b", "a/b", "..", "a..b", "C:", "con", "-x", "x.lock", "ä", &long] {
        assert!(starter(slug, Domain::Bug, now()).is_err(), "{slug}");
    }
    let read = reading_with(&auth(), "two words", &Config::default(), Strictness::Lenient);
    assert!(told(&read).contains("error: \"two words\" cannot name a plan: it holds ' '"), "{}", told(&read));
}

fn addition(id: &str) -> Addition {
    Addition {
        id: TaskId::new(id).expect("an id"),
        title: "Log out".to_owned(),
        description: Some("- mind the cookie\n".to_owned()),
        layer: None,
        after: vec![TaskId::new("T2").expect("an id")],
        files: vec![crate::plan::RepoPath::new("src/out.rs").expect("a path")],
        checks: None,
        about: crate::plan::AboutTask::default(),
    }
}

#[test]
fn one_more_unit_stands_behind_the_last() {
    let before = reading(&auth());
    let task = addition("T5");
    let (name, after) = add(&auth(), &before.reading.plan, &task).expect("fits").expect("new");
    assert_eq!(name, "tasks.md");
    let after = String::from_utf8(after).expect("text");
    let block = "\n- [ ] **T5**: Log out\n  - mind the cookie\n  - Files: `src/out.rs`\n  - Depends: T2\n";
    assert_eq!(after, TASKS.replace("other languages.\n", &format!("other languages.{block}")));
    let read = reading(&folder(&[("brief.md", BRIEF), ("tasks.md", &after)]));
    task.is_read_as_meant(&read.reading.plan).expect("what was asked for");
    let again = add(&folder(&[("tasks.md", &after)]), &read.reading.plan, &task).expect("fits");
    assert_eq!(again, None);
    let taken = Addition { title: "Other".to_owned(), ..addition("t5") };
    assert!(add(&folder(&[("tasks.md", &after)]), &read.reading.plan, &taken).is_err());
    assert!(add(&auth(), &before.reading.plan, &addition("log-out")).is_err());
}

#[test]
fn a_plan_comes_back_as_it_was_written() {
    for (name, source) in [("user-auth", auth()), ("future-work", work())] {
        let plan = reading_with(&source, name, &Config::default(), Strictness::Lenient).reading.plan;
        let files = write(&fit(&plan), |id| id.as_str() == "T1");
        let read = reading_with(&bytes(&files), name, &Config::default(), Strictness::Lenient);
        assert!(read.reading.is_usable(), "{}", told(&read));
        let essence = |plan: &Plan| -> Vec<String> {
            let line = |task: &TaskSpec| {
                let TaskSpec { id, title, criteria, files, depends_on, attempts, .. } = task;
                format!("{id} {title} {criteria:?} {files:?} {depends_on:?} {attempts}")
            };
            plan.tasks.iter().map(line).collect()
        };
        assert_eq!(essence(&read.reading.plan), essence(&plan));
        assert_eq!((read.about.mode, &read.about.name), (plan_mode(&plan), &read.about.name));
    }
    let other = Plan {
        tasks: ["build", "docs"].map(|id| crate::system::native::testing::task(id, &[])).to_vec(),
        ..reading(&auth()).reading.plan
    };
    let ids: Vec<String> = fit(&other).tasks.iter().map(|task| task.id.to_string()).collect();
    assert_eq!(ids, ["T1", "T2"]);
}

fn plan_mode(plan: &Plan) -> Mode {
    plan.settings.form.brief().map(|about| about.mode).expect("of this system")
}

/// Then a box that is ticked in the middle lets no later one overtake.
#[test]
fn a_list_that_says_so_is_one_sequence() {
    let list = |arrows: &str| {
        let units: String = ["T1", "T2", "T3"].map(|id| format!("- [ ] **{id}**: a\n")).concat();
        reading(&alone(&format!("{units}\n## Dependencies\n\n{arrows}\n"))).reading.plan.settings.in_sequence
    };
    assert!(list("T1 → T2 → T3 (sequential)"));
    assert!(list("T1, T2, T3 (sequential)"));
    assert!(list("T3 → T1 → T2 (sequential)"), "in the order of the arrows");
    assert!(!list("T1 → T2 → T3"), "it does not say so");
    assert!(!list("T1 → T2 (sequential)"), "one is not part of it");
    assert!(!list("T1 → T2 (sequential)\nT1 → T3"), "two come after the first");
}
