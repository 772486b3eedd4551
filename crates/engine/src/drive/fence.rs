//! What surrounds an agent's attempt: what it may change, what was changed although it is not the agent's, and what of
//! its work a person should look at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::Utf8Path;
use piton_core::plan::{Agent, Digest, Oid, Protect, Protected, executed};
use piton_core::run::{CheckResult, Command, Note, Verdict};
use piton_core::time::Span;
use serde::{Deserialize, Serialize};

use super::metadata;
use super::order::{Order, Trouble};
use crate::git::{Fate, Uncommitted, Worktree};
use crate::keeper::{Job, JobSpec, Outcome};
use crate::sandbox::Guard;
use crate::{agent, disk, sandbox, secrets};

/// What was there before the try, in the folder of its job.
pub(super) const BEFORE: &str = "before.json";
/// At most so many findings of one kind are reported.
const MOST: usize = 20;
/// A larger outbox is not a report, and is deleted.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What an agent should leave as it is.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    refs: BTreeMap<String, Oid>,
    settings: BTreeMap<String, Digest>,
    /// Not looked at where a fence keeps the agent out of it.
    #[serde(default)]
    main_checkout: Option<Uncommitted>,
    #[serde(default)]
    ties: BTreeMap<String, String>,
    /// Of Piton's own folder.
    #[serde(default)]
    modes: metadata::Modes,
}

/// Enclose the agent, and remember how things are outside.
pub(super) fn put_up(
    order: &Order,
    guard: &Guard,
    agent: &Agent,
    job: &Job,
    spec: &mut JobSpec,
    worktree: Option<&Worktree>,
) -> Result<(), Trouble> {
    let place = order.workplace()?;
    guard.enclose(agent, spec, job, &place)?;
    if let Some(seen) = look(order, worktree, !guard.keeps_from_checkout())? {
        let text = serde_json::to_vec(&seen).map_err(|error| Trouble::Defect(error.to_string()))?;
        // The write is neither atomic nor synced. No agent begins before it is written, and a torn file counts as
        // absent. After a power cut the agent is gone as well, and its attempt is repeated.
        disk::fill(&job.dir().join(BEFORE), &text)?;
    }
    Ok(())
}

fn remembered(job: &Job) -> Option<Seen> {
    serde_json::from_str(&fs::read_to_string(job.dir().join(BEFORE)).ok()?).ok()
}

/// `worktree`: the agent's; `None` if it works in place.
fn look(order: &Order, worktree: Option<&Worktree>, with_checkout: bool) -> Result<Option<Seen>, Trouble> {
    let Some(repo) = &order.site.repo else { return Ok(None) };
    let refs = match repo.refs_in_files() {
        Some(refs) => refs,
        None => {
            let _slot = order.site.slots.take();
            repo.all_refs()?
        }
    };
    let changes = || {
        let _slot = order.site.slots.take();
        repo.uncommitted()
    };
    Ok(Some(Seen {
        refs,
        settings: repo.settings_seen(),
        main_checkout: (with_checkout && worktree.is_some()).then(changes).transpose()?,
        ties: worktree.map(Worktree::ties).unwrap_or_default(),
        modes: metadata::modes(&order.site.project.home),
    }))
}

/// Compare with before. What is Piton's own is put back. Anything else may be a person's work, and is only reported.
pub(super) fn take_down(order: &Order, job: &Job, outcome: &Outcome) -> Result<Vec<Command>, Trouble> {
    sandbox::clear(job);
    scrub(job)?;
    let mut said = uncontained(order.task.attempt, outcome);
    said.extend(seen(order, job, outcome)?);
    let note = |text: String| {
        let note = Note::Entry { task: Some(order.task.id.clone()), text, for_next: false };
        Command::Note { by: "Piton".to_owned(), note }
    };
    Ok(said.into_iter().map(note).collect())
}

/// Limits that were not enforced on the agent as they should have been.
fn uncontained(attempt: u32, outcome: &Outcome) -> Vec<String> {
    let without = |reason: &String| {
        format!("Attempt {attempt} ran without its sandbox, which could not be set up: {reason}")
    };
    let left = match outcome.survivors {
        0 => None,
        1 => Some(format!("A process of attempt {attempt} could not be ended and is still running")),
        many => {
            Some(format!("{many} processes of attempt {attempt} could not be ended and are still running"))
        }
    };
    outcome.unfenced.as_ref().map(without).into_iter().chain(left).collect()
}

fn seen(order: &Order, job: &Job, outcome: &Outcome) -> Result<Vec<String>, Trouble> {
    let Some(before) = remembered(job) else { return Ok(Vec::new()) };
    // This comes before any other git command in there.
    let mut put_back = Vec::new();
    let worktree = (!order.run.settings.no_commits).then(|| order.worktree()).transpose()?;
    if let Some(worktree) = &worktree
        && !before.ties.is_empty()
    {
        let ties = worktree.tie_again(&before.ties)?;
        put_back.extend(ties.iter().map(|name| format!("{name} of the worktree")));
    }
    let lost = worktree.as_ref().map(Worktree::rejoin).transpose()?.flatten();
    let Some(now) = look(order, worktree.as_ref(), before.main_checkout.is_some())? else {
        return Ok(Vec::new());
    };
    let mut told = Vec::new();
    refs(order, &before, &now, &mut put_back, &mut told)?;
    let names: BTreeSet<&String> = before.settings.keys().chain(now.settings.keys()).collect();
    let settings = names.into_iter().filter(|name| before.settings.get(*name) != now.settings.get(*name));
    told.extend(settings.map(|name| format!("git's {name} was changed")));
    if let (Some(before), Some(now)) = (&before.main_checkout, &now.main_checkout) {
        // Piton itself keeps writing to existing state files.
        let is_ours =
            |name: &str| order.site.owned.iter().any(|own| Utf8Path::new(name).starts_with(own.as_str()));
        let mut fates = order.repo()?.fates(before, now)?;
        // The first tick in a list that is committed changes it.
        let ticks = order.run.settings.system().keeps_files();
        let is_ticked =
            |name: &str, fate: &Fate| ticks && name != "piton.toml" && matches!(fate, Fate::Changed);
        fates.retain(|(name, fate)| !(is_ours(name) && (before.has_changed(name) || is_ticked(name, fate))));
        let fates = not_landing(order, fates, (before, now))?;
        told.extend(fates.into_iter().map(|(name, fate)| match fate {
            Fate::Changed => format!("{name} was changed in the main checkout"),
            Fate::PutBack => format!("{name} was restored in the main checkout to what is committed"),
            Fate::Removed => format!("{name} was removed from the main checkout"),
        }));
    }
    if worktree.is_some() && (before.main_checkout.is_some() || !metadata::is_held_back(job, outcome)?) {
        // This comes first: to put a mode back is a change as well.
        told.extend(metadata::touched(order, outcome)?);
        put_back.extend(metadata::put_back(&before.modes));
    }
    let attempt = order.task.attempt;
    let about = [
        (
            put_back,
            format!(
                "While attempt {attempt} was running, something of Piton's was changed, and Piton restored it"
            ),
        ),
        (
            told,
            format!(
                "While attempt {attempt} was running, this changed outside of its worktree, and Piton left it as it is"
            ),
        ),
    ];
    let said = about.into_iter().filter(|(list, _)| !list.is_empty());
    let said = said.map(|(list, head)| format!("{head}: {}", shortened(&list)));
    Ok(said.chain(lost).collect())
}

/// Leave out what a landing wrote into the main checkout. A landing writes the files before the ref, so a look in
/// between finds them changed.
fn not_landing(
    order: &Order,
    fates: Vec<(String, Fate)>,
    (before, now): (&Uncommitted, &Uncommitted),
) -> Result<Vec<(String, Fate)>, Trouble> {
    if fates.is_empty() {
        return Ok(fates);
    }
    let repo = order.repo()?;
    // Asked for after the look: a landing that had begun by then has pinned its candidate, or has come to its end.
    let refs = repo.all_refs()?;
    let is_candidate = |name: &str| name.starts_with("refs/piton/") && name.contains("/candidate/");
    let pinned = refs.into_iter().filter(|(name, _)| is_candidate(name)).map(|(_, commit)| commit);
    let landing: Vec<Oid> = pinned.chain(order.tip().ok()).collect();
    let mut left = Vec::new();
    for (name, fate) in fates {
        let seen = if fate == Fate::PutBack { before } else { now };
        if !repo.is_as_in(&landing, seen, &name)? {
            left.push((name, fate));
        }
    }
    Ok(left)
}

/// Remove what `put_up` remembered: it is no longer needed.
pub(super) fn forget(order: &Order, pass: u32) {
    // If the file stays, it does no harm.
    let _ = fs::remove_file(order.agent_job(pass).dir().join(BEFORE));
}

/// Other tasks land, and people commit, while an agent works: a target that moved forward is not reported.
fn refs(
    order: &Order,
    before: &Seen,
    now: &Seen,
    put_back: &mut Vec<String>,
    told: &mut Vec<String>,
) -> Result<(), Trouble> {
    let repo = order.repo()?;
    let own = Own::of(order, before);
    let target = order.run.target.as_ref().map(|target| format!("refs/heads/{target}"));
    let names: BTreeSet<&String> = before.refs.keys().chain(now.refs.keys()).collect();
    for name in names {
        let (was, found) = (before.refs.get(name), now.refs.get(name));
        if was == found {
            continue;
        }
        if own.has(name, was) {
            if repo.put_back(name, was, found).is_ok() {
                put_back.push(name.clone());
                continue;
            }
        } else if Own::is_pitons(name) {
            continue;
        }
        let forward = match (was, found) {
            (Some(was), Some(found)) if Some(name) == target.as_ref() => repo.is_ancestor(was, found)?,
            _ => false,
        };
        if !forward {
            told.push(match (was, found) {
                (Some(was), Some(found)) => format!("{name} moved from {} to {}", was.short(), found.short()),
                (None, Some(found)) => format!("{name} was made at {}", found.short()),
                (Some(was), None) => format!("{name}, which was at {}, was removed", was.short()),
                (None, None) => continue,
            });
        }
    }
    Ok(())
}

/// The refs that only this task's worker changes. It does not change them while its agent is at work.
struct Own {
    prefix: String,
    suffix: String,
    branches: Vec<String>,
}

impl Own {
    fn of(order: &Order, before: &Seen) -> Own {
        let pin = |what: &str| format!("refs/piton/{}", order.pin_name(what));
        // A branch of that name may be a person's; ours is where we last put it.
        let shown = before.refs.get(&pin("shown"));
        let branches = order.branches().map(|name| format!("refs/heads/{name}")).into_iter();
        let branches = branches.filter(|name| shown.is_some() && before.refs.get(name) == shown).collect();
        let (prefix, suffix) = (format!("refs/piton/{}/", order.run.id), format!("/{}", order.task.id));
        Own { prefix, suffix, branches }
    }

    fn has(&self, name: &String, was: Option<&Oid>) -> bool {
        let rescued = was.is_some() && name.starts_with("refs/piton/rescue/");
        let pinned = name.starts_with(&self.prefix) && name.ends_with(&self.suffix);
        rescued || pinned || self.branches.contains(name)
    }

    /// A ref of another task, which may be changing it right now.
    fn is_pitons(name: &str) -> bool {
        name.starts_with("refs/piton/") || name.starts_with("refs/heads/worktree-")
    }
}

fn shortened(list: &[String]) -> String {
    let more = match list.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    list.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("; ") + &more
}

/// Clean the outbox: an agent may have written anything into it by hand, although only a command should write there.
fn scrub(job: &Job) -> Result<(), Trouble> {
    let outbox = job.dir().join(agent::OUTBOX_FILE);
    let Ok(data) = fs::symlink_metadata(&outbox) else { return Ok(()) };
    if !data.is_file() || data.len() > LARGEST {
        return Ok(fs::remove_file(&outbox)?);
    }
    let said = fs::read(&outbox)?;
    let clean = secrets::redactor().bytes(&said);
    if clean != said {
        disk::write(&outbox, &clean)?;
    }
    Ok(())
}

/// The verdict on changes to protected files and to scripts of checks: `None` if there are no such changes.
pub(super) fn protected(order: &Order, tree: &Oid) -> Result<Option<CheckResult>, Trouble> {
    let (repo, fences) = (order.repo()?, &order.run.settings.fences);
    let Some(base) = &order.task.progress.base else { return Ok(None) };
    let changed = repo.diff_names(&repo.tree_of(base)?, tree)?;
    let mut touched = Protected::new(&fences.protected).touched(&changed, &order.spec.files);
    let judges = || order.spec.checks.iter().chain(&order.run.settings.landing_checks);
    let mut scripts = executed(&changed, &order.spec.files, judges());
    scripts.retain(|file| !touched.contains(file));
    let mut replaced = Vec::new();
    for file in scripts {
        // A new script is part of the work; the task was not to be judged by it.
        if repo.has(base, &file)? {
            replaced.push(file);
        }
    }
    if touched.is_empty() && replaced.is_empty() {
        return Ok(None);
    }
    let named =
        touched.iter().cloned().chain(replaced.iter().map(|file| format!("{file}, which a check runs")));
    let reason = format!("the work changes {}", shortened(&named.collect::<Vec<_>>()));
    touched.extend(replaced);
    let verdict = match fences.protect {
        Protect::Report => Verdict::Noticed { reason },
        Protect::Block => Verdict::Rejected { reason },
    };
    let tail = match fences.protect {
        Protect::Report => String::new(),
        Protect::Block => format!(
            "These files decide how work is judged, and this task does not name them. Put them back as they were:\n{}\n",
            touched.join("\n")
        ),
    };
    Ok(Some(CheckResult {
        name: "protected files".to_owned(),
        check: Digest::of(&("protected files", &fences.protected)),
        command: "a look at which files were changed".to_owned(),
        verdict,
        environment: Digest::of(&()),
        took: Span(0),
        log: String::new(),
        tail,
        tests: None,
        ran: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::Ended;

    #[test]
    fn processes_that_live_on_and_a_fence_that_is_missing_are_told() {
        let outcome = |survivors, unfenced: Option<&str>| Outcome {
            ended: Ended::Stopped,
            started_at_ms: 0,
            ended_at_ms: 0,
            cpu_ms: None,
            output_bytes: 0,
            output_lost: 0,
            leftovers_killed: 3,
            survivors,
            not_synced: None,
            unfenced: unfenced.map(str::to_owned),
            unviewed: None,
            detail: None,
        };
        assert!(uncontained(1, &outcome(0, None)).is_empty());
        assert_eq!(
            uncontained(1, &outcome(1, None)),
            ["A process of attempt 1 could not be ended and is still running"]
        );
        assert_eq!(
            uncontained(2, &outcome(7, Some("no room"))),
            [
                "Attempt 2 ran without its sandbox, which could not be set up: no room",
                "7 processes of attempt 2 could not be ended and are still running"
            ]
        );
    }
}
