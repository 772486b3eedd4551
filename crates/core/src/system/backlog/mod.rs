//! Tasks of Backlog.md: a folder with a configuration, and a Markdown file for each task.
//!
//! `place` knows where the files lie and what tasks are called, `config` what their words mean, and `task_file` reads one task.
//! `read` makes a plan of all of them, and `write` keeps their files up to date.

mod config;
mod place;
mod read;
mod row;
mod task_file;
#[cfg(test)]
mod tests;
mod write;

pub use row::{BACKLOG, Backlog};
