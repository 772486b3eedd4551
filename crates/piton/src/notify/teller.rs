//! Finds out what is to be told now, notes it, and sends it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel as pipe;
use std::thread;
use std::time::{Duration, Instant};

use piton_core::plan::RunId;
use piton_core::run::{Command, Event, Note, Recorded, StopReason};
use piton_core::view::{self, Item, Notice, RunEnd};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, crash};

use crate::failure::Outcome;
use crate::notify::channel::{Channel, Notifications};
use crate::runs::{inbox, standing};
use crate::ui;

/// What waits this long, and not twice as long, is told: a checkout that is clean a moment later, or a provider that
/// answers again, needs nobody. Things that come within this time are one message.
pub(super) const SETTLE: Duration = Duration::from_secs(3);

/// The longest that the end of a run waits for its last message.
const LONGEST: Duration = Duration::from_secs(20);

pub(super) struct Teller {
    pub project: Project,
    run: RunId,
    pub wanted: Notifications,
    /// What waited when it last looked, and was too new to be told, or could not be.
    pub fresh: BTreeSet<String>,
    /// Channels that have failed; each is said once.
    failed: BTreeSet<&'static str>,
}

impl Teller {
    pub(super) fn new(project: &Project, run: &RunId, wanted: Notifications) -> Teller {
        Teller {
            project: project.clone(),
            run: run.clone(),
            wanted,
            fresh: BTreeSet::new(),
            failed: BTreeSet::new(),
        }
    }

    pub(super) fn look(&mut self, journal: &mut Journal, ended: Option<Option<&StopReason>>) {
        let mut notices = Vec::new();
        let taken = self.take_on(journal, ended, &mut notices);
        // What was taken on before something failed is still told.
        let unsent = self.send(notices);
        let given_back = self.give_back(journal, unsent);
        for failure in [taken.err(), given_back.err()].into_iter().flatten() {
            self.complain(ALL, &failure.message);
        }
    }

    /// Take on what is to be told now: from here on nobody else tells it.
    fn take_on(
        &mut self,
        journal: &mut Journal,
        ended: Option<Option<&StopReason>>,
        notices: &mut Vec<Told>,
    ) -> Outcome {
        crash::point("notify.look");
        let facts = standing::facts(journal, &self.run)?;
        let waiting = inbox::of_run(&self.project, journal, &self.run)?;
        let end = match ended.flatten() {
            Some(reason) => {
                let state = journal.load(&self.run)?;
                view::run_end(&self.run, state.tasks(), &state.counts(), reason)
            }
            None => None,
        };
        let end = end.filter(|end| self.wanted.topics.contains(&end.topic));
        let wanted: Vec<&Item> =
            waiting.iter().filter(|item| self.wanted.topics.contains(&item.kind.topic())).collect();
        let due = |item: &&&Item| ended.is_some() || self.fresh.contains(&item.key);
        // A list that was cut says nothing about what is not in it.
        let all = waiting.iter().all(|item| item.more.is_none()).then_some(&waiting[..]);
        let mut fresh = BTreeSet::new();
        for channel in &self.wanted.channels {
            let by = channel.person();
            let known = facts.seen.get(&by);
            let is_new = |item: &&&Item| !known.is_some_and(|known| known.contains(&item.key));
            fresh.extend(wanted.iter().filter(is_new).filter(|item| !due(item)).map(|item| item.key.clone()));
            let items = wanted.iter().filter(due).copied();
            let Some(note) = view::to_tell(&facts, &by, items, all, end.as_ref()) else { continue };
            let events = journal.command(&self.run, &Command::Note { by, note }, clock::now())?;
            notices.extend(taken(&events, &waiting, end.as_ref()).map(|(items, end)| {
                let keys = items.iter().map(|item| &item.key).chain(end.map(|end| &end.key));
                let keys = keys.cloned().collect();
                let notice = view::notice(&facts, self.project.root.as_str(), items, end);
                Told { channel: channel.clone(), keys, notice }
            }));
        }
        self.fresh = fresh;
        if !notices.is_empty() {
            crash::point("notify.noted");
        }
        Ok(())
    }

    /// What certainly did not arrive is told again. Says for whom it was.
    fn give_back(&mut self, journal: &mut Journal, unsent: Vec<(String, Vec<String>)>) -> Outcome {
        for (by, keys) in unsent {
            let facts = standing::facts(journal, &self.run)?;
            let Some(note) = view::not_sent(&facts, &by, &keys) else { continue };
            journal.command(&self.run, &Command::Note { by: by.clone(), note }, clock::now())?;
            let known = standing::facts(journal, &self.run)?.seen.remove(&by).unwrap_or_default();
            self.fresh.extend(keys.into_iter().filter(|key| !known.contains(key)));
        }
        Ok(())
    }

    /// Each in a thread of its own: a channel that is slow holds up no other. Returns what certainly did not arrive.
    fn send(&mut self, notices: Vec<Told>) -> Vec<(String, Vec<String>)> {
        let (sender, results) = pipe();
        let mut open: BTreeMap<&'static str, (String, Vec<String>)> = BTreeMap::new();
        let mut unsent = Vec::new();
        for Told { channel, keys, notice } in notices {
            let (sender, root) = (sender.clone(), self.project.root.clone());
            open.insert(channel.name(), (channel.person(), keys));
            thread::spawn(move || {
                let sent = channel.send(&notice, &root);
                let _ = sender.send((channel.name(), sent));
            });
        }
        drop(sender);
        let until = Instant::now() + LONGEST;
        while !open.is_empty() {
            match results.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((name, sent)) => {
                    let of = open.remove(name);
                    if let Err(problem) = sent {
                        self.complain(name, &problem.why);
                        unsent.extend(of.filter(|_| problem.is_certain));
                    }
                }
                Err(_) => break,
            }
        }
        for name in open.into_keys() {
            self.complain(name, "the message was not taken in time");
        }
        unsent
    }

    /// Say once that a channel does not work, or [`ALL`] of them. The run goes on.
    pub(super) fn complain(&mut self, channel: &'static str, problem: &str) {
        if self.failed.insert(channel) {
            let (warning, problem) = (ui::styled(ui::WARNING, "warning:"), ui::plain(problem));
            ui::say(match channel {
                ALL => format!("{warning} notifications do not work: {problem}"),
                channel => format!("{warning} you are not notified by {channel}: {problem}"),
            });
        }
    }
}

/// Stands for every channel.
pub(super) const ALL: &str = "";

/// A message that was taken on, and the keys of what it tells.
struct Told {
    channel: Channel,
    keys: Vec<String>,
    notice: Notice,
}

/// What the journal has given to this notifier.
fn taken<'e>(
    events: &[Recorded],
    waiting: &[Item],
    end: Option<&'e RunEnd>,
) -> Option<(Vec<Item>, Option<&'e RunEnd>)> {
    let keys = events.iter().filter_map(|recorded| match &recorded.event {
        Event::Noted { note: Note::Seen { items, .. }, .. } => Some(items),
        _ => None,
    });
    let keys: Vec<&String> = keys.flatten().collect();
    let items: Vec<Item> = waiting.iter().filter(|item| keys.contains(&&item.key)).cloned().collect();
    let end = end.filter(|end| keys.contains(&&end.key));
    (!items.is_empty() || end.is_some()).then_some((items, end))
}
