//! How a try ended, parsed from the reason that the journal records. This is the only place that searches a reason:
//! journals of earlier versions record nothing else.

/// How a try ended, as far as a setting or a command could have changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'r> {
    /// The agent changed nothing.
    Idle,
    /// It changed nothing and ended with a question.
    Asked,
    /// It changed nothing and its client had not let it do something.
    Denied,
    /// It took all the time of a try.
    TimedOut {
        limit: &'r str,
    },
    /// It said nothing for too long.
    Silent {
        limit: &'r str,
    },
    /// A check did not pass.
    Check {
        how: CheckEnding<'r>,
        /// The work was merged with what landed before. Alone it passed.
        is_merged: bool,
    },
    /// The work does not merge with what landed before.
    Conflict,
    /// Conflict markers were left in files.
    Markers,
    /// It asked, and the answer needed no person.
    SelfAnswered {
        answer: &'r str,
    },
    /// It said that everything was already so, and not why.
    NoWhy,
    /// A person wants changes, and has written comments.
    SentBack,
    Other,
}

/// How a check ended that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckEnding<'r> {
    /// It failed.
    Red,
    /// It did not pass, and the agent had ended with a question.
    AgentAsked,
    /// It took all its time.
    Slow { limit: &'r str },
    /// It ran no test.
    NoTest,
    /// Its program is missing.
    NoProgram,
}

pub(super) const IDLE: &str = "the agent changed nothing";
pub(super) const ASKED: &str = "the agent changed nothing and asked: ";
/// Before the question of an agent whose work does not pass.
pub(super) const ALSO_ASKED: &str = "; the agent asked: ";
pub(super) const DENIED: &str = "the agent changed nothing: its client denied it ";
/// Before the time that a try may take.
pub const TIMED_OUT: &str = "the agent had not finished after ";
/// Before the time in which an agent may be silent.
pub const SILENT: &str = "the agent said nothing for ";
/// Before the time that a check may take.
pub const SLOW_CHECK: &str = "it had not ended after ";
/// The reason for a check that ran without any test.
pub const NO_TEST: &str = "it ran no test";
/// Between the program of a check and why it could not be started.
pub const CANNOT_RUN: &str = "cannot be run: ";
/// Before the files that do not merge.
pub const CONFLICT: &str = "merge conflict in ";
/// Before the check that fails on the merged tree alone.
pub const TOGETHER: &str = "together with what landed before: ";
/// Before an answer that needed no person.
pub const SELF_ANSWERED: &str = "it asked, and is answered: ";
/// Before the files in which a conflict was left.
pub(super) const MARKERS: &str = "conflict markers left in ";
pub(super) const NO_WHY: &str = "the agent says that it was already so, and not why";
pub(super) const SENT_BACK: &str = "a person sent the work back with comments";

/// Makes an ending from the rest of a reason.
type FromRest<'r> = fn(&'r str) -> Ending<'r>;

impl<'r> Ending<'r> {
    /// By the reason of a failure.
    pub fn of(reason: &'r str) -> Ending<'r> {
        // The author of the plan names the checks. So the start of a reason decides first.
        let begins: [(&str, FromRest<'r>); 10] = [
            (ASKED, |_| Ending::Asked),
            (DENIED, |_| Ending::Denied),
            (IDLE, |_| Ending::Idle),
            (TIMED_OUT, |rest| Ending::TimedOut { limit: first_part(rest) }),
            (SILENT, |rest| Ending::Silent { limit: first_part(rest) }),
            (CONFLICT, |_| Ending::Conflict),
            (MARKERS, |_| Ending::Markers),
            (SELF_ANSWERED, |answer| Ending::SelfAnswered { answer }),
            (NO_WHY, |_| Ending::NoWhy),
            (SENT_BACK, |_| Ending::SentBack),
        ];
        if let Some(ending) =
            begins.into_iter().find_map(|(words, ending)| Some(ending(reason.strip_prefix(words)?)))
        {
            return ending;
        }
        let merged = reason.strip_prefix(TOGETHER);
        let checked = merged.unwrap_or(reason);
        match checked.starts_with("check `") {
            true => Ending::Check { how: CheckEnding::of(checked), is_merged: merged.is_some() },
            false => Ending::Other,
        }
    }
}

impl<'r> CheckEnding<'r> {
    fn of(reason: &'r str) -> CheckEnding<'r> {
        if reason.contains(ALSO_ASKED) {
            CheckEnding::AgentAsked
        } else if let Some((_, rest)) = reason.split_once(SLOW_CHECK) {
            CheckEnding::Slow { limit: first_part(rest) }
        } else if reason.contains(NO_TEST) {
            CheckEnding::NoTest
        } else if reason.contains(CANNOT_RUN) {
            CheckEnding::NoProgram
        } else {
            CheckEnding::Red
        }
    }
}

/// A reason without what was added to it, as in "30m; and the budget of the task is spent".
fn first_part(rest: &str) -> &str {
    rest.split([';', ',']).next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_known_by_its_sentence() {
        let check = |how| Ending::Check { how, is_merged: false };
        for (reason, ending) in [
            ("the agent changed nothing", Ending::Idle),
            ("the agent changed nothing and asked: Which?", Ending::Asked),
            ("the agent changed nothing and asked: Which; the agent asked: it?", Ending::Asked),
            ("the agent changed nothing: its client denied it Write /etc/x", Ending::Denied),
            ("the agent had not finished after 30m", Ending::TimedOut { limit: "30m" }),
            (
                "the agent had not finished after 1h 30m; and the budget of the task is spent: $2.00",
                Ending::TimedOut { limit: "1h 30m" },
            ),
            ("the agent said nothing for 10m", Ending::Silent { limit: "10m" }),
            ("check `cargo test` failed with exit status 1, and 1 more", check(CheckEnding::Red)),
            (
                "check `cargo test` failed with exit status 1; the agent asked: Which?",
                check(CheckEnding::AgentAsked),
            ),
            (
                "check `cargo test` did not judge: it had not ended after 5m",
                check(CheckEnding::Slow { limit: "5m" }),
            ),
            (
                "check `x` did not judge: it had not ended after 5m, and 1 more",
                check(CheckEnding::Slow { limit: "5m" }),
            ),
            ("check `cargo test` did not judge: it ran no test", check(CheckEnding::NoTest)),
            ("check `x` did not judge: `x` cannot be run: No such file", check(CheckEnding::NoProgram)),
            (
                "together with what landed before: check `x` failed with exit status 1",
                Ending::Check { how: CheckEnding::Red, is_merged: true },
            ),
            ("merge conflict in log.txt", Ending::Conflict),
            ("conflict markers left in log.txt", Ending::Markers),
            ("it asked, and is answered: yes", Ending::SelfAnswered { answer: "yes" }),
            ("the agent says that it was already so, and not why", Ending::NoWhy),
            ("which of the two ridges?", Ending::Other),
            ("says: check `x` failed", Ending::Other),
        ] {
            assert_eq!(Ending::of(reason), ending, "{reason}");
        }
    }
}
