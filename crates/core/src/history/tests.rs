use crate::plan::Content;

use super::*;

fn oid(n: usize) -> Oid {
    Oid::new(&format!("{n:040x}")).expect("hex")
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("an id")
}

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

/// One after the other, newest first; commit 1 is the oldest.
fn commits(subjects: &[&str]) -> Vec<Commit> {
    let commit = |(at, subject): (usize, &&str)| {
        let n = subjects.len() - at;
        let (subject, task) =
            subject.split_once(" | ").map_or((*subject, None), |(s, t)| (s, Some(t.to_owned())));
        let parent = (n > 1).then(|| oid(n - 1));
        let (merges, run, content) = (Vec::new(), None, None);
        let subject = subject.to_owned();
        Commit { id: oid(n), tree: oid(100 + n), parent, merges, subject, task, run, content }
    };
    subjects.iter().enumerate().map(commit).collect()
}

fn history(subjects: &[&str], reverts: &[(usize, &[usize])]) -> History {
    let reverts: Vec<_> =
        reverts.iter().map(|(by, of)| (oid(*by), of.iter().map(|n| oid(*n).to_string()).collect())).collect();
    let tasks = ["T1", "T2"].map(id);
    History::new(commits(subjects), &reverts, &tasks.iter().collect())
}

#[test]
fn a_message_names_a_task_in_many_ways_or_none() {
    let name = |subject: &str| {
        let history = history(&[subject], &[]);
        history.named.get(&0).map(ToString::to_string)
    };
    for subject in [
        "[T1] Add",
        "shop: [T1] Add",
        "[shop][T1] Add",
        "T1: Add",
        "Merge worktree-T1: Add",
        "x Merge worktree-T1: A",
    ] {
        assert_eq!(name(subject).as_deref(), Some("T1"), "{subject}");
    }
    for subject in ["feat: add | T1", "feat[x]: add | T1", "Add | T1", "[ | T1", "Merge worktree- | T1"] {
        assert_eq!(name(subject).as_deref(), Some("T1"), "{subject}");
    }
    for subject in ["Revert \"[T1] Add\"", "[T9] Add", "Add T1", "feat: add", "Add | T9", ""] {
        assert_eq!(name(subject), None, "{subject}");
    }
}

#[test]
fn a_hash_means_one_commit_or_none() {
    let history = history(&["b", "a"], &[]);
    assert_eq!(history.find(oid(2).as_str()), Some(0));
    assert_eq!(history.find(&oid(2).as_str()[..39]), None, "two begin so");
    for no in ["", "zzzz", "000", "HEAD", "--all"] {
        assert_eq!(history.find(no), None, "{no}");
    }
}

#[test]
fn the_last_word_counts() {
    let subjects = ["e", "d", "c", "b", "a"];
    // Commit 5 is at place 0, commit 1 at place 4.
    let back = history(&subjects, &[(4, &[2])]);
    assert_eq!(back.last_word(&[]), None);
    assert_eq!(back.last_word(&[4]), Some(LastWord::Landed(4)));
    assert_eq!(back.last_word(&[3]), Some(LastWord::TakenBack(1)));
    assert_eq!(back.last_word(&[3, 4]), Some(LastWord::TakenBack(1)));
    assert_eq!(back.last_word(&[3, 0]), Some(LastWord::Landed(0)), "it was done again");
    let again = history(&subjects, &[(4, &[2]), (5, &[4])]);
    assert_eq!(again.last_word(&[3]), Some(LastWord::Landed(3)), "what took it back was taken back");
    let absurd = history(&subjects, &[(2, &[2, 4, 77])]);
    assert_eq!(absurd.last_word(&[3]), Some(LastWord::Landed(3)));
    assert_eq!(absurd.last_word(&[1]), Some(LastWord::Landed(1)), "nothing takes back what comes later");
}

#[test]
fn a_branch_that_began_at_the_tip_was_not_merged_by_that() {
    let mut all = commits(&["merge", "side", "base"]);
    all[0].parent = Some(oid(1));
    let history = History::new(all, &[], &HashSet::new());
    assert_eq!(history.merged(&oid(2)), Some(1));
    assert_eq!(history.merged(&oid(1)), None);
    assert_eq!(history.merged(&oid(3)), None);
    assert_eq!(history.merged(&oid(9)), None, "it does not exist at all");
}

fn change(steps: Vec<Digest>, later: Vec<Oid>, changes: HashMap<Oid, Digest>) -> Change {
    Change { whole: digest("whole"), steps, later, changes, is_taken_back: false }
}

struct World {
    history: History,
    changes: HashMap<Oid, Digest>,
}

impl World {
    /// Five commits; what the given ones change.
    fn new(subjects: &[&str], reverts: &[(usize, &[usize])], changes: &[(usize, &str)]) -> World {
        let changes = changes.iter().map(|(n, change)| (oid(*n), digest(change))).collect();
        World { history: history(subjects, reverts), changes }
    }

    fn stand_in(&self, later: &[usize], steps: &[&str]) -> StandIn {
        let steps = steps.iter().map(|step| digest(step)).collect();
        let later: Vec<Oid> = later.iter().map(|n| oid(*n)).collect();
        let work = change(steps, later, self.changes.clone());
        self.history.stand_in(Some(&id("T1")), &oid(103), &work)
    }
}

const PLAIN: [&str; 5] = ["e", "d", "c", "b", "a"];

#[test]
fn lost_work_is_known_by_its_files_its_change_or_its_steps() {
    let nothing = World::new(&PLAIN, &[], &[]);
    assert_eq!(nothing.stand_in(&[5, 4, 2], &["x"]), StandIn::Nothing);
    assert_eq!(nothing.stand_in(&[5, 4, 3], &["x"]), StandIn::Found(2, "leaves the same files"));
    let same = "makes the same change";
    let whole = World::new(&PLAIN, &[], &[(5, "other"), (4, "whole"), (2, "whole")]);
    assert_eq!(whole.stand_in(&[2, 4, 5], &[]), StandIn::Found(1, same), "the newest");
    let steps = World::new(&PLAIN, &[], &[(5, "x"), (4, "y")]);
    assert_eq!(steps.stand_in(&[5, 4], &["x", "y"]), StandIn::Found(0, same));
    assert_eq!(steps.stand_in(&[5, 4], &["x", "y", "z"]), StandIn::Nothing, "one is missing");
    assert_eq!(steps.stand_in(&[5], &["x", "y"]), StandIn::Nothing, "one is older than the work");
    assert_eq!(steps.stand_in(&[5, 4], &[]), StandIn::Nothing);
}

#[test]
fn what_was_taken_back_stands_for_nothing() {
    let back = World::new(&PLAIN, &[(5, &[4])], &[(4, "whole"), (5, "back")]);
    assert_eq!(back.stand_in(&[5, 4], &["whole"]), StandIn::Nothing);
    let again = World::new(&PLAIN, &[(3, &[2])], &[(2, "whole"), (4, "whole")]);
    assert_eq!(again.stand_in(&[4, 2], &[]), StandIn::Found(1, "makes the same change"));
}

#[test]
fn a_commit_stands_for_one_task() {
    let named = World::new(&["e", "[T2] d", "c", "b", "a"], &[], &[(4, "whole")]);
    assert_eq!(named.stand_in(&[5, 4], &[]), StandIn::OfAnother(1));
    let mut found = World::new(&PLAIN, &[], &[(5, "whole"), (4, "whole")]);
    found.history.give(1, &id("T2"));
    assert_eq!(
        found.stand_in(&[5, 4], &[]),
        StandIn::OfAnother(1),
        "a merge and what it merges are one work"
    );
    found.history.give(1, &id("T1"));
    assert_eq!(found.stand_in(&[5, 4], &[]), StandIn::OfAnother(1), "also if both want it");
}

/// A merge of ours, and the branch that it lands: `merge` and `side` are their subjects and the tasks of their trailers.
fn landing(merge: &str, content: Option<Content>, side: &str) -> Vec<Commit> {
    let mut all = commits(&[merge, side, "base"]);
    (all[0].parent, all[0].merges) = (Some(oid(1)), vec![oid(2)]);
    (all[0].run, all[1].run) = (Some("run-1".to_owned()), Some("run-1".to_owned()));
    all[0].content = content;
    all
}

fn spec(prompt: &str) -> TaskSpec {
    let json = serde_json::json!({
        "id": "T1", "title": "Add", "prompt": prompt, "group": 0, "priority": 1, "agent": "a", "attempts": 1, "timeout": 1,
    });
    serde_json::from_value(json).expect("a task")
}

#[test]
fn only_a_merge_of_ours_lands_a_task() {
    let tasks = ["T1", "T2"].map(id);
    let tasks: HashSet<&TaskId> = tasks.iter().collect();
    let read = |all: Vec<Commit>| History::new(all, &[], &tasks);
    let (asked, ours) = (spec("Add it"), "Merge worktree-T1: Add | T1");
    let content = Some(asked.content());
    assert_eq!(read(landing(ours, content, "work")).landings(&asked), [0]);
    assert_eq!(read(landing(ours, None, "work")).landings(&asked), [0], "an earlier version says no content");
    assert_eq!(read(landing(ours, content, "work")).landings(&spec("Remove it")), Vec::<Place>::new());
    assert_eq!(read(landing(ours, content, "[T1] Add | T1")).naming(&spec("Remove it")), Vec::<Place>::new());
    // What an agent calls its own commits.
    for forged in ["Merge worktree-T1: Add | T1", "[T1] Add | T1", "Add | T1"] {
        let history = read(landing("Merge worktree-T2: Other | T2", None, forged));
        assert_eq!((history.landings(&asked), history.naming(&asked)), (vec![], vec![]), "{forged}");
    }
    let forged = landing("work", None, "Merge worktree-T1: Add | T1");
    assert_eq!(read(forged).landings(&asked), Vec::<Place>::new(), "brought in by somebody's merge");
    let mut plain = landing(ours, content, "work");
    plain[0].merges.clear();
    assert_eq!(read(plain).landings(&asked), Vec::<Place>::new(), "no merge");
    let mut renamed = landing("Merge worktree-T1: Add | T2", content, "work");
    assert_eq!(read(renamed.clone()).landings(&asked), Vec::<Place>::new(), "subject and trailer differ");
    renamed[0].task = Some("T1".to_owned());
    renamed[0].run = None;
    assert_eq!(read(renamed).landings(&asked), Vec::<Place>::new(), "no run of ours");
}

/// The same for work that a person rewrote.
#[test]
fn a_trailer_counts_where_no_agent_wrote_it() {
    let trailer = World::new(&["Squashed | T1", "[T1] Fix: it | T1", "c", "b", "a"], &[], &[]);
    assert_eq!(trailer.stand_in(&[5, 4], &[]), StandIn::Found(0, "names it"));
    assert_eq!(trailer.stand_in(&[4], &[]), StandIn::Nothing, "a fix alone is not the work");
    let stands_in = |all: Vec<Commit>| {
        let work = change(Vec::new(), vec![oid(3), oid(2)], HashMap::new());
        let history = History::new(all, &[], &[id("T1")].iter().collect());
        history.stand_in(Some(&id("T1")), &oid(900), &work)
    };
    let mut forged = commits(&["Squashed | T1", "b", "a"]);
    forged[0].run = Some("run-1".to_owned());
    assert_eq!(stands_in(forged), StandIn::Nothing, "in our name, and no merge of ours");
    let mut merged = landing("a person's merge", None, "Work | T1");
    (merged[0].run, merged[1].run) = (None, None);
    assert_eq!(stands_in(merged), StandIn::Nothing, "brought in by a merge");
    let ours = stands_in(landing("Merge worktree-T1: Add | T1", None, "work"));
    assert_eq!(ours, StandIn::Found(0, "names it"));
}
