//! Which server, and whose clock.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use camino::Utf8PathBuf;
use piton_core::time::Timestamp;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::settings::{Settings, percent_decoded};
use super::surroundings::Surroundings;
use super::tls::Tls;
use crate::clock;

/// A server that does not answer for so long is not there.
const CONNECTING: Duration = Duration::from_secs(10);

/// A PostgreSQL database, as a URL names it. The password is never shown.
#[derive(Clone)]
pub struct Server {
    config: Config,
    tls: Tls,
    clock: Clock,
    place: String,
    url: String,
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

/// Why there is no server to connect to. Neither the URL nor a line of a file is repeated: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum NotAServer {
    #[error("not the URL of a PostgreSQL database: it has the form postgres://USER@HOST:PORT/DATABASE")]
    Form,
    #[error("{origin} has a setting that Piton does not know")]
    Unknown { origin: String },
    #[error("{origin} has a value for `{key}` that is not valid")]
    Invalid { key: &'static str, origin: String },
    #[error(
        "sslmode={mode} leaves open whether the connection is encrypted: write sslmode=verify-full or sslmode=disable"
    )]
    SslMode { mode: &'static str },
    #[error("no PostgreSQL server is named: write its host into the URL, or set PGHOST")]
    NoHost,
    #[error(
        "a service is named, but there is no service file: write ~/.pg_service.conf, or set PGSERVICEFILE"
    )]
    NoServiceFile,
    #[error("{file} does not have the service that is named")]
    NoService { file: Utf8PathBuf },
    #[error("sslcert and sslkey belong together: write both into the URL")]
    HalfACertificate,
    #[error("other users may read {file}, which holds a secret: `chmod 600 {file}`")]
    OpenToOthers { file: Utf8PathBuf },
    #[error("{file} has no {what} that can be used")]
    Unusable { file: Utf8PathBuf, what: &'static str },
    #[error("cannot read {file}: {error}")]
    File { file: Utf8PathBuf, error: io::Error },
}

impl Server {
    /// The server that a URL names. What the URL leaves out comes from a service file, variables and a password file, as
    /// with PostgreSQL's own programs.
    pub fn read(url: &str, surroundings: &Surroundings<'_>) -> Result<Server, NotAServer> {
        let settings = Settings::gather(url, surroundings)?;
        let mut config = settings.config()?;
        let tls = settings.trust(&config)?.map_or_else(|| Ok(Tls::default()), |trust| Tls::new(&trust))?;
        config.ssl_mode(if tls.is_on() { SslMode::Require } else { SslMode::Disable });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTING);
        }
        if config.get_application_name().is_none() {
            config.application_name("piton");
        }
        let place = place(&config);
        Ok(Server { config, tls, clock: Clock::Server, place, url: without_password(url) })
    }

    /// The same server, with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Server {
        Server { clock, ..self }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Take note of the time there. Returns it if decisions are taken at it.
    pub(super) fn clock_says(&self, time: Timestamp) -> Option<Timestamp> {
        let is_followed = self.clock == Clock::Server;
        is_followed.then(|| {
            clock::follow(time);
            time
        })
    }

    /// The database, in words.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The URL, without its password.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The URL and the files that it names: what else is on the machine does not count.
impl FromStr for Server {
    type Err = NotAServer;

    fn from_str(url: &str) -> Result<Server, NotAServer> {
        Server::read(url, &Surroundings::with_variables(|_| None))
    }
}

/// A URL as it may be kept and shown.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    let is_password = |pair: &str| {
        let key = percent_decoded(pair.split('=').next().unwrap_or_default());
        key.is_none_or(|key| key == "password")
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_password(pair)).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{}", kept.join("&"))
}

/// The port of a host.
pub(super) fn port(config: &Config, nth: usize) -> u16 {
    config.get_ports().get(nth).or(config.get_ports().first()).copied().unwrap_or(5432)
}

fn place(config: &Config) -> String {
    let host = |(nth, host): (usize, &Host)| match host {
        Host::Tcp(name) => format!("{name}:{}", port(config, nth)),
        #[cfg(unix)]
        Host::Unix(folder) => format!("{}:{}", folder.display(), port(config, nth)),
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
        // Some have a character in the password that had to be encoded.
        let urls = [
            "postgres://me:s3cret@db:port/x",
            "postgres:s3cret",
            "s3cret",
            "postgres://",
            "postgres://me:1@s3cret@db/shop",
            "postgres://me:1/s3cret@db/shop",
            "postgres://me:1?s3cret@db/shop",
            "postgres://me:1?s3cret=1@db/shop",
            "postgres://me:1?host=s3cret@db/shop",
            "postgres://me:%zzs3cret@db/shop",
            "postgres://me:s3cret%0a@db/shop",
            "postgres://me:s3cret@db/shop?sslmode=prefer",
            "postgres://me:s3cret@db/shop?sslmode=s3cret",
            "postgres://me@db/shop?s3cret=1",
        ];
        for url in urls {
            let error = url.parse::<Server>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{url}");
        }
    }
}
