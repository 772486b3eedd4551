//! The project's own description: what the run has made becomes a commit on the target.
//!
//! The commit is made in the object database and pinned before the target moves. The pin is the intent: after a crash,
//! the next engine finds it and looks whether the commit landed. The pin is removed once the journal has recorded the
//! result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use piton_core::message;
use piton_core::plan::{Oid, RunId, TaskSpec};
use piton_core::run::{Command, ContextUpdate, Run};
use piton_core::system::{Description, Folded, Unchanged};

use super::order::{Running, Site, Trouble};
use super::perform;
use crate::git::{GitError, LandedState, LandingLease, Moved, RefChange, Repo};
use crate::{clock, crash};

/// Everything the worker needs: like all workers it sees neither the journal nor the state.
#[derive(Clone)]
pub(super) struct Errand {
    pub site: Arc<Site>,
    pub run: Arc<Run>,
    /// How the run's system keeps it.
    pub description: Description,
    /// Every completed task of the run.
    pub done: Vec<TaskSpec>,
    pub running: Running,
}

/// What one try came to.
enum Try {
    Settled(ContextUpdate),
    /// Nothing was changed: a person has to do something first.
    Waits(String),
    /// The target moved meanwhile.
    Again,
}

/// Settle it, one way or the other. Only a stop leaves it open.
pub(super) fn perform(errand: &Errand) -> Vec<Command> {
    let settled = match catch_unwind(AssertUnwindSafe(|| settle(errand))) {
        Ok(Ok(settled)) => settled,
        Ok(Err(trouble)) => Some(errand.skipped(trouble.to_string())),
        Err(_) => Some(errand.skipped("an internal error".to_owned())),
    };
    settled.map(|update| Command::ContextUpdated(Box::new(update))).into_iter().collect()
}

fn settle(errand: &Errand) -> Result<Option<ContextUpdate>, Trouble> {
    let began = Instant::now();
    let patience = Duration::from_millis(errand.run.settings.landing_wait.0);
    loop {
        match perform::despite_kills(&errand.site, &errand.run, || attempt(errand))? {
            Try::Settled(update) => return Ok(Some(update)),
            Try::Waits(reason) if began.elapsed() >= patience => return Ok(Some(errand.skipped(reason))),
            Try::Waits(_) => thread::sleep(super::REST.min(patience)),
            Try::Again => {}
        }
        if errand.running.is_stopped() {
            return Ok(None);
        }
    }
}

fn attempt(errand: &Errand) -> Result<Try, Trouble> {
    let settled = |reason: String| Ok(Try::Settled(errand.skipped(reason)));
    let file = errand.description.file;
    let (Some(repo), Some(target)) = (&errand.site.repo, errand.run.target.as_deref()) else {
        return settled("there is no branch to commit it on".to_owned());
    };
    let Some(tip) = repo.branch_tip(target)? else {
        return settled(format!("the target branch `{target}` no longer exists"));
    };
    let Some(bytes) = repo.file_at(&tip, file)? else {
        let update = ContextUpdate { skipped: format!("there is no {file}"), ..ContextUpdate::default() };
        return Ok(Try::Settled(update));
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            return settled(format!("{file} is not UTF-8 (at byte {})", error.utf8_error().valid_up_to()));
        }
    };
    let pinned = repo.pin_at(&pin_name(&errand.run.id))?;
    let folded = match errand.fold(&text, &tip) {
        Ok(folded) => folded,
        // It may be the work of an engine that died before it recorded that.
        Err(unchanged) if unchanged.is_complete && pinned.is_some() => {
            return errand.take_up(repo, target, pinned, Err(unchanged));
        }
        Err(unchanged) => return settled(unchanged.reason),
    };
    if let Some(reason) = errand.hindrance()? {
        return settled(reason);
    }
    errand.take_up(repo, target, pinned, Ok((tip, folded)))
}

impl Errand {
    fn skipped(&self, reason: String) -> ContextUpdate {
        let path = Some(self.description.file.to_owned());
        ContextUpdate { path, skipped: reason, ..ContextUpdate::default() }
    }

    fn fold(&self, text: &str, tip: &Oid) -> Result<Folded, Unchanged> {
        (self.description.fold)(text, &self.done.iter().collect::<Vec<_>>(), tip.as_str(), clock::now())
    }

    /// Why the file must not be changed, although it could be.
    fn hindrance(&self) -> Result<Option<String>, GitError> {
        let (root, file) = (&self.site.project.root, self.description.file);
        if self.run.settings.requests.is_some() {
            return Ok(Some(format!(
                "what lands by requests lands by nothing else, so {file} is left to people"
            )));
        }
        match std::fs::metadata(root.join(file)) {
            Ok(meta) if meta.permissions().readonly() => return Ok(Some(format!("{file} is read-only"))),
            _ => {}
        }
        match Repo::discover(root)?.current_branch() {
            Err(GitError::DetachedHead { .. }) => Ok(Some(format!("HEAD is detached in {root}"))),
            branch => branch.map(|_| None),
        }
    }

    /// Finish what was begun, or begin it with what is to be done now.
    fn take_up(
        &self,
        repo: &Repo,
        target: &str,
        pinned: Option<Oid>,
        new: Result<(Oid, Folded), Unchanged>,
    ) -> Result<Try, Trouble> {
        if let Some(candidate) = pinned
            && let Some(old) = repo.parent(&candidate)?
        {
            match repo.landed_state(target, &old, &candidate)? {
                LandedState::AtOld => {
                    let since = repo.committed_at(&candidate)?;
                    return self.land(repo, target, &old, &candidate, Some(since));
                }
                LandedState::Landed => {
                    let since = repo.committed_at(&candidate)?;
                    let lease = LandingLease::take(repo, target)?;
                    if let Some(wait) = repo.settle_target(&lease, &old, &candidate, since)? {
                        return Ok(Try::Waits(wait.to_string()));
                    }
                    if new.is_err() {
                        return Ok(Try::Settled(self.update_of(repo, &old, &candidate)?));
                    }
                }
                // The commit it was built on is no longer the tip.
                LandedState::MovedForward { .. } | LandedState::Elsewhere { .. } => {}
            }
        }
        let (tip, folded) = match new {
            Ok(new) => new,
            Err(unchanged) => return Ok(Try::Settled(self.skipped(unchanged.reason))),
        };
        let (tree, blob) = repo.with_file(&tip, self.description.file, &folded.text)?;
        let settings = &self.run.settings;
        let text = message::context(&entered(&folded), &self.run.id, settings.commit_prefix.as_deref());
        let candidate = repo.commit_work(&tree, &[&tip], &text, settings.author.as_deref())?;
        repo.sync_objects([&blob, &tree, &candidate])?;
        repo.change_refs(&[RefChange::pin(&pin_name(&self.run.id), &candidate)?])?;
        crash::point("context.pinned");
        self.land(repo, target, &tip, &candidate, None)
    }

    /// `since`: when the candidate was made, if an earlier try may have begun to land it.
    fn land(
        &self,
        repo: &Repo,
        target: &str,
        old: &Oid,
        candidate: &Oid,
        since: Option<SystemTime>,
    ) -> Result<Try, Trouble> {
        let lease = LandingLease::take(repo, target)?;
        let moved = repo.move_target(&lease, old, candidate, since)?;
        crash::point("context.moved");
        Ok(match moved {
            Moved::Done => Try::Settled(self.update_of(repo, old, candidate)?),
            Moved::Waits(wait) => Try::Waits(wait.to_string()),
            Moved::TargetMoved { .. } => Try::Again,
        })
    }

    /// What a commit of ours added, compared with what was there before.
    fn update_of(&self, repo: &Repo, old: &Oid, candidate: &Oid) -> Result<ContextUpdate, Trouble> {
        let file = self.description.file;
        let before = repo.file_at(old, file)?.and_then(|bytes| String::from_utf8(bytes).ok());
        let folded = before.and_then(|text| self.fold(&text, old).ok());
        let mut update = folded.as_ref().map(entered).unwrap_or_default();
        if let Some(hash) = folded.and_then(|folded| folded.last_hash) {
            let known = repo.resolve(&hash).ok();
            if !known.map(|commit| repo.is_ancestor(&commit, old)).transpose()?.unwrap_or(false) {
                update
                    .warnings
                    .push(format!("{file} was last brought up to {hash}, which is not in its history"));
            }
        }
        Ok(ContextUpdate { path: Some(file.to_owned()), commit: Some(candidate.clone()), ..update })
    }
}

fn entered(folded: &Folded) -> ContextUpdate {
    ContextUpdate {
        features: folded.features.clone(),
        endpoints: folded.endpoints.clone(),
        models: folded.models.clone(),
        warnings: folded.warnings.clone(),
        ..ContextUpdate::default()
    }
}

/// Keeps the commit until the journal has recorded it.
pub(super) fn pin_name(run: &RunId) -> String {
    format!("{run}/context")
}
