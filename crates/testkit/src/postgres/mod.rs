//! A real PostgreSQL server: Debian's package `postgresql`, started for tests on a free port of this machine.

mod certificates;
mod proxy;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::{Pid, Signal, geteuid, kill_process};

pub use certificates::{Authority, Certificate};
pub use proxy::{Moment, Proxy};

use crate::sandbox::until;

/// The role that owns the databases has no rights beyond them.
const ROLE: &str = "piton";
/// Long enough to be searched for in whatever must not show it.
pub const PASSWORD: &str = "pass-of-the-tests-7431";

/// Ends the server and removes its folder when the test process has ended, however it ended: its standard input is a pipe
/// from there. A line on it says that the server alone has to end.
const GUARD_SCRIPT: &str = r#"folder=$1; shift; "$@" & server=$!; read -r stay
kill -QUIT $server 2>/dev/null; wait $server; [ "$stay" = stay ] || rm -rf "$folder""#;

/// A server with a folder of its own.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    guard: Mutex<Guard>,
}

static NAMES: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// One that all tests of this process share.
    pub fn shared() -> Result<&'static Server, &'static str> {
        static SHARED: OnceLock<Result<Server, &'static str>> = OnceLock::new();
        SHARED.get_or_init(Server::start).as_ref().map_err(|why| *why)
    }

    /// An error, with the reason, if this machine has no PostgreSQL.
    pub fn start() -> Result<Server, &'static str> {
        let programs = programs().ok_or("postgresql is not installed")?;
        let owner = owner().ok_or("PostgreSQL does not run as root, and there is no user postgres")?;
        let template = template(&programs, owner);
        let folder = tempfile::Builder::new().prefix("piton-postgres-").tempdir().expect("a folder").keep();
        give(&folder, owner);
        let copied = Command::new("cp").arg("-a").arg(&template).arg(folder.join("data")).status();
        assert!(copied.expect("cp is installed").success(), "the template cannot be copied");
        let port = free_port();
        let guard = Mutex::new(Guard::launch(&programs, &folder, port));
        let server = Server { programs, folder, port, guard };
        server.until_ready();
        server.sql("postgres", &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'"));
        Ok(server)
    }

    /// A new database, as a URL.
    pub fn database(&self) -> String {
        let name = format!("test_{}", NAMES.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER {ROLE}"));
        self.url(self.port, &name)
    }

    /// The same database by another port, such as that of a [`Proxy`].
    pub fn by_port(&self, url: &str, port: u16) -> String {
        self.url(port, name_of(url))
    }

    fn url(&self, port: u16, name: &str) -> String {
        format!("postgres://{ROLE}:{PASSWORD}@127.0.0.1:{port}/{name}")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on it offers encryption. A role of the name `certified` has to show a certificate of the authority, and
    /// needs no password.
    pub fn encrypt(&self, authority: &Authority, certificate: &Certificate) {
        let data = self.folder.join("data");
        let files = [
            (authority.certificate(), "authority.crt"),
            (certificate.chain.clone(), "server.crt"),
            (certificate.key.clone(), "server.key"),
        ];
        for (from, name) in files {
            let to = data.join(name);
            fs::copy(from, &to).expect("a copy");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("a file of ours");
            give(&to, owner().expect("it was there before"));
        }
        let rules = data.join("pg_hba.conf");
        let usual = fs::read_to_string(&rules).expect("the rules of initdb");
        fs::write(&rules, format!("hostssl all certified 127.0.0.1/32 cert\n{usual}"))
            .expect("a file of ours");
        self.sql("postgres", "CREATE ROLE certified LOGIN");
        self.sql("postgres", &format!("GRANT {ROLE} TO certified"));
        self.sql("postgres", "ALTER SYSTEM SET ssl_ca_file = 'authority.crt'");
        self.sql("postgres", "ALTER SYSTEM SET ssl = on");
        self.sql("postgres", "SELECT pg_reload_conf()");
        until("encryption", || (self.sql("postgres", "SHOW ssl") == "on\n").then_some(()));
    }

    /// What the server answers to a superuser: a line for each row, with `|` between the columns.
    #[track_caller]
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.ask(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn ask(&self, database: &str, sql: &str) -> Result<String, String> {
        let asked = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-d", name_of(database), "-c", sql])
            .output()
            .expect("psql is installed");
        match asked.status.success() {
            true => Ok(String::from_utf8_lossy(&asked.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&asked.stderr).into_owned()),
        }
    }

    /// Every row of every table of a journal.
    pub fn content(&self, database: &str) -> String {
        let tables = self.sql(
            database,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'piton' AND table_name <> 'commits'
             ORDER BY 1",
        );
        let table = |name: &str| {
            format!("{name}\n{}", self.sql(database, &format!("SELECT * FROM piton.{name} ORDER BY 1, 2")))
        };
        tables
            .lines()
            .map(|name| if name == "format" { self.sql(database, "TABLE piton.format") } else { table(name) })
            .collect()
    }

    /// All its processes die at once, as if the machine had crashed; what was not synced by then is the kernel's.
    pub fn kill(&self) {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("it runs");
        let first: i32 = file.lines().next().and_then(|line| line.parse().ok()).expect("a process id");
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
        let all = [first].into_iter().chain(children.split(' ').filter_map(|child| child.parse().ok()));
        let all: Vec<i32> = all.collect();
        for process in all.iter().filter_map(|process| Pid::from_raw(*process)) {
            let _ = kill_process(process, Signal::KILL);
        }
        until("the end of the server", || all.iter().all(|process| !is_alive(*process)).then_some(()));
    }

    /// Start it again in the same folder.
    pub fn start_again(&self) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        guard.end("stay\n");
        *guard = Guard::launch(&self.programs, &self.folder, self.port);
        self.until_ready();
    }

    fn until_ready(&self) {
        until("PostgreSQL", || self.ask("postgres", "SELECT 1").ok());
    }

    /// A copy that follows this one, as a standby for reading. It has the same names and passwords.
    pub fn standby(&self) -> Server {
        let folder = tempfile::Builder::new().prefix("piton-postgres-").tempdir().expect("a folder").keep();
        let owner = owner().expect("it was there for the first server");
        give(&folder, owner);
        let copied = as_owner(&mut Command::new(self.programs.join("pg_basebackup")), owner)
            .args(["-R", "-c", "fast", "-U", "postgres", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-D"])
            .arg(folder.join("data"))
            .output()
            .expect("pg_basebackup is installed");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let port = free_port();
        let guard = Mutex::new(Guard::launch(&self.programs, &folder, port));
        let standby = Server { programs: self.programs.clone(), folder, port, guard };
        standby.until_ready();
        standby
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).end("");
    }
}

/// The shell that the server is a child of.
#[derive(Debug)]
struct Guard(Child);

impl Guard {
    fn launch(programs: &Path, folder: &Path, port: u16) -> Guard {
        let log = fs::File::options().append(true).create(true).open(folder.join("log")).expect("a log");
        let mut command = Command::new("sh");
        command.args(["-c", GUARD_SCRIPT, "sh"]).arg(folder).arg(programs.join("postgres"));
        command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-p", &port.to_string()]);
        for setting in ["listen_addresses=127.0.0.1", "shared_buffers=16MB", "fsync=on"] {
            command.args(["-c", setting]);
        }
        let guard = as_owner(&mut command, owner().expect("it was there before"))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Guard(guard.expect("a shell"))
    }

    fn end(&mut self, word: &str) {
        if let Some(mut input) = self.0.stdin.take() {
            let _ = input.write_all(word.as_bytes());
        }
        let _ = self.0.wait();
    }
}

/// Of a URL or a plain name.
fn name_of(database: &str) -> &str {
    database.rsplit('/').next().unwrap_or(database)
}

fn is_alive(process: i32) -> bool {
    let facts = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    facts.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port()
}

/// The newest one that is installed.
fn programs() -> Option<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let number = |path: &PathBuf| path.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let folders =
        installed.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").is_file());
    folders.filter(|bin| number(bin).is_some_and(|version| version >= 15)).max_by_key(number)
}

/// The user and group that the server runs as, where it cannot run as this process does.
#[derive(Clone, Copy)]
enum Owner {
    Myself,
    Other(u32, u32),
}

fn owner() -> Option<Owner> {
    if !geteuid().is_root() {
        return Some(Owner::Myself);
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().find(|line| line.starts_with("postgres:"))?.split(':').skip(2);
    Some(Owner::Other(fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn as_owner(command: &mut Command, owner: Owner) -> &mut Command {
    match owner {
        Owner::Myself => command,
        Owner::Other(user, group) => command.uid(user).gid(group),
    }
}

fn give(folder: &Path, owner: Owner) {
    if let Owner::Other(user, group) = owner {
        chown(folder, Some(user), Some(group)).expect("a folder may be given away");
    }
}

/// A folder of data as `initdb` makes it, which takes longer than everything else: made once on this machine, and copied.
/// Texts are ordered as people do it, which a journal must not depend on.
fn template(programs: &Path, owner: Owner) -> PathBuf {
    let version =
        programs.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let user = geteuid().as_raw();
    let template = std::env::temp_dir().join(format!("piton-postgres-template-{version}-{user}"));
    if template.is_dir() {
        return template;
    }
    let made = tempfile::tempdir().expect("a folder");
    give(made.path(), owner);
    let data = made.path().join("data");
    let mut initdb = Command::new(programs.join("initdb"));
    let output = as_owner(&mut initdb, owner)
        .args(["--no-sync", "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256"])
        .args(["--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "-D"])
        .arg(&data)
        .current_dir(made.path())
        .output()
        .expect("initdb is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Another process may have been faster.
    let _ = fs::rename(&data, &template);
    template
}
