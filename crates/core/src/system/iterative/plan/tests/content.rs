//! What makes a unit another one: what stands at its own box, and nothing that the plan says for all.

use super::*;

/// The units that are other ones than before.
fn others(brief: (&str, &str), list: (&str, &str)) -> Vec<String> {
    assert!(BRIEF.contains(brief.0) && TASKS.contains(list.0), "{brief:?}, {list:?}");
    let files = folder(&[
        ("brief.md", &BRIEF.replace(brief.0, brief.1)),
        ("tasks.md", &TASKS.replace(list.0, list.1)),
    ]);
    let (before, after) = (reading(&auth()).reading.plan, reading(&files).reading.plan);
    let was = |id: &TaskId| before.tasks.iter().find(|old| old.id == *id).expect("it was there").content();
    after.tasks.iter().filter(|new| new.is_another_than(was(&new.id))).map(|new| new.id.to_string()).collect()
}

#[test]
fn words_for_all_units_do_not_make_one_another() {
    let same = ("", "");
    for (brief, list) in [
        (("Argon2 is there already.", "Argon2 is a dependency."), same),
        (("# User authentication", "# Sign in"), same),
        (("no new dependency", "no new file"), same),
        (same, ("Errors are values here.", "Errors are exceptions here.")),
        (same, ("Max iterations: 8", "Max iterations: 9")),
        (same, ("<!-- IN_PROGRESS: iteration 4 -->", "")),
    ] {
        assert_eq!(others(brief, list), [""; 0], "{brief:?}, {list:?}");
    }
    let prompt = |folder: &Folder| reading(folder).reading.plan.tasks[0].prompt.clone();
    let noted = TASKS.replace("Errors are values here.", "Errors are exceptions here.");
    assert_ne!(prompt(&auth()), prompt(&folder(&[("brief.md", BRIEF), ("tasks.md", &noted)])));
    for list in [
        ("Check passwords", "Check passwords and names"),
        ("the hash is Argon2", "the hash is bcrypt"),
        ("`src/auth.rs`", "`src/sign_in.rs`"),
    ] {
        assert_eq!(others(same, list), ["T2"], "{list:?}");
    }
}
