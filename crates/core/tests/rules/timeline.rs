//! Where the time of a run went: what holds for every journal. The random journals are those of `properties`.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Event, Recorded, State, Status};
use piton_core::time::{Span, Timestamp};
use piton_core::view::otlp;
use piton_core::view::timeline::{Bar, timeline};
use proptest::prelude::*;
use serde_json::Value;

/// Bars are never negative, never overlap in one task, leave no gap in its life, and say what its status says.
pub(crate) fn bars_agree_with_the_state(
    journal: &[Recorded],
    state: &State,
    now: Timestamp,
) -> Result<(), TestCaseError> {
    let timeline = timeline(journal.iter().cloned(), now);
    let mut of_task: BTreeMap<&TaskId, Vec<&Bar>> = BTreeMap::new();
    for bar in &timeline.bars {
        prop_assert!(bar.from >= timeline.from && bar.from <= timeline.to, "{:?}", bar);
        prop_assert!(bar.to.is_none_or(|to| bar.from <= to && to <= timeline.to), "{:?}", bar);
        of_task.entry(&bar.task).or_default().push(bar);
    }
    let mut sum = Span(0);
    for (task, bars) in of_task {
        for pair in bars.windows(2) {
            let (Some(end), from) = (pair[0].to, pair[1].from) else {
                return Err(TestCaseError::fail(format!("{:?} goes on, and {:?} follows", pair[0], pair[1])));
            };
            prop_assert!(end <= from, "{:?} and {:?}", pair[0], pair[1]);
            prop_assert!(end == from || pair[0].end.is_some(), "{:?} and {:?}", pair[0], pair[1]);
        }
        sum = bars.iter().fold(sum, |sum, bar| sum.plus(bar.took(timeline.to)));
        let (goes_on, known) =
            (bars.last().is_some_and(|bar| bar.to.is_none()), state.task(task).expect("complete"));
        let known = known.expect("a task of the run");
        let is_over = matches!(known.decided, Status::Completed | Status::Abandoned | Status::Skipped);
        prop_assert!(!goes_on || !is_over, "{} is {} and goes on: {:?}", task, known.decided, bars);
        let rests = is_over || matches!(known.decided, Status::Pending | Status::Failed);
        prop_assert!(goes_on || rests, "{} is {} and does not go on: {:?}", task, known.decided, bars);
    }
    prop_assert_eq!(timeline.totals.sum(), sum);
    let is_told = |event: &Event| {
        event.task().is_none_or(|task| {
            journal.iter().any(|other| {
                other.event.task() == Some(task) && !matches!(other.event, Event::TaskAdded { .. })
            })
        })
    };
    let told = journal.iter().filter(|recorded| is_told(&recorded.event)).cloned();
    prop_assert_eq!(
        &piton_core::view::timeline::timeline(told, now),
        &timeline,
        "what was only planned takes no time"
    );
    for pair in timeline.critical.windows(2) {
        prop_assert_eq!(pair[0].to, pair[1].from);
    }
    prop_assert!(timeline.critical.iter().all(|step| step.from <= step.to));
    prop_assert!(timeline.decided.sum() <= timeline.to.since(timeline.from));
    prop_assert!(timeline.at_once.is_sorted_by_key(|(at, _)| at));
    prop_assert!(timeline.at_once.last().is_none_or(|&(_, count)| count == 0));
    Ok(())
}

/// Ids are unique, parents exist, and a child lies within its parent.
pub(crate) fn spans_are_nested(journal: &[Recorded], now: Timestamp) -> Result<(), TestCaseError> {
    let run = RunId::new("run").expect("a valid id");
    let trace = otlp(&run, journal, now);
    let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("a list");
    let time =
        |span: &Value, key: &str| -> i128 { span[key].as_str().expect("a text").parse().expect("digits") };
    let mut within: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
    for span in spans {
        let times = (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
        prop_assert!(times.0 <= times.1, "{}", span);
        let id = span["spanId"].as_str().expect("a text");
        prop_assert!(id.len() == 16 && span["traceId"].as_str().is_some_and(|id| id.len() == 32), "{}", span);
        prop_assert!(within.insert(id, times).is_none(), "{} is there twice", span);
        let parent = span["parentSpanId"].as_str().expect("a text");
        if span["name"].as_str().is_some_and(|name| name.starts_with("run ")) {
            prop_assert_eq!(parent, "");
            continue;
        }
        let Some(around) = within.get(parent) else {
            return Err(TestCaseError::fail(format!("{span} has no parent before it")));
        };
        prop_assert!(around.0 <= times.0 && times.1 <= around.1, "{} is not within its parent", span);
    }
    let traces: BTreeSet<String> = spans.iter().map(|span| span["traceId"].to_string()).collect();
    prop_assert_eq!(traces.len(), 1);
    Ok(())
}
