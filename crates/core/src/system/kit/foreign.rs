//! A state file that any program, model or person may have written, as far as it was understood. This is the part that
//! all systems share.

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Severity};
use crate::system::kit::fields::{Fields, Reader, get};
use crate::system::kit::json::{self, Kind, Node};

#[derive(Clone, Debug, PartialEq)]
pub struct Understood<S> {
    /// To be used only if [`Understood::is_usable`].
    pub state: S,
    /// In the order of the text.
    pub problems: Vec<Diagnostic>,
}

impl<S> Understood<S> {
    pub fn is_usable(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity < Severity::Error)
    }
}

/// Read the file with what reads its fields, which is also given the whole of it.
pub(in crate::system) fn read<S: Default>(
    text: &str,
    whole: impl FnOnce(&mut Reader, Fields, Value) -> S,
) -> Understood<S> {
    let mut reader = Reader::default();
    let mut state = S::default();
    match json::parse(text) {
        Ok((root, twice)) => {
            reader.problems = twice;
            if let Some(fields) = reader.object(&root, "the file") {
                state = whole(&mut reader, fields, root.value());
            }
        }
        Err(broken) => reader.problems.push(broken),
    }
    Diagnostic::sort(&mut reader.problems);
    Understood { state, problems: reader.problems }
}

/// The run whose journal a file of ours shows.
pub(in crate::system) fn piton_run(root: Fields) -> Option<String> {
    match get(root, "piton_run") {
        Some(Node { kind: Kind::Text(run), .. }) => Some(run.clone()),
        _ => None,
    }
}

/// The position in that journal.
pub(in crate::system) fn piton_seq(root: Fields) -> Option<u64> {
    match get(root, "piton_seq") {
        Some(Node { kind: Kind::Number(number), .. }) => number.as_u64(),
        _ => None,
    }
}

/// For the tests of what is odd in such files.
#[cfg(test)]
pub(in crate::system) mod odd {
    use crate::diagnostic::{Diagnostic, Severity, place};
    use crate::system::Understood;

    /// What reads the files of one form.
    pub(in crate::system) struct Files<S>(pub(in crate::system) fn(&str) -> Understood<S>);

    impl<S> Files<S> {
        /// Each problem as `LINE:COLUMN severity message (label)`.
        pub(in crate::system) fn said(&self, text: &str) -> Vec<String> {
            let tell = |problem: &Diagnostic| {
                let (line, column) = place(text, problem.span.start);
                let severity = if problem.severity == Severity::Error { "error" } else { "warning" };
                format!("{line}:{column} {severity}: {} ({})", problem.message, problem.label)
            };
            self.0(text).problems.iter().map(tell).collect()
        }

        /// Understood all the same, with exactly these warnings.
        #[track_caller]
        pub(in crate::system) fn warned(&self, text: &str, warnings: &[&str]) -> S {
            assert_eq!(self.said(text), warnings, "{text}");
            let reading = self.0(text);
            assert!(reading.is_usable());
            reading.state
        }

        #[track_caller]
        pub(in crate::system) fn accepted(&self, text: &str) -> S {
            self.warned(text, &[])
        }

        #[track_caller]
        pub(in crate::system) fn refused(&self, text: &str, error: &str) {
            assert!(!self.0(text).is_usable(), "{text}");
            assert!(self.said(text).iter().any(|said| said == error), "{:?}", self.said(text));
        }
    }
}
