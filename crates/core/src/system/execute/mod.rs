//! The execute system: a folder of layers with one XML file for each task, and `execute-state.json`.

pub mod context;
mod new;
mod ops;
pub mod plan;
mod row;
pub mod state;
pub mod takeover;

pub use row::Execute;
