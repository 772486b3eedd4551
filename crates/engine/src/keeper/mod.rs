//! Keeper.
