//! The engine as this process runs it: with its keeper, its screen and its signals.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Group, RepoPath, RunId};
use piton_core::run::{Selection, Session, StopReason};
use piton_core::system::SystemRef;
use piton_engine::drive::{self, Engine, Observer};
use piton_engine::files::kept;
use piton_engine::lock::Lock;
use piton_engine::project::Project;
use signal_hook::consts::{SIGHUP, TERM_SIGNALS};

use crate::failure::{Failure, Outcome};
use crate::runs::{standing, templates};
use crate::{progress, ui};

pub(crate) fn keeper() -> Outcome<Vec<String>> {
    let program = std::env::current_exe().map_err(Failure::io("cannot find Piton's own program"))?;
    let program = Utf8PathBuf::from_path_buf(program)
        .map_err(|path| Failure::new(format!("Piton's path {} is not UTF-8", path.display())))?;
    Ok(vec![program.into_string(), "keeper".to_owned()])
}

/// An engine that only ends what another one has left running. It needs no plan.
pub(crate) fn to_wind_up(project: &Project, run: &RunId, lock: Lock) -> Outcome<Engine> {
    let journal = project.journal()?;
    let facts = standing::facts(&journal, run)?;
    let (plan, settings) = (Utf8Path::new(&facts.plan), &facts.settings);
    Ok(Engine {
        session: Session { selection: Selection::All, ..facts.session.clone() },
        owned: owned(plan, settings.system(), &facts.groups, project),
        sandbox: None,
        plan_now: Box::new(|| None),
        keeper: keeper()?,
        prompts: templates::in_force(project, &settings.escalation)?,
        project: project.clone(),
        journal,
        run: run.clone(),
        lock,
        no_wait: true,
        reserve: Box::new(|_| Ok(())),
        undecided: Box::new(|| false),
        summary: Box::new(|| None),
        settle_files: Box::new(|| {}),
    })
}

/// Run the engine with the screen and the signals of this process.
pub(crate) fn drive_to_end(engine: Engine, mut observer: Box<dyn Observer>) -> Outcome<StopReason> {
    let (handle, inbox) = drive::channels();
    let heard = TERM_SIGNALS.iter().chain([&SIGHUP]);
    let mut signals =
        signal_hook::iterator::Signals::new(heard).map_err(Failure::io("cannot listen for signals"))?;
    std::thread::spawn(move || {
        let mut count = 0;
        for signal in signals.forever() {
            if signal == SIGHUP {
                handle.terminal_closed();
                continue;
            }
            match count {
                // The live area says so: it knows where the cursor is.
                _ if ui::is_held() && count < 2 => {}
                0 => ui::say(
                    "\nstopping: tasks in progress finish first. Again to stop at once; nothing is lost either way",
                ),
                1 => ui::say("stopping at once; `piton run` resumes from here"),
                // Three times means it: the next start sorts out whatever was going on.
                _ => {
                    progress::restore_terminal();
                    drop(signal_hook::low_level::emulate_default_handler(signal));
                }
            }
            count += 1;
            handle.interrupt();
        }
    });
    Ok(engine.run(inbox, observer.as_mut())?)
}

/// The plan, its defaults and its state file, where they are part of the repository. No task may change how it is
/// judged, and files that Piton keeps are not the work of a task.
pub(crate) fn owned(
    plan: &Utf8Path,
    system: SystemRef,
    groups: &[Group],
    project: &Project,
) -> Vec<RepoPath> {
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let files = system.files();
    let home = if files.plan_is_file { plan.parent().unwrap_or(plan) } else { plan };
    let mut parts: Vec<Utf8PathBuf> = system.owned(groups).iter().map(|name| home.join(name)).collect();
    if files.plan_is_file {
        parts.push(plan.to_owned());
    }
    if files.has_companions_below {
        parts.extend(kept(system, plan).into_iter().map(|file| file.path));
    }
    if let Some(name) = files.state {
        let state = if files.of_project { project.root.join(name) } else { plan.join(name) };
        parts.extend([state.with_extension("lock"), state]);
    }
    let inside = parts.iter().filter_map(|part| part.strip_prefix(&root).ok()).map(Utf8Path::as_str);
    inside.chain(["piton.toml"]).filter_map(|path| RepoPath::new(path).ok()).collect()
}
