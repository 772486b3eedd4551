//! `piton.toml`: what holds for every plan of a project. A plan has the same tables, and they are stronger.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::agents::{check_fallback, read_agent, read_dollars};
use super::checks::{TIMEOUT, check_of, read_checks, read_command, read_paths};
use super::issues::{IssueSettings, read_issues};
use super::journal::read_journal;
use super::keys;
use super::notify::{Notify, read_notify};
use super::requests::read_requests;
use super::walk::{Section, Spanned, Walk};
use crate::diagnostic::Diagnostic;
use crate::plan::{
    Agent, Argv, Budget, Check, Exhausted, Fences, Land, MAX_PARALLEL, Pattern, Protect, RepoPath, Requests,
    Reuse, Sandbox, Schedule, Settings, TaskId, TaskSpec, WorktreeSetup,
};
use crate::time::Span;

/// The agent of a task that names none.
pub const DEFAULT_AGENT: &str = "default";
const ATTEMPTS: u32 = 3;
const PRIORITY: u32 = 50;

/// What a project says for all its plans; what is not said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub policy: Policy,
    pub agents: BTreeMap<String, Agent>,
    pub worktree: Worktree,
    /// `[sandbox]`, and what `[policy]` says about protected files.
    pub fences: Fences,
    pub budget: Budget,
    pub defaults: Defaults,
    pub gates: BTreeMap<String, Gate>,
    pub issues: IssueSettings,
    /// `[requests]`: how a run with `--land pr` makes its requests.
    pub requests: Requests,
    pub notify: Notify,
    /// `[journal]`: the URL of the database that has the journal.
    pub journal: Option<String>,
}

/// `[gates.NAME]`: what is looked at when all tasks are through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    pub check: Check,
    /// How often it is fixed before the run continues without it.
    pub fixes: Option<u32>,
}

/// `[policy]`: how a whole run behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub schedule: Option<Schedule>,
    pub order: Option<Order>,
    pub subtasks: Option<Subtasks>,
    pub max_parallel: Option<u32>,
    pub exhausted: Option<Exhausted>,
    pub escalation: Option<Vec<String>>,
    pub feedback: Option<String>,
    pub landing_checks: Option<Vec<Check>>,
    pub backoff: Option<Span>,
    pub landing_wait: Option<Span>,
    pub land: Option<Land>,
    pub landing_parallel: Option<u32>,
    pub early_conflicts: Option<bool>,
    pub commit_prefix: Option<String>,
    pub author: Option<String>,
}

/// Who waits for whom in a plan whose file does not say it of each task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Each task waits for the one before it, in the whole file.
    #[default]
    All,
    /// The same in each group. Groups do not wait for each other, unless their format says so.
    Groups,
    /// Nobody.
    Free,
}

impl Order {
    pub const ALL: [(&'static str, Order); 3] =
        [("all", Order::All), ("groups", Order::Groups), ("free", Order::Free)];
}

/// What the subtasks of a list are that has tasks with subtasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subtasks {
    /// Steps of their task: one agent does all of them.
    #[default]
    Steps,
    /// Tasks of their own.
    Tasks,
}

impl Subtasks {
    pub const ALL: [(&'static str, Subtasks); 2] = [("steps", Subtasks::Steps), ("tasks", Subtasks::Tasks)];
}

/// `[worktree]`: how a fresh worktree is made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    pub copy: Option<Vec<RepoPath>>,
    pub setup: Option<Argv>,
    pub reuse: Option<Reuse>,
    pub warm: Option<Vec<RepoPath>>,
    pub keep_mib: Option<u32>,
}

/// `[defaults]`: what holds for a task that does not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub agent: Option<String>,
    pub checks: Option<Vec<Check>>,
    pub attempts: Option<u32>,
    pub priority: Option<u32>,
    pub timeout: Option<Span>,
    /// `Some(None)` is `"off"`, which takes a weaker limit away.
    pub silence: Option<Option<Span>>,
    pub confirm: Option<bool>,
    pub may_change_nothing: Option<bool>,
    pub check_first: Option<bool>,
    pub may_fail: Option<bool>,
}

/// Read `piton.toml`. Like every reader it returns what it understood, with all that is wrong.
pub fn read_config(text: &str) -> (Config, Vec<Diagnostic>) {
    let (mut walk, document) = Walk::open(text);
    let config = document.map_or_else(Config::default, |table| {
        let top = Section::open(&mut walk, &table, 0..0, &keys::CONFIG);
        let gates = read_gates(&mut walk, &top);
        let notify = top.section(&mut walk, "notify", &keys::NOTIFY);
        let notify = notify.map(|section| read_notify(&mut walk, &section)).unwrap_or_default();
        let issues = top.section(&mut walk, "issues", &keys::ISSUES);
        let issues = issues.map(|section| read_issues(&mut walk, &section)).unwrap_or_default();
        let requests = top.section(&mut walk, "requests", &keys::REQUESTS);
        let requests = requests.map(|section| read_requests(&mut walk, &section)).unwrap_or_default();
        let journal = top.section(&mut walk, "journal", &keys::JOURNAL);
        let journal = journal.and_then(|section| read_journal(&mut walk, &section));
        Config {
            gates,
            issues,
            requests,
            notify,
            journal,
            ..read_tables(&mut walk, &top, &Config::default())
        }
    });
    (config, walk.finish())
}

/// What both files share, laid over what a weaker one says.
pub(in crate::system) fn read_tables(walk: &mut Walk<'_>, top: &Section<'_>, weaker: &Config) -> Config {
    let mut config = weaker.clone();
    if let Some(section) = top.section(walk, "policy", &keys::POLICY) {
        config.policy = read_policy(walk, &section, &weaker.policy);
        read_protection(walk, &section, &mut config.fences);
    }
    if let Some(section) = top.section(walk, "sandbox", &keys::SANDBOX) {
        read_sandbox(walk, &section, &mut config.fences);
    }
    let bounds = top.section(walk, "budget", &keys::BUDGET);
    if let Some(section) = &bounds {
        read_budget(walk, section, &mut config.budget);
    }
    if let Some(Spanned { value: agents, .. }) = top.table(walk, "agents") {
        let mut fallbacks = Vec::new();
        for (name, value) in agents.iter() {
            let key = name.get_ref().as_ref();
            if key.trim().is_empty() || key.chars().any(char::is_control) {
                let message = "an agent's name is empty or holds a control character";
                walk.push(Diagnostic::error(name.span(), message).label("name it plainly, like `default`"));
            }
            let DeValue::Table(table) = value.get_ref() else {
                let what = format!("the agent `{}`", key.escape_debug());
                walk.wrong(&what, "a table with a `command` or an `adapter`", value.get_ref(), value.span());
                continue;
            };
            let section = Section::open(walk, table, value.span(), &keys::AGENT);
            let mut agent = read_agent(walk, &section, weaker.agents.get(key));
            let provider = section.line(walk, "provider").map(|said| said.value.to_owned());
            agent.provider = provider.or(agent.provider);
            if let Some(said) = section.line(walk, "fallback") {
                agent.fallback = Some(said.value.to_owned());
                fallbacks.push((key.to_owned(), said));
            }
            config.agents.insert(key.to_owned(), agent);
        }
        fallbacks.iter().for_each(|(name, said)| check_fallback(walk, &config.agents, name, said));
        warn_of_loose_agents(walk, agents, &config, &weaker.budget);
    }
    if let Some(section) = &bounds {
        warn_of_loose_bounds(walk, section, &config.agents);
    }
    if let Some(section) = top.section(walk, "worktree", &keys::WORKTREE) {
        let mut paths = |key: &str| {
            let paths = section.has(key).then(|| read_paths(walk, &section, key));
            paths.map(|paths| paths.into_iter().map(|path| path.value).collect())
        };
        config.worktree.copy = paths("copy").or(config.worktree.copy);
        config.worktree.warm = paths("warm").or(config.worktree.warm);
        config.worktree.reuse = section.choice(walk, "reuse", &Reuse::ALL).or(config.worktree.reuse);
        config.worktree.keep_mib =
            section.number(walk, "keep_mib", 0..=u32::MAX).or(config.worktree.keep_mib);
        let setup = section.get("setup").and_then(|said| read_command(walk, "`setup`", &said));
        config.worktree.setup = setup.or(config.worktree.setup);
    }
    if let Some(section) = top.section(walk, "defaults", &keys::DEFAULTS) {
        config.defaults = read_defaults(walk, &section, &weaker.defaults);
    }
    config
}

/// The part of `[policy]` that is about what agents do besides their work.
fn read_protection(walk: &mut Walk<'_>, section: &Section<'_>, fences: &mut Fences) {
    fences.startup = section.limit(walk, "startup").map(|said| said.value).or(fences.startup);
    if section.has("protected") {
        let said = section.texts(walk, "protected");
        fences.protected = said.into_iter().filter_map(|said| read_pattern(walk, &said)).collect();
    }
    fences.protect = section.choice(walk, "protect", &Protect::ALL).unwrap_or(fences.protect);
}

fn read_pattern(walk: &mut Walk<'_>, said: &Spanned<&str>) -> Option<Pattern> {
    let pattern = Pattern::new(said.value);
    if let Err(reason) = &pattern {
        let message = format!("{:?} cannot be a pattern in `protected`: {reason}", said.value);
        walk.push(Diagnostic::error(said.at.clone(), message).label("write it like `tests/**`"));
    }
    pattern.ok()
}

fn read_sandbox(walk: &mut Walk<'_>, section: &Section<'_>, fences: &mut Fences) {
    fences.sandbox = section.choice(walk, "mode", &Sandbox::ALL).unwrap_or(fences.sandbox);
    if section.has("writable") {
        let said = section.texts(walk, "writable");
        fences.writable = said.into_iter().filter_map(|said| read_place(walk, &said)).collect();
    }
    // Less than this, and no program starts at all.
    fences.memory_mib = section.number(walk, "memory_mib", 64..=16_777_216).or(fences.memory_mib);
    fences.processes = section.number(walk, "processes", 16..=4_194_304).or(fences.processes);
}

fn read_budget(walk: &mut Walk<'_>, section: &Section<'_>, budget: &mut Budget) {
    let mut usd = |key: &str| section.get(key).and_then(|said| read_dollars(walk, key, &said));
    budget.run_usd = usd("run_usd").or(budget.run_usd);
    budget.task_usd = usd("task_usd").or(budget.task_usd);
    budget.attempt_usd = usd("attempt_usd").or(budget.attempt_usd);
    let mut tokens = |key: &str| section.number(walk, key, 1..=u32::MAX).map(u64::from);
    budget.run_tokens = tokens("run_tokens").or(budget.run_tokens);
    budget.task_tokens = tokens("task_tokens").or(budget.task_tokens);
    budget.attempt_tokens = tokens("attempt_tokens").or(budget.attempt_tokens);
    let mut time = |key: &str| section.limit(walk, key).map(|said| said.value);
    budget.run_time = time("run_time").or(budget.run_time);
    budget.task_time = time("task_time").or(budget.task_time);
    budget.attempt_time = time("attempt_time").or(budget.attempt_time);
}

/// A limit in money has no effect on an agent whose client reports no costs. The warning stands at the limit and names
/// others that work.
fn warn_of_loose_bounds(walk: &mut Walk<'_>, budget: &Section<'_>, agents: &BTreeMap<String, Agent>) {
    for whose in ["run", "task", "attempt"] {
        let Some(said) = budget.get(&format!("{whose}_usd")) else { continue };
        for (name, agent) in agents.iter().filter(|(_, agent)| agent.adapter.tells_no_money()) {
            walk.push(loose(said.at.clone(), whose, name, agent));
        }
    }
}

/// The same of agents that meet such a bound of a weaker file.
fn warn_of_loose_agents(walk: &mut Walk<'_>, said: &DeTable<'_>, config: &Config, weaker: &Budget) {
    let bounds = [("run", weaker.run_usd), ("task", weaker.task_usd), ("attempt", weaker.attempt_usd)];
    for (name, _) in said.iter() {
        let Some(agent) = config.agents.get(name.get_ref().as_ref()) else { continue };
        for (whose, _) in bounds.iter().filter(|bound| bound.1.is_some() && agent.adapter.tells_no_money()) {
            walk.push(loose(name.span(), whose, name.get_ref(), agent));
        }
    }
}

fn loose(at: Range<usize>, whose: &str, name: &str, agent: &Agent) -> Diagnostic {
    let (name, client) = (name.escape_debug(), agent.adapter.name());
    let message = format!("`{whose}_usd` does not limit `{name}`: {client} reports tokens but no cost");
    Diagnostic::warning(at, message).label(format!("`{whose}_tokens` and `{whose}_time` limit it"))
}

/// A place outside of the project: nothing that could mean another one tomorrow.
fn read_place(walk: &mut Walk<'_>, said: &Spanned<&str>) -> Option<String> {
    let parts = said.value.strip_prefix("~/").or_else(|| said.value.strip_prefix('/'));
    let good = parts.is_some_and(|parts| {
        !parts.trim_matches('/').is_empty()
            && parts.split('/').all(|part| part != "..")
            && !parts.chars().any(char::is_control)
    });
    if !good {
        let message = format!("{:?} cannot be a place in `writable`", said.value);
        walk.push(
            Diagnostic::error(said.at.clone(), message).label("an absolute path, or one like `~/.cache`"),
        );
    }
    good.then(|| said.value.to_owned())
}

/// `[gates]`, which only a project has.
fn read_gates(walk: &mut Walk<'_>, top: &Section<'_>) -> BTreeMap<String, Gate> {
    let mut gates = BTreeMap::new();
    let Some(Spanned { value: table, .. }) = top.table(walk, "gates") else { return gates };
    for (name, value) in table.iter() {
        let key = name.get_ref().as_ref();
        if TaskId::new(&format!("gate-{key}")).is_err() {
            let message = format!("{key:?} cannot name a gate");
            walk.push(Diagnostic::error(name.span(), message).label("letters, digits and `. _ -`"));
            continue;
        }
        let DeValue::Table(table) = value.get_ref() else {
            let what = format!("the gate `{key}`");
            walk.wrong(&what, "a table with `run` or `review`", value.get_ref(), value.span());
            continue;
        };
        let section = Section::open(walk, table, value.span(), &keys::GATE);
        let fixes = section.number(walk, "fixes", 0..=20);
        if let Some(check) = check_of(walk, &section) {
            gates.insert(key.to_owned(), Gate { check, fixes });
        }
    }
    gates
}

fn read_policy(walk: &mut Walk<'_>, section: &Section<'_>, weaker: &Policy) -> Policy {
    let weaker = weaker.clone();
    let schedules = [("layered", Schedule::Layered), ("batch", Schedule::Batch), ("flow", Schedule::Flow)];
    let exhausted = Exhausted::ALL.map(|exhausted| (exhausted.name(), exhausted));
    Policy {
        schedule: section.choice(walk, "schedule", &schedules).or(weaker.schedule),
        order: section.choice(walk, "order", &Order::ALL).or(weaker.order),
        subtasks: section.choice(walk, "subtasks", &Subtasks::ALL).or(weaker.subtasks),
        max_parallel: section.number(walk, "max_parallel", 1..=MAX_PARALLEL).or(weaker.max_parallel),
        exhausted: section.choice(walk, "exhausted", &exhausted).or(weaker.exhausted),
        escalation: section
            .has("escalation")
            .then(|| section.texts(walk, "escalation").iter().map(|said| said.value.to_owned()).collect())
            .or(weaker.escalation),
        feedback: section.line(walk, "feedback").map(|said| said.value.to_owned()).or(weaker.feedback),
        landing_checks: read_checks(walk, section, "landing_checks").or(weaker.landing_checks),
        backoff: section.span(walk, "backoff").map(|said| said.value).or(weaker.backoff),
        landing_wait: section.span(walk, "landing_wait").map(|said| said.value).or(weaker.landing_wait),
        land: section.choice(walk, "land", &[("batch", Land::Batch), ("each", Land::Each)]).or(weaker.land),
        landing_parallel: section
            .number(walk, "landing_parallel", 1..=MAX_PARALLEL)
            .or(weaker.landing_parallel),
        early_conflicts: section.flag(walk, "early_conflicts").or(weaker.early_conflicts),
        commit_prefix: section
            .line(walk, "commit_prefix")
            .map(|said| said.value.to_owned())
            .or(weaker.commit_prefix),
        author: section.line(walk, "author").and_then(|said| read_author(walk, &said)).or(weaker.author),
    }
}

/// `Name <mail>`, the only form git takes.
fn read_author(walk: &mut Walk<'_>, said: &Spanned<&str>) -> Option<String> {
    let parts = said.value.trim().strip_suffix('>').and_then(|rest| rest.split_once('<'));
    let good = parts.is_some_and(|(name, mail)| {
        !name.trim().is_empty() && !mail.is_empty() && !mail.contains(['<', '>', ' ']) && !name.contains('>')
    });
    if !good {
        let message = "`author` is not a name and a mail address";
        walk.push(
            Diagnostic::error(said.at.clone(), message).label("write it like \"Ada <ada@example.org>\""),
        );
    }
    good.then(|| said.value.trim().to_owned())
}

/// `[defaults]`, or the same keys of a task.
pub(in crate::system) fn read_defaults(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    weaker: &Defaults,
) -> Defaults {
    let weaker = weaker.clone();
    let silence = match section.get("silence").map(|said| said.value) {
        Some(DeValue::String(off)) if off == "off" => Some(Some(Span(0))),
        _ => section.limit(walk, "silence").map(|said| Some(said.value)),
    };
    Defaults {
        agent: section.line(walk, "agent").map(|said| said.value.to_owned()).or(weaker.agent),
        checks: read_checks(walk, section, "checks").or(weaker.checks),
        attempts: section.number(walk, "attempts", 1..=100).or(weaker.attempts),
        priority: section.number(walk, "priority", 1..=99).or(weaker.priority),
        timeout: section.limit(walk, "timeout").map(|said| said.value).or(weaker.timeout),
        silence: silence.or(weaker.silence),
        confirm: section.flag(walk, "confirm").or(weaker.confirm),
        may_change_nothing: section.flag(walk, "may_change_nothing").or(weaker.may_change_nothing),
        check_first: section.flag(walk, "check_first").or(weaker.check_first),
        may_fail: section.flag(walk, "may_fail").or(weaker.may_fail),
    }
}

impl Defaults {
    /// A task with only default values.
    pub(in crate::system) fn task(self, id: TaskId, title: String, prompt: String) -> TaskSpec {
        TaskSpec {
            id,
            title,
            prompt,
            group: 0,
            depends_on: Vec::new(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: self.checks.unwrap_or_default(),
            priority: self.priority.unwrap_or(PRIORITY),
            agent: self.agent.unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
            attempts: self.attempts.unwrap_or(ATTEMPTS),
            confirm: self.confirm.unwrap_or(false),
            may_change_nothing: self.may_change_nothing.unwrap_or(false),
            check_first: self.check_first.unwrap_or(false),
            may_fail: self.may_fail.unwrap_or(false),
            gate: false,
            by_person: false,
            timeout: self.timeout.unwrap_or(TIMEOUT),
            silence: self.silence.flatten(),
            exports: Vec::new(),
            outside: Vec::new(),
            source: None,
        }
    }
}

impl Config {
    /// A task with only these fields, and defaults for all others.
    pub fn task(&self, id: TaskId, title: impl Into<String>, prompt: impl Into<String>) -> TaskSpec {
        self.defaults.clone().task(id, title.into(), prompt.into())
    }

    /// The settings of a run, with every built-in default filled in.
    pub fn settings(&self) -> Settings {
        let built_in = Settings::default();
        let policy = self.policy.clone();
        Settings {
            form: built_in.form,
            schedule: policy.schedule.unwrap_or(built_in.schedule),
            max_parallel: policy.max_parallel.unwrap_or(built_in.max_parallel),
            exhausted: policy.exhausted.unwrap_or(built_in.exhausted),
            escalation: policy.escalation.unwrap_or_default(),
            feedback: policy.feedback,
            landing_checks: policy.landing_checks.unwrap_or_default(),
            agents: self.agents.clone(),
            worktree: WorktreeSetup {
                copy: self.worktree.copy.clone().unwrap_or_default(),
                setup: self.worktree.setup.clone(),
                reuse: self.worktree.reuse.unwrap_or_default(),
                warm: self.worktree.warm.clone().unwrap_or_default(),
                keep_mib: self.worktree.keep_mib,
                shared: None,
            },
            fences: self.fences.clone(),
            budget: self.budget,
            commit_prefix: policy.commit_prefix,
            author: policy.author,
            backoff: policy.backoff.unwrap_or(built_in.backoff),
            landing_wait: policy.landing_wait.unwrap_or(built_in.landing_wait),
            land: policy.land.unwrap_or_default(),
            landing_parallel: policy.landing_parallel,
            late_conflicts: policy.early_conflicts == Some(false),
            requests: built_in.requests,
            auto_answer: built_in.auto_answer,
            no_commits: built_in.no_commits,
            in_sequence: built_in.in_sequence,
        }
    }
}
