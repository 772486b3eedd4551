//! Why a host's program gave no answer, read from what it left. The messages are those of gh 2.92 to 2.102 and of glab 1.36
//! to 1.120.

use super::{Kind, Place};
use crate::terminal::{clean_text, one_line};
use crate::time::{Span, Timestamp};

/// What a host's program left when it ended by itself. Secrets have been taken out of the texts.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub code: i32,
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
}

/// Why `gh` or `glab` gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("`{}` is not installed", .kind.program())]
    NotInstalled { kind: Kind },
    #[error("`{}` could not be started: {said}", .kind.program())]
    NotStarted { kind: Kind, said: String },
    #[error("`{}` is not logged in to {host}", .kind.program())]
    NotLoggedIn { kind: Kind, host: String },
    /// It accepts no more questions for a while.
    #[error("{host} accepts no more requests for now{}", at(*.until))]
    RateLimited { host: String, until: Option<Timestamp> },
    #[error("not found at {host}: {said}")]
    NotFound { host: String, said: String },
    #[error("{host} cannot be reached: {said}")]
    NoNetwork { host: String, said: String },
    /// The host itself is in trouble.
    #[error("{host} is in trouble: {said}")]
    Unavailable { host: String, said: String },
    #[error("`{}` had not answered after {after}, and was stopped", .kind.program())]
    TimedOut { kind: Kind, after: Span },
    /// The engine ends, so the program was ended, too.
    #[error("`{}` was stopped", .kind.program())]
    Stopped { kind: Kind },
    #[error("`{}` printed more than {most} bytes, and was stopped", .kind.program())]
    TooMuchOutput { kind: Kind, most: usize },
    /// It understood, and did not do it. `status` is that of HTTP, where the program names it.
    #[error("{host} refused: {said}")]
    Refused { host: String, status: Option<u16>, said: String },
}

fn at(time: Option<Timestamp>) -> String {
    time.map(|time| format!(", until {time}")).unwrap_or_default()
}

impl Failure {
    /// What the end of a host's program means. `None`: it is an answer.
    pub fn read(place: &Place, ended: Ended<'_>, now: Timestamp) -> Option<Failure> {
        let (kind, host) = (place.kind, place.host.clone());
        let errors = clean_text(ended.stderr);
        let said = said(&errors);
        let status = status(&said);
        // glab 1.36 exits with 0 although the host said no.
        let denied =
            kind == Kind::GitLab && said.starts_with("glab: ") && status.is_some_and(|status| status >= 400);
        if ended.code == 0 && !denied {
            return None;
        }
        let body = clean_text(&ended.stdout[..ended.stdout.len().min(BODY)]);
        let words = format!("{said}\n{}", message(&body)).to_ascii_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let said = shown(kind, &said, ended.code);
        Some(match status {
            Some(429) => Failure::RateLimited { host, until: reset(&body, now) },
            Some(403) | None if says(&LIMITS) => Failure::RateLimited { host, until: reset(&body, now) },
            Some(401) => Failure::NotLoggedIn { kind, host },
            Some(404) => Failure::NotFound { host, said },
            Some(500..) => Failure::Unavailable { host, said },
            Some(status) => Failure::Refused { host, status: Some(status), said },
            None if (kind == Kind::GitHub && ended.code == 4) || says(&LOGINS) => {
                Failure::NotLoggedIn { kind, host }
            }
            None if says(&NETWORK) => Failure::NoNetwork { host, said },
            None if says(&MISSING) => Failure::NotFound { host, said },
            None => Failure::Refused { host, status: None, said },
        })
    }

    /// Whether it may be over by itself after a while.
    pub fn passes(&self) -> bool {
        match self {
            Failure::RateLimited { .. }
            | Failure::NoNetwork { .. }
            | Failure::Unavailable { .. }
            | Failure::TimedOut { .. }
            | Failure::Stopped { .. } => true,
            Failure::NotInstalled { .. }
            | Failure::NotStarted { .. }
            | Failure::NotLoggedIn { .. }
            | Failure::NotFound { .. }
            | Failure::TooMuchOutput { .. }
            | Failure::Refused { .. } => false,
        }
    }

    /// Whether what was asked for may have been done all the same. Then it has to be looked for before it is asked for again.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Failure::NotInstalled { .. }
            | Failure::NotStarted { .. }
            | Failure::NotLoggedIn { .. }
            | Failure::RateLimited { .. }
            | Failure::NotFound { .. }
            | Failure::Refused { status: Some(_), .. } => false,
            Failure::NoNetwork { .. }
            | Failure::Unavailable { .. }
            | Failure::TimedOut { .. }
            | Failure::Stopped { .. }
            | Failure::TooMuchOutput { .. }
            | Failure::Refused { status: None, .. } => true,
        }
    }

    /// What a person can do about it, with the command to type.
    pub fn hint(&self) -> Option<String> {
        match self {
            Failure::NotInstalled { kind } => Some(format!("install it from {}", kind.install_page())),
            Failure::NotLoggedIn { kind, host } => {
                Some(format!("{} auth login --hostname {host}", kind.program()))
            }
            _ => None,
        }
    }
}

/// More of a body says nothing about a failure.
const BODY: usize = 64 * 1024;
/// What people are shown of a message. The longest real ones that matter are about 200 characters.
const SHOWN: usize = 300;

const LIMITS: [&str; 7] = [
    "rate limit",
    "abuse detection",
    "submitted too quickly",
    "too many requests",
    "requested too many times",
    "retry later",
    "exceeded retry limit",
];
const LOGINS: [&str; 9] = [
    "gh auth login",
    "glab auth login",
    "not logged in",
    "not been authenticated",
    "unauthenticated",
    "authentication required",
    "bad credentials",
    "401 unauthorized",
    "no token provided",
];
const NETWORK: [&str; 17] = [
    "error connecting to",
    "check your internet connection",
    "no such host",
    "name resolution",
    "dial tcp",
    "connection refused",
    "connection reset",
    "network is unreachable",
    "no route to host",
    "i/o timeout",
    "handshake timeout",
    "deadline exceeded",
    "client.timeout exceeded",
    "unexpected eof",
    "stream error",
    "server misbehaving",
    "something went wrong while executing your query",
];
const MISSING: [&str; 6] = [
    "could not resolve to a",
    "no pull requests found for",
    "404 not found",
    "404 project not found",
    "could not find any",
    "no open merge request available",
];

/// What a program says, on one line: its first paragraph. glab puts it into a box and wraps it.
fn said(errors: &str) -> String {
    let lines = errors.lines().map(str::trim);
    let lines =
        lines.filter(|line| !line.is_empty() && *line != "ERROR" && !line.starts_with("DEPRECATION WARNING"));
    let joined = lines.take(12).collect::<Vec<_>>().join(" ");
    one_line(joined.trim())
}

/// What people are shown of it.
fn shown(kind: Kind, said: &str, code: i32) -> String {
    let said = ["gh: ", "glab: ", "X ", "! "]
        .iter()
        .fold(said, |said, mark| said.strip_prefix(mark).unwrap_or(said));
    if said.is_empty() {
        return format!("`{}` ended with exit code {code}, and said nothing", kind.program());
    }
    match said.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &said[..at]),
        None => said.to_owned(),
    }
}

/// The status of HTTP that a message names: `(HTTP 404)`, `HTTP 502: …`, `https://…: 409 {message: …}`,
/// `status code: 401`.
fn status(said: &str) -> Option<u16> {
    let digits = |rest: &str| -> Option<u16> {
        let digits = rest.get(..3)?;
        let ends = !rest[3..].starts_with(|c: char| c.is_ascii_alphanumeric());
        digits.parse().ok().filter(|status| (100..600).contains(status) && ends)
    };
    let after = |mark: &str| said.match_indices(mark).find_map(|(at, _)| digits(&said[at + mark.len()..]));
    let in_url = || {
        let (_, rest) = said.split_once("://")?;
        rest.match_indices(": ").find_map(|(at, _)| {
            let rest = &rest[at + 2..];
            digits(rest).filter(|_| rest[3..].starts_with(' ') || rest.len() == 3)
        })
    };
    after("HTTP ").or_else(|| after("status code: ")).or_else(in_url)
}

/// What the body of an answer says is wrong, in the ways of both APIs.
fn message(body: &str) -> String {
    // `gh api -i` puts the headers before it.
    let json = body.find('{').map_or("", |at| &body[at..]);
    let Ok(serde_json::Value::Object(body)) = serde_json::from_str(json.trim()) else { return String::new() };
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let of_errors = || body.get("errors")?.as_array()?.iter().find_map(|error| text(error.get("message")?));
    let of_error = || text(body.get("error")?.get("message")?);
    body.get("message").and_then(text).or_else(of_errors).or_else(of_error).unwrap_or_default()
}

/// When the host accepts questions again, as its headers say.
fn reset(body: &str, now: Timestamp) -> Option<Timestamp> {
    let header = |name: &str| {
        body.lines().take(60).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().parse::<u32>().ok()).flatten()
        })
    };
    let after = header("retry-after").map(|seconds| now.plus(Span::seconds(u64::from(seconds))));
    let at = || header("x-ratelimit-reset").or_else(|| header("ratelimit-reset"));
    let until = after.or_else(|| at().map(|at| Timestamp(i64::from(at) * 1000)))?;
    // Limits are counted by the hour. What lies further away is a clock that is wrong.
    (until > now && until.since(now) <= Span::minutes(90)).then_some(until)
}
