//! State files in the formats of other systems. Piton writes them from the journal, and applies every edit that people
//! and scripts make.

mod companions;
mod keeping;
mod kept;
mod mirror;
mod owner;
mod shown;
mod touched;

pub use keeping::{Keeping, TakeUp};
pub use kept::{Kept, kept};
pub use mirror::{Aide, FilesError, LockLeft, Mirror, Wait, folder_in_project, place, real_path};
pub use owner::alone;
