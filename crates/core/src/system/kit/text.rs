//! Bytes that people's tools wrote, as text: every reader of files from outside begins here, and the places of its
//! problems are places in the text that comes out.

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::Strictness;

/// Beyond this a file is not something that a person or a model wrote.
pub const LARGEST: usize = 16 << 20;

/// How many broken places are shown one by one. A file with more of them is broken as a whole.
const SHOWN: usize = 10;

/// A file as text, with lines that end in `\n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Empty where the bytes were refused.
    pub text: String,
    /// The file began with a byte order mark. A writer has to put it back.
    pub bom: bool,
    pub problems: Vec<Diagnostic>,
}

/// Read whatever can be read; what is odd about it is a warning.
pub fn decode(bytes: &[u8]) -> Decoded {
    decode_with(bytes, Strictness::Lenient)
}

/// Take bytes for text. Broken UTF-8 is replaced, with a warning or an error.
pub fn decode_with(bytes: &[u8], strictness: Strictness) -> Decoded {
    let refused = |message: String, label: &str| Decoded {
        problems: vec![Diagnostic::error(0..0, message).label(label)],
        ..Decoded::default()
    };
    if bytes.len() > LARGEST {
        let message = format!("this file has {} MiB; {} are read", bytes.len() >> 20, LARGEST >> 20);
        return refused(message, "too large to be read");
    }
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return refused("this file is UTF-32".to_owned(), "save it as UTF-8");
        }
        [0xff, 0xfe, rest @ ..] => return decode_wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return decode_wide(rest, u16::from_be_bytes),
        // Plans begin with ASCII. In UTF-16, every second byte of it is zero.
        [1..=255, 0, 1..=255, 0, ..] | [0, 1..=255, 0, 1..=255, ..] => {
            return refused(
                "this file looks like UTF-16 without a byte order mark".to_owned(),
                "save it as UTF-8",
            );
        }
        _ => {}
    }
    let (bom, bytes) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (true, rest),
        bytes => (false, bytes),
    };
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return refused(format!("byte {at} of this file is zero"), "this is not text");
    }
    let mut decoded = Decoded { bom, ..Decoded::default() };
    let (mut offset, mut broken) = (if bom { 3 } else { 0 }, 0_usize);
    for chunk in bytes.utf8_chunks() {
        decoded.text += &unix_lines(chunk.valid());
        offset += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            let at = decoded.text.len();
            decoded.text.push(char::REPLACEMENT_CHARACTER);
            broken += 1;
            if broken <= SHOWN {
                let span = at..decoded.text.len();
                let message = format!("byte {offset} of this file is not UTF-8");
                decoded.problems.push(not_utf8(span, message, strictness));
            }
        }
        offset += chunk.invalid().len();
    }
    if broken > SHOWN {
        let message = format!("{} more places of this file are not UTF-8", broken - SHOWN);
        decoded.problems.push(not_utf8(0..0, message, strictness));
    }
    decoded
}

fn not_utf8(span: Range<usize>, message: String, strictness: Strictness) -> Diagnostic {
    let diagnostic = match strictness {
        Strictness::Lenient => Diagnostic::warning(span, message),
        Strictness::Strict => Diagnostic::error(span, message),
    };
    diagnostic.label("read as `\u{fffd}`").help("save the file as UTF-8")
}

/// UTF-16 without its byte order mark.
fn decode_wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded {
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut broken = bytes.len() % 2 == 1;
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    for c in char::decode_utf16(units) {
        broken |= c.is_err();
        text.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let mut decoded = Decoded { bom: true, ..Decoded::default() };
    if broken || text.contains('\0') {
        let message = "this file is UTF-16, but not all of it";
        decoded.problems.push(Diagnostic::error(0..0, message).label("save it as UTF-8"));
        return decoded;
    }
    decoded.text = unix_lines(&text).into_owned();
    let message = "this file is UTF-16";
    let help = "other tools may not read it: save it as UTF-8";
    decoded.problems.push(Diagnostic::warning(0..0, message).label("Piton reads it anyway").help(help));
    decoded
}

/// Lines end in `\n` whatever wrote them.
fn unix_lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A word to compare with known ones: without what cannot be seen, and with the plain form of dashes, quotes, colons
/// and spaces that editors and models put in their place. Text that is shown keeps what was written.
pub fn key(text: &str) -> String {
    // As nearly all text is.
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.trim().to_owned();
    }
    let plain = text.chars().filter_map(|c| match c {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{2018}' | '\u{2019}' => Some('\''),
        '\u{201c}' | '\u{201d}' => Some('"'),
        '\u{ff1a}' => Some(':'),
        c if c.is_whitespace() => Some(' '),
        c => Some(c),
    });
    plain.collect::<String>().trim().to_owned()
}

/// A place without the space around what stands there.
pub(in crate::system) fn trimmed(text: &str, at: Range<usize>) -> Range<usize> {
    let said = &text[at.clone()];
    let start = at.start + (said.len() - said.trim_start().len());
    start..(at.start + said.trim_end().len()).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Severity;

    fn messages(decoded: &Decoded) -> Vec<String> {
        decoded.problems.iter().map(|problem| format!("{:?} {}", problem.severity, problem.message)).collect()
    }

    #[test]
    fn a_byte_order_mark_is_taken_off_silently() {
        let decoded = decode_with(b"\xef\xbb\xbf{}", Strictness::Strict);
        assert_eq!(decoded, Decoded { text: "{}".into(), bom: true, problems: Vec::new() });
    }

    #[test]
    fn every_kind_of_line_end_is_a_line_end() {
        assert_eq!(decode_with(b"a\r\nb\rc\nd\r\r\n", Strictness::Strict).text, "a\nb\nc\nd\n\n");
    }

    #[test]
    fn utf_16_is_read_by_its_mark_with_a_warning() {
        for (mark, unit) in
            [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
        {
            let bytes: Vec<u8> = mark.into_iter().chain("{é\r\n🧗}".encode_utf16().flat_map(unit)).collect();
            let decoded = decode_with(&bytes, Strictness::Strict);
            assert_eq!(decoded.text, "{é\n🧗}");
            assert_eq!(messages(&decoded), ["Warning this file is UTF-16"]);
        }
    }

    #[test]
    fn utf_16_without_a_mark_or_cut_off_is_refused() {
        let bare: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(messages(&decode(&bare)), ["Error this file looks like UTF-16 without a byte order mark"]);
        assert_eq!(messages(&decode(b"\xff\xfe{\0}")), ["Error this file is UTF-16, but not all of it"]);
        assert_eq!(messages(&decode(b"\xff\xfe\0\0{\0\0\0")), ["Error this file is UTF-32"]);
    }

    #[test]
    fn broken_utf_8_is_shown_with_its_offset_and_refused_if_strict() {
        let decoded = decode(b"\xef\xbb\xbfab\r\n\xffc");
        assert_eq!(decoded.text, "ab\n\u{fffd}c");
        assert_eq!(messages(&decoded), ["Warning byte 7 of this file is not UTF-8"]);
        assert_eq!(&decoded.text[decoded.problems[0].span.clone()], "\u{fffd}");
        assert!(decode_with(b"a\xff", Strictness::Strict).problems[0].severity == Severity::Error);
        assert_eq!(decode(&[0xff; 1000]).problems.len(), SHOWN + 1);
    }

    #[test]
    fn a_file_may_be_large_up_to_the_limit() {
        let large = vec![b'x'; LARGEST];
        assert_eq!(decode_with(&large, Strictness::Strict).text.len(), LARGEST);
        let larger = vec![b'x'; LARGEST + 1];
        assert_eq!(
            messages(&decode_with(&larger, Strictness::Strict)),
            ["Error this file has 16 MiB; 16 are read"]
        );
    }

    #[test]
    fn zero_bytes_are_not_text() {
        assert_eq!(messages(&decode(b"<task>\0")), ["Error byte 6 of this file is zero"]);
    }

    #[test]
    fn words_are_compared_in_their_plain_form() {
        assert_eq!(key("\u{feff}\u{a0}L1\u{2013}001\u{200b} \t"), "L1-001");
        assert_eq!(key("Run\u{ff1a} \u{201c}x\u{201d}"), "Run: \"x\"");
        assert_eq!(key("ทดสอบ ü 中文"), "ทดสอบ ü 中文");
    }
}
