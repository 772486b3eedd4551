//! What an edit of the file asks for, unit by unit.
//!
//! The file is compared with the projection that it was, at its own `piton_seq`. What is derived is dropped in silence:
//! people who keep this file by hand count iterations and confirmations, and move the current unit on.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::file::{FILE, ROOT};
use super::read::{UNITS, commit, line};
use super::words::{PhaseWord, UnitWord, waits};
use crate::plan::{Mode, TaskId};
use crate::run::{Command, CommitMade, Report};
use crate::system::edit::{self, Edit, What, changes};
use crate::system::iterative::Iterations;
use crate::system::kit::diff::{self, Pair, differs, text_of};
use crate::system::kit::shape;
use crate::system::kit::status::TaskStatus;

/// What was changed between the projection that the file was and what it is now.
pub fn edits(shown: &Value, found: &Value) -> Vec<Edit> {
    let mut listener = Listener::new();
    if shown == found {
        return listener.edits;
    }
    if !found.is_object() {
        listener.reject(None, "the file changed".to_owned(), "it must be an object");
        return listener.edits;
    }
    listener.given(shown, found);
    UNITS.into_iter().for_each(|name| listener.units(shown, found, name));
    let mut carried = listener.carried(shown, found);
    listener.commits(shown, found, &mut carried);
    listener.phase(shown, found, &mut carried);
    listener.carried = carried;
    listener.finish()
}

/// The commands that follow from an edit of this file; see [`edit::commands`].
pub fn commands(edit: &Edit, by: &str) -> Vec<Command> {
    edit::commands(edit, by, FILE)
}

type Listener = diff::Listener<Iterations>;

impl Listener {
    /// What the brief says is changed there.
    fn given(&mut self, shown: &Value, found: &Value) {
        for name in ["task", "slug", "mode", "domain"] {
            let (before, after) = (&shown[name], &found[name]);
            let is_same =
                name == "mode" && after.as_str().and_then(Mode::read).map(Mode::word) == before.as_str();
            if differs(before, after) && !is_same {
                self.reject(None, format!("`{name}` changed"), "this cannot be changed here");
            }
        }
    }

    fn units(&mut self, shown: &Value, found: &Value, name: &str) {
        let none = Map::new();
        let before = shown[name].as_object().unwrap_or(&none);
        let after = match &found[name] {
            Value::Object(after) if !after.is_empty() || before.is_empty() => after,
            Value::Null if before.is_empty() => return,
            Value::Object(_) | Value::Null => {
                return self.reject(None, format!("`{name}` was removed"), "only the list defines units");
            }
            _ => return self.reject(None, format!("`{name}` changed"), "it must be an object"),
        };
        for (name, before) in before {
            let Ok(id) = TaskId::new(name) else { continue };
            match after.get(name) {
                Some(after) if after == before => {}
                Some(after) if after.is_object() => self.unit(&Pair { id, before, after }),
                Some(_) => self.reject(Some(&id), format!("{id} changed"), "a unit must be an object"),
                None => self.reject(Some(&id), format!("{id} was removed"), "only the list defines units"),
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let id = TaskId::new(name).ok();
            self.reject(id.as_ref(), format!("a unit {name:?} was added"), "the list has no such unit");
        }
    }

    fn unit(&mut self, pair: &Pair) {
        let Pair { id, before, after } = pair;
        self.limit(pair);
        let shown = before["status"].as_str().and_then(UnitWord::exact).unwrap_or(UnitWord::Pending);
        let status = &after["status"];
        let (word, meant) = match (status, status.as_str().and_then(UnitWord::parse_lenient)) {
            (Value::Null, _) => ("", shown),
            (_, Some(meant)) => (status.as_str().unwrap_or_default(), meant.word),
            (_, None) => {
                let what = format!("the status of {id} is {status}");
                return self.reject(Some(id), what, "this is not a status of a unit");
            }
        };
        let reason = text_of(&after["reason"]);
        let is_new = reason.is_some() && reason != text_of(&before["reason"]);
        let cause = |otherwise: &str| match reason {
            Some(reason) => reason.to_owned(),
            None => format!("{otherwise} in {FILE}"),
        };
        let report = Report::default();
        let foreign = word.trim().to_lowercase();
        let failed = UnitWord::exact(word).is_none()
            && TaskStatus::parse_lenient(word).is_some_and(|meant| meant.word == TaskStatus::Failed);
        use UnitWord::{Blocked, Confirming, Done, InProgress, Pending, Timeout, Verifying};
        let wish = match (shown, meant) {
            _ if before["status"] == *status => None,
            _ if foreign == "skipped" => Some(What::Skip),
            _ if failed => Some(What::Failed { reason: cause("marked as failed"), report }),
            (shown, same) if same == shown => None,
            // What only waits for another unit is shown as waiting anyway.
            (Pending, Blocked) if reason.is_some_and(waits) => None,
            (_, Pending) => Some(What::Reset),
            (_, Blocked) => Some(What::Blocked { reason: cause("marked as blocked"), report }),
            (_, Timeout) => Some(What::Abandon { reason: cause("abandoned") }),
            (_, Done) => Some(What::ReportDone { report }),
            (Blocked | Timeout, InProgress | Confirming | Verifying) => Some(What::Retry { start: true }),
            (Pending | Done, InProgress | Confirming | Verifying) => Some(What::Start),
            // Which gate it is at, the run knows better.
            (InProgress | Confirming | Verifying, InProgress | Confirming | Verifying) => None,
        };
        let noted = wish.is_none() && is_new && !reason.is_some_and(waits);
        if let Some(wish) = wish {
            self.request(id, wish);
        }
        if let Some(reason) = reason.filter(|_| noted) {
            self.request(id, What::Noted { text: reason.to_owned() });
        }
    }

    /// More iterations are allowed by writing them down.
    fn limit(&mut self, pair: &Pair) {
        let (was, is) = (whole(&pair.before["max_iterations"]), &pair.after["max_iterations"]);
        if is.is_null() || whole(is) == was {
            return;
        }
        match whole(is) {
            Some(attempts @ 1..=100) => self.request(&pair.id, What::Raise { attempts }),
            _ => {
                let what = format!("`max_iterations` of {} is {is}", pair.id);
                self.reject(Some(&pair.id), what, "a whole number from 1 to 100");
            }
        }
    }

    /// Commits that were not listed before, for the unit that is worked on; else they are carried along.
    fn commits(&mut self, shown: &Value, found: &Value, carried: &mut Map<String, Value>) {
        let Value::Array(lines) = &found["commits"] else {
            if !found["commits"].is_null() {
                self.reject(None, "`commits` changed".to_owned(), "it must be a list");
            }
            return;
        };
        let known = shown["commits"].as_array().into_iter().flatten().map(Value::to_string);
        let known: HashSet<String> = known.collect();
        let new: Vec<&Value> = lines.iter().filter(|line| !known.contains(&line.to_string())).collect();
        let commits: Vec<CommitMade> = new.iter().filter_map(|line| commit(line)).collect();
        if let Some(odd) = new.iter().find(|line| commit(line).is_none()) {
            self.reject(None, format!("a commit is {odd}"), "like \"abc1234: Do it\"");
        }
        if commits.is_empty() {
            return;
        }
        let is_unit = |id: &&str| UNITS.iter().any(|name| shown[*name].get(id).is_some());
        let current = ["current_task", "current_phase"].iter().find_map(|name| found[*name].as_str());
        match current.filter(is_unit).and_then(|id| TaskId::new(id).ok()) {
            Some(id) => self.request(&id, What::Report { report: Report { commits, ..Report::default() } }),
            None => {
                let all = lines.iter().filter_map(commit).map(|commit| line(&commit));
                carried.insert("commits".to_owned(), all.collect());
            }
        }
    }

    /// A phase that the run cannot know is kept as it was written. The others are derived.
    fn phase(&mut self, shown: &Value, found: &Value, carried: &mut Map<String, Value>) {
        let (before, after) = (&shown["phase"], &found["phase"]);
        if !differs(before, after) {
            return;
        }
        let shown = before.as_str().and_then(PhaseWord::exact);
        match (shown, after.as_str().and_then(PhaseWord::parse_lenient).map(|meant| meant.word)) {
            (_, None) => self.reject(None, format!("`phase` is {after}"), "this is not a phase"),
            (
                Some(PhaseWord::Discover | PhaseWord::Plan),
                Some(said @ (PhaseWord::Discover | PhaseWord::Plan)),
            )
            | (
                Some(PhaseWord::Deliver | PhaseWord::Complete),
                Some(said @ (PhaseWord::Deliver | PhaseWord::Complete)),
            ) => {
                carried.insert("phase".to_owned(), said.word().into());
            }
            (_, Some(PhaseWord::Deliver | PhaseWord::Complete)) => {
                self.reject(None, format!("`phase` is {after}"), "not everything is done and reviewed");
            }
            (_, Some(_)) => {}
        }
    }

    /// Fields of other programs. Removing a unit from the file does not remove it from the run.
    fn carried(&self, shown: &Value, found: &Value) -> Map<String, Value> {
        let (before, mut after) = (shape::foreign(shown, &ROOT), shape::foreign(found, &ROOT));
        for name in UNITS {
            let Some(Value::Object(known)) = before.get(name) else { continue };
            let Value::Object(kept) = after.entry(name).or_insert_with(|| Value::Object(Map::new())) else {
                continue;
            };
            for (id, fields) in known.iter().filter(|(id, _)| found[name].get(id.as_str()).is_none()) {
                kept.entry(id).or_insert_with(|| fields.clone());
            }
        }
        changes(&before, &after)
    }
}

/// A count; some write it in quotes.
fn whole(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok()
}
