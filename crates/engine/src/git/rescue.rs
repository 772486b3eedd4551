//! Rescue: content that may exist only in one worktree is committed to a ref before anything changes it.

use std::fs;

use camino::Utf8Path;
use jiff::Timestamp;
use piton_core::plan::Oid;

use super::branch::valid;
use super::command::{lossy, oid};
use super::error::GitError;
use super::index::TempIndex;
use super::repo::Repo;
use super::status::Status;
use super::worktree::Worktree;

/// Where everything rescued is.
pub const PLACE: &str = "refs/piton/rescue/";
/// Refs that keep a commit when the caller names none.
const ANY_REF: [&str; 4] = ["refs/heads", "refs/remotes", "refs/tags", "refs/piton"];

/// Where rescued content is to go.
#[derive(Debug, Clone)]
pub struct Rescue {
    /// Below `refs/piton/rescue/`. A name that holds other content already gets a number appended.
    pub name: String,
    pub message: String,
    /// Refs or folders of refs that count as safe for commits; empty: every branch, tag and pin.
    pub kept: Vec<String>,
    /// The pin that usually keeps the commits of the worktree: checked first.
    pub pin: Option<String>,
    /// Whether commits count that only the worktree's own records name: they do if an agent worked there.
    pub reflogs: bool,
}

/// Content that was rescued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The whole ref.
    pub name: String,
    pub commit: Oid,
    pub subject: String,
    pub time: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub enum RestoreInto<'a> {
    /// A branch that does not exist yet.
    Branch(&'a str),
    /// A folder that does not exist yet, or is empty.
    Folder(&'a Utf8Path),
}

impl Rescue {
    pub fn at(name: &str, message: &str) -> Rescue {
        let (name, message) = (name.to_owned(), message.to_owned());
        Rescue { name, message, kept: Vec::new(), pin: None, reflogs: true }
    }

    /// For a worktree that only Piton itself checks things out in.
    #[must_use]
    pub fn without_reflogs(self) -> Rescue {
        Rescue { reflogs: false, ..self }
    }
}

impl Worktree {
    /// Keep what this worktree holds and nothing else does, without touching it: uncommitted and untracked
    /// files (not ignored ones, not nested repositories) and commits that no ref reaches. `None`: nothing.
    pub fn rescue(&self, rescue: &Rescue) -> Result<Option<Rescued>, GitError> {
        let aside = self.set_aside()?;
        self.rescue_seen(rescue, self.status()?, aside)
    }

    /// The same for a status that was just read, with commits that only its own records reach.
    pub(super) fn rescue_seen(
        &self,
        rescue: &Rescue,
        status: Status,
        lonely: Vec<Oid>,
    ) -> Result<Option<Rescued>, GitError> {
        let repo = self.repo();
        if status.is_clean() {
            return repo.rescue_commits(rescue, status.head, lonely);
        }
        let view = self.view()?;
        let index = view.index();
        // An index with conflicts is not a tree; their files have it all, with markers.
        let staged = if status.unmerged.is_empty() { Some(index.write_tree()?) } else { None };
        index.add_all(&status)?;
        let tree = index.write_tree()?;
        let head_tree = status.head.as_ref().map(|head| repo.tree_of(head)).transpose()?;
        if Some(&tree) == head_tree.as_ref() && staged.as_ref().is_none_or(|staged| *staged == tree) {
            // Dirty only in the index's eyes: it was lost, or a merge changed nothing.
            return repo.rescue_commits(rescue, status.head, lonely);
        }
        let mut parents: Vec<Oid> = status.head.iter().chain(&status.merge_head).cloned().collect();
        // As a stash does: what was staged and then changed again exists only in the index.
        if let Some(staged) = staged.filter(|staged| *staged != tree && Some(staged) != head_tree.as_ref()) {
            let of: Vec<&Oid> = status.head.iter().collect();
            parents.push(repo.commit_tree(&staged, &of, &format!("{} (staged)", rescue.message), None)?);
        }
        parents.extend(lonely);
        let parents: Vec<&Oid> = parents.iter().collect();
        let commit = repo.commit_tree(&tree, &parents, &rescue.message, None)?;
        repo.keep_rescued(rescue, &commit).map(Some)
    }
}

impl Repo {
    /// Everything rescued below `prefix`, or all of it, oldest first.
    pub fn rescue_list(&self, prefix: &str) -> Result<Vec<Rescued>, GitError> {
        let place = format!("{PLACE}{prefix}");
        let place = valid(place.trim_end_matches('/'))?;
        let format = "--format=%(objectname) %(committerdate:unix) %(refname) %(contents:subject)";
        let list = self.git().call(["for-each-ref", "--sort=committerdate", format, &place]).bytes()?;
        Ok(read_rescued(&lossy(&list)))
    }

    /// What a rescue holds, as people read it.
    pub fn rescue_show(&self, name: &str) -> Result<String, GitError> {
        let commit = self.rescued(name)?.commit;
        let args = [
            "show",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--stat",
            "--patch",
            "--diff-merges=first-parent",
        ];
        Ok(lossy(&self.git().call(args).args([commit.as_str(), "--"]).bytes()?))
    }

    /// Bring rescued content back; the ref stays.
    pub fn rescue_restore(&self, name: &str, into: RestoreInto<'_>) -> Result<(), GitError> {
        let commit = self.rescued(name)?.commit;
        match into {
            RestoreInto::Branch(branch) => self.set_branch(branch, &commit, None),
            RestoreInto::Folder(folder) => {
                let folder = camino::absolute_utf8(folder).map_err(GitError::io(folder))?;
                fs::create_dir_all(&folder).map_err(GitError::io(folder.clone()))?;
                let mut entries = folder.read_dir_utf8().map_err(GitError::io(folder.clone()))?;
                if entries.next().is_some() {
                    return Err(GitError::ForeignFolder { path: folder });
                }
                let index = TempIndex::empty(self)?;
                index.call(["read-tree", commit.as_str()]).run()?;
                index.call(["checkout-index", "--all", &format!("--prefix={folder}/")]).run()
            }
        }
    }

    fn rescued(&self, name: &str) -> Result<Rescued, GitError> {
        let name = name.strip_prefix(PLACE).unwrap_or(name);
        let full = format!("{PLACE}{name}");
        let found = self.rescue_list(name)?.into_iter().find(|rescued| rescued.name == full);
        found.ok_or(GitError::UnknownRevision(full))
    }

    /// Keep a commit, unless a ref does so already.
    pub fn rescue_commit(&self, rescue: &Rescue, head: Option<Oid>) -> Result<Option<Rescued>, GitError> {
        match head {
            Some(head) if !self.is_kept(&head, rescue)? => self.keep_rescued(rescue, &head).map(Some),
            _ => Ok(None),
        }
    }

    /// Keep a commit, unless a ref does so already, and other commits that no ref reaches: all under one ref.
    pub(super) fn rescue_commits(
        &self,
        rescue: &Rescue,
        head: Option<Oid>,
        lonely: Vec<Oid>,
    ) -> Result<Option<Rescued>, GitError> {
        let mut tips = Vec::new();
        if let Some(head) = head
            && !self.is_kept(&head, rescue)?
        {
            tips.push(head);
        }
        tips.extend(lonely);
        match &tips[..] {
            [] => Ok(None),
            [only] => self.keep_rescued(rescue, only).map(Some),
            [first, ..] => {
                let tree = self.tree_of(first)?;
                let commit =
                    self.commit_tree(&tree, &tips.iter().collect::<Vec<_>>(), &rescue.message, None)?;
                self.keep_rescued(rescue, &commit).map(Some)
            }
        }
    }

    /// The refs that keep what they reach.
    pub(super) fn keepers(rescue: &Rescue) -> Vec<&str> {
        if rescue.kept.is_empty() {
            ANY_REF.to_vec()
        } else {
            rescue.kept.iter().map(String::as_str).collect()
        }
    }

    /// Whether a ref reaches `commit`, so that it outlives any worktree.
    fn is_kept(&self, commit: &Oid, rescue: &Rescue) -> Result<bool, GitError> {
        if let Some(pin) = &rescue.pin
            && self.pin_at(pin)?.as_ref() == Some(commit)
        {
            return Ok(true);
        }
        let call = self.git().call([
            "for-each-ref",
            "--count=1",
            "--format=%(refname)",
            "--contains",
            commit.as_str(),
        ]);
        Ok(!call.args(Repo::keepers(rescue)).line()?.is_empty())
    }

    /// Put a commit under a rescue ref that never held anything else.
    fn keep_rescued(&self, rescue: &Rescue, commit: &Oid) -> Result<Rescued, GitError> {
        // Some of its objects may have been written by others without a sync.
        self.sync_all()?;
        let first = valid(&format!("{PLACE}{}", rescue.name))?;
        let content =
            |oid: &Oid| self.git().call(["show", "--no-patch", "--format=%T %P", oid.as_str()]).line();
        let wanted = content(commit)?;
        for n in 1.. {
            let name = if n == 1 { first.clone() } else { format!("{first}-{n}") };
            match self.ref_tip(&name)? {
                // A repeated call after a crash.
                Some(found) if found == *commit || content(&found)? == wanted => return self.rescued(&name),
                Some(_) => {}
                None => {
                    self.git().call(["update-ref", "--end-of-options", &name, commit.as_str(), ""]).run()?;
                    return self.rescued(&name);
                }
            }
        }
        Err(GitError::BadName(first))
    }
}

/// Lines of an object, a time, a ref and a subject.
pub(super) fn read_rescued(list: &str) -> Vec<Rescued> {
    list.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Rescued> {
    let mut words = line.splitn(4, ' ');
    let (commit, time, name) = (oid(words.next()?)?, words.next()?.parse().ok()?, words.next()?.to_owned());
    let time = Timestamp::from_second(time).ok()?;
    Some(Rescued { name, commit, subject: words.next().unwrap_or_default().to_owned(), time })
}
