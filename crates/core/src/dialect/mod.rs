//! The systems whose plans Piton reads and whose state files it keeps: one room each, and what they share.

pub mod checklist;
pub mod chronicle;
pub mod execute;
mod folder;
mod found;
pub mod issue;
pub mod mojibake;
pub mod native;
pub mod text;
pub mod toolchain;

pub use folder::{Folder, Problem, Reading};
