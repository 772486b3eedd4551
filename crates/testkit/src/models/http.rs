//! As much of HTTP/1.1 as clients of models speak.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// More than any client sends.
const LARGEST: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    pub(super) body: Value,
    /// The size of the body.
    pub(super) bytes: usize,
}

impl Request {
    /// The next one; `None` when the client has hung up.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let (mut length, mut chunked) = (0, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "transfer-encoding" => chunked = value.contains("chunked"),
                _ => {}
            }
        }
        let bytes = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Some(Request { method: method.to_owned(), path, body, bytes: bytes.len() }))
    }
}

fn read_exactly(reader: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length.min(LARGEST)];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        reader.take(size as u64).read_to_end(&mut bytes)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(bytes);
        }
    }
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    kind: &'static str,
    body: String,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Answer {
        Answer { status, headers: Vec::new(), kind: "application/json", body: body.to_string() }
    }

    pub(super) fn with(self, headers: Vec<(String, String)>) -> Answer {
        Answer { headers, ..self }
    }

    /// Server-sent events, all at once.
    pub(super) fn events(events: &[(&str, Value)]) -> Answer {
        let one = |(name, data): &(&str, Value)| format!("event: {name}\ndata: {data}\n\n");
        let body = events.iter().map(one).collect();
        Answer { status: 200, headers: Vec::new(), kind: "text/event-stream", body }
    }

    /// The same without names.
    pub(super) fn data(frames: &[String]) -> Answer {
        let body = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
        Answer { status: 200, headers: Vec::new(), kind: "text/event-stream", body }
    }

    pub(super) fn write(&self, writer: &mut impl Write, request: &Request) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {} Said\r\ncontent-type: {}\r\ncontent-length: {}\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if request.method != "HEAD" {
            head.push_str(&self.body);
        }
        writer.write_all(head.as_bytes())?;
        writer.flush()
    }
}
