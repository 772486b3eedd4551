//! `piton man DIR`: manual pages, for those who package Piton.

use camino::Utf8PathBuf;
use clap::{Args, Command};

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write them to
    pub folder: Utf8PathBuf,
}

/// A page for the program, and one for each of its commands: `piton.1`, `piton-run.1`.
pub(crate) fn man(args: &ManArgs, command_line: Command) -> Outcome<Exit> {
    let folder = &args.folder;
    let cannot = || Failure::io(format!("cannot write to {folder}"));
    std::fs::create_dir_all(folder).map_err(cannot())?;
    clap_mangen::generate_to(command_line, folder).map_err(cannot())?;
    let pages = folder.read_dir_utf8().map_err(cannot())?.flatten();
    let pages = pages.filter(|entry| entry.file_name().ends_with(".1")).count();
    ui::say(format!("{pages} manual pages are in {folder}"));
    Ok(FINE)
}
