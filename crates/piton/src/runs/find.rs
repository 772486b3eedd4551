//! Which project, which run.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::nearest;
use piton_core::plan::{AboutTask, Check, Dialect, RunId, TaskId, TaskSpec};
use piton_core::run::{Command, Recorded, Status, Task, shell_word};
use piton_core::system::Addition;
use piton_core::system::iterative::state;
use piton_engine::agent::Attempt;
use piton_engine::claims::{Judgement, Place};
use piton_engine::files::{Aide, Mirror, Wait};
use piton_engine::journal::{CommandError, Journal, JournalError, RunSummary};
use piton_engine::lock::Lock;
use piton_engine::project::Project;
use piton_engine::{clock, holders};

use crate::args::{Loudness, Which};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, How};
use crate::runs::flags::RunArgs;
use crate::runs::{begin, gone, refusals, same_plan, siblings};
use crate::{cmd, commands, progress, ui};

pub(crate) fn here() -> Outcome<Utf8PathBuf> {
    let here = std::env::current_dir().map_err(Failure::io("cannot tell the current folder"))?;
    Utf8PathBuf::from_path_buf(here).map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))
}

/// A path as short as it can be said from here.
pub(crate) fn shown(path: &Utf8Path) -> String {
    here()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(ToString::to_string))
        .unwrap_or_else(|| path.to_string())
}

/// The same as it is typed in a command.
pub(crate) fn typed(path: &Utf8Path) -> String {
    match shown(path).as_str() {
        "" => ".".to_owned(),
        shown => shell_word(shown),
    }
}

pub(crate) fn project(given: Option<&Utf8Path>) -> Outcome<Project> {
    let start = match given {
        Some(path) => path.canonicalize_utf8().map_err(Failure::io(format!("cannot open {path}")))?,
        None => here()?,
    };
    Ok(Project::around(&start)?)
}

/// A run that exists, with its project and a journal to read.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub project: Project,
    pub journal: Journal,
    pub run: RunId,
}

impl FoundRun {
    /// Carry a command out. What was written into the run's state file is heard first, and the file is true again
    /// when this returns, whether the command was taken or not.
    pub(crate) fn command(&mut self, command: &Command) -> Outcome<Vec<Recorded>> {
        self.command_and(command, None)
    }

    /// The same, and if it was taken, another one before the file is written.
    pub(crate) fn command_and(
        &mut self,
        command: &Command,
        more: Option<&Command>,
    ) -> Outcome<Vec<Recorded>> {
        self.command_then(command, |_, _| Ok(more.cloned()))
    }

    /// The same with one that depends on what came of the first.
    pub(crate) fn command_then(
        &mut self,
        command: &Command,
        more: impl FnOnce(&FoundRun, &[Recorded]) -> Outcome<Option<Command>>,
    ) -> Outcome<Vec<Recorded>> {
        let mut mirror = self.mirror()?;
        let mut aide = AtOnce { project: self.project.clone(), run: self.run.clone() };
        match &mut mirror {
            Some(mirror) => drop(mirror.settle(&mut self.journal, &mut aide, true)?),
            None => self.judge_committed(decides(command))?,
        }
        self.release_gone(mirror.is_none())?;
        siblings::look(&self.project, &mut self.journal, &self.run)?;
        let mut outcome = self.journal.command(&self.run, command, clock::now());
        if let Ok(events) = &mut outcome
            && let Some(more) = more(self, events)?
        {
            match self.journal.command(&self.run, &more, clock::now()) {
                Ok(others) => events.extend(others),
                // The first one holds, whatever has happened to the task since.
                Err(CommandError::Refused(_)) => {}
                Err(CommandError::Journal(error)) => return Err(error.into()),
            }
        }
        if let Some(mirror) = &mut mirror {
            let settled = mirror.settle(&mut self.journal, &mut aide, true);
            refusals::say(&self.project, &self.journal, &self.run);
            if let (Ok(_), Err(error)) = (&outcome, settled) {
                return Err(Failure::new(format!(
                    "it is recorded, but the state file is not written: {error}"
                )));
            }
        }
        Ok(outcome?)
    }

    /// Hear what was written into the run's state file, and make it true. Without such a file, judge what is committed by
    /// now of what was called done.
    pub(crate) fn settle_file(&mut self) -> Outcome {
        self.settle_but(None)
    }

    /// The same, but for a claim that somebody speaks about at this moment.
    pub(crate) fn settle_but(&mut self, but: Option<&TaskId>) -> Outcome {
        siblings::look(&self.project, &mut self.journal, &self.run)?;
        let mut aide = AtOnce { project: self.project.clone(), run: self.run.clone() };
        match self.mirror()? {
            Some(mut mirror) => {
                mirror.settle(&mut self.journal, &mut aide, true)?;
                refusals::say(&self.project, &self.journal, &self.run);
                self.release_gone(false)
            }
            None => {
                self.judge_committed(but)?;
                self.release_gone(true)
            }
        }
    }

    /// For an engine that begins: judge and take back what needs no file for it.
    pub(crate) fn settle_claims(&mut self) -> Outcome {
        if !self.has_state_file()? {
            self.judge_committed(None)?;
        }
        self.release_gone(true)
    }

    fn judge_committed(&mut self, but: Option<&TaskId>) -> Outcome {
        cmd::ledger::report::judge_committed(self, but)
    }

    /// Take tasks back whose holders are not alive. `say`: nobody else does.
    fn release_gone(&mut self, say: bool) -> Outcome {
        let released = holders::release_gone(&mut self.journal, &self.run)?;
        for recorded in released.iter().filter(|_| say) {
            ui::say(progress::line(recorded));
        }
        Ok(())
    }

    /// Whether what is next may be something else than the journal says: somebody may have written into its state file, a
    /// claim waits, or a task is held as long as a process lives.
    pub(crate) fn may_have_changed(&self) -> Outcome<bool> {
        let is_open = |task: &Task| cmd::ledger::report::is_waiting(task) || holders::is_bound(task);
        Ok(self.has_state_file()? || self.journal.under_way(&self.run)?.iter().any(is_open))
    }

    /// Whether its system keeps a file that people and scripts read and write.
    pub(crate) fn has_state_file(&self) -> Outcome<bool> {
        Ok(self.journal.facts(&self.run)?.is_some_and(|facts| !facts.settings.dialect().is_native()))
    }

    fn mirror(&mut self) -> Outcome<Option<Mirror>> {
        Ok(Mirror::of(&self.project, &mut self.journal, &self.run)?)
    }
}

/// The task that a command decides about, whatever was claimed of it before.
fn decides(command: &Command) -> Option<&TaskId> {
    match command {
        Command::Report { task, .. }
        | Command::Reset { task, .. }
        | Command::Skip { task, .. }
        | Command::Abandon { task, .. } => Some(task),
        _ => None,
    }
}

/// Does what a state file asks for here and now.
struct AtOnce {
    project: Project,
    run: RunId,
}

impl Aide for AtOnce {
    fn waits(&mut self, wait: &Wait) {
        ui::say(wait.to_string());
    }

    fn add(&mut self, journal: &mut Journal, task: &Addition, about: &AboutTask) -> Result<(), String> {
        cmd::steer::add::take_up(&self.project, journal, &self.run, task, about)
    }

    fn judge(
        &mut self,
        task: &Task,
        spec: &TaskSpec,
        place: Option<&Place>,
    ) -> Option<Result<Judgement, String>> {
        let place = place?;
        let judged = || -> Outcome<Judgement> {
            let tell =
                |check: &Check| ui::say(format!("{} is said to be done: running `{}`", task.id, check.run));
            let (name, keeper) = (format!("{}.report", task.fence), cmd::run::keeper()?);
            let judged = place.judge(&self.project, &self.run, spec, &name, &keeper, &tell);
            judged.map_err(|no| Failure::new(no.to_string()))
        };
        Some(judged().map_err(|failure| failure.message))
    }
}

/// The run that is meant, opened for reading: nothing is created.
pub(crate) fn run(which: &Which) -> Outcome<FoundRun> {
    run_in(which, None, Journal::open_existing)
}

/// The same for what is asked about one of its tasks: where several are unfinished, the only one that has it.
pub(crate) fn run_of(task: &TaskId, which: &Which) -> Outcome<FoundRun> {
    run_in(which, Some(task), Journal::open_existing)
}

fn run_in(
    which: &Which,
    task: Option<&TaskId>,
    open: impl FnOnce(&Utf8Path) -> Result<Option<Journal>, JournalError>,
) -> Outcome<FoundRun> {
    let plan = which.plan.as_deref().map(|given| plans::place(given, None)).transpose()?;
    let mut plan = plan.map(|(path, _)| path);
    let mut project = match &plan {
        Some(plan) => of_plan(plan, which.project_path.as_deref())?,
        None => project(which.project_path.as_deref())?,
    };
    if plan.is_none() && which.run.is_none() && !Journal::exists(&project.home) {
        // Whoever stands in the folder of a plan that lies outside of its project means that plan.
        let around = plans::place(&here()?, None).ok().map(|(path, _)| path);
        if let Some(around) = around.filter(|_| which.project_path.is_none()) {
            project = of_plan(&around, None)?;
            plan = Some(around);
        }
    }
    let Some(journal) = open(&project.home)? else {
        return Err(no_run(&project, plan.as_deref().filter(|_| which.plan.is_some())));
    };
    let runs = journal.runs()?;
    let run = match &plan {
        Some(plan) => match runs.iter().find(|run| run.plan == *plan) {
            Some(run) => run.id.clone(),
            None => run_of_same_plan(plan, &project, &journal)?,
        },
        None => choose(&runs, which.run.as_deref(), &project, |run| {
            task.is_none_or(|task| journal.task(&run.id, task).is_ok_and(|found| found.is_some()))
        })?,
    };
    name_in_hints(&runs, &run);
    if let Some(task) = task
        && journal.task(&run, task)?.is_none()
    {
        return Err(no_task(&journal, &run, task));
    }
    refusals::say(&project, &journal, &run);
    gone::say(&journal, &run);
    Ok(FoundRun { project, journal, run })
}

/// The run of a plan that has none under its own path: the same file of another checkout is the same plan.
fn run_of_same_plan(plan: &Utf8Path, project: &Project, journal: &Journal) -> Outcome<RunId> {
    let nothing = || no_run(project, Some(plan));
    let how = How { project: Some(&project.root), ..How::default() };
    let read = plans::place(plan, None).and_then(|(path, dialect)| plans::read(&path, dialect, how));
    // A plan that cannot be read has begun no run from here.
    let Ok((mut found, _)) = read else { return Err(nothing()) };
    begin::settle_in_place(&mut found, project)?;
    let same = same_plan::look(&found, project, journal, None)?;
    let Some((run, its)) = same.run() else { return Err(same.hints(nothing())) };
    ui::say(format!("the run {run} has this plan, from {its}"));
    Ok(run.clone())
}

/// The project of a plan, wherever the plan lies and wherever we are: the one that has its run. Without a run it is the
/// one that the plan names, else the one around it.
pub(crate) fn of_plan(plan: &Utf8Path, given: Option<&Utf8Path>) -> Outcome<Project> {
    if given.is_some() {
        return project(given);
    }
    let (named, around) = (plans::project_named(plan), plans::folder_of(plan).to_owned());
    let likeliest = project(Some(named.as_deref().unwrap_or(&around)));
    let mut seen: Vec<Utf8PathBuf> = Vec::new();
    // Whoever began the run may have named the project on the command line: then its state file says where that is.
    let others = [Some(around), plans::project_in_state(plan), here().ok()];
    let top = |folder: &Utf8PathBuf| {
        let is_top = |above: &&Utf8Path| above.join(".git").exists();
        folder.canonicalize_utf8().ok()?.ancestors().find(is_top).map(Utf8Path::to_owned)
    };
    let is_likeliest = |folder: &Utf8PathBuf| {
        likeliest.as_ref().is_ok_and(|likeliest| top(folder).as_ref() == Some(&likeliest.root))
    };
    let others = others.into_iter().flatten().filter(|folder| folder.is_dir() && !is_likeliest(folder));
    let others = others.filter_map(|folder| Project::around(&folder).ok());
    for candidate in likeliest.as_ref().ok().cloned().into_iter().chain(others) {
        if seen.contains(&candidate.home) {
            continue;
        }
        seen.push(candidate.home.clone());
        let has_run = |journal: Journal| Ok::<_, Failure>(journal.runs()?.iter().any(|run| run.plan == plan));
        // A journal that cannot be read is reported by whoever opens it to use it.
        let journal = Journal::open_existing(&candidate.home).ok().flatten();
        if journal.map(has_run).transpose()?.unwrap_or(false) {
            return Ok(candidate);
        }
    }
    likeliest
}

/// The attempt that we are called from, if an agent calls us.
pub(crate) fn attempt() -> Outcome<Option<Attempt>> {
    Attempt::around_us().map_err(|no| {
        Failure::new(no.to_string())
            .hint("unset PITON_OUTBOX PITON_TOKEN PITON_TASK PITON_RUN   if you are no agent")
    })
}

/// An agent speaks about its own task, and only by its outbox.
fn outside_of_attempts() -> Outcome {
    let Some(Attempt { task, .. }) = attempt()? else { return Ok(()) };
    Err(Failure::new(format!("this is an attempt of {task}: it cannot change anything else of the run"))
        .hint(format!("piton report {task} done"))
        .hint(format!("piton report {task} blocked --reason TEXT   if a person has to decide")))
}

/// What is said of a task that a run does not have.
pub(crate) fn no_task(journal: &Journal, run: &RunId, task: &TaskId) -> Failure {
    let failure = Failure::new(format!("there is no task {task} in the run {run}"));
    let known: Vec<TaskId> = journal.specs(run).into_iter().flatten().map(|spec| spec.id).collect();
    let twin = known.iter().map(TaskId::as_str).find(|id| id.eq_ignore_ascii_case(task.as_str()));
    match twin.or_else(|| nearest(task.as_str(), known.iter().map(TaskId::as_str))) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("piton status --all"),
    }
}

/// The same, opened for a command.
pub(crate) fn run_to_change(which: &Which, task: Option<&TaskId>) -> Outcome<FoundRun> {
    outside_of_attempts()?;
    run_in(which, task, |home| match Journal::exists(home) {
        true => Journal::open(home).map(Some),
        false => Ok(None),
    })
}

/// The same for somebody who keeps the ledger: a plan named for the first time gets its run here, without
/// an engine and, if need be, without git.
pub(crate) fn run_for_ledger(which: &Which, task: Option<&TaskId>) -> Outcome<FoundRun> {
    outside_of_attempts()?;
    let Some(given) = &which.plan else { return run_to_change(which, task) };
    let how = How { project: which.project_path.as_deref(), ..How::default() };
    let mut found = plans::plan(given, how)?;
    let flags = RunArgs {
        project_path: which.project_path.clone(),
        ..RunArgs::of_plan(given.clone(), Loudness::default())
    };
    let project = begin::project_of(&flags, &found)?;
    let mut journal = Journal::open(&project.home)?;
    if let Some(run) = run_of_plan(&journal, &found.path)? {
        return Ok(FoundRun { project, journal, run });
    }
    let _beginning = beginning(&project)?;
    if let Some(run) = run_of_plan(&journal, &found.path)? {
        return Ok(FoundRun { project, journal, run });
    }
    begin::settle_in_place(&mut found, &project)?;
    let same = same_plan::look(&found, &project, &journal, None)?;
    if let Some(run) = same.settle(&found.path)? {
        return Ok(FoundRun { project, journal, run });
    }
    let run = begin::create_for_ledger(&flags, &mut found, &project, &mut journal)?;
    let mut found = FoundRun { project, journal, run };
    found.settle_file()?;
    Ok(found)
}

/// The newest run of a plan, unless the folder that it was about is put away and another has its name.
pub(crate) fn run_of_plan(journal: &Journal, plan: &Utf8Path) -> Outcome<Option<RunId>> {
    match journal.runs()?.into_iter().find(|run| run.plan == plan) {
        Some(run) if !is_put_away(journal, &run)? => Ok(Some(run.id)),
        _ => Ok(None),
    }
}

/// Whether the folder of a run of the iterative system was archived: it says so itself, and what is there now is not its.
pub(crate) fn is_put_away(journal: &Journal, run: &RunSummary) -> Outcome<bool> {
    let dialect = journal.facts(&run.id)?.map(|facts| facts.settings.dialect());
    if dialect != Some(Dialect::Iterative) || run.engine.is_some() {
        return Ok(false);
    }
    let chronicle = journal.chronicle(&run.id)?;
    let phase = chronicle.carried.get(state::FILE).and_then(|fields| fields["phase"].as_str());
    let shown = || std::fs::read_to_string(Utf8Path::new(&run.plan).join(state::FILE)).unwrap_or_default();
    Ok(phase == Some(state::PhaseWord::Complete.word()) && !shown().contains(run.id.as_str()))
}

/// The right to make a plan's first run.
pub(crate) fn beginning(project: &Project) -> Outcome<Lock> {
    project.beginning_lock().map_err(Failure::io(format!("cannot lock {}", project.home)))
}

fn no_run(project: &Project, plan: Option<&Utf8Path>) -> Failure {
    let Some(plan) = plan else {
        let failure = Failure::new(format!("there is no run in {}", project.root));
        let failure = cmd::watch::runs::plan_hints(&project.root).into_iter().fold(failure, Failure::hint);
        return failure.hint("or keep the ledger yourself: piton next --plan PLAN");
    };
    Failure::new(format!("there is no run of {} in {}", shown(plan), project.root))
        .hint(format!("piton run {}", typed(plan)))
        .hint(format!("or keep the ledger yourself: piton next --plan {}", typed(plan)))
}

fn choose(
    runs: &[RunSummary],
    wish: Option<&str>,
    project: &Project,
    is_meant: impl Fn(&RunSummary) -> bool,
) -> Outcome<RunId> {
    if let Some(prefix) = wish {
        let matching: Vec<&RunSummary> =
            runs.iter().filter(|run| run.id.as_str().starts_with(prefix)).collect();
        let exact = matching.iter().find(|run| run.id.as_str() == prefix);
        return match (exact, &matching[..]) {
            (Some(run), _) | (None, [run]) => Ok(run.id.clone()),
            (None, []) => {
                Err(list(Failure::new(format!("there is no run `{prefix}` in {}", project.root)), runs))
            }
            (None, several) => {
                let several: Vec<RunSummary> = several.iter().map(|&run| run.clone()).collect();
                Err(list(Failure::usage(format!("`{prefix}` fits several runs")), &several))
            }
        };
    }
    let unfinished = unfinished(runs);
    match (&unfinished[..], runs) {
        ([run], _) => Ok(run.id.clone()),
        ([], [newest, ..]) => Ok(newest.id.clone()),
        ([], []) => Err(no_run(project, None)),
        (several, _) => {
            let mut meant = several.iter().filter(|run| is_meant(run));
            if let (Some(run), None) = (meant.next(), meant.next()) {
                return Ok(run.id.clone());
            }
            let several: Vec<RunSummary> = several.iter().map(|&run| run.clone()).collect();
            let failure = Failure::usage("several runs are unfinished here: say which with --run");
            Err(list(failure, &several).hint("piton close RUN   closes one that nobody wants any more"))
        }
    }
}

/// Where a command that names no run could mean another one, those that are named to people say which.
pub(crate) fn name_in_hints(runs: &[RunSummary], run: &RunId) {
    let is_one_of_several = unfinished(runs).iter().any(|other| other.id != *run);
    if let Some(known) = runs.iter().find(|known| known.id == *run) {
        commands::about(run, typed(Utf8Path::new(&known.plan)), is_one_of_several);
    }
}

/// The runs that somebody may mean who names none: those that are not over, newest first.
pub(crate) fn unfinished(runs: &[RunSummary]) -> Vec<&RunSummary> {
    // A run replaced by a newer one of the same plan is history.
    let mut plans = std::collections::BTreeSet::new();
    let current: Vec<&RunSummary> = runs.iter().filter(|run| plans.insert(run.plan.as_str())).collect();
    let has_plan = |run: &RunSummary| Utf8Path::new(&run.plan).exists();
    let any_plan = current.iter().any(|run| has_plan(run));
    // So is one whose plan is gone, as where the project was moved, if another has its plan.
    current.into_iter().filter(|run| !run.is_over() && (!any_plan || has_plan(run))).collect()
}

fn list(failure: Failure, runs: &[RunSummary]) -> Failure {
    runs.iter().take(10).fold(failure, |failure, run| {
        let done = run.counts.of(Status::Completed);
        failure.hint(format!("--run {}   ({done}/{} done, {})", run.id, run.counts.total(), run.plan))
    })
}
