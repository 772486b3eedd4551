//! Which server, and whose clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A server that does not answer for so long is not there.
const CONNECTING: Duration = Duration::from_secs(10);

/// A PostgreSQL database, as a URL names it. The password is never shown.
#[derive(Clone)]
pub struct Server {
    config: Config,
    clock: Clock,
    place: String,
}

/// Whose time a decision is taken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The server's, read when nobody else can change the run any more. Clocks of machines differ; this one orders all
    /// decisions.
    Server,
    /// The caller's, as in a journal in a file.
    Caller,
}

/// The URL is not repeated: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("not the URL of a PostgreSQL database: it has the form postgres://USER@HOST:PORT/DATABASE")]
pub struct NotAServer;

impl Server {
    /// The same server, with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Server {
        Server { clock, ..self }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }
}

impl FromStr for Server {
    type Err = NotAServer;

    fn from_str(url: &str) -> Result<Server, NotAServer> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(NotAServer);
        }
        let mut config = Config::from_str(url).map_err(|_| NotAServer)?;
        if config.get_hosts().is_empty() {
            return Err(NotAServer);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTING);
        }
        config.application_name("piton");
        let place = place(&config);
        Ok(Server { config, clock: Clock::Server, place })
    }
}

fn place(config: &Config) -> String {
    let port =
        |nth: usize| config.get_ports().get(nth).or(config.get_ports().first()).copied().unwrap_or(5432);
    let host = |(nth, host): (usize, &Host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(nth)),
        #[cfg(unix)]
        Host::Unix(folder) => format!("{}:{}", folder.display(), port(nth)),
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{user}{}/{database}", hosts.join(","))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let server: Server = "postgres://me:s3cret@db.example:5433/shop".parse().unwrap();
        assert_eq!(server.place(), "postgres://me@db.example:5433/shop");
        assert!(!format!("{server:?}").contains("s3cret"));
        for url in ["postgres://me:s3cret@db:port/x", "postgres:s3cret", "s3cret", "postgres://"] {
            let error = url.parse::<Server>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{url}");
        }
    }
}
