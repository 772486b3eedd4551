//! Terminal output as plain text.

/// Whether a terminal shows something else than was written: it obeys control characters, and some reorder the text.
pub fn misleads(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a terminal shows nothing for it, and yet it can part a word or turn what stands around it. Joiners are not among
/// these: letters and emoji need them.
pub fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
    ) || matches!(c, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

/// A text on one line that a terminal shows as it stands there.
pub fn one_line(text: &str) -> String {
    let shown = text.chars().filter(|c| misleads(*c) || !hides(*c));
    shown.map(|c| if misleads(c) { ' ' } else { c }).collect()
}

/// What a terminal would leave on the screen: no escape sequences, no control characters but newline and
/// tab, no invisible characters that reorder text. A bare carriage return overwrites its line, as progress
/// bars do.
pub fn clean_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut line_start = 0;
    let mut returned = false;
    while let Some(c) = chars.next() {
        match c {
            '\n' => {
                clean.push('\n');
                line_start = clean.len();
                returned = false;
            }
            '\r' => returned = true,
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            c if misleads(c) && c != '\t' => {}
            c => {
                if std::mem::take(&mut returned) {
                    clean.truncate(line_start);
                }
                clean.push(c);
            }
        }
    }
    clean
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        _ => {
            while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
            chars.next_if(|c| ('0'..='~').contains(c));
        }
    }
}

fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
    chars.next_if(|c| ('@'..='~').contains(c));
}

/// Up to the terminator, or to the end of the line: a torn sequence must not swallow the rest of the log.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{07}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{clean_text, one_line};

    #[test]
    fn one_line_shows_everything_that_it_holds_in_its_order() {
        for (raw, shown) in [
            ("plain 日本 e\u{301}", "plain 日本 e\u{301}"),
            ("a\u{1b}[2Jb\nc\u{9b}d\te", "a [2Jb c d e"),
            ("a\u{202e}b\u{2066}c", "a b c"),
            ("a\u{200b}b\u{feff}c\u{200f}d\u{2028}e\u{2060}f\u{e0041}g", "abcdefg"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
        ] {
            assert_eq!(one_line(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn keeps_the_words_only() {
        let cases: &[(&[u8], &str)] = &[
            (b"plain\n\ttext", "plain\n\ttext"),
            (b"\x1b[1;31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b(Bcharset \x1b=keypad \x1b7saved", "charset keypad saved"),
            (b"10%\r50%\r100%\ndone", "100%\ndone"),
            (b"dos\r\nline\r\n", "dos\nline\n"),
            (b"kept\r", "kept"),
            (b"bell\x07 back\x08space \x00nul", "bell backspace nul"),
            (b"torn \x1b]0;no end\nnext", "torn \nnext"),
            (b"torn \x1b[12", "torn "),
            (b"bad \xff utf", "bad \u{fffd} utf"),
            ("c1 \u{9b}31mx".as_bytes(), "c1 x"),
            ("bidi \u{202e}x".as_bytes(), "bidi x"),
        ];
        for (raw, clean) in cases {
            assert_eq!(clean_text(raw), *clean, "{raw:?}");
        }
    }
}
