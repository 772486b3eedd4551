//! `piton.toml`: the project's defaults, which count for the plans of every system.
//!
//! Text in, a value and diagnostics out, as for a plan. `walk` goes through a table and knows where each value stands,
//! `keys` are the names that tables have, `checks` and `agents` the values that several tables hold.

pub(in crate::system) mod agents;
pub(in crate::system) mod checks;
mod issues;
mod journal;
pub(in crate::system) mod keys;
mod name;
mod notify;
mod quote;
mod requests;
pub(in crate::system) mod tables;
pub(in crate::system) mod walk;

pub(crate) use checks::{CHECK_TIMEOUT, check_name, hidden_failures};
pub use issues::{IssueSettings, OnDone};
pub(in crate::system) use name::LONGEST_NAME;
pub use name::name_from;
pub use notify::{Notify, Webhook, is_url};
pub use quote::{toml_list, toml_text};
pub use tables::DEFAULT_AGENT;
pub use tables::{Config, Defaults, Order, Policy, Subtasks, Worktree, read_config};
