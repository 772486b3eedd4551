//! Names of plans, made fit for whatever becomes of them.

use crate::plan::RunId;

/// A run's id is the plan's name and a suffix, and must fit in a file name with it.
pub(in crate::system) const LONGEST_NAME: usize = 60;

/// A name made fit: what an id cannot hold becomes a dash.
pub fn name_from(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().take(LONGEST_NAME - "plan-".len()) {
        let c = if c.is_ascii_alphanumeric() || "._-#@".contains(c) { c } else { '-' };
        // Several dashes or dots in a row become one.
        if !(matches!(c, '-' | '.') && name.ends_with(['-', '.'])) {
            name.push(c);
        }
    }
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match RunId::new(name) {
        Ok(_) => name.to_owned(),
        // Empty, or reserved somewhere, such as `con` or `a.lock`.
        Err(_) => format!("plan-{name}").trim_end_matches('-').replace('.', "-"),
    }
}
