//! The model on the screen. Only what is visible is looked at.

use piton_core::run::Status;
use piton_core::view::{self, GroupStatus, RunStatus};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;

use crate::screen::action::Confirmation;
use crate::screen::field::Field;
use crate::screen::layout::GUTTER;
use crate::screen::model::{Model, Popup, Prompt};
use crate::screen::pane::{Pane, Room};
use crate::screen::picture::{GroupRow, Picture, TaskRow, sign};
use crate::screen::text::{Ink, columns, cut};
use crate::screen::tree::Row;
use crate::screen::view::{Focus, Tab};

fn style(ink: Ink) -> Style {
    match ink {
        Ink::Plain => Style::new(),
        Ink::Dim => Style::new().add_modifier(Modifier::DIM),
        Ink::Bold => Style::new().add_modifier(Modifier::BOLD),
        Ink::Good => Style::new().fg(Color::Green),
        Ink::Warning => Style::new().fg(Color::Yellow),
        Ink::Bad => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
        Ink::Busy => Style::new().fg(Color::Cyan),
    }
}

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

pub(crate) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let (places, area) = (model.places(), frame.area());
    let buffer = frame.buffer_mut();
    tabs(model, places.tabs, buffer);
    if let Some(place) = places.tree {
        tree(model, place, buffer);
        if let Some(pane) = places.pane {
            rule(pane.x.saturating_sub(1), place, buffer);
        }
    }
    if let Some(place) = places.pane {
        let is_focused = model.focus == Focus::Pane;
        match missing(model) {
            Some(text) => {
                put(buffer, place.x + GUTTER, place.y, text, usize::from(place.width), style(Ink::Dim));
            }
            None => pane(&model.main, place, places.pane_room(), is_focused, buffer),
        }
    }
    if let Some(place) = places.beside {
        rule(place.x.saturating_sub(1), place, buffer);
        pane(&model.beside, place, places.beside_room(), false, buffer);
    }
    state(model, places.state, buffer);
    let mut cursor = keys(model, places.keys, buffer);
    match &model.popup {
        Some(Popup::Help(text)) => {
            popup("Keys", text, places.popup, places.popup_room(), buffer);
        }
        Some(Popup::Answer { title, good, pane }) => {
            let title = format!("{} {title}", if *good { "✓" } else { "✗" });
            popup(&title, pane, places.popup, places.popup_room(), buffer);
        }
        Some(Popup::Confirm(confirmation)) => cursor = confirm(confirmation, area, buffer),
        None => {}
    }
    if let Some(at) = cursor {
        frame.set_cursor_position(at);
    }
}

/// Put text into a row, as much as fits. Says where it ends.
fn put(buffer: &mut Buffer, x: u16, y: u16, text: &str, most: usize, style: Style) -> u16 {
    if !buffer.area.contains((x, y).into()) {
        return x;
    }
    buffer.set_stringn(x, y, text, most, style).0
}

fn rule(x: u16, place: Rect, buffer: &mut Buffer) {
    for y in place.top()..place.bottom() {
        put(buffer, x, y, "│", 1, style(Ink::Dim));
    }
}

/// Why there is no text to show.
fn missing(model: &Model) -> Option<&'static str> {
    match &model.picture {
        None => Some("reading the run…"),
        Some(_) if model.is_of_task(model.tab) && model.selected().is_none() => Some("select a task"),
        Some(_) if !model.main.is_read() => Some("reading…"),
        Some(_) if model.main.len() == 0 => Some(match model.tab {
            Tab::Output => "its agent has printed nothing",
            Tab::Checks => "none of its checks has run",
            Tab::Inbox => "nothing waits for you",
            Tab::Landing => "nothing is on its way to the target",
            Tab::Timeline => "no task has started yet",
            Tab::Detail | Tab::Diff | Tab::Journal => "nothing",
        }),
        Some(_) => None,
    }
}

fn tabs(model: &Model, place: Rect, buffer: &mut Buffer) {
    if place.height == 0 {
        return;
    }
    let is_single = model.places().is_single();
    let in_tree = model.focus == Focus::Tree;
    let mut names = vec![("Tasks".to_owned(), "Tasks".to_owned(), !is_single || in_tree, in_tree)];
    for (number, tab) in (1..).zip(Tab::ALL) {
        let is_open = model.tab == tab && (!is_single || !in_tree);
        let count = if tab == Tab::Inbox && model.waiting > 0 {
            format!(" {}", model.waiting)
        } else {
            String::new()
        };
        let name = format!("{number} {}{count}", tab.name());
        names.push((name, format!("{number}{count}"), is_open, !in_tree));
    }
    // On a narrow screen the names of the others would take the room.
    let whole: usize = names.iter().map(|(name, ..)| columns(name) + 1).sum();
    let is_short = whole > usize::from(place.width);
    let mut x = place.x + 1;
    for (name, short, is_open, has_keys) in &names {
        let room = usize::from(place.right().saturating_sub(x));
        let shown = if is_short && !is_open { short } else { name };
        let end = put(buffer, x, place.y, shown, room, if *is_open { Style::new() } else { style(Ink::Dim) });
        let look = if *has_keys { REVERSED } else { Style::new().add_modifier(Modifier::UNDERLINED) };
        if *is_open {
            let (from, columns) = if *has_keys { (x - 1, end + 2 - x) } else { (x, end - x) };
            let area = Rect::new(from, place.y, columns, 1).intersection(place);
            buffer.set_style(area, look.add_modifier(Modifier::BOLD));
        }
        x = end + 1;
    }
    if model.is_of_task(model.tab)
        && (!is_single || !in_tree)
        && let (Some(picture), Some(id)) = (&model.picture, model.selected())
    {
        let title = picture.tasks.iter().find(|task| task.id == *id).map(|task| &*task.title);
        let text = format!(" {id} {}", title.unwrap_or_default());
        let room = usize::from(place.right().saturating_sub(x));
        // Less would say nothing.
        if room >= columns(id.as_str()) + 10 {
            put(buffer, x, place.y, &cut(&text, room), room, Style::new());
        }
    }
}

fn tree(model: &Model, place: Rect, buffer: &mut Buffer) {
    let Some(picture) = &model.picture else {
        put(buffer, place.x + 1, place.y, "reading the run…", usize::from(place.width), style(Ink::Dim));
        return;
    };
    let height = usize::from(place.height);
    let rows: Vec<(Row, bool)> = model.tree.visible(height).collect();
    // The column of ids is as wide as those that are visible, up to a third of the tree.
    let ids = rows.iter().filter_map(|(row, _)| match row {
        Row::Task(at) => Some(columns(picture.tasks[*at].id.as_str())),
        Row::Group(_) => None,
    });
    let id_width = ids.max().unwrap_or(0).min(usize::from(place.width / 3));
    for (y, (row, is_selected)) in (place.y..).zip(&rows) {
        let line = Rect::new(place.x, y, place.width, 1);
        match row {
            Row::Group(at) => {
                let is_open = model.tree.is_open(picture, *at);
                group_line(&picture.groups[*at], is_open, line, buffer);
            }
            Row::Task(at) => task_line(model, &picture.tasks[*at], id_width, line, buffer),
        }
        if *is_selected {
            let look = if model.focus == Focus::Tree { REVERSED } else { style(Ink::Bold) };
            buffer.set_style(line, look);
            if model.focus != Focus::Tree {
                put(buffer, line.x, y, "▌", 1, style(Ink::Bold));
            }
        }
    }
    if rows.is_empty() {
        let why =
            if model.tree.filter().is_empty() { "there are no tasks" } else { "no task has these words" };
        put(buffer, place.x + 1, place.y, why, usize::from(place.width), style(Ink::Dim));
    }
}

/// A text at the left that may be cut, and one at the right that is not.
fn left_and_right(left: &[(&str, Style)], right: (&str, Style), line: Rect, buffer: &mut Buffer) {
    let width = usize::from(line.width);
    let taken = columns(right.0).min(width);
    let mut room = width.saturating_sub(if taken > 0 { taken + 1 } else { 0 });
    let mut x = line.x;
    for (text, look) in left {
        let shown = cut(text, room);
        x = put(buffer, x, line.y, &shown, room, *look);
        room = room.saturating_sub(columns(&shown));
    }
    let start = line.x + u16::try_from(width - taken).unwrap_or(0);
    put(buffer, start, line.y, right.0, taken, right.1);
}

fn group_line(group: &GroupRow, is_open: bool, line: Rect, buffer: &mut Buffer) {
    let (sign, ink) = match group.status {
        GroupStatus::Completed => ("✓", Ink::Good),
        GroupStatus::InProgress => ("▸", Ink::Busy),
        GroupStatus::Pending => ("·", Ink::Dim),
        GroupStatus::Blocked => ("✗", Ink::Bad),
    };
    let fold = if is_open { "▾" } else { "+" };
    let failing = group.counts.of(Status::Abandoned) + group.counts.of(Status::Blocked);
    let failing = if failing > 0 { format!("!{failing} ") } else { String::new() };
    let counts = format!("{failing}{}/{}", group.counts.of(Status::Completed), group.counts.total());
    let title = if group.title == group.id { String::new() } else { format!("  {}", plain(&group.title)) };
    let left = [
        (format!("{fold} "), style(Ink::Dim)),
        (format!("{sign} "), style(ink)),
        (plain(&group.id), style(Ink::Bold)),
        (title, style(Ink::Dim)),
    ];
    let left = left.each_ref().map(|(text, look)| (text.as_str(), *look));
    left_and_right(&left, (&counts, style(Ink::Dim)), line, buffer);
}

fn task_line(model: &Model, task: &TaskRow, id_width: usize, line: Rect, buffer: &mut Buffer) {
    let (sign, ink) = sign(task.status);
    let since = model.now.since(task.since);
    let about = match task.status {
        status if status.holds_slot() && task.attempt > 1 => format!("#{} {}", task.attempt, short(since)),
        status if status.holds_slot() || task.is_notable() => short(since),
        _ => String::new(),
    };
    let id = cut(task.id.as_str(), id_width);
    let pad = id_width - columns(&id).min(id_width);
    let left = [
        (format!("  {sign} "), style(ink)),
        (format!("{id}{:pad$} ", ""), if task.is_notable() { style(ink) } else { Style::new() }),
        (plain(&task.title), if task.status == Status::Completed { style(Ink::Dim) } else { Style::new() }),
    ];
    let left = left.each_ref().map(|(text, look)| (text.as_str(), *look));
    left_and_right(&left, (&about, style(Ink::Dim)), line, buffer);
}

/// A span to its largest unit.
fn short(span: piton_core::time::Span) -> String {
    match span.0 / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86400),
    }
}

fn plain(text: &str) -> String {
    piton_core::terminal::one_line(text)
}

fn pane(pane: &Pane, place: Rect, room: Room, is_focused: bool, buffer: &mut Buffer) {
    let wanted = pane.search().to_lowercase();
    for (y, row) in (place.y..).zip(pane.visible(room)) {
        if is_focused && row.is_cursor {
            put(buffer, place.x, y, "▌", 1, style(Ink::Busy));
        }
        let mut x = place.x + GUTTER;
        let mut shown = String::new();
        for (ink, text) in &row.pieces {
            let left = usize::from(place.right().saturating_sub(x));
            x = put(buffer, x, y, text, left, style(*ink));
            shown += text;
        }
        if row.is_marked {
            buffer.set_style(Rect::new(place.x + GUTTER, y, place.width.saturating_sub(GUTTER), 1), REVERSED);
        }
        if !wanted.is_empty() {
            highlight(&shown, &wanted, place.x + GUTTER, y, buffer);
        }
    }
}

/// Mark each place of a row that has what is searched.
fn highlight(shown: &str, wanted: &str, x: u16, y: u16, buffer: &mut Buffer) {
    let lower = shown.to_lowercase();
    // Where lower case has other lengths, the places would be wrong.
    if lower.len() != shown.len() {
        return;
    }
    for (at, found) in lower.match_indices(wanted) {
        let (Some(before), Some(text)) = (shown.get(..at), shown.get(at..at + found.len())) else { continue };
        let from = x.saturating_add(u16::try_from(columns(before)).unwrap_or(u16::MAX));
        let width = u16::try_from(columns(text)).unwrap_or(u16::MAX);
        let area = Rect::new(from, y, width, 1).intersection(buffer.area);
        buffer.set_style(area, REVERSED);
    }
}

/// One line: is it alive, what waits for the person, what is done, what it cost.
fn state(model: &Model, place: Rect, buffer: &mut Buffer) {
    if place.height == 0 {
        return;
    }
    buffer.set_style(place, REVERSED);
    let mut parts: Vec<(String, Style)> = Vec::new();
    match &model.picture {
        Some(picture) => parts.extend(standing(model, picture)),
        None => parts.push(("reading the run…".to_owned(), Style::new())),
    }
    let (mut x, mut is_first) = (place.x + 1, true);
    for (text, look) in parts {
        let gap = if is_first { "" } else { " · " };
        let room = usize::from(place.right().saturating_sub(x + 1));
        x = put(buffer, x, place.y, gap, room, REVERSED);
        let room = usize::from(place.right().saturating_sub(x + 1));
        x = put(buffer, x, place.y, &cut(&text, room), room, REVERSED.patch(look));
        is_first = false;
    }
}

fn standing(model: &Model, picture: &Picture) -> Vec<(String, Style)> {
    let plain = Style::new();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let (sign, ink) = match &picture.status {
        RunStatus::Running if picture.alive => ("●", Ink::Busy),
        RunStatus::Stopping { .. } => ("●", Ink::Warning),
        RunStatus::Completed { .. } => ("✓", Ink::Good),
        RunStatus::Interrupted | RunStatus::Stopped(_) => ("!", Ink::Warning),
        RunStatus::Ended | RunStatus::Stale { .. } => ("✗", Ink::Bad),
        RunStatus::NotStarted | RunStatus::Running | RunStatus::Closed(_) => ("○", Ink::Plain),
    };
    let word = match &picture.status {
        RunStatus::Stale { .. } => "not complete",
        RunStatus::Ended => "ended",
        RunStatus::Running if !picture.alive => "no engine",
        status => status.word(),
    };
    let mut parts = vec![(format!("{sign} {word}"), style(ink).patch(bold))];
    if let Some(trouble) = &model.trouble {
        parts.push((self::plain(trouble), style(Ink::Bad)));
    }
    if model.waiting > 0 {
        let verb = if model.waiting == 1 { "waits" } else { "wait" };
        parts.push((format!("{} {verb} for you", model.waiting), style(Ink::Warning).patch(bold)));
    }
    let counts = &picture.counts;
    parts.push((format!("{}/{} done", counts.of(Status::Completed), counts.total()), plain));
    let running = counts.sum(Status::holds_slot);
    if running > 0 {
        parts.push((format!("{running} in progress"), plain));
    }
    let landing = counts.of(Status::Verified) + counts.of(Status::Merging);
    if landing > 0 {
        parts.push((format!("{landing} landing"), plain));
    }
    for (status, word) in
        [(Status::Failed, "to retry"), (Status::Abandoned, "abandoned"), (Status::Blocked, "blocked")]
    {
        if counts.of(status) > 0 {
            parts.push((format!("{} {word}", counts.of(status)), plain));
        }
    }
    parts.extend(picture.held_up.iter().map(|text| (self::plain(text), style(Ink::Warning))));
    parts.extend(picture.cost.clone().map(|cost| (cost, plain)));
    parts.push((format!("{}{}", picture.run, picture.onto), plain));
    parts
}

/// The last line: what is typed, a message, or what the keys do. Says where the cursor is.
fn keys(model: &Model, place: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    if place.height == 0 {
        return None;
    }
    let width = usize::from(place.width);
    let typed = |label: &str, field: &Field, after: &str, buffer: &mut Buffer| {
        let x = put(buffer, place.x, place.y, label, width, style(Ink::Bold));
        let room = usize::from(place.right().saturating_sub(x)).saturating_sub(columns(after) + 1);
        let (shown, cursor) = field.window(room);
        let end = put(buffer, x, place.y, shown, room, Style::new());
        put(buffer, end + 1, place.y, after, columns(after), style(Ink::Dim));
        Some((x + u16::try_from(cursor).unwrap_or(0), place.y))
    };
    match (&model.prompt, &model.message) {
        (Some(Prompt::Filter { field, .. }), _) => {
            let found = match field.text().is_empty() {
                true => "id, title, group or status".to_owned(),
                false => view::counted(model.tree.matches() as u64, "task"),
            };
            typed("filter: ", field, &found, buffer)
        }
        (Some(Prompt::Search(field)), _) => typed("search: ", field, "", buffer),
        (None, Some((ink, text))) => {
            put(buffer, place.x + 1, place.y, &cut(text, width.saturating_sub(1)), width, style(*ink));
            None
        }
        (None, None) => {
            hints(model, place, buffer);
            None
        }
    }
}

fn hints(model: &Model, place: Rect, buffer: &mut Buffer) {
    let mut hints: Vec<(&str, &str)> = Vec::new();
    if let Some(command) = &model.running {
        let text = format!("running: {command}");
        put(
            buffer,
            place.x + 1,
            place.y,
            &cut(&text, usize::from(place.width)),
            usize::from(place.width),
            style(Ink::Busy),
        );
        return;
    }
    match model.focus {
        Focus::Tree if !model.tree.filter().is_empty() => {
            hints.extend([("Esc", "all tasks"), ("/", "filter"), ("Enter", "open")]);
        }
        Focus::Tree => {
            hints.extend([("↑↓", "move"), ("Enter", "open"), ("/", "filter"), ("n", "next at work")]);
        }
        Focus::Pane if model.main.has_mark() => hints.extend([("y", "copy"), ("Esc", "unmark")]),
        Focus::Pane if model.main.command().is_some() => {
            hints.extend([("Enter", "run it"), ("y", "copy"), ("Esc", "back")]);
        }
        Focus::Pane => hints.extend([("Esc", "back"), ("/", "search"), ("v", "mark"), ("y", "copy")]),
    }
    hints.extend([
        ("Tab", "view"),
        ("r", "retry"),
        ("a", "answer"),
        ("s", "stream"),
        ("?", "keys"),
        ("q", "quit"),
    ]);
    let position = match model.focus {
        Focus::Pane if model.main.len() > 0 => format!("{}/{} ", model.main.position(), model.main.len()),
        _ => String::new(),
    };
    let mut x = place.x + 1;
    let end = place.right().saturating_sub(u16::try_from(columns(&position)).unwrap_or(0) + 1);
    // Those that always hold come first where not all fit: the last two of the list are help and leaving.
    let last = hints.split_off(hints.len() - 2);
    let width = |(key, about): &(&str, &str)| u16::try_from(columns(key) + columns(about) + 3).unwrap_or(0);
    let reserved: u16 = last.iter().map(width).sum();
    let mut fits = Vec::new();
    let mut used = x + reserved;
    for hint in hints {
        used += width(&hint);
        if used > end {
            break;
        }
        fits.push(hint);
    }
    for (key, about) in fits.into_iter().chain(last) {
        let room = usize::from(end.saturating_sub(x));
        x = put(buffer, x, place.y, key, room, style(Ink::Busy));
        let room = usize::from(end.saturating_sub(x));
        x = put(buffer, x, place.y, &format!(" {about}  "), room, style(Ink::Dim));
    }
    put(buffer, end, place.y, &position, columns(&position), style(Ink::Dim));
}

/// A frame with nothing in it.
fn frame_at(place: Rect, title: &str, below: &str, ink: Ink, buffer: &mut Buffer) {
    let place = place.intersection(buffer.area);
    if place.width < 2 || place.height < 2 {
        return;
    }
    let inner = " ".repeat(usize::from(place.width - 2));
    let edge = "─".repeat(usize::from(place.width - 2));
    let width = usize::from(place.width);
    for y in place.top()..place.bottom() {
        let line = match y {
            _ if y == place.top() => format!("┌{edge}┐"),
            _ if y == place.bottom() - 1 => format!("└{edge}┘"),
            _ => format!("│{inner}│"),
        };
        buffer.set_style(Rect::new(place.x, y, place.width, 1), Style::reset());
        // A wide character that begins before the frame would cover its edge.
        if let Some(cell) = place.x.checked_sub(1).and_then(|x| buffer.cell_mut((x, y)))
            && columns(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
        put(buffer, place.x, y, &line, width, style(ink));
    }
    let room = width.saturating_sub(4);
    put(buffer, place.x + 2, place.y, &cut(&format!(" {title} "), room), room, style(Ink::Bold));
    put(buffer, place.x + 2, place.bottom() - 1, &cut(&format!(" {below} "), room), room, style(Ink::Dim));
}

/// A text that is read, in a frame that is no larger than it.
fn popup(title: &str, text: &Pane, most: Rect, room: Room, buffer: &mut Buffer) {
    let rows = text.visible(room);
    let height = u16::try_from(rows.len() + 2).unwrap_or(most.height).min(most.height);
    let place = Rect { height, ..most };
    let below = match rows.len() == room.rows {
        true => "↑↓ more · any other key closes",
        false => "any other key closes",
    };
    frame_at(place, title, below, Ink::Busy, buffer);
    for (y, row) in (place.y + 1..).zip(rows) {
        let mut x = place.x + 2;
        for (ink, piece) in &row.pieces {
            let left = usize::from((place.right().saturating_sub(2)).saturating_sub(x));
            x = put(buffer, x, y, piece, left, style(*ink));
        }
    }
}

/// The question before a command runs. Says where the cursor is.
fn confirm(confirmation: &Confirmation, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let width = area.width.saturating_sub(4).min(90).max(area.width.min(20));
    let inner = usize::from(width.saturating_sub(4));
    let typed = crate::screen::text::Text::new(Ink::Busy, &format!("$ {}", confirmation.typed()));
    let command = crate::screen::text::rows(&typed, inner);
    let fields = confirmation.fields.len() * 2;
    let height = u16::try_from(fields + usize::from(fields > 0) + command.len() + 2).unwrap_or(area.height);
    let height = height.min(area.height);
    let place = Rect::new((area.width - width) / 2, (area.height - height) / 3, width, height);
    let below = match confirmation.fields.len() {
        0 | 1 => "Enter runs it · Esc cancels",
        _ => "Enter next, then runs it · Tab next field · Esc cancels",
    };
    frame_at(place, &confirmation.title, below, Ink::Warning, buffer);
    let (x, mut y) = (place.x + 2, place.y + 1);
    let mut cursor = None;
    for (at, asked) in confirmation.fields.iter().enumerate() {
        put(buffer, x, y, asked.label, inner, style(Ink::Dim));
        let (shown, column) = asked.field.window(inner.saturating_sub(2));
        let sign = if at == confirmation.at { "> " } else { "  " };
        put(buffer, x, y + 1, sign, 2, style(Ink::Busy));
        put(buffer, x + 2, y + 1, shown, inner.saturating_sub(2), Style::new());
        if at == confirmation.at {
            cursor = Some((x + 2 + u16::try_from(column).unwrap_or(0), y + 1));
        }
        y += 2;
    }
    y += u16::from(fields > 0);
    for (row, y) in command.iter().zip(y..place.bottom().saturating_sub(1)) {
        let mut x = x;
        for (ink, text) in row {
            x = put(buffer, x, y, text, inner, style(*ink));
        }
    }
    cursor
}
