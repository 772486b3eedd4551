//! Reading, beside the loop that draws: three threads with a connection each. One follows the journal, one reads what is
//! looked at, and one counts what waits for a person. None of them writes anything.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use piton_core::run::{Event, State};
use piton_core::view::RunStatus;
use piton_engine::clock;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::runs::held_up::held_up;
use crate::runs::{command, inbox, standing};
use crate::screen::feed::{Feed, last_seq};
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
        std::thread::sleep(LOOK);
    }
}

/// Counts what waits for a person: apart from the others, because it reads every run and may ask git.
pub(super) fn count(mut source: Source, tell: &Sender<Msg>) {
    let mut counted: Option<(Instant, u64)> = None;
    loop {
        let run = source.run.clone();
        let seq = source.journal().and_then(|(journal, _)| last_seq(journal, &run)).unwrap_or_else(|_| {
            source.close();
            0
        });
        if counted.is_none_or(|(at, known)| known != seq || at.elapsed() > COUNT_ANYWAY) {
            counted = Some((Instant::now(), seq));
            let waiting = waiting(&source.project).map(Msg::Waiting);
            if waiting.is_some_and(|message| tell.send(message).is_err()) {
                return;
            }
        }
        std::thread::sleep(COUNT);
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
        let alive = project.is_led(journal, &run);
        let status = match &self.told {
            // Only the journal and the engine decide about it.
            Some((status, was_alive, _)) if !has_changed && alive == *was_alive => status.clone(),
            _ => {
                let counts = state.counts();
                let stale = standing::stale(&project, journal, facts, &counts)?;
                standing::state(&project, journal, facts, &counts, &stale)
            }
        };
        let held_up = held_up(facts, clock::now()).into_iter().map(|held| held.text).collect();
        let told = (status, alive, held_up);
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

/// Reads what is looked at, until nobody looks.
pub(super) fn look(mut source: Source, views: &Receiver<Vec<View>>, tell: &Sender<Msg>) {
    let mut feeds: Vec<Feed> = Vec::new();
    loop {
        let asked: Vec<Vec<View>> = match views.recv_timeout(LOOK) {
            Ok(first) => std::iter::once(first).chain(views.try_iter()).collect(),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        feeds = feeds_after(feeds, asked);
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

/// The feeds for the last of these requests. The others count, too: the screen has dropped what it showed of a view that it
/// left meanwhile, so that one is read again.
fn feeds_after(feeds: Vec<Feed>, asked: Vec<Vec<View>>) -> Vec<Feed> {
    asked.into_iter().fold(feeds, feeds_for)
}

/// A feed for each view. One goes on if its view stays in its place: only then the screen keeps what it has shown.
fn feeds_for(feeds: Vec<Feed>, views: Vec<View>) -> Vec<Feed> {
    let mut before = feeds.into_iter();
    let feeds = views.into_iter().map(|view| match before.next() {
        Some(feed) if *feed.view() == view => feed,
        _ => Feed::new(view),
    });
    feeds.collect()
}

#[cfg(test)]
mod tests {
    use piton_core::plan::TaskId;

    use super::*;
    use crate::screen::view::Tab;

    fn view(tab: Tab, task: &str) -> View {
        View { tab, task: TaskId::new(task).ok(), verbose: false, columns: 0 }
    }

    /// Whether the feeds, in their order, would show a text that the screen has shown already.
    fn say_again(feeds: &mut [Feed]) -> Vec<bool> {
        feeds.iter_mut().map(|feed| feed.failed(&Failure::new("gone")).is_some()).collect()
    }

    #[test]
    fn a_view_that_was_left_meanwhile_is_read_again() {
        let [first, second] = [view(Tab::Detail, "T1"), view(Tab::Detail, "T2")];
        let mut feeds = feeds_for(Vec::new(), vec![first.clone()]);
        assert_eq!(say_again(&mut feeds), [true], "it is new");
        feeds = feeds_for(feeds, vec![first.clone()]);
        assert_eq!(say_again(&mut feeds), [false], "it stays");
        feeds = feeds_after(feeds, vec![vec![second], vec![first]]);
        assert_eq!(say_again(&mut feeds), [true], "the screen has shown something else meanwhile");
    }

    #[test]
    fn a_view_that_moves_to_another_place_is_read_again() {
        let [detail, output] = [view(Tab::Detail, "T1"), view(Tab::Output, "T1")];
        let mut feeds = feeds_for(Vec::new(), vec![detail, output.clone()]);
        assert_eq!(say_again(&mut feeds), [true, true]);
        feeds = feeds_for(feeds, vec![output]);
        assert_eq!(say_again(&mut feeds), [true]);
    }
}
