//! Which branch the work is to land on.

use super::{Project, Repository, Survey, Topic};

/// What is known of a repository's branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// The one that is checked out. None: a commit is.
    pub present: Option<String>,
    /// The one that `origin/HEAD` names.
    pub of_origin: Option<String>,
    /// The usual main branch that exists here, such as `main`.
    pub main: Option<String>,
}

impl Branches {
    /// Names of branches that work usually lands on, the likeliest first.
    pub const USUAL: [&str; 8] =
        ["main", "master", "trunk", "develop", "development", "dev", "next", "stable"];

    /// The branch that work is to land on, and why.
    fn target(&self) -> Option<(String, String)> {
        let is_usual = |name: &str| Branches::USUAL.contains(&name) || name.starts_with("release");
        let Some(present) = &self.present else {
            let (name, why) = match (&self.of_origin, &self.main) {
                (Some(name), _) => (name, "origin/HEAD names it"),
                (None, Some(name)) => (name, "the usual name"),
                (None, None) => return None,
            };
            return Some((name.clone(), format!("{why}; no branch is checked out")));
        };
        if self.of_origin.as_ref() == Some(present) {
            return Some((present.clone(), "it is checked out, and origin/HEAD names it".to_owned()));
        }
        let other = match (&self.of_origin, &self.main) {
            (Some(name), _) => Some((name, "origin/HEAD names it")),
            (None, Some(name)) if name != present && looks_passing(present) => Some((name, "the usual name")),
            (None, _) => None,
        };
        match other {
            Some((name, why)) if !is_usual(present) => Some((
                name.clone(),
                format!("{why}; {present} is checked out: `piton run PLAN --base-branch {name}` lands there"),
            )),
            _ => Some((present.clone(), "it is checked out".to_owned())),
        }
    }
}

/// Whether a branch is named like one that is merged and then removed.
fn looks_passing(name: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "feature/",
        "feat/",
        "fix/",
        "bugfix/",
        "hotfix/",
        "chore/",
        "docs/",
        "refactor/",
        "test/",
        "wip/",
        "issue/",
        "issue-",
    ];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

impl Survey {
    pub(super) fn branch(&mut self, project: &Project<'_>) {
        match project.repository {
            Repository::Missing => {
                let why = "no repository: `git init` makes one, `piton run --no-commits` works without";
                self.add(Topic::Branch, "none", why, false);
            }
            Repository::Empty => {
                let why = "no commit yet: git commit --allow-empty -m 'First commit'";
                self.add(Topic::Branch, "none", why, false);
            }
            Repository::With(branches) => match branches.target() {
                None => self.add(Topic::Branch, "none", "no branch is checked out: git switch BRANCH", false),
                Some((name, why)) => {
                    self.add(Topic::Branch, &name, &why, true);
                    self.target = Some(name);
                }
            },
        }
    }
}
