//! Checks: commands that Piton runs itself, under keepers, on a tree it knows.

mod asked;
mod passed;
mod uncommitted;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Agent, Argv, Check, Digest, Oid, TaskId, TaskSpec};
use piton_core::prompt::Prompts;
use piton_core::run::{
    AgentEnd, ByModel, CANNOT_RUN, CheckResult, Command, Entry, Note, Pass, Run, SLOW_CHECK, Verdict, verdict,
};
use piton_core::terminal::clean_text;
use piton_core::time::Span;
use piton_core::{prompt, review, runners};

use crate::check_worktrees::{Kind, Lease, NoWorktree, Places, Pool};
use crate::keeper::{Ended, Job, JobSpec, KeeperError, Outcome, with_pipefail};
use crate::project::Project;
use crate::sandbox::{self, Guard};
use crate::{agent, clock, crash, disk, environment};

pub use asked::{NoReport, run_all, run_all_on};
pub(crate) use passed::Passed;

/// How much of a check's output is kept in evidence.
const TAIL: usize = 16 * 1024;
/// How much of it is read. Test runners print a summary at the end, but some print one for each of many packages. In
/// longer output the tests are not counted, since a part would give a wrong number.
const READ: usize = 4 * 1024 * 1024;
/// In the folder of a review: the agent that makes it, if it is not the one the plan names.
const REVIEWER: &str = "reviewer";
/// In the folder of a check. `SEEN`: Piton has seen that it judged exactly the commit. `UNSEEN`: that can no longer be
/// found out.
const SEEN: &str = "seen";
const UNSEEN: &str = "unseen";
/// The longest a set-up command may take.
pub(crate) const SET_UP: Span = Span::minutes(30);
/// Why a line with a pipe is not run.
const NO_PIPEFAIL: &str = "no shell on this machine knows `pipefail`, so a failure in its pipe would be hidden: install bash, write the output to a file and look at that, or set `pipefail = false`";
/// A check whose keeper was lost is run again, but not for ever.
const MOST_DEATHS: u32 = 5;

/// Where and how checks run.
#[derive(Clone, Debug)]
pub struct Bench<'a> {
    /// The folder their jobs are kept in, and Piton's own, which logs are named relative to.
    pub jobs: &'a Utf8Path,
    pub home: &'a Utf8Path,
    /// The beginning of the jobs' names. With the same beginning, the same check runs only once.
    pub name: String,
    pub cwd: Utf8PathBuf,
    pub env: BTreeMap<String, String>,
    /// What agents that review see besides.
    pub reviewers_env: BTreeMap<String, String>,
    pub keeper: &'a [String],
    /// Those that checks may be made by.
    pub agents: Cow<'a, BTreeMap<String, Agent>>,
    /// For each of them, the agent that makes its reviews, or why no agent can. An agent that is not listed makes its
    /// own.
    pub entries: BTreeMap<String, Result<Entry, String>>,
    /// Puts a fence around those agents. Commands of the plan run without one.
    pub guard: Guard,
    pub prompts: &'a Prompts,
}

/// Why a check has no result.
#[derive(Debug)]
pub enum NoResult {
    Stopped,
    Keeper(KeeperError),
    /// No provider lets a reviewer work.
    Out {
        reason: String,
    },
    /// The reviewer would be the first since a usage limit, and has not said so.
    First(First),
    /// Its provider did not let the reviewer come to a verdict.
    Cut(Box<Cut>),
}

/// A review that has to be recorded in the journal before it begins.
#[derive(Debug)]
pub struct First {
    pub agent: String,
    /// The results of the checks before it.
    pub earlier: Vec<CheckResult>,
}

/// The job of an agent, by its name.
#[derive(Clone, Debug)]
pub struct AgentJob {
    pub agent: String,
    pub job: Job,
}

/// What an agent has used.
pub(crate) struct Billed {
    pub(crate) used: Option<ByModel>,
    pub(crate) estimate: ByModel,
    pub(crate) took: Span,
}

impl AgentJob {
    /// Its name in the journal.
    pub(crate) fn name(&self) -> &str {
        self.job.dir().file_name().unwrap_or_default()
    }

    /// What it has used and how long it worked, once it has ended.
    pub(crate) fn bill(&self, agents: &BTreeMap<String, Agent>) -> Option<Billed> {
        let outcome = self.job.outcome().ok()??;
        let took = Span(u64::try_from(outcome.ended_at_ms - outcome.started_at_ms).unwrap_or(0));
        let session = agent::Session::at(&self.job);
        let heard = agent::as_begun(&self.job, agents.get(&self.agent))
            .and_then(|client| agent::hear(&client, &self.job, session.as_ref(), &outcome, 0).ok());
        let (used, estimate) = heard.map(|heard| (heard.used, heard.estimate)).unwrap_or_default();
        Some(Billed { used, estimate, took })
    }

    /// The note of that, for the journal. `job` is its name, where it may be found again.
    pub(crate) fn spent(
        &self,
        agents: &BTreeMap<String, Agent>,
        task: &TaskId,
        fence: u64,
        job: &str,
    ) -> Option<Command> {
        let Billed { used, estimate, took } = self.bill(agents)?;
        let (task, agent, job) = (task.clone(), self.agent.clone(), job.to_owned());
        let note = Note::Spent { task, fence, agent, used, estimate, took, job };
        Some(Command::Note { by: self.agent.clone(), note })
    }
}

/// A review whose client ended without a verdict.
#[derive(Debug)]
pub struct Cut {
    pub agent: String,
    pub end: AgentEnd,
    /// As a result it says that the check is broken.
    pub result: CheckResult,
    /// Those of the checks before it.
    pub earlier: Vec<CheckResult>,
}

impl Bench<'_> {
    /// The result of one check on this tree. A job that has ended, or runs already, is not run again. `begin` is called
    /// first, with the job and the reviewer, and may refuse it.
    pub fn run(
        &self,
        check: &Check,
        begin: &dyn Fn(&Job, Option<&str>) -> bool,
    ) -> Result<CheckResult, NoResult> {
        let cwd = check.cwd.as_ref().map_or_else(|| self.cwd.clone(), |below| self.cwd.join(below.as_str()));
        let (mut nth, mut deaths) = (0, 0);
        while deaths < MOST_DEATHS {
            let job = Job::at(self.folder(check, nth));
            nth += 1;
            if job.dir().join(UNSEEN).exists() {
                deaths += 1;
                continue;
            }
            if was_stopped(&job).map_err(NoResult::Keeper)? {
                continue;
            }
            let reviewer = check.reviewer().map(|agent| self.who(&job, agent)).transpose()?;
            let mut spec = match &check.run {
                Argv::Review { agent, ask } => match self.agents.get(reviewer.as_ref().unwrap_or(agent)) {
                    Some(client) => match prompt::of_review(self.prompts, agent, ask) {
                        Ok(text) => review(client, &text, &job, &cwd, self.guard.is_in_force())
                            .map_err(NoResult::Keeper)?,
                        Err(broken) => {
                            let verdict = Verdict::Impossible { reason: broken.to_string() };
                            return Ok(self.result(check, &job, verdict, Span(0)));
                        }
                    },
                    None => {
                        let reason = format!("the agent `{agent}` is not defined");
                        return Ok(self.result(check, &job, Verdict::Impossible { reason }, Span(0)));
                    }
                },
                run => {
                    let Some(mut words) = words_of(check) else {
                        let verdict = Verdict::Impossible { reason: NO_PIPEFAIL.to_owned() };
                        return Ok(self.result(check, &job, verdict, Span(0)));
                    };
                    if let (Argv::Look { .. }, Some(own)) = (run, self.keeper.first()) {
                        words[0].clone_from(own);
                    }
                    JobSpec::new(words, &cwd)
                }
            };
            spec.env.extend(self.env.clone());
            if reviewer.is_some() {
                spec.env.extend(self.reviewers_env.clone());
            }
            spec.env_remove = environment::not_inherited().map(str::to_owned).collect();
            spec.wall_ms = Some(check.timeout.0);
            if let Some(client) = reviewer.as_ref().and_then(|agent| self.agents.get(agent)) {
                let enclosed = self.guard.enclose(client, &mut spec, &job, &self.cwd);
                enclosed.map_err(|source| {
                    NoResult::Keeper(KeeperError::File {
                        deed: "prepare",
                        path: job.dir().to_owned(),
                        source,
                    })
                })?;
            }
            if !begin(&job, reviewer.as_deref()) {
                return Err(NoResult::Stopped);
            }
            let outcome = job.run(&spec, self.keeper).map_err(NoResult::Keeper)?;
            sandbox::clear(&job);
            match outcome.ended {
                Ended::Died => deaths += 1,
                Ended::Stopped => return Err(NoResult::Stopped),
                _ => return self.judge(check, &job, &outcome),
            }
        }
        let job = Job::at(self.folder(check, nth - 1));
        let reason = format!("it died {MOST_DEATHS} times");
        Ok(self.result(check, &job, Verdict::Broken { reason }, Span(0)))
    }

    /// The job of a check that some process has begun on this tree and that has not died.
    fn begun(&self, check: &Check) -> Result<Option<Job>, KeeperError> {
        let mut nth = 0;
        loop {
            let job = Job::at(self.folder(check, nth));
            if !job.is_begun()? {
                return Ok(None);
            }
            let has_died = job.outcome()?.is_some_and(|outcome| outcome.ended == Ended::Died);
            if !has_died && !was_stopped(&job)? && !job.dir().join(UNSEEN).exists() {
                return Ok(Some(job));
            }
            nth += 1;
        }
    }

    /// Run the plan's set-up command where checks are about to run. Returns a result if it fails, since the work may
    /// have broken it.
    fn set_up(
        &self,
        command: &Argv,
        lease: &Lease,
        begin: &dyn Fn(&Job) -> bool,
    ) -> Result<Option<CheckResult>, NoResult> {
        let mut failed = None;
        // Once more: it may have been the network.
        for _ in 0..2 {
            let place = lease.path().file_name().unwrap_or_default();
            let job = Job::at(self.jobs.join(format!("{}.set-up{place}.{}", self.name, clock::now().0)));
            let mut spec = JobSpec::new(command.words(), lease.path());
            spec.env = self.env.clone();
            spec.env_remove = environment::not_inherited().map(str::to_owned).collect();
            spec.wall_ms = Some(SET_UP.0);
            if !begin(&job) {
                return Err(NoResult::Stopped);
            }
            let outcome = job.run(&spec, self.keeper).map_err(NoResult::Keeper)?;
            let verdict = match outcome.ended {
                Ended::Exited { code: 0 } => return Ok(None),
                Ended::Stopped => return Err(NoResult::Stopped),
                Ended::Exited { code } => Verdict::Fail { exit: code },
                ended => Verdict::Broken { reason: format!("it did not succeed ({ended:?})") },
            };
            let took = Span(u64::try_from(outcome.ended_at_ms - outcome.started_at_ms).unwrap_or(0));
            let check = Check::new("set-up".to_owned(), command.clone(), SET_UP);
            let output = clean_text(&job.output().tail(TAIL).unwrap_or_default());
            let tail = verdict::useful(&output, TAIL);
            failed = Some(CheckResult { tail, ..self.result(&check, &job, verdict, took) });
        }
        Ok(failed)
    }

    fn folder(&self, check: &Check, nth: u32) -> Utf8PathBuf {
        let again = if nth == 0 { String::new() } else { format!(".again{nth}") };
        self.jobs.join(format!("{}.{}{again}", self.name, check.digest().short()))
    }

    fn judge(&self, check: &Check, job: &Job, outcome: &Outcome) -> Result<CheckResult, NoResult> {
        let reviewer = check.reviewer().map(|agent| self.who(job, agent)).transpose()?;
        let client = reviewer.as_ref().and_then(|agent| agent::as_begun(job, self.agents.get(agent)));
        let heard = client.and_then(|client| agent::hear(&client, job, None, outcome, READ).ok());
        let outage = heard.as_ref().and_then(agent::Heard::outage_of_any);
        let no_verdict = heard.as_ref().and_then(agent::Heard::no_verdict);
        let output = match heard {
            Some(heard) => heard.said,
            None => clean_text(&job.output().tail(READ).unwrap_or_default()),
        };
        let is_whole = outcome.output_bytes <= READ as u64;
        let is_review = matches!(check.run, Argv::Review { .. });
        let asked = if let Argv::Review { ask, .. } = &check.run { ask } else { "" };
        let tests = (is_whole && !is_review).then(|| runners::counts(&output)).flatten();
        let verdict = match &outcome.ended {
            Ended::Exited { code: 0 } if is_review => review::verdict(&output, asked),
            Ended::Exited { code } => {
                let broken = check.piped_line().and_then(|_| verdict::of_pipe(*code));
                broken.unwrap_or_else(|| verdict::of_exit(*code, &output))
            }
            Ended::Signalled { signal } => {
                Verdict::Broken { reason: format!("it was killed by signal {signal}") }
            }
            Ended::WallClock | Ended::Silence | Ended::Startup => {
                Verdict::Broken { reason: format!("{SLOW_CHECK}{}", check.timeout) }
            }
            Ended::NotStarted { reason } => {
                // A program named by a path is part of the tree, so an agent can still write it.
                let program = check.run.words().first().cloned().unwrap_or_default();
                let reason = format!("`{program}` {CANNOT_RUN}{reason}");
                if program.contains('/') {
                    Verdict::Broken { reason }
                } else {
                    Verdict::Impossible { reason }
                }
            }
            Ended::Stopped | Ended::Died => Verdict::Broken { reason: "it was stopped".to_owned() },
        };
        let verdict = no_verdict.unwrap_or(verdict);
        let took = Span(u64::try_from(outcome.ended_at_ms - outcome.started_at_ms).unwrap_or(0));
        let tail = match &verdict {
            Verdict::Pass => String::new(),
            Verdict::Rejected { .. } => review::findings_text(&output, asked).unwrap_or_default(),
            _ if is_whole || is_review => verdict::useful(&output, TAIL),
            // The first error may stand before what was read.
            _ => {
                let first = job.output().read_from(0, READ).map(|chunk| chunk.bytes).unwrap_or_default();
                verdict::useful(&(clean_text(&first) + &output), TAIL)
            }
        };
        let result = CheckResult { tail, tests, ..self.result(check, job, verdict, took) };
        match (outage, reviewer) {
            (Some(end), Some(agent)) => {
                Err(NoResult::Cut(Box::new(Cut { agent, end, result, earlier: Vec::new() })))
            }
            _ => Ok(result),
        }
    }

    /// The agent that makes a review for which the plan names `agent`. It is chosen once, so that a later engine finds
    /// the stream of the same client.
    fn who(&self, job: &Job, agent: &str) -> Result<String, NoResult> {
        let path = job.dir().join(REVIEWER);
        if let Ok(name) = fs::read_to_string(&path) {
            return Ok(name);
        }
        let name = match self.entries.get(agent) {
            None => return Ok(agent.to_owned()),
            _ if job.is_begun().map_err(NoResult::Keeper)? => return Ok(agent.to_owned()),
            Some(Ok(Entry { agent, is_first: true })) => {
                return Err(NoResult::First(First { agent: agent.clone(), earlier: Vec::new() }));
            }
            Some(Ok(entry)) if entry.agent == agent => return Ok(agent.to_owned()),
            Some(Ok(entry)) => entry.agent.clone(),
            Some(Err(reason)) => return Err(NoResult::Out { reason: reason.clone() }),
        };
        let written = disk::private_folder(job.dir()).and_then(|()| disk::write(&path, name.as_bytes()));
        written.map_err(|source| {
            NoResult::Keeper(KeeperError::File { deed: "write", path: path.clone(), source })
        })?;
        Ok(name)
    }

    /// The result of a review whose agent has no budget left.
    pub(crate) fn cut(&self, check: &Check, at: AgentJob, end: AgentEnd) -> Cut {
        let reason = format!("{} may use no more", at.agent);
        let result = self.result(check, &at.job, Verdict::Broken { reason }, Span(0));
        Cut { agent: at.agent, end, result, earlier: Vec::new() }
    }

    fn result(&self, check: &Check, job: &Job, verdict: Verdict, took: Span) -> CheckResult {
        let log = job.dir().strip_prefix(self.home).unwrap_or(job.dir()).to_string();
        CheckResult {
            name: check.name.clone(),
            check: check.digest(),
            command: check.run.to_string(),
            verdict,
            environment: environment(),
            took,
            log,
            tail: String::new(),
            tests: None,
            ran: None,
        }
    }
}

/// What commands see beside the environment of Piton itself. Nothing of a task or a run: what passes on a tree counts for all
/// of them.
pub(crate) fn environment_of_commands() -> BTreeMap<String, String> {
    BTreeMap::from([("CI".to_owned(), "true".to_owned())])
}

/// The command line to start; `None` if no shell on this machine can run it.
fn words_of(check: &Check) -> Option<Vec<String>> {
    let Some(line) = check.piped_line() else { return Some(check.run.words()) };
    let shell = if check.run.to_string().starts_with("bash ") { "bash" } else { with_pipefail()? };
    Some([shell, "-o", "pipefail", "-c", line].map(str::to_owned).to_vec())
}

/// Whether a job was stopped with its run before it could judge: it is begun again. One that was stopped at a budget is not.
fn was_stopped(job: &Job) -> Result<bool, KeeperError> {
    let is_stopped = job.outcome()?.is_some_and(|outcome| outcome.ended == Ended::Stopped);
    Ok(is_stopped && !job.dir().join(agent::OVER_BUDGET).exists())
}

/// Whether a job has ended, and no engine has looked whether it judged the commit.
fn is_unseen(job: &Job) -> Result<bool, NoWorktree> {
    Ok(job.outcome()?.is_some() && !job.dir().join(SEEN).exists())
}

/// Run one check on exactly a commit: in a worktree of Piton's own, which holds that commit before it and after.
/// `begin` is asked before anything starts. `judge` runs the check, and first asks the function it is given.
pub(crate) fn on_commit<'b, E: From<NoResult> + From<NoWorktree>>(
    bench: &mut Bench<'b>,
    places: &mut Places<'_>,
    check: &Check,
    begin: &dyn Fn(&Job) -> bool,
    judge: impl FnOnce(&mut Bench<'b>, &dyn Fn(&Job) -> bool) -> Result<CheckResult, E>,
) -> Result<CheckResult, E> {
    let (commit, tree, setup, Pool { project, repo, .. }) =
        (places.commit, places.tree, places.setup, places.pool);
    let mut begun = bench.begun(check).map_err(NoWorktree::Keeper)?;
    while let Some(job) = begun.clone() {
        if places.take(Kind::of(check), Some(&job))?.was_last(&job) || !is_unseen(&job)? {
            break;
        }
        // Its engine was killed before it looked, and the worktree has been used for something else since.
        let unseen = job.dir().join(UNSEEN);
        fs::write(&unseen, b"").map_err(NoWorktree::io(&unseen))?;
        begun = bench.begun(check).map_err(NoWorktree::Keeper)?;
    }
    let lease = places.take(Kind::of(check), begun.as_ref())?;
    // A job that runs there is not disturbed, and what a job left there is looked at before anything else.
    if !begun.is_some_and(|job| lease.was_last(&job)) {
        lease.make_exact(commit).map_err(NoWorktree::Git)?;
        lease.copy(project, repo, commit, setup)?;
        if let (Some(mark), Some(command)) = (lease.lacks_set_up(setup, tree), &setup.setup) {
            let failed = bench.set_up(command, lease, &|job| begin(job) && lease.begin(job).is_ok())?;
            if let Some(failed) = failed {
                places.is_spoilt = true;
                return Ok(failed);
            }
            lease.mark_set_up(&mark).map_err(NoWorktree::Git)?;
            lease.make_exact(commit).map_err(NoWorktree::Git)?;
        }
        crash::point("check.placed");
    }
    lease.path().clone_into(&mut bench.cwd);
    let mut result = judge(bench, &|job| lease.begin(job).is_ok())?;
    result.ran = Some(lease.kind().ran());
    crash::point("check.ended");
    if let Some(reason) = lease.deviation(commit).map_err(NoWorktree::Git)? {
        result.verdict = Verdict::Broken { reason };
        return Ok(result);
    }
    let seen = bench.home.join(&result.log).join(SEEN);
    // A job that never ran has no folder.
    if seen.parent().is_some_and(Utf8Path::is_dir) {
        fs::write(&seen, b"").map_err(NoWorktree::io(&seen))?;
    }
    let exact = lease.path().to_owned();
    if let Some(folder) = places.work_folder.take_if(|_| uncommitted::may_be_the_cause(check, &result))
        && let Some(words) = uncommitted::passes_with_it(bench, repo, check, &folder, &exact, begin)?
    {
        result.tail += &words;
    }
    Ok(result)
}

/// The job of an agent that reviews.
pub(crate) fn review(
    client: &Agent,
    text: &str,
    job: &Job,
    cwd: &Utf8Path,
    fenced: bool,
) -> Result<JobSpec, KeeperError> {
    let prompt = job.dir().join(agent::PROMPT);
    if !prompt.exists() {
        let written = disk::private_folder(job.dir()).and_then(|()| disk::write(&prompt, text.as_bytes()));
        written.map_err(|source| KeeperError::File { deed: "write", path: prompt.clone(), source })?;
    }
    let place = agent::Place { cwd, prompt: &prompt, tools: None, fenced };
    agent::start(client, &place, None).map_err(|source| KeeperError::File {
        deed: "write beside",
        path: prompt.clone(),
        source,
    })
}

/// The results of a task's checks if all of them pass: to find out what would happen then.
pub fn as_if_passed(spec: &TaskSpec) -> Vec<CheckResult> {
    spec.checks.iter().map(pass).collect()
}

/// The result of a check that passes without being run.
fn pass(check: &Check) -> CheckResult {
    CheckResult {
        name: check.name.clone(),
        check: check.digest(),
        command: check.run.to_string(),
        verdict: Verdict::Pass,
        environment: environment(),
        took: Span::default(),
        log: String::new(),
        tail: String::new(),
        tests: None,
        ran: None,
    }
}

/// Whether a file is work. The plan's own files, in which a claim may be made, are not; nor are files that a person or
/// an agent makes on the way to change the state file.
pub(crate) fn is_work(project: &Project, run: &Run, file: &str) -> bool {
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let plan = Utf8Path::new(&run.plan).strip_prefix(root).ok();
    let files = run.settings.system().files();
    let is_state = files.of_project && files.state.is_some_and(|state| file.starts_with(state));
    !is_state && plan.is_none_or(|plan| !Utf8Path::new(file).starts_with(plan))
}

/// The checks among `wanted` that have no pass on this tree in this environment, each command once.
pub fn unproven<'c, 'p>(
    wanted: impl IntoIterator<Item = &'c Check>,
    tree: &Oid,
    passes: impl IntoIterator<Item = &'p Pass>,
) -> Vec<&'c Check> {
    let (here, passes) = (environment(), passes.into_iter().collect::<Vec<_>>());
    let proven = |digest: &Digest| {
        passes.iter().any(|pass| &pass.tree == tree && &pass.check == digest && pass.environment == here)
    };
    let mut seen = std::collections::BTreeSet::new();
    let is_open = |check: &Check| check.uncached || !proven(&check.digest());
    wanted.into_iter().filter(|check| is_open(check) && seen.insert(check.digest())).collect()
}

/// The part of the environment that can change a verdict: where programs are found, and their language.
fn environment() -> Digest {
    let values: Vec<Option<String>> =
        ["PATH", "HOME", "LANG", "LC_ALL", "TZ"].iter().map(|name| std::env::var(name).ok()).collect();
    Digest::of(&(std::env::consts::OS, std::env::consts::ARCH, values))
}
