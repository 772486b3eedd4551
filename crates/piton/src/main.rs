//! The program `piton`: all of it is in the library, so that a test can build a program of its own on it.

use std::process::ExitCode;

fn main() -> ExitCode {
    piton_cli::main()
}
