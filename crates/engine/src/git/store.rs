//! The store: a repository of Piton's own, for a project that has none. Trees tell what changed, and refs keep what was
//! there before each attempt. It lies in Piton's folder, and its work-tree is the project. People's tools do not see it,
//! and a `.git` that is made later is another repository.

use std::fs;
use std::sync::Arc;

use camino::Utf8Path;

use super::command::Git;
use super::error::GitError;
use super::repo::Repo;
use crate::lock::Lock;
use crate::{crash, disk};

/// Below Piton's own folder.
const PLACE: &str = "store";

/// Large folders that programs can make again. A `.gitignore` can name more files to leave out.
const REMADE: &str = "node_modules/\n.venv/\n__pycache__/\n.cache/\n.tox/\n.gradle/\n";
/// Files are stored byte by byte, without filters.
const AS_IT_IS: &str = "* -text -filter -ident -working-tree-encoding\n";

impl Repo {
    /// Whether an engine has worked here without git.
    pub fn has_store(home: &Utf8Path) -> bool {
        home.join(PLACE).is_dir()
    }

    /// The one in Piton's folder `home`, for the project at `root`.
    pub fn of_store(home: &Utf8Path, root: &Utf8Path) -> Result<Repo, GitError> {
        let place = home.join(PLACE);
        let git = Git::with_env(root, &[("GIT_DIR", place.as_str()), ("GIT_WORK_TREE", root.as_str())]);
        match Repo::discover_with(&git, root) {
            Ok(repo) => Ok(repo.kept_in(home)),
            Err(
                GitError::NotARepository { .. } | GitError::EmptyRepository { .. } | GitError::Bare { .. },
            ) => Err(GitError::DamagedStore { path: place }),
            Err(error) => Err(error),
        }
    }

    /// The same, made if it is not there. It is there whole, or not at all.
    pub fn make_store(home: &Utf8Path, root: &Utf8Path) -> Result<Repo, GitError> {
        Git::new(root).version()?;
        let place = home.join(PLACE);
        if !place.is_dir() {
            let lock = home.join("locks/store.lock");
            disk::private_folder(&home.join("locks")).map_err(GitError::io(home))?;
            let lock = Arc::new(Lock::take(&lock).map_err(GitError::io(lock))?);
            if !place.is_dir() {
                make(home, &place, lock)?;
            }
        }
        Repo::of_store(home, root)
    }
}

/// With one empty commit: everything in the project differs from it.
fn make(home: &Utf8Path, place: &Utf8Path, lock: Arc<Lock>) -> Result<(), GitError> {
    let half = home.join(format!("{}{PLACE}", disk::HALF_WRITTEN));
    if half.is_dir() {
        fs::remove_dir_all(&half).map_err(GitError::io(half.clone()))?;
    }
    disk::private_folder(&half).map_err(GitError::io(half.clone()))?;
    // A git process that outlives us holds the lock, so no other process removes this folder while it works there.
    let git = Git::with_env(&half, &[("GIT_DIR", half.as_str())]).guarded_by(lock);
    git.call(["init", "--quiet", "--bare", "--template=", "--initial-branch=store"]).run()?;
    let info = half.join("info");
    let exclude = format!("/{}/\n{REMADE}", home.file_name().unwrap_or(".piton"));
    let written = fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("exclude"), exclude))
        .and_then(|()| fs::write(info.join("attributes"), AS_IT_IS));
    written.map_err(GitError::io(info))?;
    // If the project becomes a repository later, this folder stays out of it.
    fs::write(home.join(".gitignore"), "*\n").map_err(GitError::io(home))?;
    let nothing = git.call(["mktree"]).oid()?;
    let mut first = git.call(["commit-tree", nothing.as_str(), "-m", "Nothing yet"]);
    for whose in ["AUTHOR", "COMMITTER"] {
        first = first.env(&format!("GIT_{whose}_NAME"), "Piton");
        first = first.env(&format!("GIT_{whose}_EMAIL"), "piton@localhost");
    }
    let first = first.oid()?;
    git.call(["update-ref", "HEAD", first.as_str()]).run()?;
    disk::sync_file_systems(std::slice::from_ref(&half)).map_err(GitError::io(half.clone()))?;
    crash::point("store.made");
    fs::rename(&half, place).map_err(GitError::io(place))?;
    disk::sync_folder(home).map_err(GitError::io(home))
}
