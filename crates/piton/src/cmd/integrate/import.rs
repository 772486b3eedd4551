//! `piton import`: take over what another system left half-done.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::{Dialect, Oid, RunId, TaskId};
use piton_core::run::{Command, Note};
use piton_core::system::execute::state::{self as file, ForeignState};
use piton_core::system::kept;
use piton_core::view::counted;
use piton_engine::git::{RefChange, Repo, Worktree};
use piton_engine::import::{self, Belief};
use piton_engine::journal::Journal;
use piton_engine::project::{Project, new_run_id};
use piton_engine::{clock, crash, disk};
use serde_json::json;

use crate::cmd::system::{issue, iterative, older, rwkit};
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, Aside, FoundPlan, How, Left};
use crate::runs::begin;
use crate::runs::find::{self, FoundRun, typed};
use crate::runs::flags::RunArgs;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The plan's folder, or the state file in it
    pub plan: Utf8PathBuf,
    /// The project [default: where the plan says, else the repository around it]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// The branch that work landed on [default: the current one]
    #[arg(long, value_name = "BRANCH")]
    pub base_branch: Option<String>,
    /// Also where the plan has a run already: a new one is made
    #[arg(long)]
    pub reset: bool,
    /// Tell what would be believed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn import(args: &ImportArgs) -> Outcome<Exit> {
    let how = How { project: args.project_path.as_deref(), ..How::default() };
    let mut found = match older::meant(&args.plan)? {
        Some((from, to)) => older::found(&from, &to, how, args.dry_run)?,
        None => plans::plan(&args.plan, how)?,
    };
    if found.plan.settings.dialect == Dialect::Native {
        let failure = Failure::new(format!("{} is a plan of Piton's own", find::shown(&found.path)));
        return Err(failure.hint("there is nothing to take over: piton run PLAN"));
    }
    let flags = RunArgs {
        project_path: args.project_path.clone(),
        base_branch: args.base_branch.clone(),
        ..RunArgs::of_plan(args.plan.clone(), crate::args::Loudness::default())
    };
    let project = begin::project_of(&flags, &found)?;
    warn_of_second_copy(&found, &project);
    let mut journal = Journal::open(&project.home)?;
    let _beginning = find::beginning(&project)?;
    let known = find::run_of_plan(&journal, &found.path)?;
    if let Some(known) = known.filter(|_| !args.reset && !args.dry_run) {
        let failure = Failure::new(format!("{} has the run {known} already", find::shown(&found.path)));
        return Err(failure
            .hint("piton doctor   compares it with git")
            .hint(format!("piton import {} --reset   takes the state file over anew", typed(&args.plan))));
    }
    if found.plan.settings.dialect != Dialect::Execute {
        if args.dry_run {
            let tip = match project.repo()? {
                Some(repo) if found.iterative.is_some() => repo.branch_tip(&begin::target(&flags, repo)?)?,
                _ => None,
            };
            iterative::past(&found, &project, tip.as_ref(), Aside::Leave)?;
            issue::past(&found, &project, None, Aside::Leave)?;
            return rwkit::past(&mut found, &project, &journal, Aside::Leave).map(|_| FINE);
        }
        let run = begin::create_for_ledger(&flags, &mut found, &project, &mut journal)?;
        FoundRun { project, journal, run }.settle_file()?;
        ui::hint(format!("piton run {}   goes on from here", typed(&found.path)));
        return Ok(FINE);
    }
    let aside = if args.dry_run { Aside::Leave } else { Aside::Put };
    let state = look(&found.path, &project, aside)?.unwrap_or_default();
    let taken = TakeOver::new(&flags, &mut found, &project, &journal, state)?;
    if args.dry_run {
        taken.tell(args.json);
        return Ok(FINE);
    }
    let run = taken.begin(&flags, &found, &project, &mut journal)?;
    taken.tell(args.json);
    FoundRun { project, journal, run }.settle_file()?;
    ui::hint(format!("piton run {}   goes on from here", typed(&found.path)));
    Ok(FINE)
}

/// The state file of a plan, as far as it can be read.
pub(crate) fn look(plan: &Utf8Path, project: &Project, aside: Aside) -> Outcome<Option<ForeignState>> {
    let read = |text: &str| {
        let reading = file::read(text);
        (reading.state, reading.problems)
    };
    Ok(match plans::left(project, &plan.join(file::FILE), read, "git is asked", aside)? {
        Left::Nothing => None,
        Left::Broken => Some(ForeignState::default()),
        Left::Read { state, .. } => Some(state),
    })
}

/// A state file in the project itself, beside the one in the plan: some tools write one there, and nobody reads it.
pub(crate) fn second_copy(dialect: Dialect, plan: &Utf8Path, project: &Project) -> Option<Utf8PathBuf> {
    let copy = project.root.join(kept::state_file(dialect).filter(|_| !kept::is_of_project(dialect))?);
    let real = |folder: &Utf8Path| folder.canonicalize_utf8().ok();
    // Many a project has a file of that name for itself.
    let tells = || std::fs::read_to_string(&copy).is_ok_and(|text| text.contains("\"slug\""));
    let is_one = copy.is_file() && (dialect != Dialect::Iterative || tells());
    (is_one && real(&project.root) != real(plan)).then_some(copy)
}

pub(crate) fn warn_of_second_copy(found: &FoundPlan, project: &Project) {
    if let Some(copy) = second_copy(found.plan.settings.dialect, &found.path, project) {
        let counts = find::shown(&found.path.join(copy.file_name().unwrap_or_default()));
        ui::say(format!(
            "warning: {} is a second copy of the state file; {counts} counts",
            find::shown(&copy)
        ));
    }
}

/// Everything that is taken over, judged but not yet believed.
pub(crate) struct TakeOver {
    state: ForeignState,
    beliefs: Vec<Belief>,
    orphans: Vec<TaskId>,
    worktree_dir: Utf8PathBuf,
}

impl TakeOver {
    pub(crate) fn new(
        args: &RunArgs,
        found: &mut FoundPlan,
        project: &Project,
        journal: &Journal,
        state: ForeignState,
    ) -> Outcome<TakeOver> {
        let repo = repo_of(project)?;
        let settings = &mut found.plan.settings;
        // What it was begun with holds, unless somebody says otherwise now.
        settings.no_commits |= state.no_commits;
        let prefix = state.commit_prefix.clone().filter(|prefix| !prefix.is_empty());
        settings.commit_prefix = settings.commit_prefix.take().or(prefix);
        let told = state.worktree_dir.as_ref().map(Utf8PathBuf::from).filter(|dir| dir.is_dir());
        let worktree_dir = args.worktree_dir.clone().or(told);
        let worktree_dir = worktree_dir.unwrap_or_else(|| project.worktree_dir());
        if !settings.no_commits {
            repo.check_worktree_dir(&worktree_dir)?;
        }
        let target = begin::target(args, repo)?;
        let tip = repo.branch_tip(&target)?;
        let tip = tip.ok_or_else(|| Failure::new(format!("there is no branch `{target}`")))?;
        // An earlier run of this plan is given up for this one, unless somebody works on it.
        let mut others = journal.runs()?;
        others.retain(|run| run.plan != found.path || project.engine_lives(&run.id));
        let is_taken = |path: &Utf8Path| {
            project.owner(path).is_some_and(|owner| others.iter().any(|run| run.id.as_str() == owner))
        };
        let beliefs = import::judge(repo, &tip, &found.plan.tasks, &state, &worktree_dir, &is_taken)?;
        let planned = |id: &&TaskId| !found.plan.tasks.iter().any(|spec| spec.id == **id);
        let orphans = state.tasks.keys().filter(planned).cloned().collect();
        Ok(TakeOver { state, beliefs, orphans, worktree_dir })
    }

    /// Make the run, with everything that was done before, in one step.
    pub(crate) fn begin(
        &self,
        args: &RunArgs,
        found: &FoundPlan,
        project: &Project,
        journal: &mut Journal,
    ) -> Outcome<RunId> {
        use file::TaskStatus::{Abandoned, Completed};
        let is_open = |id: &&TaskId| {
            self.state.tasks.get(*id).is_some_and(|task| !matches!(task.status, Completed | Abandoned))
        };
        refuse_orphans(found, file::FILE, self.orphans.iter().filter(is_open))?;
        let id = new_run_id(&found.plan.name);
        self.adopt_worktrees(project, &id)?;
        crash::point("import.adopted");
        let args = RunArgs { worktree_dir: Some(self.worktree_dir.clone()), ..args.clone() };
        let mut commands = vec![begin::creation(&args, found, project, &id)?];
        for belief in &self.beliefs {
            let past = belief.past.clone().map(Box::new);
            let by = file::FILE.to_owned();
            commands.extend(past.map(|past| Command::Adopt { task: belief.task.clone(), by, past }));
        }
        if let Some(began) = self.state.started_at.filter(|began| *began <= clock::now()) {
            commands.push(Command::Note { by: file::FILE.to_owned(), note: Note::Began { began } });
        }
        let known = |id: &TaskId| found.plan.tasks.iter().any(|spec| spec.id == *id);
        let fields = self.state.carried(known);
        if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
            let note = Note::Carried { file: file::FILE.to_owned(), fields };
            commands.push(Command::Note { by: file::FILE.to_owned(), note });
        }
        begin::begin(journal, project, &id, &commands)?;
        // It is in the journal now, and is replaced next.
        back_up(found, false)?;
        Ok(id)
    }

    /// What goes on in a worktree must not find it made anew, and the branch beside it goes on with it.
    fn adopt_worktrees(&self, project: &Project, run: &RunId) -> Outcome {
        let repo = repo_of(project)?;
        for belief in &self.beliefs {
            let work = belief.past.as_ref().and_then(|past| past.work.as_ref()?.commit.clone());
            let mut head = work.clone();
            if let Some(path) = &belief.worktree {
                project.give_worktree(path, run).map_err(Failure::io(format!("cannot take over {path}")))?;
                if let Some(worktree) = Worktree::open(repo, path)? {
                    worktree.make_ready(&format!("{run}/{}", belief.task))?;
                    worktree.detach()?;
                    head = worktree.head()?;
                }
            }
            let pin =
                |what: &str, commit: &Oid| RefChange::pin(&format!("{run}/{what}/{}", belief.task), commit);
            let mut pins = Vec::new();
            if let Some(work) = &work {
                pins.push(pin("captured", work)?);
            }
            let branch = repo.branch_tip(&format!("worktree-{}", belief.task))?;
            if let Some(tip) = branch.filter(|tip| Some(tip) == head.as_ref()) {
                pins.push(pin("shown", &tip)?);
            }
            repo.change_refs(&pins)?;
        }
        Ok(())
    }

    /// What is believed, what is not, and why.
    pub(crate) fn tell(&self, as_json: bool) {
        let counts = import::tally(&self.beliefs);
        if as_json {
            let beliefs: Vec<_> = self
                .beliefs
                .iter()
                .map(|belief| {
                    json!({
                        "task": belief.task,
                        "claimed": belief.claimed.map(file::TaskStatus::word),
                        "believed": belief.past.as_ref().map_or("pending", |past| past.status.name()),
                        "corrected": belief.corrected,
                        "why": belief.why,
                    })
                })
                .collect();
            return ui::answer_json(&json!({ "tasks": beliefs, "counts": counts, "orphans": self.orphans }));
        }
        let (corrected, believed): (Vec<&Belief>, Vec<&Belief>) =
            self.beliefs.iter().partition(|belief| belief.corrected);
        for (title, beliefs) in [("believed", believed), ("corrected", corrected)] {
            let worth: Vec<&&Belief> = beliefs.iter().filter(|belief| belief.past.is_some()).collect();
            if worth.is_empty() {
                continue;
            }
            ui::answer_line(ui::styled(ui::BOLD, format!("{title} {}", counted(worth.len() as u64, "task"))));
            for belief in worth {
                let claimed = belief.claimed.map_or("not mentioned", file::TaskStatus::word);
                let now = belief.past.as_ref().map_or("pending", |past| past.status.name());
                let change = if claimed == now { now.to_owned() } else { format!("{claimed} → {now}") };
                ui::answer_line(format!("  {:8} {change}: {}", belief.task, ui::plain(&belief.why)));
            }
        }
        for orphan in &self.orphans {
            ui::answer_line(format!(
                "  {orphan:8} is in the state file but not in the plan; it is carried along"
            ));
        }
        let told: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        ui::answer_line(told.join(", "));
    }
}

/// Open tasks that only a state file has: nobody can work on them, and a run without them would be called complete.
pub(crate) fn refuse_orphans<'i>(
    found: &FoundPlan,
    file: &str,
    open: impl Iterator<Item = &'i TaskId>,
) -> Outcome {
    let open: Vec<&str> = open.map(TaskId::as_str).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let plan = typed(&found.path);
    let failure = Failure::new(format!(
        "{file} has {} that the plan lacks, and a run without {} would not be complete: {}",
        counted(open.len() as u64, "open task"),
        if open.len() == 1 { "it" } else { "them" },
        open.join(", ")
    ));
    Err(failure
        .hint(format!("piton add {first} --title TEXT --plan {plan}   adds it to the plan"))
        .hint(format!("or take it out of {file}, if nobody wants it any more"))
        .hint(format!("piton run {plan} --reset   begins a new run from the plan alone")))
}

/// Whether a state file lies where the plan's system keeps it.
pub(crate) fn has_state_file(found: &FoundPlan, project: &Project) -> bool {
    let dialect = found.plan.settings.dialect;
    let home = if kept::is_of_project(dialect) { &project.root } else { &found.path };
    kept::state_file(dialect).is_some_and(|name| home.join(name).is_file())
}

fn repo_of(project: &Project) -> Outcome<&Repo> {
    let repo = project.repo()?;
    repo.ok_or_else(|| {
        Failure::new(format!("{} is not in a git repository: nothing can be judged", project.root))
    })
}

/// Put a state file aside before it is begun anew.
pub(crate) fn back_up(found: &FoundPlan, take_away: bool) -> Outcome {
    let Some(name) = kept::state_file(found.plan.settings.dialect) else { return Ok(()) };
    let path = found.path.join(name);
    let kept = Utf8PathBuf::from(format!("{path}.bak"));
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    // One that could not be used is kept already, and an older version of it may be all there is.
    let is_bad = || std::fs::read(format!("{path}.bad")).is_ok_and(|bad| bad == bytes);
    if take_away || !is_bad() {
        disk::write(&kept, &bytes).map_err(Failure::io(format!("cannot write {kept}")))?;
    }
    if take_away {
        std::fs::remove_file(&path).map_err(Failure::io(format!("cannot remove {path}")))?;
    }
    Ok(())
}
