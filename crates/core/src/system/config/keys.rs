//! Every key of `plan.toml` and `piton.toml`, by table: what a misspelt one is measured against, and what the
//! published schema must agree with.

use crate::diagnostic::nearest;

/// The keys one table may hold.
#[derive(Debug)]
pub(in crate::system) struct Keys {
    /// The table as people write it, for messages.
    pub(in crate::system) table: &'static str,
    pub(in crate::system) names: &'static [&'static str],
}

pub(in crate::system) const PLAN: Keys = Keys {
    table: "the plan",
    names: &["name", "policy", "agents", "worktree", "sandbox", "budget", "defaults", "group", "task"],
};

pub(in crate::system) const CONFIG: Keys = Keys {
    table: "`piton.toml`",
    names: &[
        "policy", "agents", "worktree", "sandbox", "budget", "defaults", "gates", "issues", "requests",
        "notify", "journal",
    ],
};

pub(in crate::system) const POLICY: Keys = Keys {
    table: "`[policy]`",
    names: &[
        "schedule",
        "order",
        "subtasks",
        "max_parallel",
        "exhausted",
        "escalation",
        "feedback",
        "landing_checks",
        "backoff",
        "landing_wait",
        "land",
        "landing_parallel",
        "early_conflicts",
        "commit_prefix",
        "author",
        "startup",
        "protected",
        "protect",
    ],
};

pub(in crate::system) const AGENT: Keys = Keys {
    table: "`[agents.NAME]`",
    names: &[
        "adapter",
        "command",
        "prompt",
        "env",
        "program",
        "model",
        "args",
        "max_turns",
        "budget_usd",
        "permissions",
        "provider",
        "fallback",
        "mcp",
        "hooks",
    ],
};

pub(in crate::system) const SANDBOX: Keys =
    Keys { table: "`[sandbox]`", names: &["mode", "writable", "memory_mib", "processes"] };

pub(in crate::system) const NOTIFY: Keys =
    Keys { table: "`[notify]`", names: &["on", "desktop", "command", "webhook"] };

pub(in crate::system) const ISSUES: Keys =
    Keys { table: "`[issues]`", names: &["done", "comments", "assign", "label", "poll"] };

pub(in crate::system) const REQUESTS: Keys = Keys {
    table: "`[requests]`",
    names: &["per", "merge", "method", "stack", "remote", "labels", "draft", "rounds", "poll", "settle"],
};

pub(in crate::system) const JOURNAL: Keys = Keys { table: "`[journal]`", names: &["url"] };

pub(in crate::system) const BUDGET: Keys = Keys {
    table: "`[budget]`",
    names: &[
        "run_usd",
        "run_tokens",
        "run_time",
        "task_usd",
        "task_tokens",
        "task_time",
        "attempt_usd",
        "attempt_tokens",
        "attempt_time",
    ],
};

pub(in crate::system) const WORKTREE: Keys =
    Keys { table: "`[worktree]`", names: &["copy", "setup", "reuse", "warm", "keep_mib"] };

pub(in crate::system) const DEFAULTS: Keys = Keys {
    table: "`[defaults]`",
    names: &[
        "agent",
        "checks",
        "attempts",
        "priority",
        "timeout",
        "silence",
        "confirm",
        "may_change_nothing",
        "check_first",
        "may_fail",
    ],
};

pub(in crate::system) const GROUP: Keys = Keys { table: "`[[group]]`", names: &["id", "title"] };

pub(in crate::system) const TASK: Keys = Keys {
    table: "`[[task]]`",
    names: &[
        "id",
        "title",
        "prompt",
        "group",
        "depends_on",
        "files",
        "criteria",
        "checks",
        "agent",
        "attempts",
        "priority",
        "timeout",
        "silence",
        "confirm",
        "may_change_nothing",
        "check_first",
        "may_fail",
        "gate",
        "by_person",
    ],
};

pub(in crate::system) const CHECK: Keys = Keys {
    table: "a check",
    names: &["name", "run", "file", "holds", "review", "ask", "timeout", "cwd", "pipefail", "fresh", "cache"],
};

pub(in crate::system) const GATE: Keys = Keys {
    table: "`[gates.NAME]`",
    names: &[
        "name", "run", "file", "holds", "review", "ask", "timeout", "cwd", "pipefail", "fresh", "cache",
        "fixes",
    ],
};

/// Tables in which a misplaced key may belong, the likeliest first.
const TABLES: &[&Keys] = &[&DEFAULTS, &POLICY, &WORKTREE, &TASK, &AGENT, &PLAN, &CONFIG];

/// Words that other tools use for ours, too far away for a nearest match.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("after", "depends_on"),
    ("blocked_by", "depends_on"),
    ("dependencies", "depends_on"),
    ("deps", "depends_on"),
    ("needs", "depends_on"),
    ("requires", "depends_on"),
    ("body", "prompt"),
    ("description", "prompt"),
    ("instructions", "prompt"),
    ("acceptance", "criteria"),
    ("tests", "checks"),
    ("validation", "checks"),
    ("verification", "checks"),
    ("verify", "checks"),
    ("max_attempts", "attempts"),
    ("max_iterations", "attempts"),
    ("retries", "attempts"),
    ("layer", "group"),
    ("phase", "group"),
    ("jobs", "max_parallel"),
    ("parallel", "max_parallel"),
    ("workers", "max_parallel"),
    ("args", "command"),
    ("cmd", "command"),
    ("run", "command"),
    ("cmd", "run"),
    ("command", "run"),
    ("environment", "env"),
    ("name", "title"),
];

impl Keys {
    /// What to say at a key that this table does not have.
    pub(in crate::system) fn suggestion(&self, key: &str) -> String {
        let other = OTHER_WORDS.iter().find(|(word, ours)| *word == key && self.names.contains(ours));
        if let Some((_, ours)) = other {
            return format!("Piton calls this `{ours}`");
        }
        if let Some(near) = nearest(key, self.names.iter().copied()) {
            return format!("did you mean `{near}`?");
        }
        match TABLES.iter().find(|table| table.names.contains(&key)) {
            Some(table) => format!("it belongs in {}", table.table),
            None => "Piton does not use this".to_owned(),
        }
    }

    /// All of them, as a list for people.
    pub(in crate::system) fn listed(&self) -> String {
        quoted(self.names.iter().copied())
    }
}

/// Names in backquotes with commas between them; a long list is cut, with how many are left.
pub(in crate::system) fn quoted<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 16;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
