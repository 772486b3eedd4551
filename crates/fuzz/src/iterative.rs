//! Folders of the iterative system and their state files: whatever they hold, no unit is lost in silence, problems are
//! shown at their own bytes, a tick changes a mark and nothing else, and an edit is distinguished from a derived value.

use std::collections::BTreeMap;

use piton_core::diagnostic::place;
use piton_core::plan::{Argv, Graph, Iterative, TaskId};
use piton_core::system::Strictness;
use piton_core::system::config::Config;
use piton_core::system::issue::plan::Word;
use piton_core::system::iterative::plan::{Given, IterativeReading, fit, read as read_plan, write};
use piton_core::system::iterative::state::{What, commands, edits, read};
use piton_core::system::kit::boxes;
use piton_core::system::kit::checklist::{self, Mark};
use serde_json::Value;

use crate::folders::{folder, shown_in_their_files};
use crate::names::{safe_name, safe_path};
use crate::plans::{can_be_told, safe};
use crate::same;

pub(crate) const LISTS: &[&str] = &[
    "\n==> tasks.md <==\n",
    "\n==> plan.md <==\n",
    "\n==> brief.md <==\n",
    "\n==> prd.md <==\n",
    "**Mode:** knowledge\n",
    "**Mode:** dev\n",
    "**Domain:** research → writing\n",
    "**Total:** 7 tasks\n",
    "## Outcome Needed\n",
    "## Done When\n- x\n",
    "## Tasks\n",
    "## Phases\n",
    "## Notes\n",
    "## Dependencies\n",
    "T1 → T2\n",
    "T1, T2 -> T3\n",
    "T1 ──┐\n     ├──► T3\nT2 ──┘\n",
    "T1 ──┬──► T2\n     └──► T3\n",
    "T1\n|\nv\nT2\n",
    "T1 ↘\nT2 ↗\n",
    "(sequential)",
    "(independent)",
    "| T1 | T2 |\n",
    "- [ ] **T1**: Do it\n",
    "- [x] **T2**: Do it <!-- IN_PROGRESS: iteration 4 -->\n",
    "- [ ] **R1**: {title}\n",
    "  - [ ] **T1.1**: Part\n",
    "  - [ ] step\n",
    "### T4: Name\n",
    "  - Files: `a.rs`, ../b\n",
    "  - Criteria:\n    - [ ] 1. one\n",
    "  - Criteria: works\n",
    "  - Completion: `<signal>T1_DONE</signal>`\n",
    "  - Max iterations: 5-10\n",
    "  - Depends: T1-T3, none\n",
    "  - Depends: T9\n",
    "  - Model: opus\n",
    "  - Output: `outputs/x.md`\n",
    "  - Max turns: 3\n",
    "  - Status: done\n",
    "  - Owner: ann\n",
    "```\n",
    "<!-- ",
    " -->",
    "~~",
    "â†’",
    "\u{feff}",
    "\t",
    "\r\n",
];

pub(crate) const STATES: &[&str] = &[
    "\"mode\":\"dev\"",
    "\"mode\":\"knowledge\"",
    "\"phase\":\"loop\"",
    "\"phase\":\"complete\"",
    "\"phase\":\"deliver\"",
    "\"tasks\":{",
    "\"phases\":{",
    "\"T1\":",
    "\"T9\":{\"status\":\"done\"}",
    "\"status\":",
    "\"done\"",
    "\"confirming\"",
    "\"in_progress\"",
    "\"blocked\"",
    "\"timeout\"",
    "\"skipped\"",
    "\"reason\":\"Waiting on T3\"",
    "\"reason\":\"x\"",
    "\"iterations_used\":",
    "\"iterations\":[1]",
    "\"confirmations_used\":-1",
    "\"verification_passed\":true",
    "\"max_iterations\":9",
    "\"completed_at\":\"2026-01-10T12:00:00+07:00\"",
    "\"current_task\":\"T1\"",
    "\"commits\":[\"abc1234: x\"]",
    "{\"sha\":\"abc1234\"}",
    "\"feature\":\"x\"",
    "\"metrics\":{\"trend\":1}",
    "\n===\n",
    "null",
    "{}",
    "[]",
    "1.10",
    "//",
];

/// A folder of the system.
pub(crate) fn plan(bytes: &[u8]) {
    let folder = folder(bytes);
    let config = Config::default();
    let read_it = |strictness| {
        let place = ".claude/iterative/x";
        read_plan(&folder, &Given { strictness, ..Given::new("x", place, &config) })
    };
    let (found, again, strict) =
        (read_it(Strictness::Lenient), read_it(Strictness::Lenient), read_it(Strictness::Strict));
    let reading = &found.reading;
    assert_eq!(
        (&reading.plan, &reading.problems),
        (&again.reading.plan, &again.reading.problems),
        "reading twice"
    );
    assert_eq!(reading.plan, strict.reading.plan, "strictness changes what is allowed, not what is read");
    assert!(reading.is_usable() || !strict.reading.is_usable());
    shown_in_their_files(reading, &reading.problems);
    safe(&reading.plan);
    let tasks = &reading.plan.tasks;
    tasks.iter().flat_map(|task| &task.files).for_each(|path| safe_path(path.as_str()));
    tasks.iter().take(5).for_each(can_be_told);
    for check in tasks.iter().flat_map(|task| &task.checks) {
        assert!(!check.name.chars().any(char::is_control), "{:?}", check.name);
        if let Argv::Look { file, .. } = &check.run {
            safe_path(file.as_str());
        }
    }
    let about = serde_json::to_string(&found.about).expect("a folder can be told");
    assert_eq!(serde_json::from_str::<Iterative>(&about).ok().as_ref(), Some(&found.about));
    let (units, review) = tasks.split_at(tasks.len() - 1);
    assert_eq!((found.reading.before.len(), found.about.units.len()), (units.len(), units.len()));
    assert!(units.iter().all(|unit| unit.confirm && (1..=100).contains(&unit.attempts)));
    assert_eq!(review[0].depends_on.len(), units.len());
    assert!(!reading.is_usable() || (!units.is_empty() && Graph::new(tasks).is_ok()));
    for (name, text) in write(&fit(&reading.plan), |_| false) {
        assert!(!name.is_empty() && !text.is_empty());
    }
    if let Some(bytes) = folder.files.get(found.list) {
        nothing_is_lost(&found);
        ticked(&found, bytes);
    }
}

/// A line that begins like a unit is one, or part of one.
fn nothing_is_lost(found: &IterativeReading) {
    let Some(source) = found.reading.texts.get(found.list) else { return };
    let known: Vec<usize> = found.outline.nodes.iter().map(|node| node.line).collect();
    for (nth, line, _) in checklist::scan(source).items() {
        if source[line.text.clone()].starts_with("**T1**: Do it") {
            assert!(known.contains(&(nth + 1)), "line {} is lost", nth + 1);
        }
    }
}

/// Whatever is ticked is read as done, and the plan stays the same.
fn ticked(found: &IterativeReading, bytes: &[u8]) {
    let all: BTreeMap<TaskId, Word> =
        found.reading.before.keys().map(|id| (id.clone(), Word::Completed)).collect();
    let Some(new) = boxes::tick(bytes, &all) else { return };
    assert_eq!(new.missing, [], "every unit has a box");
    let odd = found.outline.nodes.iter().any(|node| node.mark == Mark::Other);
    let again = boxes::tick(&new.bytes, &all).expect("what was ticked is a text");
    assert!(again.bytes == new.bytes || odd, "ticking twice is ticking once");
}

/// What is not JSON is refused, what is JSON is read as that, and no unit is lost.
pub(crate) fn state(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = same(|| read(&text));
    for problem in &reading.problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} is no place of the text");
        place(&text, problem.span.start);
    }
    match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Err(_) => assert!(!reading.is_usable(), "this is not JSON"),
        Ok(value) if reading.is_usable() => assert_eq!(reading.state.value, value),
        Ok(_) => {}
    }
    let state = &reading.state;
    state.units.keys().for_each(|id| safe_name(id.as_str()));
    if !reading.is_usable() {
        return;
    }
    let all = state.carried(|_| false);
    for (id, unit) in &state.units {
        let kept = ["tasks", "phases"].iter().any(|name| all[*name].get(id.as_str()).is_some());
        assert!(kept, "{id} was lost");
        let past = unit.past(None);
        assert!(past.spent <= unit.iterations.max(1) && past.proof.is_none());
    }
    assert_eq!(edits(&state.value, &state.value), [], "nothing was changed");
}

/// The old file, a line `===`, and the new file.
pub(crate) fn heard(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (shown, found) = text.split_once("\n===\n").unwrap_or((&text, &text));
    let (Ok(shown), Ok(found)) = (serde_json::from_str::<Value>(shown), serde_json::from_str::<Value>(found))
    else {
        return;
    };
    for edit in same(|| edits(&shown, &found)) {
        assert!(!edit.to_string().is_empty());
        let later = matches!(edit.what, What::ReportDone { .. });
        assert_eq!(commands(&edit, "file").is_empty(), later, "{edit}");
        if let Some(task) = &edit.task {
            safe_name(task.as_str());
        }
    }
    if !found.is_object() || shown == found {
        return;
    }
    // Whatever is applied, a change of a derived field beside it is not.
    let mut counted = found.clone();
    counted["current_iteration"] = serde_json::json!(-3);
    counted["updated"] = serde_json::json!("now");
    if shown != counted {
        assert_eq!(edits(&shown, &found), edits(&shown, &counted));
    }
}
