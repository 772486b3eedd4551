//! From the start of an attempt to its commit: worktree, agent, capture.

use camino::Utf8Path;
use piton_core::plan::{Agent, Oid};
use piton_core::run::{self, AgentEnd, ByModel, Class, Command, CommitMade, Note, SELF_ANSWERED, Work};
use piton_core::terminal::clean_text;
use piton_core::time::Span;
use piton_core::{answer, message};

use super::order::{Order, Trouble};
use super::stack::{self, Ground};
use super::{briefing, budget, copy, fence, iteration};
use crate::agent::PROMPT;
use crate::check_worktrees::{CopyError, copy_file, files_to_copy};
use crate::git::{Added, GitError, Making, RefChange, Repo, Rescue, Rescued, Worktree};
use crate::keeper::{Ended, Job, JobSpec, Outcome};
use crate::{agent, checks, crash, disk, environment, warm};

/// How much of the end of an agent's output is looked at.
const TAIL: usize = 16 * 1024;
/// So many files that a task made or changed are told.
const FILES: usize = 200;

/// Make the worktree ready for a try, whatever is there now. While git writes its files, a keeper for its agent is called.
pub(super) fn prepare(order: &Order) -> Result<Vec<Command>, Trouble> {
    let (called, task) = (&order.site.called, &order.task.id);
    (order.site.reserve)(task).map_err(Trouble::Transient)?;
    let job = order.agent_job(order.task.progress.confirmations);
    // One of an earlier try is let go: nobody is going to tell it anything.
    drop(called.take(task, &job));
    let made = make_place(order, |worktree| {
        let files = [PROMPT, agent::OUTBOX_FILE, fence::BEFORE];
        // Where none can be called, whoever needs it calls again, and says why.
        if let Ok(Some(keeper)) = job.call_ahead(&order.site.keeper, &files) {
            called.put(task, job.clone(), keeper);
            order.guard().make_room(&job);
        }
        if order.guard().encloses() {
            worktree.make_ahead();
        }
    });
    if made.is_err() {
        drop(called.take(task, &job));
    }
    made
}

fn make_place(order: &Order, meanwhile: impl FnOnce(&Worktree)) -> Result<Vec<Command>, Trouble> {
    let mut commands = settle_earlier_jobs(order)?;
    // Read before the tip: what lands in between is then counted as landed since, never forgotten.
    let mut landed = order.run.landed;
    let base = if order.run.settings.no_commits {
        snapshot(order, &mut commands)?
    } else {
        let tip = match stack::ground(order, &order.tip()?)? {
            Ground::At(tip) => tip,
            Ground::Gone => return Ok(vec![stack::unstack(order, None)]),
            Ground::Conflict(reason) => return Ok(vec![stack::unstack(order, Some(reason))]),
        };
        let (worktree, base, fresh) = worktree_on_base(order, tip, &mut landed, &mut commands, meanwhile)?;
        if fresh {
            if order.workplace()? != order.named_place()? {
                // A slot that cannot be filled is cold: that costs time, and nothing else.
                let warm = &order.run.settings.worktree.warm;
                let _ = warm::fill(&order.site.project.root, &worktree, warm, &|| false);
            }
            set_up(order)?;
        }
        worktree.make_ready(&order.owner())?;
        if order.run.settings.policy().early_branch {
            show_branch(order, &base)?;
        }
        base
    };
    crash::point("prepare.done");
    commands.push(Command::Prepared { task: order.task.id.clone(), fence: order.fence(), base, landed });
    Ok(commands)
}

/// The worktree, the commit its work is based on, and whether it has to be set up.
fn worktree_on_base(
    order: &Order,
    tip: Oid,
    landed: &mut u32,
    commands: &mut Vec<Command>,
    meanwhile: impl FnOnce(&Worktree),
) -> Result<(Worktree, Oid, bool), Trouble> {
    let _slot = order.site.slots.take();
    let repo = order.repo()?;
    let progress = &order.task.progress;
    let rescue = rescue(order);
    let mut note = |kept: Option<Rescued>| commands.extend(kept.map(|kept| order.rescued(kept)));
    // What was done counts, also where the worktree has to be made again; but not on a base that was taken back.
    // The request of the run may be based on what its branch does not have yet.
    // So may what stands on open requests.
    let is_apart = order.is_request_of_run() || progress.stacked;
    let stands = |base: &&Oid| is_apart || repo.is_ancestor(base, &tip).unwrap_or(false);
    let base = progress.base.as_ref().filter(stands);
    let start = base.map_or(&tip, |base| progress.commit.as_ref().unwrap_or(base));
    let (dir, name) = (order.worktree_dir()?, order.named_place()?);
    let pool = order.slot_pool(&dir)?;
    let path = pool.take(&order.run.id, &name, start)?;
    let is_slot = path != name;
    let _ = order.place.set(path.clone());
    crash::point("prepare.claimed");
    let mut meanwhile = Some(meanwhile);
    let once = |worktree: &Worktree| meanwhile.take().into_iter().for_each(|deed| deed(worktree));
    let Added { worktree, how } = Worktree::add_rescuing(repo, &path, start, &rescue, once)?;
    pool.show(&name);
    crash::point("prepare.added");
    let whole = how == Making::Existing && worktree.is_for(&order.owner());
    if is_slot && how != Making::Existing {
        worktree.remember_files()?;
    }
    match how {
        Making::PutRight { rescued } => note(rescued),
        Making::Existing if !whole && is_slot => {
            meanwhile.take().into_iter().for_each(|deed| deed(&worktree));
            match worktree.hand_over(start, &rescue, &pool.stays(&path)) {
                Err(error @ GitError::NestedRepositories { .. }) => {
                    // Somebody's repository: it stays, and the task gets another place.
                    pool.abandon(&name)?;
                    return Err(error.into());
                }
                handed => note(handed?),
            }
        }
        Making::Existing if !whole => {
            // Another task's, or another run's: what it held is kept, and this one begins where it stood.
            note(worktree.rescue(&rescue)?);
            worktree.checkout_detached(start)?;
        }
        Making::Existing | Making::Made => {}
    }
    let Some(base) = progress.base.as_ref().filter(|_| whole).or(base) else {
        if whole {
            // Left by an engine that died before it said so: made anew, nothing lost.
            note(worktree.rescue(&rescue)?);
            worktree.checkout_detached(&tip)?;
        }
        return Ok((worktree, tip, true));
    };
    let onto = match &progress.behind {
        // What it stands on may have become something else since.
        Some(_) if progress.stacked => &stack::instead_of_base(order, &tip)?,
        Some(behind) => behind,
        None => base,
    };
    let fresh = !whole || progress.behind.is_some();
    if let Some(commit) = progress.commit.as_ref().filter(|_| fresh) {
        note(worktree.bring_up_to(onto, commit, &rescue)?.rescued);
    }
    if progress.behind.is_none() {
        *landed = progress.landed_at_base;
    }
    Ok((worktree, onto.clone(), fresh))
}

/// In place there is no worktree to throw away, so what is there is kept under a ref before each attempt.
fn snapshot(order: &Order, commands: &mut Vec<Command>) -> Result<Oid, Trouble> {
    let repo = order.repo()?;
    let tree = repo.worktree_tree_with(&order.site.project.root, &order.outputs())?;
    let head = repo.resolve("HEAD")?;
    let subject = format!("Before attempt {} of {}", order.task.attempt, order.task.id);
    let commit = repo.commit_tree(&tree, &[&head], &subject, None)?;
    let rescue = Rescue::at(&format!("{}/{}", order.run.id, order.task.id), &subject);
    let kept = repo.rescue_commit(&rescue, Some(commit.clone()))?;
    commands.extend(kept.map(|kept| order.rescued(kept)));
    // What an earlier try left counts, also where nobody could see that it was done.
    let before = order.task.progress.base.as_ref().filter(|base| repo.tree_of(base).is_ok());
    Ok(before.cloned().unwrap_or(commit))
}

pub(super) fn rescue(order: &Order) -> Rescue {
    let subject = format!("Uncommitted work of {}, attempt {}", order.task.id, order.task.attempt);
    let rescue = Rescue::at(&format!("{}/{}", order.run.id, order.task.id), &subject);
    Rescue { pin: Some(order.pin_name("captured")), ..rescue }
}

/// No job of an earlier try may still be at work where this one begins. What its agent has used is booked, should no
/// engine have seen its end.
fn settle_earlier_jobs(order: &Order) -> Result<Vec<Command>, Trouble> {
    let mut bills = Vec::new();
    let Ok(folder) = order.jobs().read_dir_utf8() else { return Ok(bills) };
    for entry in folder {
        let entry = entry?;
        let fence = entry.file_name().split('.').next().and_then(|fence| fence.parse::<u64>().ok());
        if fence.is_none_or(|fence| fence >= order.fence()) {
            continue;
        }
        let job = Job::at(entry.path());
        job.settle()?;
        if let Some(outcome) = job.outcome()? {
            alone(&job, &outcome)?;
        }
        disk::sweep(entry.path());
        bills.extend(fence.and_then(|fence| budget::forgotten(order, fence, job)));
    }
    Ok(bills)
}

/// Copy what is not in git, and run the project's own set-up command.
fn set_up(order: &Order) -> Result<(), Trouble> {
    let (setup, path) = (&order.run.settings.worktree, order.workplace()?);
    for file in files_to_copy(&order.site.project, order.repo()?, setup)? {
        let copied = copy_file(&order.site.project, order.repo()?, &path, &file);
        copied.map_err(|error| match error {
            CopyError::Git(error) => Trouble::Git(error),
            CopyError::Io(error) => Trouble::Io(error),
        })?;
    }
    let Some(command) = &setup.setup else { return Ok(()) };
    let mut spec = JobSpec::new(command.words(), &path);
    spec.env = agent::environment(&order.run.id, &order.task.id, order.task.attempt);
    spec.env_remove = environment::not_inherited().map(str::to_owned).collect();
    spec.wall_ms = Some(checks::SET_UP.0);
    spec.synced = order.touched()?;
    let job = order.job("setup");
    if !order.running.begin(&job, None) {
        return Err(Trouble::Stopped);
    }
    let outcome = job.run(&spec, &order.site.keeper)?;
    alone(&job, &outcome)?;
    match outcome.ended {
        Ended::Exited { code: 0 } => Ok(()),
        Ended::Stopped => Err(Trouble::Stopped),
        ended => {
            let tail = clean_text(&job.output().tail(2000)?);
            let last = tail.lines().last().unwrap_or_default();
            Err(Trouble::Transient(format!(
                "the set-up command `{command}` did not succeed ({ended:?}): {last}"
            )))
        }
    }
}

/// Work that the disk may have lost is not gone on with.
fn kept(order: &Order, outcome: &Outcome) -> Result<(), Trouble> {
    let Some(reason) = &outcome.not_synced else { return Ok(()) };
    let source = std::io::Error::other(reason.clone());
    Err(GitError::NotKept { path: order.workplace()?, source }.into())
}

/// Nobody may write on while work is captured, judged or begun again: what could not be ended is tried once more, and
/// where it is still there, nothing goes on.
fn alone(job: &Job, outcome: &Outcome) -> Result<(), Trouble> {
    match job.end_survivors(outcome)? {
        0 => Ok(()),
        1 => Err(Trouble::Transient(format!(
            "a process of {} cannot be ended and is still running",
            job.dir()
        ))),
        many => Err(Trouble::Transient(format!(
            "{many} processes of {} cannot be ended and are still running",
            job.dir()
        ))),
    }
}

/// Run the agent, or find that it ran.
pub(super) fn work(order: &Order, pass: u32) -> Result<Vec<Command>, Trouble> {
    let spec = &order.spec;
    let meant = run::worker(&order.run, &order.task);
    let name = Some(order.task.progress.agent.as_str()).filter(|name| !name.is_empty()).unwrap_or(meant);
    let job = order.agent_job(pass);
    let Some(client) = agent::as_begun(&job, order.run.settings.agents.get(name)) else {
        return Err(Trouble::Defect(format!("the agent `{name}` is not defined")));
    };
    let client = &budget::held(&client, order);
    let called = order.site.called.take(&order.task.id, &job);
    if !order.running.begin(&job, Some(name)) {
        return Err(Trouble::Stopped);
    }
    let outcome = job.run_with(called, || equip(order, pass, name, client, &job), &order.site.keeper)?;
    crash::point("work.ended");
    alone(&job, &outcome)?;
    kept(order, &outcome)?;
    let seen = fence::take_down(order, &job, &outcome)?;
    let session = agent::Session::of(&job, client, name, order.task.attempt)?;
    let heard = agent::hear(client, &job, session.as_ref(), &outcome, TAIL)?;
    let tail = &heard.said;
    let told = copy::reports(order, &job);
    let token = job.spec()?.and_then(|spec| spec.env.get(agent::TOKEN).cloned()).unwrap_or_default();
    let left = agent::take(&job.dir().join(agent::OUTBOX_FILE), &token);
    let reported = left.message;
    let iterated = match heard.is_finished() {
        true => iteration::end(order, &outcome.ended, &heard, &told, reported.as_ref()),
        false => None,
    };
    let said = reported.or_else(|| copy::report(&told)).or_else(|| said_in_words(order, tail));
    // What it wrote down comes first: then nothing is written in its place.
    let mut commands = copy::notes(order, &told);
    commands.extend(left.notes.into_iter().map(|note| noted(order, note)));
    let end = match iterated {
        Some((end, odd)) => {
            commands.extend(odd);
            end
        }
        None => agent::end_of(&outcome.ended, &heard, said.as_ref(), spec),
    };
    let end = if order.run.settings.auto_answer { answered(end, tail, said.is_some()) } else { end };
    let over = budget::over(&job).filter(|_| outcome.ended == Ended::Stopped);
    let used = heard.used.clone();
    // A client that holds itself to what is left of a budget ends as if it were its own.
    let over = over.or_else(|| budget::reached(order, used.as_ref()?).filter(|_| heard.is_used_up()));
    let end = over.map_or(end, |bound| budget::end_at(bound, tail));
    // Of a client that never tells, nothing is said. First: what it means that it failed may depend on it.
    commands.extend(session.map(|_| spent(order, name, &job, used, heard.estimate.clone())));
    let closing = heard.closing(&end, said.is_some());
    commands.push(Command::AgentEnded {
        task: order.task.id.clone(),
        fence: order.fence(),
        pass,
        end,
        took: Span(u64::try_from(outcome.ended_at_ms - outcome.started_at_ms).unwrap_or(0)),
        report: said.map(|message| Box::new(message.report)),
        closing,
    });
    commands.extend(seen);
    Ok(commands)
}

/// All that an agent begins with: what it is told, what it may touch, and how things are outside.
fn equip(order: &Order, pass: u32, name: &str, client: &Agent, job: &Job) -> Result<JobSpec, Trouble> {
    let spec = &order.spec;
    let worktree = (!order.run.settings.no_commits).then(|| order.worktree()).transpose()?;
    if worktree.as_ref().is_some_and(|worktree| !worktree.is_ready()) {
        return Err(Trouble::Transient("the machine has restarted since the worktree was made".to_owned()));
    }
    copy::offer(order, job)?;
    let path = job.dir().join(PROMPT);
    let (guard, piton) = (order.guard(), order.site.keeper.first());
    if let Some(worktree) = worktree.as_ref().filter(|_| guard.encloses()) {
        worktree.isolate()?;
    }
    let (place, base) = (order.workplace()?, order.task.progress.base.as_ref());
    let project = &order.site.project;
    let here = briefing::Here::new(project, &guard, &place, piton.map(String::as_str), base, Some(client));
    let own = iteration::prompt(&project.root, &order.run, &order.task, spec, pass, base);
    let own = own.map(|text| order.briefing.with_rest(text, &order.task, pass, &here));
    let usual = || order.briefing.text(&order.site.prompts, &order.run, &order.task, spec, pass, &here);
    let text = own.map_or_else(usual, Ok).map_err(|broken| Trouble::Defect(broken.to_string()))?;
    // Nobody reads it before all of it is there.
    disk::fill(&path, text.as_bytes())?;
    let session = agent::Session::of(job, client, name, order.task.attempt)?;
    let prompt = agent::prompt_of(session.as_ref(), &path)?;
    let asked = order.run.settings.policy().asks_for_report;
    let tools = piton.map(|piton| agent::Tools { piton, asked });
    let place =
        agent::Place { cwd: &order.workplace()?, prompt: &prompt, tools, fenced: guard.is_in_force() };
    let mut job_spec = agent::job(client, spec, &order.run.id, order.task.attempt, &place, session.as_ref())?;
    // An agent's files and commits are all there is of its work, and nobody has synced them.
    job_spec.synced = order.touched()?;
    fence::put_up(order, &guard, client, job, &mut job_spec, worktree.as_ref())?;
    Ok(job_spec)
}

/// The note of what a try has used; how long it worked is told with its end.
fn spent(order: &Order, agent: &str, job: &Job, used: Option<ByModel>, estimate: ByModel) -> Command {
    let (task, fence, by) = (order.task.id.clone(), order.fence(), agent.to_owned());
    let (took, job) = (Span::default(), job.dir().file_name().unwrap_or_default().to_owned());
    Command::Note { by: by.clone(), note: Note::Spent { task, fence, agent: by, used, estimate, took, job } }
}

/// What an agent wrote down is about its own task, whatever it says.
fn noted(order: &Order, note: Note) -> Command {
    let task = order.task.id.clone();
    let note = match note {
        Note::Entry { text, for_next, .. } => Note::Entry { task: Some(task.clone()), text, for_next },
        note => note,
    };
    Command::Note { by: task.to_string(), note }
}

/// What agents of a system that has words for it say at the end.
fn said_in_words(order: &Order, tail: &str) -> Option<agent::Message> {
    let report = order.run.settings.system().said(tail)?;
    Some(agent::Message { said: agent::Said::Done, report })
}

/// A question that may be answered without a person is: the next try is told the answer. Who ended with one, and with no
/// word that it is done, asked as well.
fn answered(end: AgentEnd, tail: &str, has_reported: bool) -> AgentEnd {
    let reason = match &end {
        AgentEnd::Blocked { reason } => Some(reason.as_str()),
        AgentEnd::Done if !has_reported => answer::closing_question(tail),
        _ => None,
    };
    let Some(reason) = reason else { return end };
    match answer::answer(reason, tail) {
        None => end,
        Some(answer) => AgentEnd::Failed {
            feedback: format!(
                "You asked: {reason}\nNobody is there to answer, so this is the answer: {answer}\n"
            ),
            reason: format!("{SELF_ANSWERED}{answer}"),
        },
    }
}

/// Make a commit of what the agent left.
pub(super) fn capture(order: &Order, pass: u32) -> Result<Vec<Command>, Trouble> {
    fence::forget(order, pass);
    let _slot = order.site.slots.take();
    let repo = order.repo()?;
    let progress = &order.task.progress;
    let base =
        progress.base.as_ref().ok_or_else(|| Trouble::Transient("the worktree has no base".to_owned()))?;
    let captured =
        |work| vec![Command::Captured { task: order.task.id.clone(), fence: order.fence(), pass, work }];
    let mut base_tree = repo.tree_of(base)?;
    if order.run.settings.no_commits {
        base_tree = without_ours(order, base_tree)?;
    }
    // What belongs to the plan does not land, so who changed nothing else has done nothing.
    let is_work =
        |file: &String| !order.site.owned.iter().any(|own| Utf8Path::new(file).starts_with(own.as_str()));
    let files = |(mut created, mut modified): (Vec<String>, Vec<String>)| {
        for list in [&mut created, &mut modified] {
            list.retain(is_work);
            list.truncate(FILES);
        }
        (created, modified)
    };
    let as_work = |commit, tree: Oid, markers| -> Result<Work, Trouble> {
        Ok(Work {
            commit,
            changed: tree != base_tree && repo.diff_names(&base_tree, &tree)?.iter().any(is_work),
            found_work: match &progress.tree {
                Some(before) => *before != tree && repo.diff_names(before, &tree)?.iter().any(is_work),
                None => true,
            },
            touches_judges: false,
            tree,
            markers,
            commits: Vec::new(),
            created: Vec::new(),
            modified: Vec::new(),
        })
    };
    if order.run.settings.no_commits {
        let tree = tree_in_place(order)?;
        let (created, modified) = files(repo.changed_files(&base_tree, &tree)?);
        let work = as_work(None, tree, Vec::new())?;
        return Ok(captured(Work { created, modified, ..work }));
    }
    let worktree = order.worktree()?;
    let settings = &order.run.settings;
    let fixes = order.briefing.failure.as_ref().map(|failure| failure.reason.as_str());
    let (attempt, budget) = (order.task.attempt, order.task.budget);
    let prefix = settings.commit_prefix.as_deref();
    let text = message::work(&order.spec, &order.run.id, prefix, attempt, budget, fixes);
    match worktree.capture(&text, settings.author.as_deref()) {
        Ok(done) => {
            crash::point("capture.committed");
            keep(order, repo, base, &done.commit)?;
            crash::point("capture.pinned");
            let made = repo.commits_since(base, &done.commit)?.into_iter();
            let commits =
                made.map(|(hash, subject)| CommitMade { hash: hash.to_string(), subject }).collect();
            let (created, modified) = files(repo.changed_files(base, &done.commit)?);
            let touches_judges = fence::protected(order, &done.tree)?.is_some();
            let work = as_work(Some(done.commit), done.tree, Vec::new())?;
            Ok(captured(Work { commits, created, modified, touches_judges, ..work }))
        }
        Err(GitError::ConflictMarkers { files } | GitError::Undecided { files }) => {
            Ok(captured(as_work(None, repo.worktree_tree(worktree.path())?, files)?))
        }
        Err(GitError::NestedRepositories { paths, .. }) => {
            let nested = paths.join(", ");
            Ok(vec![Command::TryFailed {
                action: order.action.clone(),
                class: Class::Code,
                reason: format!("the work contains other git repositories: {nested}"),
                feedback: format!(
                    "Remove these git repositories, or only their `.git` if the files belong here: {nested}\n"
                ),
            }])
        }
        Err(error) => Err(error.into()),
    }
}

/// Pin the commit, and put the branch people look at on it.
fn keep(order: &Order, repo: &Repo, base: &Oid, commit: &Oid) -> Result<(), Trouble> {
    repo.sync_commits(base, commit)?;
    let pin = RefChange::pin(&order.pin_name("captured"), commit)?;
    if put_branch(order, repo, commit, std::slice::from_ref(&pin))? {
        return Ok(());
    }
    // The branch is only for people.
    Ok(repo.change_refs(&[pin])?)
}

/// The state file of this system names a task's branch from its first attempt on, so there is one.
fn show_branch(order: &Order, base: &Oid) -> Result<(), Trouble> {
    let repo = order.repo()?;
    let start = order.task.progress.commit.as_ref().unwrap_or(base);
    if repo.pin_at(&order.pin_name("shown"))?.is_none() {
        // Where it cannot be had, nobody misses it but people.
        put_branch(order, repo, start, &[])?;
    }
    Ok(())
}

/// Put the branch people look at on a commit: `worktree-ID`, with the run's name where that one is somebody else's. These
/// pins go with it. Whether a branch could be had.
fn put_branch(order: &Order, repo: &Repo, commit: &Oid, pins: &[RefChange]) -> Result<bool, Trouble> {
    let shown = order.pin_name("shown");
    let last = repo.pin_at(&shown)?;
    for name in order.branches() {
        let found = repo.branch_tip(&name)?;
        let ours = found.is_none() || found == last || found.as_ref() == Some(commit);
        if !ours || repo.checked_out_at(&name)?.is_some() {
            continue;
        }
        let branch = RefChange::branch(&name, commit, found.as_ref())?;
        // It fails if somebody takes the name in this moment.
        let changes = [pins, &[branch, RefChange::pin(&shown, commit)?]].concat();
        match repo.change_refs(&changes) {
            Err(error) if !error.is_kill() => {}
            done => return Ok(done.map(|()| true)?),
        }
    }
    Ok(false)
}

/// What is in the checkout, but for what Piton itself writes there meanwhile.
pub(super) fn tree_in_place(order: &Order) -> Result<Oid, Trouble> {
    let tree = order.repo()?.worktree_tree_with(&order.site.project.root, &order.outputs())?;
    without_ours(order, tree)
}

fn without_ours(order: &Order, tree: Oid) -> Result<Oid, Trouble> {
    let repo = order.repo()?;
    Ok(repo.settle(tree, &repo.resolve("HEAD")?, &order.site.owned)?)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn work_is_not_captured_while_a_process_of_its_attempt_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap();
        let (job, group) = (Job::at(root.join("job")), root.join("group"));
        fs::create_dir(job.dir()).unwrap();
        fs::create_dir(&group).unwrap();
        // The first process of all is there, and nobody can end it.
        fs::write(group.join("cgroup.procs"), "1\n").unwrap();
        let started = serde_json::json!({
            "at_ms": 0, "marker": job.dir(), "spec": JobSpec::new(["true"], root), "group": group,
        });
        fs::write(job.dir().join("started.json"), started.to_string()).unwrap();
        let outcome = |survivors: u32| -> Outcome {
            let ended = serde_json::json!({ "kind": "exited", "code": 0 });
            let outcome = serde_json::json!({
                "ended": ended, "started_at_ms": 0, "ended_at_ms": 0, "survivors": survivors,
            });
            serde_json::from_value(outcome).unwrap()
        };
        assert!(alone(&job, &outcome(0)).is_ok(), "all of them were ended when it was over");
        let Err(Trouble::Transient(reason)) = alone(&job, &outcome(1)) else { panic!("one is there") };
        assert_eq!(reason, format!("a process of {} cannot be ended and is still running", job.dir()));
        fs::write(group.join("cgroup.procs"), "").unwrap();
        assert!(alone(&job, &outcome(1)).is_ok(), "it has gone since");
    }
}
