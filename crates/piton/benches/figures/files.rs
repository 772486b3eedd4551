//! Writing a state file: what it takes beside what the disk takes.

use piton_core::chronicle::Chronicle;
use piton_core::run::State;
use piton_core::system::execute::state::{self as file, Place};
use piton_engine::disk;
use piton_engine::journal::Journal;

use crate::bench::{Figure, folder, median, timed};
use crate::journal::{at, changes, create};

const TASKS: usize = 1000;
const TIMES: usize = 50;

pub(crate) fn figures() -> Vec<Figure> {
    let (_temp, path) = folder();
    let mut journal = Journal::open(&path.join("piton")).unwrap();
    let run = create(&mut journal, TASKS);
    let mut state = journal.load(&run).unwrap();
    let all: Vec<_> = changes(TASKS).collect();
    journal.commit(&run, &mut state, &all, at(0)).unwrap();
    let events = journal.events(&run, 0, None, usize::MAX).unwrap();
    let (folding, chronicle) = timed(|| Chronicle::of(&events));
    let (target, place) = (path.join("execute-state.json"), Place::default());
    let text = |state: &State| file::text(&file::project(state, &chronicle, &place).unwrap());
    let (mut whole, mut floor, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..TIMES {
        let (took, length) = timed(|| {
            let text = text(&state);
            disk::exchange(&target, text.as_bytes()).unwrap();
            text.len()
        });
        whole.push(took);
        bytes = length;
        let text = text(&state);
        floor.push(timed(|| disk::write(&path.join("floor.json"), text.as_bytes()).unwrap()).0);
    }
    let what = format!("write the state file of {TASKS} tasks (a durable write of the same {bytes} bytes)");
    let fold = format!("fold the {} events it tells of, as a one-shot command does", events.len());
    vec![
        Figure::over(what, median(whole), median(floor), "10 ms"),
        Figure::plain(fold, crate::bench::show(folding), "–"),
    ]
}
