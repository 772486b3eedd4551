//! `piton doctor`: journal, git and disk held against each other. Repairs without deleting.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::{RunId, Sandbox, WorktreeSetup};
use piton_core::run::Status;
use piton_core::time::Span;
use piton_core::view::counted;
use piton_engine::files::{LockLeft, Mirror};
use piton_engine::git::{NEEDED, Repo};
use piton_engine::journal::{Journal, JournalError, Trouble};
use piton_engine::keeper::{
    Job, fences_are_possible, groups_are_possible, scopes_are_possible, views_are_possible,
};
use piton_engine::project::Project;
use piton_engine::slots::{Seen, SlotState};
use piton_engine::{clock, drive, sandbox, slots};
use serde_json::json;

use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, gone, state_files};
use crate::ui::{self, DIM};
use crate::{notify, paths, plans};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Put right what can be put right without deleting anything
    #[arg(long)]
    pub repair: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The result of one examination.
struct Finding {
    state: State,
    what: String,
    /// The rule by which it is judged, or what was done about it.
    rule: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fine,
    Note,
    Wrong,
    Fixed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Fine => "ok",
            State::Note => "note",
            State::Wrong => "wrong",
            State::Fixed => "fixed",
        }
    }

    /// As programs read it.
    fn json(self) -> &'static str {
        match self {
            State::Fine | State::Note | State::Wrong => self.word(),
            State::Fixed => "mended",
        }
    }
}

struct Visit<'a> {
    project: &'a Project,
    repair: bool,
    findings: Vec<Finding>,
    /// Folders of worktrees that were looked at.
    pools: BTreeSet<Utf8PathBuf>,
}

pub(crate) fn doctor(args: &DoctorArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let mut visit =
        Visit { project: &project, repair: args.repair, findings: Vec::new(), pools: BTreeSet::new() };
    visit.surroundings();
    match visit.journal() {
        Ok(Some(mut journal)) => visit.runs(&mut journal)?,
        Ok(None) => visit.add(State::Note, "there is no journal here yet", "piton run PLAN makes one"),
        Err(error) => visit.add(State::Wrong, error.to_string(), "piton doctor --repair"),
    }
    let wrong = visit.findings.iter().any(|finding| finding.state == State::Wrong);
    if args.json {
        let all =
            visit.findings.iter().map(|f| json!({ "state": f.state.json(), "what": f.what, "rule": f.rule }));
        ui::answer_json(&json!({ "healthy": !wrong, "findings": all.collect::<Vec<_>>() }));
    } else {
        for finding in &visit.findings {
            let style = match finding.state {
                State::Fine => ui::GOOD,
                State::Note => DIM,
                State::Wrong => ui::BAD,
                State::Fixed => ui::WARNING,
            };
            let rule = if finding.rule.is_empty() {
                String::new()
            } else {
                ui::styled(DIM, format!("  ({})", finding.rule))
            };
            ui::answer_line(format!("{style}{:6}{style:#} {}{rule}", finding.state.word(), finding.what));
        }
        if wrong && !args.repair {
            ui::say("");
            ui::hint("piton doctor --repair   fixes what can be fixed; it deletes nothing");
        }
    }
    Ok(if wrong { ERROR } else { FINE })
}

impl Visit<'_> {
    fn add(&mut self, state: State, what: impl Into<String>, rule: impl Into<String>) {
        self.findings.push(Finding { state, what: what.into(), rule: rule.into() });
    }

    fn surroundings(&mut self) {
        let version = |repo: Option<&Repo>| repo.map(|repo| repo.git().version()).transpose();
        match self.project.repo_or_store().and_then(version) {
            Ok(Some(version)) => {
                self.add(State::Fine, format!("git {version}"), format!("{NEEDED} or newer is needed"));
            }
            Err(error) => self.add(State::Wrong, error.to_string(), ""),
            Ok(None) => self.add(
                State::Note,
                "no git repository here",
                "the ledger works without one, the engine with `--no-commits`",
            ),
        }
        if matches!(self.project.repo_or_store(), Ok(Some(repo)) if repo.is_own()) {
            let rule = "what was there before each attempt: piton rescue list";
            self.add(State::Fine, "no git repository here: work is done in place", rule);
        }
        self.fence();
        self.notifications();
        let groups = if groups_are_possible() {
            "each in a control group of its own"
        } else {
            "found by descent and marker"
        };
        self.add(
            State::Fine,
            format!("the processes of a job are {groups}"),
            "all of them are ended with it",
        );
        self.add(State::Fine, format!("SQLite {}, built in", Journal::sqlite_version()), "");
        self.add(State::Fine, format!("Piton keeps its own in {}", self.project.home), "");
        if matches!(self.project.repo(), Ok(Some(repo)) if repo.has_submodules()) {
            self.add(State::Note, "the repository has submodules", "worktrees are made without them");
        }
    }

    /// Whether a run that is started here can notify people as the project says.
    fn notifications(&mut self) {
        let said = plans::notify(&self.project.root, &self.project.root);
        for channel in notify::channels(&said, &[]).into_iter().flat_map(|said| said.channels) {
            let rule = "`[notify]` in piton.toml; a run goes on without it";
            match channel.problem(&self.project.root) {
                None => self.add(State::Fine, format!("you are notified by {}", channel.name()), rule),
                Some(why) => {
                    self.add(State::Note, format!("you are not notified by {}: {why}", channel.name()), rule);
                }
            }
        }
    }

    /// Whether there is a fence around agents that are started here and now.
    fn fence(&mut self) {
        // Commands that use a broken piton.toml report it.
        let config = plans::config(&self.project.root).ok().flatten();
        let said = config.map(|config| config.fences.sandbox).unwrap_or_default();
        let (mode, source) = match sandbox::wished() {
            Some(mode) => (mode, format!("{} says so", sandbox::MODE)),
            None => (said, "[sandbox] in piton.toml says so".to_owned()),
        };
        let told = "what they change outside is reported after each attempt";
        match fences_are_possible() {
            Ok(()) if sandbox::is_in_force(mode) => {
                let view = match sandbox::view_is_wished() {
                    true => views_are_possible(),
                    false => Err(format!("{} says so", sandbox::VIEW)),
                };
                let how = if view.is_ok() { "Landlock and a read-only view" } else { "Landlock" };
                self.add(
                    State::Fine,
                    format!("agents cannot write outside of their worktree ({how})"),
                    "unless a plan's [sandbox] or --sandbox says otherwise",
                );
                match scopes_are_possible() {
                    Ok(()) => self.add(
                        State::Fine,
                        "agents cannot signal your processes or connect to their abstract sockets",
                        "Landlock's scopes for signals and abstract unix sockets",
                    ),
                    Err(why) => self.add(
                        State::Note,
                        format!(
                            "agents can signal your processes and connect to their abstract sockets: {why}"
                        ),
                        "a newer kernel closes that",
                    ),
                }
                for here in sandbox::caches_here(&self.project.root) {
                    let (tool, access) = (here.cache.tool, here.cache.access_in_words());
                    let there = if here.exists { "" } else { ", not there yet" };
                    let what = format!("the cache of {tool} is {access} to agents ({}{there})", here.place);
                    let variable = here.cache.variables.first().map_or("", |(name, _)| name);
                    let rule =
                        if variable.is_empty() { String::new() } else { format!("{variable} moves it") };
                    self.add(State::Fine, what, rule);
                }
                if let Err(why) = view {
                    let what =
                        format!("agents can change modes, times and attributes of files outside: {why}");
                    self.add(
                        State::Note,
                        what,
                        "changes of your tracked files are reported after each attempt",
                    );
                }
            }
            Ok(()) => self.add(State::Note, format!("agents can write whatever you can: {source}"), told),
            Err(why) if mode == Sandbox::On => {
                let what = format!("agents cannot be started: {source}, and {why}");
                self.add(State::Wrong, what, "mode = \"auto\" starts them anyway");
            }
            Err(why) => self.add(State::Note, format!("agents can write whatever you can: {why}"), told),
        }
    }

    /// The journal, saved from damage if that was asked for.
    fn journal(&mut self) -> Result<Option<Journal>, JournalError> {
        let opened = if self.repair && self.project.home.join("piton.db").exists() {
            self.project.journal().map(Some)
        } else {
            self.project.existing_journal()
        };
        let damage = match opened {
            Ok(Some(journal)) => match journal.integrity() {
                Ok(problems) if problems.is_empty() => {
                    self.add(State::Fine, "the journal's database is whole", "quick_check");
                    return Ok(Some(journal));
                }
                Ok(problems) => problems.join("; "),
                Err(error) => error.to_string(),
            },
            Ok(None) => return Ok(None),
            Err(error) if matches!(error.trouble, Trouble::Damaged { .. }) => error.to_string(),
            Err(error) => return Err(error),
        };
        if !self.repair {
            self.add(
                State::Wrong,
                format!("the journal is damaged: {damage}"),
                "--repair keeps it aside and saves what can be read",
            );
            return Ok(None);
        }
        let recovery = Journal::recover(&self.project.home)?;
        let kept =
            recovery.kept.map(|path| format!("the damaged file is kept as {path}")).unwrap_or_default();
        self.add(State::Fixed, format!("the journal was damaged: {}", recovery.found.join("; ")), kept);
        if recovery.runs.is_empty() {
            self.add(
                State::Note,
                "nothing of it could be read: its runs are lost, what has landed is in git".to_owned(),
                "piton run PLAN begins a new one",
            );
        }
        for run in &recovery.runs {
            self.add(if run.lost.is_some() { State::Note } else { State::Fixed }, run.to_string(), "");
        }
        self.project.journal().map(Some)
    }

    fn runs(&mut self, journal: &mut Journal) -> Outcome {
        for summary in journal.runs()? {
            let run = &summary.id;
            let (state, problems) = journal.replayed(run)?;
            match (problems.is_empty(), self.repair) {
                (true, _) => self.add(
                    State::Fine,
                    format!("{run}: the snapshot equals the fold of its {} events", summary.seq),
                    "",
                ),
                (false, true) => {
                    journal.rebuild(run)?;
                    self.add(
                        State::Fixed,
                        format!("{run}: the snapshot was rebuilt: {}", problems.join("; ")),
                        "the events are the truth",
                    );
                }
                (false, false) => {
                    self.add(
                        State::Wrong,
                        format!("{run}: the snapshot is wrong: {}", problems.join("; ")),
                        "the events are the truth",
                    );
                }
            }
            let alive = self.project.is_led(journal, run);
            if summary.engine.is_some() && !alive {
                self.add(
                    State::Note,
                    format!("{run}: its engine ended unexpectedly"),
                    "the next `piton run` resumes",
                );
            }
            self.against_git(journal, run, &state, alive)?;
            self.against_its_file(journal, run, alive)?;
        }
        self.dead_locks()?;
        self.of_lost_runs(journal)
    }

    /// Locks of git processes that were killed: git refuses to work until they are removed.
    fn dead_locks(&mut self) -> Outcome {
        let Ok(Some(repo)) = self.project.repo_or_store() else { return Ok(()) };
        for lock in repo.unused_locks() {
            if self.repair && repo.remove_unused_lock(&lock)? {
                let what = format!("removed {lock}, which a git process left when it died");
                self.add(State::Fixed, what, "no process held it");
            } else {
                let what = format!("a git process that died left {lock}");
                self.add(State::Wrong, what, "no process holds it: piton doctor --repair removes it");
            }
        }
        Ok(())
    }

    /// Work that was captured by a run which no journal knows any more. It may be nowhere else, so it stays.
    fn of_lost_runs(&mut self, journal: &Journal) -> Outcome {
        let Ok(Some(repo)) = self.project.repo_or_store() else { return Ok(()) };
        let known: Vec<RunId> = journal.runs()?.into_iter().map(|run| run.id).collect();
        for pin in repo.pins("")? {
            let parts: Vec<&str> = pin.name.split('/').collect();
            let [run, "captured", task] = parts[..] else { continue };
            if !known.iter().any(|id| id.as_str() == run) {
                self.add(
                    State::Note,
                    format!(
                        "{run}: its journal no longer exists; work of {task} is kept as refs/piton/{}",
                        pin.name
                    ),
                    format!("git log -p {}", pin.oid.short()),
                );
            }
        }
        Ok(())
    }

    /// A state file shows the journal; edits of it go through the rules.
    fn against_its_file(&mut self, journal: &mut Journal, run: &RunId, alive: bool) -> Outcome {
        if let Some(facts) = journal.facts(run)?
            && let Some(told) = gone::describe(Utf8Path::new(&facts.plan), facts.settings.form.system(), run)
        {
            let rule = "the journal keeps the run; its files are not written again";
            self.add(State::Note, format!("{run}: {told}"), rule);
            return Ok(());
        }
        let Some(mut mirror) = Mirror::open_owned(self.project, journal, run)? else { return Ok(()) };
        let path = paths::shown(mirror.path());
        let plan = mirror.path().parent().unwrap_or(Utf8Path::new("."));
        if let Some(copy) = state_files::second_copy(mirror.system(), plan, self.project) {
            let what = format!("{run}: {} is a second copy of its state file", paths::shown(&copy));
            self.add(State::Note, what, format!("{path} is used; the other one is ignored"));
        }
        if let Some(left) = mirror.lock_left() {
            self.lock_left(run, &left)?;
        }
        let differences = match mirror.differences(journal) {
            Ok(differences) => differences,
            Err(error) => {
                self.add(State::Wrong, error.to_string(), "a state file is a file inside the project");
                return Ok(());
            }
        };
        if differences.is_empty() {
            self.add(State::Fine, format!("{run}: {path} shows what the journal says"), "");
        } else if self.repair && !alive {
            let mut found = FoundRun {
                project: self.project.clone(),
                journal: self.project.journal()?,
                run: run.clone(),
            };
            found.settle_file()?;
            let what = format!("{run}: {path}: {}", differences.join("; "));
            self.add(
                State::Fixed,
                what,
                "edits were applied by the rules, `piton log` shows them; the file is up to date again",
            );
        } else {
            let rule =
                if alive { "the engine updates it" } else { "the rules apply edits; the rest is derived" };
            let state = if alive { State::Note } else { State::Wrong };
            self.add(state, format!("{run}: {path}: {}", differences.join("; ")), rule);
        }
        Ok(())
    }

    /// The recipes' lock, which a script that dies leaves behind: other scripts wait for it for ever.
    fn lock_left(&mut self, run: &RunId, left: &LockLeft) -> Outcome {
        let path = paths::shown(&left.path);
        let by = if left.by_piton { "a Piton that died" } else { "a script" };
        let age = Span(u64::try_from(left.age.as_millis()).unwrap_or(u64::MAX));
        let what = format!("{run}: {path} exists, made {age} ago by {by}");
        if self.repair && left.over {
            std::fs::remove_file(&left.path).map_err(Failure::io(format!("cannot remove {path}")))?;
            self.add(State::Fixed, what, "nobody holds it");
        } else if left.over {
            self.add(
                State::Wrong,
                what,
                "nobody holds it: the next command that writes the state file removes it",
            );
        } else {
            self.add(State::Note, what, "remove it if nobody is writing the state file");
        }
        Ok(())
    }

    fn against_git(
        &mut self,
        journal: &mut Journal,
        run: &RunId,
        state: &piton_core::run::State,
        alive: bool,
    ) -> Outcome {
        // A repository that cannot be read was reported before.
        let (Ok(Some(repo)), Some(facts)) =
            (self.project.repo_or_store().map(Option::<&Repo>::cloned), state.run().cloned())
        else {
            return Ok(());
        };
        for lost in drive::lost_landings(&repo, &facts, state)? {
            let what = format!("{run}: {}", describe(&lost));
            if self.repair && !alive {
                journal.command(run, &lost, clock::now())?;
                self.add(State::Fixed, what, "git is right, not the journal; the task will be done again");
            } else {
                self.add(State::Wrong, what, "git is right, not the journal");
            }
        }
        let Some(dir) = &facts.worktree_dir else { return Ok(()) };
        for task in state.tasks().filter(|task| task.progress.worktree) {
            let name = facts.settings.worktree.place(&task.id);
            let path = self.project.worktree_path_if_owned(run, Utf8Path::new(dir), name);
            let there = path.as_ref().is_some_and(|path| slots::place_of(self.project, path).exists());
            match task.decided {
                Status::Completed if there && !alive => {
                    let why = task
                        .progress
                        .kept
                        .clone()
                        .unwrap_or_else(|| "the run ended before it was removed".to_owned());
                    self.add(
                        State::Note,
                        format!("{run}: {} is completed and its worktree is still there", task.id),
                        why,
                    );
                }
                Status::Completed => {}
                status if !there && task.progress.ready && !alive => {
                    let what = format!("{run}: {} is {status}, but its worktree no longer exists", task.id);
                    self.add(State::Note, what, "the next try makes it again");
                }
                _ => {}
            }
        }
        self.pool(Utf8Path::new(dir), &facts.settings.worktree);
        if !alive {
            self.jobs(run, state);
        }
        Ok(())
    }

    /// The worktrees that go from task to task, once for each folder of them.
    fn pool(&mut self, dir: &Utf8Path, setup: &WorktreeSetup) {
        if !self.pools.insert(dir.to_owned()) {
            return;
        }
        let slots = slots::all(self.project, dir);
        let is_warm = |slot: &&Seen| slot.state == SlotState::Free { is_warm: true };
        let free: Vec<u64> = slots.iter().filter(is_warm).filter_map(|slot| slot.bytes).collect();
        if !free.is_empty() {
            let bytes = paths::size(free.iter().sum());
            let what = format!(
                "{} for the next tasks in {dir}: {bytes}",
                counted(free.len() as u64, "warm worktree")
            );
            let most = paths::size(setup.keep_bytes());
            self.add(State::Note, what, format!("`keep_mib` in `[worktree]` allows {most}"));
        }
        for slot in slots.iter().filter(|slot| slot.state == SlotState::Leftover) {
            self.add(State::Note, format!("nobody uses {} again", slot.path), "`piton clean` removes it");
        }
    }

    /// Agents and checks that live on without an engine, and those that died with theirs.
    fn jobs(&mut self, run: &RunId, state: &piton_core::run::State) {
        for task in state.tasks().filter(|task| task.is_engines() && task.status().holds_slot()) {
            let folder = self.project.task_folder(run, &task.id);
            let Ok(entries) = folder.read_dir_utf8() else { continue };
            for entry in entries.filter_map(Result::ok) {
                let job = Job::at(entry.path());
                if job.started_at_ms().is_none() || !matches!(job.outcome(), Ok(None)) {
                    continue;
                }
                let held = piton_engine::lock::Lock::is_held(&entry.path().join("lock"));
                let what = if held { "is still at work" } else { "ended without an outcome" };
                self.add(
                    State::Note,
                    format!("{run}: {} of {} {what}", entry.file_name(), task.id),
                    "the next `piton run` adopts it",
                );
            }
        }
    }
}

fn describe(command: &piton_core::run::Command) -> String {
    match command {
        piton_core::run::Command::LandingLost { task, commit, reason } => {
            format!("{task} landed as {}, but {reason}", commit.short())
        }
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_the_words_they_know() {
        let words = [State::Fine, State::Note, State::Wrong, State::Fixed].map(State::json);
        assert_eq!(words, ["ok", "note", "wrong", "mended"]);
    }
}
