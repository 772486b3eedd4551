//! The tasks of the current tag, as a draft of a plan.

use std::collections::{BTreeMap, HashMap};

use super::file::{self, Item, MASTER, Tag, Unit};
use super::needs::needs;
use super::task::{Wholes, be, start, task};
use super::{FOLDER, STATE, status};
use crate::diagnostic::{Diagnostic, Severity};
use crate::system::kit::draft::{Draft, DraftTask, Order, Standing};
use crate::system::kit::json::{self, Node};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// How many keys of a file are named that is not one of Task Master.
const KEYS: usize = 8;

/// What the file says, and what is wrong with it.
pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut found = Problems::new(given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let mut draft = Draft { order: Order::Free, ..Draft::default() };
    match json::parse(&decoded.text) {
        Ok((root, twice)) => {
            twice.into_iter().for_each(|problem| found.forgive(problem));
            draft = of_file(&root, current(folder, given).as_deref(), given, &mut found);
        }
        Err(broken) if is_read => found.push(broken),
        Err(_) => {}
    }
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems = found.finish().into_iter().map(problem).collect();
    draft.texts = BTreeMap::from([(given.place.to_owned(), decoded.text)]);
    draft
}

/// The tag that Task Master works on, where its state file says so.
fn current(folder: &Folder, given: &Given<'_>) -> Option<String> {
    let (_, bytes) = folder
        .files
        .iter()
        .find(|(name, _)| *name != given.place && name.rsplit('/').next() == Some(STATE))?;
    let (root, _) = json::parse(&text::decode(bytes).text).ok()?;
    let tag = root.get("currentTag")?.text()?.trim();
    (!tag.is_empty()).then(|| tag.to_owned())
}

fn of_file(root: &Node, wanted: Option<&str>, given: &Given<'_>, found: &mut Problems) -> Draft {
    let tags = file::tags(root);
    let Some(tag) = chosen(&tags, wanted, found) else {
        found.push(not_one(root));
        return Draft::default();
    };
    tell_others(&tags, tag, found);
    let said = root.get("metadata").or_else(|| root.get("meta")).and_then(|about| about.get("projectName"));
    let name = match (tag.name, said.and_then(Node::text)) {
        (MASTER, Some(name)) => name.to_owned(),
        (MASTER, None) => FOLDER.trim_start_matches('.').to_owned(),
        (tag, _) => tag.to_owned(),
    };
    let mut draft = Draft { name, groups: tag.groups(), order: Order::Free, ..Draft::default() };
    let subtasks = given.config.policy.subtasks.unwrap_or_default();
    let units = tag.units(subtasks);
    let mut wholes = Wholes::default();
    for unit in &units {
        let own = task(tag, unit.item, unit.name.clone(), given.place, found);
        draft.tasks.push(if unit.is_subtask { wholes.get(tag, unit.task, found).give(own) } else { own });
    }
    needs(tag, &units, &mut draft, found);
    tell_repeated(tag, &units, found);
    tell_elsewhere(&draft, found);
    for item in tag.list.items().unwrap_or_default().iter().filter(|item| item.entries().is_none()) {
        found.repair(item.at.clone(), format!("a task must be an object, not {}", item.name()), "left out");
    }
    draft
}

/// The current tag; without one the tag `master`; without that the first one.
fn chosen<'t, 'n>(tags: &'t [Tag<'n>], wanted: Option<&str>, found: &mut Problems) -> Option<&'t Tag<'n>> {
    let named = |name: &str| tags.iter().find(|tag| tag.name == name);
    let tag = wanted.and_then(named).or_else(|| named(MASTER)).or(tags.first())?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != tag.name) {
        let message = format!("there is no tag `{}`, which `{FOLDER}/{STATE}` calls current", cut(wanted));
        let label = format!("the tag `{}` is read instead", tag.name);
        found.forgive(Diagnostic::warning(start(tag.list), message).label(label));
    }
    Some(tag)
}

/// Tasks that are not read are not passed over in silence.
fn tell_others(tags: &[Tag<'_>], chosen: &Tag<'_>, found: &mut Problems) {
    let is_open = |item: &&Item<'_>| status::standing(item.status()) == Some(Standing::Open);
    let others = tags.iter().filter(|tag| tag.name != chosen.name);
    let open: Vec<(&str, usize)> = others
        .map(|tag| (tag.name, tag.tasks.iter().filter(is_open).count()))
        .filter(|(_, n)| *n > 0)
        .collect();
    let Some((first, _)) = open.first() else { return };
    let count: usize = open.iter().map(|(_, count)| count).sum();
    let message = match open.len() {
        1 => format!(
            "{} of the tag `{}` {} not read",
            counted(count as u64, "open task"),
            cut(first),
            be(count)
        ),
        tags => format!("{} of {tags} other tags {} not read", counted(count as u64, "open task"), be(count)),
    };
    let said = Diagnostic::warning(start(chosen.list), message);
    let said = said.label(format!("the tag `{}` is the current one", chosen.name));
    found.push(said.help("`task-master use-tag NAME` makes another one current"));
}

fn not_one(root: &Node) -> Diagnostic {
    let message = "this is not a file of tasks of Task Master";
    let said = Diagnostic::error(start(root), message);
    match root.entries() {
        Some([]) => said.label("it is empty"),
        Some(entries) => {
            let keys: Vec<String> =
                entries.iter().take(KEYS).map(|(name, _)| format!("`{}`", cut(name))).collect();
            let more = if entries.len() > KEYS { ", …" } else { "" };
            said.label(format!("no list `tasks`, nor tags with one; it has {}{more}", keys.join(", ")))
        }
        None => said.label(format!("it is {}", root.name())),
    }
}

/// Two of one id. Other ids of tasks are told where all names are made.
fn tell_repeated(tag: &Tag<'_>, units: &[Unit<'_, '_>], found: &mut Problems) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    units.iter().for_each(|unit| *counts.entry(&unit.item.id).or_default() += 1);
    for (unit, id) in units.iter().zip(tag.ids(units)) {
        let (item, called) = (unit.item, tag.called(&unit.item.id));
        let is_number = called.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_whole = !item.id.is_empty() && !item.id.ends_with('.');
        if (is_number || unit.is_subtask) && is_whole && counts[&*item.id] > 1 && id.as_str() != called {
            let at = item.node.get("id").map_or_else(|| start(item.node), |node| node.at.clone());
            let message = format!("the id `{}` was used before", cut(&item.id));
            found.repair(at, message, format!("called `{id}` here"));
        }
    }
}

/// Tasks that somebody else has are left to them. People expect that of few, so it is said once for each reason.
fn tell_elsewhere(draft: &Draft, found: &mut Problems) {
    let mut counts: BTreeMap<&str, (usize, &DraftTask)> = BTreeMap::new();
    for task in &draft.tasks {
        if let Standing::NotOurs(why) = task.standing
            && task.standing != status::UNKNOWN
        {
            counts.entry(why).or_insert((0, task)).0 += 1;
        }
    }
    for (why, (count, first)) in counts {
        let message = match count {
            1 => format!("Piton does not take {}: {why}", first.name),
            more => format!("Piton does not take {} and {} more: {why}", first.name, more - 1),
        };
        let said = Diagnostic::warning(first.at.clone(), message).label("left to a person");
        found.push(said.help(format!("set its status to `{}`, and Piton does it", status::OPEN)));
    }
}
