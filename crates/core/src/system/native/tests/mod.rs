//! What plans mean. What is wrong with them is in `mistakes`.

mod content;
mod mistakes;
mod properties;

use super::checks::unix_lines;
use super::*;
use crate::client::{Adapter, client};
use crate::diagnostic::{Diagnostic, Severity, place};
use crate::plan::{Argv, Exhausted, Plan, Schedule, TaskSpec};
use crate::system::config::read_config;
use crate::time::Span;

/// `@T1` on a line of its own stands for a whole valid task; more keys may follow it.
fn expand(text: &str) -> String {
    let task =
        |id: &str| format!("[[task]]\nid = \"{id}\"\ntitle = \"t\"\nprompt = \"p\"\nchecks = [\"true\"]");
    let line = |line: &str| line.trim().strip_prefix('@').map_or_else(|| line.trim().to_owned(), task);
    text.trim_start().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn show(text: &str, diagnostics: &[Diagnostic]) -> String {
    let line = |d: &Diagnostic| {
        let ((line, column), severity) =
            (place(text, d.span.start), if d.severity == Severity::Error { "error" } else { "warning" });
        let said = text.get(d.span.clone()).expect("a span of the text");
        let help = d.help.as_ref().map(|help| format!(" | {help}")).unwrap_or_default();
        format!("{line}:{column} `{said}` {severity}: {} | {}{help}", d.message, d.label)
    };
    if diagnostics.is_empty() {
        "fine".to_owned()
    } else {
        diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn check_with(text: &str, config: &Config) -> String {
    let text = expand(text);
    show(&text, &read(&text, "plan", config, &Overrides::default()).diagnostics)
}

/// What is said about a plan: `line:column`, the text concerned, message | label | help.
fn check(text: &str) -> String {
    check_with(text, &Config::default())
}

fn check_config(text: &str) -> String {
    show(text, &read_config(text).1)
}

fn plan(text: &str, config: &Config) -> Plan {
    let reading = read(text, "plan", config, &Overrides::default());
    assert!(reading.is_usable(), "{}", show(text, &reading.diagnostics));
    reading.plan
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain values")
}

#[test]
fn the_starter_is_fine() {
    for name in ["demo", "My invoices: 2026", "", "con", "../../etc"] {
        let workers = [Worker::Client(client("codex")), Worker::OfProject, Worker::Missing];
        for text in workers.map(|worker| starter(name, worker)) {
            let reading = read(&text, "plan", &Config::default(), &Overrides::default());
            assert_eq!(show(&text, &reading.diagnostics), "fine");
            assert_eq!(reading.plan.name, name_from(name));
        }
    }
    let codex = starter("demo", Worker::Client(client("codex")));
    assert!(
        codex.contains("\nadapter = \"codex\"          # or \"claude\", \"gemini\", \"opencode\"\n"),
        "{codex}"
    );
    let commented: String = codex.lines().map(|line| line.replacen("# ", "", 1) + "\n").collect();
    // A plan of Piton has no subtasks.
    let of_policy = keys::POLICY.names.iter().filter(|key| **key != "subtasks");
    for key in of_policy.chain(keys::DEFAULTS.names).chain(keys::TASK.names) {
        assert!(commented.contains(&format!("{key} = ")), "{key} is not explained in the starter");
    }
}

/// A plan that uses every key.
pub(super) const EVERYTHING: &str = r#"
name = "invoices"
[policy]
schedule = "flow"
max_parallel = 0x8
exhausted = "stop"
landing_checks = [{ run = ["make", "all"] }]
backoff = "0s"
landing_wait = "1h30m"
commit_prefix = "feat:"
author = "Ada L. <ada@example.org>"
[agents.default]
command = "my-agent --file '{prompt}'"
prompt = "file"
env = { KEY = "value" }
[worktree]
copy = [".env"]
setup = "npm ci && npm test"
[defaults]
checks = ["cargo test"]
silence = "10m"
confirm = true
[[group]]
id = "1"
title = "One"
[[group]]
id = "2"
[[task]]
id = "b"
title = "B"
prompt = """
two
lines"""
group = "1"
depends_on = ["a"]
files = ["src\\a.rs"]
criteria = ["good"]
[[task]]
id = "a"
title = "A"
prompt = "p"
group = "2"
checks = ["cargo test -p a", { name = "lint", run = ["cargo", "clippy"], timeout = "2m" }]
priority = 1
attempts = 7
timeout = "1d"
silence = "off"
confirm = false
may_change_nothing = true
"#;

#[test]
fn everything_can_be_said() {
    let Plan { name, groups, tasks, settings } = plan(EVERYTHING, &Config::default());
    let mut lines = vec![name, json(&groups)];
    lines.extend(tasks.iter().map(json));
    lines.push(json(&settings));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    invoices
    [{"id":"1","title":"One"},{"id":"2","title":"2"}]
    {"id":"b","title":"B","prompt":"two\nlines","group":0,"depends_on":["a"],"files":["src/a.rs"],"criteria":["good"],"checks":[{"name":"cargo test","run":{"words":["cargo","test"]},"timeout":300000}],"priority":50,"agent":"default","attempts":3,"confirm":true,"timeout":1800000,"silence":600000}
    {"id":"a","title":"A","prompt":"p","group":1,"checks":[{"name":"cargo test -p a","run":{"words":["cargo","test","-p","a"]},"timeout":300000},{"name":"lint","run":{"words":["cargo","clippy"]},"timeout":120000}],"priority":1,"agent":"default","attempts":7,"may_change_nothing":true,"timeout":86400000,"silence":0}
    {"schedule":"flow","max_parallel":8,"exhausted":"stop","landing_checks":[{"name":"make all","run":{"words":["make","all"]},"timeout":300000}],"agents":{"default":{"command":["my-agent","--file","{prompt}"],"prompt":"file","env":{"KEY":"value"}}},"worktree":{"copy":[".env"],"setup":{"shell":"npm ci && npm test"}},"commit_prefix":"feat:","author":"Ada L. <ada@example.org>","backoff":0,"landing_wait":5400000}
    "#);
}

#[test]
fn the_plan_is_stronger_than_the_project_key_by_key() {
    let (config, diagnostics) = read_config(
        "[policy]\nmax_parallel = 7\nexhausted = 'stop'\n[agents.default]\ncommand = ['a', 'b']\nenv = { A = '1', B = '2' }\n\
         [agents.other]\ncommand = 'o'\n[worktree]\ncopy = ['x']\n[defaults]\nattempts = 9\nchecks = ['make']",
    );
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let text = "[policy]\nmax_parallel = 2\n[agents.default]\nenv = { B = '3' }\n[worktree]\nsetup = ['s']\n[defaults]\npriority = 4\n\
                [[task]]\nid = '1'\ntitle = 't'\nprompt = 'p'\n[[task]]\nid = '2'\ntitle = 't'\nprompt = 'p'\npriority = 5\nagent = 'other'";
    let plan = plan(text, &config);
    assert_eq!((plan.settings.max_parallel, plan.settings.exhausted), (2, Exhausted::Stop));
    let agent = &plan.settings.agents["default"];
    assert_eq!(agent.command, ["a", "b"]);
    assert_eq!(agent.env.iter().map(|(k, v)| format!("{k}{v}")).collect::<String>(), "A1B3");
    assert_eq!(plan.settings.worktree.copy.len(), 1);
    assert_eq!(plan.settings.worktree.setup, Some(Argv::Words(vec!["s".into()])));
    let said: Vec<_> =
        plan.tasks.iter().map(|t| (t.priority, t.attempts, t.agent.as_str(), t.checks.len())).collect();
    assert_eq!(said, [(4, 9, "default", 1), (5, 9, "other", 1)]);
}

#[test]
fn built_in_defaults() {
    let plan = plan(&expand("@T1"), &Config::default());
    let task = &plan.tasks[0];
    assert_eq!((task.attempts, task.priority, task.timeout, task.silence), (3, 50, Span::minutes(30), None));
    let silence = |adapter| task.silence_of(adapter).map(|silence| silence.to_string());
    assert_eq!((silence(client("codex")).as_deref(), silence(Adapter::default())), (Some("10m 00s"), None));
    let off = TaskSpec { silence: Some(Span(0)), ..task.clone() };
    assert_eq!(off.silence_of(client("codex")), None);
    assert_eq!((task.agent.as_str(), task.checks[0].timeout), ("default", Span::minutes(5)));
    assert_eq!((plan.name.as_str(), plan.groups[0].id.as_str()), ("plan", "main"));
    assert_eq!(plan.settings, crate::plan::Settings::default());
}

#[test]
fn a_command_line_is_stronger_than_the_plan() {
    let text = expand(
        "[policy]\nschedule = 'layered'\n[[group]]\nid='1'\n[[group]]\nid='2'\n@a\ngroup='1'\ndepends_on=['b']\n@b\ngroup='2'",
    );
    let overrides =
        Overrides { schedule: Some(Schedule::Flow), max_parallel: Some(9), exhausted: Some(Exhausted::Stop) };
    let reading = read(&text, "plan", &Config::default(), &overrides);
    assert_eq!(show(&text, &reading.diagnostics), "fine");
    assert_eq!((reading.plan.settings.schedule, reading.plan.settings.max_parallel), (Schedule::Flow, 9));
}

#[test]
fn layout_does_not_change_a_plan() {
    let unix = starter("demo", Worker::Missing);
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    assert_eq!(plan(&unix, &Config::default()), plan(&windows, &Config::default()));
    assert_eq!(unix_lines("a\r\nb\rc\n"), "a\nb\rc\n");
}

#[test]
fn a_byte_order_mark_moves_nothing() {
    let text = format!("\u{feff}nme = 'x'\n{}", expand("@T1"));
    let reading = read(&text, "plan", &Config::default(), &Overrides::default());
    assert_eq!(&text[reading.diagnostics[0].span.clone()], "nme");
}

#[test]
fn names_are_made_fit() {
    let cases = [
        "invoices",
        "My invoices: 2026",
        "",
        "-x-",
        "con",
        "a.lock",
        "a..b",
        "ünïcode",
        "🧗",
        &"x".repeat(300),
    ];
    let names: Vec<String> = cases.iter().map(|case| name_from(case)).collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    invoices
    My-invoices-2026
    plan
    x
    plan-con
    plan-a-lock
    a.b
    n-code
    plan
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    ");
}

/// A key that is listed and never read would be dead; a date is wrong for every one of them.
#[test]
fn every_listed_key_is_read() {
    for (keys, before) in [
        (&keys::PLAN, ""),
        (&keys::POLICY, "[policy]"),
        (&keys::AGENT, "[agents.default]"),
        (&keys::WORKTREE, "[worktree]"),
        (&keys::DEFAULTS, "[defaults]"),
        (&keys::GROUP, "[[group]]"),
        (&keys::TASK, "[[task]]"),
        (&keys::CHECK, "[[policy.landing_checks]]"),
    ] {
        for key in keys.names {
            let text = format!("{before}\n{key} = 1979-05-27");
            let reading = read(&text, "plan", &Config::default(), &Overrides::default());
            let found = reading.diagnostics.iter().any(|d| text.get(d.span.clone()) == Some("1979-05-27"));
            assert!(found, "{key} in {}: {}", keys.table, show(&text, &reading.diagnostics));
        }
    }
}
