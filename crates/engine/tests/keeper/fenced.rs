//! Limits, fences and secrets.

use std::collections::BTreeMap;

use piton_engine::keeper::{
    Fence, Limits, StopSignal, fences_are_possible, groups_are_possible, scopes_are_possible,
};

use super::*;

#[test]
fn a_child_is_asked_to_end_in_its_own_way() {
    let bench = Bench::new();
    let line = bench.line("line");
    let script = "trap 'echo asked; exit' INT; trap '' TERM; echo up > line; while :; do sleep 0.05; done";
    let spec = JobSpec { stop_signal: StopSignal::Int, grace_ms: 20_000, ..bench.sh(script) };
    let runner = bench.run_aside(&spec);
    line.hear();
    bench.job.request_stop().unwrap();
    assert_eq!(runner.join().unwrap().ended, Ended::Stopped);
    assert_eq!(bench.text(), "asked\n");
}

#[cfg(target_os = "linux")]
#[test]
fn signals_that_the_caller_ignores_are_the_childs_own_again() {
    let bench = Bench::new();
    let deaf = ["sh", "-c", "trap '' INT HUP TERM QUIT USR1 TSTP; exec \"$@\"", "sh"].map(str::to_owned);
    let program: Vec<String> = deaf.into_iter().chain(keeper()).collect();
    bench.job.run(&bench.sh("exec grep -E '^Sig(Blk|Ign)' /proc/self/status"), &program).unwrap();
    // Above 31 are signals that C libraries keep for themselves.
    let text = bench.text();
    let masks =
        text.lines().map(|line| u64::from_str_radix(line.split_once(':').unwrap().1.trim(), 16).unwrap());
    assert_eq!(masks.map(|mask| mask & 0x7fff_ffff).collect::<Vec<_>>(), [0, 0], "{text}");
}

#[test]
fn who_never_says_anything_is_ended_early_and_who_did_is_not() {
    let bench = Bench::new();
    let spec = JobSpec { startup_ms: Some(300), wall_ms: Some(60_000), ..bench.sh("sleep 1000") };
    assert_eq!(bench.run(&spec).ended, Ended::Startup);

    let bench = Bench::new();
    let spec = JobSpec { startup_ms: Some(1_000), wall_ms: Some(1_500), ..bench.sh("echo here; sleep 1000") };
    assert_eq!(bench.run(&spec).ended, Ended::WallClock);
}

/// The limit on silence is below the limit on time: only a sign of life lets the second be reached.
#[cfg(target_os = "linux")]
#[test]
fn a_job_that_is_silent_and_at_work_is_not_stalled() {
    let signs = ["while :; do :; done", "while :; do echo x > built; sleep 0.1; done"];
    let watched = signs.map(|script| {
        thread::spawn(move || {
            let bench = Bench::new();
            let spec = bench.sh(script);
            let spec = JobSpec { silence_ms: Some(2_000), wall_ms: Some(3_500), ..spec };
            bench.run(&JobSpec { watched: Some(bench.root.join("work")), ..spec }).ended
        })
    });
    for job in watched {
        assert_eq!(job.join().unwrap(), Ended::WallClock);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn limits_of_the_system_hold_in_the_child() {
    let bench = Bench::new();
    let limits = Limits { memory: Some(256 * 1024 * 1024), processes: Some(4_000) };
    bench.run(&JobSpec { limits, ..bench.sh("grep -E '^Max (data size|processes)' /proc/self/limits") });
    let text = bench.text();
    let numbers: Vec<&str> = text.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect();
    assert_eq!(numbers, ["268435456", "268435456", "4000", "4000"], "{text}");
}

#[test]
fn a_job_has_a_control_group_where_that_is_possible() {
    if !groups_are_possible() {
        return skipped("no control group can be made here");
    }
    let bench = Bench::new();
    // One that runs away from its first moment on is in it as well.
    let away = "until grep -q piton- /proc/$$/cgroup; do sleep 0.01; done\n\
                sed -n 's/^0:://p' /proc/$$/cgroup > away.tmp; mv away.tmp away; exec sleep 1000\n";
    fs::write(bench.work("away.sh"), away).unwrap();
    let script = "(setsid env -i /bin/sh away.sh &)\n\
                  until [ -e away ] && grep -q piton- /proc/$$/cgroup; do sleep 0.01; done\n\
                  sed -n 's/^0:://p' /proc/$$/cgroup > own; cmp own away && cat own";
    bench.run(&JobSpec { wall_ms: Some(60_000), ..bench.sh(script) });
    let text = bench.text();
    let name = text.trim().rsplit('/').next().unwrap();
    assert!(name.starts_with("piton-"), "{text}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")).unwrap();
    let own = format!("{}{}", mount.split(' ').nth(1).unwrap(), text.trim());
    assert!(!Utf8Path::new(&own).exists(), "{own} is left");
}

/// Each line tries something outside, and says if it succeeded.
const OUTSIDE: &str = "
    echo new > ../new && echo made
    echo more >> ../old && echo changed
    true > ../old && echo emptied
    truncate -s 0 ../old && echo cut
    mkdir ../folder && echo 'made a folder'
    ln -s /etc ../link && echo linked
    rm ../old && echo removed
    mv ../old . && echo 'taken away'
    mv inside .. && echo 'put outside'
    ln -s .. out && echo x > out/new && echo 'through a link'
    sh -c 'echo x > ../new' && echo 'by a child'
    setsid sh -c 'echo x > ../new' && echo 'by another session'";

#[test]
fn a_fence_keeps_writing_inside_and_reading_free() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let bench = Bench::new();
    fs::write(bench.root.join("old"), "old\n").unwrap();
    let script = format!(
        "exec 2>/dev/null\ncat ../old; mkdir -p a/b && echo x > inside && echo x > a/y && mv a/y a/b/y && rm a/b/y\n\
         echo x > /dev/null && echo fine\n{OUTSIDE}\ntrue"
    );
    let writable = vec![bench.root.join("work"), bench.root.join("nowhere")];
    // By itself: a view would hold all of this back as well.
    let fence = Fence { writable, required: true, view: false };
    let outcome = bench.run(&JobSpec { fence: Some(fence.clone()), ..bench.sh(&script) });
    assert_eq!((outcome.ended, bench.text().as_str()), (Ended::Exited { code: 0 }, "old\nfine\n"));
    assert_eq!(fs::read_to_string(bench.root.join("old")).unwrap(), "old\n");

    // The reason why nothing was started gets out all the same.
    let bench = Bench::new();
    let spec = JobSpec { fence: Some(fence), ..JobSpec::new(["no-such-program"], bench.root.join("work")) };
    assert!(reason(&bench.run(&spec)).starts_with("cannot run no-such-program: No such file"));
}

/// It reaches its own processes and sockets, and none outside: not the engine, not the person's programs.
#[cfg(target_os = "linux")]
#[test]
fn a_fence_keeps_signals_and_abstract_sockets_inside() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    if let Err(why) = scopes_are_possible() {
        return skipped(&why);
    }
    if std::process::Command::new("perl").arg("-e0").status().is_err() {
        return skipped("there is no perl to connect with");
    }
    let bench = Bench::new();
    let name = format!("piton-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let connect = |name: &str| {
        format!(
            "perl -MSocket -e 'socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; exit !connect($s, pack(\"Sa*\", AF_UNIX, \"\\0{name}\"))'"
        )
    };
    let own = "perl -MSocket -e 'my $at = pack(\"Sa*\", AF_UNIX, \"\\0own-$$\"); socket(my $l, PF_UNIX, SOCK_STREAM, 0); \
               bind($l, $at) && listen($l, 1) or die; socket(my $s, PF_UNIX, SOCK_STREAM, 0); exit !connect($s, $at)'";
    let script = format!(
        "exec 2>/dev/null\nsleep 100 & kill -0 $! && kill $! && echo 'own process'\n{own} && echo 'own socket'\n\
         kill -0 {0} && echo signalled\nkill -CONT $PPID && echo 'the keeper signalled'\n{1} && echo connected\ntrue",
        std::process::id(),
        connect(&name),
    );
    // The same without a fence: all of it can be done.
    bench.run(&bench.sh(&script));
    let all = "own process\nown socket\nsignalled\nthe keeper signalled\nconnected\n";
    assert_eq!(bench.text(), all);
    let bench = Bench::new();
    let fence = Fence { writable: vec![bench.root.join("work")], required: true, view: false };
    bench.run(&JobSpec { fence: Some(fence), ..bench.sh(&script) });
    assert_eq!(bench.text(), "own process\nown socket\n");
}

/// The kernel puts up sixteen around a process, and no more.
#[cfg(target_os = "linux")]
/// What a fence does not hold back: the table in docs/reference/sandbox.md says so.
#[cfg(target_os = "linux")]
#[test]
fn behind_a_fence_files_are_read_and_sockets_and_the_network_reached() {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    if std::process::Command::new("perl").arg("-e0").status().is_err() {
        return skipped("there is no perl to connect with");
    }
    let bench = Bench::new();
    let (outside, socket) = (bench.root.join("outside"), bench.root.join("socket"));
    std::fs::write(&outside, "read\n").unwrap();
    let (_file, network) = (UnixListener::bind(&socket).unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = network.local_addr().unwrap().port();
    let script = format!(
        "cat {outside}; head -c 4 /etc/passwd > /dev/null && echo 'of the system'\n\
         perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new(Peer => \"{socket}\")' && echo 'a socket file'\n\
         perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\")' && echo 'the network'\n\
         echo x > {outside} || echo 'not written'"
    );
    let fence = Fence { writable: vec![bench.root.join("work")], required: true, view: true };
    bench.run(&JobSpec { fence: Some(fence), ..bench.sh(&format!("exec 2>/dev/null\n{script}")) });
    assert_eq!(bench.text(), "read\nof the system\na socket file\nthe network\nnot written\n");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "read\n");
}

#[test]
fn a_fence_that_cannot_be_put_up_is_told_or_nothing_is_started() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    // Jobs in jobs, each with a fence; the innermost is one too many.
    let nested = |bench: &Bench, required: bool| {
        let (root, jobs) = (&bench.root, keeper().swap_remove(0));
        let script = format!(
            r#"test $1 = 0 && exec echo here
            exec {jobs} run {root}/job$1 '{{"argv": ["sh", "{root}/nest", "'$(($1 - 1))'"], "cwd": "{root}", "grace_ms": 0,
            "output_head": 9999, "output_tail": 9999, "fence": {{"writable": ["{root}"], "required": {required}}}}}'"#
        );
        fs::write(root.join("nest"), script).unwrap();
        let fence = Fence { writable: vec![root.clone()], required, view: true };
        let outer = bench.run(&JobSpec { fence: Some(fence), ..bench.sh("sh ../nest 16") });
        assert_eq!(outer.ended, Ended::Exited { code: 0 }, "{}", bench.text());
        let innermost = Job::at(root.join("job1"));
        let said = innermost.output().tail(100).unwrap();
        (innermost.outcome().unwrap().unwrap(), String::from_utf8_lossy(&said).into_owned())
    };
    let [optional, required] = [false, true].map(|required| nested(&Bench::new(), required));
    let (outcome, said) = optional;
    assert_eq!((outcome.ended, said.as_str()), (Ended::Exited { code: 0 }, "here\n"));
    let told = outcome.unfenced.unwrap();
    assert!(told.starts_with("the sandbox cannot be set up: "), "{told}");

    let (outcome, said) = required;
    assert!(reason(&outcome).contains("the sandbox cannot be set up: "));
    assert_eq!(said, "");
}

#[test]
fn secrets_reach_the_child_and_no_file() {
    let bench = Bench::new();
    let mut spec = bench.sh("echo \"$A_TOKEN\"; printf 'half of %.9s\\n' \"$A_TOKEN\"; printf %s \"$B_KEY\" | sed 's/./&\\n/4'; echo \"$B_KEY\"; test ${#A_TOKEN} = 20");
    spec.secrets = BTreeMap::from([("A_TOKEN".to_owned(), "canary-0123456789abc".to_owned())]);
    spec.env.insert("B_KEY".to_owned(), "canary/B/0123456789".to_owned());
    assert_eq!(bench.run(&spec).ended, Ended::Exited { code: 0 });
    assert_eq!(bench.text(), "[redacted]\nhalf of canary-01\ncana\nry/B/0123456789[redacted]\n");
    for entry in bench.job.dir().read_dir_utf8().unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("canary-0123456789abc") && !text.contains("canary/B"), "{text}");
    }
}
