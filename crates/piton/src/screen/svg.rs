//! Cells of a terminal as a picture, for the documentation.

use std::fmt::Write as _;

use ratatui_core::buffer::{self, Buffer};
use ratatui_core::style::{Color, Modifier};

/// Pixels of a cell.
const CELL: (f32, f32) = (8.4, 18.0);
const GROUND: &str = "#1a1b26";
const INK: &str = "#c0caf5";

/// What a terminal with these colours shows.
pub(super) fn svg(cells: &Buffer) -> String {
    let (width, height) =
        (f32::from(cells.area.width) * CELL.0 + 24.0, f32::from(cells.area.height) * CELL.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" xml:space=\"preserve\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n"
    );
    let row_width = usize::from(cells.area.width);
    for (y, row) in cells.content.chunks(row_width).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, next| (one.fg, one.modifier) == (next.fg, next.modifier)) {
            let text: String = run.iter().map(buffer::Cell::symbol).collect();
            let (at, top) = (12.0 + x as f32 * CELL.0, 12.0 + y as f32 * CELL.1);
            let long = run.len() as f32 * CELL.0;
            let (colour, look) = (colour(run[0].fg), run[0].modifier);
            let is_reversed = look.contains(Modifier::REVERSED);
            if is_reversed {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{at:.1}\" y=\"{top:.1}\" width=\"{long:.1}\" height=\"{}\" fill=\"{colour}\"/>",
                    CELL.1
                );
            }
            let shown = text.trim_end();
            let begin = shown.len() - shown.trim_start().len();
            let columns = shown.trim_start().chars().count();
            if columns > 0 {
                let mut more = String::new();
                if look.contains(Modifier::BOLD) {
                    more += " font-weight=\"bold\"";
                }
                if look.contains(Modifier::UNDERLINED) {
                    more += " text-decoration=\"underline\"";
                }
                if look.contains(Modifier::DIM) {
                    more += " opacity=\"0.6\"";
                }
                let fill = if is_reversed { GROUND } else { colour };
                let escaped = shown.trim_start().replace('&', "&amp;").replace('<', "&lt;");
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" textLength=\"{:.1}\" fill=\"{fill}\"{more}>{escaped}</text>",
                    at + begin as f32 * CELL.0,
                    top + 13.5,
                    columns as f32 * CELL.0
                );
            }
            x += run.len();
        }
    }
    svg + "</svg>\n"
}

fn colour(colour: Color) -> &'static str {
    match colour {
        Color::Red => "#f7768e",
        Color::Green => "#9ece6a",
        Color::Yellow => "#e0af68",
        Color::Cyan => "#7dcfff",
        _ => INK,
    }
}
