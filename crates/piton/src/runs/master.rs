//! Lists of lists: each of the lists is planned, worked on and shown in its turn, as if it were named alone.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Severity;
use piton_core::plan::RepoPath;
use piton_core::run::StopReason;
use piton_core::system::kit::outline::Word;
use piton_core::system::kit::text;
use piton_core::system::{Collection, ListEntry, Standing, file_of, systems};
use piton_core::view::{self, RunStatus, counted};
use piton_engine::disk;
use serde_json::{Value, json};

use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::plans::{self, How, OnDisk};
use crate::runs::flags::RunArgs;
use crate::runs::preview::{self, PreviewForm};
use crate::runs::{find, standing};
use crate::{paths, picture, ui};

/// How a file that lists plans is read. `None`: it is another file.
pub(crate) fn collection(path: &Utf8Path) -> Option<&'static dyn Collection> {
    let name = path.file_name().filter(|_| path.is_file())?;
    systems().find_map(|system| system.collection(name))
}

/// A master list. What is wrong with it is reported when it is read.
struct Lists {
    path: Utf8PathBuf,
    entries: Vec<ListEntry>,
    collection: &'static dyn Collection,
}

impl Lists {
    fn read(path: &Utf8Path, collection: &'static dyn Collection) -> Outcome<Lists> {
        let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
        let decoded = text::decode(&bytes);
        let count = |list: &RepoPath| counts(collection, &list_of(path, list)?);
        let lists = collection.read(&decoded.text, &count);
        for list in lists.entries.iter().filter_map(|entry| entry.list.as_ref()) {
            if let Some(file) = list_of(path, list) {
                plans::stays_inside(&file, plans::folder_of(path))?;
            }
        }
        let problems = lists.problems;
        if !problems.is_empty() {
            ui::say(picture::draw(&paths::shown(path), &decoded.text, &problems));
        }
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(Failure::new(format!("{} cannot be used", paths::shown(path))));
        }
        Ok(Lists { path: path.to_owned(), entries: lists.entries, collection })
    }

    /// The file of an entry: `None` if it has no list yet.
    fn file(&self, entry: &ListEntry) -> Outcome<Option<Utf8PathBuf>> {
        let Some(list) = &entry.list else { return Ok(None) };
        let missing = || Failure::new(format!("{list} is not there")).hint("correct the master list");
        list_of(&self.path, list).map(Some).ok_or_else(missing)
    }

    /// How many of its tasks a list has done, of how many.
    fn counts(&self, list: &Utf8Path) -> Option<(usize, usize)> {
        counts(self.collection, list)
    }

    fn keep_row(&self, list: &str, standing: Standing) -> Outcome {
        let path = &self.path;
        let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
        match self.collection.update(&bytes, list, standing) {
            Some(new) if new != bytes => {
                disk::write(path, &new).map_err(Failure::io(format!("cannot write {path}")))
            }
            _ => Ok(()),
        }
    }
}

fn list_of(master: &Utf8Path, list: &RepoPath) -> Option<Utf8PathBuf> {
    file_of(master.as_str(), list.as_str(), &OnDisk).map(Utf8PathBuf::from)
}

fn counts(collection: &dyn Collection, list: &Utf8Path) -> Option<(usize, usize)> {
    collection.count(&std::fs::read(list).ok()?)
}

/// Work on the lists, one after the other, and update their rows. The exit code is the worst of all lists. A list that
/// ends with unfinished work does not stop the next one. A list that waits for another one gets another turn after it.
pub(crate) fn run(
    path: &Utf8Path,
    collection: &'static dyn Collection,
    args: &RunArgs,
    run: fn(&RunArgs) -> Outcome<Exit>,
) -> Outcome<Exit> {
    let lists = Lists::read(path, collection)?;
    let mut worst = FINE;
    let mut open: Vec<&ListEntry> = lists.entries.iter().collect();
    loop {
        let (mut waiting, mut before, mut after) = (Vec::new(), 0, 0);
        for entry in open {
            let (Some(list), Some(file)) = (&entry.list, lists.file(entry)?) else {
                ui::say(format!("{} has no list yet, so it is ignored", called(entry)));
                continue;
            };
            let (done, total) = lists.counts(&file).unwrap_or((0, 0));
            if total > 0 && done == total && !entry.is_open {
                continue;
            }
            let plan = Some(file.clone());
            if args.dry_run {
                ui::say(ui::styled(ui::BOLD, paths::shown(&file)));
                run(&RunArgs { plan, ..args.clone() })?;
                continue;
            }
            lists.keep_row(list.as_str(), Standing { status: Word::InProgress, done, total })?;
            ui::say(ui::styled(ui::BOLD, paths::shown(&file)));
            // `--reset` counts in the first pass only.
            let ended =
                run(&RunArgs { plan, reset: args.reset && worst == FINE && before == 0, ..args.clone() })?;
            let (now, total) = lists.counts(&file).unwrap_or((done, total));
            let status = match ended {
                FINE => Word::Completed,
                _ => Word::InProgress,
            };
            lists.keep_row(list.as_str(), Standing { status, done: now, total })?;
            if ended == STOPPED && waits_for_others(args, &file)? {
                before += done;
                after += now;
                waiting.push(entry);
                continue;
            }
            worst = worst.max(ended);
            if ended != FINE && ended != UNFINISHED {
                return Ok(ended);
            }
            before += done;
            after += now;
        }
        if waiting.is_empty() {
            return Ok(worst);
        }
        if after == before {
            let names: Vec<String> = waiting.iter().map(|entry| called(entry)).collect();
            ui::say(format!("these wait for tasks of other lists: {}", names.join(", ")));
            return Ok(STOPPED);
        }
        open = waiting;
    }
}

/// Whether the run of a list ended since it waits for tasks of others.
fn waits_for_others(args: &RunArgs, list: &Utf8Path) -> Outcome<bool> {
    let project = find::project(Some(args.project_path.as_deref().unwrap_or(plans::folder_of(list))))?;
    let Some(journal) = project.existing_journal()? else { return Ok(false) };
    let real = list.canonicalize_utf8().unwrap_or_else(|_| list.to_owned());
    let Some(run) = journal.runs()?.into_iter().find(|run| run.plan == real) else { return Ok(false) };
    let facts = journal.facts(&run.id)?;
    Ok(facts.is_some_and(|facts| matches!(facts.stopped, Some(StopReason::Siblings { .. }))))
}

/// The plan of every list in its turn, and the totals. A list that cannot be read does not hide the others.
pub(crate) fn plan(
    path: &Utf8Path,
    collection: &'static dyn Collection,
    how: How<'_>,
    form: PreviewForm,
) -> Outcome<Exit> {
    let lists = Lists::read(path, collection)?;
    let (mut exit, mut documents) = (FINE, Vec::new());
    let (mut lists_read, mut all_done, mut all_tasks) = (0, 0, 0);
    for entry in &lists.entries {
        let Some(file) = lists.file(entry)? else {
            if form != PreviewForm::Json {
                ui::answer_line(format!("{} has no list yet\n", called(entry)));
            }
            continue;
        };
        let found = match plans::plan(&file, how) {
            Ok(found) => found,
            Err(failure) => {
                ui::fail(&failure);
                exit = ERROR;
                continue;
            }
        };
        let (done, total) = lists.counts(&file).unwrap_or((0, 0));
        lists_read += 1;
        all_done += done;
        all_tasks += total;
        let session = preview::session(&found.plan);
        let missing = preview::missing(&found)?;
        if form == PreviewForm::Json {
            let plan = preview::document(&found, &session, &missing);
            documents.push(json!({ "list": file, "done": done, "total": total, "plan": plan }));
        } else {
            preview::show(&found, &session, form, &missing);
            ui::answer_line(format!("{done} of {} done\n", counted(total as u64, "task")));
        }
    }
    if form == PreviewForm::Json {
        let sum = json!({ "lists": lists_read, "done": all_done, "total": all_tasks });
        ui::answer_json(&json!({ "master": path, "lists": documents, "together": sum }));
    } else {
        let lists = counted(lists_read, "list");
        let tasks = counted(all_tasks as u64, "task");
        ui::answer_line(format!("{lists}, {tasks} in all, {all_done} done"));
    }
    Ok(exit)
}

/// How far every list is: by its run if it has one, else by its boxes. Reads only.
pub(crate) fn status(
    path: &Utf8Path,
    collection: &'static dyn Collection,
    project: Option<&Utf8Path>,
    as_json: bool,
) -> Outcome<Exit> {
    let lists = Lists::read(path, collection)?;
    let project = find::project(Some(project.unwrap_or(plans::folder_of(path))))?;
    let journal = project.existing_journal()?;
    let (mut rows, mut sum) = (Vec::new(), (0, 0));
    for entry in &lists.entries {
        let Some(file) = lists.file(entry)? else {
            rows.push((json!({ "name": entry.name, "list": null }), called(entry), "no list yet".to_owned()));
            continue;
        };
        let (done, total) = lists.counts(&file).unwrap_or((0, 0));
        sum = (sum.0 + done, sum.1 + total);
        let real = file.canonicalize_utf8().unwrap_or_else(|_| file.clone());
        let mut run = None;
        if let Some(journal) = &journal {
            run = journal.runs()?.into_iter().find(|run| run.plan == real);
        }
        let stands = match (&run, &journal) {
            (Some(run), Some(journal)) => {
                let facts = standing::facts(journal, &run.id)?;
                let counts = standing::summary(journal, &facts)?.counts;
                let stale = standing::stale(&project, journal, &facts, &counts)?;
                Some(standing::state(&project, journal, &facts, &counts, &stale))
            }
            _ => None,
        };
        let word = stands.as_ref().map_or("not started", RunStatus::word);
        let said = stands.as_ref().map_or_else(|| word.to_owned(), standing::describe);
        let few = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let bar = view::bar(few(done), few(total));
        let row = json!({
            "name": entry.name, "list": file, "done": done, "total": total, "status": word,
            "run": run.map(|run| run.id),
        });
        rows.push((row, paths::shown(&file), format!("{bar} {done}/{total}  {said}")));
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
fn called(entry: &ListEntry) -> String {
    let plan = entry.plan.as_ref().map_or("a row", |plan| plan.as_str());
    ui::plain(if entry.name.is_empty() { plan } else { &entry.name }).to_string()
}

/// Ended with work that is not done: the next list can be worked on all the same.
const UNFINISHED: Exit = 4;
/// Stopped, and can be resumed.
const STOPPED: Exit = 3;
