//! Where remotes are hosted, what the programs of hosts leave when they fail, and what hosts answer about requests.

use std::collections::BTreeMap;

use piton_core::host::demands::{Demands, Lack, parts};
use piton_core::host::gitlab::{self, Notes};
use piton_core::host::request;
use piton_core::host::{Ended, Failure, Kind, Place};
use piton_core::plan::Requests;
use piton_core::run::request::{Remark, Seen};
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
    let place = scene(kind);
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

pub(crate) const ANSWERS: &[&str] = &[
    "{\"state\":\"OPEN\",\"headRefOid\":\"00000000000000000000000000000000000000aa\"",
    "{\"state\":\"OPEN\",\"baseRefName\":\"piton/r/T1\",\"headRefOid\":",
    "{\"state\":\"opened\",\"target_branch\":\"piton/r/T1\",\"sha\":\"00000000000000000000000000000000000000aa\"",
    ",\"statusCheckRollup\":[{\"name\":\"a\",\"status\":\"COMPLETED\",\"conclusion\":\"FAILURE\"",
    ",\"detailsUrl\":\"https://github.com/o/r/actions/runs/7/job/8\"}]",
    ",\"reviews\":[{\"id\":\"r1\",\"authorAssociation\":\"MEMBER\",\"state\":\"CHANGES_REQUESTED\",\"body\":\"x\"}]",
    ",\"head_pipeline\":{\"status\":\"failed\",\"sha\":\"00000000000000000000000000000000000000aa\"",
    ",\"web_url\":\"https://gitlab.com/o/r/-/pipelines/12\"}",
    "\"web_url\":\"https://gitlab.com/o/r/-/jobs/12;rm\"",
    "[{\"id\":1,\"author\":{\"id\":2,\"username\":\"x\"},\"body\":\"y\",\"resolvable\":true}]",
    "[{\"name\":\"t\",\"status\":\"failed\",",
    "{\"check_runs\":[{\"name\":\"a\",\"conclusion\":\"failure\"}]}",
    "[{\"type\":\"pull_request\",\"parameters\":{\"required_approving_review_count\":2,\"allowed_merge_methods\":[\"squash\"]}}]",
    "{\"data\":{\"repository\":{\"mergeQueue\":null,\"ref\":{\"refUpdateRule\":{\"requiresSignatures\":true}}}}}",
    "https://github.com/o/r/pull/12\n",
    "null",
    "-1",
    "18446744073709551616",
    "\\u001b[2J",
    "\\u202e",
    "{",
    "}",
    "[",
    "]",
    ",",
];

/// The first byte says which host was asked what. Whatever it answers, what is read is bounded, clean, and safe to ask further
/// with.
pub(crate) fn answers(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let place = scene(Kind::ALL[usize::from(how & 1)]);
    match how >> 1 & 7 {
        0 => {
            let base = request::base(&place, bytes).ok().flatten();
            base.into_iter().for_each(|base| plain(&base, 500));
            let Ok(seen) = request::seen(&place, bytes) else { return };
            plain_seen(&seen);
            let asks = seen.red.iter().filter_map(|check| request::log(&place, check));
            asks.chain(gitlab::failed_jobs(&place, &seen.red)).for_each(|ask| plain_words(&ask.words));
        }
        1 => {
            let opened = request::listed(&place, bytes).ok().flatten();
            opened.into_iter().chain(request::created(bytes)).for_each(|opened| plain(&opened.url, 500));
        }
        2 => remarks(&request::remarks_on_lines(bytes).unwrap_or_default()),
        3 => {
            let Ok(notes) = Notes::read(bytes) else { return };
            let authors = notes.authors();
            assert!(authors.len() <= 20, "{authors:?}");
            let head = r#"{"state": "opened", "sha": "00000000000000000000000000000000000000aa"}"#;
            let mut seen = request::seen(&scene(Kind::GitLab), head.as_bytes()).expect("a request");
            notes.sort_into(&mut seen, &authors, &authors);
            plain_seen(&seen);
        }
        4 => {
            let red = gitlab::red_jobs(bytes).or_else(|_| gitlab::red_pipeline(bytes)).unwrap_or_default();
            red.iter().for_each(|check| plain(&check.name, 120));
            red.iter()
                .filter_map(|check| request::log(&place, check))
                .for_each(|ask| plain_words(&ask.words));
            request::red_names(bytes).unwrap_or_default().iter().for_each(|name| plain(name, 120));
        }
        5 => drop((
            gitlab::has_a_say(bytes),
            gitlab::asking_for_changes(bytes),
            gitlab::verdicts(&place, 1, bytes),
        )),
        _ => {
            let (mut demands, settings) = (Demands::default(), Requests::default());
            for (part, _) in Kind::ALL.into_iter().flat_map(|kind| parts(&scene(kind), "main")) {
                // What it does not understand changes nothing.
                let _ = demands.read(part, bytes);
            }
            for lack in demands.lacks("main", &settings, false) {
                let (Lack::Stops { reason, .. } | Lack::Waits(reason)) = lack;
                plain(&reason, 200);
            }
            if let Err(why) = request::allows(&place, bytes, &settings) {
                plain(&why, 400);
            }
        }
    }
}

fn scene(kind: Kind) -> Place {
    let host = if kind == Kind::GitHub { "github.com" } else { "gitlab.com" };
    Place { kind, host: host.to_owned(), owner: "o".to_owned(), name: "r".to_owned() }
}

fn plain(text: &str, most: usize) {
    assert!(text.chars().count() <= most && !text.contains(misleads), "{text:?}");
}

fn plain_words(words: &[String]) {
    words.iter().for_each(|word| plain(word, 300));
    assert!(words.iter().all(|word| !word.contains([';', ' ', '\\'])), "{words:?}");
}

fn plain_seen(seen: &Seen) {
    let names = seen.pending.iter().chain(&seen.stuck).chain(seen.red.iter().map(|check| &check.name));
    names.for_each(|name| plain(name, 120));
    assert!(seen.pending.len() <= 50 && seen.red.len() <= 50 && seen.stuck.len() <= 50);
    remarks(&seen.wanted);
    remarks(&seen.remarks);
}

fn remarks(all: &[Remark]) {
    assert!(all.len() <= 50);
    for remark in all {
        plain(&remark.id, 120);
        plain(&remark.by, 120);
        plain(&remark.place, 120);
        assert!(remark.text.chars().count() <= 4_000 && !remark.text.contains('\u{1b}'), "{remark:?}");
    }
}
