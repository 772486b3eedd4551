//! Many rules in one build: each function that holds rules gets a copy of its body for every rule that is taken out, and
//! looks up at run time which one applies.
//!
//! The body `{ B }` becomes `{ match on() { 17 => { B without rule 17 } _ => { B } } }`. Types, `return`, `?` and lifetimes
//! mean the same in an arm as in the body.

use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A text that is replaced when a rule is taken out.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) number: u32,
    pub(super) at: Range<usize>,
    pub(super) to: String,
}

impl Change {
    /// What differs between the two texts of an entry. It is often within a function when the whole text is not.
    pub(super) fn new(number: u32, text: &str, from: &str, to: &str) -> Option<Change> {
        let start = text.find(from)?;
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let head = same(&mut from.chars().zip(to.chars()));
        let tail = same(&mut from[head..].chars().rev().zip(to[head..].chars().rev()));
        let at = start + head..start + from.len() - tail;
        Some(Change { number, at, to: to[head..to.len() - tail].to_owned() })
    }

    fn is_in(&self, range: &Range<usize>) -> bool {
        range.start <= self.at.start && self.at.end <= range.end
    }
}

/// A file with switches in it.
#[derive(Default, Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Where each rule is taken out in the new text.
    pub(super) arms: Vec<(Range<usize>, u32)>,
    /// Where the functions are in the new text, and the rules of each.
    pub(super) functions: Vec<(Range<usize>, Vec<u32>)>,
    /// The rules that no switch can take out.
    pub(super) left: Vec<u32>,
}

impl Rewritten {
    /// The rules that a place in the new text belongs to: those of an arm, or those of a whole function.
    pub(super) fn rules_at(&self, place: &Range<usize>) -> (Vec<u32>, Vec<u32>) {
        let holds = |range: &Range<usize>| range.start <= place.start && place.end <= range.end;
        let arms = self.arms.iter().filter(|(range, _)| holds(range)).map(|(_, rule)| *rule).collect();
        let functions = self.functions.iter().filter(|(range, _)| holds(range));
        (arms, functions.flat_map(|(_, rules)| rules.clone()).collect())
    }
}

/// Whether a function of this file can hold a switch for the change. The compiler may still object.
pub(super) fn has_home(file: &str, text: &str, change: &Change) -> bool {
    let functions = if file.ends_with(".rs") { functions(text).unwrap_or_default() } else { Vec::new() };
    functions.iter().any(|function| change.is_in(&function.body))
}

/// The file with a switch for each of `changes`. `fixed` is made for good, and its function gets no switch.
pub(super) fn rewrite(
    text: &str,
    switch: &str,
    changes: &[Change],
    fixed: Option<&Change>,
) -> Result<Rewritten> {
    let functions = functions(text)?;
    let mut new = Rewritten::default();
    let home = |change: &Change| functions.iter().position(|function| change.is_in(&function.body));
    new.left = changes.iter().filter(|change| home(change).is_none()).map(|change| change.number).collect();
    let (mut done, mut fixed) = (0, fixed);
    for (nth, function) in functions.iter().enumerate() {
        let body = function.body.clone();
        let of_it: Vec<&Change> = changes.iter().filter(|change| home(change) == Some(nth)).collect();
        if of_it.is_empty() || fixed.is_some_and(|fixed| fixed.is_in(&body)) {
            continue;
        }
        if let Some(change) = fixed.take_if(|change| change.at.start < body.start) {
            new.push_changed(text, done..change.at.start, change);
            done = change.at.end;
        }
        new.text.push_str(&text[done..function.start]);
        let start = new.text.len();
        new.text.push_str(&text[function.start..body.start]);
        new.text.push_str(&format!(" match {switch}() {{"));
        for &change in &of_it {
            new.text.push_str(&format!(" {}u32 => {{", change.number));
            let arm = new.text.len();
            new.push_changed(text, body.start..change.at.start, change);
            new.text.push_str(&text[change.at.end..body.end]);
            new.arms.push((arm..new.text.len(), change.number));
            new.text.push('}');
        }
        new.text.push_str(&format!(" _ => {{{}}} }} ", &text[body.clone()]));
        new.functions.push((start..new.text.len(), of_it.iter().map(|change| change.number).collect()));
        done = body.end;
    }
    if let Some(change) = fixed {
        new.push_changed(text, done..change.at.start, change);
        done = change.at.end;
    }
    new.text.push_str(&text[done..]);
    Ok(new)
}

impl Rewritten {
    fn push_changed(&mut self, text: &str, before: Range<usize>, change: &Change) {
        self.text.push_str(&text[before]);
        self.text.push_str(&change.to);
    }
}

struct Function {
    /// Where its `fn` is.
    start: usize,
    /// What is between its braces.
    body: Range<usize>,
}

/// The functions of a file that can hold a switch, in order. Functions in functions belong to the outer one.
fn functions(text: &str) -> Result<Vec<Function>> {
    let file = syn::parse_file(text).context("cannot parse it")?;
    let mut found = Functions { text, found: Vec::new() };
    found.visit_file(&file);
    found.found.sort_by_key(|function| function.start);
    Ok(found.found)
}

struct Functions<'t> {
    text: &'t str,
    found: Vec<Function>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        // Each arm would be an opaque type of its own.
        let opaque = self.text[signature.output.span().byte_range()].contains("impl ");
        if signature.constness.is_some() || opaque {
            return;
        }
        let braces = block.brace_token.span;
        let body = braces.open().byte_range().end..braces.close().byte_range().start;
        self.found.push(Function { start: signature.fn_token.span.byte_range().start, body });
    }
}

impl Visit<'_> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        self.add(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &syn::TraitItemFn) {
        match &item.default {
            Some(block) => self.add(&item.sig, block),
            None => visit::visit_trait_item_fn(self, item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, has_home, rewrite};

    const TEXT: &str = "\
const LIMIT: u32 = 3;

impl Queue {
    fn takes(&self, task: &Task) -> bool {
        task.is_ready() && self.len() < LIMIT
    }

    const fn zero() -> u32 {
        0
    }

    fn names(&self) -> impl Iterator<Item = u32> {
        self.all.iter().copied()
    }
}
";

    fn change(number: u32, from: &str, to: &str) -> Change {
        Change::new(number, TEXT, from, to).expect("the text is there")
    }

    #[test]
    fn a_function_gets_an_arm_for_each_of_its_rules() {
        let changes = [change(7, "task.is_ready() && ", ""), change(9, "< LIMIT\n    }", "<= LIMIT\n    }")];
        let new = rewrite(TEXT, "on", &changes, None).expect("it is parsed");
        let body = |body: &str| format!("{{\n        {body}\n    }}");
        let expected = format!(
            "fn takes(&self, task: &Task) -> bool {{ match on() {{ 7u32 => {} 9u32 => {} _ => {} }} }}",
            body("self.len() < LIMIT"),
            body("task.is_ready() && self.len() <= LIMIT"),
            body("task.is_ready() && self.len() < LIMIT"),
        );
        assert!(new.text.contains(&expected), "{}", new.text);
        assert!(new.left.is_empty());
        syn::parse_file(&new.text).expect("what comes out is Rust");
    }

    #[test]
    fn nested_functions_belong_to_the_outer_one_and_overlapping_rules_have_an_arm_each() {
        let text = "\
trait Clock {
    fn now(&self) -> u64 {
        fn seconds() -> u64 { 60 }
        seconds() + 1
    }
    fn name(&self) -> &str;
}

async fn waits(clock: impl Clock) -> u64 {
    clock.now() + 2
}
";
        let of = |number, from, to| Change::new(number, text, from, to).expect("the text is there");
        let changes = [
            of(1, "60", "61"),
            of(2, "seconds() + 1", "seconds()"),
            of(3, "+ 1", "+ 3"),
            of(4, "clock.now() + 2", "2"),
        ];
        assert!(changes.iter().all(|change| has_home("clock.rs", text, change)));
        let new = rewrite(text, "on", &changes, None).expect("it is parsed");
        assert!(new.left.is_empty());
        assert_eq!(new.text.matches("match on()").count(), 2);
        for arm in ["seconds() -> u64 { 61 }", "seconds()\n    } 3u32", "seconds() + 3\n", "\n    2\n"] {
            assert_eq!(new.text.matches(arm).count(), 1, "{arm} in {}", new.text);
        }
        let rules: Vec<_> = new.functions.iter().map(|(_, rules)| rules.clone()).collect();
        assert_eq!(rules, [vec![1, 2, 3], vec![4]]);
        syn::parse_file(&new.text).expect("what comes out is Rust");
    }

    #[test]
    fn what_is_in_no_ordinary_function_is_left() {
        let changes = [
            change(1, "u32 = 3", "u32 = 4"),
            change(2, "        0\n", "        1\n"),
            change(3, "iter().copied()", "iter().skip(1).copied()"),
            change(4, "fn takes(&self, task: &Task)", "fn takes(&self, _: &Task)"),
        ];
        let new = rewrite(TEXT, "on", &changes, None).expect("it is parsed");
        assert_eq!(new.left, [1, 2, 3, 4]);
        assert!(!changes.iter().any(|change| has_home("queue.rs", TEXT, change)));
        assert!(!has_home("queue.sh", TEXT, &change(7, "task.is_ready() && ", "")));
        assert_eq!(new.text, TEXT);
    }

    #[test]
    fn a_place_in_the_new_text_leads_to_its_rules() {
        let changes = [change(7, "task.is_ready() && ", ""), change(9, "< LIMIT\n    }", "<= LIMIT\n    }")];
        let new = rewrite(TEXT, "on", &changes, None).expect("it is parsed");
        let at =
            |part: &str| new.text.find(part).map(|start| start..start + part.len()).expect("it is there");
        assert_eq!(new.rules_at(&at("<= LIMIT")), (vec![9], vec![7, 9]));
        assert_eq!(new.rules_at(&at("task: &Task")), (vec![], vec![7, 9]));
        assert_eq!(new.rules_at(&at("const LIMIT")), (vec![], vec![]));
    }

    #[test]
    fn a_change_that_is_made_for_good_stands_beside_the_switches() {
        let changes = [change(7, "task.is_ready() && ", "")];
        let of_a_constant =
            rewrite(TEXT, "on", &changes, Some(&change(1, "u32 = 3", "u32 = 4"))).expect("it is parsed");
        assert!(of_a_constant.text.starts_with("const LIMIT: u32 = 4;\n\nimpl"), "{}", of_a_constant.text);
        assert_eq!(of_a_constant.text.matches("match on()").count(), 1);
        let behind =
            rewrite(TEXT, "on", &changes, Some(&change(3, "copied()", "cloned()"))).expect("it is parsed");
        assert!(behind.text.ends_with("self.all.iter().cloned()\n    }\n}\n"), "{}", behind.text);
        let of_the_same =
            rewrite(TEXT, "on", &changes, Some(&change(9, "< LIMIT", "<= LIMIT"))).expect("it is parsed");
        assert_eq!(of_the_same.text, TEXT.replace("< LIMIT", "<= LIMIT"));
    }
}
