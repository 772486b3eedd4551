//! `piton ops`: what the ledger can do, and what people did by hand before.

use clap::Args;
use piton_core::plan::Dialect;
use serde_json::json;

use crate::args::{DialectArg, Which};
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui::{self, DIM};

#[derive(Debug, Args)]
pub(crate) struct OpsArgs {
    /// The system whose recipes are shown [default: that of the current run]
    #[arg(long, value_enum)]
    pub dialect: Option<DialectArg>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// One operation. What it replaces is a recipe of the execute system's users, where they have one.
struct Op {
    name: &'static str,
    command: &'static str,
    execute: Option<&'static str>,
    /// The same for those who work on issues.
    issue: Option<&'static str>,
}

const OPS: &[Op] = &[
    Op {
        name: "initialise",
        command: "piton next --plan PLAN",
        execute: Some("write execute-state.json with every task pending"),
        issue: Some("cat > execution-state.json <<EOF … ; a loop over tasks.md that fills .tasks"),
    },
    Op {
        name: "add a task",
        command: "piton add ID --title TEXT --check COMMAND",
        execute: Some(
            "jq '.tasks[\"ID\"] = {\"status\": \"pending\", \"attempts\": 0}' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: None,
    },
    Op {
        name: "next",
        command: "piton next",
        execute: Some(
            "jq -r '.tasks | to_entries[] | select(.value.status == \"in_progress\" or .value.status == \"pending\") | .key' execute-state.json",
        ),
        issue: Some(
            "jq -r '.tasks[] | select(.status == \"pending\") | {id, description} | @json' execution-state.json | head -1",
        ),
    },
    Op {
        name: "start",
        command: "piton start ID --by NAME",
        execute: Some(
            "jq '.tasks[\"ID\"].status = \"in_progress\" | .tasks[\"ID\"].attempts += 1' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: Some(
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"in_progress\", \"started_at\": \"NOW\"}' execution-state.json > tmp && mv tmp execution-state.json",
        ),
    },
    Op {
        name: "report done",
        command: "piton report ID done --commit HASH --test-results FILE",
        execute: Some(
            "jq '.tasks[\"ID\"].status = \"completed\" | .completed += [\"ID\"]' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: Some(
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"completed\", …}' execution-state.json > tmp && mv tmp execution-state.json; cat >> journal.md <<EOF …",
        ),
    },
    Op {
        name: "report failed",
        command: "piton report ID failed --reason WHY --feedback TEXT",
        execute: Some(
            "jq '.tasks[\"ID\"].errors += [{\"message\": \"WHY\"}] | .tasks[\"ID\"].retry_feedback += [{\"feedback\": \"TEXT\"}]' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: Some(
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"failed\", \"notes\": \"WHY\"}' execution-state.json > tmp && mv tmp execution-state.json",
        ),
    },
    Op {
        name: "report blocked",
        command: "piton report ID blocked --reason WHY",
        execute: Some(
            "jq '.tasks[\"ID\"].status = \"failed\"' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: None,
    },
    Op {
        name: "verify",
        command: "piton verify ID",
        execute: Some("run the verification steps of ID's XML by hand"),
        issue: Some(
            "jq -r '.tasks[] | select(.id == \"ID\") | .status' execution-state.json; grep -c '## Task ID:' journal.md",
        ),
    },
    Op {
        name: "orient",
        command: "piton orient ID",
        execute: Some("jq '{completed, tasks: .tasks[\"ID\"]}' execute-state.json; cat */ID-*.xml"),
        issue: Some(
            "jq '.tasks[] | select(.status == \"completed\")' execution-state.json; cat journal.md; git diff origin/main --name-only",
        ),
    },
    Op {
        name: "progress",
        command: "piton progress",
        execute: Some("watch -n 5 'cat execute-state.json | jq .metrics'"),
        issue: Some(
            "jq '[.tasks[] | select(.status == \"completed\")] | length' execution-state.json, divided by hand",
        ),
    },
    Op {
        name: "log",
        command: "piton log",
        execute: Some("git log --all --oneline | grep \"L2-\""),
        issue: Some("cat journal.md"),
    },
    Op {
        name: "journal",
        command: "piton journal add TEXT --task ID",
        execute: None,
        issue: Some("cat >> journal.md <<EOF …"),
    },
    Op { name: "guardrail", command: "piton guardrail add TEXT", execute: None, issue: None },
    Op { name: "drop guardrail", command: "piton guardrail remove TEXT", execute: None, issue: None },
    Op {
        name: "merge queue",
        command: "piton queue",
        execute: Some("jq '.merge_queue' execute-state.json"),
        issue: None,
    },
    Op {
        name: "worktrees",
        command: "piton doctor",
        execute: Some("git worktree list; git branch | grep worktree-"),
        issue: None,
    },
    Op { name: "answer", command: "piton answer ID TEXT", execute: None, issue: None },
    Op {
        name: "reset a task",
        command: "piton reset ID",
        execute: Some(
            "jq '.tasks[\"ID\"] = {\"status\": \"pending\", \"attempts\": 0}' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        issue: None,
    },
    Op {
        name: "reset all",
        command: "piton run PLAN --reset",
        execute: Some("rm execute-state.json; git worktree prune; rm -rf .worktrees/"),
        issue: None,
    },
    Op {
        name: "complete",
        command: "piton complete",
        execute: Some("jq '.metrics.tasks_remaining' execute-state.json"),
        issue: Some("jq '[.tasks[] | select(.status != \"completed\")] | length' execution-state.json"),
    },
    Op {
        name: "context update",
        command: "piton context",
        execute: Some("jq '.context_update' execute-state.json"),
        issue: None,
    },
];

impl Op {
    /// How it is typed; `None` where plans of that system have no use for it.
    fn typed(&self, dialect: Dialect) -> Option<&'static str> {
        match (dialect, self.name) {
            (Dialect::Rwkit, "add a task") => {
                Some("piton add ID --title TEXT --story ID --agent NAME --file PATH")
            }
            (Dialect::Iterative, "add a task") => Some("piton add ID --title TEXT --after ID --file PATH"),
            (Dialect::Iterative, "initialise") => Some("piton next --plan SLUG"),
            (Dialect::Iterative, "start") => Some("piton start ID --by NAME   (an iteration)"),
            (Dialect::Iterative, "report done") => Some("piton report ID done --did TEXT --commit HASH"),
            (Dialect::Iterative, "context update") => None,
            (Dialect::Rwkit, "journal") => Some("piton journal add 'LEVEL: TEXT'"),
            (Dialect::Rwkit, "context update") => None,
            _ => Some(self.command),
        }
    }

    fn recipe(&self, dialect: Dialect) -> Option<&'static str> {
        match dialect {
            Dialect::Native => None,
            Dialect::Iterative => iterative(self.name),
            Dialect::Execute => self.execute,
            Dialect::Issue => self.issue,
            Dialect::Rwkit => rwkit(self.name),
        }
    }
}

/// The recipes of those who work on todolists, by the name of the operation.
fn rwkit(name: &str) -> Option<&'static str> {
    Some(match name {
        "initialise" => {
            "jq '.session_id = … | .status = \"running\"' .claude/templates/state-template.json > .claude/rw-kit.state.json"
        }
        "add a task" => "jq '.tasks[$tid] = {…} | .progress.total_tasks += 1 | .progress.pending += 1'",
        "start" => {
            "jq '.tasks[$tid].status = \"in_progress\" | .progress.in_progress += 1 | .progress.pending -= 1'"
        }
        "report done" => {
            "jq '.tasks[$tid].status = \"completed\" | .tasks[$tid].verification.agent_done = true | …' (layer 1)"
        }
        "verify" => "jq '.tasks[$tid].verification.files_exist = true' (layer 2), and state_synced (layer 3)",
        "report failed" => {
            "jq '.tasks[$tid].status = \"failed\" | .retry_counts[$tid] = ((.retry_counts[$tid] // 0) + 1) | …'"
        }
        "report blocked" => "jq '.tasks[$tid].status = \"blocked\" | .blocked_tasks += [$tid] | …'",
        "progress" => "jq '.progress' .claude/rw-kit.state.json",
        "log" => "jq '.logs' .claude/rw-kit.state.json",
        "journal" => "jq '.logs += [{\"timestamp\": $ts, \"level\": $level, \"message\": $msg}]'",
        "gates" => "jq '.quality_gates' .claude/rw-kit.state.json",
        "gate" => "jq '.quality_gates[$gate] = $status'",
        "degrade a phase" => "jq '.degraded_phases += [$phase] | .quality_gates[$phase] = \"degraded\"'",
        "QA cycle" => "jq '.qa_cycles += 1'",
        "batches" => "jq '.batches += [{…}]', '.batches[$bid].status = \"in_progress\"', '… = \"completed\"'",
        "batch compacted" => "jq '.batches[$bid].compacted = true'",
        "resume point" => "jq -r '.resume_point.phase // empty' .claude/rw-kit.state.json",
        "complete" => "jq '.status = \"completed\" | .resume_point = {…}'",
        _ => return None,
    })
}

/// What those who work in iterations do by hand, by the name of the operation.
fn iterative(name: &str) -> Option<&'static str> {
    Some(match name {
        "initialise" => "write state.json with every unit pending",
        "start" => "set current_task, status in_progress, and count iterations_used up",
        "report done" => "append to progress.md with Signal: ID_DONE; status confirming",
        "report unfinished" => "append to progress.md with Remaining",
        "report blocked" => "append to progress.md with Blockers; status blocked, reason WHY",
        "confirm" => "count confirmations_used up; status verifying",
        "verify" => "start a verifier; verification_passed true, status done",
        "orient" => "read state.json, and the last entry of progress.md",
        "journal" => "append to progress.md",
        "guardrail" => "append to guardrails.md",
        "guardrail search" => "grep -i TEXT guardrails.md",
        "phase" => "edit phase in state.json",
        "raise" => "edit max_iterations in state.json",
        "rebuild" => "read progress.md and git log, and write state.json anew",
        _ => return None,
    })
}

/// What they have more of.
const OF_ITERATIONS: &[(&str, &str)] = &[
    ("phase", "piton phase, piton phase WORD"),
    ("report unfinished", "piton report ID unfinished --did TEXT --remaining TEXT"),
    ("confirm", "piton confirm ID --by NAME"),
    ("guardrail search", "piton guardrail search TEXT"),
    ("raise", "piton raise ID --attempts N"),
    ("retry", "piton retry ID   (what a person changed in its worktree stays)"),
    ("skip", "piton skip ID --reason WHY"),
    ("rebuild", "piton import SLUG --reset"),
];

/// What only runs of todolists have.
const OF_LISTS: &[(&str, &str)] = &[
    ("gates", "piton gate"),
    ("gate", "piton gate NAME passed"),
    ("degrade a phase", "piton gate NAME degraded --reason TEXT"),
    ("QA cycle", "piton gate qa_review failed --reason TEXT"),
    ("batches", "piton batch"),
    ("batch compacted", "piton batch N --compacted"),
    ("resume point", "piton resume-point"),
];

pub(crate) fn ops(args: &OpsArgs) -> Outcome<Exit> {
    let dialect = match args.dialect {
        Some(dialect) => dialect.into(),
        None => {
            let FoundRun { journal, run, .. } = find::run(&args.which)?;
            standing::facts(&journal, &run)?.settings.dialect()
        }
    };
    let mut all: Vec<(&str, &str, Option<&str>)> =
        OPS.iter().filter_map(|op| Some((op.name, op.typed(dialect)?, op.recipe(dialect)))).collect();
    if dialect == Dialect::Iterative {
        all.extend(OF_ITERATIONS.iter().map(|(name, command)| (*name, *command, iterative(name))));
    }
    if dialect == Dialect::Rwkit {
        all.extend(OF_LISTS.iter().map(|(name, command)| (*name, *command, rwkit(name))));
    }
    if args.json {
        let op = |(name, command, recipe): &(&str, &str, Option<&str>)| json!({ "name": name, "command": command, "replaces": recipe });
        ui::answer_json(&json!({ "dialect": dialect, "operations": all.iter().map(op).collect::<Vec<_>>() }));
        return Ok(FINE);
    }
    for (name, command, recipe) in all {
        ui::answer_line(format!("{name:15} {command}"));
        if let Some(recipe) = recipe {
            ui::answer_line(ui::styled(DIM, format!("{:15} instead of: {recipe}", "")));
        }
    }
    Ok(FINE)
}
