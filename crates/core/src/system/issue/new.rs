//! Where the plan of an issue begins.

use super::plan;
use crate::run::Refusal;
use crate::system::addition::refused;
use crate::system::{Asked, Begun, Starter};

/// Where plans usually lie.
pub(super) const FOLDER: &str = ".claude/plans";

/// What the words ask for.
struct NewIssue {
    number: u64,
    folder: String,
    files: Vec<(String, String)>,
}

fn asked(words: &[String]) -> Result<NewIssue, Refusal> {
    let [number, slug] = words else {
        return Err(refused("say which issue, and a word for it: piton new issue NUMBER SLUG", None));
    };
    let wrong = |_| refused(format!("`{number}` is not the number of an issue"), None);
    let nth = number.trim_start_matches('#').parse().map_err(wrong)?;
    let (folder, files) = plan::starter(nth, slug)
        .map_err(|bad| refused(format!("{slug:?} cannot be part of a folder and a branch: {bad}"), None))?;
    Ok(NewIssue { number: nth, folder, files })
}

pub(super) fn starter(words: &[String]) -> Result<Starter, Refusal> {
    let NewIssue { folder, .. } = asked(words)?;
    Ok(Starter {
        path: format!("{FOLDER}/{folder}"),
        below: &[".git"],
        taken: vec![format!("piton new issue {} --force", words.join(" "))],
    })
}

pub(super) fn begin(given: &Asked<'_>) -> Result<Begun, Refusal> {
    let NewIssue { number, files, .. } = asked(given.words)?;
    let hints = vec![format!("edit its tasks, then: piton plan {number}")];
    Ok(Begun { files, said: Vec::new(), hints })
}
