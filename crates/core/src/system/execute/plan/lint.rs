//! Whether tasks are written well: what a reviewer of a plan would say before work on it begins. Errors are what an
//! agent cannot make sense of, warnings what it may misunderstand. A run does not use this.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::prompt::is_none;
use super::read::layer_number;
use super::steps::{self, Step};
use super::task;
use super::xml::{self, Element, SECTIONS};
use crate::diagnostic::Diagnostic;
use crate::plan::Graph;
use crate::system::kit::commands::removes_git;
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::shared_files::shared_files;
use crate::system::{Problem, Reading};

/// Words that stand for something still to be written.
const PLACEHOLDERS: [&str; 7] =
    ["TODO", "TBD", concat!("FIX", "ME"), "[fill in]", "[to be determined]", "etc.", "and so on"];

/// Words that every reader understands differently.
const VAGUE: [&str; 9] = [
    "appropriate",
    "appropriately",
    "suitable",
    "proper",
    "properly",
    "relevant",
    "necessary",
    "as needed",
    "best practices",
];

/// More files than this are more than one task, tests aside.
const FILES: usize = 3;

/// What is wrong with the words of a plan that was read.
pub fn lint(reading: &Reading) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tasks: BTreeMap<String, (&str, Element)> = BTreeMap::new();
    for (file, text) in &reading.texts {
        let Some(layer) = file.split('/').next().filter(|layer| layer_number(layer).is_some()) else {
            continue;
        };
        // The reader has reported what is wrong with the XML.
        let Some(root) = xml::read(text, &mut Problems::default()) else { continue };
        let mut linter = Linter { text, found: Problems::default() };
        linter.task(&root, layer);
        let found = linter.found.finish().into_iter();
        problems.extend(found.map(|diagnostic| Problem { file: file.clone(), diagnostic }));
        if let Some(id) = root.child("meta").and_then(|meta| task::line(meta, "id")) {
            tasks.insert(id.value, (file, root));
        }
    }
    if let Ok(graph) = Graph::new(&reading.plan.tasks) {
        for shared in shared_files(&reading.plan.tasks, &graph, &reading.plan.settings) {
            let specs = &reading.plan.tasks;
            let (first, second) = (&specs[shared.first], &specs[shared.second]);
            let Some((file, root)) = tasks.get(second.id.as_str()) else { continue };
            let path = &second.files[shared.nth];
            let place = root.child("files-to-create").and_then(|files| {
                files.all("file").find(|element| element.text.replace('\\', "/").contains(path.as_str()))
            });
            let at = place.map_or(0..0, |element| element.text_at.clone());
            let message = format!("`{}` and `{}` may change `{path}` at the same time", first.id, second.id);
            let diagnostic = Diagnostic::warning(at, message)
                .label("their work may conflict when it lands")
                .help(format!("let `{}` depend on `{}` in `layer_plan.json`", second.id, first.id));
            problems.push(Problem { file: (*file).to_owned(), diagnostic });
        }
    }
    Problem::sort(&mut problems);
    problems
}

struct Linter<'t> {
    text: &'t str,
    found: Problems,
}

impl Linter<'_> {
    fn error(&mut self, at: Range<usize>, message: impl Into<String>, label: &str) {
        self.found.push(Diagnostic::error(at, message).label(label));
    }

    fn warn(&mut self, at: Range<usize>, message: impl Into<String>, label: &str) {
        self.found.push(Diagnostic::warning(at, message).label(label));
    }

    fn task(&mut self, root: &Element, layer: &str) {
        let number = layer_number(layer).unwrap_or_default();
        self.sections(root, number);
        self.meta(root, number);
        for (section, item) in [("requirements", "requirement"), ("test-requirements", "test")] {
            let elements: Vec<&Element> =
                root.child(section).iter().flat_map(|parent| parent.all(item)).collect();
            self.ids(&elements);
            elements.iter().for_each(|element| self.words(element));
        }
        root.child("objective").into_iter().for_each(|element| self.words(element));
        let interfaces = ["dependencies", "exports"].into_iter().filter_map(|name| root.child(name));
        interfaces.flat_map(|section| section.all("interface")).for_each(|element| self.interface(element));
        self.files(root);
        self.steps(root);
    }

    fn sections(&mut self, root: &Element, number: &str) {
        for name in SECTIONS.iter().filter(|name| !matches!(**name, "meta" | "verification")) {
            // Setting something up makes no files, and the first task builds on nothing.
            let may_be_empty = *name == "dependencies" || (*name == "files-to-create" && number == "0");
            match root.child(name) {
                None => self.warn(
                    root.at.clone(),
                    format!("`<{name}>` is missing"),
                    "add it, even if it is short",
                ),
                Some(section) if section.children.is_empty() && is_none(&section.text) && !may_be_empty => {
                    self.warn(section.at.clone(), format!("`<{name}>` is empty"), "write something here");
                }
                Some(_) => {}
            }
        }
    }

    fn meta(&mut self, root: &Element, number: &str) {
        let Some(meta) = root.child("meta") else { return };
        if task::line(meta, "priority").is_none() {
            self.warn(meta.at.clone(), "there is no `<priority>`", "1 to 99; 1 is first in its layer");
        }
        let Some(id) = task::line(meta, "id") else { return };
        let own = id.value.trim_start_matches('L').split('-').next().unwrap_or_default();
        if own.trim_start_matches('0') != number.trim_start_matches('0') {
            let message = format!("`{}` is in layer {number}", id.value);
            self.warn(id.at, message, "its number says otherwise");
        }
    }

    fn ids(&mut self, elements: &[&Element]) {
        let mut seen = HashSet::new();
        for element in elements {
            match element.attribute("id") {
                None => self.warn(element.at.clone(), "this has no `id`", "other parts cannot refer to it"),
                Some(id) if !seen.insert(id.value.trim()) => {
                    let message = format!("the id `{}` is used twice", cut(&id.value));
                    self.warn(id.at.clone(), message, "each needs its own");
                }
                Some(_) => {}
            }
        }
    }

    /// Words that say nothing, and commands that no agent should type.
    fn words(&mut self, element: &Element) {
        let (start, prose) =
            (element.text_at.start, steps::without_code(&self.text[element.text_at.clone()]));
        for word in PLACEHOLDERS {
            if let Some(at) = find_word(&prose, word) {
                let place = start + at..start + at + word.len();
                self.error(place, format!("`{word}` is a placeholder"), "write it");
            }
        }
        for dots in ["...", "…"] {
            let open = prose.match_indices(dots).find(|(at, _)| {
                let (before, after) = (&prose[..*at], &prose[at + dots.len()..]);
                let ends = after.trim_start_matches([' ', '\t']).is_empty() || after.starts_with('\n');
                ends || (before.ends_with(char::is_whitespace) && after.starts_with(char::is_whitespace))
            });
            if let Some((at, _)) = open {
                let place = start + at..start + at + dots.len();
                self.error(place, format!("`{dots}` is a placeholder"), "write it");
            }
        }
        let lower = prose.to_ascii_lowercase();
        for word in VAGUE {
            if let Some(at) = find_word(&lower, word) {
                let place = start + at..start + at + word.len();
                self.warn(place, format!("`{word}` is vague"), "say exactly what you mean");
            }
        }
        if element.text.lines().any(removes_git) {
            self.error(
                element.text_at.clone(),
                "this asks to remove `.git`",
                "a task must not remove its repository",
            );
        }
    }

    fn interface(&mut self, element: &Element) {
        for name in ["name", "type"] {
            if element.attribute(name).is_none_or(|said| said.value.trim().is_empty()) {
                self.error(
                    element.at.clone(),
                    format!("this interface has no `{name}`"),
                    "others refer to it",
                );
            }
        }
        if element.text.trim().is_empty() {
            self.warn(element.at.clone(), "this interface is empty", "write its signature");
        }
    }

    fn files(&mut self, root: &Element) {
        let Some(section) = root.child("files-to-create") else { return };
        let files: Vec<&str> = section.all("file").map(|file| file.text.trim()).collect();
        let is_test =
            |file: &&str| file.to_lowercase().contains("test") || file.to_lowercase().contains("spec");
        let count = files.iter().filter(|file| !is_test(file)).count();
        if count > FILES {
            let message = format!("this task has {count} files, not counting tests");
            self.warn(section.at.clone(), message, "split it: three are enough for one task");
        }
    }

    fn steps(&mut self, root: &Element) {
        let Some(section) = root.child("verification") else { return };
        let mut runnable = false;
        for element in section.all("step") {
            let said = Spanned { value: element.text.as_str(), at: element.text_at.clone() };
            let steps = steps::read(&said, &mut Problems::default());
            runnable |= steps.iter().any(|step| !matches!(step, Step::Condition(_)));
            if steps.iter().any(|step| matches!(step, Step::Condition(_))) {
                self.words(element);
            }
        }
        if !runnable {
            let message = "no step can be run: this task cannot be proven done";
            self.error(section.at.clone(), message, "add a `Run:` or a `Verify:`");
        }
    }
}

/// Where a word stands as a whole word.
fn find_word(text: &str, word: &str) -> Option<usize> {
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let joined = |c: char| c.is_alphanumeric() || c == '_';
        !before.ends_with(joined) && !after.starts_with(joined)
    })
}
