//! Names of tasks: as their file has them, as far as a file name and a branch can hold them.

use std::collections::HashMap;

use super::Draft;
use crate::diagnostic::Diagnostic;
use crate::plan::{Digest, TaskId};
use crate::system::kit::problems::cut;

/// The longest name that is made of a title.
const LONGEST: usize = 40;
/// The longest name of any kind: with a group and a number behind it, it is still an id.
const LONGEST_NAME: usize = 50;
/// How many repeated ids are said one by one. The rest is counted.
const SHOWN: usize = 5;

/// A name in which everything that an id cannot hold has become a dash; `None` if nothing is left of it.
pub(in crate::system) fn named(text: &str) -> Option<TaskId> {
    let mut name = String::new();
    for c in text.chars() {
        let fits = c.is_ascii_alphanumeric() || "._-#@".contains(c);
        let c = if fits { c } else { '-' };
        // Several dashes or dots in a row become one.
        if !(matches!(c, '-' | '.') && name.ends_with(['-', '.'])) {
            name.push(c);
        }
    }
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    // All of it is ASCII.
    let name = &name[..name.len().min(LONGEST_NAME)];
    TaskId::new(name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())).ok()
}

/// The first words of a title, as a name. Empty if it has no letters of the alphabet.
pub(in crate::system) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !slug.is_empty() {
            if slug.len() + 1 + word.len() > LONGEST {
                break;
            }
            slug.push('-');
        }
        slug.extend(word.chars().take(LONGEST).map(|c| c.to_ascii_lowercase()));
    }
    slug
}

/// A name of a title that has no letters of the alphabet. It stays the same wherever the title stands.
fn hashed(title: &str) -> TaskId {
    let plain = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let digest = Digest::of_bytes(plain.as_bytes());
    named(&format!("task-{}", &digest.as_str()[..8])).expect("a word and hex digits")
}

impl Draft {
    /// The ids of its tasks. Of several tasks with the same name, the first one keeps it. Others get that of their
    /// group behind it, or a number.
    pub(in crate::system) fn ids(&mut self) -> Vec<TaskId> {
        // By folded name, the number that the next task of that name gets.
        let mut taken: HashMap<String, usize> = HashMap::new();
        let mut ids = Vec::with_capacity(self.tasks.len());
        let mut twice = Vec::new();
        for (nth, task) in self.tasks.iter().enumerate() {
            let own = named(&task.name);
            let is_own = own.is_some();
            let base = own.or_else(|| named(&slug(&task.title))).unwrap_or_else(|| hashed(&task.title));
            let mut id = base.clone();
            if taken.contains_key(&id.folded()) {
                let group = self.groups.get(task.group).map(|group| slug(&group.title)).unwrap_or_default();
                let in_group = named(&format!("{base}-{group}"))
                    .filter(|id| !group.is_empty() && !taken.contains_key(&id.folded()));
                id = in_group.unwrap_or_else(|| numbered(&base, &mut taken));
                // Each section of a list may count from 1.
                let counts = base.as_str().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                if is_own && !counts {
                    twice.push((nth, base, id.clone()));
                }
            }
            taken.insert(id.folded(), 2);
            ids.push(id);
        }
        self.tell_repeated(&twice);
        ids
    }

    fn tell_repeated(&mut self, twice: &[(usize, TaskId, TaskId)]) {
        for (place, (nth, base, id)) in twice.iter().enumerate().take(SHOWN) {
            let (file, at) = (self.tasks[*nth].file.clone(), self.tasks[*nth].at.clone());
            let more = twice.len() - place - 1;
            let told = Diagnostic::warning(at, format!("the id `{}` was used before", cut(base.as_str())));
            let label = match more {
                more if place + 1 == SHOWN && more > 0 => {
                    format!("called `{id}` here; so are {more} more ids")
                }
                _ => format!("called `{id}` here"),
            };
            self.problem(&file, told.label(label));
        }
    }
}

/// The first free name with a number behind it.
fn numbered(base: &TaskId, taken: &mut HashMap<String, usize>) -> TaskId {
    let folded = base.folded();
    loop {
        let next = taken.entry(folded.clone()).or_insert(2);
        let number = *next;
        *next += 1;
        let id = TaskId::new(&format!("{base}-{number}")).expect("a short name and a number");
        if !taken.contains_key(&id.folded()) {
            return id;
        }
    }
}
