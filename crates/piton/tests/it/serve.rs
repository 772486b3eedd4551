//! `piton serve` over real connections: what it shows and what it changes.

use std::io::{Read, Write};
use std::net::TcpStream;

use piton_testkit::http::{self, Reply};
use piton_testkit::sandbox::{Running, Sandbox, task, until, writers};
use serde_json::{Value, json};

use crate::sandbox;

/// A server, and a browser that it has let in.
pub(crate) struct Page {
    pub sandbox: Sandbox,
    _server: Running,
    pub address: String,
    pub token: String,
    pub cookie: String,
    pub key: String,
}

impl Page {
    pub(crate) fn of(sandbox: Sandbox, args: &str) -> Page {
        let line = format!("serve --listen 127.0.0.1:0 {args}");
        let mut server = sandbox.piton(line.split_whitespace()).spawn();
        let url = server.first_line();
        let rest = url.strip_prefix("http://").expect("an address");
        let (address, token) = rest.split_once("/?token=").expect("a token");
        let (address, token) = (address.to_owned(), token.to_owned());
        let (cookie, key) = (String::new(), String::new());
        let mut page = Page { sandbox, _server: server, address, token, cookie, key };
        let path = format!("/?token={}", page.token);
        let entered = page.bare("GET", &path, &[("Host", &page.address)]);
        assert_eq!(entered.status, 303, "{entered:?}");
        let place = entered.header("location").expect("an address without the token");
        page.key = place.strip_prefix("/#key=").expect("a key that no browser sends to a server").to_owned();
        let cookie = entered.header("set-cookie").expect("a cookie");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        page.cookie = cookie.split(';').next().expect("a pair").to_owned();
        page
    }

    /// A request with these headers and no others.
    pub(crate) fn bare(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
        http::ask(&self.address, method, path, headers, "")
    }

    /// As the page asks.
    pub(crate) fn get(&self, path: &str) -> Reply {
        let site = [
            ("Host", self.address.as_str()),
            ("Cookie", &self.cookie),
            ("X-Piton-Key", &self.key),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.bare("GET", path, &site)
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// As the page changes something, with other headers in place of those of the same name.
    pub(crate) fn post(&self, path: &str, body: &Value, others: &[(&str, &str)]) -> Reply {
        let origin = format!("http://{}", self.address);
        let usual = [
            ("Host", self.address.as_str()),
            ("Cookie", &self.cookie),
            ("X-Piton-Key", &self.key),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
        ];
        let kept = usual.into_iter().filter(|(name, _)| others.iter().all(|(other, _)| other != name));
        let headers: Vec<(&str, &str)> =
            kept.chain(others.iter().copied()).filter(|(_, value)| !value.is_empty()).collect();
        http::ask(&self.address, "POST", path, &headers, &body.to_string())
    }

    pub(crate) fn run(&self) -> String {
        self.json("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned()
    }

    /// The path of the stream, with the key, since a browser can send no header with it.
    pub(crate) fn events(&self) -> String {
        format!("/api/events?key={}", self.key)
    }

    /// The stream of events, from an id on.
    pub(crate) fn stream(&self, last: Option<&str>) -> Stream {
        let last = last.map(|last| ("Last-Event-ID", last));
        let usual =
            [("Host", self.address.as_str()), ("Cookie", &self.cookie), ("Sec-Fetch-Site", "same-origin")];
        let headers: Vec<(&str, &str)> = usual.into_iter().chain(last).collect();
        let request = http::request("GET", &self.events(), &headers, "");
        let mut stream = http::connect(&self.address);
        stream.write_all(request.as_bytes()).expect("a connection");
        Stream { stream, text: String::new() }
    }
}

pub(crate) struct Stream {
    pub stream: TcpStream,
    text: String,
}

impl Stream {
    /// The next message: its id, its kind and its data.
    fn next(&mut self) -> (String, String, Value) {
        loop {
            // Between the sizes of the pieces and the head stand the messages.
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = message.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim().to_owned()
                };
                let found = (
                    field("id:"),
                    field("event:"),
                    serde_json::from_str(&field("data:")).unwrap_or_default(),
                );
                self.text = rest.to_owned();
                return found;
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).expect("a stream");
            assert!(read > 0, "it has ended: {}", self.text);
            self.text += &String::from_utf8_lossy(&bytes[..read]);
        }
    }

    /// The next one that is not a sign of life.
    pub(crate) fn news(&mut self) -> (String, String, Value) {
        loop {
            let next = self.next();
            if next.1 != "beat" {
                return next;
            }
        }
    }
}

/// T1 asks, T2 has no attempt left, and T3 has landed.
pub(crate) fn waiting() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(
        &(task("T1", "")
            + &task("T2", "attempts = 1\nchecks = ['echo broken rope; false']")
            + &task("T3", "")),
    );
    sandbox.script(
        "[T1]\nsignal BLOCKED:which of the two ridges?\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

#[test]
fn what_waits_is_answered_from_the_page() {
    let page = Page::of(waiting(), "--allow-control");
    let run = page.run();
    let items = page.json("/api/inbox")["items"].clone();
    let key = |kind: &str| {
        let item = items.as_array().expect("items").iter().find(|item| item["kind"] == kind);
        item.expect("an item")["key"].clone()
    };
    let path = format!("/api/runs/{run}/tasks/T1");
    let answered = page.post(&path, &json!({ "do": "answer", "text": "--now, the left one; `rm -rf`" }), &[]);
    assert_eq!(answered.status, 200, "{answered:?}");
    let _ = page.sandbox.run("log --json").exits(0).says("--now, the left one; `rm -rf`");
    let seen = page.post("/api/inbox/seen", &json!({ "keys": [key("given_up")] }), &[]);
    assert_eq!(seen.status, 200, "{seen:?}");
    let raised =
        page.post(&format!("/api/runs/{run}/tasks/T2"), &json!({ "do": "raise", "attempts": 4 }), &[]);
    assert_eq!(raised.status, 200, "{raised:?}");
    until("the inbox without what was answered", || {
        let items = page.json("/api/inbox")["items"].clone();
        let left: Vec<&Value> = items.as_array()?.iter().map(|item| &item["kind"]).collect();
        left.iter().all(|kind| **kind != "blocked").then_some(())
    });
    for (path, body, status) in [
        (path.as_str(), json!({ "do": "nothing" }), 422),
        (&path, json!({ "do": "raise", "attempts": "many" }), 422),
        (&path, json!([]), 422),
        (&format!("/api/runs/{run}/tasks/T9"), json!({ "do": "retry" }), 409),
        ("/api/runs/other/tasks/T1", json!({ "do": "retry" }), 409),
        ("/api/runs/..%2fx/tasks/T1", json!({ "do": "retry" }), 404),
        (&format!("/api/runs/{run}"), json!({ "do": "stop" }), 409),
        ("/api/inbox/seen", json!({ "keys": ["--help"] }), 400),
    ] {
        let reply = page.post(path, &body, &[]);
        assert_eq!(reply.status, status, "{path} {body}: {reply:?}");
    }
    let long = json!({ "do": "answer", "text": "x".repeat(300 * 1024) });
    assert_eq!(page.post(&path, &long, &[]).status, 413);
}

/// The content of a file after the work of a task, as the page was told it.
fn blob(page: &Page, path: &str) -> Value {
    let review = page.json(&format!("{path}/review"));
    assert!(review["diff"].as_str().is_some_and(|diff| diff.contains("@@")), "{review}");
    review["files"][0]["new_blob"].clone()
}

#[test]
fn comments_from_the_page_are_sent_together() {
    let page = Page::of(waiting(), "--allow-control");
    let path = format!("/api/runs/{}/tasks/T2", page.run());
    let seen = blob(&page, &path);
    let comment =
        |line: u32, text: &str| json!({ "file": "T2.txt", "line": line, "blob": seen, "text": text });
    // One of them is about a line that is not there: none is taken.
    let both = [comment(1, "--send it; `rm -rf`"), comment(9, "Where?")];
    let refused = page.post(&path, &json!({ "do": "review", "comments": both }), &[]);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("there is no line 9"), "{refused:?}");
    assert_eq!(page.json(&format!("{path}/review"))["comments"], json!([]));
    let both = [comment(1, "--send it; `rm -rf`"), comment(1, "Why?")];
    let sent = page.post(&path, &json!({ "do": "review", "comments": both }), &[]);
    assert_eq!(sent.status, 200, "{sent:?}");
    let prompt = page.sandbox.run("prompt T2").exits(0);
    let _ = prompt.says("> --send it; `rm -rf`").says("> Why?");
    let told = page.sandbox.run("review T2 --json").exits(0).stdout;
    assert_eq!(told.matches("\"sent\": true").count(), 2, "{told}");
    let missing = page.post(&path, &json!({ "do": "take_back", "comment": 1 }), &[]);
    assert_eq!(missing.status, 409, "{missing:?}");
}

#[test]
fn comments_on_lines_that_have_changed_are_refused_with_where_they_are() {
    let page = Page::of(waiting(), "--allow-control");
    let path = format!("/api/runs/{}/tasks/T2", page.run());
    let seen = blob(&page, &path);
    let order = json!({ "do": "review", "comments": [
        { "file": "T2.txt", "side": "new", "line": 1, "lines": 1, "blob": seen, "text": "Not this way" },
    ] });
    let file = page.sandbox.worktrees().join("T2/T2.txt");
    for (text, why) in [("first\nx\n", "T2.txt:1 is now at line 2"), ("y\n", "T2.txt:1 no longer exists")] {
        std::fs::write(&file, text).expect("written");
        let refused = page.post(&path, &order, &[]);
        assert_eq!(refused.status, 409, "{refused:?}");
        assert!(refused.body.contains(why), "{refused:?}");
        assert_ne!(blob(&page, &path), seen, "what is shown after a refusal is what is there");
    }
    assert_eq!(page.json(&format!("{path}/review"))["comments"], json!([]));
}

#[test]
fn a_comment_that_quotes_other_lines_than_there_are_is_refused() {
    let page = Page::of(waiting(), "--allow-control");
    let path = format!("/api/runs/{}/tasks/T2", page.run());
    let seen = blob(&page, &path);
    let order = |quote: Value| {
        let comment = json!({ "file": "T2.txt", "line": 1, "blob": seen, "quote": quote, "text": "Why?" });
        json!({ "do": "review", "comments": [comment] })
    };
    let refused = page.post(&path, &order(json!("something else")), &[]);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("T2.txt has changed since you looked at it"), "{refused:?}");
    assert_eq!(page.json(&format!("{path}/review"))["comments"], json!([]));
    let sent = page.post(&path, &order(json!("x")), &[]);
    assert_eq!(sent.status, 200, "{sent:?}");
}

#[test]
fn a_difference_that_is_too_long_is_cut_and_says_so() {
    let page = Page::of(waiting(), "");
    let path = format!("/api/runs/{}/tasks/T2", page.run());
    assert_eq!(page.json(&path.replace("T2", "T3/diff"))["cut"], false);
    let long = "a line of no interest\n".repeat(300_000);
    std::fs::write(page.sandbox.worktrees().join("T2/T2.txt"), &long).expect("written");
    for view in ["diff", "review"] {
        let answer = page.json(&format!("{path}/{view}"));
        let text = answer["diff"].as_str().expect("a text");
        assert!(answer["cut"] == true && text.len() <= 4 * 1024 * 1024, "{view}: {}", text.len());
        assert!(text.ends_with("+a line of no interest\n"), "{view}");
    }
    let whole = page.sandbox.run("diff T2").exits(0).stdout;
    assert_eq!(whole.matches("+a line of no interest").count(), 300_000);
}

#[test]
fn comments_on_landed_work_become_a_task_from_the_page_too() {
    let page = Page::of(waiting(), "--allow-control");
    let run = page.run();
    let path = format!("/api/runs/{run}/tasks/T3");
    let seen = blob(&page, &path);
    let order = json!({ "do": "review", "comments": [{ "file": "T3.txt", "line": 1, "blob": seen, "text": "Say more" }] });
    let sent = page.post(&path, &order, &[]);
    assert_eq!(sent.status, 200, "{sent:?}");
    let added = page.json(&format!("/api/runs/{run}/tasks/T3-review"));
    assert_eq!(added["task"]["status"], "pending", "{added}");
    let _ = page.sandbox.run("prompt T3-review").exits(0).says("you: Say more");
}

#[test]
fn each_view_is_what_its_command_prints() {
    let page = Page::of(waiting(), "");
    let run = page.run();
    let told = |line: &str| -> Value {
        let text = page.sandbox.run(line).exits(0).stdout;
        serde_json::from_str(&text.replace("[ROOT]", page.sandbox.root().as_str())).expect("JSON")
    };
    let base = format!("/api/runs/{run}");
    assert_eq!(page.json("/api/runs"), told("runs --json"));
    assert_eq!(page.json("/api/inbox"), told("inbox --json"));
    assert_eq!(page.json(&format!("{base}/status?tasks=all"))["status"], told("status --json"));
    assert_eq!(page.json(&format!("{base}/landing"))["queue"], told("queue --json"));
    assert_eq!(page.json(&format!("{base}/checks")), told("checks --json"));
    assert_eq!(page.json(&format!("{base}/cost?by=agent")), told("cost --by agent --json"));
    assert_eq!(page.json(&format!("{base}/tasks/T3/diff")), told("diff T3 --json"));
    assert_eq!(page.json(&format!("{base}/tasks/T3/review")), told("review T3 --json"));
    let detail = page.json(&format!("{base}/tasks/T2"));
    assert_eq!(detail["task"], told("status T2 --json"));
    assert_eq!(detail["why"]["causes"], told("why T2 --json")["causes"]);
    assert_eq!(detail["attempts"][0]["checks"][0]["passed"], false);
    assert_eq!(detail["attempts"][0]["end"]["next"], "abandoned");
    // The output of the check that failed is one request away.
    let log = &detail["attempts"][0]["checks"][0]["log"];
    let job =
        detail["jobs"].as_array().expect("jobs").iter().find(|job| job["log"] == *log).expect("its job");
    let output = page.json(&format!("{base}/tasks/T2/output/{}", job["job"].as_str().expect("a name")));
    assert_eq!(output["lines"], json!([["plain", "broken rope"]]));
    assert_eq!(output["over"], true);
    let events = page.json(&format!("{base}/log?minor=true"));
    assert_eq!(events["events"].as_array().expect("events").len(), page.sandbox.events().len());
    let found = page.json(&format!("{base}/log?find=ridges"));
    assert_eq!(found["events"].as_array().expect("events").len(), 1, "{found}");
    assert_eq!(page.get("/api/runs/other/status").status, 404);
    assert_eq!(page.get(&format!("{base}/tasks/T9")).status, 422);
    assert_eq!(page.get(&format!("{base}/status?nonsense=1")).status, 400);
    let wrong = page.get(&format!("{base}/cost?by=colour"));
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert!(wrong.body.contains("cannot group costs by `colour`: use one of run, "), "{wrong:?}");
    let figures = page.get("/metrics").body;
    assert!(figures.contains(&format!("piton_tasks{{run=\"{run}\",status=\"completed\"}} 1\n")), "{figures}");
    assert!(figures.contains("piton_inbox_items 2\n"), "{figures}");
}

#[test]
fn the_past_is_shown_as_it_was() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&writers(&["T1", "T2"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let page = Page::of(sandbox, "");
    let base = format!("/api/runs/{}", page.run());
    let events = page.json(&format!("{base}/log?minor=true"))["events"].as_array().expect("events").clone();
    let end = events[0]["seq"].as_u64().expect("a place");
    let status = |at: u64| page.json(&format!("{base}/status?at={at}&tasks=all"))["status"].clone();
    // Of every event, what had landed by then.
    let mut landed = 0;
    for event in events.iter().rev() {
        let (seq, text) = (event["seq"].as_u64().expect("a place"), event["text"].as_str().expect("text"));
        landed += u64::from(text.starts_with("landed as"));
        let then = status(seq);
        assert_eq!(then["counts"]["completed"], landed, "event {seq}: {text}");
        assert_eq!(
            then["tasks"].as_array().expect("tasks").len() as u64,
            then["counts"]["total"].as_u64().expect("a number")
        );
    }
    assert_eq!(landed, 2);
    assert_eq!(status(end)["tasks"], page.json(&format!("{base}/status?tasks=all"))["status"]["tasks"]);
    let started = events.iter().find(|event| {
        event["task"] == "T2" && event["text"].as_str().is_some_and(|text| text.contains("started"))
    });
    let at = started.expect("T2 was started")["seq"].as_u64().expect("a place");
    let then = page.json(&format!("{base}/tasks/T2?at={at}"));
    assert_eq!(then["task"]["status"], "in_progress");
    assert_eq!(then["attempts"][0]["end"], Value::Null);
    assert_eq!(status(at)["engine_alive"], true, "as the journal had it");
    assert_eq!(page.json(&format!("{base}/landing?at={at}"))["queue"][0]["task"], "T1");
    assert_eq!(page.get(&format!("{base}/status?at=0")).status, 404);
}

#[test]
fn the_past_does_not_show_what_came_later_or_what_is_on_disk_now() {
    let page = Page::of(waiting(), "");
    let base = format!("/api/runs/{}", page.run());
    let events =
        page.json(&format!("{base}/log?minor=true&task=T2"))["events"].as_array().expect("events").clone();
    let at = |text: &str| {
        let is_it = |event: &&Value| event["text"].as_str().is_some_and(|told| told.contains(text));
        events.iter().rfind(is_it).unwrap_or_else(|| panic!("{text}: {events:?}"))["seq"].to_string()
    };
    let started = at("started");
    let end = events[0]["seq"].to_string();
    let jobs = |detail: &Value| detail["jobs"].as_array().expect("jobs").clone();
    let later = page.json(&format!("{base}/tasks/T2?at={end}"));
    assert_eq!(jobs(&later).len(), 2);
    assert!(jobs(&later).iter().all(|job| job["is_running"] == false && job["bytes"].is_u64()), "{later}");
    let then = page.json(&format!("{base}/tasks/T2?at={started}"));
    assert!(jobs(&then).iter().all(|job| job["is_running"] == true && job["took_ms"].is_null()), "{then}");
    let worktrees = page.sandbox.worktrees();
    let now = page.json(&format!("{base}/tasks/T2"));
    assert!(now["why"].to_string().contains(worktrees.as_str()), "{now}");
    for detail in [&later, &then] {
        assert!(!detail["why"].to_string().contains(worktrees.as_str()), "{detail}");
    }
    // What is in the worktree now is not what was there then.
    std::fs::write(worktrees.join("T2/T2.txt"), "written today\n").expect("written");
    let diff = |at: &str| page.get(&format!("{base}/tasks/T2/diff{at}"));
    assert!(diff("").body.contains("+written today"));
    let by_the_end = diff(&format!("?at={end}"));
    assert!(by_the_end.body.contains("+x") && !by_the_end.body.contains("today"), "{by_the_end:?}");
    let not_yet = diff(&format!("?at={started}"));
    assert_eq!(not_yet.status, 422, "{not_yet:?}");
    let review = page.json(&format!("{base}/tasks/T2/review?at={started}"));
    assert!(review["nothing"].is_string() && review["diff"] == "", "{review}");
}

#[test]
fn what_happens_is_sent_and_what_was_missed_is_sent_again() {
    let page = Page::of(waiting(), "");
    let run = page.run();
    let mut stream = page.stream(None);
    let (hello, kind, _) = stream.news();
    assert_eq!(kind, "hello");
    let _ = page.sandbox.piton(["answer", "T1", "the left one"]).run().exits(0);
    let (id, kind, data) = stream.news();
    assert_eq!((kind.as_str(), data["runs"][0]["run"].as_str()), ("news", Some(run.as_str())));
    assert_eq!(data["runs"][0]["tasks"], json!(["T1"]));
    assert!(data["runs"][0]["events"][0]["text"].as_str().expect("text").contains("the left one"), "{data}");
    assert_ne!(id, hello);
    drop(stream);
    let _ = page.sandbox.piton(["retry", "T2"]).run().exits(0);
    // The laptop wakes up.
    let (later, kind, data) = page.stream(Some(&id)).news();
    assert_eq!((kind.as_str(), &data["runs"][0]["tasks"]), ("news", &json!(["T2"])));
    assert_ne!(later, id);
    let (_, kind, data) = page.stream(Some(&later)).news();
    assert_eq!((kind.as_str(), &data["runs"]), ("news", &json!([])), "nothing was missed");
    let (_, kind, _) = page.stream(Some("what is this")).news();
    assert_eq!(kind, "hello");
}

#[test]
fn an_edited_plan_and_a_target_that_moved_reach_the_page_without_an_event() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let _ = sandbox.run("run plan.toml").exits(0);
    let page = Page::of(sandbox, "");
    let run = page.run();
    let mut stream = page.stream(None);
    assert_eq!(stream.news().1, "hello");
    let mut is_news = |what: &str| {
        let (_, kind, data) = stream.news();
        assert_eq!((kind.as_str(), &data["runs"][0]["run"]), ("news", &json!(run)), "{what}: {data}");
        assert_eq!(data["runs"][0]["events"], json!([]), "{what}: {data}");
    };
    let plan = page.sandbox.read("plan.toml");
    page.sandbox.write("plan.toml", &format!("{plan}\n# Another line.\n"));
    is_news("the plan");
    let _ = page.sandbox.git(["commit", "--quiet", "--allow-empty", "-m", "by hand"]);
    is_news("the target");
}

#[test]
fn each_attempt_shows_the_guardrails_and_fences_that_it_had() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 2\nchecks = ['false']"));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    sandbox.write("piton.toml", "[sandbox]\nmemory_mib = 4096\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.piton(["guardrail", "add", "Use tabs"]).run().exits(0);
    sandbox.write("piton.toml", "[sandbox]\nmemory_mib = 2048\n");
    let _ = sandbox.run("raise T1 --attempts 3").exits(0);
    let _ = sandbox.run("run plan.toml").exits(4);
    let page = Page::of(sandbox, "");
    let attempts = page.json(&format!("/api/runs/{}/tasks/T1", page.run()))["attempts"].clone();
    let had = |nth: usize| {
        let guardrails = &attempts[nth]["guardrails"];
        (guardrails["texts"].clone(), guardrails["fences"]["memory_mib"].clone())
    };
    assert_eq!(had(1), (json!([]), json!(4096)), "{attempts}");
    assert_eq!(had(2), (json!(["Use tabs"]), json!(2048)), "{attempts}");
}

#[test]
fn answers_say_up_to_which_event_they_go() {
    let page = Page::of(waiting(), "");
    let base = format!("/api/runs/{}", page.run());
    let end = page.json(&format!("{base}/log"))["end"].clone();
    assert_eq!(page.json("/api/runs")["runs"][0]["seq"], end);
    assert_eq!(page.json(&format!("{base}/status"))["seq"], end);
    assert_eq!(page.json(&format!("{base}/status?at=7"))["seq"], 7);
}

#[test]
fn a_project_without_a_run_has_a_page_that_waits_for_one() {
    let page = Page::of(sandbox(), "");
    assert_eq!(page.json("/api/runs"), json!({ "runs": [] }));
    let mut stream = page.stream(None);
    assert_eq!(stream.news().1, "hello");
    page.sandbox.plan(&task("T1", ""));
    page.sandbox.script(&writers(&["T1"]));
    let _ = page.sandbox.run("run plan.toml").exits(0);
    until("the run", || page.json("/api/runs")["runs"][0]["finished"].as_bool().filter(|done| *done));
    assert_eq!(stream.news().1, "news");
}
