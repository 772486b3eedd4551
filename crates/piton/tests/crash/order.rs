//! What has to be on the disk before something else is done. A power cut shows a wrong order only if it hits the
//! right moment; here every moment of a run is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, Mutex};

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::trace::{Calls, Point, Who};

use crate::disk::Disk;
use crate::kept;
use crate::points::kind;
use crate::power::{COMMIT, committed};
use crate::reference::{self, Form};
use crate::rules::{Target, two_tasks};
use crate::sandbox::Sandbox;

/// A file of ours that gets a name others go by.
fn is_named(point: &Point) -> bool {
    let ours = !matches!(point.who, Who::Job | Who::Other(_));
    ours && point.end.is_none() && (point.call.starts_with("rename") || point.call.starts_with("link"))
}

/// `piton run` to its end, with every call shown, and the disk as it is then.
fn run_watched(sandbox: &Sandbox, see: impl FnMut(&Point, &Disk) + Send + 'static) {
    watched(sandbox, &["run", sandbox.plan], Calls::default(), see);
}

/// The same for any command.
fn watched(
    sandbox: &Sandbox,
    args: &[&str],
    calls: Calls,
    mut see: impl FnMut(&Point, &Disk) + Send + 'static,
) {
    let mut disk = Disk::of(&sandbox.root);
    let (ended, traced) = sandbox.watched(args, calls, move |point| {
        let answer = disk.see(point);
        see(point, &disk);
        answer
    });
    ended.expect(0);
    traced.all_end();
}

/// Journals, refs, objects, outcomes and state files are believed by their names: none may be there before its content
/// is. The execute system's run makes all of them.
#[test]
fn no_file_gets_its_name_before_its_content_is_on_the_disk() {
    type Seen = (BTreeSet<Utf8PathBuf>, Vec<String>);
    let sandbox = Form::Execute.sandbox();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (noted, repo) = (Arc::clone(&seen), sandbox.repo.clone());
    run_watched(&sandbox, move |point, disk| {
        let ([from, to], true) = (&point.paths[..], is_named(point)) else { return };
        // Indexes, checkouts and the like are made again from what is named here.
        if to.contains("/piton/tmp/") {
            return;
        }
        let room = [".git/objects", ".git/refs", ".git/piton", kept::PLAN]
            .into_iter()
            .find(|room| Utf8Path::new(to).starts_with(repo.join(room)) && !is_passing(to));
        let Some(room) = room else { return };
        let mut noted = noted.lock().expect("nobody panics in here");
        noted.0.insert(room.into());
        if !disk.keeps(from) {
            noted.1.push(format!("{} {} {from} {to}", point.who, point.call));
        }
    });
    let (rooms, early) = &*seen.lock().expect("nobody panics in here");
    assert_eq!(rooms.len(), 4, "names are given in all of them: {rooms:?}");
    assert!(early.is_empty(), "named before it was synced: {early:#?}");
}

/// A merge that is under way, above all: without it the work on a conflict is taken for the task's own.
#[test]
fn a_private_git_directory_goes_when_what_it_held_is_on_the_disk() {
    if let Err(why) = piton_engine::keeper::fences_are_possible() {
        return piton_testkit::skipped(&why);
    }
    let sandbox = Form::Fenced.sandbox();
    let seen: Arc<Mutex<(BTreeSet<&str>, BTreeSet<String>)>> = Arc::default();
    let noted = Arc::clone(&seen);
    run_watched(&sandbox, move |point, disk| {
        let gone = point.paths.last().filter(|to| to.ends_with("/piton-own.old") && is_named(point));
        let Some(entry) = gone.and_then(|to| Utf8Path::new(to).parent()) else { return };
        let mut noted = noted.lock().expect("nobody panics in here");
        for file in ["MERGE_HEAD", "HEAD", "index"].into_iter().filter(|file| entry.join(file).exists()) {
            noted.0.insert(file);
            if !disk.keeps(entry.join(file).as_str()) {
                noted.1.insert(format!("{file} of {entry}"));
            }
        }
    });
    let (files, early) = &*seen.lock().expect("nobody panics in here");
    assert_eq!(files.len(), 3, "an attempt has each of them: {files:?}");
    assert!(early.is_empty(), "gone before this was synced: {early:#?}");
}

/// A lock says something to the living only; and so does what is noted of a job under way, and of whose a worktree is: with
/// the power goes all that it is about. A worktree is made again after that, with its git folder, and so is the index of one
/// for checks. Without a note of what files showed, Piton only reports less; without a note of how a plan was read, it reads
/// the plan again.
fn is_passing(path: &str) -> bool {
    let path = Utf8Path::new(path);
    let of_a_job_or_worktree =
        matches!(path.file_name(), Some("started.json" | "piton-ready" | "files-shown.json"));
    let owner = path.parent().is_some_and(|folder| folder.ends_with(".git/piton/worktrees"));
    let folder = path.parent().unwrap_or(path);
    let of_a_worktree = folder.parent().is_some_and(|all| all.ends_with(".git/worktrees"));
    let index = folder.ends_with(".git/piton/indexes");
    let plan_as_read = folder.ends_with(".git/piton/read");
    let of_a_folder = owner || of_a_worktree || index || plan_as_read;
    path.extension() == Some("lock") || of_a_job_or_worktree || of_a_folder
}

/// What a thread has written and has to sync itself before it goes by it: the folder of a file it named, or the file
/// that it appended to.
#[derive(Default)]
struct Owed {
    by_thread: BTreeMap<i32, BTreeSet<String>>,
    written: BTreeSet<String>,
    late: Vec<String>,
}

impl Owed {
    fn see(&mut self, point: &Point) {
        let owed = self.by_thread.entry(point.thread).or_default();
        let (Some(path), false) = (point.paths.last(), matches!(point.who, Who::Job | Who::Git(_))) else {
            return;
        };
        let names = point.call.starts_with("rename") || point.call.starts_with("link");
        let appends = point.call == "write" && path.ends_with("/journal.md");
        match point.end {
            Some(0) if Disk::is_sync(point) => drop(owed.remove(path)),
            None if (names && !is_passing(path)) || appends => {
                self.late.extend(owed.iter().map(|owed| format!("{owed} before {path}")));
                let (folder, name) = path.rsplit_once('/').expect("it is absolute");
                owed.insert(if names { folder } else { path }.to_owned());
                self.written.insert(name.to_owned());
            }
            None if path.ends_with("/piton.db-wal") && point.call == "fdatasync" => {
                self.late.extend(owed.iter().map(|owed| format!("{owed} before a commit")));
            }
            _ => {}
        }
    }
}

/// A rename that is not on the disk is a file that has its old content after a power cut, or none.
#[test]
fn a_name_is_on_the_disk_before_it_is_gone_by() {
    let issue = || {
        let plan = ".claude/plans/issue-7-tour";
        let tasks = "# Tasks: Issue #7 - Tour\n\n## Tasks\n\n- [ ] 1. Pack\n- [ ] 2. Go\n";
        let settings = "[defaults]\nchecks = [\"true\"]\n";
        let files = [(&*format!("{plan}/tasks.md"), tasks), ("piton.toml", settings)];
        let sandbox = Sandbox::new(plan, "", &files);
        sandbox.piton(&["next", "--plan", plan]).expect(0);
        sandbox
    };
    let note = ["journal", "add", "It rains.", "--plan", ".claude/plans/issue-7-tour"];
    let all = Calls { writes: true, ..Calls::default() };
    // A keeper's outcome, and a state file and a journal that others read and write too.
    for (sandbox, command, calls, names) in [
        (two_tasks(Target::CheckedOut), &["run", "plan.toml"][..], Calls::default(), &["outcome.json"][..]),
        (issue(), &note, all, &["execution-state.json", "journal.md"]),
    ] {
        let owed: Arc<Mutex<Owed>> = Arc::default();
        let watcher = Arc::clone(&owed);
        watched(&sandbox, command, calls, move |point, _| {
            watcher.lock().expect("nobody panics in here").see(point);
        });
        let owed = owed.lock().expect("nobody panics in here");
        for name in names {
            assert!(owed.written.contains(*name), "{command:?} writes {name}: {:?}", owed.written);
        }
        assert!(owed.late.is_empty(), "gone by before it was synced: {:#?}", owed.late);
        let never: Vec<&String> = owed.by_thread.values().flatten().collect();
        assert!(never.is_empty(), "never synced: {never:#?}");
    }
}

/// An outcome says that the agent is done. Its files are all there is of its work, and no agent syncs them.
#[test]
fn an_outcome_is_written_after_what_its_agent_wrote_was_synced() {
    let sandbox = two_tasks(Target::CheckedOut);
    let seen: Arc<Mutex<(usize, Vec<String>)>> = Arc::default();
    let (noted, worktrees) = (Arc::clone(&seen), sandbox.root.join(".worktrees/p"));
    run_watched(&sandbox, move |point, disk| {
        let to = point.paths.last().filter(|_| is_named(point));
        let Some(task) = to.and_then(|to| task_of_outcome(to)) else { return };
        let work = worktrees.join(task).join(format!("{}.txt", task.to_lowercase()));
        let mut noted = noted.lock().expect("nobody panics in here");
        noted.0 += 1;
        if !work.exists() || !disk.keeps(work.as_str()) {
            noted.1.push(work.to_string());
        }
    });
    let (outcomes, early) = &*seen.lock().expect("nobody panics in here");
    assert_eq!(*outcomes, 2, "one of each agent");
    assert!(early.is_empty(), "not on the disk when the outcome was: {early:#?}");
}

/// The task, if this is the outcome of its agent.
fn task_of_outcome(path: &str) -> Option<&str> {
    let (task, job) = path.strip_suffix("/outcome.json")?.rsplit_once('/')?;
    job.ends_with(".agent0").then(|| task.rsplit('/').next())?
}

/// Git syncs the objects it writes for us, but not their folders; and what an agent's git wrote, it never syncs.
#[test]
fn the_journal_speaks_of_no_commit_whose_objects_and_folders_were_not_synced() {
    #[derive(Default)]
    struct Seen {
        commits: Vec<String>,
        objects: usize,
        early: BTreeSet<String>,
    }
    let sandbox = Arc::new(Form::Native.sandbox());
    let seen: Arc<Mutex<Seen>> = Arc::default();
    // Whatever was spoken of before has been looked at.
    seen.lock().expect("nobody panics in here").commits.push(sandbox.git(&["rev-parse", "main"]));
    let (noted, inside) = (Arc::clone(&seen), Arc::clone(&sandbox));
    let mut synced: BTreeSet<String> = BTreeSet::new();
    run_watched(&sandbox, move |point, _| {
        if point.end != Some(0) || point.who != Who::Engine {
            return;
        }
        synced.extend(point.paths.iter().cloned());
        if kind(point, &inside.root).as_deref() != Some(COMMIT) {
            return;
        }
        let mut noted = noted.lock().expect("nobody panics in here");
        for commit in committed(&inside.root, SPOKEN_OF) {
            if noted.commits.contains(&commit) {
                continue;
            }
            let list = ["rev-list", "--objects", "--no-object-names", &commit, "--not"];
            let known: Vec<&str> = list.into_iter().chain(noted.commits.iter().map(String::as_str)).collect();
            for object in inside.git(&known).lines() {
                let (folder, name) = object.split_at(2);
                let folder = inside.repo.join(".git/objects").join(folder);
                noted.objects += 1;
                if ![&folder, &folder.join(name)].into_iter().all(|path| synced.contains(path.as_str())) {
                    noted.early.insert(format!("{object} of {commit}"));
                }
            }
            noted.commits.push(commit);
        }
    });
    let Seen { commits, objects, early } = &*seen.lock().expect("nobody panics in here");
    assert!(commits.len() > 2 * reference::TASKS.len(), "each is captured, and each lands: {commits:?}");
    assert!(*objects > 2 * commits.len(), "with trees and files: {objects}");
    assert!(early.is_empty(), "in the journal, and perhaps not on the disk: {early:#?}");
}

/// Commits that were captured, and candidates that are to land.
const SPOKEN_OF: &str = "
    SELECT coalesce(json_extract(body, '$.work.commit'), json_extract(body, '$.intent.candidate'))
    FROM events WHERE json_extract(body, '$.event') IN ('work_captured', 'landing_prepared')";

/// Until the journal knows of a landing, a recovery needs its pins and its worktree. After that, no process looks at the
/// person's files again.
#[test]
fn nothing_is_taken_away_before_its_landing_is_journaled() {
    #[derive(Default)]
    struct Seen {
        completed: Vec<String>,
        taken: BTreeSet<String>,
        early: BTreeSet<String>,
        unsynced: Vec<String>,
    }
    let sandbox = two_tasks(Target::CheckedOut);
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (noted, root) = (Arc::clone(&seen), sandbox.root.clone());
    let mut synced: BTreeSet<String> = BTreeSet::new();
    run_watched(&sandbox, move |point, _| {
        let mut noted = noted.lock().expect("nobody panics in here");
        if point.end == Some(0) && point.who == Who::Engine {
            synced.extend(point.paths.iter().cloned());
            if kind(point, &root).as_deref() == Some(COMMIT) {
                noted.completed = committed(&root, COMPLETED);
                let files = noted.completed.iter().map(|task| format!("{}.txt", task.to_lowercase()));
                let files = files.map(|name| root.join("p").join(name));
                let unsynced = files.filter(|file| !synced.contains(file.as_str())).map(String::from);
                noted.unsynced = unsynced.collect();
            }
        }
        let away = ["unlink", "rmdir", "rename"].iter().any(|call| point.call.starts_with(call));
        let Some(path) = point.paths.first().filter(|_| away && point.end.is_none()) else { return };
        if let Some((what, task)) = taken(Utf8Path::new(path), &root).filter(|_| point.who != Who::Job) {
            if !noted.completed.contains(&task) {
                noted.early.insert(format!("{} {} {path}", point.who, point.call));
            }
            noted.taken.insert(format!("{what} {task}"));
        }
    });
    let seen = seen.lock().expect("nobody panics in here");
    let all = ["branch", "candidate", "captured", "shown", "worktree"];
    let all = all.iter().flat_map(|what| ["T1", "T2"].map(|task| format!("{what} {task}")));
    assert_eq!(seen.taken, all.collect::<BTreeSet<_>>());
    assert!(seen.early.is_empty(), "taken away before the landing was journaled: {:#?}", seen.early);
    assert!(seen.unsynced.is_empty(), "landed, and perhaps not on the disk: {:?}", seen.unsynced);
}

const COMPLETED: &str =
    "SELECT json_extract(body, '$.task') FROM events WHERE json_extract(body, '$.event') = 'completed'";

/// What of which task is at this path, as far as a recovery needs it.
fn taken(path: &Utf8Path, root: &Utf8Path) -> Option<(String, String)> {
    let parts: Vec<&str> = path.strip_prefix(root).ok()?.components().map(|part| part.as_str()).collect();
    let (what, task) = match parts[..] {
        [".worktrees", "p", task] => ("worktree", task),
        ["p", ".git", "refs", "piton", _, pin, task] => (pin, task),
        ["p", ".git", "refs", "heads", branch] => ("branch", branch.strip_prefix("worktree-")?),
        _ => return None,
    };
    ["T1", "T2"].contains(&task).then(|| (what.to_owned(), task.to_owned()))
}

/// A rescue may be the only copy, and what it holds was written by git processes that sync nothing.
#[test]
fn a_rescue_gets_its_name_after_everything_was_synced() {
    let sandbox = two_tasks(Target::CheckedOut);
    sandbox.run_crashing("prepare.added", 1);
    fs::write(sandbox.worktree("T1").join("stray.txt"), "somebody's\n").expect("a file");
    let seen: Arc<Mutex<Vec<bool>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let mut synced = false;
    run_watched(&sandbox, move |point, _| {
        let to = point.paths.last().map_or("", String::as_str);
        match (point.call, point.end) {
            ("syncfs", Some(0)) if point.who == Who::Engine => synced = true,
            (call, None) if call.starts_with("rename") || call.starts_with("link") => {
                // An object, written by any process after the sync.
                synced &= !to.contains("/.git/objects/");
                if to.contains("/.git/refs/piton/rescue/") {
                    noted.lock().expect("nobody panics in here").push(synced);
                }
            }
            _ => {}
        }
    });
    assert_eq!(*seen.lock().expect("nobody panics in here"), [true]);
}
