//! Where a plan of Piton's own begins.

use super::starter::starter as text;
use crate::run::{Refusal, shell_word};
use crate::system::starter::name;
use crate::system::{Asked, Begun, Starter, Worker};

pub(super) fn starter(words: &[String]) -> Result<Starter, Refusal> {
    let name = name(words, "native")?;
    let path = if name.ends_with(".toml") { name.to_owned() } else { format!("{name}.toml") };
    Ok(Starter { path, below: &[], taken: vec![format!("piton new {} --force", shell_word(name))] })
}

pub(super) fn begin(asked: &Asked<'_>) -> Begun {
    let file = asked.path.rsplit('/').next().unwrap_or(asked.path);
    let stem = file.strip_suffix(".toml").filter(|stem| !stem.is_empty()).unwrap_or(file);
    let no_client = "no coding agent was found here: define one in [agents.default]".to_owned();
    let no_client = (asked.worker == Worker::Missing).then_some(no_client);
    let next = format!("edit it, then: piton plan {}", asked.typed);
    Begun {
        files: vec![(file.to_owned(), text(stem, asked.worker))],
        said: Vec::new(),
        hints: no_client.into_iter().chain([next]).collect(),
    }
}
