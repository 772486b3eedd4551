//! What the page changes, if it may: each request is the command that a person would type, carried out by this program.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use piton_core::plan::{RunId, TaskId};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::own_command::{self, Answer};
use crate::runs::review::Given;
use crate::serve::api::{Problem, beside, busy};
use crate::serve::app::App;

/// To wait for a place, and again for the command: it takes well under a second, and longer where git is slow.
const PATIENCE: Duration = Duration::from_secs(30);

type Answered = Result<Response<Body>, Problem>;

/// About a task.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum TaskOrder {
    Answer {
        text: String,
    },
    Retry {},
    Skip {
        #[serde(default)]
        reason: String,
    },
    Unblock {
        #[serde(default)]
        note: String,
    },
    Raise {
        attempts: u32,
    },
    /// Send comments on lines of the work, all together.
    Review {
        comments: Vec<Given>,
    },
    /// Take back a comment that was not sent, by its number.
    TakeBack {
        comment: u64,
    },
}

/// About a run.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum RunOrder {
    Stop {
        #[serde(default)]
        now: bool,
    },
}

/// What was seen, by its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    keys: Vec<String>,
}

impl TaskOrder {
    /// The command without its task and run. A text may begin with a dash, so it stands behind an equals sign or two dashes.
    fn words(&self, task: &TaskId) -> (Vec<String>, Vec<String>) {
        let word = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let id = task.as_str();
        match self {
            TaskOrder::Answer { text } => (word(&["answer"]), word(&["--", id, text])),
            TaskOrder::Retry {} => (word(&["retry"]), word(&["--", id])),
            TaskOrder::Skip { reason } => (word(&["skip", &format!("--reason={reason}")]), word(&["--", id])),
            TaskOrder::Unblock { note } => (word(&["unblock", &format!("--note={note}")]), word(&["--", id])),
            TaskOrder::Raise { attempts } => {
                (word(&["raise", &format!("--attempts={attempts}")]), word(&["--", id]))
            }
            TaskOrder::Review { .. } => (word(&["review", "--batch=-", "--send"]), word(&["--", id])),
            TaskOrder::TakeBack { comment } => {
                (word(&["review", &format!("--drop={comment}")]), word(&["--", id]))
            }
        }
    }

    /// What the command reads from its standard input.
    fn input(&self) -> String {
        match self {
            TaskOrder::Review { comments } => json!(comments).to_string(),
            _ => String::new(),
        }
    }
}

pub(super) async fn task(
    State(app): State<Arc<App>>,
    Path((run, task)): Path<(String, String)>,
    Json(order): Json<TaskOrder>,
) -> Answered {
    let (run, task) = (run_id(&run)?, TaskId::new(&task).map_err(|_| unknown("task"))?);
    let (mut words, last) = order.words(&task);
    words.push(format!("--run={run}"));
    carry_out(app, words, last, order.input()).await
}

pub(super) async fn run(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Json(order): Json<RunOrder>,
) -> Answered {
    let RunOrder::Stop { now } = order;
    let mut words = vec!["stop".to_owned(), format!("--run={}", run_id(&run)?)];
    words.extend(now.then(|| "--now".to_owned()));
    carry_out(app, words, Vec::new(), String::new()).await
}

pub(super) async fn seen(State(app): State<Arc<App>>, Json(Seen { keys }): Json<Seen>) -> Answered {
    let is_key = |key: &String| key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if keys.is_empty() || keys.len() > 1000 || !keys.iter().all(is_key) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "`keys` is a list of keys of the inbox"));
    }
    let mut words = vec!["inbox".to_owned(), "--json".to_owned()];
    words.extend(keys.iter().map(|key| format!("--seen={key}")));
    carry_out(app, words, Vec::new(), String::new()).await
}

async fn carry_out(app: Arc<App>, mut words: Vec<String>, last: Vec<String>, input: String) -> Answered {
    words.push(format!("--project-path={}", app.project.root));
    words.extend(last);
    let place = timeout(PATIENCE, Arc::clone(&app.orders).acquire_owned()).await;
    let Ok(Ok(place)) = place else { return Err(busy()) };
    let carried_out = beside(place, {
        let app = Arc::clone(&app);
        move || {
            let answer = own_command::run_with(&words, &[], input);
            // It may have written what the watcher has not seen yet, or have been refused for what has changed on disk.
            app.live.changed();
            answer.map_err(|failure| Problem::new(status_of(None), failure.message))
        }
    });
    let Ok(answer) = timeout(PATIENCE, carried_out).await else {
        // It is not ended halfway: it keeps its place until it is done.
        let why = "the command takes long and is still being carried out; the journal will show what it did";
        return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, why));
    };
    let Answer { text, code } = answer?;
    match status_of(code) {
        StatusCode::OK => Ok(Json(json!({ "message": text, "told": text })).into_response()),
        // Without the word that a terminal needs.
        status => Err(Problem::new(status, text.trim_start_matches("error: "))),
    }
}

/// What the exit status of a command means here. None of ours reports where a run stands, so that only 0 is success: all
/// but a refusal and a wrong command line are defects, or the end of the process.
fn status_of(code: Option<i32>) -> StatusCode {
    match code {
        Some(0) => StatusCode::OK,
        Some(1) => StatusCode::CONFLICT,
        Some(2) => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn run_id(text: &str) -> Result<RunId, Problem> {
    RunId::new(text).map_err(|_| unknown("run"))
}

fn unknown(what: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("there is no such {what} here"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cmd::{Cli, Command};

    fn parsed(order: &str) -> Command {
        let order: TaskOrder = serde_json::from_str(order).expect("an order");
        let (words, last) = order.words(&TaskId::new("T1").expect("an id"));
        let words = ["piton".to_owned()].into_iter().chain(words).chain(["--run=r".to_owned()]).chain(last);
        Cli::try_parse_from(words).expect("a command line").command
    }

    #[test]
    fn whatever_a_text_looks_like_it_stays_a_text() {
        for text in ["--now", "-x", "a b; rm -rf", "--run=other", "", "é\\n'\""] {
            let quoted = json!(text);
            match parsed(&format!(r#"{{"do":"answer","text":{quoted}}}"#)) {
                Command::Answer(args) => {
                    assert_eq!((args.text.as_str(), args.which.run.as_deref()), (text, Some("r")));
                }
                other => panic!("{other:?}"),
            }
            match parsed(&format!(r#"{{"do":"skip","reason":{quoted}}}"#)) {
                Command::Skip(args) => assert_eq!((args.reason.as_str(), args.task.as_str()), (text, "T1")),
                other => panic!("{other:?}"),
            }
            match parsed(&format!(r#"{{"do":"unblock","note":{quoted}}}"#)) {
                Command::Unblock(args) => assert_eq!(args.note, text),
                other => panic!("{other:?}"),
            }
            let order = format!(
                r#"{{"do":"review","comments":[{{"file":"a","side":"old","line":2,"lines":1,"blob":null,"text":{quoted}}}]}}"#
            );
            match parsed(&order) {
                Command::Review(args) => {
                    assert!(args.send && args.batch.as_ref().is_some_and(|path| path == "-"));
                }
                other => panic!("{other:?}"),
            }
            let order: TaskOrder = serde_json::from_str(&order).expect("an order");
            assert!(order.input().contains(&quoted.to_string()), "{}", order.input());
        }
    }

    #[test]
    fn only_what_succeeded_is_success() {
        let statuses = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(101), None].map(status_of);
        assert_eq!(statuses.map(|status| status.as_u16()), [200, 409, 400, 500, 500, 500, 500]);
    }

    #[test]
    fn what_is_not_an_order_is_refused() {
        for order in [
            "{}",
            r#"{"do":"reset"}"#,
            r#"{"do":"answer"}"#,
            r#"{"do":"raise","attempts":-1}"#,
            r#"{"do":"retry","and":"more"}"#,
            r#"{"do":"answer","text":7}"#,
            r#"{"do":"review"}"#,
            r#"{"do":"review","comments":[{"file":"a","line":-1,"text":"x"}]}"#,
            r#"{"do":"take_back","comment":"all"}"#,
        ] {
            assert!(serde_json::from_str::<TaskOrder>(order).is_err(), "{order}");
        }
    }
}
