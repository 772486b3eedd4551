//! Asking for issues, and the file that holds what was answered.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::{Failure, Kind, NoPlace, Place};
use piton_core::system::asked::{Ask, Asking, Snapshot};

use super::error::IssuesError;
use super::tracker::Tracker;
use crate::disk;
use crate::git::Repo;
use crate::host::{Host, Local};

/// Where such files are, from the root of the project.
const FOLDER: &str = ".piton/issues";
/// Remotes in which issues usually are, the likeliest first: a fork has none of its own.
const REMOTES: [&str; 3] = ["upstream", "github", "origin"];
/// Where Beads keeps its issues, and the programs that read them, the original first.
const BEADS: &str = ".beads";
const PROGRAMS: [&str; 2] = ["bd", "br"];
/// No conversation has more questions.
const QUESTIONS: usize = 500;

/// Who is asked for issues.
pub fn tracker_of(repo: &Repo, root: &Utf8Path, ask: &Ask) -> Result<Tracker, IssuesError> {
    match ask.source.host() {
        Some(kind) => host_of(repo, root, ask, kind).map(Tracker::Host),
        None => beads_of(root),
    }
}

/// Its program where it is installed, else the file that it exports.
fn beads_of(root: &Utf8Path) -> Result<Tracker, IssuesError> {
    let folder = root.join(BEADS);
    if !folder.is_dir() {
        return Err(IssuesError::NoBeads { path: folder });
    }
    Ok(match Local::find(&PROGRAMS, root) {
        Some(local) => Tracker::Local(local),
        None => Tracker::File(folder.join("issues.jsonl")),
    })
}

fn host_of(repo: &Repo, root: &Utf8Path, ask: &Ask, kind: Kind) -> Result<Host, IssuesError> {
    let remotes = repo.remotes()?;
    let chosen = REMOTES.iter().find_map(|name| remotes.iter().find(|(known, _)| known == name));
    let Some((remote, url)) = chosen.or(remotes.first()) else {
        return Err(IssuesError::NoRemote { ask: ask.to_string() });
    };
    let place = match Place::of(url, &BTreeMap::new()) {
        // A person who types `gh:` says what the host is.
        Err(NoPlace::UnknownHost { host }) => Place::of(url, &BTreeMap::from([(host, kind)])),
        place => place,
    };
    let no_place = |why| IssuesError::NoPlace { remote: remote.clone(), ask: ask.to_string(), why };
    let place = place.map_err(no_place)?;
    if place.kind != kind {
        let (remote, instead) = (remote.clone(), ask.at(place.kind).to_string());
        return Err(IssuesError::OtherHost { remote, host: place.host, asked: kind, instead });
    }
    Ok(Host::new(place, root))
}

/// What a tracker has by now. `before` is what was known.
pub fn fetch(
    tracker: &Tracker,
    ask: &Ask,
    comments: bool,
    before: Option<&Snapshot>,
) -> Result<Snapshot, IssuesError> {
    let mut asking = Asking::new(ask.clone(), &tracker.of(), comments, before);
    for _ in 0..QUESTIONS {
        let Some(question) = asking.question() else { return Ok(asking.end()) };
        match tracker.read(&question.args) {
            Ok(answer) => asking.answered(&question, &answer).map_err(IssuesError::Odd)?,
            Err(error) => {
                let is_missing = matches!(error, IssuesError::Host(Failure::NotFound { .. }));
                if !asking.refused(&question, &error.to_string(), is_missing) {
                    return Err(error);
                }
            }
        }
    }
    Err(IssuesError::Odd(format!("more than {QUESTIONS} questions did not tell which issues {ask} means")))
}

/// The file that holds the answers, in a project with this root.
pub fn file_of(root: &Utf8Path, ask: &Ask) -> Utf8PathBuf {
    root.join(FOLDER).join(ask.file_name())
}

/// What such a file says; `None` if there is none, or if it is another file.
pub fn snapshot_in(path: &Utf8Path) -> Option<Snapshot> {
    fs::read(path).ok().and_then(|bytes| Snapshot::read(&bytes))
}

/// Ask again, and bring the file up to date. Returns whether it has changed.
pub fn refresh(tracker: &Tracker, ask: &Ask, comments: bool, path: &Utf8Path) -> Result<bool, IssuesError> {
    let before = snapshot_in(path);
    let now = fetch(tracker, ask, comments, before.as_ref())?.after(before.as_ref());
    if before.as_ref() == Some(&now) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Utf8Path::new("."));
    disk::private_folder(folder).map_err(IssuesError::io(folder))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        // What other people wrote is not for this repository.
        disk::write(&ignore, b"*\n").map_err(IssuesError::io(&ignore))?;
    }
    disk::write(path, now.text().as_bytes()).map_err(IssuesError::io(path))?;
    Ok(true)
}
