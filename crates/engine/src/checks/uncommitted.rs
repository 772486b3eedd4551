//! A check that fails on a commit may pass in the folder where the work was done. Then something is not committed, and the
//! feedback names it.

use std::collections::BTreeSet;
use std::fs;

use camino::Utf8Path;
use piton_core::plan::Check;
use piton_core::run::{CheckResult, Verdict};
use piton_core::terminal::clean_text;

use super::{Bench, READ};
use crate::check_worktrees::{NoWorktree, WorkFolder};
use crate::disk;
use crate::git::{Repo, Worktree};
use crate::keeper::Job;

/// At most so many files that differ are named.
const MOST_NAMED: usize = 20;

/// Whether a check may have failed because something is not committed.
pub(super) fn may_be_the_cause(check: &Check, result: &CheckResult) -> bool {
    let failed = matches!(result.verdict, Verdict::Fail { .. } | Verdict::Broken { .. });
    failed && check.reviewer().is_none() && result.took < check.timeout
}

/// If a check that failed on a commit passes in the folder where the work was done: a text that names what differs. The
/// check runs there once, and only if something differs.
pub(super) fn passes_with_it(
    bench: &mut Bench<'_>,
    repo: &Repo,
    check: &Check,
    folder: &WorkFolder,
    exact: &Utf8Path,
    begin: &dyn Fn(&Job) -> bool,
) -> Result<Option<String>, NoWorktree> {
    let uncommitted = repo.uncommitted_in(&folder.path, &folder.commit)?;
    let ignored: Vec<String> = uncommitted
        .ignored
        .into_iter()
        .filter(|file| differs(&folder.path.join(file), &exact.join(file)))
        .collect();
    if ignored.is_empty() && uncommitted.changed.is_empty() {
        return Ok(None);
    }
    let name = format!("{}.beside", bench.name);
    let (name, cwd) = (std::mem::replace(&mut bench.name, name), bench.cwd.clone());
    bench.cwd.clone_from(&folder.path);
    let ran = bench.run(check, &|job, _| begin(job));
    (bench.name, bench.cwd) = (name, cwd);
    if let Some(worktree) = Worktree::open(repo, &folder.path)?.filter(|_| folder.is_agents) {
        // What the check left behind is not the agent's work.
        worktree.checkout_detached(&folder.commit)?;
    }
    if !ran.is_ok_and(|result| result.verdict == Verdict::Pass) {
        return Ok(None);
    }
    let (place, what) = match folder.is_agents {
        true => ("your worktree", "your commit"),
        false => ("your checkout", "what git would commit of it"),
    };
    let list = |head: &str, files: &[String]| match files.len() {
        0 => String::new(),
        all => {
            let more = all.saturating_sub(MOST_NAMED);
            let more = if more == 0 { String::new() } else { format!("  and {more} more\n") };
            let named =
                files.iter().take(MOST_NAMED).map(|file| format!("  {}\n", clean_text(file.as_bytes())));
            format!("{head}:\n{}{more}", named.collect::<String>())
        }
    };
    Ok(Some(format!(
        "\n\nThis check passes in {place}, not on {what}.\n{}{}Commit what it needs, or have the check make it.\n",
        list("These ignored files differ", &ignored),
        list("These files are not as they are committed", &uncommitted.changed),
    )))
}

/// Whether a file or folder is missing or different. Folders are compared by the names in them.
fn differs(one: &Utf8Path, other: &Utf8Path) -> bool {
    let names = |folder: &Utf8Path| -> Option<BTreeSet<String>> {
        Some(folder.read_dir_utf8().ok()?.flatten().map(|entry| entry.file_name().to_owned()).collect())
    };
    match (one.is_dir(), other.is_dir()) {
        (true, true) => names(one) != names(other),
        (false, false) => match (fs::metadata(one), fs::metadata(other)) {
            (Ok(one_is), Ok(other_is)) if one_is.len() == other_is.len() && one_is.len() <= READ as u64 => {
                disk::read_plain(one).ok() != disk::read_plain(other).ok()
            }
            (Ok(one), Ok(other)) => one.len() != other.len(),
            (Ok(_), Err(_)) => true,
            (Err(_), _) => false,
        },
        (_, _) => true,
    }
}
