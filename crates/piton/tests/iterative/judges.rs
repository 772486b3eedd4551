//! Verifiers of units, and the review of the whole.

use super::*;

#[test]
fn a_gap_that_a_verifier_finds_is_mended_in_another_iteration() {
    let verifier = "if test $unit = T1 && ! test -f gap; then printf -- '- MAJOR: days are not checked\\n<signal>GAPS_FOUND</signal>\\n'; \
                    else echo \"<signal>${unit}_VERIFIED</signal>\"; fi";
    let mended = format!("[T1 2]\nwrite gap closed\n{}", does_well("T1"));
    let sandbox = judged(&judges(verifier, CONTENT.1), &mended);
    let _ = sandbox.run("run habits").exits(0).says("(0 critical, 1 major)");
    let log = log(&sandbox);
    assert!(log.contains("**Signal:** GAPS_FOUND") && log.contains("> MAJOR: days are not checked"), "{log}");
    assert_eq!(state(&sandbox)["tasks"]["T1"]["iterations_used"], 2);
    let asked = sandbox.read(sandbox.root().join("verifierT1.md"));
    assert!(asked.contains("Verify whether T1 is done: Mark a day"), "{asked}");
}

#[test]
fn a_verifier_that_finds_gaps_three_times_is_answered_by_a_person() {
    let verifier = "if test $unit = T2; then printf -- '- MAJOR: days are not checked\\n<signal>GAPS_FOUND</signal>\\n'; \
                    else echo \"<signal>${unit}_VERIFIED</signal>\"; fi";
    let tries: String = (2..=5).map(|n| format!("[T2 {n}]\nwrite gap {n}\n{}", does_well("T2"))).collect();
    let sandbox = judged(&judges(verifier, CONTENT.1), &tries);
    let _ = sandbox.run("run habits").exits(4).says("it has found gaps 3 times");
    assert_eq!(statuses(&sandbox)[1], "blocked");
    assert_eq!(state(&sandbox)["tasks"]["T2"]["iterations_used"], 3);
}

#[test]
fn a_word_about_another_unit_verifies_nothing() {
    let sandbox = judged(&judges("echo '<signal>T2_VERIFIED</signal>'", CONTENT.1), "");
    let _ = sandbox.run("run habits").exits(4).says("did not judge: it did not say what it found");
    // The unit is not to blame: a person has to look at its verifier.
    assert_eq!(statuses(&sandbox)[0], "blocked");
    assert_eq!(state(&sandbox)["tasks"]["T1"]["iterations_used"], 1);
}

#[test]
fn what_the_review_finds_is_mended_until_it_passes() {
    let reviewer = "test -f mended && echo '<signal>REVIEW_PASS</signal>' || \
                    printf -- '- CRITICAL: marks are lost\\n<signal>REVIEW_FAIL</signal>\\n'";
    let sandbox =
        judged(&judges(CONTENT.0, reviewer), "[review]\nif-feedback write mended yes\nsignal FIXED\n");
    let _ = sandbox.run("run habits").exits(0);
    let log = log(&sandbox);
    let (fails, passes) = (log.find("REVIEW_FAIL"), log.find("**Signal:** REVIEW_PASS"));
    assert!(fails.is_some() && fails < passes && log.contains("> CRITICAL: marks are lost"), "{log}");
    assert_eq!(state(&sandbox)["phase"], "deliver");
    let asked = sandbox.read(sandbox.root().join("reviewer.md"));
    assert!(asked.contains("see how often each was") && asked.contains("nothing but `sh`"), "{asked}");
    let _ = sandbox.run("phase").exits(0).says("deliver");
}

#[test]
fn a_review_that_never_passes_ends_with_unfinished_work() {
    let reviewer = "printf -- '- MAJOR: no page\\n<signal>REVIEW_FAIL</signal>\\n'";
    let sandbox = judged(&judges(CONTENT.0, reviewer), "[review]\nappend tried x\n");
    let _ = sandbox.run("run habits").exits(4).says("piton why review");
    assert_eq!((&state(&sandbox)["phase"], statuses(&sandbox).len()), (&"verify".into(), 3));
    let _ = sandbox.run("phase complete").exits(1).says("not everything is done and reviewed");
    // A person looks at it.
    act(&sandbox, "[review]\nsignal NEEDS_ESCALATION:which page?\n");
    let _ = sandbox.run("retry review").exits(0);
    let _ = sandbox.run("run habits").exits(4).says("which page?");
    let _ = sandbox.run("skip review").exits(0);
    let _ = sandbox.run("phase").exits(0).says("deliver");
}

/// A unit that is reset and lands after the review has not been reviewed.
#[test]
fn a_review_is_made_again_once_after_what_lands_later() {
    let reviewer = "echo >> SIDE/reviews; test -f broken && \
                    printf -- '- MAJOR: it is broken\\n<signal>REVIEW_FAIL</signal>\\n' || echo '<signal>REVIEW_PASS</signal>'";
    let sandbox = judged(&judges(CONTENT.0, reviewer), "[T3]\nsignal BLOCKED:which page?\n");
    let _ = sandbox.run("run habits").exits(4);
    let _ = sandbox.run("skip T3").exits(0);
    let _ = sandbox.run("run habits");
    let reviews = || sandbox.read(sandbox.root().join("reviews")).lines().count();
    assert_eq!(reviews(), 1);
    act(&sandbox, &format!("[T3]\nwrite broken x\n{}[review]\nif-feedback remove broken\n", does_well("T3")));
    let _ = sandbox.run("reset T3").exits(0);
    let run = sandbox.run("run habits").exits(0).says("open again: T3 was completed after it had passed");
    assert_eq!(reviews(), 3, "once when it has landed, and once on what mended it: {run}");
}
