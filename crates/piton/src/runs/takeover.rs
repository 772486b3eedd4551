//! Taking over what another system left: its files are found and read, the engine looks, the system judges, and what
//! comes of it is shown and given to the run.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::Command;
use piton_core::system::execute::{state as file, takeover as execute};
use piton_core::system::iterative::takeover::Lessons;
use piton_core::system::iterative::{self, guardrails};
use piton_core::system::kit::takeover::{Legacy, Line, Refused, Takeover};
use piton_core::system::{Understood, issue, rwkit};
use piton_core::view::counted;
use piton_engine::crash;
use piton_engine::git::Repo;
use piton_engine::journal::Journal;
use piton_engine::project::{Project, new_run_id};
use piton_engine::takeover::{self, Site};

use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::{self, Aside, FoundPlan, Left};
use crate::runs::create;
use crate::runs::flags::RunArgs;
use crate::runs::state_files::back_up;
use crate::ui;

/// Where what is taken over goes on: the tip of the branch that work lands on, and its name where it may have to be made.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) project: &'a Project,
    pub(crate) tip: Option<&'a Oid>,
    pub(crate) onto: Option<&'a str>,
}

/// What was done before a run, by what others wrote into the plan's files, as far as it is borne out.
pub(crate) fn past(
    found: &mut FoundPlan,
    place: Place<'_>,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Vec<Command>> {
    let Some((file, left)) = left(found, place, journal, aside)? else { return Ok(Vec::new()) };
    let mut settings = found.plan.settings.clone();
    left.keep_settings(&mut settings);
    let Place { project, tip, .. } = place;
    let target = project.repo()?.zip(tip);
    let site = Site { project, target, worktree_dir: project.worktree_dir(), others: Vec::new() };
    let taken = judged(found, &site, &*left, file, aside)?;
    tell(&taken.lines);
    drop(left);
    found.plan.settings = settings;
    Ok(taken.commands)
}

/// Have everything judged that another system left.
fn judged(
    found: &FoundPlan,
    site: &Site<'_>,
    left: &dyn Legacy,
    file: &str,
    aside: Aside,
) -> Outcome<Takeover> {
    let specs = &found.plan.tasks;
    let evidence = takeover::gather(site, specs, &left.questions(specs), aside == Aside::Put)?;
    left.take_over(specs, &evidence).map_err(|refused| refuse(found, file, &refused))
}

/// What another system left about a plan that says how far it is, with the name of its state file.
fn left<'f>(
    found: &'f FoundPlan,
    place: Place<'f>,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Option<(&'static str, Box<dyn Legacy + 'f>)>> {
    let project = place.project;
    if let Some(reading) = &found.issue {
        let path = found.path.join(issue::state::FILE);
        let state = state(project, &path, issue::state::read, "the list alone counts", aside)?;
        let (before, state) = (&reading.before, state.state().unwrap_or_default());
        let left = issue::takeover::Left { list: reading.list, before, state, onto: place.onto };
        return Ok(Some((issue::state::FILE, Box::new(left))));
    }
    if let Some(reading) = &found.list {
        let state = state_of_list(&reading.file, project, journal, aside)?.unwrap_or_default();
        let left = rwkit::takeover::Left { before: &reading.before, state };
        return Ok(Some((rwkit::state::FILE, Box::new(left))));
    }
    if let Some(reading) = &found.iterative {
        let path = found.path.join(iterative::state::FILE);
        let state = state(project, &path, iterative::state::read, "the log and git count", aside)?;
        let left = iterative::takeover::Left {
            about: &reading.about,
            state: state.state().unwrap_or_default(),
            log: takeover::text_of(&found.path.join(iterative::progress::FILE)),
            lessons: lessons(&found.path),
        };
        return Ok(Some((iterative::state::FILE, Box::new(left))));
    }
    Ok(None)
}

/// What was learned here, and in work that was put into the archive beside this.
pub(crate) fn lessons(plan: &Utf8Path) -> Lessons {
    let archive = plan.parent().map(|around| around.join(iterative::takeover::ARCHIVE));
    let archived = archive.map(|archive| takeover::archived(&archive, guardrails::FILE)).unwrap_or_default();
    Lessons { known: takeover::text_of(&plan.join(guardrails::FILE)), archived }
}

/// The state file of a plan, as far as it can be read. `otherwise` is what counts where it cannot.
fn state<T>(
    project: &Project,
    path: &Utf8Path,
    read: fn(&str) -> Understood<T>,
    otherwise: &str,
    aside: Aside,
) -> Outcome<Left<T>> {
    let read = |text: &str| {
        let read = read(text);
        (read.state, read.problems)
    };
    plans::left(project, path, read, otherwise, aside)
}

/// What the state file of an execute plan says, if there is one.
pub(crate) fn look(plan: &Utf8Path, project: &Project, aside: Aside) -> Outcome<Option<execute::Left>> {
    let path = plan.join(file::FILE);
    Ok(match state(project, &path, file::read, "git is asked", aside)? {
        Left::Nothing => None,
        Left::Broken => Some(execute::Left::default()),
        Left::Read { state, .. } => Some(execute::Left { state }),
    })
}

/// A state file that somebody else left in the project about this list.
fn state_of_list(
    list: &str,
    project: &Project,
    journal: &Journal,
    aside: Aside,
) -> Outcome<Option<rwkit::state::ForeignState>> {
    let path = project.root.join(rwkit::state::FILE);
    let found = state(project, &path, rwkit::state::read, "the list alone counts", aside)?;
    let Left::Read { state, bytes } = found else { return Ok(None) };
    let known = state.piton_run.as_deref().and_then(|run| RunId::new(run).ok());
    if let Some(run) = known
        && journal.facts(&run)?.is_some()
    {
        // Our own, of this list or another: the journal knows it all.
        return Ok(None);
    }
    let other = rwkit::takeover::about_another(list, &state);
    if let Some(other) = other {
        ui::say(format!(
            "{} is about {}, another list: it is kept as .bak, and this list alone counts",
            paths::shown(&path),
            ui::plain(other)
        ));
    }
    // Otherwise it is in the journal next, and is replaced then.
    aside.keep(&path, "bak", &bytes)?;
    Ok(if other.is_some() { None } else { Some(state) })
}

/// Everything that is taken over, judged but not yet believed.
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
        (left, aside): (&execute::Left, Aside),
    ) -> Outcome<TakeOver> {
        let repo = repo_of(project)?;
        let settings = &mut found.plan.settings;
        left.keep_settings(settings);
        let told = left.state.worktree_dir.as_ref().map(Utf8PathBuf::from).filter(|dir| dir.is_dir());
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
        let taken = judged(found, &site, left, file::FILE, aside)?;
        Ok(TakeOver { taken, worktree_dir })
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
        back_up(found, false)?;
        Ok(id)
    }

    /// What is believed, what is not, and why.
    pub(crate) fn tell(&self, as_json: bool) {
        if as_json {
            return ui::answer_json(&self.taken.document());
        }
        tell(&self.taken.lines);
    }
}

/// Show what a take-over says.
fn tell(lines: &[Line]) {
    for line in lines {
        match line {
            Line::Title(text) => ui::answer_line(ui::styled(ui::BOLD, ui::plain(text))),
            Line::Answer(text) => ui::answer_line(ui::plain(text)),
            Line::Say(text) => ui::say(ui::plain(text)),
        }
    }
}

/// A run that would leave out open tasks does not begin: nobody could work on them, and it would be called complete.
fn refuse(found: &FoundPlan, file: &str, refused: &Refused) -> Failure {
    tell(&refused.lines);
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
        .hint(format!("or take it out of {file}, if nobody wants it any more"))
        .hint(format!("piton run {plan} --reset   begins a new run from the plan alone"))
}

fn repo_of(project: &Project) -> Outcome<&Repo> {
    let repo = project.repo()?;
    repo.ok_or_else(|| {
        Failure::new(format!("{} is not in a git repository: nothing can be judged", project.root))
    })
}
