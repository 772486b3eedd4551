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
  printf '{"id":"%s","title":"%s","description":"%s","status":"%s","priority":%s,"issue_type":"task","dependencies":%s}' \
    "$1" "$2" "$3" "$(status "$1" open)" "$4" "$5"
}
a() { issue demo-a1 'Write one' 'Into one.txt' 1 '[]'; }
b() { issue demo-b2 'Write two' 'Into two.txt' 2 '[{"issue_id":"demo-b2","depends_on_id":"demo-a1","type":"blocks"}]'; }
case "$1" in
  --version) echo 'bd version 1.0.5' ;;
  list) printf '{"schema_version":1,"data":['; a; printf ','; b; printf ']}\n' ;;
  show) case "$2" in demo-a1) one=$(a) ;; demo-b2) one=$(b) ;; *) echo '{"error":"no issue found"}' >&2; exit 1 ;; esac
        printf '{"schema_version":1,"data":[%s]}\n' "$one" ;;
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
    assert!(calls.matches("show demo-a1 --json").count() == 2, "looked at before and after: {calls}");
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
