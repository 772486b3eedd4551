//! What in an environment is secret: by the name of a variable, or by what it holds.

use serde_json::Value;

use super::SHORTEST;
use crate::client::Adapter;

/// Letters alone are a word up to this length (`disabled`, `development`), and may be a password from there on.
const LONGEST_WORD: usize = 16;
/// Credentials are not shorter. Shorter values next to them are words, such as that of `token_type`.
const SHORTEST_KEPT: usize = 12;

/// Whether a variable of this name and value holds something to hide.
pub fn is_secret(name: &str, value: &str) -> bool {
    !secrets_in(name, value).is_empty()
}

/// What is to be hidden of a variable: nothing, or the whole of it and the parts that are secret by themselves.
pub fn secrets_in(name: &str, value: &str) -> Vec<String> {
    // The proof that a word comes from an attempt is written with every word of it, and is worth nothing after it.
    // And what git calls a key is the name of a setting.
    if name == "PITON_TOKEN" || name.starts_with("GIT_CONFIG_KEY_") {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let is_whole = says_secret(name, value) || (holds_secrets(name) && is_long_enough(value.trim()));
    let passwords = passwords(value);
    in_json(&parsed(value), &mut parts);
    if !is_whole && passwords.is_empty() && parts.is_empty() {
        return parts;
    }
    parts.extend(passwords.into_iter().chain(in_lines(name, value)).map(str::to_owned));
    parts.retain(|part| is_long_enough(part) && part != value);
    parts.sort_unstable();
    parts.dedup();
    parts.insert(0, value.to_owned());
    parts
}

/// The secrets in a file in which a client keeps its credentials.
pub fn secrets_in_json(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    in_json(&parsed(text), &mut parts);
    parts.retain(|part| part.len() >= SHORTEST_KEPT);
    parts
}

/// Whether the name says that the value is one secret.
fn says_secret(name: &str, value: &str) -> bool {
    const WORDS: [&str; 13] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "AUTHORIZATION",
        "KEYS",
        "TOKENS",
        "SECRETS",
        "PASSWORDS",
        "CREDENTIALS",
    ];
    // These name a secret only at the end: `XDG_SESSION_TYPE`, `JWT_ISSUER` and `AUTH_TYPE` hold no secret.
    const LAST: [&str; 8] = ["PWD", "AUTH", "COOKIE", "COOKIES", "SESSION", "JWT", "BEARER", "WEBHOOK"];
    // Where a secret is, rather than what it is.
    const PLACES: [&str; 6] = ["FILE", "PATH", "DIR", "HOME", "SOCK", "URL"];
    let name = name.to_ascii_uppercase();
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let says_so = name
        .split(['_', '-', '.'])
        .any(|part| WORDS.iter().any(|word| part.ends_with(word)) || matches!(part, "PAT" | "PASS" | "PSK"))
        || (LAST.contains(&last) && !["PWD", "DESKTOP_SESSION"].contains(&name.as_str()))
        || name.ends_with("WEBHOOK_URL");
    let is_path = value.starts_with('/')
        && (PLACES.contains(&last) || last == "PWD" || name == "GOOGLE_APPLICATION_CREDENTIALS");
    says_so && !is_path && !PLACES[..3].contains(&last) && is_long_enough(value.trim())
}

/// Whether secrets are usually among what the value holds.
fn holds_secrets(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let of_client = Adapter::known().any(|client| client.facts().secret_variables.contains(&name.as_str()));
    of_client || name == "DSN" || name.ends_with("_DSN")
}

fn is_long_enough(value: &str) -> bool {
    let is_word = value.len() < LONGEST_WORD && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    value.len() >= SHORTEST && !is_word
}

/// A document, if it is one that can have members.
fn parsed(text: &str) -> Value {
    let has_members = text.trim_start().starts_with(['{', '[']);
    has_members.then(|| serde_json::from_str(text).ok()).flatten().unwrap_or_default()
}

/// The texts of members whose names say that they are secret.
fn in_json(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if says_secret(name, text) => {
                        found.extend([text.as_str()].into_iter().chain(credential(text)).map(str::to_owned));
                    }
                    member => in_json(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| in_json(item, found)),
        _ => {}
    }
}

/// `Bearer x` and `Basic x` are a scheme and a secret.
fn credential(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(' ')?;
    scheme.bytes().all(|byte| byte.is_ascii_alphabetic()).then(|| rest.trim())
}

/// The passwords of all URLs in a text: what stands between the first colon and the last `@` of an authority.
fn passwords(text: &str) -> Vec<&str> {
    let authority = |rest: &'_ str| rest.find(['/', '?', '#', '"', '\'', ' ', '\n']).unwrap_or(rest.len());
    let urls = text.match_indices("://").map(|(at, mark)| &text[at + mark.len()..]);
    let users = urls.filter_map(|rest| Some(rest[..authority(rest)].rsplit_once('@')?.0));
    users.filter_map(|user| Some(user.split_once(':')?.1)).filter(|password| !password.is_empty()).collect()
}

/// The parts of a value that is made of headers, or says where a database or a service is.
fn in_lines<'v>(name: &str, value: &'v str) -> Vec<&'v str> {
    let name = name.to_ascii_uppercase();
    if name == "ANTHROPIC_CUSTOM_HEADERS" {
        let values = value.lines().filter_map(|line| Some(line.split_once(':')?.1.trim()));
        return values.flat_map(|text| [text].into_iter().chain(credential(text))).collect();
    }
    if !holds_secrets(&name) || value.trim_start().starts_with('{') {
        return Vec::new();
    }
    // `https://key@host/1`, `user:password@tcp(host)/db`, `host=h password=p`.
    let user = value.rsplit_once('@').map(|(user, _)| user.rsplit_once("://").map_or(user, |(_, user)| user));
    let user = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let settings = value.split([' ', ';', '&', '?']).filter_map(|setting| setting.split_once('='));
    let settings = settings.filter(|(key, value)| says_secret(key, value)).map(|(_, value)| value);
    user.into_iter().chain(settings).collect()
}
