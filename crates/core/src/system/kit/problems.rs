//! What was found wrong with one file while it is read.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Severity};
use crate::system::Strictness;

/// How many repairs of one file are shown one by one. The rest is counted.
const SHOWN: usize = 20;

/// A value and the bytes that say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct Spanned<T> {
    pub(in crate::system) value: T,
    pub(in crate::system) at: Range<usize>,
}

/// The problems of one file. By default, what can be repaired is not an error.
#[derive(Debug, Default)]
pub(in crate::system) struct Problems {
    strictness: Strictness,
    problems: Vec<Diagnostic>,
    repairs: usize,
    /// Where the first repair stands that is not shown.
    unshown: Option<usize>,
}

/// Quoted text as a message shows it: not all of a long text.
pub(in crate::system) fn cut(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Problems {
    pub(in crate::system) fn new(strictness: Strictness) -> Problems {
        Problems { strictness, problems: Vec::new(), repairs: 0, unshown: None }
    }

    pub(in crate::system) fn push(&mut self, diagnostic: Diagnostic) {
        self.problems.push(diagnostic);
    }

    /// A warning that is an error if nothing is to be forgiven.
    pub(in crate::system) fn forgive(&mut self, mut diagnostic: Diagnostic) {
        if self.strictness == Strictness::Strict {
            diagnostic.severity = Severity::Error;
        }
        self.problems.push(diagnostic);
    }

    /// Something that was repaired to continue reading. There may be thousands in one file.
    pub(in crate::system) fn repair(
        &mut self,
        at: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) {
        self.repairs += 1;
        if self.repairs <= SHOWN {
            self.forgive(Diagnostic::warning(at, message).label(label));
        } else {
            self.unshown.get_or_insert(at.start);
        }
    }

    pub(in crate::system) fn finish(mut self) -> Vec<Diagnostic> {
        if let Some(at) = self.unshown {
            let more = self.repairs - SHOWN;
            let diagnostic = Diagnostic::warning(at..at, format!("{more} more places had to be repaired"));
            self.forgive(diagnostic.label("from here on"));
        }
        Diagnostic::sort(&mut self.problems);
        self.problems
    }
}
