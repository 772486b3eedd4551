//! A command of Piton's, carried out as if it had been typed: by this very program, in a process of its own.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::runs::engine::keeper;

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What it printed, without colours: the answer, then what else it had to say.
    pub text: String,
    pub code: Option<i32>,
}

/// Carry out a command, given without the program's name.
pub(crate) fn run(words: &[String], environment: &[(&str, &str)]) -> Outcome<Answer> {
    run_with(words, environment, String::new())
}

/// The same with a text for its standard input.
pub(crate) fn run_with(words: &[String], environment: &[(&str, &str)], input: String) -> Outcome<Answer> {
    let program = keeper()?.into_iter().next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words).envs(environment.iter().copied());
    command.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Failure::io("the command cannot be started"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Beside reading what it prints. A command that refuses early does not read all of it.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
    let output = child.wait_with_output().map_err(Failure::io("the command cannot be started"))?;
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let said: Vec<&str> = said.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
    Ok(Answer { text: said.join("\n\n"), code: output.status.code() })
}
