//! A clock that jumps, both ways.

use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Sandbox, task, writers};

use crate::{sandbox, thorough};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The clock of everything that is started so.
fn set_clock(sandbox: &Sandbox, millis: i64) -> String {
    let file = sandbox.root().join("clock");
    sandbox.write(&file, &millis.to_string());
    file.into_string()
}

#[test]
fn a_clock_that_jumps_between_any_two_steps_changes_nothing() {
    let all = ["work.ended", "landing.moved", "prepare.done", "capture.pinned", "land.durable"];
    let points = if thorough() { &all[..] } else { &all[..2] };
    let cases: Vec<_> =
        points.iter().flat_map(|point| [30 * DAY, -30 * DAY].map(|by| (*point, by))).collect();
    in_parallel(&cases, |(point, by)| {
        let sandbox = sandbox();
        sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
        sandbox.script(&writers(&["T1", "T2"]));
        let clock = set_clock(&sandbox, 0);
        let run = sandbox.piton(["run", "plan.toml"]).env("PITON_CLOCK", clock);
        let mut run = run.pausing_at(&sandbox, point, 1).spawn();
        let pause = run.until_paused(&sandbox);
        set_clock(&sandbox, *by);
        drop(pause);
        let _ = run.wait().exits(0).lacks("failed");
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let _ = sandbox.run("status").exits(0);
        let _ = sandbox.run("doctor").exits(0);
        sandbox.assert_tidy();
    });
}

/// The engine waits for a time of day. Forward it has come; far back, it can never have been meant.
#[test]
fn a_pause_and_a_limit_end_when_the_clock_jumps_over_them_or_away_from_them() {
    let cases = [
        ("exit 75", "cut off: the agent asked to be run again", 2 * HOUR),
        ("exit 75", "cut off: the agent asked to be run again", -30 * DAY),
        ("signal LIMIT:LATER", "usage limit", 2 * HOUR),
        ("signal LIMIT:LATER", "usage limit", -30 * DAY),
    ];
    in_parallel(&cases, |(first, said, by)| {
        let sandbox = sandbox();
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let plan = sandbox.plan_text("", &task("T1", "")).replace("backoff = \"0s\"", "backoff = \"1h\"");
        sandbox.write("plan.toml", &plan);
        sandbox.commit("Plan");
        let first = first.replace("LATER", &later.to_string());
        sandbox.script(&format!("[T1]\nrun sh SIDE/first.sh\n{first}\n"));
        // Only once: its section goes with it.
        let calm = "mv SIDE/agents.calm SIDE/agents.script\n";
        sandbox.write(sandbox.root().join("first.sh"), &calm.replace("SIDE", sandbox.root().as_str()));
        sandbox.write(sandbox.root().join("agents.calm"), &writers(&["T1"]));
        let clock = set_clock(&sandbox, 0);
        let mut run = sandbox.piton(["run", "plan.toml"]).env("PITON_CLOCK", clock).spawn();
        run.until_says(said);
        set_clock(&sandbox, *by);
        let _ = run.wait().exits(0);
        sandbox.assert_landed_once("main", &["T1"]);
    });
}
