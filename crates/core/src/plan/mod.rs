//! What is to be done: the plan as every dialect reads it, and the graph its tasks form.

mod about;
mod budget;
mod check;
mod content;
mod diff;
mod fences;
mod graph;
mod id;
mod iterative;
mod model;
mod programs;
mod requests;
mod scripts;
mod shell;

pub use about::{About, AboutTask, Story};
pub use budget::Budget;
pub use check::{Argv, Check};
pub use content::{BadContent, Content, Words};
pub use diff::{Changed, PlanDiff, diff, difference};
pub use fences::{Fences, Pattern, Protect, Protected, Sandbox, executed};
pub use graph::{Cycle, Graph};
pub use id::{BadId, GroupId, Oid, RepoPath, RunId, TaskId};
pub use iterative::{AboutUnit, Domain, Iterative, Mode, SHELVES};
pub use model::{
    Agent, Digest, Exhausted, Export, Group, Issue, Land, MAX_PARALLEL, Outside, Permissions, Plan, PromptBy,
    Reuse, SILENCE, Schedule, Settings, TaskSpec, WorktreeSetup,
};
pub use programs::first_program;
pub use requests::{MergeBy, Method, Per, Requests, Whole};
pub use scripts::scripts;
pub use shell::{Hides, READ_TO_THE_END, has_pipe, hides};
