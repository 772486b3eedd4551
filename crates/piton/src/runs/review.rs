//! Comments of people on lines of a task's work.

use camino::Utf8Path;
use piton_core::plan::{AboutTask, GroupId, Oid, RepoPath, RunId, TaskId};
use piton_core::run::{Comment, Event, Note, Place, Side, Status, lines_of};
use piton_core::system::Addition;
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use piton_engine::git::{FileVersions, Repo};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::runs::changes::{Changes, MOST_SHOWN};
use crate::runs::find;

/// The work of a task as it is now, with what was said about it.
pub(crate) struct Review {
    pub status: Status,
    pub files: Vec<FileVersions>,
    /// The same work as git shows it.
    diff: String,
    /// That is only its beginning.
    is_cut: bool,
    pub comments: Vec<Known>,
    /// Why there is no work to look at.
    pub nothing: Option<Failure>,
    repo: Option<Repo>,
}

/// A comment in the journal.
pub(crate) struct Known {
    /// Where it stands in the journal.
    pub id: u64,
    pub by: String,
    pub at: Timestamp,
    pub comment: Comment,
    pub is_sent: bool,
    /// Where its lines are in the work as it is now.
    pub place: Place,
}

/// A comment that a program hands over for a person.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    file: String,
    #[serde(default = "after_the_work")]
    side: Side,
    line: u32,
    #[serde(default = "one")]
    lines: u32,
    /// The content that the person saw.
    blob: Option<Oid>,
    /// The lines that the person saw, if the program knows them.
    #[serde(default)]
    quote: Option<String>,
    text: String,
}

fn after_the_work() -> Side {
    Side::New
}

fn one() -> u32 {
    1
}

/// Which lines of which file a person means.
pub(crate) struct Lines {
    pub file: String,
    pub line: u32,
    pub lines: u32,
}

impl Review {
    pub(crate) fn find(project: &Project, journal: &Journal, run: &RunId, id: &TaskId) -> Outcome<Review> {
        let task = journal.task(run, id)?.ok_or_else(|| find::no_task(journal, run, id))?;
        let (mut files, mut diff, mut is_cut) = (Vec::new(), String::new(), false);
        let (repo, nothing) = match Changes::find(project, journal, run, id, MOST_SHOWN) {
            Ok(changes) => {
                for (from, to) in &changes.ranges {
                    let versions = changes.repo.file_versions(from, to)?;
                    files.extend(versions.into_iter().filter(|found| changes.files.contains(&found.file)));
                }
                (diff, is_cut) = (changes.text, changes.is_cut);
                (Some(changes.repo), None)
            }
            Err(failure) => (project.repo_or_store()?.cloned(), Some(failure)),
        };
        let (status, comments) = (task.status(), Vec::new());
        let mut review = Review { status, files, diff, is_cut, comments, nothing, repo };
        for recorded in journal.events(run, 0, Some(id), usize::MAX)? {
            match recorded.event {
                Event::Noted { by, note: Note::Commented { comment, .. } } => {
                    let (id, at, comment) = (recorded.seq, recorded.at, *comment);
                    let place = review.place(&comment);
                    review.comments.push(Known { id, by, at, comment, is_sent: false, place });
                }
                Event::Noted { note: Note::CommentDropped { comment, .. }, .. } => {
                    review.comments.retain(|known| known.id != comment);
                }
                Event::CommentsSent { comments, .. } => {
                    let sent = review.comments.iter_mut().filter(|known| comments.contains(&known.id));
                    sent.for_each(|known| known.is_sent = true);
                }
                _ => {}
            }
        }
        Ok(review)
    }

    fn text_of(&self, blob: Option<&Oid>) -> Option<String> {
        self.repo.as_ref()?.text_of(blob?)
    }

    fn place(&self, comment: &Comment) -> Place {
        let versions = self.files.iter().find(|found| found.file == comment.file.as_str());
        let now = versions.and_then(|found| version(found, comment.side));
        match now {
            Some(now) if *now == comment.blob => Place::Here,
            // Without work to look at, nothing is known of its lines.
            _ if self.nothing.is_some() => Place::Unknown,
            now => comment.place(self.text_of(Some(&comment.blob)).as_deref(), self.text_of(now).as_deref()),
        }
    }

    /// Both texts of a file; `None` if one of them is not text.
    pub(crate) fn texts(&self, found: &FileVersions) -> Option<(String, String)> {
        let text = |blob: Option<&Oid>| match blob {
            None => Some(String::new()),
            blob => self.text_of(blob),
        };
        Some((text(found.old.as_ref())?, text(found.new.as_ref())?))
    }

    /// Keep the content that a comment is about, also where nothing else keeps it yet.
    pub(crate) fn keep(&self, project: &Project, comment: &Comment) -> Outcome {
        if let (Some(repo), Some(text)) = (project.repo_or_store()?, self.text_of(Some(&comment.blob))) {
            repo.keep_text(&text)?;
        }
        Ok(())
    }

    /// A comment on lines as they are now. `seen` is the content that its author saw, where that is known.
    pub(crate) fn comment(
        &self,
        Lines { file, line, lines }: Lines,
        side: Side,
        seen: Option<&Oid>,
        text: &str,
    ) -> Outcome<Comment> {
        if let Some(failure) = &self.nothing {
            return Err(Failure::new(failure.message.clone()));
        }
        let text = clean_text(text.as_bytes()).trim().to_owned();
        if text.is_empty() {
            return Err(Failure::usage("the comment is empty"));
        }
        if text.len() > Comment::LONGEST {
            return Err(Failure::usage(format!("the comment is longer than {} bytes", Comment::LONGEST)));
        }
        if lines == 0 || lines > Comment::MOST_LINES {
            return Err(Failure::usage(format!("a comment is about 1 to {} lines", Comment::MOST_LINES)));
        }
        // What was done in several parts may have several versions of a file.
        let is_seen = |found: &&FileVersions| seen.is_none() || version(found, side) == seen;
        let named = self.files.iter().filter(|found| found.file == file);
        let found = named.clone().find(is_seen).or(named.clone().next()).ok_or_else(|| {
            let names: Vec<&str> = self.files.iter().map(|found| found.file.as_str()).take(10).collect();
            Failure::new(format!("the work has not changed the file {file}; it changes {}", names.join(", ")))
        })?;
        let when = if side == Side::New { "after" } else { "before" };
        let blob = version(found, side)
            .ok_or_else(|| Failure::new(format!("there is no file {file} {when} the work")))?;
        if let Some(seen) = seen.filter(|seen| *seen != blob) {
            let was = self.text_of(Some(seen));
            let then = was.as_deref().and_then(|was| lines_of(was, line, lines));
            let path = RepoPath::new(&file).map_err(|error| Failure::new(error.to_string()))?;
            let quote = then.unwrap_or_default();
            let comment = Comment { file: path, side, blob: seen.clone(), line, lines, quote, text };
            let now = match self.place(&comment) {
                Place::Moved { now_line } => format!("is now at line {now_line}"),
                Place::Gone => "no longer exists".to_owned(),
                Place::Here | Place::Unknown => "has to be looked at again".to_owned(),
            };
            let place = comment.shown_place();
            return Err(Failure::new(format!("{file} has changed since you looked at it: {place} {now}")));
        }
        let content =
            self.text_of(Some(blob)).ok_or_else(|| Failure::new(format!("{file} is not a text file")))?;
        let quote = lines_of(&content, line, lines).ok_or_else(|| {
            let has = content.lines().count();
            Failure::new(format!(
                "{file} has {has} lines {when} the work: there is no line {}",
                line + lines - 1
            ))
        })?;
        let file = RepoPath::new(&file).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Comment { file, side, blob: blob.clone(), line, lines, quote, text })
    }

    /// Comments on lines as their author saw them: all of them, or none. One that the same person has written already and
    /// not sent is not written again.
    pub(crate) fn comments(&self, given: Vec<Given>, by: &str) -> Outcome<Vec<Comment>> {
        let all = given.len();
        let (mut comments, mut refused) = (Vec::new(), Vec::new());
        for Given { file, side, line, lines, blob, quote, text } in given {
            let comment = self.comment(Lines { file, line, lines }, side, blob.as_ref(), &text);
            match comment.and_then(|comment| quotes(comment, quote.as_deref())) {
                Ok(comment) => comments.push(comment),
                Err(failure) => refused.push(failure),
            }
        }
        if refused.len() > 1 {
            let why: Vec<&str> = refused.iter().map(|failure| failure.message.as_str()).collect();
            let text = format!("{} of {all} comments cannot be taken: {}", refused.len(), why.join("; "));
            return Err(Failure::new(text));
        }
        if let Some(failure) = refused.pop() {
            return Err(failure);
        }
        let is_known = |comment: &Comment| {
            self.comments.iter().any(|known| !known.is_sent && known.by == by && known.comment == *comment)
        };
        comments.retain(|comment| !is_known(comment));
        Ok(comments)
    }

    /// Those of a person that have not been sent, by their places in the journal.
    pub(crate) fn unsent(&self, by: &str) -> Vec<u64> {
        self.comments.iter().filter(|known| !known.is_sent && known.by == by).map(|known| known.id).collect()
    }

    /// The task that follows up on a completed one. Its text has all the comments.
    pub(crate) fn follow_up(
        &self,
        id: TaskId,
        on: &TaskId,
        layer: Option<GroupId>,
        sent: &[u64],
        checks: Option<Vec<String>>,
    ) -> Addition {
        let comments: Vec<&Known> = self.comments.iter().filter(|known| sent.contains(&known.id)).collect();
        let mut files: Vec<RepoPath> = comments.iter().map(|known| known.comment.file.clone()).collect();
        files.sort();
        files.dedup();
        let said = comments.iter().map(|Known { by, comment, .. }| {
            let quote: String = comment.quote.lines().map(|line| format!("    {line}\n")).collect();
            let text = clean_text(comment.text.as_bytes());
            format!("{}, where it says\n\n{quote}\n{by}: {text}\n", comment.shown_place())
        });
        let said: Vec<String> = said.collect();
        let description = format!(
            "The work of {on} has landed. A person has read it and wants changes. Heed each comment. The lines may have \
             moved since.\n\n{}",
            said.join("\n")
        );
        Addition {
            id,
            title: format!("Heed the review of {on}"),
            description: Some(clean_text(description.as_bytes())),
            layer,
            after: vec![on.clone()],
            files,
            checks,
            about: AboutTask::default(),
        }
    }

    pub(crate) fn document(&self, run: &RunId, task: &TaskId) -> Value {
        let is_completed = self.status == Status::Completed;
        let comments: Vec<Value> = self.comments.iter().map(Known::document).collect();
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|found| json!({ "file": found.file, "old_blob": found.old, "new_blob": found.new }))
            .collect();
        json!({
            "run": run, "task": task, "status": self.status,
            "sends_to": if is_completed { "follow-up task" } else { "next attempt" },
            "comments": comments, "files": files, "diff": self.diff, "cut": self.is_cut,
            "nothing": self.nothing.as_ref().map(|failure| &failure.message),
        })
    }
}

impl Known {
    fn document(&self) -> Value {
        let Comment { file, side, blob, line, lines, quote, text } = &self.comment;
        let (place, now_line) = match self.place {
            Place::Here => ("here", None),
            Place::Moved { now_line } => ("moved", Some(now_line)),
            Place::Gone => ("gone", None),
            Place::Unknown => ("unknown", None),
        };
        json!({
            "id": self.id, "by": self.by, "at": self.at, "file": file, "side": side, "blob": blob,
            "line": line, "lines": lines, "quote": quote, "text": text,
            "sent": self.is_sent, "place": place, "now_line": now_line,
        })
    }
}

impl Lines {
    /// From `FILE:LINE` or `FILE:FIRST-LAST`.
    pub(crate) fn parse(text: &str) -> Result<Lines, String> {
        let wrong = || format!("`{text}` is not FILE:LINE or FILE:FIRST-LAST");
        let (file, lines) = text.rsplit_once(':').filter(|(file, _)| !file.is_empty()).ok_or_else(wrong)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0).ok_or_else(wrong);
        let (line, last) = (number(first)?, number(last)?);
        let lines = last.checked_sub(line).and_then(|more| more.checked_add(1)).ok_or_else(wrong)?;
        let file = Utf8Path::new(file).as_str().trim_start_matches("./").to_owned();
        Ok(Lines { file, line, lines })
    }
}

/// A comment whose author saw these very lines. A program that reads a difference wrongly must not put it on others.
fn quotes(comment: Comment, seen: Option<&str>) -> Outcome<Comment> {
    let is_same = |seen: &str| seen.lines().eq(comment.quote.lines());
    match seen.is_none_or(is_same) {
        true => Ok(comment),
        false => {
            let (file, place) = (&comment.file, comment.shown_place());
            let why = format!("{file} has changed since you looked at it: {place} says something else");
            Err(Failure::new(why))
        }
    }
}

fn version(found: &FileVersions, side: Side) -> Option<&Oid> {
    match side {
        Side::New => found.new.as_ref(),
        Side::Old => found.old.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_as_editors_name_them() {
        let read = |text: &str| Lines::parse(text).map(|found| (found.file, found.line, found.lines));
        assert_eq!(read("src/a.rs:41"), Ok(("src/a.rs".to_owned(), 41, 1)));
        assert_eq!(read("./a:b.rs:41-43"), Ok(("a:b.rs".to_owned(), 41, 3)));
        for wrong in ["a.rs", ":4", "a.rs:0", "a.rs:5-4", "a.rs:x", "a.rs:-1", "a.rs:1-4294967296"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
