//! Values as TOML writes them.

use crate::terminal::misleads;

/// In quotes. What JSON escapes, TOML does too. Characters that a terminal would obey, or that turn a text around, are
/// escaped as well.
pub fn toml_text(raw: &str) -> String {
    let json = serde_json::Value::from(raw).to_string();
    let one = |c: char| if misleads(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(one).collect()
}

pub fn toml_list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| toml_text(&item.to_string())).collect();
    format!("[{}]", items.join(", "))
}
