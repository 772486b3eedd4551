//! Answers to questions that an agent asks while no person is there. The answer is what the agent recommends, or yes,
//! but never something destructive.

/// Words for actions that need a person's consent, even if an agent recommends them.
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
        // There may be no recommendation.
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

/// The question that an agent ends with, from all that it said: its last line, or the last one before options to choose
/// from.
pub fn closing_question(said: &str) -> Option<&str> {
    let lines = said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let mut lines = lines.take(OPTIONS).skip_while(|line| is_option(line));
    let last = lines.next()?.trim_matches(['*', '_', '"', '`']);
    // A quotation is not the agent's own question.
    (last.ends_with(['?', '\u{ff1f}']) && !last.starts_with('>')).then_some(last)
}

/// How many lines are searched: no agent offers more options than this.
const OPTIONS: usize = 12;

/// `- SQLite`, `2) SQLite`, `b. SQLite`: an option, not a question.
fn is_option(line: &str) -> bool {
    let bulleted = line.starts_with(['-', '*', '+', '•']) && !line.starts_with("**");
    let counted = line.split_once(['.', ')']).is_some_and(|(count, rest)| {
        let is_number = !count.is_empty() && count.len() <= 2 && count.bytes().all(|b| b.is_ascii_digit());
        let is_letter = count.len() == 1 && count.bytes().all(|b| b.is_ascii_alphabetic());
        (is_number || is_letter) && rest.starts_with(' ')
    });
    (bulleted || counted) && !line.ends_with('?')
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
    fn a_question_at_the_end_is_one_without_any_word_for_it() {
        let said = "I looked at the store.\n\nShall I add an index?\n\n";
        assert_eq!(closing_question(said), Some("Shall I add an index?"));
        let said = "**Which store?**\n1. Plain files\n2. SQLite (Recommended)\n- or none\n";
        assert_eq!(closing_question(said), Some("Which store?"));
        for said in [
            "",
            "Shall I add an index?\nI did.",
            "Why? Because it is slow.",
            "> Shall I add an index?",
            "Which?\n<signal>DONE</signal>",
            "- one\n- two",
        ] {
            assert_eq!(closing_question(said), None, "{said}");
        }
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
