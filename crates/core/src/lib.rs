//! What is true and what should happen: the pure core.
