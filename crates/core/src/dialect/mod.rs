//! The systems whose plans Piton reads: one room each.

pub mod native;
