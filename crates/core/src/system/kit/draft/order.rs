//! Who waits for whom: as a task says, as the order of the file says, and where two tasks change the same file.

use std::collections::{BTreeSet, HashMap};

use super::{Draft, Kind, Order, Standing};
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::TaskId;
use crate::system::kit::problems::cut;
use crate::view::counted;

/// If more tasks than this have to be done before a group begins, only its first task waits for them, and the others
/// wait for that one: the number of dependencies stays a small multiple of the number of tasks.
const WIDEST: usize = 64;
/// How many unknown names are compared with how many known ones.
const GUESSES: usize = 20;
const CANDIDATES: usize = 2000;

impl Draft {
    /// For each task the tasks that it waits for. What a file only implies holds up nobody for the sake of a person: a
    /// task that a person does waits for what stands before it, but is waited for only where it is named.
    ///
    /// None of this depends on ticks, so that a plan stays the same while its boxes are ticked.
    pub(super) fn order(&mut self, ids: &[TaskId]) -> Vec<BTreeSet<usize>> {
        let mut needs = self.named(ids);
        // Everything that is implied goes from later to earlier in this sequence, so it makes no circle.
        let sequence = self.sequence(&mut needs, ids);
        self.in_order(&mut needs, &sequence);
        self.same_files(&mut needs, &sequence);
        needs
    }

    /// Whom tasks name. The first task of a name is meant.
    fn named(&mut self, ids: &[TaskId]) -> Vec<BTreeSet<usize>> {
        let mut known: HashMap<String, usize> = HashMap::new();
        for (nth, task) in self.tasks.iter().enumerate().filter(|(_, task)| !task.name.is_empty()) {
            known.entry(task.name.to_lowercase()).or_insert(nth);
        }
        for (nth, id) in ids.iter().enumerate() {
            known.entry(id.folded()).or_insert(nth);
        }
        let mut told = Vec::new();
        let mut guesses = GUESSES;
        let mut needs = vec![BTreeSet::new(); self.tasks.len()];
        for (nth, task) in self.tasks.iter().enumerate() {
            for need in &task.needs {
                match known.get(&need.name.to_lowercase()) {
                    Some(other) if *other == nth => {}
                    Some(other) if self.tasks[*other].standing == Standing::Dropped => {
                        let message = format!("{} waits for a task that was dropped", ids[nth]);
                        let said = Diagnostic::warning(need.at.clone(), message);
                        told.push((task.file.clone(), said.label("not waited for")));
                    }
                    Some(other) => {
                        needs[nth].insert(*other);
                    }
                    None => {
                        let near = guesses.checked_sub(1).and_then(|left| {
                            guesses = left;
                            nearest(&cut(&need.name), ids.iter().take(CANDIDATES).map(TaskId::as_str))
                        });
                        let message = format!("there is no task `{}`", cut(&need.name));
                        let said = Diagnostic::warning(need.at.clone(), message).label("not waited for");
                        let said = match near {
                            Some(near) => said.help(format!("did you mean `{near}`?")),
                            None => said,
                        };
                        told.push((task.file.clone(), said));
                    }
                }
            }
        }
        told.into_iter().for_each(|(file, said)| self.problem(&file, said));
        needs
    }

    /// The tasks in the order of the file, but each after those that it names. A circle of names is an error, and is
    /// opened where it closes.
    fn sequence(&mut self, needs: &mut [BTreeSet<usize>], ids: &[TaskId]) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Visit {
            Not,
            Begun,
            Done,
        }
        let mut visits = vec![Visit::Not; needs.len()];
        let mut sequence = Vec::with_capacity(needs.len());
        let mut circles = Vec::new();
        for start in 0..needs.len() {
            if visits[start] != Visit::Not {
                continue;
            }
            let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut next = Some(start);
            while let Some(task) = next.take() {
                visits[task] = Visit::Begun;
                path.push((task, needs[task].iter().rev().copied().collect()));
                while let Some((task, left)) = path.last_mut() {
                    let task = *task;
                    match left.pop() {
                        Some(need) if visits[need] == Visit::Not => {
                            next = Some(need);
                            break;
                        }
                        Some(need) if visits[need] == Visit::Begun => circles.push((task, need)),
                        Some(_) => {}
                        None => {
                            visits[task] = Visit::Done;
                            sequence.push(task);
                            path.pop();
                        }
                    }
                }
            }
        }
        for (task, need) in circles {
            needs[task].remove(&need);
            let source = &self.tasks[task];
            let at = source.needs.first().map_or_else(|| source.at.clone(), |need| need.at.clone());
            let message = format!("{} and {} wait for each other", ids[task], ids[need]);
            let file = source.file.clone();
            self.problem(&file, Diagnostic::error(at, message).label("remove one of the dependencies"));
        }
        sequence
    }

    /// The order of the file. Tasks that may run beside each other wait for the last one before them that may not, and
    /// the next of those waits for all of them.
    fn in_order(&self, needs: &mut [BTreeSet<usize>], sequence: &[usize]) {
        let mut row = Row::default();
        let mut group = None;
        for &nth in sequence.iter().filter(|nth| self.counts(**nth)) {
            let task = &self.tasks[nth];
            if let Some(before) = group.replace(task.group).filter(|before| *before != task.group) {
                let barrier = self.groups.get(before).is_some_and(|phase| phase.barrier);
                row.next_group(needs, self.order == Order::All || barrier);
            }
            let waits = row.waits(task.beside, self.order);
            needs[nth].extend(waits.into_iter().filter(|need| *need != nth));
            if task.kind == Kind::Person {
                continue;
            }
            row.members.push(nth);
            if task.beside || self.order == Order::Free {
                row.beside.push(nth);
            } else {
                row.beside.clear();
                row.front = vec![nth];
            }
            if row.gate.is_none() && row.walls.len() > WIDEST {
                row.gate = Some(nth);
            }
        }
    }

    /// Of tasks that could run at the same time and name the same file, the later one waits for the earlier one.
    fn same_files(&mut self, needs: &mut [BTreeSet<usize>], sequence: &[usize]) {
        let mut last: HashMap<&str, usize> = HashMap::new();
        let (mut first, mut count) = (None, 0);
        let is_work = |nth: &&usize| self.counts(**nth) && self.tasks[**nth].kind == Kind::Work;
        for &nth in sequence.iter().filter(is_work) {
            let task = &self.tasks[nth];
            for file in &task.files {
                let Some(before) = last.insert(file, nth).filter(|before| *before != nth) else { continue };
                let other = &self.tasks[before];
                let is_loose = match self.order {
                    Order::Free => true,
                    Order::All => task.beside && other.beside,
                    Order::Groups => task.group != other.group || task.beside && other.beside,
                };
                if is_loose && needs[nth].insert(before) && task.beside && task.standing == Standing::Open {
                    count += 1;
                    first.get_or_insert(nth);
                }
            }
        }
        let Some(first) = first else { return };
        let (file, at) = (self.tasks[first].file.clone(), self.tasks[first].at.clone());
        let message = format!("{} may run beside others that name the same file", counted(count, "task"));
        self.problem(
            &file,
            Diagnostic::warning(at, message).label("they run one after the other; this is the first"),
        );
    }

    /// Whether a task has a place in the order of the file.
    fn counts(&self, nth: usize) -> bool {
        matches!(self.tasks[nth].standing, Standing::Open | Standing::Claimed)
    }
}

/// How far the order of the file has come.
#[derive(Debug, Default)]
struct Row {
    /// The last task in order, and what stood beside others since.
    front: Vec<usize>,
    beside: Vec<usize>,
    /// All tasks of the current group so far.
    members: Vec<usize>,
    /// What has to be done before the current group begins, and the task that waits for it in place of all others.
    walls: Vec<usize>,
    /// The same of groups since the last barrier, which need not be done before it.
    loose: Vec<usize>,
    gate: Option<usize>,
}

impl Row {
    /// The next group begins: after everything so far, if this one is a barrier.
    fn next_group(&mut self, needs: &[BTreeSet<usize>], is_barrier: bool) {
        let members = std::mem::take(&mut self.members);
        self.front.clear();
        self.beside.clear();
        self.gate = None;
        // Whoever waits for the tasks that no other task of the group waits for waits for all.
        let waited: BTreeSet<usize> = members.iter().flat_map(|nth| needs[*nth].iter().copied()).collect();
        self.loose.extend(members.into_iter().filter(|nth| !waited.contains(nth)));
        if is_barrier {
            self.walls = std::mem::take(&mut self.loose);
        }
    }

    fn waits(&self, beside: bool, order: Order) -> Vec<usize> {
        let waits = match (order, beside) {
            (Order::Free, _) => Vec::new(),
            (_, false) if !self.beside.is_empty() => self.beside.clone(),
            _ => self.front.clone(),
        };
        match (waits.is_empty(), self.gate) {
            (false, _) => waits,
            (true, Some(gate)) => vec![gate],
            (true, None) => self.walls.clone(),
        }
    }
}
