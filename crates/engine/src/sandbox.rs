//! What an agent may write to. Its worktree, what it says, temporary files, its own settings, caches: nothing else of
//! the machine, and of the repository only what a commit on a detached HEAD needs.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Adapter, Agent, Fences, Sandbox};

use crate::agent::{OUTBOX, variable};
use crate::disk;
use crate::keeper::{Fence, Job, JobSpec, Limits, fences_are_possible};
use crate::project::Project;

/// The variable that says what is wanted where no flag does.
pub const MODE: &str = "PITON_SANDBOX";
/// The variable that says whether fences come with a read-only view: they do, unless it is `off`.
pub const VIEW: &str = "PITON_VIEW";
/// Where each client keeps its conversations: the variable that says so and what is below that, else what is below the
/// home folder. Not `~/.claude.json`, which many at once would write in place, since nothing can be renamed to it from
/// inside; nor where programs are.
const CLIENT_HOMES: [(Adapter, &str, &str, &str); 8] = [
    (Adapter::Claude, "CLAUDE_CONFIG_DIR", "", ".claude"),
    (Adapter::Codex, "CODEX_HOME", "", ".codex"),
    (Adapter::Gemini, "GEMINI_CLI_HOME", ".gemini", ".gemini"),
    (Adapter::Opencode, "OPENCODE_CONFIG_DIR", "", ".config/opencode"),
    (Adapter::Opencode, "XDG_CONFIG_HOME", "opencode", ".config/opencode"),
    (Adapter::Opencode, "XDG_DATA_HOME", "opencode", ".local/share/opencode"),
    (Adapter::Opencode, "XDG_STATE_HOME", "opencode", ".local/state/opencode"),
    (Adapter::Opencode, "XDG_CACHE_HOME", "opencode", ".cache/opencode"),
];
/// What builds fetch once for all: without these, an agent could not even build. Programs are in none of them.
const CACHES: [&str; 13] = [
    ".cache",
    ".npm",
    ".yarn/berry/cache",
    ".local/share/pnpm/store",
    ".bun/install/cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    "go/pkg",
    ".gradle/caches",
    ".m2/repository",
];
/// Temporary files of everybody.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Those of one attempt, in its folder.
const OWN_TEMPORARY: &str = "tmp";
/// What an agent's git does besides what it is asked: its commits are on the disk when it says so, and it does not
/// clean up a repository that others work in.
const GIT: [(&str, &str); 3] = [("core.fsync", "committed"), ("gc.auto", "0"), ("maintenance.auto", "false")];

/// Whether a fence is put up, here and now.
pub fn is_in_force(mode: Sandbox) -> bool {
    mode != Sandbox::Off && fences_are_possible().is_ok()
}

/// Whether fences are to come with a read-only view, where there can be one.
pub fn view_is_wished() -> bool {
    std::env::var(VIEW).map_or(true, |said| said != "off")
}

/// Keeps the agents of a run where they belong.
#[derive(Clone, Debug)]
pub struct Guard {
    fences: Fences,
    in_force: bool,
    root: Utf8PathBuf,
    /// The git directory that all worktrees share.
    common: Option<Utf8PathBuf>,
}

/// What the environment asks for; a word that it does not know says nothing.
pub fn wished() -> Option<Sandbox> {
    let said = std::env::var(MODE).ok()?;
    Sandbox::ALL.iter().find(|(name, _)| *name == said).map(|(_, mode)| *mode)
}

impl Guard {
    /// `mode`: what this start of Piton was asked for, if anything.
    pub fn new(fences: &Fences, mode: Option<Sandbox>, project: &Project) -> Guard {
        let fences = Fences { sandbox: mode.unwrap_or(fences.sandbox), ..fences.clone() };
        let common = project.repo().ok().flatten().map(|repo| real(repo.common_dir()));
        Guard { in_force: is_in_force(fences.sandbox), fences, root: real(&project.root), common }
    }

    pub(crate) fn is_in_force(&self) -> bool {
        self.in_force
    }

    /// Whether nothing in the main checkout can be changed from inside: what the plan opens may be anywhere.
    pub(crate) fn keeps_from_checkout(&self) -> bool {
        self.is_in_force() && self.fences.writable.is_empty()
    }

    fn encloses(&self) -> bool {
        self.is_in_force() || self.fences.sandbox == Sandbox::On
    }

    /// Make what an agent in `place` will need for itself, while there is time.
    pub(crate) fn make_room(&self, job: &Job, place: &Utf8Path) {
        if self.encloses() {
            // Where that is impossible, whoever needs it says so.
            let _ = own_temporary(&self.temporary(place), job);
        }
    }

    /// Make the job of `agent` in `place` one that stays there and within its limits.
    pub(crate) fn enclose(
        &self,
        agent: &Agent,
        spec: &mut JobSpec,
        job: &Job,
        place: &Utf8Path,
    ) -> io::Result<()> {
        let inherited =
            spec.env.get("GIT_CONFIG_COUNT").cloned().or_else(|| std::env::var("GIT_CONFIG_COUNT").ok());
        let first: usize = inherited.and_then(|count| count.parse().ok()).unwrap_or(0);
        for (number, (key, value)) in (first..).zip(GIT) {
            spec.env.insert(format!("GIT_CONFIG_KEY_{number}"), key.to_owned());
            spec.env.insert(format!("GIT_CONFIG_VALUE_{number}"), value.to_owned());
        }
        spec.env.insert("GIT_CONFIG_COUNT".to_owned(), (first + GIT.len()).to_string());
        spec.watched = Some(place.to_owned());
        spec.startup_ms = self.fences.startup.map(|span| span.0).or(spec.startup_ms);
        let memory = self.fences.memory_mib.map(|mib| u64::from(mib) * 1024 * 1024);
        spec.limits = Limits { memory, processes: self.fences.processes.map(u64::from) };
        if self.encloses() {
            let writable = self.writable(agent, spec, job, place)?;
            let needed = spec.fence.take().is_some_and(|fence| fence.required);
            let required = needed || self.fences.sandbox == Sandbox::On;
            spec.fence = Some(Fence { writable, required, view: view_is_wished() });
        }
        Ok(())
    }

    fn writable(
        &self,
        agent: &Agent,
        spec: &mut JobSpec,
        job: &Job,
        place: &Utf8Path,
    ) -> io::Result<Vec<Utf8PathBuf>> {
        let mut all = vec![place.to_owned()];
        all.extend(self.of_git(place).into_iter().flatten());
        // Not the attempt's folder itself: the keeper writes there, and would follow where a link leads.
        if let Some(outbox) = spec.env.get(OUTBOX) {
            fs::File::options().create(true).append(true).open(outbox)?;
            all.push(outbox.into());
        }
        let temporary = self.temporary(place);
        if let Some(own) = own_temporary(&temporary, job)? {
            spec.env.insert("TMPDIR".to_owned(), own.into_string());
        }
        all.extend(temporary);
        let folders = job.dir().read_dir_utf8()?.flatten().filter(|entry| entry.path().is_dir());
        all.extend(folders.map(|entry| entry.path().to_owned()));
        all.extend(homes(agent, |name| variable(&spec.env, name)));
        let usual = std::env::var("HOME").unwrap_or_default();
        if let Some(own) = spec.env.get("HOME").filter(|own| **own != usual) {
            all.push(own.into());
        }
        if let Some(cache) = variable(&spec.env, "XDG_CACHE_HOME") {
            all.push(cache.into());
        }
        all.extend(CACHES.iter().map(|name| Utf8Path::new(&usual).join(name)));
        let more = self.fences.writable.iter().map(|path| match path.strip_prefix("~/") {
            Some(below) => Utf8Path::new(&usual).join(below),
            None => path.into(),
        });
        all.extend(more);
        all.retain(|path| path.is_absolute());
        Ok(all)
    }

    /// What a commit on a detached HEAD writes: objects, and the worktree's own index, HEAD and log.
    fn of_git(&self, place: &Utf8Path) -> Option<[Utf8PathBuf; 2]> {
        let common = self.common.as_ref()?;
        let link = fs::read_to_string(place.join(".git")).ok()?;
        let own = real(&place.join(link.strip_prefix("gitdir:")?.trim()));
        let is_ours = own.parent() == Some(&common.join("worktrees"));
        is_ours.then(|| [common.join("objects"), own])
    }

    /// Everybody's temporary folders, but for those in which the project itself is, or other worktrees are.
    fn temporary(&self, place: &Utf8Path) -> Vec<Utf8PathBuf> {
        let place = real(place);
        let kept = [Some(self.root.as_path()), self.common.as_deref(), place.parent()];
        let usual = Some(temp_dir()).filter(|usual| !TEMPORARY.contains(&usual.as_str()));
        let all = TEMPORARY.iter().map(Utf8PathBuf::from).chain(usual).map(|folder| real(&folder));
        all.filter(|folder| !kept.iter().flatten().any(|kept| kept.starts_with(folder))).collect()
    }
}

/// A folder for the temporary files of one attempt, where the usual one is none of those it may write to.
fn own_temporary(temporary: &[Utf8PathBuf], job: &Job) -> io::Result<Option<Utf8PathBuf>> {
    if temporary.contains(&real(&temp_dir())) {
        return Ok(None);
    }
    let own = job.dir().join(OWN_TEMPORARY);
    disk::private_folder(&own)?;
    Ok(Some(own))
}

/// Remove what an attempt that is over needed for itself only.
pub(crate) fn clear(job: &Job) {
    // What cannot be removed goes with the run's folder.
    let _ = fs::remove_dir_all(job.dir().join(OWN_TEMPORARY));
}

/// Make the folders in which a client keeps its conversations: behind a fence it could not, and one that is not there
/// cannot be opened to it.
pub(crate) fn make_homes(agent: &Agent) {
    for home in homes(agent, |name| variable(&agent.env, name)) {
        // Where that is impossible, the client itself says what it misses.
        let _ = disk::private_folder(&home);
    }
}

/// Of the clients that an agent is, or whose program its command names. No other: in their homes is what they run.
fn homes(agent: &Agent, said: impl Fn(&str) -> Option<String>) -> Vec<Utf8PathBuf> {
    let words = || agent.command.iter().flat_map(|word| word.split_whitespace());
    let names = |client: Adapter| words().any(|word| Utf8Path::new(word).file_name() == Some(client.name()));
    let is_own = |client: Adapter| agent.adapter == client || (agent.adapter.is_command() && names(client));
    let home = |(_, variable, below, usual): &(Adapter, &str, &str, &str)| match said(variable) {
        Some(folder) if below.is_empty() => Some(Utf8PathBuf::from(folder)),
        Some(folder) => Some(Utf8Path::new(&folder).join(below)),
        None => Some(Utf8Path::new(&said("HOME")?).join(usual)),
    };
    let all = CLIENT_HOMES.iter().filter(|(client, ..)| is_own(*client)).filter_map(home);
    all.filter(|path| path.is_absolute()).collect()
}

fn temp_dir() -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(std::env::temp_dir()).unwrap_or_else(|_| "/tmp".into())
}

fn real(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}
