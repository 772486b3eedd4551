//! A run as a trace, in the JSON encoding of OTLP: run, task, attempt, and what an attempt did.
//!
//! Ids are hashes of the run's id and of places in its journal: whoever exports a run twice gets the same spans.
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::dollars;
use super::timeline::{Bar, Fold, Phase, Timeline};
use crate::plan::{Oid, RunId, TaskId};
use crate::run::{CheckResult, Class, Event, Note, Recorded, Usage, Verdict};
use crate::time::Timestamp;

const INTERNAL: u8 = 1;
const UNSET: u8 = 0;
const OK: u8 = 1;
const ERROR: u8 = 2;

/// An `ExportTraceServiceRequest` with all spans of a run. What goes on ends at `now`.
pub fn otlp(run: &RunId, events: &[Recorded], now: Timestamp) -> Value {
    let mut fold = Fold::default();
    let mut facts = Facts::default();
    for recorded in events {
        fold.read(recorded);
        facts.read(recorded);
    }
    let timeline = fold.timeline(now);
    let mut trace = Trace { run, timeline: &timeline, spans: Vec::new() };
    trace.run(&facts);
    let mut of_task: BTreeMap<&TaskId, Vec<&Bar>> = BTreeMap::new();
    for bar in &timeline.bars {
        of_task.entry(&bar.task).or_default().push(bar);
    }
    for (task, bars) in of_task {
        trace.task(task, &bars, &facts);
    }
    json!({ "resourceSpans": [{
        "resource": { "attributes": [text("service.name", "piton"), text("piton.run", run.as_str())] },
        "scopeSpans": [{
            "scope": { "name": "piton", "version": env!("CARGO_PKG_VERSION") },
            "spans": trace.spans,
        }],
    }] })
}

/// What the events say beside their times.
#[derive(Default)]
struct Facts {
    name: String,
    plan: String,
    titles: HashMap<TaskId, String>,
    /// By the event that started it.
    tries: HashMap<u64, Try>,
    /// The last try of each task.
    last: HashMap<TaskId, u64>,
    /// By the event that started their try.
    checks: HashMap<u64, Vec<Checked>>,
}

#[derive(Default)]
struct Try {
    attempt: u32,
    agent: String,
    used: Option<Usage>,
    tree: Option<Oid>,
    failure: Option<(Class, String)>,
}

struct Checked {
    seq: u64,
    at: Timestamp,
    tree: Oid,
    results: Vec<CheckResult>,
}

impl Facts {
    fn read(&mut self, Recorded { seq, at, event }: &Recorded) {
        match event {
            Event::RunCreated { name, plan, .. } => (self.name, self.plan) = (name.clone(), plan.clone()),
            Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } => {
                self.titles.insert(spec.id.clone(), spec.title.clone());
            }
            Event::AttemptStarted { task, attempt, agent, .. } => {
                let started = Try { attempt: *attempt, agent: agent.clone(), ..Try::default() };
                self.tries.insert(*seq, started);
                self.last.insert(task.clone(), *seq);
            }
            Event::AgentEnded { task, agent, .. } => self.on(task, |it| it.agent.clone_from(agent)),
            Event::WorkCaptured { task, work, .. } => self.on(task, |it| it.tree = Some(work.tree.clone())),
            Event::Failed { task, class, reason, .. } => {
                self.on(task, |it| it.failure = Some((*class, reason.clone())));
            }
            Event::Noted { note: Note::Spent { task, used: Some(used), .. }, .. } => {
                let more = Usage::sum(used);
                self.on(task, |it| it.used = Some(it.used.map_or(more, |before| before.plus(more))));
            }
            Event::ChecksEnded { task, tree, results, .. } => {
                let of = self.last.get(task).copied().unwrap_or(0);
                let (seq, at, tree, results) = (*seq, *at, tree.clone(), results.clone());
                self.checks.entry(of).or_default().push(Checked { seq, at, tree, results });
            }
            _ => {}
        }
    }

    fn on(&mut self, task: &TaskId, change: impl FnOnce(&mut Try)) {
        let last = self.last.get(task);
        if let Some(it) = last.and_then(|seq| self.tries.get_mut(seq)) {
            change(it);
        }
    }
}

struct Trace<'t> {
    run: &'t RunId,
    timeline: &'t Timeline,
    spans: Vec<Value>,
}

/// A span before it is written.
struct TraceSpan<'s> {
    id: String,
    parent: &'s str,
    name: String,
    from: Timestamp,
    to: Option<Timestamp>,
    status: (u8, &'s str),
    attributes: Vec<Value>,
}

impl Trace<'_> {
    fn run(&mut self, facts: &Facts) {
        let timeline = self.timeline;
        let goes_on = timeline.bars.iter().any(|bar| bar.to.is_none());
        let attributes = vec![text("piton.plan", &facts.plan)];
        self.add(TraceSpan {
            id: self.root(),
            parent: "",
            name: format!("run {}", facts.name),
            from: timeline.from,
            to: Some(timeline.to).filter(|_| !goes_on),
            status: (UNSET, ""),
            attributes,
        });
    }

    fn task(&mut self, task: &TaskId, bars: &[&Bar], facts: &Facts) {
        let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return };
        let id = self.id("task", first);
        let mut attributes = vec![text("piton.task", task.as_str())];
        attributes.extend(facts.titles.get(task).map(|title| text("piton.title", title)));
        let status = match last.end.as_deref() {
            Some("landed" | "completed") => (OK, ""),
            Some("skipped") | None => (UNSET, ""),
            Some(failure) => (ERROR, failure),
        };
        let (name, root) = (format!("task {task}"), self.root());
        self.add(TraceSpan {
            id: id.clone(),
            parent: &root,
            name,
            from: first.from,
            to: last.to,
            status,
            attributes,
        });
        let mut tries: Vec<Vec<&Bar>> = Vec::new();
        let mut is_open = false;
        for &bar in bars {
            let begins =
                matches!(bar.phase, Phase::Working | Phase::Checking) && facts.tries.contains_key(&bar.seq);
            if begins {
                tries.push(Vec::new());
                is_open = true;
            }
            match tries.last_mut().filter(|_| is_open) {
                Some(bars) => bars.push(bar),
                None => drop(self.phase(&id, bar)),
            }
            is_open &= bar.end.is_none();
        }
        for bars in tries {
            self.attempt(&id, &bars, facts);
        }
    }

    fn attempt(&mut self, parent: &str, bars: &[&Bar], facts: &Facts) {
        let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return };
        let Some(known) = facts.tries.get(&first.seq) else { return };
        let mut attributes = vec![whole("piton.attempt", u64::from(known.attempt))];
        if !known.agent.is_empty() {
            attributes.push(text("piton.agent", &known.agent));
        }
        if let Some(used) = known.used {
            attributes.extend(
                used.cost.map(
                    |cost| json!({ "key": "piton.cost_usd", "value": { "doubleValue": dollars(cost) } }),
                ),
            );
            attributes.extend(used.input.map(|tokens| whole("piton.tokens.input", tokens)));
            attributes.extend(used.output.map(|tokens| whole("piton.tokens.output", tokens)));
        }
        attributes.extend(known.tree.as_ref().map(|tree| text("piton.tree", tree.as_str())));
        let mut status = (if last.to.is_some() { OK } else { UNSET }, "");
        if let Some((class, reason)) = &known.failure {
            let class = serde_json::to_value(class).unwrap_or_default();
            attributes.push(text("piton.failure.class", class.as_str().unwrap_or_default()));
            status = (ERROR, reason.as_str());
        }
        let id = self.id("attempt", first);
        let name = format!("attempt {}", known.attempt);
        self.add(TraceSpan {
            id: id.clone(),
            parent,
            name,
            from: first.from,
            to: last.to,
            status,
            attributes,
        });
        let mut places = vec![(id.clone(), first.from, last.to.unwrap_or(self.timeline.to))];
        for bar in bars {
            let (of_bar, from, to) = (self.phase(&id, bar), bar.from, bar.to.unwrap_or(self.timeline.to));
            if bar.phase == Phase::Checking {
                places.push((of_bar, from, to));
            }
        }
        for checked in facts.checks.get(&first.seq).into_iter().flatten() {
            // Results are journaled in the moment in which their bar ends. A bar that took no time was left out.
            let of_bar = places[1..].iter().find(|(_, from, to)| *from < checked.at && checked.at <= *to);
            self.checks(of_bar.unwrap_or(&places[0]), checked);
        }
    }

    fn phase(&mut self, parent: &str, bar: &Bar) -> String {
        let name = match bar.phase {
            Phase::Waiting => "waiting",
            Phase::Working => "work",
            Phase::Checking => "checks",
            Phase::Landing => "landing",
            Phase::Held => "held",
        };
        let id = self.id(name, bar);
        let (status, attributes) = ((UNSET, ""), Vec::new());
        self.add(TraceSpan {
            id: id.clone(),
            parent,
            name: name.to_owned(),
            from: bar.from,
            to: bar.to,
            status,
            attributes,
        });
        id
    }

    /// When each began is not journaled, but how long it took is.
    fn checks(&mut self, (parent, begin, end): &(String, Timestamp, Timestamp), checked: &Checked) {
        let at = checked.at.clamp(*begin, *end);
        for (nth, result) in checked.results.iter().enumerate() {
            let (status, reason) = match &result.verdict {
                Verdict::Pass | Verdict::Noticed { .. } => (OK, String::new()),
                Verdict::Fail { exit } => (ERROR, format!("exit status {exit}")),
                Verdict::Rejected { reason }
                | Verdict::Broken { reason }
                | Verdict::Impossible { reason } => (ERROR, reason.clone()),
            };
            let attributes =
                vec![text("piton.check.command", &result.command), text("piton.tree", checked.tree.as_str())];
            self.add(TraceSpan {
                id: self.hashed(&format!("check {} {nth}", checked.seq)),
                parent,
                name: format!("check {}", result.name),
                from: at.minus(result.took).max(*begin),
                to: Some(at),
                status: (status, &reason),
                attributes,
            });
        }
    }

    fn add(&mut self, span: TraceSpan<'_>) {
        let mut attributes = span.attributes;
        if span.to.is_none() {
            attributes.push(json!({ "key": "piton.goes_on", "value": { "boolValue": true } }));
        }
        let mut written = json!({
            "traceId": hex(&hash(self.run, "trace")[..16]),
            "spanId": span.id,
            "parentSpanId": span.parent,
            "name": span.name,
            "kind": INTERNAL,
            "startTimeUnixNano": nanos(span.from),
            "endTimeUnixNano": nanos(span.to.unwrap_or(self.timeline.to)),
            "attributes": attributes,
            "status": {},
        });
        let (code, message) = span.status;
        if code != UNSET {
            written["status"]["code"] = json!(code);
        }
        if !message.is_empty() {
            written["status"]["message"] = json!(message);
        }
        self.spans.push(written);
    }

    fn root(&self) -> String {
        self.hashed("run")
    }

    /// Bars of one event that were taken apart begin at different times.
    fn id(&self, kind: &str, bar: &Bar) -> String {
        self.hashed(&format!("{kind} {} {} {}", bar.task, bar.seq, bar.from.0))
    }

    fn hashed(&self, what: &str) -> String {
        hex(&hash(self.run, what)[..8])
    }
}

fn hash(run: &RunId, what: &str) -> [u8; 32] {
    Sha256::digest(format!("piton {run} {what}")).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 64-bit numbers are texts in this encoding.
fn nanos(at: Timestamp) -> String {
    (i128::from(at.0.max(0)) * 1_000_000).to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn whole(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
