//! The scripted agent: does what a small text file says, for the demo and the tests.
//!
//! ```text
//! [T1]                    all attempts of T1 that have no section of their own
//! write a.txt Hello
//! [T1 2]                  attempt 2
//! append a.txt more
//! ```
//!
//! `write PATH TEXT` · `append PATH TEXT` · `replace PATH OLD NEW` · `remove PATH` · `commit MESSAGE` ·
//! `say TEXT` · `signal TEXT` · `sleep MS` · `meet PATH` (opens a FIFO) · `hang` · `crash` · `run WORDS…` ·
//! `exit N`. `\n` in a text is a new line. `if-conflict` and `if-feedback` guard the rest of their line.

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use camino::Utf8Path;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::ui;

pub(crate) fn act(script: &Utf8Path) -> Outcome<Exit> {
    let text = std::fs::read_to_string(script).map_err(Failure::io(format!("cannot read {script}")))?;
    let task = std::env::var("PITON_TASK").unwrap_or_default();
    let attempt = std::env::var("PITON_ATTEMPT").unwrap_or_default();
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).map_err(Failure::io("cannot read the prompt"))?;
    let lines = section(&text, &format!("{task} {attempt}")).or_else(|| section(&text, &task));
    let lines = lines.ok_or_else(|| Failure::new(format!("{script} has no section [{task}]")))?;
    for line in lines {
        if let Some(exit) = step(line, &prompt)? {
            return Ok(exit);
        }
    }
    Ok(FINE)
}

fn section<'t>(text: &'t str, name: &str) -> Option<Vec<&'t str>> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(name))?;
    Some(
        lines
            .take_while(|line| !line.starts_with('['))
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect(),
    )
}

/// One line; `Some` ends the script.
fn step(line: &str, prompt: &str) -> Outcome<Option<Exit>> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = text.replace("\\n", "\n");
    let cannot = |what: &str| Failure::io(format!("cannot {what} {first}"));
    let bad = || Failure::usage(format!("the script's line `{line}` is not understood"));
    match word {
        "write" => {
            make_folder_of(first)?;
            std::fs::write(first, text + "\n").map_err(cannot("write"))?;
        }
        "append" => {
            make_folder_of(first)?;
            let old = std::fs::read_to_string(first).unwrap_or_default();
            std::fs::write(first, old + &text + "\n").map_err(cannot("write"))?;
        }
        "replace" => {
            let (old, new) = text.split_once(' ').ok_or_else(bad)?;
            let content = std::fs::read_to_string(first).map_err(cannot("read"))?;
            std::fs::write(first, content.replace(old, new)).map_err(cannot("write"))?;
        }
        "remove" => std::fs::remove_file(first).map_err(cannot("remove"))?,
        "commit" => {
            shell(&["git", "add", "-A"])?;
            // On a machine where git knows no name, it is the agent's own.
            let name = ["-c", "user.name=Agent", "-c", "user.email=agent@localhost"];
            let commit = ["commit", "-q", "-m", rest];
            shell(&[&["git"][..], &commit].concat())
                .or_else(|_| shell(&[&["git"][..], &name, &commit].concat()))?;
        }
        "say" => ui::answer_line(rest),
        "signal" => ui::answer_line(format!("<signal>{rest}</signal>")),
        "sleep" => std::thread::sleep(Duration::from_millis(rest.parse().map_err(|_| bad())?)),
        // Opening a FIFO waits until another process opens its other end: two processes meet without a clock.
        "meet" => drop(std::fs::File::open(first).map_err(cannot("open"))?),
        "hang" => loop {
            std::thread::park();
        },
        "crash" => std::process::abort(),
        "run" => shell(&rest.split_whitespace().collect::<Vec<_>>())?,
        "exit" => return rest.parse().map(Some).map_err(|_| bad()),
        "if-conflict" => {
            if prompt.contains("Resolve the merge conflict first") {
                return step(rest, prompt);
            }
        }
        "if-feedback" => {
            if prompt.contains("What went wrong last time") {
                return step(rest, prompt);
            }
        }
        _ => return Err(bad()),
    }
    Ok(None)
}

fn make_folder_of(file: &str) -> Outcome {
    let Some(folder) = Utf8Path::new(file).parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create the folder of {file}")))
}

fn shell(words: &[&str]) -> Outcome {
    let Some((program, args)) = words.split_first() else { return Ok(()) };
    let status =
        Command::new(program).args(args).status().map_err(Failure::io(format!("cannot run {program}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` did not succeed", words.join(" "))))
    }
}
