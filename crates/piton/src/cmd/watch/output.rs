//! `piton output` and `piton diff`: what a task's programs printed, and what it has changed.

use std::time::Duration;

use clap::Args;
use piton_core::client::Adapter;
use piton_core::client::happenings;
use piton_core::plan::TaskId;
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use piton_core::view::{Description, Lines, Stream};
use piton_engine::clock;
use piton_engine::keeper::Job;
use serde_json::json;

use crate::args::{OfTask, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::changes::{Changes, MOST_SHOWN};
use crate::runs::found::FoundRun;
use crate::runs::jobs::{self, Kind, TaskJobs};
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

pub(crate) fn output(args: &OutputArgs) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let jobs = TaskJobs::find(&project, &journal, &run, &args.task)?;
    if args.list {
        for job in &jobs.all {
            let attempt = jobs.attempt_of(job).map(|attempt| attempt.to_string()).unwrap_or_default();
            ui::answer_line(format!("{attempt:>4}  {:28} {}", job.ended(), ui::plain(&job.title())));
        }
        return Ok(FINE);
    }
    let (kind, what) = if args.checks { (Kind::Checks, "check") } else { (Kind::Agents, "agent") };
    let shown = jobs.last(kind, args.attempt);
    if shown.is_empty() {
        return Err(Failure::new(format!("no {what} of {} has run", args.task))
            .hint(format!("piton output {} --list", args.task)));
    }
    let settings = standing::facts(&journal, &run)?.settings;
    for listed in &shown {
        // A check may have nothing to say but how it ended.
        if shown.len() > 1 || args.checks {
            ui::say(ui::styled(ui::BOLD, format!("── {} · {}", ui::plain(&listed.title()), listed.ended())));
        }
        let job = Job::at(&listed.path);
        // Some clients report the end of a limit as a time of day, so the time of their end is needed.
        let ended = job.outcome().ok().flatten().map(|outcome| outcome.ended_at());
        let form = Form::new(args, jobs::adapter_of(&job, &settings), ended.unwrap_or_else(clock::now));
        if show(&job, args.follow, form)? == 0 && !args.checks {
            ui::say(format!("its agent has printed nothing ({})", listed.ended()));
        }
    }
    Ok(FINE)
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

/// What a task has changed.
pub(crate) fn diff(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let most = if args.json { MOST_SHOWN } else { usize::MAX };
    let changes = Changes::find(&project, &journal, &run, &args.task, most)?;
    if args.json {
        ui::answer_json(&changes.document(&args.task));
    } else if changes.text.is_empty() {
        ui::say(format!("{} has changed nothing", args.task));
    } else {
        ui::answer(clean_text(changes.text.as_bytes()));
    }
    Ok(FINE)
}
