//! What a host says about a request elsewhere than in its answer about the request: which jobs failed and what they printed,
//! what reviewers want, and whose word counts.

use std::collections::BTreeSet;

use piton_core::host::gitlab::{self, Notes};
use piton_core::host::request::{self as words, Ask};
use piton_core::host::{Failure, Kind, Place};
use piton_core::plan::Oid;
use piton_core::run::request::{Phase, RedCheck, Review, Seen};
use piton_core::terminal::clean_text;

use super::order::Trouble;
use crate::secrets;

/// What an agent gets of the output of the host's checks: the end of it, which names the error.
const LOG: usize = 12_000;
/// The output of so many checks. What breaks more of them at once shows in the first.
const LOGS: usize = 3;

/// Asks about one request. `ask` returns the host's answer, or why there is none.
pub(super) struct Enquiry<'a> {
    pub(super) place: &'a Place,
    pub(super) number: u64,
    pub(super) ask: &'a dyn Fn(Ask) -> Result<Result<Vec<u8>, Failure>, Trouble>,
}

impl Enquiry<'_> {
    /// What is asked for. `Ok(Ok(None))`: the host does not have it. `Ok(Err)`: it does not say so now.
    fn answer(&self, ask: Ask) -> Result<Result<Option<Vec<u8>>, Failure>, Trouble> {
        Ok(match (self.ask)(ask)? {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) if failure.passes() => Err(failure),
            Err(_) => Ok(None),
        })
    }

    /// Add to `seen` what GitLab does not say in `view`, its answer about the request.
    pub(super) fn complete(&self, seen: &mut Seen, view: &[u8]) -> Result<Result<(), Failure>, Trouble> {
        if self.place.kind != Kind::GitLab || seen.phase != Phase::Open {
            return Ok(Ok(()));
        }
        match self.in_jobs(std::mem::take(&mut seen.red))? {
            Ok(red) => seen.red = red,
            Err(failure) => return Ok(Err(failure)),
        }
        let asking = match gitlab::verdicts(self.place, self.number, view) {
            None => BTreeSet::new(),
            Some(ask) => match self.answer(ask)? {
                Ok(answer) => {
                    let all = answer.and_then(|answer| gitlab::asking_for_changes(&answer).ok());
                    match self.with_a_say(all.unwrap_or_default())? {
                        Ok(asking) => asking,
                        Err(failure) => return Ok(Err(failure)),
                    }
                }
                Err(failure) => return Ok(Err(failure)),
            },
        };
        if !asking.is_empty() {
            seen.review = Review::ChangesWanted;
        }
        // Nobody reads remarks before an agent has something to do.
        let is_red = !seen.red.is_empty() && seen.pending.is_empty();
        if !is_red && seen.review != Review::ChangesWanted {
            return Ok(Ok(()));
        }
        let notes = match self.answer(gitlab::notes(self.place, self.number))? {
            Ok(Some(answer)) => Notes::read(&answer),
            Ok(None) => return Ok(Ok(())),
            Err(failure) => return Ok(Err(failure)),
        };
        let Ok(notes) = notes else { return Ok(Ok(())) };
        Ok(self.with_a_say(notes.authors())?.map(|have_a_say| notes.sort_into(seen, &have_a_say, &asking)))
    }

    /// A red pipeline as the jobs that failed in it.
    fn in_jobs(&self, red: Vec<RedCheck>) -> Result<Result<Vec<RedCheck>, Failure>, Trouble> {
        let Some(ask) = gitlab::failed_jobs(self.place, &red) else { return Ok(Ok(red)) };
        Ok(self.answer(ask)?.map(|answer| {
            let jobs = answer.and_then(|answer| gitlab::red_jobs(&answer).ok()).unwrap_or_default();
            // A pipeline may be red without any job that is, if its file is wrong.
            if jobs.is_empty() { red } else { jobs }
        }))
    }

    /// Which checks are red on the target itself.
    pub(super) fn red_on_target(
        &self,
        target: &str,
        tip: &Oid,
    ) -> Result<Result<BTreeSet<String>, Failure>, Trouble> {
        let mut names = BTreeSet::new();
        for ask in words::target_checks(self.place, target, tip) {
            let answer = match self.answer(ask)? {
                Ok(Some(answer)) => answer,
                // A repository without such checks has none that are red.
                Ok(None) => continue,
                Err(failure) => return Ok(Err(failure)),
            };
            match self.place.kind {
                Kind::GitHub => names.extend(words::red_names(&answer).unwrap_or_default()),
                Kind::GitLab => match self.in_jobs(gitlab::red_pipeline(&answer).unwrap_or_default())? {
                    Ok(red) => names.extend(red.into_iter().map(|check| check.name)),
                    Err(failure) => return Ok(Err(failure)),
                },
            }
        }
        Ok(Ok(names))
    }

    /// Those of these people whose word counts.
    fn with_a_say(&self, people: BTreeSet<u64>) -> Result<Result<BTreeSet<u64>, Failure>, Trouble> {
        let mut have = BTreeSet::new();
        for person in people {
            match self.answer(gitlab::member(self.place, person))? {
                Ok(Some(answer)) if gitlab::has_a_say(&answer) == Ok(true) => drop(have.insert(person)),
                // Whoever is not a member is not found.
                Ok(_) => {}
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(have))
    }

    /// Remarks on lines, which GitHub keeps beside the request.
    pub(super) fn add_line_remarks(&self, seen: &mut Seen) -> Result<(), Trouble> {
        if let (Some(ask), false) = (words::line_remarks(self.place, self.number), seen.wanted.is_empty())
            // Without them the agent reads the review alone.
            && let Ok(answer) = (self.ask)(ask)?
            && let Ok(remarks) = words::remarks_on_lines(&answer)
        {
            seen.remarks.extend(remarks);
        }
        Ok(())
    }

    /// The end of what the red checks printed.
    pub(super) fn log(&self, seen: &Seen) -> Result<String, Trouble> {
        let mut asks: Vec<Ask> = Vec::new();
        for ask in seen.red.iter().filter_map(|check| words::log(self.place, check)) {
            if asks.len() < LOGS && !asks.contains(&ask) {
                asks.push(ask);
            }
        }
        let share = LOG / asks.len().max(1);
        let mut log = String::new();
        for ask in asks {
            if let Ok(answer) = (self.ask)(ask)? {
                // A secret that is cut in two would not be known any more.
                log += end_of(&clean_text(&secrets::redactor().bytes(&answer)), share);
                if !log.ends_with('\n') {
                    log.push('\n');
                }
            }
        }
        Ok(log)
    }
}

/// The end of a text, from the beginning of a line.
fn end_of(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = &text[from..];
    match (from, end.split_once('\n')) {
        (1.., Some((_, whole))) => whole,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_begins_with_a_whole_line() {
        assert_eq!(end_of("one\ntwo\nthree\n", 9), "three\n");
        assert_eq!(end_of("one\n", 9), "one\n");
        assert_eq!(end_of("äöü", 3), "ü");
    }
}
