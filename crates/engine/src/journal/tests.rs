//! Tests that need private access: a full disk, and a connection that cannot be trusted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use camino::Utf8PathBuf;
use piton_core::plan::{Plan, RunId, Settings, TaskId, TaskSpec};
use piton_core::run::{Command, Holder, NewRun, Refusal, State, Status};
use piton_core::time::{Span, Timestamp};
use rusqlite::Connection;

use super::store::{Store, values};
use super::{CommandError, Journal, Trouble};

fn run() -> RunId {
    RunId::new("run").unwrap()
}

fn create(tasks: usize) -> Command {
    let spec = |n: usize| TaskSpec {
        id: TaskId::new(&format!("T{n}")).unwrap(),
        title: "a title".to_owned(),
        prompt: "x".repeat(500),
        group: 0,
        depends_on: Vec::new(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: Vec::new(),
        priority: 1,
        agent: "a".to_owned(),
        attempts: 3,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(1),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    };
    let plan = Plan {
        name: "p".to_owned(),
        groups: Vec::new(),
        tasks: (0..tasks).map(spec).collect(),
        settings: Settings::default(),
    };
    let (plan_path, target, base, worktree_dir) = ("p".to_owned(), None, None, None);
    Command::Create(Box::new(NewRun { run: run(), plan, plan_path, target, base, worktree_dir }))
}

fn start(task: &str) -> Command {
    Command::Start { task: TaskId::new(task).unwrap(), holder: Holder::Ledger("me".to_owned()) }
}

fn journal() -> (Journal, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let folder = Utf8PathBuf::from_path_buf(temp.path().join("piton")).unwrap();
    (Journal::open(&folder).unwrap(), temp)
}

fn raw(journal: &Journal) -> &Connection {
    match &journal.store {
        Store::Sqlite(db) => db.connection(),
        Store::Postgres(_) => panic!("these tests are about SQLite"),
    }
}

/// With one page, none may be added from now on, as on a full disk.
fn limit_pages(journal: &Journal, pages: u32) {
    let limit = format!("PRAGMA max_page_count = {pages}");
    raw(journal).query_row(&limit, (), |_| Ok(())).unwrap();
}

#[test]
fn a_full_disk_changes_nothing_and_is_named() {
    let (mut journal, _temp) = journal();
    journal.command(&run(), &create(3), Timestamp(0)).unwrap();
    let other = RunId::new("big").unwrap();
    let Command::Create(mut big) = create(200) else { unreachable!() };
    big.run = other.clone();
    let big = Command::Create(big);

    limit_pages(&journal, 1);
    let error = journal.command(&other, &big, Timestamp(1)).unwrap_err();
    let CommandError::Journal(error) = error else { panic!("{error}") };
    assert!(matches!(error.trouble, Trouble::Full), "{error}");
    assert!(error.to_string().contains("piton.db: no space left"), "{error}");
    assert!(!error.spoiled);
    let mut state = State::new();
    let error = journal.commit(&other, &mut state, std::slice::from_ref(&big), Timestamp(1)).unwrap_err();
    assert!(error.spoiled, "the state has folded what was not recorded");
    assert_eq!(journal.runs().unwrap().len(), 1);
    assert_eq!(journal.prove(&run()).unwrap(), [""; 0]);

    limit_pages(&journal, 1 << 30);
    journal.command(&other, &big, Timestamp(2)).unwrap();
    assert_eq!(journal.integrity().unwrap(), [""; 0]);
}

#[test]
fn a_broken_connection_answers_nothing_more() {
    let (mut journal, _temp) = journal();
    journal.command(&run(), &create(3), Timestamp(0)).unwrap();
    let fsync = Trouble::Io { detail: "fsync".to_owned() };
    assert!(journal.writing::<()>(&run(), |_, _| Err(fsync.into())).is_err());
    let refused = journal.command(&run(), &start("T0"), Timestamp(1)).unwrap_err();
    assert!(matches!(refused, CommandError::Journal(error) if matches!(error.trouble, Trouble::Closed)));
    assert!(matches!(journal.load(&run()).unwrap_err().trouble, Trouble::Closed));
    assert!(matches!(journal.runs().unwrap_err().trouble, Trouble::Closed));
}

/// What fails half-way leaves nothing behind in the transaction.
#[test]
fn a_transaction_that_fails_is_undone() {
    let (mut journal, _temp) = journal();
    journal.command(&run(), &create(3), Timestamp(0)).unwrap();
    let outcome = journal.writing::<()>(&run(), |db, _| {
        db.execute("DELETE FROM tasks", values![])?;
        let refusal = Refusal { reason: "no".to_owned(), hint: None, stale: false };
        Err(super::error::Halt::Refused(refusal))
    });
    assert!(outcome.is_err());
    assert_eq!(journal.load(&run()).unwrap().counts().of(Status::Pending), 3);
}

/// The searches of a one-shot command go through an index, whatever the size of the tables.
#[test]
fn no_search_of_a_command_scans() {
    let (journal, _temp) = journal();
    let searches = [
        "SELECT no, seq FROM runs WHERE id = 'x'",
        "SELECT * FROM tasks WHERE run = 1 AND id = 'x'",
        "SELECT task FROM needs WHERE run = 1 AND need = 'x'",
        "SELECT grp, level FROM cells WHERE run = 1 AND unmet = 1 AND grp >= 0 ORDER BY grp, level LIMIT 1",
        "SELECT grp, level FROM cells WHERE run = 1 AND unsettled = 1 AND grp >= 0 ORDER BY grp, level LIMIT 1",
        "SELECT grp, level FROM tasks WHERE run = 1 AND lane = ?1 AND (grp, level) >= (0, 0) ORDER BY grp, level LIMIT 1",
        "SELECT * FROM tasks WHERE run = 1 AND lane = ?1 AND grp = 0 AND level = 0 ORDER BY priority, turn LIMIT 5",
        "SELECT 1 FROM events WHERE task = 'x' AND no > 5 AND no < 9 LIMIT 1",
        "SELECT no FROM events WHERE task = 'x' AND no > 5 AND no < 9 ORDER BY no DESC LIMIT 1",
        "SELECT max(no) FROM events WHERE no > 5 AND no < 9",
    ];
    for search in searches {
        let mut explain = raw(&journal).prepare(&format!("EXPLAIN QUERY PLAN {search}")).unwrap();
        let bound = explain.parameter_count();
        let params = vec![1_i64; bound];
        let steps =
            explain.query_map(rusqlite::params_from_iter(params), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let slow = steps.iter().any(|step| step.contains("SCAN") || step.contains("TEMP B-TREE"));
        assert!(!slow, "{search}: {steps:?}");
    }
}

#[test]
fn tasks_with_a_worktree_are_found_by_their_worktrees() {
    let (journal, _temp) = journal();
    let sql = format!("EXPLAIN QUERY PLAN SELECT lane {}", super::read::OF_WORKTREES);
    let mut explain = raw(&journal).prepare(&sql).unwrap();
    let steps: Vec<String> = explain.query_map([1], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        steps,
        ["SEARCH worktrees USING PRIMARY KEY (run=?)", "SEARCH tasks USING PRIMARY KEY (run=? AND id=?)",]
    );
}

#[test]
fn a_statement_is_compiled_once_whatever_it_is_bound_to() {
    let temp = tempfile::tempdir().unwrap();
    let journal = Journal::open(&Utf8PathBuf::from_path_buf(temp.path().to_owned()).unwrap()).unwrap();
    let mut select = raw(&journal)
        .prepare("SELECT no FROM events WHERE task = ?1 AND no > ?2 ORDER BY no LIMIT ?3")
        .unwrap();
    for limit in [1, 200, 0] {
        let found: Vec<i64> =
            select.query_map(("T1", 0, limit), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(found.is_empty());
    }
    assert_eq!(select.get_status(rusqlite::StatementStatus::RePrepare), 0);
}
