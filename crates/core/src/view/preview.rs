//! Lines of a preview, with how each part is shown. What is shown may come from a plan and hold anything: the caller that
//! prints it removes control characters.

/// Longer lists are cut, and say so.
pub const MOST: usize = 60;

/// One line, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Plain(String),
    Bold(String),
    Dim(String),
}

impl Line {
    pub fn plain(text: impl Into<String>) -> Line {
        Line(vec![Part::Plain(text.into())])
    }

    pub fn bold(text: impl Into<String>) -> Line {
        Line(vec![Part::Bold(text.into())])
    }

    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Line {
        self.0.push(Part::Plain(text.into()));
        self
    }

    #[must_use]
    pub fn dim(mut self, text: impl Into<String>) -> Line {
        self.0.push(Part::Dim(text.into()));
        self
    }
}

/// What stands for the rest of a list that was cut.
pub fn and_more(number: usize) -> Line {
    Line::plain(format!("… and {number} more (--all shows them)"))
}
