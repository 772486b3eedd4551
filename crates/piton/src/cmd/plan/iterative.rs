//! The folder of the iterative system: how it begins.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::iterative::guardrails;
use piton_core::dialect::iterative::plan::starter;
use piton_core::dialect::text;
use piton_core::plan::Domain;
use piton_core::view::counted;
use piton_engine::clock;

use super::write;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::find::here;
use crate::ui;

/// Where folders of this system are kept, from the root of a project.
const ITERATIVE: &str = ".claude/iterative";
/// What lies there and is no plan: those that are finished.
const ARCHIVE: &str = "archive";

pub(super) fn new(slug: &str, domain: Domain, force: bool) -> Outcome<Exit> {
    let files = starter(slug, domain, clock::now())
        .map_err(|bad| Failure::usage(format!("{slug:?} cannot be the name of a folder: {bad}")))?;
    if slug.eq_ignore_ascii_case(ARCHIVE) {
        return Err(Failure::usage(format!("`{ARCHIVE}` is where finished folders go: choose another name")));
    }
    let here = here()?;
    let is_top = |above: &&Utf8Path| above.join(".git").exists() || above.join(ITERATIVE).is_dir();
    let place = here.ancestors().find(is_top).unwrap_or(&here).join(ITERATIVE);
    let folder = Utf8PathBuf::from(crate::find::shown(&place.join(slug)));
    let is_used = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !force {
        let failure = Failure::new(format!("{folder} exists already"));
        return Err(failure
            .hint(format!("piton archive {slug}   puts it away, once it is finished"))
            .hint(format!("piton new iterative {slug} --force   writes over its brief, list and context")));
    }
    for (file, text) in files {
        write(&folder.join(file), &text)?;
    }
    ui::say(format!("wrote {folder}"));
    let learned = seed(&folder.join(guardrails::FILE), &place.join(ARCHIVE))?;
    if learned > 0 {
        ui::say(format!("{} from the archive", counted(learned, "guardrail")));
    }
    ui::hint(format!("edit its brief and its list, then: piton plan {folder}"));
    Ok(FINE)
}

/// Put what was learned in finished work into a file that does not have it yet. What was learned last counts.
fn seed(file: &Utf8Path, archive: &Utf8Path) -> Outcome<u64> {
    let words = |path: &Utf8Path| std::fs::read(path).ok().map(|bytes| text::decode(&bytes, false).text);
    let entries = archive.read_dir_utf8().into_iter().flatten().flatten();
    let mut folders: Vec<Utf8PathBuf> = entries.map(|entry| entry.path().to_owned()).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(put_away(folder)));
    let before = words(file);
    let mut now = before.clone();
    for folder in folders {
        let archived = words(&folder.join(guardrails::FILE)).unwrap_or_default();
        if let Some(more) = guardrails::seed(now.as_deref(), &archived) {
            now = Some(now.unwrap_or_default() + &more);
        }
    }
    match now.filter(|now| Some(now) != before.as_ref()) {
        Some(text) => {
            write(file, &text)?;
            let learned = guardrails::added(before.as_deref().unwrap_or_default(), &text);
            Ok(learned.len() as u64)
        }
        None => Ok(0),
    }
}

/// The day in the name of an archived folder, and the number behind it, for comparing.
fn put_away(folder: &Utf8Path) -> (String, u32) {
    let name = folder.file_name().unwrap_or_default();
    let is_day = |part: &&str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    let day = parts.iter().rposition(|part| is_day(&part));
    let number = day.and_then(|nth| parts.get(nth + 1)?.parse().ok()).unwrap_or(1);
    (day.map_or_else(String::new, |nth| parts[nth].to_owned()), number)
}
