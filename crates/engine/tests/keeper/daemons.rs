//! Daemons that outlive the child: they are all dead when the outcome is there.

use piton_engine::keeper::{MARKER, groups_are_possible};

use super::*;

/// Half of them stay, ignore every request and start processes all the time; the others start the next one and end, each in
/// a session of its own. All are forked twice, and have left the marker behind.
const DAEMONS: &str = r#"
    if [ "$1" = grouped ]; then until grep -q piton- /proc/$$/cgroup; do :; done; fi
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        (setsid env -i PATH="$PATH" sh "$PWD/stays.sh" $i >/dev/null 2>&1 &)
        (setsid env -i PATH="$PATH" sh "$PWD/hops.sh" $i >/dev/null 2>&1 &)
    done
    until [ "$(ls up | wc -l)" -ge 60 ]; do :; done
"#;
const STAYS: &str = r#"trap '' TERM HUP INT; echo > up/stays$1; while :; do sleep 0.02 & wait; done"#;
const HOPS: &str = r#"[ -e up/hops$1 ] || echo > up/hops$1; sleep 0.02; setsid sh "$PWD/hops.sh" $1 &"#;

/// Processes that run a script in this folder.
fn alive(folder: &Utf8Path) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let runs = |path: std::path::PathBuf| {
        String::from_utf8_lossy(&fs::read(path.join("cmdline")).unwrap_or_default()).contains(folder.as_str())
    };
    all.filter(|entry| runs(entry.path())).count()
}

/// How the keeper follows the processes of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Followed {
    ByGroup,
    ByDescent,
}

fn no_daemon_survives(keeper: &[String], followed: Followed) {
    let bench = Bench::new();
    let work = bench.root.join("work");
    fs::create_dir(work.join("up")).unwrap();
    fs::write(work.join("stays.sh"), STAYS).unwrap();
    fs::write(work.join("hops.sh"), HOPS).unwrap();
    let grouped = followed == Followed::ByGroup;
    let word = if grouped { "grouped" } else { "alone" };
    let spec = JobSpec { grace_ms: 50, ..JobSpec::new(["sh", "-c", DAEMONS, "sh", word], &work) };
    let outcome = bench.job.run(&spec, keeper).unwrap();
    assert_eq!(alive(&work), 0, "{outcome:?}");
    assert_eq!((outcome.ended, outcome.survivors), (Ended::Exited { code: 0 }, 0));
    assert!(outcome.leftovers_killed >= 30, "{}", outcome.leftovers_killed);
    let started = fs::read_to_string(bench.job.dir().join("started.json")).unwrap();
    let started: serde_json::Value = serde_json::from_str(&started).unwrap();
    assert_eq!(started["group"].as_str().is_some(), grouped, "{started}");
    if let Some(group) = started["group"].as_str() {
        assert!(!Utf8Path::new(group).exists(), "{group} is left");
    }
}

#[test]
fn no_daemon_outlives_its_job_in_a_control_group() {
    if !groups_are_possible() {
        return skipped("no control group can be made here");
    }
    no_daemon_survives(&keeper(), Followed::ByGroup);
}

#[test]
fn no_daemon_outlives_its_job_without_a_control_group() {
    if !groups_are_possible() {
        return no_daemon_survives(&keeper(), Followed::ByDescent);
    }
    // Out of the keeper's sight there are none.
    let hide = "umount -l \"$(sed -n 's/^[^ ]* \\([^ ]*\\) cgroup2 .*/\\1/p' /proc/self/mounts | head -n 1)\" && exec \"$@\"";
    let hidden = |program: &[String]| -> Vec<String> {
        let words = ["unshare", "-m", "sh", "-c", hide, "sh"].map(str::to_owned);
        words.into_iter().chain(program.iter().cloned()).collect()
    };
    let probe = hidden(&["true".to_owned()]);
    if !Command::new(&probe[0]).args(&probe[1..]).status().is_ok_and(|status| status.success()) {
        return skipped("unshare is not permitted here");
    }
    no_daemon_survives(&hidden(&keeper()), Followed::ByDescent);
}

#[test]
fn what_could_not_be_ended_is_tried_again_and_counted() {
    let bench = Bench::new();
    let outcome = bench.run_sh("true");
    let outcome = Outcome { survivors: 1, ..outcome };
    let mut stray = Command::new("sleep");
    let mut stray = stray.arg("1000").env(MARKER, bench.job.dir().as_str()).spawn().unwrap();
    assert_eq!(bench.job.end_survivors(&outcome).unwrap(), 0);
    assert!(!stray.wait().unwrap().success());
    // A process in the group that Piton must not end.
    let path = bench.job.dir().join("started.json");
    let mut started: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let group = bench.root.join("group");
    fs::create_dir(&group).unwrap();
    fs::write(group.join("cgroup.procs"), "1\n").unwrap();
    started["group"] = group.as_str().into();
    fs::write(&path, started.to_string()).unwrap();
    assert_eq!(bench.job.end_survivors(&outcome).unwrap(), 1);
    assert_eq!(bench.job.end_survivors(&Outcome { survivors: 0, ..outcome }).unwrap(), 0);
}
