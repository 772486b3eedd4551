//! The files of work that is not code: its sources and its outputs, each by its content, as it was proven and as it is now.
//! Changes nothing.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::order::Pairs;
use piton_core::plan::{Oid, RepoPath, TaskId};
use piton_core::run::{Proof, Run};
use piton_core::view::counted;
use piton_engine::git::Repo;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::paths::files_in;
use crate::ui::{self, DIM};

/// How many sources are named one by one: they stand on one line.
const MOST: usize = 12;

pub(crate) struct Artifacts {
    /// Every file, with what it holds, if git could be asked.
    sources: BTreeMap<String, Option<Oid>>,
    outputs: Vec<Output>,
}

struct Output {
    unit: TaskId,
    path: RepoPath,
    files: BTreeMap<String, Option<Oid>>,
    proof: Proven,
}

/// An output compared with what was proven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proven {
    /// Nothing was proven, or git could not be asked.
    NotYet,
    Unchanged,
    Changed,
}

impl Proven {
    /// As programs get it.
    fn json(self) -> Value {
        match self {
            Proven::NotYet => Value::Null,
            Proven::Unchanged => Value::Bool(true),
            Proven::Changed => Value::Bool(false),
        }
    }
}

/// Only a run that is about knowledge has artifacts; other runs are described by what they landed.
pub(crate) fn find(project: &Project, journal: &Journal, run: &Run) -> Outcome<Option<Artifacts>> {
    let Some(outputs_of_units) = run.settings.form.made() else { return Ok(None) };
    if !Utf8Path::new(&run.plan).is_dir() {
        // The plan was archived, with its outputs.
        return Ok(None);
    }
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    // Where git does not answer, files are named and nothing is compared.
    let store = project.repo_or_store().ok().flatten();
    let sources = held(store, &root, &Utf8Path::new(&run.plan).join("sources"));
    let mut outputs = Vec::new();
    for (unit, paths) in outputs_of_units {
        let task = journal.task(&run.id, &unit)?;
        let proven = task.as_ref().and_then(|task| match task.proof.as_ref()? {
            Proof::Landed { commit, .. } => Some(commit),
            Proof::Checked { tree, .. } => tree.as_ref(),
            Proof::Work { .. } | Proof::Reported => None,
        });
        for path in paths {
            let files = held(store, &root, &root.join(path.as_str()));
            let before = proven.zip(store).and_then(|(tree, store)| store.files_at(tree, &path).ok());
            let is_same = |before: &BTreeMap<String, Oid>| {
                before.len() == files.len()
                    && before.iter().all(|(file, oid)| files.get(file) == Some(&Some(oid.clone())))
            };
            let proof = match before.as_ref().map(is_same) {
                None => Proven::NotYet,
                Some(true) => Proven::Unchanged,
                Some(false) => Proven::Changed,
            };
            outputs.push(Output { unit: unit.clone(), path, files, proof });
        }
    }
    Ok(Some(Artifacts { sources, outputs }))
}

/// The files at a place: itself, or what is in it.
fn held(store: Option<&Repo>, root: &Utf8Path, place: &Utf8Path) -> BTreeMap<String, Option<Oid>> {
    let all = if place.is_dir() { files_in(place) } else { vec![place.to_owned()] };
    // Links, and files of another repository in there, are not ours.
    let is_inner = |file: &&Utf8PathBuf| {
        let mut around = file.ancestors().skip(1).take_while(|folder| folder.starts_with(place));
        around.any(|folder| folder.file_name() == Some(".git") || folder.join(".git").exists())
    };
    let is_file = |file: &&Utf8PathBuf| file.symlink_metadata().is_ok_and(|data| data.is_file());
    let plain = all.iter().filter(|file| is_file(file) && !is_inner(file));
    let names: Vec<String> =
        plain.filter_map(|file| file.strip_prefix(root).ok()).map(ToString::to_string).collect();
    let now = store.and_then(|store| store.files_now(&names).ok()).unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), now.get(&name).cloned())).into_map()
}

impl Artifacts {
    pub(crate) fn show(&self) {
        let name = |path: &String| ui::plain(Utf8Path::new(path).file_name().unwrap_or(path));
        let mut names: Vec<String> = self.sources.keys().take(MOST).map(name).collect();
        if self.sources.len() > MOST {
            names.push(format!("{} more", self.sources.len() - MOST));
        }
        if !names.is_empty() {
            ui::answer_line(format!("\n  {:8} {}", "sources", names.join(", ")));
        }
        let is_known = |output: &&Output| output.proof != Proven::NotYet || !output.files.is_empty();
        for output in self.outputs.iter().filter(is_known) {
            let content = match (output.files.len(), output.files.values().next()) {
                (0, _) => "no longer there".to_owned(),
                (1, Some(Some(oid))) => oid.short().to_owned(),
                (files, _) => counted(files as u64, "file"),
            };
            let stand = match output.proof {
                Proven::Changed => ", changed since it was proven",
                Proven::Unchanged => "",
                Proven::NotYet => ", not proven yet",
            };
            let told = ui::styled(DIM, format!("{content}{stand}"));
            ui::answer_line(format!("  {:8} {}  {told}", output.unit, ui::plain(output.path.as_str())));
        }
    }

    /// The same for programs, put into a document.
    pub(crate) fn describe(&self, document: &mut Value) {
        let files = |files: &BTreeMap<String, Option<Oid>>| {
            files.iter().map(|(path, oid)| json!({ "path": path, "content": oid })).collect::<Vec<_>>()
        };
        let outputs = self.outputs.iter().map(|output| {
            json!({
                "unit": output.unit,
                "path": output.path,
                "files": files(&output.files),
                "as_proven": output.proof.json(),
            })
        });
        document["outputs"] = outputs.collect();
        document["sources"] = json!(files(&self.sources));
    }
}
