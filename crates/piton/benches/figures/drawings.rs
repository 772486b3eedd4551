//! What faces draw of a large run: the graph of its plan, and its timeline.

use piton_core::plan::TaskId;
use piton_core::run::{Recorded, Status};
use piton_core::view::graph::{Extent, Node, layout, rows, svg};
use piton_core::view::timeline::timeline;
use piton_engine::journal::Journal;

use crate::bench::{Figure, folder, median, show, timed};
use crate::journal::{at, changes, create};

const TASKS: usize = 10_000;
const EDGES: usize = 30_000;
const TIMES: usize = 9;

pub(crate) fn figures() -> Vec<Figure> {
    let nodes = nodes();
    let often = |draw: &dyn Fn() -> usize| show(median((0..TIMES).map(|_| timed(draw).0).collect()));
    let plan = "a plan of 10,000 tasks with 30,000 dependencies";
    let events = events();
    let now = at(100);
    vec![
        Figure::plain(format!("lay out {plan}"), often(&|| layout(&nodes).nodes.len()), "200 ms"),
        Figure::plain(format!("draw {plan} as a picture"), often(&|| svg(&nodes, "plan").len()), "–"),
        Figure::plain(
            format!("draw {plan} as text"),
            often(&|| rows(&nodes, Extent::EveryTask).rows.len()),
            "–",
        ),
        Figure::plain(
            format!("the timeline of {} events of {TASKS} tasks", events.len()),
            often(&|| timeline(events.iter().cloned(), now).bars.len()),
            "–",
        ),
    ]
}

/// Groups of fifty. A task waits for some of the two hundred before it.
fn nodes() -> Vec<Node> {
    let id = |at: usize| TaskId::new(&format!("T{at}")).unwrap();
    // Chance that is the same each time.
    let mut chance = 1_u64;
    let mut below = |bound: usize| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) as usize % bound
    };
    let mut after: Vec<Vec<TaskId>> = vec![Vec::new(); TASKS];
    for _ in 0..EDGES {
        let task = 1 + below(TASKS - 1);
        let back = 1 + below(task.min(200));
        after[task].push(id(task - back));
    }
    let node = |(at, after)| Node {
        id: id(at),
        title: format!("Add part {at} to the whole"),
        group: Some(format!("group-{}", at / 50)),
        status: Status::Pending,
        after,
    };
    after.into_iter().enumerate().map(node).collect()
}

fn events() -> Vec<Recorded> {
    let (_temp, path) = folder();
    let mut journal = Journal::open(&path.join("piton")).unwrap();
    let run = create(&mut journal, TASKS);
    let mut state = journal.load(&run).unwrap();
    let all: Vec<_> = changes(TASKS).collect();
    for (n, group) in all.chunks(1000).enumerate() {
        journal.commit(&run, &mut state, group, at(n)).unwrap();
    }
    journal.events(&run, 0, None, usize::MAX).unwrap()
}
