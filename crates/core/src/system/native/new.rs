//! Where a plan of Piton's own begins.

use super::from::from;
use super::starter::{short, starter};
use crate::run::{Refusal, shell_word};
use crate::system::starter::name;
use crate::system::{Asked, Begun, Starter, UsualChecks, Worker};

pub(super) fn place(words: &[String]) -> Result<Starter, Refusal> {
    let name = name(words, "native")?;
    let path = if name.ends_with(".toml") { name.to_owned() } else { format!("{name}.toml") };
    Ok(Starter { path, below: &[], taken: vec![format!("piton new {} --force", shell_word(name))] })
}

pub(super) fn begin(asked: &Asked<'_>) -> Result<Begun, Refusal> {
    let file = asked.path.rsplit('/').next().unwrap_or(asked.path);
    let stem = file.strip_suffix(".toml").filter(|stem| !stem.is_empty()).unwrap_or(file);
    let no_client = "no coding agent was found here: define one in [agents.default]".to_owned();
    let mut hints: Vec<String> = (asked.worker == Worker::Missing).then_some(no_client).into_iter().collect();
    let (text, said) = match asked.list {
        Some(list) => {
            if asked.checks == UsualChecks::Found(&[]) {
                hints.push("no check was found here: write `checks` for each task".to_owned());
            }
            from(stem, asked, &list)?
        }
        None if asked.is_full => (starter(stem, asked.worker), Vec::new()),
        None => (short(stem, asked), Vec::new()),
    };
    hints.push(format!("edit it, then: piton plan {}", asked.typed));
    Ok(Begun { files: vec![(file.to_owned(), text)], said, hints })
}
