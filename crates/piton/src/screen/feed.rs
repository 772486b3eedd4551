//! What one view shows, read as it changes.

use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use piton_core::order::Arrange;
use piton_core::run::{Event, Status, Task};
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use piton_core::view::{self, Description, Lines, Stream, Tone};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::keeper::{self, Job};

use crate::commands;
use crate::failure::{Failure, Outcome};
use crate::runs::changes::{Changes, MOST_SHOWN};
use crate::runs::jobs::{self, Kind, Listed, TaskJobs};
use crate::runs::timeline::draw;
use crate::runs::{command, explain, inbox, show, standing, timeline};
use crate::screen::model::Msg;
use crate::screen::page::{self, TaskFacts};
use crate::screen::source::Source;
use crate::screen::text::{Ink, Text};
use crate::screen::view::{Tab, View};
use crate::ui;

/// How old a text may get in which nothing happened: it tells how long things have lasted.
const OLD: Duration = Duration::from_secs(1);
/// The same for what takes longer to find out.
const OLD_DIFF: Duration = Duration::from_secs(5);
/// Bytes of output read at once, and how often in one look. Between two looks, somebody may look elsewhere.
const CHUNK: usize = 256 * 1024;
const CHUNKS: usize = 8;
/// So much of a check's output is shown: its end says what failed. `piton output TASK --checks` has the rest.
const CHECK_OUTPUT: usize = 64 * 1024;
/// So many of the last events are in the journal's view when it opens.
const EVENTS: usize = 2000;
/// A longer diff is cut: nobody reads it here.
const DIFF_LINES: usize = 20_000;
/// So many tasks have a row in the timeline.
const TASKS: usize = 200;
/// So many landings are listed, of these last events.
const LANDED: usize = 15;
const LANDED_AMONG: usize = 500;

/// Reads one view.
pub(super) struct Feed {
    view: View,
    /// When the text was made, and after which event.
    made: Option<(Instant, u64)>,
    /// How long that took.
    took: Duration,
    shown: Vec<Text>,
    output: Option<Output>,
    /// The last event that the journal's view shows, and of which journal.
    after: Option<(u64, u32)>,
}

impl Feed {
    pub(super) fn new(view: View) -> Feed {
        Feed { view, made: None, took: Duration::ZERO, shown: Vec::new(), output: None, after: None }
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// A text that says what went wrong, if it is not that already.
    pub(super) fn failed(&mut self, failure: &Failure) -> Option<Msg> {
        self.output = None;
        self.after = None;
        let mut lines = Text::lines(Ink::Dim, &failure.message);
        lines.extend(failure.hints.iter().map(|hint| Text::new(Ink::Dim, &format!("  {hint}"))));
        self.told(lines)
    }

    /// What is new about it.
    pub(super) fn look(&mut self, source: &mut Source) -> Outcome<Option<Msg>> {
        match self.view.tab {
            Tab::Output => return self.look_at_output(source),
            Tab::Journal => return self.look_at_journal(source),
            Tab::Detail | Tab::Checks | Tab::Diff | Tab::Inbox | Tab::Landing | Tab::Timeline => {}
        }
        let (run, (journal, _)) = (source.run.clone(), source.journal()?);
        let seq = last_seq(journal, &run)?;
        let old = if self.view.tab == Tab::Diff { OLD_DIFF } else { OLD };
        let is_known = |known: u64, age: Duration| match self.view.tab {
            // It is the whole story of the run, so it is read at most every twentieth part of the time.
            Tab::Timeline => age < OLD.max(self.took * 20),
            _ => known == seq && age < old,
        };
        if self.made.is_some_and(|(at, known)| is_known(known, at.elapsed())) {
            return Ok(None);
        }
        let begun = Instant::now();
        self.made = Some((begun, seq));
        let lines = read(source, &self.view);
        self.took = begun.elapsed();
        let lines = lines?;
        Ok(self.told(lines))
    }

    /// The text, if it differs from what is shown.
    fn told(&mut self, lines: Vec<Text>) -> Option<Msg> {
        let is_first = self.shown.is_empty() && lines.is_empty();
        if lines == self.shown && !is_first {
            return None;
        }
        self.shown.clone_from(&lines);
        Some(Msg::Whole(self.view.clone(), lines))
    }

    fn look_at_output(&mut self, source: &mut Source) -> Outcome<Option<Msg>> {
        let Some(task) = self.view.task.clone() else { return Ok(None) };
        let is_old = self.made.is_none_or(|(at, _)| at.elapsed() > OLD);
        if is_old {
            self.made = Some((Instant::now(), 0));
            let (project, run) = (source.project.clone(), source.run.clone());
            let (journal, _) = source.journal()?;
            let all = TaskJobs::find(&project, journal, &run, &task)?;
            let last = all.last(Kind::Agents, None);
            let known =
                self.output.as_mut().filter(|output| output.fence == last.first().map(|job| job.fence));
            match known {
                Some(output) => output.add(&last),
                None => {
                    let settings = standing::facts(journal, &run)?.settings;
                    let mut output = Output::new(last.first().map(|job| job.fence), Box::new(settings));
                    output.add(&last);
                    self.output = Some(output);
                    let lines = self.output.as_mut().map(Output::read).transpose()?.unwrap_or_default();
                    return Ok(Some(Msg::Whole(self.view.clone(), lines)));
                }
            }
        }
        let lines = self.output.as_mut().map(Output::read).transpose()?.unwrap_or_default();
        Ok((!lines.is_empty()).then(|| Msg::More(self.view.clone(), lines)))
    }

    fn look_at_journal(&mut self, source: &mut Source) -> Outcome<Option<Msg>> {
        let (run, (journal, opened)) = (source.run.clone(), source.journal()?);
        let after = self.after.filter(|(_, of)| *of == opened).map(|(after, _)| after);
        let events = match after {
            None => journal.last_events(&run, None, EVENTS)?,
            Some(after) => journal.events(&run, after, None, EVENTS)?,
        };
        let last = events.last().map_or(after.unwrap_or(0), |last| last.seq);
        self.after = Some((last, opened));
        let is_shown = |event: &Event| self.view.verbose || view::describe(event).tone != Tone::Quiet;
        let shown = events.iter().filter(|recorded| is_shown(&recorded.event));
        let lines: Vec<Text> = shown.flat_map(page::event).collect();
        Ok(match after.is_none() {
            true => Some(Msg::Whole(self.view.clone(), lines)),
            false => (!lines.is_empty()).then(|| Msg::More(self.view.clone(), lines)),
        })
    }
}

/// The last event of a run; 0 before the first.
pub(super) fn last_seq(journal: &Journal, run: &piton_core::plan::RunId) -> Outcome<u64> {
    Ok(journal.last_events(run, None, 1)?.last().map_or(0, |last| last.seq))
}

/// The whole text of a view.
fn read(source: &mut Source, view: &View) -> Outcome<Vec<Text>> {
    let (project, run) = (source.project.clone(), source.run.clone());
    let (journal, _) = source.journal()?;
    let task = || view.task.clone().ok_or_else(|| Failure::new("select a task"));
    match view.tab {
        Tab::Detail => {
            let id = task()?;
            let task = journal.task(&run, &id)?;
            let task = task.ok_or_else(|| Failure::new(format!("{id} is no longer in the plan")))?;
            let facts = standing::facts(journal, &run)?;
            let mut why = explain::why(&project, journal, &facts, &id)?;
            if let Some(why) = &mut why {
                why.helps.iter_mut().for_each(|help| *help = commands::complete(help));
                why.causes.iter_mut().for_each(|cause| cause.text = commands::complete(&cause.text));
            }
            let (spec, events) = (journal.spec(&run, &id)?, journal.events(&run, 0, Some(&id), usize::MAX)?);
            let dependents = journal.links(&run, &id)?.dependents;
            Ok(page::task(&TaskFacts {
                dependents: &dependents,
                group: facts.groups.get(task.group as usize).map(|group| group.id.to_string()),
                task: &task,
                spec: spec.as_ref(),
                why: why.as_ref(),
                events: &events,
                now: clock::now(),
            }))
        }
        Tab::Checks => {
            let jobs = TaskJobs::find(&project, journal, &run, &task()?)?;
            jobs.last(Kind::Checks, None)
                .into_iter()
                .map(check_output)
                .collect::<Outcome<Vec<_>>>()
                .map(|all| all.concat())
        }
        Tab::Diff => {
            let changes = Changes::find(&project, journal, &run, &task()?, MOST_SHOWN)?;
            let mut lines = page::diff(&changes.text);
            if lines.len() > DIFF_LINES || changes.is_cut {
                lines.truncate(DIFF_LINES);
                lines.push(Text::new(Ink::Warning, "… `piton diff TASK` has the rest"));
            }
            Ok(lines)
        }
        Tab::Inbox => {
            let mut items = inbox::of_project(&project)?;
            // What is run from here is about the run that is shown, unless it says otherwise.
            for item in items.iter_mut().filter(|item| item.run != run) {
                let of_its_run = |help: &String| commands::complete_for(help, Some(&item.run), "PLAN");
                item.helps = item.helps.iter().map(of_its_run).collect();
            }
            Ok(page::inbox(&items, &command::you(), clock::now()))
        }
        Tab::Landing => {
            let facts = standing::facts(journal, &run)?;
            let mut tasks: Vec<Task> = journal.under_way(&run)?;
            tasks.retain(|task| task.is_candidate() || task.status() == Status::Merging);
            tasks.arrange_by_key(|task| (task.status() != Status::Merging, task.progress.queued));
            let titled = tasks.into_iter().map(|task| {
                let title = show::title(journal, &run, &task.id)?;
                Ok((task, title))
            });
            let titled = titled.collect::<Outcome<Vec<_>>>()?;
            let mut landed = journal.last_events(&run, None, LANDED_AMONG)?;
            landed.retain(|recorded| {
                matches!(recorded.event, Event::Completed { .. } | Event::LandingFound { .. })
            });
            let last = landed.len().saturating_sub(LANDED);
            Ok(page::landing(&facts, &titled, &landed[last..]))
        }
        Tab::Timeline => {
            let drawn = match &view.task {
                Some(task) => {
                    let timeline = timeline::of_task(&project, journal, &run, task)?;
                    let mut drawn = draw::of_task(task, &timeline, view.columns);
                    if drawn.is_empty() {
                        drawn.push(vec![(ui::DIM, format!("{task} has not started yet"))]);
                    }
                    drawn
                }
                None => match timeline::of_run(&project, journal, &run)? {
                    timeline if timeline.bars.is_empty() => Vec::new(),
                    timeline => draw::of_run(&run, &timeline, view.columns, TASKS),
                },
            };
            Ok(drawn.iter().map(|line| Text::from_styled(line)).collect())
        }
        Tab::Output | Tab::Journal => Ok(Vec::new()),
    }
}

fn check_output(listed: &Listed) -> Outcome<Vec<Text>> {
    let ended = listed.ended();
    let ink = if ended == "exit status 0" { Ink::Good } else { Ink::Bold };
    let mut lines = vec![Text::new(ink, &format!("── {} · {ended}", listed.title()))];
    let output = Job::at(&listed.path).output();
    let tail = output.tail(CHECK_OUTPUT).map_err(Failure::io("cannot read the output of a check"))?;
    lines.extend(Text::lines(Ink::Plain, &clean_text(&tail)));
    lines.push(Text::default());
    Ok(lines)
}

/// The output of a task's agents since its last start, as it grows.
struct Output {
    fence: Option<u64>,
    settings: Box<piton_core::plan::Settings>,
    parts: Vec<Part>,
}

struct Part {
    path: Utf8PathBuf,
    title: String,
    at: u64,
    words: Words,
    is_begun: bool,
    is_over: bool,
}

impl Output {
    fn new(fence: Option<u64>, settings: Box<piton_core::plan::Settings>) -> Output {
        Output { fence, settings, parts: Vec::new() }
    }

    fn add(&mut self, jobs: &[&Listed]) {
        for listed in jobs {
            if self.parts.iter().all(|part| part.path != listed.path) {
                let adapter = jobs::adapter_of(&Job::at(&listed.path), &self.settings);
                self.parts.push(Part {
                    path: listed.path.clone(),
                    title: listed.title(),
                    at: 0,
                    words: Words { lines: Lines::default(), stream: Stream::of(adapter) },
                    is_begun: false,
                    is_over: false,
                });
            }
        }
    }

    /// What was printed since the last look. Each job is read to its end before the next one.
    fn read(&mut self) -> Outcome<Vec<Text>> {
        let mut lines = Vec::new();
        for part in &mut self.parts {
            part.read(&mut lines)?;
            if !part.is_over {
                break;
            }
        }
        Ok(lines)
    }
}

impl Part {
    fn read(&mut self, lines: &mut Vec<Text>) -> Outcome {
        if self.is_over {
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            lines.extend(Text::new(Ink::Dim, &format!("── {}", self.title)).parts());
        }
        let job = Job::at(&self.path);
        let unreadable = || Failure::io(format!("cannot read the output in {}", self.path));
        let outcome = job.outcome().map_err(|error| Failure::new(error.to_string()))?;
        // Some clients report the end of a limit as a time of day, so the time of their end is needed.
        let now = outcome.as_ref().map_or_else(clock::now, keeper::Outcome::ended_at);
        for _ in 0..CHUNKS {
            let chunk = job.output().read_from(self.at, CHUNK).map_err(unreadable())?;
            if chunk.at > self.at {
                self.words.lines.tear();
                lines.push(Text::new(Ink::Dim, &format!("… {} bytes left out …", chunk.at - self.at)));
            }
            self.at = chunk.next();
            put(lines, &self.words.take(&chunk.bytes, now));
            if chunk.bytes.is_empty() {
                self.is_over = outcome.is_some();
                break;
            }
        }
        if self.is_over {
            put(lines, &self.words.end(now));
        }
        Ok(())
    }
}

fn put(lines: &mut Vec<Text>, told: &[Description]) {
    lines.extend(told.iter().flat_map(|line| Text::from(line).parts()));
}

/// What a job prints, as lines: in words, if its client is known.
struct Words {
    lines: Lines,
    stream: Option<Stream>,
}

impl Words {
    fn take(&mut self, bytes: &[u8], now: Timestamp) -> Vec<Description> {
        let whole = self.lines.take(bytes);
        whole.iter().flat_map(|line| self.tell(line, now)).collect()
    }

    fn end(&mut self, now: Timestamp) -> Vec<Description> {
        let last = self.lines.last();
        let mut told: Vec<Description> = last.iter().flat_map(|line| self.tell(line, now)).collect();
        told.extend(self.stream.as_mut().map(Stream::close).unwrap_or_default());
        told
    }

    fn tell(&mut self, line: &str, now: Timestamp) -> Vec<Description> {
        match &mut self.stream {
            Some(stream) => stream.hear(line, now),
            None => vec![Description { tone: Tone::Plain, text: clean_text(line.as_bytes()) }],
        }
    }
}
