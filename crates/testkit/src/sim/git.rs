//! Git, as far as landing needs it: commits with ancestors, one target branch, worktrees.

use std::collections::BTreeMap;

use piton_core::plan::{Content, Oid};

use super::content::{Line, MARKER, Tree, changed, merge};

pub(super) type CommitNo = usize;

#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) tree: usize,
    /// The task whose landing this is.
    pub(super) trailer: Option<usize>,
    /// What that task asked for.
    content: Option<Content>,
    /// Itself and everything before it.
    ancestors: Vec<u64>,
    /// The first that it was made on.
    parent: Option<CommitNo>,
}

#[derive(Clone, Debug)]
pub(super) struct Worktree {
    pub(super) head: CommitNo,
    /// The other parent of the next commit: a merge that is not committed yet.
    pub(super) merged: Option<CommitNo>,
    pub(super) base: CommitNo,
    pub(super) tree: Tree,
}

#[derive(Clone, Debug)]
pub(super) struct Git {
    commits: Vec<Commit>,
    trees: Vec<Tree>,
    numbers: BTreeMap<Tree, usize>,
    pub(super) target: CommitNo,
    /// The branch that one request brings it all to, if the run lands as a whole.
    pub(super) trunk: CommitNo,
    pub(super) worktrees: BTreeMap<usize, Worktree>,
    /// The user's checkout of the target has changes of their own.
    pub(super) dirty: bool,
    /// What messages say, where they say anything.
    said: BTreeMap<CommitNo, String>,
    /// Reverts, with the commits that they revert.
    pub(super) reverts: Vec<(CommitNo, CommitNo)>,
}

/// Trees and commits must not share ids.
pub(super) const TREES: usize = 1 << 40;

impl Git {
    pub(super) fn new() -> Git {
        let mut git = Git {
            commits: Vec::new(),
            trees: Vec::new(),
            numbers: BTreeMap::new(),
            target: 0,
            trunk: 0,
            worktrees: BTreeMap::new(),
            dirty: false,
            said: BTreeMap::new(),
            reverts: Vec::new(),
        };
        git.target = git.commit(Tree::new(), &[], None);
        git.trunk = git.target;
        git
    }

    pub(super) fn commit(&mut self, tree: Tree, parents: &[CommitNo], trailer: Option<usize>) -> CommitNo {
        let no = self.commits.len();
        let mut ancestors = vec![0_u64; no / 64 + 1];
        for &parent in parents {
            for (word, bits) in self.commits[parent].ancestors.iter().enumerate() {
                ancestors[word] |= bits;
            }
        }
        ancestors[no / 64] |= 1 << (no % 64);
        let tree = self.tree_no(tree);
        let parent = parents.first().copied();
        self.commits.push(Commit { tree, trailer, content: None, ancestors, parent });
        no
    }

    /// The landing of a task, with what it asks for.
    pub(super) fn commit_landing(
        &mut self,
        tree: Tree,
        parents: &[CommitNo],
        task: usize,
        content: Option<Content>,
    ) -> CommitNo {
        let no = self.commit(tree, parents, Some(task));
        self.commits[no].content = content;
        no
    }

    pub(super) fn say(&mut self, commit: CommitNo, subject: String) {
        self.said.insert(commit, subject);
    }

    pub(super) fn said(&self, commit: CommitNo) -> &str {
        self.said.get(&commit).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn parent(&self, commit: CommitNo) -> Option<CommitNo> {
        self.commits[commit].parent
    }

    pub(super) fn content_of(&self, commit: CommitNo) -> Option<Content> {
        self.commits.get(commit)?.content
    }

    pub(super) fn tree_no(&mut self, tree: Tree) -> usize {
        if let Some(&no) = self.numbers.get(&tree) {
            return no;
        }
        self.trees.push(tree.clone());
        self.numbers.insert(tree, self.trees.len() - 1);
        self.trees.len() - 1
    }

    pub(super) fn tree(&self, commit: CommitNo) -> &Tree {
        &self.trees[self.commits[commit].tree]
    }

    pub(super) fn tree_at(&self, commit: CommitNo) -> usize {
        self.commits[commit].tree
    }

    /// The lines that a commit changed.
    pub(super) fn lines_of(&self, commit: CommitNo) -> Vec<Line> {
        self.commits[commit]
            .parent
            .map(|from| changed(self.tree(from), self.tree(commit)))
            .unwrap_or_default()
    }

    /// A tree by its number.
    pub(super) fn tree_of_no(&self, no: usize) -> &Tree {
        &self.trees[no]
    }

    pub(super) fn tip(&self) -> &Tree {
        self.tree(self.target)
    }

    /// `a` is `b` or before it.
    pub(super) fn is_ancestor(&self, a: CommitNo, b: CommitNo) -> bool {
        self.commits[b].ancestors.get(a / 64).is_some_and(|word| word & (1 << (a % 64)) != 0)
    }

    pub(super) fn is_landed(&self, commit: &Oid) -> bool {
        commit_no(commit).is_some_and(|no| self.is_ancestor(no, self.target))
    }

    /// The landings in the target's history, each with its task.
    pub(super) fn landings(&self) -> impl Iterator<Item = (CommitNo, usize)> {
        self.landings_before(self.target)
    }

    /// Those in the history of a commit.
    pub(super) fn landings_before(&self, tip: CommitNo) -> impl Iterator<Item = (CommitNo, usize)> {
        let here = move |no: CommitNo| self.is_ancestor(no, tip);
        self.commits.iter().enumerate().filter_map(move |(no, c)| Some((no, c.trailer.filter(|_| here(no))?)))
    }

    /// Merge two commits in the object database. The latest common ancestor is below no other one.
    pub(super) fn merge(&self, ours: CommitNo, theirs: CommitNo) -> (Tree, Vec<Line>) {
        let base = (0..=ours.min(theirs))
            .rev()
            .find(|&no| self.is_ancestor(no, ours) && self.is_ancestor(no, theirs))
            .unwrap_or(0);
        merge(self.tree(base), self.tree(ours), self.tree(theirs))
    }

    /// Commit what a worktree holds, once.
    pub(super) fn capture(&mut self, task: usize) -> Option<(CommitNo, Vec<Line>)> {
        let worktree = self.worktrees.get(&task)?;
        let (head, merged, tree) = (worktree.head, worktree.merged, worktree.tree.clone());
        let markers = tree.iter().filter(|(_, value)| **value == MARKER).map(|(line, _)| *line).collect();
        if merged.is_none() && *self.tree(head) == tree {
            return Some((head, markers));
        }
        let parents: Vec<CommitNo> = [head].into_iter().chain(merged).collect();
        let head = self.commit(tree, &parents, None);
        let worktree = self.worktrees.get_mut(&task)?;
        (worktree.head, worktree.merged) = (head, None);
        Some((head, markers))
    }

    /// Merge a commit into a worktree; conflicts stay in its files as markers.
    pub(super) fn bring_up(&mut self, task: usize, tip: CommitNo) {
        let Some((head, _)) = self.capture(task) else { return };
        let upto = self.is_ancestor(tip, head).then(|| self.tree(head).clone());
        let merged = upto.clone().unwrap_or_else(|| self.merge(head, tip).0);
        if let Some(worktree) = self.worktrees.get_mut(&task) {
            worktree.tree = merged;
            worktree.merged = upto.is_none().then_some(tip);
            worktree.base = tip;
        }
    }

    pub(super) fn make_worktree(&mut self, task: usize, tip: CommitNo) {
        let tree = self.tree(tip).clone();
        self.worktrees.insert(task, Worktree { head: tip, merged: None, base: tip, tree });
    }

    pub(super) fn find_tree(&self, oid: &Oid) -> Option<&Tree> {
        self.trees.get(number(oid)?.checked_sub(TREES)?)
    }

    pub(super) fn tree_oid(&mut self, tree: &Tree) -> Oid {
        oid(TREES + self.tree_no(tree.clone()))
    }
}

fn number(oid: &Oid) -> Option<usize> {
    usize::from_str_radix(oid.as_str(), 16).ok()
}

pub(super) fn commit_no(oid: &Oid) -> Option<CommitNo> {
    number(oid).filter(|&no| no < TREES)
}

pub(super) fn oid(no: usize) -> Oid {
    Oid::new(&format!("{no:040x}")).expect("forty hex digits")
}
