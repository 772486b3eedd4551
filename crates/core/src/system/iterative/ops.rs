//! What is typed for iterative work, and what was done by hand before.

use crate::system::ops::Ops;

pub(super) const OPS: Ops = Ops {
    recipes: &[
        ("initialise", "write state.json with every unit pending"),
        ("start", "set current_task, status in_progress, and count iterations_used up"),
        ("report done", "append to progress.md with Signal: ID_DONE; status confirming"),
        ("report unfinished", "append to progress.md with Remaining"),
        ("report blocked", "append to progress.md with Blockers; status blocked, reason WHY"),
        ("confirm", "count confirmations_used up; status verifying"),
        ("verify", "start a verifier; verification_passed true, status done"),
        ("orient", "read state.json, and the last entry of progress.md"),
        ("journal", "append to progress.md"),
        ("guardrail", "append to guardrails.md"),
        ("guardrail search", "grep -i TEXT guardrails.md"),
        ("phase", "edit phase in state.json"),
        ("raise", "edit max_iterations in state.json"),
        ("rebuild", "read progress.md and git log, and write state.json again"),
    ],
    typed: &[
        ("add a task", Some("piton add ID --title TEXT --after ID --file PATH")),
        ("initialise", Some("piton next --plan SLUG")),
        ("start", Some("piton start ID --by NAME   (an iteration)")),
        ("report done", Some("piton report ID done --did TEXT --commit HASH")),
        ("context update", None),
    ],
    more: &[
        ("phase", "piton phase, piton phase WORD"),
        ("report unfinished", "piton report ID unfinished --did TEXT --remaining TEXT"),
        ("confirm", "piton confirm ID --by NAME"),
        ("guardrail search", "piton guardrail search TEXT"),
        ("raise", "piton raise ID --attempts N"),
        ("retry", "piton retry ID   (what a person changed in its worktree stays)"),
        ("skip", "piton skip ID --reason WHY"),
        ("rebuild", "piton import SLUG --reset"),
    ],
};
