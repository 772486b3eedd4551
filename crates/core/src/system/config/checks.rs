//! Commands, checks and paths, wherever a table names them.

use std::ops::Range;

use toml::de::DeValue;

use super::keys;
use super::walk::{Section, Spanned, Walk};
use crate::diagnostic::Diagnostic;
use crate::plan::{Argv, Check, Hides, READ_TO_THE_END, RepoPath, hides};
use crate::review;
use crate::terminal::misleads;
use crate::time::Span;

pub(in crate::system) const TIMEOUT: Span = Span::minutes(30);
pub(crate) const CHECK_TIMEOUT: Span = Span::minutes(5);
/// A check that may run longer than this was probably given the wrong unit.
const LONG_CHECK: Span = Span::minutes(24 * 60);

/// What to start: a line, or its words.
pub(in crate::system) fn read_command(
    walk: &mut Walk<'_>,
    what: &str,
    said: &Spanned<&DeValue<'_>>,
) -> Option<Argv> {
    let nul = |walk: &mut Walk<'_>, at| {
        walk.push(
            Diagnostic::error(at, format!("{what} holds a NUL character"))
                .label("a NUL character cannot be passed to a process"),
        );
    };
    match said.value {
        DeValue::String(_) => {
            let line = unix_lines(walk.text_of(what, said.value, &said.at)?);
            if line.contains('\0') {
                nul(walk, said.at.clone());
                return None;
            }
            if !line.contains(['\n', '#']) && shell_words::split(&line).is_err() {
                let message = format!("a quote in {what} is not closed");
                walk.push(
                    Diagnostic::warning(said.at.clone(), message).label("a shell would reject this line"),
                );
            }
            Some(Argv::parse(line.trim()))
        }
        DeValue::Array(items) => {
            let mut words = Vec::with_capacity(items.len());
            for item in items.iter() {
                match item.get_ref() {
                    DeValue::String(word) if word.contains('\0') => {
                        nul(walk, item.span());
                        return None;
                    }
                    DeValue::String(word) => words.push(word.clone().into_owned()),
                    other => {
                        walk.wrong(&format!("each word of {what}"), "text, in quotes", other, item.span());
                        return None;
                    }
                }
            }
            if words.first().is_none_or(|word| word.trim().is_empty()) {
                let message = format!("{what} does not name a program");
                walk.push(Diagnostic::error(said.at.clone(), message).label("the first word is the program"));
                return None;
            }
            Some(Argv::Words(words))
        }
        other => {
            walk.wrong(what, "a command: text, or a list of words", other, said.at.clone());
            None
        }
    }
}

/// A list of checks, or `None` where the key is absent.
pub(in crate::system) fn read_checks(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    key: &str,
) -> Option<Vec<Check>> {
    let items = section.list(walk, key)?;
    Some(items.iter().filter_map(|item| read_check(walk, key, item)).collect())
}

fn read_check(walk: &mut Walk<'_>, key: &str, item: &Spanned<&DeValue<'_>>) -> Option<Check> {
    let DeValue::Table(table) = item.value else {
        if !matches!(item.value, DeValue::String(_)) {
            let what = format!("an entry of `{key}`");
            let expected = "a command line, or a table like `{ run = \"…\", timeout = \"2m\" }`";
            walk.wrong(&what, expected, item.value, item.at.clone());
            return None;
        }
        let run = read_command(walk, &format!("an entry of `{key}`"), item)?;
        let check = Check::new(check_name(&run), run, CHECK_TIMEOUT);
        hidden_failures(&check, &item.at).into_iter().for_each(|found| walk.push(found));
        return Some(check);
    };
    let section = Section::open(walk, table, item.at.clone(), &keys::CHECK);
    check_of(walk, &section)
}

pub(in crate::system) fn check_of(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Check> {
    let name = section.line(walk, "name").map(|said| said.value.to_owned());
    let timeout = section.limit(walk, "timeout");
    if let Some(long) = timeout.as_ref().filter(|said| said.value > LONG_CHECK) {
        let message = "this check may run for more than a day";
        walk.push(Diagnostic::warning(long.at.clone(), message).label("is the unit right?"));
    }
    let cwd = read_path(walk, section, "cwd");
    let (pipefail, fresh) = (section.flag(walk, "pipefail"), section.flag(walk, "fresh") == Some(true));
    let uncached = section.flag(walk, "cache") == Some(false);
    let run = read_judge(walk, section)?;
    let name = name.unwrap_or_else(|| check_name(&run));
    let timeout = timeout.map_or_else(|| usual_timeout(&run), |said| said.value);
    let usual = Check::new(name, run, timeout);
    let check = match pipefail {
        Some(pipefail) if usual.run.shell_line().is_some() => Check { pipefail: Some(pipefail), ..usual },
        _ => usual,
    };
    if let Some(said) = section.get("fresh").filter(|_| fresh && check.reviewer().is_some()) {
        let message = "`fresh` is for commands and files, but this check is a review by an agent";
        walk.push(Diagnostic::error(said.at, message).label("remove it"));
    }
    if let Some(run) = section.get("run") {
        hidden_failures(&check, &run.at).into_iter().for_each(|found| walk.push(found));
    }
    Some(Check { cwd, fresh, uncached, ..check })
}

/// What in a check's line hides that a command has failed, as warnings at its place.
pub(crate) fn hidden_failures(check: &Check, at: &Range<usize>) -> Vec<Diagnostic> {
    let Some(line) = check.run.shell_line() else { return Vec::new() };
    let warning = |hides: Hides| {
        match hides {
        Hides::Semicolon => Some((
            "only the last command of this check has to succeed".to_owned(),
            "write `&&` in place of `;`, or begin with `set -e`",
        )),
        Hides::OrElse(words) => {
            Some((format!("this check always passes, because of `|| {words}`"), "remove that"))
        }
        Hides::EarlyReader(reader) => check.piped_line().map(|_| {
            let message = format!(
                "`{reader}` may stop reading before the command that feeds it has ended, and then the check is broken"
            );
            (message, READ_TO_THE_END)
        }),
    }
    };
    let found = hides(line).into_iter().filter_map(warning);
    found.map(|(message, label)| Diagnostic::warning(at.clone(), message).label(label)).collect()
}

/// How long a check may take if the plan does not say: an agent reads longer than a command runs.
pub(in crate::system) fn usual_timeout(run: &Argv) -> Span {
    if let Argv::Review { .. } = run { TIMEOUT } else { CHECK_TIMEOUT }
}

/// What a check does: it runs a command, looks into a file, or has an agent review the work.
fn read_judge(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Argv> {
    let holds = section.texts(walk, "holds");
    let ask = section.text(walk, "ask");
    if let Some(review) = section.line(walk, "review") {
        for other in ["run", "file", "holds"].into_iter().filter_map(|key| section.get(key)) {
            let message = "a review by an agent cannot also run a command or look into a file";
            walk.push(Diagnostic::error(other.at, message).label("split it into two checks"));
        }
        let ask = ask.map_or(review::WHOLE, |said| said.value).trim().to_owned();
        return Some(Argv::Review { agent: review.value.to_owned(), ask });
    }
    if let Some(ask) = ask {
        let message = "`ask` is what an agent reviews, but there is no `review`";
        walk.push(Diagnostic::error(ask.at, message).label("add `review = \"AGENT\"`"));
    }
    match (section.get("run"), section.get("file")) {
        (run, None) => {
            if let Some(first) = holds.first() {
                let message = "`holds` is what a file must contain, but there is no `file`";
                walk.push(Diagnostic::error(first.at.clone(), message).label("add `file = \"…\"`"));
            }
            section.require(walk, "run", "\"cargo test\"");
            read_command(walk, "`run`", &run?)
        }
        (Some(run), Some(_)) => {
            let message = "a check either runs a command or looks into a file";
            walk.push(Diagnostic::error(run.at, message).label("split it into two checks"));
            None
        }
        (None, Some(_)) => {
            let file = read_path(walk, section, "file")?;
            Some(Argv::Look { file, holds: holds.iter().map(|said| said.value.to_owned()).collect() })
        }
    }
}

/// A check without a name is called by its command, on one line that may be a name.
pub(crate) fn check_name(run: &Argv) -> String {
    let plain = |line: &str| line.chars().map(|c| if misleads(c) { ' ' } else { c }).collect::<String>();
    let names = run.to_string().lines().map(|line| plain(line).trim().to_owned()).collect::<Vec<_>>();
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "check".to_owned())
}

/// Paths inside the project. Other values are reported and left out.
pub(in crate::system) fn read_paths(
    walk: &mut Walk<'_>,
    section: &Section<'_>,
    key: &str,
) -> Vec<Spanned<RepoPath>> {
    let said = section.texts(walk, key);
    said.into_iter().filter_map(|said| path_of(walk, said, key)).collect()
}

/// One of them.
fn read_path(walk: &mut Walk<'_>, section: &Section<'_>, key: &str) -> Option<RepoPath> {
    let said = section.text(walk, key)?;
    path_of(walk, said, key).map(|said| said.value)
}

fn path_of(walk: &mut Walk<'_>, said: Spanned<&str>, key: &str) -> Option<Spanned<RepoPath>> {
    match RepoPath::new(said.value) {
        Ok(path) => Some(Spanned { value: path, at: said.at }),
        Err(reason) => {
            let message = format!("{:?} cannot be a path in `{key}`: {reason}", said.value);
            let label = "write it from the top of the project, like `src/a.rs`";
            walk.push(Diagnostic::error(said.at, message).label(label));
            None
        }
    }
}

/// Lines end in `\n` whatever the editor wrote: a checkout on Windows is the same plan.
pub(in crate::system) fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
