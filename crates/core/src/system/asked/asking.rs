//! A conversation with a program about issues: what to ask next, and what the answers come to.
//!
//! The first question names what the person typed. The next ones are about issues that the answers name: parts, and what
//! open issues wait for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::ask::{Ask, IssueSource, Which};
use super::beads;
use super::github::{self, Fields};
use super::gitlab;
use super::issue_text::{self, Reference};
use super::snapshot::{Issue, IssueState, OutsideIssue, Snapshot};
use crate::system::kit::json_texts::one_line;
use crate::system::kit::problems::cut;

/// Issues that are asked about one by one, of those that others name. Each takes about half a second.
const MOST_NAMED: usize = 50;

/// What was asked, and what is known so far.
#[derive(Clone, Debug)]
pub struct Asking {
    ask: Ask,
    of: String,
    fields: Fields,
    wanted: VecDeque<Wanted>,
    /// Everything that was asked about one by one, or is about to be.
    named: BTreeSet<u64>,
    issues: BTreeMap<u64, Issue>,
    /// Issues that are not part of the plan.
    outside: BTreeMap<u64, Issue>,
    /// Who has to be closed before whom, beyond what an issue says itself.
    links: Vec<(u64, u64)>,
    /// Issues whose names are no numbers: all of them are known at once.
    whole: Vec<Issue>,
    /// The issues of the plan as it was before.
    before: BTreeSet<String>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// All that the person named by one word; a page of it, from 1.
    List(usize),
    /// What waits for an issue.
    Links(u64),
    /// An issue that the person named.
    Issue(u64),
    /// An issue that one of those has as a part.
    Part(u64),
    /// An issue that was in the plan before, and is not in the list any more.
    Left(u64),
    /// An issue that others wait for.
    Waited(u64),
}

/// What a program is to be asked, as its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub args: Vec<String>,
    wanted: Wanted,
}

impl Asking {
    /// Ask about the issues of a repository, such as `github.com/owner/name`. `before` is what was known of them.
    pub fn new(ask: Ask, of: &str, comments: bool, before: Option<&Snapshot>) -> Asking {
        let wanted = match &ask.which {
            Which::All | Which::Label(_) | Which::Milestone(_) => VecDeque::from([Wanted::List(1)]),
            Which::Numbers(numbers) => numbers.iter().map(|number| Wanted::Issue(*number)).collect(),
        };
        let named = match &ask.which {
            Which::Numbers(numbers) => numbers.iter().copied().collect(),
            Which::All | Which::Label(_) | Which::Milestone(_) => BTreeSet::new(),
        };
        let before = before.filter(|before| before.of == of && before.ask == ask.to_string());
        let before = before.into_iter().flat_map(|before| &before.issues);
        Asking {
            fields: Fields { edges: true, comments },
            of: of.to_owned(),
            wanted,
            named,
            issues: BTreeMap::new(),
            outside: BTreeMap::new(),
            links: Vec::new(),
            whole: Vec::new(),
            before: before.map(|issue| issue.id.clone()).collect(),
            notes: Vec::new(),
            ask,
        }
    }

    /// The next question. `None`: everything is known that a plan needs.
    pub fn question(&mut self) -> Option<Question> {
        if self.wanted.is_empty() {
            self.want_waited();
        }
        let wanted = *self.wanted.front()?;
        let of = &self.of;
        let args = match (self.ask.source, wanted) {
            (IssueSource::Beads, _) => beads::LIST.map(str::to_owned).to_vec(),
            (IssueSource::GitHub, Wanted::List(_)) => github::list(&self.ask.which, of, self.fields)?,
            (IssueSource::GitLab, Wanted::List(page)) => gitlab::list(&self.ask.which, of, page)?,
            (IssueSource::GitLab, Wanted::Links(number)) => gitlab::links(number, of),
            (
                source,
                Wanted::Links(number)
                | Wanted::Issue(number)
                | Wanted::Part(number)
                | Wanted::Left(number)
                | Wanted::Waited(number),
            ) => match source {
                IssueSource::GitLab => gitlab::view(number, of),
                IssueSource::GitHub | IssueSource::Beads => github::view(number, of, self.fields),
            },
        };
        Some(Question { args, wanted })
    }

    /// Take in the answer to a question, or say what is wrong with it.
    pub fn answered(&mut self, question: &Question, answer: &str) -> Result<(), String> {
        let program = self.ask.source.program();
        let no_issue =
            || format!("`{program}` answered something that is not an issue: {}", cut(&one_line(answer)));
        if self.ask.source == IssueSource::Beads {
            self.whole = beads::issues(answer).ok_or_else(no_issue)?;
            self.wanted.clear();
            return Ok(());
        }
        let value: Value = serde_json::from_str(answer)
            .map_err(|error| format!("`{program}` answered something that is not JSON: {error}"))?;
        self.wanted.pop_front();
        match question.wanted {
            Wanted::List(page) => {
                let items = value.as_array().ok_or_else(no_issue)?;
                let issues: Option<Vec<(Issue, Vec<u64>)>> =
                    items.iter().map(|item| self.issue(item)).collect();
                self.list(issues.ok_or_else(no_issue)?, page);
                return Ok(());
            }
            Wanted::Links(number) => {
                let waiting = gitlab::waiting(&value, &self.of);
                self.links.extend(waiting.into_iter().map(|other| (other, number)));
                return Ok(());
            }
            _ => {}
        }
        let (issue, parts) = self.issue(&value).ok_or_else(no_issue)?;
        let number = number(&issue).ok_or_else(no_issue)?;
        match question.wanted {
            Wanted::List(_) | Wanted::Links(_) => {}
            Wanted::Issue(asked) | Wanted::Part(asked) | Wanted::Left(asked) | Wanted::Waited(asked)
                if asked != number =>
            {
                return Err(format!("`{program}` was asked about #{asked}, and answered about #{number}"));
            }
            Wanted::Issue(_) => {
                if github::is_request(&issue) {
                    return Err(format!("#{number} is a pull request, not an issue"));
                }
                self.want_parts(&issue, parts);
                // One that was never to be done here is none of the plan.
                let is_out = issue.state == IssueState::Dropped && !self.before.contains(&issue.id);
                let place = if is_out { &mut self.outside } else { &mut self.issues };
                place.insert(number, issue);
            }
            Wanted::Part(_) if github::is_request(&issue) => {}
            Wanted::Part(_) => {
                // One that was closed before it was ever part of the plan is none of it.
                let is_new = issue.state != IssueState::Open && !self.before.contains(&issue.id);
                let place = if is_new { &mut self.outside } else { &mut self.issues };
                place.insert(number, issue);
            }
            Wanted::Left(_) if issue.state == IssueState::Open => {
                self.outside.insert(number, issue);
            }
            Wanted::Left(_) => {
                self.issues.insert(number, issue);
            }
            Wanted::Waited(_) => {
                self.outside.insert(number, issue);
            }
        }
        Ok(())
    }

    /// Whether the questions go on although one was refused with these words. `is_missing`: the program found nothing.
    pub fn refused(&mut self, question: &Question, words: &str, is_missing: bool) -> bool {
        if self.ask.source == IssueSource::GitHub && self.fields.edges && github::knows_not(words) {
            self.fields.edges = false;
            self.notes.push(
                "this `gh` does not know what waits for what on GitHub, nor sub-issues: only what the texts of issues say counts. A newer `gh` knows"
                    .to_owned(),
            );
            return true;
        }
        if is_missing && !matches!(question.wanted, Wanted::List(_) | Wanted::Issue(_)) {
            self.wanted.pop_front();
            return true;
        }
        false
    }

    /// What is known by now.
    pub fn end(mut self) -> Snapshot {
        let mut snapshot = Snapshot::new(&self.ask, &self.of);
        if self.ask.source == IssueSource::Beads {
            self.end_of_whole(&mut snapshot);
            return snapshot;
        }
        for (waits, number) in std::mem::take(&mut self.links) {
            if let Some(issue) = self.issues.get_mut(&waits) {
                issue.needs.push(number.to_string());
            }
        }
        let waited = self.waited();
        for (number, issue) in self.outside.iter().filter(|(number, _)| waited.contains(number)) {
            match issue.state {
                IssueState::Closed | IssueState::Dropped => snapshot.settled.push(number.to_string()),
                IssueState::Open | IssueState::Taken | IssueState::Later => {
                    snapshot
                        .outside
                        .push(OutsideIssue { id: number.to_string(), title: issue.title.clone() });
                }
            }
        }
        snapshot.issues = self.issues.into_values().collect();
        snapshot.notes = self.notes;
        snapshot
    }

    /// What is closed and was never a part of the plan is none of it.
    fn end_of_whole(self, snapshot: &mut Snapshot) {
        let is_in = |issue: &Issue| {
            !matches!(issue.state, IssueState::Closed | IssueState::Dropped)
                || self.before.contains(&issue.id)
        };
        let (of_plan, closed): (Vec<Issue>, Vec<Issue>) = self.whole.into_iter().partition(is_in);
        let waited: BTreeSet<&String> = of_plan.iter().flat_map(|issue| &issue.needs).collect();
        let settled = closed.into_iter().map(|issue| issue.id).filter(|id| waited.contains(id));
        snapshot.settled = settled.collect();
        snapshot.issues = of_plan;
        snapshot.notes = self.notes;
    }

    /// An issue, and those that are parts of it.
    fn issue(&self, value: &Value) -> Option<(Issue, Vec<u64>)> {
        match self.ask.source {
            IssueSource::GitHub | IssueSource::Beads => github::issue(value),
            IssueSource::GitLab => {
                let (issue, blocks) = gitlab::issue(value)?;
                // Its own number stands for what is to be asked about it.
                let own = number(&issue).filter(|_| blocks);
                Some((issue, own.into_iter().collect()))
            }
        }
    }

    /// A list: what is open, and what is closed since it became part of the plan.
    fn list(&mut self, issues: Vec<(Issue, Vec<u64>)>, page: usize) {
        let (most, is_paged) = match self.ask.source {
            IssueSource::GitLab => (gitlab::PAGE, true),
            IssueSource::GitHub | IssueSource::Beads => (github::MOST, false),
        };
        let is_full = issues.len() >= most;
        for (issue, links) in issues {
            if github::is_request(&issue) {
                continue;
            }
            let Some(number) = number(&issue) else { continue };
            let is_in = issue.state == IssueState::Open || self.before.contains(&issue.id);
            let place = if is_in { &mut self.issues } else { &mut self.outside };
            place.insert(number, issue);
            if is_paged {
                self.want_links(links);
            }
        }
        match (is_full, is_paged && page < gitlab::PAGES) {
            (true, true) => return self.wanted.push_front(Wanted::List(page + 1)),
            (true, false) => self.notes.push(format!("only the first {} issues were asked for", most * page)),
            (false, _) => {}
        }
        let before = self.before.iter().filter_map(|id| id.parse().ok());
        let is_left = |number: &u64| !self.issues.contains_key(number) && !self.outside.contains_key(number);
        let left: Vec<u64> = before.filter(is_left).take(MOST_NAMED).collect();
        for number in left {
            self.named.insert(number);
            self.wanted.push_back(Wanted::Left(number));
        }
    }

    /// Ask what waits for an issue, where only the issue itself is known to be waited for.
    fn want_links(&mut self, numbers: Vec<u64>) {
        let asked = self.wanted.iter().filter(|wanted| matches!(wanted, Wanted::Links(_))).count();
        let left = MOST_NAMED.saturating_sub(asked);
        self.wanted.extend(numbers.into_iter().take(left).map(Wanted::Links));
    }

    /// The parts of an issue that the person named.
    fn want_parts(&mut self, issue: &Issue, mut parts: Vec<u64>) {
        if self.ask.source == IssueSource::GitLab {
            self.want_links(std::mem::take(&mut parts));
        }
        let text = issue_text::read(&issue.body, &self.of);
        let named = text.parts.iter().filter_map(|part| match part {
            Reference::Here(number) => Some(*number),
            Reference::Elsewhere(_) => None,
        });
        for number in parts.into_iter().chain(named) {
            if self.named.len() < MOST_NAMED * 2 && self.named.insert(number) {
                self.wanted.push_back(Wanted::Part(number));
            }
        }
    }

    /// What open issues wait for and nothing is known of.
    fn want_waited(&mut self) {
        let is_known = |number: &u64| self.named.contains(number) || self.outside.contains_key(number);
        let unknown: Vec<u64> = self.waited().into_iter().filter(|number| !is_known(number)).collect();
        for number in unknown {
            // An issue that was asked about leads to no other one: this ends.
            if self.named.len() < MOST_NAMED * 3 && self.named.insert(number) {
                self.wanted.push_back(Wanted::Waited(number));
            }
        }
    }

    /// The issues that open ones of the plan wait for and that are not in it.
    fn waited(&self) -> BTreeSet<u64> {
        let open = self.issues.values().filter(|issue| issue.state == IssueState::Open);
        let needs = open.flat_map(|issue| needs(issue, &self.of));
        needs.filter(|number| !self.issues.contains_key(number)).collect()
    }
}

fn number(issue: &Issue) -> Option<u64> {
    issue.id.parse().ok()
}

/// The issues of the same repository that one waits for.
fn needs(issue: &Issue, of: &str) -> Vec<u64> {
    let known = issue.needs.iter().filter_map(|id| id.parse().ok());
    let text = issue_text::read(&issue.body, of).needs.into_iter().filter_map(|reference| match reference {
        Reference::Here(number) => Some(number),
        Reference::Elsewhere(_) => None,
    });
    known.chain(text).collect()
}
