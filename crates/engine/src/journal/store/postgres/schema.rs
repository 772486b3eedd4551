//! The tables, and what is demanded of a server before anything is entrusted to it.

use piton_core::time::Timestamp;
use tokio::runtime::Runtime;

use super::server::Server;
use super::session::Session;
use super::{LOCK_SECONDS, Postgres};
use crate::journal::error::Trouble;
use crate::journal::store::FORMAT;

/// `server_version_num` of the oldest one.
const NEED: i32 = 150_000;

/// What brings the format up to a number. The first one makes all tables as those of SQLite are in that format; from then
/// on both have a migration for each number. One that was released is never edited.
const MIGRATIONS: [(i64, &str); 1] = [(5, include_str!("format-5.sql"))];

/// Open a connection, and check the server. All of it is asked again after a failover.
pub(super) fn enter(runtime: &Runtime, server: &Server, writable: bool) -> Result<Session, Trouble> {
    let session = Session::open(runtime, server)?;
    let read_only = if writable { "off" } else { "on" };
    session.send_text(
        format!(
            "SET search_path = piton; SET lock_timeout = '{LOCK_SECONDS}s'; \
             SET idle_in_transaction_session_timeout = '{LOCK_SECONDS}s'; SET client_min_messages = warning; \
             SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = {read_only}"
        ),
    );
    let facts = session.query(
        runtime,
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(), \
         current_setting('synchronous_commit'), current_setting('fsync'), current_setting('server_encoding'), \
         (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
        &[],
    )?;
    let row = facts.first().ok_or_else(|| Trouble::inconsistent("the server does not say what it is"))?;
    if row.try_get::<_, i32>(0)? < NEED {
        return Err(Trouble::PostgresTooOld { found: row.try_get(1)? });
    }
    if row.try_get(2)? {
        return Err(Trouble::Standby);
    }
    demand_durable(row.try_get(3)?)?;
    demand("fsync", row.try_get(4)?, &["on"])?;
    demand("server_encoding", row.try_get(5)?, &["UTF8"])?;
    server.clock_says(Timestamp(row.try_get(6)?));
    Ok(session)
}

/// A commit that has been answered is on the disk of the server, and of its synchronous standby.
pub(super) fn demand_durable(synchronous_commit: &str) -> Result<(), Trouble> {
    demand("synchronous_commit", synchronous_commit, &["on", "remote_apply"])
}

fn demand(setting: &'static str, found: &str, allowed: &[&'static str]) -> Result<(), Trouble> {
    match allowed {
        [need, ..] if !allowed.contains(&found) => {
            Err(Trouble::Setting { setting, found: found.to_owned(), need })
        }
        _ => Ok(()),
    }
}

/// The number of the format, or 0 where the database has no journal.
fn format(db: &Postgres) -> Result<i64, Trouble> {
    let there = db.ask("SELECT to_regclass('piton.format') IS NOT NULL", &[])?;
    if !there.map(|row| row.try_get(0)).transpose()?.unwrap_or(false) {
        return Ok(0);
    }
    let number = db.ask("SELECT number FROM piton.format", &[])?;
    match number.map(|row| row.try_get(0)).transpose()?.unwrap_or(0) {
        found if found > FORMAT => Err(Trouble::Newer { found, known: FORMAT }),
        found => Ok(found),
    }
}

/// Whether there is a journal that this version can read.
pub(super) fn is_there(db: &Postgres) -> Result<bool, Trouble> {
    match format(db)? {
        0 => Ok(false),
        found if found < FORMAT => Err(Trouble::Older { found, known: FORMAT }),
        _ => Ok(true),
    }
}

/// Make the tables, or bring them up to date.
pub(super) fn bring_up_to_date(db: &Postgres) -> Result<(), Trouble> {
    if format(db)? == FORMAT {
        return Ok(());
    }
    // Others wait here: schemas have no rows to lock. The number is `Pitn`.
    db.run("BEGIN; SELECT pg_advisory_xact_lock(1349088366)")?;
    let found = format(db)?;
    for (number, migration) in MIGRATIONS.iter().filter(|(number, _)| *number > found) {
        db.run(migration)?;
        db.run(&format!("UPDATE piton.format SET number = {number}"))?;
    }
    db.run("COMMIT")
}
