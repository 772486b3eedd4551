//! The views: what can be looked at.

use piton_core::plan::TaskId;

/// What the right side shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Detail,
    Output,
    Checks,
    Diff,
    Inbox,
    Landing,
    Journal,
    Timeline,
}

impl Tab {
    pub(crate) const ALL: [Tab; 8] = [
        Tab::Detail,
        Tab::Output,
        Tab::Checks,
        Tab::Diff,
        Tab::Inbox,
        Tab::Landing,
        Tab::Journal,
        Tab::Timeline,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Tab::Detail => "Detail",
            Tab::Output => "Output",
            Tab::Checks => "Checks",
            Tab::Diff => "Diff",
            Tab::Inbox => "Inbox",
            Tab::Landing => "Landing",
            Tab::Journal => "Journal",
            // All names fit side by side on 80 columns.
            Tab::Timeline => "Time",
        }
    }

    /// It is about the selected task; the others are about the run. A timeline can be about both.
    pub(crate) fn is_of_task(self) -> bool {
        matches!(self, Tab::Detail | Tab::Output | Tab::Checks | Tab::Diff)
    }
}

/// A text that somebody looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub tab: Tab,
    pub task: Option<TaskId>,
    /// Also what is of little interest.
    pub verbose: bool,
    /// How wide it is drawn; 0 for a text, which is broken where it is shown.
    pub columns: usize,
}

/// Which side the keys are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Tree,
    Pane,
}
