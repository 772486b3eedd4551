//! What headings of plans of any kind mean.

/// Headings of lists that say when work is good, and are not work themselves: these words in them, or these alone.
const CRITERIA: [&str; 5] =
    ["acceptance criteria", "success criteria", "success metrics", "definition of done", "exit criteria"];
const CRITERIA_ALONE: [&str; 6] = [
    "acceptance",
    "acceptance checklist",
    "criteria",
    "validation checklist",
    "verification",
    "verification checklist",
];

/// Whether a heading in plain small letters is about how work is judged.
pub(in crate::system) fn is_about_criteria(title: &str) -> bool {
    CRITERIA.iter().any(|words| title.contains(words)) || CRITERIA_ALONE.contains(&title)
}
