//! Reading, beside the loop that draws: two threads with a connection each. One follows the journal, the other reads what is
//! looked at. Neither writes anything.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use piton_core::run::{self, Event, Run, State};
use piton_core::view::RunStatus;
use piton_engine::clock;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::runs::{command, inbox, standing};
use crate::screen::feed::Feed;
use crate::screen::model::Msg;
use crate::screen::picture::{Picture, Surroundings, Titles, picture};
use crate::screen::source::Source;
use crate::screen::view::View;

/// How often the journal is looked at. What happens is visible within a fifth of a second, and a look costs microseconds.
const LOOK: Duration = Duration::from_millis(120);
/// How often it is counted what waits for a person: that asks about every run.
const COUNT: Duration = Duration::from_secs(2);
/// Other runs, and files of plans, change without this run's journal.
const COUNT_ANYWAY: Duration = Duration::from_secs(10);

/// Follows the journal, and tells when the run looks different. Ends when nobody listens.
pub(super) fn follow(source: Source, tell: &Sender<Msg>) {
    let mut follower = Follower { source, state: None, titles: Titles::default(), told: None };
    let mut counted: Option<(Instant, u64)> = None;
    let mut in_trouble = false;
    loop {
        let message = match follower.look() {
            Ok(Some(picture)) => Some(Msg::Picture(Box::new(picture))),
            Ok(None) => None,
            Err(failure) => {
                follower.source.close();
                follower.state = None;
                if !in_trouble && tell.send(Msg::Trouble(Some(failure.message))).is_err() {
                    return;
                }
                in_trouble = true;
                std::thread::sleep(LOOK);
                continue;
            }
        };
        let recovered = std::mem::take(&mut in_trouble).then_some(Msg::Trouble(None));
        if recovered.into_iter().chain(message).any(|message| tell.send(message).is_err()) {
            return;
        }
        let seq = follower.state.as_ref().map_or(0, |(state, _)| state.seq());
        let is_due = counted.is_none_or(|(at, known)| {
            let age = at.elapsed();
            age > COUNT && known != seq || age > COUNT_ANYWAY
        });
        if is_due {
            counted = Some((Instant::now(), seq));
            let waiting = waiting(&follower.source.project).map(Msg::Waiting);
            if waiting.is_some_and(|message| tell.send(message).is_err()) {
                return;
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// How many things wait for the person that they have not seen.
fn waiting(project: &Project) -> Option<usize> {
    let you = command::you();
    let items = inbox::of_project(project).ok()?;
    Some(items.iter().filter(|item| !item.seen_by.contains(&you)).count())
}

struct Follower {
    source: Source,
    state: Option<(State, u32)>,
    titles: Titles,
    /// What the last picture showed beside the tasks.
    told: Option<(RunStatus, bool, Vec<String>)>,
}

impl Follower {
    /// The run, if it looks different.
    fn look(&mut self) -> Outcome<Option<Picture>> {
        let (project, run) = (self.source.project.clone(), self.source.run.clone());
        let (journal, opened) = self.source.journal()?;
        let known = self.state.as_mut().filter(|(_, of)| *of == opened);
        let mut news = Vec::new();
        let is_fresh = known.is_none();
        match known {
            Some((state, _)) => news = journal.catch_up(&run, state)?,
            None => {
                let state = journal.load(&run)?;
                self.titles = Titles::default();
                for (task, title) in journal.titled(&run)? {
                    self.titles.insert(&task.id, &title, group_of(&state, task.group));
                }
                self.state = Some((state, opened));
            }
        }
        let Some((state, _)) = &self.state else { return Ok(None) };
        for recorded in &news {
            if let Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } = &recorded.event {
                self.titles.insert(&spec.id, &spec.title, group_of(state, spec.group));
            }
        }
        let Some(facts) = state.run() else {
            return Err(Failure::new(format!("the run {run} has no beginning")));
        };
        let has_changed = is_fresh || !news.is_empty();
        let alive = project.engine_lives(&run);
        let status = match &self.told {
            // Only the journal and the engine decide about it.
            Some((status, was_alive, _)) if !has_changed && alive == *was_alive => status.clone(),
            _ => {
                let counts = state.counts();
                let stale = standing::stale(&project, journal, facts, &counts)?;
                standing::state(&project, journal, facts, &counts, &stale)
            }
        };
        let told = (status, alive, held_up(facts));
        if !has_changed && self.told.as_ref() == Some(&told) {
            return Ok(None);
        }
        let (status, alive, held_up) = told.clone();
        self.told = Some(told);
        let around = Surroundings { status, onto: standing::onto(facts), alive, held_up };
        Ok(picture(state, &self.titles, around))
    }
}

fn group_of(state: &State, group: u32) -> &str {
    state.run().and_then(|run| run.group(group)).map_or("", |group| group.id.as_str())
}

/// What keeps agents from starting.
fn held_up(facts: &Run) -> Vec<String> {
    let now = clock::now();
    let limits = run::limits(facts, now);
    let limits = limits.map(|(name, until)| format!("usage limit of {name}, over in {}", until.since(now)));
    let parked = run::parked(facts).map(|(name, _)| format!("{name} does not answer"));
    let refused = run::refused(facts).map(|(name, _)| format!("{name} rejects the login"));
    limits.chain(parked).chain(refused).collect()
}

/// Reads what is looked at, until nobody looks.
pub(super) fn look(mut source: Source, views: &Receiver<Vec<View>>, tell: &Sender<Msg>) {
    let mut feeds: Vec<Feed> = Vec::new();
    loop {
        let asked = match views.recv_timeout(LOOK) {
            // Of several, the last one counts: somebody scrolls through the tasks.
            Ok(first) => Some(views.try_iter().last().unwrap_or(first)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(asked) = asked {
            let mut before = std::mem::take(&mut feeds);
            for view in asked {
                let known = before.iter().position(|feed| *feed.view() == view);
                feeds.push(known.map_or_else(|| Feed::new(view), |at| before.swap_remove(at)));
            }
        }
        for feed in &mut feeds {
            let message = feed.look(&mut source).unwrap_or_else(|failure| {
                source.close();
                feed.failed(&failure)
            });
            if message.is_some_and(|message| tell.send(message).is_err()) {
                return;
            }
        }
    }
}
