//! What only a server can do to a journal: vanish, forget, be the wrong one.

use std::sync::Arc;

use piton_core::plan::RunId;
use piton_core::run::{Command, Recorded, State};
use piton_engine::journal::{CommandError, Journal, JournalError, Trouble};
use piton_testkit::postgres::{Moment, PASSWORD, Proxy, Server};
use piton_testkit::sandbox::until;
use piton_testkit::skipped;

use crate::bench::{at, blocked, create, done, open, plan, run_id, small, spec, start};

/// The server that these tests share, or a word that there is none.
fn shared() -> Option<&'static Server> {
    Server::shared().map_err(skipped).ok()
}

fn connect(url: &str) -> Result<Journal, JournalError> {
    Journal::connect(&url.parse().unwrap())
}

fn refused(url: &str) -> [JournalError; 2] {
    [connect(url).unwrap_err(), Journal::connect_existing(&url.parse().unwrap()).unwrap_err()]
}

#[test]
fn a_server_that_may_lose_commits_is_refused() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let name = url.rsplit('/').next().unwrap();
    for value in ["off", "local", "remote_write"] {
        server.sql(&url, &format!("ALTER DATABASE {name} SET synchronous_commit = {value}"));
        for error in refused(&url) {
            assert!(matches!(&error.trouble, Trouble::Setting { found, .. } if found == value), "{error}");
            assert!(error.to_string().contains("synchronous_commit"), "{error}");
        }
    }
    assert_eq!(server.sql(&url, "SELECT to_regclass('piton.events') IS NULL"), "t\n", "nothing was made");
}

#[test]
fn a_newer_journal_is_left_as_it_is() {
    let Some(server) = shared() else { return };
    let url = server.database();
    drop(open(&url));
    server.sql(&url, "UPDATE piton.format SET number = 99");
    let before = server.content(&url);
    for error in refused(&url) {
        assert!(matches!(error.trouble, Trouble::Newer { found: 99, .. }), "{error}");
    }
    assert_eq!(server.content(&url), before);
}

#[test]
fn a_standby_is_refused() {
    // Of its own, with nothing else to copy.
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return skipped(why),
    };
    let url = server.database();
    drop(open(&url));
    let standby = server.standby();
    for error in refused(&standby.by_port(&url, standby.port())) {
        assert!(matches!(error.trouble, Trouble::Standby), "{error}");
    }
}

#[test]
fn a_reader_makes_nothing_and_changes_nothing() {
    let Some(server) = shared() else { return };
    let url = server.database();
    assert!(Journal::connect_existing(&url.parse().unwrap()).unwrap().is_none());
    assert_eq!(server.sql(&url, "SELECT to_regclass('piton.events') IS NULL"), "t\n");
    open(&url).command(&run_id(), &create(small()), at(0)).unwrap();
    let before = server.content(&url);
    let mut reader = Journal::connect_existing(&url.parse().unwrap()).unwrap().unwrap();
    assert_eq!(reader.load(&run_id()).unwrap().tasks().count(), 4);
    assert_eq!(reader.prove(&run_id()).unwrap(), [""; 0]);
    let refused = reader.command(&run_id(), &start("a"), at(1)).unwrap_err();
    assert!(matches!(refused, CommandError::Journal(error) if matches!(error.trouble, Trouble::ReadOnly)));
    assert_eq!(server.content(&url), before);
}

#[test]
fn a_password_is_in_no_error() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let journal = connect(&url).unwrap();
    assert!(!format!("{} {journal:?}", journal.place()).contains(PASSWORD));
    let wrong = [
        url.replace("piton:", "nobody:"),
        format!("{url}_that_is_missing"),
        server.by_port(&url, 1),
        url.replace(PASSWORD, &format!("{PASSWORD}-wrong")),
    ];
    for url in wrong {
        for error in refused(&url) {
            assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error}");
            assert!(matches!(error.trouble, Trouble::Unreachable { .. }), "{error}");
        }
    }
}

/// Machines disagree about the time. Events are in the order of one clock.
#[test]
fn the_time_of_an_event_is_the_servers() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let (mut fast, mut slow) = (connect(&url).unwrap(), connect(&url).unwrap());
    fast.command(&run_id(), &create(small()), at(9_000_000_000)).unwrap();
    slow.command(&run_id(), &start("a"), at(-9_000_000_000)).unwrap();
    fast.command(&run_id(), &done("a"), at(8_000_000_000)).unwrap();
    let now: i64 =
        server.sql(&url, "SELECT (extract(epoch FROM now()) * 1000)::bigint").trim().parse().unwrap();
    let times: Vec<i64> =
        slow.events(&run_id(), 0, None, 99).unwrap().iter().map(|event| event.at.0).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.iter().all(|time| (now - 60_000..=now).contains(time)), "{times:?}, {now}");
}

/// A writer that waited for a lock has a later time than the one it waited for.
#[test]
fn the_time_of_an_event_is_that_of_its_lock() {
    let Some(server) = shared() else { return };
    let url = server.database();
    connect(&url).unwrap().command(&run_id(), &create(small()), at(0)).unwrap();
    let holds = "BEGIN; SELECT 1 FROM piton.runs FOR UPDATE; SELECT pg_sleep(2);
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint; COMMIT";
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| server.sql(&url, holds));
        let is_held =
            "SELECT count(*) FROM pg_locks WHERE relation = 'piton.runs'::regclass AND mode = 'RowShareLock'";
        until("the lock", || (server.sql(&url, is_held) == "1\n").then_some(()));
        let waited = connect(&url).unwrap().command(&run_id(), &start("a"), at(1)).unwrap();
        let released: i64 = holder.join().unwrap().lines().last().and_then(|line| line.parse().ok()).unwrap();
        assert!(waited.iter().all(|event| event.at.0 >= released), "{waited:?}, {released}");
    });
}

/// More is written in one change than may wait for its answers.
#[test]
fn a_large_plan_is_recorded_in_one_change() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let names: Vec<String> = (0..1000).map(|number| format!("t{number}")).collect();
    let large = plan(1, names.iter().map(|name| spec(name, 0, &[])).collect());
    let mut journal = open(&url);
    journal.command(&run_id(), &create(large), at(0)).unwrap();
    assert_eq!(journal.load(&run_id()).unwrap().tasks().count(), names.len());
    assert_eq!(journal.prove(&run_id()).unwrap(), Vec::<String>::new());
}

/// What was recorded after a small plan.
fn recorded(journal: &Journal, run: &RunId) -> Vec<Recorded> {
    journal.events(run, 5, None, 99).unwrap()
}

/// A change that is made once, whatever happens at one of its statements.
type Change = fn(&mut Journal, &RunId, &Command);

/// As a command of a person is made.
fn as_command(journal: &mut Journal, run: &RunId, command: &Command) {
    let events = journal.command(run, command, at(1)).unwrap();
    assert_eq!(recorded(journal, run), events);
}

/// As an engine makes it.
fn as_engine(journal: &mut Journal, run: &RunId, command: &Command) {
    let mut state = journal.load(run).unwrap();
    let committed = journal.commit(run, &mut state, std::slice::from_ref(command), at(1)).unwrap();
    assert_eq!(committed.foreign, []);
    assert_eq!(committed.outcomes, [Ok(recorded(journal, run))]);
    assert!(journal.load(run).unwrap().agrees_with(&state));
}

/// Something happens at each statement of a change, before the server sees it or when it has answered.
fn at_each_statement(
    server: &Server,
    moments: &[Moment],
    change: Change,
    happen: impl Fn() + Clone + Send + Sync + 'static,
) {
    let proxy = Proxy::start(server.port());
    let url = server.database();
    for moment in moments {
        let mut statement = 1;
        loop {
            let run = RunId::new(&format!("{moment:?}-{statement}")).unwrap();
            let Command::Create(mut new) = create(small()) else { unreachable!() };
            new.run = run.clone();
            let mut journal = open(&server.by_port(&url, proxy.port()));
            journal.command(&run, &Command::Create(new), at(0)).unwrap();
            // Statements that were prepared before are not counted twice.
            journal.rehearse(&run, &blocked("a"), at(1)).unwrap();
            proxy.cut(statement, *moment, happen.clone());
            change(&mut journal, &run, &blocked("a"));
            if !proxy.spare() {
                break;
            }
            // If the last statement was hit, nobody has waited for the server yet.
            let mut other = until("the server", || connect(&url).ok());
            assert_eq!(recorded(&other, &run).len(), 3, "{run}");
            assert_eq!(other.prove(&run).unwrap(), [""; 0], "{run}");
            other.command(&run, &start("c"), at(2)).unwrap();
            statement += 1;
        }
        assert!(statement > 20, "a change has more statements than {statement}");
    }
}

#[test]
fn a_command_is_recorded_once_wherever_the_line_is_cut() {
    let Some(server) = shared() else { return };
    at_each_statement(server, &[Moment::Before, Moment::Answered], as_command, || {});
}

#[test]
fn a_group_is_recorded_once_wherever_the_line_is_cut() {
    let Some(server) = shared() else { return };
    at_each_statement(server, &[Moment::Before, Moment::Answered], as_engine, || {});
}

#[test]
fn a_command_is_recorded_once_wherever_the_server_is_killed() {
    let server = match Server::start() {
        Ok(server) => Arc::new(server),
        Err(why) => return skipped(why),
    };
    let again = Arc::clone(&server);
    // When it has answered one, it has not seen the next.
    at_each_statement(&server, &[Moment::Answered], as_command, move || {
        again.kill();
        again.start_again();
    });
}

#[test]
fn a_server_that_begins_to_lose_commits_gets_none() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return skipped(why),
    };
    let url = server.database();
    let mut journal = open(&url);
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    server.sql("postgres", "ALTER SYSTEM SET synchronous_commit = off");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let refused = || {
        let CommandError::Journal(error) = journal.command(&run_id(), &start("a"), at(1)).err()? else {
            return None;
        };
        matches!(error.trouble, Trouble::Setting { .. }).then_some(())
    };
    until("the new setting", refused);
}

/// A server with a standby that has what was committed by now, a journal that knows both, and its run.
fn with_standby() -> Option<(Server, Server, Journal, State)> {
    let server = Server::start().map_err(skipped).ok()?;
    let url = server.database();
    drop(open(&url));
    let standby = server.standby();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}/", server.port(), standby.port());
    let mut journal = open(&url.replace(&format!("127.0.0.1:{}/", server.port()), &hosts));
    let mut state = State::new();
    journal.commit(&run_id(), &mut state, &[create(small())], at(0)).unwrap();
    let events = "SELECT count(*) FROM piton.events";
    until("the standby has it", || (server.sql(&url, events) == standby.sql(&url, events)).then_some(()));
    Some((server, standby, journal, state))
}

#[test]
fn a_failover_to_a_standby_that_has_everything_is_survived() {
    let Some((server, standby, mut journal, mut state)) = with_standby() else { return };
    server.kill();
    standby.sql("postgres", "SELECT pg_promote()");
    let done = journal.commit(&run_id(), &mut state, &[start("a")], at(1)).unwrap();
    assert_eq!(done.outcomes.len(), 1);
    assert_eq!(journal.prove(&run_id()).unwrap(), Vec::<String>::new());
    assert_eq!(journal.load(&run_id()).unwrap().seq(), state.seq());
}

#[test]
fn a_failover_that_lost_commits_ends_whoever_had_seen_them() {
    let Some((server, standby, mut journal, mut state)) = with_standby() else { return };
    standby.kill();
    journal.commit(&run_id(), &mut state, &[start("a")], at(1)).unwrap();
    server.kill();
    standby.start_again();
    standby.sql("postgres", "SELECT pg_promote()");
    // As many events as were lost, so that only their content tells.
    let there = format!("postgres://piton:{PASSWORD}@127.0.0.1:{}/test_0", standby.port());
    let mut other = open(&there);
    other.command(&run_id(), &start("c"), at(2)).unwrap();
    assert_eq!(other.load(&run_id()).unwrap().seq(), state.seq());
    let error = journal.commit(&run_id(), &mut state, &[done("a")], at(3)).unwrap_err();
    assert!(matches!(error.trouble, Trouble::Rewound { seq } if seq == state.seq()), "{error}");
    let error = journal.catch_up(&run_id(), &mut state).unwrap_err();
    assert!(matches!(error.trouble, Trouble::Closed), "{error}");
    assert_eq!(other.prove(&run_id()).unwrap(), Vec::<String>::new());
}
