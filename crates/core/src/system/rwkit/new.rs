//! Where a todolist begins.

use super::row::FOLDER;
use super::{is_list, stem, write};
use crate::plan::{BadId, GroupId, RepoPath};
use crate::run::{Refusal, shell_word};
use crate::system::addition::refused;
use crate::system::starter::name;
use crate::system::{Asked, Begun, Starter};

pub(super) fn starter(words: &[String]) -> Result<Starter, Refusal> {
    let name = name(words, "rwkit")?;
    let named = if is_list(name) { name.to_owned() } else { format!("{name}-todolist.md") };
    let wrong = |bad: BadId| refused(format!("a list cannot be called {name:?}: {bad}"), None);
    RepoPath::new(name).map_err(wrong)?;
    GroupId::new(stem(&named)).map_err(wrong)?;
    let path = if name.contains('/') { named } else { format!("{FOLDER}/{named}") };
    Ok(Starter { path, below: &[], taken: vec![format!("piton new rwkit {} --force", shell_word(name))] })
}

pub(super) fn begin(asked: &Asked<'_>) -> Begun {
    let file = asked.path.rsplit('/').next().unwrap_or(asked.path);
    Begun {
        files: vec![(file.to_owned(), write::skeleton(stem(asked.path)))],
        said: Vec::new(),
        hints: vec![format!("edit its tasks, then: piton plan {}", asked.typed)],
    }
}
