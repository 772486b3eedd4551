//! The systems whose plans Piton reads and whose state files it keeps: one room each, and what they share.

mod addition;
pub mod checklist;
pub mod chronicle;
pub mod edit;
mod entries;
pub mod execute;
pub mod export;
mod fields;
mod folder;
mod foreign;
mod found;
pub mod issue;
pub mod iterative;
mod json;
pub mod kept;
pub mod mojibake;
pub mod native;
pub mod rwkit;
pub mod settings;
mod shape;
pub mod text;
pub mod toolchain;

pub use addition::Addition;
pub use folder::{Folder, Problem, Reading};
pub use foreign::Understood;
