//! Files of the iterative system: its log and its lessons, brought together with a run, and the state that a log is
//! enough for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use piton_core::chronicle::Chronicle;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{self, Command, NewRun, Note, Recorded, Report, State, Status, decide};
use piton_core::system::config::Config;
use piton_core::system::iterative::rebuild::{Claim, Outputs, Unit, logged, rebuild};
use piton_core::system::iterative::{context, guardrails, progress};
use piton_core::system::native::{self, Overrides};
use piton_core::time::Timestamp;

use crate::same;

pub(crate) const ENTRIES: &[&str] = &[
    "## T1 - Iteration 1 - 2026-01-14T10:30:00Z\n",
    "## T1 – Iter 2\n",
    "## T10: Iteration 1\n",
    "### T2 - Iteration 1\n",
    "## Tests - Iteration 1\n",
    "## Fix\n",
    "## Other\n",
    "# Progress Log\n",
    "**Did:** x\n",
    "**Remaining:** None\n",
    "**Remaining:**\n- y\n",
    "**Blockers:** z\n",
    "**Signal:** T1_DONE\n",
    "**Signal:** BLOCKED: no\n",
    "**Commit:** abc1234\n",
    "**Unit:** T1\n",
    "*(Written by Piton)*\n",
    "\n---\n\n",
    "```\n",
    "~~~~\n",
    "> ",
    "- ",
    "\r\n",
    "\u{feff}",
];

pub(crate) const LESSONS: &[&str] = &[
    "## Slow build\n",
    "## A\n",
    "- **When**: x\n",
    "- **Context**: x\n",
    "**Do:** y\n",
    "Problem: z\n",
    "- **Solution**:\n",
    "- **Learned**: T1 iteration 1\n",
    "# Guardrails\n",
    "---\n",
    "```\n",
    "\n",
    "\r\n",
    "\u{1b}[2J",
    "\u{feff}",
];

fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a valid id")
}

/// A run with a unit that failed, one that is blocked, one that waits, and something noted.
static RUN: LazyLock<(State, Vec<Recorded>)> = LazyLock::new(|| {
    let tasks = ["T1", "T2", "T10"]
        .map(|id| format!("[[task]]\nid = \"{id}\"\ntitle = \"Do {id}\"\nprompt = \"x\"\n"));
    let mut plan = native::read(&tasks.concat(), "plan", &Config::default(), &Overrides::default()).plan;
    plan.tasks.iter_mut().for_each(|task| task.checks.clear());
    let new = NewRun {
        run: RunId::new("user-auth-1").expect("a valid id"),
        plan,
        plan_path: "plan".to_owned(),
        target: None,
        base: None,
        worktree_dir: None,
    };
    let report = |task: &str, claim: run::Claim| Command::Report {
        task: id(task),
        by: "ann".to_owned(),
        fence: None,
        claim,
        report: Box::new(Report { note: "```\n## T2 - Iteration 1".to_owned(), ..Report::default() }),
    };
    let note = |note| Command::Note { by: "ann".to_owned(), note };
    let commands = [
        Command::Create(Box::new(new)),
        report("T1", run::Claim::Failed { reason: progress::NOT_FINISHED.to_owned() }),
        report("T2", run::Claim::Blocked { reason: "---".to_owned() }),
        note(Note::Entry {
            task: None,
            text: "Mind:\n\n## T1 - Iteration 1\n```".to_owned(),
            for_next: false,
        }),
        note(Note::Guardrail { text: "Heed:\n## A\n```".to_owned() }),
    ];
    let (mut state, mut events) = (State::new(), Vec::new());
    for command in &commands {
        apply(&mut state, &mut events, command);
    }
    (state, events)
});

fn apply(state: &mut State, events: &mut Vec<Recorded>, command: &Command) {
    for event in decide(state, command, Timestamp(0)).expect("it may be") {
        let recorded = Recorded { seq: state.seq() + 1, at: Timestamp(0), event };
        state.apply(&recorded).expect("a complete state");
        events.push(recorded);
    }
}

/// Whatever stands in the log stays, what was done once is not asked for again, and a state comes out of it.
pub(crate) fn log(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut state, mut events) = RUN.clone();
    let settled = same(|| progress::reconcile(Some(&text), &state, &Chronicle::of(&events)));
    for problem in settled.problems.iter().chain(&settled.changed) {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} is no place of the text");
    }
    for progress::Section { task, text } in settled.heard {
        let note = Note::Entry { task, text, for_next: false };
        apply(&mut state, &mut events, &Command::Note { by: progress::FILE.to_owned(), note });
    }
    let append = progress::reconcile(Some(&text), &state, &Chronicle::of(&events)).append;
    let whole = format!("{text}{}", append.unwrap_or_default());
    let again = progress::reconcile(Some(&whole), &state, &Chronicle::of(&events));
    assert_eq!((again.heard, again.append), (Vec::new(), None), "asked for twice: {whole}");
    assert_eq!(progress::added(&whole, &whole), []);
    for entry in progress::entries(&text) {
        assert_eq!(progress::entries(&entry.write()).len(), 1, "{entry:?}");
    }
    let unit = |name: &str| {
        let (commits, outputs) = (Vec::new(), Outputs::Exist);
        Unit { id: id(name), limit: 3, commits, landed: None, outputs }
    };
    let units = ["T1", "T2", "T10"].map(unit);
    let claims = BTreeMap::from([(id("T1"), Claim { status: Status::Completed, iterations: 1 })]);
    let rebuilt = same(|| rebuild(&units, &text, &claims));
    assert_eq!(rebuilt.units.len(), units.len(), "no unit is lost");
    for believed in rebuilt.units {
        progress::remaining(&text, &believed.unit);
        progress::saturation(&text, &believed.unit);
        let Some(past) = believed.past else { continue };
        assert_eq!(past.proof.is_some(), past.status == Status::Completed);
    }
    if let Some(entry) = logged(&rebuilt.differences, Timestamp(0)) {
        assert_eq!(progress::entries(&entry).len(), 1);
    }
    context::check(&text);
}

/// The same for lessons, which prompts quote.
pub(crate) fn lessons(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut state, mut events) = RUN.clone();
    let settled = same(|| guardrails::reconcile(Some(&text), &Chronicle::of(&events)));
    for text in settled.heard {
        let note = Note::Guardrail { text };
        apply(&mut state, &mut events, &Command::Note { by: guardrails::FILE.to_owned(), note });
    }
    let append = guardrails::reconcile(Some(&text), &Chronicle::of(&events)).append;
    let whole = format!("{text}{}", append.unwrap_or_default());
    assert_eq!(
        guardrails::reconcile(Some(&whole), &Chronicle::of(&events)),
        guardrails::Reconciled::default(),
        "{whole}"
    );
    assert_eq!(guardrails::seed(Some(&whole), &whole), None);
    let all = guardrails::parse(&text);
    guardrails::search(&all, "when x");
    let told = guardrails::brief(&all, 100);
    assert!(
        told.lines().all(|line| line.starts_with("> ") && !line.contains(|c: char| c.is_control())),
        "{told:?}"
    );
    assert!(told.split_whitespace().count() <= 100);
    for one in &all {
        assert_eq!(guardrails::parse(&one.write()).len(), 1, "{one:?}");
    }
}
