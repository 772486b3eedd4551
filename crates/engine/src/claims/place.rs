//! Where a claim is judged.

use camino::Utf8PathBuf;
use piton_core::plan::{Check, Oid, RunId, TaskSpec};
use piton_core::run::CheckResult;

use crate::checks::{self, NoReport};
use crate::crash;
use crate::project::Project;

/// What the checks said, and about which tree.
pub type Judgement = (Option<Oid>, Vec<CheckResult>);

/// Where a claim is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A checkout, as it is.
    Folder(Utf8PathBuf),
    /// A commit that is checked out nowhere.
    Commit { commit: Oid },
}

impl Place {
    /// Run the checks there, now. `tell` is called before each check.
    pub fn judge(
        &self,
        project: &Project,
        run: &RunId,
        spec: &TaskSpec,
        name: &str,
        keeper: &[String],
        tell: &dyn Fn(&Check),
    ) -> Result<Judgement, NoReport> {
        let judged = match self {
            Place::Folder(path) => checks::run_all(project, run, spec, path, name, keeper, tell),
            Place::Commit { commit } => checks::run_all_on(project, run, spec, commit, name, keeper, tell),
        };
        crash::point("claims.judged");
        judged
    }
}
