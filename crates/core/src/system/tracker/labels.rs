//! What the labels of an issue say about its priority.

/// Words behind `priority`, or alone, and Piton's number for them.
const WORDS: [(&str, u32); 11] = [
    ("critical", 10),
    ("urgent", 10),
    ("highest", 10),
    ("p0", 10),
    ("high", 20),
    ("p1", 20),
    ("medium", 50),
    ("normal", 50),
    ("p2", 50),
    ("low", 80),
    ("p3", 80),
];
/// Words that a label may be without `priority` before them: `high` alone may mean anything.
const ALONE: [&str; 4] = ["p0", "p1", "p2", "p3"];

/// The most urgent of what they say.
pub(super) fn priority(labels: &[String]) -> Option<u32> {
    labels.iter().filter_map(|label| of(label)).min()
}

fn of(label: &str) -> Option<u32> {
    let label = label.to_lowercase();
    let words: Vec<&str> =
        label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let (word, is_priority) = match words[..] {
        [word] => (word, false),
        ["priority" | "prio", word] | [word, "priority" | "prio"] => (word, true),
        _ => return None,
    };
    let known = WORDS.iter().find(|(known, _)| *known == word)?;
    (is_priority || ALONE.contains(&word)).then_some(known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_about_priority_count() {
        for (label, priority) in [
            ("P0", Some(10)),
            ("p1", Some(20)),
            ("priority: high", Some(20)),
            ("priority/critical", Some(10)),
            ("Priority::Low", Some(80)),
            ("prio-medium", Some(50)),
            ("low priority", Some(80)),
            ("high", None),
            ("P9", None),
            ("highlights", None),
            ("priority", None),
            ("", None),
        ] {
            assert_eq!(of(label), priority, "{label}");
        }
    }

    #[test]
    fn the_most_urgent_label_counts() {
        assert_eq!(priority(&["p2".to_owned(), "bug".to_owned(), "P0".to_owned()]), Some(10));
        assert_eq!(priority(&[]), None);
    }
}
