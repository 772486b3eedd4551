//! A damaged snapshot is noticed and rebuilt.

use piton_core::run::{ByModel, Command, Holder, Note, Report, Status, Tests, Usage};
use piton_core::time::Span;
use piton_core::view::{Asked, By, Format, Orientation};
use piton_engine::journal::Journal;

use crate::bench::{
    Engine, Folder, Place, at, blocked, create, done, id, on_each_engine, plan, run_id, small, spec, start,
    status,
};

on_each_engine! {
    a_spoiled_snapshot_is_proven_wrong_and_made_anew,
    links_are_proven_too,
    what_is_kept_beside_the_state_is_proven_too,
    what_is_said_about_completed_tasks_is_kept,
    what_a_run_has_come_to_is_known_without_the_events_of_its_tasks,
    a_command_that_meets_a_spoiled_snapshot_mends_it,
    a_reader_understands_a_run_whose_snapshot_has_another_layout,
    the_oldest_tasks_of_a_status_come_first_in_every_layout,
}

fn a_spoiled_snapshot_is_proven_wrong_and_made_anew(engine: Engine) {
    let damages = [
        "DELETE FROM tasks WHERE id = 'c'",
        "UPDATE tasks SET decided = 6 WHERE id = 'c'",
        "UPDATE tasks SET decided = 99 WHERE id = 'c'",
        "UPDATE tasks SET rest = '{' WHERE id = 'c'",
        "DELETE FROM cells",
        "UPDATE cells SET counts = '[]'",
        "UPDATE runs SET layout = 0",
        "UPDATE runs SET seq = 3",
        "UPDATE runs SET moving = ''",
        "DELETE FROM plans",
    ];
    for damage in damages {
        let (place, mut journal) = engine.with_small();
        journal.command(&run_id(), &start("a"), at(1)).unwrap();
        let truth = journal.load(&run_id()).unwrap();
        place.sql(damage);
        let told = journal.prove(&run_id());
        assert!(!told.as_ref().is_ok_and(Vec::is_empty), "{damage}");
        // A reader cannot fix it, and is not misled by it.
        let mut reader = place.read();
        assert!(reader.load(&run_id()).unwrap().agrees_with(&truth), "{damage}");
        drop(reader);
        assert!(journal.load(&run_id()).unwrap().agrees_with(&truth), "{damage}");
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
    }
}

fn links_are_proven_too(engine: Engine) {
    for damage in ["DELETE FROM needs WHERE task = 'b'", "UPDATE needs SET need = 'c' WHERE task = 'b'"] {
        let (place, mut journal) = engine.with_small();
        place.sql(damage);
        assert_eq!(journal.prove(&run_id()).unwrap().len(), 1, "{damage}");
        journal.rebuild(&run_id()).unwrap();
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    }
}

/// A small run with guardrails and entries, an agent that has cost something, a worktree, and two completed tasks that list
/// the same file.
fn with_history(engine: Engine) -> (Place, Journal) {
    let (place, mut journal) = engine.with_small();
    let note = |note| Command::Note { by: "me".into(), note };
    let done = |task: &str| {
        let Command::Report { by, fence, claim, mut report, .. } = done(task) else { unreachable!() };
        report.files = vec!["src/lib.rs".to_owned(), format!("{task}.rs")];
        report.tests = Some(Tests { passed: 5, ..Tests::default() });
        Command::Report { task: id(task), by, fence, claim, report }
    };
    let usage = Usage { input: Some(100), output: Some(7), ..Usage::default() };
    let spent = |used, job: &str| Note::Spent {
        task: id("c"),
        fence: 1,
        agent: "a".into(),
        used,
        estimate: ByModel::default(),
        took: Span(9),
        job: job.into(),
    };
    let used = Some(ByModel::from([("m".to_owned(), usage)]));
    let commands = [
        note(Note::Guardrail { text: "No new dependency".into() }),
        note(Note::Guardrail { text: "No unsafe code".into() }),
        note(Note::GuardrailRemoved { text: "No unsafe code".into() }),
        note(Note::Entry { task: Some(id("b")), text: "Look at this first".into(), for_next: false }),
        start("a"),
        done("a"),
        Command::Start { task: id("c"), holder: Holder::Engine },
        note(spent(used, "1.check0")),
        note(spent(None, "1.check1")),
        start("b"),
        done("b"),
    ];
    for (command, n) in commands.iter().zip(1..) {
        journal.command(&run_id(), command, at(n)).unwrap();
    }
    (place, journal)
}

fn orientation(journal: &Journal, most: usize) -> Orientation {
    let run = run_id();
    let asked = Asked { run: &run, done: 2, planned: 4, task: None, most, form: Format::Text };
    journal.orientation(asked).unwrap()
}

/// All that is answered without the events of what is completed.
fn answers(journal: &Journal) -> String {
    let costs = By::ALL.map(|by| journal.costs(&run_id(), by).unwrap().by(by));
    let efforts = journal.efforts(&run_id()).unwrap();
    let with_worktree: Vec<_> = journal.with_worktree(&run_id()).unwrap().into_iter().map(|t| t.id).collect();
    let guardrails = journal.guardrails(&run_id()).unwrap();
    let orientation = orientation(journal, usize::MAX);
    format!("{costs:?} {efforts:?} {with_worktree:?} {guardrails:?}\n{orientation}")
}

fn what_is_kept_beside_the_state_is_proven_too(engine: Engine) {
    let damages = [
        "DELETE FROM worktrees",
        "INSERT INTO worktrees VALUES (1, 'a')",
        "DELETE FROM remarks WHERE kind = 0",
        "UPDATE costs SET cost = '{}' WHERE name = 'm'",
        "DELETE FROM costs WHERE sorted_by = 1",
        "DELETE FROM made WHERE task = 'a'",
        "UPDATE made SET lines = '{}' WHERE task = 'b'",
        "UPDATE made_files SET last = 1",
        "DELETE FROM made_files WHERE file = 'a.rs'",
        "UPDATE runs SET made = '[1,0,0,0,2,3]'",
    ];
    let (place, mut journal) = with_history(engine);
    let truth = answers(&journal);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    for damage in damages {
        place.sql(damage);
        assert_ne!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
        journal.rebuild(&run_id()).unwrap();
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
        assert_eq!(answers(&journal), truth, "{damage}");
    }
}

#[test]
fn a_journal_of_the_format_before_is_brought_up_to_date() {
    let (folder, journal) = with_history(Engine::Sqlite);
    let truth = answers(&journal);
    drop(journal);
    folder.sql(
        "DROP TABLE made; DROP TABLE made_files; DROP TABLE remarks; DROP TABLE costs; DROP TABLE worktrees;
         ALTER TABLE runs DROP COLUMN made; PRAGMA user_version = 4;
         UPDATE runs SET layout = 17, moving = json_remove(moving, '$.efforts')",
    );
    let mut journal = folder.open();
    assert_eq!(answers(&journal), truth, "from the events, as long as the rows are those of before");
    journal.command(&run_id(), &start("d"), at(99)).unwrap();
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    let efforts = journal.efforts(&run_id()).unwrap();
    assert_eq!((efforts.attempts, efforts.tests().map(|tests| tests.passed)), (4, Some(10)));
}

fn what_is_said_about_completed_tasks_is_kept(engine: Engine) {
    let (_place, mut journal) = with_history(engine);
    let report = Box::new(Report { decisions: vec!["no cache".into()], ..Report::default() });
    let told = Command::Note { by: "me".into(), note: Note::Told { task: id("a"), report } };
    journal.command(&run_id(), &told, at(50)).unwrap();
    assert!(orientation(&journal, usize::MAX).to_string().contains("- a: no cache"));
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    // The task that listed a file before is the last one again.
    let mut changed = small();
    changed.tasks[1].prompt = "Do something else.".to_owned();
    journal.command(&run_id(), &Command::Replan(Box::new(changed)), at(52)).unwrap();
    let now = orientation(&journal, usize::MAX).to_string();
    assert!(now.contains("- a: src/lib.rs") && !now.contains("- b: b.rs"), "{now}");
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
}

/// However much has happened: the events of it could as well not be there.
fn what_a_run_has_come_to_is_known_without_the_events_of_its_tasks(engine: Engine) {
    let (place, journal) = with_history(engine);
    let truth = answers(&journal);
    let part = orientation(&journal, 1200).to_string();
    assert!(truth.contains("- b: src/lib.rs") && !truth.contains("- a: src/lib.rs"), "{truth}");
    place.sql("UPDATE events SET body = 'unreadable' WHERE body NOT LIKE '%guardrail%' AND body NOT LIKE '%\"entry\"%'");
    assert_eq!(answers(&journal), truth);
    assert_eq!(orientation(&journal, 1200).to_string(), part);
}

fn a_command_that_meets_a_spoiled_snapshot_mends_it(engine: Engine) {
    for damage in ["DELETE FROM tasks WHERE id = 'a'", "UPDATE runs SET layout = 0", "DELETE FROM cells"] {
        let (place, mut journal) = engine.with_small();
        place.sql(damage);
        journal.command(&run_id(), &start("a"), at(1)).unwrap();
        assert_eq!(status(&journal, "a"), Status::InProgress);
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
    }
}

/// A reader cannot rewrite a snapshot of another layout. It reads the events instead.
fn a_reader_understands_a_run_whose_snapshot_has_another_layout(engine: Engine) {
    let (place, mut journal) = engine.with_small();
    journal.command(&run_id(), &blocked("a"), at(1)).unwrap();
    let skip = Command::Skip { task: id("c"), by: "me".into(), reason: String::new() };
    journal.command(&run_id(), &skip, at(2)).unwrap();
    let answers = |journal: &Journal| {
        let by_status = Status::ALL.map(|status| journal.tasks_in(&run_id(), status, 9).unwrap());
        let open = journal.unfinished(&run_id()).unwrap();
        let ready = journal.ready(&run_id(), at(3), 9).unwrap();
        (by_status, open, ready, journal.first_dead(&run_id(), 0).unwrap())
    };
    let truth = answers(&journal);
    assert_eq!((truth.1.len(), truth.3.clone()), (3, Some(id("a"))));
    place.sql("UPDATE runs SET layout = 17; UPDATE tasks SET lane = NULL, turn = NULL");
    let reader = place.read();
    assert_eq!(answers(&reader), truth);
    journal.load(&run_id()).unwrap();
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
}

fn the_oldest_tasks_of_a_status_come_first_in_every_layout(engine: Engine) {
    let (place, mut journal) = engine.with_small();
    let skip = |name: &str| Command::Skip { task: id(name), by: "me".into(), reason: String::new() };
    for (name, time) in [("c", 1), ("a", 2), ("b", 3)] {
        journal.command(&run_id(), &skip(name), at(time)).unwrap();
    }
    let oldest = |journal: &Journal| {
        let tasks = journal.oldest_in(&run_id(), Status::Skipped, 2).unwrap();
        tasks.iter().map(|task| task.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(oldest(&journal), ["c", "a"]);
    place.sql("UPDATE runs SET layout = 17; UPDATE tasks SET lane = NULL, turn = NULL");
    assert_eq!(oldest(&place.read()), ["c", "a"]);
}

/// How far the log has been written; what follows are zeros, so that it need not grow.
fn logged(folder: &Folder) -> usize {
    let log = std::fs::read(folder.path.join("piton.db-wal")).unwrap();
    log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

#[test]
fn the_log_does_not_grow_with_each_change() {
    let folder = Folder::new();
    let mut journal = folder.open();
    let length = || std::fs::metadata(folder.path.join("piton.db-wal")).unwrap().len();
    let before = length();
    let tasks = (0..100).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    for n in 0..100 {
        let task = format!("T{}", n / 2);
        let change = if n % 2 == 0 { start(&task) } else { done(&task) };
        let _ = journal.command(&run_id(), &change, at(n));
    }
    assert_eq!(length(), before);
    assert!(logged(&folder) > 100 * 2048, "and it was used");
}

/// Each is the first to come: it has to read the log, and knows nothing of those before it.
#[test]
fn the_log_does_not_grow_with_each_process_that_is_alone() {
    let folder = Folder::new();
    let tasks = (0..200).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    folder.open().command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    let length = || std::fs::metadata(folder.path.join("piton.db-wal")).unwrap().len();
    let before = length();
    for n in 0..400 {
        let task = format!("T{}", n / 2);
        let change = if n % 2 == 0 { start(&task) } else { done(&task) };
        folder.open().command(&run_id(), &change, at(n)).unwrap();
    }
    assert_eq!(length(), before);
    assert!(logged(&folder) < 500 * 2048, "it was begun anew");
}

#[test]
fn a_command_touches_no_more_in_a_plan_of_20_000_tasks() {
    const SIZE: usize = 20_000;
    let folder = Folder::new();
    let mut journal = folder.open();
    let needs = |n: usize| if n < 1000 { Vec::new() } else { vec![format!("T{}", n - 1000)] };
    let tasks = (0..SIZE).map(|n| spec(&format!("T{n}"), 0, &needs(n))).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    drop(journal);
    let mut journal = folder.open();
    assert_eq!(logged(&folder), 0, "the log of the plan was moved over");
    journal.command(&run_id(), &start("T500"), at(1)).unwrap();
    assert_eq!(journal.tasks_loaded(), 1);
    journal.command(&run_id(), &done("T500"), at(2)).unwrap();
    assert_eq!(journal.tasks_loaded(), 2, "the task and the one that waits for it");
    journal.command(&run_id(), &start("T1501"), at(3)).unwrap_err();
    assert_eq!(journal.tasks_loaded(), 2, "the task and the one it waits for");
    let written = logged(&folder);
    assert!(0 < written && written < 20 * 2048, "{written} bytes for two changes");
    let ready = journal.ready(&run_id(), at(4), 3).unwrap();
    assert_eq!(ready.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(), ["T0", "T1", "T2"]);
    assert_eq!(journal.runs().unwrap()[0].counts.total() as usize, SIZE);
}
