//! Files that a task's words name. They order work and forecast conflicts; they fence nothing, so a path that was missed
//! does no harm.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::kit::problems::cut;

/// Endings of files that have no folder in their name.
const ENDINGS: [&str; 45] = [
    "bash", "c", "cc", "cpp", "cs", "css", "csv", "dart", "ex", "exs", "go", "gradle", "graphql", "h", "hpp",
    "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "php", "prisma", "proto",
    "py", "rb", "rs", "scss", "sh", "sql", "svelte", "svg", "swift", "tf", "toml", "ts", "tsx", "vue",
    "yaml", "yml",
];
/// Files whose names have no ending.
const BARE: [&str; 6] = ["Dockerfile", "Makefile", "Justfile", "Gemfile", "Procfile", "LICENSE"];
/// Where absolute paths of somebody's machine begin. Others are routes of a web server.
const MACHINES: [&str; 9] = ["home", "users", "root", "var", "tmp", "opt", "mnt", "workspaces", "private"];
/// More of one task are not a hint.
const MOST: usize = 40;

/// The files that a text names: those in backticks, or, if there are none, words with a folder and an ending. `at` is
/// where the text stands in its file. Absolute paths of a machine are left out with a warning.
pub(in crate::system) fn paths_of(text: &str, at: usize, problems: &mut Vec<Diagnostic>) -> Vec<String> {
    let quoted = quoted(text);
    let marked: Vec<(String, usize)> = quoted
        .iter()
        .filter_map(|part| path_of(&text[part.clone()], true).map(|path| (path, part.start)))
        .collect();
    let found = if marked.is_empty() { bare(text, &quoted) } else { marked };
    let mut paths = Vec::new();
    for (path, start) in found {
        if path.starts_with('/') || path.get(1..3).is_some_and(|colon| colon == ":/") {
            let folder = path.trim_start_matches('/').split('/').next().unwrap_or_default().to_lowercase();
            if MACHINES.contains(&folder.as_str()) || !path.starts_with('/') {
                let place = at + start..at + start + 1;
                let message = format!("`{}` is a path of one machine", cut(&path));
                let told =
                    Diagnostic::warning(place, message).label("not used: write it from the project's root");
                problems.push(told);
            }
        } else if !paths.contains(&path) && paths.len() < MOST {
            paths.push(path);
        }
    }
    paths
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<Range<usize>> {
    let ticks: Vec<usize> = text.match_indices('`').map(|(at, _)| at).collect();
    ticks.chunks_exact(2).map(|pair| pair[0] + 1..pair[1]).filter(|part| !part.is_empty()).collect()
}

/// Words outside of backticks that look like files.
fn bare(text: &str, quoted: &[Range<usize>]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        if !quoted.iter().any(|part| part.contains(&start)) {
            found.extend(path_of(word, false).map(|path| (path, start)));
        }
    }
    found
}

/// A path as the project has it, if a word is one.
fn path_of(word: &str, is_quoted: bool) -> Option<String> {
    let mut word = word.trim();
    for note in [" (new)", " (NEW)", " (DELETE)", " (delete)", "(new)", "(DELETE)"] {
        word = word.strip_suffix(note).unwrap_or(word).trim_end();
    }
    if !is_quoted {
        word = unwrapped(word);
    }
    word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '"', '\'']).trim_start_matches(['"', '\'']);
    word = word.split_once('#').map_or(word, |(path, _)| path);
    word = without_lines(word);
    let word = word.strip_prefix("./").unwrap_or(word);
    let foreign = |c: char| c.is_whitespace() || c.is_control() || "*?<>|\\\"'`=,;{}$!".contains(c);
    if word.is_empty() || word.contains(foreign) || word.contains("://") || word.contains("..") {
        return None;
    }
    if word.starts_with(['-', '~', '@']) && !word.contains('/') || word.starts_with('~') {
        return None;
    }
    let (folder, name) = word.rsplit_once('/').map_or(("", word), |(folder, name)| (folder, name));
    let has_folder = word.contains('/');
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    let is_ending =
        (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_number = ending.bytes().all(|byte| byte.is_ascii_digit());
    let is_call = name.contains('(') || folder.contains("()");
    let is_file = if has_folder {
        is_ending && !is_number && !folder.starts_with("www.") || BARE.contains(&name)
    } else {
        is_quoted && (ENDINGS.contains(&ending) && name.len() > ending.len() + 1 || BARE.contains(&name))
    };
    (is_file && !is_call).then(|| word.to_owned())
}

/// Without brackets around it, which a path may have inside: `(see src/[id]/page.tsx)`.
fn unwrapped(word: &str) -> &str {
    let word = word.trim_start_matches(['*', '_']).trim_end_matches(['*', '.', ',', ';', ':']);
    let open =
        word.strip_prefix('(').filter(|rest| !rest.split('/').next().is_some_and(|part| part.contains(')')));
    let word = open.unwrap_or(word);
    let closes = word.matches(')').count() > word.matches('(').count();
    word.strip_suffix(')').filter(|_| closes).unwrap_or(word)
}

/// Without `:12` and `:12-40` behind it.
fn without_lines(word: &str) -> &str {
    let Some((path, lines)) = word.rsplit_once(':') else { return word };
    let is_lines = !lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_lines { without_lines(path) } else { word }
}
