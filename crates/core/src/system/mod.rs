//! The systems whose plans Piton reads and whose state files it keeps: one room each, and what they share.

mod addition;
pub mod edit;
pub mod execute;
pub mod export;
mod folder;
pub mod issue;
pub mod iterative;
pub mod kept;
pub mod kit;
pub mod native;
pub mod rwkit;

pub use addition::Addition;
pub use folder::{Folder, Problem, Reading};
pub use kit::foreign::Understood;
