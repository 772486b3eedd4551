//! Modules that import each other in a circle. They can only be understood together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

/// Sources in which no files import each other in a circle.
struct Sources {
    folder: &'static str,
    /// The modules at the root, each with all that is below it, import each other in no circle either.
    rooms: bool,
    /// Modules at the root whose own files may.
    tied: &'static [&'static str],
}

const SOURCES: [Sources; 2] = [
    Sources { folder: "crates/piton/src", rooms: false, tied: &[] },
    Sources {
        folder: "crates/engine/src",
        rooms: true,
        tied: &["checks", "drive", "git", "journal", "keeper"],
    },
];

/// All circles, each as one line.
pub(crate) fn circles(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for Sources { folder, rooms: has_rooms, tied } in SOURCES {
        let mut files = Vec::new();
        let source = root.join(folder);
        crate::tidy::collect(&source, &mut files)?;
        let mut texts = BTreeMap::new();
        for file in files {
            let name = file.strip_prefix(&source).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            if !is_of_tests(&name) {
                texts.insert(name, std::fs::read_to_string(&file)?);
            }
        }
        let graph = imports(&texts);
        let in_tied = |circle: &Vec<String>| {
            tied.iter().any(|room| circle.iter().all(|module| room_of(module) == *room))
        };
        let of_files = knots(&graph).into_iter().filter(|circle| !in_tied(circle));
        let of_rooms = if has_rooms { knots(&rooms(&graph)) } else { Vec::new() };
        for circle in of_files.chain(of_rooms) {
            found.push(format!("{folder}: these import each other in a circle: {}", circle.join(", ")));
        }
    }
    Ok(found)
}

/// `cmd/run/mod.rs` is the module `cmd::run`.
fn module(file: &str) -> String {
    let path = file.trim_end_matches(".rs").replace('/', "::");
    match path.as_str() {
        "lib" | "main" => String::new(),
        path => path.strip_suffix("::mod").unwrap_or(path).to_owned(),
    }
}

/// Which module imports which.
fn imports(texts: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeSet<String> =
        texts.keys().filter(|file| *file != "main.rs").map(|file| module(file)).collect();
    modules.insert(String::new());
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in texts.iter().filter(|(file, _)| *file != "main.rs") {
        let own = module(file);
        let parent = own.rsplit_once("::").map_or("", |(parent, _)| parent);
        let children: BTreeSet<&str> = modules
            .iter()
            .filter_map(|module| below(module, &own))
            .filter(|name| !name.contains("::"))
            .collect();
        let wanted = graph.entry(own.clone()).or_default();
        for path in paths(&code(text)) {
            let (first, rest) = path.split_once("::").unwrap_or((&path, ""));
            let full = match first {
                "crate" => rest.to_owned(),
                "super" => joined(parent, rest),
                "self" => joined(&own, rest),
                child if children.contains(child) => joined(&own, &path),
                _ => continue,
            };
            // The longest part of it that is a module.
            let mut target = full.as_str();
            while !modules.contains(target) {
                target = target.rsplit_once("::").map_or("", |(above, _)| above);
            }
            if target != own {
                wanted.insert(target.to_owned());
            }
        }
    }
    graph
}

fn joined(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}::{name}") }
}

/// What follows a module's name in the name of a module below it.
fn below<'m>(module: &'m str, above: &str) -> Option<&'m str> {
    match above {
        "" => Some(module).filter(|module| !module.is_empty()),
        above => module.strip_prefix(above)?.strip_prefix("::"),
    }
}

/// The same graph between the modules at the root.
fn rooms(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, wanted) in graph.iter().filter(|(module, _)| !module.is_empty()) {
        let own = room_of(module);
        let others = wanted.iter().map(|other| room_of(other)).filter(|other| *other != own);
        rooms.entry(own.to_owned()).or_default().extend(others.map(str::to_owned));
    }
    rooms
}

fn room_of(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn is_of_tests(file: &str) -> bool {
    file.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
}

/// The code without comments, without tests, which may import everything, and without visibility.
pub(crate) fn code(text: &str) -> String {
    let text = text.split("\nmod tests {").next().unwrap_or(text);
    let line = |line: &str| {
        let line = line.split("//").next().unwrap_or(line);
        match line.split_once("pub(in ").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1))) {
            Some((before, rest)) => format!("{before}pub{rest}"),
            None => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Every path in it, with `use a::{b, c}` as two of them.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = code.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let import = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "].iter();
        let Some(import) = import.filter_map(|word| line.strip_prefix(word)).next() else {
            found.extend(words(line));
            continue;
        };
        let mut tree = import.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more);
        }
        expand("", tree.trim_end_matches(';'), &mut found);
    }
    found
}

/// The paths of a tree of imports.
fn expand(before: &str, tree: &str, found: &mut Vec<String>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, sign) in tree.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        match (part.find('{'), part.rfind('}')) {
            (Some(open), Some(close)) if open < close => {
                expand(&format!("{before}{}", &part[..open]), &part[open + 1..close], found);
            }
            _ => {
                let name = part.split(" as ").next().unwrap_or(part);
                found.push(format!("{before}{name}").trim_end_matches("::self").to_owned());
            }
        }
    }
}

/// The paths in a text that have more than one part.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    text.split(move |sign| !is_part(sign)).filter(|word| word.contains("::")).map(str::to_owned)
}

/// Groups of modules in which each one can be reached from each other one.
fn knots(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &str| -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.to_owned()];
        while let Some(module) = open.pop() {
            for next in graph.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reached(module))).collect();
    let mut knots = BTreeSet::new();
    for (module, seen) in &all {
        if seen.contains(*module) {
            let knot: Vec<String> = seen
                .iter()
                .filter(|other| all.get(other).is_some_and(|seen| seen.contains(*module)))
                .cloned()
                .collect();
            knots.insert(knot);
        }
    }
    knots.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        knots(&imports(&texts))
    }

    #[test]
    fn a_circle_is_found_through_any_kind_of_import() {
        for import in ["use crate::{a, c::{d, e}};", "use super::a;", "fn f() { crate::a::g(); }"] {
            let circle =
                found(&[("a.rs", "use crate::b::f;"), ("b.rs", import), ("lib.rs", "mod a; mod b;")]);
            assert_eq!(circle, [["a", "b"]], "{import}");
        }
    }

    #[test]
    fn a_parent_that_a_child_imports_is_a_circle() {
        let circle = found(&[("a/mod.rs", "mod b;\nfn f() { b::g(); }"), ("a/b.rs", "use super::f;")]);
        assert_eq!(circle, [["a", "a::b"]]);
    }

    #[test]
    fn rooms_are_looked_at_with_all_that_is_below_them() {
        let files = [
            ("a/mod.rs", "mod x;"),
            ("a/x.rs", "use crate::b::y;"),
            ("b/mod.rs", "mod y;"),
            ("b/y.rs", ""),
            ("b/z.rs", "use crate::a;"),
        ];
        let texts = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert!(knots(&imports(&texts)).is_empty());
        assert_eq!(knots(&rooms(&imports(&texts))), [["a", "b"]]);
    }

    #[test]
    fn what_follows_a_file_of_tests_counts() {
        let text = "#[cfg(test)]\nmod tests;\nuse crate::b;\n";
        assert_eq!(found(&[("a.rs", text), ("b.rs", "use crate::a;")]), [["a", "b"]]);
    }

    #[test]
    fn tests_and_comments_count_for_nothing() {
        let text =
            "//! See crate::b.\n// crate::b::x\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
        assert!(found(&[("a.rs", text), ("b.rs", "use crate::a;")]).is_empty());
    }
}
