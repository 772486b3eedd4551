//! Where a plan of the execute system begins.

use super::plan;
use crate::run::{Refusal, shell_word};
use crate::system::starter::name;
use crate::system::{Asked, Begun, Starter};

/// Where plans usually lie.
pub(super) const FOLDER: &str = "docs/tasks";

pub(super) fn starter(words: &[String]) -> Result<Starter, Refusal> {
    let name = name(words, "execute")?;
    let path = if name.contains('/') { name.to_owned() } else { format!("{FOLDER}/{name}") };
    Ok(Starter { path, below: &[], taken: vec![format!("piton new execute {} --force", shell_word(name))] })
}

pub(super) fn begin(asked: &Asked<'_>) -> Begun {
    let mut parts = asked.path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
    let name = parts.next().filter(|part| *part != "..").unwrap_or("plan");
    Begun {
        files: plan::starter(name),
        said: Vec::new(),
        hints: vec![format!("edit its tasks, then: piton plan {}", asked.typed)],
    }
}
