//! From a folder to a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::details::{self, Details};
use super::name::{self, Issue};
use super::needs::Needs;
use super::requirements::{Coverage, Requirements};
use super::{DESIGN, LISTS, REQUIREMENTS};
use super::{Node, Outline, Word};
use super::{preview, prompt};
use crate::diagnostic::Diagnostic;
use crate::plan::{
    self, Argv, Check, Content, Exhausted, Group, GroupId, Plan, RepoPath, Schedule, Settings, TaskId,
    TaskSpec, Words,
};
use crate::system::config::{self, Config};
use crate::system::issue::state;
use crate::system::issue::takeover::Left;
use crate::system::kit::checklist::{self, Checklist, Kind};
use crate::system::kit::commands::removes_git;
use crate::system::kit::outline::word::is_none;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::takeover::{LeftFiles, Legacy};
use crate::system::kit::text;
use crate::system::{Before, Folder, Form, Given, Problem, ReadPlan, Reading};
use crate::toolchain::Detected;
use crate::view::preview::Line;

/// Failed attempts after which this system halts.
const ATTEMPTS: u32 = 3;
/// How many bytes of other tasks the prompts of a whole plan repeat. More says nothing new, and in a hostile plan it
/// would grow with the square of its size.
const RETOLD: usize = 4 << 20;
/// References to requirements, those of parents counted with each of their tasks.
const LINKS: usize = 1_000_000;

/// A folder as far as it was understood.
#[derive(Clone, Debug)]
pub struct IssueReading {
    pub reading: Reading,
    pub issue: Issue,
    /// The file whose boxes are the tasks.
    pub list: &'static str,
    pub outline: Outline,
    pub coverage: Coverage,
    /// What is checked for every task.
    pub checks: Vec<Check>,
    /// Checks that were found in the project, if they count.
    pub detected: Vec<Detected>,
}

impl ReadPlan for IssueReading {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn reading_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }

    fn lint(&self) -> Vec<Problem> {
        super::lint(self)
    }

    fn take_plan(&mut self) -> Plan {
        self.sequence()
    }

    fn branch(&self) -> Option<String> {
        Some(self.issue.branch())
    }

    fn preview(&self, plan: &Plan, all: bool) -> Option<Vec<Line>> {
        Some(preview::show(self, plan, all))
    }

    fn describe(&self, document: &mut Value) {
        preview::describe(self, document);
    }

    fn left<'r>(&'r self, files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        let state = files.state.text().map(|text| state::read(text).state).unwrap_or_default();
        Some(Box::new(Left { list: self.list, before: &self.reading.before, state, onto: files.onto }))
    }
}

/// Read a plan.
pub fn read(folder: &Folder, given: &Given<'_>) -> IssueReading {
    let mut reader = Reader { given, texts: BTreeMap::new(), problems: Vec::new(), retold: RETOLD };
    let list = reader.list(folder);
    let source = reader.texts.get_mut(list).map(std::mem::take).unwrap_or_default();
    let checklist = checklist::scan(&source);
    let mut found = Problems::new(given.strictness);
    let outline = Outline::read(&checklist, &source, &mut found);
    outline.problems(&checklist).into_iter().for_each(|problem| found.push(problem.clone()));
    let mut requirements = reader.requirements(folder, list);
    let issue = reader.issue(&checklist, &source, list, &mut found);
    let mut maker = BoxTasks {
        given,
        text: &source,
        list: &checklist,
        outline: &outline,
        issue: &issue,
        requirements: &mut requirements,
        has_requirements: folder.files.contains_key(REQUIREMENTS),
        found: &mut found,
        retold: &mut reader.retold,
        links: LINKS,
        before: Vec::new(),
    };
    let (groups, tasks) = maker.tasks();
    let before = std::mem::take(&mut maker.before).into_iter().collect();
    let checks = maker.checks(const { &Details::EMPTY });
    reader.no_tasks(list, &tasks, &mut found);
    reader.no_checks(list, &tasks, &mut found);
    reader.keep(list, found);
    let plan =
        Plan { name: config::name_from(given.name), groups, tasks, settings: settings(given.config, &issue) };
    let Reader { mut texts, mut problems, .. } = reader;
    texts.insert(list.to_owned(), source);
    Problem::sort(&mut problems);
    let detected = if given.config.defaults.checks.is_none() { given.detected.to_vec() } else { Vec::new() };
    let reading = Reading { plan, problems, texts, project_path: None, before };
    IssueReading { reading, issue, list, outline, coverage: requirements.coverage, checks, detected }
}

/// The settings of a run: tasks strictly one after the other, whatever the project says for other plans.
fn settings(config: &Config, issue: &Issue) -> Settings {
    Settings {
        form: Form::Issue(plan::Issue { number: issue.number.unwrap_or(0), title: issue.title.clone() }),
        schedule: Schedule::Layered,
        max_parallel: 1,
        exhausted: config.policy.exhausted.unwrap_or(Exhausted::Stop),
        ..config.settings()
    }
}

struct Reader<'g> {
    given: &'g Given<'g>,
    texts: BTreeMap<String, String>,
    problems: Vec<Problem>,
    retold: usize,
}

impl Reader<'_> {
    fn push(&mut self, file: &str, diagnostic: Diagnostic) {
        self.texts.entry(file.to_owned()).or_default();
        self.problems.push(Problem { file: file.to_owned(), diagnostic });
    }

    fn keep(&mut self, file: &str, found: Problems) {
        found.finish().into_iter().for_each(|diagnostic| self.push(file, diagnostic));
    }

    fn decode(&mut self, file: &str, bytes: &[u8]) -> &str {
        let decoded = text::decode_with(bytes, self.given.strictness);
        decoded.problems.into_iter().for_each(|diagnostic| self.push(file, diagnostic));
        let text = self.texts.entry(file.to_owned()).or_default();
        *text = decoded.text;
        text
    }

    /// The file that holds the tasks; its text is kept.
    fn list(&mut self, folder: &Folder) -> &'static str {
        let mut there = LISTS.into_iter().filter(|name| folder.files.contains_key(*name));
        let Some(list) = there.next() else {
            let message = format!("there is neither `{}` nor `{}`", LISTS[0], LISTS[1]);
            self.push(
                LISTS[0],
                Diagnostic::error(0..0, message).label("a plan of this system has one of them"),
            );
            return LISTS[0];
        };
        if let Some(other) = there.next() {
            let message = format!("`{list}` is read instead of this file");
            self.push(other, Diagnostic::warning(0..0, message).label("tasks in this file are ignored"));
        }
        if let Some(bytes) = folder.files.get(list) {
            self.decode(list, bytes);
        }
        list
    }

    fn requirements(&mut self, folder: &Folder, list: &str) -> Requirements {
        let mut requirements = Requirements::default();
        if let Some(bytes) = folder.files.get(REQUIREMENTS) {
            requirements = Requirements::read(self.decode(REQUIREMENTS, bytes));
        } else if list == LISTS[0] {
            let diagnostic = Diagnostic::warning(0..0, format!("`{REQUIREMENTS}` does not exist"));
            let mut found = Problems::new(self.given.strictness);
            found.forgive(diagnostic.label("the requirements that tasks refer to are unknown"));
            self.keep(REQUIREMENTS, found);
        }
        if let Some(bytes) = folder.files.get(DESIGN) {
            requirements.know(self.decode(DESIGN, bytes));
        }
        requirements
    }

    /// Which issue this is, by the folder's name and the first heading that names one.
    fn issue(&mut self, list: &Checklist, source: &str, file: &str, found: &mut Problems) -> Issue {
        let (number, slug) =
            name::number_of(self.given.name).map_or((None, None), |(n, slug)| (Some(n), slug));
        let stem = if number.is_some() { slug } else { Some(self.given.name) };
        let mut issue = Issue { number, slug: None, title: String::new() };
        if let Some(slug) = stem {
            match name::folder_name(0, slug) {
                Ok(_) => issue.slug = Some(slug.to_owned()),
                Err(reason) => {
                    let message = format!("{slug:?} cannot be part of a branch: {reason}");
                    self.push(file, Diagnostic::error(0..0, message).label("rename the folder"));
                }
            }
        }
        let headings = list.lines.iter().filter(|line| line.kind == Kind::Heading(1));
        let own =
            headings.clone().find_map(|line| Some((name::titled(&source[line.text.clone()])?, &line.text)));
        if let Some(((said, title), at)) = own {
            if let (Some(said), Some(number)) = (said, number)
                && said != number
            {
                let message = format!("this is about issue {said}, but the folder is about {number}");
                found.push(Diagnostic::warning(at.clone(), message).label("the folder decides"));
            }
            issue.number = number.or(said);
            issue.title = title;
        }
        if issue.title.is_empty() {
            let others = [REQUIREMENTS, DESIGN].iter().filter_map(|file| self.texts.get(*file));
            let headings =
                others.flat_map(|text| text.lines().take(50).filter(|line| line.starts_with("# ")));
            let titled =
                headings.filter_map(name::titled).map(|(_, title)| title).find(|title| !title.is_empty());
            let words = || issue.slug.clone().unwrap_or_default().replace(['-', '_'], " ");
            issue.title = titled.unwrap_or_else(words);
        }
        issue.title = issue.title.chars().filter(|c| !c.is_control()).collect();
        issue
    }

    fn no_tasks(&self, list: &str, tasks: &[TaskSpec], found: &mut Problems) {
        let refused = self.problems.iter().any(|problem| {
            problem.file == list && problem.diagnostic.severity == crate::diagnostic::Severity::Error
        });
        if tasks.is_empty() && !refused {
            let message = "the plan has no tasks";
            let label = "no task in this file, like `- [ ] 1. Name`";
            found.push(Diagnostic::error(0..0, message).label(label));
        }
    }

    /// Work without any check is refused, unless the project allows it explicitly.
    fn no_checks(&self, list: &str, tasks: &[TaskSpec], found: &mut Problems) {
        let unchecked = tasks.iter().filter(|task| task.checks.is_empty()).count();
        if unchecked == 0 || self.given.config.defaults.checks.is_some() {
            return;
        }
        let message =
            format!("nothing checks the tasks of `{list}`, and no checks were found in the project");
        let help = "add some in `piton.toml`: `[defaults]` with `checks = [\"make test\"]`; or set `checks = []` there to trust what agents report";
        found.push(Diagnostic::error(0..0, message).label("nothing would prove a task done").help(help));
    }
}

/// Makes tasks of boxes.
struct BoxTasks<'a, 'f> {
    given: &'a Given<'a>,
    text: &'a str,
    list: &'a Checklist,
    outline: &'a Outline,
    issue: &'a Issue,
    requirements: &'f mut Requirements,
    has_requirements: bool,
    found: &'f mut Problems,
    retold: &'f mut usize,
    links: usize,
    before: Vec<(TaskId, Before)>,
}

/// A box that tasks stand below: what it says, and the rows of the requirements that it names.
struct Parent {
    body: String,
    rows: BTreeSet<usize>,
}

impl BoxTasks<'_, '_> {
    fn tasks(&mut self) -> (Vec<Group>, Vec<TaskSpec>) {
        let outline = self.outline;
        let mut parents: HashMap<usize, Parent> = HashMap::new();
        let done = outline.done();
        let (mut groups, mut phase, mut names) = (Vec::new(), None, HashSet::new());
        let bearings = prompt::bearings(self.given.place, self.has_requirements);
        let count = outline.tasks().count();
        let mut specs: Vec<TaskSpec> = Vec::with_capacity(count);
        let (mut nodes, mut needs) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (nth, node) in outline.tasks() {
            for above in outline.above(nth) {
                if parents.contains_key(&above) {
                    break;
                }
                let details = details::read(self.list, self.text, &outline.nodes[above], self.found);
                let rows = self.rows(&details.references);
                parents.insert(above, Parent { body: details.body, rows });
            }
            let details = details::read(self.list, self.text, node, self.found);
            let own = outline.phases.partition_point(|(line, _)| *line < node.line).checked_sub(1);
            if groups.is_empty() || own != phase {
                phase = own;
                groups.push(self.group(own, &mut names));
            }
            let group = u32::try_from(groups.len() - 1).unwrap_or(u32::MAX);
            let last = specs.last().filter(|last| last.group == group);
            // Ids give the order where they can; elsewhere a later place is a later turn.
            let priority = last.map_or(1, |last| last.priority + u32::from(last.id > node.id));
            let spec = self.task(nth, node, &details, &parents, (group, priority, own, &bearings));
            let before = self.before(node, &details, done[nth], specs.is_empty());
            let spec = if before.is_branch { self.branch_task(spec) } else { spec };
            self.before.push((node.id.clone(), before));
            needs.push(details.needs);
            nodes.push(nth);
            specs.push(spec);
        }
        Needs { text: self.text, outline, nodes: &nodes, found: self.found }.link(&mut specs, &needs);
        (groups, specs)
    }

    fn group(&self, phase: Option<usize>, names: &mut HashSet<String>) -> Group {
        let Some((line, at)) = phase.map(|phase| &self.outline.phases[phase]) else {
            let id = GroupId::new("tasks").expect("a word is a group");
            return Group { id, title: "Tasks".to_owned() };
        };
        let title: String = self.text[at.clone()].chars().filter(|c| !c.is_control()).collect();
        let digits = title.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit);
        let mut name = format!("phase-{}", digits.take(9).collect::<String>());
        if name.ends_with('-') || !names.insert(name.clone()) {
            name = format!("{}@L{}", name.trim_end_matches('-'), line + 1);
        }
        Group { id: GroupId::new(&name).expect("a word and a number are a group"), title }
    }

    fn task(
        &mut self,
        nth: usize,
        node: &Node,
        details: &Details,
        parents: &HashMap<usize, Parent>,
        (group, priority, phase, bearings): (u32, u32, Option<usize>, &str),
    ) -> TaskSpec {
        let defaults = &self.given.config.defaults;
        let files = self.files(details);
        let tests = writes_tests(&node.title, &details.body, &files);
        let mut rows = self.rows(&details.references);
        for above in self.outline.above(nth) {
            rows.extend(parents[&above].rows.iter().take(self.links.saturating_sub(rows.len())));
        }
        let criteria = self.criteria(&node.id, rows, tests);
        // The requirements that a task names are its own words; what they say is not.
        let named: Vec<String> =
            details.references.iter().map(|at| self.text[at.clone()].to_owned()).collect();
        let words = Words {
            title: &node.title,
            prompt: &details.body,
            files: &files,
            criteria: &named,
            ..Words::default()
        };
        let source = Content::of_words(&words);
        let above: Vec<(&Node, &str)> = self
            .outline
            .above(nth)
            .take(3)
            .map(|above| (&self.outline.nodes[above], parents[&above].body.as_str()))
            .collect();
        let phase = phase.map(|phase| &self.outline.phases[phase]);
        let prompt = prompt::prompt(
            &prompt::About {
                issue: self.issue,
                phase: phase.map(|(_, at)| &self.text[at.clone()]),
                above: &above,
                body: &details.body,
                bearings,
            },
            self.retold,
        );
        let is_checkpoint = node.title.to_lowercase().contains("checkpoint");
        let checks = self.checks(if is_checkpoint { details } else { const { &Details::EMPTY } });
        let title = self.title(node);
        TaskSpec {
            group,
            files,
            criteria,
            checks,
            priority,
            attempts: defaults.attempts.unwrap_or(ATTEMPTS),
            // A checkpoint may find that everything is as it should be.
            may_change_nothing: defaults.may_change_nothing.unwrap_or(is_checkpoint),
            check_first: defaults.check_first.unwrap_or(is_checkpoint),
            source: Some(source),
            ..self.given.config.task(node.id.clone(), title, prompt)
        }
    }

    fn title(&mut self, node: &Node) -> String {
        if node.title.is_empty() {
            let told = Diagnostic::warning(node.text.clone(), format!("the task `{}` has no text", node.id));
            self.found.push(told.label("say what to do"));
            return format!("Task {}", node.id);
        }
        node.title.clone()
    }

    fn files(&mut self, details: &Details) -> Vec<RepoPath> {
        let mut files = Vec::new();
        for at in &details.files {
            let said = &self.text[at.clone()];
            let names =
                said.split([',', ';']).map(|name| name.trim().trim_matches(['`', '"', '*', '_', '[', ']']));
            for name in names.filter(|name| !is_none(name) && *name != "-") {
                // A word about the file may follow it.
                let name = name.split(['`', '(']).next().unwrap_or(name).trim();
                match RepoPath::new(name) {
                    Ok(path) if !files.contains(&path) => files.push(path),
                    Ok(_) => {}
                    Err(reason) => {
                        let message = format!("{:?} cannot be a file of the project: {reason}", cut(name));
                        self.found.push(Diagnostic::warning(at.clone(), message).label("left out"));
                    }
                }
            }
        }
        files
    }

    /// The requirements that are named here.
    fn rows(&mut self, references: &[Range<usize>]) -> BTreeSet<usize> {
        let mut rows = BTreeSet::new();
        for at in references.iter().filter(|_| self.links > 0) {
            let (named, unknown) = self.requirements.resolve(&self.text[at.clone()]);
            rows.extend(named);
            // Without requirements nothing can be found. That has been reported.
            for part in unknown.into_iter().filter(|_| self.has_requirements) {
                let message = format!("no requirement contains `{}`", cut(part));
                let told = Diagnostic::warning(at.clone(), message);
                self.found.push(told.label("it is neither a number nor a heading there"));
            }
        }
        rows
    }

    /// What the task is to fulfil, in the words of the requirements.
    fn criteria(&mut self, id: &TaskId, rows: BTreeSet<usize>, tests: bool) -> Vec<String> {
        let left = self.links.saturating_sub(rows.len());
        if left == 0 && self.links > 0 {
            let told =
                Diagnostic::warning(0..0, format!("tasks refer to requirements more than {LINKS} times"));
            self.found.push(told.label("the references after this one are ignored"));
        }
        self.links = left;
        let mut criteria = Vec::new();
        for row in rows {
            let row = &mut self.requirements.coverage.rows[row];
            row.tasks.push(id.clone());
            if tests {
                row.tests.push(id.clone());
            }
            let line = format!("{}: {}", row.key, row.text);
            if let Some(left) = self.retold.checked_sub(line.len()) {
                *self.retold = left;
                criteria.push(line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
            }
        }
        criteria
    }

    /// A checkpoint's own commands, and what checks every task.
    fn checks(&mut self, details: &Details) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        for said in &details.commands {
            if removes_git(&said.value) {
                let message = "this command would remove `.git`";
                let told = Diagnostic::error(said.at.clone(), message);
                self.found.push(told.label("a task must not remove its repository"));
                continue;
            }
            let run = Argv::parse(&said.value);
            let check = Check::new(config::check_name(&run), run, config::CHECK_TIMEOUT);
            config::hidden_failures(&check, &said.at).into_iter().for_each(|hidden| self.found.push(hidden));
            checks.push(check);
        }
        let detected = || self.given.detected.iter().map(|detected| detected.check.clone()).collect();
        let defaults: Vec<Check> = self.given.config.defaults.checks.clone().unwrap_or_else(detected);
        for check in defaults {
            if !checks.iter().any(|known| known.run == check.run) {
                checks.push(check);
            }
        }
        checks
    }

    fn before(&mut self, node: &Node, details: &Details, done: bool, is_first: bool) -> Before {
        let is_branch = is_first && asks_for_branch(&node.title);
        let contradicts = details.status.is_some_and(|status| (status == Word::Completed) != done);
        if contradicts {
            let message = format!("the box of `{}` and its status disagree", node.id);
            self.found.push(Diagnostic::warning(node.text.clone(), message).label("not done"));
        }
        Before {
            done: is_branch || (done && !contradicts),
            is_branch,
            mark: node.mark,
            status: details.status,
            started: details.started.clone(),
            completed: details.completed.clone(),
            notes: details.notes.clone(),
            ..Before::default()
        }
    }

    /// Piton makes the branch: nothing is left to change, and that it is there can be seen.
    fn branch_task(&self, spec: TaskSpec) -> TaskSpec {
        let words =
            ["git", "rev-parse", "--verify", "--quiet", &format!("refs/heads/{}", self.issue.branch())];
        let run = Argv::Words(words.into_iter().map(str::to_owned).collect());
        let check = Check::new(config::check_name(&run), run, config::CHECK_TIMEOUT);
        TaskSpec { checks: vec![check], may_change_nothing: true, ..spec }
    }
}

/// Whether a task is about tests: by a word of its text, or by a file it names.
fn writes_tests(title: &str, body: &str, files: &[RepoPath]) -> bool {
    let is_word =
        |word: &str| matches!(word.to_lowercase().as_str(), "test" | "tests" | "spec" | "specs" | "e2e");
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(is_word);
    words(title) || words(body) || files.iter().any(|file| words(file.as_str()))
}

/// `Create Feature Branch`, in its spellings.
fn asks_for_branch(title: &str) -> bool {
    let lower = title.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    matches!(first, "create" | "checkout" | "check" | "make" | "switch" | "set" | "setup")
        && words.take(5).any(|word| word == "branch")
}
