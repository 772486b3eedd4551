//! Notifies a person about a run that they do not watch: what waits for them, and its end.
//!
//! What was sent is in the journal: there the sender is a person, `notify:desktop`, who has seen it. The note comes first, and
//! the message after it. So nothing is sent twice, whatever dies. If Piton dies in between, the message is not sent. All of this
//! happens in a thread of its own with a journal of its own: the engine never waits for a message.

mod channel;
mod desktop;
mod teller;
mod unsent;
pub(crate) mod watchdog;
mod webhook;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel as pipe};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use piton_core::plan::RunId;
use piton_core::run::{Event, Note, Recorded, State, StopReason};
use piton_core::view::Topic;
use piton_engine::drive::Observer;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

pub(crate) use channel::{Notifications, channels};

use crate::notify::teller::{ALL, SETTLE, Teller};
use crate::notify::watchdog::Watchdog;

enum Wake {
    /// Something happened.
    Event,
    /// The engine has ended; for this reason, if it said one.
    Ended(Option<StopReason>),
}

/// The thread that tells.
#[derive(Debug)]
pub(crate) struct Notifier {
    wake: Sender<Wake>,
    thread: JoinHandle<()>,
    watchdog: Option<Watchdog>,
}

impl Notifier {
    /// `None` if nobody is to be told.
    pub(crate) fn begin(project: &Project, run: &RunId, wanted: Notifications) -> Option<Notifier> {
        if wanted.channels.is_empty() || wanted.topics.is_empty() {
            return None;
        }
        let mut teller = Teller::new(project, run, wanted);
        for channel in teller.wanted.channels.clone() {
            if let Some(problem) = channel.problem(&project.root) {
                teller.complain(channel.name(), &problem);
            }
        }
        // That an engine is gone is a thing that needs a person.
        let watchdog = teller.wanted.topics.contains(&Topic::NeedsYou).then(|| {
            let started = Watchdog::start(project, run, &teller.wanted);
            started.map_err(|failure| teller.complain(ALL, &failure.message)).ok()
        });
        let (wake, wakes) = pipe();
        let thread = thread::Builder::new().name("notify".to_owned()).spawn(move || work(teller, &wakes));
        Some(Notifier { wake, thread: thread.ok()?, watchdog: watchdog.flatten() })
    }

    /// The same observer; what it sees wakes the notifier.
    pub(crate) fn watched(&mut self, observer: Box<dyn Observer>) -> Box<dyn Observer> {
        Box::new(Watched { observer, wake: self.wake.clone(), watchdog: self.watchdog.take() })
    }

    /// Tell what is left to tell, and wait until it is told.
    pub(crate) fn end(self, reason: Option<StopReason>) {
        let _ = self.wake.send(Wake::Ended(reason));
        let _ = self.thread.join();
    }
}

struct Watched {
    observer: Box<dyn Observer>,
    wake: Sender<Wake>,
    watchdog: Option<Watchdog>,
}

impl Observer for Watched {
    fn event(&mut self, recorded: &Recorded, state: &State) {
        self.observer.event(recorded, state);
        if let (Event::EngineStarted { engine, .. }, Some(watchdog)) = (&recorded.event, &mut self.watchdog) {
            watchdog.name(engine);
        }
        if !matches!(recorded.event, Event::Noted { note: Note::Seen { .. }, .. }) {
            // If the notifier is gone, there is nobody to tell.
            let _ = self.wake.send(Wake::Event);
        }
    }

    fn tick(&mut self, state: &State) {
        self.observer.tick(state);
    }
}

/// The thread: it looks whenever something happened.
fn work(mut teller: Teller, wakes: &Receiver<Wake>) {
    let mut journal = match teller.project.journal() {
        Ok(journal) => journal,
        Err(error) => return teller.complain(ALL, &error.to_string()),
    };
    loop {
        let reason = match wakes.recv() {
            Ok(Wake::Event) => until_quiet(&mut teller, &mut journal, wakes),
            Ok(Wake::Ended(reason)) => Some(reason),
            Err(_) => return,
        };
        if let Some(reason) = reason {
            return teller.look(&mut journal, Some(reason.as_ref()));
        }
    }
}

/// Look again and again until nothing happens and nothing is too new. Ends with the engine, if that ends.
fn until_quiet(
    teller: &mut Teller,
    journal: &mut Journal,
    wakes: &Receiver<Wake>,
) -> Option<Option<StopReason>> {
    loop {
        let (until, mut happened) = (Instant::now() + SETTLE, false);
        loop {
            match wakes.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Wake::Event) => happened = true,
                Ok(Wake::Ended(reason)) => return Some(reason),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Some(None),
            }
        }
        teller.look(journal, None);
        if !happened && teller.fresh.is_empty() {
            return None;
        }
    }
}
