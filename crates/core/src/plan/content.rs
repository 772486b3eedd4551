//! What a task asks for, as one value: a task whose content differs is another task, whatever its id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Digest, Export, RepoPath, TaskSpec};

/// A digest of what a plan's author wrote about one task: its title, prompt, files, criteria and exports. Layout does not
/// count. Nor do its id, place, dependencies, limits and agent, nor its checks, which have digests of their own.
///
/// Contents of different versions cannot be compared, and never make a task another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Content {
    version: u32,
    /// 64 bits are enough: no attacker chooses the texts, and few tasks are ever compared.
    digest: u64,
}

/// The author's words about a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    pub title: &'a str,
    pub prompt: &'a str,
    pub files: &'a [RepoPath],
    pub criteria: &'a [String],
    pub exports: &'a [Export],
}

impl Content {
    /// Made of the fields of a spec, as journals have them.
    const OF_SPEC: u32 = 1;
    /// The content consists only of the author's own words, if the spec also holds what the plan says for all tasks.
    const OF_WORDS: u32 = 2;
    /// The content consists of the fields of a spec without its prompt. Journals of earlier versions have only the spec
    /// for tasks of other systems, and its prompt also holds what the plan says for all tasks.
    const OF_FIELDS: u32 = 3;

    fn of_spec(spec: &TaskSpec) -> Content {
        let TaskSpec { title, prompt, files, criteria, exports, .. } = spec;
        let words = Words { title, prompt, files, criteria, exports };
        Content { version: Content::OF_SPEC, digest: digest(&words) }
    }

    fn of_fields(spec: &TaskSpec) -> Content {
        let TaskSpec { title, files, criteria, exports, .. } = spec;
        let words = Words { title, prompt: "", files, criteria, exports };
        Content { version: Content::OF_FIELDS, digest: digest(&words) }
    }

    /// For readers whose prompts hold more than a task's own words.
    pub fn of_words(words: &Words<'_>) -> Content {
        Content { version: Content::OF_WORDS, digest: digest(words) }
    }
}

impl TaskSpec {
    pub fn content(&self) -> Content {
        self.source.unwrap_or_else(|| Content::of_spec(self))
    }

    /// The same as a journal has it: one of an earlier version does not know the author's own words, unless all of it is
    /// `as_written`.
    pub(crate) fn journaled_content(&self, as_written: bool) -> Content {
        match (self.source, as_written) {
            (Some(source), _) => source,
            (None, true) => Content::of_spec(self),
            (None, false) => Content::of_fields(self),
        }
    }

    /// Whether this is another task than the one that had this content. An older journal has only the spec of a task,
    /// so that is compared.
    pub fn is_another_than(&self, known: Content) -> bool {
        let now = match known.version {
            Content::OF_SPEC => Some(Content::of_spec(self)),
            Content::OF_FIELDS => Some(Content::of_fields(self)),
            _ => self.source.filter(|source| source.version == known.version),
        };
        now.is_some_and(|now| now != known)
    }
}

fn digest(words: &Words<'_>) -> u64 {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sorted = |mut list: Vec<String>| {
        list.sort_unstable();
        list
    };
    let export = |export: &Export| match export {
        Export::Interface { name, kind, text } => format!("{kind} {name}\n{}", plain(text)),
        Export::Endpoint { method, path, text } => format!("{method} {path}\n{}", plain(text)),
    };
    let whole = Digest::of(&(
        plain(words.title),
        plain(words.prompt),
        sorted(words.files.iter().map(ToString::to_string).collect()),
        sorted(words.criteria.iter().map(|text| plain(text)).collect()),
        sorted(words.exports.iter().map(export).collect()),
    ));
    whole.as_str().get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or_default()
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}", self.version, self.digest)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a content is a version and sixteen hex digits: 1:0123456789abcdef")]
pub struct BadContent;

impl FromStr for Content {
    type Err = BadContent;

    fn from_str(text: &str) -> Result<Content, BadContent> {
        let (version, digest) = text.trim().split_once(':').ok_or(BadContent)?;
        let version = version.parse().map_err(|_| BadContent)?;
        let is_hex = digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digest = u64::from_str_radix(digest, 16).ok().filter(|_| is_hex).ok_or(BadContent)?;
        Ok(Content { version, digest })
    }
}

impl TryFrom<String> for Content {
    type Error = BadContent;

    fn try_from(text: String) -> Result<Content, BadContent> {
        text.parse()
    }
}

impl From<Content> for String {
    fn from(content: Content) -> String {
        content.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Argv, Check};
    use crate::system::native::testing::task;
    use crate::time::Span;

    #[test]
    fn what_the_author_asks_for_makes_a_task_and_nothing_else_does() {
        let old = task("T1", &["T0"]);
        let same: [fn(&mut TaskSpec); 7] = [
            |spec| spec.prompt = format!("  {}\n", spec.prompt.replace(' ', "\n  ")),
            |spec| spec.depends_on.clear(),
            |spec| (spec.group, spec.priority, spec.attempts) = (7, 7, 7),
            |spec| spec.agent = "other".to_owned(),
            |spec| (spec.confirm, spec.check_first, spec.may_fail) = (true, true, true),
            |spec| spec.timeout = Span::minutes(99),
            |spec| {
                let run = Argv::parse("make");
                spec.checks = vec![Check::new("make".into(), run, Span::minutes(1))];
            },
        ];
        for (nth, change) in same.iter().enumerate() {
            let mut new = old.clone();
            change(&mut new);
            assert!(!new.is_another_than(old.content()), "change {nth}");
        }
        let another: [fn(&mut TaskSpec); 5] = [
            |spec| spec.title += " of Y",
            |spec| spec.prompt += " and test it",
            |spec| spec.files = vec![RepoPath::new("y.rs").expect("a path")],
            |spec| spec.criteria.push("it works".to_owned()),
            |spec| {
                let (name, kind) = ("Cart".to_owned(), "struct".to_owned());
                spec.exports.push(Export::Interface { name, kind, text: String::new() });
            },
        ];
        for (nth, change) in another.iter().enumerate() {
            let mut new = old.clone();
            change(&mut new);
            assert!(new.is_another_than(old.content()), "change {nth}");
        }
    }

    #[test]
    fn the_order_of_files_and_criteria_does_not_count() {
        let path = |path: &str| RepoPath::new(path).expect("a path");
        let mut old = task("T1", &[]);
        old.files = vec![path("a"), path("b")];
        old.criteria = vec!["one".into(), "two".into()];
        let mut new = old.clone();
        new.files.reverse();
        new.criteria.reverse();
        assert!(!new.is_another_than(old.content()));
    }

    #[test]
    fn a_reader_that_knows_the_authors_own_words_decides_by_them() {
        let of = |own: &str, shared: &str| {
            let mut spec = task("T1", &[]);
            spec.prompt = format!("{own}\n\n{shared}");
            spec.source = Some(Content::of_words(&Words { prompt: own, ..Words::default() }));
            spec
        };
        let old = of("Do it", "This list is about shops.");
        assert!(!of("Do it", "This list is about banks.").is_another_than(old.content()));
        assert!(of("Do that", "This list is about shops.").is_another_than(old.content()));
        // An older journal has the spec alone.
        let journaled = TaskSpec { source: None, ..old.clone() };
        assert!(!old.is_another_than(journaled.content()));
        assert!(of("Do that", "This list is about shops.").is_another_than(journaled.content()));
        // What another version of Piton wrote cannot be compared.
        let newer: Content = "99:0123456789abcdef".parse().expect("well-formed");
        assert!(!old.is_another_than(newer));
        assert!(!journaled.is_another_than(old.content()));
    }

    #[test]
    fn a_content_survives_being_written() {
        let content = task("T1", &[]).content();
        assert_eq!(content.to_string().parse(), Ok(content));
        for bad in ["", "1", "1:", "1:xyz", "x:0123456789abcdef", "1:0123456789abcdef0", "1:+123456789abcdef"]
        {
            assert_eq!(bad.parse::<Content>(), Err(BadContent), "{bad}");
        }
    }

    #[test]
    fn the_first_version_stays_what_it_was() {
        let mut spec = task("T1", &[]);
        (spec.title, spec.prompt) = ("Add X".into(), "Please  add X\n".into());
        spec.files = vec![RepoPath::new("x.rs").expect("a path")];
        spec.criteria = vec!["it is there".into()];
        insta::assert_snapshot!(spec.content(), @"1:127c7acdfde0b926");
    }
}
