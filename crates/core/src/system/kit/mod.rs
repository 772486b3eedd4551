//! What the rooms of several systems are made of: texts, values and lists as people write them, and the files that systems
//! keep.

pub mod boxes;
pub mod checklist;
pub(in crate::system) mod commands;
pub(in crate::system) mod diff;
pub(in crate::system) mod draft;
pub(in crate::system) mod entries;
pub(in crate::system) mod fields;
pub(in crate::system) mod files;
pub(in crate::system) mod foreign;
pub(in crate::system) mod frontmatter;
pub mod guardrails;
pub(in crate::system) mod headings;
pub(crate) mod json;
pub(in crate::system) mod json_edit;
pub(in crate::system) mod json_texts;
pub(in crate::system) mod labels;
pub(in crate::system) mod links;
pub mod mojibake;
pub(in crate::system) mod numbered;
pub mod outline;
pub(in crate::system) mod problems;
pub(in crate::system) mod projection;
#[cfg(feature = "schema")]
pub(in crate::system) mod schema;
pub(in crate::system) mod shape;
pub(in crate::system) mod shared_files;
pub(in crate::system) mod status;
pub mod takeover;
pub mod text;
