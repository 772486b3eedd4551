//! Every figure that `docs/performance.md` shows, measured against a floor in the same run.
//!
//! `cargo bench` measures all of them; `cargo bench -- ledger` those of one part; `--write` puts
//! what was measured into the page. Nothing here passes or fails: a busy machine is not a bug.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people, which may panic")]

mod bench;
mod builds;
mod checked;
mod commands;
mod drawings;
mod files;
mod gits;
mod journal;
mod landings;
mod ledger;
mod lists;
mod makespans;
mod page;
mod runs;
mod server;
mod streams;
mod waiting;
mod watching;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use bench::Figure;

type Part = (&'static str, fn() -> Vec<Figure>);

const PARTS: [Part; 15] = [
    ("journal", journal::figures),
    ("server", server::figures),
    ("ledger", ledger::figures),
    ("files", files::figures),
    ("lists", lists::figures),
    ("runs", runs::figures),
    ("checked", checked::figures),
    ("waiting", waiting::figures),
    ("landings", landings::figures),
    ("builds", builds::figures),
    ("streams", streams::figures),
    ("watch", watching::figures),
    ("drawings", drawings::figures),
    ("page", page::figures),
    ("makespan", makespans::figures),
];
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
const MARKS: [&str; 2] =
    ["<!-- figures: written by `cargo bench -- --write` -->\n", "<!-- end of figures -->\n"];
const HEAD: &str = "| what | measured | floor | against it | at most |\n|---|---|---|---|---|\n";
/// The table of every command, which has columns of its own.
const COMMANDS: &str = "commands";
const COMMANDS_MARKS: [&str; 2] =
    ["<!-- commands: written by `cargo bench -- commands --write` -->\n", "<!-- end of commands -->\n"];

fn main() -> ExitCode {
    let wishes: Vec<String> = std::env::args().skip(1).filter(|wish| wish != "--bench").collect();
    let write = wishes.iter().any(|wish| wish == "--write");
    let named: Vec<&String> = wishes.iter().filter(|wish| !wish.starts_with("--")).collect();
    let mut measured: Vec<Figure> = Vec::new();
    for (name, figures) in PARTS {
        if named.is_empty() || named.iter().any(|wish| *wish == name) {
            println!("measuring: {name}");
            for figure in figures() {
                println!("  {figure}");
                measured.push(figure);
            }
        }
    }
    if write && !measured.is_empty() {
        let before = if named.is_empty() { HEAD.to_owned() } else { table(MARKS) };
        put(&with(before, &measured), MARKS);
    }
    if named.is_empty() || named.iter().any(|wish| *wish == COMMANDS) {
        println!("measuring: {COMMANDS}");
        let table = commands::table();
        println!("{table}");
        if write {
            put(&table, COMMANDS_MARKS);
        }
    }
    ExitCode::SUCCESS
}

/// The table with these figures: each in the place of the one before it, or below.
fn with(mut table: String, measured: &[Figure]) -> String {
    for figure in measured {
        let row = figure.row();
        let begin = row.split_inclusive(" | ").next().unwrap();
        let before = table.split_inclusive('\n').find(|line| line.starts_with(begin)).map(str::to_owned);
        match before {
            Some(before) => table = table.replacen(&before, &row, 1),
            None => table.push_str(&row),
        }
    }
    table
}

/// The table of the page between two marks.
fn table(marks: [&str; 2]) -> String {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, rest) = page.split_once(marks[0]).unwrap();
    rest.split_once(marks[1]).unwrap().0.to_owned()
}

/// Write a table into the page, between two marks.
fn put(table: &str, marks: [&str; 2]) {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(marks[0]).unwrap();
    let (_, after) = rest.split_once(marks[1]).unwrap();
    fs::write(Path::new(PAGE), format!("{before}{}{table}{}{after}", marks[0], marks[1])).unwrap();
    println!("written: docs/performance.md");
}
