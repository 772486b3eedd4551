//! The systems whose plans Piton reads and whose state files it keeps: one room each, and what they share.

pub mod chronicle;
pub mod edit;
pub mod execute;
mod fields;
mod folder;
pub mod issue;
pub mod native;
mod shape;
pub mod text;

pub use folder::{Folder, Problem, Reading};
