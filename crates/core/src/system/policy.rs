//! What the rules and the engine have to know about a system, as plain facts: they go by these, and know no system.

/// What holds for every run of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A task's fields are what its author wrote. Elsewhere a reader adds to them, gates among it.
    pub as_written: bool,
    /// The plan's own file holds settings, too. Elsewhere `piton.toml` alone does.
    pub holds_settings: bool,
    /// Tasks are worked on in the order of the list, each on top of all before it.
    pub in_sequence: bool,
    /// What a run has made is entered in the project's description at its end.
    pub keeps_description: bool,
    /// How often a reviewer rejects a task before a person is asked. None: as often as there are attempts.
    pub max_rejections: Option<u32>,
    /// Groups are made of the tasks: they shift as the plan grows, and that is not a change.
    pub shifting_groups: bool,
    /// The review at the end waits for every task there is, and looks again when one is added.
    pub review_of_all: bool,
    /// The branch of a task shows its base as soon as its worktree is there.
    pub early_branch: bool,
    /// An agent that is about to stop without a report is asked for one.
    pub asks_for_report: bool,
    /// The next prompt says what failed. In other systems it only points to files.
    pub tells_failures: bool,
    /// Edits that Piton rejects are entered in the system's own log.
    pub logs_rejections: bool,
    /// Whether the project's own checks count for its tasks.
    pub detects: Detects,
    /// All tasks are worked on in one worktree, one after the other.
    pub shared_worktree: bool,
    /// A task names a story, an agent and a size.
    pub has_stories: bool,
    /// What another program left is judged by git, and its worktrees are adopted.
    pub adopts_worktrees: bool,
    /// What another program left is judged by what the branch holds that work lands on.
    pub judged_by_target: bool,
    /// How many words name a new plan.
    pub name_words: usize,
    /// Plans can be about knowledge, too: something to be read is made, not code.
    pub makes_knowledge: bool,
}

/// When the project's own checks are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detects {
    Never,
    /// Each time that the plan is read.
    Always,
    /// When a run begins, and when its plan is adopted again: in between its agents change the project.
    AtBeginning,
    /// When a run begins, and never again.
    Once,
}

impl Policy {
    /// What most systems have.
    pub const USUAL: Policy = Policy {
        as_written: false,
        holds_settings: false,
        in_sequence: false,
        keeps_description: false,
        max_rejections: None,
        shifting_groups: false,
        review_of_all: false,
        early_branch: false,
        asks_for_report: false,
        tells_failures: true,
        logs_rejections: false,
        detects: Detects::Never,
        shared_worktree: false,
        has_stories: false,
        adopts_worktrees: false,
        judged_by_target: false,
        name_words: 1,
        makes_knowledge: false,
    };
}

/// Names of environment variables that stand in for flags of `piton run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    pub max_parallel: &'static str,
    pub worktree_dir: &'static str,
    pub verbose: &'static str,
    /// How many tasks may run at once.
    pub most_at_once: u32,
}

/// The files that a system keeps, by their names in the plan's folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The state file, if the system has one.
    pub state: Option<&'static str>,
    /// There is one state file for a whole project, whichever plan is worked on: its name is one in the project.
    pub of_project: bool,
    /// A plan is one file, not a folder.
    pub plan_is_file: bool,
    /// What follows the name of such a file in the name of its lock, which programs that write it hold meanwhile.
    pub lock_ending: Option<&'static str>,
    /// The lock of the folder that a plan lies in, by its name there: a JSON object that names the process that holds it.
    pub lock_of_folder: Option<&'static str>,
    /// Some of the files that are written with a plan are found on disk: see
    /// [`companions_below`](super::System::companions_below).
    pub has_companions_below: bool,
    /// Where in a project plans usually lie, each in a folder or file of its own name.
    pub usual_folder: Option<&'static str>,
    /// What a state file has in it, where other programs have files of that name, too.
    pub state_mark: Option<&'static str>,
    /// Files that an agent gets a copy of, to write into.
    pub offered: &'static [&'static str],
    /// Files that an agent is pointed to: it gets copies of those that its worktree lacks.
    pub shown_along: &'static [&'static str],
    /// The log that an agent writes into itself, where it works in place.
    pub log_in_place: Option<&'static str>,
    /// The file with the lessons. What only the file or only the journal has, the other one gets.
    pub lessons: Option<&'static str>,
    /// Where finished plans go, if the system puts them away.
    pub archive: Option<Archive>,
}

/// How finished plans are put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archive {
    /// From the folder on that the plan lies in.
    pub place: &'static str,
    /// The day becomes a part of the name.
    pub is_dated: bool,
    /// Only a plan whose tasks are all satisfied is finished. In other systems an abandoned one is over, too.
    pub needs_success: bool,
    /// What the state file says last: it is only known when the plan is archived.
    pub last_word: Option<LastWord>,
    /// A plan may also be removed.
    pub is_removable: bool,
}

/// A field of a state file, and what it says at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWord {
    pub field: &'static str,
    pub word: &'static str,
}
