//! What runs: the tasks of the list one after the other, and a validation of the whole at the end.

use super::read::IssueReading;
use super::{VALIDATION, prompt};
use crate::plan::{Content, Plan, TaskId, TaskSpec, Words};

/// Rounds in which what the validation finds is fixed.
const ROUNDS: u32 = 3;

impl IssueReading {
    /// The plan that is run. Each task builds on the one before it, so it begins when that one has landed.
    pub(super) fn sequence(&mut self) -> Plan {
        let validation = self.validation();
        let tasks = std::mem::take(&mut self.reading.plan.tasks);
        let mut plan = Plan { tasks, ..self.reading.plan.clone() };
        plan.tasks.extend(validation);
        for nth in 1..plan.tasks.len() {
            let last = plan.tasks[nth - 1].id.clone();
            if !plan.tasks[nth].depends_on.contains(&last) {
                plan.tasks[nth].depends_on.push(last);
            }
        }
        plan
    }

    /// What is checked for every task, once more when all are done. It gets an agent only if it fails.
    fn validation(&self) -> Option<TaskSpec> {
        let id = TaskId::new(VALIDATION).expect("a word is an id");
        let last = self.reading.plan.tasks.last()?;
        if self.checks.is_empty() || self.outline.nodes.iter().any(|node| node.id == id) {
            return None;
        }
        Some(TaskSpec {
            id,
            title: "Validate the whole".to_owned(),
            prompt: prompt::validation(&self.issue),
            depends_on: Vec::new(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: self.checks.clone(),
            attempts: 1 + ROUNDS,
            confirm: false,
            may_change_nothing: true,
            check_first: true,
            may_fail: false,
            gate: true,
            exports: Vec::new(),
            outside: Vec::new(),
            source: Some(Content::of_words(&Words { title: VALIDATION, ..Words::default() })),
            ..last.clone()
        })
    }
}
