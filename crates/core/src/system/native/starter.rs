//! The plan that `piton new` writes: short, or with every key and its explanation.

use super::{name_from, toml_text};
use crate::client::Adapter;
use crate::system::{Asked, UsualChecks, Worker};
use crate::terminal::one_line;

/// A plan with every key explained. It runs unchanged, once there is an agent. An invalid name is made valid.
pub fn starter(name: &str, worker: Worker) -> String {
    STARTER.replacen("AGENTS", &agents(worker), 1).replacen("NAME", &name_from(name), 1)
}

/// The same in about twenty lines, with the checks that the project has.
pub(super) fn short(name: &str, asked: &Asked<'_>) -> String {
    format!("{}\n{TASKS}", head(name, asked))
}

/// What stands before the tasks of a plan.
pub(super) fn head(name: &str, asked: &Asked<'_>) -> String {
    let typed = one_line(asked.typed);
    let agents = match asked.worker {
        Worker::Client(adapter) => format!("[agents.default]\n{}", adapter_line(adapter)),
        Worker::OfProject | Worker::Missing => agents(asked.worker),
    };
    format!(
        "# A plan for Piton: `piton plan {typed}` validates it, `piton run {typed}` works on it.\n\
        # `piton new NAME --full` writes every key with an explanation.\n\
        name = \"{}\"\n\n{agents}\n\n{}",
        name_from(name),
        defaults(asked.checks)
    )
}

fn defaults(checks: UsualChecks<'_>) -> String {
    match checks {
        UsualChecks::OfProject => {
            "# Tasks that name no checks of their own have those of piton.toml.\n".to_owned()
        }
        UsualChecks::Found([]) => {
            "[defaults]\n# checks = [\"make test\"]   # of tasks that name none\n".to_owned()
        }
        UsualChecks::Found(found) => {
            let lines: Vec<String> =
                found.iter().map(|(check, _)| toml_text(&check.run.to_string())).collect();
            let mut files: Vec<&str> = found.iter().flat_map(|(_, why)| why.split(", ")).collect();
            files.sort_unstable();
            files.dedup();
            let why = one_line(&files.join(", "));
            format!(
                "[defaults]           # for tasks that name no checks; found in {why}\nchecks = [{}]\n",
                lines.join(", ")
            )
        }
    }
}

fn agents(worker: Worker) -> String {
    match worker {
        Worker::Client(adapter) => CLIENT.replacen("SAID", &adapter_line(adapter), 1),
        Worker::OfProject => OF_PROJECT.to_owned(),
        Worker::Missing => no_client(),
    }
}

fn adapter_line(adapter: Adapter) -> String {
    let others = Adapter::known().filter(|other| *other != adapter);
    let others: Vec<String> = others.map(|other| format!("\"{}\"", other.name())).collect();
    let said = format!("adapter = \"{}\"", adapter.name());
    format!("{said:27}# or {}", others.join(", "))
}

fn no_client() -> String {
    let known: Vec<&str> = Adapter::known().map(|client| client.name()).collect();
    NO_CLIENT.replacen("KNOWN", &known.join(", "), 1).replacen("FIRST", known[0], 1)
}

const CLIENT: &str = r##"# Who does the work: a coding agent. `piton agents` lists those that are installed here.
[agents.default]
SAID
# model = "…"              # else the client's own choice
# command = ["my-agent", "--headless"]   # in place of `adapter`: any program that takes a prompt on stdin and
#                                        # changes files where it was started
# env = { LOG = "1" }"##;

const OF_PROJECT: &str =
    r##"# The agents are defined in piton.toml. A task may choose another one: `agent = "…"`."##;

const NO_CLIENT: &str = r##"# CHANGE THIS. Who does the work: a coding agent. None that Piton knows (KNOWN) was found
# here. Install one, and say `adapter = "FIRST"` in place of `command`; or name a program of your own that takes a
# prompt on stdin and changes files where it was started.
[agents.default]
command = ["my-agent", "--headless"]
# command = "my-agent --prompt-file {prompt}"   # a program that wants its prompt as a file:
# prompt = "file"                               # {prompt} becomes the path
# env = { LOG = "1" }"##;

const STARTER: &str = r##"# A plan for Piton. See what it means: `piton plan`; work on it: `piton run`.
# Every task is done in a git worktree of its own, proven by its checks, and then landed on your branch.

name = "NAME"

AGENTS

[policy]
schedule = "layered"       # groups in order; "batch": dependency levels too; "flow": as soon as possible
# order = "groups"                 # in plans of other tools, who waits where nothing is said: "all", "groups", "free"
max_parallel = 3           # tasks at once, 1 to 64
exhausted = "continue"     # when a task's attempts are spent: "stop", "continue", "pass" or "skip" it
# escalation = ["debugger"]        # agents that take over after a first failure, a second, and so on
# feedback = "default"             # the agent that turns a failed check into words for the next try
# landing_checks = ["make test"]   # must pass on the merged tree before your branch moves
# commit_prefix = "feat:"          # and author = "Ada <ada@example.org>", for the commits
# backoff = "5s"                   # first pause when an agent or the network fails
# landing_wait = "10m"             # how long landing waits for uncommitted changes in your checkout
# land = "each"                    # tasks that were proven together land one by one, each proven
# landing_parallel = 2             # checks of merges that run at once; by itself, as many as the processors bear
# early_conflicts = false          # do not look for conflicts while agents work
# startup = "2m"                   # an agent that has said nothing at all by then is run again
# protected = ["tests/**"]         # files that no task changes unless it names them, beside those of CI
# protect = "report"               # or "block" work that changes them

# [worktree]
# copy = [".env"]          # files git ignores that a worktree needs
# setup = "npm ci"         # run in each fresh worktree
# warm = ["target"]        # caches that a new worktree gets from your checkout
# reuse = "clean"          # a done task's worktree goes to the next without caches; "never": it goes

# [sandbox]                # agents write to their worktree only, where the system can see to that
# mode = "auto"            # or "on": not without it; or "off"
# writable = ["~/.my-cache"]   # more places; memory_mib = 8192 and processes = 4000 are limits

# [budget]                 # the run stops when so much is used, and goes on when you allow more
# run_usd = 20             # also task_usd, run_tokens, task_tokens, and run_time = "8h"

# What holds for tasks that do not say otherwise.
[defaults]
attempts = 3               # how often a check may fail before the task is abandoned
timeout = "30m"            # of one try; silence = "10m" also ends one that says nothing for so long
# checks = ["make test"]   # for tasks without checks of their own
# confirm = true           # a fresh agent looks again, until it finds nothing left to do

# Groups are worked on in this order. Without any, all tasks are in one.
[[group]]
id = "1-write"
title = "Write it down"

[[task]]
id = "T1"                  # letters, digits and . _ - # @; also names its worktree and branch
title = "Describe the project"
group = "1-write"
prompt = """
Write NOTES.md: what this project is, how it is built, how it is tested. At most one page.
"""
files = ["NOTES.md"]       # what it will change, as far as you know
criteria = ["A newcomer could build the project with it"]
checks = ["test -s NOTES.md"]   # Piton runs these itself; an agent's word is not enough

[[task]]
id = "T2"
title = "Link the notes from the README"
group = "1-write"
depends_on = ["T1"]        # starts when T1 has landed
prompt = "Add one line to README.md that links to NOTES.md. Create README.md if there is none."
files = ["README.md"]
checks = [{ name = "link", run = ["grep", "-q", "NOTES.md", "README.md"], timeout = "10s" }]
# priority = 50            # 1 is first, 99 last
# agent = "default"
# may_change_nothing = true   # leaving everything as it was is fine too
# check_first = true          # no agent is sent where the checks pass already
# may_fail = true             # when its attempts are spent, the rest goes on without it
# gate = true                 # it judges the whole: what lands later makes its checks run again
# by_person = true            # a person does it: it waits in the inbox until it is reported done
"##;

const TASKS: &str = r##"[[task]]
id = "T1"
title = "Describe the project"
prompt = "Write NOTES.md: what this project is, how it is built, how it is tested. At most one page."
checks = ["test -s NOTES.md"]   # Piton runs these itself; an agent's word is not enough

[[task]]
id = "T2"
title = "Link the notes from the README"
prompt = "Add one line to README.md that links to NOTES.md. Create README.md if there is none."
depends_on = ["T1"]             # it starts when T1 has landed
checks = ["grep -q NOTES.md README.md"]
"##;
