use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::*;

/// A folder with a program of this name in it, and a host that finds it there.
struct Scene {
    temp: tempfile::TempDir,
    host: Host,
}

fn scene(url: &str, script: &str) -> Scene {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let folder = Utf8Path::from_path(temp.path()).expect("UTF-8").to_owned();
    let place = Place::of(url, &BTreeMap::new()).expect("a place");
    let program = folder.join(place.kind.program());
    // Another process writes it. While this one has it open, a fork in another thread would keep it from being started.
    let write = "printf '#!/bin/sh\n%s\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let written = Command::new("sh").args(["-c", write, "sh", script, program.as_str()]).status();
    assert!(written.expect("a shell").success());
    let path = format!("{folder}:/usr/local/bin:/usr/bin:/bin");
    let host = Host::new(place, &folder).with_env(&[("PATH", &path)]);
    Scene { temp, host }
}

const GITHUB: &str = "git@github.com:o/r.git";

fn github(script: &str) -> Scene {
    scene(GITHUB, script)
}

#[test]
fn an_answer_is_what_the_program_printed() {
    let scene = github(r#"printf '%s|' "$@"; cat"#);
    let question = Question::write(["pr", "create", "--body-file", "-"]).with_text("a body; $(rm -rf x)\n");
    let answer = scene.host.ask(&question).expect("an answer");
    assert_eq!(answer.text(), "pr|create|--body-file|-|a body; $(rm -rf x)\n");
}

#[test]
fn a_program_without_a_text_gets_no_input() {
    let scene = github("cat; echo done");
    assert_eq!(scene.host.ask(&Question::read(["x"])).expect("an answer").text(), "done\n");
}

#[test]
fn the_programs_ask_nobody_and_know_the_repository() {
    let seen = |url: &str| {
        let script = r#"env | grep -E '^(GH_|GLAB_|GITLAB_|NO_COLOR|LC_ALL|PAGER|NO_PROMPT|GIT_DIR)' | sort"#;
        let scene = scene(url, script);
        let host = scene.host.clone().with_env(&[("PATH", &path_of(&scene)), ("GH_TOKEN", "kept")]);
        host.ask(&Question::read(["x"])).expect("an answer").text()
    };
    let github = seen(GITHUB);
    for line in [
        "GH_HOST=github.com",
        "GH_NO_UPDATE_NOTIFIER=1",
        "GH_PROMPT_DISABLED=1",
        "GH_REPO=github.com/o/r",
        "GH_TOKEN=kept",
        "LC_ALL=C",
        "NO_COLOR=1",
        "PAGER=cat",
    ] {
        assert!(github.lines().any(|seen| seen == line), "{line} in {github}");
    }
    let gitlab = seen("https://gitlab.com/g/s/r.git");
    for line in ["GITLAB_HOST=gitlab.com", "GLAB_CHECK_UPDATE=false", "GLAB_NO_PROMPT=1", "NO_PROMPT=1"] {
        assert!(gitlab.lines().any(|seen| seen == line), "{line} in {gitlab}");
    }
}

fn path_of(scene: &Scene) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", scene.temp.path().display())
}

#[test]
fn a_missing_program_is_not_installed() {
    let scene = github("true");
    let host = scene.host.with_env(&[("PATH", "/nowhere")]);
    let failure = host.ask(&Question::read(["x"])).expect_err("nothing is there");
    assert_eq!(failure, Failure::NotInstalled { kind: Kind::GitHub });
    assert_eq!(failure.hint().as_deref(), Some("install it from https://cli.github.com"));
}

#[test]
fn a_failure_is_read_from_its_words() {
    let scene = github("echo 'gh: Not Found (HTTP 404)' >&2; exit 1");
    let failure = scene.host.ask(&Question::read(["x"])).expect_err("it is not there");
    assert_eq!(failure.to_string(), "not found at github.com: Not Found (HTTP 404)");
}

#[test]
fn a_secret_in_a_message_is_not_kept() {
    let scene = github("echo 'GraphQL: no: ghp_0123456789abcdefghijklmnopqrstuvwxyz' >&2; exit 1");
    let failure = scene.host.ask(&Question::read(["x"])).expect_err("it refuses").to_string();
    assert!(failure.contains("[redacted]") && !failure.contains("ghp_0123"), "{failure}");
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let scene = github("trap '' TERM; sleep 1000 & echo $! > child; cat /proc/self/stat > /dev/null; wait");
    let host = scene.host.clone().within(Span(300), MOST);
    let failure = host.ask_once(&Question::read(["x"])).expect_err("it hangs");
    assert_eq!(failure, Failure::TimedOut { kind: Kind::GitHub, after: Span(300) });
    assert!(failure.may_have_happened());
    // On a busy machine it may have been ended before it wrote the file.
    let child =
        fs::read_to_string(scene.temp.path().join("child")).ok().and_then(|text| text.trim().parse().ok());
    if let Some(child) = child.and_then(rustix::process::Pid::from_raw) {
        // A killed process is there until its new parent has reaped it.
        while rustix::process::test_kill_process(child).is_ok() {
            let stat =
                fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero())).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                break;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_program_that_floods_is_ended() {
    let scene = github("yes");
    let host = scene.host.clone().within(PATIENCE, 100_000);
    let failure = host.ask(&Question::read(["x"])).expect_err("it never ends");
    assert_eq!(failure, Failure::TooMuchOutput { kind: Kind::GitHub, most: 100_000 });
}

#[test]
fn a_flood_of_errors_is_no_flood_of_output() {
    let scene = github("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo fine");
    assert_eq!(scene.host.ask(&Question::read(["x"])).expect("an answer").text(), "fine\n");
}

#[test]
fn a_process_left_behind_does_not_hold_up_the_answer() {
    let scene = github("sleep 1000 & echo fine");
    assert_eq!(scene.host.ask(&Question::read(["x"])).expect("an answer").text(), "fine\n");
}

#[test]
fn a_host_that_is_stopped_ends_its_program_and_starts_no_other() {
    let scene = github("touch started; sleep 1000");
    let started = scene.temp.path().join("started");
    let failure = std::thread::scope(|scope| {
        let asking = scope.spawn(|| scene.host.ask(&Question::read(["x"])));
        while !started.exists() {
            std::thread::yield_now();
        }
        scene.host.stop();
        asking.join().expect("no panic")
    });
    assert_eq!(failure, Err(Failure::Stopped { kind: Kind::GitHub }));
    fs::remove_file(&started).expect("it was started");
    assert_eq!(scene.host.ask(&Question::read(["x"])), Err(Failure::Stopped { kind: Kind::GitHub }));
    assert!(!started.exists());
}

/// It fails twice, then answers. Each call leaves a line in `calls`.
const FLAKY: &str = "echo call >> calls
if [ $(wc -l < calls) -lt 3 ]; then echo 'error connecting to api.github.com' >&2; exit 1; fi
echo fine";

#[test]
fn a_read_is_asked_again_after_a_network_failure() {
    let scene = github(FLAKY);
    let pauses = RefCell::new(Vec::new());
    let answer = scene.host.ask_pausing(&Question::read(["x"]), |span| pauses.borrow_mut().push(span));
    assert_eq!(answer.expect("an answer").text(), "fine\n");
    assert_eq!(pauses.into_inner(), [Span::seconds(1), Span::seconds(4)]);
}

#[test]
fn a_write_that_may_have_happened_is_not_asked_again() {
    let scene = github(FLAKY);
    let answer = scene.host.ask_pausing(&Question::write(["x"]), |_| panic!("it pauses"));
    assert!(matches!(answer, Err(Failure::NoNetwork { .. })), "{answer:?}");
    assert_eq!(fs::read_to_string(scene.temp.path().join("calls")).expect("one call"), "call\n");
}

#[test]
fn a_program_that_outlives_its_engine_keeps_the_lock() {
    let scene = github("readlink /proc/self/fd/0");
    let path = Utf8Path::from_path(scene.temp.path()).expect("UTF-8").join("run.lock");
    let lock = Lock::take(&path).expect("nobody holds it");
    let host = scene.host.clone().guarded_by(Arc::new(lock));
    let seen = host.ask(&Question::read(["x"])).expect("an answer").text();
    assert_eq!(seen.trim(), path.as_str());
}

#[test]
fn glab_is_told_the_repository_by_arguments() {
    let scene = scene("git@gitlab.com:g/s/r.git", r#"printf '%s|' "$@""#);
    let asked =
        |args: &[&str]| scene.host.ask(&Question::read(args.iter().copied())).expect("an answer").text();
    assert_eq!(asked(&["mr", "view", "1"]), "mr|view|1|-R|https://gitlab.com/g/s/r|");
    assert_eq!(asked(&["mr", "view", "1", "--repo=other"]), "mr|view|1|--repo=other|");
    assert_eq!(asked(&["api", "user"]), "api|user|--hostname|gitlab.com|");
}
