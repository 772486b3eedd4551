//! `piton look`: a check on a file, a folder or what a pattern matches, without a shell.

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;

use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::ui;

pub(crate) fn look(file: &Utf8Path, holds: &[String]) -> Outcome<Exit> {
    let wrong = |what: String| {
        ui::answer_line(what);
        Ok(ERROR)
    };
    let (is_pattern, is_folder) = (!file.exists() && file.as_str().contains(['*', '?']), file.is_dir());
    if is_pattern || is_folder {
        let mut seen = Seen::new(holds);
        if is_pattern {
            seen.look_at_matching(file)?;
        } else {
            seen.look_below(file);
        }
        return match (seen.any, &seen.missing[..]) {
            (false, _) if is_pattern => wrong(format!("no file that matches {file} has any content")),
            (false, _) => wrong(format!("the folder {file} is empty")),
            (true, []) => Ok(FINE),
            (true, missing) => wrong(lines(missing, |what| format!("no file of {file} names `{what}`"))),
        };
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
        _ => wrong(lines(&missing, |what| format!("{file} does not contain `{what}`"))),
    }
}

fn lines<T>(missing: &[T], line: impl Fn(&T) -> String) -> String {
    missing.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What was found in several files.
struct Seen<'a> {
    /// One that is not empty.
    any: bool,
    /// What none of them names so far, in its name or its text and in whatever case.
    missing: Vec<&'a String>,
}

/// Larger files are not hand-written text.
const LARGEST: u64 = 4 << 20;

impl<'a> Seen<'a> {
    fn new(holds: &'a [String]) -> Seen<'a> {
        Seen { any: false, missing: holds.iter().collect() }
    }

    /// All that a pattern matches. Brackets are part of names, as in `app/[id]/page.tsx`.
    fn look_at_matching(&mut self, pattern: &Utf8Path) -> Outcome {
        let escaped = pattern.as_str().replace('[', "[[]");
        let glob = GlobBuilder::new(&escaped).literal_separator(true).build();
        let glob = glob.map_err(|error| Failure::new(format!("{pattern} is not a pattern: {error}")))?;
        let matcher = glob.compile_matcher();
        let plain: Utf8PathBuf =
            pattern.components().take_while(|part| !part.as_str().contains(['*', '?'])).collect();
        let start = if plain.as_str().is_empty() { Utf8Path::new(".") } else { &plain };
        any_file(start, &mut |path| {
            let path = path.strip_prefix("./").unwrap_or(path);
            matcher.is_match(path) && self.look_at(path)
        });
        Ok(())
    }

    /// All files of a folder, at any depth.
    fn look_below(&mut self, folder: &Utf8Path) {
        any_file(folder, &mut |path| self.look_at(path));
    }

    /// Whether nothing more has to be found.
    fn look_at(&mut self, path: &Utf8Path) -> bool {
        let size = path.metadata().map_or(0, |data| data.len());
        if size > LARGEST {
            self.any = true;
        } else if size > 0 {
            let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).to_lowercase());
            let text = text.unwrap_or_default();
            self.any |= !text.trim().is_empty();
            let name = path.as_str().to_lowercase();
            let is_named = |wanted: &String| text.contains(wanted) || name.contains(wanted);
            self.missing.retain(|wanted| !is_named(&wanted.to_lowercase()));
        }
        self.any && self.missing.is_empty()
    }
}

/// Whether one of the files below a folder is such. Links are not followed; git's own files and what was installed are not
/// looked at.
fn any_file(folder: &Utf8Path, is_such: &mut dyn FnMut(&Utf8Path) -> bool) -> bool {
    let Ok(entries) = folder.read_dir_utf8() else { return false };
    entries.filter_map(Result::ok).any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => {
            ![".git", "node_modules"].contains(&entry.file_name()) && any_file(entry.path(), is_such)
        }
        Ok(kind) if kind.is_file() => is_such(entry.path()),
        _ => false,
    })
}
