//! Fences of code in Markdown. What stands between them is quoted code, not a statement of the author.

/// An open fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// What closes it.
    pub(crate) mark: String,
    /// It names no language, so it may as well be the end of one that began earlier.
    pub(crate) bare: bool,
}

impl Fence {
    /// Code of others, in a fence that nothing in it closes.
    pub(crate) fn around(text: &str) -> String {
        let runs = text.split(|c| c != '`').map(str::len);
        let mark = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
        format!("{mark}text\n{text}\n{mark}")
    }

    pub(crate) fn opened_by(line: &str) -> Option<Fence> {
        let line = line.trim_start();
        let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(*mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        let fits = length >= 3 && !(mark == '`' && info.contains('`'));
        fits.then(|| Fence { mark: line[..length].to_owned(), bare: info.trim().is_empty() })
    }

    pub(crate) fn is_closed_by(&self, line: &str) -> bool {
        line.trim().strip_prefix(&self.mark).is_some_and(|more| {
            let mark = self.mark.chars().next().unwrap_or('`');
            more.trim_start_matches(mark).is_empty()
        })
    }

    /// The fence that is open after a line, if one was open before it or is opened by it. The line that closes one is
    /// still part of it: the second value says whether the line is code.
    pub(crate) fn after(open: Option<Fence>, line: &str) -> (Option<Fence>, bool) {
        match open {
            Some(fence) => (Some(fence).filter(|fence| !fence.is_closed_by(line)), true),
            None => {
                let opened = Fence::opened_by(line);
                let code = opened.is_some();
                (opened, code)
            }
        }
    }
}
