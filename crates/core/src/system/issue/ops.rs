//! What is typed for issues, and what was done by hand before.

use crate::system::ops::Ops;

pub(super) const OPS: Ops = Ops {
    recipes: &[
        ("initialise", "cat > execution-state.json <<EOF … ; a loop over tasks.md that fills .tasks"),
        (
            "next",
            "jq -r '.tasks[] | select(.status == \"pending\") | {id, description} | @json' execution-state.json | head -1",
        ),
        (
            "start",
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"in_progress\", \"started_at\": \"NOW\"}' execution-state.json > tmp && mv tmp execution-state.json",
        ),
        (
            "report done",
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"completed\", …}' execution-state.json > tmp && mv tmp execution-state.json; cat >> journal.md <<EOF …",
        ),
        (
            "report failed",
            "jq '(.tasks[] | select(.id == \"ID\")) |= . + {\"status\": \"failed\", \"notes\": \"WHY\"}' execution-state.json > tmp && mv tmp execution-state.json",
        ),
        (
            "verify",
            "jq -r '.tasks[] | select(.id == \"ID\") | .status' execution-state.json; grep -c '## Task ID:' journal.md",
        ),
        (
            "orient",
            "jq '.tasks[] | select(.status == \"completed\")' execution-state.json; cat journal.md; git diff origin/main --name-only",
        ),
        (
            "progress",
            "jq '[.tasks[] | select(.status == \"completed\")] | length' execution-state.json, divided by hand",
        ),
        ("log", "cat journal.md"),
        ("journal", "cat >> journal.md <<EOF …"),
        ("complete", "jq '[.tasks[] | select(.status != \"completed\")] | length' execution-state.json"),
    ],
    ..Ops::NONE
};
