//! What is wrong with a text, and where.

use std::ops::Range;

use crate::order::Arrange;
use serde::Serialize;

/// A problem at a place. A reader returns all of them, with the plan it understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Bytes of the source.
    pub span: Range<usize>,
    /// One sentence without a full stop.
    pub message: String,
    /// Said at the place itself.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Warning,
    Error,
}

/// What hundreds of places call and hardly ever: as `cold` it is compiled once, and the code around the calls stays small.
impl Diagnostic {
    #[cold]
    pub fn error(span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            span,
            message: message.into(),
            label: String::new(),
            help: None,
        }
    }

    #[cold]
    pub fn warning(span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, message) }
    }

    #[cold]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    #[cold]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// From the top of the text to its end.
    pub(crate) fn sort(diagnostics: &mut [Diagnostic]) {
        diagnostics.arrange_by_key(|diagnostic| diagnostic.span.start);
    }
}

/// Line and column of a byte, both from 1.
pub fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// The candidate most like `word`, if any is close enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()), candidate)
        })
        .filter(|&(distance, candidate)| distance <= word.len().max(candidate.len()) / 3)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}
