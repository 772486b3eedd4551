//! `PROJECT.md`: what completed tasks made goes into the registries of the project's own description.
