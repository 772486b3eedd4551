//! From a list to a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::batches::Levels;
use super::prompt::{self, Source};
use super::takeover::Left;
use super::todolist::{Task, Todolist};
use super::{Sibling, batches, differ, plan_path, siblings, state, stem, totals};
use crate::diagnostic::{Diagnostic, Severity};
use crate::order::Pairs;
use crate::plan::{About, AboutTask, Story};
use crate::plan::{
    Argv, Check, Content, Cycle, Exhausted, Graph, Group, GroupId, Outside, Plan, Schedule, Settings, TaskId,
    TaskSpec, Words,
};
use crate::prompt as prompts;
use crate::system::config::{self, Config};
use crate::system::kit::checklist;
use crate::system::kit::links::Linked;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::takeover::{LeftFiles, Legacy};
use crate::system::kit::text;
use crate::system::{Before, Folder, Form, Problem, ReadPlan, Reading};
use crate::view::counted;

pub use crate::system::Given;

/// The first try and three more, each by another agent, before a task is blocked.
const ATTEMPTS: u32 = 4;
/// The agents that take over after the first failure, the second, and the third.
const LADDER: [&str; 3] = ["debugger", "specialist", prompts::WIDER];
/// The priority of a task that names none: important, not critical.
const PRIORITY: u32 = 2;
/// A task with more files than this is too large for one agent.
const MOST_FILES: usize = 5;
/// How many bytes of stories the prompts of a whole list repeat. More says nothing new, and in a hostile list it would
/// grow with the square of its size.
const RETOLD: usize = 4 << 20;

/// A list as far as it was understood.
#[derive(Clone, Debug)]
pub struct RwkitReading {
    pub reading: Reading,
    /// The name of the list among the files.
    pub file: String,
    /// That of the plan it was made from, if it was given.
    pub plan: Option<String>,
    pub todolist: Todolist,
    pub about: About,
}

impl ReadPlan for RwkitReading {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn reading_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }

    fn lint(&self) -> Vec<Problem> {
        lint(self)
    }

    fn left<'r>(&'r self, files: LeftFiles<'r>) -> Option<Box<dyn Legacy + 'r>> {
        let state = files.state.text().map(|text| state::read(text).state).unwrap_or_default();
        Some(Box::new(Left { before: &self.reading.before, state }))
    }
}

/// Read a list.
pub fn read(folder: &Folder, given: &Given<'_>) -> RwkitReading {
    let mut found = Problems::new(given.strictness);
    let (mut texts, mut problems) = (BTreeMap::new(), Vec::new());
    let mut decode = |file: &str, bytes: &[u8]| {
        let decoded = text::decode_with(bytes, given.strictness);
        let told =
            decoded.problems.into_iter().map(|diagnostic| Problem { file: file.to_owned(), diagnostic });
        problems.extend(told);
        texts.insert(file.to_owned(), decoded.text.clone());
        decoded.text
    };
    let source = folder.files.get(given.place).map(|bytes| decode(given.place, bytes));
    let plan = plan_path(given.place).filter(|plan| folder.files.contains_key(plan));
    let plan = plan.as_deref();
    let siblings: Vec<Sibling> =
        given.others.files.iter().map(|(list, bytes)| Sibling::read(list, bytes)).collect();
    if let Some((plan, bytes)) = plan.and_then(|plan| Some((plan, folder.files.get(plan)?))) {
        decode(plan, bytes);
    }
    if source.is_none() {
        found.push(
            Diagnostic::error(0..0, format!("`{}` does not exist", cut(given.place)))
                .label("a list of tasks"),
        );
        texts.insert(given.place.to_owned(), String::new());
    }
    let source = source.unwrap_or_default();
    let lines = checklist::scan(&source);
    lines.problems.iter().for_each(|problem| found.push(problem.clone()));
    let todolist = Todolist::read(&lines, &source, &mut found);
    let refused = problems
        .iter()
        .any(|problem| problem.file == given.place && problem.diagnostic.severity == Severity::Error);
    let mut maker = LineTasks {
        given,
        siblings: &siblings,
        source: Source::new(&source, &lines, &todolist),
        found: &mut found,
        strange: HashSet::new(),
    };
    let (groups, tasks) = maker.tasks();
    maker.tell(refused);
    let about = maker.about(plan);
    let before = todolist.tasks.iter().map(|task| (task.id.clone(), before(task))).into_map();
    problems.extend(
        found.finish().into_iter().map(|diagnostic| Problem { file: given.place.to_owned(), diagnostic }),
    );
    Problem::sort(&mut problems);
    let first = u32::try_from(groups.len()).unwrap_or(u32::MAX);
    let (gates, mut looks) = super::gates::gates(given.config, given.detected, &about, first);
    // They look at the whole, and what waits for another list is part of it.
    let outside: BTreeSet<Outside> = tasks.iter().flat_map(|task| task.outside.clone()).collect();
    looks.iter_mut().for_each(|look| look.outside = outside.iter().cloned().collect());
    let plan_of = Plan {
        name: config::name_from(stem(given.place)),
        groups: groups.into_iter().chain(gates).collect(),
        tasks: tasks.into_iter().chain(looks).collect(),
        settings: settings(given.config, &about),
    };
    let reading = Reading { plan: plan_of, problems, texts, project_path: None, before };
    RwkitReading { reading, file: given.place.to_owned(), plan: plan.map(str::to_owned), todolist, about }
}

/// What there is to do, in the words of this system.
pub(crate) fn size(about: &About, tasks: &[TaskSpec]) -> String {
    let gates = gates_among(about, tasks);
    let count = counted((tasks.len() - gates) as u64, "task");
    if gates == 0 { count } else { format!("{count} and {}", counted(gates as u64, "gate")) }
}

/// The same with its batches.
pub(crate) fn size_in_batches(about: &About, plan: &Plan) -> String {
    let gates = gates_among(about, &plan.tasks);
    let tasks = counted((plan.tasks.len() - gates) as u64, "task");
    let batches = plan.groups.len() - gates;
    let word = if batches == 1 { "batch" } else { "batches" };
    format!("{tasks} in {batches} {word} and {}", counted(gates as u64, "gate"))
}

fn gates_among(about: &About, tasks: &[TaskSpec]) -> usize {
    tasks.iter().filter(|task| !about.tasks.contains_key(&task.id)).count()
}

/// Where the list and its plan do not name the same stories, tasks and files. A run does not use this.
pub fn lint(read: &RwkitReading) -> Vec<Problem> {
    differ::differ(read)
}

/// The settings of a run: batch after batch, each with all its agents at once. The run continues past tasks that cannot
/// be done.
fn settings(config: &Config, about: &About) -> Settings {
    let ladder = || LADDER.map(str::to_owned).to_vec();
    let largest = u32::try_from(batches::LARGEST).unwrap_or(1);
    Settings {
        form: Form::Rwkit(Box::new(about.clone())),
        schedule: Schedule::Layered,
        max_parallel: config.policy.max_parallel.unwrap_or(largest),
        exhausted: config.policy.exhausted.unwrap_or(Exhausted::Pass),
        escalation: config.policy.escalation.clone().unwrap_or_else(ladder),
        ..config.settings()
    }
}

fn before(task: &Task) -> Before {
    Before { done: task.is_done(), blocked: task.blocked, mark: task.mark, ..Before::default() }
}

/// Makes tasks of lines.
struct LineTasks<'a, 'f> {
    given: &'a Given<'a>,
    siblings: &'a [Sibling],
    source: Source<'a>,
    found: &'f mut Problems,
    /// Agents without a profile that have been reported.
    strange: HashSet<String>,
}

impl LineTasks<'_, '_> {
    fn tasks(&mut self) -> (Vec<Group>, Vec<TaskSpec>) {
        let list = self.source.list;
        let Linked { needs, outside } = siblings::link(list, self.siblings, self.source.text, self.found);
        let mut retold = RETOLD;
        let mut specs: Vec<TaskSpec> = Vec::with_capacity(list.tasks.len());
        for ((task, needs), outside) in list.tasks.iter().zip(&needs).zip(outside) {
            let depends_on = needs.iter().map(|need| list.tasks[*need].id.clone()).collect();
            let spec = self.task(task, depends_on, &mut retold);
            specs.push(TaskSpec { outside: outside.into_iter().collect(), ..spec });
        }
        let levels = Levels::new(&needs);
        if levels.are_circular
            && let Err(cycle) = Graph::new(&specs)
        {
            self.cycle(cycle);
        }
        batches::compare(list, self.source.text, &needs, self.found);
        batches::tell_writers(list, &levels, self.found);
        let batches = batches::in_levels(&specs, &levels);
        let nth = |nth: usize| u32::try_from(nth).unwrap_or(u32::MAX);
        let of: HashMap<&TaskId, u32> = batches
            .iter()
            .enumerate()
            .flat_map(|(batch, ids)| ids.iter().map(move |id| (id, nth(batch))))
            .collect();
        for spec in &mut specs {
            spec.group = of.get(&spec.id).copied().unwrap_or(0);
        }
        (batches.iter().enumerate().map(|(nth, _)| group(nth + 1)).collect(), specs)
    }

    fn task(&mut self, task: &Task, depends_on: Vec<TaskId>, retold: &mut usize) -> TaskSpec {
        let defaults = &self.given.config.defaults;
        let files: Vec<_> = task.files.iter().flatten().map(|said| said.value.clone()).collect();
        let look = |file: &crate::plan::RepoPath| {
            let run = Argv::Look { file: file.clone(), holds: Vec::new() };
            Check::new(config::check_name(&run), run, config::CHECK_TIMEOUT)
        };
        let mut checks: Vec<Check> = files.iter().map(look).collect();
        checks.extend(defaults.checks.iter().flatten().cloned());
        // A task that says it makes no files works on something else, such as a database.
        let says_none = task.files.as_ref().is_some_and(Vec::is_empty);
        let own = prompt::own(&self.source, task);
        let words = Words { title: &task.title, prompt: &own, files: &files, ..Words::default() };
        let (title, prompt) = (self.title(task), prompt::prompt(&self.source, task, retold));
        TaskSpec {
            depends_on,
            files: files.clone(),
            checks,
            priority: task.priority.or(defaults.priority).unwrap_or(PRIORITY),
            agent: self.agent(task),
            attempts: defaults.attempts.unwrap_or(ATTEMPTS),
            may_change_nothing: defaults.may_change_nothing.unwrap_or(says_none),
            source: Some(Content::of_words(&words)),
            ..self.given.config.task(task.id.clone(), title, prompt)
        }
    }

    fn title(&mut self, task: &Task) -> String {
        if task.title.is_empty() {
            let told = Diagnostic::warning(task.at.clone(), format!("the task `{}` has no text", task.id));
            self.found.push(told.label("say what to do"));
            return format!("Task {}", task.id);
        }
        task.title.clone()
    }

    /// The profile of the agent that a task names: by its whole name, or by what stands behind the last colon.
    fn agent(&mut self, task: &Task) -> String {
        let config = self.given.config;
        let default = || config.defaults.agent.clone().unwrap_or_else(|| config::DEFAULT_AGENT.to_owned());
        let Some(said) = &task.agent else { return default() };
        let name = said.value.trim_matches(['`', '"', '\'']);
        let short = name.rsplit(':').next().unwrap_or(name).trim();
        for name in [name, short] {
            if config.agents.contains_key(name) {
                return name.to_owned();
            }
        }
        if !task.is_done() && self.strange.insert(name.to_owned()) {
            let message = format!("there is no profile `{}`", cut(name));
            let label = format!("`{}` is used instead", default());
            let help = format!("name one in `piton.toml`: `[agents.{short:?}]` with its `command`");
            self.found.push(Diagnostic::warning(said.at.clone(), message).label(label).help(help));
        }
        default()
    }

    fn cycle(&mut self, cycle: Cycle) {
        let list = self.source.list;
        let positions = list.positions();
        let position = |id: &TaskId| positions.get(&id.folded()).copied().unwrap_or(usize::MAX);
        let Some((start, next, way)) = cycle.describe(position) else { return };
        let task = list.tasks.get(position(&start));
        let said = |at: &Range<usize>| {
            let start = at.start + self.source.text[at.clone()].find(next.as_str())?;
            Some(start..start + next.as_str().len())
        };
        let whole = task.map_or(0..0, |task| task.deps.first().unwrap_or(&task.at).clone());
        let at = task.and_then(|task| task.deps.iter().find_map(said)).unwrap_or(whole);
        let message = format!("these tasks wait for each other: {way}");
        let told = Diagnostic::error(at, message).label(format!("`{start}` waits for `{next}`"));
        self.found.push(told.help("remove one of these dependencies"));
    }

    /// What is to be said about the list as a whole.
    fn tell(&mut self, refused: bool) {
        let list = self.source.list;
        if list.tasks.is_empty() && !refused {
            let message = "the list has no tasks";
            let label = "no task in this file, like `- [ ] T001 P1 US-001 Name [agent: x] [deps: none] [files: a.ts]`";
            self.found.push(Diagnostic::error(0..0, message).label(label));
        }
        totals::compare(list, self.found);
        self.sizes();
        self.stories();
        for task in list.tasks.iter().filter(|task| task.mark.is_done() && !task.is_done()) {
            let told =
                Diagnostic::warning(task.at.clone(), "this box is ticked, but one of its steps is not");
            self.found.push(told.label("not done"));
        }
        let unchecked = |task: &&Task| task.files.is_none() && !task.is_done();
        let checked = self.given.config.defaults.checks.as_ref().is_some_and(|checks| !checks.is_empty());
        if let Some(first) = list.tasks.iter().find(unchecked).filter(|_| !checked) {
            let count = list.tasks.iter().filter(unchecked).count();
            let message = format!(
                "no files are named by {}, so nothing proves that work was done",
                counted(count as u64, "task")
            );
            let help = "add `[files: …]`, or checks for all tasks in `piton.toml`: `[defaults]` with `checks = [\"…\"]`";
            let told = Diagnostic::warning(first.at.clone(), message);
            self.found.push(told.label("Piton trusts what agents report").help(help));
        }
    }

    fn sizes(&mut self) {
        let open = || self.source.list.tasks.iter().filter(|task| !task.is_done());
        for task in open() {
            if let Some(size) = &task.size {
                // `M (70k tokens)` says more than it has to.
                let known = size.value.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
                let known = known.unwrap_or_default().to_uppercase();
                let told = match known.as_str() {
                    "XS" | "S" | "M" | "SMALL" | "MEDIUM" => None,
                    "L" | "XL" | "XXL" | "LARGE" => Some("too large for one agent; split it"),
                    _ => Some("S or M"),
                };
                if let Some(label) = told {
                    let message = format!("the size of `{}` is {}", task.id, cut(&size.value));
                    self.found.forgive(Diagnostic::warning(size.at.clone(), message).label(label));
                }
            }
            let files = task.files.as_ref().map_or(&[][..], Vec::as_slice);
            if let Some(sixth) = files.get(MOST_FILES) {
                let message = format!("`{}` has {} files; the limit is {MOST_FILES}", task.id, files.len());
                self.found.forgive(Diagnostic::warning(sixth.at.clone(), message).label("split the task"));
            }
        }
        let sizeless = |task: &&Task| task.size.is_none() && task.files.is_some() && !task.in_table;
        if let Some(first) = open().find(sizeless) {
            let message =
                format!("no size is given for {}", counted(open().filter(sizeless).count() as u64, "task"));
            self.found.forgive(
                Diagnostic::warning(first.at.clone(), message).label("from here on, like `[size: S]`"),
            );
        }
    }

    /// Stories that only tasks name, while others have a heading; and tasks without a story.
    fn stories(&mut self) {
        let list = self.source.list;
        let is_real = |story: &Story| super::line::story_id(&story.id).is_some();
        if !list.stories.iter().any(|told| told.has_heading && is_real(&told.story)) {
            return;
        }
        for told in list.stories.iter().filter(|told| !told.has_heading && is_real(&told.story)) {
            let message = format!("no part of this file describes `{}`", told.story.id);
            self.found.push(Diagnostic::warning(told.at.clone(), message).label("a story without a title"));
        }
        let without = |task: &&Task| task.story.is_none();
        if let Some(first) = list.tasks.iter().find(without) {
            let message = format!(
                "there is no story for {}",
                counted(list.tasks.iter().filter(without).count() as u64, "task")
            );
            self.found.push(Diagnostic::warning(first.at.clone(), message).label("from here on"));
        }
    }

    fn about(&self, plan: Option<&str>) -> About {
        let list = self.source.list;
        let about = |task: &Task| AboutTask {
            story: task.story.map(|story| list.stories[story].story.id.clone()),
            agent: task.agent.as_ref().map(|said| said.value.clone()),
            size: task.size.as_ref().map(|said| said.value.clone()),
            files: task.files.iter().flatten().map(|said| said.value.to_string()).collect(),
        };
        About {
            todolist_path: self.given.place.to_owned(),
            plan_path: plan.unwrap_or_default().to_owned(),
            stories: list.stories.iter().map(|told| told.story.clone()).collect(),
            tasks: list.tasks.iter().map(|task| (task.id.clone(), about(task))).into_map(),
            ..About::default()
        }
    }
}

fn group(nth: usize) -> Group {
    let id = GroupId::new(&format!("batch-{nth}")).expect("a word and a number are a group");
    Group { id, title: format!("Batch {nth}") }
}
