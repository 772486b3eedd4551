//! Where the journal of a project is: a file in Piton's folder, or a database on a server.
//!
//! `--journal` says it for one command, `[journal]` in `piton.toml` for everybody who works on the project. Without
//! either, it is where the runs of this checkout are.

use std::sync::OnceLock;

use camino::Utf8Path;
use piton_core::system::config::read_config;
use piton_engine::journal::{Journal, Server, Surroundings};
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::paths::typed;
use crate::plans;

/// What is typed for the file in Piton's folder.
pub(crate) const HERE: &str = "here";

static TYPED: OnceLock<String> = OnceLock::new();

/// What `--journal` said.
pub(crate) fn set(typed: Option<String>) {
    if let Some(typed) = typed {
        let _ = TYPED.set(typed);
    }
}

/// The project, with its journal where it is.
pub(crate) fn of(project: Project) -> Outcome<Project> {
    let begun = project.server_of_runs().map_err(Failure::io(format!("cannot read {}", project.home)))?;
    let typed = TYPED.get().map(String::as_str);
    let url = match choose(typed, said(&project.root).as_deref(), begun.as_deref()) {
        Ok(Some(url)) => url.to_owned(),
        Ok(None) => return Ok(project),
        Err(Conflict { said, begun }) => {
            let what = format!(
                "piton.toml says that the journal is at {said}, but the runs of this checkout are at {begun}"
            );
            return Err(Failure::new(what)
                .hint(format!("piton journal use {said}   if its runs were copied there, or are over"))
                .hint("piton journal copy --help"));
        }
    };
    Ok(project.on(server(&url)?))
}

/// The project, with its journal in a place that was typed.
pub(crate) fn at(project: Project, place: &str) -> Outcome<Project> {
    match place {
        HERE => Ok(project),
        url => Ok(project.on(server(url)?)),
    }
}

fn server(url: &str) -> Outcome<Server> {
    Server::read(url, &Surroundings::of_process()).map_err(|error| Failure::usage(error.to_string()))
}

/// Before a run of this plan begins: from now on, the commands in this checkout are about the journal that has it.
pub(crate) fn settle(project: &Project, plan: &str) -> Outcome {
    refuse_second(project, plan)?;
    remember(project)
}

/// A plan whose run is still in the file would be worked on twice.
fn refuse_second(project: &Project, plan: &str) -> Outcome {
    let Some(server) = project.server() else { return Ok(()) };
    let Some(file) = Journal::open_existing(&project.home)? else { return Ok(()) };
    let runs = file.runs()?;
    let Some(run) = runs.iter().find(|run| run.plan == plan).filter(|run| !run.is_over()) else {
        return Ok(());
    };
    let what = format!("the plan has a run in {}, which is not over: {}", file.place(), run.id);
    let plan = typed(Utf8Path::new(plan));
    Err(Failure::new(what)
        .hint(format!("piton journal copy {} --to {}   to go on with it there", run.id, server.url()))
        .hint(format!("piton run {plan} --journal {HERE}   resumes it here")))
}

/// Commands of this checkout are about this journal from now on.
pub(crate) fn remember(project: &Project) -> Outcome {
    let cannot = || Failure::io(format!("cannot write to {}", project.home));
    let url = project.server().map(Server::url);
    if project.server_of_runs().map_err(cannot())?.as_deref() != url {
        project.remember_server(url).map_err(cannot())?;
    }
    Ok(())
}

/// Two journals that one project cannot have.
#[derive(Debug, PartialEq, Eq)]
struct Conflict {
    said: String,
    begun: String,
}

/// The URL of the server; none for the file.
fn choose<'a>(
    typed: Option<&'a str>,
    said: Option<&'a str>,
    begun: Option<&'a str>,
) -> Result<Option<&'a str>, Conflict> {
    match (typed, said, begun) {
        (Some(HERE), ..) => Ok(None),
        (Some(typed), ..) => Ok(Some(typed)),
        (None, Some(said), Some(begun)) if !is_same(said, begun) => {
            Err(Conflict { said: shown(said), begun: shown(begun) })
        }
        (None, Some(said), _) => Ok(Some(said)),
        (None, None, begun) => Ok(begun),
    }
}

/// Whether two URLs name one database, whatever else they say.
fn is_same(one: &str, other: &str) -> bool {
    shown(one) == shown(other)
}

/// The URL without its password. One that cannot be read is not repeated: it may hold one.
fn shown(url: &str) -> String {
    server(url).map_or_else(|_| "another server".to_owned(), |server| server.place().to_owned())
}

/// What `piton.toml` says. What is wrong in it is reported when the plan is read.
fn said(root: &Utf8Path) -> Option<String> {
    let text = std::fs::read_to_string(plans::config_file(root)?).ok()?;
    // Most have no such table, and to read one takes longer than everything else here.
    let config = text.contains("journal").then(|| read_config(&text).0)?;
    config.journal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_project_has_one_journal() {
        let (here, there) = ("postgres://me@a/shop", "postgres://me@b/shop");
        assert_eq!(choose(None, None, None), Ok(None));
        assert_eq!(choose(None, Some(here), None), Ok(Some(here)));
        assert_eq!(choose(None, None, Some(here)), Ok(Some(here)), "its runs are there");
        assert_eq!(choose(Some(there), Some(here), Some(here)), Ok(Some(there)), "it was typed");
        assert_eq!(choose(Some(HERE), Some(here), Some(here)), Ok(None));
        let with_password = "postgres://me:s3cret@a/shop";
        assert_eq!(choose(None, Some(with_password), Some(here)), Ok(Some(with_password)));
        let conflict = choose(None, Some("postgres://me:s3cret@b/shop"), Some(here));
        assert_eq!(
            conflict,
            Err(Conflict {
                said: "postgres://me@b:5432/shop".to_owned(),
                begun: "postgres://me@a:5432/shop".to_owned()
            })
        );
    }
}
