use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn redactor(values: &[&str]) -> Arc<Redactor> {
    Arc::new(Redactor::new(values.iter().map(|value| (*value).to_owned())))
}

fn in_pieces<'p>(redactor: &Arc<Redactor>, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut stream = redactor.stream();
    let mut out: Vec<u8> = pieces.into_iter().flat_map(|piece| stream.push(piece)).collect();
    out.extend(stream.finish());
    out
}

#[test]
fn names_say_what_is_secret_and_short_or_plain_values_are_not() {
    for name in
        ["OPENAI_API_KEY", "GITHUB_TOKEN", "db-password", "AWS_SECRET_ACCESS_KEY", "CLIENT.SECRET", "APIKEY"]
    {
        assert!(is_secret(name, "Xy12345678"), "{name}");
    }
    for name in [
        "DB_PWD",
        "BASIC_AUTH",
        "COOKIE",
        "SITE_COOKIES",
        "SESSION",
        "APP_SESSION",
        "SESSION_JWT",
        "BEARER",
        "SLACK_WEBHOOK_URL",
        "WEBHOOK",
    ] {
        assert!(is_secret(name, "https://hooks.example/T0/b-1234"), "{name}");
    }
    for (name, value) in [
        ("KEYBOARD_LAYOUT", "Xy12345678"),
        ("API_KEY", "short"),
        ("TOKEN", "development"),
        ("SSH_AUTH_SOCK", "/run/user/1000/ssh"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/google.json"),
        ("SECRETS_DIR", "/run/secrets"),
        ("GIT_CONFIG_KEY_0", "core.fsync"),
        ("PWD", "/home/me/project-1"),
        ("OLDPWD", "/home/me/project-1"),
        ("INIT_PWD", "/home/me/project-1"),
        ("DESKTOP_SESSION", "plasma-wayland-6"),
        ("XDG_SESSION_TYPE", "wayland-1"),
        ("ZELLIJ_SESSION_NAME", "my-project-1"),
        ("CLIENT_SESSION_ID", "0199d5e0-7f3a"),
        ("GIT_AUTHOR_NAME", "Ada Lovelace"),
        ("AUTH_TYPE", "legacy-type"),
        ("JWT_ISSUER", "https://id.example"),
    ] {
        assert!(!is_secret(name, value), "{name}={value}");
    }
    assert!(is_secret("AWS_SECRET_ACCESS_KEY", "/abc/def+ghi=1234"), "a key may begin like a path");
}

#[test]
fn values_say_what_is_secret_where_names_do_not_and_their_parts_are_hidden_too() {
    let parts = |name: &str, value: &str| secrets_in(name, value).split_off(1);
    let url = "postgres://app:s3cr3t-pass@db:5432/app";
    assert_eq!(secrets_in("DATABASE_URL", url), [url, "s3cr3t-pass"]);
    assert_eq!(parts("HTTPS_PROXY", "http://me:a:b@c-d-e-f@proxy:3128"), ["a:b@c-d-e-f"]);
    assert!(parts("DB", "postgres://postgres:postgres@localhost/db").is_empty(), "the word is everywhere");
    let json =
        r#"{"provider": [{"options": {"apiKey": "k-12345678", "baseURL": "https://x.example/v1"}}], "n": 1}"#;
    assert_eq!(parts("SETTINGS", json), ["k-12345678"]);
    assert_eq!(parts("OPENCODE_CONFIG_CONTENT", r#"{"model": "m-1234"}"#).len(), 0);
    let headers = "X-Own: h-12345678\nAuthorization: Bearer b-12345678";
    let all = ["Bearer b-12345678", "b-12345678", "h-12345678"];
    assert_eq!(parts("ANTHROPIC_CUSTOM_HEADERS", headers), all);
    assert_eq!(parts("SENTRY_DSN", "https://0123456789ab@sentry.example/1"), ["0123456789ab"]);
    assert_eq!(parts("MY_DSN", "app:p-12345678@tcp(db:3306)/app"), ["p-12345678"]);
    assert_eq!(parts("PG_DSN", "host=db user=app password=p-12345678"), ["p-12345678"]);
    for (name, value) in [
        ("DATABASE_URL", "postgres://app@db/app"),
        ("HOMEPAGE", "https://example.org/a:b@c"),
        ("MODELS", r#"{"max_tokens": 100000000, "key": "short"}"#),
        ("LIST", "[1, 2"),
    ] {
        assert!(!is_secret(name, value), "{name}={value}");
    }
    let kept = r#"{"tokens": {"id_token": "i-0123456789", "token_type": "Bearer x9"}, "last_refresh": "2026-01-01T00:00"}"#;
    assert_eq!(secrets_in_json(kept), ["i-0123456789"]);
}

#[test]
fn known_values_go_and_what_overlaps_goes_as_one() {
    let redactor = redactor(&["abcdefgh", "efghijkl", "a\"b\nc defg"]);
    let text = |text: &str| redactor.text(text).into_owned();
    assert_eq!(text("x abcdefgh y"), "x [redacted] y");
    assert_eq!(text("abcdefghijkl."), "[redacted].");
    assert_eq!(text("abcdefghabcdefgh"), "[redacted][redacted]");
    assert_eq!(text("abcdefg efghijk"), "abcdefg efghijk");
    assert_eq!(text("{\"k\":\"a\\\"b\\nc defg\"}"), "{\"k\":\"[redacted]\"}", "as JSON writes it");
    assert!(
        format!("{redactor:?} {:?}", redactor.stream()).find("abcd").is_none(),
        "nor does it show them itself"
    );
}

const BEFORE: [&str; 12] = [
    "\n",
    "\t",
    "\\n",
    "\\r\\n",
    "\\t",
    "\\\\n",
    "\\u003d",
    "%3D",
    "\u{1b}[32m",
    "\\u001b[38;5;208m",
    "\\x1b[0m",
    "\\033[1;31m",
];

#[test]
fn what_looks_like_a_key_goes_and_what_only_speaks_of_one_stays() {
    let redactor = redactor(&[]);
    let long = "A1b2".repeat(12);
    for key in [
        format!("sk-ant-api03-{long}"),
        format!("sk-proj-{long}-_x"),
        format!("sk-{long}"),
        format!("ghp_{long}"),
        format!("github_pat_{long}_{long}"),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("AIza{long}"),
        format!("xoxb-1234-{long}"),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJ{long}.{long}-{long}"),
    ] {
        assert_eq!(redactor.text(&format!("key={key}, ok")), "key=[redacted], ok", "{key}");
        assert_eq!(redactor.text(&format!("\"{key}\"")), "\"[redacted]\"");
        // At the start of a line, after a tab, behind a colour or a sign that is written by its number; as it is, and as
        // JSON has it once or twice.
        for before in BEFORE {
            let text = format!("x{before}{key}{before}y");
            let hidden = format!("x{before}[redacted]{before}y");
            assert_eq!(redactor.text(&text), hidden, "{text:?}");
            let (text, hidden) = (text.as_bytes(), hidden.as_bytes());
            for cut in (0..text.len()).filter(|_| key.starts_with("ghp_")) {
                assert_eq!(
                    in_pieces(&redactor, [&text[..cut], &text[cut..]]),
                    hidden,
                    "{text:?} cut at {cut}"
                );
            }
        }
    }
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n{long}==\n-----END RSA PRIVATE KEY-----\n");
    assert_eq!(redactor.text(&pem), "[redacted]-----END RSA PRIVATE KEY-----\n");
    for plain in [
        "task-0123456789012345678901234567890123456789",
        "sk-learn and sk-fold are modules",
        "-----BEGIN PRIVATE KEY----- opens a key",
        "eyJ is how JSON begins in base64",
        "4f0c0e1d9b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d",
        "http://localhost:8080/ghp_?x=AKIA",
        r"C:\new\task-0123456789012345678901234567890123456789",
    ] {
        assert_eq!(redactor.text(plain), plain);
    }
}

#[test]
fn nothing_waits_for_more_that_cannot_become_a_secret() {
    let mut stream = redactor(&["swordfish-1234"]).stream();
    assert_eq!(stream.push(b"working... "), b"working... ");
    assert_eq!(stream.push(b"50%"), b"50%");
    assert_eq!(stream.push(b"\nsword"), b"\n");
    assert_eq!(stream.push(b"s drawn"), b"swords drawn");
    assert_eq!(stream.push(b" swordfish-12"), b" ");
    assert_eq!(stream.push(b"34"), b"[redacted]");
    assert_eq!(stream.finish(), b"");
}

/// What is expected, in the plainest way: every byte of every occurrence is covered, and covered stretches that
/// overlap are one.
fn model(values: &[String], text: &[u8]) -> Vec<u8> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for at in 0..text.len() {
        for value in values.iter().filter(|value| text[at..].starts_with(value.as_bytes())) {
            match found.last_mut().filter(|(_, end)| at < *end) {
                Some((_, end)) => *end = (*end).max(at + value.len()),
                None => found.push((at, at + value.len())),
            }
        }
    }
    let (mut out, mut at) = (Vec::new(), 0);
    for (start, end) in found {
        out.extend_from_slice(&text[at..start]);
        out.extend_from_slice(MARK.as_bytes());
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    out
}

/// Text in which values, their halves and pieces of keys come often.
fn text(values: Vec<String>) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(values).prop_flat_map(|value| {
            (0..=value.len(), 0..=value.len()).prop_map(move |(a, b)| value.as_bytes()[a.min(b)..a.max(b)].to_vec())
        }),
        2 => prop::sample::select(vec!["sk-", "ghp_", "ab", "eyJ", ".eyJ", " ", "\n", "-----BEGIN ", "PRIVATE KEY-----"])
            .prop_map(|piece| piece.as_bytes().to_vec()),
        1 => "[a-zA-Z0-9]{1,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab-]{8,14}", 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_value_survives_and_nothing_else_is_touched_however_it_is_cut(
        (values, text) in values().prop_flat_map(|values| (Just(values.clone()), text(values))),
        cuts in prop::collection::vec(0..12_usize, 1..40),
    ) {
        let redactor = Arc::new(Redactor::new(values.clone()));
        let whole = redactor.bytes(&text);
        let mut pieces = Vec::new();
        let mut rest = &text[..];
        for cut in cuts.iter().cycle().take(10_000) {
            if rest.is_empty() {
                break;
            }
            let (piece, left) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = left;
        }
        pieces.push(rest);
        prop_assert_eq!(&in_pieces(&redactor, pieces), &whole, "cutting changes nothing");
        for value in &values {
            prop_assert!(!whole.windows(value.len()).any(|part| part == value.as_bytes()));
        }
        if !redactor.shapes.finds(&model(&values, &text)) {
            prop_assert_eq!(whole, model(&values, &text));
        }
    }
}
