//! Plain checklists in the table of systems.

use std::collections::BTreeMap;

use super::read::{draft, plan};
use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::boxes::{self, Ticked};
use crate::system::kit::checklist;
use crate::system::kit::draft::{holds, sign_of, tick_in, ticked_in, titles_in};
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::{Companion, TickedList};
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// A checklist that belongs to no tool.
#[derive(Clone, Copy, Debug)]
pub struct Todo;

/// Its row.
pub(super) static TODO: Todo = Todo;

/// Names that people give to such lists. Those in capitals mean other systems' files when they are small.
const NAMES: [&str; 2] = ["TASKS.md", "PLAN.md"];
const NAMES_OF_ANY_CASE: [&str; 5] =
    ["todo.md", "roadmap.md", "implementation_plan.md", "implementation-plan.md", "fix_plan.md"];
/// Folders whose files other tools have put there: templates, and lists that people sign off.
const INSTALLED: [&str; 14] = [
    ".specify",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".opencode",
    ".github",
    ".factory",
    "_bmad",
    ".bmad-core",
    "node_modules",
    "vendor",
    "fixtures",
    "checklists",
];

impl System for Todo {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn about(&self) -> &'static str {
        "A Markdown file with boxes, such as TODO.md"
    }

    fn plain(&self) -> Form {
        Form::Added(&TODO)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, ..Files::default() }
    }

    /// The first list at the root of a project, if that is no other system's plan.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let names = disk.names(folder);
        if !names.iter().any(|name| name == ".git") {
            return None;
        }
        let is_list = |name: &&String| is_named(name) && has_boxes(&join(folder, name), disk);
        names.iter().find(is_list).map(|name| Claim::new(name, Strength::Fallback))
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        let is_markdown = name.rsplit_once('.').is_some_and(|(_, end)| {
            ["md", "markdown", "mdx"].iter().any(|known| end.eq_ignore_ascii_case(known))
        });
        let is_installed = path.split(['/', '\\']).any(|part| INSTALLED.contains(&part))
            || path.contains("get-shit-done/templates/")
            || path.contains("gsd-core/templates/");
        if !is_markdown || is_installed || !has_boxes(path, disk) {
            return FileClaim::No;
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_in_place =
            folder.rsplit('/').next() == Some("docs") || disk.names(folder).iter().any(|name| name == ".git");
        if is_named(name) && is_in_place { FileClaim::Yes } else { FileClaim::LastResort }
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(plan(folder, given).plan(&TODO, given))
    }

    fn companions(&self, _: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        vec![&LIST]
    }
}

/// The plan itself.
pub(super) static LIST: TickedList =
    TickedList { name: None, ticked, titles, tick, holds, is_like: boxes::has_boxes };

fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    ticked_in(draft(&text::decode(bytes).text, ""))
}

fn titles(bytes: &[u8]) -> BTreeMap<TaskId, String> {
    titles_in(draft(&text::decode(bytes).text, ""))
}

fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let text = text::decode(bytes).text;
    let done = sign_of(&checklist::scan(&text), &text, "x");
    tick_in(draft(&text, ""), bytes, &text, done, stand)
}

fn is_named(name: &str) -> bool {
    NAMES.contains(&name) || NAMES_OF_ANY_CASE.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn has_boxes(path: &str, disk: &dyn Disk) -> bool {
    let bytes = disk.read(path).unwrap_or_default();
    // Most Markdown files have none, and need not be taken apart.
    bytes.contains(&b'[') && checklist::scan(&text::decode(&bytes).text).items().next().is_some()
}
