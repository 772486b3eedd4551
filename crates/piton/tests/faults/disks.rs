//! Disks that are full or read-only, as mounts of a namespace of our own.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use camino::Utf8PathBuf;
use piton_testkit::cases::in_parallel;
use piton_testkit::sandbox::{Invocation, Sandbox, task, writers};

use crate::sandbox;

/// A process in a mount namespace, which lives as long as this.
struct Room {
    keeper: Child,
    enter: Vec<String>,
}

impl Room {
    /// `None`, loudly, where namespaces are not permitted.
    fn new() -> Option<Room> {
        let root = rustix::process::geteuid().is_root();
        let user: &[&str] = if root { &[] } else { &["--map-root-user"] };
        let mut command = Command::new("unshare");
        command.arg("--mount").args(user).args(["sh", "-c", "echo ready && exec cat"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut keeper = spawned.ok()?;
        let mut line = String::new();
        BufReader::new(keeper.stdout.take()?).read_line(&mut line).ok()?;
        if line.trim_end() != "ready" {
            piton_testkit::skipped("mount namespaces are not permitted here (unshare --mount)");
            let _ = keeper.wait();
            return None;
        }
        let pid = keeper.id().to_string();
        let mut enter = vec!["nsenter".to_owned(), "--target".to_owned(), pid, "--mount".to_owned()];
        if !root {
            enter.extend(["--user".to_owned(), "--preserve-credentials".to_owned()]);
        }
        Some(Room { keeper, enter })
    }

    /// `piton`, in the project as this namespace has it.
    fn piton<'a>(&self, sandbox: &Sandbox, args: impl IntoIterator<Item = &'a str>) -> Invocation {
        let mut starter: Vec<&str> = self.enter.iter().map(String::as_str).collect();
        starter.extend(["sh", "-c", "cd \"$0\" && exec \"$@\"", sandbox.project().as_str()]);
        sandbox.piton_by(&starter, args)
    }

    #[track_caller]
    fn mount(&self, words: &str) {
        assert!(self.mounts(words), "{words}");
    }

    fn mounts(&self, words: &str) -> bool {
        let mut command = Command::new(&self.enter[0]);
        command.args(&self.enter[1..]).args(words.split(' ')).stderr(Stdio::null());
        command.status().expect("nsenter is installed").success()
    }

    /// A disk with a file system of its own for Piton's folder. `false`, loudly, where there can be none.
    fn mount_disk(&self, sandbox: &Sandbox) -> bool {
        let image = sandbox.root().join("disk.img");
        let file = File::create(&image).and_then(|file| file.set_len(32 << 20));
        file.expect("a sparse file");
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        let made = made.is_ok_and(|status| status.success());
        if !made || !self.mounts(&format!("mount -o loop {image} {}", sandbox.own())) {
            piton_testkit::skipped("a file of one's own cannot be mounted here (mkfs.ext4, mount -o loop)");
            return false;
        }
        true
    }

    /// A file of this namespace, seen from outside.
    fn path(&self, sandbox: &Sandbox, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from(format!("/proc/{}/root{}/{name}", self.keeper.id(), sandbox.own()))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn project() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '1s'", &(task("T1", "") + &task("T2", "depends_on = ['T1']\n")));
    sandbox.script(&writers(&["T1", "T2"]));
    fs::create_dir(sandbox.own()).expect("a new folder");
    sandbox
}

/// Until not a byte more fits.
fn fill(path: &Utf8PathBuf) {
    let mut file = File::create(path).expect("a new file");
    for size in [64 * 1024, 4096, 512, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

#[test]
fn a_disk_that_is_full_before_it_begins_is_named_and_nothing_is_begun() {
    let Some(room) = Room::new() else { return };
    let sandbox = project();
    room.mount(&format!("mount -t tmpfs -o size=32k none {}", sandbox.own()));
    let out = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(1);
    let _ = out
        .says("[ROOT]/project/.git/piton/piton.db: no space left on the disk")
        .says("make room and start again");
    room.mount(&format!("mount -o remount,size=64m {}", sandbox.own()));
    let out = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(0);
    let _ = out.says("MiB are free on the disk of [ROOT]/project/.git/piton");
    sandbox.assert_landed_once("main", &["T1", "T2"]);
}

#[test]
fn a_disk_that_fills_up_stops_the_engine_and_it_goes_on_when_there_is_room() {
    let Some(_) = Room::new() else { return };
    let points = [("journal.before-commit", 4), ("prepare.done", 1), ("work.ended", 1), ("land.durable", 1)];
    in_parallel(&points, |(point, nth)| {
        let room = Room::new().expect("a moment ago there was one");
        let sandbox = project();
        room.mount(&format!("mount -t tmpfs -o size=16m none {}", sandbox.own()));
        let run = room.piton(&sandbox, ["run", "plan.toml"]);
        let mut run = run.pausing_at(&sandbox, point, *nth).spawn();
        let pause = run.until_paused(&sandbox);
        let filler = room.path(&sandbox, "filler");
        fill(&filler);
        drop(pause);
        // The journal has room of its own for a while, and says what waits for space.
        let out = run.wait();
        let _ = match out.code {
            Some(1) => out
                .says("piton.db: no space left on the disk: nothing was changed; make room and start again"),
            _ => out.exits(3).says("cannot go on: No space left on device"),
        };
        fs::remove_file(filler).expect("our own file");
        let _ = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let _ = room.piton(&sandbox, ["doctor"]).run().exits(0);
    });
}

/// The agent has done its part, and no other one could do more.
#[test]
fn a_disk_of_git_that_is_full_costs_no_agent_a_second_run() {
    let Some(room) = Room::new() else { return };
    let sandbox = sandbox();
    sandbox.plan_with("landing_wait = '1s'", &task("T1", ""));
    sandbox.script("[T1]\nwrite T1.txt done\nappend SIDE/tries x\n");
    let objects = sandbox.project().join(".git/objects");
    // As large as it is, and no larger.
    room.mount(&format!("cp -a {objects} {objects}.kept"));
    room.mount(&format!("mount -t tmpfs -o size=2m none {objects}"));
    room.mount(&format!("cp -a {objects}.kept/. {objects}"));
    let run = room.piton(&sandbox, ["run", "plan.toml"]);
    let mut run = run.pausing_at(&sandbox, "work.ended", 1).spawn();
    let pause = run.until_paused(&sandbox);
    let filler = Utf8PathBuf::from(format!("/proc/{}/root{objects}/filler", room.keeper.id()));
    fill(&filler);
    drop(pause);
    let out = run.wait().exits(3).says("T1 cannot go on: No space left on device");
    let _ = out.says("stopped");
    fs::remove_file(filler).expect("our own file");
    let _ = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(0).says("landed");
    assert_eq!(sandbox.read(sandbox.root().join("tries")), "x\n");
}

#[test]
fn a_disk_that_is_read_only_can_be_looked_at_and_is_named_by_whoever_would_write() {
    let Some(room) = Room::new() else { return };
    let sandbox = project();
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    room.mount(&format!("mount --bind {0} {0}", sandbox.project()));
    room.mount(&format!("mount -o remount,bind,ro {}", sandbox.project()));
    let by = |line: &str| room.piton(&sandbox, line.split(' ')).run();
    let _ = by("status").exits(0);
    for line in ["run plan.toml", "skip T1 --reason no", "start T1", "report T1 failed --reason no"] {
        let _ = by(line).exits(1).says("[ROOT]/project/.git/piton").says("read-only");
    }
    room.mount(&format!("umount {}", sandbox.project()));
    let _ = by("run plan.toml").exits(0);
    sandbox.assert_landed_once("main", &["T1", "T2"]);
    sandbox.assert_tidy();
}

/// This is what the kernel does when a file system turns out to be damaged: a process that has files of it open keeps
/// them, and every change fails.
#[test]
fn a_disk_that_becomes_read_only_in_the_middle_of_a_run_ends_the_engine_and_loses_nothing() {
    let Some(_) = Room::new() else { return };
    let points = [("journal.before-commit", 4), ("prepare.done", 1), ("work.ended", 1), ("land.durable", 1)];
    in_parallel(&points, |(point, nth)| {
        let room = Room::new().expect("a moment ago there was one");
        let sandbox = project();
        if !room.mount_disk(&sandbox) {
            return;
        }
        let run = room.piton(&sandbox, ["run", "plan.toml"]);
        let mut run = run.pausing_at(&sandbox, point, *nth).spawn();
        let pause = run.until_paused(&sandbox);
        room.mount(&format!("mount -o remount,abort {}", sandbox.own()));
        drop(pause);
        let out = run.wait().exits(1);
        let _ = out.says("piton.db: the disk has become read-only");
        // No command can write, and each says so.
        let _ = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(1).says("read-only");
        room.mount(&format!("umount {}", sandbox.own()));
        room.mount(&format!("mount -o loop {}/disk.img {}", sandbox.root(), sandbox.own()));
        let _ = room.piton(&sandbox, ["run", "plan.toml"]).run().exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2"]);
        let _ = room.piton(&sandbox, ["doctor"]).run().exits(0);
        sandbox.assert_tidy();
    });
}
