//! Small plans, and places for a journal of them.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use piton_core::plan::{
    Argv, Check, Exhausted, Group, GroupId, Oid, Plan, RunId, Settings, TaskId, TaskSpec,
};
use piton_core::run::{Claim, Command, Holder, NewRun, Report, Status};
use piton_core::time::{Span, Timestamp};
use piton_engine::journal::{Clock, Journal};
#[cfg(target_os = "linux")]
use piton_testkit::postgres::Server;
use rusqlite::Connection;

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn run_id() -> RunId {
    RunId::new("run-1").unwrap()
}

pub(crate) fn oid(n: u64) -> Oid {
    Oid::new(&format!("{n:040x}")).unwrap()
}

pub(crate) fn check(name: &str) -> Check {
    Check::new(name.to_owned(), Argv::parse(name), Span::minutes(1))
}

pub(crate) fn spec(name: &str, group: u32, needs: &[String]) -> TaskSpec {
    TaskSpec {
        id: id(name),
        title: format!("Task {name}"),
        prompt: "Do it.".to_owned(),
        group,
        depends_on: needs.iter().map(|need| id(need)).collect(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: Vec::new(),
        priority: 5,
        agent: "a".to_owned(),
        attempts: 2,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(5),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    }
}

pub(crate) fn plan(groups: u32, tasks: Vec<TaskSpec>) -> Plan {
    let groups =
        (0..groups).map(|n| Group { id: GroupId::new(&format!("g{n}")).unwrap(), title: String::new() });
    Plan {
        name: "demo".to_owned(),
        groups: groups.collect(),
        tasks,
        settings: Settings { max_parallel: 4, exhausted: Exhausted::Continue, ..Settings::default() },
    }
}

/// `a` and `c` stand alone, `b` needs `a`, `d` needs `b`.
pub(crate) fn small() -> Plan {
    let needs = |name: &str| vec![name.to_owned()];
    plan(1, vec![spec("a", 0, &[]), spec("b", 0, &needs("a")), spec("c", 0, &[]), spec("d", 0, &needs("b"))])
}

pub(crate) fn create(plan: Plan) -> Command {
    Command::Create(Box::new(NewRun {
        run: run_id(),
        plan,
        plan_path: "/p/plan.toml".to_owned(),
        target: Some("main".to_owned()),
        base: Some(oid(1)),
        worktree_dir: None,
    }))
}

pub(crate) fn start(task: &str) -> Command {
    Command::Start { task: id(task), holder: Holder::Ledger("me".to_owned()) }
}

pub(crate) fn report(task: &str, claim: Claim) -> Command {
    Command::Report {
        task: id(task),
        by: "me".to_owned(),
        fence: None,
        claim,
        report: Box::new(Report { note: "noted".to_owned(), ..Report::default() }),
    }
}

pub(crate) fn done(task: &str) -> Command {
    report(
        task,
        Claim::Done { tree: None, results: Vec::new(), evidence: piton_core::run::Evidence::file("work") },
    )
}

pub(crate) fn blocked(task: &str) -> Command {
    report(task, Claim::Blocked { reason: "stuck".to_owned() })
}

pub(crate) fn at(n: i64) -> Timestamp {
    Timestamp(1_790_000_000_000 + n)
}

pub(crate) struct Folder {
    pub(crate) path: Utf8PathBuf,
    _temp: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(temp.path().to_owned()).unwrap().join("piton");
        Folder { path, _temp: temp }
    }

    pub(crate) fn open(&self) -> Journal {
        Journal::open(&self.path).unwrap()
    }

    pub(crate) fn db(&self) -> Utf8PathBuf {
        self.path.join("piton.db")
    }

    /// Behind the journal's back.
    pub(crate) fn sql(&self, sql: &str) {
        Connection::open(self.db()).unwrap().execute_batch(sql).unwrap();
    }

    /// Every byte of the database: its file and its log. The index of the log is memory, not content.
    pub(crate) fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        let files = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
            })
            .filter(|(name, bytes)| !name.ends_with("-shm") && !name.ends_with(".lock") && !bytes.is_empty())
            .collect()
    }
}

pub(crate) fn with_small() -> (Folder, Journal) {
    let folder = Folder::new();
    let mut journal = folder.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    (folder, journal)
}

/// Tests of what every journal promises, each once on SQLite and once on PostgreSQL.
macro_rules! on_each_engine {
    ($($name:ident),* $(,)?) => { $(
        mod $name {
            #[test]
            fn sqlite() {
                super::$name($crate::bench::Engine::Sqlite);
            }

            #[test]
            #[cfg(target_os = "linux")]
            fn postgres() {
                match piton_testkit::postgres::Server::shared() {
                    Ok(server) => super::$name($crate::bench::Engine::Postgres(server)),
                    Err(why) => piton_testkit::skipped(why),
                }
            }
        }
    )* };
}
pub(crate) use on_each_engine;

/// What a journal is kept in.
#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Sqlite,
    #[cfg(target_os = "linux")]
    Postgres(&'static Server),
}

impl Engine {
    pub(crate) fn place(self) -> Place {
        match self {
            Engine::Sqlite => Place::Folder(Folder::new()),
            #[cfg(target_os = "linux")]
            Engine::Postgres(server) => Place::Database(server, server.database()),
        }
    }

    pub(crate) fn with_small(self) -> (Place, Journal) {
        let place = self.place();
        let mut journal = place.open();
        journal.command(&run_id(), &create(small()), at(0)).unwrap();
        (place, journal)
    }
}

/// A place for one journal.
pub(crate) enum Place {
    Folder(Folder),
    #[cfg(target_os = "linux")]
    Database(&'static Server, String),
}

impl Place {
    /// A folder or a URL.
    pub(crate) fn name(&self) -> &str {
        match self {
            Place::Folder(folder) => folder.path.as_str(),
            #[cfg(target_os = "linux")]
            Place::Database(_, url) => url,
        }
    }

    pub(crate) fn open(&self) -> Journal {
        open(self.name())
    }

    pub(crate) fn read(&self) -> Journal {
        match self {
            Place::Folder(folder) => Journal::open_existing(&folder.path).unwrap().unwrap(),
            #[cfg(target_os = "linux")]
            Place::Database(_, url) => Journal::connect_existing(&url.parse().unwrap()).unwrap().unwrap(),
        }
    }

    /// Behind the journal's back.
    pub(crate) fn sql(&self, sql: &str) {
        match self {
            Place::Folder(folder) => folder.sql(sql),
            #[cfg(target_os = "linux")]
            Place::Database(server, url) => drop(server.sql(url, &format!("SET search_path = piton; {sql}"))),
        }
    }

    /// Everything that it keeps.
    pub(crate) fn content(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Place::Folder(folder) => folder.bytes(),
            #[cfg(target_os = "linux")]
            Place::Database(server, url) => {
                BTreeMap::from([(String::new(), server.content(url).into_bytes())])
            }
        }
    }
}

/// A journal in a folder or on a server. Decisions are taken at the times that a test says.
pub(crate) fn open(place: &str) -> Journal {
    match place.parse::<piton_engine::journal::Server>() {
        Ok(server) => Journal::connect(&server.with_clock(Clock::Caller)).unwrap(),
        Err(_) => Journal::open(place.into()).unwrap(),
    }
}

pub(crate) fn status(journal: &Journal, task: &str) -> Status {
    journal.task(&run_id(), &id(task)).unwrap().unwrap().status()
}
