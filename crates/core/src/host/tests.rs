use std::collections::BTreeMap;

use super::*;
use crate::time::{Span, Timestamp};

fn place(url: &str) -> Result<Place, NoPlace> {
    let known = BTreeMap::from([
        ("code.example.org".to_owned(), Kind::GitLab),
        ("git.corp:8443".to_owned(), Kind::GitHub),
    ]);
    Place::of(url, &known)
}

#[test]
fn urls_of_all_kinds_name_their_place() {
    for (url, kind, host, owner, name) in [
        ("git@github.com:o/r.git", Kind::GitHub, "github.com", "o", "r"),
        ("github.com:o/r", Kind::GitHub, "github.com", "o", "r"),
        ("https://github.com/o/r", Kind::GitHub, "github.com", "o", "r"),
        ("https://github.com/o/r/", Kind::GitHub, "github.com", "o", "r"),
        ("https://user:secret@GitHub.com:443/o/r.git", Kind::GitHub, "github.com", "o", "r"),
        ("ssh://git@ssh.github.com:443/o/r.git", Kind::GitHub, "github.com", "o", "r"),
        ("git://github.com/o/r.js.git", Kind::GitHub, "github.com", "o", "r.js"),
        ("https://acme.ghe.com/o/r", Kind::GitHub, "acme.ghe.com", "o", "r"),
        ("git@github.corp.example:o/r.git", Kind::GitHub, "github.corp.example", "o", "r"),
        ("https://git.corp:8443/o/r", Kind::GitHub, "git.corp:8443", "o", "r"),
        ("git@gitlab.com:g/s/r.git", Kind::GitLab, "gitlab.com", "g/s", "r"),
        ("ssh://git@altssh.gitlab.com:443/g/r.git", Kind::GitLab, "gitlab.com", "g", "r"),
        ("ssh://git@gitlab.example.org:2222/g/s/t/r.git", Kind::GitLab, "gitlab.example.org", "g/s/t", "r"),
        ("https://code.example.org/g/r.git\n", Kind::GitLab, "code.example.org", "g", "r"),
    ] {
        let expected = Place { kind, host: host.to_owned(), owner: owner.to_owned(), name: name.to_owned() };
        assert_eq!(place(url), Ok(expected), "{url}");
    }
}

#[test]
fn what_is_no_place_says_why() {
    let unknown = |host: &str| NoPlace::UnknownHost { host: host.to_owned() };
    for (url, why) in [
        ("/srv/git/r.git", NoPlace::Local),
        ("../r", NoPlace::Local),
        ("./a:b/c", NoPlace::Local),
        ("file:///srv/git/r.git", NoPlace::Local),
        (r"C:\git\r", NoPlace::Local),
        ("", NoPlace::Local),
        ("https://git.example.org/o/r", unknown("git.example.org")),
        ("git@work:o/r.git", unknown("work")),
        // Another port of a host is another host.
        ("https://git.corp/o/r", unknown("git.corp")),
        ("https://github.com", NoPlace::NoRepository),
        ("https://github.com/r", NoPlace::NoRepository),
        ("https://github.com/o/s/r", NoPlace::NoRepository),
        ("https://github.com/o/..", NoPlace::NoRepository),
        ("https://github.com/--help/r", NoPlace::NoRepository),
        ("https://github.com/o/r?x=1", NoPlace::NoRepository),
        ("git@-oProxyCommand=x:o/r", NoPlace::Local),
    ] {
        assert_eq!(place(url), Err(why), "{url}");
    }
}

#[test]
fn a_place_is_named_so_that_no_program_guesses() {
    let github = place("git@github.com:o/r.git").expect("a place");
    assert_eq!((github.argument().as_str(), github.api_path().as_str()), ("github.com/o/r", "repos/o/r"));
    let gitlab = place("git@gitlab.com:g/s/r.git").expect("a place");
    assert_eq!(gitlab.argument(), "https://gitlab.com/g/s/r");
    assert_eq!(gitlab.api_path(), "projects/g%2Fs%2Fr");
}

const NOW: Timestamp = Timestamp(1_790_000_000_000);

fn read(kind: Kind, code: i32, stdout: &str, stderr: &str) -> Option<Failure> {
    let url = if kind == Kind::GitHub { "git@github.com:o/r" } else { "git@gitlab.com:o/r" };
    let ended = Ended { code, stdout: stdout.as_bytes(), stderr: stderr.as_bytes() };
    Failure::read(&place(url).expect("a place"), ended, NOW)
}

fn gh(code: i32, stderr: &str) -> Failure {
    read(Kind::GitHub, code, "", stderr).expect("a failure")
}

fn glab(code: i32, stderr: &str) -> Failure {
    read(Kind::GitLab, code, "", stderr).expect("a failure")
}

/// A message as glab prints it.
fn boxed(message: &str) -> String {
    format!("          \n   ERROR  \n          \n  {message}   \n\n")
}

#[test]
fn a_program_that_is_logged_out_is_known_by_its_words() {
    for stderr in [
        "To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.\n",
        "You are not logged into any GitHub hosts. To log in, run: gh auth login\n",
        "HTTP 401: Bad credentials (https://api.github.com/graphql)\nTry authenticating with:  gh auth login -h github.com\n",
        "gh: Bad credentials (HTTP 401)\n",
        "non-200 OK status code: 401 Unauthorized body: {}\n",
    ] {
        assert_eq!(
            gh(1, stderr),
            Failure::NotLoggedIn { kind: Kind::GitHub, host: "github.com".to_owned() },
            "{stderr}"
        );
    }
    assert!(matches!(gh(4, ""), Failure::NotLoggedIn { .. }));
    for stderr in [
        "glab: 401 Unauthorized (HTTP 401)".to_owned(),
        boxed("Unauthenticated."),
        boxed(
            "Get https://gitlab.com/api/v4/projects/o%2Fr/merge_requests: 401 {message: 401 Unauthorized}.",
        ),
        "x gitlab.com has not been authenticated with glab. Run `glab auth login --hostname gitlab.com`"
            .to_owned(),
    ] {
        assert!(matches!(glab(1, &stderr), Failure::NotLoggedIn { .. }), "{stderr}");
    }
    // 1.36 exits with 0.
    let old = read(Kind::GitLab, 0, r#"{"message":"401 Unauthorized"}"#, "glab: 401 Unauthorized (HTTP 401)");
    let hint = old.expect("a failure").hint();
    assert_eq!(hint.as_deref(), Some("glab auth login --hostname gitlab.com"));
}

#[test]
fn an_answer_is_an_answer_whatever_stderr_says() {
    assert_eq!(read(Kind::GitHub, 0, "{}", "warning: HTTP 404"), None);
    assert_eq!(
        read(Kind::GitLab, 0, "[]", "DEPRECATION WARNING: The environment variable NO_PROMPT\n"),
        None
    );
}

#[test]
fn limits_carry_the_time_that_the_host_names() {
    let limited = |until| Failure::RateLimited { host: "github.com".to_owned(), until };
    assert_eq!(gh(1, "gh: API rate limit exceeded for user ID 1. (HTTP 403)\n"), limited(None));
    assert_eq!(gh(1, "GraphQL: was submitted too quickly (createPullRequest)\n"), limited(None));
    assert_eq!(gh(1, "HTTP 429: Too Many Requests\n"), limited(None));
    let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes."}"#;
    assert_eq!(read(Kind::GitHub, 1, body, "gh: HTTP 403"), Some(limited(None)));
    let soon = format!("HTTP/2.0 403 Forbidden\r\nRetry-After: 30\r\n\r\n{body}");
    let told = read(Kind::GitHub, 1, &soon, "gh: HTTP 403");
    assert_eq!(told, Some(limited(Some(NOW.plus(Span::seconds(30))))));
    let at = NOW.0 / 1000 + 600;
    let later = format!("HTTP/2.0 403 Forbidden\r\nX-Ratelimit-Reset: {at}\r\n\r\n{body}");
    assert_eq!(read(Kind::GitHub, 1, &later, "gh: HTTP 403"), Some(limited(Some(Timestamp(at * 1000)))));
    let years = "HTTP/2.0 429\r\nRetry-After: 99999999\r\n\r\n";
    assert_eq!(read(Kind::GitHub, 1, years, "gh: HTTP 429"), Some(limited(None)));
    let gitlab = "glab: This endpoint has been requested too many times. Try again later. (HTTP 429)";
    assert!(matches!(glab(1, gitlab), Failure::RateLimited { .. }));
    // A right that is missing is not a limit.
    let right = gh(1, "gh: Resource not accessible by personal access token (HTTP 403)\n");
    assert!(matches!(right, Failure::Refused { status: Some(403), .. }), "{right:?}");
}

#[test]
fn what_is_not_there_is_not_found() {
    for stderr in [
        "gh: Not Found (HTTP 404)",
        "GraphQL: Could not resolve to a PullRequest with the number of 999999. (repository.pullRequest)",
        "GraphQL: Could not resolve to a Repository with the name 'o/r'. (repository)",
        "no pull requests found for branch \"main\"",
    ] {
        assert!(matches!(gh(1, stderr), Failure::NotFound { .. }), "{stderr}");
    }
    assert!(matches!(glab(1, "glab: 404 Project Not Found (HTTP 404)"), Failure::NotFound { .. }));
    assert!(matches!(
        glab(1, &boxed("Failed to get merge request 999: 404 Not Found.")),
        Failure::NotFound { .. }
    ));
}

#[test]
fn a_network_and_a_host_in_trouble_pass() {
    let dns = gh(
        1,
        "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com\n",
    );
    assert!(matches!(dns, Failure::NoNetwork { .. }) && dns.passes());
    let refused =
        glab(1, &boxed("Get \"https://gitlab.com/api/v4/user\": dial tcp: lookup gitlab.com: no such host."));
    assert!(matches!(refused, Failure::NoNetwork { .. }), "{refused:?}");
    let bad = gh(1, "HTTP 502: Bad Gateway (https://api.github.com/graphql)\n");
    assert!(
        matches!(&bad, Failure::Unavailable { said, .. } if said.contains("Bad Gateway")) && bad.passes()
    );
    assert!(bad.may_have_happened());
}

#[test]
fn a_refusal_keeps_the_words_and_the_status() {
    let wrapped = "All attempts fail:                                     \n  #1: PUT https://gitlab.com/api/v4/projects/o%2Fr/merge_requests/14/merge: 405 {message: 405 Method Not   \n  Allowed}.";
    let refused = glab(1, &boxed(wrapped));
    let said = "All attempts fail: #1: PUT https://gitlab.com/api/v4/projects/o%2Fr/merge_requests/14/merge: 405 {message: 405 Method Not Allowed}.";
    assert_eq!(
        refused,
        Failure::Refused { host: "gitlab.com".to_owned(), status: Some(405), said: said.to_owned() }
    );
    assert!(!refused.may_have_happened());
    let policy = "X Pull request o/r#9 is not mergeable: the base branch policy prohibits the merge.\nTo have the pull request merged after all the requirements have been met, add the `--auto` flag.\n";
    let policy = gh(1, policy);
    assert!(
        policy.to_string().starts_with("github.com refused: Pull request o/r#9 is not mergeable"),
        "{policy}"
    );
    // Nothing says that the host was asked, nor that it was not.
    assert!(policy.may_have_happened() && !policy.passes());
    assert_eq!(gh(3, "").to_string(), "github.com refused: `gh` ended with exit code 3, and said nothing");
}

#[test]
fn hostile_messages_are_shown_as_one_short_line() {
    let hostile = format!("\u{1b}[2J\u{1b}]0;owned\u{7}GraphQL: no\u{202e} \r\n{}", "x".repeat(1_000_000));
    let shown = gh(1, &hostile).to_string();
    assert!(shown.starts_with("github.com refused: GraphQL: no"), "{shown}");
    assert!(shown.chars().count() < 350 && !shown.chars().any(char::is_control), "{shown:?}");
}

#[test]
fn reads_are_asked_again_and_writes_only_if_nothing_can_have_happened() {
    let host = || "github.com".to_owned();
    let network = Failure::NoNetwork { host: host(), said: String::new() };
    assert_eq!(ask_again_after(Asked::Read, &network, 1, NOW), Some(Span::seconds(1)));
    assert_eq!(ask_again_after(Asked::Read, &network, 2, NOW), Some(Span::seconds(4)));
    assert_eq!(ask_again_after(Asked::Read, &network, 3, NOW), None);
    assert_eq!(ask_again_after(Asked::Write, &network, 1, NOW), None);
    let limit =
        |seconds| Failure::RateLimited { host: host(), until: Some(NOW.plus(Span::seconds(seconds))) };
    assert_eq!(ask_again_after(Asked::Read, &limit(20), 1, NOW), Some(Span::seconds(20)));
    assert_eq!(ask_again_after(Asked::Write, &limit(20), 1, NOW), Some(Span::seconds(20)));
    assert_eq!(ask_again_after(Asked::Read, &limit(61), 1, NOW), None);
    let slow = Failure::TimedOut { kind: Kind::GitHub, after: Span::minutes(1) };
    assert_eq!(ask_again_after(Asked::Read, &slow, 1, NOW), Some(Span(0)));
    assert_eq!(ask_again_after(Asked::Read, &slow, 2, NOW), None);
    let login = Failure::NotLoggedIn { kind: Kind::GitHub, host: host() };
    assert_eq!(ask_again_after(Asked::Read, &login, 1, NOW), None);
}
