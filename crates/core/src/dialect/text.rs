//! Bytes that people's tools wrote, as text.
