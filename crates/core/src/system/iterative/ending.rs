//! What the end of an agent's iteration means, from what it printed and what it wrote into the log. Only its word that
//! it is done lets the checks run. An agent that ends without it has not finished.

use super::progress::NOT_FINISHED;
use crate::run::AgentEnd;
use crate::signal::{Heard, Signal};
use crate::system::edit::What;
use crate::system::state_files::AgentReport;

/// The end of an agent that ended by itself, and well. Both what it printed and what it wrote into files count. If it
/// says both that it is done and that it is blocked, neither is believed.
pub fn ending(heard: &Heard, reports: &[AgentReport]) -> AgentEnd {
    let left = reports.iter().map(|report| report.report.feedback.as_str()).find(|left| !left.is_empty());
    let failed = |reason: String| AgentEnd::Failed { reason, feedback: left.unwrap_or_default().to_owned() };
    match &heard.signal {
        Some(Signal::Failed(reason)) => return failed(reason.clone()),
        Some(Signal::Retry(reason)) => return AgentEnd::Transient { reason: reason.clone() },
        Some(Signal::Refused(reason)) => return AgentEnd::Refused { reason: reason.clone() },
        Some(Signal::Limit(until)) => {
            return AgentEnd::Limit {
                reason: "the agent reached a usage limit".to_owned(),
                until: *until,
                model: None,
            };
        }
        Some(Signal::TestsFail(what)) => return failed(format!("its tests fail: {what}")),
        _ => {}
    }
    let wrote = || reports.iter().filter_map(|report| report.what.as_ref());
    let done = heard.claims_done() || wrote().any(|what| matches!(what, What::ReportDone { .. }));
    let blocker = heard.blocker().or_else(|| {
        wrote().find_map(|what| match what {
            What::Blocked { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    });
    match (done, blocker) {
        (true, Some(reason)) => {
            failed(format!("it says both that it is done and that it is blocked: {reason}"))
        }
        (true, None) => match &heard.signal {
            Some(Signal::Already(reason)) => AgentEnd::Already { reason: reason.clone() },
            _ => match reports.iter().map(|report| &report.report.already).rfind(|reason| !reason.is_empty())
            {
                Some(reason) => AgentEnd::Already { reason: reason.clone() },
                None => AgentEnd::Done,
            },
        },
        (false, Some(reason)) => blocked(reason),
        (false, None) => failed(NOT_FINISHED.to_owned()),
    }
}

fn blocked(reason: &str) -> AgentEnd {
    let reason = if reason.trim().is_empty() { "it does not say why" } else { reason };
    AgentEnd::Blocked { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TaskId;
    use crate::signal::{Output, Reach, heard};
    use crate::system::iterative::report_in_words;
    use crate::time::Timestamp;

    /// An agent that prints this, and writes this below the heading of its entry.
    fn ended(printed: &str, wrote: &str) -> AgentEnd {
        let unit = TaskId::new("T1").expect("a valid id");
        let output = Output { text: printed, reach: Reach::Message, ..Output::default() };
        let heard = heard(output, &unit, Timestamp(0));
        let head = if wrote.starts_with("## ") { "" } else { "## T1 - Iteration 1\n" };
        let log = format!("{head}{wrote}\n");
        let reports: Vec<AgentReport> =
            report_in_words(&unit, "progress.md", b"", log.as_bytes()).into_iter().collect();
        ending(&heard, &reports)
    }

    fn failed(reason: &str, feedback: &str) -> AgentEnd {
        AgentEnd::Failed { reason: reason.to_owned(), feedback: feedback.to_owned() }
    }

    #[test]
    fn who_does_not_say_that_it_is_done_has_not_finished() {
        assert_eq!(ended("<signal>T1_DONE</signal>", "**Did:** it"), AgentEnd::Done);
        assert_eq!(ended("All done!", "**Remaining:** the tests"), failed("not finished", "the tests"));
        assert_eq!(ended("<signal>TESTS_PASS</signal>", ""), failed("not finished", ""));
        assert_eq!(ended("<signal>T2_DONE</signal>", ""), failed("not finished", ""));
        assert_eq!(ended("", "**Signal:** T1_DONE"), AgentEnd::Done, "the log is its word as well");
        let others = "## T2 - Iteration 1\n**Did:** it\n**Signal:** T2_DONE";
        assert_eq!(ended("", others), failed("not finished", ""), "another unit's signal says nothing");
        assert_eq!(ended("", "**Signal:** T2_DONE"), failed("not finished", ""));
    }

    #[test]
    fn who_says_both_is_not_believed() {
        let both = failed("it says both that it is done and that it is blocked: no key", "");
        assert_eq!(ended("<signal>T1_DONE</signal>", "**Signal:** BLOCKED: no key"), both);
        assert_eq!(ended("<signal>BLOCKED:no key</signal>", "**Signal:** T1_DONE"), both);
        assert_eq!(ended("<signal>T1_DONE</signal>\n<signal>BLOCKED:no key</signal>", ""), both);
    }

    #[test]
    fn everything_else_is_what_it_says() {
        let blocked = |reason: &str| AgentEnd::Blocked { reason: reason.to_owned() };
        assert_eq!(ended("<signal>BLOCKED:no key</signal>", ""), blocked("no key"));
        assert_eq!(ended("<signal>BLOCKED</signal>", ""), blocked("it does not say why"));
        assert_eq!(ended("<signal>NEEDS_ESCALATION:two ways</signal>", ""), blocked("two ways"));
        assert_eq!(ended("", "**Signal:** BLOCKED: no key"), blocked("no key"));
        assert_eq!(ended("<signal>TESTS_FAIL:2</signal>", ""), failed("its tests fail: 2", ""));
        assert_eq!(ended("<signal>FAILED:no</signal>", ""), failed("no", ""));
        assert_eq!(ended("<signal>RETRY:net</signal>", ""), AgentEnd::Transient { reason: "net".to_owned() });
        assert!(matches!(ended("<signal>LIMIT:5m</signal>", ""), AgentEnd::Limit { .. }));
        assert_eq!(ended("<signal>FIXED</signal>", ""), AgentEnd::Done);
        let already = |reason: &str| AgentEnd::Already { reason: reason.to_owned() };
        assert_eq!(ended("<signal>T1_ALREADY:it is there</signal>", ""), already("it is there"));
        assert_eq!(
            ended("<signal>T1_ALREADY:it is there</signal>", "**Signal:** T1_DONE"),
            already("it is there")
        );
        assert_eq!(ended("<signal>T2_ALREADY:it is there</signal>", ""), failed("not finished", ""));
        assert_eq!(ended("", "**Signal:** T1_ALREADY: it is there"), already("it is there"));
        assert_eq!(ended("", "**Signal:** T2_ALREADY: it is there"), failed("not finished", ""));
        assert_eq!(ended("", "**Signal:** T1_ALREADY"), failed("not finished", ""), "without a reason");
    }
}
