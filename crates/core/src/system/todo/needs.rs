//! What a checklist's words say about the order of its tasks. They count only where they name tasks, and nothing else.

use std::collections::BTreeSet;

use crate::system::kit::draft::{Draft, Need};
use crate::system::kit::text::key;

/// Words before the names of tasks that are waited for.
const WORDS: [&str; 5] = ["depends on", "blocked by", "requires", "waits for", "after"];

/// Add what each task says that it waits for.
pub(super) fn needs_of(draft: &mut Draft, text: &str) {
    let known: BTreeSet<String> = draft
        .tasks
        .iter()
        .filter(|task| !task.name.is_empty())
        .map(|task| task.name.to_lowercase())
        .collect();
    if known.is_empty() {
        return;
    }
    for task in &mut draft.tasks {
        let own = task.name.to_lowercase();
        let line = &text[task.at.clone()];
        let mut named = names(line, &known);
        named.extend(task.words.lines().flat_map(|line| names(line, &known)));
        for name in named.into_iter().filter(|name| *name != own) {
            task.needs.push(Need { name, at: task.at.clone() });
        }
    }
}

/// The known names behind such words, if there is nothing else up to the end of the clause.
fn names(line: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let plain = key(line).to_lowercase();
    let mut names = BTreeSet::new();
    for word in WORDS {
        for (at, _) in plain.match_indices(word) {
            let is_part = plain[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            let clause = plain[at + word.len()..].trim_start_matches([':', '*', '_']);
            let clause = clause.split([')', ';', ']']).next().unwrap_or_default();
            let clause =
                clause.split(". ").next().unwrap_or_default().replace(" and ", ",").replace('&', ",");
            let parts = clause.split(',').map(bare).filter(|part| !part.is_empty());
            let all: Vec<String> = parts.map(str::to_owned).collect();
            if !is_part && !all.is_empty() && all.iter().all(|part| known.contains(part)) {
                names.extend(all);
            }
        }
    }
    names
}

fn bare(part: &str) -> &str {
    let part = part.trim().trim_matches(|c: char| !c.is_alphanumeric());
    part.strip_prefix("task ").unwrap_or(part).trim_start_matches('#').trim()
}
