//! Files as others leave them: beside those that are kept, and in their place.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use super::*;

#[test]
fn what_is_not_the_file_itself_is_nobodys_word() {
    let sandbox = habits("");
    let _ = sandbox.run("next --plan habits").exits(0);
    let file = |name: &str| sandbox.project().join(PLAN).join(name);
    // J3: what a crash of another program left.
    let lies = sandbox.read(file("state.json")).replace("pending", "done");
    let leftovers = ["state.json.tmp", "state.json.bak", "state.json.bad", "progress.md.tmp"];
    leftovers.iter().for_each(|name| sandbox.write(file(name), &lies));
    let lock = fs::File::create(file("state.lock")).expect("a new file");
    lock.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("our own file");
    let _ = sandbox.run("start T1 --by ann").exits(0);
    assert_eq!(statuses(&sandbox), ["in_progress", "pending", "pending"]);
    leftovers.iter().for_each(|name| assert_eq!(sandbox.read(file(name)), lies, "{name} is not ours"));
    assert!(!sandbox.exists(file("state.lock")), "nobody has held it for an hour");
    // J27: a link that leads out of the project, and a folder.
    for name in ["state.json", "progress.md", "guardrails.md", "tasks.md"] {
        let outside = sandbox.root().join(name);
        fs::rename(file(name), &outside).expect("our own file");
        let before = sandbox.read(&outside);
        symlink(&outside, file(name)).expect("a new link");
        let _ = sandbox.run("journal add looked").exits(1).says(name).says("leads out of the project");
        assert_eq!(sandbox.read(&outside), before);
        fs::remove_file(file(name)).expect("our own link");
        if name != "tasks.md" {
            fs::create_dir(file(name)).expect("a new folder");
            let _ = sandbox.run("journal add looked").exits(1).says(name).says("is a folder");
            fs::remove_dir(file(name)).expect("our own folder");
        }
        fs::rename(&outside, file(name)).expect("our own file");
    }
    let _ = sandbox.run("report T1 unfinished --by ann --did some --remaining more").exits(0);
    assert!(log(&sandbox).contains("**Remaining:** more"), "{}", log(&sandbox));
    // J23: a second copy is named. A file of the project that only has the same name is not a copy.
    sandbox.write("state.json", "{ \"level\": 3 }");
    let _ = sandbox.run("doctor").exits(0).lacks("second copy");
    sandbox.write("state.json", &lies);
    let _ = sandbox.run("doctor").exits(0).says("state.json is a second copy of its state file");
}
