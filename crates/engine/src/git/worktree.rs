//! Worktrees of our own: made, put right and taken away, one at a time in each repository.

use std::fs;
use std::io;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Digest, Oid};

use super::command::oid;
use super::error::GitError;
use super::place;
use super::private_dir;
use super::repo::Repo;
use super::rescue::{Rescue, Rescued};
use super::status::{self, Status};
use super::surroundings::check_surroundings;
use crate::lock::Lock;
use crate::{boot, crash, disk};

/// Git's own word for a worktree it has not finished making.
pub(super) const INITIALIZING: &str = "initializing";
/// In a worktree's git folder: the boot in which its files were made, and for whom. Older ones count for nothing.
pub(super) const READY: &str = "piton-ready";

/// A linked worktree that is Piton's: agents work in it, a person's checkout never is one.
#[derive(Debug, Clone)]
pub struct Worktree {
    repo: Repo,
    path: Utf8PathBuf,
    git_dir: Utf8PathBuf,
}

#[derive(Debug)]
pub struct Added {
    pub worktree: Worktree,
    pub how: Making,
}

impl Added {
    /// With what had to be rescued before it could be put right.
    pub fn parts(self) -> (Worktree, Option<Rescued>) {
        match self.how {
            Making::PutRight { rescued } => (self.worktree, rescued),
            Making::Made | Making::Existing => (self.worktree, None),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Making {
    /// New, at the base.
    Made,
    /// Found half made, half gone or older than the machine's last start, now at the base; what it held is in
    /// the rescue ref.
    PutRight { rescued: Option<Rescued> },
    /// Found whole and left as it is, whatever its HEAD.
    Existing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    pub rescued: Option<Rescued>,
}

impl Worktree {
    /// The worktree at `path`, made at `base` if there is none. Nobody may be working in it. What one that is broken
    /// holds is put under a name of its own.
    pub fn add(repo: &Repo, path: &Utf8Path, base: &Oid) -> Result<Added, GitError> {
        let rescue = Rescue::at(&format!("worktrees/{}", ref_part(path)), "Left in a broken worktree");
        Worktree::add_rescuing(repo, path, base, &rescue, |_| ())
    }

    /// The same, with what a broken one holds put under `rescue`. While git writes the files of a new one, there is time for
    /// something else.
    pub fn add_rescuing(
        repo: &Repo,
        path: &Utf8Path,
        base: &Oid,
        rescue: &Rescue,
        meanwhile: impl FnOnce(&Worktree),
    ) -> Result<Added, GitError> {
        let path = absolute(path)?;
        let Added { worktree, how } = {
            let lock = lock_worktrees(repo)?;
            Worktree::add_alone(&repo.guarded_by(lock), path, base, rescue)?
        };
        // What is handed out must not go on holding the lock.
        let worktree = Worktree::at(repo, &worktree.path, worktree.git_dir);
        if is_half_made(&worktree.git_dir) {
            // Nobody has worked in it yet, so its git directory is as git has made it.
            let index = worktree.git_dir.join("index");
            let git = repo.git().in_place(&worktree.path, &worktree.git_dir, repo.common_dir(), &index);
            git.call(["reset", "--quiet", "--hard"]).run_while(|| meanwhile(&worktree))?;
            // A mark that says nothing yet: to make a file takes a busy file system longer than to fill it.
            let (locked, mark) = (worktree.git_dir.join("locked"), worktree.git_dir.join(READY));
            fs::rename(&locked, &mark).map_err(GitError::io(locked))?;
        }
        Ok(Added { worktree, how })
    }

    fn add_alone(repo: &Repo, path: Utf8PathBuf, base: &Oid, rescue: &Rescue) -> Result<Added, GitError> {
        check_surroundings(repo, &path)?;
        let entry = find_entry(repo, &path)?;
        let folder = Folder::look(repo, &path)?;
        if let (Some(entry), Folder::Ours { .. } | Folder::Foreign) = (&entry, &folder) {
            place::check(&path, entry)?;
        }
        match (entry, folder) {
            (Some(_), Folder::Foreign) if path.join(".git").exists() => Err(GitError::ForeignFolder { path }),
            (Some(entry), Folder::Ours { .. } | Folder::Foreign) => {
                Worktree::repair(repo, &path, &entry, base, rescue)
            }
            (Some(entry), Folder::Free) => {
                if let Some(why) = locked_by_a_person(&entry) {
                    // It may be on a drive that is not there.
                    return Err(GitError::Locked { path, why });
                }
                let rescued = forget(repo, &path, &entry, rescue)?;
                let worktree = Worktree::make(repo, &path, base)?;
                Ok(Added { worktree, how: Making::PutRight { rescued } })
            }
            (None, Folder::Free) => {
                let worktree = Worktree::make(repo, &path, base)?;
                Ok(Added { worktree, how: Making::Made })
            }
            (None, Folder::Ours { entry }) => {
                // Its registration is gone: written again, as git writes it.
                fs::create_dir_all(&entry).map_err(GitError::io(entry.clone()))?;
                write(&entry.join("gitdir"), path.join(".git").as_str())?;
                write(&entry.join("commondir"), "../..")?;
                write(&entry.join("HEAD"), base.as_str())?;
                Worktree::repair(repo, &path, &entry, base, rescue)
            }
            (None, Folder::Foreign) => Err(GitError::ForeignFolder { path }),
        }
    }

    /// Whether git knows a worktree at this path, whether or not its folder is there.
    pub fn is_registered(repo: &Repo, path: &Utf8Path) -> Result<bool, GitError> {
        Ok(find_entry(repo, &absolute(path)?)?.is_some())
    }

    /// A worktree that exists.
    pub fn open(repo: &Repo, path: &Utf8Path) -> Result<Option<Worktree>, GitError> {
        let path = absolute(path)?;
        let Some(git_dir) = find_entry(repo, &path)? else { return Ok(None) };
        place::check(&path, &git_dir)?;
        if !path.join(".git").is_file() {
            return Ok(None);
        }
        Ok(Some(Worktree::at(repo, &path, git_dir)))
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    pub(super) fn git_dir(&self) -> &Utf8Path {
        &self.git_dir
    }

    /// Refuse to look at anything that has taken the place of its folder, or to change it.
    pub(super) fn check_place(&self) -> Result<(), GitError> {
        place::check(&self.path, &self.git_dir)
    }

    pub fn status(&self) -> Result<Status, GitError> {
        self.check_own()?;
        self.view()?.status(self)
    }

    /// Refuse what is not its folder, and a repository that an agent made in there: its commits are not the worktree's.
    pub(super) fn check_own(&self) -> Result<(), GitError> {
        self.check_place()?;
        if points_to(&self.path, &self.git_dir) {
            return Ok(());
        }
        let paths = vec![".".to_owned()];
        Err(GitError::NestedRepositories { worktree: self.path.clone(), paths })
    }

    /// Whether its maker has finished it since the machine started. Nothing syncs its files while an agent works:
    /// after a power cut any of them may be empty, and the index may not know.
    pub fn is_ready(&self) -> bool {
        is_ready(&self.git_dir)
    }

    /// Whether it was finished for this one. Where several share a worktree, only the last finds its work in it.
    pub fn is_for(&self, whom: &str) -> bool {
        ready(&self.git_dir).is_some_and(|mark| mark.split_once(' ').is_some_and(|(_, owner)| owner == whom))
    }

    /// Whether the process that made it was killed before an agent could work in it.
    pub fn is_unfinished(&self) -> bool {
        is_half_made(&self.git_dir) || ready(&self.git_dir).is_some_and(|mark| mark == INITIALIZING)
    }

    /// Whether git can work in it, whatever its files and its index are like.
    pub(super) fn is_whole(&self) -> bool {
        let head = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        !self.is_unfinished()
            && points_to(&self.path, &self.git_dir)
            && fs::metadata(self.git_dir.join("commondir")).is_ok_and(|meta| meta.len() > 0)
            && (head.starts_with("ref:") || self.head().is_ok_and(|head| head.is_some()))
    }

    /// Say that it is finished, for whom. One that is not is made anew by the next who adds it.
    pub fn make_ready(&self, whom: &str) -> Result<(), GitError> {
        if self.is_ready() && self.is_for(whom) {
            return Ok(());
        }
        write(&self.git_dir.join(READY), &format!("{} {whom}", boot::id()))
    }

    /// Tracked files that differ from HEAD.
    pub fn dirty(&self) -> Result<Vec<String>, GitError> {
        Ok(status::look(self.view()?.git(), &self.git_dir, &[])?.dirty)
    }

    pub fn head(&self) -> Result<Option<Oid>, GitError> {
        let name = self.git_dir.file_name().unwrap_or_default();
        self.repo.ref_tip(&format!("worktrees/{name}/HEAD"))
    }

    /// Leave whatever branch it is on, with files and index as they are.
    pub fn detach(&self) -> Result<(), GitError> {
        match self.head()? {
            Some(head) => self.set_head(&head),
            None => Ok(()),
        }
    }

    /// Remove the locks of a git that died in here: of the index, of HEAD, ORIG_HEAD, AUTO_MERGE and their
    /// like, and an index that a power cut left empty. What an attempt has made in a private git directory is
    /// brought over first. The caller promises that nobody works in it.
    pub fn break_stale_lock(&self) -> Result<(), GitError> {
        self.rejoin()?;
        for entry in self.git_dir.read_dir_utf8().map_err(GitError::io(self.git_dir.clone()))?.flatten() {
            if entry.path().extension() == Some("lock") {
                remove_if_there(entry.path())?;
            }
        }
        let index = self.git_dir.join("index");
        if is_torn(&index) {
            remove_if_there(&index)?;
            // What was staged is in the files, or lost. A look without an index has that of HEAD.
            self.view()?.index().keep_if_made(&self.git_dir)?;
        }
        Ok(())
    }

    /// Take the worktree at `path` away, with what it holds and no ref of `kept` reaches put under
    /// `rescue` first. Ignored files go with it. Nobody may be working in it.
    pub fn remove(repo: &Repo, path: &Utf8Path, rescue: &Rescue) -> Result<Removed, GitError> {
        let path = absolute(path)?;
        let Some(entry) = find_entry(repo, &path)? else {
            return match Folder::look(repo, &path)? {
                Folder::Free => Ok(Removed { rescued: None }),
                Folder::Ours { .. } | Folder::Foreign => Err(GitError::ForeignFolder { path }),
            };
        };
        if let Some(why) = locked_by_a_person(&entry) {
            return Err(GitError::Locked { path, why });
        }
        place::check(&path, &entry)?;
        if !path.exists() {
            let lock = lock_worktrees(repo)?;
            let rescued = forget(&repo.guarded_by(lock), &path, &entry, rescue)?;
            crash::point("worktree.removed");
            return Ok(Removed { rescued });
        }
        if !path.join(".git").exists() {
            // An interrupted removal may have taken it already.
            point_to(&path, &entry)?;
        }
        let worktree = Worktree::at(repo, &path, entry);
        worktree.break_stale_lock()?;
        let status = worktree.status()?;
        if !status.nested.is_empty() || !status.submodules.is_empty() {
            let paths = [status.nested, status.submodules].concat();
            return Err(GitError::NestedRepositories { worktree: path, paths });
        }
        let lonely = repo.lonely_commits(&worktree.git_dir, status.head.as_ref(), rescue)?;
        let rescued = worktree.rescue_seen(rescue, status, lonely)?;
        crash::point("worktree.rescued");
        let lock = lock_worktrees(repo)?;
        // By ourselves: git would remove whatever is at that path.
        place::remove(&path, &worktree.git_dir)?;
        repo.git()
            .guarded_by(lock)
            .call(["worktree", "remove", "--force", "--force", "--", path.as_str()])
            .run()?;
        super::exact::forget(repo, &worktree.git_dir)?;
        crash::point("worktree.removed");
        Ok(Removed { rescued })
    }

    /// Remove a worktree in which nothing but Piton works, with whatever a crash has left of its registration. What it
    /// holds has no value, so nothing is rescued.
    pub fn remove_own(repo: &Repo, path: &Utf8Path) -> Result<(), GitError> {
        let path = absolute(path)?;
        let _lock = lock_worktrees(repo)?;
        let registered = find_entry(repo, &path)?.or_else(|| torn_entry(repo, &path));
        match &registered {
            Some(entry) => {
                if let Some(why) = locked_by_a_person(entry) {
                    return Err(GitError::Locked { path, why });
                }
                place::check(&path, entry)?;
            }
            None if path.is_symlink() => return Err(GitError::ForeignFolder { path }),
            None => {}
        }
        let is_foreign = matches!(Folder::look(repo, &path)?, Folder::Foreign);
        if is_foreign && path.join(".git").exists() {
            return Err(GitError::ForeignFolder { path });
        }
        if path.is_dir() {
            disk::remove_folder(&path, |_, _| true).map_err(GitError::io(&path))?;
        }
        match registered {
            Some(entry) => {
                super::exact::forget(repo, &entry)?;
                fs::remove_dir_all(&entry).map_err(GitError::io(&entry))
            }
            None => Ok(()),
        }
    }

    fn at(repo: &Repo, path: &Utf8Path, git_dir: Utf8PathBuf) -> Worktree {
        Worktree { repo: repo.clone(), path: path.to_owned(), git_dir }
    }

    /// One that git knows, in good health or not.
    pub(super) fn registered(repo: &Repo, path: &Utf8Path, git_dir: Utf8PathBuf) -> Worktree {
        Worktree::at(repo, path, git_dir)
    }

    fn make(repo: &Repo, path: &Utf8Path, base: &Oid) -> Result<Worktree, GitError> {
        // No `--no-track`: git refuses it without a new branch, and a detached HEAD tracks nothing. Its files
        // come when others may make theirs; until then it is as git itself marks one that is not finished.
        let call = repo.git().call(["worktree", "add", "--quiet", "--detach", "--no-checkout"]);
        let call = call.args(["--lock", "--reason", INITIALIZING]);
        call.args(["--", path.as_str(), base.as_str()]).run()?;
        match Folder::look(repo, path)? {
            Folder::Ours { entry } => {
                place::record(path, &entry)?;
                Ok(Worktree::at(repo, path, entry))
            }
            Folder::Free | Folder::Foreign => Err(GitError::NotARepository { path: path.to_owned() }),
        }
    }

    /// A registered worktree whose folder exists: leave it if it is whole, else bring it to `base`.
    fn repair(
        repo: &Repo,
        path: &Utf8Path,
        entry: &Utf8Path,
        base: &Oid,
        rescue: &Rescue,
    ) -> Result<Added, GitError> {
        let half_made = is_half_made(entry);
        let index = entry.join("index");
        if !is_ready(entry) {
            // It may call files unchanged that are torn; without one, git reads them all.
            remove_if_there(&index)?;
            private_dir::forget_index(entry)?;
            if is_torn(&entry.join("locked")) {
                remove_if_there(&entry.join("locked"))?;
            }
        }
        let whole = !half_made && points_to(path, entry) && index.is_file() && !is_torn(&index);
        point_to(path, entry)?;
        if !entry.join("commondir").is_file() {
            write(&entry.join("commondir"), "../..")?;
        }
        place::record_if_unknown(path, entry)?;
        let worktree = Worktree::at(repo, path, entry.to_owned());
        worktree.break_stale_lock()?;
        let head = fs::read_to_string(entry.join("HEAD")).unwrap_or_default();
        let no_head = !head.starts_with("ref:") && worktree.head().ok().flatten().is_none();
        if no_head {
            write(&entry.join("HEAD"), base.as_str())?;
        }
        if whole && !no_head {
            return Ok(Added { worktree, how: Making::Existing });
        }
        // What git was still checking out is in the base anyway; anything else may exist only here.
        let rescued = if half_made { None } else { worktree.rescue(rescue)? };
        worktree.checkout_detached(base)?;
        if half_made {
            remove_if_there(&entry.join("locked"))?;
        }
        Ok(Added { worktree, how: Making::PutRight { rescued } })
    }
}

/// The folder of git that a worktree at `path` would have, if a crash has left it without a word about whose it is. Git
/// calls it after the worktree, with another sign for a dot at the beginning.
fn torn_entry(repo: &Repo, path: &Utf8Path) -> Option<Utf8PathBuf> {
    let name = path.file_name().unwrap_or_default();
    let name = name.strip_prefix('.').map_or_else(|| name.to_owned(), |rest| format!("-{rest}"));
    let entry = repo.common_dir().join("worktrees").join(name);
    let at = fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
    (entry.is_dir() && at.trim_end().is_empty()).then_some(entry)
}

fn is_ready(entry: &Utf8Path) -> bool {
    ready(entry).is_some_and(|mark| mark.split(' ').next() == Some(boot::id()))
}

fn ready(entry: &Utf8Path) -> Option<String> {
    fs::read_to_string(entry.join(READY)).ok().map(|mark| mark.trim_end().to_owned())
}

fn is_half_made(entry: &Utf8Path) -> bool {
    fs::read_to_string(entry.join("locked")).is_ok_and(|why| why.trim() == INITIALIZING)
}

/// Why it was locked, in brackets if a reason was given. Git's own word marks one that is not finished, and a power cut
/// may take that word: an empty lock counts only where the worktree was finished since.
pub(super) fn locked_by_a_person(entry: &Utf8Path) -> Option<String> {
    let why = fs::read_to_string(entry.join("locked")).ok()?.trim().to_owned();
    match why.as_str() {
        INITIALIZING => None,
        "" => is_ready(entry).then_some(why),
        _ => Some(format!(" ({why})")),
    }
}

/// The right to make worktrees and take them away. While it is held, none of ours is half made.
pub(super) fn lock_worktrees(repo: &Repo) -> Result<Arc<Lock>, GitError> {
    let lock = repo.take_lock("worktrees.lock")?;
    for entry in status::git_dirs(repo.common_dir()).into_iter().skip(1) {
        // A git that was killed just then left it empty, and no git can list worktrees any more.
        let common = entry.join("commondir");
        if is_torn(&common) {
            write(&common, "../..")?;
        }
    }
    Ok(lock)
}

/// What is at a worktree's path.
enum Folder {
    /// Nothing, or an empty folder.
    Free,
    /// Its `.git` names an entry of this repository, which need not exist.
    Ours {
        entry: Utf8PathBuf,
    },
    Foreign,
}

impl Folder {
    fn look(repo: &Repo, path: &Utf8Path) -> Result<Folder, GitError> {
        if path.is_symlink() {
            return Ok(Folder::Foreign);
        }
        if !path.exists() || is_empty(path) {
            return Ok(Folder::Free);
        }
        let worktrees = repo.common_dir().join("worktrees");
        if is_torn(&path.join(".git")) {
            return Ok(Folder::Ours { entry: free_entry(&worktrees, path) });
        }
        let Ok(text) = fs::read_to_string(path.join(".git")) else { return Ok(Folder::Foreign) };
        let Some(target) = text.trim_end().strip_prefix("gitdir: ") else { return Ok(Folder::Foreign) };
        let target = path.join(target);
        let target = private_dir::entry_of(&target).unwrap_or(target);
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Ok(Folder::Foreign);
        };
        // The entry may be gone, and with it the folder that held the last one.
        let parent = parent.canonicalize_utf8().unwrap_or_else(|_| parent.to_owned());
        if parent != worktrees {
            return Ok(Folder::Foreign);
        }
        Ok(Folder::Ours { entry: worktrees.join(name) })
    }
}

/// The entry in `<common>/worktrees` that belongs to `path`, whatever its health.
fn find_entry(repo: &Repo, path: &Utf8Path) -> Result<Option<Utf8PathBuf>, GitError> {
    let mut found: Vec<Utf8PathBuf> =
        entries(repo).filter(|(folder, _)| folder == path).map(|(_, entry)| entry).collect();
    // An agent in another worktree can write this path into its entry, and nothing into this one's folder.
    let own = found.iter().position(|entry| points_to(path, entry)).unwrap_or(0);
    Ok((!found.is_empty()).then(|| found.swap_remove(own)))
}

/// The innermost worktree that a path is in, and its entry.
pub(super) fn entry_around(repo: &Repo, path: &Utf8Path) -> Option<(Utf8PathBuf, Utf8PathBuf)> {
    let around = entries(repo).filter(|(folder, _)| path.starts_with(folder));
    around.max_by_key(|(folder, entry)| (folder.as_str().len(), points_to(folder, entry)))
}

/// The name of the record in Piton's folder that says which run has the worktree at `path`.
pub(crate) fn owner_record(piton: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    piton.join("worktrees").join(Digest::of_bytes(path.as_str().as_bytes()).short())
}

impl Repo {
    /// Whether a checkout is one of those that Piton makes. Who works in there can remove all marks but the record.
    pub(super) fn is_pitons(&self, checkout: &Utf8Path) -> bool {
        let Ok(Some(entry)) = find_entry(self, checkout) else { return false };
        let record = owner_record(&self.piton_dir(), checkout);
        let marks = [record, entry.join(READY), entry.join(place::RECORD)];
        entry != *self.git_dir() && marks.iter().any(|mark| mark.exists())
    }
}

/// The folders of all linked worktrees, each with its entry.
fn entries(repo: &Repo) -> impl Iterator<Item = (Utf8PathBuf, Utf8PathBuf)> {
    status::git_dirs(repo.common_dir()).into_iter().skip(1).filter_map(|entry| {
        let text = fs::read_to_string(entry.join("gitdir")).ok()?;
        // Relative with `worktree.useRelativePaths`.
        let dot_git = entry.join(text.trim_end());
        Some((absolute(dot_git.parent()?).ok()?, entry))
    })
}

/// Take one entry away whose folder is gone, keeping the commits that only its HEAD had.
fn forget(
    repo: &Repo,
    path: &Utf8Path,
    entry: &Utf8Path,
    rescue: &Rescue,
) -> Result<Option<Rescued>, GitError> {
    // Commits of an attempt may be in there.
    Worktree::at(repo, path, entry.to_owned()).rejoin()?;
    let head = fs::read_to_string(entry.join("HEAD")).unwrap_or_default();
    let head = oid(head.trim_end());
    let head = head.map(|head| repo.resolve(head.as_str())).and_then(Result::ok);
    let lonely = repo.lonely_commits(entry, head.as_ref(), rescue)?;
    let rescued = repo.rescue_commits(rescue, head, lonely)?;
    if let Some(parent) = path.parent() {
        // Git finds a worktree by its path only if the folder around it exists.
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
    }
    let remove = ["worktree", "remove", "--force", "--force", "--", path.as_str()];
    let answer = repo.git().call(remove).answer()?;
    if answer.code != Some(0) && find_entry(repo, path)?.is_some() {
        // Git does not take an entry it cannot read; this one belongs to a path that is ours.
        fs::remove_dir_all(entry).map_err(GitError::io(entry))?;
    }
    Ok(rescued)
}

/// Git does not sync what it makes for a worktree, and a power cut leaves it empty.
fn is_torn(file: &Utf8Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}

/// An entry that belongs to no folder, named like git would: the one whose file was lost, or a new one.
fn free_entry(worktrees: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    let name = path.file_name().unwrap_or("worktree").replace('.', "-");
    let names = std::iter::once(name.clone()).chain((1..).map(|n| format!("{name}{n}")));
    let is_free = |entry: &Utf8PathBuf| !entry.join("gitdir").exists() || is_torn(&entry.join("gitdir"));
    let mut entries = names.map(|name| worktrees.join(name)).filter(is_free);
    entries.next().expect("there is always another number")
}

/// Whether a worktree's `.git` names this entry, or the private git directory in it.
pub(super) fn points_to(path: &Utf8Path, entry: &Utf8Path) -> bool {
    let target = named_by(path).map(|target| private_dir::entry_of(&target).unwrap_or(target));
    target.and_then(|target| target.canonicalize_utf8().ok()).is_some_and(|target| target == entry)
}

/// The git directory that a worktree's `.git` names.
pub(super) fn named_by(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let text = fs::read_to_string(path.join(".git")).ok()?;
    Some(path.join(text.trim_end().strip_prefix("gitdir: ")?))
}

pub(super) fn point_to(path: &Utf8Path, git_dir: &Utf8Path) -> Result<(), GitError> {
    let named = named_by(path).and_then(|named| named.canonicalize_utf8().ok());
    if named.is_some_and(|named| named == git_dir) {
        return Ok(());
    }
    write(&path.join(".git"), &format!("gitdir: {git_dir}"))
}

/// Absolute and without links on the way there, where the last parts need not exist. Its own name is not followed: a
/// link in the place of a worktree is not the worktree.
fn absolute(path: &Utf8Path) -> Result<Utf8PathBuf, GitError> {
    let full = camino::absolute_utf8(path).map_err(GitError::io(path))?;
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else { return Ok(full) };
    for folder in parent.ancestors() {
        if let Ok(real) = folder.canonicalize_utf8() {
            let rest = parent.strip_prefix(folder).unwrap_or(Utf8Path::new(""));
            return Ok(if rest.as_str().is_empty() { real.join(name) } else { real.join(rest).join(name) });
        }
    }
    Ok(full)
}

pub(super) fn is_empty(path: &Utf8Path) -> bool {
    path.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_none())
}

/// A path's last part as a part of a ref name.
pub(super) fn ref_part(path: &Utf8Path) -> String {
    let name = path.file_name().unwrap_or("worktree");
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    name.trim_matches('-').to_owned()
}

pub(super) fn write(path: &Utf8Path, line: &str) -> Result<(), GitError> {
    if path.is_symlink() {
        // The agent that worked here may have put it in the way.
        remove_if_there(path)?;
    }
    disk::fill(path, format!("{line}\n").as_bytes()).map_err(GitError::io(path))
}

pub(super) fn remove_if_there(path: &Utf8Path) -> Result<bool, GitError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(GitError::io(path)(error)),
    }
}
