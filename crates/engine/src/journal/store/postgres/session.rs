//! One connection. What is only written is not waited for: its answers are read with those of the next question.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::try_join;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Row, Statement};

use super::server::Server;
use super::tls::distrust;
use super::{LOCK_SECONDS, dialect};
use crate::journal::error::Trouble;
use crate::journal::store::Value;

/// Longer than the server waits for a lock. A connection that is silent for so long is given up.
const SILENCE: Duration = Duration::from_secs(LOCK_SECONDS + 30);

const SILENT: &str = "the server does not answer";

/// What the client library says of it, and what helps.
const NO_PASSWORD: &str = "invalid configuration: password missing";
const NEEDS_PASSWORD: &str = "it asks for a password: set PGPASSWORD, or write one into ~/.pgpass";

/// Answers that may be outstanding: so many are kept in memory.
const OUTSTANDING: usize = 512;

type Failed = tokio_postgres::Error;
type Answer = Pin<Box<dyn Future<Output = Result<u64, Failed>> + Send>>;

pub(super) struct Session {
    client: Arc<Client>,
    /// What was used before. What was used only once is not compiled: that takes a question of its own.
    statements: RefCell<HashMap<String, Option<Statement>>>,
    outstanding: RefCell<Vec<Answer>>,
    lost: Cell<bool>,
}

impl Session {
    pub(super) fn open(runtime: &Runtime, server: &Server) -> Result<Session, Trouble> {
        // A server that accepts and says nothing would be waited for without an end.
        let connecting = async { timeout(SILENCE, server.config().connect(server.tls())).await };
        let connected =
            runtime.block_on(connecting).map_err(|_| Trouble::Unreachable { detail: SILENT.to_owned() })?;
        let (client, connection) = connected.map_err(|error| not_reached(&error))?;
        // An error of the connection is one of the statement that waits for its answer, too.
        runtime.spawn(async move { drop(connection.await) });
        Ok(Session {
            client: Arc::new(client),
            statements: RefCell::default(),
            outstanding: RefCell::default(),
            lost: Cell::new(false),
        })
    }

    /// Whether it broke. Nothing more is sent then.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// The compiled statement, from its second use on.
    fn compiled(&self, runtime: &Runtime, sql: &str) -> Result<Option<Statement>, Trouble> {
        let known = self.statements.borrow().get(sql).cloned();
        match known {
            Some(Some(statement)) => return Ok(Some(statement)),
            Some(None) => {}
            None => {
                self.statements.borrow_mut().insert(sql.to_owned(), None);
                return Ok(None);
            }
        }
        let statement = self.wait(runtime, self.client.prepare(&dialect(sql)))?;
        self.statements.borrow_mut().insert(sql.to_owned(), Some(statement.clone()));
        Ok(Some(statement))
    }

    pub(super) fn query(
        &self,
        runtime: &Runtime,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Trouble> {
        if let Some(statement) = self.compiled(runtime, sql)? {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
            return self.wait(runtime, self.client.query(&statement, &values));
        }
        let values: Vec<(&(dyn ToSql + Sync), Type)> =
            values.iter().map(|value| (value as _, kind(value))).collect();
        self.wait(runtime, self.client.query_typed(&dialect(sql), &values))
    }

    /// Run statements that have no parameters and no rows.
    pub(super) fn run(&self, runtime: &Runtime, sql: &str) -> Result<(), Trouble> {
        self.wait(runtime, self.client.batch_execute(sql))
    }

    /// Send a statement. If it fails, the next question fails with its error.
    pub(super) fn send(&self, runtime: &Runtime, sql: &str, values: &[Value<'_>]) -> Result<(), Trouble> {
        let client = Arc::clone(&self.client);
        let sent: Vec<Sent> = values.iter().map(Sent::from).collect();
        match self.compiled(runtime, sql)? {
            Some(statement) => {
                self.start(Box::pin(async move { client.execute_raw(&statement, sent).await }));
            }
            None => {
                let (text, kinds): (_, Vec<Type>) = (dialect(sql), values.iter().map(kind).collect());
                self.start(Box::pin(async move {
                    let values: Vec<(&(dyn ToSql + Sync), Type)> =
                        sent.iter().zip(kinds).map(|(value, kind)| (value as _, kind)).collect();
                    client.execute_typed(&text, &values).await
                }));
            }
        }
        let outstanding = self.outstanding.borrow().len();
        if outstanding > OUTSTANDING { self.wait(runtime, async { Ok(()) }) } else { Ok(()) }
    }

    /// The same for statements without parameters.
    pub(super) fn send_text(&self, sql: impl Into<String>) {
        let (client, sql) = (Arc::clone(&self.client), sql.into());
        self.start(Box::pin(async move { client.batch_execute(&sql).await.map(|()| 0) }));
    }

    /// Let what was sent leave for the server, and wait for nothing.
    pub(super) fn flush(&self, runtime: &Runtime) {
        runtime.block_on(tokio::task::yield_now());
    }

    /// The message leaves with the first poll, which has no answer yet.
    fn start(&self, mut answer: Answer) {
        let answer = match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => answer,
            Poll::Ready(done) => Box::pin(std::future::ready(done)),
        };
        self.outstanding.borrow_mut().push(answer);
    }

    /// Wait for the answer to a question, and for those that are outstanding, which come before it. Without them the
    /// answer means nothing.
    fn wait<T>(
        &self,
        runtime: &Runtime,
        question: impl Future<Output = Result<T, Failed>>,
    ) -> Result<T, Trouble> {
        let outstanding = self.outstanding.take();
        let before = async {
            for answer in outstanding {
                answer.await?;
            }
            Ok(())
        };
        let both = async { timeout(SILENCE, try_join(before, question)).await };
        let trouble = match runtime.block_on(both) {
            Ok(Ok(((), answer))) => return Ok(answer),
            Ok(Err(error)) => Trouble::from(error),
            Err(_) => Trouble::Interrupted { detail: SILENT.to_owned() },
        };
        self.lost.set(self.is_lost() || matches!(trouble, Trouble::Interrupted { .. }));
        Err(trouble)
    }
}

/// The type of a parameter. That of one without a value is found by the server.
fn kind(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::UNKNOWN,
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
    }
}

fn not_reached(error: &Failed) -> Trouble {
    match distrust(error) {
        Some(detail) => Trouble::NotTrusted { detail },
        None => Trouble::Unreachable { detail: words(error).replace(NO_PASSWORD, NEEDS_PASSWORD) },
    }
}

/// With its causes: the error of a connection says nothing by itself.
fn words(error: &Failed) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

impl From<Failed> for Trouble {
    fn from(error: Failed) -> Trouble {
        let code = error.code().map(|code| code.code().to_owned());
        let detail = words(&error);
        match code.as_deref() {
            // Locks are not to be had, or two transactions wait for each other: the server has undone this one.
            Some("55P03") => Trouble::Busy,
            Some("53100") => Trouble::Full,
            Some("25006") => Trouble::ReadOnly,
            Some("40P01" | "40001") => Trouble::Interrupted { detail },
            // The server shuts down, has crashed, or starts up.
            Some("57P01" | "57P02" | "57P03" | "25P03") => Trouble::Interrupted { detail },
            Some(class) if class.starts_with("08") => Trouble::Interrupted { detail },
            Some("XX001" | "XX002") => Trouble::Damaged { detail },
            Some(code) => Trouble::Postgres { detail: format!("{detail} ({code})") },
            None if error.is_closed() || is_of_network(&error) => Trouble::Interrupted { detail },
            None => Trouble::Postgres { detail },
        }
    }
}

fn is_of_network(error: &Failed) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// A value on its way.
#[derive(Debug)]
enum Sent {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Value<'_>> for Sent {
    fn from(value: &Value<'_>) -> Sent {
        match *value {
            Value::Null => Sent::Null,
            Value::Int(number) => Sent::Int(number),
            Value::Text(text) => Sent::Text(text.to_owned()),
            Value::Bytes(bytes) => Sent::Bytes(bytes.to_vec()),
        }
    }
}

type Written = Result<IsNull, Box<dyn std::error::Error + Sync + Send>>;

impl ToSql for Sent {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> Written {
        let value = match self {
            Sent::Null => Value::Null,
            Sent::Int(number) => Value::Int(*number),
            Sent::Text(text) => Value::Text(text),
            Sent::Bytes(bytes) => Value::Bytes(bytes),
        };
        value.to_sql(to, out)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Value<'_> {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> Written {
        match *self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) if *to == Type::INT4 => i32::try_from(number)?.to_sql(to, out),
            Value::Int(number) => number.to_sql(to, out),
            Value::Text(text) => text.to_sql(to, out),
            Value::Bytes(bytes) => bytes.to_sql(to, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What a column holds. The tables have these types only.
pub(crate) fn value(row: &Row, column: usize) -> Result<Value<'_>, Trouble> {
    let kind = row.columns().get(column).map(|column| column.type_().clone());
    let value = match kind {
        Some(Type::INT8) => row.try_get::<_, Option<i64>>(column)?.map(Value::Int),
        Some(Type::INT4) => row.try_get::<_, Option<i32>>(column)?.map(|number| Value::Int(number.into())),
        Some(Type::BYTEA) => row.try_get::<_, Option<&[u8]>>(column)?.map(Value::Bytes),
        _ => row.try_get::<_, Option<&str>>(column)?.map(Value::Text),
    };
    Ok(value.unwrap_or(Value::Null))
}
