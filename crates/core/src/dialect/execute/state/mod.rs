//! `execute-state.json`: written from the journal, read from anybody, and what an edit of it means.
