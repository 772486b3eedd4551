//! A repository: where it is, what it holds, which checkouts it has.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Oid;

use super::command::{Git, fields, lossy, oid};
use super::error::GitError;
use super::index::Scratch;
use super::merge::Difference;
use super::private_dir;
use super::resident::{Oracle, Scribe};
use crate::disk;
use crate::lock::Lock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

/// A repository seen from one of its checkouts.
#[derive(Debug, Clone)]
pub struct Repo {
    git: Git,
    given: Utf8PathBuf,
    top: Utf8PathBuf,
    common: Utf8PathBuf,
    git_dir: Utf8PathBuf,
    format: ObjectFormat,
    submodules: bool,
    known: Arc<Known>,
    scribe: Arc<Scribe>,
    /// Piton's own folder, where the repository is Piton's own and lies in it.
    home: Option<Utf8PathBuf>,
    /// The temporary folder of a read-only repository, which writes nothing else.
    scratch: Option<Arc<Scratch>>,
}

/// Answers that need not be asked for again.
#[derive(Debug)]
struct Known {
    oracle: Oracle,
    identity: OnceLock<Identity>,
    signs: OnceLock<bool>,
    lfs_storage: OnceLock<String>,
    /// Folders that were found fit to make worktrees in.
    fit: Mutex<HashSet<Utf8PathBuf>>,
    /// What was last found to differ, and between which trees.
    differences: Mutex<Option<(Trees, Arc<Vec<Difference>>)>>,
}

impl Known {
    fn new(oracle: Oracle) -> Known {
        Known {
            oracle,
            identity: OnceLock::new(),
            signs: OnceLock::new(),
            lfs_storage: OnceLock::new(),
            fit: Mutex::default(),
            differences: Mutex::default(),
        }
    }
}

type Trees = (Oid, Oid);

/// The settings that say whether commits are signed.
const SIGNING: &str = r"^(commit\.gpgsign|piton\.sign)$";

/// One entry of `git worktree list`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    pub path: Utf8PathBuf,
    pub head: Option<Oid>,
    /// Without `refs/heads/`; `None` when detached.
    pub branch: Option<String>,
    pub bare: bool,
    pub locked: Option<String>,
    /// Why git would prune it: its folder is gone, for instance.
    pub prunable: Option<String>,
}

/// Whose name our own commits carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
    /// `false`: git's configuration does not name the user, and these are Piton's own.
    pub configured: bool,
}

impl Repo {
    pub fn discover(path: &Utf8Path) -> Result<Repo, GitError> {
        Repo::discover_with(&Git::new(path), path)
    }

    /// The same with a git handle of the caller's: its environment and guard stay.
    pub fn discover_with(git: &Git, path: &Utf8Path) -> Result<Repo, GitError> {
        let given = path.canonicalize_utf8().map_err(GitError::io(path))?;
        // The private git directory of an attempt is only for the agent's git.
        let private = private_dir::around(&given);
        let git = match &private {
            Some((top, entry, common)) => git.in_place(top, entry, common, &entry.join("index")),
            None => git.at(&given),
        };
        let Facts { format, common, git_dir, top, has_commit } = facts(&git, &given)?;
        let submodules = top.join(".gitmodules").exists();
        let oracle = Oracle::new(&git, &common);
        let known = Arc::new(Known::new(oracle));
        let repo = Repo {
            git: if private.is_some() { git } else { git.at(&top) },
            given,
            top,
            common,
            git_dir,
            format,
            submodules,
            known,
            scribe: Arc::default(),
            home: None,
            scratch: None,
        };
        if has_commit { Ok(repo) } else { Err(GitError::EmptyRepository { path: repo.top }) }
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The same repository, every git command of which holds `guard`.
    pub fn guarded_by(&self, guard: Arc<Lock>) -> Repo {
        // The process that writes refs for it holds the same guard.
        Repo { git: self.git.guarded_by(guard), scribe: Arc::default(), ..self.clone() }
    }

    /// The same repository as Piton's own, which no other program uses.
    pub(super) fn kept_in(self, home: &Utf8Path) -> Repo {
        Repo { home: Some(home.to_owned()), ..self }
    }

    pub(super) fn looking_with(&self, git: Git, scratch: Scratch) -> Repo {
        // The git that answers questions has to see the objects that a look makes.
        let known = Arc::new(Known::new(Oracle::new(&git, &self.common)));
        Repo { git, known, scratch: Some(Arc::new(scratch)), ..self.clone() }
    }

    pub(super) fn is_for_looking(&self) -> bool {
        self.scratch.is_some()
    }

    /// Of one that is for looking: where its temporary files are.
    pub(super) fn scratch(&self) -> Option<&Scratch> {
        self.scratch.as_deref()
    }

    /// Whether it is Piton's own, and not the person's.
    pub fn is_own(&self) -> bool {
        self.home.is_some()
    }

    /// The top of the checkout it was found from.
    pub fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// The folder it was found from, which may be below [`Repo::top`].
    pub fn given(&self) -> &Utf8Path {
        &self.given
    }

    /// Where `given` lies below the top, if it is not the top: the project is part of a larger repository.
    pub fn subdirectory(&self) -> Option<&Utf8Path> {
        self.given.strip_prefix(&self.top).ok().filter(|rest| !rest.as_str().is_empty())
    }

    /// The git directory all worktrees share.
    pub fn common_dir(&self) -> &Utf8Path {
        &self.common
    }

    /// This checkout's own git directory.
    pub fn git_dir(&self) -> &Utf8Path {
        &self.git_dir
    }

    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Submodules are left alone: worth a warning, since checks may need them.
    pub fn has_submodules(&self) -> bool {
        self.submodules
    }

    pub fn is_linked_worktree(&self) -> bool {
        self.git_dir != self.common
    }

    /// The checkout the repository was made with; a bare one with worktrees has none.
    pub fn main_checkout(&self) -> Result<Option<Utf8PathBuf>, GitError> {
        Ok(self.checkouts()?.into_iter().next().filter(|first| !first.bare).map(|first| first.path))
    }

    pub fn current_branch(&self) -> Result<String, GitError> {
        let answer = self.git.call(["symbolic-ref", "--quiet", "HEAD"]).answer()?;
        match answer.code {
            Some(0) => {
                let name = lossy(&answer.stdout).trim_end().to_owned();
                Ok(name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name))
            }
            Some(1) => Err(GitError::DetachedHead { path: self.top.clone() }),
            _ => Err(answer.failed()),
        }
    }

    /// The branch that `origin/HEAD` names: the main one of where the repository was cloned from, as far as git knows it.
    pub fn branch_of_origin(&self) -> Result<Option<String>, GitError> {
        const PREFIX: &str = "refs/remotes/origin/";
        let answer = self.git.call(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).answer()?;
        match answer.code {
            Some(0) => Ok(lossy(&answer.stdout).trim_end().strip_prefix(PREFIX).map(str::to_owned)),
            Some(1) => Ok(None),
            _ => Err(answer.failed()),
        }
    }

    /// The remotes, each with its URL.
    pub fn remotes(&self) -> Result<Vec<(String, String)>, GitError> {
        let answer = self.git.call(["remote", "-v"]).answer()?;
        if answer.code != Some(0) {
            return Err(answer.failed());
        }
        let text = lossy(&answer.stdout);
        let fetched = text.lines().filter_map(|line| line.strip_suffix(" (fetch)"));
        let named = fetched.filter_map(|line| line.split_once('\t'));
        Ok(named.map(|(name, url)| (name.to_owned(), url.to_owned())).collect())
    }

    pub fn branch_tip(&self, branch: &str) -> Result<Option<Oid>, GitError> {
        let name = super::branch::branch_ref(branch)?;
        match self.ref_in_file(&name) {
            Some(tip) => Ok(Some(tip)),
            None => self.ref_tip(&name),
        }
    }

    pub(super) fn write_refs(&self, lines: &str) -> Result<(), GitError> {
        self.scribe.write(&self.git, &self.common, lines)
    }

    /// The commit at a ref, named in full.
    pub(super) fn ref_tip(&self, name: &str) -> Result<Option<Oid>, GitError> {
        self.known.oracle.ask(&format!("{name}^{{commit}}"))
    }

    /// The commit a revision names.
    pub fn resolve(&self, revision: &str) -> Result<Oid, GitError> {
        self.resolve_quietly(revision)?.ok_or_else(|| GitError::UnknownRevision(revision.to_owned()))
    }

    fn resolve_quietly(&self, revision: &str) -> Result<Option<Oid>, GitError> {
        resolve(&self.git, revision)
    }

    /// The commit whose name begins with these digits, if there is one and no other.
    pub fn find_commit(&self, digits: &str) -> Result<Option<Oid>, GitError> {
        let found = self.resolve_quietly(digits)?;
        // A branch may have such a name.
        Ok(found.filter(|found| found.as_str().starts_with(digits)))
    }

    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        let tree = self.known.oracle.ask(&format!("{commit}^{{tree}}"))?;
        tree.ok_or_else(|| GitError::UnknownRevision(commit.to_string()))
    }

    pub(super) fn has_object(&self, oid: &Oid) -> Result<bool, GitError> {
        Ok(self.known.oracle.ask(oid.as_str())?.is_some())
    }

    /// Whether a commit has a file or a folder at `path`.
    pub fn has(&self, commit: &Oid, path: &str) -> Result<bool, GitError> {
        Ok(self.known.oracle.ask(&format!("{commit}:{path}"))?.is_some())
    }

    /// The commit that a commit was made on.
    pub fn parent(&self, commit: &Oid) -> Result<Option<Oid>, GitError> {
        self.known.oracle.ask(&format!("{commit}^1"))
    }

    pub fn is_ancestor(&self, ancestor: &Oid, descendant: &Oid) -> Result<bool, GitError> {
        if ancestor == descendant {
            return Ok(true);
        }
        self.git.call(["merge-base", "--is-ancestor", ancestor.as_str(), descendant.as_str()]).yes()
    }

    /// Whether `commit` was merged into `tip`, a few merges back at most. `false` means nothing.
    pub(super) fn is_recent(&self, commit: &Oid, tip: &Oid) -> Result<bool, GitError> {
        const FEW: usize = 16;
        let mut merge = tip.clone();
        for _ in 0..FEW {
            if self.known.oracle.ask(&format!("{merge}^2"))?.as_ref() == Some(commit) {
                return Ok(true);
            }
            match self.known.oracle.ask(&format!("{merge}^1"))? {
                Some(before) => merge = before,
                None => break,
            }
        }
        Ok(false)
    }

    /// The commits that `tips` have and `known` does not, newest first.
    pub fn beyond(&self, known: &Oid, tips: &[&Oid]) -> Result<Vec<Oid>, GitError> {
        let tips = tips.iter().map(|tip| tip.as_str());
        let list = self.git.call(["rev-list"]).args(tips).args(["--not", known.as_str(), "--"]).line()?;
        Ok(list.lines().filter_map(oid).collect())
    }

    pub fn reachable_from(&self, tip: &Oid) -> Result<HashSet<Oid>, GitError> {
        let list = self.git.call(["rev-list", "--end-of-options", tip.as_str(), "--"]).line()?;
        Ok(list.lines().filter_map(oid).collect())
    }

    /// The identity that the user configured in git, or Piton's. What git would guess from the host is not used.
    pub fn identity(&self) -> Result<&Identity, GitError> {
        match self.known.identity.get() {
            Some(identity) => Ok(identity),
            None => self.ask_identity().map(|identity| self.known.identity.get_or_init(|| identity)),
        }
    }

    fn ask_identity(&self) -> Result<Identity, GitError> {
        let call =
            self.git.call(["var", "GIT_COMMITTER_IDENT"]).global("-c").global("user.useConfigOnly=true");
        let answer = call.answer()?;
        let known = (answer.code == Some(0)).then(|| lossy(&answer.stdout));
        let known =
            known.as_deref().and_then(|line| line.rsplit_once('>')).and_then(|(who, _)| who.split_once(" <"));
        Ok(match known {
            Some((name, email)) => {
                Identity { name: name.to_owned(), email: email.to_owned(), configured: true }
            }
            None => {
                Identity { name: "Piton".to_owned(), email: "piton@localhost".to_owned(), configured: false }
            }
        })
    }

    /// Whether commits that become part of the person's history are signed: as theirs are, unless they say otherwise.
    pub fn signs(&self) -> Result<bool, GitError> {
        if let Some(signs) = self.known.signs.get() {
            return Ok(*signs);
        }
        let asked = ["config", "--show-scope", "--type=bool", "--get-regexp", SIGNING];
        let answer = self.git.call(asked).answer()?;
        // Settings of this very command are not the person's.
        let said = lossy(&answer.stdout);
        let said = said.lines().filter(|line| !line.starts_with("command"));
        // A scope, a tab, a name and a value. Of several, the last one counts.
        let said = said.filter_map(|line| line.split_once('\t')?.1.split_once(' '));
        let is = |key: &str| said.clone().rfind(|(name, _)| *name == key).map(|(_, value)| value == "true");
        let signs = is("piton.sign").or_else(|| is("commit.gpgsign")).unwrap_or(false);
        Ok(*self.known.signs.get_or_init(|| signs))
    }

    /// The folder in which the person's git-lfs keeps files, as they named it; empty if they did not.
    pub(super) fn lfs_storage_setting(&self) -> Result<String, GitError> {
        if let Some(storage) = self.known.lfs_storage.get() {
            return Ok(storage.clone());
        }
        let answer = self.git.call(["config", "--get", "lfs.storage"]).answer()?;
        let storage = lossy(&answer.stdout).trim_end_matches('\n').to_owned();
        Ok(self.known.lfs_storage.get_or_init(|| storage).clone())
    }

    /// The variables that make `git commit` sign with the right names.
    pub(super) fn identity_env(&self, author: Option<&str>) -> Result<Vec<(&'static str, String)>, GitError> {
        let committer = self.identity()?;
        let (name, email) = match author {
            None => (committer.name.clone(), committer.email.clone()),
            Some(text) => {
                let bad = || GitError::BadAuthor(text.to_owned());
                let (name, email) =
                    text.trim().strip_suffix('>').and_then(|t| t.split_once('<')).ok_or_else(bad)?;
                (name.trim().to_owned(), email.trim().to_owned())
            }
        };
        Ok(vec![
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", email),
            ("GIT_COMMITTER_NAME", committer.name.clone()),
            ("GIT_COMMITTER_EMAIL", committer.email.clone()),
        ])
    }

    pub(super) fn last_differences(&self, asked: &Trees) -> Option<Arc<Vec<Difference>>> {
        let last = self.known.differences.lock().ok()?;
        last.as_ref().filter(|(trees, _)| trees == asked).map(|(_, found)| Arc::clone(found))
    }

    pub(super) fn keep_differences(&self, asked: Trees, found: Vec<Difference>) -> Arc<Vec<Difference>> {
        let found = Arc::new(found);
        if let Ok(mut last) = self.known.differences.lock() {
            *last = Some((asked, Arc::clone(&found)));
        }
        found
    }

    pub(super) fn is_fit(&self, folder: &Utf8Path) -> bool {
        self.known.fit.lock().is_ok_and(|fit| fit.contains(folder))
    }

    pub(super) fn call_fit(&self, folder: &Utf8Path) {
        if let Ok(mut fit) = self.known.fit.lock() {
            fit.insert(folder.to_owned());
        }
    }

    /// Whether worktrees may be made in `folder`; changes nothing.
    pub fn check_worktree_dir(&self, folder: &Utf8Path) -> Result<(), GitError> {
        super::surroundings::repository_around(self, &folder.join("worktree")).map(drop)
    }

    /// Whether `author` is of the form `Name <email>`.
    pub fn check_author(&self, author: &str) -> Result<(), GitError> {
        self.identity_env(Some(author)).map(drop)
    }

    /// Keep a file that was copied into a worktree out of its commits.
    pub fn exclude(&self, file: &str) -> Result<(), GitError> {
        super::surroundings::exclude(self, file)
    }

    /// The same for everything whose path begins so.
    pub fn exclude_beginning(&self, path: &str) -> Result<(), GitError> {
        super::surroundings::exclude_beginning(self, path)
    }

    pub fn checkouts(&self) -> Result<Vec<Checkout>, GitError> {
        let list = || self.git.call(["worktree", "list", "--porcelain", "-z"]).bytes();
        let list = list().or_else(|_| {
            // Git cannot list while one is being made, nor once that was cut off at the wrong moment.
            let _lock = super::worktree::lock_worktrees(self)?;
            list()
        })?;
        Ok(read_checkouts(&list))
    }

    /// Piton's own folder: in the git directory, or around it.
    pub fn piton_dir(&self) -> Utf8PathBuf {
        self.home.clone().unwrap_or_else(|| self.common.join("piton"))
    }

    /// Whether git would ignore any of these paths, or cannot add it. They need not exist.
    pub fn ignores(&self, paths: &[String]) -> Result<bool, GitError> {
        if paths.is_empty() {
            return Ok(false);
        }
        // This command takes paths and not patterns, and rejects the option that says so.
        let paths = paths.iter().map(|path| format!("./{path}"));
        let call = self.git.call(["check-ignore", "--"]).env("GIT_LITERAL_PATHSPECS", "0").args(paths);
        let answer = call.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) if answer.stderr.contains("beyond a symbolic link") => Ok(true),
            _ => Err(answer.failed()),
        }
    }

    pub(super) fn take_lock(&self, name: &str) -> Result<Arc<Lock>, GitError> {
        let path = self.lock_path(name)?;
        Lock::take(&path).map(Arc::new).map_err(GitError::io(path))
    }

    pub(super) fn lock_path(&self, name: &str) -> Result<Utf8PathBuf, GitError> {
        let own = self.piton_dir();
        disk::private_folder(&own).map_err(GitError::io(own.clone()))?;
        Ok(own.join("locks").join(name))
    }
}

pub(super) fn resolve(git: &Git, revision: &str) -> Result<Option<Oid>, GitError> {
    let commit = format!("{revision}^{{commit}}");
    let answer = git.call(["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).answer()?;
    match answer.code {
        Some(0) => match oid(lossy(&answer.stdout).trim_end()) {
            Some(oid) => Ok(Some(oid)),
            None => Err(answer.unexpected()),
        },
        Some(1) => Ok(None),
        // Git cannot parse the revision, or it names no commit.
        Some(128) if !answer.stderr.contains("not a git repository") => Ok(None),
        _ => Err(answer.failed()),
    }
}

/// What `worktree list --porcelain -z` lists.
pub(super) fn read_checkouts(list: &[u8]) -> Vec<Checkout> {
    let mut found: Vec<Checkout> = Vec::new();
    for field in fields(list) {
        let text = lossy(field);
        let (key, value) = text.split_once(' ').unwrap_or((&text, ""));
        if key == "worktree" {
            found.push(Checkout { path: value.into(), ..Checkout::default() });
        }
        let Some(last) = found.last_mut() else { continue };
        match key {
            "HEAD" => last.head = oid(value).filter(|oid| oid.as_str().bytes().any(|b| b != b'0')),
            "branch" => last.branch = Some(value.strip_prefix("refs/heads/").unwrap_or(value).to_owned()),
            "bare" => last.bare = true,
            "locked" => last.locked = Some(value.to_owned()),
            "prunable" => last.prunable = Some(value.to_owned()),
            _ => {}
        }
    }
    found
}

/// What git reports about a folder.
struct Facts {
    format: ObjectFormat,
    common: Utf8PathBuf,
    git_dir: Utf8PathBuf,
    top: Utf8PathBuf,
    has_commit: bool,
}

/// Ask git once: a whole ledger command takes hardly longer than one git process.
fn facts(git: &Git, given: &Utf8Path) -> Result<Facts, GitError> {
    const PLACES: [&str; 3] = ["--git-common-dir", "--absolute-git-dir", "--show-toplevel"];
    let kinds = ["--is-bare-repository", "--is-inside-work-tree", "--show-object-format"];
    let call = git.call(["rev-parse"]).args(kinds).args(["--path-format=absolute"]).args(PLACES);
    let answer = call.args(["HEAD^{commit}"]).answer()?;
    let text = lossy(&answer.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let [bare, inside, format, common, places @ ..] = lines.as_slice() else {
        git.version()?;
        let nothing_here = answer.stderr.contains("not a git repository");
        let path = given.to_owned();
        return Err(if nothing_here { GitError::NotARepository { path } } else { answer.failed() });
    };
    if *bare == "true" {
        return Err(GitError::Bare { path: real(Utf8Path::new(common))? });
    }
    if *inside != "true" {
        // Inside `.git` itself.
        return Err(GitError::NotARepository { path: given.to_owned() });
    }
    let format = match *format {
        "sha1" => ObjectFormat::Sha1,
        "sha256" => ObjectFormat::Sha256,
        _ => return Err(answer.unexpected()),
    };
    let has_commit = answer.code == Some(0);
    if let ([git_dir, top], false) | ([git_dir, top, _], true) = (places, has_commit) {
        let [common, git_dir, top] = [common, git_dir, top].map(|path| real(Utf8Path::new(path)));
        return Ok(Facts { format, common: common?, git_dir: git_dir?, top: top?, has_commit });
    }
    // A path with a line break in it.
    let [common, git_dir, top] = PLACES.map(|place| {
        let path = git.call(["rev-parse", "--path-format=absolute", place]).line()?;
        real(Utf8Path::new(&path))
    });
    let has_commit = resolve(git, "HEAD")?.is_some();
    Ok(Facts { format, common: common?, git_dir: git_dir?, top: top?, has_commit })
}

/// The git directory that the checkout at `top` shares with others, in the simple cases. Git knows more ways: settings
/// that move the checkout elsewhere, or say that there is none.
pub fn common_dir(top: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut dir = top.join(".git");
    if dir.is_file() {
        let text = std::fs::read_to_string(&dir).ok()?;
        let entry = top.join(text.trim_end().strip_prefix("gitdir: ")?);
        let entry = private_dir::entry_of(&entry).unwrap_or(entry);
        let common = std::fs::read_to_string(entry.join("commondir")).ok()?;
        dir = entry.join(common.trim_end());
    }
    let config = std::fs::read_to_string(dir.join("config")).ok()?.to_ascii_lowercase();
    let plain = !config.contains("worktree") && !config.lines().any(|line| line.trim() == "bare = true");
    if plain { dir.canonicalize_utf8().ok() } else { None }
}

/// The git directory of the checkout that `git` works in.
pub(super) fn git_dir_of(git: &Git) -> Result<Utf8PathBuf, GitError> {
    let usual = git.dir().join(".git");
    if usual.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return Ok(usual);
    }
    Ok(Utf8PathBuf::from(git.call(["rev-parse", "--absolute-git-dir"]).line()?))
}

pub(super) fn real(path: &Utf8Path) -> Result<Utf8PathBuf, GitError> {
    path.canonicalize_utf8().map_err(GitError::io(path))
}
