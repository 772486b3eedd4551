//! `piton plan` and `piton new`: what a plan says, before anything is done.

mod encoding;
mod folder;
mod issue;

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use piton_core::plan::{
    Adapter, Budget, Dialect, Domain, Fences, Graph, GroupId, RepoPath, Schedule, TaskId, TaskSpec,
};
use piton_core::run::{Selection, Session, shell_word};
use piton_core::system::config::DEFAULT_AGENT;
use piton_core::system::{execute, native, rwkit};
use piton_core::view::counted;
use serde_json::{Value, json};

use crate::args::DialectArg;
use crate::cmd::system::{iterative, master};
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, FoundPlan, How};
use crate::preflight::{self, Finding, is_runnable};
use crate::runs::find::{self, typed};
use crate::ui::{self, BOLD, DIM};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The plan's name, after the system it is for: `piton new NAME` writes NAME.toml, `piton new execute NAME` a
    /// folder docs/tasks/NAME, or NAME itself if it is a path, `piton new issue NUMBER SLUG` a folder
    /// .claude/plans/issue-NUMBER-SLUG, `piton new iterative NAME` a folder .claude/iterative/NAME
    #[arg(value_name = "[SYSTEM] NAME", num_args = 1..=3, required = true)]
    pub words: Vec<String>,
    /// For `iterative`: something to be read instead of code
    #[arg(long, value_name = "DOMAIN")]
    pub knowledge: Option<DomainArg>,
    /// Replace a file that exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DomainArg {
    Research,
    Writing,
    Analysis,
    Planning,
}

impl From<DomainArg> for Domain {
    fn from(arg: DomainArg) -> Domain {
        match arg {
            DomainArg::Research => Domain::Research,
            DomainArg::Writing => Domain::Writing,
            DomainArg::Analysis => Domain::Analysis,
            DomainArg::Planning => Domain::Planning,
        }
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct PlanArgs {
    /// The plan's file, its folder, or the number or slug that it goes by
    pub plan: Utf8PathBuf,
    /// The system the plan is of [default: as its files tell]
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: Option<DialectArg>,
    /// Reject what would be repaired or only warned about
    #[arg(long)]
    pub strict: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are
    #[arg(long)]
    pub all: bool,
    /// Write signs that were decoded wrongly, like `âœ…`, as they were meant; what was there is kept beside it
    #[arg(long)]
    pub fix_encoding: bool,
}

/// Longer lists are cut, and say so.
const MOST: usize = 60;

pub(crate) fn new(args: &NewArgs) -> Outcome<Exit> {
    let is_iterative = matches!(&args.words[..], [system, _] if system == Dialect::Iterative.name());
    if args.knowledge.is_some() && !is_iterative {
        return Err(Failure::usage("--knowledge is for `piton new iterative NAME`"));
    }
    match &args.words[..] {
        [_, name] if is_iterative => {
            let domain = args.knowledge.map_or(Domain::Feature, Into::into);
            folder::new(name, domain, args.force)
        }
        [system, name] if system == Dialect::Execute.name() => new_execute(name, args.force),
        [system, number, slug] if system == Dialect::Issue.name() => issue::new(number, slug, args.force),
        [system, ..] if system == Dialect::Issue.name() => {
            Err(Failure::usage("say which issue, and a word for it: piton new issue NUMBER SLUG"))
        }
        [system, name] if system == Dialect::Rwkit.name() => new_list(name, args.force),
        [system, name] if system == Dialect::Native.name() => new_native(name, args.force),
        [system, _] | [system, _, _] => {
            let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            let failure = Failure::usage(format!("there is no system `{system}`"));
            Err(failure.hint(format!("there are {}", known.join(", "))))
        }
        [name] => new_native(name, args.force),
        _ => Err(Failure::usage("say what it is called: piton new NAME")),
    }
}

fn new_native(name: &str, force: bool) -> Outcome<Exit> {
    let path = if name.ends_with(".toml") { name.to_owned() } else { format!("{name}.toml") };
    let path = Utf8PathBuf::from(path);
    if path.exists() && !force {
        return Err(Failure::new(format!("{path} exists already"))
            .hint(format!("piton new {} --force", shell_word(name))));
    }
    let stem = path.file_stem().unwrap_or("plan");
    let worker = worker()?;
    write(&path, &native::starter(stem, worker))?;
    ui::say(format!("wrote {path}"));
    if worker == native::Worker::Nobody {
        ui::hint("no coding agent was found here: say in [agents.default] who does the work");
    }
    ui::hint(format!("edit it, then: piton plan {}", typed(&path)));
    Ok(FINE)
}

/// Who can work on a new plan: whom the project names, or the first known client that is installed.
fn worker() -> Outcome<native::Worker> {
    let config = plans::config(&find::here()?)?.unwrap_or_default();
    let usual = config.defaults.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    if config.agents.contains_key(usual) {
        return Ok(native::Worker::OfProject);
    }
    let mut clients = Adapter::ALL.into_iter().filter(|adapter| !adapter.is_command());
    let found = clients.find(|adapter| is_runnable(adapter.name(), Utf8Path::new(".")));
    Ok(found.map_or(native::Worker::Nobody, native::Worker::Client))
}

fn new_list(name: &str, force: bool) -> Outcome<Exit> {
    let named = if rwkit::is_list(name) { name.to_owned() } else { format!("{name}-todolist.md") };
    let stem = rwkit::stem(&named);
    let wrong = |bad| Failure::usage(format!("a list cannot be called {name:?}: {bad}"));
    RepoPath::new(name).map_err(wrong)?;
    GroupId::new(stem).map_err(wrong)?;
    let path =
        if name.contains('/') { Utf8PathBuf::from(&named) } else { Utf8Path::new("plans").join(&named) };
    if path.exists() && !force {
        let failure = Failure::new(format!("{path} exists already"));
        return Err(failure.hint(format!("piton new rwkit {} --force", shell_word(name))));
    }
    write(&path, &rwkit::write::skeleton(rwkit::stem(path.as_str())))?;
    ui::say(format!("wrote {path}"));
    ui::hint(format!("edit its tasks, then: piton plan {}", typed(&path)));
    Ok(FINE)
}

fn new_execute(name: &str, force: bool) -> Outcome<Exit> {
    let folder = if name.contains('/') { name.into() } else { Utf8Path::new("docs/tasks").join(name) };
    let is_used = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !force {
        let failure = Failure::new(format!("{folder} exists already"));
        return Err(failure.hint(format!("piton new execute {} --force", shell_word(name))));
    }
    for (file, text) in execute::plan::starter(folder.file_name().unwrap_or("plan")) {
        write(&folder.join(file), &text)?;
    }
    ui::say(format!("wrote {folder}"));
    ui::hint(format!("edit its tasks, then: piton plan {}", typed(&folder)));
    Ok(FINE)
}

pub(crate) fn write(path: &Utf8Path, text: &str) -> Outcome {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    piton_engine::disk::write(path, text.as_bytes()).map_err(Failure::io(format!("cannot write {path}")))
}

pub(crate) fn plan(args: &PlanArgs) -> Outcome<Exit> {
    let how =
        How { dialect: args.dialect.map(Into::into), strict: args.strict, lint: true, ..How::default() };
    if args.fix_encoding {
        encoding::fix(&args.plan, how.dialect)?;
    }
    if args.plan.is_file() && rwkit::is_master(args.plan.as_str()) {
        return master::plan(args);
    }
    let found = plans::plan(&args.plan, how)?;
    let settings = &found.plan.settings;
    let session = Session {
        schedule: settings.schedule,
        max_parallel: settings.max_parallel,
        selection: Selection::All,
        agent: None,
        budget: Budget::default(),
        fences: Fences::default(),
        verbose: false,
        quiet: false,
    };
    show(&found, &session, args.json, args.all, &missing(&found)?);
    // The program ends here, and taking a large plan apart takes a while.
    std::mem::forget(found);
    Ok(FINE)
}

/// What a run of the plan would miss here.
pub(crate) fn missing(found: &FoundPlan) -> Outcome<Vec<Finding>> {
    let project = find::of_plan(&found.path, None).ok();
    let root = project.as_ref().map_or_else(|| plans::folder_of(&found.path), |project| &project.root);
    preflight::look(&found.plan, preflight::Start { root, agent: None, sandbox: None })
}

/// The plan for programs.
pub(crate) fn document(found: &FoundPlan, session: &Session, missing: &[Finding]) -> Value {
    let plan = &found.plan;
    // The reader refuses cycles, so there is a graph.
    let Ok(graph) = Graph::new(&plan.tasks) else { return Value::Null };
    let batches = batches(&plan.tasks, &graph, session.schedule);
    let mut document = json!({
        "plan": plan.name,
        "path": found.path,
        "hash": plan.hash(),
        "schedule": session.schedule,
        "max_parallel": session.max_parallel,
        "groups": plan.groups,
        "batches": batches.iter().map(|((group, level), tasks)| json!({
            "group": plan.groups.get(*group as usize).map(|group| &group.id),
            "level": level,
            "tasks": tasks.iter().map(|task| &task.id).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "critical_path": critical_path(plan, &graph),
        "tasks": plan.tasks,
        "missing": missing.iter().map(Finding::as_json).collect::<Vec<_>>(),
    });
    if let Some(read) = &found.issue {
        issue::describe(read, &mut document);
    }
    document
}

fn critical_path<'p>(plan: &'p piton_core::plan::Plan, graph: &Graph) -> Vec<&'p str> {
    let (path, _) = graph.critical_path(|_| 1);
    path.iter().map(|&task| plan.tasks[task].id.as_str()).collect()
}

/// Layers, batches and the critical path.
pub(crate) fn show(found: &FoundPlan, session: &Session, as_json: bool, all: bool, missing: &[Finding]) {
    if as_json {
        return ui::answer_json(&document(found, session, missing));
    }
    // After the answer, where it is seen.
    if let Some(read) = &found.issue {
        issue::show(read, &found.plan, all);
        return preflight::tell(missing);
    }
    show_graph(found, session, all);
    preflight::tell(missing);
}

fn show_graph(found: &FoundPlan, session: &Session, all: bool) {
    let plan = &found.plan;
    let Ok(graph) = Graph::new(&plan.tasks) else { return };
    let path = critical_path(plan, &graph);
    let batches = batches(&plan.tasks, &graph, session.schedule);
    let schedule = format!("{:?}", session.schedule).to_lowercase();
    let size = match plan.settings.form.list() {
        Some(list) => {
            let gates = plan.tasks.iter().filter(|task| !list.tasks.contains_key(&task.id)).count();
            let tasks = counted((plan.tasks.len() - gates) as u64, "task");
            let batches = plan.groups.len() - gates;
            let word = if batches == 1 { "batch" } else { "batches" };
            format!("{tasks} in {batches} {word} and {}", counted(gates as u64, "gate"))
        }
        None if plan.settings.form.brief().is_some() => {
            plan.settings.form.brief().map(iterative::size).unwrap_or_default()
        }
        None => {
            let layers = counted(plan.groups.len() as u64, "layer");
            format!("{} in {layers}, {schedule}", counted(plan.tasks.len() as u64, "task"))
        }
    };
    ui::answer_line(format!(
        "{} {size}, up to {} at once",
        ui::styled(BOLD, &plan.name),
        session.max_parallel
    ));
    let mut shown = 0;
    let mut last_group = None;
    for ((group, level), tasks) in &batches {
        if last_group != Some(*group) && session.schedule != Schedule::Flow {
            last_group = Some(*group);
            if let Some(group) = plan.groups.get(*group as usize) {
                ui::answer_line(format!(
                    "\n{} {}",
                    ui::styled(BOLD, group.id.as_str()),
                    ui::plain(&group.title)
                ));
            }
        } else if last_group.is_none() {
            ui::answer_line("");
            last_group = Some(*group);
        }
        for task in tasks {
            shown += 1;
            if shown > MOST && !all {
                continue;
            }
            ui::answer_line(line(task, *level));
        }
    }
    if shown > MOST && !all {
        ui::answer_line(format!("… and {} more (--all shows them)", shown - MOST));
    }
    let steps = counted(path.len() as u64, "step");
    let path = if path.len() > 12 {
        format!("{} → … → {}", path[..6].join(" → "), path[path.len() - 5..].join(" → "))
    } else {
        path.join(" → ")
    };
    ui::answer_line(format!("\n{} {steps}: {path}", ui::styled(BOLD, "critical path")));
    if !plan.settings.landing_checks.is_empty() {
        let checks: Vec<String> =
            plan.settings.landing_checks.iter().map(|check| format!("`{}`", check.run)).collect();
        ui::answer_line(format!("{} {}", ui::styled(BOLD, "before each landing"), checks.join(", ")));
    }
}

fn line(task: &TaskSpec, level: u32) -> String {
    let needs: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    let needs = if needs.is_empty() { String::new() } else { format!(" ← {}", needs.join(", ")) };
    let checks: Vec<String> = task.checks.iter().map(|check| check.run.to_string()).collect();
    let checks = match checks.len() {
        0 => "no check: what the agent says is believed".to_owned(),
        _ => checks.join("; "),
    };
    format!(
        "  {level}  {:8} {}{}  {}",
        task.id,
        ui::plain(&task.title),
        ui::styled(DIM, needs),
        ui::styled(DIM, format!("[{}]", ui::plain(&checks)))
    )
}

/// Tasks by group and dependency level, each in the order they would start.
fn batches<'p>(
    tasks: &'p [TaskSpec],
    graph: &Graph,
    schedule: Schedule,
) -> BTreeMap<(u32, u32), Vec<&'p TaskSpec>> {
    let mut batches: BTreeMap<(u32, u32), Vec<&TaskSpec>> = BTreeMap::new();
    for (task, &level) in tasks.iter().zip(&graph.levels) {
        let group = if schedule == Schedule::Flow { 0 } else { task.group };
        batches.entry((group, level)).or_default().push(task);
    }
    for batch in batches.values_mut() {
        batch.sort_by(|a, b| (a.priority, &a.id).cmp(&(b.priority, &b.id)));
    }
    batches
}
