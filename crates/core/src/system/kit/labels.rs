//! Fields in Markdown: `**Did:** words`, `- **When**: words`, `Did: words`, with more words in the lines below.

use crate::fence::Fence;
use crate::system::kit::entries;
use crate::system::kit::mojibake;
use crate::system::kit::text;

/// A field's name in small letters, and what it says.
pub(in crate::system) type Field = (String, String);

/// The longest name: what is longer is a sentence in bold.
const LONGEST_NAME: usize = 30;

/// The fields of an entry, in order. Text before the first field has an empty name. A bold name always begins a field,
/// any other only if it is known. Code has no fields.
pub(in crate::system) fn fields(entry: &str, known: &[&str]) -> Vec<Field> {
    let mut fields: Vec<(String, Vec<&str>)> = vec![(String::new(), Vec::new())];
    let mut fence: Option<Fence> = None;
    for line in entry.lines() {
        let (open, code) = Fence::after(fence, line);
        fence = open;
        let begun = if code { None } else { begun_by(line, known) };
        match begun {
            Some((name, value)) => fields.push((name, vec![value])),
            None if !code && entries::is_rule(line) => {}
            None => fields.last_mut().expect("there is always one").1.push(line),
        }
    }
    let joined = |lines: Vec<&str>| {
        let lines: Vec<&str> = lines.into_iter().map(str::trim_end).collect();
        lines.join("\n").trim().to_owned()
    };
    fields.into_iter().map(|(name, lines)| (name, joined(lines))).collect()
}

/// The field that a line begins, with what it says in that line.
pub(in crate::system) fn begun_by<'l>(line: &'l str, known: &[&str]) -> Option<(String, &'l str)> {
    let bare = line.trim_start();
    let bare = bare.strip_prefix(['-', '+', '•']).map_or(bare, str::trim_start);
    let bare = bare.strip_prefix("* ").map_or(bare, str::trim_start);
    let plain = |name: &str| text::key(&mojibake::understood(name)).to_lowercase();
    if let Some(title) = bare.strip_prefix("###") {
        let name = plain(title.trim_matches(['#', ' ', '*', ':']));
        return known.contains(&name.as_str()).then_some((name, ""));
    }
    if let Some(rest) = bare.strip_prefix("**") {
        let (name, after) = rest.split_once("**")?;
        // The colon may stand inside or outside.
        let (name, value) = match name.trim_end().strip_suffix([':', '：']) {
            Some(name) => (name, after.strip_prefix([':', '：']).unwrap_or(after)),
            None => (name, after.trim_start().strip_prefix([':', '：'])?),
        };
        let name = plain(name);
        return (!name.is_empty() && name.chars().count() <= LONGEST_NAME).then(|| (name, value.trim()));
    }
    let (name, value) = bare.split_once([':', '：'])?;
    let name = plain(name);
    known.contains(&name.as_str()).then(|| (name, value.trim()))
}

/// What a field says, unless it says that there is nothing.
pub(in crate::system) fn said(value: &str) -> &str {
    let plain = value.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let none = matches!(plain.as_str(), "" | "none" | "n/a" | "nothing" | "no" | "null" | "none yet");
    if none { "" } else { value }
}

/// A field in its written form: in one line if its value is one line, else below its name. Text that would be misread
/// is quoted.
pub(in crate::system) fn written(name: &str, value: &str, known: &[&str]) -> String {
    let value = entries::prose(value);
    let breaks = value.lines().any(|line| begun_by(line, known).is_some());
    let value = if breaks { entries::quoted(&value) } else { value };
    match value.contains('\n') || value.starts_with('>') {
        true => format!("**{name}:**\n{value}"),
        false => format!("**{name}:** {value}"),
    }
}
