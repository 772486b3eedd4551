//! `[notify]`: how Piton notifies you about a run that you do not watch.

use serde::{Deserialize, Serialize};

use super::checks::read_command;
use super::walk::{Section, Spanned, Walk};
use crate::diagnostic::Diagnostic;
use crate::plan::Argv;
use crate::view::Topic;

/// What `[notify]` says. It is about people and their machines, so a run does not keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notify {
    /// What to tell about. `None`: everything.
    pub on: Option<Vec<Topic>>,
    pub desktop: bool,
    /// A program and its arguments. It gets the message on its standard input.
    pub command: Option<Vec<String>>,
    pub webhook: Option<Webhook>,
}

/// Where a message is posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Webhook {
    Url(String),
    /// The environment variable that holds the URL, which is often a secret.
    Variable(String),
}

impl Webhook {
    /// `https://…`, or `$NAME`.
    pub fn parse(text: &str) -> Option<Webhook> {
        let text = text.trim();
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.chars().all(is_part) && name.starts_with(|c: char| !c.is_ascii_digit())
        };
        match text.strip_prefix('$') {
            Some(name) => is_name(name).then(|| Webhook::Variable(name.to_owned())),
            None => is_url(text).then(|| Webhook::Url(text.to_owned())),
        }
    }
}

/// Whether a message can be posted there.
pub fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '`');
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_plain))
}

pub(super) fn read_notify(walk: &mut Walk<'_>, section: &Section<'_>) -> Notify {
    let on = section.has("on").then(|| {
        let said = section.texts(walk, "on");
        said.iter().filter_map(|said| read_topic(walk, said)).collect()
    });
    let command = section.get("command").and_then(|said| match read_command(walk, "`command`", &said)? {
        Argv::Words(words) => Some(words),
        _ => {
            let message = "`command` in `[notify]` needs a shell";
            let label = "write its words as a list, or name `sh` as the first of them";
            walk.push(Diagnostic::error(said.at, message).label(label));
            None
        }
    });
    let webhook = section.line(walk, "webhook").and_then(|said| {
        let webhook = Webhook::parse(said.value);
        if webhook.is_none() {
            // Not the text itself: a URL like this is often a secret.
            let message = "`webhook` is not the URL of a web page";
            let label = "write it like \"https://example.org/hook\", or \"$NAME\" for a variable";
            walk.push(Diagnostic::error(said.at, message).label(label));
        }
        webhook
    });
    let desktop = section.flag(walk, "desktop").unwrap_or(false);
    Notify { on, desktop, command, webhook }
}

fn read_topic(walk: &mut Walk<'_>, said: &Spanned<&str>) -> Option<Topic> {
    let found = Topic::named(said.value);
    if found.is_none() {
        let names: Vec<String> = Topic::ALL.iter().map(|topic| format!("\"{}\"", topic.name())).collect();
        let message = format!("`on` cannot hold {:?}", said.value);
        let label = format!("one of {}", names.join(", "));
        walk.push(Diagnostic::error(said.at.clone(), message).label(label));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::config::read_config;

    #[test]
    fn a_webhook_is_a_url_or_the_name_of_a_variable() {
        for text in ["https://hooks.example.org/a?b=c#d", "http://127.0.0.1:8080", " https://x "] {
            assert!(matches!(Webhook::parse(text), Some(Webhook::Url(_))), "{text}");
        }
        assert_eq!(Webhook::parse("$HOOK_1"), Some(Webhook::Variable("HOOK_1".to_owned())));
        for text in
            ["", "$", "$1A", "$A B", "https://", "https:///x", "ftp://x", "example.org", "https://a b"]
        {
            assert_eq!(Webhook::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_in_it_is_said_without_the_url() {
        let text =
            "[notify]\non = ['done', 'lunch']\ndesktop = 1\ncommand = 'a | b'\nwebhook = 'ftp://key@x'\n";
        let (config, problems) = read_config(text);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`on` cannot hold \"lunch\"",
                "`desktop` must be `true` or `false`",
                "`command` in `[notify]` needs a shell",
                "`webhook` is not the URL of a web page",
            ]
        );
        assert_eq!(config.notify, Notify { on: Some(vec![Topic::Done]), ..Notify::default() });
    }
}
