//! The prompt of a task. The agent looks at the project when it starts, so the prompt has nothing that changes during a
//! run.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Node;
use super::name::Issue;
use super::{DESIGN, REQUIREMENTS};

/// How many characters of a parent's text are repeated for each of its tasks.
const REPEATED: usize = 500;

pub(super) struct About<'a> {
    pub(super) issue: &'a Issue,
    pub(super) phase: Option<&'a str>,
    /// The boxes above it with their text, the nearest first.
    pub(super) above: &'a [(&'a Node, &'a str)],
    pub(super) body: &'a str,
    /// See [`bearings`].
    pub(super) bearings: &'a str,
}

/// What the agent is asked to do. The caller adds files, criteria and checks.
pub(super) fn prompt(about: &About<'_>, retold: &mut usize) -> String {
    let mut text = String::with_capacity(about.body.len() + about.bearings.len() + 400);
    let mut tell = |words: std::fmt::Arguments<'_>| {
        text.write_fmt(words).expect("a text takes all that is written to it");
    };
    match about.issue.number {
        Some(number) => tell(format_args!("This is one task of issue #{number}: {}.", about.issue.title)),
        None => tell(format_args!("This is one task of a plan: {}.", about.issue.title)),
    }
    for (node, _) in about.above {
        tell(format_args!(" It is part of {}, {}.", node.id, shortened(&node.title, 100)));
    }
    if let Some(phase) = about.phase {
        tell(format_args!(" It belongs to {}.", shortened(phase.trim(), 100)));
    }
    if !about.body.is_empty() {
        tell(format_args!("\n\n{}", about.body));
    }
    for (node, body) in about.above.iter().filter(|(_, body)| !body.is_empty()) {
        let body = shortened(body, REPEATED);
        if let Some(left) = retold.checked_sub(body.len()) {
            *retold = left;
            tell(format_args!("\n\n## What {} says\n\n{body}", node.id));
        }
    }
    text += about.bearings;
    text
}

/// Where an agent looks before it begins: the same for all tasks of a plan.
pub(super) fn bearings(place: &str, has_requirements: bool) -> String {
    let mut text = format!(
        "\n\n## Get your bearings first\n\nTasks of this plan are done one after the other, each by a new agent. Look at what is there:\n\n- `piton orient` shows what earlier tasks made, which patterns they set and what they left for you;\n- `{place}/execution-state.json` and `{place}/journal.md` hold the same, with the decisions behind it;\n- `git log` and `git diff` show what has changed since the work on this issue began."
    );
    if has_requirements {
        text += &format!("\n\nRead `{place}/{REQUIREMENTS}` and `{place}/{DESIGN}` where you need more.");
    }
    text
}

/// At most `most` characters of a text.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // Few are longer, and no text has more characters than bytes.
    match text.char_indices().nth(most).filter(|_| text.len() > most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// For the last task, which gets an agent only if its checks fail.
pub(super) fn validation(issue: &Issue) -> String {
    format!(
        "All tasks of {} are done, but some of the project's own checks fail. Find out why and fix it, in the code rather than in the checks, without undoing what the tasks have done.\n",
        if issue.title.is_empty() { "this plan" } else { &issue.title }
    )
}
