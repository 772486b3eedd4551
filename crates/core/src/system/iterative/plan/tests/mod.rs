//! Folders as people and models write them, and what is made of each.

mod boxes;
mod content;
mod fields;
mod odd;
mod properties;
mod words;

use std::fmt::Write as _;

use super::{Given, IterativeReading, read};
use crate::diagnostic::{Severity, place};
use crate::plan::{Argv, Domain, Exhausted, Mode, Schedule, TaskId, TaskSpec};
use crate::system::config::{Config, read_config};
use crate::system::{Folder, Problem, Strictness};
use crate::toolchain::{self, Detected};

const BRIEF: &str = "# User authentication

**Created:** 2026-01-14T10:30:00Z
**Mode:** development
**Domain:** feature

## Outcome Needed

People sign in with a password,
and stay signed in.

## Done When

- a wrong password is refused
- a session ends after a day
  of silence

## Constraints

- no new dependency

## Approach / Notes

Argon2 is there already.
";

const TASKS: &str = "# User authentication - Tasks

**Created:** 2026-01-14T10:40:00Z
**Total:** 4 tasks
**Status:** 1 done, 1 in progress, 2 pending

## Dependencies

T1 → T2 → T3 (sequential)
T4 (independent)

## Tasks

- [x] **T1**: Add the user model <!-- DONE: 3 iterations -->
  - Files: `src/user.rs`, `src/db.rs`
  - Criteria: a user is stored and found again
  - Completion: `<signal>T1_DONE</signal>`
  - Max iterations: 5
  - Depends: none
  - Model: haiku

- [ ] **T2**: Check passwords <!-- IN_PROGRESS: iteration 4 -->
  - Files: `src/auth.rs`
  - Criteria:
    - a wrong password is refused
    - the hash is Argon2
  - Completion: `<signal>T2_DONE</signal>`
  - Max iterations: 8
  - Depends: T1
  - Model: sonnet

- [ ] **T3**: Keep sessions
  - Criteria: a session ends after a day
  - Depends: T2
  - Max turns: 30
  - Skill: `sessions`

- [ ] **T4**: Tell about it in the README
  - Mind the other languages.

## Notes

Errors are values here.
";

const KNOWLEDGE: &str = "# Future of work

**Mode:** knowledge
**Domain:** research

## Outcome Needed
What is known about remote work.

## Done When
- ten sources
";

const PLAN: &str = "# Future of work - Phases

**Domain:** research
**Total:** 4 phases

## Phases

- [x] **R1**: Gather sources
  - Criteria: ten of them
  - Output: `sources/`
  - Max iterations: 5

- [ ] **R2**: Read them
  - Criteria: each is summed up
  - Output: `analysis/findings.md`
  - Max iterations: 5

- [ ] **R3**: Bring it together
  - Criteria: each question has an answer

- [ ] **R4**: Write the report
  - Output: `docs/report.md`

## Dependencies

R1 → R2 → R3 → R4 (sequential)
";

fn folder(files: &[(&str, &str)]) -> Folder {
    Folder {
        files: files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect(),
    }
}

fn auth() -> Folder {
    folder(&[("brief.md", BRIEF), ("tasks.md", TASKS)])
}

fn work() -> Folder {
    folder(&[("brief.md", KNOWLEDGE), ("plan.md", PLAN)])
}

/// One list by itself, with a brief that has nothing.
fn alone(text: &str) -> Folder {
    folder(&[("brief.md", ""), ("tasks.md", text)])
}

fn detected() -> Vec<Detected> {
    toolchain::detect(&folder(&[("Makefile", "test:\n\ttrue\n")]))
}

fn reading_with(folder: &Folder, name: &str, config: &Config, strictness: Strictness) -> IterativeReading {
    let detected = detected();
    let place = format!(".claude/iterative/{name}");
    read(folder, &Given { detected: &detected, strictness, ..Given::new(name, &place, config) })
}

fn reading(folder: &Folder) -> IterativeReading {
    reading_with(folder, "user-auth", &Config::default(), Strictness::Lenient)
}

/// The problems as people read them: `file:line:column: severity: message (label)`.
fn told(read: &IterativeReading) -> String {
    let mut text = String::new();
    for Problem { file, diagnostic } in &read.reading.problems {
        let source = read.reading.texts.get(file).expect("a file that was read");
        assert!(source.get(diagnostic.span.clone()).is_some(), "{file}: {diagnostic:?}");
        let (line, column) = place(source, diagnostic.span.start);
        let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        let (message, label) = (&diagnostic.message, &diagnostic.label);
        writeln!(text, "{file}:{line}:{column}: {severity}: {message} ({label})")
            .expect("a string takes everything");
    }
    text
}

/// The units, without the review.
fn units(read: &IterativeReading) -> &[TaskSpec] {
    let (last, units) = read.reading.plan.tasks.split_last().expect("there is a review");
    assert_eq!((last.group, last.check_first), (1, true));
    units
}

/// As `id title`, with `x` where the list says that it is done.
fn tasks(read: &IterativeReading) -> Vec<String> {
    let done = |task: &TaskSpec| if read.reading.before[&task.id].done { " x" } else { "" };
    units(read).iter().map(|task| format!("{} {}{}", task.id, task.title, done(task))).collect()
}

/// As `id < what it waits for`.
fn needs(read: &IterativeReading) -> Vec<String> {
    units(read).iter().map(|task| format!("{} {:?}", task.id, task.depends_on)).collect()
}

fn unit<'r>(read: &'r IterativeReading, id: &str) -> &'r TaskSpec {
    units(read).iter().find(|task| task.id.as_str() == id).expect("there")
}

fn checks(task: &TaskSpec) -> Vec<String> {
    task.checks.iter().map(|check| check.run.to_string()).collect()
}

#[test]
fn a_list_of_tasks_becomes_a_plan() {
    let (config, wrong) = read_config("[agents.haiku]\ncommand = ['h']\n[agents.sonnet]\ncommand = ['s']\n");
    assert_eq!(wrong, []);
    let read = reading_with(&auth(), "user-auth", &config, Strictness::Strict);
    assert_eq!(told(&read), "");
    assert_eq!(
        tasks(&read),
        [
            "T1 Add the user model x",
            "T2 Check passwords",
            "T3 Keep sessions",
            "T4 Tell about it in the README"
        ]
    );
    assert_eq!(needs(&read), ["T1 []", "T2 [T1]", "T3 [T2]", "T4 []"]);
    let agents: Vec<&str> = units(&read).iter().map(|task| task.agent.as_str()).collect();
    assert_eq!(agents, ["haiku", "sonnet", "sonnet", "sonnet"]);
    let attempts: Vec<u32> = units(&read).iter().map(|task| task.attempts).collect();
    assert_eq!(attempts, [5, 8, 5, 5]);
    assert!(units(&read).iter().all(|task| task.confirm && task.group == 0 && !task.check_first));
    let settings = &read.reading.plan.settings;
    assert_eq!(
        (settings.system().name(), settings.schedule, settings.max_parallel, settings.exhausted),
        ("iterative", Schedule::Flow, 1, Exhausted::Continue)
    );
    assert_eq!(settings.commit_prefix.as_deref(), Some("feat(user-auth):"));
    assert_eq!(settings.form.brief(), Some(&read.about));
    let about = &read.about;
    assert_eq!((about.slug.as_str(), about.name.as_str()), ("user-auth", "User authentication"));
    assert_eq!((about.mode, about.domains.as_slice()), (Mode::Development, &[Domain::Feature][..]));
    assert_eq!(about.outcome, "People sign in with a password,\nand stay signed in.");
    assert_eq!(about.done_when, ["a wrong password is refused", "a session ends after a day of silence"]);
    assert_eq!(about.constraints, ["no new dependency"]);
    let third = &about.units[&TaskId::new("T3").expect("an id")];
    assert_eq!((third.max_turns, third.skill.as_deref()), (Some(30), Some("sessions")));
}

#[test]
fn everything_below_a_task_arrives() {
    let read = reading(&auth());
    let second = unit(&read, "T2");
    assert_eq!(second.criteria, ["a wrong password is refused", "the hash is Argon2"]);
    assert_eq!(format!("{:?}", unit(&read, "T1").files), "[src/user.rs, src/db.rs]");
    assert_eq!(checks(second), ["make test", "default reviews it: whether T2 is done: Check passwords"]);
    let Some(Argv::Review { ask, .. }) = second.checks.last().map(|check| &check.run) else { panic!() };
    insta::assert_snapshot!("what_a_verifier_is_asked", ask);
    assert_eq!(
        unit(&read, "T4").prompt,
        "- Mind the other languages.\n\n## Notes\n\nErrors are values here."
    );
    assert_eq!(unit(&read, "T2").prompt, "Check passwords\n\n## Notes\n\nErrors are values here.");
}

#[test]
fn the_whole_is_reviewed_at_the_end() {
    let read = reading(&auth());
    let last = read.reading.plan.tasks.last().expect("a review");
    assert_eq!((last.id.as_str(), last.attempts, last.confirm, last.may_fail), ("review", 4, false, false));
    assert_eq!(format!("{:?}", last.depends_on), "[T1, T2, T3, T4]");
    let Some(Argv::Review { agent, ask }) = last.checks.first().map(|check| &check.run) else { panic!() };
    assert_eq!(agent, "default");
    insta::assert_snapshot!("what_a_reviewer_is_asked", ask);
    let (config, _) = read_config("[agents.verifier]\ncommand = ['v']\n[agents.reviewer]\ncommand = ['r']\n");
    let read = reading_with(&auth(), "user-auth", &config, Strictness::Lenient);
    let who = |task: &TaskSpec| match task.checks.last().map(|check| &check.run) {
        Some(Argv::Review { agent, .. }) => agent.clone(),
        other => panic!("{other:?}"),
    };
    let all = &read.reading.plan.tasks;
    assert_eq!((who(&all[0]).as_str(), who(&all[4]).as_str()), ("verifier", "reviewer"));
    let groups: Vec<&str> = read.reading.plan.groups.iter().map(|group| group.id.as_str()).collect();
    assert_eq!(groups, ["tasks", "review"]);
}

#[test]
fn a_plan_of_phases_is_judged_by_what_it_makes_and_by_the_verifier() {
    let read = reading_with(&work(), "future-work", &Config::default(), Strictness::Strict);
    assert_eq!(told(&read), "");
    assert_eq!(read.list, "plan.md");
    assert_eq!(needs(&read), ["R1 []", "R2 [R1]", "R3 [R2]", "R4 [R3]"]);
    let attempts: Vec<u32> = units(&read).iter().map(|task| task.attempts).collect();
    assert_eq!(attempts, [5, 5, 5, 8], "a phase of a template has the template's limit");
    assert_eq!(
        checks(unit(&read, "R2")),
        [
            ".claude/iterative/future-work/analysis/findings.md exists",
            "default reviews it: whether R2 is done: Read them"
        ]
    );
    assert_eq!(checks(unit(&read, "R1"))[0], ".claude/iterative/future-work/sources/ exists");
    assert_eq!(checks(unit(&read, "R3")), ["default reviews it: whether R3 is done: Bring it together"]);
    assert_eq!(checks(unit(&read, "R4"))[0], "docs/report.md exists", "from the root of the project");
    assert_eq!((read.about.mode, read.about.domains.as_slice()), (Mode::Knowledge, &[Domain::Research][..]));
    assert!(read.detected.is_empty());
}

#[test]
fn domains_may_be_chained() {
    let text = "# x\n## Phases\n- [ ] **R1**: a\n- [ ] **D1**: b\n- [ ] **D2**: c\n## Dependencies\nR1 → D1 ──► D2\n";
    for domain in ["research → writing", "research, writing", "research", ""] {
        let brief = format!("**Mode:** knowledge\n**Domain:** {domain}\n");
        let read = reading(&folder(&[("brief.md", &brief), ("plan.md", text)]));
        assert_eq!(told(&read), "", "{domain}");
        assert_eq!(read.about.domains, [Domain::Research, Domain::Writing]);
        let attempts: Vec<u32> = units(&read).iter().map(|task| task.attempts).collect();
        assert_eq!(attempts, [5, 3, 8]);
        assert_eq!(needs(&read), ["R1 []", "D1 [R1]", "D2 [D1]"]);
    }
}

#[test]
fn a_tick_is_no_change_of_the_plan() {
    let before = reading(&auth()).reading.plan;
    let ticked = TASKS
        .replace("[ ]", "[x]")
        .replace("<!-- IN_PROGRESS: iteration 4 -->", "<!-- DONE: 5 iterations -->")
        .replace("**Status:** 1 done, 1 in progress, 2 pending", "**Status:** 4 done");
    let after = reading(&folder(&[("brief.md", BRIEF), ("tasks.md", &ticked)]));
    assert_eq!(before.hash(), after.reading.plan.hash());
    assert!(after.reading.before.values().all(|before| before.done));
    let other = TASKS.replace("the hash is Argon2", "the hash is scrypt");
    let other = reading(&folder(&[("brief.md", BRIEF), ("tasks.md", &other)]));
    assert_ne!(before.hash(), other.reading.plan.hash());
}

#[test]
fn the_older_layout_is_read() {
    let prd = "# User authentication - PRD\n\n## Problem\nNobody can sign in.\n\n## Success Criteria\n- they can\n\n## Constraints\n- soon\n";
    let read = reading(&folder(&[("prd.md", prd), ("tasks.md", TASKS)]));
    assert_eq!(read.about.name, "User authentication");
    assert_eq!(read.about.outcome, "Nobody can sign in.");
    assert_eq!((read.about.done_when.len(), read.about.constraints.len()), (1, 1));
    assert_eq!(read.about.mode, Mode::Development);
}

#[test]
fn without_checks_only_the_verifier_judges_which_is_told() {
    let read = |config: &Config| {
        let given = Given::new("x", "p", config);
        super::read(&alone("- [ ] **T1**: a\n"), &given)
    };
    let bare = read(&Config::default());
    assert_eq!(
        told(&bare),
        "tasks.md:1:1: warning: no checks were found in the project (only the verifier says when a unit is done)\n"
    );
    let (own, _) = read_config("[defaults]\nchecks = ['just prove']\nattempts = 7\nconfirm = false\n");
    let read = read(&own);
    assert_eq!(told(&read), "");
    let first = unit(&read, "T1");
    assert_eq!((checks(first)[0].as_str(), first.attempts, first.confirm), ("just prove", 7, true));
}

#[test]
fn a_part_of_the_brief_may_have_parts_of_its_own() {
    let brief = "# x\n## Outcome Needed\n### Now\nthis\n```\ncode\n```\n### Later\nthat\n## Background\n### Done\n- asked, too\n\
                 ## Done When\n### Must\n- a\n### Should\n- [ ] b\n<!-- c -->\n## Notes\nd\n";
    let read = reading(&folder(&[("brief.md", brief), ("tasks.md", "- [ ] **T1**: a\n")]));
    assert_eq!(told(&read), "");
    assert_eq!(read.about.outcome, "this\n```\ncode\n```\nthat");
    assert_eq!(
        read.about.done_when,
        ["asked, too", "a", "b"],
        "what is called so is one, wherever it stands"
    );
}

#[test]
fn the_brief_and_the_list_may_disagree_about_the_mode() {
    let read = reading(&folder(&[("brief.md", KNOWLEDGE), ("tasks.md", "- [ ] **T1**: a\n")]));
    assert_eq!(
        told(&read),
        "brief.md:3:11: warning: the mode is knowledge, but there is only `tasks.md` (the list decides)\n"
    );
    assert_eq!(read.about.mode, Mode::Development);
    let both = [("brief.md", KNOWLEDGE), ("tasks.md", "- [ ] **T1**: a\n"), ("plan.md", PLAN)];
    let read = reading(&folder(&both));
    assert_eq!(read.list, "plan.md");
    assert_eq!(
        told(&read),
        "tasks.md:1:1: warning: `plan.md` is read instead of this file (units in this file are ignored)\n"
    );
    let read = reading(&folder(&[("brief.md", "**Mode:** dev\n"), both[1], both[2]]));
    assert_eq!(read.list, "tasks.md");
    let read = reading(&folder(&[("brief.md", "**Mode:** deep\n**Domain:** poetry, wrting\n"), both[1]]));
    assert_eq!(
        told(&read),
        "brief.md:1:11: warning: \"deep\" is not a known mode (development or knowledge; the list decides)\n\
         brief.md:2:13: warning: \"poetry\" is not a known domain (feature, bug, refactor, research, writing, analysis, planning)\n\
         brief.md:2:13: warning: \"wrting\" is not a known domain (did you mean `writing`?)\n"
    );
}

#[test]
fn without_a_brief_or_a_list_it_is_told() {
    let read = reading(&folder(&[("tasks.md", "- [ ] **T1**: a\n")]));
    assert_eq!(
        told(&read),
        "brief.md:1:1: warning: `brief.md` does not exist (the goal is unknown, so the review cannot check it)\n"
    );
    assert_eq!(read.about.name, "user-auth");
    let read = reading(&folder(&[("brief.md", KNOWLEDGE)]));
    assert_eq!(
        told(&read),
        "plan.md:1:1: error: there is neither `tasks.md` nor `plan.md` (a plan of this system has one of them)\n"
    );
}

#[test]
fn the_review_has_an_id_of_its_own() {
    let (_, task) = super::review::review(
        &Config::default(),
        &crate::plan::Iterative::default(),
        &["T1", "Review", "review-2"].map(|id| crate::system::native::testing::task(id, &[])),
        1,
    );
    assert_eq!(task.id.as_str(), "review-3");
}
