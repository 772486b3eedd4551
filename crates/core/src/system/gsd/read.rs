//! A roadmap with its plans as a plan of Piton's: each plan is a task, each phase a group that is done before the next.

use std::collections::BTreeMap;
use std::ops::Range;

use super::place::{
    self, CONTEXT, PROJECT, PlanPath, RESEARCH, is_beside, phase_number, plain_number, root_of,
};
use super::plan_file::PlanFile;
use super::roadmap::Roadmap;
use crate::diagnostic::{Diagnostic, Severity};
use crate::system::finding::join;
use crate::system::kit::checklist;
use crate::system::kit::draft::{Draft, DraftTask, Need, Order, Phase, Standing, paths_of, title_of};
use crate::system::kit::frontmatter::Value;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// Bytes of what was agreed on for a phase, which every prompt of the phase has: a worktree may lack the file.
const LONGEST_CONTEXT: usize = 20_000;
/// What every prompt ends with.
const CLOSING: &str = "Do only this plan. Do not write a summary of it, and leave the files in .planning as they are: Piton writes what belongs there.";
/// How many odd lines of one plan are shown one by one.
const SHOWN: usize = 3;

pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut found = Problems::new(given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let list = checklist::scan(&decoded.text);
    list.problems.iter().for_each(|problem| found.push(problem.clone()));
    let map = Roadmap::read(&list, &decoded.text);
    let root = root_of(given.place).unwrap_or_default();
    let mut reader = Reader {
        folder,
        given,
        root,
        map: &map,
        draft: Draft { order: Order::Free, closing: Some(CLOSING), ..Draft::default() },
    };
    reader.draft.name = reader.name(&decoded.text);
    let plans = place::plans(folder.files.keys().filter_map(|file| below(root, file)));
    if is_read {
        reader.boxes(&plans, &mut found);
    }
    reader.tasks(&plans);
    let mut draft = reader.draft;
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(found.finish().into_iter().map(problem));
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft
}

/// A path from the folder of the roadmap on.
fn below<'f>(root: &str, file: &'f str) -> Option<&'f str> {
    if root.is_empty() { Some(file) } else { file.strip_prefix(root)?.strip_prefix('/') }
}

struct Reader<'r> {
    folder: &'r Folder,
    given: &'r Given<'r>,
    root: &'r str,
    map: &'r Roadmap,
    draft: Draft,
}

impl Reader<'_> {
    /// `# Roadmap: Name`, or the name of the project's folder.
    fn name(&self, text: &str) -> String {
        let heading = text.lines().find_map(|line| line.strip_prefix("# "));
        let named = heading.and_then(|title| title.split_once(':')).map(|(_, name)| name.trim());
        named.filter(|name| !name.is_empty()).unwrap_or("roadmap").to_owned()
    }

    fn has(&self, name: &str) -> bool {
        self.folder.files.contains_key(&join(self.root, name))
    }

    /// Whether GSD counts a plan as carried out. Older versions put the word behind the name.
    fn is_done(&self, plan: &PlanPath) -> bool {
        let older =
            || plan.path.strip_suffix(".md").is_some_and(|stem| self.has(&format!("{stem}-SUMMARY.md")));
        self.has(&plan.summary()) || older()
    }

    /// What the boxes of the roadmap say against the files.
    fn boxes(&self, plans: &[PlanPath], found: &mut Problems) {
        let (mut unwritten, mut unproven): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        for entry in &self.map.plans {
            match place::of_box(&entry.name, plans) {
                Some(plan) if entry.mark.is_done && !self.is_done(plan) => unproven.push(entry.at.clone()),
                Some(_) => {}
                None if entry.mark.is_done => {}
                None => unwritten.push(entry.at.clone()),
            }
        }
        let mut tell = |places: &[Range<usize>], one: &str, many: &str, label: &str| {
            let Some(first) = places.first() else { return };
            let message = match places.len() {
                1 => one.to_owned(),
                more => format!("{more} {many}"),
            };
            found.push(Diagnostic::warning(first.clone(), message).label(label));
        };
        tell(
            &unproven,
            "this plan is ticked, but it has no summary",
            "plans are ticked, but have no summary",
            "not done, for GSD and for Piton",
        );
        tell(
            &unwritten,
            "this plan is not written yet",
            "plans are not written yet",
            "not a task before its file exists",
        );
        tell(
            &self.map.other,
            "this box is not about a phase or a plan",
            "boxes are not about a phase or a plan",
            "not a task",
        );
    }

    fn tasks(&mut self, plans: &[PlanPath]) {
        let mut contexts: BTreeMap<&str, (String, Vec<String>)> = BTreeMap::new();
        let root = self.root;
        let known = PROJECT.iter().filter(|name| self.has(name)).map(|name| join(root, name));
        self.draft.context = known.collect();
        let read: Vec<(String, PlanFile)> = plans
            .iter()
            .map(|plan| {
                let bytes =
                    self.folder.files.get(&join(root, &plan.path)).map(Vec::as_slice).unwrap_or_default();
                let decoded = text::decode_with(bytes, self.given.strictness);
                let file = join(root, &plan.path);
                let problem = |diagnostic| Problem { file: file.clone(), diagnostic };
                self.draft.problems.extend(decoded.problems.into_iter().map(problem));
                let said = PlanFile::read(&decoded.text);
                (decoded.text, said)
            })
            .collect();
        let mut groups: Vec<&str> = Vec::new();
        for (nth, (plan, (text, said))) in plans.iter().zip(&read).enumerate() {
            let group = match groups.iter().position(|phase| *phase == plan.phase) {
                Some(group) => group,
                None => {
                    groups.push(&plan.phase);
                    self.draft.groups.push(Phase { title: self.title_of_phase(&plan.phase), barrier: true });
                    groups.len() - 1
                }
            };
            let entry = self.map.phase_of(&plain_number(phase_number(&plan.phase)));
            let is_dropped = said.superseded || entry.is_some_and(|phase| phase.dropped);
            let standing = match self.is_done(plan) {
                _ if is_dropped => Standing::Dropped,
                true => Standing::Claimed,
                false if said.words.is_empty() => Standing::NotOurs("its file says nothing"),
                false => Standing::Open,
            };
            if !contexts.contains_key(plan.phase.as_str()) {
                let around = self.around_phase(&plan.phase);
                contexts.insert(&plan.phase, around);
            }
            let (agreed, more) = &contexts[plan.phase.as_str()];
            let mut around = [agreed, checkpoints(said)]
                .join(
                    "

",
                )
                .trim()
                .to_owned();
            if !more.is_empty() {
                let files: Vec<String> = more.iter().map(|file| format!("- {file}")).collect();
                around.push_str(&format!(
                    "\n\nMore about this phase, as far as these files exist:\n{}",
                    files.join("\n")
                ));
            }
            let file = join(root, &plan.path);
            let title = self.title(plan, said);
            let mut needs = needs(nth, plans, &said.needs);
            needs.extend(
                wave_before(nth, plans, &read)
                    .into_iter()
                    .map(|other| Need { name: plans[other].id.to_string(), at: 0..0 }),
            );
            let mut odd = Vec::new();
            let files = files_of(&said.files, &mut odd);
            self.tell(&file, said, odd, &standing);
            self.draft.tasks.push(DraftTask {
                name: plan.id.to_string(),
                file: file.clone(),
                at: said.title.as_ref().map_or(0..0, |(_, at)| at.clone()),
                title,
                words: said.words.clone(),
                around: around.trim().to_owned(),
                group,
                needs,
                beside: true,
                files,
                criteria: said.criteria.clone(),
                commands: said.commands.clone(),
                standing,
                ..DraftTask::default()
            });
            self.draft.texts.insert(file, text.clone());
        }
    }

    fn title_of_phase(&self, phase: &str) -> String {
        let number = phase_number(phase);
        match self.map.phase_of(&plain_number(number)).filter(|entry| !entry.name.is_empty()) {
            Some(entry) => format!("Phase {}: {}", entry.number, entry.name),
            None => phase.to_owned(),
        }
    }

    /// The roadmap's words for a plan are shorter than its own.
    fn title(&self, plan: &PlanPath, said: &PlanFile) -> String {
        let boxed = self.map.plans.iter().find(|entry| place::is_box_of(&entry.name, plan));
        let boxed = boxed.map(|entry| entry.title.as_str()).filter(|title| !title.is_empty());
        let own = || said.title.as_ref().map(|(title, _)| title.as_str());
        title_of(boxed.or_else(own).unwrap_or(plan.id.as_str()))
    }

    /// What a phase is to reach and what was agreed on for it; and the files that say more.
    fn around_phase(&self, phase: &str) -> (String, Vec<String>) {
        let mut parts = Vec::new();
        if let Some(entry) = self.map.phase_of(&plain_number(phase_number(phase))) {
            if !entry.goal.is_empty() {
                parts.push(format!("What its phase is to reach: {}", entry.goal));
            }
            if !entry.criteria.is_empty() {
                let lines: Vec<String> = entry.criteria.iter().map(|line| format!("- {line}")).collect();
                parts.push(format!(
                    "When the whole phase is done, this holds. This plan does its part:\n{}",
                    lines.join("\n")
                ));
            }
        }
        let folder = format!("{}/", join(self.root, &join(place::PHASES, phase)));
        let mut more = Vec::new();
        for (file, bytes) in
            self.folder.files.range(folder.clone()..).take_while(|(file, _)| file.starts_with(&folder))
        {
            let name = &file[folder.len()..];
            if is_beside(name, CONTEXT) {
                let said = text::decode(bytes).text;
                let end = said
                    .char_indices()
                    .map(|(at, _)| at)
                    .find(|at| *at >= LONGEST_CONTEXT)
                    .unwrap_or(said.len());
                let rest = if end < said.len() { format!("\n… and more in {file}") } else { String::new() };
                parts.push(format!(
                    "What was agreed on for this phase, from {file}:\n\n{}{rest}",
                    said[..end].trim()
                ));
            } else if is_beside(name, RESEARCH) {
                more.push(file.clone());
            }
        }
        (parts.join("\n\n"), more)
    }

    fn tell(&mut self, file: &str, said: &PlanFile, odd: Vec<Diagnostic>, standing: &Standing) {
        let mut told = Vec::new();
        if *standing == Standing::Open {
            told.extend(odd);
            if let Some(first) = said.of_one_machine.first() {
                let count = counted(said.of_one_machine.len() as u64, "command");
                let message = format!("{count} of this plan would only run on one machine");
                told.push(Diagnostic::warning(first.clone(), message).label("not used as a check"));
            }
            if let Some(first) = said.checkpoints.first() {
                let message = match said.checkpoints.len() {
                    1 => "this plan has a checkpoint for a person".to_owned(),
                    more => format!("this plan has {more} checkpoints for a person"),
                };
                told.push(
                    Diagnostic::warning(first.clone(), message)
                        .label("its agent is asked to stop there and ask"),
                );
            }
            for (at, what) in said.odd.iter().take(SHOWN) {
                told.push(Diagnostic::warning(at.clone(), *what).label("read as far as it is understood"));
            }
            if said.odd.len() > SHOWN {
                let more = said.odd.len() - SHOWN;
                let message = format!("{more} more places of this plan are not understood");
                told.push(Diagnostic::warning(said.odd[SHOWN].0.clone(), message).label("from here on"));
            }
        }
        let problem = |diagnostic| Problem { file: file.to_owned(), diagnostic };
        self.draft.problems.extend(told.into_iter().map(problem));
    }
}

/// What the agent has to know about checkpoints.
fn checkpoints(said: &PlanFile) -> &'static str {
    match said.checkpoints.len() {
        0 => "",
        _ => {
            "This plan has tasks of the type `checkpoint`, which are for a person. Do what comes before the first of them. \
              If nobody has answered it yet, stop there and report that you are blocked, with what the person has to look at, \
              decide or do. Never decide it yourself."
        }
    }
}

/// The plans that the one at this position waits for because of its wave: all of the wave before it, and of the plan before
/// it where it names no wave.
fn wave_before(nth: usize, plans: &[PlanPath], read: &[(String, PlanFile)]) -> Vec<usize> {
    let is_same = |other: &usize| plans[*other].phase == plans[nth].phase && !read[*other].1.superseded;
    let wave = |other: &usize| read[*other].1.wave;
    let phase = || (0..plans.len()).filter(is_same);
    match wave(&nth) {
        None if read[nth].1.needs.is_empty() => phase().rfind(|other| *other < nth).into_iter().collect(),
        None => Vec::new(),
        Some(own) => {
            let before = phase().filter_map(|other| wave(&other)).filter(|wave| *wave < own).max();
            phase().filter(|other| before.is_some() && wave(other) == before).collect()
        }
    }
}

fn files_of(values: &[Value], odd: &mut Vec<Diagnostic>) -> Vec<String> {
    let mut files = Vec::new();
    for value in values {
        // A pattern, or a folder, is not a path.
        files.extend(paths_of(&format!("`{}`", value.text), value.at.start, &mut Vec::new()));
        let mut told = Vec::new();
        let _ = paths_of(&format!("`{}`", value.text), 0, &mut told);
        if let Some(problem) = told.into_iter().next() {
            odd.push(Diagnostic { span: value.at.clone(), ..problem });
        }
    }
    files
}

/// What a plan says that it depends on. What is not found is of a milestone before this one, or a mistake.
fn needs(nth: usize, plans: &[PlanPath], said: &[Value]) -> Vec<Need> {
    let mut needs = Vec::new();
    for value in said {
        for name in value.text.split(',').map(str::trim) {
            if !name.is_empty() && !name.eq_ignore_ascii_case("none") {
                let other = place::named_by(name, &plans[nth], plans);
                let name = other.map_or_else(|| cut(name), |other| other.id.to_string());
                needs.push(Need { name, at: value.at.clone() });
            }
        }
    }
    needs
}
