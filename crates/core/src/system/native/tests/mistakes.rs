//! Every mistake that a plan can have, and its message.

use super::*;

#[test]
fn syntax() {
    insta::assert_snapshot!(check("name = x\n@T1"), @r#"1:8 `x` error: this is not TOML: string values must be quoted, expected literal string | reading stopped here | text needs quotes, and text of several lines needs three: """…""""#);
    insta::assert_snapshot!(check("[[task]\nid = 1"), @"1:8 `` error: this is not TOML: unclosed array table, expected `]` | reading stopped here");
    insta::assert_snapshot!(check("@T1\nid = 'T2'"), @"6:1 `id` error: `id` appears twice | reading stopped here | a key and a `[table]` may appear once; only `[[task]]` and `[[group]]` repeat");
    insta::assert_snapshot!(check("[defaults]\n[defaults]\n@T1"), @"2:2 `defaults` error: `defaults` appears twice | reading stopped here | a key and a `[table]` may appear once; only `[[task]]` and `[[group]]` repeat");
    insta::assert_snapshot!(check("@T1\ncriteria = [\"open]"), @"6:19 `` error: this is not TOML: unclosed array, expected `]` | reading stopped here");
    let large = "#".repeat((64 << 20) + 1);
    let reading = read(&large, "plan", &Config::default(), &Overrides::default());
    insta::assert_snapshot!(show("", &reading.diagnostics), @"1:1 `` error: this file has more than 64 MiB | too large to be read | split the work into several plans");
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(check("tasks = []\nmax_parallel = 3\nfrobnicate = 1\n@T1\ndeps = []\ntitel = 'x'\ntimeout_s = 3"), @r"
    1:1 `tasks` error: unknown key `tasks` in the plan | did you mean `task`? | known here: `name`, `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `group`, `task`
    2:1 `max_parallel` error: unknown key `max_parallel` in the plan | it belongs in `[policy]` | known here: `name`, `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `group`, `task`
    3:1 `frobnicate` error: unknown key `frobnicate` in the plan | Piton does not use this | known here: `name`, `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `group`, `task`
    9:1 `deps` error: unknown key `deps` in `[[task]]` | Piton calls this `depends_on` | known here: `id`, `title`, `prompt`, `group`, `depends_on`, `files`, `criteria`, `checks`, `agent`, `attempts`, `priority`, `timeout`, `silence`, `confirm`, `may_change_nothing`, `check_first` and 3 more
    10:1 `titel` error: unknown key `titel` in `[[task]]` | did you mean `title`? | known here: `id`, `title`, `prompt`, `group`, `depends_on`, `files`, `criteria`, `checks`, `agent`, `attempts`, `priority`, `timeout`, `silence`, `confirm`, `may_change_nothing`, `check_first` and 3 more
    11:1 `timeout_s` error: unknown key `timeout_s` in `[[task]]` | did you mean `timeout`? | known here: `id`, `title`, `prompt`, `group`, `depends_on`, `files`, `criteria`, `checks`, `agent`, `attempts`, `priority`, `timeout`, `silence`, `confirm`, `may_change_nothing`, `check_first` and 3 more
    ");
    insta::assert_snapshot!(check("[policy]\nparallel = 3\nattempts = 3\n@T1\n[[task.checks_]]"), @r"
    2:1 `parallel` error: unknown key `parallel` in `[policy]` | Piton calls this `max_parallel` | known here: `schedule`, `order`, `subtasks`, `max_parallel`, `exhausted`, `escalation`, `feedback`, `landing_checks`, `backoff`, `landing_wait`, `land`, `landing_parallel`, `early_conflicts`, `commit_prefix`, `author`, `startup` and 2 more
    3:1 `attempts` error: unknown key `attempts` in `[policy]` | it belongs in `[defaults]` | known here: `schedule`, `order`, `subtasks`, `max_parallel`, `exhausted`, `escalation`, `feedback`, `landing_checks`, `backoff`, `landing_wait`, `land`, `landing_parallel`, `early_conflicts`, `commit_prefix`, `author`, `startup` and 2 more
    9:8 `checks_` error: unknown key `checks_` in `[[task]]` | did you mean `checks`? | known here: `id`, `title`, `prompt`, `group`, `depends_on`, `files`, `criteria`, `checks`, `agent`, `attempts`, `priority`, `timeout`, `silence`, `confirm`, `may_change_nothing`, `check_first` and 3 more
    ");
    insta::assert_snapshot!(check("[policy]\nsubtasks = \"tasks\"\n@T1"), @r#"2:12 `"tasks"` warning: a `plan.toml` has no subtasks | it is ignored | `subtasks` is for lists of Task Master: write it into `piton.toml`"#);
    insta::assert_snapshot!(check("[agents.default]\ncommand = 'a'\nmodels = 'x'\n@T1\n[[group]]\nid = 'g'\nname = 'n'"), @r#"
    3:1 `models` error: unknown key `models` in `[agents.NAME]` | did you mean `model`? | known here: `adapter`, `command`, `prompt`, `env`, `program`, `model`, `args`, `max_turns`, `budget_usd`, `permissions`, `provider`, `fallback`, `mcp`, `hooks`
    4:1 `[[task]]` error: this task has no group | add `group = "g"` | a plan that declares groups has every task in one
    10:6 `'g'` warning: no task is in the group `g` | it is ignored
    11:1 `name` error: unknown key `name` in `[[group]]` | Piton calls this `title` | known here: `id`, `title`
    "#);
    insta::assert_snapshot!(check("[policy]\nlanding_checks = [{ cmd = 'a' }]\n@T1"), @r#"
    2:19 `{ cmd = 'a' }` error: a check has no `run` | add `run = "cargo test"`
    2:21 `cmd` error: unknown key `cmd` in a check | Piton calls this `run` | known here: `name`, `run`, `file`, `holds`, `review`, `ask`, `timeout`, `cwd`, `pipefail`, `fresh`, `cache`
    "#);
}

#[test]
fn a_check_runs_a_command_or_looks_into_a_file() {
    insta::assert_snapshot!(check(
        "[policy]\nlanding_checks = [{ holds = ['x'] }, { run = 'a', file = 'b' }, { file = '../b' }, { file = 1 },\n\
         { file = 'b', holds = 'x' }, { run = 'a', cwd = '/' }]\n@T1"
    ));
}

#[test]
fn what_hides_a_failure_is_warned_of() {
    insta::assert_snapshot!(check(
        "[policy]\nlanding_checks = ['make; echo made', { run = 'cargo test || true' }, 'a | head -3', 'b && c | d',\n\
         { run = 'a | grep -q b', pipefail = false }, { run = ['sh', '-c', 'a; b'] }, { run = 'a', fresh = true },\n\
         { review = 'default', fresh = true }, { file = 'b', fresh = 1 }]\n@T1"
    ), @r"
    2:19 `'make; echo made'` warning: only the last command of this check has to succeed | write `&&` in place of `;`, or begin with `set -e`
    2:46 `'cargo test || true'` warning: this check always passes, because of `|| true` | remove that
    2:70 `'a | head -3'` warning: `head` may stop reading before the command that feeds it has ended, and then the check is broken | let the last command read to the end, such as `grep x > /dev/null` for `grep -q x`, or set `pipefail = false`
    3:54 `['sh', '-c', 'a; b']` warning: only the last command of this check has to succeed | write `&&` in place of `;`, or begin with `set -e`
    4:31 `true` error: `fresh` is for commands and files, but this check is a review by an agent | remove it
    4:61 `1` error: `fresh` must be `true` or `false` | this is a number
    ");
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(check("name = 1\npolicy = 2\nagents = 3\nworktree = []\ndefaults = 'x'\ngroup = 4\n@T1"), @r"
    1:8 `1` error: `name` must be text | this is a number
    2:10 `2` error: `policy` must be a table | this is a number
    3:10 `3` error: `agents` must be a table | this is a number
    4:12 `[]` error: `worktree` must be a table | this is a list
    5:12 `'x'` error: `defaults` must be a table | this is text
    6:9 `4` error: `group` must be a list of tables | this is not a table | write `[[group]]`, with two brackets, before each of them
    ");
    insta::assert_snapshot!(check("task = 1"), @"1:8 `1` error: `task` must be a list of tables | this is not a table | write `[[task]]`, with two brackets, before each of them");
    insta::assert_snapshot!(check("[task]\nid = 'T1'"), @"1:1 `[task]` error: `task` must be a list of tables | this is a single table | write `[[task]]`, with two brackets, before each of them");
    insta::assert_snapshot!(check("task = [1]"), @r"
    1:1 `` error: the plan has no tasks | no `[[task]]` in this file | add a `[[task]]` with `id`, `title`, `prompt` and `checks`
    1:9 `1` error: an entry of `task` must be a table | this is a number
    ");
    insta::assert_snapshot!(check("[agents]\ndefault = 'claude'\n@T1\ndepends_on = 'T0'\nfiles = [1]\nconfirm = 'yes'\nsilence = 5\nattempts = 1.5"), @r#"
    2:11 `'claude'` error: the agent `default` must be a table with a `command` or an `adapter` | this is text
    8:14 `'T0'` error: `depends_on` must be a list, in `[` and `]` | this is text
    9:10 `1` error: an entry of `files` must be text | this is a number
    10:11 `'yes'` error: `confirm` must be `true` or `false` | this is text
    11:11 `5` error: `silence` is not a length of time | write it like "90s", "5m" or "1h30m"
    12:12 `1.5` error: `attempts` must be a whole number from 1 to 100 | this is a number with a fraction
    "#);
    insta::assert_snapshot!(check("[policy]\nlanding_checks = [1, { run = 1 }, { run = ['a', 2] }, {}]\n@T1"), @r#"
    2:19 `1` error: an entry of `landing_checks` must be a command line, or a table like `{ run = "…", timeout = "2m" }` | this is a number
    2:30 `1` error: `run` must be a command: text, or a list of words | this is a number
    2:49 `2` error: each word of `run` must be text, in quotes | this is a number
    2:55 `{}` error: a check has no `run` | add `run = "cargo test"`
    "#);
    insta::assert_snapshot!(check("[agents.a]\ncommand = 1\nprompt = 'pipe'\nenv = { A = 1 }\n@T1\nagent = 'a'"), @r#"
    2:11 `1` error: `command` must be a command: text, or a list of words | this is a number
    3:10 `'pipe'` error: `prompt` cannot be "pipe" | not one of the choices | choose one of `stdin`, `file`
    4:13 `1` error: `A` must be text, in quotes | this is a number
    "#);
}

#[test]
fn cycles() {
    insta::assert_snapshot!(check("@Z\ndepends_on = ['B']\n@A\ndepends_on = ['X', 'B']\n@B\ndepends_on = ['C']\n@C\ndepends_on = ['A']\n@X"), @"12:20 `'B'` error: these tasks wait for each other: A → B → C → A | `A` waits for `B` | remove one of these dependencies");
    let long: String = (0..40).map(|i| format!("@t{i}\ndepends_on = ['t{}']\n", (i + 1) % 40)).collect();
    insta::assert_snapshot!(check(&long), @"6:15 `'t1'` error: these tasks wait for each other: t0 → t1 → t2 → t3 → t4 → t5 → t6 → … 28 more … → t35 → t36 → t37 → t38 → t39 → t0 | `t0` waits for `t1` | remove one of these dependencies");
}

#[test]
fn dependencies() {
    insta::assert_snapshot!(check("@T1\ndepends_on = ['T1']"), @"6:15 `'T1'` error: the task `T1` depends on itself | remove this");
    insta::assert_snapshot!(check("@Setup-1\n@b\ndepends_on = ['setup-1', 'Setup-2', 'nowhere', 'a b']"), @r#"
    11:15 `'setup-1'` error: there is no task "setup-1" | did you mean "Setup-1"? ids are case-sensitive
    11:26 `'Setup-2'` error: there is no task "Setup-2" | did you mean "Setup-1"?
    11:37 `'nowhere'` error: there is no task "nowhere" | not in this plan | add the task, or remove it from `depends_on`
    11:48 `'a b'` error: there is no task "a b" | not in this plan | add the task, or remove it from `depends_on`
    "#);
    insta::assert_snapshot!(check("@a\n@b\ndepends_on = ['a', 'a', '', 1]"), @r"
    11:20 `'a'` warning: the dependency on `a` is listed twice | once is enough
    11:25 `''` error: an entry of `depends_on` is empty | write something here
    11:29 `1` error: an entry of `depends_on` must be text | this is a number
    ");
}

#[test]
fn a_dependency_on_a_broken_task_is_not_a_second_mistake() {
    insta::assert_snapshot!(check("@a b\n@b\ndepends_on = ['a b']"), @r#"2:6 `"a b"` error: "a b" cannot be a task's id: it holds ' '; letters, digits and `. _ - # @` are allowed | an id is one plain word, like `T1` or `2-walls`"#);
}

#[test]
fn ids() {
    insta::assert_snapshot!(check("@T1\n@T2\n@T1"), @r#"12:6 `"T1"` error: the task id `T1` is used twice, in line 2 and line 12 | every id must be unique | give one of them another id"#);
    insta::assert_snapshot!(check("@T1\n@t1"), @r#"7:6 `"t1"` error: the task id `t1` in line 7 differs only in case from the one in line 2 | they would share a folder on some file systems | give one of them another id"#);
    insta::assert_snapshot!(check("@../x\n@-rf\n@con"), @r#"
    2:6 `"../x"` error: "../x" cannot be a task's id: it starts with '.'; an id starts with a letter or a digit | an id is one plain word, like `T1` or `2-walls`
    7:6 `"-rf"` error: "-rf" cannot be a task's id: it starts with '-'; an id starts with a letter or a digit | an id is one plain word, like `T1` or `2-walls`
    12:6 `"con"` error: "con" cannot be a task's id: "con" is a device name on Windows | an id is one plain word, like `T1` or `2-walls`
    "#);
    insta::assert_snapshot!(check("[[task]]\ntitle = 't'\nprompt = 'p'\nchecks = []"), @r#"1:1 `[[task]]` error: `[[task]]` has no `id` | add `id = "T1"`"#);
    insta::assert_snapshot!(check("name = 'My plan'\n@T1"), @r#"1:8 `'My plan'` error: "My plan" cannot name a plan: it holds ' '; letters, digits and `. _ - # @` are allowed | the name becomes part of file names and branches | write `name = "My-plan"`"#);
}

#[test]
fn nothing_to_do_or_to_prove_it() {
    insta::assert_snapshot!(check(""), @"1:1 `` error: the plan has no tasks | no `[[task]]` in this file | add a `[[task]]` with `id`, `title`, `prompt` and `checks`");
    insta::assert_snapshot!(check("task = []"), @"1:1 `` error: the plan has no tasks | no `[[task]]` in this file | add a `[[task]]` with `id`, `title`, `prompt` and `checks`");
    insta::assert_snapshot!(check("[[task]]\nid = 'T1'\ntitle = 't'\nprompt = 'p'"), @r#"1:1 `[[task]]` error: nothing checks this task | add `checks = ["…"]`: commands that prove it done | set `checks = []` if it cannot be proven, or give `[defaults]` some `checks`"#);
    assert_eq!(check("[[task]]\nid = 'T1'\ntitle = 't'\nprompt = 'p'\nchecks = []"), "fine");
    assert_eq!(check("[defaults]\nchecks = ['x']\n[[task]]\nid = 'T1'\ntitle = 't'\nprompt = 'p'"), "fine");
}

#[test]
fn missing_and_empty_text() {
    insta::assert_snapshot!(check("[[task]]\nid = 'T1'\nchecks = []"), @r#"
    1:1 `[[task]]` error: task `T1` has no `title` | add `title = "…"`
    1:1 `[[task]]` error: task `T1` has no `prompt` | add `prompt = "…"`
    "#);
    insta::assert_snapshot!(check("[[task]]\nid = ''\ntitle = ' '\nprompt = '''\n\n'''\nchecks = ['', [], ['']]\ncriteria = ['']\nagent = ''"), @r#"
    2:6 `''` error: `id` is empty | write something here
    3:9 `' '` error: `title` is empty | write something here
    4:10 `'''

    '''` error: `prompt` is empty | write something here
    7:11 `''` error: an entry of `checks` is empty | write something here
    7:15 `[]` error: an entry of `checks` must be a command line, or a table like `{ run = "…", timeout = "2m" }` | this is a list
    7:19 `['']` error: an entry of `checks` must be a command line, or a table like `{ run = "…", timeout = "2m" }` | this is a list
    8:13 `''` error: an entry of `criteria` is empty | write something here
    9:9 `''` error: `agent` is empty | write something here
    "#);
    insta::assert_snapshot!(check("[[task]]\nid = 'T1'\ntitle = \"a\\u001B[2Jb\"\nprompt = 'p'\nchecks = []\n[[task]]\nid = 'T2'\ntitle = \"a\\u202Eb\"\nprompt = 'p'\nchecks = []"), @r#"
    3:9 `"a\u001B[2Jb"` error: `title` holds '\u{1b}' | one line without control characters
    8:9 `"a\u202Eb"` error: `title` holds '\u{202e}' | one line without control characters
    "#);
    insta::assert_snapshot!(check("@T1\n[[group]]\n[[group]]\nid = 'a/b'"), @r#"
    6:1 `[[group]]` error: `[[group]]` has no `id` | add `id = "1-foundation"`
    8:6 `'a/b'` error: "a/b" cannot be a group's id: it holds '/'; letters, digits and `. _ - # @` are allowed | an id is one plain word, like `T1` or `2-walls`
    "#);
}

#[test]
fn groups() {
    let two = "[[group]]\nid = '1-foundation'\n[[group]]\nid = '2-walls'\ntitle = 'Walls'\n";
    insta::assert_snapshot!(check(&format!("{two}@T1\n@T2\ngroup = '1-fundation'\n@T3\ngroup = 'roof'\n@T4\ngroup = '2-walls'")), @r#"
    2:6 `'1-foundation'` warning: no task is in the group `1-foundation` | it is ignored
    6:1 `[[task]]` error: this task has no group | add `group = "1-foundation"` | a plan that declares groups has every task in one
    16:9 `'1-fundation'` error: there is no group "1-fundation" | did you mean "1-foundation"?
    22:9 `'roof'` error: there is no group "roof" | not declared | declared: `1-foundation`, `2-walls`
    "#);
    insta::assert_snapshot!(check(&format!("{two}@T1\ngroup = '1-foundation'\ndepends_on = ['T2']\n@T2\ngroup = '2-walls'")), @r#"12:15 `'T2'` error: `T1` is in the group `1-foundation` and waits for `T2` in the later group `2-walls` | groups run in order, so this task can never start | move one of the tasks, reorder the groups, or set `schedule = "flow"` in `[policy]`"#);
    assert_eq!(
        check(&format!(
            "[policy]\nschedule = 'flow'\n{two}@T1\ngroup = '1-foundation'\ndepends_on = ['T2']\n@T2\ngroup = '2-walls'"
        )),
        "fine"
    );
    insta::assert_snapshot!(check("[[group]]\nid = 'a'\n[[group]]\nid = 'a'\n[[group]]\nid = 'A'\n@T1\ngroup = 'a'"), @r"
    4:6 `'a'` error: the group id `a` is used twice, in line 2 and line 4 | every id must be unique | give one of them another id
    6:6 `'A'` error: the group id `A` in line 6 differs only in case from the one in line 2 | they would share a folder on some file systems | give one of them another id
    ");
    insta::assert_snapshot!(check("@T1\ngroup = 'a'"), @r#"6:9 `'a'` error: there is no group "a" | this plan declares no groups | declare it: `[[group]]` with `id = "a"`; or leave `group` out"#);
    insta::assert_snapshot!(check("[[group]]\nid = 'a b'\n@T1\ngroup = 'a b'"), @r#"2:6 `'a b'` error: "a b" cannot be a group's id: it holds ' '; letters, digits and `. _ - # @` are allowed | an id is one plain word, like `T1` or `2-walls`"#);
}

#[test]
fn numbers_and_times() {
    insta::assert_snapshot!(check("[policy]\nmax_parallel = 0\nbackoff = '5'\nlanding_wait = 5\n@T1\npriority = 100\nattempts = -1\ntimeout = '0s'\nsilence = 'never'"), @r#"
    2:16 `0` error: `max_parallel` is out of range | 1 to 64 is allowed
    3:11 `'5'` error: `backoff` is not a length of time | write it like "90s", "5m" or "1h30m"
    4:16 `5` error: `landing_wait` is not a length of time | write it like "90s", "5m" or "1h30m"
    10:12 `100` error: `priority` is out of range | 1 to 99 is allowed
    11:12 `-1` error: `attempts` is out of range | 1 to 100 is allowed
    12:11 `'0s'` error: `timeout` is zero | must be more than 0
    13:11 `'never'` error: `silence` is not a length of time | write it like "90s", "5m" or "1h30m"
    "#);
    insta::assert_snapshot!(check("[policy]\nmax_parallel = 99999999999999999999999\nlanding_checks = [{ run = 'a', timeout = '25h' }]\n@T1"), @r"
    2:16 `99999999999999999999999` error: `max_parallel` is out of range | 1 to 64 is allowed
    3:42 `'25h'` warning: this check may run for more than a day | is the unit right?
    ");
}

#[test]
fn paths_commands_and_choices() {
    insta::assert_snapshot!(check("[worktree]\ncopy = ['/etc/passwd', 'ok']\nsetup = []\n@T1\nfiles = ['../a', 'C:\\x']"), @r#"
    2:9 `'/etc/passwd'` error: "/etc/passwd" cannot be a path in `copy`: it is absolute, or leaves the project | write it from the top of the project, like `src/a.rs`
    3:9 `[]` error: `setup` does not name a program | the first word is the program
    9:10 `'../a'` error: "../a" cannot be a path in `files`: it is absolute, or leaves the project | write it from the top of the project, like `src/a.rs`
    9:18 `'C:\x'` error: "C:\\x" cannot be a path in `files`: it is absolute, or leaves the project | write it from the top of the project, like `src/a.rs`
    "#);
    insta::assert_snapshot!(check("[policy]\nschedule = 'layred'\nexhausted = 'explode'\nauthor = 'Ada'\ncommit_prefix = \"a\\nb\"\n@T1"), @r#"
    2:12 `'layred'` error: `schedule` cannot be "layred" | did you mean "layered"? | choose one of `layered`, `batch`, `flow`
    3:13 `'explode'` error: `exhausted` cannot be "explode" | not one of the choices | choose one of `stop`, `continue`, `pass`, `skip`
    4:10 `'Ada'` error: `author` is not a name and a mail address | write it like "Ada <ada@example.org>"
    5:17 `"a\nb"` error: `commit_prefix` holds '\n' | one line without control characters
    "#);
    insta::assert_snapshot!(check("[policy]\nlanding_checks = [\"echo 'open\", \"a\\u0000b\", ['a', \"\\u0000\"]]\n@T1"), @r#"
    2:19 `"echo 'open"` warning: a quote in an entry of `landing_checks` is not closed | a shell would reject this line
    2:33 `"a\u0000b"` error: an entry of `landing_checks` holds a NUL character | a NUL character cannot be passed to a process
    2:45 `['a', "\u0000"]` error: an entry of `landing_checks` must be a command line, or a table like `{ run = "…", timeout = "2m" }` | this is a list
    "#);
}

#[test]
fn stand_ins() {
    let agents = |a: &str, b: &str| {
        format!("[agents.a]\ncommand = 'a'\n{a}\n[agents.b]\ncommand = 'b'\n{b}\n@T1\nagent = 'a'")
    };
    assert_eq!(check(&agents("fallback = 'b'", "provider = 'acme'")), "fine");
    insta::assert_snapshot!(check(&agents("fallback = 'c'", "fallback = 'b'")), @r"
    3:12 `'c'` error: the fallback of `a` is `c`, which is not an agent | defined agents: `a`, `b`
    6:12 `'b'` error: `b` is its own fallback: b → b | remove the `fallback` of one of them
    ");
    insta::assert_snapshot!(check(&agents("fallback = 'b'", "fallback = 'a'")), @r"
    3:12 `'b'` error: `a` is its own fallback: a → b → a | remove the `fallback` of one of them
    6:12 `'a'` error: `b` is its own fallback: b → a → b | remove the `fallback` of one of them
    ");
}

#[test]
fn agents() {
    let one = "[agents.claude]\ncommand = 'claude -p'\n";
    insta::assert_snapshot!(check(&format!("{one}@T1\n@T2")), @r#"3:1 `[[task]]` error: there is no agent "default"; defined: `claude` | this task names no agent | define it: `[agents.default]` with `command = …`; or choose: `agent = …` in the task or in `[defaults]`"#);
    insta::assert_snapshot!(check(&format!("{one}[defaults]\nagent = 'cloude'\n@T1\n@T2")), @r#"4:9 `'cloude'` error: there is no agent "cloude"; defined: `claude` | did you mean "claude"? | define it: `[agents.cloude]` with `command = …`; or choose: `agent = …` in the task or in `[defaults]`"#);
    insta::assert_snapshot!(check(&format!("{one}[policy]\nfeedback = 'cloude'\n[defaults]\nagent = 'claude'\n@T1")), @r#"4:12 `'cloude'` error: there is no agent "cloude"; defined: `claude` | did you mean "claude"? | define it: `[agents.cloude]`; or leave `feedback` out"#);
    insta::assert_snapshot!(check(&format!("{one}[defaults]\nagent = 'claude'\n@T1\n@T2\nagent = 'codex'")), @r#"15:9 `'codex'` error: there is no agent "codex"; defined: `claude` | not defined | define it: `[agents.codex]` with `command = …`; or choose: `agent = …` in the task or in `[defaults]`"#);
    assert_eq!(check("@T1\nagent = 'whoever drives'"), "fine");
    insta::assert_snapshot!(check("[agents.a]\nprompt = 'file'\n[agents.b]\ncommand = ''\n[agents.c]\ncommand = \"'\"\n[agents.d]\ncommand = []\n[agents.'']\ncommand = 'a'\n[agents.e]\nenv = { 'A=B' = 'c', C = \"\\u0000\" }\n@T1\nagent = 'a'"), @r#"
    1:1 `[agents.a]` error: `[agents.NAME]` has no `command` | add `command = ["my-agent", "--flag"]`
    4:11 `''` error: `command` is empty | write something here
    6:11 `"'"` error: `command` cannot be split into words | a quote is not closed, or there is no first word
    8:11 `[]` error: `command` does not name a program | the first word is the program
    9:9 `''` error: an agent's name is empty or holds a control character | name it plainly, like `default`
    11:1 `[agents.e]` error: `[agents.NAME]` has no `command` | add `command = ["my-agent", "--flag"]`
    12:9 `'A=B'` error: "A=B" cannot name an environment variable | letters, digits and `_`
    12:26 `"\u0000"` error: the value of `C` holds a NUL character | a NUL character cannot be passed to a process
    "#);
    insta::assert_snapshot!(check("[agents.a]\ncommand = 'a b'\nprompt = 'file'\n[agents.b]\ncommand = 'a {prompt} | tee'\n@T1\nagent = 'a'"), @r#"
    2:11 `'a b'` error: this agent gets its prompt as a file, but its command does not name it | put `{prompt}` where the path belongs
    5:11 `'a {prompt} | tee'` warning: `|` reaches the agent as an argument | this is not run in a shell | write `command = ["sh", "-c", "…"]` if a shell is wanted
    5:11 `'a {prompt} | tee'` warning: `{prompt}` is not replaced: this agent gets its prompt on stdin | add `prompt = "file"` to have it replaced by a path
    "#);
    insta::assert_snapshot!(check("[agents.a]\nadapter = 'claud'\n[agents.b]\nadapter = 'codex'\ncommand = 'codex'\nmax_turns = 3\nbudget_usd = 1\n[agents.c]\nadapter = 'claude'\nprogram = 'bin/claude'\nmodel = '--x'\nmax_turns = 0\nbudget_usd = -1.5\npermissions = 'some'\n[agents.d]\ncommand = 'd'\nmodel = 'x'\n[agents.e]\nadapter = 'gemini'\nhooks = true\nmcp = 'no'\nmax_turns = 9\nbudget_usd = 1\n[agents.f]\nadapter = 'opencode'\nmax_turns = 9\n@T1\nagent = 'a'"), @r#"
    2:11 `'claud'` error: `adapter` cannot be "claud" | did you mean "claude"? | choose one of `command`, `claude`, `codex`, `gemini`, `opencode`
    5:11 `'codex'` error: the adapter `codex` does not use `command` | Piton knows how this client is started; `program` says where it is
    6:13 `3` error: the adapter `codex` does not use `max_turns` | this client has no such limit; `timeout` limits every agent
    7:14 `1` error: the adapter `codex` does not use `budget_usd` | this client has no such limit; `timeout` limits every agent
    10:11 `'bin/claude'` error: `program` is a relative path | write a name, or a path that begins with `/`
    11:9 `'--x'` error: `model` begins with a dash | the client would take it for an option
    12:13 `0` error: `max_turns` is out of range | 1 to 10000 is allowed
    13:14 `-1.5` error: `budget_usd` is out of range | more than 0, and at most 1000000
    14:15 `'some'` error: `permissions` cannot be "some" | not one of the choices | choose one of `narrow`, `all`
    17:9 `'x'` error: the adapter `command` does not use `model` | only known clients support this
    20:9 `true` error: the adapter `gemini` does not use `hooks` | only `claude` and `codex` can be asked before they stop
    21:7 `'no'` error: `mcp` must be `true` or `false` | this is text
    23:14 `1` error: the adapter `gemini` does not use `budget_usd` | this client has no such limit; `timeout` limits every agent
    26:13 `9` error: the adapter `opencode` does not use `max_turns` | this client has no such limit; `timeout` limits every agent
    "#);
    let known = "[agents.a]\nadapter = 'claude'\nprogram = '/opt/claude'\nmodel = 'opus'\nmax_turns = 40\nbudget_usd = 2.5\npermissions = 'all'\nmcp = false\nhooks = true\n[agents.b]\nadapter = 'codex'\n";
    let (config, wrong) = read_config(known);
    assert_eq!(wrong, []);
    assert_eq!(config.agents["a"].budget, Some(2_500_000));
    assert_eq!(
        [(true, true), (false, false)],
        ["a", "b"].map(|name| (config.agents[name].no_mcp, config.agents[name].hooks))
    );
    assert_eq!(
        check_with("[agents.a]\nmodel = 'sonnet'\n[agents.b]\nadapter = 'gemini'\n@T1\nagent = 'a'", &config),
        "fine"
    );
    let (config, _) = read_config(one);
    assert_eq!(check_with("[agents.claude]\nenv = { A = 'b' }\n@T1\nagent = 'claude'", &config), "fine");
}

#[test]
fn bounds_in_money() {
    let agents =
        "[agents.a]\nadapter = 'codex'\n[agents.b]\nadapter = 'claude'\n[agents.c]\nadapter = 'gemini'\n";
    let budget = "[budget]\nrun_usd = 3\ntask_tokens = 5\nattempt_usd = 1\n";
    insta::assert_snapshot!(check(&format!("{agents}{budget}@T1\nagent = 'a'")), @"
    8:11 `3` warning: `run_usd` does not limit `a`: codex reports tokens but no cost | `run_tokens` and `run_time` limit it
    8:11 `3` warning: `run_usd` does not limit `c`: gemini reports tokens but no cost | `run_tokens` and `run_time` limit it
    10:15 `1` warning: `attempt_usd` does not limit `a`: codex reports tokens but no cost | `attempt_tokens` and `attempt_time` limit it
    10:15 `1` warning: `attempt_usd` does not limit `c`: gemini reports tokens but no cost | `attempt_tokens` and `attempt_time` limit it
    ");
    let (config, wrong) = read_config(budget);
    assert_eq!(wrong, []);
    insta::assert_snapshot!(check_with("[agents.a]\nadapter = 'codex'\n@T1\nagent = 'a'", &config), @"
    1:9 `a` warning: `run_usd` does not limit `a`: codex reports tokens but no cost | `run_tokens` and `run_time` limit it
    1:9 `a` warning: `attempt_usd` does not limit `a`: codex reports tokens but no cost | `attempt_tokens` and `attempt_time` limit it
    ");
    let (config, _) = read_config(agents);
    insta::assert_snapshot!(check_with("[budget]\ntask_usd = 3\n@T1\nagent = 'a'", &config), @"
    2:12 `3` warning: `task_usd` does not limit `a`: codex reports tokens but no cost | `task_tokens` and `task_time` limit it
    2:12 `3` warning: `task_usd` does not limit `c`: gemini reports tokens but no cost | `task_tokens` and `task_time` limit it
    ");
}

#[test]
fn files_of_tasks_at_once() {
    insta::assert_snapshot!(check("@a\nfiles = ['x', 'y']\n@b\ndepends_on = ['a']\nfiles = ['./x']\n@c\nfiles = ['y', 'y']\n@d\ndepends_on = ['b']\nfiles = ['x']"), @r#"19:10 `'y'` warning: `a` and `c` may change `y` at the same time | their work may conflict when it lands | let one depend on the other, for example `depends_on = ["a"]` in `c`"#);
    insta::assert_snapshot!(check("@a\nfiles = ['x']\n@m\n@b\ndepends_on = ['m']\nfiles = ['x']"), @r#"18:10 `'x'` warning: `a` and `b` may change `x` at the same time | their work may conflict when it lands | let one depend on the other, for example `depends_on = ["a"]` in `b`"#);
    let groups = "[[group]]\nid = '1'\n[[group]]\nid = '2'\n@a\ngroup = '1'\nfiles = ['x']\n@b\ngroup = '2'\nfiles = ['x']";
    assert_eq!(check(groups), "fine");
    insta::assert_snapshot!(check(&format!("[policy]\nschedule = 'flow'\n{groups}")), @r#"20:10 `'x'` warning: `a` and `b` may change `x` at the same time | their work may conflict when it lands | let one depend on the other, for example `depends_on = ["a"]` in `b`"#);
    assert_eq!(check("[policy]\nmax_parallel = 1\n@a\nfiles = ['x']\n@b\nfiles = ['x']"), "fine");
}

#[test]
fn the_project_file_says_nothing_about_tasks() {
    insta::assert_snapshot!(check_config("name = 'x'\n[[task]]\nid = 'T1'\n[agents.default]\nprompt = 'stdin'\n[default]\nattempts = 1"), @r#"
    1:1 `name` error: unknown key `name` in `piton.toml` | it belongs in the plan | known here: `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `gates`, `issues`, `requests`, `notify`, `journal`
    2:3 `task` error: unknown key `task` in `piton.toml` | it belongs in the plan | known here: `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `gates`, `issues`, `requests`, `notify`, `journal`
    4:1 `[agents.default]` error: `[agents.NAME]` has no `command` | add `command = ["my-agent", "--flag"]`
    6:2 `default` error: unknown key `default` in `piton.toml` | did you mean `defaults`? | known here: `policy`, `agents`, `worktree`, `sandbox`, `budget`, `defaults`, `gates`, `issues`, `requests`, `notify`, `journal`
    "#);
    insta::assert_snapshot!(check_config("[policy"), @"1:8 `` error: this is not TOML: unclosed table, expected `]` | reading stopped here");
    assert_eq!(read_config("").0, Config::default());
}

#[test]
fn fences_have_no_holes_by_mistake() {
    let text = "[policy]\nprotected = ['tests/**', '/etc', '../x', 'a[']\nprotect = 'deny'\nstartup = '0s'\n\
                [sandbox]\nmode = 'none'\nwritable = ['~/.cache', 'x', '~/../y', '/', \"/a\\u0007b\"]\nmemory_mib = 1\n@T1";
    insta::assert_snapshot!(check(text), @r#"
    2:26 `'/etc'` error: "/etc" cannot be a pattern in `protected`: it is not a path from the top of the project | write it like `tests/**`
    2:34 `'../x'` error: "../x" cannot be a pattern in `protected`: it is not a path from the top of the project | write it like `tests/**`
    2:42 `'a['` error: "a[" cannot be a pattern in `protected`: unclosed character class; missing ']' | write it like `tests/**`
    3:11 `'deny'` error: `protect` cannot be "deny" | not one of the choices | choose one of `report`, `block`
    4:11 `'0s'` error: `startup` is zero | must be more than 0
    6:8 `'none'` error: `mode` cannot be "none" | not one of the choices | choose one of `auto`, `on`, `off`
    7:25 `'x'` error: "x" cannot be a place in `writable` | an absolute path, or one like `~/.cache`
    7:30 `'~/../y'` error: "~/../y" cannot be a place in `writable` | an absolute path, or one like `~/.cache`
    7:40 `'/'` error: "/" cannot be a place in `writable` | an absolute path, or one like `~/.cache`
    7:45 `"/a\u0007b"` error: "/a\u{7}b" cannot be a place in `writable` | an absolute path, or one like `~/.cache`
    8:14 `1` error: `memory_mib` is out of range | 64 to 16777216 is allowed
    "#);
}

#[test]
fn arguments_of_a_client_are_words_that_piton_does_not_pass_itself() {
    insta::assert_snapshot!(check("[agents.a]\nadapter = 'claude'\nargs = ['--effort', 'high', '--output-format=text', 3]\n[agents.b]\nadapter = 'codex'\nargs = '--json'\n@T1\nagent = 'a'"), @r#"
    3:29 `'--output-format=text'` error: Piton passes `--output-format=text` to `claude` itself | remove it; `model`, `permissions` and `max_turns` are keys of the profile
    3:53 `3` error: an entry of `args` must be text | this is a number
    6:8 `'--json'` error: `args` must be a list, in `[` and `]` | this is text
    "#);
    let known = "[agents.a]\nadapter = 'codex'\nargs = ['-c', 'web_search=\"live\"']\n";
    let (config, wrong) = read_config(known);
    assert_eq!(wrong, []);
    assert_eq!(config.agents["a"].args, ["-c", "web_search=\"live\""]);
}
