//! Writing back that a task is done: the status between its fields, the boxes of its criteria, and the day where its file has
//! one. No other byte changes, and no command of the file is run.

use std::collections::BTreeMap;
use std::ops::Range;

use super::config::Config;
use super::place::{self, TASKS, TaskPath};
use super::task_file::TaskFile;
use crate::chronicle::Chronicle;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist;
use crate::system::kit::frontmatter::Value;
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::{Companion, Ticking};
use crate::time::Timestamp;

/// A place of a text and what is to stand there.
type Change = (Range<usize>, String);

/// The files of the tasks that are not put away. `folder` is theirs, from that of the configuration on.
pub(super) fn companions(
    config: &Config,
    folder: &str,
    names: &dyn Fn(&str) -> Vec<String>,
) -> Vec<Box<dyn Companion>> {
    let files = place::files(&|below| names(&join(folder, below)));
    let tasks = place::tasks(files.iter().map(String::as_str)).into_iter();
    let own = tasks.filter(|task| task.path.starts_with(&format!("{TASKS}/")));
    let (done, open) = (config.done().to_owned(), config.open().to_owned());
    let own = own.map(|task| TaskPath { path: join(folder, &task.path), ..task });
    own.map(|task| Box::new(OneTask { task, done: done.clone(), open: open.clone() }) as Box<dyn Companion>)
        .collect()
}

/// The file of one task, as a list with one box: its status.
pub(super) struct OneTask {
    pub(super) task: TaskPath,
    /// What the project calls a task that is done, and one that nobody has begun.
    pub(super) done: String,
    pub(super) open: String,
}

impl OneTask {
    fn is_done(&self, file: &TaskFile) -> bool {
        file.status.as_ref().is_some_and(|status| status.text.eq_ignore_ascii_case(&self.done))
    }
}

fn read(bytes: &[u8]) -> Option<(String, TaskFile)> {
    let text = text::decode(bytes).text;
    let file = TaskFile::read(&text)?;
    Some((text, file))
}

impl Ticking for OneTask {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        let done = read(bytes).filter(|(_, file)| self.is_done(file));
        done.map(|_| (self.task.id.clone(), None)).into_iter().into_map()
    }

    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String> {
        let title = read(bytes).and_then(|(_, file)| file.title);
        title.map(|title| (self.task.id.clone(), title.text)).into_iter().into_map()
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        let (text, file) = read(bytes)?;
        let mut changes: Vec<Change> = Vec::new();
        let is_done = stand.get(&self.task.id).map(|word| *word == Word::Completed);
        if let (Some(is_done), Some(status)) =
            (is_done.filter(|done| *done != self.is_done(&file)), &file.status)
        {
            changes.push(status.replaced(if is_done { &self.done } else { &self.open }));
            let open = file.boxes.iter().filter(|one| is_done && !one.is_done);
            changes.extend(open.map(|one| (one.place.clone(), "x".to_owned())));
        }
        let missing =
            stand.keys().filter(|id| **id != self.task.id || file.status.is_none()).cloned().collect();
        checklist::replace(bytes, &text, &changes).map(|bytes| Ticked { bytes, missing })
    }

    fn task(&self) -> Option<&TaskId> {
        Some(&self.task.id)
    }

    fn name(&self) -> Option<&str> {
        Some(&self.task.path)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        let bare = |bytes: &[u8]| {
            let (text, file) = read(bytes)?;
            let fields = file.status.iter().chain(&file.updated).map(Value::blank);
            let boxes = file.boxes.iter().map(|one| (one.place.clone(), " "));
            checklist::replace(bytes, &text, &fields.chain(boxes).collect::<Vec<_>>())
        };
        matches!((bare(now), bare(left)), (Some(now), Some(left)) if now == left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        let id = |(_, file): (String, TaskFile)| file.title.is_some() && file.status.is_some();
        read(bytes).is_some_and(id)
            && String::from_utf8_lossy(bytes).to_lowercase().contains(&self.task.name.to_lowercase())
    }

    fn stamped(&self, _before: &[u8], after: &[u8], chronicle: &Chronicle) -> Option<Vec<u8>> {
        stamped(after, chronicle.updated_at)
    }
}

/// A file after a change, with the time of it where it has such a time.
fn stamped(bytes: &[u8], at: Timestamp) -> Option<Vec<u8>> {
    let (text, file) = read(bytes)?;
    let updated = file.updated?;
    let now = updated.dated_like(at)?;
    checklist::replace(bytes, &text, &[updated.replaced(&now)])
}
