//! The picture of the screen in `docs/watch.md`: the plan of the demo, in the middle of its work.

use std::cell::{Cell, RefCell};

use camino::Utf8Path;
use piton_core::plan::{Digest, Oid, RunId, TaskId};
use piton_core::run::{
    AgentEnd, CheckResult, Closing, Command, Holder, NewRun, Recorded, State, Status, Verdict, Work, decide,
};
use piton_core::system;
use piton_core::time::{Span, Timestamp};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use crate::plans::{self, How};
use crate::runs::preview;
use crate::screen::draw::draw;
use crate::screen::model::{Effect, Model, Msg, update};
use crate::screen::page::{self, TaskFacts};
use crate::screen::picture::Picture;
use crate::screen::picture::testing::{Sketch, sketch};
use crate::screen::svg::svg;
use crate::screen::tests::press;
use crate::screen::text::Text;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Columns and rows.
const SIZE: (u16, u16) = (104, 28);

fn oid(n: u64) -> Oid {
    Oid::new(Digest::of(&n).as_str().get(..40).unwrap_or_default()).expect("forty digits")
}

/// The detail of a task that failed once and is at it again, from the events that the rules make of it.
fn detail(name: &str) -> Vec<Text> {
    let path = Utf8Path::new(ROOT).join("src/cmd/run/demo/plan.toml");
    let (found, _) = plans::read(&path, system::own(), How::default()).expect("the plan of the demo");
    let (mut plan, task) = (found.plan, TaskId::new(name).expect("an id"));
    plan.tasks.retain(|spec| spec.id == task);
    plan.tasks[0].depends_on.clear();
    let (spec, session, run) =
        (plan.tasks[0].clone(), preview::session(&plan), RunId::new("x").expect("an id"));
    let (plan_path, target, base) = ("plan.toml".to_owned(), Some("main".to_owned()), Some(oid(0)));
    let (state, journal) = (RefCell::new(State::new()), RefCell::new(Vec::new()));
    let now = Cell::new(Timestamp(1_800_000_000_000));
    let then = |seconds: u64, command: &Command| {
        now.set(now.get().plus(Span::seconds(seconds)));
        let events = decide(&state.borrow(), command, now.get());
        for event in events.unwrap_or_else(|stop| panic!("{command:?}: {stop:?}")) {
            let recorded = Recorded { seq: state.borrow().seq() + 1, at: now.get(), event };
            state.borrow_mut().apply(&recorded).expect("a complete state");
            journal.borrow_mut().push(recorded);
        }
        state.borrow().task(&task).ok().flatten().map_or(0, |task| task.fence)
    };
    then(
        0,
        &Command::Create(Box::new(NewRun {
            run: run.clone(),
            plan,
            plan_path,
            target,
            base,
            worktree_dir: None,
        })),
    );
    then(0, &Command::Attach { engine: "1-1".to_owned(), session });
    let start = || then(1, &Command::Start { task: task.clone(), holder: Holder::Engine });
    let fence = start();
    then(0, &Command::Prepared { task: task.clone(), fence, base: oid(0), landed: 0 });
    let (took, closing) = (Span::seconds(52), Closing::default());
    let end = AgentEnd::Done;
    then(52, &Command::AgentEnded { task: task.clone(), fence, pass: 0, end, took, report: None, closing });
    let work = Work {
        commit: Some(oid(1)),
        tree: oid(2),
        changed: true,
        found_work: true,
        touches_judges: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: vec!["pack/food.txt".to_owned()],
        modified: Vec::new(),
    };
    then(0, &Command::Captured { task: task.clone(), fence, pass: 0, work });
    let check = &spec.checks[0];
    let result = CheckResult {
        name: check.name.clone(),
        check: check.digest(),
        command: check.name.clone(),
        verdict: Verdict::Fail { exit: 1 },
        environment: Digest::of_bytes(b""),
        took: Span(184),
        log: String::new(),
        tail: "the pack weighs 12 kg, 10 are allowed".to_owned(),
        tests: None,
        ran: None,
    };
    then(1, &Command::ChecksEnded { task: task.clone(), fence, tree: oid(2), results: vec![result] });
    then(0, &Command::Prepared { task: task.clone(), fence: start(), base: oid(0), landed: 0 });
    let (state, events, now) = (state.into_inner(), journal.into_inner(), now.get().plus(Span::seconds(48)));
    let known = state.task(&task).expect("complete").expect("in the plan");
    let group = Some("2-climb".to_owned());
    let facts =
        TaskFacts { task: known, spec: Some(&spec), dependents: &[], group, why: None, events: &events, now };
    page::task(&facts)
}

#[test]
fn the_picture_in_the_docs_is_what_the_screen_draws() {
    let lines = detail("B2");
    let mut model = Model::new((SIZE.0, SIZE.1), Timestamp(300_000), Vec::new());
    let _ = update(&mut model, Msg::Picture(Box::new(expedition())));
    let _ = update(&mut model, Msg::Waiting(1));
    let Some(Effect::Look(views)) = press(&mut model, "/b2\n").pop() else { panic!("B2 is read") };
    let _ = press(&mut model, "\u{1b}");
    let _ = update(&mut model, Msg::Whole(views[0].clone(), lines));
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a terminal in memory");
    terminal.draw(|frame| draw(&model, frame)).expect("it is only memory");
    let (fresh, path) = (svg(terminal.backend().buffer()), format!("{ROOT}/../../docs/images/watch.svg"));
    if std::env::var_os("PITON_WRITE_PICTURES").is_some() {
        std::fs::write(&path, &fresh).expect("our own picture");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "PITON_WRITE_PICTURES=1 cargo test -p piton --lib picture_in_the_docs";
    assert!(kept == fresh, "docs/images/watch.svg is not what the code draws: {how}");
}

/// The plan of the demo, in the middle of its work.
fn expedition() -> Picture {
    use Status::*;
    let tasks = &[
        ("F1", "Write the list of routes", 0, Completed),
        ("F2", "Write the gear list", 0, Completed),
        ("F3", "Write the weather table", 0, Completed),
        ("F4", "Say who comes along", 0, Completed),
        ("A1", "Log the glacier", 1, Merging),
        ("A2", "Log the ridge", 1, Blocked),
        ("B1", "Pack the tent", 1, Verifying),
        ("B2", "Pack the food", 1, InProgress),
        ("B3", "Pack the camera", 1, InProgress),
        ("G1", "Write the report", 2, Pending),
        ("G2", "Unpack", 2, Pending),
        ("G3", "Plan the next rescue", 2, Pending),
    ];
    let mut picture = sketch(&Sketch { groups: &["1-base", "2-climb", "3-home"], tasks });
    for (group, title) in picture.groups.iter_mut().zip(["Base camp", "The climb", "The way home"]) {
        title.clone_into(&mut group.title);
    }
    picture.run = RunId::new("expedition-afeab4").expect("an id");
    picture.cost = None;
    for (nth, task) in (1..).zip(&mut picture.tasks) {
        task.since = Timestamp(300_000 - nth * 6_000);
    }
    picture
}
