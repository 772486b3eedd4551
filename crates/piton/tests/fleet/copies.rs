//! A run goes from a file to a server and back, and nothing of it is lost.

use piton_testkit::postgres::PASSWORD;
use piton_testkit::sandbox::{task, writers};

use crate::{Scene, json};

#[test]
fn a_run_continues_where_it_was_copied_to() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']") + &task("T3", "depends_on = ['T2']")));
    sandbox.script(&writers(&["T1", "T2", "T3"]));
    let _ = sandbox.run("run plan.toml --task T1").exits(0);
    let before = sandbox.run("log --json").exits(0).stdout;
    let copied = scene.piton(&format!("journal copy --to {} --json", scene.url)).run().exits(0);
    let told = json(&copied)["runs"][0].clone();
    assert_eq!(told["events"], told["new"]);
    let there = scene.piton("log --json").run().exits(0).stdout;
    assert!(there.starts_with(&before) && there.contains("it continues in"), "{there}");
    // Again, and nothing is new. The file is not where the run continues.
    let again = format!("journal copy --journal here --to {} --json", scene.url);
    let run = told["run"].as_str().expect("an id");
    let _ = scene.piton(&again).run().exits(1).says("is over");
    let again = format!("journal copy {run} --journal here --to {} --json", scene.url);
    assert_eq!(json(&scene.piton(&again).run().exits(0))["runs"][0]["new"], 0);
    let _ = scene
        .piton("run plan.toml --task T2")
        .run()
        .exits(0)
        .says("T2       landed")
        .lacks("T1       attempt");
    let _ = scene.says("doctor", "the snapshot equals the fold");
    // Back again, with what happened there.
    let _ = scene.piton("journal copy --to here").run().exits(0).says("both journals have the same");
    assert!(!sandbox.exists(".git/piton/journal.url"));
    let _ = sandbox.run("run plan.toml").exits(0).says("T3       landed").lacks("T2       attempt");
    let _ = sandbox.run("doctor").exits(0).says("the snapshot equals the fold");
    assert_eq!(sandbox.history("main").iter().filter(|subject| subject.starts_with("Merge")).count(), 3);
    // Both have gone on since: neither is a beginning of the other.
    let _ = scene.piton(&format!("run plan.toml --journal {}", scene.url)).run();
    let other = format!("journal copy {run} --journal here --to {}", scene.kept());
    let _ = scene.piton(&other).run().exits(1).says("another event").lacks(PASSWORD);
}

#[test]
fn a_plan_is_not_begun_twice_in_two_journals() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nexit 1\n");
    let _ = scene.piton(&format!("journal copy --to {}", scene.url)).run().exits(1).says("there is no");
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let refused = scene.piton(&format!("run plan.toml --journal {}", scene.kept())).run();
    let _ = refused.exits(1).says("which is not over").says("piton journal copy");
    sandbox.write("piton.toml", "[journal]\nurl = \"postgres://me:secret@db/shop\"\n");
    let _ = sandbox.run("plan plan.toml").exits(1).says("a password does not belong into").lacks("secret");
    let _ = sandbox.run("journal use postgres://nobody@127.0.0.1:1/shop").exits(1).says("cannot be reached");
    sandbox.write("piton.toml", "[journal]\nurl = \"postgres://you@db.example/shop\"\n");
    let _ = scene.piton(&format!("journal copy --journal here --to {}", scene.url)).run().exits(0);
    let _ = scene.piton("status").run().exits(1).says("piton.toml says").says("piton journal use");
    let _ = scene.piton("status --journal here").run().exits(0).says("it continues in");
}
