//! What can be done with a run by command, and what people of a system did by hand before.

use super::System;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub name: &'static str,
    /// How it is typed.
    pub command: &'static str,
    /// What it replaces, where the system's people have a recipe for it.
    pub replaces: Option<&'static str>,
}

/// What a system says about operations, each by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ops {
    pub recipes: &'static [(&'static str, &'static str)],
    /// Usual ones that are typed in another way; `None`: plans of the system have no use for it.
    pub typed: &'static [(&'static str, Option<&'static str>)],
    /// What only this system has.
    pub more: &'static [(&'static str, &'static str)],
}

impl Ops {
    pub const NONE: Ops = Ops { recipes: &[], typed: &[], more: &[] };
}

/// What every run has.
const USUAL: &[(&str, &str)] = &[
    ("initialise", "piton next --plan PLAN"),
    ("add a task", "piton add ID --title TEXT --check COMMAND"),
    ("next", "piton next"),
    ("start", "piton start ID --by NAME"),
    ("report done", "piton report ID done --commit HASH --test-results FILE"),
    ("report failed", "piton report ID failed --reason WHY --feedback TEXT"),
    ("report blocked", "piton report ID blocked --reason WHY"),
    ("verify", "piton verify ID"),
    ("orient", "piton orient ID"),
    ("progress", "piton progress"),
    ("log", "piton log"),
    ("journal", "piton journal add TEXT --task ID"),
    ("guardrail", "piton guardrail add TEXT"),
    ("drop guardrail", "piton guardrail remove TEXT"),
    ("merge queue", "piton queue"),
    ("worktrees", "piton doctor"),
    ("answer", "piton answer ID TEXT"),
    ("reset a task", "piton reset ID"),
    ("reset all", "piton run PLAN --reset"),
    ("complete", "piton complete"),
    ("context update", "piton context"),
];

/// Every operation on runs of a system, the usual ones first.
pub fn all(system: &dyn System) -> Vec<Op> {
    let ops = system.ops();
    let replaces = |name| ops.recipes.iter().find(|(known, _)| *known == name).map(|(_, recipe)| *recipe);
    let usual = USUAL.iter().filter_map(|(name, command)| {
        let own = ops.typed.iter().find(|(known, _)| known == name).map(|(_, command)| *command);
        Some((*name, own.unwrap_or(Some(*command))?))
    });
    let every = usual.chain(ops.more.iter().copied());
    every.map(|(name, command)| Op { name, command, replaces: replaces(name) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::systems;

    #[test]
    fn whoever_enters_what_was_made_has_a_file_for_it() {
        for system in systems() {
            assert_eq!(system.policy().keeps_description, system.description().is_some(), "{system:?}");
        }
    }

    #[test]
    fn every_word_of_a_system_is_about_an_operation() {
        for system in systems() {
            let (ops, all) = (system.ops(), all(system));
            let usual = |name: &str| USUAL.iter().any(|(known, _)| *known == name);
            for (name, _) in ops.recipes {
                assert!(all.iter().any(|op| op.name == *name), "{system:?} has no operation `{name}`");
            }
            assert!(ops.typed.iter().all(|(name, _)| usual(name)), "{system:?}");
            assert!(ops.more.iter().all(|(name, _)| !usual(name)), "{system:?}");
        }
    }
}
