//! The phases that work other than code usually goes through, four for each domain, and how many iterations each gets.

use crate::plan::{Domain, TaskId};

/// Iterations for simple phases, for most phases, and for long ones.
const FEW: u32 = 3;
const SOME: u32 = 5;
const MANY: u32 = 8;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    pub id: &'static str,
    pub title: &'static str,
    /// What can be seen when it is done.
    pub criteria: &'static str,
    /// Below the plan's folder; one of them is a folder.
    pub output: &'static str,
    pub limit: u32,
}

const RESEARCH: [Phase; 4] = [
    Phase {
        id: "R1",
        title: "Gather sources",
        criteria: "each source is a file of its own that says where it is from and why it can be trusted",
        output: "sources/",
        limit: SOME,
    },
    Phase {
        id: "R2",
        title: "Take out what they say",
        criteria: "every claim names its source, and where sources contradict each other it is said",
        output: "analysis/findings.md",
        limit: SOME,
    },
    Phase {
        id: "R3",
        title: "Bring it together",
        criteria: "each question of the brief has an answer, or the reason why there is none",
        output: "analysis/synthesis.md",
        limit: SOME,
    },
    Phase {
        id: "R4",
        title: "Write the report",
        criteria: "a reader who has read nothing else understands it, and finds the source of every claim",
        output: "outputs/report.md",
        limit: MANY,
    },
];

const WRITING: [Phase; 4] = [
    Phase {
        id: "D1",
        title: "Outline",
        criteria: "every part has one purpose, and together they come to what the brief asks for",
        output: "drafts/outline.md",
        limit: FEW,
    },
    Phase {
        id: "D2",
        title: "Write the first draft",
        criteria: "every part of the outline is written out, with no gaps left for later",
        output: "drafts/draft.md",
        limit: MANY,
    },
    Phase {
        id: "D3",
        title: "Revise",
        criteria: "nothing is said twice, and nothing that the outline asks for is missing",
        output: "drafts/revised.md",
        limit: SOME,
    },
    Phase {
        id: "D4",
        title: "Polish",
        criteria: "it reads well aloud, and its facts, names and numbers are right",
        output: "outputs/final.md",
        limit: FEW,
    },
];

const ANALYSIS: [Phase; 4] = [
    Phase {
        id: "A1",
        title: "Frame the question",
        criteria: "it is said what is asked, what would be an answer, and what is left out",
        output: "analysis/question.md",
        limit: FEW,
    },
    Phase {
        id: "A2",
        title: "Collect the data",
        criteria: "the data is there with its origin, and what is missing or doubtful is named",
        output: "data/",
        limit: SOME,
    },
    Phase {
        id: "A3",
        title: "Analyse it",
        criteria: "every step can be repeated, and what speaks against the result is looked at",
        output: "analysis/analysis.md",
        limit: MANY,
    },
    Phase {
        id: "A4",
        title: "Draw conclusions",
        criteria: "each conclusion follows from the analysis, with how sure it is",
        output: "outputs/conclusions.md",
        limit: SOME,
    },
];

const PLANNING: [Phase; 4] = [
    Phase {
        id: "P1",
        title: "Say what is wanted",
        criteria: "the goal can be told apart from its means, and its limits are named",
        output: "planning/goal.md",
        limit: FEW,
    },
    Phase {
        id: "P2",
        title: "Weigh the ways to it",
        criteria: "there are at least two, each with what it costs and what could go wrong",
        output: "planning/options.md",
        limit: SOME,
    },
    Phase {
        id: "P3",
        title: "Plan the chosen one",
        criteria: "every step says who does it, what it needs and how one sees that it is done",
        output: "planning/plan.md",
        limit: MANY,
    },
    Phase {
        id: "P4",
        title: "Test the plan",
        criteria: "it was gone through step by step, and what failed is put right or named as a risk",
        output: "outputs/plan.md",
        limit: SOME,
    },
];

/// The phases of a domain; empty for those in which code is written.
pub fn phases(domain: Domain) -> &'static [Phase] {
    match domain {
        Domain::Feature | Domain::Bug | Domain::Refactor => &[],
        Domain::Research => &RESEARCH,
        Domain::Writing => &WRITING,
        Domain::Analysis => &ANALYSIS,
        Domain::Planning => &PLANNING,
    }
}

/// The limit of a phase that does not say its own.
pub(super) fn limit(id: &TaskId) -> Option<u32> {
    let all = Domain::ALL.into_iter().flat_map(phases);
    all.into_iter().find(|phase| phase.id.eq_ignore_ascii_case(id.as_str())).map(|phase| phase.limit)
}

/// The domain whose phases are called like this one.
pub(super) fn domain_of(id: &TaskId) -> Option<Domain> {
    let letter = id.as_str().get(..1)?;
    let is_like = |phase: &Phase| phase.id.get(..1).is_some_and(|own| own.eq_ignore_ascii_case(letter));
    Domain::ALL.into_iter().find(|domain| phases(*domain).iter().any(is_like))
}
