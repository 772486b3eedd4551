//! Refs read from their files. Starting a git process takes longer than reading them, and Piton reads them before and
//! after every attempt.
//!
//! Nothing is guessed: whatever is not plain (another way of keeping refs, a link, a broken file, an odd name) is left
//! to git, which knows what it means.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};

use camino::Utf8Path;
use piton_core::plan::Oid;

use super::command::oid;
use super::repo::{ObjectFormat, Repo};

/// Folders that each worktree has for itself.
pub(super) const OF_ONE_WORKTREE: [&str; 3] = ["refs/bisect", "refs/rewritten", "refs/worktree"];
/// A file that is longer holds no ref.
const LONGEST: u64 = 1024;
/// What git takes for space. Any other is part of a name.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
/// Git follows symbolic refs one level deeper, but no real repository needs that.
const STEPS: usize = 4;

impl Repo {
    /// Where a ref is that all worktrees share and that has a plain file of its own; `None` where only git can tell.
    pub(super) fn ref_in_file(&self, name: &str) -> Option<Oid> {
        if !is_plain(name) {
            return None;
        }
        let length = length(self.format());
        let mut loose = Loose { length, direct: BTreeMap::new(), symbolic: Vec::new() };
        loose.take(name.to_owned(), &self.common_dir().join(name))?;
        loose.direct.remove(name)
    }

    /// Every ref, and where it is; `None` where only git can tell.
    pub fn refs_in_files(&self) -> Option<BTreeMap<String, Oid>> {
        let (common, length) = (self.common_dir(), length(self.format()));
        // If refs are stored in another format, git leaves this mark for programs that only know files.
        let head = fs::read_to_string(common.join("HEAD")).ok()?;
        if head.trim_end().ends_with("/.invalid") || common.join("reftable").exists() {
            return None;
        }
        let mut loose = Loose { length, direct: BTreeMap::new(), symbolic: Vec::new() };
        loose.read(common, "refs", &OF_ONE_WORKTREE)?;
        for own in OF_ONE_WORKTREE {
            loose.read(self.git_dir(), own, &[])?;
        }
        // These are read last: git moves a ref from its own file into this one, so it is always in one of them.
        let mut all = match there(crate::disk::read_plain(&common.join("packed-refs")))? {
            Some(bytes) => packed(&bytes, length)?,
            None => BTreeMap::new(),
        };
        all.append(&mut loose.direct);
        resolve(all, loose.symbolic)
    }
}

/// The same of the files' bytes, with the names of those that are loose.
pub(super) fn of_files(shared: &[u8], own: &[(String, &[u8])]) -> Option<BTreeMap<String, Oid>> {
    let length = length(ObjectFormat::Sha1);
    let mut loose = Loose { length, direct: BTreeMap::new(), symbolic: Vec::new() };
    for (name, bytes) in own {
        if !name.starts_with("refs/") || !is_plain(name) {
            return None;
        }
        loose.hear(name.clone(), bytes)?;
    }
    let mut all = packed(shared, length)?;
    all.append(&mut loose.direct);
    resolve(all, loose.symbolic)
}

pub(super) fn length(format: ObjectFormat) -> usize {
    match format {
        ObjectFormat::Sha1 => 40,
        ObjectFormat::Sha256 => 64,
    }
}

/// Refs that have a file of their own.
struct Loose {
    length: usize,
    direct: BTreeMap<String, Oid>,
    /// Those that name another one.
    symbolic: Vec<(String, String)>,
}

impl Loose {
    /// Read what is below `top` in a git directory, but for some folders.
    fn read(&mut self, git_dir: &Utf8Path, top: &str, without: &[&str]) -> Option<()> {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            let Some(entries) = there(git_dir.join(&folder).read_dir_utf8())? else { continue };
            for entry in entries {
                let entry = entry.ok()?;
                // Git passes over these, too.
                if entry.file_name().starts_with('.') || entry.file_name().ends_with(".lock") {
                    continue;
                }
                let (name, kind) = (format!("{folder}/{}", entry.file_name()), entry.file_type().ok()?);
                if !is_plain(&name) {
                    return None;
                }
                match (kind.is_dir(), kind.is_file()) {
                    (true, _) if without.contains(&name.as_str()) => {}
                    (true, _) => folders.push(name),
                    (_, true) => self.take(name, &git_dir.join(&folder).join(entry.file_name()))?,
                    _ => return None,
                }
            }
        }
        Some(())
    }

    fn take(&mut self, name: String, path: &Utf8Path) -> Option<()> {
        // It may have gone since it was listed.
        let Some(file) = there(File::open(path))? else { return Some(()) };
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).ok()?;
        self.hear(name, &bytes)
    }

    fn hear(&mut self, name: String, bytes: &[u8]) -> Option<()> {
        // The end of a longer file was not read.
        if bytes.len() as u64 >= LONGEST {
            return None;
        }
        let text = str::from_utf8(bytes).ok()?.trim_end_matches(SPACE);
        match text.strip_prefix("ref:") {
            Some(other) => self.symbolic.push((name, other.trim_start_matches(SPACE).to_owned())),
            None => drop(self.direct.insert(name, object(text, self.length)?)),
        }
        Some(())
    }
}

/// Refs that share a file.
pub(super) fn packed(bytes: &[u8], length: usize) -> Option<BTreeMap<String, Oid>> {
    let text = str::from_utf8(bytes).ok()?;
    // A file that breaks off is broken, and the name at its end may have been longer.
    if !text.is_empty() && !text.ends_with('\n') {
        return None;
    }
    let mut all = BTreeMap::new();
    for line in text.split_terminator('\n') {
        // A comment, or the object that the tag before it points to.
        if line.starts_with(['#', '^']) {
            continue;
        }
        let (id, name) = line.split_once(' ')?;
        if !name.starts_with("refs/") || !is_plain(name) {
            return None;
        }
        all.insert(name.to_owned(), object(id, length)?);
    }
    Some(all)
}

/// Resolve symbolic refs. One that names nothing is left out.
fn resolve(mut all: BTreeMap<String, Oid>, symbolic: Vec<(String, String)>) -> Option<BTreeMap<String, Oid>> {
    let names: BTreeMap<String, String> = symbolic.into_iter().collect();
    for name in names.keys() {
        // A packed ref of the same name no longer counts.
        all.remove(name);
    }
    let mut found = Vec::new();
    for (name, first) in &names {
        let mut other = first;
        for step in 0.. {
            if step == STEPS || !other.starts_with("refs/") || !is_plain(other) {
                return None;
            }
            match names.get(other) {
                Some(next) => other = next,
                None => break,
            }
        }
        found.extend(all.get(other).map(|id| (name.clone(), id.clone())));
    }
    all.extend(found);
    Some(all)
}

/// The outer `None`: it could not be found out.
fn there<T>(result: io::Result<T>) -> Option<Option<T>> {
    match result {
        Ok(value) => Some(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(None),
        Err(_) => None,
    }
}

fn object(text: &str, length: usize) -> Option<Oid> {
    let is_any = text.len() == length && text.bytes().any(|digit| digit != b'0');
    oid(text).filter(|_| is_any)
}

/// Whether git accepts it as a ref name, or as the beginning of one.
pub(super) fn is_plain(name: &str) -> bool {
    let odd = |byte: u8| byte.is_ascii_control() || b" ~^:?*[\\".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !name.bytes().any(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name.split('/').all(is_part)
}
