//! House rules that no compiler knows.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// Beyond this a file usually holds two ideas.
const LONGEST: usize = 700;

/// Where programs may be started.
const STARTERS: &[&str] = &[
    "crates/engine/src/git/command.rs",
    "crates/engine/src/git/resident.rs",
    "crates/engine/src/keeper/",
    // `gh` and `glab`.
    "crates/engine/src/host/",
    "crates/piton/src/cmd/integrate/scripted.rs",
    // Piton itself.
    "crates/piton/src/own_command.rs",
    // The editor of the person.
    "crates/piton/src/cmd/steer/review_edit.rs",
    // Piton itself: a run in the background.
    "crates/piton/src/cmd/run/detach.rs",
    // Piton itself: what outlives its engine.
    "crates/piton/src/notify/watchdog.rs",
    "/tests/",
    "/benches/",
    "crates/testkit/",
    "/examples/",
    "xtask/",
];

/// A word, the only files it may be in, and why.
const DOORS: [(&str, &[&str], &str); 5] = [
    ("Command::new(", STARTERS, "programs are started by the git door and the keeper only"),
    ("std::process", STARTERS, "programs are started by the git door and the keeper only"),
    ("rusqlite", &["crates/engine/src/journal/", "/tests/", "/benches/"], "SQL lives in the journal only"),
    (
        "tokio_postgres",
        &["crates/engine/src/journal/store/postgres/", "crates/engine/src/journal/store/mod.rs", "/benches/"],
        "SQL lives in the journal only",
    ),
    (
        "SystemTime::now()",
        &["crates/engine/src/clock.rs", "/tests/", "/benches/", "crates/testkit/"],
        "time comes through one door",
    ),
];

/// The rooms of the systems in `crates/core/src/system`. None knows another; the rules and the engine ask the table.
const ROOMS: [&str; 15] = [
    "native",
    "execute",
    "issue",
    "rwkit",
    "iterative",
    "speckit",
    "openspec",
    "kiro",
    "taskmaster",
    "ralph",
    "gsd",
    "bmad",
    "backlog",
    "todo",
    "tracker",
];

/// The same as variants.
const VARIANTS: [&str; 6] = ["Native", "Execute", "Issue", "Rwkit", "Iterative", "Added"];

/// Files that implement commands of a single system.
const OF_ONE_SYSTEM: [&str; 2] = [
    "crates/piton/src/cmd/system/",
    // A run for tests.
    "crates/core/src/chronicle/bench.rs",
];

/// Which wall around the systems a line of code breaks.
fn broken_wall(name: &str, line: &str) -> Option<String> {
    let rooms_named = || {
        let (_, path) = line.split_once("system::").or_else(|| line.split_once("super::"))?;
        let mut words =
            path.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let is_list = path.starts_with('{');
        let first = words.next()?;
        let named = std::iter::once(first).chain(words.take_while(|_| is_list));
        Some(named.filter(|word| ROOMS.contains(word)).collect::<Vec<_>>())
    };
    if let Some(inside) = name.strip_prefix("crates/core/src/system/") {
        let own =
            inside.split('/').next().filter(|room| ROOMS.contains(room) && !inside.contains("tests"))?;
        let is_import = line.trim_start().starts_with("use ") || line.trim_start().starts_with("pub use ");
        let of_tests = line.contains("native::testing");
        let other = rooms_named()?.into_iter().find(|room| *room != own && is_import && !of_tests)?;
        return Some(format!("`{own}` does not know `{other}`: what both need is in `kit`"));
    }
    let walled = ["crates/core/src/", "crates/engine/src/", "crates/piton/src/"];
    let is_walled = walled.iter().any(|room| name.starts_with(room));
    if !is_walled || OF_ONE_SYSTEM.iter().any(|place| name.starts_with(place)) {
        return None;
    }
    let named = !line.contains("native::testing")
        && line.contains("system::")
        && rooms_named().is_some_and(|rooms| !rooms.is_empty());
    let is_one = |rest: &str| VARIANTS.iter().any(|variant| rest.starts_with(variant));
    let variant = line.split("Form::").skip(1).any(is_one);
    (named || variant).then(|| "only `system` names a system: ask its policy, or its row".to_owned())
}

/// Where clients are, each with its row.
const CLIENTS: &str = "crates/core/src/client/";

/// Places that know clients: tests, and the models that answer them there.
const KNOW_CLIENTS: [&str; 5] = ["/tests/", "/tests.rs", "/benches/", "crates/testkit/", "xtask/"];

/// A client, as its row and as its name.
struct Client {
    row: String,
    name: String,
}

/// The clients whose rows are in the texts of their folder. `command` is not one of them.
fn clients<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Client> {
    let read = |text: &str| {
        let (_, row) = text.split_once("impl Client for ")?;
        let (_, name) = row.split_once("fn name(&self) -> &'static str {")?;
        let (row, name) = (row.split(' ').next()?.to_owned(), name.split('"').nth(1)?.to_owned());
        Some(Client { row, name }).filter(|client| client.name != "command")
    };
    texts.filter_map(read).collect()
}

/// The client that a line of code names.
fn named_client<'c>(clients: &'c [Client], name: &str, line: &str) -> Option<&'c Client> {
    if name.starts_with(CLIENTS) || KNOW_CLIENTS.iter().any(|place| name.contains(place)) {
        return None;
    }
    let (outside, texts): (Vec<_>, Vec<_>) =
        line.split('"').enumerate().partition(|(number, _)| number % 2 == 0);
    let words =
        || outside.iter().flat_map(|(_, code)| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    clients.iter().find(|client| {
        words().any(|word| word == client.row) || texts.iter().any(|(_, text)| *text == client.name)
    })
}

pub(crate) fn tidy(root: &Path) -> Result<()> {
    let mut problems = crate::sabotage::rotten(root)?;
    problems.extend(crate::circles::circles(root)?);
    problems.extend(crate::links::broken(root)?);
    problems.extend(crate::messages::problems(root)?);
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    let of_clients = files.iter().filter(|path| path.starts_with(root.join(CLIENTS)));
    let of_clients = of_clients.map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let clients = clients(of_clients.iter().map(String::as_str));
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
        let code = crate::circles::code(&text);
        for (number, line) in code.lines().enumerate() {
            if let Some(Client { name: client, .. }) = named_client(&clients, &name, line) {
                let at = format!("{name}:{}", number + 1);
                problems.push(format!("{at}: only `client` names `{client}`: ask its facts, or its row"));
            }
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
            let code = !line.trim_start().starts_with("//");
            if let Some(why) = broken_wall(&name, line).filter(|_| code) {
                problems.push(format!("{at}: {why}"));
            }
            let bare = without_harmless(line);
            for (word, places, why) in DOORS {
                if code && bare.contains(word) && !places.iter().any(|place| name.contains(place)) {
                    problems.push(format!("{at}: `{word}`: {why}"));
                }
            }
        }
    }
    problems.iter().for_each(|problem| println!("{problem}"));
    if problems.is_empty() { Ok(()) } else { bail!("{} untidy places", problems.len()) }
}

/// What of `std::process` is about our own process.
fn without_harmless(line: &str) -> String {
    let own = ["std::process::id", "std::process::abort", "std::process::ExitCode"];
    own.iter().fold(line.to_owned(), |line, own| line.replace(own, ""))
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

#[cfg(test)]
mod tests {
    use super::{broken_wall, clients, named_client};

    #[test]
    fn clients_are_named_in_their_own_folder_only() {
        let row = |row, name| {
            format!(
                "impl Client for {row} {{\n    fn name(&self) -> &'static str {{\n        \"{name}\"\n    }}\n}}\n"
            )
        };
        let texts = [row("Command", "command"), row("Claude", "claude"), "no row".to_owned()];
        let clients = clients(texts.iter().map(String::as_str));
        let named = |file, line| named_client(&clients, file, line).map(|client| client.name.as_str());
        let engine = "crates/engine/src/agent/login.rs";
        assert_eq!(named(engine, "if agent.adapter == Adapter::Claude {"), Some("claude"));
        assert_eq!(named(engine, "let name = \"claude\";"), Some("claude"));
        assert_eq!(named(engine, "let plans = \".claude/plans\"; say(\"Claude asks\");"), None);
        assert_eq!(named(engine, "let key = \"command\";"), None);
        assert_eq!(named("crates/core/src/client/claude.rs", "struct Claude;"), None);
        assert_eq!(named("crates/piton/tests/it/init.rs", "\"claude\""), None);
    }

    #[test]
    fn rooms_do_not_know_each_other_and_the_rules_know_none() {
        let room = "crates/core/src/system/issue/plan/read.rs";
        assert!(broken_wall(room, "use crate::system::execute::plan::removes_git;").is_some());
        assert!(broken_wall(room, "use crate::system::{Folder, native};").is_some());
        assert!(broken_wall(room, "use crate::system::issue::plan::VALIDATION;").is_none());
        assert!(broken_wall(room, "use crate::system::kit::outline::Word;").is_none());
        assert!(broken_wall("crates/core/src/run/schedule.rs", "if form == Form::Execute {").is_some());
        assert!(broken_wall("crates/engine/src/drive/work.rs", "use piton_core::system::rwkit;").is_some());
        assert!(broken_wall("crates/piton/src/runs/begin.rs", "use piton_core::system::rwkit;").is_some());
        assert!(
            broken_wall("crates/engine/src/drive/work.rs", "use piton_core::system::state_files::Place;")
                .is_none()
        );
    }
}
