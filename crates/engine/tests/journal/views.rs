//! What is answered from a part of a run is what the whole of it answers.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::chronicle::Chronicle;
use piton_core::plan::{RunId, TaskId, TaskSpec};
use piton_core::run::{Event, Missing, Proof, Recorded, State, Status, Task, Tests};
use piton_core::time::Timestamp;
use piton_core::view::{self, Asked, By, Costs, Format, Orientation, Sources, Whole, Why};
use piton_engine::journal::{Journal, Outline};

/// Hold every answer from a part of the run against the same answer from the whole state and the whole journal.
pub(crate) fn agree(journal: &Journal, run: &RunId, whole: &State, now: Timestamp) {
    let chronicle = journal.chronicle(run).unwrap();
    let events = journal.events(run, 0, None, usize::MAX).unwrap();
    whys(journal, run, whole, now);
    lists(journal, run, whole);
    stories(journal, run, &chronicle, &events);
    orientations(journal, run, whole, &chronicle);
}

/// `piton why`, with and without an engine.
fn whys(journal: &Journal, run: &RunId, whole: &State, now: Timestamp) {
    for engine_lives in [false, true] {
        let reason = |seq| match journal.event(run, seq).unwrap()?.event {
            Event::Failed { reason, .. } | Event::Skipped { reason, .. } => Some(reason),
            _ => None,
        };
        let sources = Sources {
            engine_lives,
            reason: &reason,
            words: &|_| None,
            worktree: &|_| None,
            first_dead: &|group| journal.first_dead(run, group).unwrap(),
            ahead: &|task| view::ahead(&journal.under_way(run).unwrap(), task),
        };
        let of_whole = Sources {
            first_dead: &|group| view::first_dead(whole, group),
            ahead: &|task| view::ahead(whole.tasks(), task),
            ..sources
        };
        for task in whole.tasks() {
            let ask =
                |state: &State| -> Result<Option<Why>, Missing> { view::why(state, &task.id, now, &sources) };
            let part = journal.ask(run, ask).unwrap().flatten();
            assert_eq!(part, view::why(whole, &task.id, now, &of_whole).unwrap(), "why {}", task.id);
        }
    }
}

/// `piton complete`, `piton queue`, `piton close`, `piton clean` and `piton status --all`.
fn lists(journal: &Journal, run: &RunId, whole: &State) {
    let planned = || whole.tasks().filter(|task| !task.removed);
    let open: Vec<(TaskId, Status)> = planned()
        .filter(|task| !task.status().is_finished())
        .map(|task| (task.id.clone(), task.status()))
        .collect();
    assert_eq!(journal.unfinished(run).unwrap(), open);
    let reported = planned().filter(|task| task.proof == Some(Proof::Reported));
    assert_eq!(journal.only_reported(run).unwrap(), reported.map(|task| task.id.clone()).collect::<Vec<_>>());
    let by_id = |mut tasks: Vec<Task>| {
        tasks.sort_by(|one, other| one.id.cmp(&other.id));
        tasks
    };
    let has_landed =
        |task: &&Task| task.status() == Status::Completed && matches!(task.proof, Some(Proof::Landed { .. }));
    assert_eq!(
        by_id(journal.landed(run).unwrap()),
        planned().filter(has_landed).cloned().collect::<Vec<_>>()
    );
    let is_under_way = |task: &&Task| {
        task.status().holds_slot() || matches!(task.status(), Status::Verified | Status::Merging)
    };
    let under_way: Vec<Task> = whole.tasks().filter(is_under_way).cloned().collect();
    assert_eq!(by_id(journal.under_way(run).unwrap()), under_way, "none of them is removed");
    let specs = journal.specs(run).unwrap();
    assert_eq!(journal.ids(run).unwrap(), specs.iter().map(|spec| spec.id.clone()).collect::<Vec<_>>());
    let title = |id: &TaskId| specs.iter().find(|spec| spec.id == *id).unwrap().title.clone();
    assert_eq!(
        journal.titled(run).unwrap(),
        planned().map(|task| (task.clone(), title(&task.id))).collect::<Vec<_>>()
    );
    let outline = |id: &TaskId| {
        let spec = specs.iter().find(|spec| spec.id == *id).unwrap();
        Outline { title: spec.title.clone(), depends_on: spec.depends_on.clone() }
    };
    assert_eq!(
        journal.outlined(run).unwrap(),
        planned().map(|task| (task.clone(), outline(&task.id))).collect::<Vec<_>>()
    );
    let has_worktree = whole.tasks().filter(|task| task.progress.worktree);
    assert_eq!(by_id(journal.with_worktree(run).unwrap()), has_worktree.cloned().collect::<Vec<_>>());
}

/// `piton progress`, `piton queue`, `piton cost`, `piton timeline` and `piton log`.
fn stories(journal: &Journal, run: &RunId, chronicle: &Chronicle, events: &[Recorded]) {
    let read = journal.events_that_happened(run).unwrap();
    let happened = Chronicle::of(&read);
    assert_eq!(Chronicle { tasks: BTreeMap::new(), ..happened.clone() }, {
        Chronicle { tasks: BTreeMap::new(), ..chronicle.clone() }
    });
    for (id, story) in &chronicle.tasks {
        // If nothing has happened yet, only the plan is shown.
        let planned = Chronicle::of(&journal.events(run, 0, Some(id), 1).unwrap());
        assert_eq!(happened.task(id).or(planned.task(id)), Some(story), "{id}");
        let alone = journal.stories(run, [id]).unwrap();
        assert_eq!(alone.task(id), Some(story), "{id}");
    }
    let tests = chronicle.tasks.values().filter_map(|story| story.tests).reduce(|mut sum: Tests, tests| {
        sum += tests;
        sum
    });
    let attempts = chronicle.tasks.values().map(|story| u64::from(story.attempt)).sum::<u64>();
    let efforts = journal.efforts(run).unwrap();
    assert_eq!((efforts.tests(), efforts.attempts), (tests, attempts));

    let mut costs = Costs::default();
    events.iter().for_each(|recorded| drop(costs.read(run, recorded)));
    for by in By::ALL {
        let kept = journal.costs(run, by).unwrap();
        assert_eq!((kept.by(by), kept.total()), (costs.by(by), costs.total()), "{by:?}");
    }
    assert_eq!(journal.guardrails(run).unwrap(), chronicle.guardrails);

    let begun = journal.begun(run).unwrap();
    let (first, since) = events.split_at(usize::try_from(begun).unwrap());
    let touched: BTreeSet<&TaskId> = since.iter().filter_map(|recorded| recorded.event.task()).collect();
    let is_told = |recorded: &&Recorded| recorded.event.task().is_none_or(|task| touched.contains(task));
    assert!(read.iter().eq(first.iter().filter(is_told).chain(since)), "what was only planned is left out");
    assert!(matches!(first[0].event, Event::RunCreated { .. }));
    assert!(first[1..].iter().all(|recorded| matches!(recorded.event, Event::TaskAdded { .. })));
    assert!(since.first().is_none_or(|recorded| !matches!(recorded.event, Event::TaskAdded { .. })));
    let of_no_task: Vec<Recorded> =
        events.iter().filter(|recorded| recorded.event.task().is_none()).cloned().collect();
    assert_eq!(journal.events_of_no_task(run).unwrap(), of_no_task);
}

/// `piton orient`, of the run and of some tasks.
fn orientations(journal: &Journal, run: &RunId, whole: &State, chronicle: &Chronicle) {
    let specs = journal.specs(run).unwrap();
    let all = Whole::new(&specs, chronicle);
    let is_done = |spec: &&TaskSpec| chronicle.task(&spec.id).is_some_and(|story| story.completed.is_some());
    let done = specs.iter().filter(is_done).count();
    assert_eq!(whole.counts().of(Status::Completed) as usize, done);
    let tasks: [Option<&TaskSpec>; 3] = [None, specs.first(), specs.last()];
    for (spec, most) in tasks.into_iter().zip([usize::MAX, 2000, 3000]) {
        let task = spec.map(|spec| (spec, 2, chronicle.task(&spec.id)));
        for form in [Format::Text, Format::Json] {
            let asked = Asked { run, done, planned: specs.len(), task, most, form };
            let Ok(of_all) = Orientation::new(asked, &all);
            let part = journal.orientation(asked).unwrap();
            assert_eq!(part.to_string(), of_all.to_string());
            assert_eq!(part.document(), of_all.document());
        }
    }
}
