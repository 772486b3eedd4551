//! Task lists of Spec Kit: `specs/FEATURE/tasks.md`, with phases, `[P]` and stories.
//!
//! `row` says which files are read so. `read` makes a draft of one: `line` takes a task's line apart, `ids` finds the ids
//! in a text, `needs` reads what waits for what, and `stories` what the specification beside it asks of a story.

mod ids;
mod line;
mod needs;
mod read;
mod row;
mod stories;
#[cfg(test)]
mod tests;

pub use row::SpecKit;
