//! Every check on the base, and hooks that would refuse commits.

use std::collections::BTreeMap;

use piton_core::order::Pairs;
use piton_core::plan::{Argv, Check, Digest, RunId, TaskId, TaskSpec};
use piton_core::run::{CheckResult, Command, Verdict, shell_word};
use piton_core::system::config::Config;
use piton_core::time::Span;
use piton_core::view::counted;
use piton_engine::checks;
use piton_engine::project::new_run_id;
use serde_json::{Value, json};

use super::scratch::Scratch;
use crate::failure::{Failure, Outcome};
use crate::plans::FoundPlan;
use crate::runs::flags::RunArgs;
use crate::runs::{create, engine};
use crate::ui;

/// Hooks that run when somebody commits.
const HOOKS: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];
/// How long a commit may take.
const PATIENCE: Span = Span::minutes(10);

/// What was seen on the base.
#[derive(Debug, Default)]
pub(super) struct Base {
    checks: Vec<Seen>,
    /// What the set-up of a worktree said, if it failed.
    pub(super) setup: Option<String>,
    /// Tasks all of whose checks pass before anything is done: these prove nothing.
    pub(super) green: Vec<TaskId>,
    /// What a hook said that refuses commits.
    pub(super) hooks: Option<String>,
}

#[derive(Debug)]
struct Seen {
    check: Check,
    /// None: it judges every landing.
    tasks: Vec<TaskId>,
    /// None: an agent makes it, and it was not run.
    result: Option<CheckResult>,
}

/// Run each check once.
pub(super) fn look(
    found: &FoundPlan,
    scratch: &Scratch,
    args: &RunArgs,
    say: &dyn Fn(String),
) -> Outcome<Base> {
    let mut base = Base { checks: distinct(found), ..Base::default() };
    if let Some(setup) = &found.plan.settings.worktree.setup {
        let bare = begin(scratch, found, args, None)?;
        let check = Check::new("set-up".to_owned(), setup.clone(), PATIENCE);
        let result = run_one(scratch, &bare, &check)?;
        let failed = result.filter(|result| !result.verdict.lets_pass());
        base.setup = failed.map(|result| said(&result));
        say(match &base.setup {
            None => format!("  {}  (set-up): works", ui::plain(&setup.to_string())),
            Some(said) => {
                format!("  {}  (set-up): fails: {}", ui::plain(&setup.to_string()), ui::plain(said))
            }
        });
        if base.setup.is_some() {
            // Each of them would begin with it, and fail.
            return Ok(base);
        }
    }
    let run = begin(scratch, found, args, found.plan.settings.worktree.setup.clone())?;
    for seen in &mut base.checks {
        if seen.check.reviewer().is_none() {
            seen.result = run_one(scratch, &run, &seen.check)?;
        }
        say(seen.line());
    }
    base.green = green(found, &base.checks);
    if !base.green.is_empty() {
        let names: Vec<&str> = base.green.iter().map(TaskId::as_str).collect();
        say(format!("  already green: {}. These checks alone prove nothing there", names.join(", ")));
    }
    if let Some(hooks) =
        scratch.hooks.as_ref().filter(|hooks| HOOKS.iter().any(|hook| hooks.join(hook).is_file()))
    {
        let commit = format!(
            "git -c core.hooksPath={} commit --quiet --allow-empty -m 'Rehearse a commit' && git reset --quiet --soft HEAD~1",
            shell_word(hooks.as_str())
        );
        let check = Check::new("hooks".to_owned(), Argv::Shell(commit), PATIENCE);
        let result = run_one(scratch, &run, &check)?;
        let refused = result.filter(|result| !result.verdict.lets_pass());
        base.hooks = refused.map(|result| said(&result));
        say(match &base.hooks {
            None => "  hooks let agents commit".to_owned(),
            Some(said) => format!("  a hook refuses commits of agents: {}", ui::plain(said)),
        });
    }
    Ok(base)
}

/// A run in the journal of the clone: it says how worktrees are made ready.
fn begin(scratch: &Scratch, found: &FoundPlan, args: &RunArgs, setup: Option<Argv>) -> Outcome<RunId> {
    let project = &scratch.project;
    let run = new_run_id(&found.plan.name);
    let args = RunArgs { base_branch: None, project_path: None, ..args.clone() };
    let mut creation = create::creation(&args, found, project, &run)?;
    if let Command::Create(new) = &mut creation {
        new.plan.settings.worktree.setup = setup;
    }
    create::begin(&mut project.journal()?, project, &run, &[creation])?;
    Ok(run)
}

fn run_one(scratch: &Scratch, run: &RunId, check: &Check) -> Outcome<Option<CheckResult>> {
    let project = &scratch.project;
    let Some(repo) = project.repo()? else { return Ok(None) };
    let tip = repo.branch_tip(&repo.current_branch()?)?;
    let tip = tip.ok_or_else(|| Failure::new("the scratch clone has no commit"))?;
    let id = TaskId::new("rehearsal").map_err(|error| Failure::new(error.to_string()))?;
    let spec = TaskSpec { checks: vec![check.clone()], ..Config::default().task(id, "", "") };
    let ran = checks::run_all_on(project, run, &spec, &tip, "rehearse.", &engine::keeper()?, &|_| ());
    Ok(ran.map_err(|error| Failure::new(error.to_string()))?.1.into_iter().next())
}

/// Each command once, with the tasks that it judges.
fn distinct(found: &FoundPlan) -> Vec<Seen> {
    let plan = &found.plan;
    let of_tasks =
        plan.tasks.iter().flat_map(|task| task.checks.iter().map(move |check| (check, Some(&task.id))));
    let all = of_tasks.chain(plan.settings.landing_checks.iter().map(|check| (check, None)));
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut seen: Vec<Seen> = Vec::new();
    for (check, task) in all {
        let place = *places.entry(check.digest()).or_insert_with(|| {
            seen.push(Seen { check: check.clone(), tasks: Vec::new(), result: None });
            seen.len() - 1
        });
        seen[place].tasks.extend(task.cloned());
    }
    seen
}

/// Tasks of which every check passes on the base.
fn green(found: &FoundPlan, seen: &[Seen]) -> Vec<TaskId> {
    let passes: BTreeMap<Digest, bool> =
        seen.iter().map(|seen| (seen.check.digest(), seen.passes())).into_map();
    let is_green = |task: &&TaskSpec| {
        !task.checks.is_empty()
            && !task.by_person
            && !found.is_done_before(&task.id)
            && task.checks.iter().all(|check| passes.get(&check.digest()) == Some(&true))
    };
    found.plan.tasks.iter().filter(is_green).map(|task| task.id.clone()).collect()
}

impl Base {
    /// Whether every check can judge, and agents can commit.
    pub(super) fn is_ready(&self) -> bool {
        self.hooks.is_none() && self.setup.is_none() && self.checks.iter().all(|seen| seen.broken().is_none())
    }

    pub(super) fn document(&self) -> Vec<Value> {
        self.checks.iter().map(Seen::document).collect()
    }

    /// What to do about it.
    pub(super) fn advice(&self) -> Vec<String> {
        let broken = self.checks.iter().filter_map(|seen| Some((seen, seen.broken()?)));
        let mut advice: Vec<String> =
            broken.map(|(seen, why)| format!("the check `{}` cannot judge: {why}", seen.check.run)).collect();
        advice.extend(
            self.setup.iter().map(|said| format!("the set-up of a worktree fails: {}", ui::plain(said))),
        );
        advice.extend(
            self.hooks.iter().map(|_| {
                "let the hook pass what agents commit, or skip it when PITON_TASK is set".to_owned()
            }),
        );
        advice
    }
}

impl Seen {
    fn passes(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.verdict.lets_pass())
    }

    /// Why it would never be a pass, whatever agents do.
    fn broken(&self) -> Option<&str> {
        match &self.result.as_ref()?.verdict {
            Verdict::Broken { reason } | Verdict::Impossible { reason } => Some(reason),
            Verdict::Pass | Verdict::Fail { .. } | Verdict::Noticed { .. } | Verdict::Rejected { .. } => None,
        }
    }

    fn of(&self) -> String {
        match &self.tasks[..] {
            [] => "every landing".to_owned(),
            [task] => task.to_string(),
            tasks => counted(tasks.len() as u64, "task"),
        }
    }

    fn line(&self) -> String {
        let what = match (&self.result, self.broken()) {
            (None, _) => "an agent judges; it was not asked".to_owned(),
            (_, Some(reason)) => format!("cannot judge: {}", ui::plain(reason)),
            (Some(result), None) if self.passes() => format!("passes already, in {}", result.took),
            (Some(result), None) => format!("fails, as long as nothing is done, in {}", result.took),
        };
        format!("  {}  ({}): {what}", ui::plain(&self.check.run.to_string()), self.of())
    }

    fn document(&self) -> Value {
        let result = self.result.as_ref();
        json!({
            "name": self.check.name,
            "command": self.check.run.to_string(),
            "tasks": self.tasks,
            "verdict": result.map(|result| &result.verdict),
            "took_ms": result.map(|result| result.took),
        })
    }
}

/// The end of what a command said, or how it ended.
fn said(result: &CheckResult) -> String {
    const MOST: usize = 5;
    let lines: Vec<&str> = result.tail.lines().filter(|line| !line.trim().is_empty()).collect();
    match (&lines[lines.len().saturating_sub(MOST)..], &result.verdict) {
        ([], Verdict::Fail { exit }) => format!("exit status {exit}"),
        ([], verdict) => format!("{verdict:?}"),
        (last, _) => last.join("; "),
    }
}
