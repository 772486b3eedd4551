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
        Commit { id: oid(n), tree: oid(100 + n), parent, subject: subject.to_owned(), task, run: None }
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
        history.named.get(&0).map(|named| (named.task.to_string(), named.by_trailer))
    };
    for subject in [
        "[T1] Add",
        "shop: [T1] Add",
        "[shop][T1] Add",
        "T1: Add",
        "Merge worktree-T1: Add",
        "x Merge worktree-T1: A",
    ] {
        assert_eq!(name(subject), Some(("T1".to_owned(), false)), "{subject}");
    }
    for subject in ["feat: add | T1", "feat[x]: add | T1", "Add | T1", "[ | T1", "Merge worktree- | T1"] {
        assert_eq!(name(subject), Some(("T1".to_owned(), true)), "{subject}");
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
    assert_eq!(history.merged(&oid(9)), None, "it is not there at all");
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
        let lost = Lost { tree: oid(103), whole: digest("whole"), steps };
        let later: Vec<Oid> = later.iter().map(|n| oid(*n)).collect();
        self.history.stand_in(Some(&id("T1")), &lost, &later, &self.changes)
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

#[test]
fn a_trailer_counts_if_the_subject_says_nothing_else() {
    let trailer = World::new(&["Squashed | T1", "[T1] Fix: it | T1", "c", "b", "a"], &[], &[]);
    assert_eq!(trailer.stand_in(&[5, 4], &[]), StandIn::Found(0, "names it"));
    assert_eq!(trailer.stand_in(&[4], &[]), StandIn::Nothing, "a fix alone is not the work");
}
