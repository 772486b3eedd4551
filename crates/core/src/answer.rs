//! Questions that nobody answers: what is recommended is taken, or yes; but never what destroys something.

/// Words of what must not be done unasked, whoever recommends it.
const DESTRUCTIVE: [&str; 26] = [
    "force push",
    "force-push",
    "--force",
    "hard reset",
    "reset --hard",
    "rm -r",
    "recursive",
    "delete",
    "remove all",
    "wipe",
    "erase",
    "drop ",
    "truncate",
    "data loss",
    "overwrite",
    "rewrite history",
    "deploy",
    "production",
    "publish",
    "release",
    "payment",
    "pay ",
    "e-mail",
    "email",
    "external",
    "third-party",
];

const RECOMMENDED: &str = "(recommended)";

/// The answer to a question, from what was said last; `None` if a person has to give it.
pub fn answer(question: &str, said: &str) -> Option<String> {
    let options: Vec<&str> =
        question.lines().chain(said.lines()).map(str::trim).filter(|line| is_recommended(line)).collect();
    let answer = match options.last() {
        // Somebody may have recommended nothing.
        Some(option) => Some(chosen(option)).filter(|option| option.contains(char::is_alphanumeric))?,
        None if question.trim_end().ends_with('?') => "yes".to_owned(),
        None => return None,
    };
    let is_destructive = |text: &str| {
        let text = text.to_lowercase();
        DESTRUCTIVE.iter().any(|word| text.contains(word))
    };
    (!is_destructive(question) && !is_destructive(&answer)).then_some(answer)
}

fn is_recommended(line: &str) -> bool {
    place(line).is_some()
}

/// Where a line recommends itself. Of other scripts a letter may be longer in lower case, and move what follows it.
fn place(line: &str) -> Option<usize> {
    line.to_ascii_lowercase().find(RECOMMENDED)
}

/// An option without its bullet, and without what recommends it.
fn chosen(option: &str) -> String {
    let (before, after) = option.split_at(place(option).unwrap_or(option.len()));
    let after = after.get(RECOMMENDED.len()..).unwrap_or_default();
    let text = format!("{} {}", before.trim(), after.trim());
    text.trim().trim_start_matches(['-', '*', '+', '•']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recommended_is_taken_or_yes() {
        let said = "Which one?\n1. Plain files\n2. SQLite (Recommended)\n3. A server\n";
        assert_eq!(answer("Which store?", said).as_deref(), Some("2. SQLite"));
        assert_eq!(answer("Shall I add an index?", "").as_deref(), Some("yes"));
        assert_eq!(answer("the plan contradicts itself", ""), None, "that is no question");
    }

    #[test]
    fn letters_of_every_script_may_stand_before_what_is_recommended() {
        for option in ["İİİstanbul", "in Kelvin, ẞ", "é"] {
            let said = format!("- {option} (Recommended)\n- Ω\n");
            assert_eq!(answer("Which one?", &said).as_deref(), Some(option));
        }
        assert_eq!(answer("Which one?", "- (Recommended)\n"), None, "nothing is recommended");
    }

    #[test]
    fn nothing_is_destroyed_unasked() {
        for (question, said) in [
            ("Reset the database?", "- Yes, DROP it (Recommended)"),
            ("May I force-push the branch?", ""),
            ("Which way?", "- git reset --hard (recommended)\n"),
            ("Deploy to staging now?", ""),
            ("Accept data loss in the schema?", "- Yes (Recommended)"),
        ] {
            assert_eq!(answer(question, said), None, "{question}");
        }
    }
}
