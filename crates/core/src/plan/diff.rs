//! What changed between two versions of a plan, for a person to judge.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{Export, TaskId, TaskSpec};
use crate::line_diff;
use crate::time::Span;

/// Lines of a prompt's difference that are shown.
const LINES: usize = 12;
/// Tasks that are shown, of each kind.
const TASKS: usize = 20;
/// A prompt beyond this is compared by size only: a line by line comparison could take minutes.
const LONG_PROMPT: usize = 256 << 10;

/// The difference between two lists of tasks. The order of tasks does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanDiff {
    pub added: Vec<TaskId>,
    pub removed: Vec<TaskId>,
    pub changed: Vec<Changed>,
}

/// One task that says something else than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub id: TaskId,
    /// The keys concerned, as the plan spells them.
    pub fields: Vec<&'static str>,
    /// What to show below: one line per short field, then the prompt's difference.
    details: Vec<String>,
}

impl Changed {
    /// Each key with how it changed, in one line.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fields.iter().zip(&self.details).map(|(&field, detail)| {
            let how =
                detail.strip_prefix(field).and_then(|rest| rest.strip_prefix(':')).unwrap_or(detail).trim();
            (field, if how.is_empty() { "differs" } else { how })
        })
    }
}

impl PlanDiff {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Compare two versions of a plan's tasks.
pub fn diff(old: &[TaskSpec], new: &[TaskSpec]) -> PlanDiff {
    let before: HashMap<&TaskId, &TaskSpec> = old.iter().map(|task| (&task.id, task)).collect();
    let after: HashSet<&TaskId> = new.iter().map(|task| &task.id).collect();
    let mut plan = PlanDiff::default();
    for task in new {
        match before.get(&task.id) {
            None => plan.added.push(task.id.clone()),
            Some(&was) if was == task => {}
            Some(&was) => {
                plan.changed.extend(Some(changed(was, task)).filter(|task| !task.fields.is_empty()));
            }
        }
    }
    plan.removed = old.iter().filter(|task| !after.contains(&task.id)).map(|task| task.id.clone()).collect();
    plan
}

/// What differs between two versions of a plan that are not the same, in words.
pub fn difference(old: &[TaskSpec], new: &[TaskSpec]) -> String {
    let diff = diff(old, new);
    if diff.is_empty() { "groups or landing checks differ".to_owned() } else { diff.to_string() }
}

/// What a check requires besides its command.
fn rules(check: &crate::plan::Check) -> String {
    let pipes = check.pipefail.map(|said| if said { ", pipefail" } else { ", no pipefail" });
    let fresh = check.fresh.then_some(", fresh");
    let uncached = check.uncached.then_some(", not cached");
    pipes.into_iter().chain(fresh).chain(uncached).collect()
}

fn changed(old: &TaskSpec, new: &TaskSpec) -> Changed {
    // Taken apart without `..`: a new field cannot be forgotten here.
    let TaskSpec {
        id,
        title,
        prompt,
        group,
        depends_on,
        files,
        criteria,
        checks,
        priority,
        agent,
        attempts,
        confirm,
        may_change_nothing,
        check_first,
        may_fail,
        gate,
        by_person,
        timeout,
        silence,
        exports,
        outside,
        // Made of the words above.
        source: _,
    } = new;
    let mut changed = Changed { id: id.clone(), fields: Vec::new(), details: Vec::new() };
    let mut field = |name, differs: bool, show: &dyn Fn(&TaskSpec) -> String| {
        if differs {
            changed.fields.push(name);
            changed.details.push(format!("{name}: {} → {}", short(&show(old)), short(&show(new))));
        }
    };
    field("title", *title != old.title, &|task| task.title.clone());
    field("group", *group != old.group, &|task| format!("{}", task.group + 1));
    field("depends_on", *depends_on != old.depends_on, &|task| list(&task.depends_on));
    field("outside", *outside != old.outside, &|task| {
        list(&task.outside.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    field("files", *files != old.files, &|task| list(&task.files));
    field("by_person", *by_person != old.by_person, &|task| task.by_person.to_string());
    field("criteria", *criteria != old.criteria, &|task| list(&task.criteria));
    field("checks", *checks != old.checks, &|task| {
        let shown = |check: &crate::plan::Check| match check.name == check.run.to_string() {
            true => format!("{} ({}{})", check.run, check.timeout, rules(check)),
            false => format!("{}: {} ({}{})", check.name, check.run, check.timeout, rules(check)),
        };
        list(&task.checks.iter().map(shown).collect::<Vec<_>>())
    });
    field("priority", *priority != old.priority, &|task| task.priority.to_string());
    field("agent", *agent != old.agent, &|task| task.agent.clone());
    field("attempts", *attempts != old.attempts, &|task| task.attempts.to_string());
    field("confirm", *confirm != old.confirm, &|task| task.confirm.to_string());
    field("may_change_nothing", *may_change_nothing != old.may_change_nothing, &|task| {
        task.may_change_nothing.to_string()
    });
    field("check_first", *check_first != old.check_first, &|task| task.check_first.to_string());
    field("may_fail", *may_fail != old.may_fail, &|task| task.may_fail.to_string());
    field("gate", *gate != old.gate, &|task| task.gate.to_string());
    field("timeout", *timeout != old.timeout, &|task| task.timeout.to_string());
    field("silence", *silence != old.silence, &|task| {
        let said = |silence: Span| if silence.is_zero() { "off".to_owned() } else { silence.to_string() };
        task.silence.map_or_else(|| "not said".to_owned(), said)
    });
    field("exports", *exports != old.exports, &|task| {
        let named = |export: &Export| match export {
            Export::Interface { name, kind, .. } => format!("{kind} {name}"),
            Export::Endpoint { method, path, .. } => format!("{method} {path}"),
        };
        list(&task.exports.iter().map(named).collect::<Vec<_>>())
    });
    if *prompt != old.prompt {
        changed.fields.push("prompt");
        changed.details.push("prompt:".to_owned());
        changed.details.extend(prompt_lines(&old.prompt, prompt).into_iter().map(|line| format!("  {line}")));
    }
    changed
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    match items {
        [] => "none".to_owned(),
        items => items.iter().map(T::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// One line, cut where it stops being a glance.
fn short(text: &str) -> String {
    const LONGEST: usize = 70;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A unified difference with one line around each change, cut after a few lines.
fn prompt_lines(old: &str, new: &str) -> Vec<String> {
    if old.len().max(new.len()) > LONG_PROMPT {
        return vec![format!("{} bytes → {} bytes", old.len(), new.len())];
    }
    let mut lines = Vec::new();
    for hunk in line_diff::hunks(old, new, 1) {
        lines.push(hunk.header);
        let shown = hunk.lines.iter().map(|(sign, line)| format!("{sign}{line}").trim_end().to_owned());
        lines.extend(shown);
    }
    if lines.len() > LINES {
        let hidden = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("… {hidden} more lines"));
    }
    lines
}

/// Several lines: `+` added, `-` removed, `~` changed with what changed below.
impl fmt::Display for PlanDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no task changed");
        }
        let mut lines = Vec::new();
        let mut many = |all: usize, what: &str, each: &dyn Fn(usize, &mut Vec<String>)| {
            (0..all.min(TASKS)).for_each(|i| each(i, &mut lines));
            if all > TASKS {
                lines.push(format!("… {} more {what}", all - TASKS));
            }
        };
        many(self.added.len(), "added", &|i, lines| lines.push(format!("+ {}", self.added[i])));
        many(self.removed.len(), "removed", &|i, lines| lines.push(format!("- {}", self.removed[i])));
        many(self.changed.len(), "changed", &|i, lines| {
            lines.push(format!("~ {}", self.changed[i].id));
            lines.extend(self.changed[i].details.iter().map(|line| format!("    {line}")));
        });
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Argv, Check};
    use crate::system::native::testing::tasks;

    #[test]
    fn a_person_can_read_what_changed() {
        let old = tasks(&[("a", &[]), ("b", &["a"]), ("c", &[])]);
        let mut new = tasks(&[("d", &[]), ("b", &[]), ("a", &[])]);
        new[1].prompt = "Please do b\nand test it\n".into();
        new[1].silence = Some(Span::minutes(10));
        new[1].checks.push(Check::new("lint".into(), Argv::parse("make lint"), Span::minutes(1)));
        let diff = diff(&old, &new);
        assert_eq!(diff.changed[0].fields, ["depends_on", "checks", "silence", "prompt"]);
        insta::assert_snapshot!(diff, @r"
        + d
        - c
        ~ b
            depends_on: a → none
            checks: true (5m 00s) → true (5m 00s), lint: make lint (1m 00s)
            silence: not said → 10m 00s
            prompt:
              @@ -1 +1,2 @@
              -Please do b
              +Please do b
              +and test it
        ");
    }

    #[test]
    fn order_does_not_count_and_long_prompts_are_cut() {
        let mut old = tasks(&[("a", &[]), ("b", &[])]);
        let mut new = tasks(&[("b", &[]), ("a", &[])]);
        assert!(diff(&old, &new).is_empty());
        assert_eq!(diff(&old, &new).to_string(), "no task changed");
        old[0].prompt = "x\n".repeat(100);
        new[1].prompt = "y\n".repeat(100);
        let shown = diff(&old, &new).to_string();
        assert!(shown.ends_with("… 189 more lines"), "{shown}");
        new[1].prompt = "y\n".repeat(LONG_PROMPT);
        assert!(diff(&old, &new).to_string().ends_with("200 bytes → 524288 bytes"));
    }
}
