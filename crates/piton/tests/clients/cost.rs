//! What Piton adds to what a client sends to its model. `docs/recipes.md` has the figures; to print them:
//! `cargo test -p piton --test clients cost -- --nocapture`.

use piton_testkit::models::{Served, say, script, shell};
use piton_testkit::sandbox::task;

use crate::{Bench, run, talk, with_each_client};

with_each_client![what_piton_adds_to_a_request_stays_small];

/// A check that fails once, and what it prints: 80 lines.
const CHECK: &str = "seq -f 'line %.0f of what a check prints when it has failed, so' 1001 1080; test $(wc -l < T1.txt) -ge 2";
const PRINTED: usize = 80 * "line 1001 of what a check prints when it has failed, so\n".len();
const ASK: &str = "Does T1.txt say what it should?";

#[expect(clippy::print_stderr, reason = "figures for a person who runs with --nocapture")]
fn what_piton_adds_to_a_request_stays_small(bench: &Bench) {
    let work = script("Please do T1", [shell("echo done >> T1.txt"), say("It is done.")]);
    let review = script("# Review", [say("I looked at it.\n\nFINDINGS: none")]);
    let models = bench.serve([review, work]);
    let checks = format!("checks = [\"{CHECK}\", {{ review = \"default\", ask = \"{ASK}\" }}]");
    bench.plan(&models, &task("T1", &checks));
    let _ = bench.run_fenced().run().exits(0).says("every task is completed");
    let served = models.served();
    let conversations: Vec<&Served> = served.iter().filter(|served| served.turn == 0).collect();
    let (reviews, attempts): (Vec<&Served>, Vec<&Served>) =
        conversations.into_iter().partition(|served| served.prompt.contains("# Review"));
    let ([first, retry], [_, review]) = (&attempts[..], &reviews[..]) else {
        panic!("two attempts, each reviewed: {served:?}");
    };

    let models = bench.serve([script("Please do T1", [say("It is done.")])]);
    let _ = talk::by_itself(bench, &models, "Please do T1.");
    let alone = models.served().first().expect("it asked").bytes;

    eprintln!("{} in bytes:", bench.client.name());
    eprintln!("  prompt of a first attempt  {:6}", first.prompt.len());
    eprintln!("  prompt of a retry          {:6}, after a check that printed {PRINTED}", retry.prompt.len());
    eprintln!("  prompt of a review         {:6}", review.prompt.len());
    eprintln!("  first request with Piton   {:6}", first.bytes);
    eprintln!("  first request without      {alone:6}");

    // The task has a line of its own. All else is how to work and how to end.
    assert!(first.prompt.len() < 4_000, "{}", first.prompt);
    // Half a page beyond what the check printed, and four spaces before each of its lines.
    assert!(retry.prompt.len() < first.prompt.len() + PRINTED + 2_000, "{}", retry.prompt);
    assert!(retry.prompt.contains("line 1080 of") && review.prompt.contains(ASK));
    assert!(review.prompt.len() < 4_000, "{}", review.prompt);
    // Its tools, too, are less than the client's own.
    assert!(first.bytes < alone + first.prompt.len() + 20_000, "{} and {alone}", first.bytes);
}
