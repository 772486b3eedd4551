//! The fields that lines of a list are, such as `Status: [x] Completed`.

use std::ops::Range;

use crate::system::kit::checklist::{self, Kind, Line, Mark, shift};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) enum Field {
    Status,
    Started,
    Completed,
    Notes,
    Files,
    Requirements,
    Needs,
    /// Said for people, and of no use to an agent.
    Design,
}

/// A field that a line is, and where its value stands in it.
pub(in crate::system) fn field(line: &str) -> Option<(Field, Range<usize>)> {
    let (name, value) = checklist::field(line)?;
    let field = match name.as_str() {
        "status" => Field::Status,
        "started" | "started at" => Field::Started,
        "completed" | "completed at" => Field::Completed,
        "notes" | "note" => Field::Notes,
        "files" | "file" => Field::Files,
        "requirements" | "requirement" | "req" | "reqs" | "validates" | "covers" => Field::Requirements,
        "prerequisites" | "prerequisite" | "depends on" | "depends" | "dependencies" => Field::Needs,
        "design" => Field::Design,
        _ => return None,
    };
    Some((field, value))
}

/// The value of a line that is the field `Status`.
pub(in crate::system) fn status_field(text: &str, line: &Line) -> Option<Range<usize>> {
    let is_field = matches!(line.kind, Kind::Bullet | Kind::Text);
    let (_, value) =
        field(&text[line.text.clone()]).filter(|(field, _)| is_field && *field == Field::Status)?;
    Some(shift(value, line.text.start))
}

/// A box in front of a status, as in `**Status**: [x] Completed`: its mark, and what is between its brackets.
pub(in crate::system) fn status_box(text: &str, line: &Line) -> Option<(Mark, Range<usize>)> {
    let value = status_field(text, line)?;
    let place = box_before(text, &value)?;
    Some((checklist::mark(&text[place.clone()]).0, place))
}

fn box_before(text: &str, value: &Range<usize>) -> Option<Range<usize>> {
    let inside = text[value.clone()].strip_prefix('[')?;
    // A mark is a sign; more between brackets is a link, or a word.
    let (end, _) = inside.char_indices().take(3).find(|(_, c)| *c == ']')?;
    Some(value.start + 1..value.start + 1 + end)
}

/// A value without the box that it begins with.
pub(in crate::system) fn behind_box(text: &str, value: Range<usize>) -> Range<usize> {
    let Some(place) = box_before(text, &value) else { return value };
    let rest = &text[place.end + 1..value.end];
    value.end - rest.trim_start().len()..value.end
}
