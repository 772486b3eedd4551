//! A file that lists plans, which are worked on one after the other.

use super::Disk;
use super::finding::join;
use super::kit::outline::Word;
use crate::diagnostic::Diagnostic;
use crate::plan::RepoPath;

/// How such a file is read and kept.
pub trait Collection: Sync {
    /// What the file lists, and where it disagrees with the lists themselves. `count` tells how many tasks of a list are
    /// done, of how many.
    fn read(&self, text: &str, count: &dyn Fn(&RepoPath) -> Option<(usize, usize)>) -> Lists;

    /// How many tasks of a list are done, of how many. `None`: it is not a list.
    fn count(&self, list: &[u8]) -> Option<(usize, usize)>;

    /// The file with one list as far as it is now, and every other byte as it was. `None`: the file does not name it.
    fn update(&self, file: &[u8], list: &str, standing: Standing) -> Option<Vec<u8>>;
}

/// The lists, in the order in which they are worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    pub entries: Vec<ListEntry>,
    pub problems: Vec<Diagnostic>,
}

/// One list, as the file names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListEntry {
    pub name: String,
    /// The document that the list was made from.
    pub plan: Option<RepoPath>,
    /// A path from the root of the project, or a file name in the folder of this file. `None`: there is no list yet.
    pub list: Option<RepoPath>,
    /// Work is left, as far as this file says.
    pub is_open: bool,
}

/// How far a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub status: Word,
    pub done: usize,
    pub total: usize,
}

/// The path of a list that a file names: in the same folder, or from a folder above it.
pub fn file_of(collection: &str, list: &str, disk: &dyn Disk) -> Option<String> {
    let folder = collection.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = list.rsplit('/').next().filter(|name| !name.is_empty())?;
    let above = std::iter::successors(Some(folder), |folder| folder.rsplit_once('/').map(|(above, _)| above));
    let here = [join(folder, list), join(folder, name)];
    here.into_iter().chain(above.map(|folder| join(folder, list))).find(|path| disk.is_file(path))
}
