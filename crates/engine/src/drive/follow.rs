//! The requests by which tasks land: pushed, opened, looked at, merged, and brought home. Each step can be repeated after a
//! crash: it first looks what is there already.

use std::sync::{Arc, Mutex, PoisonError};

use piton_core::host::request::{self as words, Ask, Opening};
use piton_core::host::{Failure, Kind, NoPlace, Place};
use piton_core::order::Pairs;
use piton_core::plan::{Oid, Requests};
use piton_core::run::request::{self, Judgement, Phase, Push, Request, Seen, Step};
use piton_core::run::{Command, RequestFact};
use piton_core::time::Timestamp;

use super::order::{Order, Trouble};
use super::remarks::Enquiry;
use crate::git::{LandingLease, Moved, Repo};
use crate::host::{Host, Question};
use crate::{clock, crash};

/// Until when the host accepts no questions.
#[derive(Debug, Default)]
pub(super) struct HostRest(Mutex<Option<Timestamp>>);

impl HostRest {
    fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.filter(|until| now < *until)
    }

    fn note(&self, failure: &Failure) {
        if let Failure::RateLimited { until: Some(until), .. } = failure {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*until);
        }
    }
}

/// Where the requests of a repository are. `Err`: why there are none.
pub fn place(repo: &Repo, remote: &str) -> Result<Place, String> {
    let missing = || format!("there is no remote `{remote}`");
    let url = repo.remote_url(remote).map_err(|error| error.to_string())?.ok_or_else(missing)?;
    let named = repo.hosts_named().map_err(|error| error.to_string())?;
    let known = named.into_iter().filter_map(|(host, runs)| Some((host, Kind::named(&runs)?))).into_map();
    Place::of(&url, &known).map_err(|why: NoPlace| format!("the remote `{remote}`: {why}"))
}

/// Bring the target here as the remote has it. Nothing lands while the two differ. `Err`: what it waits for.
pub(super) fn bring_target(order: &Order) -> Result<Result<Oid, String>, Trouble> {
    let settings = settings(order);
    let (repo, target) = (order.repo()?, order.target()?);
    let remote = &settings.remote;
    let there = match repo.fetch_branch(remote, target) {
        Ok(there) => there,
        Err(error) => return Ok(Err(format!("`{target}` cannot be fetched from {remote}: {error}"))),
    };
    let here = order.tip()?;
    if here == there {
        return Ok(Ok(here));
    }
    if repo.is_ancestor(&there, &here)? {
        return Ok(Err(format!(
            "`{target}` has commits that {remote} does not have: `git push {remote} {target}` sends them"
        )));
    }
    if !repo.is_ancestor(&here, &there)? {
        return Ok(Err(format!(
            "`{target}` here and on {remote} have gone different ways: bring them together, then push"
        )));
    }
    let lease = LandingLease::take(repo, target)?;
    let since = clock::system_time(order.task.since);
    crash::point("request.before-target");
    Ok(match repo.move_target(&lease, &here, &there, Some(since))? {
        Moved::Done => Ok(there),
        Moved::Waits(wait) => Err(wait.to_string()),
        Moved::TargetMoved { .. } => Err(format!("`{target}` was moved meanwhile")),
    })
}

/// The branch of the run follows to a commit that has all of it. `Err`: what it waits for.
pub(super) fn bring_run_branch(order: &Order, to: &Oid) -> Result<Result<(), String>, Trouble> {
    let (repo, branch) = (order.repo()?, order.run_branch()?);
    let tip = order.tip_of(branch)?;
    if tip == *to {
        return Ok(Ok(()));
    }
    if !repo.is_ancestor(&tip, to)? {
        return Err(Trouble::Defect(format!(
            "`{branch}` was moved to {}, which its request does not have",
            tip.short()
        )));
    }
    let lease = LandingLease::take(repo, branch)?;
    let since = clock::system_time(order.task.since);
    crash::point("request.before-branch");
    Ok(match repo.move_target(&lease, &tip, to, Some(since))? {
        Moved::Done => Ok(()),
        Moved::Waits(wait) => Err(wait.to_string()),
        Moved::TargetMoved { .. } => Err(format!("`{branch}` was moved meanwhile")),
    })
}

/// Take a step of the order's task.
pub(super) fn follow(order: &Order, step: Step) -> Result<Vec<Command>, Trouble> {
    let Some(request) = order.task.progress.request.as_deref() else { return Ok(Vec::new()) };
    let follower = Follower { order, request, settings: settings(order) };
    match step {
        Step::Push => follower.push(),
        Step::Open => follower.open(),
        Step::Follow => follower.look(),
        Step::Merge => follower.merge(),
        Step::Take => follower.take(),
    }
}

fn settings(order: &Order) -> Requests {
    order.run.settings.requests.clone().unwrap_or_default()
}

struct Follower<'o> {
    order: &'o Order,
    request: &'o Request,
    settings: Requests,
}

/// Why a step is not taken now.
type NotNow = String;

impl Follower<'_> {
    fn moved(&self, fact: RequestFact) -> Vec<Command> {
        let (task, fence) = (self.order.task.id.clone(), self.order.fence());
        vec![Command::RequestMoved { task, fence, fact }]
    }

    fn waits(&self, reason: String) -> Vec<Command> {
        let (task, fence) = (self.order.task.id.clone(), self.order.fence());
        vec![Command::LandingWaits { task, fence, reason }]
    }

    fn place(&self) -> Result<Place, Trouble> {
        place(self.order.repo()?, &self.settings.remote).map_err(Trouble::Defect)
    }

    /// Ask the host. `Ok(Err)`: it did not answer, or not now.
    fn asked(&self, place: &Place, ask: Ask, reads: bool) -> Result<Result<Vec<u8>, Failure>, Trouble> {
        let site = &self.order.site;
        if let Some(until) = site.host_rest.until(clock::now()) {
            return Ok(Err(Failure::RateLimited { host: place.host.clone(), until: Some(until) }));
        }
        let repo = self.order.repo()?;
        let host = Host::new(place.clone(), repo.top());
        // An engine that is killed may leave it running: the next one waits for it, as for a git process.
        let host = match repo.git().guarded() {
            Some(guard) => host.guarded_by(Arc::clone(guard)),
            None => host,
        };
        if !self.order.running.asks(&host) {
            return Err(Trouble::Stopped);
        }
        let question = if reads { Question::read(ask.words) } else { Question::write(ask.words) };
        let question = match ask.text {
            Some(text) => question.with_text(text),
            None => question,
        };
        let answer = host.ask(&question);
        match &answer {
            // What it may have done shows at the next look.
            Err(Failure::Stopped { .. }) => return Err(Trouble::Stopped),
            Err(failure) => site.host_rest.note(failure),
            Ok(_) => {}
        }
        Ok(answer.map(|answer| answer.stdout))
    }

    fn push(&self) -> Result<Vec<Command>, Trouble> {
        let repo = self.order.repo()?;
        let (remote, branch, head) = (&self.settings.remote, &self.request.branch, &self.request.head);
        if self.order.is_request_of_run()
            && let Err(reason) = bring_run_branch(self.order, head)?
        {
            return Ok(self.waits(reason));
        }
        let there = match repo.remote_branch(remote, branch) {
            Ok(there) => there,
            Err(error) => return Ok(self.waits(format!("{remote} cannot be reached: {error}"))),
        };
        match request::push(self.request, there.as_ref()) {
            Push::Done => {}
            Push::Foreign { at } => {
                return Err(Trouble::Defect(format!(
                    "somebody pushed {} to `{branch}` on {remote}: Piton does not overwrite it",
                    at.short()
                )));
            }
            Push::Needed { expected } => {
                // Before the push: checks that a host begins for it may depend on what it is to be merged into.
                if let Err(reason) = self.bring_base()? {
                    return Ok(self.waits(reason));
                }
                if let Err(error) = repo.push_lfs(remote, head, &self.request.base) {
                    return Ok(self.waits(format!("files of git-lfs cannot be sent to {remote}: {error}")));
                }
                crash::point("request.before-push");
                if let Err(error) = repo.push_branch(remote, branch, head, expected.as_ref()) {
                    return Ok(self.waits(format!("`{branch}` cannot be pushed to {remote}: {error}")));
                }
            }
        }
        crash::point("request.pushed");
        Ok(self.moved(RequestFact::Pushed { head: head.clone() }))
    }

    /// The branch that the request is to be merged into: that of the one request it stands on, so that the host shows what is
    /// its own, and otherwise the target.
    fn base(&self) -> Result<&str, Trouble> {
        match (self.request.on.as_slice(), self.order.below.as_slice()) {
            ([_], [below]) => Ok(&below.branch),
            _ => self.order.target(),
        }
    }

    /// Have an open request merged into the branch it is for. `Err`: what it waits for.
    fn bring_base(&self) -> Result<Result<(), NotNow>, Trouble> {
        let Some(opened) = self.request.opened.as_ref().filter(|_| self.settings.stack) else {
            return Ok(Ok(()));
        };
        let (place, base) = (self.place()?, self.base()?);
        let now = match self.asked(&place, words::view(&place, opened.number), true)? {
            Ok(answer) => words::base(&place, &answer),
            Err(failure) => return Ok(Err(told(&failure))),
        };
        match now {
            Ok(Some(now)) if now != base => {}
            Ok(_) => return Ok(Ok(())),
            Err(reason) => return Ok(Err(reason)),
        }
        crash::point("request.before-base");
        let answer = self.asked(&place, words::change_base(&place, opened.number, base), false)?;
        crash::point("request.based");
        Ok(answer.map(drop).map_err(|failure| told(&failure)))
    }

    fn open(&self) -> Result<Vec<Command>, Trouble> {
        let place = self.place()?;
        let known = match self.asked(&place, words::list(&place, &self.request.branch), true)? {
            Ok(answer) => words::listed(&place, &answer),
            Err(failure) => return Ok(self.waits(told(&failure))),
        };
        let opened = match known {
            Ok(Some(opened)) => Some(opened),
            Ok(None) => {
                let target = self.base()?;
                let (title, body) = (words_of_title(self.order), words_of_body(self.order));
                let opening = Opening {
                    branch: &self.request.branch,
                    target,
                    title: &title,
                    body: &body,
                    draft: self.settings.draft,
                    labels: &self.settings.labels,
                };
                crash::point("request.before-open");
                match self.asked(&place, words::open(&place, &opening), false)? {
                    Ok(answer) => words::created(&answer),
                    // If it was opened all the same, the next look finds it.
                    Err(failure) => return Ok(self.waits(told(&failure))),
                }
            }
            Err(reason) => return Ok(self.waits(reason)),
        };
        crash::point("request.opened");
        Ok(match opened {
            Some(opened) => self.moved(RequestFact::Opened { number: opened.number, url: opened.url }),
            None => self.waits("the host did not say which request it opened".to_owned()),
        })
    }

    /// What the host says about the request now.
    fn seen(&self, place: &Place) -> Result<Result<Seen, NotNow>, Trouble> {
        let Some(opened) = &self.request.opened else {
            return Ok(Err("the request has no number".to_owned()));
        };
        let answer = match self.asked(place, words::view(place, opened.number), true)? {
            Ok(answer) => answer,
            Err(failure) => return Ok(Err(told(&failure))),
        };
        let mut seen = match words::seen(place, &answer) {
            Ok(seen) => seen,
            Err(reason) => return Ok(Err(reason)),
        };
        let ask = |ask| self.asked(place, ask, true);
        let enquiry = Enquiry { place, number: opened.number, ask: &ask };
        Ok(enquiry.complete(&mut seen, &answer)?.map(|()| seen).map_err(|failure| told(&failure)))
    }

    fn look(&self) -> Result<Vec<Command>, Trouble> {
        let place = self.place()?;
        match self.seen(&place)? {
            Ok(seen) => self.said(&place, seen),
            Err(reason) => Ok(self.waits(reason)),
        }
    }

    /// Report what the host says, with what else is needed to judge it.
    fn said(&self, place: &Place, mut seen: Seen) -> Result<Vec<Command>, Trouble> {
        let (order, now) = (self.order, clock::now());
        let ask = |ask| self.asked(place, ask, true);
        let number = self.request.opened.as_ref().map_or(0, |opened| opened.number);
        let enquiry = Enquiry { place, number, ask: &ask };
        let mut tip = None;
        let mut judged = request::judge(&self.settings, self.request, &seen, None, now);
        // Whose fault that is shows on the target.
        let is_red = judged != Judgement::Wait && !seen.red.is_empty() && seen.pending.is_empty();
        if judged == Judgement::LookAtTarget || is_red {
            let target = order.target()?;
            tip = match order.repo()?.remote_branch(&self.settings.remote, target) {
                Ok(tip) => tip,
                Err(error) => {
                    return Ok(self.waits(format!("{} cannot be reached: {error}", self.settings.remote)));
                }
            };
            if let (Some(tip), true) = (&tip, is_red) {
                let names = match enquiry.red_on_target(target, tip)? {
                    Ok(names) => names,
                    Err(failure) => return Ok(self.waits(told(&failure))),
                };
                let red = seen.red.iter().map(|check| check.name.clone());
                seen.red_on_target = red.filter(|name| names.contains(name)).collect();
            }
            judged = request::judge(&self.settings, self.request, &seen, tip.as_ref(), now);
        }
        let mut log = String::new();
        if let Judgement::SendBack { .. } = judged {
            enquiry.add_line_remarks(&mut seen)?;
            log = enquiry.log(&seen)?;
        }
        let (task, fence) = (order.task.id.clone(), order.fence());
        Ok(vec![Command::RequestSeen { task, fence, seen: Box::new(seen), log, tip }])
    }

    fn merge(&self) -> Result<Vec<Command>, Trouble> {
        let place = self.place()?;
        let seen = match self.seen(&place)? {
            Ok(seen) => seen,
            Err(reason) => return Ok(self.waits(reason)),
        };
        let head = self.request.head.clone();
        if seen.phase != Phase::Open || seen.head != head {
            return self.said(&place, seen);
        }
        let asked = |head| self.moved(RequestFact::MergeAsked { head });
        if seen.queued {
            return Ok(asked(head));
        }
        let Some(opened) = &self.request.opened else { return Ok(Vec::new()) };
        if let Err(reason) = self.bring_base()? {
            return Ok(self.waits(reason));
        }
        crash::point("request.before-merge");
        let ask = words::merge(&place, opened.number, &head, &self.settings);
        let answer = self.asked(&place, ask, false)?;
        crash::point("request.merged");
        match answer {
            Ok(_) => Ok(asked(head)),
            // Whether it happened shows at the next look.
            Err(failure) if failure.passes() => Ok(self.waits(told(&failure))),
            Err(failure) => match self.seen(&place)? {
                Ok(seen) if seen.phase != Phase::Open => self.said(&place, seen),
                _ => Ok(self.moved(RequestFact::MergeRefused { head, reason: failure.to_string() })),
            },
        }
    }

    fn take(&self) -> Result<Vec<Command>, Trouble> {
        let Some(commit) = self.request.merged.clone() else { return Ok(Vec::new()) };
        let repo = self.order.repo()?;
        // Commits of one's own do not hold up what is there already.
        let waits = bring_target(self.order)?.err();
        let is_here =
            repo.find_commit(commit.as_str())?.is_some() && repo.is_ancestor(&commit, &self.order.tip()?)?;
        if !is_here {
            return Ok(match waits {
                Some(reason) => self.waits(reason),
                None => self.moved(RequestFact::Missing { commit }),
            });
        }
        crash::point("request.taken");
        let (task, fence, tree) = (self.order.task.id.clone(), self.order.fence(), repo.tree_of(&commit)?);
        Ok(vec![Command::RequestLanded { task, fence, commit, tree }])
    }
}

fn words_of_title(order: &Order) -> String {
    let prefix = order.run.settings.commit_prefix.as_deref();
    match order.is_request_of_run() {
        true => words::title_of_run(&order.run.name, order.batch().as_deref(), prefix),
        false => words::title(&order.spec, prefix),
    }
}

fn words_of_body(order: &Order) -> String {
    let usual = || words::body(&order.spec, &order.run.id);
    match order.is_request_of_run() {
        true => (order.site.summary)().map_or_else(usual, |text| words::body_of_run(&text, &order.run.id)),
        false => {
            let below: Vec<&str> = order.below.iter().map(|below| below.name.as_str()).collect();
            words::stands_on(&below) + &usual()
        }
    }
}

fn told(failure: &Failure) -> String {
    match failure.hint() {
        Some(hint) => format!("{failure}; {hint}"),
        None => failure.to_string(),
    }
}
