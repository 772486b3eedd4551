//! What an earlier run found out, so that a run that was killed goes on where it was, and the next commit does not begin
//! at nothing.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;

use super::catalogue::Sabotage;

pub(super) struct Known {
    sources: Sources,
    /// The rules that were caught, each with the sources it was caught in.
    caught: Notes,
    /// The rules whose arms did not compile. That hardly changes with a commit, and costs a build to find out.
    no_switch: Notes,
}

/// The files of a commit, one in a line, as `git ls-tree -r` prints them: mode, kind, hash, a tab and the path.
struct Sources(String);

/// A file with the fingerprint of a rule in each line.
struct Notes {
    lines: BTreeSet<String>,
    file: Mutex<File>,
}

impl Known {
    pub(super) fn open(place: &Path, files: String, again: bool) -> Result<Known> {
        let open = |name: &str| Notes::open(&place.join(name), again);
        Ok(Known { sources: Sources(files), caught: open("caught")?, no_switch: open("no-switch")? })
    }

    pub(super) fn is_caught(&self, one: &Sabotage) -> bool {
        self.caught.lines.contains(&self.sources.fingerprint(one))
    }

    pub(super) fn note_caught(&self, one: &Sabotage) -> Result<()> {
        self.caught.note(&self.sources.fingerprint(one))
    }

    pub(super) fn has_no_switch(&self, one: &Sabotage) -> bool {
        self.no_switch.lines.contains(&one.fingerprint())
    }

    pub(super) fn note_no_switch(&self, one: &Sabotage) -> Result<()> {
        self.no_switch.note(&one.fingerprint())
    }
}

impl Sources {
    /// An entry together with everything that its test program is built from.
    fn fingerprint(&self, one: &Sabotage) -> String {
        let mut hasher = DefaultHasher::new();
        let of_it = |line: &&str| {
            let path = line.split_once('\t').map_or("", |(_, path)| path);
            is_built_into(path, one)
        };
        self.0.lines().filter(of_it).for_each(|line| line.hash(&mut hasher));
        format!("{}-{:016x}", one.fingerprint(), hasher.finish())
    }
}

/// Whether the test program of an entry contains this file or starts a program that does. The tests of other programs do
/// not count, nor does what is only read.
fn is_built_into(path: &str, one: &Sabotage) -> bool {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("Cargo.toml" | "Cargo.lock" | ".cargo" | "examples" | "schemas"), ..) => true,
        (Some("crates"), Some("fuzz"), ..) => false,
        (Some("crates"), Some(package), Some("tests"), Some(file)) => {
            package == one.folder_name() && file.strip_suffix(".rs").unwrap_or(file) == one.binary
        }
        (Some("crates"), ..) => true,
        _ => false,
    }
}

impl Notes {
    fn open(path: &Path, again: bool) -> Result<Notes> {
        if again {
            drop(fs::remove_file(path));
        }
        let lines = fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect();
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Notes { lines, file: Mutex::new(file) })
    }

    fn note(&self, line: &str) -> Result<()> {
        let mut file = self.file.lock().expect("no thread panics while it writes");
        Ok(file.write_all(format!("{line}\n").as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Sabotage, Sources};

    const FILES: &str = "\
100644 blob a1\tCargo.lock
100644 blob a2\tcrates/core/src/lib.rs
100644 blob a3\tcrates/core/tests/rules/main.rs
100644 blob a4\tcrates/piton/tests/it/main.rs
100644 blob a5\tdocs/guide.md
100644 blob a6\txtask/sabotage.toml
100644 blob a7\tcrates/core/tests/rules.rs
";

    fn entry() -> Sabotage {
        Sabotage {
            rule: "A task that waits is not started.".to_owned(),
            file: "crates/core/src/lib.rs".to_owned(),
            from: "a".to_owned(),
            to: "b".to_owned(),
            package: "piton-core".to_owned(),
            binary: "rules".to_owned(),
            tests: vec!["it_waits".to_owned()],
            env: BTreeMap::new(),
        }
    }

    #[test]
    fn a_rule_is_tried_again_when_its_entry_or_its_program_has_changed() {
        let now = Sources(FILES.to_owned()).fingerprint(&entry());
        for (hash, changes) in [
            ("a1", true),
            ("a2", true),
            ("a3", true),
            ("a4", false),
            ("a5", false),
            ("a6", false),
            ("a7", true),
        ] {
            let then = Sources(FILES.replace(hash, "b0")).fingerprint(&entry());
            assert_eq!(now != then, changes, "{hash}");
        }
        let other = Sabotage { to: "c".to_owned(), ..entry() };
        assert_ne!(now, Sources(FILES.to_owned()).fingerprint(&other));
    }
}
