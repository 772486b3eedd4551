//! How a try ended, read back from the sentence that names it. The sentence stands in the journal, also in those of earlier
//! versions, so an end can be explained without another field.

/// How a try ended, as far as a setting or a command could have changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The agent changed nothing.
    Idle,
    /// It changed nothing and ended with a question.
    Asked,
    /// It changed nothing and its client had not let it do something.
    Denied,
    /// It took all the time of a try.
    TimedOut,
    /// It said nothing for too long.
    Silent,
    /// A check took all its time.
    SlowCheck,
    /// A check ran no test.
    NoTest,
    /// The program of a check is missing.
    NoProgram,
    /// A check failed.
    RedCheck,
    /// The work does not merge with what landed before.
    Conflict,
    /// Conflict markers were left in files.
    Markers,
    /// It asked, and the answer needed no person.
    SelfAnswered,
    /// It said that everything was already so, and not why.
    NoWhy,
    Other,
}

pub(super) const IDLE: &str = "the agent changed nothing";
pub(super) const ASKED: &str = "the agent changed nothing and asked: ";
/// Before the question of an agent whose work does not pass.
pub(crate) const ALSO_ASKED: &str = "; the agent asked: ";
pub(super) const DENIED: &str = "the agent changed nothing: its client denied it ";
/// Before the time that a try may take.
pub const TIMED_OUT: &str = "the agent had not finished after ";
/// Before the time in which an agent may be silent.
pub const SILENT: &str = "the agent said nothing for ";
/// Before the time that a check may take.
pub const SLOW_CHECK: &str = "it had not ended after ";
/// What is said of a check that judged without a test.
pub const NO_TEST: &str = "it ran no test";
/// Before the files that do not merge.
pub const CONFLICT: &str = "merge conflict in ";
/// Before the check that fails on the merged tree alone.
pub const TOGETHER: &str = "together with what landed before: ";
/// Before an answer that needed no person.
pub const SELF_ANSWERED: &str = "it asked, and is answered: ";
/// Before the files in which a conflict was left.
pub(super) const MARKERS: &str = "conflict markers left in ";
pub(super) const NO_WHY: &str = "the agent says that it was already so, and not why";

impl Ending {
    /// By the reason of a failure.
    pub fn of(reason: &str) -> Ending {
        // The name of a check is somebody else's text, so what stands before it decides first.
        let begins = [
            (ASKED, Ending::Asked),
            (DENIED, Ending::Denied),
            (IDLE, Ending::Idle),
            (TIMED_OUT, Ending::TimedOut),
            (SILENT, Ending::Silent),
            (CONFLICT, Ending::Conflict),
            (MARKERS, Ending::Markers),
            (SELF_ANSWERED, Ending::SelfAnswered),
            (NO_WHY, Ending::NoWhy),
        ];
        if let Some((_, ending)) = begins.into_iter().find(|(words, _)| reason.starts_with(words)) {
            return ending;
        }
        let checked = reason.strip_prefix(TOGETHER).unwrap_or(reason);
        match checked.starts_with("check `") {
            true if checked.contains(ALSO_ASKED) => Ending::Asked,
            true if checked.contains(SLOW_CHECK) => Ending::SlowCheck,
            true if checked.contains(NO_TEST) => Ending::NoTest,
            true if checked.contains("cannot be run: ") => Ending::NoProgram,
            true => Ending::RedCheck,
            false => Ending::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_known_by_its_sentence() {
        for (reason, ending) in [
            ("the agent changed nothing", Ending::Idle),
            ("the agent changed nothing and asked: Which?", Ending::Asked),
            ("the agent changed nothing: its client denied it Write /etc/x", Ending::Denied),
            ("the agent had not finished after 30m", Ending::TimedOut),
            ("the agent said nothing for 10m", Ending::Silent),
            ("check `cargo test` failed with exit status 1, and 1 more", Ending::RedCheck),
            ("check `cargo test` failed with exit status 1; the agent asked: Which?", Ending::Asked),
            ("check `cargo test` did not judge: it had not ended after 5m", Ending::SlowCheck),
            ("check `cargo test` did not judge: it ran no test", Ending::NoTest),
            ("check `x` did not judge: `x` cannot be run: No such file", Ending::NoProgram),
            ("together with what landed before: check `x` failed with exit status 1", Ending::RedCheck),
            ("merge conflict in log.txt", Ending::Conflict),
            ("conflict markers left in log.txt", Ending::Markers),
            ("it asked, and is answered: yes", Ending::SelfAnswered),
            ("the agent says that it was already so, and not why", Ending::NoWhy),
            ("which of the two ridges?", Ending::Other),
            ("says: check `x` failed", Ending::Other),
        ] {
            assert_eq!(Ending::of(reason), ending, "{reason}");
        }
    }
}
