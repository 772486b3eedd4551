//! Trees made in a temporary index: neither the real index nor a file is touched.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RepoPath};
use tempfile::TempDir;

use super::command::{Call, Git, fields, lossy, oid, os, portions};
use super::error::GitError;
use super::exact::{self, Modes};
use super::merge::Difference;
use super::repo::Repo;
use super::status::{self, Status};
use super::view::Inside;
use crate::disk::{self, FileStamp};
use crate::lock::Lock;

/// A temporary folder, removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: Utf8PathBuf,
    /// Held as long as the folder is in use: a folder without a holder was left by a killed process. A folder in the
    /// system's temporary directory has no lock; the system cleans that up.
    _lock: Option<Lock>,
    _folder: TempDir,
}

/// A temporary index, removed when dropped.
pub(super) struct TempIndex {
    git: Git,
    path: Utf8PathBuf,
    /// What the checkout's index was when it was copied. Git replaces an index and never changes it in place.
    copied: Option<FileStamp>,
    _scratch: Arc<Scratch>,
}

impl Scratch {
    pub(super) fn make(repo: &Repo) -> Result<Scratch, GitError> {
        if let Some(look) = repo.scratch() {
            return look.within();
        }
        let parent = repo.piton_dir().join("tmp");
        disk::private_folder(&parent).map_err(GitError::io(parent.clone()))?;
        let _making = repo.take_lock("tmp.lock")?;
        let folder =
            tempfile::Builder::new().prefix("index-").tempdir_in(&parent).map_err(GitError::io(parent))?;
        let path = path_of(&folder)?;
        let lock = path.join("in-use");
        let _lock = Lock::take(&lock).map_err(GitError::io(lock))?;
        Ok(Scratch { path, _lock: Some(_lock), _folder: folder })
    }

    /// A folder in the system's temporary directory that only this user can read.
    fn temporary() -> Result<Scratch, GitError> {
        let made = tempfile::Builder::new().prefix("piton-look-").tempdir();
        let folder = made.map_err(GitError::io(std::env::temp_dir().to_string_lossy().into_owned()))?;
        Ok(Scratch { path: path_of(&folder)?, _lock: None, _folder: folder })
    }

    /// A folder inside: it goes with this one, should its process be killed.
    fn within(&self) -> Result<Scratch, GitError> {
        let made = tempfile::Builder::new().prefix("part-").tempdir_in(&self.path);
        let folder = made.map_err(GitError::io(&self.path))?;
        Ok(Scratch { path: path_of(&folder)?, _lock: None, _folder: folder })
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }
}

fn path_of(folder: &TempDir) -> Result<Utf8PathBuf, GitError> {
    Utf8PathBuf::from_path_buf(folder.path().to_owned())
        .map_err(|path| GitError::NotUtf8(path.to_string_lossy().into_owned()))
}

impl Repo {
    /// The same repository, read-only: nothing is written in it, or in Piton's folder. The objects that a look makes,
    /// such as the tree of a checkout, are temporary files, and are removed when the returned value is dropped.
    pub fn for_looking(&self) -> Result<Repo, GitError> {
        self.looking_in(Scratch::temporary()?)
    }

    /// The same for an engine: the temporary files are in Piton's folder. What a killed engine leaves there the next removes.
    pub(crate) fn for_looking_aside(&self) -> Result<Repo, GitError> {
        self.looking_in(Scratch::make(self)?)
    }

    fn looking_in(&self, scratch: Scratch) -> Result<Repo, GitError> {
        let objects = scratch.path.join("objects");
        let (info, shared) = (objects.join("info"), self.common_dir().join("objects"));
        fs::create_dir_all(&info).map_err(GitError::io(&info))?;
        let alternates = info.join("alternates");
        fs::write(&alternates, format!("{shared}\n")).map_err(GitError::io(alternates))?;
        Ok(self.looking_with(self.git().writing_objects_to(&objects), scratch))
    }
}

impl TempIndex {
    pub(super) fn empty(repo: &Repo) -> Result<TempIndex, GitError> {
        Ok(TempIndex::empty_in(Arc::new(Scratch::make(repo)?), repo.git()))
    }

    fn empty_in(scratch: Arc<Scratch>, git: &Git) -> TempIndex {
        let path = scratch.path.join("index");
        TempIndex { git: git.clone(), path, copied: None, _scratch: scratch }
    }

    /// Remove the folders of processes that were killed.
    pub(super) fn sweep(repo: &Repo) -> Result<(), GitError> {
        let parent = repo.piton_dir().join("tmp");
        let Ok(entries) = parent.read_dir_utf8() else { return Ok(()) };
        let _making = repo.take_lock("tmp.lock")?;
        for folder in entries.flatten().map(|entry| entry.path().to_owned()) {
            if let Ok(Some(_)) = Lock::try_take(&folder.join("in-use")) {
                fs::remove_dir_all(&folder).map_err(GitError::io(folder))?;
            }
        }
        Ok(())
    }

    /// A copy of a checkout's index, so that unchanged files need not be read again and flags stay.
    pub(super) fn copy(repo: &Repo, git: &Git, git_dir: &Utf8Path) -> Result<TempIndex, GitError> {
        TempIndex::copy_in(Arc::new(Scratch::make(repo)?), git, git_dir)
    }

    /// The same in a folder that is there already.
    pub(super) fn copy_in(
        scratch: Arc<Scratch>,
        git: &Git,
        git_dir: &Utf8Path,
    ) -> Result<TempIndex, GitError> {
        let original = git_dir.join("index");
        let copied = FileStamp::read(&original);
        let index = TempIndex { copied, ..TempIndex::empty_in(scratch, git) };
        match fs::copy(&original, &index.path) {
            Ok(_) => {
                // The age of the index tells git which files may have changed in the very moment it was
                // written; a younger copy would hide such a change.
                let age = fs::metadata(&original).and_then(|meta| meta.modified());
                let set = |age| File::options().write(true).open(&index.path)?.set_modified(age);
                age.and_then(set).map_err(GitError::io(original))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if super::repo::resolve(git, "HEAD")?.is_some() {
                    index.call(["read-tree", "HEAD"]).run()?;
                }
            }
            Err(error) => return Err(GitError::io(original)(error)),
        }
        Ok(index)
    }

    pub(super) fn call<'a>(&'a self, args: impl IntoIterator<Item = &'a str>) -> Call<'a> {
        self.git.call(args).env("GIT_INDEX_FILE", self.path.as_str())
    }

    /// A file in its folder, which goes with it.
    pub(super) fn sibling(&self, name: &str) -> Utf8PathBuf {
        self.path.with_file_name(name)
    }

    pub(super) fn write_tree(&self) -> Result<Oid, GitError> {
        self.call(["write-tree"]).oid()
    }

    /// Add everything in the checkout except ignored files and other repositories. Of a submodule, add the commit it is
    /// at.
    pub(super) fn add_all(&self, status: &Status) -> Result<(), GitError> {
        let call = self.call(["add", "--all"]);
        if status.nested.is_empty() && status.gitlinks.is_empty() {
            return call.run();
        }
        // To see whether a submodule has changes of its own, `add` would run a git in there, with the settings in there.
        let without = status.nested.iter().map(OsString::from).chain(status.gitlinks.iter().cloned());
        let excluded = without.map(|path| {
            let mut excluded = OsString::from(":(exclude,literal,top)");
            excluded.push(path);
            excluded
        });
        call.env("GIT_LITERAL_PATHSPECS", "0").args(["--", ":(top)"]).args(excluded).run()?;
        for portion in portions(&status.gitlinks) {
            self.call(["update-index", "--remove", "--"]).args(portion).run()?;
        }
        Ok(())
    }

    /// The same at `paths`, also where it is ignored. Other repositories there stay out, as they do elsewhere.
    fn add_ignored(&self, top: &Utf8Path, paths: &[&str]) -> Result<(), GitError> {
        let inner: Vec<String> = paths.iter().flat_map(|path| repositories_in(top, path)).collect();
        let without = inner.iter().map(|path| format!(":(exclude,literal,top){path}")).collect::<Vec<_>>();
        let is_one = |path: &&&str| inner.iter().any(|inner| inner == **path);
        let named = paths.iter().filter(|path| !is_one(path)).map(|path| format!(":(literal,top){path}"));
        for portion in portions(&named.collect::<Vec<_>>()) {
            let call = self.call(["add", "--all", "--force", "--"]).env("GIT_LITERAL_PATHSPECS", "0");
            call.args(portion).args(&without).run()?;
        }
        Ok(())
    }

    /// Whether the checkout's index is still the one that was copied.
    pub(super) fn is_current(&self, git_dir: &Utf8Path) -> bool {
        self.copied == FileStamp::read(&git_dir.join("index"))
    }

    /// Make it the index of a checkout. No other process may change that index meanwhile.
    pub(super) fn keep(&self, git_dir: &Utf8Path) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        let index = git_dir.join("index");
        match fs::rename(&self.path, &index) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            renamed => return renamed,
        }
        // Piton's folder may be on another file system than the checkout's git folder.
        let near = git_dir.join("index.piton");
        // A link of that name would be followed.
        super::worktree::remove_if_there(&near).map_err(io::Error::other)?;
        fs::copy(&self.path, &near)?;
        let copy = File::options().write(true).open(&near)?;
        // As old as the original: a younger index would hide changes of the moment in which it was written.
        copy.set_modified(fs::metadata(&self.path)?.modified()?)?;
        copy.sync_all()?;
        fs::rename(&near, &index)
    }

    /// The same, unless there was no index to copy.
    pub(super) fn keep_if_made(&self, git_dir: &Utf8Path) -> Result<(), GitError> {
        if self.path.exists() { self.keep(git_dir).map_err(GitError::io(git_dir)) } else { Ok(()) }
    }

    /// What the checkout has at `paths`, whatever the index says about them. A folder is not a file.
    pub(super) fn refresh(&self, top: &Utf8Path, paths: &[OsString]) -> Result<Vec<Entry>, GitError> {
        let is_folder = |path: &&OsString| {
            fs::symlink_metadata(top.as_std_path().join(path)).is_ok_and(|meta| meta.is_dir())
        };
        let (folders, files): (Vec<&OsString>, Vec<&OsString>) = paths.iter().partition(is_folder);
        for portion in portions(&folders) {
            self.call(["update-index", "--force-remove", "--"]).args(portion).run()?;
        }
        for portion in portions(&files) {
            self.call(["update-index", "--add", "--remove", "--replace", "--"]).args(portion).run()?;
        }
        self.entries()
    }

    /// Put paths back to their old versions. Returns the resulting tree.
    pub(super) fn restore(&self, changed: &[&Difference]) -> Result<Oid, GitError> {
        let gone: Vec<&OsString> =
            changed.iter().filter(|change| change.old.is_none()).map(|change| &change.path).collect();
        for portion in portions(&gone) {
            self.call(["update-index", "--force-remove", "--"]).args(portion).run()?;
        }
        for change in changed {
            let Some((mode, object)) = &change.old else { continue };
            let mut info = OsString::from(format!("{mode},{object},"));
            info.push(&change.path);
            self.call(["update-index", "--add", "--replace", "--cacheinfo"]).arg(info).run()?;
        }
        self.write_tree()
    }

    pub(super) fn entries(&self) -> Result<Vec<Entry>, GitError> {
        Ok(read_entries(&self.call(["ls-files", "--stage", "-z"]).bytes()?))
    }
}

pub(super) fn read_entries(list: &[u8]) -> Vec<Entry> {
    fields(list).filter_map(Entry::parse).collect()
}

/// A line of `ls-files --stage` or `ls-tree`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) oid: Oid,
    pub(super) path: OsString,
}

impl Entry {
    /// `mode [type] oid [stage] TAB path`; of an unmerged path each stage is an entry.
    pub(super) fn parse(line: &[u8]) -> Option<Entry> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let facts = lossy(&line[..tab]);
        let mut words = facts.split(' ');
        let mode = words.next()?.to_owned();
        let oid = words.find_map(oid)?;
        Some(Entry { mode, oid, path: os(&line[tab + 1..]) })
    }
}

impl Repo {
    /// The tree of what a checkout holds now, tracked and untracked but not ignored, without touching it.
    /// Nested repositories are not part of it.
    pub fn worktree_tree(&self, checkout: &Utf8Path) -> Result<Oid, GitError> {
        self.worktree_tree_with(checkout, &[])
    }

    /// The same, with what is at `also`, ignored or not.
    pub fn worktree_tree_with(&self, checkout: &Utf8Path, also: &[RepoPath]) -> Result<Oid, GitError> {
        let inside = self.inside(checkout)?;
        let Inside { git, top, git_dir, .. } = &inside;
        let status = status::read(git, top, git_dir)?;
        let also: Vec<&str> =
            also.iter().map(RepoPath::as_str).filter(|path| is_plainly_there(top, path)).collect();
        if let Some(head) = status.head.as_ref().filter(|_| status.is_clean() && also.is_empty()) {
            return self.tree_of(head);
        }
        let index = TempIndex::copy(self, git, git_dir)?;
        index.add_all(&status)?;
        index.add_ignored(top, &also)?;
        let tree = index.write_tree()?;
        if self.is_own() && !self.is_for_looking() {
            index.keep(git_dir).map_err(GitError::io(git_dir))?;
        }
        Ok(tree)
    }
}

/// What a checkout holds beside what a commit says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Tracked files that differ from the commit, even if the index calls them unchanged.
    pub changed: Vec<String>,
    /// Files and whole folders that git ignores.
    pub ignored: Vec<String>,
}

impl Repo {
    /// What a checkout holds that `commit` does not say. Every file is read.
    pub fn uncommitted_in(&self, checkout: &Utf8Path, commit: &Oid) -> Result<Extra, GitError> {
        let inside = self.inside(checkout)?;
        let index = TempIndex { git: inside.git.clone(), ..TempIndex::empty(self)? };
        index.call(["read-tree", commit.as_str()]).run()?;
        let mut call = index.call(["status", "--porcelain=v2", "-z", "--no-renames"]);
        call = call.args(["--ignored=traditional", "--untracked-files=normal", "--ignore-submodules=dirty"]);
        for setting in exact::settings(Modes::Compared) {
            call = call.global("-c").global(setting);
        }
        let list = call.bytes()?;
        let ignored = fields(&list).filter_map(|field| field.strip_prefix(b"! "));
        let ignored = ignored.map(|path| lossy(path).trim_end_matches('/').to_owned()).collect();
        Ok(Extra { changed: Status::parse(&list).dirty, ignored })
    }

    /// The tree of what is at one place in the checkout and nothing else, ignored or not.
    pub fn tree_at(&self, place: &RepoPath) -> Result<Oid, GitError> {
        let index = TempIndex::empty(self)?;
        index.add_ignored(self.top(), &[place.as_str()])?;
        index.write_tree()
    }
}

/// The repositories at a place and below it, from the top. Links are not followed, and repositories are not searched.
fn repositories_in(top: &Utf8Path, place: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![place.to_owned()]);
    while let Some(folder) = open.pop() {
        if top.join(&folder).join(".git").symlink_metadata().is_ok() {
            found.push(folder);
            continue;
        }
        let entries = top.join(&folder).read_dir_utf8().into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| format!("{folder}/{}", entry.file_name())));
    }
    found
}

/// Whether there is something that git can add: not behind a link, not the whole checkout, not a folder of git or
/// Piton.
fn is_plainly_there(top: &Utf8Path, path: &str) -> bool {
    let path = Utf8Path::new(path);
    let is_link = |folder: &Utf8Path| top.join(folder).is_symlink();
    let is_plain = |part: Utf8Component<'_>| {
        let own = [".git", ".piton"].iter().any(|own| part.as_str().eq_ignore_ascii_case(own));
        matches!(part, Utf8Component::Normal(_)) && !own
    };
    path.components().all(is_plain)
        && top.join(path).symlink_metadata().is_ok()
        && !path.ancestors().skip(1).any(is_link)
}
