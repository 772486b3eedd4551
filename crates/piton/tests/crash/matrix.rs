//! Every named crash point, at its first, middle and last pass, once and twice.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use camino::{Utf8Path, Utf8PathBuf};

use piton_testkit::Rng;
use piton_testkit::cases::{in_parallel, told};

use crate::points::Mode;
use crate::reference::{self, Form, Killed};
use crate::sandbox::{Ended, Sandbox};
use crate::syscalls::{all_wanted, seed, wish};

/// Points that no reference run passes, each with the test that does. Keep it short.
const ELSEWHERE: [(&str, &str); 36] = [
    ("add.before-write", "rwkit: a_task_that_is_added_by_the_recipe_is_there_once_wherever_we_die"),
    ("add.written", "it: what_a_killed_add_left_in_the_plan_is_taken_up_by_the_next"),
    ("archive.completed", "iterative: a_finished_folder_is_put_away_by_day_and_what_was_learned_goes_on"),
    ("archive.kept", "iterative: a_folder_that_is_taken_away_can_be_had_back"),
    ("claims.judged", "issue: a_claim_is_judged_by_the_issues_branch_and_not_by_the_checkout"),
    ("claims.landed", "issue: work_in_the_worktree_of_all_tasks_is_committed_when_its_checks_pass"),
    ("feedback.ended", "it: a_writer_that_has_written_is_not_called_again_after_a_crash"),
    ("files.added", "rwkit: a_task_that_is_added_by_the_recipe_is_there_once_wherever_we_die"),
    ("import.adopted", "execute: a_take_over_that_dies_is_begun_again"),
    ("isolate.ahead", FENCED),
    ("isolate.made", FENCED),
    ("issues.before-write", ISSUES),
    ("issues.written", ISSUES),
    ("notify.look", "it: an_engine_that_is_killed_before_the_note_leaves_it_to_the_next"),
    ("notify.noted", "it: a_message_that_was_noted_and_not_sent_is_lost_and_never_doubled"),
    ("older.moved", "iterative: a_folder_of_the_layout_before_is_brought_to_its_place_and_taken_over"),
    ("rejoin.brought", FENCED),
    ("rejoin.left", FENCED),
    ("rejoin.objects", FENCED),
    ("request.based", STACK),
    ("request.before-base", STACK),
    ("request.before-branch", WHOLE),
    ("request.before-merge", REQUESTS),
    ("request.before-open", REQUESTS),
    ("request.before-push", REQUESTS),
    ("request.before-target", REQUESTS),
    ("request.merged", REQUESTS),
    ("request.opened", REQUESTS),
    ("request.pushed", REQUESTS),
    ("request.taken", REQUESTS),
    ("slot.ahead", "it: an_engine_that_is_killed_while_it_makes_a_slot_ahead_leaves_nothing_half_made"),
    ("slot.filled", "it: a_filling_that_was_killed_is_done_again_and_never_half_seen"),
    (
        "stack.merged",
        "requests: a_run_that_is_killed_where_requests_are_merged_to_stand_on_goes_on_to_the_same_end",
    ),
    ("store.made", "it: wherever_it_is_killed_it_goes_on_to_the_same_end"),
    ("worktree.removed", "crash: what_was_rescued_before_a_crash_is_journaled_by_the_next_engine"),
    ("worktree.rescued", "crash: what_was_rescued_before_a_crash_is_journaled_by_the_next_engine"),
];

const ISSUES: &str = "formats: a_run_that_died_between_two_writes_resumes_without_repeating_one";
const WHOLE: &str = "requests: a_run_that_is_killed_at_any_step_of_its_request_goes_on_to_the_same_end";
const REQUESTS: &str = "requests: a_run_that_is_killed_at_any_step_of_a_request_goes_on_to_the_same_end";
const STACK: &str = "requests: a_run_that_is_killed_at_any_step_of_a_stack_goes_on_to_the_same_end";
const FENCED: &str = "crash: an_attempt_behind_a_fence_survives_a_kill_at_every_step_around_it";

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

/// A pass of a point, and who dies there.
type Case = (String, usize, Mode);

/// The first, middle and last pass of a point, in both ways: all of them if `PITON_CRASH_SYSCALLS` is `all`, otherwise
/// one: points take turns in who dies there.
fn cases_at(at: usize, point: &str, count: usize) -> Vec<Case> {
    let all = all_wanted();
    let middle = count.div_ceil(2);
    let mut passes = vec![1, middle, count];
    passes.dedup();
    let both = passes.into_iter().flat_map(|nth| [(nth, Mode::Engine), (nth, Mode::Everything)]);
    let keepers = killed_by(point) == Killed::Keeper;
    let wanted = |(nth, mode): &(usize, Mode)| match mode {
        // If a keeper dies, the engine goes on to the end: no process is left to be killed.
        Mode::Everything if keepers => false,
        _ if all => true,
        Mode::Everything => *nth == middle && at % 2 == 1,
        Mode::Engine => *nth == 1 && (keepers || at.is_multiple_of(2)),
        // A crash point is the engine's own.
        Mode::Alone => false,
    };
    both.filter(wanted).map(|(nth, mode)| (point.to_owned(), nth, mode)).collect()
}

/// Die at the points that are wanted, and end like a run that did not.
pub(crate) fn assert_survived(form: Form, wanted: impl Fn(&str) -> bool) {
    let (_, passes) = form.crash_free();
    let points: Vec<_> = passes.iter().filter(|(point, _)| wanted(point)).collect();
    let cases = points.iter().enumerate().flat_map(|(at, (point, count))| cases_at(at, point, **count));
    let cases: Vec<Case> = cases.collect();
    let earlier = AtomicUsize::new(0);
    let runs = in_parallel(&cases, |case| {
        let (sandbox, exactly) = crashed(form, case);
        earlier.fetch_add(usize::from(!exactly), Ordering::Relaxed);
        reference::assert_recovers(&sandbox, killed(case));
    })
    .len();
    let earlier = earlier.into_inner();
    told(&format!("{} crash points, {runs} crashes, {earlier} of them at an earlier pass", points.len()));
}

/// `PITON_CRASH_DOUBLE` is how many pairs are drawn, or `all`: every case after every other.
#[test]
fn a_second_crash_while_recovering_changes_nothing_either() {
    let form = Form::wished();
    let (_, passes) = form.crash_free();
    let pairs: Vec<(Case, Case)> = if std::env::var("PITON_CRASH_DOUBLE").is_ok_and(|wanted| wanted == "all")
    {
        let cases = passes.iter().flat_map(|(point, count)| cases_at(0, point, *count));
        let cases: Vec<Case> = cases.collect();
        cases.iter().flat_map(|first| cases.iter().map(|second| (first.clone(), second.clone()))).collect()
    } else {
        let passes: Vec<(&String, &usize)> = passes.iter().collect();
        let mut dice = Rng::new(seed());
        let mut roll = |part: usize| {
            let (point, count) = passes[dice.below(passes.len())];
            let mode = [Mode::Engine, Mode::Everything][dice.below(2)];
            (point.clone(), 1 + dice.below(count.div_ceil(part)), mode)
        };
        // Less is left to do, so the second one comes early.
        (0..wish("PITON_CRASH_DOUBLE").unwrap_or(4)).map(|_| (roll(1), roll(4))).collect()
    };
    let twice = AtomicUsize::new(0);
    let runs = in_parallel(&pairs, |(first, second)| {
        let (sandbox, _) = crashed(form, first);
        // What is left to do passes fewer points: then this run is the last one.
        let ended = sandbox.run_crashing(&second.0, second.1);
        assert_ended(&ended);
        if sandbox.has_crashed() {
            twice.fetch_add(1, Ordering::Relaxed);
            finish_off(&sandbox, second.2);
        }
        reference::assert_recovers(&sandbox, both(killed(first), killed(second)));
    })
    .len();
    told(&format!("{runs} pairs of crashes, {} recoveries got to their second one", twice.into_inner()));
}

/// A keeper's death is the engine's business, not ours.
#[track_caller]
fn assert_ended(ended: &Ended) {
    assert!(ended.aborted() || ended.code() == Some(0), "{}", ended.text);
}

/// Agents, keepers and git processes in the middle of their work.
fn finish_off(sandbox: &Sandbox, mode: Mode) {
    if mode == Mode::Everything {
        sandbox.kill_all();
    }
}

fn killed((point, _, mode): &Case) -> Killed {
    if *mode == Mode::Everything { Killed::Everything } else { killed_by(point) }
}

fn killed_by(point: &str) -> Killed {
    match point.split_once('.') {
        Some(("keeper", _)) => Killed::Keeper,
        // Files and slots are kept by threads of their own, and jobs, checks and agents are begun and followed by others:
        // beside whatever git is doing for another task.
        Some(("check" | "files" | "job" | "slot" | "work", _)) => Killed::EngineOverGit,
        _ => Killed::Engine,
    }
}

/// Which processes one or the other killed.
fn both(one: Killed, other: Killed) -> Killed {
    match (one, other) {
        (Killed::Engine, killed) | (killed, Killed::Engine) => killed,
        (one, other) if one == other => one,
        _ => Killed::Everything,
    }
}

/// A reference run that has crashed there, and whether it was at that very pass. How often a point is passed depends a
/// little on which process is first.
fn crashed(form: Form, (point, nth, mode): &Case) -> (Sandbox, bool) {
    let mut pass = *nth;
    loop {
        let sandbox = form.sandbox();
        let ended = sandbox.run_crashing(point, pass);
        if sandbox.has_crashed() {
            assert_ended(&ended);
            finish_off(&sandbox, *mode);
            return (sandbox, pass == *nth);
        }
        assert!(pass > 1, "{point} was not passed");
        pass -= pass.div_ceil(10);
    }
}
