//! What the readers of hosts' answers share: questions as words, and texts that are bounded.

use serde::Deserialize;

use crate::plan::Oid;
use crate::run::request::Opened;
use crate::terminal::{clean_text, one_line};

/// More checks or remarks than that are not listed: a prompt could not hold them.
pub(super) const MOST: usize = 50;
/// The longest name of a check or a person.
pub(super) const NAME: usize = 120;
/// The longest remark. People who write more write it to people.
pub(super) const TEXT: usize = 4_000;

/// Words for the program that talks to the host, and a text for its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub words: Vec<String>,
    pub text: Option<String>,
}

pub(super) fn ask<const N: usize>(words: [&str; N]) -> Ask {
    Ask { words: words.iter().map(|word| (*word).to_owned()).collect(), text: None }
}

pub(super) fn parse<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, String> {
    let wrong = |error: serde_json::Error| {
        // It quotes what it does not understand.
        format!("the host's answer is not understood: {}", short(&error.to_string(), 200))
    };
    let text = std::str::from_utf8(answer).map_err(serde::de::Error::custom);
    text.and_then(serde_json::from_str).map_err(wrong)
}

pub(super) fn short(text: &str, most: usize) -> String {
    one_line(text).trim().chars().take(most).collect()
}

pub(super) fn text(text: &str) -> String {
    clean_text(text.as_bytes()).trim().chars().take(TEXT).collect()
}

pub(super) fn oid(text: &str) -> Result<Oid, String> {
    Oid::new(text).map_err(|_| "the host's answer names no commit".to_owned())
}

pub(super) fn opened(number: u64, url: &str) -> Opened {
    let is_address = url.starts_with("https://") || url.starts_with("http://");
    Opened { number, url: if is_address { short(url, 500) } else { String::new() } }
}
