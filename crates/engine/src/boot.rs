//! Which start of the machine this is: what was written before the last one may be torn.

use std::sync::OnceLock;

/// The same word until the machine starts again. Where nothing tells, another one for every process: a needless
/// doubt costs time, a needless trust costs work.
pub fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        // A test cuts the power of one project, not of the machine.
        let told = std::env::var("PITON_BOOT").ok().or_else(crate::keeper::boot);
        let told = told.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
        told.unwrap_or_else(|| format!("{}@{}", std::process::id(), crate::clock::now().0))
    })
}
