//! Arrows between ids as people draw them: `T1 → T2 -> T3`, and lines that fork and join over several rows.
//!
//! The text is a grid of characters. Those that draw a line are joined where they touch; whatever a line begins at comes
//! before whatever its heads point to.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::system::kit::checklist::{Checklist, Kind};
use crate::system::kit::mojibake;
use crate::system::kit::problems::Spanned;
use crate::system::kit::text::key;

/// A larger text is not a drawing that people look at.
const LARGEST: usize = 256 << 10;
/// The most arrows of a drawing: more would take too long to read.
const EDGES: usize = 100_000;

/// What a drawing says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawing {
    /// Every id, by the order in which it is found.
    pub(super) ids: Vec<Spanned<String>>,
    /// The first comes before the second, by position in `ids`.
    pub(super) edges: Vec<(usize, usize)>,
    /// Lines that connect an id to nothing, and text that is not a drawing at all.
    pub(super) loose: Vec<Range<usize>>,
    /// There is more than can be read.
    pub(super) too_large: bool,
    /// A line of it says that its units come one after the other.
    pub(super) says_sequence: bool,
}

/// The arrows in the parts of a list that are about dependencies.
pub(super) fn drawn(list: &Checklist, text: &str) -> Drawing {
    let mut drawing = Drawing::default();
    let mut part: Option<(u8, Vec<Row>)> = None;
    let mut size = 0;
    for line in &list.lines {
        if let Kind::Heading(level) = line.kind {
            let about = key(&text[line.text.clone()]).to_lowercase().contains("dependenc");
            if about || part.as_ref().is_some_and(|(own, _)| level <= *own) {
                part.take().iter().for_each(|(_, rows)| Grid::new(rows).read(&mut drawing));
                part = about.then(|| (level, Vec::new()));
            }
            continue;
        }
        let Some((_, rows)) = &mut part else { continue };
        if matches!(line.kind, Kind::Comment | Kind::Quote | Kind::FrontMatter | Kind::Item(_)) {
            continue;
        }
        size += line.at.len() + 1;
        if size > LARGEST {
            drawing.too_large = true;
            break;
        }
        let said = text[line.at.clone()].trim();
        if said.starts_with('|') && said.ends_with('|') && said.len() > 1 {
            let row = Row::new(text, &line.at, line.at.start);
            drawing.loose.extend(Some(line.text.clone()).filter(|_| !row.ids.is_empty()));
            rows.push(Row { cells: Vec::new(), ids: Vec::new(), is_sequence: false, whole: None });
            continue;
        }
        // A bullet is not part of a line.
        let start = if line.kind == Kind::Bullet { line.text.start } else { line.at.start };
        rows.push(Row::new(text, &line.at, start));
    }
    part.iter().for_each(|(_, rows)| Grid::new(rows).read(&mut drawing));
    drawing
}

/// A line of text, one cell to a column.
struct Row {
    cells: Vec<(usize, char)>,
    /// Ids with the columns they take.
    ids: Vec<(Range<usize>, Spanned<String>)>,
    is_sequence: bool,
    /// Its signs were read wrongly, and stand somewhere in here.
    whole: Option<Range<usize>>,
}

impl Row {
    fn new(text: &str, at: &Range<usize>, start: usize) -> Row {
        let line = &text[at.clone()];
        let meant = mojibake::understood(line);
        let is_exact = meant == line;
        let mut cells: Vec<(usize, char)> = Vec::with_capacity(meant.len());
        for (offset, c) in meant.char_indices() {
            let place = if is_exact { at.start + offset } else { at.start };
            match c {
                '\t' => {
                    let wide = 4 - cells.len() % 4;
                    cells.extend(std::iter::repeat_n((place, ' '), wide));
                }
                _ if is_exact && place < start => cells.push((place, ' ')),
                c => cells.push((place, c)),
            }
        }
        let whole = (!is_exact).then(|| at.clone());
        let ids = ids(&cells, whole.as_ref());
        Row { cells, ids, is_sequence: meant.to_lowercase().contains("sequential"), whole }
    }

    /// The bytes of a cell.
    fn place(&self, column: usize) -> Range<usize> {
        let (start, sign) = self.cells[column];
        self.whole.clone().unwrap_or(start..start + sign.len_utf8())
    }

    fn sign(&self, column: usize) -> Option<char> {
        self.cells.get(column).map(|(_, c)| *c)
    }

    /// The id at a column, by position.
    fn id_at(&self, column: usize) -> Option<usize> {
        let nth = self.ids.partition_point(|(columns, _)| columns.end <= column);
        self.ids.get(nth).filter(|(columns, _)| columns.contains(&column)).map(|_| nth)
    }

    /// Several ids that stand for one end of a line: `T1, T2 and T3`.
    fn group(&self, nth: usize) -> Range<usize> {
        let joined = |left: usize| {
            let (before, after) = (&self.ids[left].0, &self.ids[left + 1].0);
            let between: String = (before.end..after.start).filter_map(|column| self.sign(column)).collect();
            let words = between.replace(',', " , ");
            let mut words = words.split_whitespace().peekable();
            let is_list =
                |word: &str| matches!(word, "and" | "or") || word.chars().all(|c| ",;&+/()[]{}".contains(c));
            words.peek().is_some() && words.all(is_list)
        };
        let mut all = nth..nth + 1;
        while all.start > 0 && joined(all.start - 1) {
            all.start -= 1;
        }
        while all.end < self.ids.len() && joined(all.end - 1) {
            all.end += 1;
        }
        all
    }
}

/// Words that could be the id of a unit: a few letters and a number, or a number that is not alone.
fn ids(cells: &[(usize, char)], whole: Option<&Range<usize>>) -> Vec<(Range<usize>, Spanned<String>)> {
    let mut found = Vec::new();
    let mut column = 0;
    while column < cells.len() {
        if !cells[column].1.is_alphanumeric() {
            column += 1;
            continue;
        }
        let start = column;
        let is_joint = |at: usize| {
            let digit = cells.get(at + 1).is_some_and(|(_, c)| c.is_ascii_digit());
            matches!(cells[at].1, '.' | '-' | '_') && digit
        };
        while column < cells.len() && (cells[column].1.is_alphanumeric() || is_joint(column)) {
            column += 1;
        }
        let word: String = cells[start..column].iter().map(|(_, c)| *c).collect();
        let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
        let rest = word[letters..].trim_start_matches('-');
        if (1..=6).contains(&letters) && rest.starts_with(|c: char| c.is_ascii_digit()) && word.is_ascii() {
            let first = cells[start].0;
            let at = whole.cloned().unwrap_or(first..first + word.len());
            found.push((start..column, Spanned { value: word, at }));
        }
    }
    found
}

/// Where a line continues from a cell, and where it points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    left: bool,
    right: bool,
    up: bool,
    down: bool,
    head: Option<Head>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Left,
    Right,
    Up,
    Down,
    /// To the row above or below, further to the right.
    Rising,
    Falling,
}

struct Grid<'r> {
    rows: &'r [Row],
    /// A number for each cell of a line, by row and column.
    wires: BTreeMap<(usize, usize), (usize, Ends)>,
    /// The cell that each cell is joined with; the first of a line with itself.
    joined: Vec<usize>,
}

/// Ids of a row, by position, that stand at an end of a line.
type End = (usize, Range<usize>);

/// What one line begins at and points to.
#[derive(Default)]
struct Line {
    at: Option<Range<usize>>,
    tails: Vec<End>,
    heads: Vec<End>,
    /// Ids above or below a corner that the line reaches from the left.
    turns: Vec<End>,
    points_nowhere: bool,
}

impl Line {
    /// `T2 ──┘` below a `T3`: where nothing else says which way a line goes, its corner does.
    fn settle_turns(&mut self) {
        let is_arrow = self.heads.is_empty() && !self.points_nowhere && !self.tails.is_empty();
        if is_arrow { &mut self.heads } else { &mut self.tails }.append(&mut self.turns);
    }
}

impl<'r> Grid<'r> {
    fn new(rows: &'r [Row]) -> Grid<'r> {
        let mut grid = Grid { rows, wires: BTreeMap::new(), joined: Vec::new() };
        for (y, row) in rows.iter().enumerate() {
            for x in 0..row.cells.len() {
                if let Some(ends) = grid.ends(y, x) {
                    grid.wires.insert((y, x), (grid.joined.len(), ends));
                    grid.joined.push(grid.joined.len());
                }
            }
        }
        let cells: Vec<((usize, usize), (usize, Ends))> =
            grid.wires.iter().map(|(place, wire)| (*place, *wire)).collect();
        for ((y, x), (own, ends)) in cells {
            let right = grid.wires.get(&(y, x + 1)).filter(|(_, next)| ends.right && next.left);
            let below = grid.wires.get(&(y + 1, x)).filter(|(_, next)| ends.down && next.up);
            let next: Vec<usize> = right.into_iter().chain(below).map(|(next, _)| *next).collect();
            next.into_iter().for_each(|next| grid.join(own, next));
        }
        grid
    }

    fn join(&mut self, one: usize, two: usize) {
        let (one, two) = (self.line_of(one), self.line_of(two));
        self.joined[one.max(two)] = one.min(two);
    }

    fn line_of(&mut self, mut cell: usize) -> usize {
        while self.joined[cell] != cell {
            self.joined[cell] = self.joined[self.joined[cell]];
            cell = self.joined[cell];
        }
        cell
    }

    /// What a character draws, if it draws anything.
    fn ends(&self, y: usize, x: usize) -> Option<Ends> {
        let at = |y: Option<usize>, x: Option<usize>| self.rows.get(y?)?.sign(x?);
        let sign = at(Some(y), Some(x))?;
        let (before, after) = (at(Some(y), x.checked_sub(1)), at(Some(y), Some(x + 1)));
        let runs = |c: Option<char>| c.is_some_and(|c| "-=─━═>►▶+".contains(c));
        let stands = |c: Option<char>| c.is_some_and(|c| "|│┃║+".contains(c));
        let alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let none = Ends::default();
        // A line of another row may end at the head of an arrow: `T1 ──► T3` above `T2 ──┘`.
        let rises = |c: Option<char>| c.is_some_and(|c| "│┃║|┘╯╝┛└╰╚┗".contains(c));
        let falls = |c: Option<char>| c.is_some_and(|c| "│┃║|┐╮╗┓┌╭╔┏".contains(c));
        let met =
            Ends { up: falls(at(y.checked_sub(1), Some(x))), down: rises(at(Some(y + 1), Some(x))), ..none };
        let ends = match sign {
            '─' | '━' | '═' | '┄' | '┈' | '╌' => Ends { left: true, right: true, ..none },
            '-' | '=' if runs(before) || runs(after) => Ends { left: true, right: true, ..none },
            '│' | '┃' | '║' | '|' => Ends { up: true, down: true, ..none },
            '┐' | '╮' | '╗' | '┓' => Ends { left: true, down: true, ..none },
            '┘' | '╯' | '╝' | '┛' => Ends { left: true, up: true, ..none },
            '┌' | '╭' | '╔' | '┏' => Ends { right: true, down: true, ..none },
            '└' | '╰' | '╚' | '┗' => Ends { right: true, up: true, ..none },
            '├' | '╠' | '┣' => Ends { right: true, up: true, down: true, ..none },
            '┤' | '╣' | '┫' => Ends { left: true, up: true, down: true, ..none },
            '┬' | '╦' | '┳' => Ends { left: true, right: true, down: true, ..none },
            '┴' | '╩' | '┻' => Ends { left: true, right: true, up: true, ..none },
            '┼' | '╬' | '╋' => Ends { left: true, right: true, up: true, down: true, ..none },
            '+' if runs(before) || runs(after) => {
                let above = stands(at(y.checked_sub(1), Some(x)));
                let below = stands(at(Some(y + 1), Some(x)));
                Ends { left: runs(before), right: runs(after), up: above, down: below, ..none }
            }
            '>' if before.is_some_and(|c| "-=─━═".contains(c)) => {
                Ends { left: true, head: Some(Head::Right), ..met }
            }
            '<' if after.is_some_and(|c| "-=─━═".contains(c)) => {
                Ends { right: true, head: Some(Head::Left), ..none }
            }
            '→' | '►' | '▶' | '⟶' | '➔' | '➜' | '➤' | '⇒' | '▸' => {
                Ends { left: true, head: Some(Head::Right), ..met }
            }
            '←' | '◄' | '◀' | '⟵' | '⇐' => Ends { right: true, head: Some(Head::Left), ..none },
            '▼' | '↓' | '⇓' | '▾' => Ends { up: true, head: Some(Head::Down), ..none },
            '▲' | '↑' | '⇑' | '▴' => Ends { down: true, head: Some(Head::Up), ..none },
            'v' | 'V' if alone(before) && alone(after) && stands(at(y.checked_sub(1), Some(x))) => {
                Ends { up: true, head: Some(Head::Down), ..none }
            }
            '↗' => Ends { left: true, head: Some(Head::Rising), ..none },
            '↘' => Ends { left: true, head: Some(Head::Falling), ..none },
            _ => return None,
        };
        Some(ends)
    }

    fn read(mut self, drawing: &mut Drawing) {
        // Where the ids of each row begin.
        let mut first: Vec<usize> = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            first.push(drawing.ids.len());
            drawing.ids.extend(row.ids.iter().map(|(_, said)| said.clone()));
        }
        drawing.says_sequence |= self.rows.iter().any(|row| row.is_sequence && row.ids.len() > 1);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for line in self.lines().into_values() {
            let is_loose = line.points_nowhere || line.heads.is_empty() || line.tails.is_empty();
            // A line between nothing and nothing is an ornament.
            if is_loose && !(line.tails.is_empty() && line.heads.is_empty()) {
                drawing.loose.extend(line.at);
            }
            let all = |ends: Vec<End>| -> Vec<usize> {
                ends.into_iter().flat_map(|(y, nths)| first[y] + nths.start..first[y] + nths.end).collect()
            };
            let (tails, heads) = (all(line.tails), all(line.heads));
            for tail in tails {
                edges.extend(heads.iter().take(EDGES.saturating_sub(edges.len())).map(|head| (tail, *head)));
            }
        }
        for (y, row) in self.rows.iter().enumerate().filter(|(_, row)| row.is_sequence) {
            let has_line = self.wires.range((y, 0)..(y + 1, 0)).next().is_some();
            if !has_line {
                edges.extend((1..row.ids.len()).map(|nth| (first[y] + nth - 1, first[y] + nth)));
            }
        }
        drawing.too_large |= edges.len() >= EDGES;
        edges.retain(|(tail, head)| tail != head);
        drawing.edges.extend(edges);
    }

    fn lines(&mut self) -> BTreeMap<usize, Line> {
        let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
        let wires = std::mem::take(&mut self.wires);
        for (&(y, x), &(cell, ends)) in &wires {
            let row = &self.rows[y];
            let has = |y: usize, x: usize, end: fn(&Ends) -> bool| {
                wires.get(&(y, x)).is_some_and(|(_, ends)| end(ends))
            };
            let own = self.line_of(cell);
            let line = lines.entry(own).or_default();
            line.at.get_or_insert(row.place(x));
            if ends.left && !(x > 0 && has(y, x - 1, |ends| ends.right)) {
                line.tails.extend(beside(&wires, row, y, (0..x).rev()));
            }
            if ends.right && !has(y, x + 1, |ends| ends.left) {
                line.tails.extend(beside(&wires, row, y, x + 1..row.cells.len()));
            }
            let is_corner = ends.left && !ends.right && ends.up != ends.down;
            let upright = if is_corner { &mut line.turns } else { &mut line.tails };
            let above = y.checked_sub(1).filter(|above| !has(*above, x, |ends| ends.down));
            if let Some(above) = above.filter(|_| ends.up) {
                upright.extend(near(self.rows, above, x));
            }
            if ends.down && !has(y + 1, x, |ends| ends.up) {
                upright.extend(near(self.rows, y + 1, x));
            }
            let Some(head) = ends.head else { continue };
            let sideways = |target: Option<usize>| {
                let target = target.filter(|target| *target < self.rows.len())?;
                let ids = self.rows[target].ids.iter().enumerate();
                let closest = ids.min_by_key(|(_, (columns, _))| columns.start.abs_diff(x + 1));
                closest.map(|(nth, _)| (target, nth..nth + 1))
            };
            let met = match head {
                Head::Right => beside(&wires, row, y, x + 1..row.cells.len()),
                Head::Left => beside(&wires, row, y, (0..x).rev()),
                Head::Down => near(self.rows, y + 1, x),
                Head::Up => y.checked_sub(1).and_then(|above| near(self.rows, above, x)),
                Head::Rising => sideways(y.checked_sub(1)),
                Head::Falling => sideways(Some(y + 1)),
            };
            line.points_nowhere |= met.is_none();
            line.heads.extend(met);
        }
        self.wires = wires;
        lines.values_mut().for_each(Line::settle_turns);
        lines
    }
}

/// The next id in this direction with those it is listed with, unless a line comes first.
fn beside(
    wires: &BTreeMap<(usize, usize), (usize, Ends)>,
    row: &Row,
    y: usize,
    columns: impl Iterator<Item = usize>,
) -> Option<End> {
    for x in columns {
        if let Some(nth) = row.id_at(x) {
            return Some((y, row.group(nth)));
        }
        if wires.contains_key(&(y, x)) {
            return None;
        }
    }
    None
}

/// The id in another row at a column; people do not draw to the dot.
fn near(rows: &[Row], y: usize, column: usize) -> Option<End> {
    let row = rows.get(y)?;
    let columns = [Some(column), column.checked_sub(1), Some(column + 1)];
    let nth = columns.into_iter().flatten().find_map(|column| row.id_at(column))?;
    Some((y, nth..nth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::kit::checklist;

    /// The arrows below a heading, as `T1<T2`, and how many lines are loose.
    fn read(drawing: &str) -> (String, usize) {
        let text = format!("## Dependencies\n\n{drawing}\n");
        let drawn = drawn(&checklist::scan(&text), &text);
        let mut places = drawn.ids.iter().map(|said| &said.at).chain(&drawn.loose);
        assert!(places.all(|at| text.get(at.clone()).is_some()));
        let name = |nth: usize| drawn.ids[nth].value.as_str();
        let edges: Vec<String> =
            drawn.edges.iter().map(|(tail, head)| format!("{}<{}", name(*tail), name(*head))).collect();
        (edges.join(" "), drawn.loose.len())
    }

    #[track_caller]
    fn means(drawing: &str, edges: &str) {
        assert_eq!(read(drawing), (edges.to_owned(), 0), "{drawing}");
    }

    #[test]
    fn arrows_of_every_kind_are_one_after_the_other() {
        for arrow in
            [" → ", " -> ", "->", " --> ", " ──► ", "──►", " => ", " ==> ", " ➔ ", " â†’ ", " â”€â”€â–º "]
        {
            means(&format!("T1{arrow}T2{arrow}T3 (sequential)"), "T1<T2 T2<T3");
        }
        means("T2 ← T1", "T1<T2");
        means("- T1 → T2\n- `T2` → **T3**", "T1<T2 T2<T3");
        means("T1 (set-up) → T2: build it → T3", "T1<T2 T2<T3");
    }

    #[test]
    fn what_is_independent_has_no_arrow() {
        means("T4 (independent)", "");
        means("T1, T2 (independent)", "");
        means("T1, T2, T3 (sequential)", "T1<T2 T2<T3");
        means("T1 - the first\nWell-known T2", "");
    }

    #[test]
    fn several_may_come_before_and_after() {
        means("T1, T2 → T3", "T1<T3 T2<T3");
        means("(T1 and T2) -> [T3, T4]", "T1<T3 T1<T4 T2<T3 T2<T4");
        means("T1 + T2 → T3", "T1<T3 T2<T3");
    }

    #[test]
    fn lines_join_and_fork_over_several_rows() {
        means("```\nT1 ──┐\n     ├──► T3\nT2 ──┘\n```", "T1<T3 T2<T3");
        means("T1 ──┬──► T3\nT2 ──┘", "T1<T3 T2<T3");
        means("T1 ─┐\nT2 ─┴─► T3 → T4", "T1<T3 T2<T3 T3<T4");
        means("T1 ──┬──► T2\n     └──► T3", "T1<T2 T1<T3");
        means("T1 --+\n     |\nT2 --+--> T3", "T1<T3 T2<T3");
        means("T1\n│\n▼\nT2", "T1<T2");
        means("T1\n |\n v\nT2", "T1<T2");
        means("T1 → T2 ↘\n          T4\nT1 → T3 ↗", "T1<T2 T2<T4 T1<T3 T3<T4");
    }

    #[test]
    fn a_second_row_may_end_in_a_corner_below_what_it_leads_to() {
        means("T1 ──► T3 ──► T5\nT2 ────┘\nT4 (independent)", "T1<T3 T3<T5 T2<T3");
        means("T1 ──► T3\nT2 ──┘", "T1<T3 T2<T3");
        means("T2 ────┐\nT1 ──► T3", "T2<T3 T1<T3");
        means("T1 --> T3\nT2 ---┘", "T1<T3 T2<T3");
    }

    #[test]
    fn lines_that_lead_nowhere_are_told() {
        assert_eq!(read("T1 →"), (String::new(), 1));
        assert_eq!(read("T1 â†’"), (String::new(), 1));
        assert_eq!(read("| T1 | T2 |"), (String::new(), 1));
        assert_eq!(read("→ T1"), (String::new(), 1));
        assert_eq!(read("T1 ── T2"), (String::new(), 1));
        assert_eq!(read("───────"), (String::new(), 0));
    }

    #[test]
    fn only_parts_about_dependencies_are_drawings() {
        let text = "T8 → T9\n## Task Dependencies\nT1 → T2\n### More\nT2 → T3\n## Notes\nT3 → T4\n";
        let drawn = drawn(&checklist::scan(text), text);
        assert_eq!(drawn.edges.len(), 2);
    }

    #[test]
    fn a_large_drawing_is_not_read_for_ever() {
        let many: Vec<String> = (0..3000).map(|nth| format!("T{nth}")).collect();
        let text = format!("## Dependencies\n{} → {}\n", many.join(", "), many.join(", "));
        let drawn = super::drawn(&checklist::scan(&text), &text);
        assert!(drawn.too_large && drawn.edges.len() <= EDGES);
        let text = format!("## Dependencies\n{}\n", "T1 → ".repeat(100_000));
        assert!(super::drawn(&checklist::scan(&text), &text).too_large);
    }
}
