//! Guesses at what the fence refused to an agent, from what it and its tools printed, and what would allow it.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::denied::denied;
use piton_core::terminal::clean_text;

use crate::keeper::Job;

/// So much of the end of each output is searched.
const TAIL: usize = 512 * 1024;

/// Something that was probably refused by the fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The line that says so.
    pub line: String,
    /// What `writable` in `[sandbox]` would have to name.
    pub allow: String,
}

/// What the fence refused in the last try of a task, whose jobs are in `folder`.
pub fn guesses(folder: &Utf8Path) -> io::Result<Vec<Guess>> {
    let mut jobs: Vec<(u64, Utf8PathBuf)> = Vec::new();
    let entries = match folder.read_dir_utf8() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.into_path();
        let number = path.file_name().and_then(|name| name.split('.').next()).and_then(|no| no.parse().ok());
        jobs.extend(number.map(|number| (number, path)));
    }
    jobs.sort();
    let last = jobs.last().map(|(number, _)| *number);
    let home = std::env::var("HOME").ok().map(Utf8PathBuf::from);
    let mut all: Vec<Guess> = Vec::new();
    for (_, path) in jobs.iter().filter(|(number, _)| Some(*number) == last) {
        let job = Job::at(path);
        // A job whose spec cannot be read is skipped.
        let Some(fence) = job.spec().ok().flatten().and_then(|spec| spec.fence) else { continue };
        for denied in denied(&clean_text(&job.output().tail(TAIL).unwrap_or_default())) {
            let path = Utf8Path::new(&denied.path);
            if fence.writable.iter().any(|open| path.starts_with(open)) || !is_open_to_the_user(path) {
                continue;
            }
            let allow = to_allow(path, home.as_deref());
            if all.iter().all(|known| known.allow != allow) {
                all.push(Guess { line: denied.line, allow });
            }
        }
    }
    Ok(all)
}

/// Whether the user could write there if there were no fence.
#[cfg(unix)]
fn is_open_to_the_user(path: &Utf8Path) -> bool {
    let there = path.ancestors().find(|above| above.exists());
    // These stay closed for every user.
    let is_system = ["/proc", "/sys"].iter().any(|system| path.starts_with(system));
    !is_system
        && there.is_some_and(|there| {
            rustix::fs::access(there.as_std_path(), rustix::fs::Access::WRITE_OK).is_ok()
        })
}

#[cfg(not(unix))]
fn is_open_to_the_user(_path: &Utf8Path) -> bool {
    true
}

/// The smallest place that has to be opened: what is there already, or the folder that would be made first.
fn to_allow(path: &Utf8Path, home: Option<&Utf8Path>) -> String {
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(Utf8Path::new("/"));
    let next = path.strip_prefix(there).ok().and_then(|rest| rest.components().next());
    let is_last = next.is_none_or(|next| there.join(next) == path);
    let is_file = is_last && path.extension().is_some();
    let place = match next {
        Some(next) if !is_file => there.join(next),
        _ => there.to_owned(),
    };
    match home.and_then(|home| place.strip_prefix(home).ok()) {
        Some(below) if !below.as_str().is_empty() => format!("~/{below}"),
        _ => place.into_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_smallest_place_is_named_that_would_allow_it() {
        let temp = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(temp.path()).unwrap();
        fs::create_dir_all(home.join(".config/app")).unwrap();
        let allow = |path: &str| to_allow(&home.join(path), Some(home));
        assert_eq!(allow(".tool/cache/x"), "~/.tool");
        assert_eq!(allow(".config/app/settings.toml"), "~/.config/app");
        assert_eq!(allow(".config/app"), "~/.config/app");
        assert_eq!(allow(".config/other/x"), "~/.config/other");
        assert_eq!(to_allow(Utf8Path::new("/nowhere/at/all"), Some(home)), "/nowhere");
    }
}
