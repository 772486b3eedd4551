//! Batches: tasks that are worked on together, because none of them waits for another and no two write one file.

use std::collections::{BTreeSet, HashMap};

use super::todolist::Todolist;
use super::writers::{Place, Writers};
use crate::diagnostic::Diagnostic;
use crate::order::Arrange;
use crate::plan::{RepoPath, TaskId, TaskSpec};
use crate::system::kit::links;
use crate::system::kit::problems::{Problems, Spanned, cut};

/// People cannot keep track of more agents at once.
pub const LARGEST: usize = 7;

/// The tasks in batches, by id, dependencies, files and priority. A level of the graph is a batch, or several of
/// about the same size if it is too large for one; levels are never put together. Two writers of one file stand in
/// different batches.
pub fn batches(tasks: &[TaskSpec]) -> Vec<Vec<TaskId>> {
    let position: HashMap<&TaskId, usize> =
        tasks.iter().enumerate().map(|(nth, task)| (&task.id, nth)).collect();
    let needs = |task: &TaskSpec| task.depends_on.iter().filter_map(|id| position.get(id).copied()).collect();
    let needs: Vec<BTreeSet<usize>> = tasks.iter().map(needs).collect();
    in_levels(tasks, &Levels::new(&needs))
}

/// The same where the levels are known.
pub(super) fn in_levels(tasks: &[TaskSpec], levels: &Levels) -> Vec<Vec<TaskId>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.arrange_by_key(|&task| (levels.of[task], tasks[task].priority, task));
    let level = |a: &usize, b: &usize| levels.of[*a] == levels.of[*b];
    let batches = order.chunk_by(level).flat_map(|level| split(tasks, level));
    batches.map(|batch| batch.into_iter().map(|task| tasks[task].id.clone()).collect()).collect()
}

/// One level, with its tasks in the wanted order.
fn split(tasks: &[TaskSpec], level: &[usize]) -> Vec<Vec<usize>> {
    let few = level.len().div_ceil(LARGEST);
    let (even, odd) = (level.len() / few, level.len() % few);
    // Writers of one file may need more batches than that.
    let most = |batch: usize| if batch < few { even + usize::from(batch < odd) } else { LARGEST };
    let mut batches: Vec<Vec<usize>> = Vec::new();
    // For each place, the first batch after its last writer.
    let mut free: Writers<usize> = Writers::new();
    // For each batch that is full, one behind it that may not be.
    let mut open: Vec<usize> = Vec::new();
    for &task in level {
        let places: Vec<Place> = tasks[task].files.iter().map(Place::from_file).collect();
        let wanted = places.iter().flat_map(|place| free.met(place)).copied().max().unwrap_or(0);
        let batch = first_open(&mut open, wanted);
        if batch == batches.len() {
            batches.push(Vec::new());
            open.push(batch);
        }
        batches[batch].push(task);
        if batches[batch].len() == most(batch) {
            open[batch] = batch + 1;
        }
        places.iter().for_each(|place| free.enter(place, &(batch + 1), |a, b| *a.max(b)));
    }
    batches
}

/// The first batch from here on that is not full. Full batches that were passed are remembered, so that later calls
/// skip them.
fn first_open(open: &mut [usize], from: usize) -> usize {
    let mut at = from;
    while at < open.len() && open[at] != at {
        at = open[at];
    }
    let mut passed = from;
    while passed < open.len() && open[passed] != passed {
        passed = std::mem::replace(&mut open[passed], at);
    }
    at
}

/// The longest chain of dependencies before each task.
pub(super) struct Levels {
    pub(super) of: Vec<usize>,
    /// Tasks wait for each other in a circle. They come last.
    pub(super) are_circular: bool,
}

impl Levels {
    /// By what each task waits for.
    pub(super) fn new(needs: &[BTreeSet<usize>]) -> Levels {
        let mut dependents = vec![Vec::new(); needs.len()];
        for (task, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|need| dependents[*need].push(task));
        }
        let mut missing: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
        let mut of = vec![0; needs.len()];
        let mut free: Vec<usize> = (0..needs.len()).filter(|&task| missing[task] == 0).collect();
        let mut last = 0;
        while let Some(task) = free.pop() {
            last = last.max(of[task] + 1);
            for &next in &dependents[task] {
                of[next] = of[next].max(of[task] + 1);
                missing[next] -= 1;
                if missing[next] == 0 {
                    free.push(next);
                }
            }
        }
        let circular = |missing: &usize| *missing > 0;
        for (level, _) in of.iter_mut().zip(&missing).filter(|(_, missing)| circular(missing)) {
            *level = last;
        }
        Levels { are_circular: missing.iter().any(circular), of }
    }
}

/// Say which tasks would write one place at the same time, if they were not kept apart: one word for each place.
pub(super) fn tell_writers(list: &Todolist, levels: &Levels, found: &mut Problems) {
    let mut known: HashMap<usize, Writers<usize>> = HashMap::new();
    // Tasks that write one file, by the first of them; each task with one of its files.
    let mut meetings: Vec<Vec<(usize, &Spanned<RepoPath>)>> = Vec::new();
    for (nth, task) in list.tasks.iter().enumerate().filter(|(_, task)| !task.is_done()) {
        let writers = known.entry(levels.of[nth]).or_insert_with(Writers::new);
        let files = task.files.iter().flatten().map(|said| (said, Place::from_file(&said.value)));
        // A task does not conflict with its own files, so they are entered after all of them were compared.
        let mut own = Vec::new();
        for (said, place) in files {
            let met = writers.met(&place).next().copied().unwrap_or(meetings.len());
            if met == meetings.len() {
                meetings.push(Vec::new());
            }
            if meetings[met].last().is_none_or(|(last, _)| *last != nth) {
                meetings[met].push((nth, said));
            }
            own.push((place, met));
        }
        own.iter().for_each(|(place, met)| writers.enter(place, met, |first, _| *first));
    }
    for writers in meetings.iter().filter(|writers| writers.len() > 1) {
        let id = |nth: usize| format!("`{}`", list.tasks[nth].id);
        let (_, first) = &writers[0];
        let more = if writers.len() > 4 { format!(" and {} more", writers.len() - 4) } else { String::new() };
        let shown = &writers[..writers.len().min(4)];
        let told = if shown.iter().all(|(_, said)| said.value == first.value) {
            let ids: Vec<String> = shown.iter().map(|(nth, _)| id(*nth)).collect();
            format!("{}{more} write `{}`", ids.join(", "), cut(first.value.as_str()))
        } else {
            let each = |(nth, said): &(usize, &Spanned<RepoPath>)| {
                format!("{} writes `{}`", id(*nth), cut(said.value.as_str()))
            };
            shown.iter().map(each).collect::<Vec<_>>().join(", ") + &more
        };
        let told = Diagnostic::warning(
            writers[1].1.at.clone(),
            format!("{told}, but they do not wait for each other"),
        );
        found.push(told.label("they run one after the other, in separate batches"));
    }
}

/// Compare the batches that the file gives itself with what its tasks say. The tasks are right.
pub(super) fn compare(list: &Todolist, text: &str, needs: &[BTreeSet<usize>], found: &mut Problems) {
    if list.batches.iter().all(|batch| batch.rows.is_empty()) {
        return;
    }
    let known = list.positions();
    let mut batch_of: Vec<Option<usize>> = vec![None; list.tasks.len()];
    let mut rows = Vec::new();
    for (batch, own) in list.batches.iter().enumerate() {
        if own.rows.len() > LARGEST {
            let message = format!("this batch has {} tasks; the limit is {LARGEST}", own.rows.len());
            found.push(Diagnostic::warning(own.at.clone(), message).label("it is split by dependencies"));
        }
        for row in &own.rows {
            let Some(&task) = known.get(&row.id.value.to_lowercase()) else {
                let message = format!("this batch names `{}`, which is not in the list", cut(&row.id.value));
                found.push(Diagnostic::warning(row.id.at.clone(), message).label("ignored"));
                continue;
            };
            if batch_of[task].is_some() {
                let told =
                    Diagnostic::warning(row.id.at.clone(), format!("`{}` is in two batches", row.id.value));
                found.push(told.label("its dependencies decide"));
                continue;
            }
            batch_of[task] = Some(batch);
            rows.push((task, batch, row));
        }
    }
    for (task, batch, row) in rows {
        let id = &list.tasks[task].id;
        let early = needs[task].iter().find(|need| batch_of[**need].is_some_and(|other| other >= batch));
        if let Some(early) = early {
            let place =
                if batch_of[*early] == Some(batch) { "in the same batch" } else { "in a later batch" };
            let message = format!("`{id}` waits for `{}`, which is {place}", list.tasks[*early].id);
            found.forgive(Diagnostic::warning(row.id.at.clone(), message).label("put in a later batch here"));
        }
        let said = row.deps.as_ref().and_then(|at| Some((at, links::named(text, at, &known)?)));
        let ranged = list.tasks[task].deps.iter().any(|at| links::named(text, at, &known).is_none());
        if let Some((at, _)) = said.filter(|(_, said)| !ranged && *said != needs[task]) {
            let ids: Vec<&str> =
                needs[task].iter().take(8).map(|need| list.tasks[*need].id.as_str()).collect();
            let own = if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") };
            let message = format!("this names other dependencies of `{id}` than its own line");
            found.push(
                Diagnostic::warning(at.clone(), message).label(format!("its line decides: {}", cut(&own))),
            );
        }
    }
    let missing: Vec<usize> = (0..list.tasks.len()).filter(|task| batch_of[*task].is_none()).collect();
    if let Some(first) = missing.first() {
        let ids: Vec<&str> = missing.iter().take(5).map(|task| list.tasks[*task].id.as_str()).collect();
        let more = if missing.len() > 5 { format!(" and {} more", missing.len() - 5) } else { String::new() };
        let message = format!("no batch of this file contains {}{more}", ids.join(", "));
        found.push(
            Diagnostic::warning(list.tasks[*first].at.clone(), message)
                .label("put in batches by their dependencies"),
        );
    }
}
