//! Issues of Beads, from outside: a scripted `bd` that keeps them in a file, and the file that the real one exports.

use piton_testkit::sandbox::{Output, Sandbox};

use crate::project;

const WORK: &str = "\
[demo-a1]
write one.txt one
[demo-b2]
write two.txt two
";

/// A `bd` that keeps a status for each issue in a file of that name, and records what it is asked.
const BD: &str = r#"
state="SIDE/bd"
mkdir -p "$state"
echo "$*" >> "$state/calls"
status() { cat "$state/$1" 2>/dev/null || echo "$2"; }
issue() {
  printf '{"id":"%s","title":"%s","description":"%s","status":"%s","assignee":"%s","priority":%s,"issue_type":"task","dependencies":%s}' \
    "$1" "$2" "$3" "$(status "$1" open)" "$(status "$1.by" "")" "$4" "$5"
}
a() { issue demo-a1 'Write one' 'Into one.txt' 1 '[]'; }
b() { issue demo-b2 'Write two' 'Into two.txt' 2 '[{"issue_id":"demo-b2","depends_on_id":"demo-a1","type":"blocks"}]'; }
case "$1" in
  --version) echo 'bd version 1.0.5' ;;
  list) printf '{"schema_version":1,"data":['; a; printf ','; b; printf ']}\n' ;;
  show) case "$2" in demo-a1) one=$(a) ;; demo-b2) one=$(b) ;; *) echo '{"error":"no issue found"}' >&2; exit 1 ;; esac
        printf '{"schema_version":1,"data":[%s]}\n' "$one" ;;
  update) case "$3" in
            --claim) if [ -e "$state/$2.race" ]; then echo in_progress > "$state/$2"; echo bob > "$state/$2.by"; fi
                     by=$(status "$2.by" piton)
                     if [ "$by" != piton ]; then echo "{\"error\":\"already claimed by $by\"}" >&2; exit 1; fi
                     echo in_progress > "$state/$2"; echo piton > "$state/$2.by" ;;
            --status=open) echo open > "$state/$2"; : > "$state/$2.by" ;;
          esac; echo '[]' ;;
  close) if [ -e "$state/refuse" ]; then echo '{"error":"an open blocker is left"}' >&2; exit 1; fi
         echo closed > "$state/$2"; echo '[]' ;;
  *) echo '{"error":"unknown command"}' >&2; exit 1 ;;
esac
"#;

fn beads() -> Sandbox {
    project("beads", WORK)
}

fn with_bd(sandbox: &Sandbox, line: &str) -> Output {
    let bin = sandbox.program("bd", &BD.replace("SIDE", sandbox.root().as_str()));
    sandbox.piton(line.split(' ')).with_path(&bin).run()
}

/// Programs of this machine that would be asked are out of the way.
fn without_bd(sandbox: &Sandbox, line: &str) -> Output {
    for program in ["bd", "br"] {
        assert!(
            !std::env::split_paths(&std::env::var_os("PATH").expect("a path"))
                .any(|folder| folder.join(program).exists())
        );
    }
    sandbox.run(line)
}

fn calls(sandbox: &Sandbox) -> String {
    sandbox.read(sandbox.root().join("bd/calls"))
}

#[test]
fn without_the_program_the_exported_file_is_read_and_nothing_is_written() {
    let sandbox = beads();
    let before = sandbox.read(".beads/issues.jsonl");
    insta::assert_snapshot!(without_bd(&sandbox, "plan .beads").exits(0).to_string(), @"
    exit: 0
    --- stdout
    bd-all 2 tasks in 1 group, up to 3 at once

    Two files
      demo-a1  Write one  .piton/issues/bd-all.json:7  [test -e one.txt]
      demo-b2  Write two ← demo-a1  .piton/issues/bd-all.json:22  [test -e one.txt]

    critical path 2 steps: demo-a1 → demo-b2
    --- stderr
    hint: neither `bd` nor `br` is installed: the file that they export is read, and nothing is written back
    .piton/issues/bd-all.json is read as a plan of the tracker system
    ");
    let _ = without_bd(&sandbox, "run .beads").exits(0).says("nothing is written back");
    assert_eq!(sandbox.read(".beads/issues.jsonl"), before);
    assert_eq!(sandbox.git(["show", "main:two.txt"]), "two");
}

#[test]
fn the_program_is_asked_and_closes_one_issue_at_a_time() {
    let sandbox = beads();
    let before = sandbox.read(".beads/issues.jsonl");
    let _ = with_bd(&sandbox, "run .beads").exits(0).lacks("nothing is written back");
    let calls = calls(&sandbox);
    let closes: Vec<&str> = calls.lines().filter(|line| line.starts_with("close ")).collect();
    assert_eq!(closes.len(), 2, "{calls}");
    assert!(closes[0].starts_with("close demo-a1 --reason=Piton has landed this as "), "{calls}");
    assert_eq!(
        calls.matches("show demo-a1 --json").count(),
        4,
        "looked at before and after each write: {calls}"
    );
    let claim = "update demo-a1 --claim --actor piton --json";
    assert_eq!(calls.matches("--claim").count(), 2, "{calls}");
    assert!(calls.find(claim).expect("a claim") < calls.find("close demo-a1").expect("a close"), "{calls}");
    assert_eq!(sandbox.read(".beads/issues.jsonl"), before, "the program alone writes it");
    let _ = with_bd(&sandbox, "run bd:").exits(0);
    assert_eq!(self::calls(&sandbox).matches("\nclose ").count(), 2);
}

#[test]
fn what_the_program_refuses_is_said_in_its_words() {
    let sandbox = beads();
    sandbox.write(sandbox.root().join("bd/refuse"), "");
    let told = with_bd(&sandbox, "run .beads").exits(0);
    let _ = told
        .says("issue demo-a1 does not know yet that it is done: `bd close` failed: an open blocker is left");
}

#[test]
fn what_somebody_else_has_claimed_is_left_to_them() {
    let sandbox = beads();
    sandbox.write(sandbox.root().join("bd/demo-b2"), "in_progress");
    sandbox.write(sandbox.root().join("bd/demo-b2.by"), "bob");
    let _ = with_bd(&sandbox, "plan .beads").exits(0).says("left to others: bob works on it");
    let _ = with_bd(&sandbox, "run .beads").exits(4);
    assert_eq!(crate::landed(&sandbox), ["demo-a1"]);
    assert_eq!(calls(&sandbox).matches("--claim").count(), 1, "{}", calls(&sandbox));
}

#[test]
fn a_claim_that_somebody_else_was_faster_with_is_heard_before_the_agent_starts() {
    let sandbox = beads();
    sandbox.write(sandbox.root().join("bd/demo-b2.race"), "");
    let told = with_bd(&sandbox, "run .beads").exits(4).says("bob works on demo-b2, says Beads");
    assert_eq!(crate::landed(&sandbox), ["demo-a1"]);
    let _ = told.lacks("two.txt");
    assert_eq!(sandbox.read(sandbox.root().join("bd/demo-b2.by")).trim(), "bob");
}

#[test]
fn a_claim_is_given_back_when_its_task_is_given_up() {
    let sandbox = beads();
    crate::act(&sandbox, "[demo-a1]\nexit 1\n");
    let config = sandbox.read("piton.toml").replace("[defaults]\n", "[defaults]\nattempts = 1\n");
    sandbox.write("piton.toml", &config);
    sandbox.commit("Settings");
    let _ = with_bd(&sandbox, "run .beads");
    let calls = calls(&sandbox);
    assert!(calls.contains("update demo-a1 --status=open --assignee= --actor piton --json"), "{calls}");
    assert!(!calls.contains("update demo-b2"), "{calls}");
    assert_eq!(sandbox.read(sandbox.root().join("bd/demo-a1")).trim(), "open");
}

#[test]
fn nothing_is_claimed_where_nothing_is_to_be_written() {
    for setting in ["done = \"nothing\"", "assign = false"] {
        let sandbox = beads();
        sandbox.write("piton.toml", &(sandbox.read("piton.toml") + "\n[issues]\n" + setting + "\n"));
        sandbox.commit("Settings");
        let _ = with_bd(&sandbox, "run .beads").exits(0);
        assert!(!calls(&sandbox).contains("--claim"), "{setting}");
    }
}

/// Killed right before `bd` is asked, or after it has claimed and before anybody noted that.
#[test]
fn a_claim_whose_engine_was_killed_is_known_as_ours_afterwards() {
    for point in ["issues.before-write:1", "issues.written:1"] {
        let sandbox = beads();
        let bin = sandbox.program("bd", &BD.replace("SIDE", sandbox.root().as_str()));
        let killed = sandbox.piton(["run", ".beads"]).with_path(&bin).env("PITON_CRASH", point).run();
        assert_eq!(killed.code, None, "{point}\n{killed}");
        let is_claimed = sandbox.root().join("bd/demo-a1.by").exists();
        assert_eq!(is_claimed, point.contains("written"), "{point}");
        // The next engine works on it, and it is ours to give back: its agent fails.
        crate::act(&sandbox, "[demo-a1]\nexit 1\n");
        let told = with_bd(&sandbox, "run .beads --reset-task demo-a1").lacks("works on demo-a1");
        let calls = calls(&sandbox);
        assert!(told.contains("demo-a1"), "{told}");
        assert!(calls.contains("update demo-a1 --status=open --assignee= --actor piton --json"), "{calls}");
        assert_eq!(sandbox.read(sandbox.root().join("bd/demo-a1")).trim(), "open", "{calls}");
        // The agent that does it in the end claims it again, and it is closed once.
        crate::act(&sandbox, WORK);
        let _ = with_bd(&sandbox, "run .beads --reset-task demo-a1").exits(0);
        assert_eq!(crate::landed(&sandbox), ["demo-a1", "demo-b2"]);
        assert_eq!(self::calls(&sandbox).matches("close demo-a1 ").count(), 1, "{point}");
    }
}
