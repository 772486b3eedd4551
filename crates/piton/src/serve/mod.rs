//! `piton serve`: the page. It keeps no state: what it shows is read from the journal, and what it changes is a command.
//!
//! | file | does |
//! |---|---|
//! | `app` | what all requests share |
//! | `guard` | decides who may ask for what |
//! | `keys` | token, password, cookie and key |
//! | `assets` | the files of the page |
//! | `api` | what the page reads |
//! | `drawings` | what the page draws |
//! | `control` | what the page changes |
//! | `live` | the stream of events |
//! | `output` | the output of jobs, in pieces |
//! | `metrics` | figures for Prometheus |

mod api;
mod app;
mod assets;
mod control;
mod drawings;
mod guard;
mod keys;
mod live;
mod metrics;
mod output;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use camino::Utf8PathBuf;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use piton_engine::project::Project;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::serve::api::Problem;
use crate::serve::app::{App, ORDERS, TURNS};
use crate::serve::guard::{Area, Asked, Guard, Host};
use crate::serve::keys::{Keys, Refused};
use crate::serve::live::Watcher;
use crate::ui;

/// `PITN` on a telephone.
pub(crate) const PORT: u16 = 7486;
/// A thousand that do nothing must not keep a person out.
const CONNECTIONS: usize = 2048;
/// Connections that are told to come again, at the same time. Others are closed without a word.
const REFUSALS: usize = 64;
/// Longer headers are not a browser's.
const HEADER_BYTES: usize = 32 * 1024;
/// The longest answer to an agent fits several times.
const BODY_BYTES: usize = 256 * 1024;
/// A request that changes something has its whole body here by then: a phone on a bad line needs seconds for it.
const BODY_PATIENCE: Duration = Duration::from_secs(15);
/// The header in which the page sends its key.
const KEY: &str = "x-piton-key";
/// A connection that asks for nothing for so long is closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the page is to be served.
#[derive(Debug)]
pub(crate) struct Options {
    pub project: Project,
    pub listen: SocketAddr,
    /// Another port may be used, if this one is taken.
    pub any_port: bool,
    pub public_hosts: Vec<String>,
    pub allow_control: bool,
    pub token_file: Option<Utf8PathBuf>,
    pub password_file: Option<Utf8PathBuf>,
}

/// Serve the page until the process is ended.
pub(crate) fn start(options: Options) -> Outcome<Exit> {
    let Options { project, listen, any_port, public_hosts, allow_control, token_file, password_file } =
        options;
    let is_elsewhere = !listen.ip().is_loopback();
    if is_elsewhere && token_file.is_none() && password_file.is_none() {
        let failure = Failure::usage(format!("{} can be reached from other machines", listen.ip()));
        return Err(failure
            .hint(format!("piton serve --listen {listen} --password-file FILE   asks for a password"))
            .hint(format!("piton serve --listen {listen} --token-file FILE   asks for a token"))
            .hint("ssh -L 7486:127.0.0.1:7486 HOST   reaches a page that listens on loopback"));
    }
    let token = token_file.as_deref().map(keys::token_in).transpose()?;
    let password = password_file.as_deref().map(keys::password_in).transpose()?;
    let listener = bind(listen, any_port)?;
    let address = listener.local_addr().map_err(Failure::io("cannot listen"))?;
    let public_hosts: Vec<Host> =
        public_hosts.iter().map(|name| public_host(name)).collect::<Outcome<_>>()?;
    let guard = Guard {
        hosts: own_hosts(address).into_iter().chain(public_hosts.iter().cloned()).collect(),
        any_address: address.ip().is_unspecified().then_some(address.port()),
        control: allow_control,
    };
    let most_connections = raise_limit();
    let keys = Keys::new(token, password, address.port())?;
    let app = Arc::new(App::new(project, guard, keys, most_connections));
    let (watched, watcher) = (Arc::clone(&app), Watcher::new(&app.project));
    std::thread::spawn(move || watched.live.watch(&watched.project, watcher, || watched.forget_old()));
    say(&app, address, &public_hosts, is_elsewhere);
    // Enough for all of them, so that no work waits for a thread.
    let threads = TURNS + ORDERS;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(threads).build();
    runtime.map_err(Failure::io("cannot start the server"))?.block_on(accept(listener, app))
}

fn say(app: &App, address: SocketAddr, public_hosts: &[Host], is_elsewhere: bool) {
    let shown = if address.ip().is_unspecified() {
        SocketAddr::new([127, 0, 0, 1].into(), address.port())
    } else {
        address
    };
    let mut urls = vec![format!("http://{shown}/")];
    urls.extend(
        public_hosts
            .iter()
            .map(|host| format!("{}://{}/", if host.https { "https" } else { "http" }, host.authority)),
    );
    for url in urls {
        match app.keys.has_password() {
            true => ui::answer_line(url),
            false => ui::answer_line(format!("{url}?token={}", app.keys.token)),
        }
    }
    if !app.project.may_have_journal() {
        ui::say(format!(
            "there is no run in {} yet: the page shows the first one as soon as it begins",
            app.project.root
        ));
    }
    ui::say(match app.guard.control {
        true => "who opens this page can answer, retry, skip, unblock, raise and stop",
        false => "the page only reads; --allow-control lets it answer, retry, skip, unblock, raise and stop",
    });
    if is_elsewhere {
        ui::say(
            "warning: this connection is not encrypted. Everybody on the way can read it and take it over. \
             Put a proxy with TLS before it, or listen on loopback and use ssh -L",
        );
    }
}

/// The names of the address that we listen on. A browser leaves out port 80.
fn own_hosts(address: SocketAddr) -> Vec<Host> {
    let port = address.port();
    let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
    names.extend((!address.ip().is_unspecified()).then(|| match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }));
    let authority = |name: &String| if port == 80 { name.clone() } else { format!("{name}:{port}") };
    names.iter().map(|name| Host { authority: authority(name), https: false }).collect()
}

/// `piton.example`, reached by HTTPS, or `http://name:8080`.
fn public_host(given: &str) -> Outcome<Host> {
    let (https, authority) = match given.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        Some(_) => (true, ""),
        None => (true, given),
    };
    let authority = authority.trim_end_matches('/').to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    match authority.is_empty() || !authority.chars().all(is_name) {
        true => {
            Err(Failure::usage(format!("`{}` is not a host name, such as piton.example", ui::plain(given))))
        }
        false => Ok(Host { authority, https }),
    }
}

fn bind(address: SocketAddr, any_port: bool) -> Outcome<std::net::TcpListener> {
    let failed = Failure::io(format!("cannot listen on {address}"));
    let listener = match std::net::TcpListener::bind(address) {
        Err(error) if any_port && error.kind() == std::io::ErrorKind::AddrInUse => {
            std::net::TcpListener::bind(SocketAddr::new(address.ip(), 0))
        }
        bound => bound,
    };
    let is_taken = listener.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse);
    let listener = listener.map_err(failed).map_err(|failure| match is_taken {
        true => failure.hint("piton serve   takes a port that is free"),
        false => failure,
    })?;
    listener.set_nonblocking(true).map_err(Failure::io("cannot listen"))?;
    Ok(listener)
}

/// Allow as many open files as there may be, and return how many of them may be connections.
fn raise_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = (2 * CONNECTIONS) as u64;
    let wanted = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    let open = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    usize::try_from(open / 2).unwrap_or(CONNECTIONS).clamp(8, CONNECTIONS)
}

async fn accept(listener: std::net::TcpListener, app: Arc<App>) -> Outcome<Exit> {
    let listener = TcpListener::from_std(listener).map_err(Failure::io("cannot listen"))?;
    let service = TowerToHyperService::new(router(&app));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // For example too many open files: some will be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&app.connections).try_acquire_owned() else {
            if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(Duration::from_secs(2), refuse(stream)).await;
                    drop(permit);
                });
            }
            continue;
        };
        let service = service.clone();
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(from.ip()));
            service.call(request)
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(HEADER_BYTES)
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks is of no interest to anybody.
            let _ = connection.await;
            drop(permit);
        });
    }
    #[expect(unreachable_code, reason = "the loop ends with the process")]
    Ok(FINE)
}

/// Who has connected: a proxy, where there is one.
#[derive(Clone, Copy)]
struct Peer(IpAddr);

async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(BUSY).await?;
    stream.shutdown().await?;
    // What was sent is read, or the answer would be lost with the connection.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/api/project", get(api::project))
        .route("/api/runs", get(api::runs))
        .route("/api/inbox", get(api::waiting))
        .route("/api/inbox/seen", post(control::seen))
        .route("/api/runs/{run}", post(control::run))
        .route("/api/runs/{run}/status", get(api::status))
        .route("/api/runs/{run}/graph", get(drawings::graph))
        .route("/api/runs/{run}/timeline", get(drawings::timeline))
        .route("/api/runs/{run}/landing", get(api::landing))
        .route("/api/runs/{run}/checks", get(api::checks))
        .route("/api/runs/{run}/cost", get(api::cost))
        .route("/api/runs/{run}/log", get(api::log))
        .route("/api/runs/{run}/tasks/{task}", get(api::task).post(control::task))
        .route("/api/runs/{run}/tasks/{task}/diff", get(api::diff))
        .route("/api/runs/{run}/tasks/{task}/review", get(api::review))
        .route("/api/runs/{run}/tasks/{task}/output/{job}", get(api::output))
        .route(guard::EVENTS, get(events))
        .route(guard::ENTER, post(enter))
        .route(guard::METRICS, get(figures))
        .fallback(page)
        .layer(middleware::from_fn_with_state(Arc::clone(app), protect))
        .with_state(Arc::clone(app))
}

/// What comes before every answer, and is part of it.
async fn protect(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let headers = request.headers();
    let authorization = text(headers, header::AUTHORIZATION.as_str());
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    // The browser's reader of events cannot send headers.
    let key = match request.uri().path() {
        guard::EVENTS => pair_of(&request, "key"),
        _ => text(headers, KEY),
    };
    let credential = app.keys.credential(authorization, cookies, key);
    let asked = Asked {
        method: request.method().as_str(),
        path: request.uri().path(),
        host: host(&request),
        origin: text(headers, "origin"),
        site: text(headers, "sec-fetch-site"),
        mode: text(headers, "sec-fetch-mode"),
        credential,
    };
    let mut response = match app.guard.check(&asked) {
        Err(denied) => {
            let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
            let has_password = app.keys.has_password();
            (status, Json(json!({ "error": denied.why(), "password": has_password }))).into_response()
        }
        Ok(Area::Page) if request.method() == "GET" && pair_of(&request, "token").is_some() => {
            exchange(&app, &request)
        }
        Ok(Area::Write | Area::Enter) => match with_body(request, BODY_PATIENCE).await {
            Ok(request) => next.run(request).await,
            Err(problem) => problem.into_response(),
        },
        Ok(_) => next.run(request).await,
    };
    assets::protect(response.headers_mut());
    response
}

/// The request with its body, read before anything is done for it: one that sends a byte now and then is not waited for.
async fn with_body(request: Request, patience: Duration) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(patience, axum::body::to_bytes(body, BODY_BYTES)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => {
            let why = format!("a request has at most {} KiB", BODY_BYTES / 1024);
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why))
        }
        Err(_) => {
            let why = format!("the request did not arrive within {} s", patience.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, why))
        }
    }
}

/// A header that is there once, as text.
fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => None,
        (Some(value), None) => Some(value.to_str().unwrap_or("?")),
        // Two of them are not what a browser sends: this is no name of anything.
        (Some(_), Some(_)) => Some("?"),
    }
}

/// The host that is asked. A request that names another one in its first line is nobody's.
fn host(request: &Request) -> Option<&str> {
    let named = text(request.headers(), header::HOST.as_str())?;
    match request.uri().authority() {
        Some(authority) if authority.as_str() != named => None,
        _ => Some(named),
    }
}

/// A value in the address, as it stands there: our secrets need no escapes.
fn pair_of<'r>(request: &'r Request, wanted: &str) -> Option<&'r str> {
    let pairs = request.uri().query()?.split('&');
    pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Give a cookie and the key for the token in the address, and lead to the address without it. What stands behind `#` is
/// for the page alone: no browser sends it to a server.
fn exchange(app: &App, request: &Request) -> Response<Body> {
    if !pair_of(request, "token").is_some_and(|token| app.keys.opens(token)) {
        return (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response();
    }
    let place = format!("/#key={}", app.keys.key);
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
    let_in(app, request.headers(), &mut response);
    response
}

fn let_in(app: &App, headers: &HeaderMap, response: &mut Response<Body>) {
    let host = text(headers, header::HOST.as_str()).and_then(|host| app.guard.host(host));
    let cookie = app.keys.set_cookie(host.is_some_and(|host| host.https));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Password {
    password: String,
}

async fn enter(
    State(app): State<Arc<App>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    Json(given): Json<Password>,
) -> Response<Body> {
    let Ok(mut tries) = app.tries.lock() else { return api::busy().into_response() };
    let is_right = || app.keys.is_password(&given.password);
    if let Err(refused) = tries.attempt(peer, Instant::now(), is_right) {
        return match refused {
            Refused::Wrong => Problem::new(StatusCode::UNAUTHORIZED, "this is not the password"),
            Refused::Wait(wait) => {
                let why = format!("Too many wrong passwords: try again in {} s", wait.as_secs() + 1);
                Problem::new(StatusCode::TOO_MANY_REQUESTS, why)
            }
        }
        .into_response();
    }
    let mut response = Json(json!({ "key": app.keys.key })).into_response();
    let_in(&app, &headers, &mut response);
    response
}

/// Where a page goes on that connects by itself, and not by the browser's doing.
#[derive(Deserialize)]
struct Since {
    last: Option<String>,
}

async fn events(
    State(app): State<Arc<App>>,
    Query(since): Query<Since>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open"));
    };
    let last = text(&headers, "last-event-id").map(str::to_owned).or(since.last);
    api::work(&app, move |app| Ok(app.live.stream(&app.project, last.as_deref(), permit)?)).await
}

async fn figures(State(app): State<Arc<App>>) -> Result<Response<Body>, Problem> {
    let text = api::work(&app, |app| Ok(metrics::text(app)?)).await?;
    Ok(([(header::CONTENT_TYPE, metrics::KIND)], text).into_response())
}

async fn page(request: Request) -> Response<Body> {
    let known = text(request.headers(), header::IF_NONE_MATCH.as_str());
    assets::find(request.uri().path(), known)
        .unwrap_or_else(|| Problem::new(StatusCode::NOT_FOUND, "there is nothing here").into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_page_may_have() {
        let host = |given: &str| public_host(given).map(|host| (host.authority, host.https)).ok();
        let some = |authority: &str, https| Some((authority.to_owned(), https));
        assert_eq!(host("Piton.example"), some("piton.example", true));
        assert_eq!(host("https://piton.example:8443/"), some("piton.example:8443", true));
        assert_eq!(host("http://box:7486"), some("box:7486", false));
        for wrong in ["", "ftp://x", "a b", "x/y", "https://", "x\r\ny"] {
            assert_eq!(host(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_body_that_does_not_come_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let read = |body: Body| {
            let answer = runtime.block_on(with_body(Request::new(body), Duration::from_millis(1)));
            answer.map_err(|problem| problem.into_response().status())
        };
        let never = futures_util::stream::pending::<Result<axum::body::Bytes, std::io::Error>>();
        assert_eq!(read(Body::from_stream(never)).err(), Some(StatusCode::REQUEST_TIMEOUT));
        assert_eq!(read(Body::from(vec![b'x'; BODY_BYTES + 1])).err(), Some(StatusCode::PAYLOAD_TOO_LARGE));
        assert!(read(Body::from(vec![b'x'; BODY_BYTES])).is_ok());
    }

    #[test]
    fn our_own_names_have_the_port() {
        let names = |address: &str| -> Vec<String> {
            own_hosts(address.parse().expect("an address")).into_iter().map(|host| host.authority).collect()
        };
        assert_eq!(names("127.0.0.1:7486")[..3], ["127.0.0.1:7486", "localhost:7486", "[::1]:7486"]);
        assert!(names("10.0.0.1:80").contains(&"10.0.0.1".to_owned()));
        assert!(names("[2001:db8::1]:99").contains(&"[2001:db8::1]:99".to_owned()));
    }
}
