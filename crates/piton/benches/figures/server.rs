//! The same changes of state in a journal on PostgreSQL, on this machine.

use std::time::{Duration, Instant};

use piton_core::run::Command;
use piton_engine::journal::Journal;
use piton_testkit::postgres::Server;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement};

use crate::bench::{Figure, median};
use crate::journal::{CHANGES, GROUP, at, changes, create};

pub(crate) fn figures() -> Vec<Figure> {
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => {
            println!("  not measured: {why}");
            return Vec::new();
        }
    };
    let (ours, raw, bytes) = single(&server);
    vec![
        Figure::times(
            format!("durable change on PostgreSQL, 100 tasks (a raw commit there of the same {bytes} bytes)"),
            ours,
            raw,
            "3 ×",
        ),
        Figure::plain(
            format!("changes on PostgreSQL in groups of {GROUP}"),
            format!("{} per second", grouped(&server)),
            "–",
        ),
        Figure::times(
            "a look for news on PostgreSQL (a raw question there)",
            looks(&server),
            raw_question(&server),
            "1.5 ×",
        ),
    ]
}

/// The median of one change, of a raw commit beside it, and how many bytes of events a change is.
fn single(server: &Server) -> (Duration, Duration, usize) {
    let url = server.database();
    let mut journal = Journal::connect(&url.parse().unwrap()).unwrap();
    let run = create(&mut journal, 100);
    let mut state = journal.load(&run).unwrap();
    let raw = Raw::open(server);
    let (mut ours, mut floor, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (n, command) in changes(100).take(CHANGES).enumerate() {
        let start = Instant::now();
        let done = journal.commit(&run, &mut state, &[command], at(n)).unwrap();
        ours.push(start.elapsed());
        let events = done.outcomes.into_iter().next().unwrap().unwrap();
        let text: String = events.iter().map(|event| serde_json::to_string(&event.event).unwrap()).collect();
        bytes = text.len();
        floor.push(raw.commit(&text));
    }
    (median(ours), median(floor), bytes)
}

fn grouped(server: &Server) -> u64 {
    let mut journal = Journal::connect(&server.database().parse().unwrap()).unwrap();
    let run = create(&mut journal, 1000);
    let mut state = journal.load(&run).unwrap();
    let all: Vec<Command> = changes(1000).take(30 * GROUP).collect();
    let start = Instant::now();
    for (n, group) in all.chunks(GROUP).enumerate() {
        let done = journal.commit(&run, &mut state, group, at(n)).unwrap();
        assert!(done.outcomes.iter().all(Result::is_ok));
    }
    (all.len() as f64 / start.elapsed().as_secs_f64()).round() as u64 / 100 * 100
}

fn looks(server: &Server) -> Duration {
    let mut journal = Journal::connect(&server.database().parse().unwrap()).unwrap();
    let run = create(&mut journal, 100);
    let mut state = journal.load(&run).unwrap();
    let first = changes(100).next().unwrap();
    journal.commit(&run, &mut state, &[first], at(0)).unwrap();
    let look = |_| {
        let start = Instant::now();
        assert!(journal.catch_up(&run, &mut state).unwrap().is_empty());
        start.elapsed()
    };
    median((0..CHANGES).map(look).collect())
}

fn raw_question(server: &Server) -> Duration {
    let raw = Raw::open(server);
    median((0..CHANGES).map(|_| raw.question()).collect())
}

/// A table of texts, and nothing else.
struct Raw {
    runtime: Runtime,
    client: Client,
    insert: Statement,
    count: Statement,
}

impl Raw {
    fn open(server: &Server) -> Raw {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let url = server.database();
        let (client, insert, count) = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("CREATE TABLE raw (no BIGSERIAL PRIMARY KEY, body TEXT)").await.unwrap();
            let insert = client.prepare("INSERT INTO raw (body) VALUES ($1)").await.unwrap();
            let count = client.prepare("SELECT max(no) FROM raw").await.unwrap();
            (client, insert, count)
        });
        Raw { runtime, client, insert, count }
    }

    fn commit(&self, text: &str) -> Duration {
        let start = Instant::now();
        self.runtime.block_on(self.client.execute(&self.insert, &[&text])).unwrap();
        start.elapsed()
    }

    fn question(&self) -> Duration {
        let start = Instant::now();
        self.runtime.block_on(self.client.query(&self.count, &[])).unwrap();
        start.elapsed()
    }
}
