//! The page of `piton serve`: how soon a browser shows a large run, how soon it shows what happens, and what open pages
//! cost the engine.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use piton_testkit::browser::Browser;
use piton_testkit::http;
use piton_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::bench::{Figure, PITON, Project, median, plan, show};
use crate::runs::{began, engine, stop, until};
use crate::streams::busy;

const TASKS: usize = 10_000;
const TIMES: usize = 7;
const PAGES: usize = 50;
const SECONDS: u64 = 10;
/// Longer than the server remembers an answer: each first paint reads the journal.
const FORGOTTEN: Duration = Duration::from_millis(1_100);

/// Notes in every page the frame after the one in which its content is there.
const WATCH: &str = "
    let painted = false;
    const fill = CanvasRenderingContext2D.prototype.fill;
    CanvasRenderingContext2D.prototype.fill = function (...all) { painted = true; return fill.apply(this, all); };
    const look = () => {
        if (painted || document.querySelector('#run-title, .rowlink')) requestAnimationFrame(() => (window.drawn = performance.now()));
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);";

/// Notes when a task is first among those under way.
const NOTE: &str = "
    window.noted = {};
    new MutationObserver(() => {
        const ids = [...document.querySelectorAll('[aria-labelledby=busy-title] [data-key]')].map((one) => one.dataset.key);
        const fresh = ids.filter((id) => !(id in window.noted));
        for (const id of fresh) window.noted[id] = null;
        if (fresh.length) requestAnimationFrame(() => fresh.forEach((id) => (window.noted[id] = Date.now())));
    }).observe(document, { childList: true, subtree: true });";

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures = shown();
    figures.extend(open());
    figures
}

fn shown() -> Vec<Figure> {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(why) => {
            println!("  not measured: {why}");
            return Vec::new();
        }
    };
    let sandbox = Sandbox::new(PITON);
    let task = |n: usize| {
        format!("[[task]]\nid = 'T{n}'\ntitle = 'Write the file of {n}'\nprompt = 'Do it'\nchecks = []\n")
    };
    sandbox.plan(&(1..=TASKS).map(task).collect::<String>());
    let _ = sandbox.run("start T5000 --by me --plan plan.toml").exits(0);
    let mut server = sandbox.piton("serve --listen 127.0.0.1:0".split(' ')).spawn();
    let url = server.first_line();
    let token = url.split_once("?token=").unwrap().1.trim().to_owned();
    browser.open(&url);
    browser.until_shows("0 of 10000");
    let run = browser.script("return document.querySelector('#top select').value");
    let base = format!("{}#/{}/", url.split_once("?token").unwrap().0, run.as_str().unwrap());
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": WATCH }));
    let mut figures = Vec::new();
    for view in ["overview", "tasks", "graph"] {
        let once = |_| {
            browser.open("about:blank");
            thread::sleep(FORGOTTEN);
            browser.open(&format!("{base}{view}"));
            browser.until_is("window.drawn");
            millis(browser.script("return window.drawn").as_f64().unwrap())
        };
        let times: Vec<Duration> = (0..TIMES).map(once).collect();
        let what = format!("the page: from its address to the {view} of {TASKS} tasks in the browser");
        figures.push(Figure::plain(what, with_worst(times), "1 s"));
    }
    browser.open("about:blank");
    browser.open(&format!("{base}overview"));
    browser.until_shows("Under way (1)");
    let _ = browser.script(NOTE);
    let mut times = Vec::new();
    for n in 1..=3 * TIMES {
        // Not in step with the looks at the journal.
        thread::sleep(Duration::from_millis(700 + 37 * n as u64));
        let id = format!("T{n}");
        let _ = sandbox.piton(["start", &id, "--by", "me"]).run().exits(0);
        browser.until_is(&format!("window.noted['{id}']"));
        let log = format!("/api/runs/{}/log?task={id}", run.as_str().unwrap());
        let lasted = browser.script_later(&format!(
            "const done = arguments[0]; fetch('{log}', {{ headers: {{ authorization: 'Bearer {token}' }} }}).then((answer) => answer.json()).then(({{ events }}) => \
             done(window.noted['{id}'] - events.find((event) => event.text.includes('started')).at))"
        ));
        times.push(millis(lasted.as_f64().unwrap()));
    }
    figures.push(Figure::plain(
        format!("the page: from an event in the journal of {TASKS} tasks until the browser shows it"),
        with_worst(times),
        "200 ms",
    ));
    figures
}

fn with_worst(times: Vec<Duration>) -> String {
    let worst = times.iter().max().copied().unwrap_or_default();
    format!("{}, at worst {}", show(median(times)), show(worst))
}

fn millis(count: f64) -> Duration {
    Duration::from_secs_f64(count.max(0.0) / 1000.0)
}

/// What the engine takes with pages open, against none, while something happens every second. A page is what it asks for:
/// the stream, and after each message of it what the overview shows.
fn open() -> Vec<Figure> {
    let agent = "date +%s%N >> \"$HOME/.cache/began\"; sleep 600";
    let project = Project::new(&plan(1_000, 8, agent, |_| String::new()), 100);
    let child = engine(&project);
    until(|| began(&project).len() == 8);
    thread::sleep(Duration::from_millis(500));
    let (alone, _) = watched(&project, &child, None);
    let (mut server, address, token) = serve(&project);
    let bearer = format!("Bearer {token}");
    let runs = ask(&address, &bearer, "/api/runs");
    let run = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    let (open, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let asked = Arc::new(AtomicUsize::new(0));
    for _ in 0..PAGES {
        let (address, bearer, run) = (address.clone(), bearer.clone(), run.clone());
        let (open, is_over, asked) = (Arc::clone(&open), Arc::clone(&is_over), Arc::clone(&asked));
        thread::spawn(move || page(&address, &bearer, &run, &open, &is_over, &asked));
    }
    until(|| open.load(Ordering::SeqCst) == PAGES);
    asked.store(0, Ordering::SeqCst);
    let (with, server_took) = watched(&project, &child, Some(&server));
    let answers = asked.load(Ordering::SeqCst);
    is_over.store(true, Ordering::SeqCst);
    let _ = server.kill();
    let _ = server.wait();
    stop(&project, child);
    let what =
        format!("processor of the engine with {PAGES} pages open, more than with none (an event a second)");
    let measured = format!("{:+.2} % of a core ({with:.2} % with, {alone:.2} % without)", with - alone);
    let answers = answers as u64 / SECONDS;
    vec![
        Figure::plain(what, measured, "2 % of a core"),
        Figure::plain(
            "processor of `piton serve` meanwhile",
            format!("{server_took:.1} % of a core, for {answers} answers a second"),
            "–",
        ),
    ]
}

/// Which share of a core the engine and the server take while an event is recorded each second.
fn watched(project: &Project, engine: &Child, server: Option<&Child>) -> (f64, f64) {
    let taken = |child: Option<&Child>| child.map_or(Duration::ZERO, |child| busy(child.id()));
    let (begun, before) = (Instant::now(), (taken(Some(engine)), taken(server)));
    for n in 0..SECONDS {
        let _ = project.piton(&format!("journal add note-{n}"));
        thread::sleep(Duration::from_secs(1));
    }
    let share = |time: Duration| time.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0;
    (share(taken(Some(engine)) - before.0), share(taken(server) - before.1))
}

fn serve(project: &Project) -> (Child, String, String) {
    let mut command = project.command(PITON, &project.repo);
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (address, token) = url.trim().trim_start_matches("http://").split_once("/?token=").unwrap();
    (server, address.to_owned(), token.to_owned())
}

fn ask(address: &str, bearer: &str, path: &str) -> Value {
    http::ask(address, "GET", path, &[("Host", address), ("Authorization", bearer)], "").json()
}

fn page(
    address: &str,
    bearer: &str,
    run: &str,
    open: &AtomicUsize,
    is_over: &AtomicBool,
    asked: &AtomicUsize,
) {
    let mut stream = http::connect(address);
    let headers = [("Host", address), ("Authorization", bearer)];
    stream.write_all(http::request("GET", "/api/events", &headers, "").as_bytes()).unwrap();
    let mut bytes = [0; 64 * 1024];
    let mut is_open = false;
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes[..read]);
        if !is_open && text.contains("event: hello") {
            is_open = true;
            open.fetch_add(1, Ordering::SeqCst);
        }
        if text.contains("event: news") {
            for path in ["/api/runs", "/api/inbox"]
                .map(str::to_owned)
                .into_iter()
                .chain(["status", "log"].map(|part| format!("/api/runs/{run}/{part}")))
            {
                let _ = ask(address, bearer, &path);
                asked.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}
