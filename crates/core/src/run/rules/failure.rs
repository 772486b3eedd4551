//! What failures cost and lead to.

use super::Rules;
use crate::plan::{Exhausted, Oid, Settings, TaskId};
use crate::run::closing::Asks;
use crate::run::ending::{ALSO_ASKED, ASKED, DENIED, IDLE, NO_WHY};
use crate::run::event::{AgentEnd, CheckResult, Class, Event, Next, Verdict};
use crate::run::overload::is_known;
use crate::run::pointers::Pointers;
use crate::run::provider::LONGEST_LIMIT;
use crate::run::task::Task;
use crate::run::usage::task_over_budget;
use crate::run::verdict;
use crate::time::Span;

impl Rules<'_> {
    /// The end of an agent, with its dates corrected. A limit that is reported as over would be met again at once, and
    /// one far in the future cannot be true.
    pub(super) fn believed(&self, end: &AgentEnd) -> AgentEnd {
        match end {
            AgentEnd::Limit { reason, until, model } => {
                let soonest = self.now.plus(self.run.settings.backoff.max(Span::seconds(1)));
                let until = (*until).max(soonest).min(self.now.plus(LONGEST_LIMIT));
                AgentEnd::Limit { reason: reason.clone(), until, model: model.clone() }
            }
            end => end.clone(),
        }
    }

    pub(super) fn agent_failure(&self, task: &Task, agent: &str, end: &AgentEnd) -> Option<Event> {
        let behind = task.progress.behind.clone();
        let failure =
            |class, reason: &str, feedback: &str| Some(self.failure(task, class, reason, feedback, behind));
        match end {
            AgentEnd::Done => None,
            AgentEnd::Already { reason } if !reason.trim().is_empty() => None,
            AgentEnd::Already { .. } => failure(Class::Code, NO_WHY, &how_to_say_already(&task.id)),
            AgentEnd::Failed { reason, feedback } => failure(Class::Code, reason, feedback),
            AgentEnd::Blocked { reason } => failure(Class::Defect, reason, ""),
            AgentEnd::Transient { reason } => failure(Class::Transient, reason, ""),
            AgentEnd::Declined { reason } if task.progress.declined => {
                let reason = format!("the model declined twice, in two conversations: {reason}");
                failure(Class::Defect, &reason, "")
            }
            AgentEnd::Declined { reason } => failure(Class::Transient, reason, ""),
            // If the provider is known to be the cause, this costs the task nothing.
            AgentEnd::Unavailable { reason } => {
                let known = is_known(self.run, self.run.provider(agent), &task.id);
                failure(if known { Class::Limit } else { Class::Transient }, reason, "")
            }
            AgentEnd::Limit { reason, .. } | AgentEnd::Refused { reason } => {
                failure(Class::Limit, reason, "")
            }
            AgentEnd::Stopped => failure(Class::Stopped, "stopped with the run", ""),
        }
    }

    /// What a failure costs and leads to: the one place where attempts are spent.
    pub(super) fn failure(
        &self,
        task: &Task,
        class: Class,
        reason: &str,
        feedback: &str,
        behind: Option<Oid>,
    ) -> Event {
        let again = Next::Again { not_before: None };
        let skips = task.may_fail || self.run.settings.exhausted == Exhausted::Skip;
        let spent = if skips { Next::Skipped } else { Next::Abandoned };
        let over = task_over_budget(self.run, task);
        let next = match class {
            Class::Code if task.spent + 1 + task.progress.reworked >= task.budget => spent,
            Class::Conflict if task.conflicts + 1 > Settings::CONFLICTS => spent,
            // The task is not to blame, so it is not abandoned: a person looks at the agent.
            Class::Transient if task.transient + 1 > Settings::TRANSIENT_TRIES => Next::Blocked,
            Class::Transient => {
                let pause = self.run.settings.backoff.0.saturating_mul(4_u64.saturating_pow(task.transient));
                let pause = Span(pause).min(Settings::LONGEST_PAUSE);
                Next::Again { not_before: Some(self.now.plus(scattered(pause, task))) }
            }
            Class::Defect if task.may_fail && !task.by_person => Next::Skipped,
            Class::Code | Class::Conflict | Class::Limit if over.is_some() => Next::Blocked,
            Class::Defect => Next::Blocked,
            Class::Code | Class::Conflict | Class::Limit | Class::Stopped | Class::SentBack => again,
        };
        Event::Failed {
            task: task.id.clone(),
            fence: task.fence,
            class,
            reason: match over.filter(|_| next == Next::Blocked && class != Class::Defect) {
                Some(over) => format!("{reason}; and the budget of the task is spent: {over}"),
                None => reason.to_owned(),
            },
            feedback: feedback.to_owned(),
            next,
            behind,
            pointers: Box::default(),
        }
    }

    /// The failure of an agent that changed nothing, although its task asks for a change.
    pub(super) fn idle(&self, task: &Task) -> Event {
        let behind = task.progress.behind.clone();
        match &task.progress.asks {
            None => {
                let already = how_to_say_already(&task.id);
                let feedback = format!("Your last attempt ended without changing any file.\n{already}");
                self.failure(task, Class::Code, IDLE, &feedback, behind)
            }
            // The next try would not be let do it either.
            Some(Asks::Permission { denied }) => {
                let reason = format!("{DENIED}{denied}");
                self.failure(task, Class::Defect, &reason, "", behind)
            }
            Some(Asks::Question { text }) => {
                let reason = format!("{ASKED}{text}");
                let mut failed = self.failure(task, Class::Code, &reason, &decide_yourself(text), behind);
                // It can continue as soon as a person answers.
                if let Event::Failed { next: next @ Next::Abandoned, .. } = &mut failed {
                    *next = Next::Blocked;
                }
                failed
            }
        }
    }

    /// The failure that checks amount to, if not all of them passed.
    pub(super) fn not_passed(&self, task: &Task, results: &[CheckResult]) -> Option<Event> {
        if let Some(impossible) = results.iter().find(|r| matches!(r.verdict, Verdict::Impossible { .. })) {
            let reason = verdict::reason(std::slice::from_ref(impossible)).unwrap_or_default();
            return Some(self.failure(task, Class::Defect, &reason, "", None));
        }
        let reason = verdict::reason(results)?;
        // A reviewer gave no verdict. That says nothing about the work, and costs no attempt.
        let is_silent = |result: &CheckResult| {
            matches!(result.verdict, Verdict::Broken { .. }) && task.reviews.contains(&result.check)
        };
        if results.iter().filter(|result| !result.verdict.lets_pass()).all(is_silent) {
            return Some(self.failure(task, Class::Transient, &reason, "", task.progress.behind.clone()));
        }
        let feedback = verdict::feedback(results);
        let failed = match &task.progress.asks {
            Some(Asks::Question { text }) => {
                let (reason, feedback) =
                    (format!("{reason}{ALSO_ASKED}{text}"), format!("{}\n{feedback}", decide_yourself(text)));
                // The question may only have been polite, so no person is asked: this is an ordinary failure.
                self.failure(task, Class::Code, &reason, &feedback, None)
            }
            Some(Asks::Permission { .. }) | None => self.failure(task, Class::Code, &reason, &feedback, None),
        };
        let mut failed = pointing_to(failed, &Pointers::to_logs(results));
        // A reviewer may reject a unit only so often before a person is asked. The review of the whole has a budget of
        // its own.
        let most = self.run.settings.policy().max_rejections.filter(|_| !task.check_first);
        let rejected = results.iter().any(|result| matches!(result.verdict, Verdict::Rejected { .. }));
        if let Event::Failed { next: next @ Next::Again { .. }, reason, .. } = &mut failed
            && let Some(most) = most
            && rejected
            && task.progress.rejections + 1 >= most
        {
            *next = Next::Blocked;
            *reason += &format!("; it has found gaps {most} times");
        }
        Some(failed)
    }
}

/// The same failure, with what the next try is pointed to.
pub(super) fn pointing_to(mut failed: Event, to: &Pointers) -> Event {
    if let Event::Failed { pointers, .. } = &mut failed {
        **pointers = to.clone();
    }
    failed
}

/// The feedback for an agent that changed nothing: then only its explicit word can complete the task.
fn how_to_say_already(task: &TaskId) -> String {
    format!(
        "If everything was already as the task asks, say so and why: end with the line\n\
         `<signal>{task}_ALREADY:why</signal>`, or run `piton report {task} already --reason WHY`.\n"
    )
}

/// What the next prompt says if the agent ended with a question.
fn decide_yourself(question: &str) -> String {
    format!(
        "Your last attempt ended with a question: {question}\n\
         Nobody answers while you work. Decide it yourself and do the task. Only if a person has to decide, end with the line\n\
         `<signal>BLOCKED:the question</signal>`.\n"
    )
}

/// Up to a quarter shorter, each task differently, so that tasks that failed together do not all retry at once. Without
/// randomness, so that the same journal gives the same state.
fn scattered(pause: Span, task: &Task) -> Span {
    let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = task.id.as_str().bytes().fold(task.fence, mix);
    // Names that differ in one letter differ in the lowest bits: a last product carries these to the top.
    let part = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    Span(pause.0 - pause.0 / 4 / 256 * part)
}
