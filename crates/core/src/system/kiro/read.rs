//! A spec as a plan: each box without numbers below it is a task, what it stands below is its group.

use std::collections::HashMap;

use super::fields::{self, Named, Reference};
use super::place::{APPROVALS, BUGFIX, REQUIREMENTS, SETTINGS, Spec};
use super::requirements::Requirements;
use super::steering::{Inclusion, inclusion};
use super::waves::{Ordered, Waves};
use crate::diagnostic::Diagnostic;
use crate::plan::RepoPath;
use crate::system::kit::checklist::{self, Checklist};
use crate::system::kit::draft::{
    Draft, DraftTask, Kind, Need, Order, Phase, Standing, commands_of, fails_first, kind_of, paths_of,
    title_of,
};
use crate::system::kit::json;
use crate::system::kit::numbered::{Depth, NumberedBox, NumberedList, Part, Surroundings, lead};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

pub(super) const DEPTH: Depth = Depth::Leaves;
/// References to other files that are followed.
const MOST: usize = 50;
/// Boxes above one whose numbers stand for it.
const DEEPEST: usize = 8;
/// Edges from tasks to all tasks of a parent. After these, the last task of the parent stands for all.
const EDGES: usize = 200_000;
/// Bytes of criteria in one plan. After these, only their numbers are given.
const CRITERIA: usize = 8 << 20;

pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let text = decoded.text;
    let list = checklist::scan(&text);
    list.problems.iter().for_each(|problem| found.push(problem.clone()));
    let boxes = NumberedList::read(&list, &text, DEPTH, &mut found);
    let spec = Spec::at(given.place);
    let mut draft = Draft { name: spec.map_or(given.name, |spec| spec.name).to_owned(), ..Draft::default() };
    let around = spec.map(|spec| Around::read(&spec, folder, &mut draft)).unwrap_or_default();
    let mut reader = Reader { boxes: &boxes, list: &list, text: &text, around: &around, found: &mut found };
    reader.tasks(&mut draft, given);
    reader.order(&mut draft);
    let problems = found.finish().into_iter();
    draft.problems.extend(problems.map(|diagnostic| Problem { file: given.place.to_owned(), diagnostic }));
    draft.texts.insert(given.place.to_owned(), text);
    draft
}

/// What the files beside the list say.
#[derive(Default)]
struct Around {
    requirements: Requirements,
    is_bugfix: bool,
    /// Rules that count only for some tasks: path, name and when.
    rules: Vec<(String, String, Inclusion)>,
}

impl Around {
    fn read(spec: &Spec<'_>, folder: &Folder, draft: &mut Draft) -> Around {
        let text = |name: &String| folder.files.get(name).map(|bytes| text::decode(bytes).text);
        let mut around =
            Around { is_bugfix: folder.files.contains_key(&spec.file(BUGFIX)), ..Around::default() };
        let mut texts = Vec::new();
        for name in [REQUIREMENTS, BUGFIX, "design.md"].map(|name| spec.file(name)) {
            let Some(said) = text(&name) else { continue };
            if around.requirements.is_empty() {
                around.requirements = Requirements::read(&said);
            }
            draft.context.push(name);
            texts.push(said);
        }
        let settings = text(&spec.file(SETTINGS)).and_then(|said| Some(json::parse(&said).ok()?.0));
        let kind = settings.as_ref().and_then(|root| root.get("specType")?.text());
        around.is_bugfix |= kind.is_some_and(|kind| kind.eq_ignore_ascii_case("bugfix"));
        let steering = format!("{}/", spec.steering());
        for file in folder.files.keys().filter(|file| file.starts_with(&steering)) {
            let said = text(file).unwrap_or_default();
            match inclusion(&said) {
                Inclusion::Always => {
                    draft.context.push(file.clone());
                    texts.push(said);
                }
                when => {
                    let name = file[steering.len()..].trim_end_matches(".md").to_owned();
                    around.rules.push((file.clone(), name, when));
                }
            }
        }
        for file in texts.iter().flat_map(|said| referenced(said)).take(MOST) {
            if !draft.context.contains(&file) {
                draft.context.push(file);
            }
        }
        let approvals = spec.file(APPROVALS);
        if let Some(said) = text(&approvals) {
            let problems = unapproved(&said);
            if !problems.is_empty() {
                let problem = |diagnostic| Problem { file: approvals.clone(), diagnostic };
                draft.problems.extend(problems.into_iter().map(problem));
                draft.texts.insert(approvals, said);
            }
        }
        around
    }
}

/// `#[[file:docs/api.yaml]]`
fn referenced(text: &str) -> Vec<String> {
    let parts = text.split("#[[file:").skip(1).filter_map(|rest| Some(rest.split_once("]]")?.0));
    parts.filter_map(|path| Some(RepoPath::new(path.trim()).ok()?.as_str().to_owned())).collect()
}

/// What somebody has not agreed to yet.
fn unapproved(text: &str) -> Vec<Diagnostic> {
    let root = match json::parse(text) {
        Ok((root, _)) => root,
        Err(broken) => {
            let told = Diagnostic::warning(broken.span, format!("this is not JSON: {}", broken.message));
            return vec![told.label("whether the tasks are approved is unknown")];
        }
    };
    let approved = root.get("approvals").and_then(|all| all.get("tasks")?.get("approved"));
    let ready = root.get("ready_for_implementation");
    let is_no = |node: &&json::Node| node.kind == json::Kind::Bool(false);
    let told = |node: &json::Node, message: &str| {
        Diagnostic::warning(node.at.clone(), message).label("Piton runs them if you ask it to")
    };
    match (approved.filter(is_no), ready.filter(is_no)) {
        (Some(node), _) => vec![told(node, "the tasks of this spec are not approved")],
        (None, Some(node)) => vec![told(node, "this spec is not ready for implementation")],
        (None, None) => Vec::new(),
    }
}

struct Reader<'l, 'f> {
    boxes: &'l NumberedList,
    list: &'l Checklist,
    text: &'l str,
    around: &'l Around,
    found: &'f mut Problems,
}

impl Reader<'_, '_> {
    fn tasks(&mut self, draft: &mut Draft, given: &Given<'_>) {
        let boxes = self.boxes;
        let done = boxes.done();
        let mut surroundings = Surroundings::new(boxes, self.list, self.text);
        let mut groups = Groups::new(if self.around.is_bugfix { Some(draft.name.clone()) } else { None });
        let mut unknown: Vec<Reference> = Vec::new();
        let named: Vec<Named> =
            boxes.tasks().map(|(_, _, one)| fields::named(one, self.list, self.text)).collect();
        let by_number = self.by_number();
        let (mut edges, mut room) = (EDGES, CRITERIA);
        for ((nth, id, one), named) in boxes.tasks().zip(named) {
            let words = one.words(self.list, self.text);
            let (title, beside) = parallel(&one.title);
            let whole = format!("{title}\n{words}");
            let short = title_of(&title);
            // What a title has no room for is said below it.
            let words = if short.ends_with('…') { whole.clone() } else { words };
            let is_checkpoint = is_checkpoint(&title);
            let mut odd = Vec::new();
            let files = paths_of(&self.text[one.at.clone()], one.at.start, &mut odd);
            let more = paths_of(&words, one.at.start, &mut Vec::new());
            let files: Vec<String> = files.into_iter().chain(more).collect();
            odd.into_iter().for_each(|problem| self.found.push(problem));
            let kind = if is_checkpoint { Kind::Verify } else { self.kind(&title) };
            let heading = boxes.headings(nth).next().map_or("", |section| &section.title);
            let mut around = surroundings.of(nth);
            let is_its = |rule: &&(String, String, Inclusion)| rule.2.counts_for(&rule.1, &whole, &files);
            for (file, ..) in self.around.rules.iter().filter(is_its) {
                around = format!("{around}\n\nRead {file}, too: its rules count for this task.");
            }
            // The star means that it can be left out.
            let standing = if one.optional { Standing::Dropped } else { boxes.standing(nth, &done) };
            let is_left_out = standing == Standing::Dropped;
            draft.tasks.push(DraftTask {
                name: id.to_string(),
                file: given.place.to_owned(),
                at: one.at.clone(),
                around: around.trim().to_owned(),
                group: if is_left_out { 0 } else { groups.of(boxes, nth, is_checkpoint) },
                needs: needs(&named.depends, &by_number, &one.number, &mut edges),
                beside,
                criteria: self.criteria(&named.requirements, &mut room, &mut unknown),
                commands: if kind == Kind::Verify { commands_of(&title) } else { Vec::new() },
                kind,
                standing,
                fails_first: !is_checkpoint && fails_first(&whole, heading),
                title: short,
                words,
                files,
                ..DraftTask::default()
            });
        }
        draft.groups = groups.phases;
        self.tell(&unknown);
    }

    fn kind(&self, title: &str) -> Kind {
        let plain = title.to_lowercase();
        let looks = ["verify", "re-run", "rerun", "confirm"].iter().any(|word| plain.starts_with(word));
        match kind_of(title) {
            _ if plain.ends_with("(manual)") => Kind::Person,
            // `3.2 Verify bug condition exploration test now passes`
            Kind::Work if self.around.is_bugfix && looks && plain.contains("pass") => Kind::Verify,
            kind => kind,
        }
    }

    /// What the named requirements ask for.
    fn criteria(&self, named: &[Reference], room: &mut usize, unknown: &mut Vec<Reference>) -> Vec<String> {
        let mut criteria: Vec<String> = Vec::new();
        for one in named {
            match self.around.requirements.named(&one.name) {
                Some(_) if *room == 0 => criteria.push(format!("requirement {}", one.name)),
                Some(lines) => {
                    *room = room.saturating_sub(lines.iter().map(String::len).sum());
                    let new: Vec<String> =
                        lines.into_iter().filter(|line| !criteria.contains(line)).collect();
                    criteria.extend(new);
                }
                None => unknown.push(one.clone()),
            }
        }
        criteria
    }

    fn tell(&mut self, unknown: &[Reference]) {
        if let Some(first) = unknown.first() {
            let count = counted(unknown.len() as u64, "reference");
            let told = match self.around.requirements.is_empty() {
                true => Diagnostic::warning(
                    first.at.clone(),
                    format!("{count} to requirements that are not there"),
                )
                .label("no requirements.md with numbered criteria was found"),
                false => Diagnostic::warning(
                    first.at.clone(),
                    format!("{count} to requirements that do not exist"),
                )
                .label(format!("requirements.md has nothing of the number {}", cut(&first.name))),
            };
            self.found.push(told);
        }
        let optional = || self.boxes.tasks().filter(|(_, _, one)| one.optional && !one.dropped);
        if let Some((_, id, first)) = optional().next() {
            let count = counted(optional().count() as u64, "optional task");
            let told = Diagnostic::warning(first.at.clone(), format!("{count} left out"));
            let told = told.label(format!("`{id}` is the first of them"));
            self.found.push(told.help("remove the `*` behind its box to have a task done"));
        }
    }

    /// The tasks of each number: itself, or those below it.
    fn by_number(&self) -> HashMap<String, Vec<String>> {
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        for (_, id, one) in self.boxes.tasks().filter(|(_, _, one)| !one.optional) {
            let above = std::iter::successors(one.parent, |nth| self.boxes.boxes[*nth].parent);
            let above = above.take(DEEPEST).map(|nth| &self.boxes.boxes[nth].number);
            let numbers = above.chain(Some(&one.number));
            for number in numbers.filter(|number| !number.is_empty()) {
                known.entry(number.to_lowercase()).or_default().push(id.to_string());
            }
        }
        known
    }

    /// The graph of the list, if it has one, says who waits for whom; else its order does.
    fn order(&mut self, draft: &mut Draft) {
        let Some(waves) = Waves::read(self.list, self.text, self.found) else { return };
        let counts = |task: &&(usize, &DraftTask)| {
            task.1.kind != Kind::Person && matches!(task.1.standing, Standing::Open | Standing::Claimed)
        };
        let numbers: Vec<&str> = self.boxes.tasks().map(|(_, _, one)| one.number.as_str()).collect();
        let tasks: Vec<(usize, &DraftTask)> =
            draft.tasks.iter().enumerate().filter(|task| counts(&task)).collect();
        let ordered: Vec<Ordered<'_>> = tasks
            .iter()
            .map(|(nth, task)| Ordered {
                name: &task.name,
                number: numbers[*nth],
                is_checkpoint: is_checkpoint(&task.title),
            })
            .collect();
        let Some(needs) = waves.needs(&ordered, self.found) else { return };
        let places: Vec<usize> = tasks.iter().map(|(nth, _)| *nth).collect();
        for (nth, needs) in places.into_iter().zip(needs) {
            draft.tasks[nth].needs.extend(needs);
        }
        draft.order = Order::Free;
    }
}

/// What a task waits for by name. A number of a parent stands for all below it.
fn needs(
    named: &[Reference],
    known: &HashMap<String, Vec<String>>,
    own: &str,
    edges: &mut usize,
) -> Vec<Need> {
    let need = |name: &str, at: &Reference| Need { name: name.to_owned(), at: at.at.clone() };
    let mut needs = Vec::new();
    for one in named.iter().filter(|one| one.name != own) {
        match known.get(&one.name.to_lowercase()) {
            Some(all) => {
                let all = if all.len() <= *edges { all } else { &all[all.len() - 1..] };
                *edges = edges.saturating_sub(all.len());
                needs.extend(all.iter().map(|name| need(name, one)));
            }
            None => needs.push(need(&one.name, one)),
        }
    }
    needs
}

/// `(P) Name`: it may run beside those before it.
fn parallel(title: &str) -> (String, bool) {
    let rest = title.strip_prefix("(P)").or_else(|| title.strip_suffix("(P)"));
    rest.map_or_else(|| (title.to_owned(), false), |rest| (rest.trim().to_owned(), true))
}

/// `Checkpoint - ensure all tests pass`
fn is_checkpoint(title: &str) -> bool {
    let plain = title.to_lowercase();
    let first: Vec<&str> =
        plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(3).collect();
    first.contains(&"checkpoint")
        || ["检查点", "檢查點", "チェックポイント", "체크포인트"].iter().any(|word| plain.starts_with(word))
}

/// The groups of a plan, in the order of its list.
struct Groups {
    phases: Vec<Phase>,
    /// What the last task stood below: a parent, or only a heading.
    last: Option<(bool, usize)>,
    /// All tasks are one group of this name.
    only: Option<String>,
}

impl Groups {
    fn new(only: Option<String>) -> Groups {
        Groups { phases: Vec::new(), last: None, only }
    }

    /// The group of the next task. A checkpoint closes that of the task before it.
    fn of(&mut self, boxes: &NumberedList, nth: usize, is_checkpoint: bool) -> usize {
        if let Some(name) = &self.only {
            if self.phases.is_empty() {
                self.phases.push(Phase { title: name.clone(), barrier: false });
            }
            return 0;
        }
        let one = &boxes.boxes[nth];
        if let Some(last) = self.phases.last_mut().filter(|_| is_checkpoint && one.parent.is_none()) {
            last.barrier = true;
            self.last = None;
            return self.phases.len() - 1;
        }
        let root = std::iter::successors(one.parent, |nth| boxes.boxes[*nth].parent).last();
        let root = root.filter(|root| boxes.boxes[*root].part == Part::Parent);
        let key = match root {
            Some(root) => (true, root),
            None => (false, one.section.map_or(0, |section| section + 1)),
        };
        if self.last.replace(key) != Some(key) {
            let title = root.map_or_else(|| heading(boxes, one), |root| boxes.boxes[root].title.clone());
            self.phases.push(Phase { title: parallel(&title).0, barrier: false });
        }
        self.phases.len() - 1
    }
}

/// The heading of a task that stands below nothing else.
fn heading(boxes: &NumberedList, one: &NumberedBox) -> String {
    let title = one.section.map_or("Tasks", |section| &boxes.sections[section].title);
    lead(title).map_or(title, |lead| lead.rest).to_owned()
}
