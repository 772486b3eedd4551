//! An event in one line, as a log, a plain terminal and a page show it.

use super::counted;
use super::landing::some;
use super::request;
use crate::plan::TaskId;
use crate::run::line::ProofEnd;
use crate::run::{
    ASKED_BY, AgentEnd, CheckResult, Class, Event, Freshness, Holder, Next, Note, Proof, Reopening, Status,
    StopReason, Verdict, verdict, waits_for,
};
use crate::time::Timestamp;

/// How to feel about it: faces choose a colour or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Plain,
    Good,
    Warning,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub tone: Tone,
    pub text: String,
}

/// What happened, without the task's id and the time: those stand in columns of their own.
pub fn describe(event: &Event) -> Description {
    let (tone, text) = match event {
        Event::RunCreated { run, name, target, .. } => {
            let onto = target.as_ref().map(|branch| format!(", landing on {branch}")).unwrap_or_default();
            (Tone::Plain, format!("run {run} of the plan {name}{onto}"))
        }
        Event::PlanAdopted { .. } => (Tone::Plain, "adopted the plan as it is now".to_owned()),
        Event::SettingsAdopted { changed, .. } if changed.is_empty() => {
            (Tone::Plain, "adopted the settings as they are now".to_owned())
        }
        Event::SettingsAdopted { changed, .. } => {
            (Tone::Plain, format!("adopted changed settings: {}", changed.join(", ")))
        }
        Event::TaskAdded { spec, .. } => (Tone::Quiet, format!("planned: {}", spec.title)),
        Event::TaskChanged { spec, .. } => (Tone::Quiet, format!("planned again: {}", spec.title)),
        Event::TaskRemoved { .. } => (Tone::Quiet, "no longer in the plan".to_owned()),
        Event::EngineStarted { session, .. } => {
            (Tone::Plain, format!("engine started, {} at a time", session.max_parallel))
        }
        Event::EngineStopped { reason, skipped, .. } => stopped(reason, *skipped),
        Event::StopRequested { by, now } => {
            (Tone::Warning, format!("{by} asked to stop{}", if *now { " at once" } else { "" }))
        }
        Event::RunClosed { by, reason } if reason.is_empty() => (Tone::Warning, format!("closed by {by}")),
        Event::RunClosed { by, reason } => (Tone::Warning, format!("closed by {by}: {}", one_line(reason))),
        Event::AttemptStarted { attempt, holder, agent, instead_of, resumed, .. } => match holder {
            Holder::Engine => {
                let began = if *resumed { "resumed" } else { "started" };
                (
                    Tone::Plain,
                    format!("attempt {attempt} {began}{}", for_another(agent, instead_of.as_deref())),
                )
            }
            Holder::Ledger(name) if name == ASKED_BY => (Tone::Quiet, "its turn has come".to_owned()),
            Holder::Ledger(name) => (Tone::Plain, format!("attempt {attempt} started by {name}")),
        },
        Event::Marked { mark, .. } => match &mark.tip {
            Some(tip) => (Tone::Quiet, format!("begun at {}", tip.short())),
            None => (Tone::Quiet, "begun with the files as they were".to_owned()),
        },
        Event::HolderBound { process, .. } => (Tone::Quiet, format!("held as long as {process} lives")),
        Event::ClaimWaits { by, files, .. } => {
            (Tone::Warning, format!("reported done by {by}, and waits: {}", waits_for(files)))
        }
        Event::Released { reason, .. } => (Tone::Warning, format!("free again: {}", one_line(reason))),
        Event::WorktreeReady { base, .. } => (Tone::Quiet, format!("worktree ready on {}", base.short())),
        Event::AgentEnded { end, took, .. } => match end {
            AgentEnd::Done => (Tone::Quiet, format!("agent says done after {took}")),
            AgentEnd::Already { reason } => (
                Tone::Plain,
                format!("agent says after {took} that nothing had to change: {}", one_line(reason)),
            ),
            AgentEnd::Failed { .. } => (Tone::Quiet, format!("agent failed after {took}")),
            AgentEnd::Blocked { .. } => (Tone::Quiet, format!("agent says blocked after {took}")),
            AgentEnd::Transient { .. } => (Tone::Quiet, format!("agent was cut off after {took}")),
            AgentEnd::Limit { until, model, .. } => {
                (Tone::Warning, format!("usage limit{} until {until}", of_model(model.as_deref())))
            }
            AgentEnd::Refused { .. } => (Tone::Warning, "its provider rejected the agent's login".to_owned()),
            AgentEnd::Declined { reason } => {
                (Tone::Warning, format!("the model declined after {took}: {}", one_line(reason)))
            }
            AgentEnd::Unavailable { .. } => {
                (Tone::Warning, format!("the servers of its provider failed after {took}"))
            }
            AgentEnd::Stopped => (Tone::Quiet, format!("agent stopped after {took}")),
        },
        Event::ReviewerStarted { agent, .. } => {
            (Tone::Plain, format!("{agent} first tests whether its usage limit is over"))
        }
        Event::ReviewerEnded { agent, end, .. } => match end {
            AgentEnd::Limit { until, model, .. } => {
                let of = of_model(model.as_deref());
                (Tone::Warning, format!("{agent} gave no verdict: usage limit{of} until {until}"))
            }
            AgentEnd::Stopped => (Tone::Plain, format!("{agent} gave no verdict: stopped with the run")),
            AgentEnd::Blocked { reason }
            | AgentEnd::Transient { reason }
            | AgentEnd::Declined { reason }
            | AgentEnd::Unavailable { reason } => {
                (Tone::Warning, format!("{agent} gave no verdict: {}", one_line(reason)))
            }
            _ => (Tone::Warning, format!("{agent} gave no verdict: its provider rejected its login")),
        },
        Event::ProviderAsked { provider, end: None, .. } => (Tone::Good, format!("{provider} answers again")),
        Event::ProviderAsked { provider, end: Some(end), .. } => match end {
            AgentEnd::Limit { until, .. } => {
                (Tone::Warning, format!("{provider} answers with a usage limit until {until}"))
            }
            AgentEnd::Refused { reason } => {
                (Tone::Warning, format!("{provider} answers but rejects the login: {}", one_line(reason)))
            }
            AgentEnd::Unavailable { reason } | AgentEnd::Transient { reason } => {
                let asked = "and its agents do not start until it does";
                (Tone::Warning, format!("{provider} does not answer, {asked}: {}", one_line(reason)))
            }
            _ => (Tone::Warning, format!("{provider} does not answer")),
        },
        Event::ProviderUnparked { provider, by } => {
            (Tone::Plain, format!("{by} allowed agents of {provider} to start again"))
        }
        Event::WorkCaptured { work, .. } => match &work.commit {
            Some(commit) if work.changed => (Tone::Quiet, format!("work is commit {}", commit.short())),
            _ if work.changed => (Tone::Quiet, "work is in place".to_owned()),
            _ => (Tone::Quiet, "nothing changed".to_owned()),
        },
        Event::ConfirmationStarted { agent, instead_of, .. } => {
            let who = for_another(agent, instead_of.as_deref());
            (Tone::Plain, format!("a fresh agent looks for what is left{who}"))
        }
        Event::VerificationStarted { lands: true, .. } => {
            (Tone::Quiet, "waits for its checks where it is to land".to_owned())
        }
        Event::VerificationStarted { lands: false, .. } => (Tone::Quiet, "checks started".to_owned()),
        Event::ChecksEnded { results, .. } => {
            let passed = results.iter().filter(|r| r.verdict == Verdict::Pass).count();
            let tests = verdict::tests(results).map(|tests| format!(" (tests: {tests})")).unwrap_or_default();
            let noticed: Vec<String> = results.iter().filter_map(noticed).collect();
            let tone = if noticed.is_empty() { Tone::Quiet } else { Tone::Warning };
            let fresh = results
                .iter()
                .filter(|r| r.verdict == Verdict::Pass && r.ran == Some(Freshness::Fresh))
                .count();
            let fresh =
                if fresh > 0 { format!(", {fresh} on what a fresh clone has") } else { String::new() };
            let told = format!("{passed} of {} checks passed{tests}{fresh}", results.len() - noticed.len());
            (tone, [told].into_iter().chain(noticed).collect::<Vec<_>>().join("; "))
        }
        Event::Verified { .. } => (Tone::Plain, "verified, waits to land".to_owned()),
        Event::Failed { class, reason, next, .. } => failed(*class, reason, next),
        Event::ProofBegan { chain, .. } => {
            (Tone::Quiet, format!("checks of {} started where it is to land", some(chain)))
        }
        Event::ProofEnded { end, .. } => match end {
            ProofEnd::Passed { .. } => (Tone::Quiet, "they passed, and wait to land".to_owned()),
            ProofEnd::Red { reason, .. } => {
                (Tone::Plain, format!("not all can land together, so fewer are checked at once: {reason}"))
            }
            ProofEnd::NotHere { reason } => {
                (Tone::Quiet, format!("not to be merged, so the work is checked by itself: {reason}"))
            }
            ProofEnd::Conflict { task, files } => {
                let files = files.join(", ");
                (Tone::Plain, format!("{task} conflicts with one that lands before it, in {files}"))
            }
            ProofEnd::Dropped { reason } => (Tone::Quiet, format!("they start over: {}", one_line(reason))),
        },
        Event::LandingPrepared { intent, before, .. } => {
            let with: Vec<TaskId> = before.iter().map(|carried| carried.task.clone()).collect();
            let with = if with.is_empty() { String::new() } else { format!(" with {}", some(&with)) };
            (Tone::Quiet, format!("landing as {}{with}", intent.candidate.short()))
        }
        Event::LandingReturned { reason, .. } => (Tone::Warning, format!("landing starts over: {reason}")),
        Event::LandingWaits { reason, .. } => (Tone::Warning, format!("landing waits: {reason}")),
        Event::Request { fact, .. } => request::describe(fact),
        Event::Completed { proof, .. } => match proof {
            Proof::Landed { commit, .. } => (Tone::Good, format!("landed as {}", commit.short())),
            Proof::Checked { already: Some(reason), .. } => {
                (Tone::Good, format!("completed, nothing had to change: {}", one_line(reason)))
            }
            Proof::Checked { .. } => (Tone::Good, "completed, its checks passed".to_owned()),
            Proof::Work { commits, .. } => match commits.last() {
                Some(commit) => {
                    (Tone::Good, format!("completed by commit {}, without a check", commit.short()))
                }
                None => (Tone::Good, "completed, its files have changed; without a check".to_owned()),
            },
            Proof::Reported => (Tone::Good, "completed as reported, not proven".to_owned()),
        },
        Event::CleanedUp { .. } => (Tone::Quiet, "worktree removed".to_owned()),
        Event::CleanupRefused { reason, .. } => (Tone::Warning, format!("worktree kept: {reason}")),
        Event::Rescued { reference, .. } => (Tone::Plain, format!("uncommitted work kept as {reference}")),
        Event::Reported { by, report, .. } => {
            let note =
                if report.note.is_empty() { String::new() } else { format!(": {}", one_line(&report.note)) };
            (Tone::Plain, format!("report by {by}{note}"))
        }
        Event::Retried { by, .. } => (Tone::Plain, format!("{by} asked to retry it")),
        Event::Reset { by, .. } => (Tone::Plain, format!("reset by {by}")),
        Event::Skipped { by, reason, .. } => {
            let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
            (Tone::Warning, format!("skipped by {by}{why}"))
        }
        Event::Unblocked { by, .. } => (Tone::Plain, format!("unblocked by {by}")),
        Event::Answered { by, text, .. } => (Tone::Plain, format!("answered by {by}: {}", one_line(text))),
        Event::CommentsSent { by, comments, follow_up, .. } => {
            let what = counted(comments.len() as u64, "comment");
            let to = follow_up.as_ref().map(|task| format!(", as {task}")).unwrap_or_default();
            (Tone::Plain, format!("{by} sent {what} on its work{to}"))
        }
        Event::Adopted { by, past, .. } => {
            let spent = match past.spent {
                0 => String::new(),
                spent => format!(" {}", super::after_attempts(spent)),
            };
            let reason =
                past.failure().filter(|_| past.status != Status::Completed && past.status != Status::Pending);
            let why = reason.map(|(reason, _)| format!(": {}", one_line(&reason))).unwrap_or_default();
            (Tone::Plain, format!("taken over from {by}: {}{spent}{why}", past.status))
        }
        Event::OutsideSeen { need, done, .. } => match done {
            true => (Tone::Plain, format!("{need}, which it waits for, is completed")),
            false => (Tone::Warning, format!("{need}, which it waits for, is no longer completed")),
        },
        Event::GivenUp { by, reason, .. } => {
            let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
            (Tone::Bad, format!("abandoned by {by}{why}"))
        }
        Event::Reopened { reason, was, .. } => {
            let why = match reason {
                Reopening::Content { .. } => "the plan has another task under this id now".to_owned(),
                Reopening::Checks => "its checks have changed".to_owned(),
                Reopening::Rejudged => "the checks of its work have changed".to_owned(),
                Reopening::Stale { reason } => one_line(reason).to_owned(),
            };
            let before =
                if was.is_some() { "completed before, and open again" } else { "will be checked again" };
            (Tone::Warning, format!("{before}: {why}"))
        }
        Event::Raised { by, attempts, .. } => (Tone::Plain, format!("{by} allowed {attempts} attempts")),
        Event::Noted { by, note } => match note {
            Note::Guardrail { text } => (Tone::Plain, format!("guardrail by {by}: {}", one_line(text))),
            Note::GuardrailRemoved { text } => {
                (Tone::Plain, format!("guardrail removed by {by}: {}", one_line(text)))
            }
            Note::Entry { text, .. } => (Tone::Plain, format!("note by {by}: {}", one_line(text))),
            Note::Told { report, .. } => {
                let said = [&report.note, &report.feedback].into_iter().find(|text| !text.is_empty());
                let commits = || counted(report.commits.len() as u64, "commit");
                (
                    Tone::Plain,
                    format!(
                        "report by {by}: {}",
                        said.map_or_else(commits, |text| one_line(text).to_owned())
                    ),
                )
            }
            Note::Errors { errors, .. } => {
                let said: Vec<&str> = errors.iter().map(|error| one_line(&error.message)).collect();
                (Tone::Plain, format!("errors noted by {by}: {}", said.join("; ")))
            }
            Note::Carried { file, .. } => (Tone::Quiet, format!("{file} keeps fields of {by}")),
            Note::Spent { agent, used, estimate, .. } => {
                (Tone::Quiet, format!("{agent} used {}", super::used_in_all(used.as_ref(), estimate)))
            }
            Note::ConflictsAhead { conflicts, .. } => match conflicts.is_empty() {
                true => (Tone::Quiet, "no conflict is coming any more".to_owned()),
                false => {
                    (Tone::Warning, format!("a conflict is coming: {}", super::conflicts_ahead(conflicts)))
                }
            },
            Note::Commented { comment, .. } => {
                (Tone::Plain, format!("{by} on {}: {}", comment.shown_place(), one_line(&comment.text)))
            }
            Note::CommentDropped { comment, .. } => {
                (Tone::Quiet, format!("{by} took back the comment {comment}"))
            }
            Note::Seen { items, over } => {
                let keys = |items: &[String]| items.join(", ");
                let failed = super::notice::keys_not_sent(items).filter(|_| !items.is_empty());
                let told = match (by.strip_prefix(super::NOTIFIER), failed) {
                    _ if items.is_empty() => {
                        let over: Vec<&str> = super::notice::keys_alone(over).into_iter().collect();
                        format!("no longer waits: {}", over.join(", "))
                    }
                    (Some(channel), Some(failed)) => {
                        format!(
                            "could not notify you ({channel}) of {}, and will try again",
                            failed.join(", ")
                        )
                    }
                    (Some(channel), None) => format!("notified you ({channel}) of {}", keys(items)),
                    (None, _) => format!("{by} has seen what waits: {}", keys(items)),
                };
                (Tone::Quiet, told)
            }
            Note::ChecksRan { runs, .. } => {
                let ran = counted(runs.iter().map(|run| u64::from(run.runs)).sum(), "check run");
                let flaked: Vec<&str> =
                    runs.iter().filter(|run| run.flaked).map(|run| run.name.as_str()).collect();
                match flaked.is_empty() {
                    true => (Tone::Quiet, ran),
                    false => (
                        Tone::Warning,
                        format!("{ran}; red, then passed on the same tree: {}", flaked.join(", ")),
                    ),
                }
            }
            Note::Began { began } => (Tone::Quiet, format!("{by} reported that it began at {began}")),
            Note::Heard { file, edit, .. } => (Tone::Plain, format!("edited in {file}: {}", one_line(edit))),
            Note::PlanUnreadable { reason } => {
                let reason = one_line(reason);
                (
                    Tone::Warning,
                    format!("the changed plan cannot be read, so the run continues without it: {reason}"),
                )
            }
            Note::EditRefused { file, edit, reason, .. } => {
                (Tone::Warning, format!("rejected an edit of {file}: {}: {reason}", one_line(edit)))
            }
        },
        Event::ContextUpdated { update } => match &update.commit {
            Some(commit) => (Tone::Good, format!("updated the project's description as {}", commit.short())),
            None => (Tone::Quiet, format!("the project's description stays as it is: {}", update.skipped)),
        },
        Event::LandingLost { commit, reason, .. } => {
            (Tone::Bad, format!("no longer landed as {}: {reason}", commit.short()))
        }
        Event::LandingFound { commit, reason, .. } => {
            (Tone::Good, format!("found landed as {}: {reason}", commit.short()))
        }
    };
    Description { tone, text }
}

fn stopped(reason: &StopReason, skipped: u32) -> (Tone, String) {
    match reason {
        StopReason::Completed if skipped > 0 => (Tone::Good, format!("completed, {skipped} skipped")),
        StopReason::Completed => (Tone::Good, "every task is completed".to_owned()),
        StopReason::Filter => (Tone::Good, "what was selected is completed".to_owned()),
        StopReason::Ended => (Tone::Bad, "nothing more can be done: some work is not finished".to_owned()),
        StopReason::Person => (Tone::Warning, "stopped on request".to_owned()),
        StopReason::LandingWaits { detail } => {
            (Tone::Warning, format!("stopped because landing waits: {detail}"))
        }
        StopReason::PlanChanged { detail } => {
            (Tone::Bad, format!("stopped because the plan changed: {}", one_line(detail)))
        }
        StopReason::Elsewhere { detail } | StopReason::Siblings { detail } => {
            (Tone::Warning, format!("stopped: {detail}"))
        }
        StopReason::Budget { detail } => (Tone::Plain, format!("stopped: {detail}")),
        StopReason::Environment { detail } => (Tone::Bad, format!("stopped: {detail}")),
    }
}

fn failed(class: Class, reason: &str, next: &Next) -> (Tone, String) {
    let reason = one_line(reason);
    let what = match class {
        Class::Code => format!("failed: {reason}"),
        Class::Conflict => format!("could not land: {reason}"),
        Class::Transient => format!("cut off: {reason}"),
        Class::Limit => format!("limit: {reason}"),
        Class::Defect => format!("needs a person: {reason}"),
        Class::SentBack => format!("sent back: {reason}"),
        Class::Stopped => return (Tone::Plain, "paused until the run resumes".to_owned()),
    };
    match next {
        Next::Again { not_before: None } => (Tone::Warning, what),
        Next::Again { not_before: Some(Timestamp(_)) } => {
            (Tone::Warning, format!("{what}; will be retried after a pause"))
        }
        Next::Abandoned => (Tone::Bad, format!("{what}; abandoned")),
        Next::Skipped => (Tone::Bad, format!("{what}; the run continues without it")),
        Next::Blocked if class == Class::Defect => (Tone::Bad, what),
        Next::Blocked => (Tone::Bad, format!("{what}; blocked")),
    }
}

/// Which agent stands in for which, if one does.
fn for_another(agent: &str, meant: Option<&str>) -> String {
    meant.map(|meant| format!(" by {agent}, in place of {meant}")).unwrap_or_default()
}

fn of_model(model: Option<&str>) -> String {
    model.map(|model| format!(" of {model}")).unwrap_or_default()
}

fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What a person should know although it holds nothing up.
fn noticed(result: &CheckResult) -> Option<String> {
    match &result.verdict {
        Verdict::Noticed { reason } => Some(format!("{}: {reason}", result.name)),
        _ => None,
    }
}
