//! Imports what the log and git say, and compares it with what a state file says. And collects lessons of finished
//! work.

use std::collections::BTreeMap;

use super::guardrails;
use super::progress;
use super::rebuild::{self, Believed, Claim, Outputs, Rebuilt, Unit};
use super::state::{FILE, ForeignState, ForeignUnit};
use crate::history::{LastWord, StandIn, Target, name_of};
use crate::order::Pairs;
use crate::plan::{Argv, Iterative, Mode, Oid, TaskId, TaskSpec};
use crate::run::{Claim as Claimed, Command, ImportedCommit, ImportedTask, Note, Report, Status};
use crate::system::kit::takeover::{
    self, Belief, Compared, Evidence, Files, Legacy, Lessons, Line, Questions, Refused, Takeover,
};
use crate::view::counted;

/// What the files of a folder say about its units.
#[derive(Debug)]
pub struct Left<'a> {
    pub about: &'a Iterative,
    pub state: ForeignState,
    /// The log of iterations.
    pub log: String,
    pub lessons: Lessons,
}

impl Lessons {
    /// What was learned in finished work and does not stand here yet, each with where it is from.
    pub fn new_here(&self) -> Vec<(String, String)> {
        let mut known = self.known.clone();
        let mut new = Vec::new();
        for (name, text) in &self.archived {
            let Some(more) = guardrails::seed(Some(&known), text) else { continue };
            let both = format!("{known}{more}");
            let from = format!("{ARCHIVE}/{name}");
            new.extend(guardrails::added(&known, &both).into_iter().map(|text| (from.clone(), text)));
            known = both;
        }
        new
    }

    /// How many those are, if there are any.
    pub fn line(new: &[(String, String)]) -> Option<String> {
        (!new.is_empty()).then(|| format!("{} from the archive", counted(new.len() as u64, "guardrail")))
    }
}

/// The folder of finished work, next to the open folders.
pub const ARCHIVE: &str = "archive";

impl Left<'_> {
    fn units<'s>(&self, specs: &'s [TaskSpec]) -> impl Iterator<Item = &'s TaskSpec> {
        specs.iter().filter(|spec| self.about.units.contains_key(&spec.id))
    }

    /// The commits that the log names, in its order.
    fn logged(&self) -> BTreeMap<TaskId, Vec<String>> {
        let mut named: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
        for entry in progress::entries(&self.log) {
            if let Some(unit) = entry.head.unit.filter(|_| !entry.commit.is_empty()) {
                named.entry(unit).or_default().push(name_of(&entry.commit));
            }
        }
        named
    }

    /// What exists of each unit: its commits, or without git, the files that it makes.
    fn found(&self, specs: &[TaskSpec], evidence: &Evidence) -> Vec<Unit> {
        let logged = self.logged();
        let unit = |spec: &TaskSpec| {
            let hashes = logged.get(&spec.id).map(Vec::as_slice).unwrap_or_default();
            let git = evidence.target.as_ref().map(|target| in_git(spec, target, hashes));
            let outputs = match evidence.missing.contains_key(&spec.id) {
                _ if makes(spec).is_empty() || git.is_some() => Outputs::NotAsked,
                true => Outputs::Missing,
                false => Outputs::Exist,
            };
            let (commits, landed) = git.unwrap_or_default();
            let raised = self.state.units.get(&spec.id).and_then(|told| told.limit).unwrap_or_default();
            Unit { id: spec.id.clone(), limit: spec.attempts.max(raised), commits, landed, outputs }
        };
        self.units(specs).map(unit).collect()
    }
}

impl Legacy for Left<'_> {
    fn questions(&self, specs: &[TaskSpec]) -> Questions {
        // Work that is not code is not committed: its files exist, or they do not.
        let commits = (self.about.mode != Mode::Knowledge).then(|| self.logged());
        let of = self.units(specs).map(|spec| (spec.id.clone(), makes(spec))).into_map();
        let files = Files { of, onto: None, may_be_empty: false };
        Questions { commits, compared: Compared::Each, files, ..Questions::default() }
    }

    fn take_over(&self, specs: &[TaskSpec], evidence: &Evidence) -> Result<Takeover, Refused> {
        let claims: BTreeMap<TaskId, Claim> =
            self.state.units.iter().map(|(id, unit)| (id.clone(), unit.claim())).into_map();
        let orphans = takeover::orphans(specs, claims.keys());
        let open = orphans.iter().filter(|id| !claims[*id].status.is_settled());
        Refused::unless_none(open, &[], evidence)?;
        let rebuilt = rebuild::rebuild(&self.found(specs, evidence), &self.log, &claims);
        let mut taken = Takeover { orphans, ..Takeover::default() };
        tell(&rebuilt, &mut taken);
        let mut after = Vec::new();
        for (spec, believed) in self.units(specs).zip(&rebuilt.units) {
            let told = self.state.units.get(&spec.id);
            let judged = Judged { spec, believed, told, rebuilt: &rebuilt };
            taken.commands.extend(judged.adopt());
            after.extend(judged.after());
            taken.beliefs.push(judged.belief());
        }
        taken.commands.extend(after);
        let has = |id: &TaskId| specs.iter().any(|spec| spec.id == *id);
        let began = self.state.created.filter(|began| *began <= evidence.now);
        taken.commands.extend(takeover::notes(FILE, began, self.state.carried(has)));
        if let Some(text) = rebuild::logged(&rebuilt.differences, evidence.now) {
            let note = Note::Entry { task: None, text, for_next: false };
            taken.commands.push(Command::Note { by: "piton".to_owned(), note });
        }
        let new = self.lessons.new_here();
        taken.lines.extend(Lessons::line(&new).map(Line::Say));
        let lesson = |(by, text)| Command::Note { by, note: Note::Guardrail { text } };
        taken.commands.extend(new.into_iter().map(lesson));
        Ok(taken)
    }
}

/// A unit, and everything that is known about it.
struct Judged<'a> {
    spec: &'a TaskSpec,
    believed: &'a Believed,
    told: Option<&'a ForeignUnit>,
    rebuilt: &'a Rebuilt,
}

impl Judged<'_> {
    fn by(&self) -> &'static str {
        if self.told.is_some() { FILE } else { progress::FILE }
    }

    fn is_contradicted(&self) -> bool {
        self.rebuilt.differences.iter().any(|other| other.unit == self.spec.id.as_str())
    }

    fn is_done(&self, id: &TaskId) -> bool {
        let is = |one: &Believed| one.past.as_ref().is_some_and(|past| past.status == Status::Completed);
        self.rebuilt.units.iter().any(|one| one.unit == *id && is(one))
    }

    fn past(&self) -> Option<ImportedTask> {
        let mut past = self.believed.past.clone()?;
        past.confirmations = self.told.map_or(0, |told| told.confirmations);
        let told = self.told.and_then(|told| told.completed_at);
        past.completed_at = past.completed_at.or(told.filter(|_| past.status == Status::Completed));
        Some(past)
    }

    fn belief(&self) -> Belief {
        Belief {
            task: self.spec.id.clone(),
            claimed: self.told.map(|told| told.status.word()),
            past: self.past(),
            why: self.believed.why.clone(),
            corrected: self.is_contradicted(),
            worktree: None,
        }
    }

    fn adopt(&self) -> Option<Command> {
        Some(takeover::adopt(&self.spec.id, self.by(), self.past()?))
    }

    /// What follows once every unit is imported.
    fn after(&self) -> Vec<Command> {
        let (spec, told) = (self.spec, self.told);
        let (task, by) = (spec.id.clone(), self.by().to_owned());
        let mut commands = Vec::new();
        let limit =
            told.and_then(|told| told.limit).filter(|limit| (spec.attempts + 1..=100).contains(limit));
        if let Some(attempts) = limit.filter(|limit| *limit > self.believed.iterations) {
            commands.push(Command::Raise { task: task.clone(), by: by.clone(), attempts });
        }
        let is_open = !self.is_done(&task);
        let logged = self.believed.past.as_ref().and_then(blocker);
        let said = told.and_then(ForeignUnit::blocker).filter(|_| !self.is_contradicted() && is_open);
        match logged.as_deref().or(said) {
            // What has to wait for others anyway waits; its turn comes when they are done.
            Some(reason) if spec.depends_on.iter().all(|id| self.is_done(id)) => {
                commands.push(Command::Report {
                    task: task.clone(),
                    by: by.clone(),
                    fence: None,
                    claim: Claimed::Blocked { reason: reason.to_owned() },
                    report: Box::new(Report::default()),
                });
            }
            _ => {}
        }
        if told.is_some_and(|told| told.word.trim().eq_ignore_ascii_case("skipped")) && is_open {
            let reason = told.and_then(|told| told.reason.clone()).unwrap_or_default();
            commands.push(Command::Skip { task, by, reason });
        }
        commands
    }
}

/// What git has of a unit's work: commits that it knows, oldest first, and the last of them that the target holds. By what
/// messages name and by the hashes that the log names.
fn in_git(spec: &TaskSpec, target: &Target, hashes: &[String]) -> (Vec<ImportedCommit>, Option<Oid>) {
    let history = &target.history;
    let mut own = history.naming(spec);
    let logged = hashes.iter().filter_map(|hash| history.find(hash));
    own.extend(logged.filter(|place| history.is_of(*place, spec)));
    // It may have been rebased or squashed since.
    let lost: Vec<&Oid> = hashes.iter().filter_map(|hash| target.elsewhere.get(hash)).collect();
    for commit in &lost {
        if let StandIn::Found(place, _) | StandIn::Holds(place) = target.stand_in(&spec.id, commit) {
            own.push(place);
        }
    }
    own.sort_unstable();
    own.dedup();
    let landed = match history.last_word(&own) {
        Some(LastWord::Landed(place)) => Some(history.commit(place).id.clone()),
        Some(LastWord::TakenBack(_)) | None => None,
    };
    let commit = |hash: &Oid, subject: &str| ImportedCommit {
        hash: hash.to_string(),
        subject: subject.to_owned(),
        ..ImportedCommit::default()
    };
    let there = own.iter().rev().map(|place| history.commit(*place));
    let there = there.map(|known| commit(&known.id, &known.subject));
    (lost.into_iter().map(|id| commit(id, "")).chain(there).collect(), landed)
}

/// The files that a unit is to make.
fn makes(spec: &TaskSpec) -> Vec<String> {
    let file = |argv: &Argv| match argv {
        Argv::Look { file, .. } => Some(file.to_string()),
        _ => None,
    };
    spec.checks.iter().filter_map(|check| file(&check.run)).collect()
}

/// Why the log says that a person is needed.
fn blocker(past: &ImportedTask) -> Option<String> {
    let last = past.errors.last().filter(|error| error.kind == "blocked" && past.status == Status::Failed)?;
    let reason = Some(&last.message).filter(|reason| !reason.is_empty());
    Some(reason.map_or_else(|| "it does not say why".to_owned(), String::clone))
}

/// What is believed, and what of the state file is not.
fn tell(rebuilt: &Rebuilt, taken: &mut Takeover) {
    let worth: Vec<&Believed> = rebuilt.units.iter().filter(|one| one.past.is_some()).collect();
    if !worth.is_empty() {
        taken.say(format!("{} before, by the log and by git:", counted(worth.len() as u64, "unit")));
    }
    for one in worth {
        let now = one.past.as_ref().map_or("pending", |past| past.status.name());
        taken.say(format!("  {:8} {now}: {}", one.unit, one.why));
    }
    for difference in &rebuilt.differences {
        taken.say(format!("warning: {difference}"));
    }
}
