//! Requirements: headings with numbers, and below each a list of what has to hold. `2.3` is the third line of the second.

use std::collections::BTreeMap;

use crate::system::kit::checklist::{self, Kind, Line};

/// What has to hold, by its number, and the numbers of each requirement in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements {
    lines: BTreeMap<String, String>,
    of_whole: BTreeMap<String, Vec<String>>,
}

impl Requirements {
    pub(super) fn read(text: &str) -> Requirements {
        let list = checklist::scan(text);
        let mut read = Requirements::default();
        let mut chapter: Option<(String, u8)> = None;
        let mut last: Option<String> = None;
        for line in &list.lines {
            let said = text[line.text.clone()].trim();
            match &line.kind {
                Kind::Heading(level) => {
                    last = None;
                    if let Some(number) = heading_number(said) {
                        read.of_whole.entry(number.clone()).or_default();
                        chapter = Some((number, *level));
                    } else if chapter.as_ref().is_some_and(|(_, of)| level <= of) {
                        chapter = None;
                    }
                }
                Kind::Bullet | Kind::Text | Kind::Item(_) => {
                    let at_margin = line.indent < 4;
                    match number_of(line, text, said).filter(|_| at_margin) {
                        Some((number, words)) => {
                            let chapter = chapter.as_ref().map(|(chapter, _)| chapter.as_str());
                            last = read.line(chapter, number, words);
                        }
                        // The rest of a line that was wrapped, or a part of it.
                        None if matches!(line.kind, Kind::Text) || line.indent > 0 => {
                            let open = last.as_ref().and_then(|last| read.lines.get_mut(last));
                            open.into_iter().for_each(|open| {
                                open.push(' ');
                                open.push_str(said);
                            });
                        }
                        None => last = None,
                    }
                }
                Kind::Blank => {}
                _ => last = None,
            }
        }
        read
    }

    /// The first line of a number counts. Returns its number, if it is new.
    fn line(&mut self, chapter: Option<&str>, number: &str, words: &str) -> Option<String> {
        let number = if number.contains('.') { number.to_owned() } else { format!("{}.{number}", chapter?) };
        let whole = number.split('.').next().unwrap_or_default().to_owned();
        if self.lines.contains_key(&number) {
            return None;
        }
        self.of_whole.entry(whole).or_default().push(number.clone());
        self.lines.insert(number.clone(), words.to_owned());
        Some(number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What a number names: one line, or all of a requirement. `None`: there is nothing of that number.
    pub(super) fn named(&self, number: &str) -> Option<Vec<String>> {
        let said = |number: &String| Some(format!("{number} {}", self.lines.get(number)?));
        let number = number.to_owned();
        if let Some(line) = said(&number) {
            return Some(vec![line]);
        }
        self.of_whole.get(&number).map(|all| all.iter().filter_map(said).collect())
    }
}

/// `Requirement 2: Name`, `需求 2`, `2. Name`.
fn heading_number(heading: &str) -> Option<String> {
    let start = heading.find(|c: char| c.is_ascii_digit())?;
    let before =
        heading[..start].trim_matches(|c: char| c.is_whitespace() || "*_#".contains(c)).to_lowercase();
    const WORDS: [&str; 12] = [
        "",
        "requirement",
        "requirements",
        "req",
        "r",
        "需求",
        "要件",
        "요구사항",
        "требование",
        "requisito",
        "exigence",
        "anforderung",
    ];
    let before = before.trim_end_matches('-');
    let digits: String = heading[start..].chars().take_while(char::is_ascii_digit).collect();
    let behind = &heading[start + digits.len()..];
    // `1.2` and `2nd` are something else.
    let behind = behind.strip_prefix('.').unwrap_or(behind);
    let is_whole = !behind.starts_with(|c: char| c.is_ascii_alphanumeric());
    let number = digits.trim_start_matches('0').to_owned();
    (WORDS.contains(&before) && is_whole && !number.is_empty() && number.len() <= 6).then_some(number)
}

/// The number of a line: `3. WHEN …`, `- 2.1 WHEN …`, `**2.1** WHEN …`.
fn number_of<'t>(line: &Line, text: &'t str, said: &'t str) -> Option<(&'t str, &'t str)> {
    let whole = text[line.at.clone()].trim_start();
    let digits = whole.bytes().take_while(u8::is_ascii_digit).count();
    let is_dotted = |text: &str| {
        let parts: Vec<&str> = text.split('.').collect();
        parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && part.len() <= 4)
    };
    let bare = said.trim_start_matches(['*', '_', '(']);
    let end = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
    let number = bare[..end].trim_end_matches('.');
    if is_dotted(number) {
        let rest = bare[end..].trim_start_matches(['*', '_', ')', ':', '.']).trim_start();
        return (!rest.is_empty()).then_some((number, rest));
    }
    let is_counted = matches!(line.kind, Kind::Bullet) && (1..=4).contains(&digits);
    is_counted
        .then(|| (whole[..digits].trim_start_matches('0'), said))
        .filter(|(number, _)| !number.is_empty())
}
