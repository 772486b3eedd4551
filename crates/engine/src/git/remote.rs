//! Remotes: where a branch is there, bringing it here, and pushing one of Piton's own.
//!
//! Unlike all other calls, these talk to somebody else's machine: with the person's credentials, without any question to a
//! terminal, and not for ever.

use std::ffi::OsString;

use piton_core::plan::Oid;

use super::branch::branch_ref;
use super::command::{Call, oid};
use super::error::GitError;
use super::repo::Repo;

/// A transfer that is slower than this for so long has died: bytes a second, and seconds.
const SLOW: [&str; 2] = ["http.lowSpeedLimit=1000", "http.lowSpeedTime=60"];
/// ssh that asks nobody, and notices when the other side is gone.
const SSH: &str = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=4";
/// What people set to say how their remotes are reached. All other variables of git are left out, as everywhere.
const KEPT: [&str; 4] = ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_ASKPASS"];

impl Repo {
    /// The address of a remote as its settings have it, or none if there is no such remote.
    pub fn remote_url(&self, remote: &str) -> Result<Option<String>, GitError> {
        let key = format!("remote.{}.url", remote_name(remote)?);
        let answer = self.git().call(["config", "--get", &key]).answer()?;
        match answer.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            _ => Err(answer.failed()),
        }
    }

    /// What hosts run whose names do not tell: `piton.HOST.runs` in git's settings, with its value.
    pub fn hosts_named(&self) -> Result<Vec<(String, String)>, GitError> {
        let answer = self.git().call(["config", "--null", "--get-regexp", r"^piton\..+\.runs$"]).answer()?;
        match answer.code {
            Some(0) => {}
            Some(1) => return Ok(Vec::new()),
            _ => return Err(answer.failed()),
        }
        let settings = String::from_utf8_lossy(&answer.stdout).into_owned();
        let named = settings.split('\0').filter_map(|setting| setting.split_once('\n'));
        let host = |key: &str| Some(key.strip_prefix("piton.")?.strip_suffix(".runs")?.to_ascii_lowercase());
        Ok(named.filter_map(|(key, runs)| Some((host(key)?, runs.trim().to_ascii_lowercase()))).collect())
    }

    /// Where a branch is on the remote, or none if it is not there.
    pub fn remote_branch(&self, remote: &str, branch: &str) -> Result<Option<Oid>, GitError> {
        let full = branch_ref(branch)?;
        let call = self.talking(["ls-remote", "--refs", remote_name(remote)?, &full])?;
        let answer = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let line = answer.lines().find_map(|line| line.split_once('\t').filter(|(_, name)| *name == full));
        match line {
            None => Ok(None),
            Some((at, _)) => match oid(at) {
                Some(at) => Ok(Some(at)),
                None => Err(GitError::Unexpected { args: "ls-remote".to_owned(), answer: at.to_owned() }),
            },
        }
    }

    /// Bring the commits of a remote's branch here. Returns where it is.
    pub fn fetch_branch(&self, remote: &str, branch: &str) -> Result<Oid, GitError> {
        let name = remote_name(remote)?;
        let here = format!("refs/remotes/{name}/{branch}");
        let refspec = format!("+{}:{here}", branch_ref(branch)?);
        self.talking(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", name, &refspec])?.run()?;
        self.git().call(["rev-parse", "--verify", "--end-of-options", &format!("{here}^{{commit}}")]).oid()
    }

    /// Put a commit on a branch of the remote, if the branch is where it is expected, or is not there.
    pub fn push_branch(
        &self,
        remote: &str,
        branch: &str,
        commit: &Oid,
        expected: Option<&Oid>,
    ) -> Result<(), GitError> {
        let (name, full) = (remote_name(remote)?, branch_ref(branch)?);
        let lease = format!("--force-with-lease={full}:{}", expected.map_or("", Oid::as_str));
        let refspec = format!("{commit}:{full}");
        self.talking(["push", "--quiet", "--no-follow-tags", &lease, name, &refspec])?.run()
    }

    pub(super) fn talking<const N: usize>(&self, words: [&str; N]) -> Result<Call<'_>, GitError> {
        let mut call = self.git().call(words);
        for setting in SLOW {
            call = call.global("-c").global(setting);
        }
        let kept: Vec<(&str, OsString)> =
            KEPT.iter().filter_map(|key| Some((*key, std::env::var_os(key)?))).collect();
        let has_own = kept.iter().any(|(key, _)| key.starts_with("GIT_SSH"));
        if !has_own && self.git().call(["config", "--get", "core.sshCommand"]).answer()?.code != Some(0) {
            call = call.env("GIT_SSH_COMMAND", SSH);
        }
        Ok(kept.into_iter().fold(call, |call, (key, value)| call.env(key, value)))
    }
}

/// A name from the settings: neither an option nor an address.
pub(super) fn remote_name(remote: &str) -> Result<&str, GitError> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let is_name = !remote.is_empty() && !remote.starts_with(['-', '.', '/']) && remote.chars().all(fits);
    if is_name { Ok(remote) } else { Err(GitError::BadName(remote.to_owned())) }
}
