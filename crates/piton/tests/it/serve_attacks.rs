//! Whom `piton serve` refuses: over real connections, with what a foreign page or server could send.

use std::io::{Read, Write};
use std::net::TcpStream;

use piton_testkit::http;
use piton_testkit::sandbox::{task, until};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::sandbox;
use crate::serve::{Page, Stream, waiting};

#[test]
fn without_the_token_there_is_the_page_and_no_data() {
    let page = Page::of(waiting(), "");
    let host = ("Host", page.address.as_str());
    assert_eq!(page.get("/api/runs").status, 200);
    for path in [
        "/api/runs",
        "/api/inbox",
        "/api/project",
        "/api/events",
        "/metrics",
        "/api/runs/x/status",
        "/api/nothing",
    ] {
        let reply = page.bare("GET", path, &[host, ("Sec-Fetch-Site", "same-origin")]);
        assert_eq!(reply.status, 401, "{path}: {reply:?}");
        assert!(!reply.body.contains("T1"), "{reply:?}");
    }
    let wrong = format!("/?token={}", "0".repeat(64));
    let refused = page.bare("GET", &wrong, &[host]);
    assert_eq!((refused.status, refused.header("set-cookie")), (303, None), "{refused:?}");
    let stale = page.cookie.replace('=', "=0");
    let key = ("X-Piton-Key", page.key.as_str());
    assert_eq!(page.bare("GET", "/api/runs", &[host, key, ("Cookie", &stale)]).status, 401);
    // A program has the token in a header.
    let bearer = format!("Bearer {}", page.token);
    assert_eq!(page.bare("GET", "/api/runs", &[host, ("Authorization", &bearer)]).status, 200);
    assert_eq!(page.bare("GET", "/", &[host]).status, 200);
}

#[test]
fn every_answer_carries_the_policy() {
    let page = Page::of(waiting(), "");
    let host = ("Host", page.address.as_str());
    let all = [
        page.get("/"),
        page.get("/app.js"),
        page.get("/api/runs"),
        page.get("/nothing"),
        page.bare("GET", "/api/runs", &[host]),
        page.bare("GET", "/", &[("Host", "evil.example")]),
        page.bare("DELETE", "/api/runs", &[host]),
    ];
    assert_eq!(all.each_ref().map(|reply| reply.status), [200, 200, 200, 404, 401, 421, 405]);
    for reply in &all {
        let policy = reply.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{reply:?}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{reply:?}");
        assert_eq!(reply.header("cross-origin-opener-policy"), Some("same-origin"), "{reply:?}");
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"), "{reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{reply:?}");
    }
    assert_eq!(all[2].header("cache-control"), Some("no-store"));
}

#[test]
fn a_name_that_was_rebound_leads_nowhere() {
    let page = Page::of(waiting(), "");
    let port = page.address.rsplit(':').next().expect("a port");
    let evil = format!("evil.example:{port}");
    for host in [evil.as_str(), "evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", ""] {
        for path in ["/", "/api/runs", "/app.js"] {
            let reply = page.bare("GET", path, &[("Host", host), ("Cookie", &page.cookie)]);
            assert_eq!(reply.status, 421, "{host} {path}: {reply:?}");
        }
    }
    let two = [("Host", page.address.as_str()), ("Host", evil.as_str()), ("Cookie", page.cookie.as_str())];
    assert!([400, 421].contains(&page.bare("GET", "/api/runs", &two).status));
    let whole = format!(
        "GET http://{evil}/api/runs HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        page.address, page.cookie
    );
    assert_eq!(http::exchange(&page.address, whole.as_bytes()).status, 421);
    let name = format!("localhost:{port}");
    let named = [("Host", name.as_str()), ("Cookie", &page.cookie), ("X-Piton-Key", &page.key)];
    assert_eq!(page.bare("GET", "/api/runs", &named).status, 200, "our own name");
}

#[test]
fn other_pages_change_nothing_and_read_nothing() {
    let page = Page::of(waiting(), "--allow-control");
    let before = page.sandbox.events();
    let path = format!("/api/runs/{}/tasks/T1", page.run());
    let order = json!({ "do": "answer", "text": "the left one" });
    for (others, status) in [
        (&[("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")][..], 403),
        (&[("Origin", "http://evil.example"), ("Sec-Fetch-Site", "")], 403),
        (&[("Origin", "null"), ("Sec-Fetch-Site", "")], 403),
        (&[("Origin", ""), ("Sec-Fetch-Site", "cross-site")], 403),
        (&[("Origin", ""), ("Sec-Fetch-Site", "same-site")], 403),
        (&[("Origin", ""), ("Sec-Fetch-Site", "none")], 403),
        (&[("Origin", ""), ("Sec-Fetch-Site", "")], 403),
        (&[("Cookie", "")], 401),
        (&[("Content-Type", "text/plain")], 415),
        (&[("Content-Type", "application/x-www-form-urlencoded")], 415),
    ] {
        let reply = page.post(&path, &order, others);
        assert_eq!(reply.status, status, "{others:?}: {reply:?}");
    }
    // A frame, an image, a script or a stream elsewhere that names ours.
    let host = ("Host", page.address.as_str());
    let (cookie, key) = (("Cookie", page.cookie.as_str()), ("X-Piton-Key", page.key.as_str()));
    let events = page.events();
    for (path, mode) in
        [("/api/runs", "cors"), ("/api/runs", "navigate"), ("/app.js", "no-cors"), (&events, "cors")]
    {
        let headers = [host, cookie, key, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", mode)];
        assert_eq!(page.bare("GET", path, &headers).status, 403, "{path} {mode}");
    }
    assert_eq!(page.bare("GET", &events, &[host, cookie]).status, 403, "a stream says where it comes from");
    assert_eq!(page.bare("GET", &events, &[host, cookie, ("Origin", "http://evil.example")]).status, 403);
    assert_eq!(
        page.bare("OPTIONS", &path, &[host, ("Origin", "http://evil.example")]).status,
        405,
        "no preflight"
    );
    assert_eq!(page.sandbox.events(), before);
}

#[test]
fn the_cookie_without_the_key_of_the_page_opens_nothing() {
    let page = Page::of(waiting(), "--allow-control");
    let before = page.sandbox.events();
    let run = page.run();
    let task = format!("/api/runs/{run}/tasks/T1");
    let order = json!({ "do": "answer", "text": "the left one" });
    // A server on another port of this host is sent the cookie by the browser, and can write every header itself.
    let origin = format!("http://{}", page.address);
    let own = [("Host", page.address.as_str()), ("Cookie", &page.cookie), ("Origin", &origin)];
    for wrong in ["", "0", &page.token, &page.key[1..], &format!("x{}", &page.key[1..])] {
        for path in ["/api/runs", "/api/project", "/metrics", &task] {
            let reply = page.bare("GET", path, &[&own[..], &[("X-Piton-Key", wrong)]].concat());
            assert_eq!(reply.status, 401, "{wrong} {path}: {reply:?}");
            assert!(!reply.body.contains(&run) && !reply.body.contains(&page.key), "{reply:?}");
        }
        let reply = page.post(&task, &order, &[("X-Piton-Key", wrong)]);
        assert_eq!(reply.status, 401, "{wrong}: {reply:?}");
        let reply = page.bare("GET", &format!("/api/events?key={wrong}"), &own);
        assert_eq!(reply.status, 401, "{wrong}: {reply:?}");
    }
    // The key of a stream is in its address, and that of everything else in a header.
    let key = ("X-Piton-Key", page.key.as_str());
    assert_eq!(page.bare("GET", &format!("/api/runs?key={}", page.key), &own).status, 401);
    assert_eq!(page.bare("GET", "/api/runs", &[&own[..1], &[key]].concat()).status, 401, "the key alone");
    assert_eq!(page.get("/api/runs").status, 200);
    assert_eq!(page.sandbox.events(), before);
}

#[test]
fn a_page_that_may_not_change_anything_does_not() {
    let page = Page::of(waiting(), "");
    assert_eq!(page.json("/api/project")["control"], false);
    let before = page.sandbox.events();
    let run = page.run();
    for (path, body) in [
        (format!("/api/runs/{run}/tasks/T1"), json!({ "do": "answer", "text": "x" })),
        (format!("/api/runs/{run}/tasks/T2"), json!({ "do": "review", "comments": [] })),
        (format!("/api/runs/{run}"), json!({ "do": "stop" })),
        ("/api/inbox/seen".to_owned(), json!({ "keys": ["all"] })),
    ] {
        let reply = page.post(&path, &body, &[]);
        assert_eq!(reply.status, 403, "{reply:?}");
        assert!(reply.body.contains("--allow-control"), "{reply:?}");
    }
    assert_eq!(page.sandbox.events(), before);
}

#[test]
fn no_path_leads_out_of_the_page() {
    let page = Page::of(waiting(), "");
    let run = page.run();
    let task = format!("/api/runs/{run}/tasks/T2");
    for path in [
        "/../../etc/passwd".to_owned(),
        "/..%2f..%2fetc/passwd".to_owned(),
        "/%2e%2e/%2e%2e/etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
        "/app.js/../../Cargo.toml".to_owned(),
        "/page/app.js".to_owned(),
        "/.git/config".to_owned(),
        format!("/api/runs/{run}/tasks/..%2f..%2f..%2fetc"),
        format!("/api/runs/..%2f{run}/status"),
        format!("{task}/output/..%2f..%2f..%2f..%2fpiton.db"),
        format!("{task}/output/%2e%2e"),
        format!("{task}/output/prompt.md"),
        format!("/api/runs/{run}/tasks/T2%00"),
    ] {
        let reply = page.get(&path);
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        assert!(!reply.body.contains("root:") && !reply.body.contains("[core]"), "{path}: {reply:?}");
    }
}

#[test]
fn a_thousand_connections_keep_nobody_out() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let page = Page::of(waiting(), "");
    // They say nothing, or begin to.
    let idle: Vec<TcpStream> = (0..1000)
        .map(|number| {
            let mut stream = http::connect(&page.address);
            if number % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\nHost:").expect("a connection");
            }
            stream
        })
        .collect();
    assert_eq!(page.get("/api/runs").status, 200);
    let open = page.get("/metrics").body;
    let count =
        open.lines().find_map(|line| line.strip_prefix("piton_serve_connections ")).expect("a figure");
    assert!(count.parse::<u32>().expect("a number") >= 1000, "{count}");
    drop(idle);
    // As many pages as may be open, and one more.
    let mut streams: Vec<Stream> = (0..256).map(|_| page.stream(None)).collect();
    streams.iter_mut().for_each(|stream| assert_eq!(stream.news().1, "hello"));
    let host = [("Host", page.address.as_str()), ("Cookie", &page.cookie), ("Sec-Fetch-Site", "same-origin")];
    let refused = page.bare("GET", &page.events(), &host);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(page.get("/api/runs").status, 200);
    streams.pop();
    until("a place for another page", || {
        (page.stream(None).stream.read(&mut [0; 12]).ok()? == 12).then_some(())
    });
}

#[test]
fn requests_that_never_end_keep_nobody_out() {
    let page = Page::of(waiting(), "--allow-control");
    let path = format!("/api/runs/{}/tasks/T1", page.run());
    // More than there are places for work. One has nothing but its line, the others a part of the body.
    let begun: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = http::connect(&page.address);
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nCookie: {1}\r\nX-Piton-Key: {2}\r\n\
                 Content-Type: application/json\r\nContent-Length: 100\r\n\r\n",
                page.address, page.cookie, page.key
            );
            let body = ["", "{", "{\"do\":", "{\"do\":\"answer\""][number % 4];
            stream.write_all((head + body).as_bytes()).expect("a connection");
            stream
        })
        .collect();
    assert_eq!(page.get("/api/runs").status, 200);
    let answered = page.post(&path, &json!({ "do": "answer", "text": "the left one" }), &[]);
    assert_eq!(answered.status, 200, "{answered:?}");
    drop(begun);
}

#[test]
fn without_a_credential_no_body_is_waited_for() {
    let page = Page::of(waiting(), "--allow-control");
    let path = format!("/api/runs/{}/tasks/T1", page.run());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{",
        page.address
    );
    assert_eq!(http::exchange(&page.address, head.as_bytes()).status, 401);
}

#[test]
fn a_request_without_end_is_not_read_to_it() {
    let page = Page::of(waiting(), "");
    let endless =
        format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", page.address, "x".repeat(1024 * 1024));
    let reply = http::exchange(&page.address, endless.as_bytes());
    assert!([0, 400, 431].contains(&reply.status), "{reply:?}");
    assert_eq!(page.get("/api/runs").status, 200);
}

#[test]
fn other_machines_need_a_password_or_a_token() {
    let sandbox = sandbox();
    let refused = sandbox.run("serve --listen 0.0.0.0:0").exits(2);
    let _ = refused.says("can be reached from other machines").says("--password-file");
    sandbox.write("short", "1234\n");
    let _ = sandbox
        .run("serve --listen 0.0.0.0:0 --password-file short")
        .exits(2)
        .says("shorter than 8 characters");
    sandbox.write("password", "under the snow\n");
    let mut server = sandbox.piton("serve --listen 0.0.0.0:0 --password-file password".split(' ')).spawn();
    let url = server.first_line();
    assert!(!url.contains("token"), "{url}");
    server.until_says("not encrypted");
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let (host, origin) = (("Host", address.as_str()), format!("http://{address}"));
    assert_eq!(http::ask(&address, "GET", "/api/runs", &[host], "").json()["password"], true);
    let enter = |password: &str| {
        let headers = [host, ("Origin", &origin), ("Content-Type", "application/json")];
        http::ask(&address, "POST", "/api/enter", &headers, &json!({ "password": password }).to_string())
    };
    let entered = enter("under the snow");
    assert_eq!(entered.status, 200, "{entered:?}");
    let cookie =
        entered.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let key = entered.json()["key"].as_str().expect("a key").to_owned();
    let (cookie, key) = (("Cookie", cookie.as_str()), ("X-Piton-Key", key.as_str()));
    assert_eq!(http::ask(&address, "GET", "/api/runs", &[host, cookie, key], "").status, 200);
    assert_eq!(http::ask(&address, "GET", "/api/runs", &[host, cookie], "").status, 401);
    assert_eq!(enter("under the sand").status, 401);
    let tries: Vec<u16> = (0..12).map(|_| enter("guess").status).collect();
    assert_eq!(tries.last(), Some(&429), "{tries:?}");
    let refused = enter("under the snow");
    assert_eq!(refused.status, 429, "not even the right one");
    let why = refused.json()["error"].as_str().expect("a reason").to_owned();
    assert!(why.starts_with("Too many wrong passwords: try again in ") && why.ends_with(" s"), "{why}");
}

#[test]
fn a_proxy_with_another_name_is_served_if_it_is_named() {
    let sandbox = sandbox();
    sandbox.write("token", "0123456789abcdef\n");
    let line = "serve --listen 127.0.0.1:0 --public-host piton.example --token-file token";
    let mut server = sandbox.piton(line.split(' ')).spawn();
    let url = server.first_line();
    let (address, token) = url.trim_start_matches("http://").split_once("/?token=").expect("a token");
    assert_eq!(token, "0123456789abcdef");
    let entered = http::ask(address, "GET", "/?token=0123456789abcdef", &[("Host", "piton.example")], "");
    let cookie = entered.header("set-cookie").expect("a cookie");
    assert!(cookie.ends_with("; SameSite=Strict; Secure"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair");
    let key = entered.header("location").and_then(|place| place.strip_prefix("/#key=")).expect("a key");
    let ask = |host: &str, origin: &str| {
        let headers = [("Host", host), ("Cookie", cookie), ("X-Piton-Key", key), ("Origin", origin)];
        http::ask(address, "GET", "/api/runs", &headers, "").status
    };
    assert_eq!(ask("piton.example", "https://piton.example"), 200);
    assert_eq!(ask("piton.example", "http://piton.example"), 403, "another scheme is another origin");
    assert_eq!(ask("other.example", "https://other.example"), 421);
}

#[test]
fn an_agent_cannot_serve_the_page() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nwrite T1.txt x\nrun piton serve --listen 127.0.0.1:0\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.run("output T1").exits(0).says("this is an attempt of T1");
}
