//! What the rooms of several systems are made of: texts, values and lists as people write them.

pub mod checklist;
pub(in crate::system) mod entries;
pub(in crate::system) mod fields;
pub(in crate::system) mod foreign;
pub(in crate::system) mod found;
pub(crate) mod json;
pub mod mojibake;
pub(in crate::system) mod shape;
pub mod takeover;
pub mod text;
