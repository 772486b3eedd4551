//! What a URL, a service file and the environment say about a server, in this order. It is decided on values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;

use camino::Utf8PathBuf;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::passwords;
use super::server::NotAServer;
use super::surroundings::{Content, Surroundings, text};

/// What the client library knows by the same names.
const PASSED_ON: [&str; 17] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// What it does not know, or knows otherwise.
const OWN: [&str; 6] = ["passfile", "service", "sslcert", "sslkey", "sslmode", "sslrootcert"];

/// Variables, and what they say. The name of the user on this machine comes last.
const VARIABLES: [(&str, &str); 13] = [
    ("PGHOST", "host"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("USER", "user"),
    ("LOGNAME", "user"),
];

/// Settings by their names. They have no `Debug`, since a password is among them.
pub(super) struct Settings<'s> {
    values: BTreeMap<&'static str, Setting>,
    surroundings: &'s Surroundings<'s>,
}

struct Setting {
    value: String,
    /// Where it was read, for errors.
    origin: String,
}

/// Which certificates count, if the connection is encrypted.
pub(super) struct Trust {
    /// The authorities that are trusted; the public ones if no file names others.
    pub roots: Option<(Utf8PathBuf, Content)>,
    /// The certificate that Piton shows, and its key.
    pub own: Option<[(Utf8PathBuf, Content); 2]>,
}

impl<'s> Settings<'s> {
    /// What all of them say. What comes first counts.
    pub(super) fn gather(url: &str, surroundings: &'s Surroundings<'s>) -> Result<Settings<'s>, NotAServer> {
        let mut settings = Settings { values: BTreeMap::new(), surroundings };
        settings.read_url(url)?;
        settings.read_service()?;
        for (variable, key) in VARIABLES {
            if let Some(value) = surroundings.variable(variable) {
                settings.fill(key, value, variable)?;
            }
        }
        Ok(settings)
    }

    fn read_url(&mut self, url: &str) -> Result<(), NotAServer> {
        let schemes = ["postgres://", "postgresql://"];
        let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme)).ok_or(NotAServer::Form)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
        // One too many is part of a password, whose rest must not be taken for a name that may be shown.
        if address.matches('@').count() > 1 || database.contains('@') {
            return Err(NotAServer::Form);
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        for pair in pairs {
            let (key, value) = pair.split_once('=').ok_or(NotAServer::Form)?;
            // The last one counts, before what stands in front of it.
            let (key, value) = (known(&decoded(key)?, "the URL")?, decoded(value)?);
            self.values.remove(key);
            self.fill(key, value, "the URL")?;
        }
        let (login, hosts) = address.split_once('@').unwrap_or(("", address));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let hosts: Vec<(&str, &str)> =
            hosts.split(',').map(host_and_port).collect::<Option<_>>().ok_or(NotAServer::Form)?;
        let names: Vec<&str> = hosts.iter().map(|(name, _)| *name).collect();
        let ports: Vec<&str> = hosts.iter().map(|(_, port)| *port).collect();
        let ports = if ports.iter().all(|port| port.is_empty()) { String::new() } else { ports.join(",") };
        let parts = [
            ("user", user),
            ("password", password),
            ("host", &names.join(",")),
            ("port", &ports),
            ("dbname", database),
        ];
        parts.into_iter().try_for_each(|(key, value)| self.fill(key, decoded(value)?, "the URL"))
    }

    /// A service is a section of an INI file.
    fn read_service(&mut self) -> Result<(), NotAServer> {
        let service = self.value("service").map(str::to_owned);
        let Some(service) = service.or_else(|| self.surroundings.variable("PGSERVICE")) else {
            return Ok(());
        };
        let named = self.surroundings.variable("PGSERVICEFILE");
        let found = self.surroundings.named_or_usual(named.as_deref(), ".pg_service.conf")?;
        let Some(found) = found else { return Err(NotAServer::NoServiceFile) };
        let mut is_in = false;
        let mut is_there = false;
        for (nth, line) in text(&found)?.lines().enumerate() {
            let (line, origin) = (line.trim(), format!("line {} of {}", nth + 1, found.0));
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                is_in = name == service;
                is_there |= is_in;
            } else if is_in && !line.is_empty() && !line.starts_with('#') {
                let (key, value) = line.split_once('=').unwrap_or((line, ""));
                let key = known(key.trim(), &origin)?;
                self.fill(key, value.trim().to_owned(), &origin)?;
            }
        }
        if is_there { Ok(()) } else { Err(NotAServer::NoService { file: found.0 }) }
    }

    /// Keep a value, unless there is one already.
    fn fill(&mut self, key: &'static str, value: String, origin: &str) -> Result<(), NotAServer> {
        let Entry::Vacant(place) = self.values.entry(key) else { return Ok(()) };
        // A newline at the end of a password is one of the file that it comes from.
        if value.contains(char::is_control) {
            return Err(NotAServer::Invalid { key, origin: origin.to_owned() });
        }
        if !value.is_empty() {
            place.insert(Setting { value, origin: origin.to_owned() });
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|setting| setting.value.as_str())
    }

    fn invalid(&self, key: &'static str) -> NotAServer {
        let origin = self.values.get(key).map(|setting| setting.origin.clone()).unwrap_or_default();
        NotAServer::Invalid { key, origin }
    }

    /// All that the client library has to know, with the password.
    pub(super) fn config(&self) -> Result<Config, NotAServer> {
        let mut all = String::new();
        for (key, setting) in self.values.iter().filter(|(key, _)| !OWN.contains(key)) {
            let pair = format!("{key}='{}' ", setting.value.replace('\\', r"\\").replace('\'', r"\'"));
            pair.parse::<Config>().map_err(|_| self.invalid(key))?;
            all += &pair;
        }
        let mut config: Config = all.parse().map_err(|_| NotAServer::Form)?;
        let is_bad =
            |host: &Host| matches!(host, Host::Tcp(name) if name.is_empty() || name.contains(['@', ' ']));
        let hosts = config.get_hosts();
        if hosts.is_empty() {
            return Err(NotAServer::NoHost);
        }
        if hosts.iter().any(is_bad) {
            return Err(self.invalid("host"));
        }
        if ![0, 1, hosts.len()].contains(&config.get_ports().len()) {
            return Err(self.invalid("port"));
        }
        if ![0, hosts.len()].contains(&config.get_hostaddrs().len()) {
            return Err(self.invalid("hostaddr"));
        }
        if config.get_password().is_none() {
            let named = self.value("passfile");
            if let Some(file) = self.surroundings.named_or_usual(named, ".pgpass")?
                && let Some(password) = passwords::find(text(private(&file)?)?, &config)
            {
                config.password(password);
            }
        }
        Ok(config)
    }

    /// Whom to trust, if the connection is to be encrypted. Encryption without a verified certificate does not protect from
    /// somebody who can change what is sent.
    pub(super) fn trust(&self, config: &Config) -> Result<Option<Trust>, NotAServer> {
        let is_encrypted = match self.value("sslmode") {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => !has_only_sockets(config),
            Some("allow") => return Err(NotAServer::SslMode { mode: "allow" }),
            Some("prefer") => return Err(NotAServer::SslMode { mode: "prefer" }),
            Some(_) => return Err(self.invalid("sslmode")),
            None => !stays_on_this_machine(config),
        };
        if !is_encrypted {
            return Ok(None);
        }
        let roots = match self.value("sslrootcert") {
            Some("system") => None,
            named => self.surroundings.named_or_usual(named, ".postgresql/root.crt")?,
        };
        let own = match (self.value("sslcert"), self.value("sslkey")) {
            (Some(certificate), Some(key)) => {
                let key = self.surroundings.file(key.into())?;
                private(&key)?;
                Some([self.surroundings.file(certificate.into())?, key])
            }
            (None, None) => None,
            _ => return Err(NotAServer::HalfACertificate),
        };
        Ok(Some(Trust { roots, own }))
    }
}

/// A secret that others can read is none.
fn private(found: &(Utf8PathBuf, Content)) -> Result<&(Utf8PathBuf, Content), NotAServer> {
    if found.1.private { Ok(found) } else { Err(NotAServer::OpenToOthers { file: found.0.clone() }) }
}

/// The name is not repeated if it is unknown: it may be part of a password.
fn known(key: &str, origin: &str) -> Result<&'static str, NotAServer> {
    let found = PASSED_ON.iter().chain(&OWN).find(|known| **known == key);
    found.copied().ok_or_else(|| NotAServer::Unknown { origin: origin.to_owned() })
}

/// `HOST`, `HOST:PORT`, or an address of IPv6 in brackets.
fn host_and_port(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        None => Some(text.split_once(':').unwrap_or((text, ""))),
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            Some((host, if rest.is_empty() { "" } else { rest.strip_prefix(':')? }))
        }
    }
}

fn decoded(text: &str) -> Result<String, NotAServer> {
    percent_decoded(text).ok_or(NotAServer::Form)
}

pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { digit(rest.next())? * 16 + digit(rest.next())? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

/// PostgreSQL does not encrypt on sockets. An address is used in place of one.
fn has_only_sockets(config: &Config) -> bool {
    config.get_hostaddrs().is_empty() && !config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
}

/// Whether nobody else is on the line. A connection goes to the addresses, if there are any, whatever the names.
fn stays_on_this_machine(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_local),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::io;

    use camino::Utf8Path;

    use super::*;

    const SERVICES: &str = "# ours\n[other]\nhost=o\n\n[shop]\nhost = s1,s2\nport=1\ndbname=goods\nuser=clerk\n\
                            password=of service\n sslmode=disable\n[broken]\nhost\n[strange]\nfoo=s3cret\n";
    const PASSWORDS: &str = "db:*:*:*:of file\n";

    /// Variables as `NAME=VALUE`, and the files above in a home. All but the password file can be read by others.
    fn around<'t>(variables: &'t [&'t str]) -> Surroundings<'t> {
        let variable = |name: &str| {
            let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let file = |path: &Utf8Path| {
            let content = |text: &str, private| Ok(Content { bytes: text.into(), private });
            match path.as_str() {
                "/home/.pg_service.conf" | "/etc/services" => content(SERVICES, false),
                "/home/.pgpass" => content(PASSWORDS, true),
                "/open" => content(PASSWORDS, false),
                "/root.crt" => content("roots", false),
                "/own.crt" | "/own.key" => content("own", true),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        };
        Surroundings::new(variable, file)
    }

    fn config(url: &str, variables: &[&str]) -> Result<Config, NotAServer> {
        Settings::gather(url, &around(variables))?.config()
    }

    /// `USER:PASSWORD@HOSTS/DATABASE` of what came out.
    fn shown(url: &str, variables: &[&str]) -> String {
        let config = config(url, variables).unwrap_or_else(|error| panic!("{url} {variables:?}: {error}"));
        let hosts = config.get_hosts().iter().enumerate().map(|(nth, host)| match host {
            Host::Tcp(name) => {
                format!("{name}:{}", crate::journal::store::postgres::server::port(&config, nth))
            }
            #[cfg(unix)]
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let password = String::from_utf8(config.get_password().unwrap_or_default().to_vec()).unwrap();
        let of = |text: Option<&str>| text.unwrap_or("-").to_owned();
        format!("{}:{password}@{hosts}/{}", of(config.get_user()), of(config.get_dbname()))
    }

    #[test]
    fn a_url_is_read_as_postgresql_reads_it() {
        let cases = [
            ("postgres://me:pw@db:5433/shop", "me:pw@db:5433/shop"),
            ("postgresql://db", "-:@db:5432/-"),
            ("postgres://m%40e:p%3A%2F%3f@db/a%20b", "m@e:p:/?@db:5432/a b"),
            ("postgres://me:a:b'\\c@db/shop", "me:a:b'\\c@db:5432/shop"),
            ("postgres://me@[::1]:5433,b,c:7/shop", "me:@::1:5433,b:5432,c:7/shop"),
            ("postgres://me@%2Frun%2Fpg/shop", "me:@/run/pg/shop"),
            ("postgres:///shop?host=/run/pg&user=me", "me:@/run/pg/shop"),
            ("postgres://me@db/shop?password=a%26b&port=7&dbname=", "me:a&b@db:7/shop"),
            ("postgres://me@db/shop?user=a&user=b", "b:@db:5432/shop"),
        ];
        for (url, expected) in cases {
            assert_eq!(shown(url, &[]), expected, "{url}");
        }
        let config =
            config("postgres://db/shop?connect_timeout=7&options=-c%20a%3Db&keepalives=0", &[]).unwrap();
        assert_eq!((config.get_options(), config.get_keepalives()), (Some("-c a=b"), false));
        assert_eq!(config.get_connect_timeout().unwrap().as_secs(), 7);
    }

    #[test]
    fn what_comes_first_counts() {
        let all =
            ["HOME=/home", "PGHOST=e", "PGPORT=9", "PGDATABASE=x", "PGUSER=u", "PGPASSWORD=of variable"];
        let cases: [(&str, &[&str], &str); 12] = [
            ("postgres://me:pw@db:1/shop", &all, "me:pw@db:1/shop"),
            ("postgres://db/shop", &all, "u:of variable@db:9/shop"),
            ("postgres://", &all, "u:of variable@e:9/x"),
            ("postgres:///?service=shop", &all, "clerk:of service@s1:1,s2:1/goods"),
            ("postgres://me@db/?service=shop", &all, "me:of service@db:1/goods"),
            (
                "postgres://",
                &["HOME=/home", "PGSERVICE=shop", "PGUSER=u"],
                "clerk:of service@s1:1,s2:1/goods",
            ),
            (
                "postgres://",
                &["PGSERVICE=shop", "PGSERVICEFILE=/etc/services"],
                "clerk:of service@s1:1,s2:1/goods",
            ),
            ("postgres://me@db/shop", &["HOME=/home"], "me:of file@db:5432/shop"),
            ("postgres://me@db/shop", &["HOME=/home", "PGPASSWORD="], "me:of file@db:5432/shop"),
            ("postgres://me@other/shop", &["HOME=/home"], "me:@other:5432/shop"),
            ("postgres://db/shop", &["USER=me", "LOGNAME=you"], "me:@db:5432/shop"),
            ("postgres://db/shop?passfile=/home/.pgpass", &["PGPASSFILE=/missing"], "-:of file@db:5432/shop"),
        ];
        for (url, variables, expected) in cases {
            assert_eq!(shown(url, variables), expected, "{url} {variables:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let cases: [(&str, &[&str], &str); 24] = [
            ("mysql://db", &[], "not the URL"),
            ("host=db", &[], "not the URL"),
            ("postgres://me@db/a%2", &[], "not the URL"),
            ("postgres://me@db/%ff", &[], "not the URL"),
            ("postgres://me@[::1/a", &[], "not the URL"),
            ("postgres://me@[::1]5432/a", &[], "not the URL"),
            ("postgres://me:p@ss@db/a", &[], "not the URL"),
            ("postgres://me@db/a?user", &[], "not the URL"),
            ("postgres://", &[], "no PostgreSQL server is named"),
            ("postgres:///shop", &["PGUSER=me"], "no PostgreSQL server is named"),
            ("postgres://db/a?gssencmode=disable", &[], "the URL has a setting that Piton does not know"),
            ("postgres://db:0x1/a", &[], "the URL has a value for `port`"),
            ("postgres://db:99999/a", &[], "the URL has a value for `port`"),
            ("postgres://a:1,b:2,c:3/a?host=a,b", &[], "the URL has a value for `port`"),
            ("postgres://db/a", &["PGPORT=x"], "PGPORT has a value for `port`"),
            ("postgres://db,/a", &[], "the URL has a value for `host`"),
            ("postgres://db/a?hostaddr=1.2.3.4,::1", &[], "the URL has a value for `hostaddr`"),
            ("postgres://db/a%0a", &[], "the URL has a value for `dbname`"),
            ("postgres://db/a", &["PGPASSWORD=s3cret\n"], "PGPASSWORD has a value for `password`"),
            ("postgres://?service=shop", &[], "there is no service file"),
            ("postgres://?service=gone", &["HOME=/home"], "/home/.pg_service.conf does not have the service"),
            (
                "postgres://?service=strange",
                &["HOME=/home"],
                "line 15 of /home/.pg_service.conf has a setting",
            ),
            ("postgres://db/a", &["PGPASSFILE=/missing"], "cannot read /missing: "),
            ("postgres://db/a", &["PGPASSFILE=/open"], "chmod 600 /open"),
        ];
        for (url, variables, expected) in cases {
            let error = config(url, variables).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("s3cret"), "{url} {variables:?}: {error}");
        }
        let unused = ["PGPASSFILE=/open", "PGPASSWORD=of a file\n"];
        assert!(config("postgres://me:pw@db/a", &unused).is_ok(), "nobody looks for a password");
    }

    /// Which roots a connection trusts, or that it is not encrypted.
    fn trust(url: &str, variables: &[&str]) -> Result<String, NotAServer> {
        let around = around(variables);
        let settings = Settings::gather(url, &around)?;
        let Some(trust) = settings.trust(&settings.config()?)? else { return Ok("nobody".to_owned()) };
        let own = if trust.own.is_some() { " with its own" } else { "" };
        Ok(trust.roots.map_or("public".to_owned(), |(path, _)| path.to_string()) + own)
    }

    #[test]
    fn a_connection_that_leaves_the_machine_is_encrypted() {
        let cases: [(&str, &[&str], &str); 26] = [
            ("postgres://db.example/a", &[], "public"),
            ("postgres://10.0.0.1/a", &[], "public"),
            ("postgres://[fe80::1]/a", &[], "public"),
            ("postgres://127.0.0.1.example/a", &[], "public"),
            ("postgres://localhost.example/a", &[], "public"),
            ("postgres://0.0.0.0/a", &[], "public"),
            ("postgres://localhost/a", &[], "nobody"),
            ("postgres://LOCALHOST/a", &[], "nobody"),
            ("postgres://127.1.2.3/a", &[], "nobody"),
            ("postgres://[::1]/a", &[], "nobody"),
            ("postgres://%2Frun%2Fpg/a", &[], "nobody"),
            ("postgres://localhost,db.example/a", &[], "public"),
            ("postgres://localhost/a?hostaddr=10.0.0.1", &[], "public"),
            ("postgres://db.example/a?hostaddr=127.0.0.1", &[], "nobody"),
            ("postgres://db.example/a?sslmode=disable", &[], "nobody"),
            ("postgres://db.example/a", &["PGSSLMODE=disable"], "nobody"),
            ("postgres://db.example/a?sslmode=require", &["PGSSLMODE=disable"], "public"),
            ("postgres://localhost/a?sslmode=verify-ca", &[], "public"),
            ("postgres://localhost/a", &["PGSSLMODE=verify-full"], "public"),
            ("postgres://%2Frun%2Fpg/a", &["PGSSLMODE=verify-full"], "nobody"),
            ("postgres://%2Frun%2Fpg/a?hostaddr=10.0.0.1&sslmode=require", &[], "public"),
            ("postgres://db.example/a?sslrootcert=%2Froot.crt", &[], "/root.crt"),
            ("postgres://db.example/a", &["PGSSLROOTCERT=/root.crt"], "/root.crt"),
            ("postgres://db.example/a?sslrootcert=system", &["PGSSLROOTCERT=/root.crt"], "public"),
            ("postgres://db.example/a?sslcert=/own.crt&sslkey=/own.key", &[], "public with its own"),
            ("postgres://db.example/a?service=shop", &["HOME=/home"], "nobody"),
        ];
        for (url, variables, expected) in cases {
            assert_eq!(trust(url, variables).unwrap(), expected, "{url} {variables:?}");
        }
        let refused: [(&str, &[&str], &str); 7] = [
            ("postgres://localhost/a?sslmode=prefer", &[], "sslmode=prefer leaves open"),
            ("postgres://db/a", &["PGSSLMODE=allow"], "sslmode=allow leaves open"),
            ("postgres://db/a?sslmode=on", &[], "the URL has a value for `sslmode`"),
            ("postgres://db/a?sslrootcert=/gone", &[], "cannot read /gone: "),
            ("postgres://db/a?sslcert=/own.crt", &[], "sslcert and sslkey belong together"),
            ("postgres://db/a?sslcert=/own.crt&sslkey=/open", &[], "chmod 600 /open"),
            ("postgres://db/a?sslcert=/gone&sslkey=/own.key", &[], "cannot read /gone: "),
        ];
        for (url, variables, expected) in refused {
            let error = trust(url, variables).unwrap_err().to_string();
            assert!(error.contains(expected), "{url} {variables:?}: {error}");
        }
    }
}
