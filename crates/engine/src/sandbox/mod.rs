//! What an agent may write to: its worktree, its reports, temporary files, its own settings and caches. Nothing else of
//! the machine, and of the repository only what a commit on a detached HEAD needs.

mod caches;
mod guess;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Agent, Digest, Fences, Sandbox};

use crate::agent::{BIN, OUTBOX, homes};
use crate::environment::variable;
use crate::keeper::{Fence, Job, JobSpec, Limits, fences_are_possible};
use crate::project::Project;
use crate::{disk, git};

pub use caches::{Access, CACHES, Cache, as_markdown, caches_here, tools_of};
pub use guess::{Guess, guesses};

/// The variable that sets the mode if no flag does.
pub const MODE: &str = "PITON_SANDBOX";
/// The variable that says whether fences come with a read-only view: they do, unless it is `off`.
pub const VIEW: &str = "PITON_VIEW";
/// Folders for temporary files that all processes of the machine share.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// The folder for temporary files of one attempt, in its job's folder, if it cannot have one in a shared folder.
const OWN_TEMPORARY: &str = "tmp";
/// A file in an attempt's folder: where its folder for temporary files is.
const TEMPORARY_NOTE: &str = "tmp-folder";
/// The caches that one attempt has for itself, in its folder.
const OWN_CACHES: &str = "caches";
/// What an agent's git does besides what it is asked: its commits are on the disk when it says so, and it does not
/// clean up a repository that others work in. It signs nothing: agents must not use keys, or the programs that hold
/// them.
const GIT: [(&str, &str); 6] = [
    ("core.fsync", "committed"),
    // Half of a split index would be elsewhere.
    ("core.splitIndex", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
];

/// Whether agents get a fence on this machine.
pub fn is_in_force(mode: Sandbox) -> bool {
    mode != Sandbox::Off && fences_are_possible().is_ok()
}

/// Whether fences should come with a read-only view, if one can be made.
pub fn view_is_wished() -> bool {
    std::env::var(VIEW).map_or(true, |said| said != "off")
}

/// Puts fences around the agents of a run.
#[derive(Clone, Debug)]
pub struct Guard {
    fences: Fences,
    in_force: bool,
    root: Utf8PathBuf,
    /// The git directory that all worktrees share.
    common: Option<Utf8PathBuf>,
}

/// The mode that the environment asks for; an unknown word counts as unset.
pub fn wished() -> Option<Sandbox> {
    let said = std::env::var(MODE).ok()?;
    Sandbox::ALL.iter().find(|(name, _)| *name == said).map(|(_, mode)| *mode)
}

impl Guard {
    /// `mode`: what the command line asked for, if anything.
    pub fn new(fences: &Fences, mode: Option<Sandbox>, project: &Project) -> Guard {
        let fences = Fences { sandbox: mode.unwrap_or(fences.sandbox), ..fences.clone() };
        let common = project.repo().ok().flatten().map(|repo| real(repo.common_dir()));
        Guard { in_force: is_in_force(fences.sandbox), fences, root: real(&project.root), common }
    }

    pub(crate) fn is_in_force(&self) -> bool {
        self.in_force
    }

    /// Whether an agent can change nothing in the main checkout. It can if the plan opens a folder in it or around it.
    pub(crate) fn keeps_from_checkout(&self) -> bool {
        let is_apart = |place: Utf8PathBuf| {
            let place = real(&place);
            !place.starts_with(&self.root) && !self.root.starts_with(&place)
        };
        self.is_in_force() && self.opened().all(is_apart)
    }

    /// What the plan opens beside the worktree.
    fn opened(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let home = std::env::var("HOME").unwrap_or_default();
        self.fences.writable.iter().map(move |path| match path.strip_prefix("~/") {
            Some(below) => Utf8Path::new(&home).join(below),
            None => path.into(),
        })
    }

    /// Where an agent in `place` can write, in a sentence. Empty without a fence.
    pub(crate) fn writable_in_words(&self, place: &Utf8Path) -> String {
        if !self.is_in_force() {
            return String::new();
        }
        let mut tools: Vec<&str> = Vec::new();
        for cache in tools_of(place).into_iter().filter(|cache| !cache.is_without_share()) {
            let name = cache.tool.split([',', ' ']).next().unwrap_or(cache.tool);
            if !tools.contains(&name) {
                tools.push(name);
            }
        }
        let caches = match tools.split_last() {
            None => String::new(),
            Some((only, [])) => format!(", in the cache of {only}"),
            Some((last, others)) => format!(", in the caches of {} and {last}", others.join(", ")),
        };
        let more: String = self.fences.writable.iter().map(|path| format!(", in `{path}`")).collect();
        let own = self.common.as_ref().and_then(|common| git::private_dir(common, place));
        let git = own.map_or("", |_| {
            " Branches, stashes and git settings that you make are gone after this attempt: commit what counts."
        });
        format!(
            "You can write here, in `$TMPDIR`{caches}{more}, and nowhere else on this machine. If the task needs another \
             place, say BLOCKED and name it.{git}"
        )
    }

    /// Whether agents run inside a fence, or do not start without one.
    pub(crate) fn encloses(&self) -> bool {
        self.is_in_force() || self.fences.sandbox == Sandbox::On
    }

    /// Make what an agent will need for itself, while there is time.
    pub(crate) fn make_room(&self, job: &Job) {
        if self.encloses() {
            // If that fails, the program that needs it reports it.
            let _ = own_temporary(job);
            let _ = disk::private_folder(&job.dir().join(OWN_CACHES));
        }
    }

    /// Put a fence around the job of `agent` in `place`, and set its limits.
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
        all.extend(self.of_git(place));
        // Not the attempt's folder itself: the keeper writes there, and would follow a link.
        if let Some(outbox) = spec.env.get(OUTBOX) {
            fs::File::options().create(true).append(true).open(outbox)?;
            all.push(outbox.into());
        }
        let temporary = self.temporary(place);
        let own = own_temporary(job)?;
        if !temporary.iter().any(|folder| own.starts_with(folder)) {
            all.push(own.clone());
        }
        spec.env.insert("TMPDIR".to_owned(), own.into_string());
        all.extend(temporary);
        let mut outside = homes(agent, |name| variable(&spec.env, name));
        let usual = std::env::var("HOME").unwrap_or_default();
        if let Some(own) = spec.env.get("HOME").filter(|own| **own != usual) {
            outside.push(own.into());
        }
        outside.extend(agent.env.get(caches::CACHE_HOME).map(Utf8PathBuf::from));
        for place in self.opened() {
            // An agent that may write to a folder expects it to exist. If it cannot be made, it stays closed.
            if !place.exists() {
                let _ = fs::create_dir_all(&place);
            }
            outside.push(place);
        }
        all.extend(arrange_caches(agent, spec, job, place, &outside)?);
        all.extend(outside);
        let folders = job.dir().read_dir_utf8()?.flatten().filter(|entry| entry.path().is_dir());
        // The agent must not replace the program that its reports go through.
        let folders = folders.filter(|entry| entry.file_name() != BIN);
        all.extend(folders.map(|entry| entry.path().to_owned()));
        all.retain(|path| path.is_absolute());
        Ok(all)
    }

    /// The git directory that is the attempt's own. Without one, the agent writes nothing in git.
    fn of_git(&self, place: &Utf8Path) -> Option<Utf8PathBuf> {
        git::private_dir(self.common.as_ref()?, place)
    }

    /// The shared temporary folders, except those that contain the project itself or other worktrees.
    fn temporary(&self, place: &Utf8Path) -> Vec<Utf8PathBuf> {
        let place = real(place);
        let kept = [Some(self.root.as_path()), self.common.as_deref(), place.parent()];
        let usual = Some(temp_dir()).filter(|usual| !TEMPORARY.contains(&usual.as_str()));
        let all = TEMPORARY.iter().map(Utf8PathBuf::from).chain(usual).map(|folder| real(&folder));
        all.filter(|folder| !kept.iter().flatten().any(|kept| kept.starts_with(folder))).collect()
    }
}

/// Make the caches that builds in `place` need, and set the variables of those that are the agent's own. Returns what
/// it may write to.
fn arrange_caches(
    agent: &Agent,
    spec: &mut JobSpec,
    job: &Job,
    place: &Utf8Path,
    outside: &[Utf8PathBuf],
) -> io::Result<Vec<Utf8PathBuf>> {
    let private = job.dir().join(OWN_CACHES);
    let arrangement = caches::arrange(&caches::Facts {
        private: &private,
        said: &|name| variable(&spec.env, name),
        settled: &|name| agent.env.contains_key(name),
        files: &caches::files_of(place),
        exists: &|path| path.exists(),
        opened: outside,
    });
    arrangement.carry_out(&private)?;
    spec.env.extend(arrangement.env);
    spec.env_remove.extend(arrangement.env_remove);
    Ok(arrangement.shared.into_iter().map(|place| place.path).collect())
}

/// A folder for the temporary files of one attempt. It is in a shared temporary folder, since the path of a socket in
/// it must not be long. If that is impossible, it is in the attempt's own folder. Another engine, with another
/// temporary folder, may end the attempt: so a note in the job's folder says where it is before it is made.
fn own_temporary(job: &Job) -> io::Result<Utf8PathBuf> {
    let made = noted_temporary(job).filter(|made| is_ours(made));
    let short = made.unwrap_or_else(|| short_temporary(job));
    let note = job.dir().join(TEMPORARY_NOTE);
    if disk::private_folder(job.dir()).and_then(|()| disk::fill(&note, short.as_str().as_bytes())).is_ok()
        && disk::private_folder(&short).is_ok()
        && is_ours(&short)
    {
        return Ok(short);
    }
    let own = job.dir().join(OWN_TEMPORARY);
    disk::private_folder(&own)?;
    Ok(own)
}

fn short_temporary(job: &Job) -> Utf8PathBuf {
    real(&temp_dir()).join(temporary_name(job))
}

fn temporary_name(job: &Job) -> String {
    format!("piton-{}", Digest::of_bytes(job.dir().as_str().as_bytes()).short())
}

/// Where the folder for temporary files of a job was made. A folder with another name does not count.
fn noted_temporary(job: &Job) -> Option<Utf8PathBuf> {
    let noted = fs::read_to_string(job.dir().join(TEMPORARY_NOTE)).ok().map(Utf8PathBuf::from)?;
    (noted.is_absolute() && noted.file_name() == Some(&temporary_name(job))).then_some(noted)
}

/// Whether this folder belongs to this user alone.
#[cfg(unix)]
fn is_ours(folder: &Utf8Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(folder).is_ok_and(|data| {
        data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o077 == 0
    })
}

#[cfg(not(unix))]
fn is_ours(_folder: &Utf8Path) -> bool {
    true
}

/// Remove what an attempt that is over needed for itself only.
pub(crate) fn clear(job: &Job) {
    let own = [OWN_TEMPORARY, OWN_CACHES].map(|name| job.dir().join(name));
    let short = noted_temporary(job).unwrap_or_else(|| short_temporary(job));
    for folder in own.iter().chain(Some(&short).filter(|short| is_ours(short))) {
        // What cannot be removed goes with the run's folder, or when the system cleans up its temporary files.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Remove what is left of all attempts with jobs below a run's folder, which is about to be removed.
pub fn clear_all(run: &Utf8Path) {
    let inside = |folder: &Utf8Path| folder.read_dir_utf8().into_iter().flatten().flatten();
    for job in inside(run).flat_map(|task| inside(task.path()).collect::<Vec<_>>()) {
        clear(&Job::at(job.path()));
    }
}

/// The system's folder for temporary files, if its path is absolute: a relative one would create a folder in the
/// project.
fn temp_dir() -> Utf8PathBuf {
    let named = Utf8PathBuf::from_path_buf(std::env::temp_dir()).ok();
    named.filter(|path| path.is_absolute() && path.is_dir()).unwrap_or_else(|| "/tmp".into())
}

fn real(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}
