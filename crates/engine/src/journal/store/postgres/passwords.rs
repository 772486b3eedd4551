//! A password file: lines `HOST:PORT:DATABASE:USER:PASSWORD`, of which the first that fits counts.

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::server::port;

/// Where servers have their sockets. A password file calls such a folder `localhost`.
const SOCKETS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// The password for one of the hosts. All of them are sent the same one.
pub(super) fn find(file: &str, config: &Config) -> Option<String> {
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    config.get_hosts().iter().enumerate().find_map(|(nth, host)| {
        let port = port(config, nth).to_string();
        let hosts = match host {
            Host::Tcp(name) => vec![name.as_str()],
            #[cfg(unix)]
            Host::Unix(folder) => {
                let folder = folder.to_str()?;
                let usual = SOCKETS.contains(&folder).then_some("localhost");
                [folder].into_iter().chain(usual).collect()
            }
        };
        let fits = |line: &Line| {
            hosts.iter().any(|host| line.fits([host, &port, database, user])).then(|| line.password.clone())
        };
        file.lines().filter_map(Line::parse).find_map(|line| fits(&line))
    })
}

struct Line {
    /// `None` fits everything.
    keys: [Option<String>; 4],
    password: String,
}

impl Line {
    fn parse(line: &str) -> Option<Line> {
        if line.starts_with('#') {
            return None;
        }
        let mut rest = line;
        let mut key = || {
            let is_star = rest.starts_with("*:");
            let (field, after) = field(rest);
            rest = after?;
            Some((!is_star).then_some(field))
        };
        let keys = [key()?, key()?, key()?, key()?];
        let password = field(rest).0;
        (!password.is_empty()).then_some(Line { keys, password })
    }

    fn fits(&self, found: [&str; 4]) -> bool {
        self.keys.iter().zip(found).all(|(key, found)| key.as_ref().is_none_or(|key| key == found))
    }
}

/// The text up to the next colon, and what follows it. A backslash stands before a colon or a backslash that belongs to
/// the text.
fn field(line: &str) -> (String, Option<&str>) {
    let mut text = String::new();
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ':' => return (text, line.get(at + 1..)),
            '\\' => text.push(letters.next().map_or('\\', |(_, escaped)| escaped)),
            letter => text.push(letter),
        }
    }
    (text, None)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn found(file: &str, url: &str) -> Option<String> {
        find(file, &url.parse().unwrap())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# db:5432:shop:me:comment\n\nnonsense\ndb:5433:*:me:other port\ndb:*:shop:me:first\n*:*:*:*:last\n";
        let cases = [
            ("postgres://me@db/shop", "first"),
            ("postgres://me@db:5433/shop", "other port"),
            ("postgres://me@db:5433/else", "other port"),
            ("postgres://you@db/shop", "last"),
            ("postgres://me@db2/shop", "last"),
        ];
        for (url, expected) in cases {
            assert_eq!(found(file, url).as_deref(), Some(expected), "{url}");
        }
        assert_eq!(found("db:5432:shop:me:x\n", "postgres://me@db/other"), None);
        assert_eq!(
            found("db:5432:me:me:x\n", "postgres://me@db").as_deref(),
            Some("x"),
            "named like its user"
        );
        assert_eq!(
            found("b:2:*:*:x\n", "postgres://me@a:1,b:2/shop").as_deref(),
            Some("x"),
            "any of the hosts"
        );
        assert_eq!(found("b:1:*:*:x\n", "postgres://me@a:1,b:2/shop"), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(found("::1:5432:a:b:c\n", "postgres://b@[::1]/a"), None);
        let cases = [
            (r"\:\:1:5432:a:b:c\:d\\e:f", r"c:d\e"),
            (r"*:5432:a:b:\pä", "pä"),
            (r"*:*:*:*:x\", r"x\"),
            (r"*:*:*:*: x ", " x "),
        ];
        for (line, password) in cases {
            assert_eq!(found(line, "postgres://b@[::1]/a").as_deref(), Some(password), "{line}");
        }
        assert_eq!(found(r"\*:*:*:*:x", "postgres://b@[::1]/a"), None, "an escaped star is a name");
        assert_eq!(found("*:*:*:*:", "postgres://b@[::1]/a"), None);
    }

    #[test]
    fn a_usual_socket_is_local() {
        let url = "postgres://me@%2Fvar%2Frun%2Fpostgresql/shop";
        assert_eq!(found("localhost:*:*:*:x", url).as_deref(), Some("x"));
        assert_eq!(found("/var/run/postgresql:*:*:*:x", url).as_deref(), Some("x"));
        assert_eq!(found("localhost:*:*:*:x", "postgres://me@%2Fhome%2Fyou/shop"), None);
    }
}
