//! Lists of lists: each of the lists is planned, worked on and shown in its turn, as if it were named alone.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Severity;
use piton_core::dialect::rwkit::boxes;
use piton_core::dialect::rwkit::master::{self, Entry, Standing};
use piton_core::dialect::text;
use piton_core::run::{Selection, Session};
use piton_core::view::{self, RunStatus, counted};
use piton_engine::disk;
use piton_engine::journal::Journal;
use serde_json::{Value, json};

use super::{Exit, FINE, plan, status};
use crate::args::{Plan, Run};
use crate::failure::{ERROR, Failure, Outcome};
use crate::find;
use crate::reading::{self, How};
use crate::{picture, ui};

/// A master list: what it says, and what is wrong with it, which is told here.
struct Lists {
    path: Utf8PathBuf,
    entries: Vec<Entry>,
}

impl Lists {
    fn read(path: &Utf8Path) -> Outcome<Lists> {
        let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
        let decoded = text::decode(&bytes, false);
        let lists = master::read(&decoded.text);
        let count = |list: &piton_core::plan::RepoPath| counts(&resolve(path, list.as_str())?);
        let mut problems = lists.problems.clone();
        problems.extend(master::compare(&lists, count));
        if !problems.is_empty() {
            ui::say(picture::draw(&find::shown(path), &decoded.text, &problems));
        }
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(Failure::new(format!("{} cannot be used", find::shown(path))));
        }
        Ok(Lists { path: path.to_owned(), entries: lists.entries })
    }

    /// The file of an entry: `None` if it has no list yet.
    fn file(&self, entry: &Entry) -> Outcome<Option<Utf8PathBuf>> {
        let Some(list) = &entry.list else { return Ok(None) };
        let missing = || Failure::new(format!("{list} is not there")).hint("correct the master list");
        resolve(&self.path, list.as_str()).map(Some).ok_or_else(missing)
    }
}

/// Work on the lists, one after the other, and keep their rows. It ends with the worst that one of them ended with, and goes
/// on past those that ended with unfinished work.
pub(super) fn run(args: &Run, run: fn(&Run) -> Outcome<Exit>) -> Outcome<Exit> {
    let lists = Lists::read(&args.plan)?;
    let path = &lists.path;
    let mut worst = FINE;
    for entry in &lists.entries {
        let (Some(list), Some(file)) = (&entry.list, lists.file(entry)?) else {
            ui::say(format!("{} has no list yet, and is passed over", called(entry)));
            continue;
        };
        let (done, total) = counts(&file).unwrap_or((0, 0));
        if total > 0 && done == total && !entry.is_open() {
            continue;
        }
        let plan = file.clone();
        if args.dry_run {
            ui::say(ui::styled(ui::BOLD, find::shown(&file)));
            run(&Run { plan, ..args.clone() })?;
            continue;
        }
        keep_row(path, list.as_str(), Standing { status: master::Word::InProgress, done, total })?;
        ui::say(ui::styled(ui::BOLD, find::shown(&file)));
        let ended = run(&Run { plan, ..args.clone() })?;
        let (done, total) = counts(&file).unwrap_or((done, total));
        let status = match ended {
            FINE => master::Word::Completed,
            _ => master::Word::InProgress,
        };
        keep_row(path, list.as_str(), Standing { status, done, total })?;
        worst = worst.max(ended);
        if ended != FINE && ended != UNFINISHED {
            return Ok(ended);
        }
    }
    Ok(worst)
}

/// Every list in its turn with its own plan, and what they come to together. One that cannot be read does not hide the others.
pub(super) fn plan(args: &Plan) -> Outcome<Exit> {
    let lists = Lists::read(&args.plan)?;
    let how = How { strict: args.strict, lint: true, ..How::default() };
    let (mut exit, mut documents, mut sum) = (FINE, Vec::new(), (0, 0, 0));
    for entry in &lists.entries {
        let Some(file) = lists.file(entry)? else {
            if !args.json {
                ui::answer_line(format!("{} has no list yet\n", called(entry)));
            }
            continue;
        };
        let found = match reading::plan(&file, how) {
            Ok(found) => found,
            Err(failure) => {
                ui::fail(&failure);
                exit = ERROR;
                continue;
            }
        };
        let (done, total) = counts(&file).unwrap_or((0, 0));
        sum = (sum.0 + 1, sum.1 + done, sum.2 + total);
        let settings = &found.plan.settings;
        let session = Session {
            schedule: settings.schedule,
            max_parallel: settings.max_parallel,
            selection: Selection::All,
            agent: None,
            budget: found.plan.settings.budget,
        };
        if args.json {
            let plan = plan::document(&found, &session);
            documents.push(json!({ "list": file, "done": done, "total": total, "plan": plan }));
        } else {
            plan::show(&found, &session, false, args.all);
            ui::answer_line(format!("{done} of {} done\n", counted(total as u64, "task")));
        }
    }
    if args.json {
        let (lists, done, total) = sum;
        let sum = json!({ "lists": lists, "done": done, "total": total });
        ui::answer_json(&json!({ "master": args.plan, "lists": documents, "together": sum }));
    } else {
        let (lists, done, total) = sum;
        let lists = counted(lists, "list");
        ui::answer_line(format!("{lists}, {} in all, {done} done", counted(total as u64, "task")));
    }
    Ok(exit)
}

/// How far every list is: by its run if it has one, else by its boxes. Reads only.
pub(super) fn status(path: &Utf8Path, project: Option<&Utf8Path>, as_json: bool) -> Outcome<Exit> {
    let lists = Lists::read(path)?;
    let project = find::project(Some(project.unwrap_or(reading::folder_of(path))))?;
    let journal = Journal::open_existing(&project.home)?;
    let (mut rows, mut sum) = (Vec::new(), (0, 0));
    for entry in &lists.entries {
        let Some(file) = lists.file(entry)? else {
            rows.push((json!({ "name": entry.name, "list": null }), called(entry), "no list yet".to_owned()));
            continue;
        };
        let (done, total) = counts(&file).unwrap_or((0, 0));
        sum = (sum.0 + done, sum.1 + total);
        let real = file.canonicalize_utf8().unwrap_or_else(|_| file.clone());
        let mut run = None;
        if let Some(journal) = &journal {
            run = journal.runs()?.into_iter().find(|run| run.plan == real);
        }
        let stands = match (&run, &journal) {
            (Some(run), Some(journal)) => {
                let facts = status::facts(journal, &run.id)?;
                let counts = status::summary(journal, &facts)?.counts;
                Some(RunStatus::of(&facts, &counts, project.engine_lives(&run.id)))
            }
            _ => None,
        };
        let word = stands.as_ref().map_or("not started", RunStatus::word);
        let said = stands.as_ref().map_or_else(|| word.to_owned(), status::told);
        let few = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let bar = view::bar(few(done), few(total));
        let row = json!({
            "name": entry.name, "list": file, "done": done, "total": total, "status": word,
            "run": run.map(|run| run.id),
        });
        rows.push((row, find::shown(&file), format!("{bar} {done}/{total}  {said}")));
    }
    let (done, total) = sum;
    if as_json {
        let rows: Vec<Value> = rows.into_iter().map(|(row, ..)| row).collect();
        ui::answer_json(&json!({ "master": path, "lists": rows, "done": done, "total": total }));
        return Ok(FINE);
    }
    let width = rows.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    for (_, name, said) in rows {
        ui::answer_line(format!("  {name:width$} {said}"));
    }
    ui::answer_line(format!("{done} of {} done", counted(total as u64, "task")));
    Ok(FINE)
}

/// What people call a list: by its name, or the plan it will be made from.
fn called(entry: &Entry) -> String {
    let plan = entry.plan.as_ref().map_or("a row", |plan| plan.as_str());
    ui::plain(if entry.name.is_empty() { plan } else { &entry.name }).to_string()
}

/// Ended with work that is not done: the next list can be worked on all the same.
const UNFINISHED: Exit = 4;

/// A list that a master list names: beside it, or from the root of the project.
fn resolve(master: &Utf8Path, list: &str) -> Option<Utf8PathBuf> {
    let folder = reading::folder_of(master);
    let name = Utf8Path::new(list).file_name()?;
    let beside = [folder.join(list), folder.join(name)];
    let above = folder.ancestors().map(|above| above.join(list));
    beside.into_iter().chain(above).find(|path| path.is_file())
}

/// How many of its tasks a list has ticked, of how many.
fn counts(list: &Utf8Path) -> Option<(usize, usize)> {
    boxes::count(&std::fs::read(list).ok()?)
}

fn keep_row(path: &Utf8Path, list: &str, standing: Standing) -> Outcome {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    match master::update(&bytes, list, standing) {
        Some(new) if new != bytes => {
            disk::write(path, &new).map_err(Failure::io(format!("cannot write {path}")))
        }
        _ => Ok(()),
    }
}
