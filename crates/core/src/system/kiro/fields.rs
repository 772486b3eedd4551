//! What a task says about itself below its box: `_Requirements: 1.2, 2.1-2.3_`, `_Depends: 1.2_`, `_Boundary: Name_`.

use std::ops::Range;

use crate::system::kit::checklist::{Checklist, Kind};
use crate::system::kit::numbered::NumberedBox;

/// The longest range of numbers that is counted out.
const LONGEST: u32 = 100;
/// References of one kind that a task may have. More are not followed.
const MOST: usize = 300;

/// What a task names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) requirements: Vec<Reference>,
    pub(super) depends: Vec<Reference>,
}

/// One name, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) at: Range<usize>,
}

/// The references in the lines below a box.
pub(super) fn named(one: &NumberedBox, list: &Checklist, text: &str) -> Named {
    let mut named = Named::default();
    for line in one.lines(list).filter(|line| matches!(line.kind, Kind::Bullet | Kind::Text)) {
        let said = &text[line.text.clone()];
        let at = |part: &str| line.text.start + (part.as_ptr() as usize - said.as_ptr() as usize);
        for (key, value) in fields(said) {
            let list = match key.as_str() {
                "requirements"
                | "requirement"
                | "validates"
                | "需求"
                | "要件"
                | "요구사항"
                | "требования"
                | "requisitos"
                | "exigences"
                | "anforderungen" => &mut named.requirements,
                "depends" | "depends on" | "depends_on" | "dependencies" | "prerequisites" | "依赖"
                | "依存" | "前置条件" => &mut named.depends,
                _ => continue,
            };
            references(value, at(value), list);
        }
    }
    named
}

/// The fields of a line. A line may have two, one of them behind bold text.
fn fields(line: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "-*_•".contains(c));
    if let Some((key, value)) = field(bare) {
        found.push((key, value));
    }
    if let Some(start) = bare.find("Validates:").filter(|start| *start > 0) {
        found.extend(field(&bare[start..]));
    }
    found
}

fn field(text: &str) -> Option<(String, &str)> {
    let (at, colon) = text.char_indices().take(24).find(|(_, c)| matches!(c, ':' | '\u{ff1a}'))?;
    let key = text[..at].trim_matches(|c: char| c.is_whitespace() || "*_".contains(c)).to_lowercase();
    let value = text[at + colon.len_utf8()..].trim_matches(|c: char| c.is_whitespace() || "*_.".contains(c));
    // A second field in the same line is not part of this one.
    let value = value.find("**").map_or(value, |end| &value[..end]);
    Some((key, value))
}

/// `1.2, 2.1-2.3, 14`. Words without numbers name nothing.
fn references(value: &str, at: usize, found: &mut Vec<Reference>) {
    let is_between = |c: char| matches!(c, ',' | ';' | '&' | '、' | '，' | '；');
    for part in value.split(is_between).flat_map(|part| part.split(" and ")) {
        let part = part.trim();
        let start = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let is_name = part[..start].chars().count() <= 16;
        let name: &str = &part[start..];
        let place = at + (name.as_ptr() as usize - value.as_ptr() as usize);
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            (text[..end].trim_end_matches('.').to_owned(), end)
        };
        let (first, end) = number(name);
        if first.is_empty() || !is_name || first.len() > 20 {
            continue;
        }
        let rest = name[end..].trim_start();
        let to = rest.strip_prefix(['-', '–', '—', '~', '〜', '～']).or_else(|| rest.strip_prefix("to "));
        let last = to.map(|to| number(to.trim_start()).0).filter(|last| !last.is_empty());
        let push = |name: String, found: &mut Vec<Reference>| {
            let at = place..place + end;
            if found.len() < MOST && !found.iter().any(|known: &Reference| known.name == name) {
                found.push(Reference { name, at });
            }
        };
        match last.as_deref().and_then(|last| between(&first, last)) {
            Some(all) => all.into_iter().for_each(|name| push(name, found)),
            None => {
                push(first, found);
                last.into_iter().for_each(|last| push(last, found));
            }
        }
    }
}

/// `1.2` to `1.5`, or `2` to `4`.
fn between(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |number: &str| {
        let (stem, last) = number.rsplit_once('.').map_or(("", number), |(stem, last)| (stem, last));
        Some((stem.to_owned(), last.parse::<u32>().ok()?))
    };
    let ((stem, from), (other, to)) = (split(first)?, split(last)?);
    let is_range = (stem == other || other.is_empty()) && from <= to && to - from < LONGEST;
    let named = |number: u32| if stem.is_empty() { number.to_string() } else { format!("{stem}.{number}") };
    is_range.then(|| (from..=to).map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<String> {
        let mut found = Vec::new();
        references(value, 0, &mut found);
        for one in &found {
            assert!(value.get(one.at.clone()).is_some(), "{one:?}");
        }
        found.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn references_are_numbers_ranges_and_whole_requirements() {
        assert_eq!(read("1.2, 2.1-2.3, 14"), ["1.2", "2.1", "2.2", "2.3", "14"]);
        assert_eq!(read("1.1–1.2 and 3"), ["1.1", "1.2", "3"]);
        assert_eq!(read("Requirements 9.1、9.2"), ["9.1", "9.2"]);
        assert_eq!(read("1.1-1.9999"), ["1.1", "1.9999"]);
        assert_eq!(read("Testing strategy, None"), [""; 0]);
        assert_eq!(read("3.1 to 3.2 (all)"), ["3.1", "3.2"]);
    }

    #[test]
    fn fields_are_found_in_the_ways_they_were_seen() {
        let keys =
            |line| fields(line).into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
        assert_eq!(keys("_Requirements: 1.2, 1.4_"), ["requirements=1.2, 1.4"]);
        assert_eq!(keys("-- _Requirements: 3.2_"), ["requirements=3.2"]);
        assert_eq!(keys("_需求：1.1_"), ["需求=1.1"]);
        assert_eq!(
            keys("**Property 2: round trip**   **Validates: Requirements 1.4**"),
            ["property 2=round trip", "validates=Requirements 1.4"]
        );
        assert_eq!(keys("**Validates: Requirements 9.1, 9.2**"), ["validates=Requirements 9.1, 9.2"]);
        assert_eq!(keys("no field"), [""; 0]);
    }
}
