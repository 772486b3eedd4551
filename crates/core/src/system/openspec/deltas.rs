//! What the specs of a change ask for: requirements that are added, changed or removed, each with scenarios.

use crate::system::kit::checklist::{self, Kind};

/// More scenarios than these are left to the specs themselves.
const MOST: usize = 200;

/// What holds when the change is done, one line for each scenario.
pub(super) fn scenarios(text: &str) -> Vec<String> {
    let list = checklist::scan(text);
    let mut found: Vec<String> = Vec::new();
    let (mut operation, mut requirement, mut inside) = (String::new(), String::new(), false);
    for line in &list.lines {
        let said = text[line.text.clone()].trim();
        match &line.kind {
            Kind::Heading(1 | 2) => {
                operation = said.split_whitespace().next().unwrap_or_default().to_uppercase();
                (requirement, inside) = (String::new(), false);
            }
            Kind::Heading(3) => {
                requirement = named(said).to_owned();
                inside = false;
                if operation == "REMOVED" && !requirement.is_empty() {
                    found.push(format!("{requirement}: removed"));
                }
            }
            Kind::Heading(_) if operation != "REMOVED" && operation != "RENAMED" => {
                let name = named(said);
                let of = if requirement.is_empty() { String::new() } else { format!("{requirement} / ") };
                found.push(format!("{of}{name}:"));
                inside = true;
            }
            Kind::Heading(_) => inside = false,
            Kind::Bullet | Kind::Text | Kind::Item(_) if inside => {
                let last = found.last_mut().expect("a scenario was begun");
                last.push(' ');
                last.push_str(&said.replace("**", ""));
            }
            _ => {}
        }
    }
    // A heading with nothing below it says nothing.
    found.retain(|scenario| !scenario.ends_with(':'));
    if found.len() > MOST {
        let more = found.len() - MOST;
        found.truncate(MOST);
        found.push(format!("and {more} more scenarios, in the specs of the change"));
    }
    found
}

/// `Scenario: Name` is called `Name`.
fn named(heading: &str) -> &str {
    let colon = |c: char| matches!(c, ':' | '\u{ff1a}');
    let after = heading.split_once(colon).map(|(_, name)| name.trim()).filter(|name| !name.is_empty());
    after.unwrap_or(heading)
}
