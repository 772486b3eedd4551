//! What a scripted host knows, in one file that its program and its test share.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::{Kind, Place};
use piton_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Noon of a day: every call takes a second of it.
const NOON: i64 = 1_772_366_400_000;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) kind: Kind,
    pub(super) host: String,
    pub(super) owner: String,
    pub(super) name: String,
    /// How many calls there were.
    pub(super) tick: i64,
    pub(super) rules: Rules,
    pub(super) requests: Vec<Request>,
    pub(super) issues: Vec<Issue>,
    /// The checks of commits, by their ids. `*` stands for commits that have none of their own.
    pub(super) checks: BTreeMap<String, Vec<Check>>,
    pub(super) faults: Vec<Fault>,
}

/// What the host demands and allows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rules {
    pub logged_in: bool,
    /// Checks that a merge needs.
    pub required: Vec<String>,
    /// A merge needs an approval.
    pub review: bool,
    /// A merge needs a branch with all commits of the target.
    pub strict: bool,
    pub auto_merge: bool,
    pub methods: Vec<Method>,
    /// A queue merges; a test lets it.
    pub queue: bool,
    /// A merged branch is deleted.
    pub delete_branches: bool,
    /// GitLab moves the target forward and makes no commit.
    pub fast_forward: bool,
    /// Whether a request can be merged is unknown at the first look after a push.
    pub slow: bool,
    /// Commits have to be signed.
    pub signed: bool,
    /// No merge commits.
    pub linear: bool,
    /// The token may not see the rules.
    pub hidden: bool,
    /// An older `gh`: it knows no parts of issues and nothing of what they wait for.
    pub no_edges: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            logged_in: true,
            required: Vec::new(),
            review: false,
            strict: false,
            auto_merge: true,
            methods: vec![Method::Merge, Method::Squash, Method::Rebase],
            queue: false,
            delete_branches: false,
            fast_forward: false,
            slow: false,
            signed: false,
            linear: false,
            hidden: false,
            no_edges: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    Merge,
    Squash,
    Rebase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    Open,
    Merged,
    Closed,
}

/// A pull or merge request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub branch: String,
    pub base: String,
    /// The tip of its branch, as long as it is open.
    pub head: String,
    pub phase: Phase,
    pub draft: bool,
    pub labels: Vec<String>,
    /// Merged when its rules are met.
    pub auto: Option<Method>,
    pub queued: bool,
    /// The commit of the host's own that the target got. None after a fast-forward.
    pub merge_commit: Option<String>,
    pub squash_commit: Option<String>,
    pub merged_at: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub reviews: Vec<Review>,
    pub comments: Vec<Comment>,
    /// The host has not found out yet whether it can be merged.
    pub(super) unknown: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Review {
    pub id: u64,
    pub by: String,
    /// As GitHub writes it: `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`.
    pub state: String,
    pub body: String,
    pub commit: String,
    pub at: String,
    /// On lines: path, line, text.
    pub lines: Vec<(String, u64, String)>,
    pub resolved: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comment {
    pub id: u64,
    pub by: String,
    /// As GitHub writes it, such as `MEMBER` or `NONE`.
    pub role: String,
    pub body: String,
    pub at: String,
}

/// A check of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub result: CheckResult,
    /// What `gh run view --log-failed` shows of it.
    pub log: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckResult {
    Pending,
    Green,
    Red,
    Cancelled,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub closed: bool,
    pub not_planned: bool,
    pub labels: Vec<String>,
    pub milestone: Option<String>,
    pub assignees: Vec<String>,
    pub author: String,
    pub comments: Vec<Comment>,
    pub parent: Option<u64>,
    pub blocked_by: Vec<u64>,
    pub updated_at: String,
}

/// Something that goes wrong in calls that begin with certain words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// The first words of the call, such as `pr`, `create`; none: any call.
    pub words: Vec<String>,
    /// How many calls it hits.
    pub times: u32,
    pub trouble: Trouble,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Trouble {
    /// It happens, and then the connection is lost.
    LostAnswer,
    /// It happens, and then the program hangs.
    HangAfter,
    /// The program hangs, and nothing happens.
    Hang,
    /// Nothing happens.
    NoNetwork,
    /// Nothing happens, and the host says for how long.
    RateLimit,
    /// It may have happened or not: here, it has not.
    BadGateway,
    /// It has.
    BadGatewayAfter,
    /// It happens, and the answer is followed by what is not JSON.
    NotJson,
    /// It happens, and the answer has control characters and a megabyte in a text.
    Hostile,
    /// Nothing happens, and this is what it prints.
    Says { code: i32, stdout: String, stderr: String },
    /// Wait at a FIFO before anything happens, then go on. The test opens its other end.
    MeetBefore(String),
    /// The same when it has happened and before anything is printed.
    MeetAfter(String),
}

/// A call, as the program was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub args: Vec<String>,
    pub stdin: String,
}

impl Call {
    /// Whether it begins with these words, separated by spaces.
    pub fn is(&self, words: &str) -> bool {
        let mut args = self.args.iter();
        words.split(' ').all(|word| args.next().is_some_and(|arg| arg == word))
    }
}

impl State {
    pub(super) fn new(place: &Place) -> State {
        State {
            kind: place.kind,
            host: place.host.clone(),
            owner: place.owner.clone(),
            name: place.name.clone(),
            tick: 0,
            rules: Rules::default(),
            requests: Vec::new(),
            issues: Vec::new(),
            checks: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> String {
        Timestamp(NOON + self.tick * 1000).to_string()
    }

    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Requests and issues share their numbers at GitHub, and not at GitLab.
    pub(super) fn next_request(&self) -> u64 {
        let requests = self.requests.iter().map(|request| request.number);
        let issues = self.issues.iter().map(|issue| issue.number).filter(|_| self.kind == Kind::GitHub);
        requests.chain(issues).max().unwrap_or(0) + 1
    }

    pub(super) fn checks_of(&self, commit: &str) -> &[Check] {
        self.checks.get(commit).or_else(|| self.checks.get("*")).map_or(&[], Vec::as_slice)
    }

    pub(super) fn request(&mut self, number: u64) -> Option<&mut Request> {
        self.requests.iter_mut().find(|request| request.number == number)
    }

    /// An id for a comment or a review.
    pub(super) fn next_id(&self) -> u64 {
        let requests = self.requests.iter();
        let of_request = |request: &Request| request.comments.len() + request.reviews.len();
        let issues: usize = self.issues.iter().map(|issue| issue.comments.len()).sum();
        (requests.map(of_request).sum::<usize>() + issues) as u64 + 1001
    }
}

/// The folder of a scripted host.
#[derive(Clone, Debug)]
pub(super) struct Folder(pub(super) Utf8PathBuf);

impl Folder {
    pub(super) fn remote(&self, state: &State) -> Utf8PathBuf {
        self.0.join(format!("{}/{}.git", state.owner, state.name))
    }

    /// Read the state, change it, and write it back, while nobody else does.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let lock = self.lock();
        let text = fs::read_to_string(self.0.join("state.json")).expect("a scripted host was set up");
        let mut state: State = serde_json::from_str(&text).expect("its own file");
        let changed = change(&mut state);
        self.write(&state);
        drop(lock);
        changed
    }

    pub(super) fn write(&self, state: &State) {
        let text = serde_json::to_string_pretty(state).expect("plain data");
        let (path, new) = (self.0.join("state.json"), self.0.join("state.new"));
        fs::write(&new, text).expect("a writable folder");
        fs::rename(new, path).expect("a writable folder");
    }

    fn lock(&self) -> File {
        let path = self.0.join("lock");
        let file = OpenOptions::new().create(true).append(true).open(path).expect("a writable folder");
        file.lock().expect("a lock");
        file
    }

    pub(super) fn record(&self, call: &Call) {
        use std::io::Write;
        let line = serde_json::to_string(call).expect("plain data") + "\n";
        let lock = self.lock();
        let path = self.0.join("calls.jsonl");
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a writable folder");
        file.write_all(line.as_bytes()).expect("a writable folder");
        drop(lock);
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        let text = fs::read_to_string(self.0.join("calls.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("its own file")).collect()
    }

    pub(super) fn at(path: &Utf8Path) -> Folder {
        Folder(path.to_owned())
    }
}
