//! The page of messages: what people can be told is on it, and what it lists is in the code.
//!
//! Complete are messages that the code writes where it makes a failure, a refusal or an error, and the kinds that programs
//! read. A text that is put together elsewhere may be on the page and need not be. Each row has an anchor of its own, so that
//! a message can be linked to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

const PAGE: &str = "docs/messages.md";
/// Where messages come from.
const SOURCES: [&str; 3] = ["crates/core/src", "crates/engine/src", "crates/piton/src"];
/// What makes a message of a text. A stale refusal is not among them: its engine looks again, and nobody reads it.
const MAKERS: [&str; 4] = ["Failure::new", "Failure::usage", "Refusal::because", "Refusal::hinted"];
/// Stands for what differs.
const GAP: char = '…';
/// The columns of tables that are about messages.
const COLUMNS: [&str; 4] = ["message", "`problem`", "reason", "kind"];
/// What begins a row: its anchor, which is also a link to itself.
const ANCHOR: [&str; 3] = ["<a id=\"", "\" href=\"#", "\">#</a> "];

/// The texts of the sources: all of them, and those that are messages, each with its place.
#[derive(Default)]
struct Texts {
    all: BTreeSet<String>,
    messages: BTreeMap<String, String>,
}

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut texts = Texts::default();
    for folder in SOURCES {
        let mut files = Vec::new();
        crate::tidy::collect(&root.join(folder), &mut files)?;
        for file in files {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            if name.ends_with("tests.rs") || name.contains("/tests/") {
                continue;
            }
            let code = std::fs::read_to_string(&file)?;
            let code = TokenStream::from_str(&code).map_err(|error| anyhow!("{name}: {error}"))?;
            read(code, &name, &mut texts);
        }
    }
    let page = std::fs::read_to_string(root.join(PAGE))?;
    let read = |file: &str| std::fs::read_to_string(root.join(file));
    let preflight = read("crates/piton/src/preflight/mod.rs")?;
    let kinds = [
        ("`problem`", after(&preflight, &["kind: \"", "Finding::warning(\""])),
        ("reason", variants(&read("crates/core/src/run/event.rs")?, "StopReason")),
        ("kind", arms(&read("crates/core/src/view/inbox.rs")?, "Kind")),
    ];
    let mut problems = compare(&page, &texts);
    problems.extend(misplaced(&page));
    for (column, known) in kinds {
        let shown: BTreeSet<&str> = cells(&page, &column).map(|(_, kind)| kind).collect();
        for kind in known.iter().filter(|kind| !shown.contains(kind.as_str())) {
            problems.push(format!("{PAGE}: the column {column} lacks `{kind}`"));
        }
        for (line, kind) in cells(&page, &column).filter(|(_, kind)| !known.contains(*kind)) {
            problems.push(format!("{PAGE}:{line}: the code has no {column} `{kind}`"));
        }
    }
    Ok(problems)
}

fn compare(page: &str, texts: &Texts) -> Vec<String> {
    let shown: BTreeSet<&str> = cells(page, &"message").map(|(_, message)| message).collect();
    let lacking = texts.messages.iter().filter(|(message, _)| !shown.contains(message.as_str()));
    let lacking = lacking.map(|(message, at)| {
        let code = if message.contains('`') { format!("`` {message} ``") } else { format!("`{message}`") };
        let anchor = anchor("SHORT-NAME");
        format!(
            "{at}: {PAGE} lacks this message: add the row | {anchor}{code} | what it means, and what to do |"
        )
    });
    // A text may be the beginning of a message.
    let is_known = |message: &str| {
        texts.all.contains(message) || texts.all.contains(message.trim_end_matches(GAP).trim_end())
    };
    let unknown = cells(page, &"message").filter(|(_, message)| !is_known(message));
    let unknown =
        unknown.map(|(line, message)| format!("{PAGE}:{line}: nothing in the code says `{message}`"));
    lacking.chain(unknown).collect()
}

/// Rows without an anchor, anchors that lead to two places, and messages that are on the page twice.
fn misplaced(page: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut taken: BTreeSet<String> = crate::links::headings(page).into_iter().collect();
    for (line, row) in rows(page, &COLUMNS).map(|(line, _, row)| (line, row)) {
        match split_anchor(row).0 {
            None => problems.push(format!(
                "{PAGE}:{line}: this row has no anchor: begin it with {}and use small letters, digits and dashes",
                anchor("SHORT-NAME")
            )),
            Some(name) if !taken.insert(name.to_owned()) => {
                problems.push(format!("{PAGE}:{line}: the anchor `{name}` is on the page twice: choose another"));
            }
            Some(_) => {}
        }
    }
    let mut shown = BTreeSet::new();
    for (line, message) in cells(page, &"message").filter(|(_, message)| !shown.insert(*message)) {
        problems
            .push(format!("{PAGE}:{line}: `{message}` is on the page twice: keep one row for all it means"));
    }
    problems
}

fn anchor(name: &str) -> String {
    let [begin, link, end] = ANCHOR;
    format!("{begin}{name}{link}{name}{end}")
}

/// The name of a row's anchor, and the row without it.
fn split_anchor(row: &str) -> (Option<&str>, &str) {
    let name = row.strip_prefix(ANCHOR[0]).and_then(|rest| rest.split('"').next());
    let is_name = |name: &&str| {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=32).contains(&name.len()) && name.chars().all(letters)
    };
    let rest = name.filter(is_name).and_then(|name| Some((name, row.strip_prefix(&anchor(name))?)));
    rest.map_or((None, row), |(name, rest)| (Some(name), rest))
}

/// The rows of the tables that have one of these columns, with their lines and the place of the column.
fn rows<'p>(page: &'p str, columns: &'p [&str]) -> impl Iterator<Item = (usize, usize, &'p str)> {
    // The place of the column in the table that a line is in, if it is in one.
    let mut table: Option<Option<usize>> = None;
    page.lines().enumerate().filter_map(move |(nth, line)| {
        let Some(row) = line.strip_prefix("| ") else {
            // The line below the head of a table is part of it.
            table = table.filter(|_| line.starts_with('|'));
            return None;
        };
        let Some(place) = table else {
            let mut cells = row.trim_end_matches(" |").split(" | ");
            table = Some(cells.position(|cell| columns.contains(&cell)));
            return None;
        };
        Some((nth + 1, place?, row))
    })
}

/// What stands as code in a column of the tables of a page, with its line.
fn cells<'p>(page: &'p str, column: &'p &'p str) -> impl Iterator<Item = (usize, &'p str)> {
    rows(page, std::slice::from_ref(column)).filter_map(|(line, place, row)| {
        let cell = split_anchor(row).1.trim_end_matches(" |").split(" | ").nth(place)?;
        let text = match cell.strip_prefix("`` ") {
            Some(rest) => rest.strip_suffix(" ``")?,
            None => cell.strip_prefix('`')?.strip_suffix('`')?,
        };
        Some((line, text))
    })
}

/// The texts of some code. Tests in it are not read.
fn read(code: TokenStream, name: &str, texts: &mut Texts) {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let mut before = String::new();
    for (nth, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Literal(_) => texts.all.extend(text(token)),
            TokenTree::Group(group) => {
                if before.ends_with("mod tests") {
                    continue;
                }
                let is_error = group.delimiter() == Delimiter::Parenthesis && before == "error" && nth == 1;
                if is_error || MAKERS.iter().any(|maker| before.ends_with(maker)) {
                    let message = first(group.stream());
                    let is_text = |(message, _): &(String, usize)| message.contains(char::is_alphabetic);
                    if let Some((message, line)) = message.filter(is_text) {
                        texts.messages.entry(message).or_insert_with(|| format!("{name}:{line}"));
                    }
                }
                read(group.stream(), name, texts);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
        match token {
            TokenTree::Ident(word) if before == "mod" => before = format!("mod {word}"),
            TokenTree::Ident(word) if before.ends_with("::") => before += &word.to_string(),
            TokenTree::Ident(word) => before = word.to_string(),
            TokenTree::Punct(mark) if mark.as_char() == ':' => before.push(':'),
            _ => before.clear(),
        }
    }
}

/// The text that is the first argument, by itself or as a format, with its line.
fn first(arguments: TokenStream) -> Option<(String, usize)> {
    let mut tokens = arguments.into_iter();
    let token = match tokens.next()? {
        TokenTree::Ident(word) if word == "format" => match tokens.nth(1)? {
            TokenTree::Group(group) => group.stream().into_iter().next()?,
            _ => return None,
        },
        token => token,
    };
    Some((text(&token)?, token.span().start().line))
}

/// A text as the page writes it.
fn text(token: &TokenTree) -> Option<String> {
    let literal = syn::parse2::<syn::LitStr>(token.clone().into()).ok()?;
    let (mut shown, mut depth) = (String::new(), 0);
    for letter in literal.value().replace("{{", "\0").replace("}}", "\u{1}").chars() {
        match letter {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                shown.push(GAP);
            }
            '\0' => shown.push('{'),
            '\u{1}' => shown.push('}'),
            _ if depth > 0 => {}
            letter => shown.push(letter),
        }
    }
    while shown.contains("……") {
        shown = shown.replace("……", "…");
    }
    Some(shown.trim().to_owned())
}

/// The words behind one of these beginnings, up to the next quote.
fn after(code: &str, beginnings: &[&str]) -> BTreeSet<String> {
    let of = |beginning: &&str| -> Vec<String> {
        let parts = code.split(*beginning).skip(1);
        parts.filter_map(|part| part.split('"').next()).map(str::to_owned).collect()
    };
    beginnings.iter().flat_map(of).collect()
}

/// The variants of an enum, as they are written as JSON.
fn variants(code: &str, name: &str) -> BTreeSet<String> {
    let body = code.split(&format!("pub enum {name} {{\n")).nth(1).and_then(|rest| rest.split("\n}").next());
    let lines = body.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    let names = names.map(|line| line.trim_end_matches([',', ' ', '{']));
    names.map(snake).collect()
}

fn snake(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// The words that a `match` gives to the variants of an enum.
fn arms(code: &str, name: &str) -> BTreeSet<String> {
    let of = |line: &str| {
        let (_, word) = line.trim_start().strip_prefix(name)?.strip_prefix("::")?.split_once(" => \"")?;
        Some(word.trim_end_matches("\",").to_owned())
    };
    code.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r##"
        fn a() { Err(Failure::new(format!("there is no plan at {path:?}")).hint("piton new")) }
        fn b() { Refusal::hinted("it is {{done}}", "x") }
        fn c() { Refusal::stale("nobody reads this"); Failure::new(words); Failure::new("{a}: {b}") }
        #[error("{0}{1} is not a commit")]
        enum E {}
        #[cfg(test)]
        mod tests { fn d() { Failure::new("only a test") } }
    "##;

    fn texts() -> Texts {
        let mut texts = Texts::default();
        read(TokenStream::from_str(CODE).expect("code"), "a.rs", &mut texts);
        texts
    }

    #[test]
    fn messages_are_found_where_they_are_made() {
        let texts = texts();
        let found: Vec<&str> = texts.messages.keys().map(String::as_str).collect();
        assert_eq!(found, ["it is {done}", "there is no plan at …", "… is not a commit"]);
        assert_eq!(texts.messages["it is {done}"], "a.rs:3");
        assert!(texts.all.contains("nobody reads this") && !texts.all.contains("only a test"));
    }

    #[test]
    fn a_page_that_lacks_or_invents_a_message_is_noticed() {
        let page = "| message | x |\n|---|---|\n| `it is {done}` | `y` |\n| `` … is not a commit `` | z |\n";
        let problems = compare(page, &texts());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("a.rs:2: ") && problems[0].contains("there is no plan at …"));
        let more = "| `there is no plan at …` | y |\n| `nobody reads…` | y |\n| `nobody reads this…` | y |\n";
        let problems = compare(&format!("{page}{more}"), &texts());
        assert_eq!(problems, ["docs/messages.md:6: nothing in the code says `nobody reads…`"]);
    }

    #[test]
    fn each_row_has_an_anchor_of_its_own() {
        let row = |name: &str, message: &str| format!("| {}`{message}` | x |\n", anchor(name));
        let head = "## Errors\n\n| message | x |\n|---|---|\n";
        let good = format!("{head}{}{}", row("one", "a"), row("two", "b"));
        assert_eq!(misplaced(&good), Vec::<String>::new());
        assert_eq!(cells(&good, &"message").collect::<Vec<_>>(), [(5, "a"), (6, "b")]);
        let rows = [
            row("one", "c"),
            row("errors", "d"),
            "| `e` | x |\n".to_owned(),
            row("No", "f"),
            row("three", "a"),
            row("four", "g").replace("#four", "#five"),
        ];
        let problems = misplaced(&(good + &rows.concat()));
        let expected = [
            ":7: the anchor `one`",
            ":8: the anchor `errors`",
            ":9: this row has no",
            ":10: this row has no",
            ":12: this row has no",
            ":11: `a` is on the page twice",
        ];
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(misplaced("| other | x |\n|---|---|\n| `a` | x |\n"), Vec::<String>::new());
    }

    #[test]
    fn kinds_are_read_from_the_code() {
        let code = "pub enum StopReason {\n    /// Why.\n    Completed,\n    LandingWaits {\n        detail: String,\n    },\n}\n";
        assert_eq!(
            variants(code, "StopReason").into_iter().collect::<Vec<_>>(),
            ["completed", "landing_waits"]
        );
        assert_eq!(
            arms("  Kind::GivenUp => \"abandoned\",\n", "Kind").into_iter().collect::<Vec<_>>(),
            ["abandoned"]
        );
        let found =
            after("x { kind: \"a\" } Finding::warning(\"b\", f)", &["kind: \"", "Finding::warning(\""]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
