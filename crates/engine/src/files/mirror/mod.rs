//! One run's state file: what it shows, how it was edited, and how both become one again. The other files
//! of its system are settled with it, see [`super::companions`].
//!
//! The file is a picture of the journal at the position it names. An edit is what differs from the picture at that
//! position, so a stale copy is not a request to go back. Each edit is journaled with its position, so none is applied
//! twice.

mod claiming;
mod hearing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::chronicle::{Chronicle, Heard};
use piton_core::plan::{Digest, RunId, TaskId, TaskSpec};
use piton_core::run::{Command, Note, Recorded, State, Task};
use piton_core::system::edit::Edit;
use piton_core::system::state_files::{self, Workplace};
use piton_core::system::{Addition, SystemRef};
use serde_json::Value;

use super::kept::kept;
use super::shown::Shown;
use super::touched::{self, Form, Touched};
use crate::claims::{Judgement, Place};
use crate::disk::FileStamp;
use crate::journal::{Journal, JournalError};
use crate::lock::Lock;
use crate::project::Project;
use crate::{clock, crash, disk};

/// How often the file may be written at the same moment before its edits have to wait for the next time.
pub(super) const ROUNDS: usize = 8;
/// How long Piton waits for a process that holds the file before it looks again.
const PAUSE: Duration = Duration::from_millis(20);
/// Pictures that are kept to compare edits with: an edit is mostly of the last one.
const PICTURES: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{path}: {source}")]
    Io { path: Utf8PathBuf, source: io::Error },
    #[error("{path} is {what}, so Piton leaves it alone")]
    NotAFile { path: Utf8PathBuf, what: &'static str },
    /// Nothing is wrong yet.
    #[error("{0}")]
    Waits(Wait),
}

/// What another process holds, and what Piton does about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wait {
    #[error(
        "{0} exists: a script is writing, or left it behind. Waiting up to {limit}s; remove it if nothing is writing",
        limit = touched::STALE.as_secs()
    )]
    Lock(Utf8PathBuf),
    #[error("{0} is half-written. Waiting up to {limit}s for its writer to finish", limit = touched::STALE.as_secs())]
    HalfWritten(Utf8PathBuf),
}

impl FilesError {
    pub(super) fn io(path: &Utf8Path) -> impl FnOnce(io::Error) -> FilesError {
        move |source| FilesError::Io { path: path.to_owned(), source }
    }
}

/// What a state file needs besides being read and written.
pub trait Aide {
    /// Run the checks of a task that the file calls done, at once or meanwhile. `None`: not yet, ask again. The place
    /// is given only the first time.
    fn judge(
        &mut self,
        task: &Task,
        spec: &TaskSpec,
        place: Option<&Place>,
    ) -> Option<Result<Judgement, String>>;

    /// Another process holds the file, and is waited for. Reported once.
    fn waits(&mut self, wait: &Wait);

    /// Write a task that was added in the file into the plan, and add it to the run; or say why not. What is done
    /// already is not repeated.
    fn add(&mut self, journal: &mut Journal, task: &Addition) -> Result<(), String>;
}

/// A run and its state file.
#[derive(Debug)]
pub struct Mirror {
    pub(super) project: Project,
    run: RunId,
    pub(super) system: SystemRef,
    /// The name under which edits are recorded: that of the state file, or of the plan where there is none.
    file: String,
    /// Whether its system has a state file. Elsewhere only the plan's own files are settled.
    has_state: bool,
    pub(super) path: Utf8PathBuf,
    pub(super) plan: Utf8PathBuf,
    pub(super) state: State,
    pub(super) chronicle: Chronicle,
    pictures: VecDeque<(u64, Value)>,
    /// Tasks that the file reports as done and whose checks are still running. The file keeps showing that, so that the
    /// next process finds it if this one dies.
    pub(super) claimed: Vec<TaskId>,
    /// Claims that were decided in this reconciliation: a task that is reported done in two files is answered once.
    pub(super) judged: Vec<TaskId>,
    /// Tasks that were not in progress, and that are held only while their claim is decided.
    pub(super) held: Vec<TaskId>,
    /// When Piton last looked whether waiting claims still have to wait.
    pub(super) looked: Option<Instant>,
    /// What the files showed when they were last written, by whichever process.
    pub(super) shown: Shown,
    /// How the files looked, and the position they showed, when nothing was left to do about them.
    settled: Option<(Vec<Option<FileStamp>>, u64)>,
}

impl Mirror {
    /// Open the file for the run that owns it by now.
    pub(super) fn open(
        project: &Project,
        journal: &mut Journal,
        run: &RunId,
    ) -> Result<Option<Mirror>, FilesError> {
        let Some(facts) = journal.facts(run)? else { return Ok(None) };
        let system = facts.settings.system();
        let plan = Utf8PathBuf::from(&facts.plan);
        let state = system.files().state;
        // A folder is not written to: the first of its files stands for it.
        let first =
            || if plan.is_dir() { kept(system, &plan).first().map(|file| file.path.clone()) } else { None };
        if state.is_none() && kept(system, &plan).is_empty() {
            return Ok(None);
        }
        let home = if system.files().of_project { &project.root } else { &plan };
        let path = state.map_or_else(|| first().unwrap_or_else(|| plan.clone()), |state| home.join(state));
        let file = state.unwrap_or_else(|| plan.file_name().unwrap_or("the plan")).to_owned();
        let mut mirror = Mirror {
            project: project.clone(),
            run: run.clone(),
            system,
            file,
            has_state: state.is_some(),
            path,
            plan,
            state: State::new(),
            chronicle: Chronicle::default(),
            pictures: VecDeque::new(),
            claimed: Vec::new(),
            judged: Vec::new(),
            held: Vec::new(),
            looked: None,
            shown: Shown::default(),
            settled: None,
        };
        mirror.catch_up(journal)?;
        Ok(Some(mirror))
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub fn system(&self) -> SystemRef {
        self.system
    }

    /// The state files are not work: hide them from git, so that no check is blamed for changing them.
    pub(super) fn hide(&self) {
        let root = self.project.root.canonicalize_utf8().unwrap_or_else(|_| self.project.root.clone());
        let folder = folder_in_project(&self.project, self.system, &self.plan);
        let (Some(folder), Ok(Some(repo))) = (folder, self.project.repo_or_store()) else { return };
        let files: Vec<Utf8PathBuf> =
            self.system.files().offered.iter().map(|name| folder.join(name)).collect();
        let lock = self.lock_of_others(&self.plan).filter(|_| !self.has_state);
        let lock = lock.and_then(|lock| lock.strip_prefix(&root).ok().map(ToString::to_string));
        for path in files.iter().flat_map(|file| with_neighbours(file)).chain(lock) {
            // If git still sees the file, that does no other harm.
            let _ = repo.exclude(&path);
        }
        // Each is written beside its place first, and so is a list that has a place of its own.
        let has_place = self.system.files().of_project || !self.has_state;
        let lists = self.companions().into_iter().map(|file| file.path);
        let lists: Vec<Utf8PathBuf> = lists.filter(|_| has_place).collect();
        let lists = lists.iter().filter_map(|list| list.strip_prefix(&root).ok());
        let files = files.iter().map(Utf8PathBuf::as_path).chain(lists);
        for beside in files.filter_map(Utf8Path::parent).collect::<BTreeSet<_>>() {
            let _ = repo.exclude_beginning(beside.join(disk::HALF_WRITTEN).as_str());
        }
    }

    /// Apply the edits of the file, and write what is true now. A process that is writing it is waited for.
    pub fn settle(&mut self, journal: &mut Journal, aide: &mut dyn Aide) -> Result<(), FilesError> {
        let mut told = false;
        while let Some(wait) = self.settle_unless_held(journal, aide)? {
            if !told {
                aide.waits(&wait);
                told = true;
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// The same without waiting. Returns what it would have to wait for.
    pub(super) fn settle_unless_held(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
    ) -> Result<Option<Wait>, FilesError> {
        self.catch_up(journal)?;
        let committed = self.committed();
        if self.claimed.is_empty() && committed.is_empty() && self.is_settled() {
            return Ok(None);
        }
        let path = self.real_path(&self.path)?;
        if !self.plan.exists() {
            // The plan is gone; the journal has it all.
            return Ok(None);
        }
        let folder = path.parent().unwrap_or(Utf8Path::new(".")).to_owned();
        fs::create_dir_all(&folder).map_err(FilesError::io(&folder))?;
        let lock = self.own_lock();
        let _own = Lock::take(&lock).map_err(FilesError::io(&lock))?;
        let _touched = match self.lock_of_others(&path) {
            None => None,
            Some(touch) => {
                match Touched::try_take(&touch, self.lock_form()).map_err(FilesError::io(&touch))? {
                    Some(touched) => Some(touched),
                    None => return Ok(Some(Wait::Lock(touch))),
                }
            }
        };
        if self.is_being_written(&path)? {
            self.settled = None;
            return Ok(Some(Wait::HalfWritten(path)));
        }
        if !path.exists() {
            self.hide();
        }
        self.judged.clear();
        let known = Shown::load(&self.project, &self.run);
        self.shown = known.clone();
        for id in committed {
            self.claim_again(journal, aide, &id)?;
        }
        let mut quiet = self.hear_what_was_displaced(journal, aide, &folder)?;
        let folders: BTreeSet<Utf8PathBuf> =
            self.companions().iter().filter_map(|file| file.path.parent().map(Utf8Path::to_owned)).collect();
        for other in folders.iter().filter(|other| **other != folder) {
            quiet &= self.hear_what_was_displaced(journal, aide, other)?;
        }
        // Taken before anything is read: a write from here on is seen now or the next time.
        let stamps = self.stamps();
        for _ in 0..ROUNDS {
            if self.has_state {
                quiet &= self.settle_state(journal, aide, &path)?;
            }
            let before = self.state.seq();
            for file in self.companions() {
                quiet &= self.settle_companion(journal, aide, &file)?;
            }
            if self.state.seq() == before {
                break;
            }
            // An edit in one file changes the others, too.
        }
        if self.shown != known {
            self.shown.save(&self.project, &self.run);
        }
        self.settled = quiet.then(|| (stamps, self.state.seq()));
        let held = !quiet && self.is_being_written(&path)?;
        Ok(held.then_some(Wait::HalfWritten(path)))
    }

    /// Whether a process is writing the file in place. A damaged file that was kept aside when this run took over is
    /// not waited for.
    fn is_being_written(&self, path: &Utf8Path) -> Result<bool, FilesError> {
        if !self.has_state {
            return Ok(false);
        }
        let is_new = self.state.tasks().all(|task| task.fence == 0);
        let is_kept = || Ok::<_, FilesError>(read(path)? == read(&Utf8PathBuf::from(format!("{path}.bad")))?);
        Ok(is_half_written(path)? && !(is_new && is_kept()?))
    }

    /// Held by the Piton process that works on the file.
    fn own_lock(&self) -> Utf8PathBuf {
        let whose = match self.system.files().of_project {
            true => self.system.name(),
            false => self.run.as_str(),
        };
        self.project.home.join(format!("locks/file-{whose}.lock"))
    }

    /// The lock that other programs hold while they write: the scripts of a system with a state file, or the programs
    /// that write a plan.
    fn lock_of_others(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        if self.has_state {
            return Some(path.with_extension("lock"));
        }
        let files = self.system.files();
        let of_folder = files.lock_of_folder.map(|name| path.with_file_name(name));
        of_folder.or_else(|| files.lock_ending.map(|ending| Utf8PathBuf::from(format!("{path}{ending}"))))
    }

    fn lock_form(&self) -> Form {
        if self.system.files().lock_of_folder.is_some() { Form::Json } else { Form::Line }
    }

    /// A lock file of the shell recipes that lies beside the state file although no Piton process works on it, and its
    /// age.
    pub fn lock_left(&self) -> Option<LockLeft> {
        let path = self.lock_of_others(&self.path)?;
        let age = touched::age(&path)?;
        let by_piton = touched::is_ours(&path);
        let is_at_work = by_piton && Lock::is_held(&self.own_lock());
        let over = by_piton || touched::is_stale(&path);
        (!is_at_work).then_some(LockLeft { path, age, by_piton, over })
    }

    /// Returns whether there was nothing to do.
    fn settle_state(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        path: &Utf8Path,
    ) -> Result<bool, FilesError> {
        for round in 0..ROUNDS {
            let found = read(path)?;
            match &found {
                Some(_) if self.is_being_written(path)? => return Ok(false),
                Some(bytes) => {
                    self.refuse_older(journal, bytes)?;
                    self.hear(journal, aide, bytes)?;
                }
                None if self.shown.seq > 0 => self.refuse_whole(
                    journal,
                    "the file was deleted",
                    "it is written again; `piton run PLAN --reset` begins a new run",
                )?,
                None => {}
            }
            let Some(text) = self.text() else { return Ok(true) };
            if found.as_deref() == Some(text.as_bytes()) {
                self.shown.seq = self.state.seq();
                return Ok(round == 0);
            }
            crash::point("files.before-write");
            let displaced = disk::displace(path, text.as_bytes()).map_err(FilesError::io(path))?;
            crash::point("files.written");
            match displaced {
                displaced if displaced.as_ref().map(|file| &file.bytes) == found.as_ref() => {
                    self.shown.seq = self.state.seq();
                    break;
                }
                // A process is writing it in this very moment: what it writes next must not go into a file that is gone.
                Some(theirs) if state_files::is_cut_short(&theirs.bytes) => {
                    let between = theirs.put_back(path).map_err(FilesError::io(path))?;
                    if let Some(between) = between.filter(|file| file.bytes != text.as_bytes()) {
                        between.leave().map_err(FilesError::io(path))?;
                    }
                    return Ok(false);
                }
                // It was written in this very moment.
                Some(theirs) => self.hear(journal, aide, &theirs.bytes)?,
                None => {}
            }
        }
        Ok(false)
    }

    /// How the file differs from what the journal says. Changes nothing.
    pub fn differences(&mut self, journal: &mut Journal) -> Result<Vec<String>, FilesError> {
        self.catch_up(journal)?;
        self.shown = Shown::load(&self.project, &self.run);
        if !self.has_state {
            return self.differences_of_companions();
        }
        let Some(bytes) = read(&self.real_path(&self.path)?)? else {
            return Ok(vec!["it is missing".to_owned()]);
        };
        if self.text().is_some_and(|text| text.as_bytes() == bytes) {
            return Ok(Vec::new());
        }
        let found = match state_files::parse(&bytes) {
            Ok((found, _)) => found,
            Err(_) if is_half_written(&self.path)? => return Ok(vec!["it is half-written".to_owned()]),
            Err(reason) => return Ok(vec![format!("it is not JSON ({reason})")]),
        };
        let Some((shown, base)) = self.origin(journal, &found)? else {
            return Ok(vec!["it is not of this run".to_owned()]);
        };
        let mut edits = self.system.edits(&base, &found);
        edits.retain(|edit| !self.is_heard(shown, edit));
        if edits.is_empty() {
            return Ok(vec![format!("it shows event {shown} of {}", self.state.seq())]);
        }
        Ok(edits.iter().map(|edit| format!("it was edited: {edit}")).collect())
    }

    /// The picture that the file is an edit of, if it is one of ours.
    fn origin(&self, journal: &Journal, found: &Value) -> Result<Option<(u64, Value)>, FilesError> {
        let ours = found.get("piton_run").and_then(Value::as_str) == Some(self.run.as_str());
        let seq = found.get("piton_seq").and_then(Value::as_u64);
        let Some(shown) = seq.filter(|seq| ours && *seq <= self.state.seq()) else { return Ok(None) };
        Ok(self.picture_at(journal, shown)?.map(|base| (shown, base)))
    }

    /// Another run whose picture the file is: it had the file before this one.
    fn shows_another(&self, journal: &Journal, found: &Value) -> Result<Option<RunId>, FilesError> {
        let named = found.get("piton_run").and_then(Value::as_str).and_then(|name| RunId::new(name).ok());
        let Some(other) = named.filter(|other| *other != self.run) else { return Ok(None) };
        let is_known = self.system.files().of_project && journal.facts(&other)?.is_some();
        Ok(is_known.then_some(other))
    }

    fn is_heard(&self, shown: u64, edit: &Edit) -> bool {
        let told = key(edit);
        let known = |heard: &Heard| heard.file == self.file && heard.shown == shown && heard.edit == told;
        self.chronicle.heard.iter().any(known)
    }

    fn is_settled(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|(stamps, seq)| *seq == self.state.seq() && *stamps == self.stamps())
    }

    /// A missing file has the stamp `None`: some files are created late.
    fn stamps(&self) -> Vec<Option<FileStamp>> {
        let others = self.companions().into_iter().map(|file| file.path);
        std::iter::once(self.path.clone()).chain(others).map(|path| FileStamp::read(&path)).collect()
    }

    /// Fold what the journal holds beyond what is known here.
    fn catch_up(&mut self, journal: &mut Journal) -> Result<(), FilesError> {
        loop {
            let news = journal.events(&self.run, self.state.seq(), None, 4096)?;
            if news.is_empty() {
                return Ok(());
            }
            self.fold(&news);
        }
    }

    fn fold(&mut self, news: &[Recorded]) {
        let known = self.chronicle.seq;
        for recorded in news.iter().filter(|recorded| recorded.seq > known) {
            self.chronicle.apply(recorded);
            if recorded.seq > self.state.seq() {
                // A complete state misses nothing; what it cannot fold, `piton doctor` explains.
                let _ = self.state.apply(recorded);
            }
        }
        self.state.take_changes();
    }

    pub(super) fn place(&self) -> state_files::Place {
        let tasks = self.path.parent().unwrap_or(Utf8Path::new("."));
        place(&self.project, &self.run, &self.state, tasks)
    }

    /// The text that the file should have. It is remembered, since a later edit may be based on it.
    fn text(&mut self) -> Option<String> {
        let picture = self.system.picture(&self.state, &self.chronicle, &self.place(), &self.claimed)?;
        let seq = self.state.seq();
        if self.pictures.iter().all(|(known, _)| *known != seq) {
            self.pictures.push_back((seq, picture.value));
            if self.pictures.len() > PICTURES {
                self.pictures.pop_front();
            }
        }
        Some(picture.text)
    }

    /// What the file was at a position of the journal.
    fn picture_at(&self, journal: &Journal, seq: u64) -> Result<Option<Value>, FilesError> {
        if let Some((_, value)) = self.pictures.iter().find(|(known, _)| *known == seq) {
            return Ok(Some(value.clone()));
        }
        let (mut state, mut chronicle) = (State::new(), Chronicle::default());
        while state.seq() < seq {
            let left = usize::try_from(seq - state.seq()).unwrap_or(usize::MAX);
            let events = journal.events(&self.run, state.seq(), None, left.min(4096))?;
            if events.is_empty() {
                return Ok(None);
            }
            for recorded in &events {
                if state.apply(recorded).is_err() {
                    return Ok(None);
                }
                chronicle.apply(recorded);
            }
        }
        Ok(self.system.picture(&state, &chronicle, &self.place(), &[]).map(|picture| picture.value))
    }

    /// Record commands in one transaction; what was refused, and why.
    pub(super) fn commit(
        &mut self,
        journal: &mut Journal,
        commands: &[Command],
    ) -> Result<Vec<String>, FilesError> {
        let done = journal.commit(&self.run, &mut self.state, commands, clock::now())?;
        self.fold(&done.foreign);
        let mut refused = Vec::new();
        for outcome in done.outcomes {
            match outcome {
                Ok(recorded) => self.fold(&recorded),
                Err(refusal) => refused.push(match refusal.hint {
                    Some(hint) => format!("{}; {hint}", refusal.reason),
                    None => refusal.reason,
                }),
            }
        }
        Ok(refused)
    }

    fn refuse(&mut self, journal: &mut Journal, edit: &str, reason: &str) -> Result<(), FilesError> {
        let file = self.file.clone();
        self.refuse_in(journal, &file, (None, edit), reason)
    }

    /// Refuse a change to the file as a whole, which is not about a task.
    fn refuse_whole(&mut self, journal: &mut Journal, edit: &str, reason: &str) -> Result<(), FilesError> {
        self.refuse(journal, edit, reason)?;
        self.log(journal, None, &format!("Rejected an edit of {}: {edit}: {reason}", self.file))
    }

    pub(super) fn refuse_in(
        &mut self,
        journal: &mut Journal,
        file: &str,
        (task, edit): (Option<&TaskId>, &str),
        reason: &str,
    ) -> Result<(), FilesError> {
        let (file, edit, reason) = (file.to_owned(), edit.to_owned(), reason.to_owned());
        let note = Note::EditRefused { file, edit, reason, task: task.cloned() };
        self.commit(journal, &[Command::Note { by: "piton".to_owned(), note }]).map(drop)
    }

    /// Refuse an edit, and write that into the system's own log as well.
    pub(in crate::files) fn refuse_edit(
        &mut self,
        journal: &mut Journal,
        file: &str,
        edit: &Edit,
        reason: &str,
    ) -> Result<(), FilesError> {
        self.refuse_in(journal, file, (edit.task.as_ref(), &edit.to_string()), reason)?;
        match &edit.task {
            Some(task) => {
                self.log(journal, Some(task), &format!("Rejected an edit of {file}: {edit}: {reason}"))
            }
            None => Ok(()),
        }
    }

    /// One copy, the newest: what went wrong once may go wrong a thousand times.
    fn keep_beside(&self, ending: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let path = Utf8PathBuf::from(format!("{}.{ending}", self.path));
        disk::write(&path, bytes).map_err(FilesError::io(&path))
    }

    /// A process that died between exchanging the file and applying the displaced version left that version beside it:
    /// apply it now. Returns whether nothing is left.
    fn hear_what_was_displaced(
        &mut self,
        journal: &mut Journal,
        aide: &mut dyn Aide,
        folder: &Utf8Path,
    ) -> Result<bool, FilesError> {
        let mut all = true;
        for path in disk::half_written(folder) {
            let Ok(bytes) = fs::read(&path) else { continue };
            if is_of_others(&path) && is_half_written(&path)? {
                all = false;
                continue;
            }
            // Our own half-written file says nothing new, or is not JSON.
            if self.has_state && state_files::parse(&bytes).is_ok() {
                self.hear(journal, aide, &bytes)?;
            } else {
                self.keep_displaced(&bytes)?;
            }
            fs::remove_file(&path).map_err(FilesError::io(&path))?;
        }
        Ok(all)
    }

    pub(super) fn real_path(&self, path: &Utf8Path) -> Result<Utf8PathBuf, FilesError> {
        real_path(&self.project, path)
    }
}

/// A lock file of the shell recipes that no process seems to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockLeft {
    pub path: Utf8PathBuf,
    pub age: Duration,
    /// A Piton process made it, and died; otherwise a script did.
    pub by_piton: bool,
    /// The next command clears it at once.
    pub over: bool,
}

/// Whether a process is writing a file in place: it is empty or ends too early, and was touched just now.
fn is_half_written(path: &Utf8Path) -> Result<bool, FilesError> {
    let is_cut = read(path)?.is_some_and(|bytes| state_files::is_cut_short(&bytes));
    Ok(is_cut && !touched::is_stale(path))
}

/// Piton's own temporary files are not readable by other users until they are whole.
fn is_of_others(path: &Utf8Path) -> bool {
    #[cfg(unix)]
    {
        let mode = |data: fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&data.permissions());
        fs::metadata(path).is_ok_and(|data| mode(data) & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// The folder in the project where agents find copies of a plan's files: the plan's own. For a plan that lies elsewhere
/// it is the folder in which its system keeps plans.
pub fn folder_in_project(project: &Project, system: SystemRef, plan: &Utf8Path) -> Option<Utf8PathBuf> {
    if system.files().of_project {
        return Some(Utf8PathBuf::new());
    }
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let own = plan.strip_prefix(root).ok().map(Utf8Path::to_owned);
    own.or_else(|| Some(Utf8Path::new(system.files().usual_folder?).join(plan.file_name()?)))
}

/// Where a state file really is: a link is followed, but not out of the project and the plan.
pub fn real_path(project: &Project, path: &Utf8Path) -> Result<Utf8PathBuf, FilesError> {
    let wrong = |what| FilesError::NotAFile { path: path.to_owned(), what };
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => Err(wrong("a folder")),
        Ok(data) if data.is_symlink() => {
            let real = path.canonicalize_utf8().map_err(FilesError::io(path))?;
            let inside =
                |folder: &Utf8Path| folder.canonicalize_utf8().is_ok_and(|folder| real.starts_with(folder));
            let home = path.parent().is_some_and(inside) || inside(&project.root);
            if home && real.is_file() { Ok(real) } else { Err(wrong("a link that leads out of the project")) }
        }
        _ => Ok(path.to_owned()),
    }
}

/// A file with what may lie beside it: what was put aside, and the recipes' lock.
fn with_neighbours(file: &Utf8Path) -> Vec<String> {
    let beside = ["", ".bak", ".bad", ".refused"].map(|ending| format!("{file}{ending}"));
    beside.into_iter().chain([file.with_extension("lock").into_string()]).collect()
}

/// Where a run is on disk, for a state file in this folder.
pub fn place(project: &Project, run: &RunId, state: &State, tasks: &Utf8Path) -> state_files::Place {
    let mut place = state_files::Place {
        project_path: project.root.to_string(),
        tasks_path: tasks.to_string(),
        elsewhere: BTreeMap::new(),
    };
    let Some(facts) = state.run() else { return place };
    let Some(dir) = facts.worktree_dir.as_deref().map(Utf8Path::new) else { return place };
    for task in state.tasks().filter(|task| task.progress.worktree) {
        let name = facts.settings.worktree.place(&task.id);
        let plain = dir.join(name);
        let owned = project.worktree_path_if_owned(run, dir, name);
        if let Some(path) = owned.filter(|path| *path != plain) {
            let branch = format!("worktree-{}-{run}", task.id);
            place.elsewhere.insert(task.id.clone(), Workplace { path: path.into_string(), branch });
        }
    }
    place
}

/// An edit as the journal names it: for people, and so that the same one is known again.
fn key(edit: &Edit) -> String {
    let digest = Digest::of_bytes(format!("{edit:?}").as_bytes());
    format!("{edit} ({})", &digest.short()[..6])
}

pub(super) fn read(path: &Utf8Path) -> Result<Option<Vec<u8>>, FilesError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FilesError::io(path)(error)),
    }
}
