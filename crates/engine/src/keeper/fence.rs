//! A fence around a child: it reads what it likes, and writes, makes and removes only below the folders it was given.
//!
//! It is the kernel's (Landlock), holds for everything the child ever starts, and cannot be taken down again. There is
//! no helper program: a thread puts it up around itself, and what it starts then is inside.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Folders below which, and files to which, may be written. One that does not exist is left out.
    pub writable: Vec<Utf8PathBuf>,
    /// Rather not start than start without it.
    #[serde(default)]
    pub required: bool,
}

/// Devices that every program may write to: nothing is kept in them.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Whether this kernel can, or why it cannot.
#[cfg(target_os = "linux")]
pub fn fences_are_possible() -> Result<(), String> {
    ruleset().map(drop).map_err(|error| format!("this kernel has no Landlock that would do ({error})"))
}

#[cfg(not(target_os = "linux"))]
pub fn fences_are_possible() -> Result<(), String> {
    Err("only Linux has Landlock".to_owned())
}

/// Before version 2 no file could be renamed from one folder to another, not even inside the fence: then rather none.
#[cfg(target_os = "linux")]
fn ruleset() -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let needed = AccessFs::from_write(ABI::V2);
    let set = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(needed)?;
    set.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::Truncate)?.create()
}

impl Fence {
    /// Put it up around this thread, and all that it starts.
    #[cfg(target_os = "linux")]
    pub(super) fn put_up(&self) -> Result<(), String> {
        use landlock::{ABI, AccessFs, CompatLevel, Compatible, RulesetCreatedAttr, path_beneath_rules};
        let put_up = || {
            let places = self.writable.iter().map(|path| path.as_str()).chain(DEVICES);
            let rules = path_beneath_rules(places, AccessFs::from_write(ABI::V3));
            ruleset()?.set_compatibility(CompatLevel::BestEffort).add_rules(rules)?.restrict_self()
        };
        put_up().map(drop).map_err(|error| format!("the sandbox cannot be put up: {error}"))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn put_up(&self) -> Result<(), String> {
        fences_are_possible()
    }
}
