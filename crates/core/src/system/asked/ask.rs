//! What a person types to name issues as a plan: `gh:label:agent`, `gl:#12,#15`, `gh:milestone:1.0`, `bd:`.

use std::fmt;

use crate::host::Kind;
use crate::plan::Digest;

/// More issues than this are not typed by hand.
const MOST_NAMED: usize = 100;
/// The longest name of a label or of a milestone that a host allows, and room to spare.
const LONGEST: usize = 255;
/// The longest name of a file that is made of it.
const LONGEST_NAME: usize = 60;
const WAYS: &str = "label:NAME, milestone:NAME, or numbers as in #12,#15";

/// Which issues are wanted, of which tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub source: IssueSource,
    pub which: Which,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueSource {
    GitHub,
    GitLab,
    /// In the project itself, in `.beads`.
    Beads,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    Label(String),
    Milestone(String),
    /// Each once, in the order in which they were typed.
    Numbers(Vec<u64>),
}

impl IssueSource {
    pub const ALL: [IssueSource; 3] = [IssueSource::GitHub, IssueSource::GitLab, IssueSource::Beads];

    /// What is typed before the colon.
    pub fn prefix(self) -> &'static str {
        match self {
            IssueSource::GitHub => "gh",
            IssueSource::GitLab => "gl",
            IssueSource::Beads => "bd",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            IssueSource::GitHub => "GitHub",
            IssueSource::GitLab => "GitLab",
            IssueSource::Beads => "Beads",
        }
    }

    /// The program that is asked.
    pub fn program(self) -> &'static str {
        match self {
            IssueSource::GitHub => "gh",
            IssueSource::GitLab => "glab",
            IssueSource::Beads => "bd",
        }
    }

    /// What a host runs that has such issues. `None`: they are in the project itself.
    pub fn host(self) -> Option<Kind> {
        match self {
            IssueSource::GitHub => Some(Kind::GitHub),
            IssueSource::GitLab => Some(Kind::GitLab),
            IssueSource::Beads => None,
        }
    }
}

impl Ask {
    /// `None` for a text that is something else, such as a path. Otherwise what it asks for, or what is wrong with it.
    pub fn parse(text: &str) -> Option<Result<Ask, String>> {
        let (prefix, rest) = text.split_once(':')?;
        let source = IssueSource::ALL.into_iter().find(|source| source.prefix() == prefix)?;
        Some(Ask::of(source, rest).map(|which| Ask { source, which }))
    }

    fn of(source: IssueSource, rest: &str) -> Result<Which, String> {
        if source == IssueSource::Beads {
            let is_all = ["", "all"].contains(&rest.trim());
            return is_all
                .then_some(Which::All)
                .ok_or_else(|| "all issues of Beads are one plan: `bd:`".to_owned());
        }
        let named = |name: &str, what: &str| {
            let name = name.trim();
            if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) {
                return Err(format!("`{}:{what}:` needs the name of a {what} behind it", source.prefix()));
            }
            Ok(name.to_owned())
        };
        if let Some(name) = rest.strip_prefix("label:") {
            return named(name, "label").map(Which::Label);
        }
        if let Some(name) = rest.strip_prefix("milestone:") {
            return named(name, "milestone").map(Which::Milestone);
        }
        let parts: Vec<&str> =
            rest.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()).collect();
        let mut numbers = Vec::new();
        for part in &parts {
            let digits = part.strip_prefix('#').unwrap_or(part);
            let number: u64 = digits.parse().map_err(|_| {
                let part = part.escape_debug().to_string();
                format!("`{part}` is not an issue's number: behind `{}:` stands {WAYS}", source.prefix())
            })?;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        match numbers.len() {
            0 => Err(format!("behind `{}:` stands {WAYS}", source.prefix())),
            count if count > MOST_NAMED => {
                Err(format!("{count} issues are named; up to {MOST_NAMED} can be. A label names more"))
            }
            _ => Ok(Which::Numbers(numbers)),
        }
    }

    /// The same at another host.
    #[must_use]
    pub fn at(&self, host: Kind) -> Ask {
        let source = IssueSource::ALL.into_iter().find(|source| source.host() == Some(host));
        Ask { source: source.unwrap_or(self.source), which: self.which.clone() }
    }

    /// The name of the file that holds what was answered: the same for the same words, and another for others, also
    /// where a file system does not tell capital letters apart.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.slug())
    }

    fn slug(&self) -> String {
        let text = self.to_string().replace('#', "");
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let plain: String = text.chars().map(|c| if fits(c) { c } else { '-' }).collect();
        let is_same = text.chars().all(|c| fits(c) || ":,".contains(c));
        if is_same && plain.len() <= LONGEST_NAME {
            return plain;
        }
        let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
        let mut short = words.join("-");
        short.truncate(LONGEST_NAME);
        let digest = Digest::of_bytes(text.as_bytes());
        format!("{}-{}", short.trim_end_matches('-'), &digest.as_str()[..8])
    }
}

/// As it is typed.
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.source.prefix();
        match &self.which {
            Which::All => write!(f, "{prefix}:all"),
            Which::Label(name) => write!(f, "{prefix}:label:{name}"),
            Which::Milestone(name) => write!(f, "{prefix}:milestone:{name}"),
            Which::Numbers(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
                write!(f, "{prefix}:{}", numbers.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Ask {
        Ask::parse(text).expect("an ask").expect(text)
    }

    #[test]
    fn what_is_typed_names_issues() {
        assert_eq!(ask("gh:label:agent").which, Which::Label("agent".to_owned()));
        assert_eq!(ask("gh:label:area: parser").which, Which::Label("area: parser".to_owned()));
        assert_eq!(ask("gh:milestone:1.0").which, Which::Milestone("1.0".to_owned()));
        for text in ["gh:#12,#15", "gh:12,15", "gh:#12, #15,#12"] {
            assert_eq!(ask(text).which, Which::Numbers(vec![12, 15]), "{text}");
        }
        assert_eq!(ask("gh:12,15").to_string(), "gh:#12,#15");
    }

    #[test]
    fn every_source_has_its_own_prefix() {
        assert_eq!(ask("gl:label:agent").source, IssueSource::GitLab);
        assert_eq!(ask("bd:"), Ask { source: IssueSource::Beads, which: Which::All });
        assert_eq!(ask("bd:").to_string(), "bd:all");
        assert_eq!(ask("bd:all").file_name(), "bd-all.json");
        assert!(Ask::parse("bd:label:x").expect("an ask").is_err());
    }

    #[test]
    fn the_same_is_asked_of_another_host() {
        assert_eq!(ask("gl:#12,#15").at(Kind::GitHub).to_string(), "gh:#12,#15");
        assert_eq!(ask("gh:label:a b").at(Kind::GitLab).to_string(), "gl:label:a b");
    }

    #[test]
    fn paths_are_something_else() {
        for text in ["plan.toml", "C:label", "docs/gh", "gh", ""] {
            assert_eq!(Ask::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let wrong = |text: &str| Ask::parse(text).expect("an ask").expect_err(text);
        assert!(wrong("gh:").contains("label:NAME"));
        assert!(wrong("gh:label:").contains("name of a label"));
        assert!(wrong("gh:label:a\nb").contains("name of a label"));
        assert!(wrong("gh:--repo").contains("not an issue's number"));
        assert!(
            wrong(&format!("gh:{}", (1..=101).map(|n| n.to_string()).collect::<Vec<_>>().join(",")))
                .contains("101")
        );
    }

    #[test]
    fn every_ask_has_a_file_of_its_own() {
        let name = |text: &str| ask(text).file_name();
        assert_eq!(name("gh:label:agent"), "gh-label-agent.json");
        assert_eq!(name("gh:#12,#15"), "gh-12-15.json");
        let names = [
            name("gh:label:Agent"),
            name("gh:label:agent"),
            name("gh:label:a b"),
            name("gh:label:a/b"),
            name("gh:label:a-b"),
            name("gh:label:../../x"),
            name("gh:label:élan"),
        ];
        let folded: std::collections::BTreeSet<String> =
            names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| !name.contains(['/', ' ']) && !name.contains("..")), "{names:?}");
    }
}
