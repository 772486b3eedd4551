//! What a scripted program prints.

use serde_json::Value;

#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// An answer, or a refusal.
pub(super) type Said<T = Reply> = Result<T, Reply>;

/// Only a message.
pub(super) fn said(code: i32, stderr: impl Into<String>) -> Reply {
    Reply { code, stdout: String::new(), stderr: stderr.into() + "\n" }
}

pub(super) fn line(stdout: impl Into<String>) -> Reply {
    Reply { code: 0, stdout: stdout.into() + "\n", stderr: String::new() }
}

pub(super) fn nothing() -> Reply {
    Reply { code: 0, stdout: String::new(), stderr: String::new() }
}

pub(super) fn json(value: &Value) -> Reply {
    line(value.to_string())
}

/// As `gh api` and `glab api` refuse: the body on stdout, a line on stderr.
pub(super) fn refused(program: &str, status: u16, message: &str) -> Reply {
    let body = serde_json::json!({ "message": message });
    Reply { code: 1, stdout: body.to_string(), stderr: format!("{program}: {message} (HTTP {status})\n") }
}

/// As glab refuses otherwise.
pub(super) fn boxed(message: &str) -> Reply {
    let lines: Vec<String> = message.lines().map(|line| format!("  {line:<110}")).collect();
    said(1, format!("          \n   ERROR  \n          \n{}\n", lines.join("\n")))
}
