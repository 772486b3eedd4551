//! A fence around a child: it reads what it likes, and writes, makes and removes only below the folders it was given.
//! It cannot signal a process outside, or connect to an abstract socket there, if the kernel can prevent that.
//!
//! The kernel (Landlock) enforces it for everything the child ever starts, and it cannot be removed again. There is no
//! helper program: the fence is prepared before the fork, and the child puts it up around itself. A `view` protects
//! what Landlock does not cover.

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::child::Refusal;
#[cfg(target_os = "linux")]
use super::view::View;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Folders below which, and files to which, may be written. One that does not exist is left out.
    pub writable: Vec<Utf8PathBuf>,
    /// Do not start the child without it.
    #[serde(default)]
    pub required: bool,
    /// With a read-only view of everything else, where there can be one: modes, times and extended attributes are not
    /// changed either.
    #[serde(default)]
    pub view: bool,
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

/// Whether this kernel can put up a fence, or why it cannot.
#[cfg(target_os = "linux")]
pub fn fences_are_possible() -> Result<(), String> {
    ruleset().map(drop).map_err(|error| format!("the Landlock of this kernel is not sufficient ({error})"))
}

#[cfg(not(target_os = "linux"))]
pub fn fences_are_possible() -> Result<(), String> {
    Err("only Linux has Landlock".to_owned())
}

/// Before version 2 of Landlock, no file could be renamed from one folder to another, not even inside the fence: then
/// there is no fence.
#[cfg(target_os = "linux")]
fn ruleset() -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let needed = AccessFs::from_write(ABI::V2);
    let set = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(needed)?;
    let set = set.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::Truncate)?;
    // Otherwise the child could stop the engine, and make programs outside act for it.
    set.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()
}

/// Whether this kernel keeps signals and abstract sockets inside a fence, or why it does not.
#[cfg(target_os = "linux")]
pub fn scopes_are_possible() -> Result<(), String> {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let set = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let set = set.scope(Scope::Signal | Scope::AbstractUnixSocket).and_then(Ruleset::create);
    set.map(drop).map_err(|_| "this kernel's Landlock has no scopes, which came with Linux 6.12".to_owned())
}

#[cfg(not(target_os = "linux"))]
pub fn scopes_are_possible() -> Result<(), String> {
    fences_are_possible()
}

/// What is put up around a child, between fork and exec: nothing, a fence, or a fence with a view.
#[derive(Default)]
pub(super) struct Enclosure {
    #[cfg(target_os = "linux")]
    view: Option<View>,
    #[cfg(target_os = "linux")]
    rules: Option<landlock::RulesetCreated>,
}

#[cfg(target_os = "linux")]
impl Enclosure {
    /// Prepare it for a child that begins in `cwd` and reads `stdin`.
    pub(super) fn around(
        fence: &Fence,
        cwd: &Utf8Path,
        stdin: Option<&Utf8Path>,
    ) -> Result<Enclosure, Refusal> {
        use landlock::{ABI, AccessFs, CompatLevel, Compatible, RulesetCreatedAttr, path_beneath_rules};
        let rules = || {
            let places = fence.writable.iter().map(|path| path.as_str()).chain(DEVICES);
            let rules = path_beneath_rules(places, AccessFs::from_write(ABI::V3));
            ruleset()?.set_compatibility(CompatLevel::BestEffort).add_rules(rules)
        };
        let rules =
            rules().map_err(|error| Refusal::Fence(format!("the sandbox cannot be set up: {error}")))?;
        let view = fence.view.then(|| View::new(&fence.writable, cwd, stdin)).transpose();
        Ok(Enclosure { view: view.map_err(Refusal::View)?, rules: Some(rules) })
    }

    /// Make the view around this process, if there is one. The error is the system's number.
    pub(super) fn view(&mut self) -> Result<(), i32> {
        self.view.as_mut().map_or(Ok(()), |view| view.enter().map_err(rustix::io::Errno::raw_os_error))
    }

    /// Put up the fence around this process, if there is one. The error is the system's number.
    pub(super) fn fence(&mut self) -> Result<(), i32> {
        let Some(rules) = self.rules.take() else { return Ok(()) };
        let number = |_| std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
        rules.restrict_self().map(drop).map_err(number)
    }
}

#[cfg(not(target_os = "linux"))]
impl Enclosure {
    pub(super) fn around(_: &Fence, _: &Utf8Path, _: Option<&Utf8Path>) -> Result<Enclosure, Refusal> {
        fences_are_possible().map(|()| Enclosure::default()).map_err(Refusal::Fence)
    }
}
