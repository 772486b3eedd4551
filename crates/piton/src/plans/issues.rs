//! Plans that are asked of a tracker: `gh:label:agent` and the like. The answers are a file below `.piton`, and from there
//! on that file is a plan as any other.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::Kind;
use piton_core::plan::RunId;
use piton_core::run::shell_word;
use piton_core::system::asked::{Ask, IssueSource, Snapshot};
use piton_core::system::config::{IssueSettings, OnDone};
use piton_engine::drive::place_of_requests;
use piton_engine::issues::{self, IssuesError, Watching, Wishes};
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::paths::here;
use crate::plans::found::{config, folder_of};
use crate::ui;

/// The folder of Beads.
pub(super) const BEADS: &str = ".beads";

/// Whether a path is that folder.
pub(crate) fn is_beads(path: &Utf8Path) -> bool {
    path.file_name() == Some(BEADS) && path.is_dir()
}

/// The file of the issues that a typed text asks for, if there is one. `None` if the text is something else.
pub(super) fn file(given: &Utf8Path) -> Outcome<Option<Utf8PathBuf>> {
    let Some((project, ask)) = asked(given)? else { return Ok(None) };
    let path = issues::file_of(&project.root, &ask);
    if path.is_file() {
        return Ok(Some(path));
    }
    Err(Failure::new(format!("the issues of {ask} have not been asked for yet"))
        .hint(format!("piton plan {}", shell_word(given.as_str()))))
}

/// Ask for the issues that a typed text means. Returns whether it means any. Where nobody answers, they stay as they were.
pub(super) fn ask(given: &Utf8Path) -> Outcome<bool> {
    let Some((project, ask)) = asked(given)? else { return Ok(false) };
    let path = issues::file_of(&project.root, &ask);
    fetch(&project, &ask, &path)?;
    Ok(true)
}

/// The same for issues in a file that was made so.
pub(super) fn renew(path: &Utf8Path) -> Outcome {
    match issues::snapshot_in(path).as_ref().and_then(Snapshot::asked) {
        Some(ask) => fetch(&Project::around(folder_of(path))?, &ask, path),
        None => Ok(()),
    }
}

/// How the issue with this number is named here, if a text is a number and a remote is at a host that has issues.
pub(super) fn numbered(text: &str) -> Option<String> {
    let number: u64 = text.strip_prefix('#').unwrap_or(text).parse().ok()?;
    let project = Project::around(&here().ok()?).ok()?;
    let repo = project.repo().ok()??;
    let remotes = repo.remotes().ok()?;
    let names = || remotes.iter().map(|(name, _)| name.as_str());
    let mut names = names().filter(|name| *name == "origin").chain(names());
    let place = names.find_map(|remote| place_of_requests(repo, remote).ok())?;
    let host = match place.kind {
        Kind::GitHub => "gh",
        Kind::GitLab => "gl",
    };
    Some(format!("{host}:#{number}"))
}

fn asked(given: &Utf8Path) -> Outcome<Option<(Project, Ask)>> {
    let is_beads = is_beads(given);
    let text = if is_beads { "bd:" } else { given.as_str() };
    let Some(ask) = Ask::parse(text).filter(|_| is_beads || !given.exists()) else { return Ok(None) };
    let ask = ask.map_err(|why| Failure::usage(format!("{given} names no issues: {why}")))?;
    let place = if is_beads { here()?.join(given) } else { here()? };
    Ok(Some((Project::around(&place)?, ask)))
}

fn fetch(project: &Project, ask: &Ask, path: &Utf8Path) -> Outcome {
    let Err(failure) = fetch_now(project, ask, path) else { return Ok(()) };
    if !path.is_file() {
        return Err(failure);
    }
    ui::say(format!("{}; the issues are those of the last time", failure.message));
    failure.hints.iter().for_each(ui::hint);
    Ok(())
}

fn fetch_now(project: &Project, ask: &Ask, path: &Utf8Path) -> Outcome {
    let repo = project.repo()?.ok_or_else(|| {
        Failure::new(format!("{} is not in a git repository, which a plan of issues needs", project.root))
            .hint("git init, then a first commit")
    })?;
    let wanted = wanted(project)?;
    let tracker = issues::tracker_of(repo, &project.root, ask).map_err(failure)?;
    if !tracker.is_writable() {
        ui::hint(
            "neither `bd` nor `br` is installed: the file that they export is read, and nothing is written back",
        );
    }
    issues::refresh(&tracker, ask, wanted.comments, path).map_err(failure)?;
    Ok(())
}

/// What `[issues]` of a project says.
fn wanted(project: &Project) -> Outcome<IssueSettings> {
    Ok(config(&project.root)?.unwrap_or_default().issues)
}

fn failure(error: IssuesError) -> Failure {
    let hint = error.hint();
    let failure = match error {
        IssuesError::Git(error) => return error.into(),
        IssuesError::Journal(error) => return error.into(),
        IssuesError::Io { path, source } => return Failure::io(path)(source),
        error => Failure::new(error.to_string()),
    };
    hint.into_iter().fold(failure, Failure::hint)
}

/// While a run of issues goes on: report what is completed, and ask what they say by now. `None` for other plans.
pub(crate) fn watch(path: &Utf8Path, project: &Project, run: &RunId) -> Outcome<Option<Watching>> {
    let Some(ask) = issues::snapshot_in(path).as_ref().and_then(Snapshot::asked) else { return Ok(None) };
    let Some(repo) = project.repo()? else { return Ok(None) };
    let wanted = wanted(project)?;
    let wishes = Wishes {
        reports: wanted.done != OnDone::Nothing,
        closes: wanted.done == OnDone::Close,
        comments: wanted.comments,
        assigns: wanted.assign.unwrap_or(ask.source == IssueSource::Beads && wanted.done != OnDone::Nothing),
        label: wanted.label,
        poll: Duration::from_millis(wanted.poll.0),
    };
    let tracker = issues::tracker_of(repo, &project.root, &ask).map_err(failure)?;
    let warn = |text: &str| ui::say(text);
    Watching::begin(project, run, tracker, ask, wishes, warn).map(Some).map_err(failure)
}
