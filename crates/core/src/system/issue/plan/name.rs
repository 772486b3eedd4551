//! What an issue's folder is called, and what follows from it.

use crate::plan::{BadId, RunId};

/// The issue that a folder is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// By the folder's name, else by a heading.
    pub number: Option<u64>,
    pub slug: Option<String>,
    pub title: String,
}

impl Issue {
    /// The branch that the work of this issue lands on.
    pub fn branch(&self) -> String {
        let parts = [self.number.map(|number| number.to_string()), self.slug.clone()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "issue/plan".to_owned() } else { format!("issue/{}", parts.join("-")) }
    }
}

/// The folder of an issue, if its slug can be part of a path and of a branch.
pub fn folder_name(number: u64, slug: &str) -> Result<String, BadId> {
    RunId::new(slug)?;
    let name = format!("issue-{number}-{slug}");
    RunId::new(&name)?;
    Ok(name)
}

/// The number and the slug in a folder's name: `issue-7-export`, `issue-007-export`, `issue-7`.
pub fn number_of(folder: &str) -> Option<(u64, Option<&str>)> {
    let rest = folder.strip_prefix("issue-")?;
    let (number, slug) = rest.split_once('-').map_or((rest, None), |(number, slug)| (number, Some(slug)));
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| number.parse().ok())??;
    Some((number, slug.filter(|slug| !slug.is_empty())))
}

/// The number and the title in a heading like `Tasks: Issue #7 - Export invoices`.
pub(super) fn titled(heading: &str) -> Option<(Option<u64>, String)> {
    let lower = heading.to_ascii_lowercase();
    let at = lower.find("issue")?;
    let rest = heading[at + "issue".len()..].trim_start().trim_start_matches('#');
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let title = rest[digits..].trim_start_matches(|c: char| c.is_whitespace() || "-–—:：".contains(c)).trim();
    (digits > 0).then(|| (rest[..digits].parse().ok(), title.to_owned()))
}
