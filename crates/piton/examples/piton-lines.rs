//! Piton with a sixth system: its folder in the testkit, and this row.

use std::process::ExitCode;

use piton_core::system::{SystemRef, add_systems};
use piton_testkit::lines::LINES;

fn main() -> ExitCode {
    static ROWS: [SystemRef; 1] = [&LINES];
    add_systems(&ROWS);
    piton_cli::main()
}
