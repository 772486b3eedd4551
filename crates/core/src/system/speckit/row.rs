//! Spec Kit in the table of systems.

use std::collections::BTreeMap;

use super::ids::id_at;
use super::read::{draft, plan};
use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::boxes::{self, Ticked};
use crate::system::kit::checklist::{self, Kind};
use crate::system::kit::draft::{holds, sign_of, tick_in, ticked_in, titles_in};
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::{Companion, TickedList};
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, ReadPlan, Strength, System,
};

/// A feature's `tasks.md`.
#[derive(Clone, Copy, Debug)]
pub struct SpecKit;

/// Its row.
static SPEC_KIT: SpecKit = SpecKit;

const FILE: &str = "tasks.md";
const PLACE: &str = "specs";
/// Documents of a feature that lie beside its list.
const BESIDE: [&str; 5] = ["plan.md", "spec.md", "data-model.md", "research.md", "quickstart.md"];
const CONTRACTS: &str = "contracts";
const CONSTITUTION: &str = ".specify/memory/constitution.md";
/// More contracts of one feature are not named one by one.
const MOST: usize = 30;

impl System for SpecKit {
    fn name(&self) -> &'static str {
        "speckit"
    }

    fn about(&self) -> &'static str {
        "The tasks.md of a feature, of Spec Kit"
    }

    fn plain(&self) -> Form {
        Form::Added(&SPEC_KIT)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { plan_is_file: true, usual_folder: Some(PLACE), ..Files::default() }
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        is_ours(folder, disk).then(|| Claim::new(FILE, Strength::ByPlace))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if name == FILE { FileClaim::InItsFolder } else { FileClaim::No }
    }

    /// `001-photo-albums` by its name, its number or its slug.
    fn goes_by(&self, folder: &str, text: &str) -> bool {
        let digits = folder.bytes().take_while(u8::is_ascii_digit).count();
        let slug = folder[digits..].strip_prefix('-').unwrap_or_default();
        folder == text || digits >= 3 && (&folder[..digits] == text || slug == text && !slug.is_empty())
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        let folder = plan.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut files: Vec<String> = BESIDE.iter().map(|name| join(folder, name)).collect();
        let contracts = join(folder, CONTRACTS);
        files.extend(disk.names(&contracts).iter().take(MOST).map(|name| join(&contracts, name)));
        let constitution =
            above(folder).map(|folder| join(folder, CONSTITUTION)).find(|path| disk.is_file(path));
        files.extend(constitution);
        files
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(plan(folder, given).plan(&SPEC_KIT, given))
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
    let done = sign_of(&checklist::scan(&text), &text, "X");
    tick_in(draft(&text, ""), bytes, &text, done, stand)
}

/// Whether the `tasks.md` of a folder is one of Spec Kit: by its place, and by what is around it or in it.
fn is_ours(folder: &str, disk: &dyn Disk) -> bool {
    let path = join(folder, FILE);
    if !disk.is_file(&path) {
        return false;
    }
    let real = disk.real(folder).unwrap_or_else(|| folder.to_owned());
    let parts: Vec<&str> = real.split('/').collect();
    let is_in_place = parts.len() >= 2 && parts[parts.len() - 2] == PLACE;
    // Folders of other tools have the same name.
    let owner = parts.len().checked_sub(3).map_or("", |nth| parts[nth]);
    let is_of_others = owner.starts_with('.') && owner != ".specify";
    let is_described = disk.is_file(&join(folder, "spec.md"));
    if is_of_others || !is_in_place && !is_described {
        return false;
    }
    let is_marked = above(&real).any(|folder| disk.names(folder).iter().any(|name| name == ".specify"));
    is_marked && is_in_place || disk.read(&path).is_some_and(|bytes| is_like(&bytes))
}

/// Whether a text looks like such a list: its title, its legend, or two boxes with ids.
fn is_like(bytes: &[u8]) -> bool {
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let is_told = list.lines.iter().any(|line| {
        let said = &text[line.text.clone()];
        match line.kind {
            Kind::Heading(1) => said.starts_with("Tasks:"),
            Kind::Heading(2) => said.starts_with("Format:") && said.contains("[ID]"),
            _ => false,
        }
    });
    let has_id = |said: &str| id_at(said.trim_start_matches(['*', '~', '_'])).is_some();
    is_told || list.items().filter(|(_, line, _)| has_id(&text[line.text.clone()])).nth(1).is_some()
}

/// A folder and those above it.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| folder.rsplit_once('/').map(|(above, _)| above))
}
