//! Checks that a person or a client asks for: with a command that verifies, or by reporting a task as done.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use camino::Utf8Path;
use piton_core::plan::{Agent, Check, Fences, Oid, RunId, TaskId, TaskSpec, WorktreeSetup};
use piton_core::prompt::Prompts;
use piton_core::run::{CheckResult, Run, Verdict};

use super::{AgentJob, Bench, NoResult, is_work, on_commit};
use crate::check_worktrees::{NoWorktree, Places, Pool, WorkFolder};
use crate::git::{GitError, Repo};
use crate::journal::{CommandError, JournalError};
use crate::keeper::{Job, KeeperError};
use crate::project::Project;
use crate::prompts::NoPrompts;
use crate::sandbox::{self, Guard};
use crate::{clock, prompts, secrets};

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Prompts(#[from] NoPrompts),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error(transparent)]
    Worktree(#[from] NoWorktree),
    #[error("the check was stopped")]
    Stopped,
}

impl From<NoResult> for NoReport {
    fn from(no: NoResult) -> NoReport {
        match no {
            NoResult::Keeper(error) => NoReport::Keeper(error),
            NoResult::Stopped | NoResult::Out { .. } | NoResult::First(_) | NoResult::Cut(_) => {
                NoReport::Stopped
            }
        }
    }
}

/// Run a task's checks on what is in a checkout, because a person or a client asks: earlier results do not count.
/// `tell` is called before each check. Ignored files of the checkout do not take part: the checks run in a worktree of
/// Piton's own. Only if work is done in place, or there is no git, they run in the checkout itself.
pub fn run_all(
    project: &Project,
    run: &RunId,
    spec: &TaskSpec,
    place: &Utf8Path,
    name: &str,
    keeper: &[String],
    tell: &dyn Fn(&Check),
) -> Result<(Option<Oid>, Vec<CheckResult>), NoReport> {
    if spec.checks.is_empty() {
        return Ok((None, Vec::new()));
    }
    let facts = facts(project, run)?;
    let in_place = facts.as_ref().is_some_and(|run| run.settings.no_commits);
    let outputs = facts.as_ref().map(|run| project.outputs(run)).unwrap_or_default();
    let asked = Asked { project, run, spec, facts: facts.as_ref(), name, keeper };
    if let Some(repo) = project.repo()?.filter(|_| !in_place) {
        let tree = repo.worktree_tree_with(place, &outputs)?;
        let commit = repo.commit_of(place, &tree)?;
        let work_folder = WorkFolder { path: place.to_owned(), commit: commit.clone(), is_agents: false };
        let results = asked.judge_commit(repo, &commit, &tree, Some(work_folder), tell)?;
        return Ok((Some(tree), results));
    }
    let repo = project.repo_or_store()?;
    let tree_now = || repo.map(|repo| repo.worktree_tree_with(place, &outputs)).transpose();
    let tree = tree_now()?;
    let results = asked.judge(place, |bench, check, begin| {
        tell(check);
        let mut result = heard(bench.run(check, begin))?;
        let now = tree_now()?;
        if let (Some(repo), Some(before), Some(after)) = (repo, &tree, &now)
            && before != after
            && touches_work(project, asked.facts, &repo.diff_names(before, after)?)
        {
            result.verdict = Verdict::Broken { reason: "files changed while it ran".to_owned() };
        }
        Ok(Some(result))
    })?;
    Ok((tree, results))
}

/// The same on a commit.
pub fn run_all_on(
    project: &Project,
    run: &RunId,
    spec: &TaskSpec,
    commit: &Oid,
    name: &str,
    keeper: &[String],
    tell: &dyn Fn(&Check),
) -> Result<(Option<Oid>, Vec<CheckResult>), NoReport> {
    let Some(repo) = project.repo()?.filter(|_| !spec.checks.is_empty()) else {
        return Ok((None, Vec::new()));
    };
    let facts = facts(project, run)?;
    let asked = Asked { project, run, spec, facts: facts.as_ref(), name, keeper };
    let tree = repo.tree_of(commit)?;
    let results = asked.judge_commit(repo, commit, &tree, None, tell)?;
    Ok((Some(tree), results))
}

/// A request to run a task's checks.
struct Asked<'a> {
    project: &'a Project,
    run: &'a RunId,
    spec: &'a TaskSpec,
    facts: Option<&'a Run>,
    name: &'a str,
    keeper: &'a [String],
}

impl Asked<'_> {
    fn judge_commit(
        &self,
        repo: &Repo,
        commit: &Oid,
        tree: &Oid,
        work_folder: Option<WorkFolder>,
        tell: &dyn Fn(&Check),
    ) -> Result<Vec<CheckResult>, NoReport> {
        let usual = self.project.worktree_dir();
        let dir =
            self.facts.and_then(|run| run.worktree_dir.as_deref()).map_or(usual.as_path(), Utf8Path::new);
        let none = WorktreeSetup::default();
        let setup = self.facts.map_or(&none, |run| &run.settings.worktree);
        let pool = Pool { project: self.project, repo, run: self.run, dir };
        let mut places = Places::new(pool, commit, tree, setup).with_work_folder(work_folder);
        self.judge(dir, |bench, check, begin| {
            if places.is_spoilt {
                return Ok(None);
            }
            tell(check);
            let run = |bench: &mut Bench<'_>, note: &dyn Fn(&Job) -> bool| {
                heard(bench.run(check, &|job, agent| begin(job, agent) && note(job)))
            };
            on_commit(bench, &mut places, check, &|_| true, run).map(Some)
        })
    }

    /// Run the checks one after the other with `one`, until it returns `None`, and record what reviewers have used.
    fn judge(
        &self,
        place: &Utf8Path,
        mut one: impl FnMut(&mut Bench<'_>, &Check, &Begin<'_>) -> Result<Option<CheckResult>, NoReport>,
    ) -> Result<Vec<CheckResult>, NoReport> {
        let Asked { project, run, spec, .. } = self;
        let (agents, fences) = reviewers(self.facts, spec);
        let prompts = if agents.is_empty() { Prompts::default() } else { prompts::of(project)? };
        let jobs = project.task_folder(run, &spec.id);
        let mut bench = Bench {
            jobs: &jobs,
            home: &project.home,
            name: format!("{}{}.check", self.name, clock::now().0),
            cwd: place.to_owned(),
            env: BTreeMap::new(),
            reviewers_env: BTreeMap::new(),
            keeper: self.keeper,
            agents: Cow::Borrowed(&agents),
            entries: BTreeMap::new(),
            guard: Guard::new(&fences, sandbox::wished(), project),
            prompts: &prompts,
        };
        let begun = RefCell::new(Vec::new());
        let begin = |job: &Job, agent: Option<&str>| {
            let agent = agent.map(|agent| AgentJob { agent: agent.to_owned(), job: job.clone() });
            begun.borrow_mut().extend(agent);
            true
        };
        let mut results = Vec::new();
        for check in &spec.checks {
            let ran = one(&mut bench, check, &begin);
            book(project, run, &spec.id, &agents, &begun.take())?;
            match ran? {
                Some(result) => results.push(result),
                None => break,
            }
        }
        Ok(results)
    }
}

/// Asked before a job begins, with the agent that is to review; may refuse it.
type Begin<'a> = dyn Fn(&Job, Option<&str>) -> bool + 'a;

/// A reviewer that was cut off has found nothing.
fn heard(ran: Result<CheckResult, NoResult>) -> Result<CheckResult, NoReport> {
    match ran {
        Err(NoResult::Cut(cut)) => Ok(cut.result),
        ran => Ok(ran?),
    }
}

/// Record what the reviews have cost on the task, whatever they found.
fn book(
    project: &Project,
    run: &RunId,
    task: &TaskId,
    agents: &BTreeMap<String, Agent>,
    begun: &[AgentJob],
) -> Result<(), JournalError> {
    if begun.is_empty() || !project.may_have_journal() {
        return Ok(());
    }
    let mut journal = project.journal()?;
    let fence = journal.task(run, task)?.map(|task| task.fence).unwrap_or_default();
    for spent in begun.iter().filter_map(|at| at.spent(agents, task, fence, "")) {
        match journal.command(run, &spent, clock::now()) {
            // The task was removed: there is nothing to record the cost on.
            Ok(_) | Err(CommandError::Refused(_)) => {}
            Err(CommandError::Journal(error)) => return Err(error),
        }
    }
    Ok(())
}

fn touches_work(project: &Project, facts: Option<&Run>, files: &[String]) -> bool {
    files.iter().any(|file| facts.is_none_or(|facts| is_work(project, facts, file)))
}

fn facts(project: &Project, run: &RunId) -> Result<Option<Run>, JournalError> {
    let journal = project.existing_journal()?;
    Ok(journal.map(|journal| journal.facts(run)).transpose()?.flatten())
}

/// The agents of the run, if one of them is to review, and what holds them back.
fn reviewers(facts: Option<&Run>, spec: &TaskSpec) -> (BTreeMap<String, Agent>, Fences) {
    if !spec.checks.iter().any(|check| check.reviewer().is_some()) {
        return Default::default();
    }
    let settings = facts.map(|facts| facts.settings.clone()).unwrap_or_default();
    let mut agents = settings.agents;
    secrets::restore(&mut agents);
    (agents, settings.fences)
}
