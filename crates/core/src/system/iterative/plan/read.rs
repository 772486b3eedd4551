//! From a folder to a plan.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::brief::{self, Brief, left, placeholder};
use super::needs::Needs;
use super::review::{review, verifier};
use super::unit::{self, Unit};
use super::{BRIEFS, LISTS, templates};
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Pairs;
use crate::plan::{
    AboutUnit, Argv, Check, Content, Domain, Exhausted, Graph, Group, GroupId, Iterative, Mode, Plan,
    RepoPath, RunId, SHELVES, Schedule, Settings, TaskId, TaskSpec, Words,
};
use crate::system::config::{self, Config};
use crate::system::iterative::takeover::Left;
use crate::system::iterative::{context, progress, state};
use crate::system::kit::boxes;
use crate::system::kit::checklist::{self, Checklist, Kind, field, shift};
use crate::system::kit::outline::{Node, Outline, Word, status};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::takeover::{LeftFiles, Legacy};
use crate::system::kit::text;
use crate::system::{Before, DoneAgain, Folder, Form, Given, Problem, ReadPlan, Reading};
use crate::toolchain::Detected;

/// Iterations of a unit that does not say how many it may have.
const ITERATIONS: u32 = 5;
/// The model that this system uses if none is named.
const MODEL: &str = "sonnet";
/// Notes of a list go into the prompt of every unit: so many bytes in each prompt, and so many in all prompts of a
/// list.
const NOTES: usize = 2000;
const RETOLD: usize = 4 << 20;

/// A folder as far as it was understood.
#[derive(Clone, Debug)]
pub struct IterativeReading {
    pub reading: Reading,
    /// The file whose boxes are the units.
    pub list: &'static str,
    pub outline: Outline,
    pub about: Iterative,
    /// Checks that were found in the project, if they count.
    pub detected: Vec<Detected>,
}

impl ReadPlan for IterativeReading {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn reading_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }

    /// Ticks of the run before are not claims, so the boxes are opened. The log only grows, so it says from where on it is
    /// about the new run.
    fn done_again(&self, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> DoneAgain {
        let open = self.about.units.keys().map(|id| (id.clone(), Word::Pending)).into_map();
        let opened = read(self.list).and_then(|bytes| {
            let ticked = boxes::ticked(&bytes).len();
            let opened = boxes::tick(&bytes, &open).filter(|opened| opened.bytes != bytes)?;
            Some((self.list.to_owned(), opened.bytes, ticked))
        });
        let log = read(progress::FILE).unwrap_or_default();
        let is_empty = String::from_utf8_lossy(&log).trim().is_empty();
        DoneAgain { opened, entry: (!is_empty).then(|| progress::ANEW.to_owned()) }
    }

    fn left<'r>(&'r self, files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        let state = files.state.text().map(|text| state::read(text).state).unwrap_or_default();
        let (log, lessons) = (files.log, files.lessons);
        Some(Box::new(Left { about: &self.about, state, log, lessons }))
    }
}

/// Read a plan.
pub fn read(folder: &Folder, given: &Given<'_>) -> IterativeReading {
    let mut reader = Reader { given, texts: BTreeMap::new(), problems: Vec::new() };
    let brief = reader.brief(folder);
    reader.context(folder);
    let list = reader.list(folder, &brief);
    let source = reader.texts.get(list).cloned().unwrap_or_default();
    let lines = checklist::scan(&source);
    let mut found = Problems::new(given.strictness);
    let outline = Outline::read(&lines, &source, &mut found);
    outline.problems(&lines).into_iter().for_each(|problem| found.push(problem.clone()));
    let mode = if list == LISTS[0] { Mode::Development } else { Mode::Knowledge };
    let mut maker = UnitTasks {
        given,
        text: &source,
        list: &lines,
        outline: &outline,
        found: &mut found,
        mode,
        notes: String::new(),
        strange: HashSet::new(),
        before: BTreeMap::new(),
        in_sequence: false,
    };
    maker.notes = maker.notes();
    let about = maker.about(brief);
    let (tasks, units) = maker.tasks();
    let about = Iterative { units, ..about };
    let in_sequence = maker.in_sequence;
    maker.total(tasks.len());
    let before = std::mem::take(&mut maker.before);
    let refused = reader.is_refused(list);
    if tasks.is_empty() && !refused {
        let message = "the plan has no units";
        let label = "no unit in this file, like `- [ ] **T1**: Name`";
        found.push(Diagnostic::error(0..0, message).label(label));
    }
    reader.unchecked(mode, &tasks, &mut found);
    reader.slug(list);
    found.finish().into_iter().for_each(|diagnostic| reader.push(list, diagnostic));
    let (group, last) = review(given.config, &about, &tasks, 1);
    let plan = Plan {
        name: config::name_from(given.name),
        groups: vec![units_group(mode), group],
        tasks: tasks.into_iter().chain([last]).collect(),
        settings: Settings { in_sequence, ..settings(given.config, &about) },
    };
    let Reader { texts, mut problems, .. } = reader;
    Problem::sort(&mut problems);
    let detected = match given.config.defaults.checks {
        None if mode == Mode::Development => given.detected.to_vec(),
        _ => Vec::new(),
    };
    let reading = Reading { plan, problems, texts, project_path: None, before };
    IterativeReading { reading, list, outline, about, detected }
}

/// The settings of a run: every unit starts as soon as it may, one at a time unless the project says otherwise, and the
/// run continues past units that cannot be done.
fn settings(config: &Config, about: &Iterative) -> Settings {
    let prefix = || format!("feat({}):", about.slug);
    Settings {
        form: Form::Iterative(Box::new(about.clone())),
        schedule: Schedule::Flow,
        max_parallel: config.policy.max_parallel.unwrap_or(1),
        exhausted: config.policy.exhausted.unwrap_or(Exhausted::Continue),
        commit_prefix: Some(config.policy.commit_prefix.clone().unwrap_or_else(prefix)),
        ..config.settings()
    }
}

fn units_group(mode: Mode) -> Group {
    let (id, title) = match mode {
        Mode::Development => ("tasks", "Tasks"),
        Mode::Knowledge => ("phases", "Phases"),
    };
    Group { id: GroupId::new(id).expect("a word is a group"), title: title.to_owned() }
}

struct Reader<'g> {
    given: &'g Given<'g>,
    texts: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn push(&mut self, file: &str, diagnostic: Diagnostic) {
        self.texts.entry(file.to_owned()).or_default();
        self.problems.push(Problem { file: file.to_owned(), diagnostic });
    }

    fn decode(&mut self, file: &str, bytes: &[u8]) -> String {
        let decoded = text::decode_with(bytes, self.given.strictness);
        self.texts.insert(file.to_owned(), decoded.text.clone());
        decoded.problems.into_iter().for_each(|diagnostic| self.push(file, diagnostic));
        decoded.text
    }

    fn is_refused(&self, file: &str) -> bool {
        let is_error = |problem: &Problem| problem.diagnostic.severity == Severity::Error;
        self.problems.iter().any(|problem| problem.file == file && is_error(problem))
    }

    fn brief(&mut self, folder: &Folder) -> Brief {
        let mut found = Problems::new(self.given.strictness);
        let there = BRIEFS.into_iter().find_map(|name| Some((name, folder.files.get(name)?)));
        let Some((name, bytes)) = there else {
            let told = Diagnostic::warning(0..0, format!("`{}` does not exist", BRIEFS[0]));
            found.forgive(told.label("the goal is unknown, so the review cannot check it"));
            found.finish().into_iter().for_each(|diagnostic| self.push(BRIEFS[0], diagnostic));
            return Brief::default();
        };
        let source = self.decode(name, bytes);
        let brief = Brief::read(&source, &mut found);
        found.finish().into_iter().for_each(|diagnostic| self.push(name, diagnostic));
        brief
    }

    /// Every agent reads this file when it starts, so it is warned about if it is too long. Piton does not change it.
    fn context(&mut self, folder: &Folder) {
        let Some(bytes) = folder.files.get(context::FILE) else { return };
        let source = self.decode(context::FILE, bytes);
        if let Some(problem) = context::check(&source) {
            self.push(context::FILE, problem);
        }
    }

    /// The file that holds the units; its text is kept. Where there are both, the brief says which.
    fn list(&mut self, folder: &Folder, brief: &Brief) -> &'static str {
        let wanted = brief.mode.as_ref().map(|said| said.value).map(|mode| match mode {
            Mode::Development => LISTS[0],
            Mode::Knowledge => LISTS[1],
        });
        let there: Vec<&'static str> =
            LISTS.into_iter().filter(|name| folder.files.contains_key(*name)).collect();
        let Some(list) = there.iter().find(|name| Some(**name) == wanted).or(there.first()).copied() else {
            let message = format!("there is neither `{}` nor `{}`", LISTS[0], LISTS[1]);
            let told = Diagnostic::error(0..0, message).label("a plan of this system has one of them");
            self.push(wanted.unwrap_or(LISTS[0]), told);
            return wanted.unwrap_or(LISTS[0]);
        };
        for other in there.into_iter().filter(|other| *other != list) {
            let message = format!("`{list}` is read instead of this file");
            let label = "units in this file are ignored";
            self.push(other, Diagnostic::warning(0..0, message).label(label));
        }
        if let Some(said) = brief.mode.as_ref().filter(|_| wanted.is_some_and(|wanted| wanted != list)) {
            let name = BRIEFS.into_iter().find(|name| folder.files.contains_key(*name)).unwrap_or(BRIEFS[0]);
            let message = format!("the mode is {}, but there is only `{list}`", said.value.word());
            self.push(name, Diagnostic::warning(said.at.clone(), message).label("the list decides"));
        }
        if let Some(bytes) = folder.files.get(list) {
            self.decode(list, bytes);
        }
        list
    }

    /// The folder's name is part of commits, and of the archive's folder.
    fn slug(&mut self, list: &str) {
        if let Err(reason) = RunId::new(self.given.name) {
            let message = format!("{:?} cannot name a plan: {reason}", cut(self.given.name));
            self.push(list, Diagnostic::error(0..0, message).label("rename the folder"));
        }
    }

    /// Where code is written and nothing runs it, only the verifier says when something is done.
    fn unchecked(&self, mode: Mode, tasks: &[TaskSpec], found: &mut Problems) {
        let runs = |check: &Check| matches!(check.run, Argv::Words(_) | Argv::Shell(_));
        let is_checked = |task: &TaskSpec| task.checks.iter().any(runs);
        let is_said = self.given.config.defaults.checks.is_some();
        if mode == Mode::Knowledge || is_said || tasks.is_empty() || tasks.iter().any(is_checked) {
            return;
        }
        let told = Diagnostic::warning(0..0, "no checks were found in the project");
        let help = "add some in `piton.toml`: `[defaults]` with `checks = [\"make test\"]`";
        found.forgive(told.label("only the verifier says when a unit is done").help(help));
    }
}

/// Makes tasks of units.
struct UnitTasks<'a, 'f> {
    given: &'a Given<'a>,
    text: &'a str,
    list: &'a Checklist,
    outline: &'a Outline,
    found: &'f mut Problems,
    mode: Mode,
    /// What the list notes for all agents.
    notes: String,
    /// Models without a profile that have been reported.
    strange: HashSet<String>,
    before: BTreeMap<TaskId, Before>,
    /// The list says that its units come one after the other.
    in_sequence: bool,
}

impl UnitTasks<'_, '_> {
    fn tasks(&mut self) -> (Vec<TaskSpec>, BTreeMap<TaskId, AboutUnit>) {
        let outline = self.outline;
        let nodes: Vec<(usize, &Node)> = outline.tasks().collect();
        let done = outline.done();
        let mut units: Vec<Unit> = Vec::with_capacity(nodes.len());
        for (nth, node) in &nodes {
            let mut unit = unit::read(self.list, self.text, node, self.found);
            unit.outputs.iter_mut().for_each(|output| output.value = self.shelved(&output.value));
            let before = self.before(node, done[*nth]);
            self.before.insert(node.id.clone(), before);
            units.push(unit);
        }
        let needs = Needs::new(self.list, self.text, outline, &units);
        let linked = needs.link(self.found);
        self.in_sequence = needs.is_sequence(&linked);
        let mut specs: Vec<TaskSpec> = Vec::with_capacity(nodes.len());
        let mut about = BTreeMap::new();
        let mut retold = RETOLD;
        for (((_, node), unit), linked) in nodes.iter().zip(&units).zip(&linked) {
            // Ids give the order where they can; elsewhere a later place is a later turn.
            let last = specs.last();
            let priority = last.map_or(1, |last: &TaskSpec| last.priority + u32::from(last.id > node.id));
            let depends_on = linked.iter().map(|&need| nodes[need].1.id.clone()).collect();
            let spec = self.task(node, unit, &mut retold);
            specs.push(TaskSpec { priority, depends_on, ..spec });
            about.insert(node.id.clone(), shown(unit));
        }
        if let Err(cycle) = Graph::new(&specs) {
            needs.cycle(cycle).into_iter().for_each(|told| self.found.push(told));
        }
        (specs, about)
    }

    fn task(&mut self, node: &Node, unit: &Unit, retold: &mut usize) -> TaskSpec {
        let defaults = &self.given.config.defaults;
        let title = self.title(node);
        let of_template = || templates::limit(&node.id).filter(|_| self.mode == Mode::Knowledge);
        let limit = unit.limit.or_else(of_template).or(defaults.attempts).unwrap_or(ITERATIONS);
        let files: Vec<RepoPath> = unit.files.iter().map(|said| said.value.clone()).collect();
        let words = Words {
            title: &title,
            prompt: &unit.body,
            files: &files,
            criteria: &unit.criteria,
            ..Words::default()
        };
        let source = Content::of_words(&words);
        let prompt = self.prompt(&title, unit, retold);
        TaskSpec {
            files,
            criteria: unit.criteria.clone(),
            checks: self.checks(&node.id, &title, unit),
            priority: 1,
            agent: self.agent(unit),
            attempts: limit,
            // A fresh agent looks once more, whatever the project sets for other plans: the system is built on it.
            confirm: true,
            source: Some(source),
            ..self.given.config.task(node.id.clone(), title, prompt)
        }
    }

    fn title(&mut self, node: &Node) -> String {
        if placeholder(&node.title) {
            self.found.push(left(node.text.clone(), &node.title));
        }
        if node.title.is_empty() {
            let told = Diagnostic::warning(node.text.clone(), format!("the unit `{}` has no text", node.id));
            self.found.push(told.label("say what to do"));
            return format!("Unit {}", node.id);
        }
        node.title.clone()
    }

    /// The text below a unit without its fields, or else its title, and the notes of the list for all units.
    fn prompt(&self, title: &str, unit: &Unit, retold: &mut usize) -> String {
        let mut parts: Vec<&str> = vec![if unit.body.is_empty() { title } else { &unit.body }];
        if let Some(left) = retold.checked_sub(self.notes.len()) {
            *retold = left;
            parts.extend(Some(self.notes.as_str()).filter(|notes| !notes.is_empty()));
        }
        parts.join("\n\n")
    }

    /// The project's checks, a look at what it makes, and last the verifier.
    fn checks(&self, id: &TaskId, title: &str, unit: &Unit) -> Vec<Check> {
        let config = self.given.config;
        let detected = || match self.mode {
            Mode::Development => self.given.detected.iter().map(|found| found.check.clone()).collect(),
            Mode::Knowledge => Vec::new(),
        };
        let mut checks: Vec<Check> = config.defaults.checks.clone().unwrap_or_else(detected);
        for output in &unit.outputs {
            let run = Argv::Look { file: output.value.clone(), holds: Vec::new() };
            let name = config::check_name(&run);
            checks.push(Check::new(name, run, config::CHECK_TIMEOUT));
        }
        checks.push(verifier(config, id, title, unit));
        checks
    }

    /// Where an output is, from the root of the project: those of knowledge go to folders of the plan.
    fn shelved(&self, output: &RepoPath) -> RepoPath {
        let first = output.as_str().split('/').next().unwrap_or_default();
        let is_shelved = self.mode == Mode::Knowledge && SHELVES.contains(&first);
        let place = self.given.place.trim_end_matches('/');
        let within = || RepoPath::new(&format!("{place}/{output}")).ok();
        Some(())
            .filter(|()| is_shelved && !place.is_empty())
            .and_then(|()| within())
            .unwrap_or(output.clone())
    }

    /// The profile that is called like the model of a unit.
    fn agent(&mut self, unit: &Unit) -> String {
        let config = self.given.config;
        let default = || config.defaults.agent.clone().unwrap_or_else(|| config::DEFAULT_AGENT.to_owned());
        let name = unit.model.as_ref().map_or(MODEL, |said| said.value.as_str());
        let known = config.agents.keys().find(|own| own.eq_ignore_ascii_case(name));
        if let Some(known) = known {
            return known.clone();
        }
        if let Some(said) = unit.model.as_ref().filter(|said| self.strange.insert(said.value.to_lowercase()))
        {
            let message = format!("there is no profile `{}`", cut(name));
            let label = format!("`{}` is used instead", default());
            let help = format!("name one in `piton.toml`: `[agents.{:?}]` with its `command`", cut(name));
            self.found.push(Diagnostic::warning(said.at.clone(), message).label(label).help(help));
        }
        default()
    }

    fn before(&mut self, node: &Node, done: bool) -> Before {
        let status = status(self.list, self.text, node).map(|said| said.value);
        let contradicts = status.is_some_and(|status| (status == Word::Completed) != done);
        if contradicts {
            let message = format!("the box of `{}` and its status disagree", node.id);
            self.found.push(Diagnostic::warning(node.text.clone(), message).label("not done"));
        }
        Before { done: done && !contradicts, mark: node.mark, status, ..Before::default() }
    }

    /// What the whole is called and about, by the brief and the list.
    fn about(&mut self, brief: Brief) -> Iterative {
        let title = brief::title(self.list, self.text, self.found);
        let name = brief.name.or(title).unwrap_or_else(|| self.given.name.to_owned());
        let mut domains = brief.domains;
        if let Some(at) = self.head(&["domain", "domains"]).filter(|_| domains.is_empty()) {
            domains = brief::domains(&self.text[at.clone()], &at, self.found);
        }
        if self.mode == Mode::Knowledge {
            domains.retain(|domain| domain.mode() == Mode::Knowledge);
            // If domains are chained, the letters of the phases show that.
            for (_, node) in self.outline.tasks() {
                let own = templates::domain_of(&node.id).filter(|own: &Domain| !domains.contains(own));
                domains.extend(own);
            }
        }
        Iterative {
            slug: self.given.name.to_owned(),
            name: name.chars().take(200).collect(),
            mode: self.mode,
            domains,
            outcome: brief.outcome,
            done_when: brief.done_when,
            constraints: brief.constraints,
            units: BTreeMap::new(),
        }
    }

    /// A field that stands before everything that has a heading of its own.
    fn head(&self, names: &[&str]) -> Option<Range<usize>> {
        let head = self
            .list
            .lines
            .iter()
            .take_while(|line| !matches!(line.kind, Kind::Heading(2..) | Kind::Item(_)));
        let mut fields =
            head.filter(|line| matches!(line.kind, Kind::Text | Kind::Bullet)).filter_map(|line| {
                let (name, value) = field(&self.text[line.text.clone()])?;
                names.contains(&name.as_str()).then(|| shift(value, line.text.start))
            });
        fields.next()
    }

    /// What the list says that there are, held against what was found.
    fn total(&mut self, counted: usize) {
        let Some(at) = self.head(&["total"]) else { return };
        let digits: String = self.text[at.clone()].chars().take_while(char::is_ascii_digit).collect();
        if digits.parse().is_ok_and(|said: usize| said != counted) {
            let message = format!("the list says {digits}, but has {counted}");
            self.found.push(Diagnostic::warning(at, message).label("counted again"));
        }
    }

    /// The part of the list that is for all agents.
    fn notes(&mut self) -> String {
        let mut notes = String::new();
        let mut level = None;
        for line in &self.list.lines {
            let said = &self.text[line.text.clone()];
            match line.kind {
                Kind::Heading(own) if level.is_none_or(|level| own <= level) => {
                    let is_notes = own > 1 && text::key(said).eq_ignore_ascii_case("notes");
                    level = is_notes.then_some(own);
                }
                Kind::Comment | Kind::FrontMatter | Kind::Rule | Kind::Item(_) => {}
                _ if level.is_none() || notes.len() > NOTES => {}
                _ if placeholder(said) => self.found.push(left(line.text.clone(), said)),
                _ => notes += &format!("{}\n", self.text[line.at.clone()].trim_end()),
            }
        }
        let notes: String =
            notes.trim().chars().filter(|c| !c.is_control() || *c == '\n').take(NOTES).collect();
        if notes.is_empty() { notes } else { format!("## Notes\n\n{}", notes.trim_end()) }
    }
}

/// What only the files of this system show.
fn shown(unit: &Unit) -> AboutUnit {
    AboutUnit {
        outputs: unit.outputs.iter().map(|output| output.value.to_string()).collect(),
        model: unit.model.as_ref().map(|said| said.value.clone()),
        signal: unit.signal.clone(),
        skill: unit.skill.clone(),
        max_turns: unit.max_turns,
    }
}
