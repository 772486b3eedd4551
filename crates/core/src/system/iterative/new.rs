//! Where iterative work begins.

use super::takeover::ARCHIVE;
use super::{guardrails, plan};
use crate::plan::{BadId, Domain, RunId};
use crate::run::Refusal;
use crate::system::addition::refused;
use crate::system::kit::takeover::Lessons;
use crate::system::starter::name;
use crate::system::{Asked, Begun, Starter};

/// Where folders of this system are kept, from the root of a project.
pub(super) const PLACE: &str = ".claude/iterative";

pub(super) fn starter(words: &[String]) -> Result<Starter, Refusal> {
    let slug = name(words, "iterative")?;
    RunId::new(slug).map_err(|bad| no_name(slug, &bad))?;
    if slug.eq_ignore_ascii_case(ARCHIVE) {
        let reason = format!("`{ARCHIVE}` is where finished folders go: choose another name");
        return Err(refused(reason, None));
    }
    Ok(Starter {
        path: format!("{PLACE}/{slug}"),
        below: &[".git", PLACE],
        taken: vec![
            format!("piton archive {slug}   archives it, once it is finished"),
            format!("piton new iterative {slug} --force   writes over its brief, list and context"),
        ],
    })
}

fn no_name(slug: &str, bad: &BadId) -> Refusal {
    refused(format!("{slug:?} cannot be the name of a folder: {bad}"), None)
}

/// What was learned in finished work goes into its guardrails.
pub(super) fn begin(asked: &Asked<'_>) -> Result<Begun, Refusal> {
    let slug = name(asked.words, "iterative")?;
    let domain = asked.domain.unwrap_or(Domain::Feature);
    let mut files = plan::starter(slug, domain, asked.now).map_err(|bad| no_name(slug, &bad))?;
    let before = (asked.read)(guardrails::FILE);
    let lessons =
        Lessons { known: before.clone().unwrap_or_default(), archived: (asked.archived)(guardrails::FILE) };
    let new = lessons.new_here();
    let said = Lessons::line(&new).into_iter().collect();
    let learned = new.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n");
    if let Some(more) = guardrails::seed(before.as_deref(), &learned) {
        files.push((guardrails::FILE.to_owned(), before.unwrap_or_default() + &more));
    }
    let hints = vec![format!("edit its brief and its list, then: piton plan {slug}")];
    Ok(Begun { files, said, hints })
}
