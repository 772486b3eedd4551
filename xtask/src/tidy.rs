//! House rules that no compiler knows.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// Beyond this a file usually holds two ideas.
const LONGEST: usize = 700;

/// A word, where alone it may stand, and why.
const DOORS: [(&str, &[&str], &str); 4] = [
    (
        "Command::new(",
        &[
            "crates/engine/src/git/command.rs",
            "crates/engine/src/keeper/",
            "crates/piton/src/cmd/integrate/scripted.rs",
            // Piton itself: a tool is a command.
            "crates/piton/src/cmd/integrate/mcp/tools.rs",
            "/tests/",
            "/benches/",
            "crates/testkit/",
            "/examples/",
            "xtask/",
        ],
        "programs are started by the git door and the keeper only",
    ),
    ("process::Command as", &["/tests/"], "under another name nobody sees that a program is started"),
    ("rusqlite", &["crates/engine/src/journal/", "/tests/", "/benches/"], "SQL lives in the journal only"),
    (
        "SystemTime::now()",
        &["crates/engine/src/clock.rs", "/tests/", "/benches/", "crates/testkit/"],
        "time comes through one door",
    ),
];

pub(crate) fn tidy(root: &Path) -> Result<()> {
    let mut problems = crate::sabotage::rotten(root)?;
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    for path in &files {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        if name == "xtask/src/tidy.rs" {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        let lines = text.lines().count();
        if lines > LONGEST {
            problems.push(format!("{name}: {lines} lines; beyond {LONGEST} it usually holds two ideas"));
        }
        for (number, line) in text.lines().enumerate() {
            let at = format!("{name}:{}", number + 1);
            if line.ends_with([' ', '\t']) {
                problems.push(format!("{at}: white space at the end"));
            }
            for mark in ["todo!(", "unimplemented!(", "#[ignore", "FIXME"] {
                if line.contains(mark) {
                    problems.push(format!("{at}: `{mark}` has no place here"));
                }
            }
            for (word, places, why) in DOORS {
                let code = !line.trim_start().starts_with("//");
                if code && line.contains(word) && !places.iter().any(|place| name.contains(place)) {
                    problems.push(format!("{at}: `{word}`: {why}"));
                }
            }
        }
    }
    problems.iter().for_each(|problem| println!("{problem}"));
    if problems.is_empty() { Ok(()) } else { bail!("{} untidy places", problems.len()) }
}

pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
