//! Writing back that a plan was carried out: GSD goes by a file, the summary of the plan, and shows a box in the roadmap.
//! The boxes of phases, the table of progress and the state are GSD's own: it changes them after its verification.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::place::{self, PlanPath};
use super::roadmap::{PlanBox, Roadmap};
use crate::chronicle::{Chronicle, Story};
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::run::{Proof, State, Status, Task};
use crate::system::kit::boxes::{self, Ticked};
use crate::system::kit::checklist;
use crate::system::kit::draft::{Marked, Signs, holds, sign_of, ticked};
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::{Companion, Put, Reconciled, Ticking, Ticks};

/// Why a box alone does not claim anything.
const NO_SUMMARY: &str = "it has no summary, which is what counts for GSD; `piton report ID done` claims it";
/// What a summary says that Piton wrote: it may be written again.
const OURS: &str = "*Written by Piton from its journal.*";

/// The files that are written with a roadmap. Summaries come first: GSD reads a tick without one as a mistake.
pub(super) fn companions(names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
    let files = place::along(names);
    let plans = place::plans(files.iter().map(String::as_str));
    let summary = |plan: &PlanPath| {
        Box::new(Summary { plan: plan.clone(), path: plan.summary() }) as Box<dyn Companion>
    };
    let mut all: Vec<Box<dyn Companion>> = plans.iter().map(summary).collect();
    let has = |file: &String| files.contains(file);
    let done =
        plans.iter().map(|plan| has(&plan.summary()) || plan.older_summary().is_some_and(|file| has(&file)));
    all.push(Box::new(Boxes { done: done.collect(), plans }));
    all
}

/// The roadmap, as a list whose plans are ticked.
pub(super) struct Boxes {
    pub(super) plans: Vec<PlanPath>,
    /// Whether each of them has a summary.
    pub(super) done: Vec<bool>,
}

impl Boxes {
    /// The boxes that are about a plan with a file.
    fn marks(&self, text: &str) -> Vec<(Marked, PlanBox)> {
        let map = Roadmap::read(&checklist::scan(text), text);
        let mut found: Vec<(Marked, PlanBox)> = Vec::new();
        for entry in map.plans {
            let Some(plan) = place::of_box(&entry.name, &self.plans) else { continue };
            // A plan that is listed twice is ticked where it is listed first.
            if !found.iter().any(|(mark, _)| mark.task == plan.id) {
                let (place, is_done) = (entry.mark.place.clone(), entry.mark.is_done);
                found.push((Marked { task: plan.id.clone(), place, is_done }, entry));
            }
        }
        found
    }

    fn has_summary(&self, id: &TaskId) -> bool {
        self.plans.iter().zip(&self.done).any(|(plan, done)| plan.id == *id && *done)
    }
}

impl Ticking for Boxes {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        let marks: Vec<Marked> =
            self.marks(&text::decode(bytes).text).into_iter().map(|(mark, _)| mark).collect();
        let against = |id: &TaskId| (!self.has_summary(id)).then_some(NO_SUMMARY);
        ticked(&marks).into_keys().map(|id| (id.clone(), against(&id))).into_map()
    }

    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String> {
        self.marks(&text::decode(bytes).text)
            .into_iter()
            .map(|(mark, entry)| (mark.task, entry.title))
            .into_map()
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        let text = text::decode(bytes).text;
        let done = sign_of(&checklist::scan(&text), &text, "x");
        let marks: Vec<Marked> = self.marks(&text).into_iter().map(|(mark, _)| mark).collect();
        Signs { done, open: " " }.write(bytes, &text, &marks, stand)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        holds(now, left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        boxes::has_boxes(bytes)
    }
}

/// What says that one plan was carried out.
struct Summary {
    plan: PlanPath,
    path: String,
}

impl Companion for Summary {
    fn name(&self) -> Option<&str> {
        Some(&self.path)
    }

    /// What somebody else wrote stays. One that Piton wrote is written again where the plan was done again.
    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        _claimed: &[TaskId],
        _shown: &Ticks,
    ) -> Reconciled {
        let is_ours = found.is_none_or(|bytes| self.is_like(bytes));
        let task = state.task(&self.plan.id).ok().flatten();
        let done =
            task.filter(|task| task.decided == Status::Completed && !task.removed && !task.is_claimed());
        let story = chronicle.task(&self.plan.id).filter(|story| !story.lost);
        let (Some(task), Some(story), true) = (done, story, is_ours) else { return Reconciled::default() };
        let text = summary(&self.plan, task, story).into_bytes();
        let put = if found == Some(&text[..]) { Put::Nothing } else { Put::Whole(text) };
        Reconciled { put, ..Reconciled::default() }
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        String::from_utf8_lossy(bytes).contains(OURS) && {
            let own = format!("\nplan: \"{}\"\n", self.plan.id);
            String::from_utf8_lossy(bytes).contains(&own)
        }
    }

    /// It can be made again.
    fn holds(&self, _now: &[u8], left: &[u8]) -> bool {
        self.is_like(left)
    }
}

/// What was done and what proves it. It says what the journal holds and nothing more: GSD's own verification reads it.
fn summary(plan: &PlanPath, task: &Task, story: &Story) -> String {
    let mut text = format!("---\nphase: {}\nplan: \"{}\"\n", quoted(&plan.phase), plan.id);
    if let Some(changed) = &story.changed {
        text.push_str("\nkey-files:\n");
        for (name, files) in [("created", &changed.created), ("modified", &changed.modified)] {
            let files: Vec<String> = files.iter().map(|file| format!("\n    - {}", quoted(file))).collect();
            let _ = writeln!(
                text,
                "  {name}:{}",
                if files.is_empty() { " []".to_owned() } else { files.concat() }
            );
        }
    }
    if let Some(at) = story.completed_at.or(story.merged_at) {
        let _ = writeln!(text, "\ncompleted: {}", &at.to_string()[.."2026-01-01".len()]);
    }
    let _ =
        write!(text, "---\n\n# Plan {}: {}\n\n{OURS}\n\n## Evidence\n\n", plan.id, one_line(&story.title));
    match &task.proof {
        Some(Proof::Landed { commit, .. }) => {
            let _ = writeln!(text, "- landed as {commit}");
        }
        _ => text.push_str("- reported as done; nothing was landed for it\n"),
    }
    for (command, passed) in &story.checked {
        let _ =
            writeln!(text, "- `{}` {}", one_line(command), if *passed { "passed" } else { "did not pass" });
    }
    let notes: Vec<&str> =
        story.reports.iter().map(|report| report.note.trim()).filter(|note| !note.is_empty()).collect();
    if let Some(last) = notes.last() {
        let _ = write!(text, "\n## What its agent reported\n\n{last}\n");
    }
    let decisions: Vec<&String> = story.reports.iter().flat_map(|report| &report.decisions).collect();
    if !decisions.is_empty() {
        text.push_str("\n## Decisions\n\n");
        decisions.iter().for_each(|decision| text.push_str(&format!("- {}\n", one_line(decision))));
    }
    text
}

/// In quotes, where YAML could read it as something else.
fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
