//! Which fields of the file have a meaning here.

use crate::system::kit::shape::Key;
use crate::system::kit::shape::Shape::{self, Each, Fields, Leaf, List, Loose};

/// The name of the file, also in the journal.
pub const FILE: &str = "execute-state.json";

pub(super) const ROOT: Shape = Fields(&[
    ("schema_version", Leaf),
    ("prd_slug", Leaf),
    ("project_path", Leaf),
    ("worktree_dir", Leaf),
    ("tasks_path", Leaf),
    ("started_at", Leaf),
    ("updated_at", Leaf),
    ("completed_at", Leaf),
    ("status", Leaf),
    ("stop_reason", Leaf),
    ("current_layer", Leaf),
    ("current_batch", Leaf),
    (
        "options",
        Fields(&[
            ("max_parallel", Leaf),
            ("layer_filter", Leaf),
            ("start_layer", Leaf),
            ("task_filter", Leaf),
            ("commit_prefix", Leaf),
            ("no_commits", Leaf),
            ("verbose", Leaf),
            ("quiet", Leaf),
        ]),
    ),
    (
        "layers",
        Each(&Fields(&[
            ("status", Leaf),
            ("started_at", Leaf),
            ("completed_at", Leaf),
            ("tasks_total", Leaf),
            ("tasks_completed", Leaf),
            ("tasks_failed", Leaf),
            // Of the version after this one.
            ("total", Leaf),
            ("merged", Leaf),
        ])),
    ),
    ("tasks", Each(&TASK)),
    (
        "worktrees",
        Each(&Fields(&[
            ("task_id", Leaf),
            ("path", Leaf),
            ("branch", Leaf),
            ("created_at", Leaf),
            ("status", Leaf),
        ])),
    ),
    (
        "merge_queue",
        List(
            &Fields(&[
                ("task_id", Leaf),
                ("priority", Leaf),
                ("status", Leaf),
                ("verified_at", Leaf),
                ("merged_at", Leaf),
            ]),
            Key::Field("task_id"),
        ),
    ),
    ("completed", Leaf),
    ("failed", Leaf),
    ("abandoned", Leaf),
    (
        "metrics",
        Fields(&[
            ("tasks_total", Leaf),
            ("tasks_completed", Leaf),
            ("tasks_failed", Leaf),
            ("tasks_abandoned", Leaf),
            ("tasks_remaining", Leaf),
            ("total_attempts", Leaf),
            ("total_retries", Leaf),
            ("elapsed_seconds", Leaf),
            ("total_tasks", Leaf),
            ("completed_tasks", Leaf),
            ("failed_tasks", Leaf),
            ("total_commits", Leaf),
            ("elapsed_time_seconds", Leaf),
        ]),
    ),
    (
        "context_update",
        Fields(&[
            ("status", Leaf),
            ("project_md_path", Leaf),
            ("features_added", Leaf),
            ("endpoints_added", Leaf),
            ("models_added", Leaf),
            ("commit_hash", Leaf),
            ("reason", Leaf),
        ]),
    ),
    ("piton_seq", Leaf),
    ("piton_run", Leaf),
]);

pub(super) const TASK: Shape = Fields(&[
    ("status", Leaf),
    ("attempts", Leaf),
    ("worktree_path", Loose),
    ("branch", Loose),
    ("started_at", Leaf),
    ("completed_at", Leaf),
    ("merged_at", Leaf),
    (
        "commits",
        List(
            &Fields(&[
                ("hash", Leaf),
                ("type", Leaf),
                ("attempt", Leaf),
                ("message", Leaf),
                ("fixed", Leaf),
                ("created_at", Leaf),
            ]),
            Key::Place,
        ),
    ),
    (
        "errors",
        List(
            &Fields(&[
                ("attempt", Leaf),
                ("type", Leaf),
                ("step", Leaf),
                ("message", Leaf),
                ("details", Leaf),
                ("timestamp", Leaf),
            ]),
            Key::Place,
        ),
    ),
    ("retry_feedback", List(&Fields(&[("attempt", Leaf), ("feedback", Leaf)]), Key::Place)),
]);
