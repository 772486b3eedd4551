//! How a server and Piton know each other: certificates, names and passwords.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use piton_engine::journal::{Journal, JournalError, NotAServer, Server, Surroundings, Trouble};
use piton_testkit::postgres::{self, Authority, PASSWORD};
use piton_testkit::skipped;

use crate::bench::{at, create, run_id, small, start};

/// The name in the server's certificate. No resolver is asked for it: the address is in the URL.
const NAME: &str = "db.piton.test";

/// A server of its own, and the start of its URLs.
struct World {
    server: postgres::Server,
    database: String,
    home: tempfile::TempDir,
}

impl World {
    fn new() -> Result<World, &'static str> {
        let server = postgres::Server::start()?;
        let url = server.database();
        let database = url.rsplit('/').next().unwrap().to_owned();
        Ok(World { server, database, home: tempfile::tempdir().unwrap() })
    }

    fn url(&self, login: &str, host: &str, settings: &str) -> String {
        let (port, database) = (self.server.port(), &self.database);
        format!("postgres://{login}@{host}:{port}/{database}?hostaddr=127.0.0.1&{settings}")
    }

    /// With variables as `NAME=VALUE`, in a home of its own.
    fn connect(&self, url: &str, variables: &[&str]) -> Result<Journal, Refused> {
        let home = self.home.path().to_str().unwrap();
        let variable = |name: &str| {
            let pairs = variables.iter().filter_map(|pair| pair.split_once('='));
            let mut pairs = pairs.chain([("HOME", home)]);
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let server = Server::read(url, &Surroundings::with_variables(variable)).map_err(Refused::Read)?;
        Journal::connect(&server).map_err(Refused::Connect)
    }

    /// Connect, and say whether the connection is encrypted.
    fn is_encrypted(&self, url: &str, variables: &[&str]) -> bool {
        let journal = self.connect(url, variables).unwrap_or_else(|error| panic!("{url}: {error:?}"));
        assert!(!format!("{journal:?} {}", journal.place()).contains(PASSWORD));
        let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                         WHERE application_name = 'piton'";
        let answer = self.server.sql("postgres", encrypted);
        drop(journal);
        // The next one is to be alone.
        let gone = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'piton'";
        piton_testkit::sandbox::until("its end", || {
            (self.server.sql("postgres", gone) == "0\n").then_some(())
        });
        answer == "t\n"
    }

    /// The words of a refusal. No password is in them.
    fn refusal(&self, url: &str, variables: &[&str]) -> String {
        let refused = self.connect(url, variables).expect_err(url);
        let words = match &refused {
            Refused::Read(error) => error.to_string(),
            Refused::Connect(error) => error.to_string(),
        };
        assert!(!format!("{words} {refused:?}").contains(PASSWORD), "{words}");
        words
    }

    fn write(&self, name: &str, content: &str, mode: u32) {
        let path = self.home.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[derive(Debug)]
enum Refused {
    Read(NotAServer),
    Connect(JournalError),
}

fn setting(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

#[test]
fn a_server_is_trusted_by_its_certificate_and_name_alone() {
    let (world, authority, stranger) = match (World::new(), Authority::new(), Authority::new()) {
        (Ok(world), Ok(authority), Ok(stranger)) => (world, authority, stranger),
        (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => return skipped(why),
    };
    let login = format!("piton:{PASSWORD}");
    let roots = setting("sslrootcert", &authority.certificate());
    let verified = format!("sslmode=verify-full&{roots}");
    let words = world.refusal(&world.url(&login, NAME, &verified), &[]);
    assert!(words.contains("offers no encryption") && words.contains("sslmode=disable"), "{words}");

    world.server.encrypt(&authority, &authority.issue(NAME));
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = world.url(&login, NAME, &format!("sslmode={mode}&{roots}&channel_binding=require"));
        assert!(world.is_encrypted(&url, &[]), "{mode}");
    }
    let by_variables = ["PGSSLMODE=require", &setting("PGSSLROOTCERT", &authority.certificate())];
    assert!(world.is_encrypted(&world.url(&login, NAME, ""), &by_variables));
    assert!(!world.is_encrypted(&world.url(&login, "localhost", ""), &[]), "it stays on this machine");
    assert!(!world.is_encrypted(&world.url(&login, NAME, "sslmode=disable"), &[]));

    let other_roots = setting("sslrootcert", &stranger.certificate());
    let untrusted = [
        world.url(&login, NAME, "sslmode=require"),
        world.url(&login, NAME, &format!("sslmode=require&{other_roots}")),
        world.url(&login, "other.piton.test", &verified),
        world.url(&login, "127.0.0.1", &verified),
    ];
    let expected = [
        "an authority that is not trusted; if that is your own, write sslrootcert=FILE",
        "an authority that is not trusted; if that is your own, write sslrootcert=FILE",
        "does not name other.piton.test",
        "does not name 127.0.0.1",
    ];
    for (url, expected) in untrusted.iter().zip(expected) {
        let refused = world.connect(url, &[]).expect_err(url);
        assert!(
            matches!(&refused, Refused::Connect(error) if matches!(error.trouble, Trouble::NotTrusted { .. })),
            "{refused:?}"
        );
        let words = world.refusal(url, &[]);
        assert!(words.contains(expected), "{words}");
    }

    // The roots of the home count where nothing else is said.
    fs::create_dir(world.home.path().join(".postgresql")).unwrap();
    fs::copy(authority.certificate(), world.home.path().join(".postgresql/root.crt")).unwrap();
    assert!(world.is_encrypted(&world.url(&login, NAME, "sslmode=require"), &[]));
    world.refusal(&world.url(&login, NAME, "sslmode=require&sslrootcert=system"), &[]);

    let mut journal = world.connect(&world.url(&login, NAME, &verified), &[]).unwrap();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    world.server.kill();
    world.server.start_again();
    journal.command(&run_id(), &start("a"), at(1)).unwrap();
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    drop(journal);

    let own = authority.issue("certified");
    let own = format!("{verified}&{}&{}", setting("sslcert", &own.chain), setting("sslkey", &own.key));
    assert!(world.is_encrypted(&world.url("certified", NAME, &own), &[]), "by its own certificate");
    let words = world.refusal(&world.url("certified", NAME, &verified), &[]);
    assert!(words.contains("client certificate"), "{words}");
}

#[test]
fn a_password_comes_from_where_postgresql_looks_for_it() {
    let world = match World::new() {
        Ok(world) => world,
        Err(why) => return skipped(why),
    };
    let (port, database) = (world.server.port(), &world.database);
    let url = format!("postgres://piton@127.0.0.1:{port}/{database}");
    let right = format!("PGPASSWORD={PASSWORD}");

    assert!(world.refusal(&url, &[]).contains("asks for a password"));
    assert!(world.connect(&url, &[&right]).is_ok());
    let words = world.refusal(&url, &["PGPASSWORD=another"]);
    assert!(words.contains("password authentication failed") && !words.contains("another"), "{words}");

    let parts =
        ["PGHOST=127.0.0.1", &format!("PGPORT={port}"), &format!("PGDATABASE={database}"), "PGUSER=piton"];
    assert!(world.connect("postgres://", &[&parts[..], &[&right]].concat()).is_ok());

    let service =
        format!("[shop]\nhost=127.0.0.1\nport={port}\ndbname={database}\nuser=piton\npassword={PASSWORD}\n");
    world.write(".pg_service.conf", &service, 0o644);
    assert!(world.connect("postgres:///?service=shop", &[]).is_ok());
    assert!(
        world.refusal("postgres:///?service=shop", &["PGSERVICEFILE=/dev/null"]).contains("does not have")
    );

    let line = format!("127.0.0.1:{port}:*:piton:{PASSWORD}\n");
    world.write(".pgpass", &format!("127.0.0.1:1:*:*:wrong\n{line}"), 0o640);
    assert!(world.refusal(&url, &[]).contains("chmod 600"));
    world.write(".pgpass", &format!("127.0.0.1:1:*:*:wrong\n{line}"), 0o600);
    assert!(world.connect(&url, &[]).is_ok());
    world.write("other", &format!("*:*:*:*:{PASSWORD}-wrong\n"), 0o600);
    let other = format!("{url}?passfile={}", world.home.path().join("other").display());
    assert!(world.refusal(&other, &[]).contains("password authentication failed"));
    assert!(world.refusal(&url, &["PGPASSFILE=/dev/null"]).contains("asks for a password"));
}
