//! `piton demo`: a whole run in a scratch repository, through the same code as `piton run`.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::run::shell_word;
use piton_engine::git::Repo;

use crate::args::Loudness;
use crate::failure::{Exit, Failure, Outcome};
use crate::runs::engine;
use crate::runs::flags::RunArgs;
use crate::ui::{self, BOLD, DIM};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The variant in which a task has to be abandoned
    #[arg(long)]
    pub sad: bool,
    /// Where to make the scratch repository [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub loudness: Loudness,
}

const PLAN: &str = include_str!("plan.toml");
const SCRIPT: &str = include_str!("agents.script");
/// In the sad variant this attempt never satisfies its check.
const SAD_SCRIPT: &str = "\n[G3]\nsleep 100\nwrite rescue-plan.txt Call somebody.\n";

/// `run` is what `piton run` does.
pub(crate) fn demo(args: &DemoArgs, run: fn(&RunArgs) -> Outcome<Exit>) -> Outcome<Exit> {
    let folder = scratch_folder(args.dir.as_deref())?;
    let (project, script) = (folder.join("expedition"), folder.join("agents.script"));
    let write = |path: &Utf8Path, text: &str| {
        std::fs::write(path, text).map_err(Failure::io(format!("cannot write {path}")))
    };
    std::fs::create_dir_all(&project).map_err(Failure::io(format!("cannot create {project}")))?;
    let program = engine::keeper()?.swap_remove(0);
    let plan = PLAN.replace("PITON", &toml_text(&program)).replace("SCRIPT", &toml_text(script.as_str()));
    write(&script, &if args.sad { without_section(SCRIPT, "G3") + SAD_SCRIPT } else { SCRIPT.to_owned() })?;
    write(&project.join("plan.toml"), &plan)?;
    write(&project.join("log.txt"), "Expedition log\n")?;
    Repo::init(&project, "main", "Begin the expedition")?;
    if !args.loudness.json {
        ui::say(format!("{} in {project}", ui::styled(BOLD, "A scratch repository")));
        ui::say(ui::styled(DIM, "Scripted agents work on a plan in three layers. Watch for three things:"));
        ui::say(ui::styled(DIM, "  F2 fails its check once and fixes it with the feedback;"));
        ui::say(ui::styled(DIM, "  A1 and A2 write the same line: the second resolves the conflict;"));
        ui::say(ui::styled(
            DIM,
            "  B1 and B2 are fine alone and too heavy together: caught before main moves.",
        ));
        if args.sad {
            ui::say(ui::styled(DIM, "  And G3 never gets it right: it is abandoned, the rest lands."));
        }
        ui::say("");
    }
    let exit = run(&RunArgs::of_plan(project.join("plan.toml"), args.loudness))?;
    if !args.loudness.json {
        say_next(&folder, &project, args.sad);
    }
    Ok(exit)
}

fn scratch_folder(given: Option<&Utf8Path>) -> Outcome<Utf8PathBuf> {
    match given {
        Some(folder) => {
            let occupied = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
            if occupied {
                return Err(Failure::usage(format!("{folder} is not empty"))
                    .hint("name a folder that does not exist yet"));
            }
            std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
            folder.canonicalize_utf8().map_err(Failure::io(format!("cannot open {folder}")))
        }
        None => {
            let folder = tempfile::Builder::new()
                .prefix("piton-demo-")
                .tempdir()
                .map_err(Failure::io("cannot make a temporary folder"))?;
            let path = Utf8PathBuf::from_path_buf(folder.keep());
            path.map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))
        }
    }
}

/// As it stands between TOML's double quotes.
fn toml_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn without_section(script: &str, name: &str) -> String {
    let mut keep = true;
    let lines = script.lines().filter(|line| {
        if line.starts_with('[') {
            keep = line.trim() != format!("[{name}]");
        }
        keep
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The result stands above this, and both fit on one screen.
fn say_next(folder: &Utf8Path, project: &Utf8Path, sad: bool) {
    let (folder, project) = (shell_word(folder.as_str()), shell_word(project.as_str()));
    ui::say(format!("\n{}", ui::styled(BOLD, "What to try next")));
    ui::say(format!("  cd {project}"));
    ui::say("  git log --graph --oneline   what landed on main");
    ui::say("  piton log F2                what happened to one task");
    ui::say("  piton diff A2               what it changed");
    ui::say("  piton output B2 --list      everything that was run for it");
    if sad {
        ui::say("  piton why G3                why it was abandoned, and what would help");
    } else {
        ui::say("  piton demo --sad            the same with a task that cannot be done");
    }
    ui::say("  piton new NAME              a plan of your own");
    ui::say(format!("  rm -rf {folder}   removes the demo and all it made"));
}
