//! What tasks wait for: ids, ranges of ids, all tasks of a story, in the words people use.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

use super::files::is_none;
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::{Outside, TaskId};
use crate::system::kit::checklist::number;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text::{key, trimmed};

/// The most dependencies that ranges and stories of a whole list may add up to: more would take too long.
const EDGES: usize = 1_000_000;
/// The most steps to find out which task waits for which, before a story stands for its tasks.
const STEPS: usize = 2_000_000;
/// How many unknown ids are compared with how many known ones.
const GUESSES: usize = 20;
const CANDIDATES: usize = 2000;

/// Tasks that name each other, in the order of their list.
pub(in crate::system) struct Named<'l> {
    pub(in crate::system) ids: Vec<&'l TaskId>,
    /// Where each says what it waits for.
    pub(in crate::system) deps: Vec<&'l [Range<usize>]>,
    /// Ids that several tasks have; nothing can refer to one. In lower case, as the others.
    pub(in crate::system) ambiguous: HashSet<String>,
    /// Ids of tasks that are crossed out.
    pub(in crate::system) dropped: HashSet<String>,
    /// Names that stand for several tasks.
    pub(in crate::system) stories: HashMap<String, Vec<usize>>,
    /// How to name a task right.
    pub(in crate::system) help: &'static str,
    /// Lists whose tasks may be waited for as well.
    pub(in crate::system) others: &'l dyn Others,
}

/// Lists whose tasks may be waited for as well.
pub(in crate::system) trait Others {
    /// All tasks of that name.
    fn task(&self, said: &str) -> Referent;
    /// The tasks of a story.
    fn story(&self, id: &str) -> Referent;
    /// The tasks in a series from one number to another, without those that the list itself has.
    fn range(&self, stem: &str, numbers: RangeInclusive<u64>, is_own: &dyn Fn(&str) -> bool) -> Referent;
    /// What a list is called for short.
    fn stem<'l>(&self, list: &'l str) -> &'l str;
}

/// What a name may mean in other lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) enum Referent {
    Nothing,
    These(Vec<Outside>),
    /// Several lists have it, or one has it twice.
    Several(Vec<String>),
}

/// There are no other lists.
pub(in crate::system) struct Alone;

impl Others for Alone {
    fn task(&self, _: &str) -> Referent {
        Referent::Nothing
    }

    fn story(&self, _: &str) -> Referent {
        Referent::Nothing
    }

    fn range(&self, _: &str, _: RangeInclusive<u64>, _: &dyn Fn(&str) -> bool) -> Referent {
        Referent::Nothing
    }

    fn stem<'l>(&self, list: &'l str) -> &'l str {
        list
    }
}

/// What each task waits for, by position, and in other lists.
#[derive(Clone, Debug, Default)]
pub(in crate::system) struct Linked {
    pub(in crate::system) needs: Vec<BTreeSet<usize>>,
    pub(in crate::system) outside: Vec<BTreeSet<Outside>>,
}

/// What each task waits for.
pub(in crate::system) fn link_named(list: &Named<'_>, text: &str, found: &mut Problems) -> Linked {
    let mut deps = Deps::new(list, text, found);
    for (task, said) in list.deps.iter().enumerate() {
        for value in *said {
            for part in parts(text, value) {
                deps.part(task, part);
            }
        }
    }
    deps.stories();
    if deps.edges == 0 {
        let told =
            Diagnostic::error(0..0, format!("the tasks of this list have more than {EDGES} dependencies"));
        deps.found.push(told.label("name the last ones only"));
    }
    Linked { needs: deps.needs, outside: deps.outside }
}

/// The ids that a list of dependencies names, in lower case and without judging them. Nothing for prose.
pub(in crate::system) fn named(
    text: &str,
    at: &Range<usize>,
    known: &HashMap<String, usize>,
) -> Option<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for part in parts(text, at) {
        let said = stripped(&text[part]);
        if is_none(said) {
            continue;
        }
        let bare = number(said).map_or(said, |(id, _)| id);
        all.insert(*known.get(&said.to_lowercase()).or_else(|| known.get(&bare.to_lowercase()))?);
    }
    Some(all)
}

/// Between commas, semicolons, `&` and `and`.
fn parts(text: &str, at: &Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut start) = (Vec::new(), at.start);
    let said = &text[at.clone()];
    let bytes = said.as_bytes();
    let mut skip = 0;
    for (nth, c) in said.char_indices() {
        let length = match c {
            _ if nth < skip => continue,
            ',' | ';' | '&' | '+' | '\n' | '\u{ff0c}' | '\u{3001}' => c.len_utf8(),
            ' ' if bytes.len() > nth + 5
                && bytes[nth + 4] == b' '
                && bytes[nth + 1..nth + 4].eq_ignore_ascii_case(b"and") =>
            {
                5
            }
            _ => continue,
        };
        parts.push(trimmed(text, start..at.start + nth));
        skip = nth + length;
        start = at.start + skip;
    }
    parts.push(trimmed(text, start..at.end));
    parts.retain(|part| !part.is_empty());
    parts
}

fn stripped(said: &str) -> &str {
    said.trim_matches(|c: char| c.is_whitespace() || "*_`()[].".contains(c))
}

struct Deps<'l, 'f> {
    list: &'l Named<'l>,
    text: &'l str,
    found: &'f mut Problems,
    ids: HashMap<String, usize>,
    /// By what stands before the last number: that number and the task.
    series: HashMap<String, Vec<(u64, usize)>>,
    needs: Vec<BTreeSet<usize>>,
    outside: Vec<BTreeSet<Outside>>,
    /// The tasks that wait for all tasks of a story, by story.
    of_stories: BTreeMap<String, Vec<usize>>,
    edges: usize,
    guesses: usize,
}

impl<'l, 'f> Deps<'l, 'f> {
    fn new(list: &'l Named<'l>, text: &'l str, found: &'f mut Problems) -> Deps<'l, 'f> {
        let ids = list.ids.iter().enumerate().map(|(nth, id)| (id.folded(), nth)).collect();
        let mut series: HashMap<String, Vec<(u64, usize)>> = HashMap::new();
        for (nth, id) in list.ids.iter().enumerate() {
            if let Some((stem, number)) = numbered(id.as_str()) {
                series.entry(stem.to_lowercase()).or_default().push((number, nth));
            }
        }
        series.values_mut().for_each(|numbers| numbers.sort_unstable());
        let needs = vec![BTreeSet::new(); list.ids.len()];
        let outside = vec![BTreeSet::new(); list.ids.len()];
        let of_stories = BTreeMap::new();
        Deps { list, text, found, ids, series, needs, outside, of_stories, edges: EDGES, guesses: GUESSES }
    }

    fn part(&mut self, task: usize, at: Range<usize>) {
        let said = stripped(&self.text[at.clone()]);
        if is_none(said) {
            return;
        }
        let bare = number(said)
            .filter(|(_, rest)| rest.is_empty() || rest.starts_with('('))
            .map_or(said, |(id, _)| id);
        for id in [said, bare] {
            if self.is_known(id) {
                return self.need(task, id, &at);
            }
        }
        for id in [said, bare] {
            if self.in_other_lists(task, id, &at, self.list.others.task(id)) {
                return;
            }
        }
        if self.range(task, said, &at) {
            return;
        }
        if let Some(word) = story_word(said) {
            let id = story_id(word).unwrap_or_else(|| word.to_owned()).to_lowercase();
            if self.list.stories.contains_key(&id) {
                return self.of_stories.entry(id).or_default().push(task);
            }
            let meant = self.list.others.story(&id);
            if self.in_other_lists(task, word, &at, meant) {
                return;
            }
            if story_id(word).is_some() {
                return self.unknown(task, word, &at);
            }
        }
        let words: Vec<&str> = said.split_whitespace().map(stripped).collect();
        let alone = words.len() == 1 || number(said).is_some_and(|(_, rest)| rest.is_empty());
        if alone && said.contains(|c: char| c.is_ascii_digit()) {
            return self.unknown(task, bare, &at);
        }
        let ids: Vec<&str> = words.iter().copied().filter(|word| self.is_known(word)).collect();
        let all = ids.len() == words.len();
        ids.iter().for_each(|id| self.need(task, id, &at));
        if !all {
            let id = self.list.ids[task];
            let message = format!("`{id}` waits for {:?}, which is not a task", cut(said));
            let label = match ids.first() {
                Some(first) => format!("only `{}` is waited for", cut(first)),
                None => "not waited for".to_owned(),
            };
            self.found.forgive(Diagnostic::warning(at, message).label(label).help(self.list.help));
        }
    }

    /// Whether a name means tasks of other lists. The task then waits for them, or an error says that the name is
    /// ambiguous.
    fn in_other_lists(&mut self, task: usize, said: &str, at: &Range<usize>, meant: Referent) -> bool {
        match meant {
            Referent::Nothing => false,
            Referent::These(needs) => {
                let within = needs.len().min(self.edges);
                self.edges -= within;
                self.outside[task].extend(needs.into_iter().take(within));
                true
            }
            Referent::Several(lists) => {
                let own = self.list.ids[task];
                let message =
                    format!("`{own}` waits for `{}`, which is the name of several tasks", cut(said));
                let label = format!("in {}", lists.join(" and "));
                let list = lists.first().map_or("LIST", |list| self.list.others.stem(list));
                let help = format!("say which, like `[deps: {list}:{}]`", cut(said));
                self.found.push(Diagnostic::error(at.clone(), message).label(label).help(help));
                true
            }
        }
    }

    /// Whether some other list has a task of this name, and only one.
    fn is_in_another(&self, id: &str) -> bool {
        matches!(self.list.others.task(id), Referent::These(_))
    }

    fn is_known(&self, id: &str) -> bool {
        let folded = id.to_lowercase();
        self.ids.contains_key(&folded) || self.list.dropped.contains(&folded)
    }

    fn need(&mut self, task: usize, id: &str, at: &Range<usize>) {
        let folded = id.to_lowercase();
        let own = self.list.ids[task];
        if self.list.ambiguous.contains(&folded) {
            let message = format!("`{own}` waits for `{}`, which is the id of several tasks", cut(id));
            let told = Diagnostic::error(at.clone(), message);
            return self.found.push(told.label("give each of them an id of its own"));
        }
        let Some(&need) = self.ids.get(&folded) else {
            let message = format!("`{own}` waits for `{}`, which is crossed out", cut(id));
            return self.found.push(Diagnostic::warning(at.clone(), message).label("not waited for"));
        };
        if need == task {
            let told = Diagnostic::error(at.clone(), format!("`{own}` waits for itself"));
            return self.found.push(told.label("remove this"));
        }
        let spelled = self.list.ids[need];
        if spelled.as_str() != id {
            let told =
                Diagnostic::warning(at.clone(), format!("`{}` is written `{spelled}` elsewhere", cut(id)));
            self.found.push(told.label("read as the same"));
        }
        self.needs[task].insert(need);
    }

    /// `T001-T010` and its kin. Whether it was one.
    fn range(&mut self, task: usize, said: &str, at: &Range<usize>) -> bool {
        if said.len() > 100 {
            return false;
        }
        let dashes = ["-", "\u{2010}", "\u{2011}", "–", "—", "..", "…", " to ", " through ", "~"];
        let splits = dashes
            .iter()
            .flat_map(|dash| said.match_indices(dash).map(|(nth, dash)| (nth, nth + dash.len())));
        let mut half = None;
        for (end, start) in splits {
            let (from, to) = (stripped(&said[..end]), stripped(&said[start..]));
            let from = number(from).map_or(from, |(id, _)| id);
            let to = number(to).filter(|(_, rest)| rest.is_empty()).map_or(to, |(id, _)| id);
            let Some((stem, first)) = numbered(from) else { continue };
            // `T001-010` says the letter once.
            let to = if to.bytes().all(|byte| byte.is_ascii_digit()) && !to.is_empty() {
                format!("{stem}{to}")
            } else {
                to.to_owned()
            };
            let Some((_, last)) = numbered(&to).filter(|(other, _)| other.eq_ignore_ascii_case(stem)) else {
                continue;
            };
            let is_there = |id: &str| self.is_known(id) || self.is_in_another(id);
            match (is_there(from), is_there(&to)) {
                (true, true) if first <= last => {
                    self.expand(task, stem, first..=last, at);
                    let others = self.list.others.range(stem, first..=last, &|id| self.is_known(id));
                    self.in_other_lists(task, said, at, others);
                    return true;
                }
                (true, true) => half = Some(format!("`{}` comes before `{}`", cut(&to), cut(from))),
                (true, false) => half = Some(format!("`{}` does not exist", cut(&to))),
                (false, true) => half = Some(format!("`{}` does not exist", cut(from))),
                (false, false) => {
                    half.get_or_insert_with(|| {
                        format!("there is neither `{}` nor `{}`", cut(from), cut(&to))
                    });
                }
            }
        }
        let Some(label) = half else { return false };
        let message =
            format!("`{}` waits for `{}`, some of which does not exist", self.list.ids[task], cut(said));
        self.found.push(Diagnostic::error(at.clone(), message).label(label));
        true
    }

    /// Those tasks of a series that are there; one may wait for a range that it stands in.
    fn expand(&mut self, task: usize, stem: &str, range: RangeInclusive<u64>, at: &Range<usize>) {
        let Some(numbers) = self.series.get(&stem.to_lowercase()) else { return };
        let start = numbers.partition_point(|(number, _)| number < range.start());
        let within =
            numbers[start..].iter().take_while(|(number, _)| number <= range.end()).map(|(_, nth)| *nth);
        let within: Vec<usize> = within.take(self.edges).collect();
        self.edges -= within.len();
        for need in within {
            let id = self.list.ids[need].as_str();
            if need == task || self.list.ambiguous.contains(&id.to_lowercase()) {
                self.need(task, id, at);
            } else {
                self.needs[task].insert(need);
            }
        }
    }

    fn unknown(&mut self, task: usize, need: &str, at: &Range<usize>) {
        let message = format!("`{}` waits for `{}`, which does not exist", self.list.ids[task], cut(need));
        // `T1` for `T001` is the commonest slip, and found at once.
        let same_number = numbered(need).and_then(|(stem, number)| {
            let series = self.series.get(&stem.to_lowercase())?;
            let nth = series.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            Some(self.list.ids[series[nth].1].as_str())
        });
        let near = same_number.or_else(|| {
            self.guesses = self.guesses.checked_sub(1)?;
            nearest(&cut(need), self.list.ids.iter().take(CANDIDATES).map(|id| id.as_str()))
        });
        let label = near.map_or("no task has this id".to_owned(), |near| format!("did you mean `{near}`?"));
        self.found.push(Diagnostic::error(at.clone(), message).label(label));
    }

    /// A story stands for its tasks: not for those that wait for all of it themselves, nor for those behind them.
    fn stories(&mut self) {
        let of_stories = std::mem::take(&mut self.of_stories);
        let mut dependents = vec![Vec::new(); self.list.ids.len()];
        if !of_stories.is_empty() {
            for (task, needs) in self.needs.iter().enumerate() {
                needs.iter().for_each(|need| dependents[*need].push(task));
            }
        }
        let mut steps = STEPS;
        for (story, waiting) in of_stories {
            let waiting: BTreeSet<usize> = waiting.into_iter().collect();
            let all = self.list.stories[&story].iter().filter(|task| !waiting.contains(task));
            let all: Vec<usize> = all.copied().collect();
            for &task in &waiting {
                let behind = behind(&dependents, task, &mut steps);
                let within = &all[..all.len().min(self.edges)];
                self.edges -= within.len();
                self.needs[task].extend(within.iter().filter(|need| !behind.contains(need)));
            }
        }
    }
}

/// The story that words are about: `All US-001 tasks`, `US-001`, `DB tasks`.
fn story_word(said: &str) -> Option<&str> {
    const FILL: [&str; 11] =
        ["all", "of", "the", "task", "tasks", "in", "for", "from", "story", "user", "other"];
    let is_fill = |word: &&str| FILL.iter().any(|fill| word.eq_ignore_ascii_case(fill));
    let mut words = said.split_whitespace().filter(|word| !is_fill(word));
    words.next().filter(|_| words.next().is_none()).map(stripped)
}

/// The tasks that wait for a task, directly or indirectly.
fn behind(dependents: &[Vec<usize>], task: usize, steps: &mut usize) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![task]);
    while let Some(task) = open.pop() {
        for &next in &dependents[task] {
            let Some(left) = steps.checked_sub(1) else { return seen };
            *steps = left;
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// What stands before the last number of an id, and that number.
pub(in crate::system) fn numbered(id: &str) -> Option<(&str, u64)> {
    let stem = id.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, id[stem.len()..].parse().ok()?)).filter(|_| !id.contains('@'))
}

/// `US-001`, in its spellings.
pub(in crate::system) fn story_id(word: &str) -> Option<String> {
    let digits = word.get(..2).filter(|us| us.eq_ignore_ascii_case("us")).map(|_| &word[2..])?;
    let digits = digits.strip_prefix(['-', '_', '\u{2011}', '\u{2013}']).unwrap_or(digits);
    let number = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && digits.len() - number.len() <= 1 && digits.len() <= 12).then(|| key(word).to_uppercase())
}
