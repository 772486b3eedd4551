//! Every command that reads or changes a run, as a whole process, in plans of several sizes.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use piton_core::run::{Claim, Command, Evidence, Holder, Report};
use piton_engine::journal::Journal;

use crate::bench::{PITON, Project, median, plan, show, timed};
use crate::journal::at;

/// How often each command is measured; one that takes long, less often.
const ROUNDS: usize = 15;
const LONG: Duration = Duration::from_secs(3);

/// Commands that are not in the table, and why.
const LEFT_OUT: [(&str, &str); 4] = [
    ("demo", "it runs a plan of its own, and takes as long as that does"),
    ("rehearse", "it runs the checks of each task in a clone of the project, and takes as long as they do"),
    ("serve", "it answers until one ends it, from what `status`, `show` and the others read"),
    ("watch", "it stays until one leaves; the other table has the time of a key"),
];

/// The size of a plan, and whether half of its tasks are completed.
const SIZES: [(usize, bool); 4] = [(100, false), (10_000, false), (100_000, false), (100_000, true)];

/// What a command is about, and so what it may cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    Task,
    Run,
    /// It prints a line for each task or for each event.
    All,
    /// It reads what has happened.
    Happened,
    /// It reads the plan.
    Plan,
    /// It compares every task, or every event, with what else there is.
    Each,
}

impl About {
    fn most(self) -> &'static str {
        match self {
            About::Nothing => "",
            About::Task => "5 ms more",
            About::Run => "20 ms, 60 ms",
            About::All => "what it prints",
            About::Happened => "reads what happened",
            About::Plan => "reads the plan",
            About::Each => "looks at every task",
        }
    }
}

type Times = BTreeMap<usize, Vec<Duration>>;

/// The table, in Markdown.
pub(crate) fn table() -> String {
    let mut rows: Vec<(String, About)> = Vec::new();
    let mut columns: Vec<Times> = Vec::new();
    for (tasks, half) in SIZES {
        let mut measured = Measured { project: begin(tasks), rows: &mut rows, times: Times::new() };
        measured.all(tasks, half);
        columns.push(measured.times);
    }
    let mut text = "| command | 100 tasks | 10,000 | 100,000 | 100,000, half done | at most |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (row, (name, about)) in rows.iter().enumerate() {
        let cells: Vec<String> = columns
            .iter()
            .map(|times| times.get(&row).map_or("–".to_owned(), |all| show(median(all.clone()))))
            .collect();
        text += &format!("| {name} | {} | {} |\n", cells.join(" | "), about.most());
    }
    is_whole(&rows);
    let left_out = LEFT_OUT.map(|(name, why)| format!("`{name}` is not in the table: {why}.\n"));
    text + "\n" + &left_out.concat() + &machine()
}

/// Every command that `piton --help` names has a row.
fn is_whole(rows: &[(String, About)]) {
    let help = std::process::Command::new(PITON).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().filter_map(|line| line.strip_prefix("  ")).flat_map(str::split_whitespace);
    let has_row = |command: &str| {
        let begins = |name: &str| name.split('`').any(|part| part.split(' ').next() == Some(command));
        rows.iter().any(|(name, _)| begins(name)) || LEFT_OUT.iter().any(|(name, _)| *name == command)
    };
    let missing: Vec<&str> = commands.filter(|command| !has_row(command)).collect();
    assert!(missing.is_empty(), "the table has no row for {missing:?}");
}

/// How busy the machine was: figures of a busy one are too high.
fn machine() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    match load.split(' ').nth(1) {
        Some(load) => {
            format!("\nMeasured on {processors} processors, at a load of {load} in the last five minutes.\n")
        }
        None => String::new(),
    }
}

/// Eight tasks in ten stand alone. The others form a chain of ten links, each of many tasks.
fn begin(tasks: usize) -> Project {
    let (free, link) = (tasks / 10 * 8, (tasks / 50).max(1));
    let needs = |n: usize| match n.checked_sub(free + link) {
        Some(before) if before > 0 => format!("depends_on = [\"T{}\"]\n", n - link),
        _ => String::new(),
    };
    let mut text = plan(tasks, 3, "true", needs);
    for n in 0..ROUNDS {
        text += &format!(
            "[[task]]\nid = \"C{n}\"\ntitle = \"Be confirmed\"\nprompt = \"Do it.\"\nchecks = [\"true\"]\nconfirm = true\n"
        );
    }
    Project::new(&text, 1)
}

struct Measured<'r> {
    project: Project,
    rows: &'r mut Vec<(String, About)>,
    times: Times,
}

impl Measured<'_> {
    /// A command that is not measured.
    fn quietly(&self, line: &str) -> Duration {
        // Unfinished work is not an error of the command.
        self.ending_with(line, &[0, 4])
    }

    fn ending_with(&self, line: &str, codes: &[i32]) -> Duration {
        let mut command = self.project.command(PITON, &self.project.repo);
        let command = command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
        let (time, status) = timed(|| command.status().unwrap());
        assert!(status.code().is_some_and(|code| codes.contains(&code)), "piton {line}: {status}");
        time
    }

    fn note(&mut self, name: &str, about: About, time: Duration) {
        let known = self.rows.iter().position(|(known, _)| known == name);
        let row = known.unwrap_or_else(|| {
            self.rows.push((name.to_owned(), about));
            self.rows.len() - 1
        });
        self.times.entry(row).or_default().push(time);
    }

    fn once(&mut self, name: &str, about: About, line: &str) {
        let time = self.quietly(line);
        self.note(name, about, time);
    }

    /// A command that has nothing to do here, and says so.
    fn refused(&mut self, name: &str, about: About, line: &str) {
        for _ in 0..ROUNDS {
            let time = self.ending_with(line, &[1]);
            self.note(name, about, time);
        }
    }

    fn often(&mut self, name: &str, about: About, line: &str) {
        let start = Instant::now();
        for n in 0..ROUNDS {
            if n == 0 || start.elapsed() < LONG {
                self.once(name, about, line);
            }
        }
    }

    fn all(&mut self, tasks: usize, half: bool) {
        for _ in 0..ROUNDS {
            let mut git = self.project.command("git", &self.project.repo);
            git.args(["rev-parse", "HEAD"]).stdout(Stdio::null());
            self.once("a process that does nothing (`piton --version`)", About::Nothing, "--version");
            self.note(
                "a git process (`git rev-parse HEAD`)",
                About::Nothing,
                timed(|| git.status().unwrap()).0,
            );
        }
        self.of_no_run();
        self.once("`plan PLAN`", About::Plan, "plan plan.toml");
        self.once("begin: the first `next --plan PLAN`", About::Plan, "next --plan plan.toml");
        for n in 1..=5 {
            self.quietly(&format!("start T{n} --by me"));
            self.quietly(&format!("report T{n} done --by me --note finished --no-change --reason measured"));
        }
        for text in ["one", "two"] {
            self.quietly(&format!("guardrail add {text}"));
        }
        if half {
            self.finish_half(tasks);
        }
        // A file that was written a moment ago is read again.
        std::thread::sleep(Duration::from_millis(2500));
        // So does git, as long as its index is as young as the file.
        self.project.git(&self.project.repo, &["status", "--short"]);
        self.quietly("next --plan plan.toml");
        for n in 0..ROUNDS {
            self.task(&format!("T{}", n + 6), n);
            self.confirmed(&format!("C{n}"));
        }
        self.commits();
        self.run(tasks);
    }

    /// Commands that read no run.
    fn of_no_run(&mut self) {
        for line in ["help", "schema plan", "completions bash", "agents", "mcp"] {
            self.often(&format!("`{line}`"), About::Nothing, line);
        }
        for _ in 0..ROUNDS {
            self.once("`new`", About::Nothing, "new other --force");
            self.once("`init`", About::Nothing, "init --for claude --yes");
            self.quietly("init --for claude --remove --yes");
        }
        std::fs::remove_file(self.project.repo.join("other.toml")).unwrap();
    }

    /// A task with a check that takes no time, which another agent has to confirm.
    fn confirmed(&mut self, task: &str) {
        self.quietly(&format!("start {task} --by me"));
        self.once("`verify`, with one check", About::Task, &format!("verify {task}"));
        self.quietly(&format!("report {task} done --by me --note finished --no-change --reason measured"));
        let line = format!("confirm {task} --by me --note looked");
        self.once("`confirm`, with one check", About::Task, &line);
    }

    /// Every command about one task, from its start until a person skips it.
    fn task(&mut self, task: &str, n: usize) {
        let (about, start) = (About::Task, format!("start {task} --by me"));
        self.once("`start`", about, &start);
        self.once("`status TASK`", about, &format!("status {task}"));
        self.once("`why TASK`", about, &format!("why {task}"));
        self.once("`show TASK`", about, &format!("show {task}"));
        self.once("`report … failed`", about, &format!("report {task} failed --by me --reason measured"));
        self.once("`retry`", about, &format!("retry {task}"));
        self.once("`raise`", about, &format!("raise {task} --attempts {}", n + 20));
        self.once("`start --plan PLAN`", about, &format!("{start} --plan plan.toml"));
        self.once("`report … blocked`", about, &format!("report {task} blocked --by me --reason measured"));
        self.once("`answer`", about, &format!("answer {task} so"));
        self.quietly(&start);
        self.quietly(&format!("report {task} blocked --by me --reason measured"));
        self.once("`unblock`", about, &format!("unblock {task}"));
        self.once("`prompt TASK`", about, &format!("prompt {task}"));
        self.quietly(&start);
        self.once("`reset`", about, &format!("reset {task}"));
        self.quietly(&start);
        let done =
            |task: &str| format!("report {task} done --by me --note finished --no-change --reason measured");
        self.once("`report … done`", about, &done(task));
        self.once("`log TASK`", about, &format!("log {task}"));
        self.once("`orient TASK`", about, &format!("orient {task}"));
        self.once("`output TASK --list`", about, &format!("output {task} --list"));
        let [second, third] = [2, 3].map(|rounds| format!("T{}", n + 6 + rounds * ROUNDS));
        self.quietly(&format!("start {second} --by me"));
        self.once("`report … done --plan PLAN`", about, &format!("{} --plan plan.toml", done(&second)));
        self.once("`skip`", about, &format!("skip {third} --reason measured"));
    }

    /// Work that is committed, and a claim about it.
    fn commits(&mut self) {
        for n in 0..ROUNDS {
            let task = format!("T{}", n + 6 + ROUNDS);
            self.quietly(&format!("start {task} --by me"));
            std::fs::write(self.project.repo.join(format!("{task}.txt")), &task).unwrap();
            self.project.git(&self.project.repo, &["add", "-A"]);
            self.project.git(&self.project.repo, &["commit", "-q", "-m", &task]);
            let line = format!("report {task} done --by me --note finished");
            self.once("`report … done`, with a commit", About::Task, &line);
            self.once("`diff TASK`", About::Task, &format!("diff {task}"));
            self.once("`review TASK`", About::Task, &format!("review {task}"));
            self.once("`timeline --task TASK`", About::Task, &format!("timeline --task {task}"));
        }
    }

    fn run(&mut self, tasks: usize) {
        let last = format!("why T{tasks}");
        self.often("`why TASK`, at the end of a chain", About::Task, &last);
        self.often("`why TASK --plan PLAN`", About::Task, &format!("{last} --plan plan.toml"));
        let of_run = [
            "next",
            "status",
            "inbox",
            "runs",
            "progress",
            "queue",
            "checks",
            "cost",
            "cost --by agent",
            "cost --by run",
            "ops",
            "orient",
            "orient --json",
            "system context",
        ];
        let of_project = ["rescue list", "archive --dry-run", "clean --dry-run"];
        for line in of_run.into_iter().chain(of_project) {
            self.often(&format!("`{line}`"), About::Run, line);
        }
        self.refused("`stop`, without an engine", About::Run, "stop");
        self.refused("`unpark`, of nobody", About::Run, "unpark claude");
        self.often("`next --plan PLAN`", About::Run, "next --plan plan.toml");
        self.often("`status --plan PLAN`", About::Run, "status --plan plan.toml");
        self.often("`log -n 20`", About::Run, "log -n 20");
        self.often("`guardrail list`", About::Run, "guardrail list");
        self.often("`guardrail search`", About::Run, "guardrail search one");
        for n in 0..ROUNDS {
            self.once("`guardrail add`", About::Run, &format!("guardrail add lesson{n}x"));
            self.once("`guardrail remove`", About::Run, &format!("guardrail remove lesson{n}x"));
            self.once("`journal add`", About::Run, "journal add noted");
            self.once("`close`", About::Run, &format!("close {}", self.id()));
            self.quietly(&format!("start T{} --by me", 6 + 4 * ROUNDS));
            self.quietly(&format!("reset T{}", 6 + 4 * ROUNDS));
        }
        self.often("`timeline`", About::Happened, "timeline");
        for line in [
            "log",
            "complete",
            "status --all",
            "status --json",
            "graph",
            "graph --format svg",
            "summary",
            "summary --html -",
            "summary --markdown",
        ] {
            self.often(&format!("`{line}`"), About::All, line);
        }
        let other = self.project.root.join("other");
        self.once("`export`, to one list", About::All, &format!("export --dialect rwkit --out {other}"));
        self.once("`doctor`", About::Each, "doctor");
        let import =
            format!("import {other}/bench-todolist.md --dry-run --project-path {}", self.project.repo);
        self.once("`import --dry-run`, of that list", About::Plan, &import);
        self.once("`run --dry-run`", About::Plan, "run plan.toml --dry-run");
        self.once("`add`", About::Plan, "add N1 --title Another --description Do --no-check");
    }

    fn id(&self) -> String {
        let runs = self.project.piton("runs --json");
        let runs: serde_json::Value = serde_json::from_str(&runs).unwrap();
        runs["runs"][0]["run"].as_str().unwrap().to_owned()
    }

    /// Complete every second of the tasks that stand alone, and more, until half of all are.
    fn finish_half(&self, tasks: usize) {
        let mut journal = Journal::open(&self.project.repo.join(".git/piton")).unwrap();
        let run = journal.runs().unwrap()[0].id.clone();
        let mut state = journal.load(&run).unwrap();
        let names: Vec<_> = state.tasks().map(|task| task.id.clone()).collect();
        let free = names.into_iter().filter(|id| {
            let number: usize = id.as_str()[1..].parse().unwrap();
            (tasks / 10..tasks / 10 * 6).contains(&number)
        });
        let report = || Report { note: "It is done, and this is how.".to_owned(), ..Report::default() };
        let changes: Vec<Command> = free
            .flat_map(|task| {
                let evidence = Evidence::file("work");
                let claim = Claim::Done { tree: None, results: Vec::new(), evidence };
                let by = "me".to_owned();
                [
                    Command::Start { task: task.clone(), holder: Holder::Ledger(by.clone()) },
                    Command::Report { task, by, fence: None, claim, report: Box::new(report()) },
                ]
            })
            .collect();
        for (n, group) in changes.chunks(1000).enumerate() {
            journal.commit(&run, &mut state, group, at(n)).unwrap();
        }
        journal.close().unwrap();
    }
}
