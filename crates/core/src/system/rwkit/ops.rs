//! What is typed for todolists, and what was done by hand before.

use crate::system::ops::Ops;

pub(super) const OPS: Ops = Ops {
    recipes: &[
        (
            "initialise",
            "jq '.session_id = … | .status = \"running\"' .claude/templates/state-template.json > .claude/rw-kit.state.json",
        ),
        ("add a task", "jq '.tasks[$tid] = {…} | .progress.total_tasks += 1 | .progress.pending += 1'"),
        (
            "start",
            "jq '.tasks[$tid].status = \"in_progress\" | .progress.in_progress += 1 | .progress.pending -= 1'",
        ),
        (
            "report done",
            "jq '.tasks[$tid].status = \"completed\" | .tasks[$tid].verification.agent_done = true | …' (layer 1)",
        ),
        ("verify", "jq '.tasks[$tid].verification.files_exist = true' (layer 2), and state_synced (layer 3)"),
        (
            "report failed",
            "jq '.tasks[$tid].status = \"failed\" | .retry_counts[$tid] = ((.retry_counts[$tid] // 0) + 1) | …'",
        ),
        ("report blocked", "jq '.tasks[$tid].status = \"blocked\" | .blocked_tasks += [$tid] | …'"),
        ("progress", "jq '.progress' .claude/rw-kit.state.json"),
        ("log", "jq '.logs' .claude/rw-kit.state.json"),
        ("journal", "jq '.logs += [{\"timestamp\": $ts, \"level\": $level, \"message\": $msg}]'"),
        ("gates", "jq '.quality_gates' .claude/rw-kit.state.json"),
        ("gate", "jq '.quality_gates[$gate] = $status'"),
        ("degrade a phase", "jq '.degraded_phases += [$phase] | .quality_gates[$phase] = \"degraded\"'"),
        ("QA cycle", "jq '.qa_cycles += 1'"),
        ("batches", "jq '.batches += [{…}]', '.batches[$bid].status = \"in_progress\"', '… = \"completed\"'"),
        ("batch compacted", "jq '.batches[$bid].compacted = true'"),
        ("resume point", "jq -r '.resume_point.phase // empty' .claude/rw-kit.state.json"),
        ("complete", "jq '.status = \"completed\" | .resume_point = {…}'"),
    ],
    typed: &[
        ("add a task", Some("piton add ID --title TEXT --story ID --agent NAME --file PATH")),
        ("journal", Some("piton journal add 'LEVEL: TEXT'")),
        ("context update", None),
    ],
    more: &[
        ("gates", "piton gate"),
        ("gate", "piton gate NAME passed"),
        ("degrade a phase", "piton gate NAME degraded --reason TEXT"),
        ("QA cycle", "piton gate qa_review failed --reason TEXT"),
        ("batches", "piton batch"),
        ("batch compacted", "piton batch N --compacted"),
        ("resume point", "piton resume-point"),
    ],
};
