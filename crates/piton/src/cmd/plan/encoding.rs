//! `piton plan --fix-encoding`: signs that were decoded wrongly are written as they were meant.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::system::SystemRef;
use piton_core::system::kit::mojibake;
use piton_engine::disk;

use crate::failure::{Failure, Outcome};
use crate::paths::shown;
use crate::{plans, ui};

/// Put right what can be, in every file of the plan that is Markdown, XML or TOML.
pub(super) fn fix(given: &Utf8Path, wanted: Option<SystemRef>) -> Outcome {
    let (path, system) = plans::place(given, wanted)?;
    let mut any = false;
    for file in plans::parts(&path, system) {
        let is_text = matches!(file.extension(), Some("md" | "xml" | "toml"));
        if is_text {
            any |= fix_file(&file)?;
        }
    }
    if !any {
        ui::say("the plan has no wrongly decoded characters");
    }
    Ok(())
}

/// Whether anything was wrong.
fn fix_file(path: &Utf8Path) -> Outcome<bool> {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        ui::say(format!("{} is not UTF-8, so Piton leaves it as it is", shown(path)));
        return Ok(false);
    };
    let (meant, found) = mojibake::repaired(text);
    if found.is_empty() {
        return Ok(false);
    }
    let kept = keep(path, &bytes)?;
    // A link stays one; what it leads to is replaced.
    let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
    let cannot = || Failure::io(format!("cannot write {path}"));
    let displaced = disk::exchange(&real, meant.as_bytes()).map_err(cannot())?;
    if let Some(theirs) = displaced.filter(|displaced| *displaced != bytes) {
        disk::exchange(&real, &theirs).map_err(cannot())?;
        return Err(Failure::new(format!("{} changed while Piton wrote it", shown(path)))
            .hint("run the same command again"));
    }
    let signs: Vec<String> =
        found.iter().map(|((form, sign), times)| format!("{form} is {sign}, {times} times")).collect();
    let signs = signs.join("; ").replace(", 1 times", "");
    ui::say(format!("{}: {}. It was kept as {}", shown(path), ui::plain(&signs), shown(&kept)));
    Ok(true)
}

/// A copy next to the file. No existing file is overwritten.
fn keep(path: &Utf8Path, bytes: &[u8]) -> Outcome<Utf8PathBuf> {
    let mut nth = 1;
    loop {
        let number = if nth == 1 { String::new() } else { nth.to_string() };
        let kept = Utf8PathBuf::from(format!("{path}.bak{number}"));
        match disk::create_new(&kept, bytes) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => nth += 1,
            Err(error) => return Err(Failure::io(format!("cannot write {kept}"))(error)),
        }
    }
}
