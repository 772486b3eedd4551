use super::*;
use crate::chronicle::bench::{Bench, id, plan, spec};
use crate::plan::{Digest, Exhausted, Outside};
use crate::run::{ByModel, CheckRun, Command, StopReason, Usage};
use crate::view::inbox::{Around, inbox};

const HOSTILE: &str = "<img src=x onerror=alert(1)> | @everyone fixes #12 ``` </details> <!-- \u{202e}";

fn of(bench: &Bench, status: RunStatus) -> Recap {
    let run = bench.state.run().expect("it was made");
    let mut tasks: Vec<Task> = bench.state.tasks().cloned().collect();
    tasks.sort_by(|one, other| one.id.cmp(&other.id));
    let explain =
        |task: &Task| (format!("{} needs a person", task.id), vec![format!("piton retry {}", task.id)]);
    let around = Around { status: &status, active: bench.now, plan: None, more: &[], explain: &explain };
    let needs = inbox(run, &tasks, &around);
    let specs: HashMap<&TaskId, &crate::plan::TaskSpec> = bench
        .journal
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::TaskAdded { spec, .. } => Some((&spec.id, &**spec)),
            _ => None,
        })
        .collect();
    let node = |task: &Task| Node {
        id: task.id.clone(),
        title: specs[&task.id].title.clone(),
        group: run.groups.get(task.group as usize).map(|group| group.id.to_string()),
        status: task.status(),
        after: specs[&task.id].depends_on.clone(),
    };
    let tasks = tasks.iter().map(|task| (task.clone(), node(task)));
    let (state_text, now) = (status.word().to_owned(), bench.now);
    let sources = RecapSources { run, status, state_text, tasks: tasks.collect(), needs, now };
    Recap::new(sources, bench.journal.iter().cloned())
}

/// One landed, one retried, one given up, one skipped by a person, one behind the one that was given up, one that waits for
/// another list. `words` is in all that comes from outside.
fn small(words: &str) -> Recap {
    let mut tasks = vec![
        spec("L0-001", &[]),
        spec("L0-002", &[]),
        spec("L1-001", &["L0-001"]),
        spec("L1-002", &["L0-001"]),
        spec("L1-003", &["L1-001"]),
        spec("L1-004", &[]),
    ];
    tasks[5].outside = vec![Outside { list: "plans/other.md".to_owned(), task: id("T9") }];
    for task in &mut tasks {
        task.attempts = 2;
        task.title += words;
    }
    let mut plan = plan(&["0-setup", "1-foundation"], tasks);
    plan.settings.exhausted = Exhausted::Continue;
    let mut bench = Bench::new(plan);
    bench.attach();
    bench.finish("L0-001", 11);
    bench.fails("L0-002", &[(12, &format!("Add it{words}"))], &format!("expected 201\ngot 422{words}"));
    spend(&mut bench, "L0-002", Some(420_000));
    bench.finish("L0-002", 13);
    let ran = CheckRun {
        runs: 3,
        passes: 2,
        took: Span::seconds(9),
        ..CheckRun::new(Digest::of(&1), format!("test{words}"))
    };
    bench.note(Note::ChecksRan { task: id("L0-002"), runs: vec![ran], lanes: None });
    bench.fails("L1-001", &[(14, "Try it")], &format!("no rope{words}"));
    bench.fails("L1-001", &[(15, "Try it again")], &format!("still no rope{words}"));
    bench.accept(&Command::Skip {
        task: id("L1-002"),
        by: "ann".to_owned(),
        reason: format!("not needed{words}"),
    });
    bench.detach(StopReason::Ended);
    of(&bench, RunStatus::Ended)
}

/// What a client reports; `None` is not measured.
fn spend(bench: &mut Bench, task: &str, cost: Option<u64>) {
    let usage = Usage { input: Some(12_000), output: Some(800), cost, ..Usage::default() };
    bench.note(Note::Spent {
        task: id(task),
        fence: bench.task(task).fence,
        agent: "default".to_owned(),
        used: Some(ByModel::from([("opus".to_owned(), usage)])),
        estimate: ByModel::new(),
        took: Span::seconds(30),
        job: String::new(),
    });
}

#[test]
fn a_small_run_fits_a_comment() {
    insta::assert_snapshot!(markdown(&small("")));
}

#[test]
fn a_small_run_is_one_file() {
    let page = html(&small(""));
    insta::assert_snapshot!(page.replace(include_str!("style.css"), "[STYLE]\n"));
    assert!(!page.contains("<script") && !page.contains("javascript:") && !page.contains("url("));
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:"), "it asks for nothing");
}

#[test]
fn what_comes_from_outside_is_no_markup() {
    let recap = small(HOSTILE);
    let page = html(&recap);
    assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{202e}'));
    // Each tag that is opened is closed.
    for tag in ["details", "section", "table", "div", "pre", "ul", "svg", "code"] {
        let count = |text: &str| page.matches(text).count();
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
    let text = markdown(&recap);
    insta::assert_snapshot!(text);
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            Some(_) => {}
            None => {
                assert!(
                    !line.contains("@everyone") && !line.contains("#12") && !line.contains("<img"),
                    "{line}"
                );
                assert!(!line.contains("<!--"), "{line}");
                let bars = line.replace("\\|", "").matches('|').count();
                assert!(!line.starts_with("| L") || bars == 7, "{line}");
            }
        }
    }
    assert_eq!(fence, None);
    let count = |part: &str| text.lines().filter(|line| line.starts_with(part)).count();
    assert_eq!(count("<details>"), count("</details>"));
}

#[test]
fn what_was_not_measured_is_unknown() {
    let recap = small("");
    let spent: Vec<String> = recap.tasks.iter().map(TaskStory::spent).collect();
    assert_eq!(spent[0], "unknown", "its client reported nothing");
    assert_eq!(spent[1], "≥ $0.42", "a part of it was measured");
    assert_eq!(recap.spent(), "≥ $0.42");
    let document = serde_json::to_value(&recap).expect("JSON");
    assert_eq!(document["tasks"][0]["used"]["cost_usd"], serde_json::Value::Null);
    assert_eq!(document["cost"]["cost_usd"], 0.42);
    assert_eq!(document["results"]["retried"], 1);
}

#[test]
fn ten_thousand_tasks_fit() {
    let tasks = (0..10_000).map(|number| spec(&format!("L0-{number:05}"), &[]));
    let mut plan = plan(&["0-setup"], tasks.collect());
    plan.settings.exhausted = Exhausted::Continue;
    let mut bench = Bench::new(plan);
    bench.attach();
    let long = format!("{HOSTILE}\n").repeat(200);
    for number in 0..450 {
        bench.fails(&format!("L0-{number:05}"), &[(number, HOSTILE)], &long);
    }
    bench.detach(StopReason::Person);
    let recap = of(&bench, RunStatus::Stopped(StopReason::Person));
    let text = markdown(&recap);
    assert!(text.len() <= MOST_CHARACTERS && text.len() > MOST_CHARACTERS / 4, "{} bytes", text.len());
    assert!(text.contains("of 10000 tasks; the failures of"), "{text}");
    assert!(text.contains("the graph of 10000 tasks"), "{text}");
    let page = html(&recap);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    for told in [
        "Of 10000 tasks, 450 did not go well, and 400 of these are shown here; 9600 are left out.",
        "The graph of 10000 tasks is left out here",
        "piton timeline --all",
    ] {
        assert!(page.contains(told), "{told}");
    }
    // Every link leads somewhere.
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[test]
fn a_run_that_has_not_begun_has_a_summary() {
    let bench = Bench::small();
    let recap = of(&bench, RunStatus::NotStarted);
    assert!(markdown(&recap).contains("nothing has been started yet"));
    assert!(html(&recap).contains("No task has started yet."));
    assert_eq!(recap.next[0].command, "piton run PLAN");
}
