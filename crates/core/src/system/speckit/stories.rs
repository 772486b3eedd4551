//! What a specification says about its stories: the sections of `spec.md`.

use std::collections::BTreeMap;

use crate::system::kit::checklist::{self, Kind};
use crate::system::kit::draft::Entries;
use crate::system::kit::text::key;

/// More of one story are prose.
const MOST: usize = 30;
/// More stories do not belong to one feature.
const MOST_STORIES: usize = 200;

/// The acceptance scenarios of each story, by its number.
pub(super) fn scenarios(spec: &str) -> BTreeMap<String, Vec<String>> {
    let list = checklist::scan(spec);
    let sections = Entries::of(&list).sections;
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for section in &sections {
        let Some(story) = story_of(&spec[section.title.clone()]) else { continue };
        if all.len() >= MOST_STORIES && !all.contains_key(&story) {
            continue;
        }
        let scenarios = all.entry(story).or_default();
        let mut within = false;
        for line in &list.lines[section.lines.clone()] {
            let said = &spec[line.text.clone()];
            match line.kind {
                Kind::Text if is_about_scenarios(said) => within = true,
                Kind::Text if said.starts_with("**") && !line_is_scenario(said) => within = false,
                Kind::Bullet | Kind::Item(_) if within && scenarios.len() < MOST => {
                    scenarios.push(said.replace("**", ""));
                }
                Kind::Text if within && line.indent > 0 => {
                    if let Some(last) = scenarios.last_mut() {
                        last.push(' ');
                        last.push_str(&said.replace("**", ""));
                    }
                }
                _ => {}
            }
        }
    }
    all.retain(|_, scenarios| !scenarios.is_empty());
    all
}

/// The number of the story that a heading is about: `User Story 2 - Export (Priority: P2)`.
pub(super) fn story_of(title: &str) -> Option<String> {
    let plain = key(title).to_lowercase();
    let rest = plain.split_once("user story").map(|(_, rest)| rest)?.trim_start();
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let number = number.trim_end_matches('.');
    (!number.is_empty()).then(|| number.to_owned())
}

fn is_about_scenarios(line: &str) -> bool {
    key(line).to_lowercase().trim_start_matches('*').starts_with("acceptance")
}

/// `**Given** …, **When** …` at the beginning of a line.
fn line_is_scenario(line: &str) -> bool {
    line.starts_with("**Given**") || line.starts_with("**When**")
}
