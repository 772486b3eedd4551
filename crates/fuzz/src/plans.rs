//! `plan.toml` and `piton.toml`: whatever they hold, problems are shown at their own bytes, and what is
//! accepted can be written down and read again as the same plan.

use piton_core::diagnostic::{Diagnostic, place};
use piton_core::message;
use piton_core::plan::{
    Agent, Argv, Check, Graph, Land, Plan, PromptBy, RunId, Schedule, Settings, TaskSpec, diff,
};
use piton_core::system::config::{Config, name_from, read_config};
use piton_core::system::native::{Overrides, read};
use piton_core::time::Span;
use toml::{Table, Value};

use crate::names::{safe_name, safe_path};
use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "[[task]]\n",
    "[[group]]\n",
    "[policy]\n",
    "[defaults]\n",
    "[worktree]\n",
    "[agents.default]\n",
    "id = ",
    "title = ",
    "prompt = ",
    "depends_on = [",
    "checks = [",
    "files = [",
    "group = ",
    "attempts = ",
    "timeout = ",
    "silence = \"off\"\n",
    "command = [",
    "env = { A = \"b\" }\n",
    "copy = [",
    "setup = ",
    "\"T1\"",
    "\"T2\"",
    "\"\"\"",
    "'''",
    "\"../x\"",
    "\"-x\"",
    "\\u0000",
    "\\u202E",
    "é",
    "= ",
    "\n",
    "[",
    "]",
    "{",
    "}",
    ",",
    "9223372036854775808",
    "-1",
    "nan",
    "1979-05-27",
    "true",
    "name = ",
    "schedule = \"flow\"\n",
    "max_parallel = 64\n",
    "landing_checks = [",
    "author = \"A <a@b>\"\n",
    "{ run = \"a\", timeout = \"2m\" }",
    "#",
];

pub(crate) fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (config, overrides) = (Config::default(), Overrides::default());
    let reading = read(text, "plan", &config, &overrides);
    let again = read(text, "plan", &config, &overrides);
    assert_eq!((&reading.plan, &reading.diagnostics), (&again.plan, &again.diagnostics), "reading twice");
    point_inside(text, &reading.diagnostics);
    safe(&reading.plan);
    let named = name_from(text);
    assert!(RunId::new(&named).is_ok(), "{named:?}");
    if !reading.is_usable() {
        return;
    }
    let plan = reading.plan;
    assert!(!plan.tasks.is_empty() && Graph::new(&plan.tasks).is_ok());
    assert!(diff(&plan.tasks, &plan.tasks).is_empty());
    plan.tasks.iter().take(5).for_each(can_be_told);
    let written = write(&plan);
    let back = read(&written, "plan", &config, &overrides);
    assert!(back.is_usable(), "{:?}\n{written}", back.diagnostics);
    assert_eq!(back.plan, plan, "written as\n{written}");
    assert_eq!(back.plan.hash(), plan.hash());
}

pub(crate) fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (config, problems) = same(|| read_config(text));
    point_inside(text, &problems);
    config.worktree.copy.iter().flatten().for_each(|path| safe_path(path.as_str()));
    // It must not break a reader as the defaults of a plan, either.
    let few = "[[task]]\nid = \"T1\"\ntitle = \"t\"\nprompt = \"p\"\nchecks = []\n";
    let reading = read(few, "plan", &config, &Overrides::default());
    point_inside(few, &reading.diagnostics);
    safe(&reading.plan);
}

/// In the text, the right way round, and between characters.
pub(crate) fn point_inside(text: &str, problems: &[Diagnostic]) {
    for problem in problems {
        let span = problem.span.clone();
        assert!(text.get(span.clone()).is_some(), "{span:?} of {} bytes: {}", text.len(), problem.message);
        assert!(!problem.message.is_empty());
        let (line, column) = place(text, span.start);
        assert!(line >= 1 && column >= 1 && line <= text.split('\n').count());
    }
    assert!(problems.is_sorted_by_key(|problem| problem.span.start), "in the order of the text");
}

pub(crate) fn safe(plan: &Plan) {
    safe_name(&plan.name);
    for task in &plan.tasks {
        safe_name(task.id.as_str());
        task.depends_on.iter().for_each(|id| safe_name(id.as_str()));
        task.files.iter().for_each(|path| safe_path(path.as_str()));
        assert!((task.group as usize) < plan.groups.len().max(1));
        assert!((1..=100).contains(&task.attempts));
        assert!(!task.title.chars().any(char::is_control), "{:?}", task.title);
    }
    plan.groups.iter().for_each(|group| safe_name(group.id.as_str()));
    plan.settings.worktree.copy.iter().for_each(|path| safe_path(path.as_str()));
    assert!((1..=64).contains(&plan.settings.max_parallel));
}

/// Its commands and its commit messages can be given to a process.
pub(crate) fn can_be_told(task: &TaskSpec) {
    let run = RunId::new("run").expect("a plain word");
    let commands = task.checks.iter().flat_map(|check| check.run.words());
    let mut texts: Vec<String> = commands.collect();
    texts.push(message::work(task, &run, None, 1, 3, None));
    texts.push(message::merge(task, &run, "g", 1, None));
    for text in texts {
        assert!(!text.contains('\0'), "{}: {text:?}", task.id);
    }
}

/// A plan as a text that says everything.
fn write(plan: &Plan) -> String {
    let list = |items: Vec<Value>| Value::Array(items);
    let groups = plan
        .groups
        .iter()
        .map(|group| table([("id", text(group.id.as_str())), ("title", text(&group.title))]));
    // A plan without groups has one group all the same. Written out, the plan stays the same.
    let tasks = plan.tasks.iter().map(|task| {
        let mut said = table([
            ("id", text(task.id.as_str())),
            ("title", text(&task.title)),
            ("prompt", text(&task.prompt)),
            ("group", text(plan.groups[task.group as usize].id.as_str())),
            ("depends_on", list(task.depends_on.iter().map(|id| text(id.as_str())).collect())),
            ("files", list(task.files.iter().map(|path| text(path.as_str())).collect())),
            ("criteria", list(task.criteria.iter().map(|line| text(line)).collect())),
            ("checks", checks(&task.checks)),
            ("priority", Value::Integer(task.priority.into())),
            ("agent", text(&task.agent)),
            ("attempts", Value::Integer(task.attempts.into())),
            ("confirm", Value::Boolean(task.confirm)),
            ("may_change_nothing", Value::Boolean(task.may_change_nothing)),
            ("check_first", Value::Boolean(task.check_first)),
            ("may_fail", Value::Boolean(task.may_fail)),
            ("gate", Value::Boolean(task.gate)),
            ("timeout", span(task.timeout)),
        ]);
        let silence = |limit: Span| if limit.is_zero() { text("off") } else { span(limit) };
        said.extend(task.silence.map(|limit| ("silence".to_owned(), silence(limit))));
        said
    });
    let mut top = table([("name", text(&plan.name)), ("policy", Value::Table(policy(&plan.settings)))]);
    let agents =
        plan.settings.agents.iter().map(|(name, agent)| (name.clone(), Value::Table(written_agent(agent))));
    top.insert("agents".to_owned(), Value::Table(agents.collect()));
    let mut worktree = Table::new();
    let copy = plan.settings.worktree.copy.iter().map(|path| text(path.as_str())).collect();
    worktree.insert("copy".to_owned(), list(copy));
    if let Some(setup) = &plan.settings.worktree.setup {
        worktree.insert(
            "setup".to_owned(),
            match setup {
                Argv::Shell(line) => text(line),
                words_of => words(&words_of.words()),
            },
        );
    }
    top.insert("worktree".to_owned(), Value::Table(worktree));
    top.insert("group".to_owned(), list(groups.map(Value::Table).collect()));
    top.insert("task".to_owned(), list(tasks.map(Value::Table).collect()));
    toml::to_string(&top).expect("a plan can be written")
}

fn policy(settings: &Settings) -> Table {
    let schedule = match settings.schedule {
        Schedule::Layered => "layered",
        Schedule::Batch => "batch",
        Schedule::Flow => "flow",
    };
    let mut said = table([
        ("schedule", text(schedule)),
        ("exhausted", text(settings.exhausted.name())),
        ("max_parallel", Value::Integer(settings.max_parallel.into())),
        ("escalation", Value::Array(settings.escalation.iter().map(|name| text(name)).collect())),
        ("landing_checks", checks(&settings.landing_checks)),
        ("backoff", span(settings.backoff)),
        ("landing_wait", span(settings.landing_wait)),
        ("land", text(if settings.land == Land::Each { "each" } else { "batch" })),
    ]);
    let texts = [
        ("commit_prefix", &settings.commit_prefix),
        ("author", &settings.author),
        ("feedback", &settings.feedback),
    ];
    if settings.late_conflicts {
        said.insert("early_conflicts".to_owned(), Value::Boolean(false));
    }
    let window = settings.landing_parallel.map(|most| Value::Integer(most.into()));
    said.extend(window.map(|most| ("landing_parallel".to_owned(), most)));
    for (key, value) in texts {
        if let Some(value) = value {
            said.insert(key.to_owned(), text(value));
        }
    }
    said
}

fn written_agent(agent: &Agent) -> Table {
    let prompt = match agent.prompt {
        PromptBy::Stdin => "stdin",
        PromptBy::File => "file",
    };
    table([
        ("command", Value::Array(agent.command.iter().map(|word| text(word)).collect())),
        ("prompt", text(prompt)),
        ("env", Value::Table(agent.env.iter().map(|(key, value)| (key.clone(), text(value))).collect())),
    ])
}

fn words(words: &[String]) -> Value {
    Value::Array(words.iter().map(|word| text(word)).collect())
}

fn checks(checks: &[Check]) -> Value {
    let said = checks.iter().map(|check| {
        let mut said = table([("name", text(&check.name)), ("timeout", span(check.timeout))]);
        said.extend(check.cwd.iter().map(|cwd| ("cwd".to_owned(), text(cwd.as_str()))));
        said.extend(match &check.run {
            Argv::Words(argv) => table([("run", words(argv))]),
            Argv::Shell(line) => table([("run", text(line))]),
            Argv::Review { agent, ask } => table([("review", text(agent)), ("ask", text(ask))]),
            Argv::Look { file, holds } => table([("file", text(file.as_str())), ("holds", words(holds))]),
        });
        said
    });
    Value::Array(said.map(Value::Table).collect())
}

fn span(span: Span) -> Value {
    Value::String(format!("{}ms", span.0))
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
