//! What the CI of a project runs, read from its YAML as far as it is plain: a `run:` of GitHub, a `script:` of GitLab. Lines
//! that a shell would have to understand are left out, and so is whatever runs elsewhere or may fail.

use super::known;
use crate::plan::{Argv, Check};
use crate::system::config::{CHECK_TIMEOUT, check_name};
use crate::terminal::misleads;
use crate::toolchain::{About, Detected};

/// No CI file is larger that a person wrote.
const LARGEST: usize = 1 << 20;
/// Checks of one kind that CI may add. A matrix has many, and each of them costs time at every landing.
const MOST_OF_A_KIND: usize = 2;

/// A command that CI runs, and what it judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub about: About,
    pub words: Vec<String>,
    pub line: String,
    pub file: String,
}

impl Ran {
    /// Whether CI runs a check: the same command, perhaps with more options.
    pub fn speaks_for(&self, check: &Check) -> bool {
        let Argv::Words(words) = &check.run else { return false };
        self.words.starts_with(words)
    }
}

/// Whether a path is that of a CI file.
pub fn is_ci(path: &str) -> bool {
    let workflow = path
        .strip_prefix(".github/workflows/")
        .is_some_and(|name| !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml")));
    workflow || is_gitlab(path)
}

fn is_gitlab(path: &str) -> bool {
    path == ".gitlab-ci.yml" || path == ".gitlab-ci.yaml"
}

/// The commands that a CI file runs and that Piton knows.
pub fn ran(file: &str, text: &str) -> Vec<Ran> {
    if text.len() > LARGEST {
        return Vec::new();
    }
    let rows = rows(text);
    let lines = if is_gitlab(file) { scripts(&rows) } else { steps(&rows) };
    let mut all: Vec<Ran> = Vec::new();
    for line in lines {
        let Some(words) = plain(&line) else { continue };
        let Some(about) = known::about(&words) else { continue };
        if !all.iter().any(|ran| ran.words == words) {
            all.push(Ran { about, words, line: line.trim().to_owned(), file: file.to_owned() });
        }
    }
    all
}

/// What CI runs and no file of the project speaks for, as checks. Builds count only where nothing else is known.
pub(super) fn beyond(known: &[Detected], all: &[Ran]) -> Vec<Detected> {
    let mut found: Vec<Detected> = Vec::new();
    let is_known = |about: About| known.iter().any(|check| check.about == about);
    let has_tests = is_known(About::Test) || all.iter().any(|ran| ran.about == About::Test);
    for ran in all {
        let is_new = !is_known(ran.about) && (ran.about != About::Build || !has_tests);
        let of_kind = found.iter().filter(|check| check.about == ran.about).count();
        let run = Argv::parse(&ran.line);
        let is_there = found.iter().any(|check| check.check.run == run);
        if is_new && !is_there && of_kind < MOST_OF_A_KIND {
            let check = Check::new(check_name(&run), run, CHECK_TIMEOUT);
            found.push(Detected { about: ran.about, check, from: ran.file.clone() });
        }
    }
    found
}

/// The words of a command that no shell has to read.
fn plain(line: &str) -> Option<Vec<String>> {
    const NEEDS_SHELL: &str = "|&;<>$`(){}*?~#\\\n";
    let line = line.trim();
    let is_odd = |c: char| NEEDS_SHELL.contains(c) || misleads(c);
    if line.is_empty() || line.chars().any(is_odd) {
        return None;
    }
    let words = shell_words::split(line).ok()?;
    // An assignment before a program changes what it does.
    let is_program = words.first().is_some_and(|word| !word.is_empty() && !word.contains('='));
    is_program.then_some(words)
}

/// A line of YAML, as far as it matters here.
#[derive(Debug)]
struct Row<'t> {
    /// Columns before the key, behind the dashes of an item.
    indent: usize,
    /// Columns before the first dash.
    dash: Option<usize>,
    key: Option<&'t str>,
    /// What stands behind the key, or all of an item without one.
    value: &'t str,
    /// The lines of a text block that begins here.
    block: Vec<&'t str>,
    is_folded: bool,
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(mut row) = row(line) else { continue };
        let head = row.value.trim_end();
        let is_block =
            head.starts_with(['|', '>']) && head[1..].chars().all(|c| c.is_ascii_digit() || "+-".contains(c));
        if is_block {
            row.is_folded = head.starts_with('>');
            let least = row.dash.filter(|_| row.key.is_none()).unwrap_or(row.indent);
            while let Some(next) = lines.next_if(|next| next.trim().is_empty() || columns(next) > least) {
                row.block.push(next.trim());
            }
        }
        rows.push(row);
    }
    rows
}

fn columns(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut indent = columns(line);
    let mut rest = &line[indent..];
    let mut dash = None;
    while let Some(behind) =
        rest.strip_prefix('-').filter(|behind| behind.is_empty() || behind.starts_with(' '))
    {
        dash = dash.or(Some(indent));
        let trimmed = behind.trim_start_matches(' ');
        indent += rest.len() - trimmed.len();
        rest = trimmed;
    }
    if (rest.is_empty() && dash.is_none()) || rest.starts_with('#') {
        return None;
    }
    let keyed = rest.split_once(':').filter(|(key, value)| {
        !key.is_empty()
            && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            && (value.is_empty() || value.starts_with(' '))
    });
    let (key, value) = keyed.map_or((None, rest), |(key, value)| (Some(key), value.trim()));
    Some(Row { indent, dash, key, value, block: Vec::new(), is_folded: false })
}

impl Row<'_> {
    fn has_key(&self, key: &str) -> bool {
        self.key == Some(key)
    }

    /// The commands in its value.
    fn commands(&self) -> Vec<String> {
        if self.block.is_empty() {
            return scalar(self.value).into_iter().collect();
        }
        match self.is_folded {
            true => vec![self.block.join(" ")],
            // A line that goes on in the next one ends in a backslash, and neither is plain.
            false => {
                let mut goes_on = false;
                let mut lines = Vec::new();
                for line in &self.block {
                    let is_part = std::mem::replace(&mut goes_on, line.ends_with('\\'));
                    if !is_part && !goes_on {
                        lines.push((*line).to_owned());
                    }
                }
                lines
            }
        }
    }
}

/// A text on one line, without its quotes and without a comment behind it.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    for quote in ['\'', '"'] {
        if let Some(inner) = value.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote)?;
            return (!inner.contains(quote) && !inner.contains('\\')).then(|| inner.to_owned());
        }
    }
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
    let is_plain = !value.is_empty() && !value.starts_with(['[', '{', '&', '*', '!', '|', '>', '%', '@']);
    is_plain.then(|| value.to_owned())
}

/// Whether a key of a step says that its command runs in another folder, or may fail.
fn is_elsewhere(row: &Row<'_>) -> bool {
    row.has_key("working-directory") || (row.has_key("continue-on-error") && row.value != "false")
}

/// The commands of the steps of a workflow.
fn steps(rows: &[Row<'_>]) -> Vec<String> {
    // A folder for all steps stands below `defaults`, and is not looked for job by job.
    let has_defaults = rows.iter().any(|row| row.has_key("defaults"));
    if has_defaults && rows.iter().any(|row| row.has_key("working-directory")) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (nth, row) in rows.iter().enumerate().filter(|(_, row)| row.has_key("run")) {
        if !siblings(rows, nth).any(is_elsewhere) {
            lines.extend(row.commands());
        }
    }
    lines
}

/// The keys beside a row, in the same item of a list.
fn siblings<'r, 't>(rows: &'r [Row<'t>], nth: usize) -> impl Iterator<Item = &'r Row<'t>> {
    let indent = rows[nth].indent;
    let begins = |row: &Row<'_>| row.indent == indent && row.dash.is_some();
    let first = (0..=nth).rev().find(|at| begins(&rows[*at]) || rows[*at].indent < indent).unwrap_or(0);
    let after = rows[nth + 1..].iter().position(|row| begins(row) || row.indent < indent);
    let end = after.map_or(rows.len(), |after| nth + 1 + after);
    rows[first..end].iter().filter(move |row| row.indent == indent)
}

/// The commands of the jobs of a pipeline.
fn scripts(rows: &[Row<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (nth, row) in rows.iter().enumerate().filter(|(_, row)| row.has_key("script")) {
        if siblings(rows, nth).any(|row| row.has_key("allow_failure") && row.value != "false") {
            continue;
        }
        lines.extend(row.commands());
        let items =
            rows[nth + 1..].iter().take_while(|item| item.dash.is_some_and(|dash| dash >= row.indent));
        let mut moved = false;
        for item in items.filter(|item| item.key.is_none()) {
            let commands = item.commands();
            // From here on, all runs in another folder.
            moved |= commands.iter().any(|line| line.starts_with("cd "));
            if !moved {
                lines.extend(commands);
            }
        }
    }
    lines
}
