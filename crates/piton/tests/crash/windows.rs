//! Several proofs at the same time, a person who commits in the middle of it, and a death at any moment.
//!
//! `cargo xtask crash --plan window-5` takes all moments; this is a sample.

use piton_testkit::Rng;

use crate::points::{Mode, Place, crash_free};
use crate::power::{self, COMMIT};
use crate::reference::{Form, WINDOWS};
use crate::syscalls;

/// A kill where the target is moved, or where the journal is written.
fn kill(form: Form, dice: &mut Rng) -> syscalls::Case {
    let moves = |(kind, _): &(&String, &usize)| kind.contains("refs/heads/main") || *kind == COMMIT;
    let kinds: Vec<_> = crash_free(form).iter().filter(moves).collect();
    assert!(kinds.len() > 1, "{kinds:?}");
    let (kind, &count) = kinds[dice.below(kinds.len())];
    let modes = Mode::at(kind);
    (kind.clone(), 1 + dice.below(count), modes[dice.below(modes.len())])
}

#[test]
fn a_kill_while_a_person_commits_changes_nothing_about_the_end() {
    let mut dice = Rng::new(syscalls::seed());
    let drawn = [WINDOWS[dice.below(WINDOWS.len())]];
    let forms = if syscalls::all_wanted() { &WINDOWS[..] } else { &drawn };
    for form in forms {
        syscalls::assert_survived(*form, &[kill(*form, &mut dice)]);
    }
}

#[test]
fn a_power_cut_before_a_person_commits_loses_nothing() {
    let mut dice = Rng::new(syscalls::seed());
    let form = WINDOWS[dice.below(WINDOWS.len())];
    let nth = 1 + dice.below(crash_free(form)[COMMIT]);
    power::assert_survived(form, &[Place::Kind(COMMIT.to_owned(), nth)]);
}
