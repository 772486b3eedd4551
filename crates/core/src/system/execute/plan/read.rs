//! From a folder to a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::outline::{Edge, LayerPlan, Manifest};
use super::steps::Step;
use super::task::{self, Task};
use crate::diagnostic::{Diagnostic, Severity, nearest};
use crate::order::{Arrange, Pairs};
use crate::plan::{
    Argv, Check, Content, Cycle, Exhausted, Graph, Group, GroupId, Plan, RepoPath, RunId, Schedule, Settings,
    TaskId, TaskSpec, Words,
};
use crate::system::config::{self, Config};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Form, Problem, Reading, Strictness};
use crate::time::Span;

/// To compare an unknown name with every task takes long in a large plan. After this many comparisons, no suggestion is
/// made.
const COMPARISONS: usize = 500_000;

pub const MANIFEST: &str = "manifest.json";
pub const LAYER_PLAN: &str = "layer_plan.json";

/// Failed attempts after which this system gives a task up.
const ATTEMPTS: u32 = 5;
/// How long it lets an agent work on a task.
const TIMEOUT: Span = Span::minutes(10);

/// Read a plan. `stem` is the folder's name, and names the plan if the manifest does not. If `strict`, what could be
/// put right or passed over is an error as well.
pub fn read(folder: &Folder, stem: &str, config: &Config, strictness: Strictness) -> Reading {
    let mut reader = Reader::new(strictness);
    let manifest = reader.json(folder, MANIFEST, "the plan is named after its folder", Manifest::read);
    let layer_plan =
        reader.json(folder, LAYER_PLAN, "no task waits for another of its layer", LayerPlan::read);
    let tasks = reader.tasks(folder);
    reader.compare(&manifest, &layer_plan, &tasks);
    let plan = reader.plan(stem, config, &manifest, &layer_plan, tasks);
    let Reader { texts, mut problems, .. } = reader;
    Problem::sort(&mut problems);
    Reading { plan, problems, texts, project_path: manifest.project_path, before: BTreeMap::new() }
}

/// The number of a layer by its folder's name, such as `2-backend`.
pub(super) fn layer_number(name: &str) -> Option<&str> {
    let (number, rest) = name.split_once('-')?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty()).then_some(number)
}

/// In numeric order: `10-…` after `2-…`.
pub(super) fn layer_order(name: &str) -> (usize, String, String) {
    let number = layer_number(name).unwrap_or_default().trim_start_matches('0');
    (number.len(), number.to_owned(), name.to_owned())
}

struct Reader {
    strictness: Strictness,
    texts: BTreeMap<String, String>,
    problems: Vec<Problem>,
    /// Ids, in lower case, of task files that could not be read: waiting for one is not a second mistake.
    broken: BTreeSet<String>,
    /// Layers that have task files, whatever is in them.
    layers: BTreeSet<String>,
}

impl Reader {
    fn new(strictness: Strictness) -> Reader {
        let (texts, problems) = (BTreeMap::new(), Vec::new());
        Reader { strictness, texts, problems, broken: BTreeSet::new(), layers: BTreeSet::new() }
    }

    fn push(&mut self, file: &str, diagnostic: Diagnostic) {
        self.problems.push(Problem { file: file.to_owned(), diagnostic });
    }

    /// A warning that is an error if nothing is to be forgiven.
    fn forgive(&mut self, file: &str, diagnostic: Diagnostic) {
        let mut found = Problems::new(self.strictness);
        found.forgive(diagnostic);
        self.keep(file, found);
    }

    fn keep(&mut self, file: &str, found: Problems) {
        for diagnostic in found.finish() {
            self.push(file, diagnostic);
        }
    }

    /// A file's text, which is kept to show problems in it. `None` if it is not text.
    fn decode(&mut self, file: &str, bytes: &[u8]) -> Option<String> {
        let decoded = text::decode_with(bytes, self.strictness);
        let refused = decoded.text.is_empty() && !decoded.problems.is_empty();
        for diagnostic in decoded.problems {
            self.push(file, diagnostic);
        }
        self.texts.insert(file.to_owned(), decoded.text.clone());
        (!refused).then_some(decoded.text)
    }

    fn json<T: Default>(
        &mut self,
        folder: &Folder,
        file: &str,
        without: &str,
        read: impl FnOnce(&str, &mut Problems) -> T,
    ) -> T {
        let Some(bytes) = folder.files.get(file) else {
            self.texts.insert(file.to_owned(), String::new());
            let diagnostic = Diagnostic::warning(0..0, format!("`{file}` does not exist")).label(without);
            self.forgive(file, diagnostic);
            return T::default();
        };
        let Some(text) = self.decode(file, bytes) else { return T::default() };
        let mut found = Problems::new(self.strictness);
        let value = read(&text, &mut found);
        self.keep(file, found);
        value
    }

    /// Every task file, in the order of layers, priorities and ids.
    fn tasks(&mut self, folder: &Folder) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        let mut first: HashMap<String, String> = HashMap::new();
        for (file, bytes) in &folder.files {
            let Some(layer) = self.layer_of(file, bytes) else { continue };
            self.layers.insert(layer.clone());
            let before = self.problems.len();
            let task = self.task(file, &layer, bytes);
            let bad =
                self.problems[before..].iter().any(|problem| problem.diagnostic.severity == Severity::Error);
            let named = task::id_in_name(file).map(str::to_lowercase);
            if bad {
                self.broken.extend(named);
                self.broken.extend(task.as_ref().map(|task| task.id.value.folded()));
            }
            let Some(task) = task else { continue };
            if let Some(other) = first.get(&task.id.value.folded()) {
                let message = format!("`{}` is the id of two tasks: `{other}` and `{file}`", task.id.value);
                self.push(
                    file,
                    Diagnostic::error(task.id.at.clone(), message).label("give one of them another id"),
                );
                continue;
            }
            first.insert(task.id.value.folded(), file.clone());
            tasks.push(task);
        }
        tasks.arrange_by(|a, b| {
            layer_order(&a.layer).cmp(&layer_order(&b.layer)).then_with(|| a.id.value.cmp(&b.id.value))
        });
        tasks
    }

    fn task(&mut self, file: &str, layer: &str, bytes: &[u8]) -> Option<Task> {
        let text = self.decode(file, bytes)?;
        let mut found = Problems::new(self.strictness);
        let task = task::read(file, layer, &text, &mut found);
        self.keep(file, found);
        if let Err(reason) = GroupId::new(layer) {
            let message = format!("{layer:?} cannot be a layer: {reason}");
            self.push(file, Diagnostic::error(0..0, message).label("rename the folder"));
            return None;
        }
        task
    }

    /// The layer of a task file; nothing for any other file. A task outside of every layer is an error.
    fn layer_of(&mut self, file: &str, bytes: &[u8]) -> Option<String> {
        let hidden = file.split('/').any(|part| part.starts_with('.'));
        let is_xml = file.len() > 4 && file.to_ascii_lowercase().ends_with(".xml");
        if hidden || !is_xml {
            return None;
        }
        let (layer, _) = file.split_once('/').unwrap_or(("", file));
        if layer_number(layer).is_some() {
            return Some(layer.to_owned());
        }
        let holds_a_task =
            bytes.windows(5).any(|window| window == b"<task") || task::id_in_name(file).is_some();
        if holds_a_task {
            self.decode(file, bytes);
            self.broken.extend(task::id_in_name(file).map(str::to_lowercase));
            let message = format!("`{file}` is not in a layer");
            let label = "a layer is a folder with a number and a name, like `2-backend`";
            self.push(file, Diagnostic::error(0..0, message).label(label));
        }
        None
    }

    /// Say where the manifest and the layer plan disagree with the files.
    fn compare(&mut self, manifest: &Manifest, layer_plan: &LayerPlan, tasks: &[Task]) {
        let files: BTreeMap<String, &Task> =
            tasks.iter().map(|task| (task.id.value.folded(), task)).into_map();
        let broken = self.broken.clone();
        let is_there =
            |id: &str| files.contains_key(&id.to_lowercase()) || broken.contains(&id.to_lowercase());
        let listed: Option<BTreeSet<String>> = manifest
            .listed
            .as_ref()
            .map(|listed| listed.iter().map(|said| said.value.to_lowercase()).collect());
        for said in manifest.listed.iter().flatten().filter(|said| !is_there(&said.value)) {
            let message = format!("the manifest lists `{}`, which has no file", cut(&said.value));
            self.forgive(MANIFEST, Diagnostic::warning(said.at.clone(), message).label("ignored"));
        }
        for task in tasks {
            if listed.as_ref().is_some_and(|listed| !listed.contains(&task.id.value.folded())) {
                let message = format!("the manifest does not list `{}`", task.id.value);
                self.forgive(
                    &task.file,
                    Diagnostic::warning(task.id.at.clone(), message).label("it is done anyway"),
                );
            }
        }
        let there = (tasks.len() + broken.iter().filter(|id| !files.contains_key(*id)).count()) as u64;
        if let Some(total) = manifest.total.as_ref().filter(|total| total.value != there) {
            let message = format!("the manifest counts {} tasks, but there are {there}", total.value);
            self.forgive(MANIFEST, Diagnostic::warning(total.at.clone(), message).label("the files decide"));
        }
        for planned in &layer_plan.tasks {
            match files.get(&planned.id.value.to_lowercase()) {
                Some(task) if task.layer != planned.layer => {
                    let message = format!(
                        "`{}` is planned for layer `{}`, but is in `{}`",
                        cut(&planned.id.value),
                        planned.layer,
                        task.layer
                    );
                    let diagnostic = Diagnostic::warning(planned.id.at.clone(), message);
                    self.forgive(LAYER_PLAN, diagnostic.label("its folder decides"));
                }
                None if !is_there(&planned.id.value) => {
                    let message =
                        format!("the task `{}` is planned, but has no file", cut(&planned.id.value));
                    self.forgive(
                        LAYER_PLAN,
                        Diagnostic::warning(planned.id.at.clone(), message).label("ignored"),
                    );
                }
                _ => {}
            }
        }
    }

    fn plan(
        &mut self,
        stem: &str,
        config: &Config,
        manifest: &Manifest,
        layer_plan: &LayerPlan,
        tasks: Vec<Task>,
    ) -> Plan {
        let settings = settings(config);
        let name = self.name(stem, manifest);
        let told = self.problems.iter().any(|problem| problem.diagnostic.severity == Severity::Error);
        if tasks.is_empty() && !told {
            let message = "the plan has no tasks";
            let label = "no layer has a task file, like `1-foundation/L1-001-name.xml`";
            self.push(MANIFEST, Diagnostic::error(0..0, message).label(label));
        }
        let groups = self.groups(layer_plan, &tasks);
        let positions: HashMap<&str, u32> = groups.iter().map(|group| group.id.as_str()).zip(0..).collect();
        let mut specs: Vec<TaskSpec> = tasks
            .into_iter()
            .map(|task| {
                let group = positions.get(task.layer.as_str()).copied().unwrap_or(0);
                spec(task, group, config)
            })
            .collect();
        self.link(&mut specs, &groups, layer_plan);
        Plan { name, groups, tasks: specs, settings }
    }

    fn name(&mut self, stem: &str, manifest: &Manifest) -> String {
        let Some(slug) = &manifest.slug else { return config::name_from(stem) };
        if RunId::new(&slug.value).is_ok() && slug.value.len() <= config::LONGEST_NAME {
            return slug.value.clone();
        }
        let name = config::name_from(&slug.value);
        let message = format!("{:?} cannot name a run", cut(&slug.value));
        let label = format!("called `{name}` here");
        self.push(MANIFEST, Diagnostic::warning(slug.at.clone(), message).label(label));
        name
    }

    /// The layers that have tasks, and those of the layer plan, in numeric order.
    fn groups(&mut self, layer_plan: &LayerPlan, tasks: &[Task]) -> Vec<Group> {
        let used: BTreeSet<&str> = tasks.iter().map(|task| task.layer.as_str()).collect();
        let mut names: BTreeMap<&str, Option<String>> = used.iter().map(|name| (*name, None)).into_map();
        for layer in &layer_plan.layers {
            let name = layer.id.value.as_str();
            if used.contains(name) {
                names.insert(name, layer.title.clone());
                continue;
            }
            if layer_number(name).is_none() || GroupId::new(name).is_err() {
                let message = format!("{name:?} cannot be a layer, and has no task");
                let diagnostic = Diagnostic::warning(layer.id.at.clone(), message);
                self.push(LAYER_PLAN, diagnostic.label("name a layer like `2-backend`"));
                continue;
            }
            if !layer.skipped && !self.layers.contains(name) {
                let message = format!("no task is in the layer `{name}`");
                let diagnostic = Diagnostic::warning(layer.id.at.clone(), message);
                self.push(LAYER_PLAN, diagnostic.label("it is ignored"));
            }
            names.insert(name, layer.title.clone());
        }
        let planned: BTreeSet<&str> = layer_plan.layers.iter().map(|layer| layer.id.value.as_str()).collect();
        if !planned.is_empty() {
            for name in used.iter().filter(|name| !planned.contains(*name)) {
                let Some(task) = tasks.iter().find(|task| task.layer == *name) else { continue };
                let message = format!("the layer `{name}` is not in `{LAYER_PLAN}`");
                let diagnostic = Diagnostic::warning(task.id.at.clone(), message);
                self.push(&task.file.clone(), diagnostic.label("its number decides its order"));
            }
        }
        let mut groups: Vec<Group> = names
            .into_iter()
            .filter_map(|(name, title)| {
                Some(Group { id: GroupId::new(name).ok()?, title: title.unwrap_or_else(|| name.to_owned()) })
            })
            .collect();
        groups.arrange_by_key(|group| layer_order(group.id.as_str()));
        groups
    }

    /// Fill in the dependencies, and report what cannot be.
    fn link(&mut self, specs: &mut [TaskSpec], groups: &[Group], layer_plan: &LayerPlan) {
        let positions: HashMap<String, usize> =
            specs.iter().enumerate().map(|(nth, spec)| (spec.id.folded(), nth)).collect();
        let mut places: HashMap<(usize, usize), Range<usize>> = HashMap::new();
        let mut comparisons = COMPARISONS;
        let mut unknown: BTreeSet<String> =
            layer_plan.tasks.iter().map(|planned| planned.id.value.to_lowercase()).collect();
        for Edge { task, need } in &layer_plan.edges {
            let Some(&position) = positions.get(&task.to_lowercase()) else {
                // Once for each task, and not if it was already reported where the plan lists it.
                if unknown.insert(task.to_lowercase()) && !self.broken.contains(&task.to_lowercase()) {
                    let message = format!("`{task}`, which has no file, waits for `{}`", cut(&need.value));
                    self.forgive(LAYER_PLAN, Diagnostic::warning(need.at.clone(), message).label("ignored"));
                }
                continue;
            };
            let id = specs[position].id.clone();
            let Some(&other) = positions.get(&need.value.to_lowercase()) else {
                if !self.broken.contains(&need.value.to_lowercase()) {
                    comparisons = comparisons.saturating_sub(specs.len());
                    let guesses = if comparisons == 0 { &[] } else { &*specs };
                    let near = nearest(&cut(&need.value), guesses.iter().map(|spec| spec.id.as_str()));
                    let label = near
                        .map_or("no file has this name".to_owned(), |near| format!("did you mean `{near}`?"));
                    let message = format!("`{id}` waits for `{}`, which does not exist", cut(&need.value));
                    self.push(LAYER_PLAN, Diagnostic::error(need.at.clone(), message).label(label));
                }
                continue;
            };
            if other == position {
                let message = format!("the task `{id}` depends on itself");
                self.push(LAYER_PLAN, Diagnostic::error(need.at.clone(), message).label("remove this"));
                continue;
            }
            let known = &specs[other].id;
            if known.as_str() != need.value {
                let message = format!("{:?} is spelled differently in its file", cut(&need.value));
                let label = format!("read as `{known}`");
                self.push(LAYER_PLAN, Diagnostic::warning(need.at.clone(), message).label(label));
            }
            if specs[other].group > specs[position].group {
                let layer = |group: u32| groups.get(group as usize).map_or("", |group| group.id.as_str());
                let message = format!(
                    "`{id}` in layer `{}` waits for `{known}` in the later layer `{}`",
                    layer(specs[position].group),
                    layer(specs[other].group)
                );
                let diagnostic = Diagnostic::error(need.at.clone(), message);
                self.push(LAYER_PLAN, diagnostic.label("layers run in order, so this task can never start"));
                continue;
            }
            if places.insert((position, other), need.at.clone()).is_none() {
                let known = known.clone();
                specs[position].depends_on.push(known);
            }
        }
        for spec in specs.iter_mut() {
            spec.depends_on.sort();
        }
        let Err(Cycle(mut ids)) = Graph::new(specs) else { return };
        let position = |id: &TaskId| positions.get(&id.folded()).copied().unwrap_or(0);
        let first = (0..ids.len()).min_by_key(|&nth| position(&ids[nth])).unwrap_or(0);
        ids.rotate_left(first);
        let Some(start) = ids.first().cloned() else { return };
        ids.push(start);
        let at = places.get(&(position(&ids[0]), position(&ids[1]))).cloned().unwrap_or(0..0);
        let names: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        let message = format!("these tasks wait for each other: {}", names.join(" → "));
        self.push(
            LAYER_PLAN,
            Diagnostic::error(at, message)
                .label(format!("`{}` waits for `{}`", names[0], names[1]))
                .help("remove one of these dependencies"),
        );
    }
}

/// The settings of a run: those of the project, or else the defaults of this system.
fn settings(config: &Config) -> Settings {
    Settings {
        form: Form::Execute,
        schedule: config.policy.schedule.unwrap_or(Schedule::Layered),
        exhausted: config.policy.exhausted.unwrap_or(Exhausted::Stop),
        ..config.settings()
    }
}

fn spec(task: Task, group: u32, config: &Config) -> TaskSpec {
    let defaults = &config.defaults;
    let (mut checks, mut criteria) = (Vec::new(), Vec::new());
    for step in task.steps {
        let (run, cwd) = match step {
            Step::Run { command, .. } => (Argv::parse(&command), task.cwd.clone()),
            Step::Look { file, holds } => (Argv::Look { file, holds }, None),
            Step::Condition(text) => {
                criteria.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
                continue;
            }
        };
        checks.push(Check { cwd, ..Check::new(config::check_name(&run), run, config::CHECK_TIMEOUT) });
    }
    if checks.is_empty() {
        checks = defaults.checks.clone().unwrap_or_default();
    }
    let files: Vec<RepoPath> = task.files.iter().map(|said| said.value.clone()).collect();
    let words = Words {
        title: &task.name,
        prompt: &task.own,
        files: &files,
        criteria: &criteria,
        exports: &task.exports,
    };
    let source = Content::of_words(&words);
    let spec = config.task(task.id.value, task.name, task.prompt);
    TaskSpec {
        group,
        // A task that makes no files sets something up, and may find it done.
        may_change_nothing: defaults.may_change_nothing.unwrap_or(files.is_empty()),
        files,
        criteria,
        checks,
        priority: task.priority.unwrap_or(spec.priority),
        attempts: defaults.attempts.unwrap_or(ATTEMPTS),
        timeout: defaults.timeout.unwrap_or(TIMEOUT),
        exports: task.exports,
        source: Some(source),
        ..spec
    }
}
