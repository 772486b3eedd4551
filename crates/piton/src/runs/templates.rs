//! The prompts of a project.

use piton_core::diagnostic::nearest;
use piton_core::prompt::Prompts;
use piton_engine::project::Project;
use piton_engine::prompts::{self, NoPrompts};

use crate::failure::{Failure, Outcome};
use crate::{picture, ui};

/// The templates of a project. One that cannot be used is an error before anything begins.
pub(crate) fn in_force(project: &Project, roles: &[String]) -> Outcome<Prompts> {
    let place = |name: &str| format!("{}/{name}.md", prompts::FOLDER);
    let found = prompts::of(project).map_err(|no| match no {
        NoPrompts::Io { path, source } => Failure::io(format!("cannot read {path}"))(source),
        NoPrompts::Broken(broken) => {
            let drawn = broken
                .iter()
                .map(|it| picture::draw(&place(&it.name), &it.text, std::slice::from_ref(&*it.problem)));
            let drawn = drawn.collect::<Vec<_>>().join("\n\n");
            let names: Vec<String> = broken.iter().map(|it| place(&it.name)).collect();
            let failure = Failure::new(format!("the prompts cannot be written: {}", names.join(", ")));
            Failure { picture: Some(drawn), ..failure }
                .hint("fix it, or remove it to use Piton's own template")
        }
    })?;
    let files = prompts::files(project).map_err(|no| Failure::new(no.to_string()))?;
    let known: Vec<String> = Prompts::names().map(str::to_owned).chain(roles.iter().cloned()).collect();
    for (name, _) in files.iter().filter(|(name, _)| !known.contains(name)) {
        let meant = nearest(name, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("; did you mean {meant}.md?")).unwrap_or_default();
        ui::hint(format!("{} is not the name of a template{meant}", place(name)));
    }
    Ok(found)
}
