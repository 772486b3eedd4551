//! Where remotes are hosted, and what the programs of hosts leave when they fail.

use std::collections::BTreeMap;

use piton_core::host::{Ended, Failure, Kind, Place};
use piton_core::terminal::misleads;
use piton_core::time::{Span, Timestamp};

const NOW: Timestamp = Timestamp(1_790_000_000_000);

pub(crate) const URLS: &[&str] = &[
    "https://",
    "ssh://",
    "git://",
    "file://",
    "git@",
    "user:secret@",
    "github.com",
    "gitlab.com",
    "acme.ghe.com",
    "gitlab.example.org",
    "git.example.org",
    "altssh.gitlab.com",
    ":443",
    ":2222",
    ":",
    "/",
    "owner",
    "group/sub",
    "name.git",
    ".git",
    "..",
    "--upload-pack=x",
    "%2e%2e",
    "?x=1",
    "#1",
    "\u{202e}",
    "\0",
    " ",
    "\\",
];

pub(crate) const ENDS: &[&str] = &[
    "gh: ",
    "glab: ",
    "GraphQL: ",
    "HTTP 401: ",
    "HTTP 502",
    "(HTTP 404)",
    "HTTP 403",
    "HTTP 4",
    "https://gitlab.com/x: 409 ",
    ": 999 ",
    "{message: ",
    "API rate limit exceeded",
    "secondary rate limit",
    "Retry-After: 30\r\n",
    "Retry-After: -1\n",
    "X-Ratelimit-Reset: 1790000060\n",
    "X-Ratelimit-Reset: 99999999999999\n",
    "{\"message\":\"Retry later\"}",
    "{\"errors\":[",
    "gh auth login",
    "dial tcp",
    "404 Not Found",
    "   ERROR  \n",
    "\n",
    "\u{1b}[2J",
    "\u{1b}]0;x\u{7}",
    "\u{202e}",
    "\0",
    "é",
];

/// What is read of a remote can stand in an argument, in a path of an API and on a terminal.
pub(crate) fn places(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let known = BTreeMap::from([("git.example.org".to_owned(), Kind::GitLab)]);
    match Place::of(&text, &known) {
        Ok(place) => {
            let parts = [&place.host, &place.owner, &place.name];
            for part in parts {
                assert!(
                    !part.is_empty() && !part.starts_with(['-', '/']) && !part.ends_with('/'),
                    "{place:?}"
                );
                let fits = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
                assert!(part.chars().all(fits), "{place:?}");
            }
            assert!(!place.full_name().split('/').any(|part| part == ".." || part == "."), "{place:?}");
            assert!(!place.host.contains('@') && !place.name.contains('/'), "{place:?}");
            assert!(place.kind == Kind::GitLab || !place.owner.contains('/'), "{place:?}");
            // The address that Piton makes of it is that of the same place.
            let url = format!("https://{}/{}", place.host, place.full_name());
            let again = Place::of(&url, &known).expect("its own address");
            assert!(again == place || place.name.ends_with(".git"), "{place:?} became {again:?}");
        }
        Err(why) => assert!(!why.to_string().contains(misleads), "{why:?}"),
    }
}

/// The first byte says which program it was and how it ended.
pub(crate) fn failures(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let kind = Kind::ALL[usize::from(how & 1)];
    let code = i32::from(how >> 1);
    let (stdout, stderr) = bytes.split_at(bytes.len() / 2);
    let place = Place {
        kind,
        host: if kind == Kind::GitHub { "github.com" } else { "gitlab.com" }.to_owned(),
        owner: "o".to_owned(),
        name: "r".to_owned(),
    };
    let Some(failure) = Failure::read(&place, Ended { code, stdout, stderr }, NOW) else {
        assert_eq!(code, 0, "a program that failed has no answer");
        return;
    };
    let shown = failure.to_string();
    assert!(shown.chars().count() < 400 && !shown.contains(misleads), "{shown:?}");
    if let Failure::RateLimited { until: Some(until), .. } = failure {
        assert!(until > NOW && until.since(NOW) <= Span::minutes(90), "{until}");
    }
    // What certainly did not happen is never what may be over by itself, except for a limit.
    let is_limit = matches!(failure, Failure::RateLimited { .. });
    assert!(failure.may_have_happened() || is_limit || !failure.passes(), "{failure:?}");
}
