//! Stands between a client and its server, counts the statements, and cuts the line at one of them.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// On which side of a statement the line is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The server never sees it.
    Before,
    /// The server has answered, and the client never hears of it.
    Answered,
}

type Act = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Shared {
    statements: usize,
    cut: Option<(usize, Moment, Act)>,
}

/// Everything that connects to its port reaches the server, until a test asks it to cut the line.
pub struct Proxy {
    port: u16,
    shared: Arc<Mutex<Shared>>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a proxy on port {}", self.port)
    }
}

impl Proxy {
    pub fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let for_lines = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&for_lines);
                // A server that is away refuses, and so does this.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                std::thread::spawn(move || drop(relay(&client, &server, &shared)));
            }
        });
        Proxy { port, shared }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cut the line at this statement, counted from now on, and do something before the client notices. Preparing one counts
    /// as well. The next line is left alone.
    pub fn cut(&self, at: usize, moment: Moment, act: impl Fn() + Send + Sync + 'static) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.statements = 0;
        shared.cut = Some((at, moment, Arc::new(act)));
    }

    /// Leave the lines alone again. Returns whether one was cut.
    pub fn spare(&self) -> bool {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).cut.take().is_none()
    }
}

/// What the server owes: an end for each request of the client.
#[derive(Default)]
struct Answers {
    ends: Mutex<(usize, bool)>,
    changed: Condvar,
}

fn relay(client: &TcpStream, server: &TcpStream, shared: &Arc<Mutex<Shared>>) -> io::Result<()> {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let answers = Arc::new(Answers::default());
    let (to_client, from_server, known) = (client.try_clone()?, server.try_clone()?, Arc::clone(&answers));
    std::thread::spawn(move || {
        let _ = answer(&to_client, &from_server, &known);
        let _ = to_client.shutdown(Shutdown::Both);
        let mut ends = known.ends.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing comes any more.
        ends.0 = usize::MAX;
        known.changed.notify_all();
    });
    let outcome = ask(client, server, shared, &answers);
    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    outcome
}

/// From the client to the server, message by message.
fn ask(
    mut client: &TcpStream,
    mut server: &TcpStream,
    shared: &Mutex<Shared>,
    answers: &Answers,
) -> io::Result<()> {
    // The first message has no type: only the login follows it before the first statement.
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let first = body(client, length)?;
    server.write_all(&[&length[..], &first].concat())?;
    // The login ends with the first end.
    let mut owed = 1;
    let mut last = None;
    loop {
        let mut head = [0; 5];
        client.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let message = [&head[..], &body(client, length)?].concat();
        if last.is_none() && matches!(kind, b'Q' | b'E' | b'P') {
            match due(shared) {
                Some((Moment::Before, act)) => {
                    act();
                    return Ok(());
                }
                Some((Moment::Answered, act)) => {
                    answers.ends.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
                    last = Some(act);
                }
                None => {}
            }
        }
        server.write_all(&message)?;
        if matches!(kind, b'Q' | b'S') {
            owed += 1;
            if let Some(act) = last {
                let ends = answers.ends.lock().unwrap_or_else(PoisonError::into_inner);
                drop(answers.changed.wait_while(ends, |ends| ends.0 < owed));
                act();
                return Ok(());
            }
        }
    }
}

/// Count a statement. What to do if the line is to be cut here.
fn due(shared: &Mutex<Shared>) -> Option<(Moment, Act)> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    shared.statements += 1;
    match &shared.cut {
        Some((at, ..)) if *at == shared.statements => shared.cut.take().map(|(_, moment, act)| (moment, act)),
        _ => None,
    }
}

/// From the server to the client, until nothing more may reach it.
fn answer(mut client: &TcpStream, mut server: &TcpStream, answers: &Answers) -> io::Result<()> {
    loop {
        let mut head = [0; 5];
        server.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let message = [&head[..], &body(server, length)?].concat();
        let mut ends = answers.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if !ends.1 {
            client.write_all(&message)?;
        }
        if kind == b'Z' {
            ends.0 += 1;
            answers.changed.notify_all();
        }
    }
}

fn body(mut from: &TcpStream, length: [u8; 4]) -> io::Result<Vec<u8>> {
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(4);
    let mut body = vec![0; length.saturating_sub(4)];
    from.read_exact(&mut body)?;
    Ok(body)
}
