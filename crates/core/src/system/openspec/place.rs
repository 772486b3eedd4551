//! Where the files of a change lie.

use crate::system::Disk;
use crate::system::finding::join;

/// The list of a change.
pub(super) const LIST: &str = "tasks.md";
/// Where changes lie, from the folder that has `openspec` in it.
pub(super) const CHANGES: &str = "openspec/changes";
pub(super) const ARCHIVE: &str = "archive";
/// Files that a change or a project may have; more are not read.
const MOST: usize = 200;
/// Folders below `specs` that are looked into.
const DEEPEST: usize = 3;

/// A change, by the path of its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change<'p> {
    /// The folder with `openspec` in it. Empty: the current one.
    pub(super) root: &'p str,
    pub(super) folder: &'p str,
    pub(super) id: &'p str,
    /// `openspec archive` has put it away.
    pub(super) is_archived: bool,
}

impl<'p> Change<'p> {
    /// The change that a folder or its list is, by where it lies.
    pub(super) fn at(path: &'p str) -> Option<Change<'p>> {
        let folder = path.strip_suffix(LIST).map_or(path, |folder| folder).trim_end_matches('/');
        let (above, id) = folder.rsplit_once('/')?;
        let (changes, is_archived) = match above.strip_suffix("/archive") {
            Some(changes) => (changes, true),
            None => (above, false),
        };
        let root = changes.strip_suffix(CHANGES)?;
        let is_whole = root.is_empty() || root.ends_with('/');
        let is_change = !id.is_empty() && (is_archived || id != ARCHIVE);
        (is_whole && is_change).then(|| Change { root: root.trim_end_matches('/'), folder, id, is_archived })
    }

    fn own(&self, name: &str) -> String {
        join(self.root, &format!("openspec/{name}"))
    }

    pub(super) fn file(&self, name: &str) -> String {
        join(self.folder, name)
    }

    /// What a file below `specs` of this change is about.
    pub(super) fn capability<'f>(&self, file: &'f str) -> Option<&'f str> {
        let inside = file.strip_prefix(self.folder)?.strip_prefix("/specs/")?;
        Some(inside.rsplit_once('/').map_or(inside, |(capability, _)| capability))
    }

    /// Whether a file belongs to another change, and to which.
    pub(super) fn other<'f>(&self, file: &'f str) -> Option<(&'f str, &'f str)> {
        let inside = file.strip_prefix(&self.own("changes"))?.strip_prefix('/')?;
        let (id, inside) = inside.split_once('/')?;
        let (capability, _) = inside.strip_prefix("specs/")?.rsplit_once('/')?;
        (id != self.id).then_some((id, capability))
    }

    /// The standing spec of a capability.
    pub(super) fn standing(&self, capability: &str) -> String {
        self.own(&format!("specs/{capability}/spec.md"))
    }

    /// Files that say what is true for the whole project.
    pub(super) fn of_project(&self) -> [String; 2] {
        [self.own("config.yaml"), self.own("project.md")]
    }

    /// The files that are read with the list, as far as they exist.
    pub(super) fn along(&self, disk: &dyn Disk) -> Vec<String> {
        let mut files: Vec<String> =
            ["proposal.md", "design.md", ".openspec.yaml"].map(|name| self.file(name)).into();
        files.extend(self.of_project());
        let deltas = specs(&self.file("specs"), disk);
        let changes = self.own("changes");
        let is_other = |name: &String| name != self.id && name != ARCHIVE && !name.starts_with('.');
        let others: Vec<String> = disk.names(&changes).into_iter().filter(is_other).take(MOST).collect();
        for delta in &deltas {
            let Some(capability) = self.capability(delta) else { continue };
            files.push(self.standing(capability));
            let same = others.iter().map(|id| join(&changes, &format!("{id}/specs/{capability}/spec.md")));
            files.extend(same.filter(|file| disk.is_file(file)).take(3));
        }
        files.extend(deltas);
        files.dedup();
        files
    }

    /// Where the folder of a change went: `openspec archive` moves it and puts the day before its name.
    pub(super) fn archived(&self, disk: &dyn Disk) -> Option<String> {
        let archive = self.own("changes/archive");
        let is_it = |name: &String| name.strip_suffix(self.id).is_some_and(is_day);
        let names = disk.names(&archive);
        let last = names.iter().rfind(|name| is_it(name))?;
        Some(join(&archive, last))
    }
}

/// `2026-01-31-`, or nothing.
fn is_day(text: &str) -> bool {
    text.is_empty()
        || text.len() == "2026-01-31-".len()
            && text.bytes().enumerate().all(|(nth, byte)| match nth {
                4 | 7 | 10 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
}

/// The Markdown files below a folder.
fn specs(folder: &str, disk: &dyn Disk) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for name in disk.names(&folder).into_iter().filter(|name| !name.starts_with('.')) {
            let path = join(&folder, &name);
            if found.len() == MOST {
                return found;
            } else if disk.is_file(&path) {
                found.extend(name.ends_with(".md").then_some(path));
            } else if depth < DEEPEST {
                open.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}
