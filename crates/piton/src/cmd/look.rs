//! `piton look`: a check on a file, a folder or what a pattern matches, without a shell.

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;

use super::{Exit, FINE};
use crate::failure::{ERROR, Failure, Outcome};
use crate::ui;

pub(crate) fn look(file: &Utf8Path, holds: &[String]) -> Outcome<Exit> {
    let wrong = |what: String| {
        ui::answer_line(what);
        Ok(ERROR)
    };
    if !file.exists() && file.as_str().contains(['*', '?']) {
        return if matched(file)? {
            Ok(FINE)
        } else {
            wrong(format!("nothing that is not empty matches {file}"))
        };
    }
    if file.is_dir() {
        let holds_something = holds_work(file);
        return if holds_something { Ok(FINE) } else { wrong(format!("the folder {file} holds nothing")) };
    }
    let text = match std::fs::read(file) {
        Err(error) => return wrong(format!("{file}: {error}")),
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    if text.trim().is_empty() {
        return wrong(format!("{file} is empty"));
    }
    let missing: Vec<&String> = holds.iter().filter(|wanted| !text.contains(wanted.as_str())).collect();
    match missing[..] {
        [] => Ok(FINE),
        _ => wrong(
            missing
                .iter()
                .map(|what| format!("{file} does not hold `{what}`"))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    }
}

/// Whether a file that is not empty matches the pattern. Brackets are part of names, as in `app/[id]/page.tsx`.
fn matched(pattern: &Utf8Path) -> Outcome<bool> {
    let escaped = pattern.as_str().replace('[', "[[]");
    let glob = GlobBuilder::new(&escaped).literal_separator(true).build();
    let glob = glob.map_err(|error| Failure::new(format!("{pattern} is no pattern: {error}")))?;
    let matcher = glob.compile_matcher();
    let plain: Utf8PathBuf =
        pattern.components().take_while(|part| !part.as_str().contains(['*', '?'])).collect();
    let start = if plain.as_str().is_empty() { Utf8Path::new(".") } else { &plain };
    Ok(any_file(start, &mut |path| {
        let path = path.strip_prefix("./").unwrap_or(path);
        matcher.is_match(path) && path.metadata().is_ok_and(|data| data.len() > 0)
    }))
}

/// Whether a folder holds a file that is not empty, at any depth.
fn holds_work(folder: &Utf8Path) -> bool {
    any_file(folder, &mut |path| path.metadata().is_ok_and(|data| data.len() > 0))
}

/// Whether one of the files below a folder is such. Links are not followed, and git's own files are not looked at.
fn any_file(folder: &Utf8Path, is_such: &mut dyn FnMut(&Utf8Path) -> bool) -> bool {
    let Ok(entries) = folder.read_dir_utf8() else { return false };
    entries.filter_map(Result::ok).any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => entry.file_name() != ".git" && any_file(entry.path(), is_such),
        Ok(kind) if kind.is_file() => is_such(entry.path()),
        _ => false,
    })
}
