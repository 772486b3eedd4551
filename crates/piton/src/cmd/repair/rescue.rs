//! `piton rescue`: content that was put aside before a worktree went.

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Subcommand};
use piton_engine::git::{GitError, Repo, RestoreInto};
use serde_json::json;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::find;
use crate::ui::{self, DIM};

#[derive(Debug, Args)]
pub(crate) struct RescueArgs {
    #[command(subcommand)]
    pub command: RescueCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RescueCommand {
    /// List what was put aside
    List {
        /// The project [default: the one around this folder]
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one
    Show {
        /// As `rescue list` names it
        name: String,
        /// The project [default: the one around this folder]
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
    },
    /// Bring one back, as a branch or into an empty folder
    Restore {
        /// As `rescue list` names it
        name: String,
        /// A new branch for it
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
        /// An empty or new folder for its files
        #[arg(long, value_name = "DIR", conflicts_with = "branch")]
        into: Option<Utf8PathBuf>,
        /// The project [default: the one around this folder]
        #[arg(long, value_name = "DIR")]
        project_path: Option<Utf8PathBuf>,
    },
}

pub(crate) fn rescue(command: &RescueCommand) -> Outcome<Exit> {
    match command {
        RescueCommand::List { project_path, json } => list(project_path.as_deref(), *json),
        RescueCommand::Show { name, project_path } => {
            ui::answer(with_repo(project_path.as_deref(), |repo| repo.rescue_show(name).map_err(unknown))?);
            Ok(FINE)
        }
        RescueCommand::Restore { name, branch, into, project_path } => {
            let place = match (branch, into) {
                (Some(branch), _) => RestoreInto::Branch(branch),
                (None, Some(folder)) => RestoreInto::Folder(folder),
                (None, None) => {
                    let failure = Failure::usage("name a destination: --branch NAME or --into DIR");
                    return Err(failure.hint(format!("piton rescue restore {name} --into DIR")));
                }
            };
            with_repo(project_path.as_deref(), |repo| match place {
                RestoreInto::Branch(_) if repo.is_own() => {
                    let failure =
                        Failure::usage("a branch needs a git repository, and this folder is not in one");
                    Err(failure.hint(format!("piton rescue restore {name} --into DIR")))
                }
                place => repo.rescue_restore(name, place).map_err(unknown),
            })?;
            match (branch, into) {
                (Some(branch), _) => ui::say(format!("{name} is the branch {branch} now")),
                (_, Some(folder)) => ui::say(format!("{name} is in {folder} now")),
                _ => {}
            }
            Ok(FINE)
        }
    }
}

fn unknown(error: GitError) -> Failure {
    let is_name = matches!(error, GitError::UnknownRevision(_));
    let failure = Failure::from(error);
    if is_name { failure.hint("piton rescue list") } else { failure }
}

fn with_repo<T>(path: Option<&Utf8Path>, action: impl FnOnce(&Repo) -> Outcome<T>) -> Outcome<T> {
    let project = find::project(path)?;
    let (repo, root) = (project.repo_or_store()?.cloned(), project.root);
    action(&repo.ok_or_else(|| Failure::new(format!("{root} is not in a git repository")))?)
}

fn list(path: Option<&Utf8Path>, as_json: bool) -> Outcome<Exit> {
    let kept = with_repo(path, |repo| Ok(repo.rescue_list("")?))?;
    if as_json {
        let all = kept.iter().map(|kept| json!({ "name": kept.name, "commit": kept.commit, "subject": kept.subject, "time": kept.time.to_string() }));
        ui::answer_json(&all.collect::<serde_json::Value>());
    } else if kept.is_empty() {
        ui::say("nothing had to be rescued");
    } else {
        for kept in &kept {
            let name = kept.name.strip_prefix("refs/piton/rescue/").unwrap_or(&kept.name);
            ui::answer_line(format!(
                "{name}  {}  {}",
                kept.commit.short(),
                ui::styled(DIM, ui::plain(&kept.subject))
            ));
        }
    }
    Ok(FINE)
}
