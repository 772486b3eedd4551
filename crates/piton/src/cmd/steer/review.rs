//! `piton review`: comments on lines of a task's work, for its next attempt.

use std::fmt::Write;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::line_diff;
use piton_core::plan::{Argv, Oid, TaskId};
use piton_core::run::{Command, Comment, Note, Place, Side, Status};
use piton_core::terminal::clean_text;
use piton_engine::git::FileVersions;

use crate::args::Which;
use crate::cmd::steer::review_edit;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::review::{Given, Known, Lines, Review};
use crate::runs::{command, find, grow, standing};
use crate::ui;

/// Lines around each change.
const AROUND: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// The task's id
    pub task: TaskId,
    /// Write comments in your editor, below the lines that they are about
    #[arg(long, conflicts_with_all = ["comment", "drop", "json"])]
    pub edit: bool,
    /// Comment on this line or these lines: FILE:LINE or FILE:FIRST-LAST
    #[arg(long, value_name = "LINES", requires = "message", conflicts_with_all = ["drop", "send"])]
    pub comment: Option<String>,
    /// What the comment says
    #[arg(long, short, value_name = "TEXT", requires = "comment")]
    pub message: Option<String>,
    /// The lines are those before the work, such as lines that it removed
    #[arg(long, requires = "comment")]
    pub old: bool,
    /// The content of the file that you saw, by its object in git: refused if it has changed since
    #[arg(long, value_name = "OBJECT", requires = "comment")]
    pub blob: Option<Oid>,
    /// Take comments from a JSON list in this file, or from standard input with `-`: all of them, or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edit", "comment", "drop"])]
    pub batch: Option<Utf8PathBuf>,
    /// Take back a comment that was not sent, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with = "send")]
    pub drop: Option<u64>,
    /// Send your comments: to the next attempt, or as a new task if this one is completed
    #[arg(long)]
    pub send: bool,
    /// The id of the new task, if this one is completed [default: the task's id with `-review`]
    #[arg(long, value_name = "ID", requires = "send")]
    pub follow_up: Option<TaskId>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn review(args: &ReviewArgs) -> Outcome<Exit> {
    let is_look = !args.edit && args.comment.is_none() && args.batch.is_none() && args.drop.is_none();
    if is_look && !args.send {
        let found = find::run_of(&args.task, &args.which)?;
        let review = Review::find(&found.project, &found.journal, &found.run, &args.task)?;
        match args.json {
            true => ui::answer_json(&review.document(&found.run, &args.task)),
            false => show(&review, &args.task)?,
        }
        return Ok(FINE);
    }
    let mut found = command::run(&args.which, Some(&args.task))?;
    let review = Review::find(&found.project, &found.journal, &found.run, &args.task)?;
    if let Some(drop) = args.drop {
        return take_back(args, &mut found, &review, drop);
    }
    if let (Some(lines), Some(text)) = (&args.comment, &args.message) {
        let side = if args.old { Side::Old } else { Side::New };
        let lines = Lines::parse(lines).map_err(Failure::usage)?;
        let comment = review.comment(lines, side, args.blob.as_ref(), text)?;
        record(args, &mut found, &review, comment)?;
    }
    if args.edit {
        if let Some(failure) = &review.nothing {
            return Err(Failure::new(failure.message.clone()));
        }
        for comment in review_edit::edit(&found.project, &review, &args.task)? {
            record(args, &mut found, &review, comment)?;
        }
    }
    if let Some(path) = &args.batch {
        for comment in review.comments(given(path)?, &command::you())? {
            record(args, &mut found, &review, comment)?;
        }
    }
    if args.send {
        return send(args, &mut found);
    }
    if !args.json {
        ui::hint(format!("piton review {} --send   sends your comments together", args.task));
    }
    Ok(FINE)
}

/// What a program has collected.
fn given(path: &Utf8Path) -> Outcome<Vec<Given>> {
    let text = match path.as_str() {
        "-" => std::io::read_to_string(std::io::stdin()),
        path => std::fs::read_to_string(path),
    };
    let text = text.map_err(Failure::io(format!("cannot read {path}")))?;
    serde_json::from_str(&text).map_err(|error| {
        let hint = r#"[{"file": "src/a.rs", "line": 41, "text": "…"}], also with "lines", "side", "blob" and "quote""#;
        Failure::usage(format!("{path} is not a list of comments: {error}")).hint(hint)
    })
}

fn record(args: &ReviewArgs, found: &mut FoundRun, review: &Review, comment: Comment) -> Outcome {
    review.keep(&found.project, &comment)?;
    note(args, found, Note::Commented { task: args.task.clone(), comment: Box::new(comment) })
}

fn note(args: &ReviewArgs, found: &mut FoundRun, note: Note) -> Outcome {
    command::tell(&found.command(&Command::Note { by: command::you(), note })?, args.json);
    Ok(())
}

fn take_back(args: &ReviewArgs, found: &mut FoundRun, review: &Review, drop: u64) -> Outcome<Exit> {
    match review.comments.iter().find(|known| known.id == drop) {
        None => Err(Failure::new(format!("there is no comment {drop} on {}", args.task))
            .hint(format!("piton review {}", args.task))),
        Some(known) if known.is_sent => Err(Failure::new(format!("the comment {drop} was sent already"))),
        Some(_) => {
            note(args, found, Note::CommentDropped { task: args.task.clone(), comment: drop })?;
            Ok(FINE)
        }
    }
}

fn send(args: &ReviewArgs, found: &mut FoundRun) -> Outcome<Exit> {
    let (task, by) = (args.task.clone(), command::you());
    let review = Review::find(&found.project, &found.journal, &found.run, &task)?;
    let comments = review.unsent(&by);
    if comments.is_empty() {
        let failure = Failure::new(format!("you have written no comment on {task} that was not sent"));
        return Err(failure.hint(format!("piton review {task} --edit   opens the work in your editor")));
    }
    let follow_up = match review.status {
        Status::Completed => Some(add_follow_up(args, found, &review, &comments)?),
        _ if args.follow_up.is_some() => {
            let failure = format!("{task} is {}: its comments are for its next attempt", review.status);
            return Err(Failure::usage(format!("{failure}, so --follow-up is not needed")));
        }
        _ => None,
    };
    let is_new_task = follow_up.is_some();
    let sent = Command::SendComments { task: task.clone(), by, comments, follow_up };
    command::tell(&found.command(&sent)?, args.json);
    if !args.json && !is_new_task {
        ui::say(format!("piton prompt {task}   prints the prompt of the next attempt"));
    }
    command::go_on(found, args.json)
}

/// Add the task that heeds the comments, to the plan and to the run.
fn add_follow_up(
    args: &ReviewArgs,
    found: &mut FoundRun,
    review: &Review,
    comments: &[u64],
) -> Outcome<TaskId> {
    let facts = standing::facts(&found.journal, &found.run)?;
    let spec = found.journal.spec(&found.run, &args.task)?;
    let spec = spec.ok_or_else(|| find::no_task(&found.journal, &found.run, &args.task))?;
    let id = match &args.follow_up {
        Some(id) => id.clone(),
        None => free_id(found, &args.task)?,
    };
    let has_layers = facts.groups.len() > 1;
    let layer = facts.groups.get(spec.group as usize).filter(|_| has_layers).map(|group| group.id.clone());
    // What proved the task proves that it still holds.
    let commands = spec.checks.iter().filter(|check| matches!(check.run, Argv::Words(_) | Argv::Shell(_)));
    let checks: Vec<String> = commands.map(|check| check.run.to_string()).collect();
    let checks = Some(checks).filter(|checks| !checks.is_empty());
    let addition = review.follow_up(id.clone(), &args.task, layer, comments, checks);
    let (path, system) = (camino::Utf8PathBuf::from(&facts.plan), facts.settings.form.system());
    let place = (path.as_path(), system);
    let run = found.run.clone();
    let grown = grow::grow(&found.project.clone(), place, Some((&mut found.journal, &run)), &addition);
    let (_, events) = grown.map_err(|failure| match args.follow_up {
        Some(_) => failure,
        None => failure.hint(format!(
            "piton review {} --send --follow-up ID   names the new task as the plan asks",
            args.task
        )),
    })?;
    if found.has_state_file()? {
        found.settle_file()?;
    }
    command::tell(&events, args.json);
    Ok(id)
}

/// `T1-review`, or with a number if that is taken.
fn free_id(found: &FoundRun, task: &TaskId) -> Outcome<TaskId> {
    let names =
        (1..=99).map(|n| if n == 1 { format!("{task}-review") } else { format!("{task}-review-{n}") });
    for name in names {
        let Ok(id) = TaskId::new(&name) else { continue };
        if found.journal.task(&found.run, &id)?.is_none() {
            return Ok(id);
        }
    }
    Err(Failure::new(format!("no id is free for a task that follows {task}"))
        .hint(format!("piton review {task} --send --follow-up ID")))
}

fn show(review: &Review, task: &TaskId) -> Outcome {
    if let Some(failure) = &review.nothing
        && review.comments.is_empty()
    {
        return Err(Failure::new(failure.message.clone()));
    }
    let mut text = String::new();
    let elsewhere: Vec<&Known> = review.comments.iter().filter(|known| known.place != Place::Here).collect();
    if !elsewhere.is_empty() {
        let _ = writeln!(text, "{}", ui::styled(ui::BOLD, "On lines that have changed since"));
        elsewhere.iter().for_each(|known| text += &about(known));
        text.push('\n');
    }
    for found in &review.files {
        show_file(&mut text, review, found);
    }
    ui::answer(text);
    let unsent = review.comments.iter().filter(|known| !known.is_sent).count();
    if unsent == 0 {
        ui::hint(format!("piton review {task} --edit   writes comments in your editor"));
    } else {
        ui::hint(format!("piton review {task} --send   sends what was not sent"));
    }
    Ok(())
}

fn show_file(text: &mut String, review: &Review, found: &FileVersions) {
    let file = ui::plain(&found.file);
    let what = match (&found.old, &found.new) {
        (None, _) => " (new)",
        (_, None) => " (removed)",
        _ => "",
    };
    let _ = writeln!(text, "{}{what}", ui::styled(ui::BOLD, &file));
    let Some((old, new)) = review.texts(found) else {
        let _ = writeln!(text, "       no text\n");
        return;
    };
    let is_here = |known: &&Known| known.place == Place::Here && known.comment.file.as_str() == found.file;
    let mut left: Vec<&Known> = review.comments.iter().filter(is_here).collect();
    let mut below = |sign: char, before: usize, after: usize| {
        let is_about = |known: &mut &Known| {
            let comment = &known.comment;
            let last = (comment.line + comment.lines - 1) as usize;
            match comment.side {
                Side::Old => sign != '+' && last == before,
                Side::New => sign != '-' && last == after,
            }
        };
        left.extract_if(.., is_about).map(about).collect::<String>()
    };
    for hunk in line_diff::hunks(&old, &new, AROUND) {
        let _ = writeln!(text, "{}", ui::styled(ui::BUSY, &hunk.header));
        let (mut before, mut after) = hunk.at;
        for (sign, line) in &hunk.lines {
            let line = clean_text(line.trim_end_matches(['\n', '\r']).as_bytes());
            let (numbers, style) = match sign {
                '-' => (format!("{before:>5}      "), ui::BAD),
                '+' => (format!("      {after:>5}"), ui::GOOD),
                _ => (format!("{before:>5} {after:>5}"), anstyle::Style::new()),
            };
            let _ = writeln!(
                text,
                "{} {}",
                ui::styled(ui::DIM, numbers),
                ui::styled(style, format!("{sign}{line}"))
            );
            *text += &below(*sign, before, after);
            before += usize::from(*sign != '+');
            after += usize::from(*sign != '-');
        }
    }
    // Lines that the hunks leave out.
    left.into_iter().for_each(|known| *text += &about(known));
    text.push('\n');
}

/// A comment, below the line that it is about.
fn about(known: &Known) -> String {
    let Known { id, by, comment, is_sent, place, .. } = known;
    let state = if *is_sent { "sent" } else { "not sent" };
    let since = match place {
        Place::Here => String::new(),
        Place::Moved { now_line } => format!(", now at line {now_line}"),
        Place::Gone => ", which no longer exists".to_owned(),
        Place::Unknown => ", and the file has changed since".to_owned(),
    };
    let place = format!("{}{since}", ui::plain(&comment.shown_place()));
    let head = format!("            {id} {} on {place} ({state})", ui::plain(by));
    let lines = clean_text(comment.text.as_bytes());
    let lines: String = lines.lines().map(|line| format!("            {line}\n")).collect();
    format!("{}\n{lines}", ui::styled(ui::WARNING, head))
}
