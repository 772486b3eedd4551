//! What is typed for plans of the execute system, and what was done by hand before.

use crate::system::ops::Ops;

pub(super) const OPS: Ops = Ops {
    recipes: &[
        ("initialise", "write execute-state.json with every task pending"),
        (
            "add a task",
            "jq '.tasks[\"ID\"] = {\"status\": \"pending\", \"attempts\": 0}' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        (
            "next",
            "jq -r '.tasks | to_entries[] | select(.value.status == \"in_progress\" or .value.status == \"pending\") | .key' execute-state.json",
        ),
        (
            "start",
            "jq '.tasks[\"ID\"].status = \"in_progress\" | .tasks[\"ID\"].attempts += 1' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        (
            "report done",
            "jq '.tasks[\"ID\"].status = \"completed\" | .completed += [\"ID\"]' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        (
            "report failed",
            "jq '.tasks[\"ID\"].errors += [{\"message\": \"WHY\"}] | .tasks[\"ID\"].retry_feedback += [{\"feedback\": \"TEXT\"}]' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        (
            "report blocked",
            "jq '.tasks[\"ID\"].status = \"failed\"' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        ("verify", "run the verification steps of ID's XML by hand"),
        ("orient", "jq '{completed, tasks: .tasks[\"ID\"]}' execute-state.json; cat */ID-*.xml"),
        ("progress", "watch -n 5 'cat execute-state.json | jq .metrics'"),
        ("log", "git log --all --oneline | grep \"L2-\""),
        ("merge queue", "jq '.merge_queue' execute-state.json"),
        ("worktrees", "git worktree list; git branch | grep worktree-"),
        (
            "reset a task",
            "jq '.tasks[\"ID\"] = {\"status\": \"pending\", \"attempts\": 0}' execute-state.json > tmp && mv tmp execute-state.json",
        ),
        ("reset all", "rm execute-state.json; git worktree prune; rm -rf .worktrees/"),
        ("complete", "jq '.metrics.tasks_remaining' execute-state.json"),
        ("context update", "jq '.context_update' execute-state.json"),
    ],
    ..Ops::NONE
};
