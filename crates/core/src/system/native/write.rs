//! A plan as `plan.toml`. What a native plan cannot express is left out; the export reads it back and compares.

use super::checks::{check_name, usual_timeout};
use super::{toml_list as list, toml_text as text};
use crate::plan::{
    Agent, Argv, Budget, Check, Fences, Land, Pattern, Permissions, Plan, PromptBy, Protect, Sandbox,
    Schedule, Settings, TaskSpec, WorktreeSetup,
};
use crate::time::Span;

/// The plan with something in every text that may not be empty.
pub fn fit(plan: &Plan) -> Plan {
    let mut fitted = plan.clone();
    for task in &mut fitted.tasks {
        if task.title.trim().is_empty() {
            task.title = task.id.to_string();
        }
        if task.prompt.trim().is_empty() {
            task.prompt = task.title.clone();
        }
    }
    fitted
}

/// The text of a plan. It says all that a project's `piton.toml` could say otherwise.
pub fn write(plan: &Plan) -> String {
    let mut toml = format!("name = {}\n", text(&plan.name));
    toml += &policy(&plan.settings);
    for (name, agent) in &plan.settings.agents {
        toml += &agent_table(name, agent);
    }
    let worktree = &plan.settings.worktree;
    if *worktree != (WorktreeSetup { shared: worktree.shared.clone(), ..WorktreeSetup::default() }) {
        toml += &format!("\n[worktree]\ncopy = {}\n", list(&worktree.copy));
        if let Some(setup) = &worktree.setup {
            toml += &format!("setup = {}\n", command(setup));
        }
        toml += &format!("reuse = {}\nwarm = {}\n", text(worktree.reuse.word()), list(&worktree.warm));
        if let Some(most) = worktree.keep_mib {
            toml += &format!("keep_mib = {most}\n");
        }
    }
    toml += &sandbox(&plan.settings.fences);
    toml += &budget(&plan.settings.budget);
    // What the first task says is the rule, and the others say where they differ.
    let rule = plan.tasks.first();
    if let Some(rule) = rule {
        toml += &format!("\n[defaults]\n{}", limits(rule, None));
    }
    for group in &plan.groups {
        toml += &format!("\n[[group]]\nid = {}\ntitle = {}\n", text(group.id.as_str()), text(&group.title));
    }
    for task in &plan.tasks {
        let group = plan.groups.get(task.group as usize).map_or("", |group| group.id.as_str());
        toml += &format!("\n[[task]]\nid = {}\ntitle = {}\n", text(task.id.as_str()), text(&task.title));
        toml += &format!("group = {}\n", text(group));
        for (key, items) in [
            ("depends_on", list(&task.depends_on)),
            ("files", list(&task.files)),
            ("criteria", list(&task.criteria)),
        ] {
            toml += &if items == "[]" { String::new() } else { format!("{key} = {items}\n") };
        }
        toml += &format!("checks = {}\n{}", checks(&task.checks), limits(task, rule));
        toml += if task.gate { "gate = true\n" } else { "" };
        toml += if task.by_person { "by_person = true\n" } else { "" };
        // The default of the first agent does not apply: without a value, the client decides.
        let silence =
            task.silence.map(|limit| if limit.is_zero() { "\"off\"".to_owned() } else { span(limit) });
        toml += &silence.map_or_else(String::new, |silence| format!("silence = {silence}\n"));
        toml += &format!("prompt = {}\n", block(&task.prompt));
    }
    toml
}

fn policy(settings: &Settings) -> String {
    let schedule = match settings.schedule {
        Schedule::Layered => "layered",
        Schedule::Batch => "batch",
        Schedule::Flow => "flow",
    };
    let mut toml =
        format!("\n[policy]\nschedule = \"{schedule}\"\nmax_parallel = {}\n", settings.max_parallel);
    toml += &format!("exhausted = \"{}\"\n", settings.exhausted.name());
    if !settings.escalation.is_empty() {
        toml += &format!("escalation = {}\n", list(&settings.escalation));
    }
    let feedback = settings.feedback.as_ref().map(|name| format!("feedback = {}\n", text(name)));
    toml += &feedback.unwrap_or_default();
    toml += &format!("landing_checks = {}\n", checks(&settings.landing_checks));
    toml +=
        &format!("backoff = {}\nlanding_wait = {}\n", span(settings.backoff), span(settings.landing_wait));
    if settings.land == Land::Each {
        toml += "land = \"each\"\n";
    }
    let window = settings.landing_parallel.map(|most| format!("landing_parallel = {most}\n"));
    toml += &window.unwrap_or_default();
    if settings.late_conflicts {
        toml += "early_conflicts = false\n";
    }
    let fences = &settings.fences;
    toml += &fences.startup.map_or_else(String::new, |startup| format!("startup = {}\n", span(startup)));
    if !fences.protected.is_empty() {
        let patterns: Vec<&str> = fences.protected.iter().map(Pattern::as_str).collect();
        toml += &format!("protected = {}\n", list(&patterns));
    }
    if fences.protect != Protect::default() {
        toml += &format!("protect = \"{}\"\n", name_of(&Protect::ALL, fences.protect));
    }
    for (key, value) in [("commit_prefix", &settings.commit_prefix), ("author", &settings.author)] {
        toml += &value.as_ref().map_or_else(String::new, |value| format!("{key} = {}\n", text(value)));
    }
    toml
}

fn sandbox(fences: &Fences) -> String {
    let mut toml = String::new();
    if fences.sandbox != Sandbox::default() {
        toml += &format!("mode = \"{}\"\n", name_of(&Sandbox::ALL, fences.sandbox));
    }
    if !fences.writable.is_empty() {
        toml += &format!("writable = {}\n", list(&fences.writable));
    }
    for (key, limit) in [("memory_mib", fences.memory_mib), ("processes", fences.processes)] {
        toml += &limit.map_or_else(String::new, |limit| format!("{key} = {limit}\n"));
    }
    if toml.is_empty() { toml } else { format!("\n[sandbox]\n{toml}") }
}

fn budget(budget: &Budget) -> String {
    let mut toml = String::new();
    for (key, most) in
        [("run_usd", budget.run_usd), ("task_usd", budget.task_usd), ("attempt_usd", budget.attempt_usd)]
    {
        toml += &most.map_or_else(String::new, |most| format!("{key} = {}\n", dollars(most)));
    }
    for (key, most) in [
        ("run_tokens", budget.run_tokens),
        ("task_tokens", budget.task_tokens),
        ("attempt_tokens", budget.attempt_tokens),
    ] {
        toml += &most.map_or_else(String::new, |most| format!("{key} = {most}\n"));
    }
    for (key, most) in [
        ("run_time", budget.run_time),
        ("task_time", budget.task_time),
        ("attempt_time", budget.attempt_time),
    ] {
        toml += &most.map_or_else(String::new, |most| format!("{key} = {}\n", span(most)));
    }
    if toml.is_empty() { toml } else { format!("\n[budget]\n{toml}") }
}

fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn name_of<T: Copy + PartialEq>(all: &[(&'static str, T)], one: T) -> &'static str {
    all.iter().find(|(_, value)| *value == one).map_or("", |(name, _)| name)
}

fn agent_table(name: &str, agent: &Agent) -> String {
    let mut toml = format!("\n[agents.{}]\n", text(name));
    if agent.adapter.is_command() {
        toml += &format!("command = {}\n", list(&agent.command));
        toml += match agent.prompt {
            PromptBy::Stdin => "prompt = \"stdin\"\n",
            PromptBy::File => "prompt = \"file\"\n",
        };
    } else {
        toml += &format!("adapter = \"{}\"\n", agent.adapter.name());
        for (key, value) in [("program", &agent.program), ("model", &agent.model)] {
            toml += &value.as_ref().map_or_else(String::new, |value| format!("{key} = {}\n", text(value)));
        }
        toml += &agent.max_turns.map_or_else(String::new, |turns| format!("max_turns = {turns}\n"));
        toml += &agent.budget.map_or_else(String::new, |most| format!("budget_usd = {}\n", dollars(most)));
        if agent.permissions == Permissions::All {
            toml += "permissions = \"all\"\n";
        }
        toml += if agent.no_mcp { "mcp = false\n" } else { "" };
        toml += if agent.hooks { "hooks = true\n" } else { "" };
    }
    if !agent.args.is_empty() {
        toml += &format!("args = {}\n", list(&agent.args));
    }
    for (key, value) in [("provider", &agent.provider), ("fallback", &agent.fallback)] {
        toml += &value.as_ref().map_or_else(String::new, |value| format!("{key} = {}\n", text(value)));
    }
    let env: Vec<String> =
        agent.env.iter().map(|(key, value)| format!("{} = {}", text(key), text(value))).collect();
    toml + &if env.is_empty() { String::new() } else { format!("env = {{ {} }}\n", env.join(", ")) }
}

/// The keys that `[defaults]` and tasks share, as far as they differ from a rule.
fn limits(task: &TaskSpec, rule: Option<&TaskSpec>) -> String {
    let lines = |task: &TaskSpec| {
        [
            format!("agent = {}\n", text(&task.agent)),
            format!("attempts = {}\n", task.attempts),
            format!("priority = {}\n", task.priority),
            format!("timeout = {}\n", span(task.timeout)),
            format!("confirm = {}\n", task.confirm),
            format!("may_change_nothing = {}\n", task.may_change_nothing),
            format!("check_first = {}\n", task.check_first),
            format!("may_fail = {}\n", task.may_fail),
        ]
    };
    let ruled = rule.map(lines);
    let own = lines(task).into_iter().enumerate();
    own.filter(|(nth, line)| ruled.as_ref().is_none_or(|ruled| ruled[*nth] != *line))
        .map(|(_, line)| line)
        .collect()
}

fn checks(checks: &[Check]) -> String {
    match checks {
        [] => "[]".to_owned(),
        checks => {
            format!("[\n{}]", checks.iter().map(|check| format!("  {},\n", entry(check))).collect::<String>())
        }
    }
}

fn entry(check: &Check) -> String {
    let mut keys = match &check.run {
        Argv::Look { file, holds } if holds.is_empty() => vec![format!("file = {}", text(file.as_str()))],
        Argv::Look { file, holds } => {
            vec![format!("file = {}", text(file.as_str())), format!("holds = {}", list(holds))]
        }
        Argv::Review { agent, ask } => {
            vec![format!("review = {}", text(agent)), format!("ask = {}", text(ask))]
        }
        run => vec![format!("run = {}", command(run))],
    };
    if check.name != check_name(&check.run) {
        keys.push(format!("name = {}", text(&check.name)));
    }
    if check.timeout != usual_timeout(&check.run) {
        keys.push(format!("timeout = {}", span(check.timeout)));
    }
    if let Some(cwd) = &check.cwd {
        keys.push(format!("cwd = {}", text(cwd.as_str())));
    }
    let usual = Check::new(String::new(), check.run.clone(), check.timeout).pipefail;
    // A run that began before `pipefail` existed keeps its rule.
    if check.pipefail != usual {
        keys.push(format!("pipefail = {}", check.pipefail == Some(true)));
    }
    if check.fresh {
        keys.push("fresh = true".to_owned());
    }
    if check.uncached {
        keys.push("cache = false".to_owned());
    }
    match &keys[..] {
        [only] if only.starts_with("run = \"") => only["run = ".len()..].to_owned(),
        keys => format!("{{ {} }}", keys.join(", ")),
    }
}

/// A line, where it is read as this command; else its words.
fn command(run: &Argv) -> String {
    let line = run.to_string();
    if line.trim() == line && Argv::parse(&line) == *run { text(&line) } else { list(&run.words()) }
}

/// Text of several lines as one writes it by hand.
pub(super) fn block(raw: &str) -> String {
    if !raw.contains('\n') {
        return text(raw);
    }
    let mut escaped = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => escaped += "\\\\",
            // Three in a row, or one before them, would end the text.
            '"' if matches!(chars.peek(), None | Some('"')) => escaped += "\\\"",
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => escaped += &format!("\\u{:04x}", u32::from(c)),
            c => escaped.push(c),
        }
    }
    format!("\"\"\"\n{escaped}\"\"\"")
}

fn span(span: Span) -> String {
    match span.0 {
        ms if ms % 60_000 == 0 => format!("\"{}m\"", ms / 60_000),
        ms if ms % 1000 == 0 => format!("\"{}s\"", ms / 1000),
        ms => format!("\"{ms}ms\""),
    }
}
