//! `piton look`: a check on a file, without a shell.

use camino::Utf8Path;

use super::{Exit, FINE};
use crate::failure::{ERROR, Outcome};
use crate::ui;

pub(crate) fn look(file: &Utf8Path, holds: &[String]) -> Outcome<Exit> {
    let wrong = |what: String| {
        ui::answer_line(what);
        Ok(ERROR)
    };
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
