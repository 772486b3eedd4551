//! The acceptance criteria of a story: what a command proves, what an agent can judge, and what a person has to look at.

use std::ops::Range;

use crate::run::shell_word;
use crate::system::kit::commands::{looks_like_a_command, removes_git};
use crate::system::kit::json::Node;
use crate::system::kit::json_texts::{text_of, texts};
use crate::system::kit::problems::{Problems, cut};

/// What a criterion says before it that only a person can judge.
const PERSON: &str = "A person looks at this";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Criteria {
    pub(super) texts: Vec<String>,
    pub(super) commands: Vec<String>,
    /// Where those stand that a person looks at.
    pub(super) by_person: Vec<Range<usize>>,
}

/// The criteria of a story: texts, or objects with a text and a command.
pub(super) fn criteria(story: &Node, found: &mut Problems) -> Criteria {
    let mut criteria = Criteria::default();
    let Some(said) = story.get("acceptanceCriteria") else { return criteria };
    let one = std::slice::from_ref(said);
    for node in said.items().unwrap_or(one) {
        if node.entries().is_none() {
            let Some((text, at)) = texts(node).into_iter().next() else {
                let message = format!("a criterion must be text, not {}", node.name());
                found.repair(node.at.clone(), message, "left out");
                continue;
            };
            criteria.add(&text, at);
            continue;
        }
        let text = ["text", "description", "criterion", "title"].iter().find_map(|name| text_of(node, name));
        let command = text_of(node, "testCommand");
        if let Some(line) = &command {
            criteria.command(line, node, found);
        }
        match text {
            Some(text) => criteria.add(&text, node.at.clone()),
            None if command.is_some() => {}
            None => found.repair(node.at.clone(), "this criterion has no text", "left out"),
        }
    }
    criteria
}

impl Criteria {
    fn add(&mut self, text: &str, at: Range<usize>) {
        if is_for_person(text) {
            self.by_person.push(at);
            self.texts.push(format!("{PERSON}: {text}"));
            return;
        }
        self.commands.extend(proof(text));
        self.texts.push(text.to_owned());
    }

    fn command(&mut self, line: &str, node: &Node, found: &mut Problems) {
        if removes_git(line) {
            found.repair(node.at.clone(), format!("`{}` would remove the repository", cut(line)), "not run");
        } else if looks_like_a_command(line) {
            self.commands.push(line.to_owned());
        } else {
            // It is one, as its name says, whatever program it begins with.
            self.commands.push(format!("sh -c {}", shell_word(line)));
        }
    }
}

/// Whether somebody has to look: agents of other loops drive a browser for this, which no check does.
fn is_for_person(text: &str) -> bool {
    let text = text.to_lowercase();
    let looks = ["verify", "check", "confirm", "test", "see"].iter().any(|word| text.contains(word));
    looks && text.contains("browser") || text.starts_with("manual")
}

/// A command that a criterion says has to pass.
fn proof(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('`')?;
    let (line, after) = rest.split_once('`')?;
    let after = after.to_lowercase();
    let passes =
        ["pass", "succeed", "exits 0", "exit 0", "exits with 0", "is green", "without error", "no errors"];
    let is_proof = passes.iter().any(|word| after.contains(word)) && !after.contains('`');
    (is_proof && looks_like_a_command(line) && !removes_git(line)).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_has_to_pass_is_a_check() {
        assert_eq!(proof("`npm run typecheck` passes").as_deref(), Some("npm run typecheck"));
        assert_eq!(proof("Running `cargo test` succeeds").as_deref(), Some("cargo test"));
        assert_eq!(proof("Typecheck passes"), None);
        assert_eq!(proof("`status` column passes through"), None);
        assert_eq!(proof("`git push` is refused, then `npm test` passes"), None);
        assert_eq!(proof("`rm -rf .git` passes"), None);
    }

    #[test]
    fn a_look_in_a_browser_is_for_a_person() {
        assert!(is_for_person("Verify in browser using dev-browser skill"));
        assert!(is_for_person("Manually upload a file"));
        assert!(!is_for_person("The browser tab shows the title"));
        assert!(!is_for_person("Tests pass"));
    }
}
