//! Totals that a list gives itself. They are counted again; where they disagree, the boxes are right.

use std::ops::Range;

use super::todolist::{Task, Todolist};
use crate::diagnostic::Diagnostic;
use crate::system::kit::problems::Problems;
use crate::system::kit::text::key;

/// One number of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Total {
    at: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// `Story Progress: 3/5`, of a story or of the whole list.
    Progress {
        done: usize,
        of: usize,
        story: Option<usize>,
    },
    Tasks(usize),
    Done(usize),
    Open(usize),
}

/// The total that a line gives. `section` is the story it stands below, and whether a summary is.
pub(super) fn said(text: &str, at: &Range<usize>, section: (Option<usize>, bool)) -> Option<Total> {
    let line = &text[at.clone()];
    let (name, colon) = line.char_indices().take(40).find(|(_, c)| matches!(c, ':' | '\u{ff1a}'))?;
    let value = &line[name + colon.len_utf8()..];
    let start =
        value.len() - value.trim_start_matches(|c: char| c.is_whitespace() || "*_~`".contains(c)).len();
    let (value, place) = (&value[start..], at.end - value.len() + start);
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        Some((text[..digits].parse::<usize>().ok()?, digits))
    };
    let (first, digits) = number(value)?;
    let name = key(&line[..name]).to_lowercase();
    let (story, summary) = section;
    let mut end = place + digits;
    let kind = match name.trim_matches(|c: char| !c.is_alphanumeric()) {
        "story progress" | "overall progress" => {
            let behind = value[digits..].trim_start().strip_prefix('/')?.trim_start();
            let (of, digits) = number(behind)?;
            end = at.end - behind.len() + digits;
            Kind::Progress { done: first, of, story }
        }
        "total tasks" => Kind::Tasks(first),
        "total" if summary => Kind::Tasks(first),
        "completed" | "done" if summary => Kind::Done(first),
        "pending" | "remaining" if summary => Kind::Open(first),
        _ => return None,
    };
    Some(Total { at: place..end, kind })
}

/// Say where they disagree with what is there.
pub(super) fn compare(list: &Todolist, found: &mut Problems) {
    if list.totals.is_empty() {
        return;
    }
    // Some count the tasks that only tables have, others do not.
    let count = |is: &dyn Fn(&&Task) -> bool| -> [usize; 2] {
        let all = list.tasks.iter().filter(is).count();
        [all, all - list.tasks.iter().filter(|task| task.in_table).filter(is).count()]
    };
    let (total, done) = (count(&|_| true), count(&|task| task.is_done()));
    let open = [total[0] - done[0], total[1] - done[1]];
    let (of_stories, in_sections) = (by_story(list, |task| task.story), by_story(list, |task| task.section));
    for said in &list.totals {
        let (message, is_right) = match said.kind {
            Kind::Tasks(tasks) => {
                (format!("this says {tasks} tasks, but there are {}", total[0]), total.contains(&tasks))
            }
            Kind::Done(tasks) => {
                (format!("this says {tasks} are done, but {} are", done[0]), done.contains(&tasks))
            }
            Kind::Open(tasks) => {
                (format!("this says {tasks} are open, but {} are", open[0]), open.contains(&tasks))
            }
            Kind::Progress { done: ticked, of, story: None } => (
                format!("this says {ticked} of {of}, but it is {} of {}", done[0], total[0]),
                done.contains(&ticked) && total.contains(&of),
            ),
            Kind::Progress { done, of, story: Some(story) } => {
                let (section, own) = (in_sections[story], of_stories[story]);
                let message = format!("this says {done} of {of}, but it is {} of {}", section.0, section.1);
                (message, (done, of) == section || (done, of) == own)
            }
        };
        if !is_right {
            found.push(Diagnostic::warning(said.at.clone(), message).label("the boxes decide"));
        }
    }
}

/// For each story how many of its tasks are done, of how many.
fn by_story(list: &Todolist, story: impl Fn(&Task) -> Option<usize>) -> Vec<(usize, usize)> {
    let mut counts = vec![(0, 0); list.stories.len()];
    for task in &list.tasks {
        if let Some(count) = story(task).and_then(|story| counts.get_mut(story)) {
            *count = (count.0 + usize::from(task.is_done()), count.1 + 1);
        }
    }
    counts
}
