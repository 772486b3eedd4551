//! `context.md`: what every agent has to know when it starts, in fewer than 200 words.

use crate::diagnostic::Diagnostic;
use crate::system::kit::entries::line;

/// The name of the file.
pub const FILE: &str = "context.md";

/// It is read with every iteration, so it has to be short.
pub const MOST_WORDS: usize = 200;

/// What is known of a plan before work on it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub task: String,
    /// What is wanted, and how. The file gets the first sentence of each.
    pub goal: String,
    pub approach: String,
    /// Files or outputs, with what they are.
    pub files: Vec<(String, String)>,
    pub patterns: Vec<String>,
    /// Units, with what is there when they are complete.
    pub signals: Vec<(String, String)>,
}

/// What is wrong with it: it is too long, from here on.
pub fn check(text: &str) -> Option<Diagnostic> {
    let mut words = words(text);
    let last = words.by_ref().nth(MOST_WORDS - 1)?;
    let more = words.count() + 1;
    let message = format!("{FILE} has {} words; keep it below {MOST_WORDS}", MOST_WORDS - 1 + more);
    let problem = Diagnostic::warning(last, message).label("too long from here on");
    Some(problem.help("every iteration reads it: keep only what all of them need"))
}

fn words(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    let pieces = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let start = at;
        at += piece.len();
        start..start + piece.trim_end().len()
    });
    pieces.filter(|word| !word.is_empty())
}

/// A context from what is known, never longer than allowed: sentences and lists are cut. The limits of all parts add up
/// to 192 words, including titles and the words about what is left out.
pub fn write(facts: &Facts) -> String {
    let or_else = |text: &str, most: usize, none: &str| {
        let text = sentence(text, most);
        if text.is_empty() { none.to_owned() } else { text }
    };
    let mut text = format!(
        "# {} Context\n\n**Goal:** {}\n\n**Approach:** {}\n",
        or_else(&facts.task, 10, "Task"),
        or_else(&facts.goal, 30, "see brief.md"),
        or_else(&facts.approach, 30, "see brief.md"),
    );
    let file = |(path, what): &(String, String)| match sentence(what, 10) {
        what if what.is_empty() => format!("`{}`", line(path)),
        what => format!("`{}` — {what}", line(path)),
    };
    let signal = |(unit, what): &(String, String)| {
        format!("{}: {}", line(unit), or_else(what, 10, "see the criteria"))
    };
    part(&mut text, "Key files/outputs", facts.files.iter().map(file).collect(), 40);
    part(&mut text, "Patterns to follow", facts.patterns.iter().map(|one| sentence(one, 15)).collect(), 20);
    part(&mut text, "Signals", facts.signals.iter().map(signal).collect(), 40);
    text
}

/// A list of at most `most` words.
fn part(text: &mut String, title: &str, items: Vec<String>, most: usize) {
    let items: Vec<String> = items.into_iter().filter(|item| !item.is_empty()).collect();
    if items.is_empty() {
        return;
    }
    *text += &format!("\n**{title}:**\n");
    let mut left = most;
    for (nth, item) in items.iter().enumerate() {
        let length = item.split_whitespace().count() + 1;
        if length > left {
            *text += &format!("- and {} more\n", items.len() - nth);
            return;
        }
        left -= length;
        *text += &format!("- {item}\n");
    }
}

/// The first sentence of a text, at most `most` words of it.
fn sentence(text: &str, most: usize) -> String {
    let line = line(text);
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    let words: Vec<&str> = line[..end].split_whitespace().collect();
    match words.len() > most {
        true => format!("{}…", words[..most].join(" ")),
        false => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn facts() -> Facts {
        Facts {
            task: "User authentication".to_owned(),
            goal: "People can sign in with a password. Later also with a key.".to_owned(),
            approach: "Sessions in the database".to_owned(),
            files: vec![
                ("src/auth.rs".to_owned(), "the service".to_owned()),
                ("docs/".to_owned(), String::new()),
            ],
            patterns: vec!["Errors are values".to_owned()],
            signals: vec![("T1".to_owned(), "the tables exist".to_owned()), ("T2".to_owned(), String::new())],
        }
    }

    #[test]
    fn a_context_is_written_from_what_is_known() {
        insta::assert_snapshot!(write(&facts()), @r"
        # User authentication Context

        **Goal:** People can sign in with a password.

        **Approach:** Sessions in the database

        **Key files/outputs:**
        - `src/auth.rs` — the service
        - `docs/`

        **Patterns to follow:**
        - Errors are values

        **Signals:**
        - T1: the tables exist
        - T2: see the criteria
        ");
        assert_eq!(check(&write(&facts())), None);
        insta::assert_snapshot!(write(&Facts::default()), @r"
        # Task Context

        **Goal:** see brief.md

        **Approach:** see brief.md
        ");
    }

    #[test]
    fn two_hundred_words_are_too_many_and_the_place_is_shown() {
        assert_eq!(check(&"word ".repeat(MOST_WORDS - 1)), None);
        let text = "w ".repeat(MOST_WORDS - 1) + "last and more";
        let problem = check(&text).expect("too long");
        assert_eq!(&text[problem.span.clone()], "last");
        assert_eq!(problem.message, "context.md has 202 words; keep it below 200");
    }

    fn words() -> impl Strategy<Value = String> {
        (0..60_usize, "[a-zé—]{1,3}[.]?").prop_map(|(many, word)| format!("{word} ").repeat(many))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_never_too_long(
            (task, goal, approach) in (words(), words(), words()),
            files in proptest::collection::vec((words(), words()), 0..20),
            patterns in proptest::collection::vec(words(), 0..20),
            signals in proptest::collection::vec((words(), words()), 0..20),
        ) {
            let text = write(&Facts { task, goal, approach, files, patterns, signals });
            prop_assert_eq!(check(&text), None, "{}", text);
        }
    }
}
