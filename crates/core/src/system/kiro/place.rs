//! Where the files of a spec lie.

use crate::system::Disk;
use crate::system::finding::join;

/// The list of a spec.
pub(super) const LIST: &str = "tasks.md";
/// Where specs lie, from the folder that has `.kiro` in it.
pub(super) const SPECS: &str = ".kiro/specs";
pub(super) const REQUIREMENTS: &str = "requirements.md";
pub(super) const BUGFIX: &str = "bugfix.md";
pub(super) const APPROVALS: &str = "spec.json";
pub(super) const SETTINGS: &str = ".config.kiro";
/// Files of one folder; more are not read.
const MOST: usize = 100;

/// A spec, by the path of its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec<'p> {
    /// The folder with `.kiro` in it. Empty: the current one.
    pub(super) root: &'p str,
    pub(super) folder: &'p str,
    pub(super) name: &'p str,
    /// It lies in a folder for specs that are done.
    is_put_away: bool,
}

impl<'p> Spec<'p> {
    /// The spec that a folder or its list is, by where it lies.
    pub(super) fn at(path: &'p str) -> Option<Spec<'p>> {
        let folder = path.strip_suffix(LIST).map_or(path, |folder| folder).trim_end_matches('/');
        let (above, name) = folder.rsplit_once('/')?;
        let away = above.rsplit_once('/').filter(|(_, last)| last.starts_with('_'));
        let root = above.strip_suffix(SPECS).or_else(|| away?.0.strip_suffix(SPECS))?;
        let is_put_away = !above.ends_with(SPECS);
        let is_whole = root.is_empty() || root.ends_with('/');
        let is_spec = is_whole && !name.is_empty() && !name.starts_with('_');
        is_spec.then(|| Spec { root: root.trim_end_matches('/'), folder, name, is_put_away })
    }

    pub(super) fn file(&self, name: &str) -> String {
        join(self.folder, name)
    }

    pub(super) fn steering(&self) -> String {
        join(self.root, ".kiro/steering")
    }

    /// The files that are read with the list, as far as they exist.
    pub(super) fn along(&self, disk: &dyn Disk) -> Vec<String> {
        let own = [REQUIREMENTS, BUGFIX, "design.md", APPROVALS, SETTINGS].map(|name| self.file(name));
        let steering = self.steering();
        let names = disk.names(&steering).into_iter().filter(|name| name.ends_with(".md")).take(MOST);
        own.into_iter().chain(names.map(|name| join(&steering, &name))).collect()
    }

    /// Where the folder of a spec went: some move what is done to a folder beside it, such as `_completed`.
    pub(super) fn moved(&self, disk: &dyn Disk) -> Option<String> {
        let specs = join(self.root, SPECS);
        let aways = disk.names(&specs).into_iter().filter(|name| name.starts_with('_'));
        let folders = aways.take(MOST).map(|away| join(&specs, &format!("{away}/{}", self.name)));
        let mut folders = folders.filter(|_| !self.is_put_away);
        folders.find(|folder| disk.is_file(&join(folder, LIST)))
    }
}
