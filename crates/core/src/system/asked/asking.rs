//! A conversation with a program about issues: what to ask next, and what the answers come to.
//!
//! The first question names what the person typed. The next ones are about issues that the answers name: parts, and what
//! open issues wait for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::ask::{Ask, Source, Which};
use super::github::{self, Fields};
use super::issue_text::{self, Reference};
use super::snapshot::{Issue, Outside, Snapshot, State};
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
    /// The issues of the plan as it was before.
    before: BTreeSet<u64>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// All that the person named by one word.
    List,
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
            Which::Label(_) | Which::Milestone(_) => VecDeque::from([Wanted::List]),
            Which::Numbers(numbers) => numbers.iter().map(|number| Wanted::Issue(*number)).collect(),
        };
        let named = match &ask.which {
            Which::Numbers(numbers) => numbers.iter().copied().collect(),
            Which::Label(_) | Which::Milestone(_) => BTreeSet::new(),
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
            before: before.filter_map(|issue| issue.id.parse().ok()).collect(),
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
        let args = match (self.ask.source, wanted) {
            (Source::GitHub, Wanted::List) => github::list(&self.ask.which, &self.of, self.fields)?,
            (
                Source::GitHub,
                Wanted::Issue(number) | Wanted::Part(number) | Wanted::Left(number) | Wanted::Waited(number),
            ) => github::view(number, &self.of, self.fields),
        };
        Some(Question { args, wanted })
    }

    /// Take in the answer to a question, or say what is wrong with it.
    pub fn answered(&mut self, question: &Question, answer: &str) -> Result<(), String> {
        let program = self.ask.source.prefix();
        let value: Value = serde_json::from_str(answer)
            .map_err(|error| format!("`{program}` answered something that is not JSON: {error}"))?;
        let read = |item: &Value| github::issue(item);
        let no_issue =
            || format!("`{program}` answered something that is not an issue: {}", cut(&one_line(answer)));
        self.wanted.pop_front();
        if question.wanted == Wanted::List {
            let items = value.as_array().ok_or_else(no_issue)?;
            let issues: Vec<Issue> = items
                .iter()
                .map(|item| read(item).map(|(issue, _)| issue))
                .collect::<Option<_>>()
                .ok_or_else(no_issue)?;
            self.list(issues);
            return Ok(());
        }
        let (issue, parts) = read(&value).ok_or_else(no_issue)?;
        let number = number(&issue).ok_or_else(no_issue)?;
        match question.wanted {
            Wanted::List => {}
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
                self.issues.insert(number, issue);
            }
            Wanted::Part(_) if github::is_request(&issue) => {}
            Wanted::Part(_) => {
                // One that was closed before it was ever part of the plan is none of it.
                let is_new = issue.state != State::Open && !self.before.contains(&number);
                let place = if is_new { &mut self.outside } else { &mut self.issues };
                place.insert(number, issue);
            }
            Wanted::Left(_) if issue.state == State::Open => {
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
        if self.fields.edges && github::knows_not(words) {
            self.fields.edges = false;
            self.notes.push(
                "this `gh` does not know what waits for what on GitHub, nor sub-issues: only what the texts of issues say counts. A newer `gh` knows"
                    .to_owned(),
            );
            return true;
        }
        if is_missing && !matches!(question.wanted, Wanted::List | Wanted::Issue(_)) {
            self.wanted.pop_front();
            return true;
        }
        false
    }

    /// What is known by now.
    pub fn end(self) -> Snapshot {
        let waited: BTreeSet<u64> = self.waited().collect();
        let (mut settled, mut outside) = (Vec::new(), Vec::new());
        for (number, issue) in self.outside.iter().filter(|(number, _)| waited.contains(number)) {
            match issue.state {
                State::Open => outside.push(Outside { id: number.to_string(), title: issue.title.clone() }),
                State::Closed | State::Dropped => settled.push(number.to_string()),
            }
        }
        let mut snapshot = Snapshot::new(&self.ask, &self.of);
        snapshot.issues = self.issues.into_values().collect();
        (snapshot.settled, snapshot.outside, snapshot.notes) = (settled, outside, self.notes);
        snapshot
    }

    /// A list: what is open, and what is closed since it became part of the plan.
    fn list(&mut self, issues: Vec<Issue>) {
        if issues.len() >= github::MOST {
            let text = format!("only the first {} issues were asked for", github::MOST);
            self.notes.push(text);
        }
        for issue in issues.into_iter().filter(|issue| !github::is_request(issue)) {
            let Some(number) = number(&issue) else { continue };
            let is_in = issue.state == State::Open || self.before.contains(&number);
            let place = if is_in { &mut self.issues } else { &mut self.outside };
            place.insert(number, issue);
        }
        let is_left = |number: &&u64| !self.issues.contains_key(number) && !self.outside.contains_key(number);
        let left: Vec<u64> = self.before.iter().filter(is_left).copied().take(MOST_NAMED).collect();
        for number in left {
            self.named.insert(number);
            self.wanted.push_back(Wanted::Left(number));
        }
    }

    /// The parts of an issue that the person named.
    fn want_parts(&mut self, issue: &Issue, parts: Vec<u64>) {
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
        let unknown: Vec<u64> = self.waited().filter(|number| !is_known(number)).collect();
        for number in unknown {
            // An issue that was asked about leads to no other one: this ends.
            if self.named.len() < MOST_NAMED * 3 && self.named.insert(number) {
                self.wanted.push_back(Wanted::Waited(number));
            }
        }
    }

    /// The issues that open ones of the plan wait for and that are not in it.
    fn waited(&self) -> impl Iterator<Item = u64> {
        let open = self.issues.values().filter(|issue| issue.state == State::Open);
        let needs = open.flat_map(|issue| needs(issue, &self.of));
        needs.filter(|number| !self.issues.contains_key(number)).collect::<BTreeSet<u64>>().into_iter()
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
