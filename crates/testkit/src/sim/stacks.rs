//! Tasks that begin on the open requests of what they depend on: what they stand on, and the laws about that.

use piton_core::plan::{Oid, Per};
use piton_core::run::{Event, Footing, Progress, RequestFact, Task};

use super::driver::Sim;
use super::git::{CommitNo, commit_no};
use super::laws::{Verdict, ensure, known};
use super::scenario::index;

/// The target with the requests that a task stands on.
pub(super) struct Ground {
    pub(super) commit: CommitNo,
    pub(super) on: Vec<Footing>,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoGround {
    /// One of the requests is not there now.
    Gone,
    Conflict,
}

impl NoGround {
    pub(super) fn reason(self) -> Option<String> {
        (self == NoGround::Conflict).then(|| "they conflict".to_owned())
    }
}

impl Sim {
    pub(super) fn ground(&mut self, task: &Task) -> Result<Ground, NoGround> {
        let on = self.state.footings(task).expect("a whole state").ok_or(NoGround::Gone)?;
        let mut at = self.git.target;
        for footing in &on {
            let head = commit_no(&footing.head).ok_or(NoGround::Gone)?;
            if self.git.is_ancestor(head, at) {
                continue;
            }
            if self.git.is_ancestor(at, head) {
                at = head;
                continue;
            }
            let (tree, conflicts) = self.git.merge(head, at);
            if !conflicts.is_empty() {
                self.coverage.saw("requests that a task stands on conflict");
                return Err(NoGround::Conflict);
            }
            at = self.git.commit(tree, &[at, head], None);
        }
        match on.len() {
            0 => {}
            1 => self.coverage.saw("stands on an open request"),
            _ => self.coverage.saw("stands on several open requests"),
        }
        Ok(Ground { commit: at, on })
    }

    /// A commit that takes the place of the base of stacked work: it knows that base, so merging compares with that.
    pub(super) fn instead_of(&mut self, progress: &Progress, at: CommitNo) -> CommitNo {
        let base = progress.base.as_ref().and_then(commit_no).filter(|_| progress.stacked);
        match base.filter(|base| !self.git.is_ancestor(*base, at)) {
            None => at,
            Some(base) => {
                let tree = self.git.tree(at).clone();
                self.git.commit(tree, &[at, base], None)
            }
        }
    }
}

fn stacks(sim: &Sim) -> bool {
    sim.run().settings.requests.as_ref().is_some_and(|it| it.stack && it.per == Per::Task)
}

/// Whether a task may begin on another one that has not landed: that one has a request, whose head passed all checks of it.
pub(super) fn may_stand_on(sim: &Sim, need: &Task) -> bool {
    let head = need.progress.request.as_ref().filter(|it| it.opened.is_some()).map(|it| &it.head);
    let Some(head) = head.filter(|_| stacks(sim)) else { return false };
    sim.is_open_at(index(&need.id), head) && is_green(sim, need, head)
}

fn is_green(sim: &Sim, need: &Task, head: &Oid) -> bool {
    let Some(no) = commit_no(head) else { return false };
    let tree = sim.git.tree_at(no);
    need.commands().all(|judge| sim.observed.contains(&(tree, judge.clone())))
}

/// What a task stands on is merged before it, and it is proven again without that.
pub(super) fn merged_after_what_it_stands_on(sim: &Sim, event: &Event) -> Verdict {
    let Event::Request { task, fact, .. } = event else { return Ok(()) };
    let request = known(sim, task).and_then(|it| it.progress.request.as_deref());
    let stands = request.is_some_and(|request| !request.on.is_empty());
    match fact {
        RequestFact::MergeBegins { .. } => {
            ensure(!stands, || format!("{task} is to be merged, and was proven on open requests"))?;
        }
        RequestFact::Merged { .. } if stands => {}
        _ => return Ok(()),
    }
    let needs = sim.scenario.spec(task).map(|spec| spec.depends_on.as_slice()).unwrap_or_default();
    let open = needs.iter().find(|need| known(sim, need).is_some_and(|it| !it.status().satisfies()));
    open.map_or(Ok(()), |open| Err(format!("{task} is to be merged before {open}")))
}

/// What a request is proven on are requests with these very heads, whose own checks have passed.
pub(super) fn stands_on_what_is_proven(sim: &Sim, event: &Event) -> Verdict {
    let Event::Request { task, fact: RequestFact::Prepared { on, head, .. }, .. } = event else {
        return Ok(());
    };
    for footing in on {
        let Some(need) = known(sim, &footing.task) else { return Err(format!("no {}", footing.task)) };
        let same = need.progress.request.as_ref().is_some_and(|it| it.head == footing.head);
        let both = commit_no(&footing.head).zip(commit_no(head));
        let is_in_it = both.is_some_and(|(below, head)| sim.git.is_ancestor(below, head));
        ensure(same && is_in_it && is_green(sim, need, &footing.head), || {
            format!("{task} stands on {} of {}, which is not its proven request", footing.head, footing.task)
        })?;
    }
    let needs = sim.scenario.spec(task).map(|spec| spec.depends_on.as_slice()).unwrap_or_default();
    let is_new = known(sim, task).is_some_and(|it| it.progress.stacked);
    let missing = needs.iter().filter(|_| is_new).find(|need| {
        let has_landed = known(sim, need).is_none_or(|it| it.status().satisfies());
        !has_landed && !on.iter().any(|footing| footing.task == **need)
    });
    missing.map_or(Ok(()), |need| Err(format!("{task} is proven without {need}, which has not landed")))
}
