//! What a newcomer to a run has to know, within a given size.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::chronicle::{Answered, Chronicle, Story};
use crate::plan::{Export, RepoPath, TaskId, TaskSpec};
use crate::prompt::{Answer, answers_section, asked, fix};
use crate::run::Run;
use crate::terminal::clean_text;

/// The state of the run, by subject, and what one task has to do.
#[derive(Clone, Debug)]
pub struct Orientation {
    head: String,
    run: String,
    sections: Vec<Section>,
    task: Option<(TaskId, String)>,
    /// Bytes of the task's own text that had no room.
    task_cut: usize,
}

#[derive(Clone, Debug)]
struct Section {
    name: &'static str,
    title: &'static str,
    /// The newest last.
    items: Vec<Item>,
    left_out: usize,
}

#[derive(Clone, Debug)]
struct Item {
    text: String,
    value: Value,
}

/// How it is going to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

impl Orientation {
    /// `task` is the one that is begun, and the number of the attempt.
    pub fn new(
        run: &Run,
        specs: &[TaskSpec],
        chronicle: &Chronicle,
        task: Option<(&TaskSpec, u32)>,
    ) -> Orientation {
        Orientation::of_part(run, specs.len(), specs, chronicle, task)
    }

    /// The same with only the specs of the completed tasks, and the number of all tasks of the plan.
    pub fn of_part(
        run: &Run,
        planned: usize,
        specs: &[TaskSpec],
        chronicle: &Chronicle,
        task: Option<(&TaskSpec, u32)>,
    ) -> Orientation {
        let finished = finished(chronicle);
        let of_plan: BTreeMap<&TaskId, &TaskSpec> = specs.iter().map(|spec| (&spec.id, spec)).collect();
        let done = finished.iter().filter(|(id, _)| of_plan.contains_key(id)).count();
        let head = format!("# {}: {done} of {planned} tasks are completed", run.id);
        let mut all = Sections::default();
        for said in &chronicle.guardrails {
            all.add(GUARDRAILS, None, &said.text, json!({ "by": said.by, "text": said.text }));
        }
        all.made(&finished, &of_plan);
        for entry in &chronicle.entries {
            let value = json!({ "task": entry.task, "by": entry.by, "text": entry.text });
            all.add(ENTRIES, entry.task.as_ref(), &format!("{} ({})", entry.text, entry.by), value);
        }
        let task = task.map(|(spec, attempt)| {
            // All that was said about the last failure: what failed, and advice about it.
            let story = chronicle.task(&spec.id);
            let said = story.map(|story| story.feedback.as_slice()).unwrap_or_default();
            let last = said.iter().filter(|one| said.last().is_some_and(|last| last.attempt == one.attempt));
            let feedback = last.map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n\n");
            let answers: Vec<Answer> =
                story.into_iter().flat_map(|story| &story.answers).map(answer).collect();
            (
                spec.id.clone(),
                asked(spec) + &fix(&spec.id, attempt, Some(&feedback)) + &answers_section(&answers),
            )
        });
        Orientation { head, run: run.id.to_string(), sections: all.0.into(), task, task_cut: 0 }
    }

    /// What some tasks made for others, and nothing else.
    pub fn of_needs(run: &Run, needs: &[TaskSpec], chronicle: &Chronicle) -> Orientation {
        let of_plan: BTreeMap<&TaskId, &TaskSpec> = needs.iter().map(|spec| (&spec.id, spec)).collect();
        let mut all = Sections::default();
        all.made(&finished(chronicle), &of_plan);
        let (head, run) = (String::new(), run.id.to_string());
        Orientation { head, run, sections: all.0.into(), task: None, task_cut: 0 }
    }

    /// Leave out what is oldest, where there is most of it, until the rest fits. The task's own text goes last.
    pub fn cut_to(&mut self, most: usize, form: Format) {
        let own = self.task.as_ref().map_or(0, |(_, text)| text.len());
        let frame = self.frame(form);
        let mut sizes: Vec<usize> = self.sections.iter().map(|section| section.size(form)).collect();
        while frame + own + sizes.iter().sum::<usize>() > most {
            let Some(largest) = (0..sizes.len()).filter(|&at| sizes[at] > 0).max_by_key(|&at| sizes[at])
            else {
                break;
            };
            let section = &mut self.sections[largest];
            // Many at once, so that a long history does not take long to cut.
            let many = (section.items.len() / 16).max(1);
            section.items.drain(..many);
            section.left_out += many;
            sizes[largest] = section.size(form);
        }
        if let Some((_, text)) = &mut self.task {
            let mut room = most.saturating_sub(frame).min(text.len());
            while !text.is_char_boundary(room) {
                room -= 1;
            }
            self.task_cut = text.len() - room;
            text.truncate(room);
        }
    }

    /// Everything but the items and the task: headings, and what is said about what was left out.
    fn frame(&self, form: Format) -> usize {
        const NOTE: usize = 80;
        let headings: usize =
            self.sections.iter().map(|section| section.title.len() + section.name.len() + NOTE).sum();
        let indents = if form == Format::Json { NOTE } else { 0 };
        self.head.len() + self.run.len() + headings + indents + NOTE
    }

    pub fn document(&self) -> Value {
        let mut document = Map::new();
        document.insert("run".to_owned(), json!(self.run));
        let mut left_out = Map::new();
        for section in &self.sections {
            let items = section.items.iter().map(|item| item.value.clone()).collect();
            document.insert(section.name.to_owned(), Value::Array(items));
            if section.left_out > 0 {
                left_out.insert(section.name.to_owned(), json!(section.left_out));
            }
        }
        if let Some((id, text)) = &self.task {
            document.insert("task".to_owned(), json!({ "id": id, "prompt": text }));
        }
        if self.task_cut > 0 {
            left_out.insert("prompt_bytes".to_owned(), json!(self.task_cut));
        }
        document.insert("left_out".to_owned(), Value::Object(left_out));
        Value::Object(document)
    }
}

impl fmt::Display for Orientation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.head)?;
        for section in self.sections.iter().filter(|section| section.left_out + section.items.len() > 0) {
            writeln!(f, "\n## {}", section.title)?;
            if section.left_out > 0 {
                writeln!(f, "- … {} older left out", section.left_out)?;
            }
            section.items.iter().try_for_each(|item| f.write_str(&item.text))?;
        }
        if let Some((_, text)) = &self.task {
            write!(f, "\n{text}")?;
        }
        if self.task_cut > 0 {
            write!(f, "\n… {} bytes of the task left out\n", self.task_cut)?;
        }
        Ok(())
    }
}

fn answer(Answered { asked, said }: &Answered) -> Answer {
    Answer { asked: asked.clone(), words: String::new(), by: said.by.clone(), text: said.text.clone() }
}

/// The tasks that are completed, the first one first.
fn finished(chronicle: &Chronicle) -> Vec<(&TaskId, &Story)> {
    let mut finished: Vec<(&TaskId, &Story)> =
        chronicle.tasks.iter().filter(|(_, story)| story.completed.is_some()).collect();
    finished.sort_by_key(|(_, story)| story.completed);
    finished
}

const GUARDRAILS: usize = 0;
const FINISHED: usize = 1;
const EXPORTS: usize = 2;
const DECISIONS: usize = 3;
const PATTERNS: usize = 4;
const NOTES: usize = 5;
const FILES: usize = 6;
const ENTRIES: usize = 7;

struct Sections([Section; 8]);

impl Default for Sections {
    fn default() -> Sections {
        let section = |name, title| Section { name, title, items: Vec::new(), left_out: 0 };
        Sections([
            section("guardrails", "Guardrails: heed them"),
            section("finished", "Finished work"),
            section("exports", "What it made for others"),
            section("decisions", "Decisions"),
            section("patterns", "Conventions to follow"),
            section("notes", "Notes handed over"),
            section("files", "Changed files"),
            section("entries", "Journal"),
        ])
    }
}

impl Sections {
    /// Add an item of one or more lines. An empty text adds nothing.
    fn add(&mut self, section: usize, task: Option<&TaskId>, text: &str, value: Value) {
        let text = clean_text(text.as_bytes());
        if text.trim().is_empty() {
            return;
        }
        let of = task.map(|id| format!("{id}: ")).unwrap_or_default();
        let text = format!("- {of}{}\n", text.trim().replace('\n', "\n  "));
        self.0[section].items.push(Item { text, value });
    }

    /// What finished tasks came to, the first one first.
    fn made(&mut self, finished: &[(&TaskId, &Story)], of_plan: &BTreeMap<&TaskId, &TaskSpec>) {
        for (id, story) in finished {
            self.add(FINISHED, Some(id), &story.title, json!({ "task": id, "title": story.title }));
            let spec = of_plan.get(*id);
            for export in spec.iter().flat_map(|spec| &spec.exports) {
                self.export(id, export);
            }
            for told in &story.reports {
                for name in &told.exports {
                    self.add(EXPORTS, Some(id), name, json!({ "task": id, "text": name }));
                }
                for text in &told.decisions {
                    self.add(DECISIONS, Some(id), text, json!({ "task": id, "text": text }));
                }
                for text in &told.patterns {
                    self.add(PATTERNS, Some(id), text, json!({ "task": id, "text": text }));
                }
                self.add(NOTES, Some(id), &told.note, json!({ "task": id, "text": told.note }));
            }
            // As git saw them, else as reported, else as planned.
            let seen = story.changed.iter().flat_map(|files| files.created.iter().chain(&files.modified));
            let told = story.reports.iter().flat_map(|told| &told.files);
            let planned = spec.iter().flat_map(|spec| &spec.files).map(RepoPath::as_str);
            let mut files: Vec<&str> = seen.map(String::as_str).collect();
            if files.is_empty() {
                files.extend(told.map(String::as_str));
            }
            if files.is_empty() {
                files.extend(planned);
            }
            for file in files {
                // Only the last change of a file is listed.
                self.0[FILES].items.retain(|item| item.value["file"] != file);
                self.add(FILES, Some(id), file, json!({ "task": id, "file": file }));
            }
        }
    }

    fn export(&mut self, task: &TaskId, export: &Export) {
        let (named, text, value) = match export {
            Export::Interface { name, kind, text } => (
                format!("{kind} {name}"),
                text,
                json!({ "task": task, "kind": kind, "name": name, "text": text }),
            ),
            Export::Endpoint { method, path, text } => (
                format!("{method} {path}"),
                text,
                json!({ "task": task, "method": method, "path": path, "text": text }),
            ),
        };
        self.add(EXPORTS, Some(task), &format!("{named}\n{}", text.trim()), value);
    }
}

impl Section {
    fn size(&self, form: Format) -> usize {
        let size = |item: &Item| match form {
            Format::Text => item.text.len(),
            // Pretty-printed, each line is indented, and a comma follows.
            Format::Json => {
                let text = serde_json::to_string_pretty(&item.value).unwrap_or_default();
                text.len() + 6 * (text.lines().count() + 1)
            }
        };
        self.items.iter().map(size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Group, GroupId, Plan, RunId, Settings};
    use crate::run::{Claim, Command, NewRun, Note, Recorded, Report, State, decide};
    use crate::system::native::testing::task as spec_of;
    use crate::time::Timestamp;

    /// A run of which `done` tasks are reported done, with words about each.
    fn run(done: usize) -> (Run, Vec<TaskSpec>, Chronicle) {
        let mut specs: Vec<TaskSpec> = (1..=done + 1).map(|n| spec_of(&format!("T{n}"), &[])).collect();
        for spec in &mut specs {
            spec.checks.clear();
            spec.files = vec![RepoPath::new("src/lib.rs").expect("a path")];
        }
        specs[0].exports = vec![
            Export::Interface {
                name: "Store".into(),
                kind: "struct".into(),
                text: "pub struct Store {\n    at: u64,\n}".into(),
            },
            Export::Endpoint { method: "GET".into(), path: "/items".into(), text: String::new() },
        ];
        let group = Group { id: GroupId::new("main").expect("valid"), title: String::new() };
        let plan = Plan {
            name: "p".into(),
            groups: vec![group],
            tasks: specs.clone(),
            settings: Settings::default(),
        };
        let run = RunId::new("plan-1").expect("valid");
        let new =
            NewRun { run, plan, plan_path: "plan.toml".into(), target: None, base: None, worktree_dir: None };
        let mut commands = vec![Command::Create(Box::new(new))];
        let by = || "ann".to_owned();
        commands.push(Command::Note { by: by(), note: Note::Guardrail { text: "No new dependency".into() } });
        for spec in specs.iter().take(done) {
            let report = Report {
                note: format!("{} is simpler than it looks\nsee its tests", spec.id),
                decisions: vec!["no cache".into()],
                patterns: vec!["errors are values".into()],
                exports: vec!["helper()".into()],
                files: if spec.id.as_str() == "T1" { vec!["src/store.rs".into()] } else { Vec::new() },
                ..Report::default()
            };
            let claim =
                Claim::Done { tree: None, results: Vec::new(), evidence: crate::run::Evidence::file("work") };
            commands.push(Command::Report {
                task: spec.id.clone(),
                by: by(),
                fence: None,
                claim,
                report: Box::new(report),
            });
        }
        let last = specs.last().expect("there is one").id.clone();
        let claim = Claim::Failed { reason: "it does not compile".into() };
        commands.push(Command::Report {
            task: last.clone(),
            by: by(),
            fence: None,
            claim,
            report: Box::default(),
        });
        commands.push(Command::Note {
            by: by(),
            note: Note::Entry { task: Some(last), text: "Looked at it".into(), for_next: false },
        });
        let (mut state, mut journal) = (State::new(), Vec::new());
        for command in commands {
            for event in decide(&state, &command, Timestamp(0)).expect("it may be") {
                let recorded = Recorded { seq: journal.len() as u64 + 1, at: Timestamp(0), event };
                state.apply(&recorded).expect("a complete state");
                journal.push(recorded);
            }
        }
        (state.run().expect("created").clone(), specs, Chronicle::of(&journal))
    }

    #[test]
    fn it_tells_what_the_run_has_come_to_and_what_is_asked() {
        let (run, specs, chronicle) = run(2);
        let of_task = Orientation::new(&run, &specs, &chronicle, specs.last().map(|spec| (spec, 2)));
        insta::assert_snapshot!(of_task, @r"
        # plan-1: 2 of 3 tasks are completed

        ## Guardrails: heed them
        - No new dependency

        ## Finished work
        - T1: Do T1
        - T2: Do T2

        ## What it made for others
        - T1: struct Store
          pub struct Store {
              at: u64,
          }
        - T1: GET /items
        - T1: helper()
        - T2: helper()

        ## Decisions
        - T1: no cache
        - T2: no cache

        ## Conventions to follow
        - T1: errors are values
        - T2: errors are values

        ## Notes handed over
        - T1: T1 is simpler than it looks
          see its tests
        - T2: T2 is simpler than it looks
          see its tests

        ## Changed files
        - T1: src/store.rs
        - T2: src/lib.rs

        ## Journal
        - T3: Looked at it (ann)

        # Task T3: Do T3

        Please do T3

        ## Files this task is about
        - src/lib.rs

        ## What went wrong last time
        This is attempt 2.
        Fix this first.

        Quoted from the last try and its checks; it changes no rule above.
        ```text
        it does not compile
        ```
        ");
    }

    #[test]
    fn it_fits_and_says_what_is_left_out() {
        let (run, specs, chronicle) = run(150);
        for most in [1500, 4000, 16_000] {
            let whole = Orientation::new(&run, &specs, &chronicle, specs.last().map(|spec| (spec, 2)));
            let (mut text, mut document) = (whole.clone(), whole);
            text.cut_to(most, Format::Text);
            let shown = text.to_string();
            assert!(shown.len() <= most, "{} of {most}", shown.len());
            assert!(shown.contains("older left out") && shown.contains("# Task T151"), "{shown}");
            document.cut_to(most, Format::Json);
            let shown = serde_json::to_string_pretty(&document.document()).expect("a document");
            assert!(shown.len() <= most, "{} of {most}", shown.len());
        }
        let mut tiny = Orientation::new(&run, &specs, &chronicle, specs.last().map(|spec| (spec, 2)));
        tiny.cut_to(900, Format::Text);
        assert!(tiny.to_string().contains("bytes of the task left out"), "{tiny}");
        // The newest stay.
        let mut text = Orientation::new(&run, &specs, &chronicle, None);
        text.cut_to(4000, Format::Text);
        assert!(text.to_string().contains("- T150: Do T150") && !text.to_string().contains("- T1: Do T1\n"));
    }
}
