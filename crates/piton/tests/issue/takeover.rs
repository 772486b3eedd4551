//! takeover
