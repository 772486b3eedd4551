//! A read-only view around a child: modes, times and extended attributes outside stay as they are.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use piton_engine::keeper::{Fence, fences_are_possible, views_are_possible};
use rustix::process::geteuid;

use super::*;

/// A user whom no machine knows.
const STRANGER: u32 = 61_234;

/// What a child tries outside of its folder: `$KEEPER` is its parent, `../job` that one's own folder. Each line that
/// succeeds is printed. Then what it may do.
const SCRIPT: &str = r#"
    exec 2>/dev/null
    export KEEPER=$PPID
    try() { if sh -c "$1" > /dev/null; then echo "ESCAPED: $1"; fi; }
    for file in ../old ../job ../job/started.json ..; do
        try "chmod 701 $file"; try "touch -d 2020-01-01 $file"; try "touch $file"; try "$JOBS attribute $file"
    done
    try 'chmod 701 /dev/stdin'
    try 'chmod 701 /proc/self/fd/0'
    try 'chmod 701 "/proc/$KEEPER/root$ROOT/old"'
    try 'chmod 701 "/proc/$KEEPER/task/$KEEPER/root$ROOT/old"'
    try 'chmod 701 "/proc/$KEEPER/cwd/$ROOT/old"'
    try 'nsenter -t $KEEPER -m chmod 701 "$ROOT/old"'
    try 'mount -o remount,rw /'
    try 'mount -o remount,bind,rw /'
    try 'umount "$ROOT/work" && chmod 701 "$ROOT/old"'
    try 'unshare -rm chmod 701 ../old'
    try 'unshare -rm mount -o remount,bind,rw /'
    try 'unshare -rm umount "$ROOT/work"'
    # mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, { clear: MOUNT_ATTR_RDONLY }), which Landlock knows nothing of.
    clear='my ($path, $flags) = ("/", pack("Q4", 0, 1, 0, 0)); exit(syscall(442, -100, $path, 0x8000, $flags, 32) == -1)'
    try "perl -e '$clear'"
    try "unshare -m perl -e '$clear'"
    try "unshare -rm perl -e '$clear'"
    # Its own maps cannot be written behind the fence, so this is all that it can have.
    unshare -Um --propagation unchanged true && echo nested
    try "unshare -Um --propagation unchanged perl -e '$clear'"
    try "unshare -Um --propagation unchanged chmod 701 ../old"
    set -e
    echo x > inside; chmod 701 inside; touch -d 2020-01-01 inside; ln inside linked; mkdir folder; mv linked folder
    if [ -n "$ATTRIBUTES" ]; then "$JOBS" attribute inside; fi
    echo x > /dev/null; echo x > /dev/full || true; exec 3<> /dev/ptmx
    echo x > ../second/other; mv ../second/other here
    cat; cat ../old; pwd; id -u; stat -c %u inside
    (setsid sleep 1000 > /dev/null &)
    echo fine"#;

/// Run it, as another user if one is named.
fn attempt(program: &[String], user: u32) {
    let bench = Bench::new();
    let root = &bench.root;
    fs::create_dir(root.join("second")).unwrap();
    fs::write(root.join("old"), "old\n").unwrap();
    fs::write(root.join("prompt"), "prompt\n").unwrap();
    // Not every file system has extended attributes.
    let attribute =
        Command::new(jobs()).arg("attribute").arg(root.join("prompt")).stderr(Stdio::null()).status();
    for name in ["", "work", "second", "old", "prompt"] {
        chown(root.join(name), Some(user), Some(user)).unwrap();
    }
    let can_nest = Command::new("unshare")
        .args(["-Um", "--propagation", "unchanged", "true"])
        .status()
        .is_ok_and(|status| status.success());
    let before = fs::metadata(root.join("old")).unwrap();
    let writable =
        vec![root.join("work"), root.join("second"), root.join("nowhere"), root.join("work/inside")];
    let mut spec = JobSpec { stdin: Some(root.join("prompt")), ..bench.sh(SCRIPT) };
    spec.fence = Some(Fence { writable, required: true, view: true });
    spec.env.insert("JOBS".to_owned(), jobs().into_string());
    spec.env.insert("ROOT".to_owned(), root.to_string());
    if attribute.unwrap().success() {
        spec.env.insert("ATTRIBUTES".to_owned(), "1".to_owned());
    }
    let engine = Command::new(&program[0])
        .args(&program[1..])
        .args([jobs().as_str(), "run", bench.job.dir().as_str(), &serde_json::to_string(&spec).unwrap()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let outcome = outcome_of(engine.unwrap());
    assert_eq!(outcome.unviewed, None);
    let nested = if can_nest { "nested\n" } else { "" };
    let fine = format!("{nested}prompt\nold\n{root}/work\n{user}\n{user}\nfine\n");
    assert_eq!((outcome.ended, bench.text()), (Ended::Exited { code: 0 }, fine));
    assert_eq!((outcome.leftovers_killed, outcome.survivors), (1, 0), "what left its session is ended");
    let after = fs::metadata(root.join("old")).unwrap();
    assert_eq!(
        (before.ctime(), before.ctime_nsec()),
        (after.ctime(), after.ctime_nsec()),
        "nothing happened to it"
    );
    let inside = fs::metadata(bench.work("inside")).unwrap();
    assert_eq!((inside.permissions().mode() & 0o777, inside.uid()), (0o701, user));
    // From outside, a place that is mounted somewhere is a folder like any other.
    fs::rename(root.join("work"), root.join("moved")).unwrap();
}

#[test]
fn behind_a_view_modes_times_and_attributes_outside_are_held_back() {
    if let Err(why) = fences_are_possible().and_then(|()| views_are_possible()) {
        return skipped(&why);
    }
    attempt(&["env".to_owned()], geteuid().as_raw());
}

/// Root needs no user namespace, and everybody else does: both ways are tried where root can become another user.
#[test]
fn a_view_of_a_user_without_rights_comes_with_a_user_namespace() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    if !geteuid().is_root() {
        return skipped("the other test does this one's part");
    }
    let (user, group) = (format!("--reuid={STRANGER}"), format!("--regid={STRANGER}"));
    let stranger = ["setpriv", &user, &group, "--clear-groups"].map(str::to_owned);
    let can = |words: &[&str]| {
        let mut command = Command::new(&stranger[0]);
        command.args(&stranger[1..]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !can(&["unshare", "-Urm", "mount", "-o", "remount,bind,ro", "/"]) {
        return skipped("a user without rights cannot make mounts in a user namespace here");
    }
    if !can(&["test", "-x", jobs().as_str()]) {
        return skipped("the test's program cannot be run by another user");
    }
    attempt(&stranger, STRANGER);
}

#[test]
fn a_view_that_cannot_be_made_is_told_and_the_fence_is_there_all_the_same() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let bench = Bench::new();
    fs::write(bench.root.join("old"), "old\n").unwrap();
    // Not with everything writable; and not for a user who is not root and may not make namespaces.
    let fence = Fence { writable: vec!["/".into()], required: true, view: true };
    let outcome = bench.run(&JobSpec { fence: Some(fence), ..bench.sh("chmod 701 ../old && cat ../old") });
    assert_eq!((outcome.ended, bench.text().as_str()), (Ended::Exited { code: 0 }, "old\n"));
    assert_eq!(outcome.unviewed.as_deref(), Some("everything is writable"));
    assert_eq!(outcome.unfenced, None);
}
