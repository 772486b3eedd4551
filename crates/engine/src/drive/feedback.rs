//! The feedback writer: an agent that reads what failed checks printed and what was changed, and writes advice for the
//! next try. It is optional: only the failure it is about waits for it.

use std::fs;

use piton_core::plan::{Agent, Oid};
use piton_core::prompt::{self, feedback_writer};
use piton_core::run::{self, CheckResult, Command, Note, Report, Verdict, verdict};
use piton_core::time::Span;

use super::budget;
use super::order::{Order, Trouble};
use crate::check_worktrees::Kind;
use crate::keeper::Ended;
use crate::{agent, checks, clock, crash, environment, sandbox, secrets};

/// No agent gets longer than this to think about one failure while a task waits for it.
const LONGEST: Span = Span::minutes(15);
/// Longer advice is not useful, and a prompt has no room for it.
const MOST_WORDS: usize = 8 * 1024;
/// Several times what the prompt shows of it.
const MOST_DIFF: usize = 256 * 1024;

/// What the writer has to say about these results. Nothing, if none is asked for.
pub(super) fn written(order: &Order, commit: &Oid, results: &[CheckResult]) -> Result<Vec<Command>, Trouble> {
    let Some(name) = order.run.settings.feedback.as_deref().filter(|_| is_of_use(order, results)) else {
        return Ok(Vec::new());
    };
    let client = order.run.settings.agents.get(name);
    let undefined = || Trouble::Defect(format!("the agent `{name}` is not defined"));
    let asked = client.ok_or_else(undefined).and_then(|client| ask(order, (name, client), commit, results));
    crash::point("feedback.ended");
    let (by, task) = (feedback_writer(name), order.task.id.clone());
    let mut told = Vec::new();
    let words = match asked {
        Ok((heard, ended)) => {
            let words = words(&heard, &ended);
            let cut = heard.outage_of_any();
            let (task, agent) = (task.clone(), name.to_owned());
            told.extend(cut.map(|end| Command::HelperCut { task, agent, end }));
            words
        }
        Err(trouble) => Err(trouble.to_string()),
    };
    let note = match words {
        Ok(feedback) => {
            let report = Box::new(Report { feedback, ..Report::default() });
            Command::Note { by, note: Note::Told { task, report } }
        }
        Err(reason) => {
            let text = format!("{by} did not help: {reason}");
            Command::Note {
                by: "Piton".to_owned(),
                note: Note::Entry { task: Some(task), text, for_next: false },
            }
        }
    };
    Ok([note].into_iter().chain(told).collect())
}

/// Whether an agent will fix it, and will read the advice.
fn is_of_use(order: &Order, results: &[CheckResult]) -> bool {
    let task = &order.task;
    let last = task.spent + 1 + task.progress.reworked >= task.budget;
    let impossible = results.iter().any(|result| matches!(result.verdict, Verdict::Impossible { .. }));
    let told = order.run.settings.policy().tells_failures;
    verdict::reason(results).is_some() && !last && !impossible && told
}

/// Run it, or find that it ran.
fn ask(
    order: &Order,
    (name, client): (&str, &Agent),
    commit: &Oid,
    results: &[CheckResult],
) -> Result<(agent::Heard, Ended), Trouble> {
    let tree = order.tree()?;
    let job = order.job(&format!("feedback.{}", tree.short()));
    // Advice is not worth a stand-in, or a test whether a limit is over.
    if !job.is_begun()? && !run::is_free(&order.run, name, clock::now()) {
        return Err(Trouble::Out(format!("the provider of `{name}` does not accept agents now")));
    }
    let text = match fs::read_to_string(job.dir().join("prompt.md")) {
        // As an engine before this one wrote it.
        Ok(text) => text,
        Err(_) => prompt_of(order, tree, results)?,
    };
    let fenced = order.guard().is_in_force();
    if !job.is_begun()?
        && let Some(bound) = budget::spent(order)
    {
        return Err(Trouble::Transient(budget::words(&bound)));
    }
    let client = &budget::held(client, order);
    // It runs where reviewers work: whatever it does there has no effect on any command.
    let dir = order.worktree_dir()?;
    let mut lease = order.pool(&dir)?.take(Kind::Review, commit, job.is_begun()?.then_some(&job))?;
    if !lease.was_last(&job) {
        lease.make_exact(commit)?;
        lease.begin(&job)?;
    }
    let mut spec = checks::review(client, &text, &job, lease.path(), fenced)?;
    spec.env.extend(agent::environment(&order.run.id, &order.task.id, order.task.attempt));
    spec.env_remove = environment::not_inherited().map(str::to_owned).collect();
    spec.wall_ms = Some(LONGEST.min(order.spec.timeout).0);
    order.guard().enclose(client, &mut spec, &job, lease.path())?;
    if !order.running.begin(&job, Some(name)) {
        return Err(Trouble::Stopped);
    }
    let outcome = job.run(&spec, &order.site.keeper)?;
    sandbox::clear(&job);
    if let Some(bound) = budget::over(&job).filter(|_| outcome.ended == Ended::Stopped) {
        return Err(Trouble::Transient(budget::words(&bound)));
    }
    let client = &agent::as_begun(&job, Some(client)).unwrap_or_default();
    Ok((agent::hear(client, &job, None, &outcome, MOST_WORDS)?, outcome.ended))
}

/// The advice that is passed on, or why there is none.
fn words(heard: &agent::Heard, ended: &Ended) -> Result<String, String> {
    match (heard.no_verdict(), ended) {
        (Some(Verdict::Broken { reason } | Verdict::Impossible { reason }), _) => return Err(reason),
        (_, Ended::Exited { code: 0 }) => {}
        (_, Ended::Exited { code }) => return Err(format!("it ended with exit status {code}")),
        (_, Ended::Stopped) => return Err(Trouble::Stopped.to_string()),
        (_, Ended::WallClock) => return Err("it took too long".to_owned()),
        (_, Ended::NotStarted { reason }) => return Err(format!("it could not be started: {reason}")),
        (_, _) => return Err("it was cut off".to_owned()),
    }
    let words = verdict::excerpt(heard.said.trim(), MOST_WORDS);
    if words.is_empty() { Err("it said nothing".to_owned()) } else { Ok(words.to_owned()) }
}

fn prompt_of(order: &Order, tree: &Oid, results: &[CheckResult]) -> Result<String, Trouble> {
    let base = order.task.progress.base.as_ref();
    let repo = order.repo()?;
    // Without it the output alone is still worth a look.
    let diff = base.and_then(|base| repo.diff_text(base, tree, &[], MOST_DIFF).ok()).unwrap_or_default();
    let clean = secrets::redactor().bytes(diff.text.as_bytes());
    let diff = String::from_utf8_lossy(&clean);
    let failed = verdict::feedback(results);
    prompt::of_feedback(&order.site.prompts, &order.spec, order.task.attempt, &failed, &diff)
        .map_err(|broken| Trouble::Defect(broken.to_string()))
}
