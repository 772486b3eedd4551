//! Plans that are asked of a program: issues of a tracker. What the program answered is kept as a file, and that file is the
//! plan.
//!
//! `ask` reads what is typed, such as `gh:label:agent`. `asking` says which questions answer it, and makes a `snapshot` of
//! the answers. `closing` says what is reported about a completed task, and `holding` what others see while it is worked on. `github`, `gitlab` and `beads` know the words of one
//! program each. `issue_text` reads what people write into issues.
//!
//! Nothing here starts a program. Whoever does hands over what it answered, and that may be anything.

mod ask;
mod asking;
mod beads;
mod closing;
mod github;
mod gitlab;
mod holding;
pub(in crate::system) mod issue_text;
mod json;
mod snapshot;

pub use ask::{Ask, IssueSource, Which};
pub use asking::{Asking, Question};
pub use closing::{Closing, IssueSeen, ReportedFacts, TrackerWrite, WriteKind};
pub use holding::{Hold, HoldMarks, HoldSeen};
pub use snapshot::{Issue, IssueComment, IssueState, MARK, OutsideIssue, Snapshot, VERSION};
