//! Runs whose journal is on a server, from outside: a real PostgreSQL, real checkouts, agents that act by a script.
#![cfg(target_os = "linux")]

mod commands;
mod copies;
mod machines;

use piton_testkit::postgres::{PASSWORD, Server};
use piton_testkit::sandbox::{Invocation, Output, Sandbox};
use piton_testkit::skipped;

/// A project, and a database for its journal.
struct Scene {
    sandbox: Sandbox,
    server: &'static Server,
    /// With the password.
    url: String,
}

impl Scene {
    /// `None`, said aloud, where there is no PostgreSQL.
    fn new() -> Option<Scene> {
        Scene::on(Server::shared())
    }

    /// With a server of its own, which may be killed.
    fn alone() -> Option<Scene> {
        // It ends with the process of the test.
        Scene::on(Server::start().map(|server| &*Box::leak(Box::new(server))))
    }

    fn on(server: Result<&'static Server, &'static str>) -> Option<Scene> {
        match server {
            Ok(server) => {
                let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
                Some(Scene { sandbox, server, url: server.database() })
            }
            Err(why) => {
                skipped(why);
                None
            }
        }
    }

    /// The URL as Piton keeps it.
    fn kept(&self) -> String {
        self.url.replace(&format!(":{PASSWORD}@"), "@")
    }

    /// A command in the main checkout, with the password in a variable.
    fn piton(&self, line: &str) -> Invocation {
        self.sandbox.piton(line.split_whitespace()).env("PGPASSWORD", PASSWORD)
    }

    #[track_caller]
    fn says(&self, line: &str, text: &str) -> Output {
        self.piton(line).run().exits(0).says(text)
    }
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output}"))
}
