//! A sixth system, for the test that a system is one folder and one row: a file `*.lines`, with a task on each line.
//!
//! ```text
//! T1: Write one | test -f one.txt
//! T2: Write two | test -f two.txt
//! ```

use piton_core::diagnostic::Diagnostic;
use piton_core::plan::{Argv, Check, Group, GroupId, Plan, Settings, TaskId, TaskSpec};
use piton_core::run::Refusal;
use piton_core::system::config::{Config, name_from};
use piton_core::system::export::Written;
use piton_core::system::{
    Addition, Disk, FileClaim, Files, Folder, Form, Given, Problem, ReadPlan, Reading, System,
};
use piton_core::time::Span;

#[derive(Clone, Copy, Debug)]
pub struct Lines;

/// Its row.
pub static LINES: Lines = Lines;

const ENDING: &str = ".lines";

impl System for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn about(&self) -> &'static str {
        "A file with one task on each line"
    }

    fn plain(&self) -> Form {
        Form::Added(&LINES)
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, ..Files::default() }
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if name.ends_with(ENDING) { FileClaim::Yes } else { FileClaim::No }
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (mut tasks, mut problems, mut start) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let at = start..start + line.trim_end().len();
            start += line.len();
            match task(line, given.config) {
                Some(task) => tasks.push(task),
                None if line.trim().is_empty() => {}
                None => {
                    let diagnostic = Diagnostic::error(at, "this line is not a task")
                        .label("write `ID: title | command that proves it`");
                    problems.push(Problem { file: given.place.to_owned(), diagnostic });
                }
            }
        }
        let groups =
            vec![Group { id: GroupId::new("lines").expect("an id"), title: "All of them".to_owned() }];
        let settings = Settings { form: Form::Added(&LINES), ..given.config.settings() };
        let name = name_from(given.name.strip_suffix(ENDING).unwrap_or(given.name));
        let texts = [(given.place.to_owned(), text)].into();
        let plan = Plan { name, groups, tasks, settings };
        Box::new(Reading { problems, texts, ..Reading::new(plan) })
    }

    fn add(&self, folder: &Folder, _: &Plan, task: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        let check = task.checks.iter().flatten().next().map(String::as_str).unwrap_or("true");
        let line = format!("{}: {} | {check}\n", task.id, task.title);
        let grown = |(name, bytes): (&String, &Vec<u8>)| (name.clone(), [bytes, line.as_bytes()].concat());
        Ok(folder.files.iter().map(grown).collect())
    }

    fn write(&self, fitted: &Plan, config: &Config, _: &dyn Fn(&TaskId) -> bool) -> Written {
        let check = |task: &TaskSpec| task.checks.first().map(|check| check.run.to_string());
        let line = |task: &TaskSpec| {
            format!("{}: {} | {}\n", task.id, task.title, check(task).unwrap_or_else(|| "true".to_owned()))
        };
        let name = format!("{}{ENDING}", fitted.name);
        let files = vec![(name.clone(), fitted.tasks.iter().map(line).collect())];
        let given = Given::new(&name, &name, config);
        Written::read_back(files, |folder| self.read(folder, &given).reading().clone())
    }
}

fn task(line: &str, config: &Config) -> Option<TaskSpec> {
    let (id, rest) = line.split_once(':')?;
    let (title, command) = rest.split_once('|')?;
    let id = TaskId::new(id.trim()).ok()?;
    let check = Check::new(id.to_string(), Argv::parse(command.trim()), Span::minutes(5));
    let title = title.trim();
    Some(TaskSpec { checks: vec![check], ..config.task(id, title, title) })
}

#[cfg(test)]
mod tests {
    use piton_core::plan::Settings;
    use piton_core::system::{Policy, SystemRef, add_systems};
    use serde_json::{Value, json};

    use super::LINES;

    #[test]
    fn a_journal_names_a_system_that_was_added_and_none_that_is_unknown() {
        static ROWS: [SystemRef; 1] = [&LINES];
        let unknown: Result<Settings, _> = serde_json::from_value(of_system("dashes"));
        let error = unknown.expect_err("an unknown system").to_string();
        assert!(error.contains("this version does not know the system `dashes`"), "{error}");
        add_systems(&ROWS);
        let settings: Settings = serde_json::from_value(of_system("lines")).expect("a row has this name");
        assert_eq!((settings.system().name(), settings.policy()), ("lines", Policy::USUAL));
        assert_eq!(json!(settings)["dialect"], "lines");
    }

    /// Settings as a journal has them.
    fn of_system(name: &str) -> Value {
        let mut settings = json!(Settings::default());
        settings["dialect"] = name.into();
        settings
    }
}
