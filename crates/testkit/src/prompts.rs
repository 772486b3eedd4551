//! Golden prompts: what agents get in each situation, for people to read. They are generated into
//! `docs/reference/prompts.md`, so a changed word is seen there.

use std::collections::BTreeMap;

use piton_core::plan::{Check, Digest, Plan, TaskId, TaskSpec};
use piton_core::prompt::{
    self, Advice, Answer, Before, Brief, Failure, Other, Prompts, Try, Workplace, of_feedback, of_review,
};
use piton_core::run::{CheckResult, Verdict, verdict};
use piton_core::system::config::{Config, read_config};
use piton_core::system::iterative::prompt::Iteration;
use piton_core::system::native::Overrides;
use piton_core::system::{Folder, Given, Strictness};
use piton_core::system::{execute, issue, native, rwkit};
use piton_core::time::Span;

/// A prompt, and when an agent gets it.
#[derive(Clone, Debug)]
pub struct Golden {
    pub when: &'static str,
    pub text: String,
}

const PLAN: &str = r#"
[[task]]
id = "T1"
title = "Add a parser"
prompt = "Write src/parse.rs: read the format that docs/format.md describes."
criteria = ["a line that cannot be read is named with its number"]
files = ["src/parse.rs"]
checks = ["cargo test parse", "cargo clippy -- -D warnings"]

[[task]]
id = "T2"
title = "Add a command that uses it"
prompt = "Add `show FILE` to the command line. Use the parser."
depends_on = ["T1"]
checks = ["cargo test show", { run = "npm test", cwd = "web" }]

[policy]
landing_checks = ["cargo test --workspace"]
"#;

const BASE: &str = "4b825dc642";
const WRITABLE: &str = "You can write here, in `$TMPDIR`, in the cache of cargo, and nowhere else on this machine. If the \
                        task needs another place, say BLOCKED and name it.";

/// Every situation, the usual ones first.
pub fn golden() -> Vec<Golden> {
    let plan = plan();
    let (first, second) = (&plan.tasks[0], &plan.tasks[1]);
    let usual = Brief {
        attempt: 1,
        attempts: 3,
        place: Workplace::Worktree { base: BASE },
        writable: WRITABLE,
        has_tools: true,
        landing_checks: &plan.settings.landing_checks,
        ..Brief::default()
    };
    let retry = Brief { attempt: 2, ..usual };
    let mut all = Vec::new();
    let mut add = |when, spec: &TaskSpec, brief: Brief<'_>| {
        let text = prompt::prompt(&Prompts::default(), spec, brief).expect("ours are fine");
        all.push(Golden { when, text });
    };

    let made = "## Finished work\n- T1: Add a parser\n\n## What it made for others\n- T1: parse(text: &str) -> Vec<Line>\n\n\
                ## Changed files\n- T1: src/parse.rs\n";
    add("the first attempt", first, usual);
    add(
        "the first attempt of a command that is no known client, after another task",
        second,
        Brief { has_tools: false, writable: "", made, ..usual },
    );

    let red = failed(first, &compiler_output());
    let tries = [tried(1, "check `cargo test parse` failed with exit status 101", Some("9fceb02d0a"))];
    add(
        "a retry after a red check with a long output",
        first,
        Brief { failure: Some(&red), tries: &tries, ..retry },
    );
    let tries = [tries[0].clone(), tried(2, "the agent had not finished after 30m", Some("0d1d7fc32e"))];
    let slow = failure(
        "the agent had not finished after 30m",
        "the agent had not finished after 30m\nThe end of its output:\nrunning 12 tests\n",
    );
    add(
        "the last attempt, after a timeout, by an escalation's debugger",
        first,
        Brief { attempt: 3, failure: Some(&slow), tries: &tries, role: Some("debugger"), ..usual },
    );
    let tries = [tried(1, "merge conflict in src/cli.rs", Some("9fceb02d0a"))];
    let others = vec![Other { id: first.id.clone(), title: first.title.clone(), aim: first.prompt.clone() }];
    let conflict = Failure {
        files: vec!["src/cli.rs".to_owned()],
        others: others.clone(),
        ..failure(
            "merge conflict in src/cli.rs",
            "Auto-merging src/cli.rs\nCONFLICT (content): Merge conflict in src/cli.rs\n",
        )
    };
    add("after a merge conflict", second, Brief { failure: Some(&conflict), tries: &tries, ..usual });
    let reason = "together with what landed before: check `cargo test show` failed with exit status 101";
    let tries = [tried(1, reason, Some("9fceb02d0a"))];
    let together = Failure { others, ..failed(second, "test show::empty ... FAILED\n") };
    let together = Failure { reason: reason.to_owned(), ..together };
    add(
        "green alone, red together with what landed",
        second,
        Brief { failure: Some(&together), tries: &tries, ..usual },
    );
    let tries = [tried(1, "the agent changed nothing", None)];
    let idle = failure("the agent changed nothing", "Your last attempt ended without changing any file.\n");
    add("after a try that changed nothing", first, Brief { failure: Some(&idle), tries: &tries, ..retry });

    let asked = "the agent changed nothing and asked: Which date format?";
    let tries = [tried(1, asked, None)];
    let question = Failure { is_answered: true, ..failure(asked, "") };
    let answers = [Answer {
        asked: asked.to_owned(),
        words: "docs/format.md shows two.\nWhich date format?".to_owned(),
        by: "ann".to_owned(),
        text: "ISO 8601. Reject the other one.".to_owned(),
    }];
    add(
        "after a question that a person answered (`piton answer`)",
        first,
        Brief { failure: Some(&question), tries: &tries, answers: &answers, ..retry },
    );
    let answers = [Answer {
        asked: "docs/format.md does not exist".to_owned(),
        words: String::new(),
        by: "ann".to_owned(),
        text: "It is there now.".to_owned(),
    }];
    add("unblocked with a note (`piton unblock --note`)", first, Brief { answers: &answers, ..usual });
    let said = |by: &str, text: &str| Advice { by: by.to_owned(), text: text.to_owned() };
    let (advice, guardrails) =
        ([said("ann", "The old parser is in git: v0.3, src/read.rs.")], [said("ann", "No new dependencies")]);
    add(
        "with a note about the task, guardrails, and nobody to ask (`auto_answer`)",
        first,
        Brief { advice: &advice, guardrails: &guardrails, auto_answer: true, ..usual },
    );
    let before = Before {
        text: "Another task had this id before and landed as 0d1d7fc32e. Its work is in the project. Do what is asked above, \
               and undo the earlier work only where that asks for it. The earlier task, quoted:"
            .to_owned(),
        title: "Add a lexer".to_owned(),
    };
    add("after another task had this id", first, Brief { before: Some(&before), ..usual });
    let in_place = Brief { writable: "", landing_checks: &[], ..usual };
    add("with `--no-commits`", first, Brief { place: Workplace::Checkout, ..in_place });
    add("without git", first, Brief { place: Workplace::Folder, ..in_place });

    let systems = Brief { has_tools: true, landing_checks: &[], ..usual };
    add("a task of an execute plan", &execute_task(), Brief { attempts: 5, ..systems });
    add("a task of an issue plan", &issue_task(), systems);
    let lists = rwkit_tasks();
    add("a task of a todolist of rw-kit", &lists[0], systems);
    let gate = lists.last().expect("a gate");
    let red = failed(gate, "1 of 14 tests failed\n");
    add(
        "a gate that is red: the first fix",
        gate,
        // The checks that ran first and failed are not a try of an agent.
        Brief { failure: Some(&red), attempts: 3, ..systems },
    );

    all.push(Golden { when: "an iteration of an iterative plan", text: iteration() });
    let review = |agent, ask| of_review(&Prompts::default(), agent, ask).expect("ours are fine");
    all.push(Golden {
        when: "a reviewer (`review`)",
        text: review("reviewer", "the parser: does it name every line that it cannot read?"),
    });
    all.push(Golden { when: "a verifier", text: review("verifier", "whether T1 is done: Add a parser") });
    let output = verdict::feedback(&[result(&first.checks[0], &compiler_output())]);
    let diff = "+++ b/src/lib.rs\n+pub mod parse;\n";
    let text = of_feedback(&Prompts::default(), first, 1, &output, diff).expect("ours are fine");
    all.push(Golden { when: "the feedback writer (`feedback` in `[policy]`)", text });
    all
}

/// The prompts as a part of a page.
pub fn as_markdown() -> String {
    let mut page = String::new();
    for Golden { when, text } in golden() {
        let head: String =
            when.chars().take(1).flat_map(char::to_uppercase).chain(when.chars().skip(1)).collect();
        page += &format!("\n### {head}\n\n``````markdown\n{}\n``````\n", text.trim_end());
    }
    page
}

/// A compiler that has much to say, the cause first.
fn compiler_output() -> String {
    let built: String = (0..300).map(|n| format!("   Compiling dependency{n} v1.0.{n}\n")).collect();
    let first = "error[E0583]: file not found for module `parse`\n --> src/lib.rs:3:1\n  |\n3 | pub mod parse;\n  | ^^^^^^^^^^^^^^\n  |\n  \
                 = help: to create the module `parse`, create file \"src/parse.rs\"\n\n";
    let others: String = (0..400)
        .map(|n| format!("error[E0433]: failed to resolve: use of undeclared crate ({n})\n"))
        .collect();
    // The golden prompt shows how it is cut, not all that is left of it.
    let end = "error: could not compile `show` (lib) due to 401 previous errors\n";
    format!("{built}{first}{others}{end}")
}

fn plan() -> Plan {
    let reading = native::read(PLAN, "plan", &Config::default(), &Overrides::default());
    assert!(reading.is_usable(), "{:?}", reading.diagnostics);
    reading.plan
}

fn folder(files: &[(&str, &str)]) -> Folder {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    Folder { files: files.collect::<BTreeMap<_, _>>() }
}

fn execute_task() -> TaskSpec {
    let xml = "<task><meta><id>L1-001</id><name>Count words</name><layer>1-base</layer></meta>\
               <objective>Write the command that counts the words of a text.</objective>\
               <requirements><requirement id=\"R1\">`count FILE` prints a number</requirement></requirements>\
               <files-to-create><file>bin/count.sh</file></files-to-create>\
               <verification><step>Run: `sh tests/count.sh` - all of it passes</step></verification></task>";
    let files = folder(&[
        ("manifest.json", "{\"plan_name\": \"words\"}"),
        ("layer_plan.json", "{\"layers\": []}"),
        ("1-base/L1-001-count.xml", xml),
    ]);
    execute::plan::read(&files, "words", &Config::default(), Strictness::Lenient).plan.tasks.remove(0)
}

fn issue_task() -> TaskSpec {
    let files = folder(&[(
        "tasks.md",
        "# Issue 12: Show spending\n\n- [ ] 1. Sum the entries\n  - one number for each month\n",
    )]);
    let (config, problems) = read_config("[defaults]\nchecks = [\"sh check.sh\"]\n");
    assert!(problems.is_empty(), "{problems:?}");
    let given = Given::new("issue-12-spending", ".claude/plans/issue-12-spending", &config);
    issue::plan::read(&files, &given).reading.plan.tasks.remove(0)
}

fn rwkit_tasks() -> Vec<TaskSpec> {
    let list = "plans/shop-todolist.md";
    let (config, problems) =
        read_config("[defaults]\nchecks = [\"npm test\"]\n[gates.unit_tests]\nrun = \"npm test\"\n");
    assert!(problems.is_empty(), "{problems:?}");
    let files = folder(&[(list, "# Shop\n\n## Tasks\n\n- [ ] T001 Show the cart in src/cart.ts\n")]);
    rwkit::plan::read(&files, &Given::new(list, list, &config)).reading.plan.tasks
}

fn iteration() -> String {
    let criteria = ["a session ends after a day".to_owned()];
    let commands = ["cargo test".to_owned()];
    let text = Iteration {
        slug: "user-auth",
        unit: "T3",
        title: "Keep sessions in the database",
        criteria: &criteria,
        number: 2,
        limit: 10,
        folder: ".claude/iterative/user-auth",
        plan: "tasks.md",
        guardrails: &[],
        commits: true,
        commands: &commands,
        base: BASE,
    }
    .prompt();
    let id = TaskId::new("T3").expect("a valid id");
    let red = Failure {
        logs: vec![log("cargo test")],
        ..failure("check `cargo test` failed with exit status 101", "")
    };
    let tries = [tried(1, &red.reason, None)];
    text + &format!("\n## Where you can write\n{WRITABLE}\n") + &prompt::order_section(&id, &red, &tries)
}

fn failure(reason: &str, feedback: &str) -> Failure {
    Failure { reason: reason.to_owned(), feedback: feedback.to_owned(), ..Failure::default() }
}

/// Its first check failed with this output.
fn failed(spec: &TaskSpec, output: &str) -> Failure {
    let results = [result(&spec.checks[0], output)];
    let reason = verdict::reason(&results).unwrap_or_default();
    let logs = vec![log(&spec.checks[0].name)];
    Failure { logs, ..failure(&reason, &verdict::feedback(&results)) }
}

fn log(check: &str) -> (String, String) {
    (
        check.to_owned(),
        "/project/.git/piton/runs/plan-afeab4/T1/1.check.4b825dc642.9fceb02d0ae5/output.log".to_owned(),
    )
}

fn result(check: &Check, output: &str) -> CheckResult {
    CheckResult {
        name: check.name.clone(),
        check: check.digest(),
        command: check.run.to_string(),
        verdict: Verdict::Fail { exit: 101 },
        environment: Digest::of(&()),
        took: Span(0),
        log: String::new(),
        tail: verdict::useful(output, 700),
        tests: None,
        ran: None,
    }
}

fn tried(attempt: u32, end: &str, commit: Option<&str>) -> Try {
    Try { attempt, end: end.to_owned(), commit: commit.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that are not quoted: neither behind `>` nor in a fence.
    fn own_lines(text: &str) -> usize {
        let (mut own, mut in_fence) = (0, false);
        for line in text.lines() {
            if line.starts_with("```") {
                in_fence = !in_fence;
            } else if !in_fence && !line.starts_with('>') && !line.is_empty() {
                own += 1;
            }
        }
        own
    }

    #[test]
    fn no_prompt_has_many_lines_of_our_own() {
        let all = golden();
        assert!(all.len() >= 12);
        for Golden { when, text } in all {
            assert!(own_lines(&text) < 60, "{when}: {} lines\n{text}", own_lines(&text));
        }
    }

    #[test]
    fn every_worker_is_told_how_to_work_and_how_to_end() {
        let workers = golden().into_iter().filter(|golden| golden.text.starts_with("# Task"));
        let workers: Vec<Golden> = workers.filter(|golden| !golden.text.contains("## What failed")).collect();
        assert!(workers.len() >= 15);
        for Golden { when, text } in workers {
            for words in ["Before you stop, run the checks", "Nobody answers questions", "<signal>BLOCKED:"] {
                assert!(text.contains(words), "{when}: {words}\n{text}");
            }
            let is_in_place = when.contains("no-commits") || when.contains("without git");
            assert_eq!(text.contains("worktree"), !is_in_place, "{when}\n{text}");
            assert_eq!(text.contains("a clean checkout of your commit"), !is_in_place, "{when}\n{text}");
        }
    }
}
