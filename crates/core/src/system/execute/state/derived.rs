//! Fields that follow from others. An edit of one says something about the tasks. If the tasks in the same file say it
//! too, it becomes true by itself or is judged there. If they do not, it would be undone silently, so it is refused
//! with the reason. Counters and times claim nothing, and are counted again.

use serde_json::{Map, Value};

use super::words::{LayerStatus, QueueStatus, RunWord, TaskStatus};

/// What was written, and why it is refused.
pub(super) type Refused = (String, String);

/// What a file says beyond its tasks and does not say with them.
pub(super) fn refused(shown: &Value, found: &Value) -> Vec<Refused> {
    let file = File { shown, found };
    let mut all: Vec<Refused> = file.status().into_iter().collect();
    all.extend(file.place());
    all.extend(file.layers());
    all.extend(file.merge_queue());
    for word in [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Abandoned] {
        all.extend(file.list(word));
    }
    all
}

struct File<'v> {
    shown: &'v Value,
    found: &'v Value,
}

impl File<'_> {
    fn tasks(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.found["tasks"].as_object().into_iter().flatten()
    }

    fn word(task: &Value) -> Option<TaskStatus> {
        task["status"].as_str().and_then(TaskStatus::parse_lenient).map(|meant| meant.word)
    }

    fn is(&self, id: &str, words: &[TaskStatus]) -> bool {
        File::word(&self.found["tasks"][id]).is_some_and(|word| words.contains(&word))
    }

    /// Whether the edit changes no task.
    fn is_silent(&self) -> bool {
        self.shown["tasks"] == self.found["tasks"]
    }

    /// A field that was written, and what it says now.
    fn changed(&self, name: &str) -> Option<&Value> {
        self.found.get(name).filter(|said| **said != self.shown[name])
    }

    fn status(&self) -> Option<Refused> {
        let said = self.changed("status")?;
        // What is not a word at all is refused elsewhere.
        let word = said.as_str().and_then(RunWord::parse_lenient)?.word;
        let is_over = ["completed", "abandoned", "stopped"].iter().any(|word| self.shown["status"] == *word);
        let why = match word {
            RunWord::Completed => {
                let open = self.tasks().find(|(_, task)| File::word(task) != Some(TaskStatus::Completed))?.0;
                format!("{open} is not completed")
            }
            RunWord::Abandoned
                if self.tasks().all(|(_, task)| File::word(task) != Some(TaskStatus::Abandoned)) =>
            {
                "no task is abandoned".to_owned()
            }
            RunWord::InProgress | RunWord::Initializing if is_over && self.is_silent() => {
                "no engine is working on it; `piton run PLAN` resumes it".to_owned()
            }
            _ => return None,
        };
        Some((format!("`status` is {said}"), format!("it follows from the tasks: {why}")))
    }

    /// Where to resume.
    fn place(&self) -> Vec<Refused> {
        let mut all = Vec::new();
        if let Some(said) = self.changed("current_layer").filter(|said| !said.is_null()) {
            let first = self.layer_names().find(|name| !self.are_completed(name));
            if first.is_some_and(|first| said != first) {
                let why = "it is the first layer that is not complete; `piton run PLAN --start-layer NAME` begins later";
                all.push((format!("`current_layer` is {said}"), why.to_owned()));
            }
        }
        if let Some(said) = self.changed("current_batch").filter(|_| self.is_silent()) {
            let why = "batches follow from what the tasks depend on and from where they stand";
            all.push((format!("`current_batch` is {said}"), why.to_owned()));
        }
        all
    }

    fn layer_names(&self) -> impl Iterator<Item = &String> {
        self.shown["layers"].as_object().into_iter().flat_map(Map::keys)
    }

    /// The tasks of a layer: both have its number in their names.
    fn members<'a>(&'a self, layer: &'a str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let number = layer.split('-').next().unwrap_or_default();
        let is_in = move |id: &str| {
            let rest = id.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once('-'));
            rest.is_some_and(|(of, _)| !number.is_empty() && of == number)
        };
        self.tasks().filter(move |(id, _)| is_in(id))
    }

    fn are_completed(&self, layer: &str) -> bool {
        self.members(layer).all(|(_, task)| File::word(task) == Some(TaskStatus::Completed))
    }

    fn layers(&self) -> Vec<Refused> {
        let none = Map::new();
        let found = self.found["layers"].as_object().unwrap_or(&none);
        let mut all = Vec::new();
        for (name, layer) in found {
            let Some(shown) = self.shown["layers"].get(name) else {
                all.push((format!("a layer {name:?} was added"), "only the plan defines layers".to_owned()));
                continue;
            };
            let Some(said) = layer.get("status").filter(|said| **said != shown["status"]) else { continue };
            if let Some(why) = self.doubt(name, said.as_str().and_then(LayerStatus::exact)) {
                all.push((format!("the status of the layer {name} is {said}"), why));
            }
        }
        all
    }

    /// Why a layer cannot have this status.
    fn doubt(&self, layer: &str, word: Option<LayerStatus>) -> Option<String> {
        let mut members = self.members(layer).peekable();
        members.peek()?;
        let mut first = |open: &dyn Fn(Option<TaskStatus>) -> bool| {
            members.find(|(_, task)| open(File::word(task))).map(|(id, _)| id.clone())
        };
        match word {
            None => Some("this is not a status of a layer".to_owned()),
            Some(LayerStatus::Completed) => first(&|word| word != Some(TaskStatus::Completed))
                .map(|id| format!("it follows from its tasks: {id} is not completed")),
            Some(LayerStatus::Pending) => first(&|word| word != Some(TaskStatus::Pending)).map(|id| {
                format!("it follows from its tasks: {id} has begun; set each of them to `pending`")
            }),
            Some(LayerStatus::InProgress) => self
                .are_completed(layer)
                .then(|| "it follows from its tasks: all of them are completed".to_owned()),
            Some(LayerStatus::Blocked) => {
                let is_dead = |word| matches!(word, Some(TaskStatus::Abandoned | TaskStatus::Failed));
                let dead = first(&is_dead);
                dead.is_none().then(|| "it follows from its tasks: none of them is abandoned".to_owned())
            }
        }
    }

    fn merge_queue(&self) -> Vec<Refused> {
        use TaskStatus::{Completed, Merging, Verified, Verifying};
        let entries = |file: &Value| file["merge_queue"].as_array().cloned().unwrap_or_default();
        let before = entries(self.shown);
        let mut all = Vec::new();
        for entry in entries(self.found) {
            let Some(id) = entry["task_id"].as_str() else { continue };
            let known = before.iter().find(|known| known["task_id"] == entry["task_id"]);
            let said = &entry["status"];
            if known.is_some_and(|known| known["status"] == *said) || said.is_null() {
                continue;
            }
            let needed: &[TaskStatus] = match said.as_str().and_then(QueueStatus::exact) {
                Some(QueueStatus::Pending) => continue,
                Some(QueueStatus::Ready) => &[Verifying, Verified, Merging, Completed],
                Some(QueueStatus::Merging) => &[Verified, Merging, Completed],
                Some(QueueStatus::Merged) => &[Completed],
                None => &[],
            };
            if !self.is(id, needed) {
                let why = format!("it follows from the status of {id}: write that");
                all.push((format!("{id} is {said} in `merge_queue`"), why));
            }
        }
        all
    }

    fn list(&self, word: TaskStatus) -> Vec<Refused> {
        let name = word.word();
        let ids = |file: &Value| -> Vec<String> {
            let list = file[name].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        if self.found.get(name).is_none_or(|list| !list.is_array()) {
            return Vec::new();
        }
        let (before, after) = (ids(self.shown), ids(self.found));
        let why = |id: &String| format!("the list follows from the status of {id}: write that");
        let added = after.iter().filter(|id| !before.contains(id) && !self.is(id, &[word]));
        let added = added.map(|id| (format!("`{name}` names {id}"), why(id)));
        let gone = before.iter().filter(|id| !after.contains(id) && self.is(id, &[word]) && self.is_silent());
        added.chain(gone.map(|id| (format!("`{name}` lost {id}"), why(id)))).collect()
    }
}
