//! A plan as a picture: one file, without a script and without anything from elsewhere.

use std::fmt::Write;

use super::{COLOURS, Frame, Layout, Node, Placed, layout, shade};
use crate::view::{counted, escape::xml as escaped};

/// One unit in pixels, and the box of a task in it.
const UNIT: (f32, f32) = (200.0, 56.0);
const BOX: (f32, f32) = (160.0, 40.0);
const MARGIN: (f32, f32) = ((UNIT.0 - BOX.0) / 2.0, (UNIT.1 - BOX.1) / 2.0);
/// Characters of a title that fit into a box in most fonts. The tooltip has all of it.
const FITS: usize = 24;

/// The plan as a self-contained SVG. It follows the colour scheme of its reader.
pub fn svg(nodes: &[Node], name: &str) -> String {
    let layout = layout(nodes);
    let (width, height) = (layout.width * UNIT.0, layout.height * UNIT.1);
    let title = format!("{name}: {}", counted(nodes.len() as u64, "task"));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>\n{}</style>\n",
        escaped(&title),
        style(),
    );
    layout.groups.iter().for_each(|group| frame(&mut text, group));
    edges(&mut text, &layout);
    for (node, placed) in nodes.iter().zip(&layout.nodes) {
        task(&mut text, node, placed);
    }
    text.push_str("</svg>\n");
    text
}

fn style() -> String {
    let mut style = "text{font:12px system-ui,sans-serif}.id{font-weight:600}.node rect{stroke-width:1.5}\n\
        .frame rect{fill:none;stroke-dasharray:4 3}.edges{fill:none}\n"
        .to_owned();
    let schemes = [
        ("", "#ffffff", "#52525b", "#a1a1aa"),
        ("@media (prefers-color-scheme:dark){\n", "#09090b", "#a1a1aa", "#52525b"),
    ];
    for (scheme, page, name, line) in schemes {
        let is_dark = !scheme.is_empty();
        let _ = writeln!(
            style,
            "{scheme}svg{{background:{page}}}.frame text{{fill:{name}}}.frame rect,.edges{{stroke:{line}}}"
        );
        for colours in &COLOURS {
            let [fill, stroke, font] = if is_dark { colours.dark } else { colours.light };
            let class = colours.shade;
            let _ =
                writeln!(style, ".{class} rect{{fill:{fill};stroke:{stroke}}}.{class} text{{fill:{font}}}");
        }
        style.push_str(if is_dark { "}\n" } else { "" });
    }
    style
}

fn frame(text: &mut String, frame: &Frame) {
    let (x, y) = (frame.x * UNIT.0 + 4.0, frame.y * UNIT.1 + 4.0);
    let (width, height) = (frame.width * UNIT.0 - 8.0, frame.height * UNIT.1 - 8.0);
    let name = escaped(&frame.name);
    let _ = writeln!(
        text,
        "<g class=\"frame\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"8\"/><text x=\"{}\" y=\"{}\">{name}</text></g>",
        x + 12.0,
        y + 16.0,
    );
}

/// All edges are one path: ten thousand elements less.
fn edges(text: &mut String, layout: &Layout) {
    text.push_str("<path class=\"edges\" d=\"");
    for &(from, to) in &layout.edges {
        let (from, to) = (&layout.nodes[from as usize], &layout.nodes[to as usize]);
        let (x, y) = (from.x * UNIT.0 + MARGIN.0 + BOX.0, from.y * UNIT.1 + UNIT.1 / 2.0);
        let (to_x, to_y) = (to.x * UNIT.0 + MARGIN.0, to.y * UNIT.1 + UNIT.1 / 2.0);
        let bend = (to_x - x) / 2.0;
        let _ = write!(text, "M{x} {y}C{} {y} {} {to_y} {to_x} {to_y}", x + bend, to_x - bend);
    }
    text.push_str("\"/>\n");
}

fn task(text: &mut String, node: &Node, placed: &Placed) {
    let (x, y) = (placed.x * UNIT.0 + MARGIN.0, placed.y * UNIT.1 + MARGIN.1);
    let Node { id, title, status, .. } = node;
    let _ = writeln!(
        text,
        "<g class=\"node {}\"><title>{id}: {} ({status})</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"6\"/>\
         <text class=\"id\" x=\"{left}\" y=\"{}\">{} {}</text><text x=\"{left}\" y=\"{}\">{}</text></g>",
        shade(*status),
        escaped(title),
        BOX.0,
        BOX.1,
        y + 16.0,
        crate::view::sign(*status),
        escaped(&cut(id.as_str())),
        y + 32.0,
        escaped(&cut(title)),
        left = x + 8.0,
    );
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(FITS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
