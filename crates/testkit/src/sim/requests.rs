//! A host with requests: its checks, its people, and the laws about what lands by it.

use std::collections::BTreeMap;

use piton_core::plan::{MergeBy, Oid};
use piton_core::run::request::{Mergeable, Phase, Push, RedCheck, Remark, Request, Review, Seen, Step, push};
use piton_core::run::{Action, Class, Command, Event, Proof, RequestFact, Status, Task};

use super::driver::Sim;
use super::git::{CommitNo, commit_no, oid};
use super::laws::{Verdict, ensure, known, tasks};
use super::scenario::{index, task_id};

/// What the host knows, by task.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    branches: BTreeMap<usize, CommitNo>,
    pulls: Vec<Pull>,
    /// Until then the check is red on the target itself, too.
    target_red_until: u64,
    /// Something was done twice, or over somebody's head.
    pub(super) broken: Option<String>,
}

#[derive(Clone, Debug)]
struct Pull {
    task: usize,
    head: CommitNo,
    phase: PullPhase,
    /// When its checks end, by the true time.
    checked_at: u64,
    red: bool,
    wanted: Option<u64>,
    /// The host merges it when its checks pass.
    queued: bool,
    by_piton: bool,
    rejected: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PullPhase {
    Open,
    Merged(CommitNo),
    Closed,
}

impl Host {
    fn open_of(&mut self, task: usize) -> Option<usize> {
        self.pulls.iter().position(|pull| pull.task == task && pull.phase == PullPhase::Open)
    }
}

impl Sim {
    /// Whether this was the head of a request of the task that its host knows.
    pub(super) fn is_open_at(&self, task: usize, head: &Oid) -> bool {
        let is_known = self.host.branches.contains_key(&task) && commit_no(head).is_some();
        is_known && self.host.pulls.iter().any(|pull| pull.task == task)
    }

    /// Take one step of a task's request.
    pub(super) fn request(&mut self, action: &Action, task: &Task, step: Step) -> Vec<Command> {
        let Some(request) = task.progress.request.clone() else { return Vec::new() };
        let (id, fence, place) = (task.id.clone(), task.fence, index(&task.id));
        let moved = |fact| vec![Command::RequestMoved { task: id.clone(), fence, fact }];
        let Some(head) = commit_no(&request.head) else { return Vec::new() };
        match step {
            Step::Push => {
                if self.run().is_its_request(&task.id) {
                    if !self.git.is_ancestor(self.git.target, head) {
                        self.coverage.saw("the branch of the run was moved away from its request");
                        return vec![self.try_failed(action, Class::Defect, "the branch was moved")];
                    }
                    self.git.target = head;
                }
                let remote = self.host.branches.get(&place).map(|no| oid(*no));
                match push(&request, remote.as_ref()) {
                    Push::Done => self.coverage.saw("push found done"),
                    Push::Needed { expected } => {
                        if expected != remote {
                            self.host.broken = Some(format!("{id} is pushed over something else"));
                        }
                        self.host_gets(place, head);
                    }
                    Push::Foreign { .. } => {
                        self.coverage.saw("somebody pushed to the branch");
                        return vec![self.try_failed(action, Class::Defect, "somebody pushed")];
                    }
                }
                moved(RequestFact::Pushed { head: request.head.clone() })
            }
            Step::Open => {
                let at = match self.host.open_of(place) {
                    Some(at) => {
                        self.coverage.saw("request found open");
                        at
                    }
                    None => self.host_opens(place, head),
                };
                let number = at as u64 + 1;
                moved(RequestFact::Opened { number, url: String::new() })
            }
            Step::Follow => {
                let Some(at) = request.opened.as_ref().and_then(|opened| opened.number.checked_sub(1)) else {
                    return Vec::new();
                };
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                self.host_lives(at);
                self.look(task, at)
            }
            Step::Merge => {
                let Some(at) = request.opened.as_ref().map(|opened| opened.number as usize - 1) else {
                    return Vec::new();
                };
                let pull = self.host.pulls[at].clone();
                if matches!(pull.phase, PullPhase::Merged(_)) {
                    self.coverage.saw("merge found done");
                    return self.look(task, at);
                }
                let refused = |reason: &str| {
                    let (head, reason) = (request.head.clone(), reason.to_owned());
                    moved(RequestFact::MergeRefused { head, reason })
                };
                if pull.phase != PullPhase::Open || pull.head != head {
                    return refused("it has another head");
                }
                if pull.rejected < 2 && self.rng.chance(10) {
                    self.host.pulls[at].rejected += 1;
                    self.coverage.saw("the host rejected a merge");
                    return refused("try again later");
                }
                if self.requests().merge == MergeBy::Host {
                    self.host.pulls[at].queued = true;
                } else if !self.host_merges(at, true) {
                    return refused("it conflicts");
                }
                moved(RequestFact::MergeAsked { head: request.head.clone() })
            }
            Step::Take => {
                let Some(commit) = request.merged.clone() else { return Vec::new() };
                let tip = *self.host_target();
                let tree = self.git.tree(tip).clone();
                let tree = self.git.tree_oid(&tree);
                vec![Command::RequestLanded { task: id, fence, commit, tree }]
            }
        }
    }

    /// Where the host merges to.
    fn host_target(&mut self) -> &mut CommitNo {
        match self.run().whole() {
            Some(_) => &mut self.git.trunk,
            None => &mut self.git.target,
        }
    }

    fn requests(&self) -> piton_core::plan::Requests {
        self.run().settings.requests.clone().unwrap_or_default()
    }

    fn host_gets(&mut self, place: usize, head: CommitNo) {
        self.host.branches.insert(place, head);
        if let Some(at) = self.host.open_of(place) {
            self.host_checks(at, head);
        }
    }

    fn host_opens(&mut self, place: usize, head: CommitNo) -> usize {
        self.host.pulls.push(Pull {
            task: place,
            head,
            phase: PullPhase::Open,
            checked_at: 0,
            red: false,
            wanted: None,
            queued: false,
            by_piton: false,
            rejected: 0,
        });
        let at = self.host.pulls.len() - 1;
        self.host_checks(at, head);
        at
    }

    /// The host's own checks begin. They are as true as those of the plan, but for a machine that breaks.
    fn host_checks(&mut self, at: usize, head: CommitNo) {
        let broken = self.rng.chance(8);
        let delay = self.rng.between(1_000, 600_000);
        let pull = &mut self.host.pulls[at];
        (pull.head, pull.red, pull.queued) = (head, broken, false);
        pull.checked_at = self.time + delay;
    }

    /// What the host and its people do meanwhile.
    fn host_lives(&mut self, at: usize) {
        let pull = self.host.pulls[at].clone();
        if pull.phase != PullPhase::Open {
            return;
        }
        let is_checked = self.time >= pull.checked_at;
        if is_checked && pull.queued && !pull.red {
            self.host_merges(at, false);
            return;
        }
        let by_person = self.requests().merge == MergeBy::Person;
        match self.rng.below(if self.calm { 1 } else { 60 }) {
            0 if is_checked && by_person && !pull.red => {
                self.coverage.saw("a person merged a request");
                self.host_merges(at, false);
            }
            1 => {
                self.coverage.saw("a person closed a request");
                self.host.pulls[at].phase = PullPhase::Closed;
            }
            2 => {
                self.coverage.saw("somebody pushed to a request");
                let tree = self.git.tree(pull.head).clone();
                let head = self.git.commit(tree, &[pull.head], None);
                self.host_gets(pull.task, head);
            }
            3 => {
                self.coverage.saw("a review asked for changes");
                self.happenings += 1;
                self.host.pulls[at].wanted = Some(self.happenings);
            }
            5 if !is_checked => {
                self.coverage.saw("the check broke on the target, too");
                self.host.target_red_until = self.time + self.rng.between(60_000, 1_800_000);
                self.host.pulls[at].red = true;
            }
            6 if self.run().whole().is_some() => {
                self.coverage.saw("somebody pushed to the target of the run's request");
                let (tip, tree) = (self.git.trunk, self.git.tree(self.git.trunk).clone());
                self.git.trunk = self.git.commit(tree, &[tip], None);
            }
            4 if !pull.red => {
                self.coverage.saw("a person merged a request early");
                self.host_merges(at, false);
            }
            _ => {}
        }
    }

    /// Merge or squash a request into the target. Says whether it could.
    fn host_merges(&mut self, at: usize, by_piton: bool) -> bool {
        let pull = self.host.pulls[at].clone();
        let tip = *self.host_target();
        let (tree, conflicts) = self.git.merge(pull.head, tip);
        if !conflicts.is_empty() {
            return false;
        }
        let squash = pull.head.is_multiple_of(2);
        let commit = if squash && self.run().whole().is_some() {
            self.git.commit(tree, &[tip], None)
        } else if squash {
            let content = self.scenario.spec(&task_id(pull.task)).map(piton_core::plan::TaskSpec::content);
            self.git.commit_landing(tree, &[tip], pull.task, content)
        } else {
            self.git.commit(tree, &[tip, pull.head], None)
        };
        *self.host_target() = commit;
        // What fits together there is for the host to say, or for the person who merged it.
        self.people.touched |= !by_piton;
        let request = self.task(&task_id(pull.task)).and_then(|task| task.progress.request.clone());
        if !by_piton && request.is_some_and(|request| !request.on.is_empty()) {
            self.coverage.saw("a person merged what stands on an open request");
            self.people.overtook = true;
        }
        let pull = &mut self.host.pulls[at];
        (pull.phase, pull.by_piton) = (PullPhase::Merged(commit), by_piton);
        self.coverage.saw(if squash { "squashed by the host" } else { "merged by the host" });
        self.note(|| format!("the host merges request {} as {commit}", at + 1));
        true
    }

    fn look(&mut self, task: &Task, at: usize) -> Vec<Command> {
        let pull = self.host.pulls[at].clone();
        let is_checked = self.time >= pull.checked_at;
        let tip = *self.host_target();
        let conflicts = !self.git.merge(pull.head, tip).1.is_empty();
        let check = || "ci".to_owned();
        let remark = |no: u64| Remark {
            id: no.to_string(),
            by: "ann".to_owned(),
            text: "do it better".to_owned(),
            place: String::new(),
        };
        let red = RedCheck { name: check(), url: String::new() };
        let seen = Seen {
            phase: match pull.phase {
                PullPhase::Open => Phase::Open,
                PullPhase::Closed => Phase::Closed,
                PullPhase::Merged(commit) => Phase::Merged { commit: Some(oid(commit)) },
            },
            head: oid(pull.head),
            draft: false,
            mergeable: if conflicts { Mergeable::Conflict } else { Mergeable::Yes },
            review: Review::NotNeeded,
            pending: if is_checked { Vec::new() } else { vec![check()] },
            passed: u32::from(is_checked && !pull.red),
            red: if is_checked && pull.red { vec![red] } else { Vec::new() },
            red_on_target: if pull.red && self.time < self.host.target_red_until {
                vec![check()]
            } else {
                Vec::new()
            },
            stuck: Vec::new(),
            wanted: pull.wanted.map(remark).into_iter().collect(),
            remarks: Vec::new(),
            queued: pull.queued,
        };
        let tip = Some(oid(tip));
        let (task, fence, seen) = (task.id.clone(), task.fence, Box::new(seen));
        vec![Command::RequestSeen { task, fence, seen, log: String::new(), tip }]
    }

    /// What happens to requests, for the record.
    pub(super) fn notice_requests(&mut self, event: &Event) {
        match event {
            Event::Completed { task, proof: Proof::Landed { .. }, .. } if self.run().is_its_request(task) => {
                let of_run = self.run().whole().is_some_and(|whole| whole.task == *task);
                self.coverage.saw(if of_run {
                    "a run landed as a whole"
                } else {
                    "a group landed as a whole"
                });
            }
            Event::Reopened { task, .. } if self.run().is_its_request(task) => {
                self.coverage.saw("the request of the run was opened again");
            }
            _ => {}
        }
        let Event::Request { fact, .. } = event else { return };
        self.coverage.saw(match fact {
            RequestFact::Prepared { .. } => "request: prepared",
            RequestFact::Unstacked { until_landed: true, .. } => "request: waits until others have landed",
            RequestFact::Unstacked { .. } => "request: waits for what it stood on",
            RequestFact::MergeBegins { .. } => "request: merge begins",
            RequestFact::SentBack { .. } => "request: sent back",
            RequestFact::Returned { .. } => "request: brought up to the target",
            RequestFact::Pushed { .. } => "request: pushed",
            RequestFact::Opened { .. } => "request: opened",
            RequestFact::Seen { .. } => "request: seen",
            RequestFact::MergeAsked { .. } => "request: merge accepted",
            RequestFact::MergeRefused { .. } => "request: merge rejected",
            RequestFact::Merged { .. } => "request: merged",
            RequestFact::Missing { .. } => "request: merged and missing",
        });
    }
}

/// Nothing is opened or pushed over somebody, and no request of a task is open beside another one.
pub(super) fn the_host_is_respected(sim: &Sim) -> Verdict {
    if let Some(broken) = &sim.host.broken {
        return Err(broken.clone());
    }
    let mut open: BTreeMap<usize, usize> = BTreeMap::new();
    for pull in sim.host.pulls.iter().filter(|pull| pull.phase == PullPhase::Open) {
        *open.entry(pull.task).or_default() += 1;
    }
    let twice = open.into_iter().find(|(_, count)| *count > 1);
    twice.map_or(Ok(()), |(task, count)| Err(format!("{} has {count} open requests", task_id(task))))
}

/// What landed by a request is what the host says that it merged.
pub(super) fn landed_is_the_hosts_word(sim: &Sim, event: &Event) -> Verdict {
    let Event::Completed { task, proof: Proof::Landed { commit, .. }, .. } = event else { return Ok(()) };
    if sim.run().requests_of(task).is_none() {
        return Ok(());
    }
    let is_merged = |pull: &Pull| match pull.phase {
        PullPhase::Merged(no) => pull.task == index(task) && oid(no) == *commit,
        PullPhase::Open | PullPhase::Closed => false,
    };
    ensure(sim.host.pulls.iter().any(is_merged), || format!("{task} landed, and the host did not merge it"))
}

/// Piton asks for a merge only where the host's checks have passed on exactly that commit.
pub(super) fn merges_are_green(sim: &Sim, event: &Event) -> Verdict {
    let Event::Request { task, fact: RequestFact::MergeBegins { head }, .. } = event else { return Ok(()) };
    if sim.run().settings.requests.as_ref().is_some_and(|requests| requests.merge != MergeBy::Piton) {
        return Ok(());
    }
    let request = known(sim, task).and_then(|task| task.progress.request.as_ref());
    let seen = request.and_then(|request| request.seen.as_ref());
    let is_green = |seen: &Seen| seen.pending.is_empty() && seen.red.is_empty() && seen.head == *head;
    let base = request.map(|request| &request.base);
    ensure(seen.is_some_and(|seen| is_green(seen)), || format!("{task} is to be merged and is not green"))?;
    let target = if sim.run().whole().is_some() { sim.git.trunk } else { sim.git.target };
    let target: Option<Oid> = Some(oid(target));
    // People move the target at any time; then the host rejects nothing, and what lands is theirs to judge.
    ensure(sim.people.moves > 0 || sim.people.touched || base == target.as_ref(), || {
        format!("{task} is to be merged into a target that it was not proven on")
    })
}

/// No task is sent back for what is red on the target itself, too.
pub(super) fn nobody_pays_for_the_target(sim: &Sim, event: &Event) -> Verdict {
    let Event::Request { task, fact: RequestFact::SentBack { .. }, .. } = event else { return Ok(()) };
    let request = known(sim, task).and_then(|task| task.progress.request.as_ref());
    let seen = request.and_then(|request| request.seen.as_ref());
    let is_own = |seen: &Seen| {
        !seen.wanted.is_empty() || seen.red.iter().any(|check| !seen.red_on_target.contains(&check.name))
    };
    ensure(seen.is_some_and(|seen| is_own(seen)), || format!("{task} is sent back for a red target"))
}

/// A task is sent back by its host a bounded number of times.
pub(super) fn rounds_are_bounded(sim: &Sim) -> Verdict {
    let most = sim.run().settings.requests.as_ref().map_or(0, |requests| requests.rounds);
    let over =
        tasks(sim).find(|task| task.progress.request.as_ref().is_some_and(|request| request.rounds > most));
    over.map_or(Ok(()), |task| Err(format!("{} was sent back too often", task.id)))
}

/// Whether a task that is `merging` holds the one place for landings.
pub(super) fn holds_the_landing(sim: &Sim, task: &Task) -> bool {
    let by_piton = sim.run().settings.requests.as_ref().is_some_and(|it| it.merge == MergeBy::Piton);
    // What a person merged beside that of Piton is only brought home.
    let is_known = sim.run().merging.as_ref() == Some(&task.id);
    let is_asked = |request: &Request| request.asked || request.step == Step::Merge;
    let holds = |request: &Request| by_piton && (is_asked(request) || request.is_merging() && is_known);
    task.decided == Status::Merging && task.progress.request.as_deref().is_none_or(holds)
}
