//! Everything a worker needs, gathered for it: workers see neither journal nor state.

use std::sync::{Arc, OnceLock};

use piton_core::plan::{Oid, TaskId, TaskSpec, Whole};
use piton_core::prompt::Advice;
use piton_core::run::line::Stage;
use piton_core::run::{Action, Proof, Run, Status, Task};

use super::briefing::{self, Briefing};
use super::order::{Below, Member, Neighbour, Order, Running};
use super::{EngineError, Loop, ask, context};
use crate::secrets;

impl Loop<'_> {
    pub(super) fn order(&mut self, action: &Action) -> Result<Option<Order>, EngineError> {
        let Some(task) = action.task().and_then(|id| self.state.task(id).ok().flatten()) else {
            return Ok(None);
        };
        let Some(mut run) = self.state.run().cloned() else { return Ok(None) };
        secrets::restore(&mut run.settings.agents);
        let task = task.clone();
        let (mut ahead, mut passed, mut neighbours) = (Vec::new(), None, Vec::new());
        if let Action::Prove { proof, .. } | Action::Land { proof, .. } = action {
            let Some(proof) = run.line.proof(*proof).cloned() else { return Ok(None) };
            let Some(members) = self.members(&proof.chain[..proof.chain.len() - 1])? else { return Ok(None) };
            let since = run.judged_since(members.iter().map(|member| &member.task).chain([&task]));
            (ahead, neighbours) = (members, self.neighbours(since)?);
            if let Stage::Passed(tree) = proof.stage {
                passed = Some(tree);
            }
        }
        let Some(spec) = self.spec(&task.id)? else { return Ok(None) };
        let briefing = match action {
            Action::Work { .. } => {
                let guardrails = self.guardrails()?;
                Briefing::gather(&self.journal, &self.site.project, &run, &task, &spec, guardrails)?
            }
            _ => {
                let failure = briefing::failure(&self.journal, &self.run, &task)?.map(|(failure, _)| failure);
                Briefing { failure, ..Briefing::default() }
            }
        };
        // The state of an engine is whole.
        let on = self.state.footings(&task).ok().flatten();
        let below = self.below(&task);
        let order = Order {
            on,
            below,
            brought: self.brought(&run, &task),
            action: action.clone(),
            site: Arc::clone(&self.site),
            run: Arc::new(run),
            task,
            spec,
            briefing,
            ahead,
            passed,
            neighbours,
            running: Running::default(),
            place: OnceLock::new(),
            ran: Arc::default(),
            _lane: matches!(action, Action::Prove { .. }).then(|| Arc::new(self.site.lanes.enter())),
        };
        // Only the end of an agent's job says what it has used.
        let has_worked = match action {
            Action::Work { pass, .. } => order.agent_job(*pass).is_begun()?,
            _ => false,
        };
        if self.begins_nothing && !has_worked {
            order.running.stop();
        }
        Ok(Some(order))
    }

    /// The open requests that a task's own was proven on.
    fn below(&self, task: &Task) -> Vec<Below> {
        let Some(request) = task.progress.request.as_deref() else { return Vec::new() };
        let open = request.on.iter().filter_map(|footing| {
            let below = self.state.task(&footing.task).ok().flatten()?;
            let request = below.progress.request.as_deref().filter(|_| below.decided == Status::Merging)?;
            let is_open = request.opened.is_some() && request.merged.is_none();
            is_open.then(|| Below { name: request.name(), branch: request.branch.clone() })
        });
        open.collect()
    }

    /// What the target got by requests of the run, if this task is one of them.
    fn brought(&self, run: &Run, task: &Task) -> Vec<Oid> {
        let whole = run.whole().filter(|whole| whole.has(&task.id));
        let requests = whole.into_iter().flat_map(Whole::tasks);
        let known = requests.filter_map(|id| self.state.task(id).ok().flatten());
        known.filter_map(|task| task.progress.request.as_deref()?.last_merged().cloned()).collect()
    }

    /// Looked for once; what is added meanwhile is heard of.
    fn guardrails(&mut self) -> Result<Vec<Advice>, EngineError> {
        if self.guardrails.is_none() {
            self.guardrails = Some(briefing::guardrails(&self.journal, &self.run)?);
        }
        Ok(self.guardrails.clone().unwrap_or_default())
    }

    pub(super) fn question(&self, provider: &str) -> Option<ask::Question> {
        let mut run = self.state.run().cloned()?;
        secrets::restore(&mut run.settings.agents);
        let overload = run.overloads.get(provider)?.clone();
        let (site, running) = (Arc::clone(&self.site), Running::default());
        Some(ask::Question { site, run: Arc::new(run), provider: provider.to_owned(), overload, running })
    }

    pub(super) fn errand(&self) -> Result<Option<context::Errand>, EngineError> {
        let Some(run) = self.state.run().cloned() else { return Ok(None) };
        let Some(description) = run.settings.form.system().description() else { return Ok(None) };
        // What a person skipped has made nothing.
        let is_done = |spec: &TaskSpec| {
            let task = self.state.task(&spec.id).ok().flatten();
            task.is_some_and(|task| task.decided == Status::Completed)
        };
        let done = self.journal.specs(&self.run)?.into_iter().filter(is_done).collect();
        let (site, run) = (Arc::clone(&self.site), Arc::new(run));
        Ok(Some(context::Errand { site, run, description, done, running: Running::default() }))
    }

    /// Candidates by their names; nothing if one is unknown.
    fn members(&mut self, tasks: &[TaskId]) -> Result<Option<Vec<Member>>, EngineError> {
        let mut members = Vec::new();
        for id in tasks {
            let task = self.state.task(id).ok().flatten().cloned();
            let Some((task, spec)) = task.zip(self.spec(id)?) else { return Ok(None) };
            members.push(Member { task, spec });
        }
        Ok(Some(members))
    }

    fn neighbours(&mut self, since: u32) -> Result<Vec<Neighbour>, EngineError> {
        let ids: Vec<TaskId> = self.state.landed_since(since).cloned().collect();
        let mut neighbours = Vec::new();
        for task in ids {
            let checks = self.spec(&task)?.map(|spec| spec.checks.clone()).unwrap_or_default();
            let at = self.state.task(&task).ok().flatten();
            let gate = at.is_some_and(|task| task.gate);
            let landed = match at.and_then(|task| task.proof.as_ref()) {
                Some(Proof::Landed { commit, verified }) if commit != verified => Some(commit.clone()),
                _ => None,
            };
            neighbours.push(Neighbour { task, landed, gate, checks });
        }
        Ok(neighbours)
    }

    fn spec(&mut self, id: &TaskId) -> Result<Option<Arc<TaskSpec>>, EngineError> {
        if let Some(spec) = self.specs.get(id) {
            return Ok(Some(Arc::clone(spec)));
        }
        let spec = self.journal.spec(&self.run, id)?.map(Arc::new);
        self.specs.extend(spec.iter().map(|spec| (id.clone(), Arc::clone(spec))));
        Ok(spec)
    }
}
