//! `piton plan FOLDER --every`: what Piton makes of all plans below a folder, in numbers.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::{Severity, place};
use piton_core::system::kit::{checklist, text};
use piton_core::system::{Folder, Problem, Reading, SystemRef};
use piton_core::view::counted;
use serde::Serialize;
use serde_json::json;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::shown;
use crate::plans::{self, How};
use crate::ui;

/// What became of one plan, or of all.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    /// In its Markdown files.
    boxes: usize,
    tasks: usize,
    /// Of these, tasks that the plan itself calls done.
    done: usize,
    warnings: usize,
    errors: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    path: Utf8PathBuf,
    system: &'static str,
    #[serde(flatten)]
    counts: Counts,
    /// `file:line: what is wrong`
    problems: Vec<String>,
}

pub(super) fn plans(folder: &Utf8Path, how: How<'_>, all: bool, json: bool) -> Outcome<Exit> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{folder} is not a folder")));
    }
    let found = plans::below(folder, how.system);
    if found.is_empty() {
        return Err(Failure::new(format!("there is no plan below {folder}")));
    }
    let mut rows = Vec::new();
    for (path, system) in found {
        let row = row(path, system, how)?;
        if !json {
            say(&row, all);
        }
        rows.push(row);
    }
    let mut sums: BTreeMap<&str, (usize, Counts)> = BTreeMap::new();
    for row in &rows {
        let (plans, sum) = sums.entry(row.system).or_default();
        *plans += 1;
        sum.add(row.counts);
    }
    if json {
        let of = |(system, (plans, sum)): (&&str, &(usize, Counts))| json!({ "system": system, "plans": plans, "sum": sum });
        ui::answer_json(&json!({ "plans": rows, "systems": sums.iter().map(of).collect::<Vec<_>>() }));
        return Ok(FINE);
    }
    ui::answer_line("");
    for (system, (plans, sum)) in sums {
        ui::answer_line(format!("{system:10} {}: {}", counted(plans as u64, "plan"), sum.words()));
    }
    Ok(FINE)
}

fn row(path: Utf8PathBuf, system: SystemRef, how: How<'_>) -> Outcome<Row> {
    let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
    let source = plans::source(&real, system)?;
    let read = plans::reading(&real, system, &source, how)?;
    let reading = read.reading();
    let base = plans::base(&real, system);
    let problems: Vec<String> =
        reading.problems.iter().map(|problem| line(problem, reading, &base)).collect();
    let of =
        |severity| reading.problems.iter().filter(|problem| problem.diagnostic.severity == severity).count();
    let counts = Counts {
        boxes: boxes(&source),
        tasks: reading.plan.tasks.len(),
        done: reading.before.values().filter(|before| before.done).count(),
        warnings: of(Severity::Warning),
        errors: of(Severity::Error),
    };
    Ok(Row { path, system: system.name(), counts, problems })
}

/// Boxes outside of code and comments.
fn boxes(source: &Folder) -> usize {
    let is_markdown =
        |name: &str| Utf8Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
    let lists = source.files.iter().filter(|(name, _)| is_markdown(name));
    lists.map(|(_, bytes)| checklist::scan(&text::decode(bytes).text).items().count()).sum()
}

fn line(problem: &Problem, reading: &Reading, base: &Utf8Path) -> String {
    let text = reading.texts.get(&problem.file).map(String::as_str).unwrap_or_default();
    let (line, _) = place(text, problem.diagnostic.span.start.min(text.len()));
    let Problem { file, diagnostic } = problem;
    let label = if diagnostic.label.is_empty() { String::new() } else { format!(" ({})", diagnostic.label) };
    format!("{}:{line}: {}{label}", shown(&base.join(file)), diagnostic.message)
}

fn say(row: &Row, all: bool) {
    ui::answer_line(format!("{}  {}: {}", ui::plain(row.path.as_str()), row.system, row.counts.words()));
    if all || row.counts.errors > 0 {
        row.problems.iter().for_each(|problem| ui::answer_line(format!("    {}", ui::plain(problem))));
    }
}

impl Counts {
    fn add(&mut self, other: Counts) {
        let Counts { boxes, tasks, done, warnings, errors } = other;
        self.boxes += boxes;
        self.tasks += tasks;
        self.done += done;
        self.warnings += warnings;
        self.errors += errors;
    }

    fn words(&self) -> String {
        let count = |number: usize, what| counted(number as u64, what);
        let mut words = vec![format!(
            "{} made {}",
            count(self.boxes, "box").replace("boxs", "boxes"),
            count(self.tasks, "task")
        )];
        if self.boxes == 0 {
            words = vec![count(self.tasks, "task")];
        }
        words.extend((self.done > 0).then(|| format!("{} done before", self.done)));
        words.extend((self.warnings > 0).then(|| count(self.warnings, "warning")));
        words.extend((self.errors > 0).then(|| count(self.errors, "error")));
        words.join(", ")
    }
}
