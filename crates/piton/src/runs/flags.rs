//! The flags of `piton run`: which plan, which run, and how to work on it.

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args, ValueEnum};
use piton_core::plan::{GroupId, MergeBy, Method, Per, Requests, Sandbox, Schedule, TaskId};
use piton_core::system::config::Webhook;
use piton_core::time::Span;

use crate::args::{Loudness, SystemArg};
use crate::failure::{Failure, Outcome};

#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("by_request").args(["land", "pr"]).multiple(true)))]
#[command(after_help = "Examples:\n  \
    piton run plan.toml              work on the plan; again: resume its run\n  \
    piton run                        resume the only unfinished run\n  \
    piton run plan.toml --dry-run    what would be done, and what is missing\n  \
    piton run specs/001-login --task T004 --agent codex")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArgs {
    /// The plan's file or folder, the number or slug that it goes by, or issues, as in gh:label:NAME [default: that of the only unfinished run]
    pub plan: Option<Utf8PathBuf>,
    /// The system the plan is of [default: as its files tell]
    // The list of systems fills a screen: it comes after what most people look for.
    #[arg(long, value_name = "SYSTEM", help_heading = "What to run", display_order = 903)]
    pub dialect: Option<SystemArg>,
    /// Reject what would be repaired or only warned about
    #[arg(long, help_heading = "What to run", display_order = 902)]
    pub strict: bool,
    /// The project [default: the repository around the plan]
    #[arg(long, value_name = "DIR", help_heading = "What to run", display_order = 901)]
    pub project_path: Option<Utf8PathBuf>,
    /// Where worktrees are made [default: ../.worktrees/PROJECT beside the project]
    #[arg(long, value_name = "DIR", env = "PITON_WORKTREE_DIR", help_heading = "Git")]
    pub worktree_dir: Option<Utf8PathBuf>,
    /// How many tasks at once [default: the plan's, else 3]
    #[arg(long, value_name = "N", env = "PITON_MAX_PARALLEL", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "How to work")]
    pub max_parallel: Option<u32>,
    /// Work on this layer only
    #[arg(long, value_name = "NAME", conflicts_with_all = ["start_layer", "task"], help_heading = "What to run")]
    pub layer: Option<GroupId>,
    /// Work on this layer and those after it
    #[arg(long, value_name = "NAME", conflicts_with = "task", help_heading = "What to run")]
    pub start_layer: Option<GroupId>,
    /// Work on this task only; what it depends on must be done
    #[arg(long, value_name = "ID", help_heading = "What to run")]
    pub task: Option<TaskId>,
    /// Resume a run that exists, or fail
    #[arg(long, help_heading = "Resume or start over")]
    pub resume: bool,
    /// Start a new run; the old one and its worktrees stay
    #[arg(long, conflicts_with_all = ["resume", "reset_task", "run", "replan"], help_heading = "Resume or start over")]
    pub reset: bool,
    /// Start this task over first
    #[arg(long, value_name = "ID", help_heading = "Resume or start over")]
    pub reset_task: Vec<TaskId>,
    /// Do again what the plan's own ticks call done; they are taken out of its files first
    #[arg(long, conflicts_with_all = ["resume", "run", "replan"], help_heading = "Resume or start over")]
    pub distrust_ticks: bool,
    /// Adopt the plan as it is now, task by task
    #[arg(long, help_heading = "Resume or start over")]
    pub replan: bool,
    /// Show what would be done, and do nothing
    #[arg(long, help_heading = "How to work")]
    pub dry_run: bool,
    /// Let the run go on in the background; return when it has begun
    #[arg(long, conflicts_with_all = ["dry_run", "detached"], help_heading = "How to work")]
    pub detach: bool,
    /// Of the process in the background
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Stop at a usage limit instead of waiting for its end (exit code 3)
    #[arg(long, help_heading = "How to work")]
    pub no_wait: bool,
    /// Work in place, one task at a time: no worktree, branch or commit
    #[arg(long, conflicts_with_all = ["worktree_dir", "onto", "base_branch", "commit_prefix", "author"], help_heading = "Git")]
    pub no_commits: bool,
    /// Put before `[ID]` in commit subjects
    #[arg(long, value_name = "TEXT", help_heading = "Git")]
    pub commit_prefix: Option<String>,
    /// Author of Piton's commits
    #[arg(long, value_name = "NAME <EMAIL>", help_heading = "Git")]
    pub author: Option<String>,
    /// The branch to start from and land on [default: the current one]
    #[arg(long, value_name = "BRANCH", help_heading = "Git")]
    pub base_branch: Option<String>,
    /// Land on this branch instead; it is made if it does not exist
    #[arg(long, value_name = "BRANCH", help_heading = "Git")]
    pub onto: Option<String>,
    /// Land on the local branch, or by pull or merge requests at the remote's host [default: as the run began, else
    /// local]
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "no_commits", help_heading = "Git")]
    pub land: Option<LandArg>,
    /// What one request is for; this implies `--land pr` [default: as `[requests]` says, else task]
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "no_commits", help_heading = "Git")]
    pub pr: Option<PerArg>,
    /// Who merges the requests [default: as `[requests]` says, else piton]
    #[arg(long, value_enum, value_name = "WHO", requires = "by_request", help_heading = "Git")]
    pub merge: Option<MergeArg>,
    /// How requests are merged [default: as `[requests]` says, else merge]
    #[arg(long, value_enum, value_name = "METHOD", requires = "by_request", help_heading = "Git")]
    pub merge_method: Option<MethodArg>,
    /// Let a task begin on the open requests of what it depends on; it is merged after them [default: as `[requests]` says,
    /// else no]
    #[arg(long, requires = "by_request", help_heading = "Git")]
    pub stack: bool,
    /// The remote whose host has the requests [default: as `[requests]` says, else origin]
    #[arg(long, value_name = "NAME", requires = "by_request", help_heading = "Git")]
    pub remote: Option<String>,
    /// The time between two looks at a request, in seconds [default: as `[requests]` says, else 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600), requires = "by_request", help_heading = "Git")]
    pub poll: Option<u64>,
    /// Let agents decide what they would ask, unless it destroys something
    #[arg(long, help_heading = "How to work")]
    pub auto_answer: bool,
    /// Send an issue's pull request, or comment and label, with `gh`
    #[arg(long, help_heading = "Git")]
    pub gh: bool,
    /// The order in which tasks may start [default: the plan's, else layered]
    #[arg(long, value_enum, help_heading = "How to work")]
    pub schedule: Option<ScheduleArg>,
    /// The agent for every task
    #[arg(long, value_name = "NAME", help_heading = "How to work")]
    pub agent: Option<String>,
    /// Keep agents from writing outside of their worktree [default: PITON_SANDBOX, `[sandbox]`, else auto]
    #[arg(long, value_name = "MODE", help_heading = "How to work")]
    pub sandbox: Option<SandboxArg>,
    /// Notify you of the end, and of what waits for you: desktop, command=WORDS, webhook=URL, several of these with
    /// commas between them, or off [default: as `[notify]` says]
    #[arg(long, value_name = "CHANNELS", env = "PITON_NOTIFY", hide_env_values = true, value_parser = NotifyArgs::parse, help_heading = "Output")]
    pub notify: Vec<NotifyArgs>,
    /// The run to resume
    #[arg(long, value_name = "RUN", help_heading = "What to run")]
    pub run: Option<String>,
    #[command(flatten)]
    pub loudness: Loudness,
}

impl RunArgs {
    /// Whether the flags ask for requests, if they say anything about it.
    pub(crate) fn is_by_requests(&self) -> Option<bool> {
        match (self.land, self.pr) {
            (Some(land), _) => Some(land == LandArg::Pr),
            (None, Some(_)) => Some(true),
            (None, None) => None,
        }
    }

    /// How the tasks of a new run land by requests, if they do. `usual`: as `[requests]` says.
    pub(crate) fn requests(&self, usual: impl FnOnce() -> Requests) -> Option<Requests> {
        self.is_by_requests().unwrap_or(false).then(|| self.requests_over(usual()))
    }

    /// What the flags say about requests, over what else holds.
    pub(crate) fn requests_over(&self, mut requests: Requests) -> Requests {
        requests.per = self.pr.map_or(requests.per, Into::into);
        requests.merge = self.merge.map_or(requests.merge, Into::into);
        requests.method = self.merge_method.map_or(requests.method, Into::into);
        requests.stack |= self.stack;
        requests.remote = self.remote.clone().unwrap_or(requests.remote);
        requests.poll = self.poll.map_or(requests.poll, Span::seconds);
        requests
    }

    /// `piton run PLAN` without any flag.
    pub(crate) fn of_plan(plan: Utf8PathBuf, loudness: Loudness) -> RunArgs {
        RunArgs {
            plan: Some(plan),
            dialect: None,
            strict: false,
            project_path: None,
            worktree_dir: None,
            max_parallel: None,
            layer: None,
            start_layer: None,
            task: None,
            resume: false,
            reset: false,
            reset_task: Vec::new(),
            distrust_ticks: false,
            replan: false,
            dry_run: false,
            detach: false,
            detached: false,
            no_wait: false,
            no_commits: false,
            commit_prefix: None,
            author: None,
            base_branch: None,
            onto: None,
            land: None,
            pr: None,
            merge: None,
            merge_method: None,
            stack: false,
            remote: None,
            poll: None,
            auto_answer: false,
            gh: false,
            schedule: None,
            agent: None,
            sandbox: None,
            notify: Vec::new(),
            run: None,
            loudness,
        }
    }
}

/// What one `--notify` says, or `PITON_NOTIFY`; or why it is wrong. A webhook is often a secret, and clap would repeat a
/// value that it rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotifyArgs(Result<Vec<NotifyArg>, String>);

impl NotifyArgs {
    #[expect(clippy::unnecessary_wraps, reason = "clap takes what can fail")]
    fn parse(text: &str) -> Result<NotifyArgs, String> {
        Ok(NotifyArgs(parts(text).into_iter().map(NotifyArg::parse).collect()))
    }

    /// The channels that all of them name.
    pub(crate) fn channels(all: &[NotifyArgs]) -> Outcome<Vec<NotifyArg>> {
        let mut channels = Vec::new();
        for NotifyArgs(said) in all {
            let wrong = |why: &String| Failure::usage(format!("--notify or PITON_NOTIFY is wrong: {why}"));
            channels.extend(said.as_ref().map_err(wrong)?.iter().cloned());
        }
        Ok(channels)
    }
}

/// What stands between the commas, where the name of a channel follows. Other commas are part of a command or a URL.
fn parts(text: &str) -> Vec<&str> {
    const NAMES: [&str; 4] = ["off", "desktop", "command", "webhook"];
    let begins = |rest: &str| {
        let name = rest.trim_start().split(['=', ',']).next().unwrap_or_default();
        NAMES.contains(&name.trim_end())
    };
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',') {
        if begins(&text[at + 1..]) {
            parts.push(text[from..at].trim());
            from = at + 1;
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// A channel by which a person is notified. Without a value, the one that `[notify]` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotifyArg {
    Off,
    Desktop,
    Command(Option<Vec<String>>),
    Webhook(Option<Webhook>),
}

impl NotifyArg {
    fn parse(text: &str) -> Result<NotifyArg, String> {
        match text.split_once('=') {
            None if text == "off" => Ok(NotifyArg::Off),
            None if text == "desktop" => Ok(NotifyArg::Desktop),
            None if text == "command" => Ok(NotifyArg::Command(None)),
            None if text == "webhook" => Ok(NotifyArg::Webhook(None)),
            Some(("command", line)) => match shell_words::split(line) {
                Ok(words) if !words.is_empty() => Ok(NotifyArg::Command(Some(words))),
                _ => Err("the command is empty, or a quote in it is not closed".to_owned()),
            },
            Some(("webhook", url)) => match Webhook::parse(url) {
                Some(hook) => Ok(NotifyArg::Webhook(Some(hook))),
                None => Err("a webhook is a URL, or $NAME for a variable that holds one".to_owned()),
            },
            _ => Err("it can be desktop, command, command=WORDS, webhook, webhook=URL or off".to_owned()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxArg {
    /// Where the system can
    Auto,
    /// Or do not start them
    On,
    /// Let them write what you may
    Off,
}

impl From<SandboxArg> for Sandbox {
    fn from(arg: SandboxArg) -> Sandbox {
        match arg {
            SandboxArg::Auto => Sandbox::Auto,
            SandboxArg::On => Sandbox::On,
            SandboxArg::Off => Sandbox::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LandArg {
    /// Piton moves the local branch
    Local,
    /// Work is pushed to branches of Piton's own, with requests; landed is what the host has merged
    Pr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PerArg {
    /// Each task has a request of its own
    Task,
    /// All tasks of a group have one, and the next group begins once it is merged
    Batch,
    /// All tasks land on one branch, which has one request once they are done
    Run,
}

impl From<PerArg> for Per {
    fn from(arg: PerArg) -> Per {
        match arg {
            PerArg::Task => Per::Task,
            PerArg::Batch => Per::Batch,
            PerArg::Run => Per::Run,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MergeArg {
    /// Piton, when the host's checks pass and no review is missing
    Piton,
    /// The host, by its queue or by merging automatically
    Host,
    /// A person
    Person,
}

impl From<MergeArg> for MergeBy {
    fn from(arg: MergeArg) -> MergeBy {
        match arg {
            MergeArg::Piton => MergeBy::Piton,
            MergeArg::Host => MergeBy::Host,
            MergeArg::Person => MergeBy::Person,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MethodArg {
    /// With a merge commit
    Merge,
    /// As one commit
    Squash,
    /// Commit by commit on the target's tip
    Rebase,
}

impl From<MethodArg> for Method {
    fn from(arg: MethodArg) -> Method {
        match arg {
            MethodArg::Merge => Method::Merge,
            MethodArg::Squash => Method::Squash,
            MethodArg::Rebase => Method::Rebase,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScheduleArg {
    /// Layers in order; a freed slot is filled at once
    Layered,
    /// Also a barrier after each dependency level
    Batch,
    /// Each task as soon as its dependencies have landed
    Flow,
}

impl From<ScheduleArg> for Schedule {
    fn from(arg: ScheduleArg) -> Schedule {
        match arg {
            ScheduleArg::Layered => Schedule::Layered,
            ScheduleArg::Batch => Schedule::Batch,
            ScheduleArg::Flow => Schedule::Flow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_may_name_several_channels() {
        let read = |text: &str| NotifyArgs::channels(&[NotifyArgs::parse(text).expect("kept")]);
        let channels = |text: &str| read(text).map_err(|failure| failure.message).expect(text);
        let command =
            |words: &[&str]| NotifyArg::Command(Some(words.iter().map(|word| (*word).to_owned()).collect()));
        let hook = Webhook::parse("https://x.org/a,b").expect("a URL");
        assert_eq!(
            channels("desktop, command=say done, now ,webhook=https://x.org/a,b"),
            [NotifyArg::Desktop, command(&["say", "done,", "now"]), NotifyArg::Webhook(Some(hook))]
        );
        assert_eq!(channels("command=a desktop,offer"), [command(&["a", "desktop,offer"])]);
        assert_eq!(channels("command,webhook"), [NotifyArg::Command(None), NotifyArg::Webhook(None)]);
        for wrong in ["https://x.org/secret", "desktop,webhook=ftp://secret", "command='secret"] {
            let failure = read(wrong).expect_err("wrong");
            assert!(!failure.message.contains("secret"), "{}", failure.message);
        }
    }
}
