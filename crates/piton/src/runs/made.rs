//! What work that is not code is made from, and what it has made: the sources, and each output by what it holds, as it
//! was proven and as it is now. Looks only.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
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

/// Sources that are named one by one.
const MOST: usize = 12;

pub(crate) struct Made {
    /// Every file, with what it holds, if git could be asked.
    sources: BTreeMap<String, Option<Oid>>,
    outputs: Vec<Output>,
}

struct Output {
    unit: TaskId,
    path: RepoPath,
    files: BTreeMap<String, Option<Oid>>,
    /// Whether it is what was proven; `None` if nothing was.
    as_proven: Option<bool>,
}

/// Of a run that is about knowledge; others are told by what they landed.
pub(crate) fn of(project: &Project, journal: &Journal, run: &Run) -> Outcome<Option<Made>> {
    let Some(made) = run.settings.form.made() else { return Ok(None) };
    if !Utf8Path::new(&run.plan).is_dir() {
        // It was put away, with all that it made.
        return Ok(None);
    }
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    // Where git does not answer, names are told and nothing is compared.
    let store = project.repo_or_store().ok().flatten();
    let sources = held(store, &root, &Utf8Path::new(&run.plan).join("sources"));
    let mut outputs = Vec::new();
    for (unit, paths) in made {
        let task = journal.task(&run.id, &unit)?;
        let proven = task.as_ref().and_then(|task| match task.proof.as_ref()? {
            Proof::Landed { commit, .. } => Some(commit),
            Proof::Checked { tree, .. } => tree.as_ref(),
            Proof::Work { .. } | Proof::Reported => None,
        });
        for path in paths {
            let files = held(store, &root, &root.join(path.as_str()));
            let before = proven.zip(store).and_then(|(tree, store)| store.files_at(tree, &path).ok());
            let as_proven = before.map(|before| {
                before.len() == files.len()
                    && before.iter().all(|(file, oid)| files.get(file) == Some(&Some(oid.clone())))
            });
            outputs.push(Output { unit: unit.clone(), path, files, as_proven });
        }
    }
    Ok(Some(Made { sources, outputs }))
}

/// The files at a place: itself, or what is in it.
fn held(store: Option<&Repo>, root: &Utf8Path, place: &Utf8Path) -> BTreeMap<String, Option<Oid>> {
    let all = if place.is_dir() { files_in(place) } else { vec![place.to_owned()] };
    // What a link leads to is somebody else's, and what is in another repository is its.
    let is_inner = |file: &&Utf8PathBuf| {
        let mut around = file.ancestors().skip(1).take_while(|folder| folder.starts_with(place));
        around.any(|folder| folder.file_name() == Some(".git") || folder.join(".git").exists())
    };
    let is_file = |file: &&Utf8PathBuf| file.symlink_metadata().is_ok_and(|data| data.is_file());
    let plain = all.iter().filter(|file| is_file(file) && !is_inner(file));
    let names: Vec<String> =
        plain.filter_map(|file| file.strip_prefix(root).ok()).map(ToString::to_string).collect();
    let now = store.and_then(|store| store.files_now(&names).ok()).unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), now.get(&name).cloned())).collect()
}

impl Made {
    pub(crate) fn show(&self) {
        let name = |path: &String| ui::plain(Utf8Path::new(path).file_name().unwrap_or(path));
        let mut names: Vec<String> = self.sources.keys().take(MOST).map(name).collect();
        if self.sources.len() > MOST {
            names.push(format!("{} more", self.sources.len() - MOST));
        }
        if !names.is_empty() {
            ui::answer_line(format!("\n  {:8} {}", "sources", names.join(", ")));
        }
        for output in
            self.outputs.iter().filter(|output| output.as_proven.is_some() || !output.files.is_empty())
        {
            let content = match (output.files.len(), output.files.values().next()) {
                (0, _) => "no longer there".to_owned(),
                (1, Some(Some(oid))) => oid.short().to_owned(),
                (files, _) => counted(files as u64, "file"),
            };
            let stand = match output.as_proven {
                Some(false) => ", changed since it was proven",
                Some(true) => "",
                None => ", not proven yet",
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
                "as_proven": output.as_proven,
            })
        });
        document["outputs"] = outputs.collect();
        document["sources"] = json!(files(&self.sources));
    }
}
