//! Every named crash point, at its first, middle and last pass, once and twice.

use std::collections::BTreeSet;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use crate::cases::{Dice, in_parallel, told};
use crate::reference::{self, Form, Killed};
use crate::sandbox::Sandbox;

/// Points that no reference run passes, each with the test that does. Keep it short.
const ELSEWHERE: [(&str, &str); 10] = [
    ("add.before-write", "rwkit: a_list_that_somebody_writes_meanwhile_keeps_both"),
    ("add.written", "it: what_a_killed_add_left_in_the_plan_is_taken_up_by_the_next"),
    ("archive.completed", "iterative: a_finished_folder_is_put_away_by_day_and_what_was_learned_goes_on"),
    ("archive.kept", "iterative: a_folder_that_is_taken_away_can_be_had_back"),
    ("claims.judged", "issue: a_claim_is_judged_by_the_issues_branch_and_not_by_the_checkout"),
    ("feedback.ended", "it: a_writer_that_has_written_is_not_called_again_after_a_crash"),
    ("files.added", "rwkit: a_task_that_is_added_by_the_recipe_is_there_once_wherever_we_die"),
    ("import.adopted", "execute: a_take_over_that_dies_is_begun_again"),
    ("older.moved", "iterative: a_folder_of_the_layout_before_is_brought_to_its_place_and_taken_over"),
    ("store.made", "it: wherever_it_is_killed_it_goes_on_to_the_same_end"),
];

/// The names in the sources, so that a new point is not forgotten here.
fn points_in_sources() -> BTreeSet<String> {
    let mut points = BTreeSet::new();
    let mut open = vec![Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().expect("the sources").flatten() {
            let path = entry.path().to_owned();
            if path.is_dir() && !["target", "tests"].contains(&entry.file_name()) {
                open.push(path);
            } else if path.extension() == Some("rs") {
                points.extend(points_in(&path));
            }
        }
    }
    points
}

fn points_in(file: &Utf8Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a source file");
    let names = text.split("crash::point(\"").skip(1).filter_map(|rest| rest.split_once("\")"));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_crash_point_of_the_sources_is_passed_by_some_test() {
    let passed: BTreeSet<&String> =
        [Form::Native, Form::Execute].iter().flat_map(|form| form.crash_free().1.keys()).collect();
    let elsewhere: BTreeSet<String> = ELSEWHERE.iter().map(|(name, _)| (*name).to_owned()).collect();
    let known: BTreeSet<&String> = passed.iter().copied().chain(&elsewhere).collect();
    let sources = points_in_sources();
    assert_eq!(sources.iter().collect::<BTreeSet<_>>(), known, "passed here or named with a reason");
    let both: Vec<_> = elsewhere.iter().filter(|name| passed.contains(name)).collect();
    assert!(both.is_empty(), "{both:?} are passed after all");
}

#[test]
fn a_crash_at_any_point_changes_nothing_about_the_end() {
    assert_survived(Form::wished(), |_| true);
}

/// Die at the points that are wanted, and end like a run that did not.
pub(crate) fn assert_survived(form: Form, wanted: impl Fn(&str) -> bool) {
    let (_, passes) = form.crash_free();
    let mut cases = Vec::new();
    for (point, &count) in passes.iter().filter(|(point, _)| wanted(point)) {
        let mut passes = vec![1, count.div_ceil(2), count];
        passes.dedup();
        cases.extend(passes.into_iter().map(|nth| (point.clone(), nth)));
    }
    let points: BTreeSet<&String> = cases.iter().map(|(point, _)| point).collect();
    let runs = in_parallel(&cases, |(point, nth)| {
        let sandbox = crashed(form, point, *nth);
        // In the middle everything goes: agents, keepers, and gits in the middle of their work.
        let middle = *nth > 1 && *nth < passes[point];
        if middle {
            sandbox.kill_all();
        }
        reference::assert_recovers(&sandbox, if middle { Killed::Everything } else { killed_by(point) });
    });
    told(&format!("{} crash points, {runs} crashes", points.len()));
}

#[test]
fn a_second_crash_while_recovering_changes_nothing_either() {
    const PAIRS: usize = 12;
    let form = Form::wished();
    let (_, passes) = form.crash_free();
    let passes: Vec<(&String, &usize)> = passes.iter().collect();
    let mut dice = Dice(0x5eed);
    let mut roll = || {
        let (point, count) = passes[dice.below(passes.len())];
        (point.clone(), 1 + dice.below(*count))
    };
    let cases: Vec<_> = (0..PAIRS).map(|_| (roll(), roll())).collect();
    let runs = in_parallel(&cases, |((first, nth), (second, later))| {
        let sandbox = crashed(form, first, *nth);
        // What is left to do passes fewer points: then this run is the last one.
        let ended = sandbox.run_crashing(second, *later);
        assert!(ended.aborted() || ended.code() == Some(0), "{}", ended.text);
        let keepers = [first, second].into_iter().find(|point| killed_by(point) == Killed::Keeper);
        reference::assert_recovers(&sandbox, killed_by(keepers.unwrap_or(first)));
    });
    told(&format!("{runs} double crashes"));
}

fn killed_by(point: &str) -> Killed {
    match point.split_once('.') {
        Some(("keeper", _)) => Killed::Keeper,
        // The file is kept by a thread of its own, beside whatever git is doing.
        Some(("files", _)) => Killed::EngineOverGit,
        _ => Killed::Engine,
    }
}

/// A reference run that has crashed there. How often a point is passed depends a little on who is first.
fn crashed(form: Form, point: &str, nth: usize) -> Sandbox {
    let mut nth = nth;
    loop {
        let sandbox = form.sandbox();
        let ended = sandbox.run_crashing(point, nth);
        if sandbox.has_crashed() {
            // A keeper's death is the engine's business, not ours.
            assert!(ended.aborted() || ended.code() == Some(0), "{}", ended.text);
            return sandbox;
        }
        assert!(nth > 1, "{point} was not passed");
        nth -= nth.div_ceil(10);
    }
}
