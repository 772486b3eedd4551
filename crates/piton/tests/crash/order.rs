//! What has to be on the disk before something else is done. A power cut shows a wrong order only if it hits the
//! right moment; here every moment of a run is looked at.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::trace::{Point, Who};

use crate::disk::Disk;
use crate::points::kind;
use crate::power::{COMMIT, committed};
use crate::reference;
use crate::rules::{Target, two_tasks};
use crate::sandbox::Sandbox;

/// A file of ours that gets a name others go by.
fn is_named(point: &Point) -> bool {
    let ours = !matches!(point.who, Who::Job | Who::Other(_));
    ours && point.end.is_none() && (point.call.starts_with("rename") || point.call.starts_with("link"))
}

/// `piton run` to its end, with every call shown, and the disk as it is then.
fn run_watched(sandbox: &Sandbox, mut see: impl FnMut(&Point, &Disk) + Send + 'static) {
    let mut disk = Disk::of(&sandbox.root);
    let (ended, traced) = sandbox.watched_run(move |point| {
        let answer = disk.see(point);
        see(point, &disk);
        answer
    });
    ended.expect(0);
    traced.all_end();
}

/// Journals, refs, objects and outcomes are believed by their names: none may be there before its content is.
#[test]
fn no_file_gets_its_name_before_its_content_is_on_the_disk() {
    type Seen = (BTreeSet<Utf8PathBuf>, Vec<String>);
    let sandbox = reference::sandbox();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (noted, git) = (Arc::clone(&seen), sandbox.repo.join(".git"));
    run_watched(&sandbox, move |point, disk| {
        let ([from, to], true) = (&point.paths[..], is_named(point)) else { return };
        // Indexes, checkouts and the like are made anew from what is named here.
        let room = ["objects", "refs", "piton"]
            .into_iter()
            .find(|room| Utf8Path::new(to).starts_with(git.join(room)));
        let Some(room) = room else { return };
        let mut noted = noted.lock().expect("nobody panics in here");
        noted.0.insert(room.into());
        if !disk.keeps(from) {
            noted.1.push(format!("{} {} {from} {to}", point.who, point.call));
        }
    });
    let (rooms, early) = &*seen.lock().expect("nobody panics in here");
    assert_eq!(rooms.len(), 3, "names are given in all of them: {rooms:?}");
    assert!(early.is_empty(), "named before it was synced: {early:#?}");
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
fn the_journal_speaks_of_no_commit_whose_object_and_folder_were_not_synced() {
    let sandbox = reference::sandbox();
    let seen: Arc<Mutex<(BTreeSet<String>, BTreeSet<String>)>> = Arc::default();
    let (noted, root) = (Arc::clone(&seen), sandbox.root.clone());
    let mut synced: BTreeSet<String> = BTreeSet::new();
    run_watched(&sandbox, move |point, _| {
        if point.end != Some(0) || point.who != Who::Engine {
            return;
        }
        synced.extend(point.paths.iter().cloned());
        if kind(point, &root).as_deref() != Some(COMMIT) {
            return;
        }
        let mut noted = noted.lock().expect("nobody panics in here");
        for commit in committed(&root, SPOKEN_OF) {
            let (folder, name) = commit.split_at(2);
            let folder = root.join("p/.git/objects").join(folder);
            let safe = [&folder, &folder.join(name)].into_iter().all(|path| synced.contains(path.as_str()));
            if noted.0.insert(commit.clone()) && !safe {
                noted.1.insert(commit);
            }
        }
    });
    let (spoken_of, early) = &*seen.lock().expect("nobody panics in here");
    assert!(spoken_of.len() >= 2 * reference::TASKS.len(), "each is captured, and each lands: {spoken_of:?}");
    assert!(early.is_empty(), "in the journal, and perhaps not on the disk: {early:#?}");
}

/// Commits that were captured, and candidates that are to land.
const SPOKEN_OF: &str = "
    SELECT coalesce(json_extract(body, '$.work.commit'), json_extract(body, '$.intent.candidate'))
    FROM events WHERE json_extract(body, '$.event') IN ('work_captured', 'landing_prepared')";
