//! `plan.toml`: text in, a plan and everything that is wrong with it out.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::checks::{read_paths, unix_lines};
use super::config::{self, Config, Defaults, read_defaults, read_tables};
use super::keys::{self, quoted};
use super::links::{Origin, link};
use super::walk::{Section, Spanned, Walk};
use super::{LONGEST_NAME, name_from};
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Exhausted, Group, GroupId, Plan, RunId, Schedule, Settings, TaskId, TaskSpec};

/// The group of every task if a plan declares no groups.
const ONLY_GROUP: &str = "main";

/// A plan as far as it was understood.
#[derive(Clone, Debug)]
pub struct Reading {
    /// To be used only if [`Reading::is_usable`].
    pub plan: Plan,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// Whether nothing worse than a warning was found.
    pub fn is_usable(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error)
    }
}

/// What a command line says about a run: stronger than the plan. The values are in range already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub schedule: Option<Schedule>,
    pub max_parallel: Option<u32>,
    pub exhausted: Option<Exhausted>,
}

/// Read a plan. `stem` is its file's name without the ending, and names the plan if it does not do so itself.
pub fn read(text: &str, stem: &str, config: &Config, overrides: &Overrides) -> Reading {
    let (mut walk, document) = Walk::open(text);
    let plan = match &document {
        Some(table) => {
            let top = Section::open(&mut walk, table, 0..0, &keys::PLAN);
            read_plan(&mut walk, &top, stem, config, overrides)
        }
        None => {
            let settings = config.settings();
            Plan { name: name_from(stem), groups: vec![only_group()], tasks: Vec::new(), settings }
        }
    };
    Reading { plan, diagnostics: walk.finish() }
}

fn read_plan(
    walk: &mut Walk<'_>,
    top: &Section<'_>,
    stem: &str,
    config: &Config,
    overrides: &Overrides,
) -> Plan {
    let name = read_name(walk, top).unwrap_or_else(|| name_from(stem));
    let config = read_tables(walk, top, config);
    let mut settings = config.settings();
    settings.schedule = overrides.schedule.unwrap_or(settings.schedule);
    settings.max_parallel = overrides.max_parallel.unwrap_or(settings.max_parallel);
    settings.exhausted = overrides.exhausted.unwrap_or(settings.exhausted);
    // Where the plan itself names the default agent; `None` if only `piton.toml` does, or neither.
    let agent_at = top.get("defaults").and_then(|said| Some(said.value.as_table()?.get("agent")?.span()));

    check_feedback(walk, top, &settings);
    warn_of_subtasks(walk, top);
    let groups = read_groups(walk, top);
    let sections = top.sections(walk, "task", &keys::TASK);
    if !top.has("task") || (sections.is_empty() && top.get("task").is_some_and(|said| said.value.is_array()))
    {
        walk.push(
            Diagnostic::error(0..0, "the plan has no tasks")
                .label("no `[[task]]` in this file")
                .help("add a `[[task]]` with `id`, `title`, `prompt` and `checks`"),
        );
    }
    let mut reader = Tasks {
        config: &config,
        settings: &settings,
        agent_at,
        groups: &groups,
        used: vec![false; groups.declared.len()],
        tasks: Vec::with_capacity(sections.len()),
        origins: Vec::with_capacity(sections.len()),
        ids: HashMap::with_capacity(sections.len()),
        broken: HashSet::new(),
        default_agent_reported: false,
    };
    for section in &sections {
        reader.read_task(walk, section);
    }
    let Tasks { used, mut tasks, origins, broken, .. } = reader;
    for (group, _) in groups.declared.iter().zip(used).filter(|(_, used)| !used) {
        let message = format!("no task is in the group `{}`", group.value.id);
        walk.push(Diagnostic::warning(group.at.clone(), message).label("it is ignored"));
    }
    let groups: Vec<Group> = groups.declared.iter().map(|group| group.value.clone()).collect();
    let groups = if groups.is_empty() { vec![only_group()] } else { groups };
    link(walk, &mut tasks, &origins, &broken, &groups, &settings);
    Plan { name, groups, tasks, settings }
}

/// An agent that the plan names for feedback has to be defined.
fn check_feedback(walk: &mut Walk<'_>, top: &Section<'_>, settings: &Settings) {
    let at = top.get("policy").and_then(|said| Some(said.value.as_table()?.get("feedback")?.span()));
    let agents = &settings.agents;
    let (Some(at), Some(name)) = (at, &settings.feedback) else { return };
    if agents.is_empty() || agents.contains_key(name) {
        return;
    }
    let names = || agents.keys().map(String::as_str);
    let label = match walk.nearest(name, names()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "not defined".to_owned(),
    };
    walk.push(
        Diagnostic::error(at, format!("there is no agent {name:?}; defined: {}", quoted(names())))
            .label(label)
            .help(format!("define it: `[agents.{name}]`; or leave `feedback` out")),
    );
}

/// A plan of Piton has no subtasks.
fn warn_of_subtasks(walk: &mut Walk<'_>, top: &Section<'_>) {
    let at = top.get("policy").and_then(|said| Some(said.value.as_table()?.get("subtasks")?.span()));
    if let Some(at) = at {
        let message = "a `plan.toml` has no subtasks";
        let said = Diagnostic::warning(at, message).label("it is ignored");
        walk.push(said.help("`subtasks` is for lists of Task Master: write it into `piton.toml`"));
    }
}

/// Without the defaults for what agents do. Checks that are written at the task itself judge what the person did.
fn for_a_person(said: Defaults, section: &Section<'_>) -> Defaults {
    Defaults { checks: said.checks.filter(|_| section.has("checks")), ..said }
}

fn only_group() -> Group {
    Group { id: GroupId::new(ONLY_GROUP).expect("a plain word is an id"), title: ONLY_GROUP.to_owned() }
}

fn read_name(walk: &mut Walk<'_>, top: &Section<'_>) -> Option<String> {
    let said = top.text(walk, "name")?;
    let reason = match RunId::new(said.value) {
        Ok(_) if said.value.len() <= LONGEST_NAME => return Some(said.value.to_owned()),
        Ok(_) => format!("it has more than {LONGEST_NAME} characters"),
        Err(reason) => reason.to_string(),
    };
    walk.push(
        Diagnostic::error(said.at, format!("{:?} cannot name a plan: {reason}", said.value))
            .label("the name becomes part of file names and branches")
            .help(format!("write `name = {:?}`", name_from(said.value))),
    );
    None
}

/// The groups a plan declares, and whether it tried to.
struct Groups {
    declared: Vec<Spanned<Group>>,
    /// By id as spelt.
    positions: HashMap<String, usize>,
    /// There is a `group` key, right or wrong.
    meant: bool,
    /// One of them is missing for a reason that was already reported: do not report it again at every task.
    broken: bool,
}

fn read_groups(walk: &mut Walk<'_>, top: &Section<'_>) -> Groups {
    let mut groups =
        Groups { declared: Vec::new(), positions: HashMap::new(), meant: top.has("group"), broken: false };
    let sections = top.sections(walk, "group", &keys::GROUP);
    groups.broken = groups.meant && sections.is_empty();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for section in &sections {
        section.require(walk, "id", "\"1-foundation\"");
        let title = section.line(walk, "title");
        let id = section.text(walk, "id").and_then(|said| match GroupId::new(said.value) {
            Ok(id) => Some(Spanned { value: id, at: said.at }),
            Err(reason) => {
                walk.push(bad_id(&said, "a group's id", &reason.to_string()));
                None
            }
        });
        let Some(Spanned { value: id, at }) = id else {
            groups.broken = true;
            continue;
        };
        let folded = id.as_str().to_ascii_lowercase();
        if let Some(&first) = seen.get(&folded) {
            let same = groups.positions.contains_key(id.as_str());
            walk.push(duplicate(walk, "group", id.as_str(), same, first, &at));
            continue;
        }
        seen.insert(folded, at.start);
        let title = title.map_or_else(|| id.to_string(), |said| said.value.to_owned());
        groups.positions.insert(id.to_string(), groups.declared.len());
        groups.declared.push(Spanned { value: Group { id, title }, at });
    }
    groups
}

/// Two tasks or groups with one id, or with two ids that a file system may not distinguish.
fn duplicate(
    walk: &Walk<'_>,
    what: &str,
    id: &str,
    same: bool,
    first: usize,
    at: &Range<usize>,
) -> Diagnostic {
    let (one, two) = (walk.line(first), walk.line(at.start));
    let message = if same {
        format!("the {what} id `{id}` is used twice, in line {one} and line {two}")
    } else {
        format!("the {what} id `{id}` in line {two} differs only in case from the one in line {one}")
    };
    let why = if same { "every id must be unique" } else { "they would share a folder on some file systems" };
    Diagnostic::error(at.clone(), message).label(why).help("give one of them another id")
}

fn bad_id(said: &Spanned<&str>, what: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(said.at.clone(), format!("{:?} cannot be {what}: {reason}", said.value))
        .label("an id is one plain word, like `T1` or `2-walls`")
}

/// Tasks while they are read, one after the other.
struct Tasks<'a> {
    config: &'a Config,
    settings: &'a Settings,
    agent_at: Option<Range<usize>>,
    groups: &'a Groups,
    used: Vec<bool>,
    tasks: Vec<TaskSpec>,
    origins: Vec<Origin<'a>>,
    /// Folded id → its place, and the position of the task.
    ids: HashMap<String, (usize, usize)>,
    /// Ids that tasks gave and that could not be kept: depending on one is not a second mistake.
    broken: HashSet<&'a str>,
    default_agent_reported: bool,
}

impl<'a> Tasks<'a> {
    /// Read one task. It ends up in `tasks`, or an error says why it cannot.
    fn read_task(&mut self, walk: &mut Walk<'_>, section: &Section<'a>) {
        section.require(walk, "id", "\"T1\"");
        section.require(walk, "title", "\"…\"");
        section.require(walk, "prompt", "\"…\"");
        let id = self.read_id(walk, section);
        let title = section.line(walk, "title").map(|said| said.value.trim().to_owned());
        let prompt = section.text(walk, "prompt").map(|said| unix_lines(said.value));
        let group = self.read_group(walk, section);
        let depends_on = section.texts(walk, "depends_on");
        let (files, file_places) =
            read_paths(walk, section, "files").into_iter().map(|said| (said.value, said.at)).unzip();
        let criteria = section.texts(walk, "criteria").iter().map(|said| unix_lines(said.value)).collect();
        let said = read_defaults(walk, section, &self.config.defaults);
        let agent = said.agent.clone().unwrap_or_else(|| config::DEFAULT_AGENT.to_owned());
        let by_person = section.flag(walk, "by_person").unwrap_or(false);
        let said = if by_person { for_a_person(said, section) } else { said };
        if !by_person {
            self.check_agent(walk, section, &agent);
        }
        if !by_person && said.checks.as_ref().is_none_or(Vec::is_empty) && !section.has("checks") {
            walk.push(
                Diagnostic::error(section.at.clone(), "nothing checks this task")
                    .label("add `checks = [\"…\"]`: commands that prove it done")
                    .help("set `checks = []` if it cannot be proven, or give `[defaults]` some `checks`"),
            );
        }
        let gate = section.flag(walk, "gate").unwrap_or(false);
        let check_first = said.check_first.unwrap_or(gate);
        let Some(Spanned { value: id, at }) = id else { return };
        let spec = said.task(id, title.unwrap_or_default(), prompt.unwrap_or_default());
        self.tasks.push(TaskSpec {
            group: group.and_then(|group| u32::try_from(group).ok()).unwrap_or(0),
            files,
            criteria,
            check_first,
            gate,
            by_person,
            ..spec
        });
        self.origins.push(Origin { id: at, depends_on, files: file_places, grouped: group.is_some() });
    }

    fn read_id(&mut self, walk: &mut Walk<'_>, section: &Section<'a>) -> Option<Spanned<TaskId>> {
        let said = section.text(walk, "id")?;
        let id = match TaskId::new(said.value) {
            Ok(id) => id,
            Err(reason) => {
                walk.push(bad_id(&said, "a task's id", &reason.to_string()));
                self.broken.insert(said.value);
                return None;
            }
        };
        if let Some(&(first, position)) = self.ids.get(&id.folded()) {
            let same = self.tasks.get(position).is_some_and(|task| task.id == id);
            walk.push(duplicate(walk, "task", said.value, same, first, &said.at));
            self.broken.insert(said.value);
            return None;
        }
        self.ids.insert(id.folded(), (said.at.start, self.tasks.len()));
        Some(Spanned { value: id, at: said.at })
    }

    /// The position of a task's group, if it is known.
    fn read_group(&mut self, walk: &mut Walk<'_>, section: &Section<'_>) -> Option<usize> {
        if !self.groups.meant && !section.has("group") {
            return Some(0);
        }
        let names = || self.groups.declared.iter().map(|group| group.value.id.as_str());
        if !section.has("group") {
            if self.groups.broken {
                return None;
            }
            let example = names().next().unwrap_or("…");
            walk.push(
                Diagnostic::error(section.at.clone(), "this task has no group")
                    .label(format!("add `group = \"{example}\"`"))
                    .help("a plan that declares groups has every task in one"),
            );
            return None;
        }
        let said = section.text(walk, "group")?;
        if let Some(&position) = self.groups.positions.get(said.value) {
            self.used[position] = true;
            return Some(position);
        }
        if self.groups.broken {
            return None;
        }
        let diagnostic = Diagnostic::error(said.at, format!("there is no group {:?}", said.value));
        let near = walk.nearest(said.value, names());
        walk.push(match near {
            Some(near) => diagnostic.label(format!("did you mean \"{near}\"?")),
            None if self.groups.meant => {
                diagnostic.label("not declared").help(format!("declared: {}", quoted(names())))
            }
            None => diagnostic
                .label("this plan declares no groups")
                .help(format!("declare it: `[[group]]` with `id = {:?}`; or leave `group` out", said.value)),
        });
        None
    }

    /// A name that no agent has is a mistake only where there are agents: without any, the plan is kept by
    /// a person who drives it by hand, and `piton run` will ask for one.
    fn check_agent(&mut self, walk: &mut Walk<'_>, section: &Section<'_>, name: &str) {
        let agents = &self.settings.agents;
        if agents.is_empty() || agents.contains_key(name) {
            return;
        }
        let names = || agents.keys().map(String::as_str);
        let own = section.get("agent").map(|said| said.at);
        // The mistake is in one place then, so it is reported once.
        if own.is_none() && std::mem::replace(&mut self.default_agent_reported, true) {
            return;
        }
        let named = own.is_some() || self.agent_at.is_some();
        let at = own.or_else(|| self.agent_at.clone()).unwrap_or_else(|| section.at.clone());
        let label = match walk.nearest(name, names()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if named => "not defined".to_owned(),
            None => "this task names no agent".to_owned(),
        };
        walk.push(
            Diagnostic::error(at, format!("there is no agent {name:?}; defined: {}", quoted(names())))
                .label(label)
                .help(format!("define it: `[agents.{name}]` with `command = …`; or choose: `agent = …` in the task or in `[defaults]`")),
        );
    }
}
