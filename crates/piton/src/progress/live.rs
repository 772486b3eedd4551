//! The live area: a line for each task in progress, and a bar for the plan below them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use piton_core::plan::TaskId;
use piton_core::run::{Event, Recorded, Run, State, Status, Task};
use piton_core::time::{Span, Timestamp};
use piton_core::view;
use piton_engine::clock;
use piton_engine::drive::Observer;
use piton_engine::project::Project;

use crate::args::Loudness;
use crate::columns::cut;
use crate::progress::line::{ID, is_said, line};
use crate::progress::terminal::{self, Area, Quiet, Window};
use crate::runs::at_work::AtWork;
use crate::runs::held_up::held_up;
use crate::ui::{self, BUSY, DIM, GOOD};

/// Columns of the bar.
const BAR: usize = 30;

/// The signs of the area.
struct Signs {
    done: &'static str,
    open: &'static str,
    spinner: &'static [&'static str],
}

const UTF8: Signs =
    Signs { done: "━", open: "─", spinner: &["⠁", "⠂", "⠄", "⡀", "⢀", "⠠", "⠐", "⠈"] };
const ASCII: Signs = Signs { done: "#", open: "-", spinner: &["|", "/", "-", "\\"] };

/// How often the output of agents is looked at.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct Live {
    loudness: Loudness,
    project: Project,
    titles: BTreeMap<TaskId, String>,
    signs: Signs,
    area: Area,
    window: Window,
    _quiet: Quiet,
    /// What the agents do whose tasks have a line.
    at_work: BTreeMap<TaskId, AtWork>,
    looked: Option<Instant>,
    /// Tasks that have begun, and when; unknown for those that were only to land when this screen began.
    started: BTreeMap<TaskId, Option<Timestamp>>,
    took: Vec<Span>,
    /// How often it was drawn: the spinner turns with it.
    turns: usize,
}

impl Live {
    pub(super) fn new(loudness: Loudness, project: Project, titles: BTreeMap<TaskId, String>) -> Live {
        ui::hold(true);
        Live {
            loudness,
            project,
            titles,
            signs: if terminal::is_utf8() { UTF8 } else { ASCII },
            area: Area::default(),
            window: Window::begin(),
            at_work: BTreeMap::new(),
            looked: None,
            _quiet: Quiet::begin(),
            started: BTreeMap::new(),
            took: Vec::new(),
            turns: 0,
        }
    }

    fn print(&mut self, text: &str) {
        self.area.print(&ui::as_shown(text));
    }

    fn show(&mut self, state: &State) {
        for text in ui::hold(true) {
            self.print(&text);
        }
        self.look_at_agents(state);
        self.name_window(state);
        let (now, columns) = (clock::now(), terminal::columns());
        let mut lines = self.tasks(state, now, columns);
        lines.push(self.bar(state, now, columns));
        self.area.draw(lines.iter().map(|line| ui::as_shown(line)).collect());
    }

    /// The tasks in progress, as many as get a line, and how many more there are.
    fn busy<'s>(&self, state: &'s State) -> (Vec<&'s Task>, usize) {
        let tasks = self.started.keys().filter_map(|id| state.task(id).ok().flatten());
        let mut tasks: Vec<&Task> = tasks.filter(|task| is_busy(task.status())).collect();
        let all = tasks.len();
        tasks.truncate(lines_that_fit(terminal::rows(), all));
        let left = all - tasks.len();
        (tasks, left)
    }

    /// Lines for the tasks in progress: as many as fit into half of the screen with the bar, and how many more there
    /// are.
    fn tasks(&self, state: &State, now: Timestamp, columns: usize) -> Vec<String> {
        let (tasks, left) = self.busy(state);
        let sign = self.signs.spinner[self.turns % self.signs.spinner.len()];
        let line = |task: &&Task| {
            let told = self.describe(state.run(), task, now);
            format!("{} {}", ui::styled(BUSY, sign), cut(&told, columns.saturating_sub(2)))
        };
        let more = (left > 0).then(|| ui::styled(DIM, format!("  +{left} more")));
        tasks.iter().map(line).chain(more).collect()
    }

    /// `T1       attempt 1 in progress for 3m, $0.42  → Bash: cargo test`
    fn describe(&self, run: Option<&Run>, task: &Task, now: Timestamp) -> String {
        let title = self.titles.get(&task.id).map(String::as_str).unwrap_or_default();
        let since = now.since(task.since);
        let what = match (task.status(), &task.progress.waits) {
            (_, Some(waits)) => format!("has waited to land for {since}: {}", ui::plain(waits)),
            (status, _) => format!("{} {}", status.name().replace('_', " "), view::age(status, since)),
        };
        let what = format!("attempt {} {what}", task.attempt);
        let at_work = self.at_work.get(&task.id).filter(|_| has_agent(task.status()));
        let now_used = at_work.and_then(AtWork::used).unwrap_or_default();
        let used = view::spent(&task.used.all().plus(now_used));
        let used = used.map(|used| format!(", {used}")).unwrap_or_default();
        let line = || run.and_then(|run| view::in_line(run, &task.id));
        let about = match (at_work.and_then(|at_work| at_work.act.clone()), task.status()) {
            (Some(act), _) => act,
            (None, Status::Verified | Status::Merging) => line().unwrap_or_else(|| title.to_owned()),
            (None, _) => title.to_owned(),
        };
        format!("{:ID$} {what}{used}  {}", task.id, ui::plain(&about))
    }

    fn look_at_agents(&mut self, state: &State) {
        let Some(run) = state.run() else { return };
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        let mut before = std::mem::take(&mut self.at_work);
        let (tasks, _) = self.busy(state);
        for task in tasks.into_iter().filter(|task| has_agent(task.status())) {
            let mut at_work = before.remove(&task.id).unwrap_or_default();
            at_work.look(&self.project, run, task);
            self.at_work.insert(task.id.clone(), at_work);
        }
    }

    fn name_window(&mut self, state: &State) {
        let Some(run) = state.run() else { return };
        let counts = state.counts();
        let (done, total) = (counts.of(Status::Completed), counts.total());
        let percent = (u64::from(done) * 100).checked_div(u64::from(total)).unwrap_or(0);
        let title = format!("{done}/{total} {} · piton", run.name);
        let goes_on = held_up(run, clock::now()).is_empty();
        self.window.show(&ui::plain(&title), u8::try_from(percent).unwrap_or(100), goes_on);
    }

    /// What an engine that was asked to stop waits for.
    fn stopping(&self, state: &State) -> Option<String> {
        let run = state.run().filter(|run| run.stop.is_some())?;
        let ids: Vec<&TaskId> = self.started.keys().collect();
        let holds = |id: &&&TaskId| {
            let task = state.task(id).ok().flatten();
            task.is_some_and(|task| task.is_engines() && task.status().holds_slot())
        };
        let waits: Vec<&TaskId> = ids.iter().filter(holds).copied().collect();
        let at_once = if run.stops_at_once() { " at once" } else { "" };
        Some(match waits.is_empty() {
            true => format!("stopping{at_once}"),
            false => format!("stopping{at_once}: waits for {}", view::some(&waits)),
        })
    }

    fn bar(&self, state: &State, now: Timestamp, columns: usize) -> String {
        let counts = state.counts();
        let (done, total) = (counts.of(Status::Completed), counts.total());
        let left = total - counts.sum(Status::is_settled);
        let parallel = state.run().map_or(1, |run| run.session.max_parallel);
        let eta = view::eta(&self.took, left, parallel).filter(|_| left > 0);
        let to_land = counts.of(Status::Verified) + counts.of(Status::Merging);
        let to_land = (to_land > 0).then(|| format!("{to_land} to land"));
        let eta = eta.filter(|_| state.run().is_none_or(|run| run.stop.is_none()));
        let eta = eta.map(|eta| format!("about {eta} left"));
        let held = state.run().map(|run| held_up(run, now)).unwrap_or_default();
        let held = held.into_iter().map(|held| ui::plain(&held.text));
        let held: Vec<String> = self.stopping(state).into_iter().chain(held).collect();
        let message = match held.is_empty() {
            true => to_land.into_iter().chain(eta).collect::<Vec<_>>().join(", "),
            false => to_land.into_iter().chain(held).collect::<Vec<_>>().join("; "),
        };
        let width = BAR.min(columns / 2);
        let filled = (width * done as usize).checked_div(total as usize).unwrap_or(0);
        let text = format!(" {done}/{total} {message}");
        format!(
            "{}{}{}",
            ui::styled(GOOD, self.signs.done.repeat(filled)),
            ui::styled(DIM, self.signs.open.repeat(width - filled)),
            cut(text.trim_end(), columns - width)
        )
    }
}

/// Something goes on for the task.
fn is_busy(status: Status) -> bool {
    status.holds_slot() || matches!(status, Status::Verified | Status::Merging)
}

/// An agent works for the task: on it, or to confirm it.
fn has_agent(status: Status) -> bool {
    matches!(status, Status::InProgress | Status::Confirming)
}

/// How many of the tasks in progress get a line of their own. Half of the rows are for what scrolls past. Of the
/// others, one is the bar's, and one says how many more tasks there are.
fn lines_that_fit(rows: u16, tasks: usize) -> usize {
    let area = usize::from(rows / 2).saturating_sub(1);
    if tasks <= area { tasks } else { area.saturating_sub(1) }
}

impl Observer for Live {
    fn event(&mut self, recorded: &Recorded, state: &State) {
        match &recorded.event {
            Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } => {
                self.titles.insert(spec.id.clone(), spec.title.clone());
            }
            Event::AttemptStarted { task, .. } => {
                self.started.entry(task.clone()).or_insert(Some(recorded.at));
            }
            Event::Completed { task, .. } => {
                self.took.extend(self.started.remove(task).flatten().map(|start| recorded.at.since(start)));
            }
            _ => {}
        }
        if is_said(self.loudness, &recorded.event) {
            let text = line(recorded);
            self.print(&text);
        }
        if let Event::StopRequested { now, .. } = &recorded.event {
            let hint = match now {
                false => {
                    "tasks in progress finish first; Ctrl-C again stops at once, and nothing is lost either way"
                }
                true => "`piton run` resumes from here",
            };
            self.print(&ui::hinted(hint));
        }
        self.show(state);
    }

    fn tick(&mut self, state: &State) {
        self.turns += 1;
        // An adopted attempt was started before this screen was there.
        for task in state.tasks().filter(|task| task.is_engines() && is_busy(task.status())) {
            let began = task.status().holds_slot().then_some(task.since);
            self.started.entry(task.id.clone()).or_insert(began);
        }
        self.show(state);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.area.clear();
        ui::hold(false).iter().for_each(ui::say);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_takes_half_of_the_rows_and_the_bar_is_part_of_it() {
        for rows in 0..60 {
            for tasks in 0..70 {
                let fits = lines_that_fit(rows, tasks);
                let more = usize::from(fits < tasks);
                assert!(
                    fits <= tasks && (fits + more < usize::from(rows / 2).max(2)),
                    "{fits} of {tasks} in {rows}"
                );
            }
        }
        assert_eq!((lines_that_fit(24, 11), lines_that_fit(24, 12), lines_that_fit(24, 64)), (11, 10, 10));
    }
}
