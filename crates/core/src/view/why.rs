//! Why a task is where it is: the chain of causes, what would unblock it, how long it has waited.

use std::fmt;

use serde::Serialize;

use super::landing::{in_line, policy};
use super::{after_attempts, age, counted};
use crate::plan::{Fences, TaskId};
use crate::run::{
    CheckEnding, Ending, Holder, Missing, Proof, Run, State, Status, Task, concerning, shell_word, stand_in,
    waits_for, worker,
};
use crate::time::{Span, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    pub task: TaskId,
    pub status: Status,
    /// How long it has had this status.
    pub waited_ms: Span,
    /// From the task itself to the root causes; the depth tells what follows from what.
    pub causes: Vec<Cause>,
    /// The end of what its agent said last, where that explains more than the checks do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// Commands that would help, most useful first.
    pub helps: Vec<String>,
    /// Settings that would help.
    pub settings: Vec<Setting>,
}

/// A line of a plan or of `piton.toml` that would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub line: String,
    /// The file and the table.
    pub place: String,
    pub when: String,
}

/// What the state does not hold, so that the caller looks it up.
#[expect(missing_debug_implementations, reason = "closures have nothing to show")]
pub struct Sources<'a> {
    /// An engine holds the run's lock.
    pub engine_lives: bool,
    /// Why a task failed, by the place in the journal.
    pub reason: &'a dyn Fn(u64) -> Option<String>,
    /// What its agent said last, in the same way.
    pub words: &'a dyn Fn(u64) -> Option<String>,
    /// Where its worktree is, if there is one.
    pub worktree: &'a dyn Fn(&TaskId) -> Option<String>,
    /// The first task of a group, by its id, that cannot complete as things stand.
    pub first_dead: &'a dyn Fn(u32) -> Option<TaskId>,
    /// How many tasks are proven and land before this one.
    pub ahead: &'a dyn Fn(&Task) -> usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    pub depth: u32,
    pub text: String,
}

/// More causes than anybody reads; a plan of thousands must not print them all.
const MOST: usize = 30;

/// So many places that a task was kept out of are named: the first is the cause of most others.
const MOST_REFUSALS: usize = 3;
/// As much as anybody reads of one line of an output.
const LONGEST_LINE: usize = 200;

/// Explain a task, on a state that has to hold the task and what it waits for. `None` if the run has no such task.
pub fn why(
    state: &State,
    id: &TaskId,
    now: Timestamp,
    sources: &Sources<'_>,
) -> Result<Option<Why>, Missing> {
    let (Some(run), Some(task)) = (state.run(), state.task(id)?) else { return Ok(None) };
    let mut search = Search {
        state,
        run,
        now,
        sources,
        causes: Vec::new(),
        helps: Vec::new(),
        settings: Vec::new(),
        seen: Vec::new(),
        missing: None,
    };
    search.explain(task, 0);
    if let Some(missing) = search.missing {
        return Err(missing);
    }
    let last_words = search.last_words(task);
    if let Some(reason) = run.noticed.get(id) {
        search.say(0, format!("its work was accepted, but look at it: {reason}"));
    }
    let Search { causes, helps, settings, .. } = search;
    let (task, status, waited_ms) = (id.clone(), task.status(), now.since(task.since));
    Ok(Some(Why { task, status, waited_ms, causes, last_words, helps, settings }))
}

struct Search<'a> {
    state: &'a State,
    run: &'a Run,
    now: Timestamp,
    sources: &'a Sources<'a>,
    causes: Vec<Cause>,
    helps: Vec<String>,
    settings: Vec<Setting>,
    seen: Vec<TaskId>,
    /// What the state does not hold: what was found without it does not count.
    missing: Option<Missing>,
}

impl Search<'_> {
    fn say(&mut self, depth: u32, text: impl Into<String>) {
        if self.causes.len() < MOST {
            self.causes.push(Cause { depth, text: text.into() });
        }
    }

    fn help(&mut self, command: String) {
        if !self.helps.contains(&command) {
            self.helps.push(command);
        }
    }

    fn explain(&mut self, task: &Task, depth: u32) {
        if self.seen.contains(&task.id) || self.causes.len() >= MOST {
            return;
        }
        self.seen.push(task.id.clone());
        let id = &task.id;
        let since = self.now.since(task.since);
        match task.status() {
            Status::Pending => {
                if let Some(reason) = &task.progress.unstacked {
                    self.say(depth, format!("{id} waits until what it depends on has landed: {reason}"));
                } else if task.attempt > 0 && task.progress.stacked && task.waiting > 0 {
                    self.say(depth, format!("{id} was begun on an open request, and its work is kept"));
                } else if task.attempt > 0 {
                    self.say(depth, format!("{id} was stopped with the run and will resume where it was"));
                }
                self.waiting(task, depth);
            }
            Status::Waiting => {
                for need in task.outside.iter().filter(|need| !need.done) {
                    self.say(depth, format!("{id} waits for {}, which is not completed", need.need));
                    self.help(format!("piton run {}", shell_word(&need.need.list)));
                }
                if task.waiting > 0 {
                    self.waiting(task, depth);
                }
            }
            Status::Unreachable => {
                self.say(depth, format!("{id} is skipped: a task it depends on cannot complete"));
                self.needs(task, depth + 1, Status::is_dead);
            }
            Status::Failed => {
                let reason = self.failure(task);
                let tries = format!("{} of {} attempts spent", task.spent, task.budget);
                self.say(depth, format!("{id} failed, {tries}: {reason}"));
                self.would_help(task, &reason, depth + 1);
                match task.not_before.filter(|&time| time > self.now) {
                    Some(time) => {
                        self.say(depth + 1, format!("it will be retried in {}", time.since(self.now)));
                    }
                    None => self.waiting(task, depth + 1),
                }
            }
            Status::InProgress => match &task.holder {
                Some(Holder::Ledger(name)) if !task.progress.uncommitted.is_empty() => {
                    let files = &task.progress.uncommitted;
                    self.say(depth, format!("{name} reported {id} done; that waits: {}", waits_for(files)));
                    self.help(commit_command(files, id));
                    self.help(format!("piton report {id} done --by {}", shell_word(name)));
                }
                Some(Holder::Ledger(name)) => {
                    self.say(depth, format!("{id} has been held by {name} for {since}"));
                    if let Some(process) = &task.progress.process {
                        self.say(depth + 1, format!("as long as {process} lives"));
                    }
                    self.help(format!("piton report {id} done --by {}", shell_word(name)));
                    self.help(format!("piton reset {id}"));
                }
                _ => {
                    let attempt = format!("attempt {} of {}", task.attempt, task.budget);
                    self.say(depth, format!("{id} has been in progress for {since}, {attempt}"));
                    if let Some(conflicts) = self.run.conflicts_ahead.get(id) {
                        let ahead = super::conflicts_ahead(conflicts);
                        self.say(depth + 1, format!("as it is now, its work will be in conflict {ahead}"));
                    }
                    self.standing_in(task, depth + 1);
                    self.engine(depth + 1);
                    self.help(format!("piton output {id} -f"));
                }
            },
            Status::Confirming => match &task.holder {
                Some(Holder::Ledger(name)) => {
                    self.say(depth, format!("{name} reported {id} done; someone else has to confirm it"));
                    self.help(format!("piton confirm {id}"));
                }
                _ => self.say(depth, format!("a fresh agent is looking for anything left to do in {id}")),
            },
            Status::Verifying if task.is_candidate() => self.queued(task, depth),
            Status::Verifying => {
                self.say(depth, format!("the checks of {id} have been running for {since}"));
            }
            Status::Verified => self.queued(task, depth),
            Status::Merging => match &task.progress.waits {
                Some(waits) => self.say(depth, format!("{id} is proven; landing waits: {waits}")),
                None => self.say(depth, format!("{id} is landing now")),
            },
            Status::Completed => {
                let how = match &task.proof {
                    Some(Proof::Landed { commit, .. }) => {
                        format!("landed as {}{}", commit.short(), self.where_it_landed(id))
                    }
                    Some(Proof::Checked { already: Some(reason), .. }) => {
                        format!("its checks passed; nothing had to change: {reason}")
                    }
                    Some(Proof::Checked { .. }) => "its checks passed; nothing was landed".to_owned(),
                    Some(Proof::Work { commits, .. }) => match commits.last() {
                        Some(commit) => format!("by commit {}, without a check", commit.short()),
                        None => "its files have changed, without a check".to_owned(),
                    },
                    _ if task.is_claimed() => "claimed before this run began, not proven".to_owned(),
                    Some(Proof::Reported) | None => "reported, not proven".to_owned(),
                };
                self.say(depth, format!("{id} is completed: {how}, {since} ago"));
                if let Some(kept) = &task.progress.kept {
                    self.say(depth + 1, format!("its worktree is kept: {kept}"));
                }
            }
            Status::Abandoned => {
                let reason = self.failure(task);
                let after = after_attempts(task.spent);
                self.say(depth, format!("{id} was abandoned {after}: {reason}"));
                self.would_help(task, &reason, depth + 1);
                self.look(id, &reason);
                self.help(format!("piton answer {id} 'what to do'"));
                self.help(format!("piton retry {id}"));
                self.help(format!("piton raise {id} --attempts {}", task.budget + 2));
                self.help(format!("piton skip {id}"));
            }
            Status::Blocked => {
                let reason = self.failure(task);
                self.say(depth, format!("{id} is blocked and needs a person: {reason}"));
                if task.by_person {
                    self.help(format!("piton report {id} done"));
                    self.help(format!("piton skip {id}"));
                    return;
                }
                self.would_help(task, &reason, depth + 1);
                self.help(format!("piton answer {id} 'what to do'"));
                self.help(format!("piton unblock {id}"));
                self.help(format!("piton skip {id}"));
            }
            Status::PassedOver if task.progress.left_behind => {
                let reason = self.failure(task);
                let after = after_attempts(task.spent);
                self.say(depth, format!("the run went on without {id} {after}: {reason}"));
                self.would_help(task, &reason, depth + 1);
                self.look(id, &reason);
                self.help(format!("piton retry {id}"));
            }
            Status::Skipped | Status::PassedOver => {
                let reason = task.failure_seq.and_then(|seq| (self.sources.reason)(seq));
                let why = reason.filter(|reason| !reason.is_empty());
                let why = why.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.say(depth, format!("{id} was skipped by a person{why}"));
                if task.status() == Status::PassedOver {
                    self.say(depth + 1, "it is a gate that did not pass, so the run is not complete");
                }
                self.help(format!("piton reset {id}"));
            }
        }
    }

    fn waiting(&mut self, task: &Task, depth: u32) {
        let id = &task.id;
        if task.waiting > 0 {
            let others = counted(u64::from(task.waiting), "task");
            self.say(depth, format!("{id} waits for {others} it depends on"));
            self.needs(task, depth + 1, |status| !status.satisfies());
        } else if let Some(barrier) = self.barrier(task) {
            self.say(depth, format!("{id} waits its turn: {barrier}"));
            let group = self.state.horizon().unmet_group;
            if let Some(other) = group.and_then(|group| (self.sources.first_dead)(group)) {
                self.explain_other(&other, depth + 1, |_| true);
            }
        } else if !self.sources.engine_lives {
            self.say(depth, format!("{id} is ready; no engine is working on this run"));
            let agent = worker(self.run, task);
            // Who was refused is tried again by the next engine.
            let waits = concerning(self.run, agent).all(|(_, outage)| outage.until.is_some());
            if let (true, Err(out)) = (waits, stand_in(self.run, agent, self.now)) {
                self.say(depth, format!("one would wait: {out}"));
                self.out(agent, depth + 1);
            }
            self.help(format!("piton run {}", shell_word(&self.run.plan)));
        } else if self.run.stop.is_some() {
            self.say(depth, format!("{id} is ready; the run is being stopped"));
        } else if let Err(out) = stand_in(self.run, worker(self.run, task), self.now) {
            self.say(depth, format!("{id} is ready; {out}"));
            self.out(worker(self.run, task), depth + 1);
        } else {
            let taken = self.run.places_taken();
            let slots = format!("{taken} of {} slots are taken", self.run.session.max_parallel);
            self.say(depth, format!("{id} is ready and starts when its turn comes: {slots}"));
        }
    }

    /// What it means for those who wait that a provider lets nobody work.
    fn out(&mut self, agent: &str, depth: u32) {
        let provider = self.run.provider(agent);
        if let Some(overload) = self.run.overloads.get(provider).filter(|overload| overload.is_parked) {
            let next = match overload.ask_at {
                at if at > self.now => format!("Piton asks it again in {}", at.since(self.now)),
                _ => "Piton is asking it again".to_owned(),
            };
            self.say(depth, next);
            self.help(format!("piton unpark {}", shell_word(provider)));
            return;
        }
        let Some((name, outage)) = concerning(self.run, agent).max_by_key(|(_, outage)| outage.until) else {
            return;
        };
        match outage.until {
            Some(until) if until > self.now => {
                self.say(depth, format!("it will be over in {}", until.since(self.now)));
                self.help(format!("piton unpark {}", shell_word(&name)));
            }
            Some(_) => {}
            None => {
                let (agent, plan) = (shell_word(&outage.agent), shell_word(&self.run.plan));
                self.help(format!("piton agents test {agent} --plan {plan}"));
            }
        }
        if self.run.settings.agents.get(agent).is_some_and(|agent| agent.fallback.is_none()) {
            self.say(depth, format!("`{agent}` has no `fallback` to stand in for it"));
        }
    }

    fn barrier(&self, task: &Task) -> Option<String> {
        crate::run::barrier(self.run, &self.state.horizon(), task)
    }

    fn standing_in(&mut self, task: &Task, depth: u32) {
        let (agent, meant) = (&task.progress.agent, worker(self.run, task));
        if !agent.is_empty() && agent != meant {
            self.say(depth, format!("`{agent}` stands in for `{meant}`, whose provider was out"));
        }
    }

    /// Of a run that lands as a whole: the branch that a task is on, and what brings it to the target.
    fn where_it_landed(&self, id: &TaskId) -> String {
        match (self.run.whole(), &self.run.target) {
            (Some(whole), Some(branch)) if !whole.has(id) => {
                format!(" on {branch}; a request brings it to {}", whole.into)
            }
            _ => String::new(),
        }
    }

    fn queued(&mut self, task: &Task, depth: u32) {
        if let (None, Some(standing)) = (&task.progress.waits, in_line(self.run, &task.id)) {
            self.say(depth, format!("{} {standing}", task.id));
            self.say(depth + 1, policy(self.run));
            return self.engine(depth + 1);
        }
        if task.progress.stacked && task.waiting > 0 && task.progress.waits.is_none() {
            self.say(depth, format!("{} stands on what has no open request at the moment", task.id));
            return self.needs(task, depth + 1, |status| !status.satisfies());
        }
        let ahead = (self.sources.ahead)(task) as u64;
        let is_proven = task.decided == Status::Verified;
        let (stands, next) = match is_proven {
            true => ("is proven", "is proven and lands next"),
            false => ("waits for its checks", "is checked next"),
        };
        self.say(
            depth,
            match (&task.progress.waits, ahead) {
                (Some(waits), _) => format!("{} {stands}; landing waits: {waits}", task.id),
                (None, 0) => format!("{} {next}", task.id),
                (None, n) => format!("{} {stands}; {} ahead of it in the queue", task.id, counted(n, "task")),
            },
        );
        self.engine(depth + 1);
    }

    fn engine(&mut self, depth: u32) {
        if !self.sources.engine_lives {
            self.say(depth, "no engine is working on this run at the moment");
            self.help(format!("piton run {}", shell_word(&self.run.plan)));
        }
    }

    fn needs(&mut self, task: &Task, depth: u32, which: impl Fn(Status) -> bool) {
        match self.state.links(&task.id).map(|links| links.needs.clone()) {
            Ok(needs) => needs.iter().for_each(|need| self.explain_other(need, depth, &which)),
            Err(missing) => self.miss(missing),
        }
    }

    fn explain_other(&mut self, id: &TaskId, depth: u32, which: impl Fn(Status) -> bool) {
        match self.state.task(id) {
            Ok(Some(other)) if which(other.status()) => self.explain(other, depth),
            Ok(_) => {}
            Err(missing) => self.miss(missing),
        }
    }

    fn miss(&mut self, missing: Missing) {
        self.missing.get_or_insert(missing);
    }

    /// What could be changed so that the next try does not end like that: settings, and where the work is.
    fn would_help(&mut self, task: &Task, reason: &str, depth: u32) {
        let id = &task.id;
        let own = self.of_task(id);
        let doubled = |limit: &str| {
            let limit = Span(Span::parse(limit)?.0.saturating_mul(2)).to_string();
            Some(limit.replace(" 00m", "").replace(" 00s", "").replace(' ', ""))
        };
        match Ending::of(reason) {
            Ending::Idle => {
                self.set("may_change_nothing = true", &own, "if nothing may have to change for it");
                self.set(
                    "check_first = true",
                    &own,
                    "if it may be done already: its checks run before any agent",
                );
            }
            Ending::Asked | Ending::Check { how: CheckEnding::AgentAsked, .. } => {
                let plan = shell_word(&self.run.plan);
                self.help(format!("piton answer {id} 'what to do'"));
                self.help(format!("piton run {plan} --auto-answer   lets agents decide what they would ask"));
            }
            Ending::Denied => {
                let agent = worker(self.run, task);
                let place = format!("[agents.{agent}] of {}", self.settings_file());
                self.set("permissions = \"all\"", &place, "if it may do whatever its client can do");
            }
            Ending::TimedOut { limit } => {
                let longer = doubled(limit).unwrap_or_else(|| "1h".to_owned());
                self.set(&format!("timeout = \"{longer}\""), &own, "if a try needs more time");
            }
            Ending::Silent { limit } => {
                let longer = doubled(limit).unwrap_or_else(|| "30m".to_owned());
                self.set(&format!("silence = \"{longer}\""), &own, "or \"off\", if it works silently");
            }
            Ending::Check { how: CheckEnding::Slow { limit }, .. } => {
                let longer = doubled(limit).unwrap_or_else(|| "15m".to_owned());
                let place = format!("the check, in {}", self.settings_file());
                self.set(&format!("timeout = \"{longer}\""), &place, "if the check needs more time");
            }
            Ending::Check {
                how: CheckEnding::Red | CheckEnding::NoTest | CheckEnding::NoProgram, ..
            }
            | Ending::Conflict
            | Ending::Markers
            | Ending::SelfAnswered { .. }
            | Ending::SentBack
            | Ending::NoWhy
            | Ending::Other => {}
        }
        if let Some(path) = (self.sources.worktree)(id) {
            self.say(depth, format!("its work is in {path}"));
        }
    }

    fn set(&mut self, line: &str, place: &str, when: &str) {
        let setting = Setting { line: line.to_owned(), place: place.to_owned(), when: when.to_owned() };
        if !self.settings.contains(&setting) {
            self.settings.push(setting);
        }
    }

    /// Where settings of a task stand. Plans of other systems have no words for them.
    fn of_task(&self, id: &TaskId) -> String {
        match self.run.settings.policy().holds_settings {
            true => format!("task {id} of {}", self.run.plan),
            false => "[defaults] of piton.toml".to_owned(),
        }
    }

    fn settings_file(&self) -> &str {
        if self.run.settings.policy().holds_settings { &self.run.plan } else { "piton.toml" }
    }

    /// What the agent said last, unless a check has the last word.
    fn last_words(&self, task: &Task) -> Option<String> {
        use Status::{Abandoned, Blocked, Failed, PassedOver};
        matches!(task.status(), Failed | Abandoned | Blocked | PassedOver).then_some(())?;
        let has_the_last_word = match Ending::of(&self.failure(task)) {
            Ending::Check { how, .. } => how == CheckEnding::AgentAsked,
            Ending::Conflict => false,
            Ending::Idle
            | Ending::Asked
            | Ending::Denied
            | Ending::TimedOut { .. }
            | Ending::Silent { .. }
            | Ending::Markers
            | Ending::SelfAnswered { .. }
            | Ending::SentBack
            | Ending::NoWhy
            | Ending::Other => true,
        };
        has_the_last_word.then_some(())?;
        (self.sources.words)(task.progress.said?).filter(|words| !words.trim().is_empty())
    }

    /// What was printed where it went wrong: by a check, or by the agent.
    fn look(&mut self, id: &TaskId, reason: &str) {
        let is_check = matches!(Ending::of(reason), Ending::Check { .. });
        let checks = if is_check { " --checks" } else { "" };
        self.help(format!("piton output {id}{checks}"));
    }

    fn failure(&self, task: &Task) -> String {
        task.failure_seq
            .and_then(|seq| (self.sources.reason)(seq))
            .unwrap_or_else(|| "no reason was recorded".to_owned())
    }
}

/// The first task of a group, by its id, that cannot complete; of a complete state.
pub fn first_dead(state: &State, group: u32) -> Option<TaskId> {
    let is_dead = |task: &&Task| !task.removed && task.group == group && task.status().is_dead();
    state.tasks().find(is_dead).map(|task| task.id.clone())
}

/// How many of these tasks are in the landing line before this one.
pub fn ahead<'t>(tasks: impl IntoIterator<Item = &'t Task>, task: &Task) -> usize {
    let is_ahead = |other: &&Task| other.is_candidate() && other.progress.queued < task.progress.queued;
    tasks.into_iter().filter(is_ahead).count()
}

/// What to type so that work which is called done can be judged.
pub fn commit_command(files: &[String], task: &TaskId) -> String {
    let files: Vec<String> = files.iter().map(|file| shell_word(file)).collect();
    format!("git add -- {} && git commit -m 'Task {task}'", files.join(" "))
}

impl Why {
    /// What the sandbox probably refused: the line that says so, and the place that would have to be opened.
    pub fn add_refusals<'r>(&mut self, refused: impl Iterator<Item = (&'r str, &'r str)>, fences: &Fences) {
        let mut open = fences.writable.clone();
        for (line, place) in refused.take(MOST_REFUSALS) {
            let line: String = line.chars().take(LONGEST_LINE).collect();
            let text = format!("its output suggests that the sandbox denied writing to {place}: {line}");
            self.causes.push(Cause { depth: 0, text });
            open.push(place.to_owned());
        }
        if open.len() > fences.writable.len() {
            let open: Vec<String> = open.iter().map(|place| format!("{place:?}")).collect();
            self.helps.push(format!("in piton.toml, below [sandbox]: writable = [{}]", open.join(", ")));
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.status {
            Status::Failed => "",
            status if status.is_end() => "was ",
            _ => "has been ",
        };
        let status = self.status.name().replace('_', " ");
        writeln!(f, "{} {verb}{status} {}", self.task, age(self.status, self.waited_ms))?;
        for cause in &self.causes {
            writeln!(f, "{:indent$}- {}", "", cause.text, indent = 2 + 2 * cause.depth as usize)?;
        }
        if let Some(words) = &self.last_words {
            writeln!(f, "\nThe agent's last words:")?;
            words.trim().lines().try_for_each(|line| writeln!(f, "  | {line}"))?;
        }
        if !self.helps.is_empty() {
            writeln!(f, "\nWhat helps:")?;
            for help in &self.helps {
                writeln!(f, "  {help}")?;
            }
        }
        if !self.settings.is_empty() {
            writeln!(f, "\nSettings that may help:")?;
            for Setting { line, place, when } in &self.settings {
                writeln!(f, "  {line}   in {place}, {when}")?;
            }
        }
        Ok(())
    }
}
