//! Live: one look at the journal for all open pages, and what is new sent to each of them.
//!
//! A message has the positions of all runs as its id. A page that was away asks again with the id that it saw last, and
//! gets what it missed; if that is too much, it is asked to read everything again.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::http::{Response, header};
use camino::Utf8Path;
use futures_util::stream;
use piton_core::order::Pairs;
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::Recorded;
use piton_core::view::{self, Tone};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};

use crate::failure::Outcome;
use crate::plans;

/// How often the journal is looked at. To see that nothing is new takes microseconds.
const LOOK: Duration = Duration::from_millis(100);
/// Whether engines live, plans were edited and targets have moved is not in the journal, and asks the disk for each run.
const LOOKS_PER_DISK: u32 = 10;
/// A page that has heard nothing for three of them connects again.
const BEAT: Duration = Duration::from_secs(15);
/// Events that one message describes. More are only counted: the page reads them where it shows them.
const DESCRIBED: usize = 100;
/// Beyond so many a page had better read everything again.
const TOO_FAR: u64 = 5000;
/// Runs whose positions are part of an id, newest first: it is a header of a request.
const RUNS: usize = 32;
/// Messages that a slow page may be behind.
const WAITING: usize = 64;

/// Where each run stands.
type Positions = BTreeMap<RunId, u64>;

#[derive(Debug)]
pub(super) struct Live {
    sender: Sender<Arc<Message>>,
    /// Grows whenever something has changed.
    changes: AtomicU64,
}

#[derive(Debug)]
struct Message {
    id: String,
    data: String,
}

impl Live {
    pub(super) fn new() -> Live {
        Live { sender: broadcast::channel(WAITING).0, changes: AtomicU64::new(0) }
    }

    /// Another number after each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// What was remembered may be wrong now, whatever the journal says.
    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Look at the journal for as long as the program lives, and do something else before each look.
    pub(super) fn watch(&self, project: &Project, mut watcher: Watcher, meanwhile: impl Fn()) {
        loop {
            std::thread::sleep(LOOK);
            meanwhile();
            // A journal that cannot be read is opened again, until it can.
            match watcher.look(project) {
                Ok(Some(message)) => {
                    self.changed();
                    // Nobody may be listening.
                    let _ = self.sender.send(Arc::new(message));
                }
                Ok(None) => {}
                Err(_) => watcher.journal = None,
            }
        }
    }

    /// The stream for one page.
    pub(super) fn stream(
        &self,
        project: &Project,
        last: Option<&str>,
        permit: OwnedSemaphorePermit,
    ) -> Outcome<Response<Body>> {
        let receiver = self.sender.subscribe();
        let first = first(project, last)?;
        let listener = Listener { first: Some(first), receiver, _permit: permit };
        let body = Body::from_stream(stream::unfold(listener, Listener::next));
        let response = Response::builder()
            .header(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")
            // A proxy in between must not collect it.
            .header("x-accel-buffering", "no");
        Ok(response.body(body).expect("the parts are valid"))
    }
}

struct Listener {
    first: Option<String>,
    receiver: Receiver<Arc<Message>>,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Listener)> {
        let text = match self.first.take() {
            Some(first) => first,
            None => match tokio::time::timeout(BEAT, self.receiver.recv()).await {
                Err(_) => "event: beat\ndata: {}\n\n".to_owned(),
                Ok(Ok(message)) => format!("id: {}\nevent: news\ndata: {}\n\n", message.id, message.data),
                Ok(Err(RecvError::Lagged(_))) => "event: reset\ndata: {}\n\n".to_owned(),
                Ok(Err(RecvError::Closed)) => return None,
            },
        };
        Some((Ok(Bytes::from(text)), self))
    }
}

/// What a page is sent first: where everything stands, or what it missed.
fn first(project: &Project, last: Option<&str>) -> Outcome<String> {
    let positions = match project.existing_journal()? {
        Some(journal) => {
            let now = positions(&journal)?;
            if let Some(known) = last.and_then(parse) {
                let behind: u64 =
                    now.iter().map(|(run, seq)| seq - known.get(run).unwrap_or(seq).min(seq)).sum();
                if behind > TOO_FAR {
                    return Ok(format!("id: {}\nevent: reset\ndata: {{}}\n\n", id(&now)));
                }
                let news = news(project, &journal, &known, &now)?;
                return Ok(format!("id: {}\nevent: news\ndata: {}\n\n", id(&now), json!({ "runs": news })));
            }
            now
        }
        None => Positions::new(),
    };
    Ok(format!("id: {}\nevent: hello\ndata: {{}}\n\n", id(&positions)))
}

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    journal: Option<Journal>,
    version: Option<i64>,
    known: Positions,
    alive: BTreeMap<RunId, bool>,
    outside: BTreeMap<RunId, Outside>,
    looks: u32,
}

/// What a view of a run shows of the world outside of the journal.
#[derive(Debug, PartialEq, Eq)]
struct Outside {
    /// When the parts of the plan were written, and how long they are.
    plan: Vec<(String, Option<SystemTime>, u64)>,
    /// What the target branch holds: a gate that has passed on other work is stale.
    target: Option<Oid>,
}

impl Watcher {
    /// What is there before any page is open is not news. What comes later is, so this comes before the first page.
    pub(super) fn new(project: &Project) -> Watcher {
        let mut watcher = Watcher::default();
        // A journal that cannot be read yet is read later.
        if watcher.look(project).is_err() {
            watcher.journal = None;
        }
        watcher
    }

    /// What is new since the last look.
    fn look(&mut self, project: &Project) -> Outcome<Option<Message>> {
        if self.journal.is_none() {
            self.version = None;
            self.journal = project.existing_journal()?;
        }
        let Some(journal) = &self.journal else { return Ok(None) };
        self.looks = self.looks.wrapping_add(1);
        let version = journal.version()?;
        let is_written = self.version != Some(version);
        // The first look, too: what is there then is no news later.
        let is_at_disk = self.looks % LOOKS_PER_DISK == 1;
        if !is_written && !is_at_disk {
            return Ok(None);
        }
        let outside = if is_at_disk { Some(outside(project, journal)?) } else { None };
        self.version = Some(version);
        let now = if is_written { positions(journal)? } else { self.known.clone() };
        let known = std::mem::replace(&mut self.known, now.clone());
        let mut news = if is_written { news(project, journal, &known, &now)? } else { Vec::new() };
        let alive: BTreeMap<RunId, bool> =
            now.keys().map(|run| (run.clone(), project.is_led(journal, run))).into_map();
        let before = std::mem::replace(&mut self.alive, alive);
        let outside_before = outside.map(|outside| std::mem::replace(&mut self.outside, outside));
        for (run, alive) in &self.alive {
            let is_told = news.iter().any(|one| one["run"] == run.as_str());
            let was_outside = outside_before.as_ref().and_then(|before| before.get(run));
            let is_other = was_outside.zip(self.outside.get(run)).is_some_and(|(was, is)| was != is);
            if !is_told && (is_other || before.get(run).is_some_and(|before| before != alive)) {
                news.push(json!({ "run": run, "seq": now[run], "alive": alive, "events": [], "tasks": [] }));
            }
        }
        if news.is_empty() {
            return Ok(None);
        }
        Ok(Some(Message { id: id(&now), data: json!({ "runs": news }).to_string() }))
    }
}

fn positions(journal: &Journal) -> Outcome<Positions> {
    Ok(journal.runs()?.into_iter().take(RUNS).map(|run| (run.id, run.seq)).into_map())
}

/// Of the newest run of each plan, if it was not closed.
fn outside(project: &Project, journal: &Journal) -> Outcome<BTreeMap<RunId, Outside>> {
    let (mut plans, mut targets) = (BTreeSet::new(), BTreeMap::<String, Option<Oid>>::new());
    let mut all = BTreeMap::new();
    for run in journal.runs()?.into_iter().take(RUNS) {
        if !plans.insert(run.plan.clone()) || run.closed.is_some() {
            continue;
        }
        let target = journal.facts(&run.id)?.and_then(|facts| facts.target).map(|target| {
            // A branch that cannot be read now is read later.
            let tip =
                || project.repo().ok().flatten().and_then(|repo| repo.branch_tip(&target).ok().flatten());
            targets.entry(target.to_string()).or_insert_with(tip).clone()
        });
        let plan = plans::stamp(Utf8Path::new(&run.plan), &project.root);
        all.insert(run.id, Outside { plan, target: target.flatten() });
    }
    Ok(all)
}

/// What has happened in each run that has moved on.
fn news(project: &Project, journal: &Journal, known: &Positions, now: &Positions) -> Outcome<Vec<Value>> {
    let mut news = Vec::new();
    for (run, seq) in now {
        // A run that is new has a plan, which is not news.
        let after = known.get(run).copied().unwrap_or(*seq);
        if known.contains_key(run) && after >= *seq {
            continue;
        }
        let events = journal.events(run, after, None, DESCRIBED + 1)?;
        let is_more = events.len() > DESCRIBED;
        let mut tasks: Vec<&TaskId> = events.iter().filter_map(|recorded| recorded.event.task()).collect();
        tasks.sort();
        tasks.dedup();
        let described: Vec<Value> = events.iter().take(DESCRIBED).map(described).collect();
        news.push(json!({
            "run": run, "seq": seq, "alive": project.is_led(journal, run), "events": described,
            // `null`: too many to name.
            "tasks": if is_more { Value::Null } else { json!(tasks) },
        }));
    }
    Ok(news)
}

/// An event in one line, as `piton log` has it.
pub(super) fn described(recorded: &Recorded) -> Value {
    let told = view::describe(&recorded.event);
    json!({
        "seq": recorded.seq, "at": recorded.at.0, "task": recorded.event.task(),
        "tone": tone(told.tone), "text": told.text,
    })
}

pub(super) fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Quiet => "quiet",
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    }
}

/// `plan-1a2b3c=17,other-4d5e6f=4`
fn id(positions: &Positions) -> String {
    positions.iter().map(|(run, seq)| format!("{run}={seq}")).collect::<Vec<_>>().join(",")
}

fn parse(id: &str) -> Option<Positions> {
    let one = |pair: &str| {
        let (run, seq) = pair.split_once('=')?;
        Some((RunId::new(run).ok()?, seq.parse().ok()?))
    };
    id.split(',').filter(|pair| !pair.is_empty()).take(2 * RUNS).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        let run = |name: &str| RunId::new(name).expect("an id");
        let positions = Positions::from([(run("plan-1a2b3c"), 17), (run("other"), 0)]);
        assert_eq!(parse(&id(&positions)), Some(positions));
        assert_eq!(parse(""), Some(Positions::new()));
        for nonsense in ["x", "plan=", "plan=x", "../x=1", "plan=1,,other"] {
            assert!(parse(nonsense).is_none(), "{nonsense}");
        }
    }
}
