//! The roadmap: what phases there are, what each is to reach, and the boxes of their plans.

use std::ops::Range;

use super::place::plain_number;
use crate::system::kit::checklist::{Checklist, Kind, Line, field};
use crate::system::kit::draft::BoxAt;

/// The criteria of one phase.
const CRITERIA: usize = 50;

#[derive(Clone, Debug, Default)]
pub(super) struct Roadmap {
    pub(super) phases: Vec<PhaseEntry>,
    pub(super) plans: Vec<PlanBox>,
    /// Boxes that belong to neither.
    pub(super) other: Vec<Range<usize>>,
}

/// A phase as the roadmap has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PhaseEntry {
    /// Without zeros before it.
    pub(super) number: String,
    pub(super) name: String,
    pub(super) goal: String,
    pub(super) criteria: Vec<String>,
    /// It is crossed out.
    pub(super) dropped: bool,
}

/// The box of a plan in the list of its phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanBox {
    /// As the list calls it: `03-01`.
    pub(super) name: String,
    /// What stands behind it.
    pub(super) title: String,
    pub(super) at: Range<usize>,
    pub(super) mark: BoxAt,
    /// Whether its file should exist: the list names the file.
    pub(super) is_file: bool,
}

impl Roadmap {
    pub(super) fn read(list: &Checklist, text: &str) -> Roadmap {
        let mut map = Roadmap::default();
        // The phase whose details these lines are, and whether they are its criteria.
        let (mut current, mut in_criteria) = (None, false);
        for line in &list.lines {
            let said = &text[line.text.clone()];
            match &line.kind {
                Kind::Heading(_) => {
                    current = phase(said).map(|(number, name)| map.phase(&number, &name));
                    in_criteria = false;
                }
                Kind::Item(item) => {
                    if let Some((number, name)) = phase(said) {
                        let nth = map.phase(&number, &name);
                        map.phases[nth].dropped |= item.struck || is_struck(text, line);
                    } else if let Some((name, title, is_file)) = plan(said) {
                        let at = line.text.clone();
                        map.plans.push(PlanBox { name, title, at, mark: BoxAt::new(item), is_file });
                    } else {
                        map.other.push(line.text.clone());
                    }
                }
                Kind::Text | Kind::Bullet => {
                    let Some(nth) = current else { continue };
                    let entry: &mut PhaseEntry = &mut map.phases[nth];
                    let plain = said.trim_start_matches(['*', '_']).to_lowercase();
                    match field(said) {
                        _ if plain.starts_with("success criteria") => in_criteria = true,
                        Some((name, value)) if name == "goal" => entry.goal = said[value].to_owned(),
                        Some((name, _)) if matches!(&*name, "plans" | "requirements" | "depends on") => {
                            in_criteria = false;
                        }
                        _ if in_criteria && line.kind == Kind::Bullet && entry.criteria.len() < CRITERIA => {
                            entry.criteria.push(said.to_owned());
                        }
                        _ => {}
                    }
                }
                Kind::Blank => {}
                _ => in_criteria = false,
            }
        }
        map
    }

    fn phase(&mut self, number: &str, name: &str) -> usize {
        if let Some(nth) = self.phases.iter().position(|known| known.number == number) {
            return nth;
        }
        self.phases.push(PhaseEntry {
            number: number.to_owned(),
            name: name.to_owned(),
            ..PhaseEntry::default()
        });
        self.phases.len() - 1
    }

    pub(super) fn phase_of(&self, number: &str) -> Option<&PhaseEntry> {
        self.phases.iter().find(|phase| phase.number == number)
    }
}

/// `~~**Phase 3.4: Name**~~ - ABANDONED`.
fn is_struck(text: &str, line: &Line) -> bool {
    text[line.at.clone()].contains("~~**Phase") || text[line.at.clone()].contains("**~~Phase")
}

/// `**Phase 3: Name** - more`, `Phase 03.2: Name (INSERTED)`: the number and the name of a phase.
fn phase(text: &str) -> Option<(String, String)> {
    let bare = text.trim_start_matches(|c: char| {
        "*_~".contains(c) || c.is_whitespace() || !c.is_ascii() && !c.is_alphanumeric()
    });
    let rest = bare.strip_prefix("Phase ").or_else(|| bare.strip_prefix("PHASE "))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches('.');
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let name = rest[end..].trim_start_matches(|c: char| c.is_whitespace() || ":.-–—*".contains(c));
    let name = name.split("**").next().unwrap_or_default().trim().trim_end_matches("(INSERTED)").trim();
    // `Phase 1-11` is several.
    (!rest[end..].starts_with('-') || !name.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| (plain_number(number), name.trim_end_matches('~').to_owned()))
}

/// `03-01-PLAN.md — text`, `03-01: text`, `**03-01**: text`, `[03-01-PLAN.md](…) text`, `TBD`.
fn plan(text: &str) -> Option<(String, String, bool)> {
    let bare = text.trim_start_matches(|c: char| "*_`~[".contains(c) || c.is_whitespace());
    let bare = bare.strip_prefix("Plan ").unwrap_or(bare);
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let end = bare.find(|c| !fits(c)).unwrap_or(bare.len());
    let (word, rest) = bare.split_at(end);
    let is_file = word.ends_with(".md") && word.contains("PLAN");
    let name = word.trim_end_matches(".md").trim_end_matches(['.', '-']);
    let name = name.strip_suffix("-PLAN").unwrap_or(name);
    let is_number = name.split_once('-').is_some_and(|(phase, plan)| {
        let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        digits(phase) && digits(plan)
    });
    let rest = rest.trim_start_matches(|c: char| "*_`~]".contains(c));
    let rest = match rest.strip_prefix('(') {
        Some(link) => link.split_once(')').map_or(rest, |(_, rest)| rest),
        None => rest,
    };
    let title = rest.trim_start_matches(|c: char| c.is_whitespace() || ":-–—".contains(c));
    (is_file || is_number).then(|| (name.to_owned(), title.trim().to_owned(), is_file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::kit::checklist;

    #[test]
    fn phases_are_read_in_the_ways_they_were_seen() {
        let read = |text: &str| phase(text).map(|(number, name)| format!("{number} {name}"));
        assert_eq!(read("**Phase 3: Sign in** - text").as_deref(), Some("3 Sign in"));
        assert_eq!(read("Phase 03.2: Add it (INSERTED)").as_deref(), Some("3.2 Add it"));
        assert_eq!(read("✅ Phase 12 - Name").as_deref(), Some("12 Name"));
        assert_eq!(read("~~**Phase 3.4 — Old**~~ - ABANDONED").as_deref(), Some("3.4 Old"));
        assert_eq!(read("**Phase 1-11** — Full MVP"), None);
        assert_eq!(read("Phase Details"), None);
    }

    #[test]
    fn plans_are_read_in_the_ways_they_were_seen() {
        let read = |text: &str| plan(text);
        let wanted = |name: &str, title: &str, is_file| Some((name.to_owned(), title.to_owned(), is_file));
        assert_eq!(read("03-01-PLAN.md — Do it"), wanted("03-01", "Do it", true));
        assert_eq!(read("03-01: Do it"), wanted("03-01", "Do it", false));
        assert_eq!(read("**02.1-02-PLAN.md**: Do it"), wanted("02.1-02", "Do it", true));
        assert_eq!(read("[12-01-PLAN.md](phases/12/12-01-PLAN.md) - x"), wanted("12-01", "x", true));
        assert_eq!(read("PIVOT-PLAN.md -- x"), wanted("PIVOT", "x", true));
        assert_eq!(read("TBD (run /gsd:plan-phase 4)"), None);
    }

    #[test]
    fn goals_and_criteria_belong_to_their_phase() {
        let text = "\
- [ ] ~~**Phase 2: Old**~~ - ABANDONED
### Phase 1: Base
**Goal**: It stands
**Success Criteria** (what must be TRUE):
  1. One holds
  2. Two holds
**Plans**: 1 plan

- [x] 01-01-PLAN.md — First
- [ ] something else
```
- [ ] 09-09-PLAN.md — not a box
```
";
        let map = Roadmap::read(&checklist::scan(text), text);
        assert_eq!(map.phases[1].goal, "It stands");
        assert_eq!(map.phases[1].criteria, ["One holds", "Two holds"]);
        assert_eq!((map.phases[0].dropped, map.phases[1].dropped), (true, false));
        let names: Vec<(&str, bool)> =
            map.plans.iter().map(|plan| (plan.name.as_str(), plan.mark.is_done)).collect();
        assert_eq!(names, [("01-01", true)]);
        assert_eq!(map.other.len(), 1);
    }
}
