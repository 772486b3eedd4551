//! Plain checklists: `TODO.md`, `ROADMAP.md` and the like, or any Markdown file with boxes that people name.
//!
//! The outermost boxes are the tasks, those inside of them their steps, and headings are groups. `row` says which files
//! are read so, `read` makes a draft of one.

mod needs;
mod read;
mod row;
#[cfg(test)]
mod tests;

pub use row::Todo;
