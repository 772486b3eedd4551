//! Whether tasks can land by requests here: the remote, its host, and what that allows.

use piton_core::host::request;
use piton_core::plan::Requests;
use piton_engine::drive::place_of_requests;
use piton_engine::git::Repo;
use piton_engine::host::{Host, Question};

use crate::failure::{Failure, Outcome};

/// Everything that the first request would fail for, asked before any work is paid for. `target`: the branch that work lands
/// on.
pub(crate) fn check(requests: &Requests, repo: &Repo, target: &str) -> Outcome {
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
        Some(_) => Ok(()),
        None => {
            let failure =
                Failure::new(format!("{remote} has no branch `{target}` that requests could be for"));
            Err(failure.hint(format!("git push {remote} {target}")))
        }
    }
}
