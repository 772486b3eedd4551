//! What is true and what should happen: the pure core.
//!
//! A run is a journal of events; its state is their fold. [`run::decide`] turns a command into events,
//! [`run::State::apply`] folds them, [`run::next`] says what to do next. Nothing here does I/O, reads a
//! clock or rolls dice: time and ids come in as values, so every decision can be replayed.

#![forbid(unsafe_code)]

pub mod answer;
pub mod chronicle;
pub mod client;
pub mod denied;
pub mod diagnostic;
mod fence;
pub mod history;
pub mod hook;
pub mod host;
pub mod line_diff;
pub mod mcp;
pub mod message;
pub mod order;
pub mod plan;
pub mod prompt;
pub mod redact;
pub mod review;
pub mod run;
pub mod runners;
pub mod settings_file;
pub mod signal;
pub mod slots;
pub mod survey;
pub mod system;
mod tags;
pub mod terminal;
pub mod time;
pub mod toolchain;
pub mod view;
