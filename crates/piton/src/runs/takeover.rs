//! Taking over what another system left: its files are found and read, the engine looks, the system judges, and what
//! comes of it is shown and given to the run.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::Command;
use piton_core::system::SystemRef;
use piton_core::system::kit::takeover::{
    LeftFiles, Legacy, Lessons, Line, Refused, StateOf, StateText, Takeover,
};
use piton_core::view::counted;
use piton_engine::crash;
use piton_engine::git::Repo;
use piton_engine::journal::Journal;
use piton_engine::project::{Project, new_run_id};
use piton_engine::takeover::{self, Site};

use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::{self, Aside, FoundPlan};
use crate::runs::create;
use crate::runs::flags::RunArgs;
use crate::runs::state_files::back_up;
use crate::ui;

/// Where imported work continues: the tip of the branch that work lands on, and its name if it may have to be created.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) project: &'a Project,
    pub(crate) tip: Option<&'a Oid>,
    pub(crate) onto: Option<&'a str>,
    /// Ticks in the plan are not believed.
    pub(crate) distrusts_ticks: bool,
}

/// What was done before a run, according to what other programs wrote into the plan's files, as far as the evidence
/// confirms it. A [`TakeOver`] is also judged by its worktrees.
pub(crate) fn past(
    found: &mut FoundPlan,
    place: Place<'_>,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Vec<Command>> {
    if found.policy().adopts_worktrees {
        return Ok(Vec::new());
    }
    let files = left(found, place.project, place.onto, journal, aside)?;
    let files = LeftFiles { distrusts_ticks: place.distrusts_ticks, ..files };
    let Some(left) = found.read.left(files) else { return Ok(Vec::new()) };
    let mut settings = found.plan.settings.clone();
    left.keep_settings(&mut settings);
    let Place { project, tip, .. } = place;
    let target = project.repo()?.zip(tip);
    let site = Site { project, target, worktree_dir: project.worktree_dir(), others: Vec::new() };
    let taken = judged(found, &site, &*left, aside)?;
    print_lines(&taken.lines);
    drop(left);
    found.plan.settings = settings;
    Ok(taken.commands)
}

/// Have everything judged that another system left.
fn judged(found: &FoundPlan, site: &Site<'_>, left: &dyn Legacy, aside: Aside) -> Outcome<Takeover> {
    let specs = &found.plan.tasks;
    let evidence = takeover::gather(site, specs, &left.questions(specs), aside == Aside::Put)?;
    left.take_over(specs, &evidence).map_err(|refused| refuse(found, &refused))
}

/// The files that another program left next to a plan.
pub(crate) fn left<'f>(
    found: &FoundPlan,
    project: &Project,
    onto: Option<&'f str>,
    journal: &Journal,
    aside: Aside,
) -> Outcome<LeftFiles<'f>> {
    let files = found.system().files();
    let log = files.log_in_place.map(|log| takeover::text_of(&found.path.join(log))).unwrap_or_default();
    let state = state(found, project, journal, aside)?;
    Ok(LeftFiles { state, onto, log, lessons: lessons(found.system(), &found.path), distrusts_ticks: false })
}

/// Lessons of this plan, and of archived plans next to it.
pub(crate) fn lessons(system: SystemRef, plan: &Utf8Path) -> Lessons {
    let files = system.files();
    let Some(name) = files.lessons else { return Lessons::default() };
    let archive = plan.parent().zip(files.archive).map(|(around, archive)| around.join(archive.place));
    let archived = archive.map(|archive| takeover::archived(&archive, name)).unwrap_or_default();
    Lessons { known: takeover::text_of(&plan.join(name)), archived }
}

/// The state file of a plan, as far as it can be used.
fn state(found: &FoundPlan, project: &Project, journal: &Journal, aside: Aside) -> Outcome<StateText> {
    let system = found.system();
    let files = system.files();
    let Some(name) = files.state else { return Ok(StateText::Missing) };
    let path = if files.of_project { project.root.join(name) } else { found.path.join(name) };
    let (state, bytes) = plans::left(project, &path, system, aside)?;
    let (StateText::Text(text), true) = (&state, files.of_project) else { return Ok(state) };
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let place = found.path.strip_prefix(&root).unwrap_or(&found.path);
    let of = system.state_of(text, place.as_str());
    if let StateOf::Run(run) = &of
        && let Ok(run) = RunId::new(run)
        && journal.facts(&run)?.is_some()
    {
        // Our own, of this plan or another: the journal knows it all.
        return Ok(StateText::Missing);
    }
    if let StateOf::Another(other) = &of {
        ui::say(format!(
            "{} is about {}, another list: it is kept as .bak, and only this list is used",
            paths::shown(&path),
            ui::plain(other)
        ));
    }
    // Otherwise it is in the journal next, and is replaced then.
    aside.keep(&path, "bak", &bytes)?;
    Ok(if matches!(of, StateOf::Another(_)) { StateText::Missing } else { state })
}

/// Everything to import: judged, but not yet recorded.
pub(crate) struct TakeOver {
    taken: Takeover,
    worktree_dir: Utf8PathBuf,
}

impl TakeOver {
    pub(crate) fn new(
        args: &RunArgs,
        found: &mut FoundPlan,
        project: &Project,
        journal: &Journal,
        (left, aside): (LeftFiles<'_>, Aside),
    ) -> Outcome<Option<TakeOver>> {
        let Some(left) = found.read.left(left) else { return Ok(None) };
        let repo = repo_of(project)?;
        let mut settings = found.plan.settings.clone();
        left.keep_settings(&mut settings);
        let told = left.worktree_dir().map(Utf8PathBuf::from).filter(|dir| dir.is_dir());
        let worktree_dir = args.worktree_dir.clone().or(told);
        let worktree_dir = worktree_dir.unwrap_or_else(|| project.worktree_dir());
        if !settings.no_commits {
            repo.check_worktree_dir(&worktree_dir)?;
        }
        let target = create::target(args, repo)?;
        let tip = repo.branch_tip(&target)?;
        let tip = tip.ok_or_else(|| Failure::new(format!("there is no branch `{target}`")))?;
        let others = takeover::other_runs(project, journal, &found.path)?;
        let site = Site { project, target: Some((repo, &tip)), worktree_dir: worktree_dir.clone(), others };
        let taken = judged(found, &site, &*left, aside)?;
        drop(left);
        found.plan.settings = settings;
        Ok(Some(TakeOver { taken, worktree_dir }))
    }

    /// Make the run, with everything that was done before, in one step.
    pub(crate) fn begin(
        &self,
        args: &RunArgs,
        found: &FoundPlan,
        project: &Project,
        journal: &mut Journal,
    ) -> Outcome<RunId> {
        let id = new_run_id(&found.plan.name);
        takeover::adopt_worktrees(project, repo_of(project)?, &id, &self.taken.beliefs)?;
        crash::point("import.adopted");
        let args = RunArgs { worktree_dir: Some(self.worktree_dir.clone()), ..args.clone() };
        let creation = create::creation(&args, found, project, &id)?;
        let commands: Vec<Command> = [creation].into_iter().chain(self.taken.commands.clone()).collect();
        create::begin(journal, project, &id, &commands)?;
        // It is in the journal now, and is replaced next.
        back_up(found)?;
        Ok(id)
    }

    /// Print what is believed, what is not, and why.
    pub(crate) fn print(&self) {
        print_lines(&self.taken.lines);
    }

    pub(crate) fn print_json(&self) {
        ui::answer_json(&self.taken.document());
    }
}

fn print_lines(lines: &[Line]) {
    for line in lines {
        match line {
            Line::Title(text) => ui::answer_line(ui::styled(ui::BOLD, ui::plain(text))),
            Line::Answer(text) => ui::answer_line(ui::plain(text)),
            Line::Say(text) => ui::say(ui::plain(text)),
        }
    }
}

/// A run that would leave out open tasks does not begin: no agent could work on them, and it would be called complete.
fn refuse(found: &FoundPlan, refused: &Refused) -> Failure {
    print_lines(&refused.lines);
    let file = found.system().files().state.unwrap_or("the state file");
    let open: Vec<&str> = refused.open.iter().map(TaskId::as_str).collect();
    let first = open.first().copied().unwrap_or_default();
    let plan = typed(&found.path);
    let failure = Failure::new(format!(
        "{file} has {} that the plan lacks, and a run without {} would not be complete: {}",
        counted(open.len() as u64, "open task"),
        if open.len() == 1 { "it" } else { "them" },
        open.join(", ")
    ));
    failure
        .hint(format!("piton add {first} --title TEXT --plan {plan}   adds it to the plan"))
        .hint(format!("or remove it from {file}, if it is no longer needed"))
        .hint(format!("piton run {plan} --reset   begins a new run from the plan alone"))
}

fn repo_of(project: &Project) -> Outcome<&Repo> {
    let repo = project.repo()?;
    repo.ok_or_else(|| {
        Failure::new(format!("{} is not in a git repository: nothing can be judged", project.root))
    })
}
