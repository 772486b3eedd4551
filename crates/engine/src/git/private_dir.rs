//! A private git directory for an attempt, for as long as its agent works behind a fence.
//!
//! The agent's git writes objects, refs, settings, HEAD and the index there and nowhere else. The objects of the
//! repository are its alternates, and its refs are a copy. So nothing that the agent does changes the repository, and
//! branches, stashes and bisects work. The worktree's `.git` names it while the attempt is under way. The worktree's
//! entry in the repository stays where the attempt began, so `git worktree list`, `gc` and `fsck` of a person find
//! everything that it names.
//!
//! After the attempt, [`Worktree::rejoin`] brings over what was made. What the agent wrote is read as plain files only, and
//! no git of ours takes a setting or a ref from there: one git packs objects from its object folder, another one checks
//! them as it unpacks them in the repository.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::{Call, fields, oid};
use super::durable::sync_files;
use super::error::GitError;
use super::exact::copy_with_age;
use super::index::Entry;
use super::lfs;
use super::reflog::named_in;
use super::refs::{self, OF_ONE_WORKTREE};
use super::repo::{ObjectFormat, Repo};
use super::skeleton::{self, AHEAD};
use super::status::heads_in;
use super::view::{OPERATION, SERIES};
use super::worktree::{Worktree, named_by, point_to, remove_if_there, write};
use crate::{clock, crash, disk};

/// Its name in the worktree's entry.
const OWN: &str = "piton-own";
/// While it is made, and while it goes.
const MAKING: &str = "piton-own.new";
const LEAVING: &str = "piton-own.old";
/// The git directories of submodules. Their checkouts name them, so they stay where they are.
const MODULES: &str = "modules";
/// From so many objects on they are brought over as a pack, since git syncs each loose object. It is git's own limit
/// for a fetch.
const PACK: u32 = 100;
/// A larger file is not part of an unfinished merge or rebase.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Git follows symbolic refs one level deeper, but no real repository needs that.
const STEPS: usize = 4;
/// Messages of a git process that failed because of the disk, and not because of what it read.
const DISK: [&str; 8] = [
    "No space left",
    "write error",
    "Read-only file system",
    "Input/output error",
    "quota exceeded",
    "ut of memory",
    "Too many open files",
    "unable to write",
];

impl Worktree {
    /// Give it a private git directory, at the commit and with the index that it has now. No agent may be at work in
    /// it.
    pub fn isolate(&self) -> Result<(), GitError> {
        self.rejoin_clearing(&[MAKING, LEAVING])?;
        let (repo, entry) = (self.repo(), self.git_dir());
        let head = self.head()?.ok_or_else(|| GitError::EmptyRepository { path: self.path().to_owned() })?;
        let (own, new, common) = (entry.join(OWN), entry.join(MAKING), repo.common_dir());
        match fs::rename(entry.join(AHEAD), &new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(GitError::io(new)(error)),
            _ => skeleton::make(&new, common)?,
        }
        write(&new.join("HEAD"), head.as_str())?;
        let alternates = [common.join("objects")].into_iter().chain(lfs::lend(repo, &new, &own)?);
        let alternates: String = alternates.map(|objects| format!("{objects}\n")).collect();
        fill(&new.join("objects/info/alternates"), &alternates)?;
        fill(&new.join("config"), &self.settings()?)?;
        fill(&new.join("packed-refs"), &snapshot(repo)?)?;
        for file in ["info/exclude", "info/attributes", "shallow"] {
            copy_plain(&common.join(file), &new.join(file))?;
        }
        copy_plain(&entry.join("info/sparse-checkout"), &new.join("info/sparse-checkout"))?;
        let index = entry.join("index");
        if !is_file(&index) {
            self.view()?.index().keep_if_made(entry)?;
        }
        fill_with_age(&index, &new.join("index"))?;
        carry_operation(entry, &new)?;
        if own.exists() {
            if own.join(MODULES).exists() {
                fs::rename(own.join(MODULES), new.join(MODULES)).map_err(GitError::io(&own))?;
            }
            fs::remove_dir(&own).map_err(GitError::io(&own))?;
        }
        fs::rename(&new, &own).map_err(GitError::io(new))?;
        crash::point("isolate.made");
        point_to(self.path(), &own)
    }

    /// Settings of the repository and of the worktree, for a git directory that is neither.
    fn settings(&self) -> Result<String, GitError> {
        let repo = self.repo();
        let own = fs::read_to_string(repo.common_dir().join("config")).unwrap_or_default();
        let mut extensions = String::new();
        if repo.format() == ObjectFormat::Sha256 {
            extensions.push_str("\tobjectFormat = sha256\n");
        }
        if own.to_ascii_lowercase().contains("partialclone") {
            let remote = repo.git().call(["config", "--get", "extensions.partialClone"]).answer()?;
            let remote = String::from_utf8_lossy(&remote.stdout).trim().to_owned();
            if !remote.is_empty() {
                extensions.push_str(&format!("\tpartialClone = {}\n", quoted(&remote)));
            }
        }
        let included = [repo.common_dir().join("config"), self.git_dir().join("config.worktree")];
        let included: String =
            included.iter().map(|file| format!("\tpath = {}\n", quoted(file.as_str()))).collect();
        let version = u8::from(!extensions.is_empty());
        // Settings about the format of a repository count only in this very file; of all others the last one counts.
        // Large files that an attempt adds stay in its own storage until it is over.
        Ok(format!(
            "[core]\n\trepositoryFormatVersion = {version}\n[extensions]\n{extensions}[include]\n{included}[core]\n\tbare = false\n[lfs]\n\tstorage = lfs\n"
        ))
    }

    /// Bring over what an attempt has made in a private git directory, and remove that directory. No agent may be at
    /// work in it. Returns what could not be brought over, if anything: its files are where they were.
    pub fn rejoin(&self) -> Result<Option<String>, GitError> {
        self.rejoin_clearing(&[AHEAD, MAKING, LEAVING])
    }

    /// The same, after removing these folders, which may be half made or half removed.
    fn rejoin_clearing(&self, halves: &[&str]) -> Result<Option<String>, GitError> {
        let entry = self.git_dir();
        clear(entry, halves)?;
        let own = entry.join(OWN);
        let is_used = is_used(&own);
        let mut lost = None;
        if is_used {
            // A commit names these files, so they come before it.
            lfs::bring_over(&own, self.repo())?;
            lost = Attempt::new(self, &own)?.bring_over()?;
            crash::point("rejoin.brought");
        }
        if named_by(self.path()).and_then(|named| entry_of(&named)).is_some() {
            point_to(self.path(), entry)?;
        }
        if is_used {
            fs::rename(&own, entry.join(LEAVING)).map_err(GitError::io(own))?;
            crash::point("rejoin.left");
            clear(entry, &[LEAVING])?;
        }
        Ok(lost)
    }
}

/// What an attempt has left in its private git directory.
struct Attempt<'a> {
    worktree: &'a Worktree,
    own: &'a Utf8Path,
    /// Where its HEAD is.
    head: Option<Oid>,
    /// Commits that its refs, logs and notes name.
    named: Vec<Oid>,
    /// What its index holds, if it has changed and can be read.
    index: Option<Vec<Oid>>,
    has_objects: bool,
}

impl<'a> Attempt<'a> {
    fn new(worktree: &'a Worktree, own: &'a Utf8Path) -> Result<Attempt<'a>, GitError> {
        let objects = own.join("objects");
        let has_objects = keep_objects(&objects)?;
        if has_objects {
            let info = objects.join("info");
            fs::create_dir_all(&info).map_err(GitError::io(&info))?;
            let shared = worktree.repo().common_dir().join("objects");
            write(&info.join("alternates"), shared.as_str())?;
        }
        let length = refs::length(worktree.repo().format());
        let packed = read_small(&own.join("packed-refs")).unwrap_or_default();
        let packed: HashMap<String, Oid> =
            refs::packed(&packed, length).unwrap_or_default().into_iter().collect();
        let mut named = named_in(own);
        named.extend(packed.values().cloned());
        let head = head_of(own, &packed);
        Ok(Attempt { worktree, own, head, named, index: None, has_objects })
    }

    fn bring_over(mut self) -> Result<Option<String>, GitError> {
        let worktree = self.worktree;
        let is_new = self.has_other_index();
        if is_new {
            self.index = self.objects_of_index()?;
        }
        let indexed = self.index.iter().flatten();
        let asked: BTreeSet<&Oid> = self.head.iter().chain(&self.named).chain(indexed).collect();
        let asked: Vec<&Oid> = asked.into_iter().collect();
        let missing: BTreeSet<Oid> = self.objects_in(Side::Repository, &asked)?.missing;
        let before = worktree.head()?;
        let made = if missing.is_empty() || !self.has_objects {
            Objects::default()
        } else {
            self.objects_in(Side::Attempt, &missing.iter().collect::<Vec<_>>())?
        };
        let is_new_commit =
            |oid: &&Oid| made.kinds.get(*oid).is_some_and(|kind| kind != "blob" && kind != "tree");
        let mut head = self.head.clone().filter(|head| !missing.contains(head) || is_new_commit(&head));
        let mut lonely: Vec<Oid> = self.named.iter().filter(is_new_commit).cloned().collect();
        lonely.retain(|oid| Some(oid) != head.as_ref());
        let mut index = self
            .index
            .clone()
            .filter(|index| index.iter().all(|oid| !missing.contains(oid) || made.kinds.contains_key(oid)));
        let new_head: BTreeSet<Oid> = head.iter().filter(|head| missing.contains(*head)).cloned().collect();
        let staged = index.iter().flatten().filter(|oid| missing.contains(*oid));
        let wanted: BTreeSet<Oid> = new_head.iter().chain(&lonely).chain(staged).cloned().collect();
        if !self.import(&wanted)? {
            // Something is damaged: bring over at least the commits of its HEAD.
            (lonely, index) = (Vec::new(), None);
            if !self.import(&new_head)? {
                head = None;
            }
        }
        let lost = (self.head.is_some() && head.is_none()).then(|| {
            "The commits of this attempt could not be taken over, because their objects are missing or damaged. Its files are used as they are".to_owned()
        });
        let entry = worktree.git_dir();
        let place = entry.join("index");
        match (is_new, index.is_some()) {
            (true, true) => {
                // Not written in place: a git process may be reading it.
                let near = entry.join("index.piton");
                copy_with_age(&self.own.join("index"), &near)?;
                fs::rename(&near, &place).map_err(GitError::io(place))?;
            }
            (true, false) => drop(remove_if_there(&place)?),
            (false, _) => {}
        }
        for commit in heads_in(&self.own.join("MERGE_HEAD")) {
            if !worktree.repo().has_object(&commit)? {
                // The merged commit is missing, so the merge cannot be continued.
                remove_if_there(&self.own.join("MERGE_HEAD"))?;
            }
        }
        carry_operation(self.own, entry)?;
        if let Some(before) = &before {
            self.record(before, &lonely)?;
        }
        if let Some(head) = head.filter(|head| Some(head) != before.as_ref()) {
            // A git process that made this lock is dead: only ours work in here now, one after the other.
            remove_if_there(&entry.join("HEAD.lock"))?;
            worktree.set_head(&head)?;
        }
        // The private git directory is removed next. It was synced when the agent ended, and these files replace it.
        let series =
            SERIES.iter().flat_map(|series| entry.join(series).read_dir_utf8().into_iter().flatten());
        let series = series.flatten().map(|file| file.path().to_owned());
        let files = OPERATION.iter().chain(&["ORIG_HEAD", "HEAD", "index", "logs/HEAD"]);
        let files = files.map(|file| entry.join(file)).chain(series);
        sync_files(entry, files.map(Utf8PathBuf::into_std_path_buf))?;
        Ok(lost)
    }

    /// Whether its index is not the one that it began with.
    fn has_other_index(&self) -> bool {
        let (own, before) = (self.own.join("index"), self.worktree.git_dir().join("index"));
        let read = |path: &Utf8Path| is_file(path).then(|| fs::read(path).ok()).flatten();
        match (read(&own), read(&before)) {
            (Some(own), Some(before)) => own != before,
            (None, None) => false,
            _ => true,
        }
    }

    /// `None`: there is no index that git can read.
    fn objects_of_index(&self) -> Result<Option<Vec<Oid>>, GitError> {
        let index = self.own.join("index");
        if !is_file(&index) {
            return Ok(None);
        }
        let call = self.call(Side::Attempt, ["ls-files", "--stage", "-z"]).env("GIT_INDEX_FILE", index);
        let answer = call.answer()?;
        let entries = fields(&answer.stdout).filter_map(Entry::parse);
        let objects = entries.filter(|entry| entry.mode != "160000").map(|entry| entry.oid);
        Ok((answer.code == Some(0)).then(|| objects.collect()))
    }

    /// Which of these objects there are.
    fn objects_in(&self, side: Side, asked: &[&Oid]) -> Result<Objects, GitError> {
        let mut objects = Objects::default();
        if asked.is_empty() {
            return Ok(objects);
        }
        let list: String = asked.iter().map(|oid| format!("{oid}\n")).collect();
        let call = self.call(side, ["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
        let answer = call.fed_by(self.file(&list)?).bytes()?;
        for line in String::from_utf8_lossy(&answer).lines() {
            let Some((name, kind)) = line.split_once(' ') else { continue };
            let Some(name) = oid(name) else { continue };
            match kind {
                "missing" => drop(objects.missing.insert(name)),
                kind => drop(objects.kinds.insert(name, kind.to_owned())),
            }
        }
        Ok(objects)
    }

    /// Bring objects over with all that they need. `false`: they, or something that they need, are damaged or not there.
    fn import(&self, wanted: &BTreeSet<Oid>) -> Result<bool, GitError> {
        if wanted.is_empty() {
            return Ok(true);
        }
        let known = self.known()?;
        let list =
            wanted.iter().map(|oid| format!("{oid}\n")).chain(known.iter().map(|oid| format!("^{oid}\n")));
        let list = self.file(&list.collect::<String>())?;
        let share = |file: &File| file.try_clone().map_err(GitError::io(self.own));
        let mut pack = self.file("")?;
        let call = self.call(Side::Attempt, ["pack-objects", "--quiet", "--stdout", "--revs"]);
        let answer = call.fed_by(share(&list)?).into_file(share(&pack)?).answer()?;
        if answer.code != Some(0) {
            return is_content(&answer.stderr).then_some(false).ok_or_else(|| answer.failed());
        }
        let count = count_of(&mut pack).map_err(GitError::io(self.own))?;
        if count > 0 {
            let unpack: &[&str] = match count < PACK {
                true => &["unpack-objects", "-q", "--strict"],
                false => &["index-pack", "--stdin", "--strict"],
            };
            let answer = self.call(Side::Repository, unpack.iter().copied()).fed_by(pack).answer()?;
            if answer.code != Some(0) {
                return is_content(&answer.stderr).then_some(false).ok_or_else(|| answer.failed());
            }
        }
        crash::point("rejoin.objects");
        // This checks objects by the hash of their content, and not by their file names.
        let call = self.call(Side::Repository, ["rev-list", "--objects", "--quiet", "--stdin"]);
        Ok(call.fed_by(list).answer()?.code == Some(0))
    }

    /// Commits that the repository has completely: those of its refs, and the one where the attempt began.
    fn known(&self) -> Result<Vec<Oid>, GitError> {
        let refs: BTreeSet<Oid> =
            all_refs(self.worktree.repo())?.into_values().chain(self.worktree.head()?).collect();
        let there = self.objects_in(Side::Repository, &refs.iter().collect::<Vec<_>>())?;
        Ok(there.kinds.into_keys().collect())
    }

    /// Record commits that nothing else names in the log of HEAD: they are found there when the worktree is removed,
    /// and `git gc` looks there.
    fn record(&self, head: &Oid, lonely: &[Oid]) -> Result<(), GitError> {
        let entry = self.worktree.git_dir();
        let (folder, log) = (entry.join("logs"), entry.join("logs/HEAD"));
        // Its other files name commits as well, and `git gc` does not look at those.
        let known = disk::read_plain(&log).unwrap_or_default();
        let known = String::from_utf8_lossy(&known);
        let lonely: Vec<&Oid> = lonely.iter().filter(|oid| !known.contains(oid.as_str())).collect();
        if lonely.is_empty() {
            return Ok(());
        }
        for path in [&folder, &log] {
            if path.is_symlink() {
                // A link would be followed.
                remove_if_there(path)?;
            }
        }
        fs::create_dir_all(&folder).map_err(GitError::io(&folder))?;
        let seconds = clock::now().0 / 1000;
        let line = |from: &Oid, to: &Oid| {
            format!("{from} {to} Piton <piton@localhost> {seconds} +0000\tpiton: made in an attempt\n")
        };
        let lines: String = lonely.iter().map(|oid| line(head, oid) + &line(oid, head)).collect();
        let open = File::options().append(true).create(true).open(&log);
        open.and_then(|mut open| open.write_all(lines.as_bytes())).map_err(GitError::io(log))
    }

    /// A git of ours, with the settings and refs of the repository.
    fn call<'s>(&self, side: Side, args: impl IntoIterator<Item = &'s str>) -> Call<'_> {
        let call = self.worktree.repo().git().call(args);
        match side {
            Side::Repository => call,
            Side::Attempt => call.env("GIT_OBJECT_DIRECTORY", self.own.join("objects").as_str()),
        }
    }

    /// An unnamed temporary file, on the disk that has room for objects.
    fn file(&self, text: &str) -> Result<File, GitError> {
        let made = tempfile::tempfile_in(self.worktree.git_dir());
        let filled = made.and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file));
        filled.map_err(GitError::io(self.worktree.git_dir()))
    }
}

/// Whose objects a git sees.
#[derive(Clone, Copy)]
enum Side {
    Repository,
    /// Those of the attempt, too.
    Attempt,
}

#[derive(Default)]
struct Objects {
    kinds: HashMap<Oid, String>,
    missing: BTreeSet<Oid>,
}

/// Whether a git process failed because of what it read.
fn is_content(stderr: &str) -> bool {
    !DISK.iter().any(|trouble| stderr.contains(trouble))
}

/// How many objects a pack says that it holds.
fn count_of(pack: &mut File) -> io::Result<u32> {
    let mut head = [0; 12];
    pack.rewind()?;
    pack.read_exact(&mut head)?;
    Ok(u32::from_be_bytes([head[8], head[9], head[10], head[11]]))
}

/// The worktree's entry that a private git directory is in, by its path alone.
pub(super) fn entry_of(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let entry = git_dir.parent().filter(|_| git_dir.file_name() == Some(OWN))?;
    (entry.parent()?.file_name() == Some("worktrees")).then(|| entry.to_owned())
}

/// The worktree around a path, its entry and the repository's git directory, if its `.git` names a private git directory.
pub(super) fn around(path: &Utf8Path) -> Option<(Utf8PathBuf, Utf8PathBuf, Utf8PathBuf)> {
    let top = path.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let entry = entry_of(&named_by(top)?)?.canonicalize_utf8().ok()?;
    let common = entry.parent()?.parent()?.to_owned();
    belongs_to(&entry, top).then(|| (top.to_owned(), entry, common))
}

/// The private git directory of the worktree at `place` in a repository, if it has one now.
pub(crate) fn private_dir(common: &Utf8Path, place: &Utf8Path) -> Option<Utf8PathBuf> {
    let own = named_by(place)?.canonicalize_utf8().ok()?;
    let entry = entry_of(&own)?;
    (entry.parent() == Some(&common.join("worktrees")) && belongs_to(&entry, place)).then_some(own)
}

/// Whether an entry says that it is this worktree's. An agent can write the `.git` of its worktree, but not what the
/// entry of another one says.
fn belongs_to(entry: &Utf8Path, top: &Utf8Path) -> bool {
    let Ok(back) = fs::read_to_string(entry.join("gitdir")) else { return false };
    let folder = entry.join(back.trim_end()).parent().and_then(|folder| folder.canonicalize_utf8().ok());
    folder.is_some() && folder == top.canonicalize_utf8().ok()
}

/// Make git look at the files again: after a power cut an index may call torn files unchanged.
pub(super) fn forget_index(entry: &Utf8Path) -> Result<(), GitError> {
    let index = entry.join(OWN).join("index");
    if index.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
        remove_if_there(&index).map(drop)
    } else {
        Ok(())
    }
}

/// Whether there is more than what stays between attempts.
fn is_used(own: &Utf8Path) -> bool {
    let is_folder = own.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    is_folder && own.read_dir_utf8().into_iter().flatten().flatten().any(|entry| entry.file_name() != MODULES)
}

/// Remove what is half made or half removed, except the repositories of submodules, which go back to their place.
fn clear(entry: &Utf8Path, halves: &[&str]) -> Result<(), GitError> {
    let own = entry.join(OWN);
    for half in halves.iter().map(|name| entry.join(name)) {
        if half.symlink_metadata().is_err() {
            continue;
        }
        let is_folder = |path: &Utf8Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let modules = half.join(MODULES);
        if is_folder(&modules) {
            fs::create_dir_all(&own).map_err(GitError::io(&own))?;
            fs::rename(&modules, own.join(MODULES)).map_err(GitError::io(modules))?;
        }
        match is_folder(&half) {
            true => disk::remove_folder(&half, |_, _| true).map_err(GitError::io(half))?,
            false => drop(remove_if_there(&half)?),
        }
    }
    Ok(())
}

/// Remove everything from an object folder except files that can be objects. Returns whether there is one. Other files
/// that git keeps there are derived from objects or lead elsewhere, and the agent may have written them.
fn keep_objects(objects: &Utf8Path) -> Result<bool, GitError> {
    if !objects.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(false);
    }
    let is_hex = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = false;
    for folder in objects.read_dir_utf8().map_err(GitError::io(objects))?.flatten() {
        let (path, name) = (folder.path(), folder.file_name());
        if !folder.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_if_there(path)?;
            continue;
        }
        let is_loose = name.len() == 2 && is_hex(name);
        if !is_loose && name != "pack" {
            disk::remove_folder(path, |_, _| true).map_err(GitError::io(path))?;
            continue;
        }
        for file in path.read_dir_utf8().map_err(GitError::io(path))?.flatten() {
            let (path, name) = (file.path(), file.file_name());
            let is_object =
                if is_loose { is_hex(name) } else { matches!(path.extension(), Some("pack" | "idx")) };
            let kind = file.file_type().map_err(GitError::io(path))?;
            match (kind.is_dir(), kind.is_file() && is_object) {
                (true, _) => disk::remove_folder(path, |_, _| true).map_err(GitError::io(path))?,
                (false, true) => found = true,
                (false, false) => drop(remove_if_there(path)?),
            }
        }
    }
    Ok(found)
}

/// Where HEAD of a git directory is, by its files alone.
fn head_of(own: &Utf8Path, packed: &HashMap<String, Oid>) -> Option<Oid> {
    let mut name = "HEAD".to_owned();
    for _ in 0..STEPS {
        let Some(bytes) = read_small(&own.join(&name)) else { return packed.get(&name).cloned() };
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        match text.strip_prefix("ref:") {
            None => return oid(&text),
            Some(other) => name = other.trim_start().to_owned(),
        }
        if !name.starts_with("refs/") || !refs::is_plain(&name) {
            return None;
        }
    }
    None
}

/// The refs of a repository, as one file. Without the person's stash, which the agent must not pop, and without refs
/// that belong to a single worktree.
fn snapshot(repo: &Repo) -> Result<String, GitError> {
    let all = all_refs(repo)?;
    let is_shared = |name: &str| {
        name != "refs/stash" && !OF_ONE_WORKTREE.iter().any(|own| name.starts_with(&format!("{own}/")))
    };
    let shared = all.iter().filter(|(name, _)| is_shared(name));
    Ok(shared.map(|(name, oid)| format!("{oid} {name}\n")).collect())
}

fn all_refs(repo: &Repo) -> Result<BTreeMap<String, Oid>, GitError> {
    repo.refs_in_files().map_or_else(|| repo.all_refs(), Ok)
}

/// Copy the unfinished merge, pick or rebase of one git directory into another one.
fn carry_operation(from: &Utf8Path, to: &Utf8Path) -> Result<(), GitError> {
    for file in OPERATION.iter().copied().chain(["ORIG_HEAD"]) {
        remove_if_there(&to.join(file))?;
        copy_plain(&from.join(file), &to.join(file))?;
    }
    for series in SERIES {
        let (from, to) = (from.join(series), to.join(series));
        match to.symlink_metadata() {
            Ok(meta) if meta.is_dir() => disk::remove_folder(&to, |_, _| true).map_err(GitError::io(&to))?,
            Ok(_) => drop(remove_if_there(&to)?),
            Err(_) => {}
        }
        if !from.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        fs::create_dir(&to).map_err(GitError::io(&to))?;
        for file in from.read_dir_utf8().map_err(GitError::io(&from))?.flatten() {
            copy_plain(file.path(), &to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// Copy a file, if it is a regular one and not large. Symbolic links are not followed.
fn copy_plain(from: &Utf8Path, to: &Utf8Path) -> Result<(), GitError> {
    match read_small(from) {
        Some(bytes) => {
            if to.is_symlink() {
                remove_if_there(to)?;
            }
            disk::fill(to, &bytes).map_err(GitError::io(to))
        }
        None => Ok(()),
    }
}

fn read_small(path: &Utf8Path) -> Option<Vec<u8>> {
    let meta = path.symlink_metadata().ok()?;
    (meta.is_file() && meta.len() <= LARGEST).then(|| fs::read(path).ok()).flatten()
}

/// Copy the index into a file of our own. Its age says which files git has to look at again.
fn fill_with_age(from: &Utf8Path, to: &Utf8Path) -> Result<(), GitError> {
    let (bytes, age) = fs::read(from)
        .and_then(|bytes| Ok((bytes, fs::metadata(from)?.modified()?)))
        .map_err(GitError::io(from))?;
    let set = || File::options().write(true).open(to)?.set_modified(age);
    disk::fill(to, &bytes).and_then(|()| set()).map_err(GitError::io(to))
}

fn is_file(path: &Utf8Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

fn fill(path: &Utf8Path, text: &str) -> Result<(), GitError> {
    disk::fill(path, text.as_bytes()).map_err(GitError::io(path))
}

/// A value for git's settings.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
