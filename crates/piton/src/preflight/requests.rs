//! Whether tasks can land by requests here: the remote, its host, and what that allows.

use piton_core::host::demands::{Demands, Lack, parts};
use piton_core::host::request;
use piton_core::host::{Failure as HostFailure, Kind};
use piton_core::plan::Requests;
use piton_engine::drive::place_of_requests;
use piton_engine::git::Repo;
use piton_engine::host::{Host, Question};

use crate::failure::{Failure, Outcome};

/// Everything that the first request would fail for, asked before any work is paid for. `target`: the branch that work lands
/// on. Returns what each request will wait for.
pub(super) fn look(requests: &Requests, repo: &Repo, target: &str) -> Outcome<Vec<Failure>> {
    let remote = &requests.remote;
    let place = place_of_requests(repo, remote).map_err(|why| {
        let failure = Failure::new(format!("tasks cannot land by requests: {why}"));
        failure.hint("git remote -v   lists the remotes; --remote names another one")
    })?;
    let host = Host::new(place.clone(), repo.top());
    let asked = host.ask(&Question::read(request::repository(&place).words));
    let answer = asked.map_err(|failure| {
        let told = Failure::new(format!("tasks cannot land by requests: {failure}"));
        failure.hint().into_iter().fold(told, Failure::hint)
    })?;
    request::allows(&place, &answer.stdout, requests).map_err(|why| {
        Failure::new(format!("tasks cannot land by requests at {}: {why}", place.full_name()))
    })?;
    match repo.remote_branch(remote, target)? {
        Some(_) => {
            if let Some(tip) = repo.branch_tip(target)?
                && repo.uses_lfs(&tip)?
                && !repo.has_lfs()?
            {
                let failure = Failure::new(
                    "this repository keeps files in git-lfs, which is not installed: they could not be sent along",
                );
                return Err(failure.hint("install it from https://git-lfs.com"));
            }
        }
        None => {
            let failure =
                Failure::new(format!("{remote} has no branch `{target}` that requests could be for"));
            return Err(failure.hint(format!("git push {remote} {target}")));
        }
    }
    demands(requests, repo, target, &host)
}

/// What the rules of the branch ask for beyond what the run gives.
fn demands(requests: &Requests, repo: &Repo, target: &str, host: &Host) -> Outcome<Vec<Failure>> {
    let place = host.place();
    let (mut demands, mut unseen) = (Demands::default(), false);
    for (part, ask) in parts(place, target) {
        unseen |= match host.ask(&Question::read(ask.words)) {
            Ok(answer) => demands.read(part, &answer.stdout).is_err(),
            // A GitLab without such rules has no page for them.
            Err(HostFailure::NotFound { .. }) => place.kind == Kind::GitHub,
            Err(_) => true,
        };
    }
    let mut findings = Vec::new();
    if unseen {
        findings.push(Failure::new(format!(
            "{} does not show all rules of `{target}`: what they ask for shows at the first request",
            place.full_name()
        )));
    }
    for lack in demands.lacks(target, requests, repo.signs()?) {
        match lack {
            Lack::Stops { reason, hint } => {
                let failure =
                    Failure::new(format!("requests cannot be merged at {}: {reason}", place.full_name()));
                return Err(failure.hint(hint));
            }
            Lack::Waits(reason) => findings.push(Failure::new(reason)),
        }
    }
    Ok(findings)
}
