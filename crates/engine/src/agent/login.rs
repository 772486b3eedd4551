//! Whether a client is logged in, as it says itself. No model is asked.

use camino::Utf8Path;
use piton_core::plan::Agent;
use piton_core::terminal::clean_text;
use piton_core::time::Span;

use super::machine::Here;
use crate::keeper::{Ended, Job, JobSpec};

/// Longer than any client takes to look at its own files.
const ANSWER: Span = Span::seconds(20);

/// The name of the job that asks a client whether it is logged in.
pub(super) const LOGIN_JOB: &str = "login";

/// The command that logs in a client that reports itself as logged out. `None` if it is logged in, or if Piton cannot
/// know: the client has no such question, `program` names another program, or the client uses a provider of your own.
/// The client is asked in `folder`, which is used for nothing else.
pub fn login_command(agent: &Agent, folder: &Utf8Path, keeper: &[String]) -> Option<&'static str> {
    let login = agent.adapter.login()?;
    let here = Here { added: &agent.env, cwd: folder };
    if agent.program.is_some() || agent.adapter.has_another_way_in(agent, &here) {
        return None;
    }
    let question = [agent.adapter.name()].into_iter().chain(login.question.iter().copied());
    let mut spec = JobSpec::new(question, folder);
    spec.env = agent.env.clone();
    spec.wall_ms = Some(ANSWER.0);
    let job = Job::at(folder.join(LOGIN_JOB));
    let outcome = job.run(&spec, keeper).ok()?;
    let Ended::Exited { code: 1.. } = outcome.ended else { return None };
    let said = clean_text(&job.output().tail(16 * 1024).unwrap_or_default());
    (login.says_logged_out)(&said).then_some(login.command)
}

/// The command that logs in a client that cannot be asked, if Piton finds no sign that it is logged in. The client may
/// know another way to log in, so this does not prove that it is logged out.
pub fn login_unseen(agent: &Agent, root: &Utf8Path) -> Option<&'static str> {
    if agent.program.is_some() {
        return None;
    }
    agent.adapter.unseen_login(agent, root.as_str(), &Here { added: &agent.env, cwd: root })
}
