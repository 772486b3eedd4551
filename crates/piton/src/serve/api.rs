//! What the page reads: the same values that the commands print with `--json`, now or as of an earlier event.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use piton_core::plan::{RunId, TaskId};
use piton_core::time::{Span, Timestamp};
use piton_core::view::{self, By, Tone};
use piton_engine::journal::{Journal, JournalError};
use piton_engine::keeper::Job;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use crate::failure::{Failure, Outcome, USAGE};
use crate::runs::changes::{Changes, MOST_SHOWN};
use crate::runs::jobs::{self, TaskJobs};
use crate::runs::review::Review;
use crate::runs::show::Listed;
use crate::runs::{command, detail, document, figures, inbox, listing, pace, queue, standing};
use crate::serve::app::{App, FRESH, Remembered, forget};
use crate::serve::live::described;
use crate::ui;

/// Answers that are remembered.
const REMEMBERED: usize = 128;
/// States of the past that are remembered: those of somebody who moves a slider.
const PASTS: usize = 4;
/// Events in one page of the log.
const PAGE: usize = 200;
/// Events that are looked through for one page, if few of them are wanted.
const LOOKED_THROUGH: u64 = 20_000;

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    failure: Failure,
}

impl Problem {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Problem {
        Problem { status, failure: Failure::new(why) }
    }

    fn not_found(what: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, what)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        let status =
            if failure.exit == USAGE { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY };
        Problem { status, failure }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Problem {
        Failure::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let Failure { message, hints, .. } = self.failure;
        (self.status, Json(json!({ "error": message, "hints": hints }))).into_response()
    }
}

/// `piton status --json`, and what else an overview shows.
#[derive(Serialize)]
struct Status<T> {
    status: T,
    /// How long the rest may take; `null` is unknown.
    eta_ms: Option<Span>,
    now: Timestamp,
    /// The last event that it surely takes into account: of two answers the one with the larger number is newer.
    seq: u64,
}

type Answered = Result<Response<Body>, Problem>;

/// What a view may be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wanted {
    /// As of this event.
    pub(super) at: Option<u64>,
    /// `all` tasks, or those that `piton status` names.
    tasks: Option<String>,
    /// What the rows of costs are.
    by: Option<String>,
    /// Of the log: before this event, about this task, with these words, also what is minor.
    before: Option<u64>,
    task: Option<TaskId>,
    find: Option<String>,
    minor: Option<bool>,
    /// Of output: from this byte.
    from: Option<u64>,
    /// Of the graph: only the `statuses`.
    pub(super) part: Option<String>,
}

pub(super) async fn project(State(app): State<Arc<App>>) -> Answered {
    Ok(Json(json!({
        "name": app.project.root.file_name(), "path": app.project.root, "control": app.guard.control,
        "you": command::you(), "version": env!("CARGO_PKG_VERSION"),
    }))
    .into_response())
}

pub(super) async fn runs(State(app): State<Arc<App>>) -> Answered {
    answer(app, "runs".to_owned(), |app| Ok(listing::document(&listing::rows(&app.project)?))).await
}

pub(super) async fn waiting(State(app): State<Arc<App>>) -> Answered {
    answer(app, "inbox".to_owned(), |app| Ok(json!({ "items": inbox::of_project(&app.project)? }))).await
}

pub(super) async fn status(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("status {run} {wanted:?}"), move |app| {
        let listed = match wanted.tasks.as_deref() {
            Some("all") => Listed::All,
            _ => Listed::Some,
        };
        app.with_run(&run, wanted.at, |journal, run| {
            // Before everything else: more may happen meanwhile, and never less.
            let seq = journal.last_events(run, None, 1)?.last().map_or(0, |last| last.seq);
            let facts = standing::facts(journal, run)?;
            let counts = standing::summary(journal, &facts)?.counts;
            Ok(Status {
                status: document::run(&app.project, journal, run, listed)?,
                eta_ms: pace::left(journal, &facts, &counts)?,
                now: standing::now(journal),
                seq,
            })
        })
    })
    .await
}

pub(super) async fn landing(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("landing {run} {wanted:?}"), move |app| {
        app.with_run(&run, wanted.at, |journal, run| {
            let facts = standing::facts(journal, run)?;
            let places = queue::places(journal, &facts)?;
            Ok(json!({ "queue": queue::document(&places), "policy": view::policy(&facts) }))
        })
    })
    .await
}

pub(super) async fn checks(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("checks {run} {wanted:?}"), move |app| {
        app.with_run(&run, wanted.at, |journal, run| {
            Ok(figures::checks(&journal.check_counts(run, usize::MAX)?))
        })
    })
    .await
}

pub(super) async fn cost(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("cost {run} {wanted:?}"), move |app| {
        let named = wanted.by.as_deref().unwrap_or("task");
        let by = By::ALL.into_iter().find(|by| by.name() == named);
        let by = by.ok_or_else(|| {
            let names: Vec<&str> = By::ALL.iter().map(|by| by.name()).collect();
            let (named, names) = (ui::plain(named), names.join(", "));
            Problem::new(
                StatusCode::BAD_REQUEST,
                format!("cannot group costs by `{named}`: use one of {names}"),
            )
        })?;
        app.with_run(&run, wanted.at, |journal, run| {
            Ok(figures::cost(&figures::costs(journal, std::slice::from_ref(run), by)?, by))
        })
    })
    .await
}

pub(super) async fn task(
    State(app): State<Arc<App>>,
    Path((run, task)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("task {run} {task} {wanted:?}"), move |app| {
        let task = task_id(&task)?;
        app.with_run(&run, wanted.at, |journal, run| Ok(detail::detail(&app.project, journal, run, &task)?))
    })
    .await
}

pub(super) async fn diff(
    State(app): State<Arc<App>>,
    Path((run, task)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("diff {run} {task} {wanted:?}"), move |app| {
        let task = task_id(&task)?;
        app.with_run(&run, wanted.at, |journal, run| {
            Ok(Changes::find(&app.project, journal, run, &task, MOST_SHOWN)?.document(&task))
        })
    })
    .await
}

/// The work with what people said about its lines.
pub(super) async fn review(
    State(app): State<Arc<App>>,
    Path((run, task)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    answer(app, format!("review {run} {task} {wanted:?}"), move |app| {
        let task = task_id(&task)?;
        app.with_run(&run, wanted.at, |journal, run| {
            Ok(Review::find(&app.project, journal, run, &task)?.document(run, &task))
        })
    })
    .await
}

pub(super) async fn output(
    State(app): State<Arc<App>>,
    Path((run, task, job)): Path<(String, String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    read(app, move |app| {
        let task = task_id(&task)?;
        app.with_run(&run, None, |journal, run| {
            let jobs = TaskJobs::find(&app.project, journal, run, &task)?;
            let found = jobs.all.iter().find(|listed| detail::job_name(listed) == job);
            let found = found.ok_or_else(|| Problem::not_found(format!("{task} has no such job")))?;
            let settings = standing::facts(journal, run)?.settings;
            let adapter = jobs::adapter_of(&Job::at(&found.path), &settings);
            Ok(app.readers.read(&found.path, adapter, wanted.from.unwrap_or(0))?)
        })
    })
    .await
}

pub(super) async fn log(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    read(app, move |app| app.with_run(&run, None, |journal, run| Ok(page_of_log(journal, run, &wanted)?)))
        .await
}

/// The last events before a place that are wanted, newest first.
fn page_of_log(journal: &Journal, run: &RunId, wanted: &Wanted) -> Outcome<Value> {
    let words = wanted.find.as_deref().unwrap_or_default().to_lowercase();
    let is_wanted = |row: &Value, tone: Tone| {
        let has = |field: &str| row[field].as_str().unwrap_or_default().to_lowercase().contains(&words);
        (tone != Tone::Quiet || wanted.minor == Some(true))
            && (words.is_empty() || has("text") || has("task"))
    };
    let end = journal.last_events(run, None, 1)?.last().map_or(0, |last| last.seq);
    let mut before = wanted.before.or(wanted.at.map(|at| at + 1)).unwrap_or(u64::MAX).min(end + 1);
    let mut rows: Vec<Value> = Vec::new();
    if let Some(task) = &wanted.task {
        let events = journal.events(run, 0, Some(task), usize::MAX)?;
        let older = events.iter().rev().filter(|recorded| recorded.seq < before);
        let all = older.map(|recorded| (described(recorded), view::describe(&recorded.event).tone));
        rows.extend(all.filter(|(row, tone)| is_wanted(row, *tone)).map(|(row, _)| row).take(PAGE));
        let is_all = rows.len() < PAGE;
        let next = rows.last().filter(|_| !is_all).and_then(|row| row["seq"].as_u64());
        return Ok(json!({ "end": end, "events": rows, "before": next }));
    }
    // What was only planned is minor, and there may be much of it.
    let begun = if wanted.minor == Some(true) { 0 } else { journal.begun(run)? };
    let stop = before.saturating_sub(LOOKED_THROUGH).max(begun + 1);
    while before > 1 && before > stop && rows.len() < PAGE {
        let after = before.saturating_sub(PAGE as u64 + 1).max(begun);
        let events = journal.events(run, after, None, usize::try_from(before - 1 - after).unwrap_or(PAGE))?;
        for recorded in events.iter().rev() {
            before = recorded.seq;
            let row = described(recorded);
            if is_wanted(&row, view::describe(&recorded.event).tone) {
                rows.push(row);
            }
            if rows.len() == PAGE {
                break;
            }
        }
        if events.is_empty() {
            break;
        }
    }
    Ok(json!({ "end": end, "events": rows, "before": if before > begun + 1 { Some(before) } else { None } }))
}

fn task_id(text: &str) -> Result<TaskId, Problem> {
    TaskId::new(text).map_err(|bad| Problem::not_found(format!("this is not a task: {bad}")))
}

impl App {
    /// Look at a run, now or as of an earlier event.
    pub(super) fn with_run<T>(
        &self,
        name: &str,
        at: Option<u64>,
        look: impl FnOnce(&Journal, &RunId) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let unknown = || Problem::not_found(format!("there is no run `{name}` here"));
        let run = RunId::new(name).map_err(|_| unknown())?;
        if let Some(at) = at {
            let past = self.past(&run, at)?.ok_or_else(unknown)?;
            let answer = look(&past, &run);
            if let Ok(mut pasts) = self.pasts.lock() {
                pasts.push((run, at, past));
                if pasts.len() > PASTS {
                    pasts.remove(0);
                }
            }
            return answer;
        }
        let journal = self.project.existing_journal()?.ok_or_else(unknown)?;
        if journal.facts(&run)?.is_none() {
            return Err(unknown());
        }
        look(&journal, &run)
    }

    /// A run as it was, remembered or made.
    fn past(&self, run: &RunId, at: u64) -> Result<Option<Journal>, Problem> {
        if let Ok(mut pasts) = self.pasts.lock()
            && let Some(found) = pasts.iter().position(|(other, seq, _)| other == run && *seq == at)
        {
            return Ok(Some(pasts.remove(found).2));
        }
        match self.project.existing_journal()? {
            Some(journal) => Ok(journal.as_of(run, at)?),
            None => Ok(None),
        }
    }
}

/// Answer with a value that is the same for all who ask until something changes: it is made once for all of them.
pub(super) async fn answer<T: Serialize>(
    app: Arc<App>,
    name: String,
    look: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Answered {
    let place = {
        let mut answers = app.answers.lock().map_err(|_| busy())?;
        if answers.len() > REMEMBERED {
            forget(&mut answers, Instant::now());
        }
        if answers.len() > REMEMBERED {
            answers.clear();
        }
        answers.entry(name).or_default().clone()
    };
    // Others who ask the same wait for this answer.
    let mut place = place.lock_owned().await;
    let changes = app.live.changes();
    if let Some(known) = place.as_ref()
        && known.changes == changes
        && known.since.elapsed() < FRESH
    {
        return Ok(as_json(known.bytes.clone()));
    }
    // The place goes with the work: where nobody waits for it any more, the next one to ask does.
    let bytes = work(&app, move |app| {
        let value = look(app)?;
        let bytes = serde_json::to_vec(&value).map_err(|error| Failure::new(error.to_string()))?;
        let bytes = axum::body::Bytes::from(bytes);
        *place = Some(Remembered { changes, since: Instant::now(), bytes: bytes.clone() });
        Ok(bytes)
    })
    .await?;
    Ok(as_json(bytes))
}

/// Answer with a value that is read each time.
pub(super) async fn read(
    app: Arc<App>,
    look: impl FnOnce(&App) -> Result<Value, Problem> + Send + 'static,
) -> Answered {
    Ok(Json(work(&app, look).await?).into_response())
}

/// What reads the journal or the disk does so beside the connections, a few at a time.
pub(super) async fn work<T: Send + 'static>(
    app: &Arc<App>,
    look: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let turn = Arc::clone(&app.turns).acquire_owned().await.map_err(|_| busy())?;
    let app = Arc::clone(app);
    beside(turn, move || look(&app)).await
}

/// Work on a thread of its own. It has its place until it is done, also where nobody waits for the answer any more.
pub(super) async fn beside<T: Send + 'static>(
    place: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        work()
    });
    done.await.map_err(|_| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the answer could not be made; see the terminal of `piton serve`",
        )
    })?
}

pub(super) fn busy() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too much is asked for at once")
}

fn as_json(bytes: axum::body::Bytes) -> Response<Body> {
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn work_that_nobody_waits_for_any_more_keeps_its_place_until_it_is_done() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let places = Arc::new(Semaphore::new(1));
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        runtime.block_on(async {
            let place = Arc::clone(&places).try_acquire_owned().expect("a place");
            let work = beside(place, move || {
                let _ = is_done.recv();
                Ok(())
            });
            // The page has gone away.
            assert!(tokio::time::timeout(std::time::Duration::ZERO, work).await.is_err());
            assert_eq!(places.available_permits(), 0);
            done.send(()).expect("work that goes on");
            let _ = places.acquire().await.expect("the place again");
        });
    }
}
