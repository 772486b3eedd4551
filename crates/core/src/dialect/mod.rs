//! The systems whose plans Piton reads and whose state files it keeps: one room each, and what they share.

pub mod chronicle;
pub mod execute;
pub mod kept;
mod folder;
pub mod native;
pub mod text;

pub use folder::{Folder, Problem, Reading};
