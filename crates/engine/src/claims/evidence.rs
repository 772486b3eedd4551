//! What can be seen of work that is called done: commits since the task began, files that differ, work that is not
//! committed. The rules of the core decide what it is worth.

use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::message;
use piton_core::plan::{Digest, Oid, RepoPath, TaskSpec};
use piton_core::run::{CommitMade, Evidence, Mark, Report, Run, Task};
use piton_core::time::Timestamp;

use super::place::Place;
use crate::checks::is_work;
use crate::git::{GitError, LandingLease, Moved, Repo, Rescue, Worktree};
use crate::project::Project;
use crate::{clock, crash};

/// A claim as it was found, before its checks run.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Where its checks run.
    pub place: Place,
    pub evidence: Evidence,
    /// The report, without files that do not exist.
    pub report: Report,
    /// Those files.
    pub missing: Vec<String>,
    lands: Option<Landing>,
}

/// Work in a worktree of Piton's own, as the commit that the branch gets.
#[derive(Clone, Debug)]
struct Landing {
    branch: String,
    old: Oid,
    commit: Oid,
    tree: Oid,
    worktree: Utf8PathBuf,
}

/// The state of the project when a task begins.
pub fn mark(project: &Project, run: &Run, spec: &TaskSpec) -> Result<Mark, GitError> {
    let at = clock::now();
    if let Some(repo) = commits_in(project, run)? {
        let tip = match ground(project, run, repo)? {
            Some(ground) => Some(ground.tip),
            None => None,
        };
        return Ok(Mark { tip, at, files: BTreeMap::new() });
    }
    let digest = |file: &RepoPath| (file.to_string(), digest(&project.root, file).unwrap_or_default());
    Ok(Mark { tip: None, at, files: spec.files.iter().map(digest).collect() })
}

/// Work in a person's checkout that is not committed although commits count.
pub fn uncommitted(project: &Project, run: &Run) -> Result<BTreeSet<String>, GitError> {
    let Some(repo) = commits_in(project, run)? else { return Ok(BTreeSet::new()) };
    let Some(ground) = ground(project, run, repo)? else { return Ok(BTreeSet::new()) };
    Ok(uncommitted_on(&ground, project, run, repo)?.collect())
}

fn uncommitted_on(
    ground: &Ground,
    project: &Project,
    run: &Run,
    repo: &Repo,
) -> Result<impl Iterator<Item = String>, GitError> {
    let files = match &ground.checkout {
        Some(checkout) => repo.diff_names(&ground.tip, &repo.worktree_tree(checkout)?)?,
        None => Vec::new(),
    };
    Ok(files.into_iter().filter(|file| is_work(project, run, file)))
}

/// What can be seen of a task that is called done. `report` is what came with the claim.
pub fn look(
    project: &Project,
    run: &Run,
    task: &Task,
    spec: &TaskSpec,
    report: &Report,
) -> Result<Looked, GitError> {
    let declared = declared(report);
    let Some((repo, ground)) = (match commits_in(project, run)? {
        Some(repo) => ground(project, run, repo)?.map(|ground| (repo, ground)),
        None => None,
    }) else {
        let place = Place::Folder(project.root.clone());
        let files = changed_files(project, task, spec, &declared);
        let evidence = Evidence { files, no_change: no_change(report), ..Evidence::default() };
        let is_there = |file: &RepoPath| project.root.join(file.as_str()).exists();
        let (report, missing) = without_missing(report, |file| Ok(is_there(file)))?;
        return Ok(Looked { place, evidence, report, missing, lands: None });
    };
    let mut tip = ground.tip.clone();
    let mut uncommitted: Vec<String> = uncommitted_on(&ground, project, run, repo)?.collect();
    uncommitted.sort();
    let lands = match &ground.own {
        Some(path) => landing(project, run, (repo, path), &tip, task, spec)?,
        None => None,
    };
    if let Some(landing) = &lands {
        tip = landing.commit.clone();
    }
    let base = task.progress.mark.as_ref().and_then(|mark| mark.tip.as_ref()).or(run.base.as_ref());
    let is_there = |file: &RepoPath| -> Result<bool, GitError> {
        let on_disk = ground.checkout.as_ref().is_some_and(|path| path.join(file.as_str()).exists());
        // One that was removed is work as well.
        let before = || base.map_or(Ok(false), |base| repo.has(base, file.as_str()));
        Ok(on_disk || repo.has(&tip, file.as_str())? || before()?)
    };
    let (report, missing) = without_missing(report, is_there)?;
    let named = named(repo, &report.commits, &tip);
    let mut commits = match base.filter(|_| named.is_empty()) {
        Some(base) => repo.made_since(base, &tip)?,
        None => Vec::new(),
    };
    commits.retain(|(_, files)| files.iter().any(|file| is_work(project, run, file)));
    let touches = |files: &[String]| files.iter().any(|file| declared.contains(file.as_str()));
    if commits.iter().any(|(_, files)| touches(files)) {
        commits.retain(|(_, files)| touches(files));
    }
    let owed: Vec<String> =
        uncommitted.iter().filter(|file| declared.contains(file.as_str())).cloned().collect();
    let evidence = Evidence {
        commits: commits.into_iter().map(|(commit, _)| commit).collect(),
        named,
        files: Vec::new(),
        owed: !owed.is_empty(),
        uncommitted: if owed.is_empty() { uncommitted } else { owed },
        no_change: no_change(&report),
        ..Evidence::default()
    };
    // What is not committed does not count.
    Ok(Looked { place: Place::Commit { commit: tip }, evidence, report, missing, lands })
}

impl Looked {
    /// Put the work that was done in a worktree of Piton's own on its branch. `judged` is the tree that its checks passed
    /// on. Repeated, it finds that done.
    pub fn land(&self, project: &Project, run: &Run, judged: Option<&Oid>) -> Result<(), String> {
        let (Some(landing), Some(repo)) = (&self.lands, project.repo().map_err(|error| error.to_string())?)
        else {
            return Ok(());
        };
        let same = |tree: &Oid| {
            repo.diff_names(tree, &landing.tree)
                .is_ok_and(|files| !files.iter().any(|file| is_work(project, run, file)))
        };
        if judged.is_some_and(|tree| !same(tree)) {
            return Err("its files changed while its checks ran".to_owned());
        }
        let moved = LandingLease::take(repo, &landing.branch)
            .and_then(|lease| repo.move_target(&lease, &landing.old, &landing.commit, None));
        match moved {
            Ok(Moved::Done) => {}
            Ok(_) => return Err(format!("`{}` has changed meanwhile", landing.branch)),
            Err(error) => return Err(error.to_string()),
        }
        crash::point("claims.landed");
        if let Ok(Some(worktree)) = Worktree::open(repo, &landing.worktree) {
            // What is not part of it, such as a list with ticked boxes, is kept.
            let rescue =
                Rescue::at(&format!("{}/claims", run.id), "Left in the worktree beside claimed work");
            let clean = worktree.rescue(&rescue).is_ok();
            let _ = clean.then(|| worktree.checkout_detached(&landing.commit));
        }
        Ok(())
    }
}

/// Where the work of a run is committed by hand.
struct Ground {
    tip: Oid,
    /// A person's checkout of it.
    checkout: Option<Utf8PathBuf>,
    /// Piton's own worktree for all tasks, if no task is in progress in it.
    own: Option<Utf8PathBuf>,
}

/// The repository, where commits count.
fn commits_in<'p>(project: &'p Project, run: &Run) -> Result<Option<&'p Repo>, GitError> {
    if run.settings.no_commits { Ok(None) } else { project.repo() }
}

/// The tasks of an issue land on a branch of their own: that branch counts, wherever it is checked out. For other plans
/// the project's checkout does.
fn ground(project: &Project, run: &Run, repo: &Repo) -> Result<Option<Ground>, GitError> {
    let (shared, dir) = (run.settings.worktree.shared.as_deref(), run.worktree_dir.as_deref());
    let branch = match (shared, dir, run.target.as_deref()) {
        (Some(shared), Some(dir), Some(branch)) => {
            repo.branch_tip(branch)?.map(|tip| (shared, Utf8Path::new(dir), branch, tip))
        }
        _ => None,
    };
    let Some((shared, dir, branch, tip)) = branch else {
        let ground = |tip| Ground { tip, checkout: Some(project.root.clone()), own: None };
        return Ok(repo.head_of(&project.root)?.map(ground));
    };
    // While the engine is at work there, it is not to be looked at.
    let own = project.worktree_path_if_owned(&run.id, dir, shared).filter(|path| path.is_dir());
    let is_own = |path: &Utf8PathBuf| Some(path) == own.as_ref();
    let checkout = repo.checked_out_at(branch)?.filter(|path| path.is_dir() && !is_own(path));
    let own = own.filter(|_| run.slots == 0 && checkout.is_none());
    Ok(Some(Ground { tip, checkout, own }))
}

/// What is in Piton's own worktree beyond the branch, as a commit on it in the form that the engine's have.
fn landing(
    project: &Project,
    run: &Run,
    (repo, path): (&Repo, &Utf8Path),
    tip: &Oid,
    task: &Task,
    spec: &TaskSpec,
) -> Result<Option<Landing>, GitError> {
    let Some(branch) = run.target.clone() else { return Ok(None) };
    let Some(head) = Worktree::open(repo, path)?.map(|worktree| worktree.head()).transpose()?.flatten()
    else {
        return Ok(None);
    };
    if !repo.is_ancestor(tip, &head)? {
        // It began at another commit: landing it would remove what it lacks of the branch.
        return Ok(None);
    }
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let plan = Utf8Path::new(&run.plan).strip_prefix(root).ok().map(Utf8Path::as_str);
    let owned: Vec<RepoPath> =
        plan.into_iter().chain(["piton.toml"]).filter_map(|path| RepoPath::new(path).ok()).collect();
    let tree = repo.settle(repo.worktree_tree(path)?, tip, &owned)?;
    if !repo.diff_names(tip, &tree)?.iter().any(|file| is_work(project, run, file)) {
        return Ok(None);
    }
    let (prefix, author) = (run.settings.commit_prefix.as_deref(), run.settings.author.as_deref());
    let message = message::work(spec, &run.id, prefix, task.spent + 1, task.budget, None);
    let commit = repo.commit_work(&tree, &[tip], &message, author)?;
    Ok(Some(Landing { branch, old: tip.clone(), commit, tree, worktree: path.to_owned() }))
}

/// The commits among those named that the branch has.
fn named(repo: &Repo, commits: &[CommitMade], tip: &Oid) -> Vec<Oid> {
    let found = commits.iter().filter_map(|made| repo.resolve(&made.hash).ok());
    found.filter(|commit| repo.is_ancestor(commit, tip).unwrap_or(false)).collect()
}

/// Why nothing had to change, where a claim says so.
fn no_change(report: &Report) -> Option<String> {
    Some(report.already.clone()).filter(|reason| !reason.is_empty())
}

/// The files that a claim names.
fn declared(report: &Report) -> BTreeSet<&str> {
    report.files.iter().chain(&report.created).map(String::as_str).collect()
}

/// Without commits: files that differ from what they were when the task began. For files that only the claim names, no
/// digest was recorded then: the time they were written decides.
fn changed_files(project: &Project, task: &Task, spec: &TaskSpec, declared: &BTreeSet<&str>) -> Vec<String> {
    let Some(mark) = &task.progress.mark else { return Vec::new() };
    let planned = spec.files.iter().map(RepoPath::as_str);
    let all: BTreeSet<&str> = declared.iter().copied().chain(planned).collect();
    let differs = |file: &&str| {
        let Ok(path) = RepoPath::new(file) else { return false };
        match mark.files.get(*file) {
            Some(before) => digest(&project.root, &path).unwrap_or_default() != *before,
            None => written(&project.root.join(path.as_str())).is_some_and(|at| at >= mark.at),
        }
    };
    all.into_iter().filter(differs).map(str::to_owned).collect()
}

fn written(path: &Utf8Path) -> Option<Timestamp> {
    let at = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}

fn digest(root: &Utf8Path, file: &RepoPath) -> Option<String> {
    let bytes = std::fs::read(root.join(file.as_str())).ok()?;
    Some(Digest::of_bytes(&bytes).as_str().to_owned())
}

/// The report without files that do not exist, and those files. A name that is not a path of the project cannot be
/// looked for.
fn without_missing(
    report: &Report,
    is_there: impl Fn(&RepoPath) -> Result<bool, GitError>,
) -> Result<(Report, Vec<String>), GitError> {
    let mut missing = Vec::new();
    for file in declared(report) {
        if let Ok(path) = RepoPath::new(file)
            && !is_there(&path)?
        {
            missing.push(file.to_owned());
        }
    }
    let mut report = report.clone();
    for list in [&mut report.files, &mut report.created] {
        list.retain(|file| !missing.contains(file));
    }
    Ok((report, missing))
}
