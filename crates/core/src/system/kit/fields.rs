//! Reads the values of a JSON file that any program, model or person may have written. Values that can be understood
//! are taken, with a warning where Piton had to guess. Others are rejected at their own bytes.

use crate::diagnostic::{Diagnostic, nearest};
use crate::system::kit::json::{Kind, Node};
use crate::time::Timestamp;

/// What has been found wrong so far.
#[derive(Debug, Default)]
pub(in crate::system) struct Reader {
    pub(in crate::system) problems: Vec<Diagnostic>,
}

/// A word that was understood as one of ours, and whether it is spelled exactly so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) struct LenientWord<T> {
    pub(in crate::system) word: T,
    pub(in crate::system) exact: bool,
}

pub(in crate::system) type Fields<'n> = &'n [(String, Node)];

pub(in crate::system) fn get<'n>(fields: Fields<'n>, name: &str) -> Option<&'n Node> {
    fields.iter().find(|(key, node)| key == name && node.kind != Kind::Null).map(|(_, node)| node)
}

impl Reader {
    pub(in crate::system) fn warn(&mut self, node: &Node, message: impl Into<String>, label: &str) {
        self.problems.push(Diagnostic::warning(node.at.clone(), message).label(label));
    }

    pub(in crate::system) fn refuse(&mut self, node: &Node, message: impl Into<String>) {
        self.problems
            .push(Diagnostic::error(node.at.clone(), message).label(format!("this is {}", node.name())));
    }

    pub(in crate::system) fn object<'n>(&mut self, node: &'n Node, what: &str) -> Option<Fields<'n>> {
        match &node.kind {
            Kind::Object(fields) => Some(fields),
            _ => {
                self.refuse(node, format!("{what} must be an object"));
                None
            }
        }
    }

    pub(in crate::system) fn list<'n>(&mut self, fields: Fields<'n>, name: &str) -> &'n [Node] {
        match get(fields, name) {
            Some(Node { kind: Kind::List(items), .. }) => items,
            Some(node) => {
                self.refuse(node, format!("`{name}` must be a list"));
                &[]
            }
            None => &[],
        }
    }

    pub(in crate::system) fn text(&mut self, fields: Fields, name: &str) -> Option<String> {
        let node = get(fields, name)?;
        match &node.kind {
            Kind::Text(text) => Some(text.clone()),
            // A version or a hash of digits only, without its quotes.
            Kind::Number(number) => {
                self.warn(node, format!("`{name}` is a number"), "read as text");
                Some(number.to_string())
            }
            _ => {
                self.refuse(node, format!("`{name}` must be text"));
                None
            }
        }
    }

    pub(in crate::system) fn words(&mut self, fields: Fields, name: &str) -> Option<String> {
        self.text(fields, name).filter(|text| !text.trim().is_empty())
    }

    pub(in crate::system) fn truth(&mut self, fields: Fields, name: &str) -> bool {
        match get(fields, name).map(|node| (node, &node.kind)) {
            None => false,
            Some((_, Kind::Bool(yes))) => *yes,
            Some((_, Kind::Text(text))) if matches!(text.as_str(), "true" | "false") => text == "true",
            Some((node, _)) => {
                self.refuse(node, format!("`{name}` must be true or false"));
                false
            }
        }
    }

    /// A count; some write it in quotes, and a count gone wrong may be negative.
    pub(in crate::system) fn count(&mut self, fields: Fields, name: &str) -> Option<u32> {
        let node = get(fields, name)?;
        let whole = match &node.kind {
            Kind::Number(number) => number.as_i64().or_else(|| {
                let whole = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e9)?;
                format!("{whole:.0}").parse().ok()
            }),
            Kind::Text(text) => text.trim().parse::<i64>().ok(),
            _ => None,
        };
        match whole {
            Some(whole) if whole < 0 => {
                self.warn(node, format!("`{name}` is negative"), "read as 0");
                Some(0)
            }
            // A larger number is a mistake.
            Some(whole) if whole <= i64::from(u32::MAX / 2) => u32::try_from(whole).ok(),
            _ => {
                self.refuse(node, format!("`{name}` must be a whole number"));
                None
            }
        }
    }

    pub(in crate::system) fn time(&mut self, fields: Fields, name: &str) -> Option<Timestamp> {
        let node = get(fields, name)?;
        match time_of(node) {
            When::At(time) => Some(time),
            When::NoZone(time) => {
                self.warn(node, format!("`{name}` does not say its time zone"), "read as UTC");
                Some(time)
            }
            When::Never => None,
            When::Unknown => {
                self.warn(node, format!("`{name}` is not a time"), "ignored");
                None
            }
        }
    }

    /// The id in an entry of a list.
    pub(in crate::system) fn id_of(&mut self, item: &Node) -> Option<String> {
        let fields = self.object(item, "a task")?;
        let node = get(fields, "id").or_else(|| get(fields, "task_id"));
        match node.map(|node| (node, &node.kind)) {
            Some((_, Kind::Text(id))) => Some(id.clone()),
            Some((node, Kind::Number(number))) => {
                if number.is_f64() {
                    self.refuse(node, "an id written as a fraction may have lost a digit");
                    return None;
                }
                self.warn(node, "the id is a number", "read as text");
                Some(number.to_string())
            }
            _ => {
                self.refuse(item, "a task without an id");
                None
            }
        }
    }

    /// The value of a status field. Warns about a word that is only understood, and rejects an unknown one.
    pub(in crate::system) fn status_word<T: Copy>(
        &mut self,
        node: &Node,
        word: &str,
        parsed: Option<LenientWord<T>>,
        say: impl Fn(T) -> &'static str,
        known: &[&str],
    ) -> Option<T> {
        match parsed {
            Some(LenientWord { word: value, exact }) => {
                if !exact {
                    let label = format!("read as `{}`", say(value));
                    self.warn(node, format!("{word:?} is not a status of this file"), &label);
                }
                Some(value)
            }
            None => {
                let mut problem =
                    Diagnostic::error(node.at.clone(), format!("the status {word:?} is unknown"))
                        .label(format!("one of {}", known.join(", ")));
                if let Some(near) = nearest(word, known.iter().copied()) {
                    problem = problem.help(format!("did you mean `{near}`?"));
                }
                self.problems.push(problem);
                None
            }
        }
    }
}

enum When {
    At(Timestamp),
    NoZone(Timestamp),
    Never,
    Unknown,
}

/// Every way in which such files say when.
fn time_of(node: &Node) -> When {
    match &node.kind {
        Kind::Text(text) => {
            let text = text.trim();
            if text.is_empty() {
                return When::Never;
            }
            if let Some(time) = Timestamp::parse(text) {
                return When::At(time);
            }
            if let Some(time) = zone_without_colon(text).and_then(|text| Timestamp::parse(&text)) {
                return When::At(time);
            }
            let utc = [format!("{text}Z"), format!("{text}T00:00:00Z")];
            match utc.iter().find_map(|text| Timestamp::parse(text)) {
                Some(time) => When::NoZone(time),
                None => When::Unknown,
            }
        }
        Kind::Number(number) => match number.as_f64() {
            // Seconds until the year 5138, and milliseconds from 1973 on.
            Some(n) if (0.0..1e11).contains(&n) => When::At(Timestamp(millis(n * 1000.0))),
            Some(n) if (1e11..1e14).contains(&n) => When::At(Timestamp(millis(n))),
            _ => When::Unknown,
        },
        _ => When::Unknown,
    }
}

fn millis(n: f64) -> i64 {
    format!("{n:.0}").parse().unwrap_or(0)
}

/// `-0600` for `-06:00`.
fn zone_without_colon(text: &str) -> Option<String> {
    let split = text.len().checked_sub(5)?;
    let (time, zone) = text.split_at_checked(split)?;
    let digits = zone.strip_prefix(['+', '-'])?;
    let is_zone = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_zone && time.contains(':')).then(|| format!("{time}{}:{}", &zone[..3], &zone[3..]))
}
