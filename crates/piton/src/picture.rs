//! Diagnostics drawn with the source text they are about, as compilers do.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use piton_core::diagnostic::{Diagnostic, Severity};
use piton_core::order::Arrange;

/// People do not read more than this; the rest is counted.
const MOST: usize = 12;
/// Lines shown around a place. Longer texts are cut to it first: drawing is linear in what it is given.
const AROUND: usize = 3;

/// All of them, errors first, each with its place.
pub(crate) fn draw(path: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.arrange_by_key(|d| (std::cmp::Reverse(d.severity), d.span.start));
    let mut drawn: Vec<String> = sorted.iter().take(MOST).map(|d| draw_one(path, text, d)).collect();
    if sorted.len() > MOST {
        drawn.push(format!("… and {} more", sorted.len() - MOST));
    }
    drawn.join("\n\n")
}

fn draw_one(path: &str, text: &str, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (window, first_line, span) = window(text, diagnostic.span.clone());
    let mark = AnnotationKind::Primary.span(span);
    let mark = if diagnostic.label.is_empty() { mark } else { mark.label(diagnostic.label.as_str()) };
    let snippet = Snippet::source(window).line_start(first_line).path(path).annotation(mark);
    let mut report = vec![level.primary_title(diagnostic.message.as_str()).element(snippet)];
    if let Some(help) = &diagnostic.help {
        report.push(annotate_snippets::Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    Renderer::styled().render(&report).to_string()
}

/// The lines around a span, the number of the first, and the span within them.
fn window(text: &str, span: std::ops::Range<usize>) -> (&str, usize, std::ops::Range<usize>) {
    let at = |byte: usize| {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let (start, end) = (at(span.start), at(span.end.max(span.start)));
    let from = text[..start].rmatch_indices('\n').nth(AROUND).map_or(0, |(i, _)| i + 1);
    let to = text[end..].match_indices('\n').nth(AROUND).map_or(text.len(), |(i, _)| end + i);
    let line = text[..from].bytes().filter(|&b| b == b'\n').count() + 1;
    (&text[from..to], line, start - from..end - from)
}
