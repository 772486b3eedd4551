//! `[requests]`: how tasks land by requests, in runs that do.

use super::walk::{Section, Walk};
use crate::diagnostic::Diagnostic;
use crate::plan::{MergeBy, Method, Per, Requests};
use crate::time::Span;

/// Agents that do not make the host's checks pass after so many tries do not with more.
const MOST_ROUNDS: u32 = 20;
/// Whoever wants to hear of a request later than this looks by hand.
const LONGEST: Span = Span::minutes(60);

pub(super) fn read_requests(walk: &mut Walk<'_>, section: &Section<'_>) -> Requests {
    let usual = Requests::default();
    Requests {
        per: section.choice(walk, "per", &Per::ALL).unwrap_or(usual.per),
        merge: section.choice(walk, "merge", &MergeBy::ALL).unwrap_or(usual.merge),
        method: section.choice(walk, "method", &Method::ALL).unwrap_or(usual.method),
        remote: section.line(walk, "remote").map_or(usual.remote, |remote| remote.value.to_owned()),
        labels: labels(walk, section),
        draft: section.flag(walk, "draft").unwrap_or(usual.draft),
        rounds: section.number(walk, "rounds", 0..=MOST_ROUNDS).unwrap_or(usual.rounds),
        poll: span(walk, section, "poll", Span::seconds(1)).unwrap_or(usual.poll),
        settle: span(walk, section, "settle", Span(0)).unwrap_or(usual.settle),
        stack: section.flag(walk, "stack").unwrap_or(usual.stack),
        whole: None,
    }
}

/// A comma separates labels in what `gh` and `glab` take.
fn labels(walk: &mut Walk<'_>, section: &Section<'_>) -> Vec<String> {
    let mut labels = Vec::new();
    for label in section.texts(walk, "labels") {
        let text = label.value.trim();
        if text.is_empty() || text.contains(',') || text.chars().any(char::is_control) {
            let wrong = Diagnostic::error(label.at, format!("{:?} is not a label", label.value));
            walk.push(wrong.label("a label is some words on one line, without a comma"));
        } else {
            labels.push(text.to_owned());
        }
    }
    labels
}

fn span(walk: &mut Walk<'_>, section: &Section<'_>, key: &str, least: Span) -> Option<Span> {
    let said = section.span(walk, key)?;
    if (least..=LONGEST).contains(&said.value) {
        return Some(said.value);
    }
    let wrong = Diagnostic::error(said.at, format!("`{key}` is out of range"));
    walk.push(wrong.label(format!("{least} to {LONGEST} is allowed")));
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::config::read_config;

    #[test]
    fn what_is_not_said_stays_usual() {
        let (config, wrong) =
            read_config("[requests]\nmerge = \"person\"\nlabels = [\"agent\"]\npoll = \"2m\"\n");
        assert!(wrong.is_empty(), "{wrong:?}");
        let said = Requests {
            merge: MergeBy::Person,
            labels: vec!["agent".to_owned()],
            poll: Span::minutes(2),
            ..Requests::default()
        };
        assert_eq!(config.requests, said);
        assert_eq!(read_config("").0.requests, Requests::default());
    }

    #[test]
    fn what_a_host_cannot_be_asked_for_is_said() {
        let text = "[requests]\nlabels = [\"a,b\", \"\", \"ok\"]\npoll = \"0s\"\nsettle = \"2h\"\nrounds = 21\nmerge = \"me\"\n";
        let (config, wrong) = read_config(text);
        let said: Vec<&str> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
        let expected = [
            "\"a,b\" is not a label",
            "an entry of `labels` is empty",
            "`poll` is out of range",
            "`settle` is out of range",
            "`rounds` is out of range",
            "`merge` cannot be \"me\"",
        ];
        assert_eq!(said, expected);
        assert_eq!(config.requests, Requests { labels: vec!["ok".to_owned()], ..Requests::default() });
    }
}
