//! State files that other systems' people and scripts know: written from the journal, and every edit heard.

mod companions;
mod keeping;
mod mirror;
mod owner;
mod shown;
mod touched;

pub use keeping::{Keeping, TakeUp};
pub use mirror::{Aide, FilesError, LockLeft, Mirror, Wait, folder_in_project, place, real_path};
pub use owner::alone;
