//! `piton output` and `piton diff`: what a task's programs printed, and what it has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::client::Adapter;
use piton_core::client::happenings;
use piton_core::plan::{Oid, RunId, Settings, TaskId};
use piton_core::run::{Event, Proof, Task};
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use piton_core::view::{Description, Lines, Stream};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::keeper::{Ended, Job};
use piton_engine::project::Project;
use serde_json::json;

use crate::args::{OfTask, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The task's id
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
    /// Follow the output as it grows
    #[arg(long, short)]
    pub follow: bool,
    /// The checks' output instead of the agent's
    #[arg(long)]
    pub checks: bool,
    /// Of this attempt [default: the last]
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Name what there is
    #[arg(long)]
    pub list: bool,
    /// As it was written, control characters and all
    #[arg(long)]
    pub raw: bool,
    /// One JSON object for each thing that happened, in words that all clients share
    #[arg(long, conflicts_with_all = ["raw", "list"])]
    pub json: bool,
}

const LOOK: Duration = Duration::from_millis(200);
/// Bytes read at once while following.
const CHUNK: usize = 64 * 1024;
/// Events read at once.
const PAGE: usize = 500;

/// The parts of a job's folder name: `7.agent0`, `7.check.0123.4567`.
struct Listed {
    fence: u64,
    what: String,
    path: Utf8PathBuf,
}

pub(crate) fn output(args: &OutputArgs) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let JobRecord { attempts, logs } = job_record(&journal, &run, &args.task)?;
    let mut jobs = list(&project.task_folder(&run, &args.task))?;
    jobs.extend(logs.into_iter().filter_map(|(fence, log)| where_it_landed(&project, &run, fence, &log)));
    jobs.sort_by(|a, b| (a.fence, started(a), &a.what).cmp(&(b.fence, started(b), &b.what)));
    if args.list {
        for job in &jobs {
            let attempt = attempt_of(&attempts, job).map(|attempt| attempt.to_string()).unwrap_or_default();
            ui::answer_line(format!("{attempt:>4}  {:28} {}", ended(job), ui::plain(&job.title())));
        }
        return Ok(FINE);
    }
    let wanted = |job: &&Listed| {
        let kind = if args.checks {
            job.what.contains("check")
        } else {
            job.what.starts_with("agent") || job.what == "setup"
        };
        kind && args.attempt.is_none_or(|attempt| attempt_of(&attempts, job) == Some(attempt))
    };
    let chosen: Vec<&Listed> = jobs.iter().filter(wanted).collect();
    let Some(last) = chosen.last() else {
        let what = if args.checks { "check" } else { "agent" };
        return Err(Failure::new(format!("no {what} of {} has run", args.task))
            .hint(format!("piton output {} --list", args.task)));
    };
    // All checks of the last start, or its one agent.
    let shown: Vec<&&Listed> = chosen.iter().filter(|job| job.fence == last.fence).collect();
    let settings = standing::facts(&journal, &run)?.settings;
    for listed in &shown {
        // A check may have nothing to say but how it ended.
        if shown.len() > 1 || args.checks {
            ui::say(ui::styled(ui::BOLD, format!("── {} · {}", ui::plain(&listed.title()), ended(listed))));
        }
        let job = Job::at(&listed.path);
        // Some clients report the end of a limit as a time of day, so the time of their end is needed.
        let ended = job.outcome().ok().flatten().map(|outcome| Timestamp(outcome.ended_at_ms));
        let form = Form::new(args, adapter_of(&job, &settings), ended.unwrap_or_else(clock::now));
        if show(&job, args.follow, form)? == 0 && !args.checks {
            ui::say(format!("its agent has printed nothing ({})", self::ended(listed)));
        }
    }
    Ok(FINE)
}

/// What the journal says of a task's jobs.
#[derive(Default)]
struct JobRecord {
    /// The first start of each attempt: it may be resumed under a later number.
    attempts: BTreeMap<u64, u32>,
    /// The checks that judged it, by the start: those that ran where it was to land lie in a folder of their own.
    logs: BTreeSet<(u64, String)>,
}

fn job_record(journal: &Journal, run: &RunId, task: &TaskId) -> Outcome<JobRecord> {
    let (mut record, mut after) = (JobRecord::default(), 0);
    loop {
        let page = journal.events(run, after, Some(task), PAGE)?;
        for recorded in &page {
            after = recorded.seq;
            match &recorded.event {
                Event::AttemptStarted { attempt, fence, .. } => {
                    record.attempts.insert(*fence, *attempt);
                }
                Event::ChecksEnded { fence, results, .. } => {
                    record.logs.extend(results.iter().map(|result| (*fence, result.log.clone())));
                }
                Event::Failed { fence, pointers, .. } => {
                    record.logs.extend(pointers.logs.iter().map(|log| (*fence, log.log.clone())));
                }
                _ => {}
            }
        }
        if page.len() < PAGE {
            return Ok(record);
        }
    }
}

/// A check that ran where a task was to land.
fn where_it_landed(project: &Project, run: &RunId, fence: u64, log: &str) -> Option<Listed> {
    let path = project.home.join(log);
    let name = path.strip_prefix(project.landing_folder(run)).ok()?.as_str();
    let what = name.split_once('.').map_or(name, |(_, what)| what).to_owned();
    Some(Listed { fence, what, path })
}

fn attempt_of(attempts: &BTreeMap<u64, u32>, job: &Listed) -> Option<u32> {
    attempts.range(..=job.fence).next_back().map(|(_, attempt)| *attempt)
}

/// Which client it was, by the program that was started.
fn adapter_of(job: &Job, settings: &Settings) -> Adapter {
    let argv = job.spec().ok().flatten().map(|spec| spec.argv).unwrap_or_default();
    let asked = job.dir().join("prompt.md").exists();
    let Some(program) = argv.first().filter(|_| asked) else { return Adapter::default() };
    let profile = settings.agents.values().find(|agent| agent.program() == program);
    // A profile that was removed since may have been of a client with its usual name.
    let usual = || Adapter::named(Utf8Path::new(program).file_name()?);
    profile.map(|agent| agent.adapter).or_else(usual).unwrap_or_default()
}

/// How output is shown.
enum Form {
    Raw,
    /// Without control characters.
    Text,
    /// What a client did, in words.
    Words(Lines, Stream, Timestamp),
    Json(Lines, Adapter, Timestamp),
}

impl Form {
    fn new(args: &OutputArgs, adapter: Adapter, at: Timestamp) -> Form {
        match Stream::of(adapter) {
            _ if args.raw => Form::Raw,
            _ if args.json => Form::Json(Lines::default(), adapter, at),
            Some(stream) => Form::Words(Lines::default(), stream, at),
            None => Form::Text,
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        match self {
            Form::Raw => ui::answer_raw(bytes),
            Form::Text => ui::answer(clean_text(bytes)),
            Form::Words(lines, stream, at) => {
                lines.take(bytes).iter().for_each(|line| print_descriptions(&stream.hear(line, *at)));
            }
            Form::Json(lines, adapter, at) => {
                lines.take(bytes).iter().for_each(|line| answer_happenings(*adapter, line, *at));
            }
        }
    }

    fn gap(&mut self, bytes: u64) {
        match self {
            Form::Raw | Form::Text => {}
            Form::Words(lines, ..) => lines.tear(),
            Form::Json(lines, ..) => {
                lines.tear();
                return ui::answer_line(json!({ "happening": "gap", "bytes": bytes }).to_string());
            }
        }
        ui::say(format!("\n… {bytes} bytes left out …"));
    }

    fn end(&mut self) {
        match self {
            Form::Raw | Form::Text => {}
            Form::Words(lines, stream, at) => {
                lines.last().iter().for_each(|line| print_descriptions(&stream.hear(line, *at)));
                print_descriptions(&stream.close());
            }
            Form::Json(lines, adapter, at) => {
                lines.last().iter().for_each(|line| answer_happenings(*adapter, line, *at));
            }
        }
    }
}

fn print_descriptions(lines: &[Description]) {
    lines.iter().for_each(|line| ui::answer_line(ui::styled(ui::tone(line.tone), &line.text)));
}

/// What a line says. A line that is not the client's becomes an event of its own.
fn answer_happenings(adapter: Adapter, line: &str, at: Timestamp) {
    let said = match happenings(adapter, line, at) {
        Some(happened) => happened.iter().filter_map(|one| serde_json::to_string(one).ok()).collect(),
        None => vec![json!({ "happening": "line", "text": line }).to_string()],
    };
    // JSON escapes some control characters, and not those that a terminal knows beyond ASCII.
    said.iter().for_each(|one| ui::answer_line(clean_text(one.as_bytes())));
}

impl Listed {
    /// What was run: `agent`, `check: cargo test`.
    fn title(&self) -> String {
        let kind: String =
            self.what.split('.').find(|part| !part.starts_with("report")).unwrap_or_default().to_owned();
        let kind = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        let argv = Job::at(&self.path).spec().ok().flatten().map(|spec| spec.argv).unwrap_or_default();
        match &argv[..] {
            [shell, flag, line] if shell == "sh" && flag == "-c" => format!("{kind}: {line}"),
            [] => kind.to_owned(),
            words => format!("{kind}: {}", words.join(" ")),
        }
    }
}

fn ended(job: &Listed) -> String {
    match Job::at(&job.path).outcome().ok().flatten().map(|outcome| outcome.ended) {
        None => "running, or cut off".to_owned(),
        Some(Ended::Exited { code }) => format!("exit status {code}"),
        Some(Ended::Signalled { signal }) => format!("killed by signal {signal}"),
        Some(Ended::WallClock) => "took too long".to_owned(),
        Some(Ended::Silence) => "said nothing for too long".to_owned(),
        Some(Ended::Startup) => "never said anything".to_owned(),
        Some(Ended::Stopped) => "stopped".to_owned(),
        Some(Ended::Died) => "cut off".to_owned(),
        Some(Ended::NotStarted { reason }) => format!("not started: {reason}"),
    }
}

fn list(folder: &Utf8Path) -> Outcome<Vec<Listed>> {
    let Ok(entries) = folder.read_dir_utf8() else { return Ok(Vec::new()) };
    // A folder may be there before its job has begun.
    let begun = |job: &Listed| Job::at(&job.path).is_begun().unwrap_or(true);
    let jobs = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let (fence, what) = entry.file_name().split_once('.')?;
            Some(Listed { fence: fence.parse().ok()?, what: what.to_owned(), path: entry.path().to_owned() })
        })
        .filter(begun)
        .collect();
    Ok(jobs)
}

fn started(job: &Listed) -> Option<i64> {
    Job::at(&job.path).started_at_ms()
}

/// How many bytes were shown.
fn show(job: &Job, follow: bool, mut form: Form) -> Outcome<u64> {
    let unreadable = || Failure::io(format!("cannot read the output in {}", job.dir()));
    if !follow {
        let whole = job.output().read_all().map_err(unreadable())?;
        form.put(&whole.head);
        if whole.omitted > 0 {
            form.gap(whole.omitted);
        }
        form.put(&whole.tail);
        form.end();
        return Ok((whole.head.len() + whole.tail.len()) as u64);
    }
    let mut at = 0;
    loop {
        let over = job.outcome().map_err(|error| Failure::new(error.to_string()))?.is_some();
        let chunk = job.output().read_from(at, CHUNK).map_err(unreadable())?;
        if chunk.at > at {
            form.gap(chunk.at - at);
        }
        form.put(&chunk.bytes);
        let idle = chunk.bytes.is_empty();
        at = chunk.next();
        if idle && over {
            form.end();
            return Ok(at);
        }
        if idle {
            std::thread::sleep(LOOK);
        }
    }
}

/// What a task has changed: what landed, what its commits did, or what is in its worktree so far. For work in place:
/// the difference to the state before its first attempt.
pub(crate) fn diff(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let task = journal.task(&run, &args.task)?;
    let task = task.ok_or_else(|| find::no_task(&journal, &run, &args.task))?;
    let repo = project
        .repo_or_store()?
        .ok_or_else(|| Failure::new("without git there is nothing to compare with"))?;
    let repo = repo.for_looking()?;
    let facts = journal.facts(&run)?.ok_or_else(|| Failure::new("the run has no beginning"))?;
    // Against the target's side of a merge: what landing it changed there.
    let made_by = |commit: &Oid| Ok::<_, Failure>((repo.resolve(&format!("{commit}^1"))?, commit.clone()));
    let ranges: Vec<(Oid, Oid)> = match (&task.proof, &task.progress.base) {
        (Some(Proof::Landed { commit, .. }), _) => vec![made_by(commit)?],
        (Some(_), _) if !task.counts.is_empty() => task.counts.iter().map(made_by).collect::<Outcome<_>>()?,
        (Some(_), _) => captured(&journal, &run, &task)?.into_iter().collect(),
        (None, Some(base)) => {
            let place = match &facts.worktree_dir {
                Some(dir) => project
                    .worktree_path_if_owned(
                        &run,
                        dir.as_str().into(),
                        facts.settings.worktree.place(&task.id),
                    )
                    .ok_or_else(|| Failure::new(format!("{} has no worktree", args.task)))?,
                None => project.root.clone(),
            };
            let now = if place.exists() {
                repo.worktree_tree(&place)?
            } else {
                let commit = task.progress.commit.clone();
                commit.ok_or_else(|| {
                    Failure::new(format!("the worktree {place} no longer exists and nothing was committed"))
                })?
            };
            vec![(base.clone(), now)]
        }
        (None, None) => Vec::new(),
    };
    let [(from, _), ..] = &ranges[..] else {
        let failure = match &task.proof {
            Some(_) => {
                Failure::new(format!("{} is completed, but what it changed was not recorded", task.id))
            }
            None => Failure::new(format!("{} has changed nothing yet", task.id)),
        };
        return Err(failure.hint(format!("piton why {}", task.id)));
    };
    // Files that belong to the plan are not the work of a task.
    let own = match facts.settings.no_commits {
        true => crate::runs::engine::owned(
            Utf8Path::new(&facts.plan),
            facts.settings.system(),
            &facts.groups,
            &project,
        ),
        false => Vec::new(),
    };
    let is_work = |file: &String| !own.iter().any(|own| Utf8Path::new(file).starts_with(own.as_str()));
    let (mut text, mut names) = (String::new(), Vec::new());
    for (from, to) in &ranges {
        text += &repo.diff_text(from, to, &own)?;
        names.extend(repo.diff_names(from, to)?.into_iter().filter(is_work));
    }
    if args.json {
        let to = ranges.last().map(|(_, to)| to);
        ui::answer_json(
            &serde_json::json!({ "task": args.task, "from": from, "to": to, "files": names, "diff": text }),
        );
    } else if text.is_empty() {
        ui::say(format!("{} has changed nothing", task.id));
    } else {
        ui::answer(clean_text(text.as_bytes()));
    }
    Ok(FINE)
}

/// The states before and after the work of a task that landed nothing: when its worktree was ready, and when its work
/// was captured.
fn captured(journal: &Journal, run: &RunId, task: &Task) -> Outcome<Option<(Oid, Oid)>> {
    let (mut base, mut tree) = (None, None);
    for recorded in journal.events(run, 0, Some(&task.id), usize::MAX)? {
        match recorded.event {
            Event::WorktreeReady { base: at, .. } => base = Some(at),
            Event::WorkCaptured { work, .. } => tree = Some(work.tree),
            Event::Reset { .. } => (base, tree) = (None, None),
            _ => {}
        }
    }
    Ok(base.zip(tree))
}
