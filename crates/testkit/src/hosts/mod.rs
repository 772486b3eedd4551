//! A scripted GitHub or GitLab: a real bare repository, and a program in the place of `gh` or `glab`.
//!
//! The program keeps what the host knows in a file, and prints what the real one would. A test sets what happens at the host
//! (checks, reviews, other people), and what goes wrong in calls. Every call is recorded. Branches are pushed to the bare
//! repository, and merges happen in it.
//!
//! The remote's address is that of the real host: git reaches the bare repository because `core.sshCommand` of the sandbox's
//! home is a script.

mod acts;
mod args;
mod github;
mod github_api;
mod github_issues;
mod github_json;
mod gitlab;
mod gitlab_api;
mod gitlab_issues;
mod gitlab_json;
mod program;
mod reply;
mod repository;
mod state;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::{Kind, Place};

pub use program::main;
use repository::Repository;
pub use state::{
    Call, Check, CheckResult, Comment, Fault, Issue, Method, Phase, Request, Review, Rules, Trouble,
};
use state::{Folder, State};

use crate::sandbox::Sandbox;

/// A scripted host, as its test sees it.
#[derive(Debug)]
pub struct ScriptedHost {
    folder: Folder,
    bin: Utf8PathBuf,
}

impl ScriptedHost {
    /// A GitHub with the repository `acme/widgets`, which is the remote `origin` of the sandbox's project. Its branch `main` is
    /// pushed.
    pub fn github(sandbox: &Sandbox) -> ScriptedHost {
        ScriptedHost::new(sandbox, Kind::GitHub)
    }

    /// The same at GitLab.
    pub fn gitlab(sandbox: &Sandbox) -> ScriptedHost {
        ScriptedHost::new(sandbox, Kind::GitLab)
    }

    fn new(sandbox: &Sandbox, kind: Kind) -> ScriptedHost {
        let host = if kind == Kind::GitHub { "github.com" } else { "gitlab.com" };
        let place =
            Place { kind, host: host.to_owned(), owner: "acme".to_owned(), name: "widgets".to_owned() };
        let root = sandbox.root();
        let (folder, bin) = (Folder(root.join("host")), root.join("bin"));
        let state = State::new(&place);
        let remote = folder.remote(&state);
        fs::create_dir_all(&remote).expect("a new folder");
        folder.write(&state);
        sandbox.git_in(&remote, ["init", "-q", "--bare", "-b", "main"]);
        let program = program();
        // In `sh`, everything but a quotation mark is plain between quotation marks.
        let call = format!("exec '{program}' '{}' \"$@\"", folder.0);
        sandbox.program(kind.program(), &call);
        // Git calls it with an address and one command line: `git-receive-pack 'acme/widgets.git'`.
        let ssh = root.join("ssh");
        let script = format!("#!/bin/sh\nfor last; do :; done\ncd '{}' && exec sh -c \"$last\"\n", folder.0);
        fs::write(&ssh, script).expect("a new file");
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("our own file");
        sandbox.git(["config", "--global", "core.sshCommand", ssh.as_str()]);
        sandbox.git(["remote", "add", "origin", &format!("git@{host}:acme/widgets.git")]);
        sandbox.git(["push", "-q", "origin", "main"]);
        ScriptedHost { folder, bin }
    }

    /// The folder with the program: for [`crate::sandbox::Invocation::with_path`].
    pub fn bin(&self) -> &Utf8Path {
        &self.bin
    }

    /// The bare repository.
    pub fn remote(&self) -> Utf8PathBuf {
        self.folder.change(|state| self.folder.remote(state))
    }

    /// Every call so far, in the order in which they began.
    pub fn calls(&self) -> Vec<Call> {
        self.folder.calls()
    }

    /// How many calls began with these words.
    pub fn count(&self, words: &str) -> usize {
        self.calls().iter().filter(|call| call.is(words)).count()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.folder.change(|state| {
            acts::refresh(state, &self.repository(state));
            state.requests.clone()
        })
    }

    /// The only request.
    #[track_caller]
    pub fn request(&self) -> Request {
        let mut all = self.requests();
        assert_eq!(all.len(), 1, "requests: {all:?}");
        all.remove(0)
    }

    pub fn issue(&self, number: u64) -> Issue {
        let find = |state: &mut State| state.issues.iter().find(|issue| issue.number == number).cloned();
        self.folder.change(find).expect("it exists")
    }

    fn repository(&self, state: &State) -> Repository {
        Repository { path: self.folder.remote(state), now: state.now() }
    }

    /// Change what the host demands and allows.
    pub fn rules(&self, change: impl FnOnce(&mut Rules)) {
        self.folder.change(|state| change(&mut state.rules));
    }

    /// The checks of a commit; `*` for all that have none of their own. An armed request is merged at the next look.
    pub fn checks<const N: usize>(&self, commit: &str, checks: [(&str, CheckResult); N]) {
        let check = |(name, result): (&str, CheckResult)| Check {
            name: name.to_owned(),
            result,
            log: format!("{name} ran\n##[error]Process completed with exit code 1.\n"),
        };
        let checks = checks.into_iter().map(check).collect();
        self.folder.change(|state| state.checks.insert(commit.to_owned(), checks));
    }

    /// What the red checks of a commit printed.
    pub fn log(&self, commit: &str, log: &str) {
        self.folder.change(|state| {
            let checks = state.checks.get_mut(commit).expect("a commit with checks");
            checks.iter_mut().for_each(|check| log.clone_into(&mut check.log));
        });
    }

    /// Calls that begin with these words, separated by spaces, are in trouble so many times. Without words: any call.
    pub fn fault(&self, words: &str, times: u32, trouble: Trouble) {
        let words = words.split_whitespace().map(str::to_owned).collect();
        self.folder.change(|state| state.faults.push(Fault { words, times, trouble }));
    }

    /// A review by somebody else: `APPROVED`, `CHANGES_REQUESTED` or `COMMENTED`, with remarks on lines.
    pub fn review(&self, number: u64, by: &str, verdict: &str, body: &str, lines: &[(&str, u64, &str)]) {
        self.folder.change(|state| {
            acts::refresh(state, &self.repository(state));
            let (id, at) = (state.next_id(), state.now());
            let request = state.request(number).expect("it exists");
            request.reviews.push(Review {
                id,
                by: by.to_owned(),
                state: verdict.to_owned(),
                body: body.to_owned(),
                commit: request.head.clone(),
                at,
                lines: lines
                    .iter()
                    .map(|(path, line, text)| ((*path).to_owned(), *line, (*text).to_owned()))
                    .collect(),
                resolved: false,
            });
        });
    }

    /// A comment on a request or an issue, by somebody with this role, such as `MEMBER` or `NONE`.
    pub fn comment(&self, number: u64, by: &str, role: &str, body: &str) {
        self.folder.change(|state| {
            let (id, at) = (state.next_id(), state.now());
            let comment = Comment { id, by: by.to_owned(), role: role.to_owned(), body: body.to_owned(), at };
            let issue =
                state.issues.iter_mut().find(|issue| issue.number == number).map(|issue| &mut issue.comments);
            match issue {
                Some(comments) => comments.push(comment),
                None => state.request(number).expect("it exists").comments.push(comment),
            }
        });
    }

    /// A person merges a request at the host, whatever its rules say. Returns the target's new tip.
    #[track_caller]
    pub fn merge(&self, number: u64, method: Method) -> String {
        self.folder.change(|state| {
            let repository = self.repository(state);
            acts::refresh(state, &repository);
            assert!(acts::merge(state, &repository, number, method, None), "it conflicts");
            let base = state.request(number).expect("it was merged").base.clone();
            repository.tip(&base).expect("a target")
        })
    }

    /// A person closes a request, and does not merge it.
    pub fn close(&self, number: u64) {
        self.folder.change(|state| {
            let request = state.request(number).expect("it exists");
            (request.phase, request.queued, request.auto) = (Phase::Closed, false, None);
        });
    }

    /// The host's queue merges what is next in it. Whether there was anything that it could merge.
    pub fn queue_merges(&self) -> bool {
        self.folder.change(|state| {
            let repository = self.repository(state);
            acts::refresh(state, &repository);
            let next = state.requests.iter().find(|request| request.queued && request.phase == Phase::Open);
            let Some(number) = next.map(|request| request.number) else { return false };
            let method = state.rules.methods[0];
            acts::merge(state, &repository, number, method, None)
        })
    }

    /// The host's queue puts a request out again, because its checks were red there.
    pub fn queue_rejects(&self, number: u64) {
        self.folder.change(|state| state.request(number).expect("it exists").queued = false);
    }

    /// Somebody else pushes a commit to a branch that writes one file. Returns the commit.
    pub fn push(&self, branch: &str, path: &str, text: &str) -> String {
        self.folder.change(|state| self.repository(state).write(branch, path, text))
    }

    /// Somebody deletes a branch.
    pub fn delete_branch(&self, branch: &str) {
        self.folder.change(|state| self.repository(state).delete(branch));
    }

    /// The tip of a branch.
    pub fn tip(&self, branch: &str) -> Option<String> {
        self.folder.change(|state| self.repository(state).tip(branch))
    }

    /// Add an issue, or replace the one with its number.
    pub fn add_issue(&self, issue: Issue) {
        self.folder.change(|state| {
            state.issues.retain(|known| known.number != issue.number);
            let updated_at = if issue.updated_at.is_empty() { state.now() } else { issue.updated_at.clone() };
            let author = if issue.author.is_empty() { "tess".to_owned() } else { issue.author.clone() };
            state.issues.push(Issue { updated_at, author, ..issue });
            state.issues.sort_by_key(|issue| issue.number);
        });
    }

    /// A person changes an issue.
    pub fn change_issue(&self, number: u64, change: impl FnOnce(&mut Issue)) {
        self.folder.change(|state| {
            state.tick += 1;
            let now = state.now();
            let issue = state.issues.iter_mut().find(|issue| issue.number == number).expect("it exists");
            change(issue);
            issue.updated_at = now;
        });
    }
}

/// The program in the place of `gh` and `glab`.
fn program() -> Utf8PathBuf {
    // target/debug/deps/it-… → target/debug/examples/scripted-host
    let own = std::env::current_exe().expect("a test is a program");
    let folder = own.parent().and_then(|deps| deps.parent()).expect("it lies in target/PROFILE/deps");
    let program = folder.join("examples/scripted-host");
    assert!(program.exists(), "{program:?} is missing: cargo build --package piton-testkit --examples");
    Utf8PathBuf::from_path_buf(program).expect("UTF-8")
}
