//! The only module that starts git.
//!
//! It knows repositories, worktrees, merges and refs. It must not know runs, tasks, the journal or any user interface:
//! names of refs and messages come in as values. What it promises:
//!
//! - a person's checkout is never stashed, reset or committed to; it only ever moves forward to a landed
//!   commit, and waits with a reason when it cannot;
//! - nothing that exists once is deleted: content goes to a rescue ref first;
//! - every function can be called again after a crash.

#[doc(hidden)]
pub mod answers;
mod branch;
mod capture;
mod change;
mod checkout;
mod command;
mod commits;
mod content;
mod diff;
mod durable;
mod error;
mod exact;
mod file;
mod forward;
mod halfway;
mod history;
mod ignored;
mod index;
mod leftover;
mod lfs;
mod lfs_push;
mod merge;
mod metadata;
mod place;
mod private_dir;
mod reflog;
mod refs;
mod remote;
mod repo;
mod rescue;
mod resident;
mod skeleton;
mod slot;
mod status;
mod store;
mod surroundings;
mod target;
mod view;
mod witness;
mod worktree;

pub use branch::{Pin, RefChange};
pub use capture::{BroughtUp, Captured};
pub use command::{Git, NEEDED, Version, send};
pub use diff::Patch;
pub use error::GitError;
pub use exact::{Deviation, ExactWorktree, Ignored, last_in};
pub use history::Landing;
pub use ignored::{NotInGit, not_in_git};
pub use index::Extra;
pub use merge::{FileVersions, Merged};
pub(crate) use metadata::is_changed as metadata_is_changed;
pub(crate) use private_dir::private_dir;
pub use repo::{Checkout, Identity, ObjectFormat, Repo, common_dir};
pub use rescue::{PLACE as RESCUED, Rescue, Rescued, RestoreInto};
pub use slot::Parked;
pub use status::Status;
pub use target::{LandedState, LandingLease, Moved, Wait};
pub use witness::{Fate, Uncommitted};
pub(crate) use worktree::owner_record;
pub use worktree::{Added, Making, Removed, Worktree};
