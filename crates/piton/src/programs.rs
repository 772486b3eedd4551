//! Which programs are installed.

use camino::Utf8Path;
use piton_core::plan::{Check, first_program};

/// The program that a check needs and that is not installed.
pub(crate) fn missing(check: &Check, root: &Utf8Path) -> Option<String> {
    first_program(check).filter(|program| !is_runnable(program, root))
}

/// Whether a program can be found: by its path, or along PATH.
pub(crate) fn is_runnable(program: &str, root: &Utf8Path) -> bool {
    if program.contains('/') {
        // A relative path is looked up in the worktree, where an earlier task may put it.
        return !Utf8Path::new(program).is_absolute() || root.join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder| folder.join(program).is_file() || folder.join(format!("{program}.exe")).is_file())
}
