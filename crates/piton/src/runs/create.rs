//! The command that makes a run.

use camino::Utf8PathBuf;
use piton_core::plan::{Oid, Per, RunId, Whole};
use piton_core::run::{Command, NewRun, State};
use piton_engine::drive::EngineError;
use piton_engine::git::Repo;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, disk, lead};

use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::FoundPlan;
use crate::runs::flags::RunArgs;
use crate::runs::{find, location};

/// The command that makes a run for an engine.
pub(crate) fn creation(
    args: &RunArgs,
    found: &FoundPlan,
    project: &Project,
    run: &RunId,
) -> Outcome<Command> {
    let (target, base) = match project.repo()? {
        Some(repo) => {
            let target = target(args, repo)?;
            let base = repo.branch_tip(&target)?;
            (Some(target), base)
        }
        None if found.plan.settings.no_commits => (None, None),
        None => return Err(without_git(args, project)),
    };
    let worktrees = if found.plan.settings.no_commits { None } else { Some(worktree_dir(args, project)) };
    let mut plan = found.plan.clone();
    let mut target = target;
    if let (Some(requests), Some(into)) = (&mut plan.settings.requests, &target)
        && requests.per != Per::Task
    {
        requests.whole = Some(Whole::new(into.clone(), &found.plan, requests.per));
        target = Some(own_branch(project, run, base.as_ref())?);
    }
    if found.policy().shared_worktree {
        plan.settings.worktree.shared = Some(shared_worktree(project, found));
    }
    Ok(Command::Create(Box::new(NewRun {
        run: run.clone(),
        plan,
        plan_path: found.path.to_string(),
        target,
        base,
        worktree_dir: worktrees.map(Utf8PathBuf::into_string),
    })))
}

/// The branch of a run that lands as a whole. It begins where its target is.
fn own_branch(project: &Project, run: &RunId, tip: Option<&Oid>) -> Outcome<String> {
    let branch = format!("piton/{run}");
    if let (Some(repo), Some(tip)) = (project.repo()?, tip)
        && repo.branch_tip(&branch)?.is_none()
    {
        repo.set_branch(&branch, tip, None)?;
    }
    Ok(branch)
}

/// Make a run and all it begins with, in one transaction.
pub(crate) fn begin(journal: &mut Journal, project: &Project, run: &RunId, commands: &[Command]) -> Outcome {
    disk::private_folder(&project.home).map_err(Failure::io(format!("cannot create {}", project.home)))?;
    let plan = commands.iter().find_map(|command| match command {
        Command::Create(new) => Some(new.plan_path.as_str()),
        _ => None,
    });
    location::settle(project, plan.unwrap_or_default())?;
    let done = journal.commit(run, &mut State::new(), commands, clock::now())?;
    if let Some(refusal) = done.outcomes.into_iter().find_map(Result::err) {
        return Err(refusal.into());
    }
    Ok(lead::settle(project, journal, run).map_err(EngineError::from)?)
}

/// The branch work lands on.
pub(crate) fn target(args: &RunArgs, repo: &Repo) -> Outcome<String> {
    let base = match &args.base_branch {
        Some(branch) => branch.clone(),
        // Landing elsewhere, from wherever this checkout is.
        None if args.onto.as_ref().is_some_and(|onto| matches!(repo.branch_tip(onto), Ok(Some(_)))) => {
            return Ok(args.onto.clone().unwrap_or_default());
        }
        None => repo.current_branch()?,
    };
    let Some(tip) = repo.branch_tip(&base)? else {
        return Err(Failure::usage(format!("there is no branch `{base}`")).hint("git branch --list"));
    };
    let Some(onto) = &args.onto else { return Ok(base) };
    if repo.branch_tip(onto)?.is_none() {
        repo.set_branch(onto, &tip, None)?;
    }
    Ok(onto.clone())
}

pub(crate) fn worktree_dir(args: &RunArgs, project: &Project) -> Utf8PathBuf {
    args.worktree_dir.as_ref().map_or_else(|| project.worktree_dir(), |dir| paths::absolute(dir))
}

/// Where all tasks of a plan share one worktree: a folder next to the project, named after both.
pub(crate) fn shared_worktree(project: &Project, found: &FoundPlan) -> String {
    let (name, plan) = (project.root.file_name(), found.path.file_name());
    let name = format!("{}-{}", name.unwrap_or("project"), plan.unwrap_or("issue"));
    project.root.parent().unwrap_or(&project.root).join(name).into_string()
}

/// The error for a project without a repository that work could land in.
pub(crate) fn without_git(args: &RunArgs, project: &Project) -> Failure {
    let plan = args.plan.as_deref().map(typed).unwrap_or_default();
    if project.root.join(".git").exists() {
        let aside = project.home.with_file_name(".piton-before-git");
        let failure = Failure::new(format!("the runs in {} were begun without git", project.root));
        return failure.hint(format!("piton run {plan} --no-commits   resumes without git")).hint(format!(
            "mv {} {}   starts over, with git",
            typed(&project.home),
            typed(&aside)
        ));
    }
    let failure =
        Failure::new(format!("{} is not in a git repository, which Piton needs to land work", project.root));
    // A plan outside of a repository is for the repository around the current folder.
    let around = find::project(None).ok().filter(|around| matches!(around.repo(), Ok(Some(_))));
    if let Some(around) = around.filter(|_| args.project_path.is_none()) {
        let root = typed(&around.root);
        return failure
            .hint(format!(
                "piton run {plan} --project-path {root}   works on the repository around this folder"
            ))
            .hint(format!("piton run {plan} --no-commits   works in the folder of the plan, without git"));
    }
    failure
        .hint("git init && git add -A && git commit -m 'First commit'")
        .hint(format!("piton run {plan} --no-commits   works in the folder itself, without git"))
        .hint(format!("piton next --plan {plan}   begins a run whose tasks you do yourself"))
}
