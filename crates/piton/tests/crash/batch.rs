//! Several tasks land in one move of the target, and their engine dies on the way.

use std::fs;

use piton_testkit::cases::in_parallel;

use crate::sandbox::Sandbox;
use crate::syscalls::all_wanted;

const TASKS: [&str; 4] = ["T1", "T2", "T3", "T4"];

/// Four tasks that are verified and wait: the checkout has a file in the way of each.
fn waiting(window: u32) -> Sandbox {
    let mut plan = format!(
        "[agents.default]\ncommand = [\"sh\", \"-c\", 'exec \"$HOME/piton\" scripted-agent \"$HOME/agents.script\"']\n\
         [policy]\nmax_parallel = 4\nlanding_parallel = {window}\nlanding_wait = \"50ms\"\n"
    );
    let mut script = String::new();
    for task in TASKS {
        let file = task.to_lowercase();
        plan += &format!(
            "[[task]]\nid = \"{task}\"\ntitle = \"{task}\"\nprompt = \"Write it.\"\nchecks = [\"test -s {file}.txt\"]\n"
        );
        script += &format!("[{task}]\nrun sh ROOT/began.sh\nwrite {file}.txt x\n");
    }
    let sandbox = Sandbox::new("plan.toml", &script, &[("plan.toml", plan.as_str())]);
    for task in TASKS {
        fs::write(sandbox.repo.join(format!("{}.txt", task.to_lowercase())), "mine").expect("a file");
    }
    let waits = sandbox.run();
    assert_ne!(waits.code(), Some(0), "{}", waits.text);
    sandbox.assert_landed_once(&[]);
    for task in TASKS {
        fs::remove_file(sandbox.repo.join(format!("{}.txt", task.to_lowercase()))).expect("our own file");
    }
    sandbox
}

#[test]
fn a_crash_around_the_move_of_several_tasks_has_one_right_continuation() {
    let points = [
        "land.merged",
        "land.durable",
        "landing.before-move",
        "landing.files",
        "landing.moved",
        "engine.after-commit",
    ];
    let windows = if all_wanted() { vec![(1, 1), (2, 1), (5, 1), (5, 2)] } else { vec![(1, 1), (5, 1)] };
    let cases: Vec<(u32, &str, usize)> =
        windows.into_iter().flat_map(|(window, nth)| points.map(|point| (window, point, nth))).collect();
    in_parallel(&cases, |(window, point, nth)| {
        let sandbox = waiting(*window);
        sandbox.run_crashing(point, *nth);
        // Those that are proven together pass a point together, so there may be no second time.
        assert!(sandbox.has_crashed() || *nth == 2, "{point} was passed");
        if *point == "landing.before-move" {
            // A person commits before the next engine starts.
            sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "By a person"]);
        }
        if sandbox.has_crashed() {
            sandbox.run().expect(0);
        }
        sandbox.assert_landed_once(&TASKS);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        assert_eq!(sandbox.leftovers(), Vec::<String>::new());
        for task in TASKS {
            assert_eq!(sandbox.runs_of(task), 1, "{task} is not paid for again");
        }
        sandbox.piton(&["doctor"]).expect(0);
        let moves = sandbox.git(&["reflog", "main"]).lines().filter(|line| !line.contains("commit")).count();
        assert!(moves < TASKS.len(), "some landed together: {moves} moves");
    });
}
