//! Which files besides the state file a plan has on disk, and where each is.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::SystemRef;
use piton_core::system::state_files::Companion;

/// A file that people and other programs write, too.
pub struct Kept {
    pub path: Utf8PathBuf,
    which: Which,
}

enum Which {
    OfSystem(&'static dyn Companion),
    Below(Box<dyn Companion>),
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Kept {
    pub fn companion(&self) -> &dyn Companion {
        match &self.which {
            Which::OfSystem(companion) => *companion,
            Which::Below(companion) => companion.as_ref(),
        }
    }

    /// The name under which its edits are recorded.
    pub(super) fn name(&self) -> &str {
        self.path.file_name().unwrap_or_default()
    }
}

/// The files of a plan, in the order in which they are written.
pub fn kept(system: SystemRef, plan: &Utf8Path) -> Vec<Kept> {
    let home = home(system, plan);
    let path = |name: Option<&str>| name.map_or_else(|| plan.to_owned(), |name| home.join(name));
    let own = system.companions(&|name| home.join(name).is_file()).into_iter();
    let own = own.map(|companion| Kept { path: path(companion.name()), which: Which::OfSystem(companion) });
    let below = match system.files().has_companions_below {
        true => {
            let bytes = std::fs::read(plan).unwrap_or_default();
            system.companions_below(&bytes, &|folder| names(home, folder))
        }
        false => Vec::new(),
    };
    let below = below.into_iter();
    let below = below.map(|companion| Kept { path: path(companion.name()), which: Which::Below(companion) });
    below.chain(own).collect()
}

/// The folder that their names begin at.
fn home(system: SystemRef, plan: &Utf8Path) -> &Utf8Path {
    match plan.parent() {
        Some(folder) if system.files().plan_is_file => folder,
        _ => plan,
    }
}

/// The names in a folder of a plan, in order. A folder that a link leads out to has none: nothing is written there.
fn names(home: &Utf8Path, folder: &str) -> Vec<String> {
    let path = home.join(folder);
    let is_inside = || {
        let (Ok(real), Ok(home)) = (path.canonicalize_utf8(), home.canonicalize_utf8()) else { return false };
        real.starts_with(home)
    };
    if !is_inside() {
        return Vec::new();
    }
    let entries = path.read_dir_utf8().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
    names.sort();
    names
}
