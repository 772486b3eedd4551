//! Make it happen: everything with an effect.
//!
//! The engine knows the core; nothing here knows a user interface. Each module is the only access to one part of the
//! outside: `journal` is the only place with SQL, `git` the only one that starts git, `host` the only one that starts `gh` and
//! `glab`, `keeper` the only one that starts anything else, `disk` the only one that writes a file that matters.

pub mod agent;
pub mod boot;
pub mod check_worktrees;
pub mod checks;
pub mod claims;
pub mod clock;
pub mod crash;
pub mod disk;
pub mod drive;
mod environment;
pub mod files;
pub mod gates;
pub mod git;
pub mod holders;
pub mod host;
pub mod issues;
pub mod journal;
pub mod keeper;
pub mod landed;
pub mod lead;
pub mod lock;
mod memory;
pub mod project;
pub mod prompts;
pub mod sandbox;
pub mod secrets;
pub mod slots;
pub mod takeover;
mod warm;
