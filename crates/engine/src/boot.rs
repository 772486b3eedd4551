//! Which boot of the machine this is: files that were written before the last boot may be torn.

use std::sync::OnceLock;

/// The same text until the machine restarts. If the system does not tell, every process gets another one: a needless
/// check costs time, but trust in a torn file costs work.
pub fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        // A test cuts the power of one project, not of the machine.
        let told = std::env::var("PITON_BOOT").ok().or_else(crate::keeper::boot);
        let told = told.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
        told.unwrap_or_else(|| format!("{}@{}", std::process::id(), crate::clock::now().0))
    })
}
