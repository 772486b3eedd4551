//! Just enough HTTP to ask a server on loopback, also for what no proper client would send.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Far longer than an answer takes on a busy machine.
const FOREVER: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    /// The value of a header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        let is_it = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        self.head.lines().find(is_it).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    /// The body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Connect, with a limit for every read.
pub fn connect(address: &str) -> TcpStream {
    let stream =
        TcpStream::connect(address).unwrap_or_else(|error| panic!("cannot reach {address}: {error}"));
    stream.set_read_timeout(Some(FOREVER)).expect("a span that is not zero");
    stream
}

/// Send these very bytes and read the answer.
pub fn exchange(address: &str, request: &[u8]) -> Reply {
    let mut stream = connect(address);
    // A server that refuses early may not read all of it.
    let _ = stream.write_all(request);
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        bytes.extend_from_slice(&piece[..read]);
        // Some servers leave the connection open.
        if is_whole(&bytes) {
            break;
        }
    }
    parse(&bytes)
}

/// Whether an answer that says its length is there.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let reply = Reply { status: 0, head: head.into_owned(), body: String::new() };
    let length = reply.header("content-length").and_then(|length| length.parse::<usize>().ok());
    length.is_some_and(|length| bytes.len() >= end + 4 + length)
}

/// A request with these headers, which closes its connection.
pub fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    exchange(address, request(method, path, headers, body).as_bytes())
}

/// The text of such a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!("{method} {path} HTTP/1.1\r\n{headers}{length}Connection: close\r\n\r\n{body}")
}

fn parse(bytes: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: unchunked(head, body) }
}

/// The body of an answer that came in pieces.
fn unchunked(head: &str, body: &str) -> String {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || after.len() < size {
            break;
        }
        whole += &after[..size];
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
