//! Tags in a text that need not be well-formed: XML as people and agents write it, with code in its texts.
//!
//! Nothing here builds a tree. The caller knows the names to look for; everything else, such as the `<T>` of a
//! signature or a bare `&`, is text.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// From `<` to behind `>`.
    pub(crate) at: Range<usize>,
    attributes: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Open,
    Close,
    /// Both at once: `<a/>`.
    Empty,
}

/// The tags of a text in their order, without those in comments and CDATA.
pub(crate) fn tags(text: &str) -> Tags<'_> {
    Tags { text, at: 0 }
}

#[derive(Clone, Debug)]
pub(crate) struct Tags<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let start = self.at + self.text[self.at..].find('<')?;
            let rest = &self.text[start..];
            let aside =
                [("<!--", "-->"), ("<![CDATA[", "]]>")].into_iter().find(|(from, _)| rest.starts_with(from));
            if let Some((from, to)) = aside {
                // One that never ends hides the rest, as it would for any other reader.
                self.at = start + from.len() + rest[from.len()..].find(to)? + to.len();
                continue;
            }
            match end_of_tag(&rest[1..]) {
                End::Here(inner) => {
                    self.at = start + 1 + inner + 1;
                    if let Some(tag) = read(&rest[1..=inner], start..self.at) {
                        return Some(tag);
                    }
                }
                // It was not a tag: another one begins there, or nothing does.
                End::Not(skip) => self.at = start + 1 + skip,
            }
        }
    }
}

enum End {
    /// Before the `>`.
    Here(usize),
    /// Go on from there.
    Not(usize),
}

/// Where the tag ends whose inside begins here. A `>` or `<` in a quoted value belongs to the value.
fn end_of_tag(inner: &str) -> End {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in inner.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '>' => return End::Here(at),
                '<' => return End::Not(at),
                '"' | '\'' if before == '=' => quote = Some(c),
                _ => {}
            },
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    // The quote, or the tag, never ends: what follows the first character may hold others.
    End::Not(inner.chars().next().map_or(0, char::len_utf8))
}

fn read(inner: &str, at: Range<usize>) -> Option<Tag<'_>> {
    let (inner, kind) = match (inner.strip_prefix('/'), inner.strip_suffix('/')) {
        (Some(inner), _) => (inner, Kind::Close),
        (None, Some(inner)) => (inner, Kind::Empty),
        (None, None) => (inner, Kind::Open),
    };
    let end = inner.find(char::is_whitespace).unwrap_or(inner.len());
    let (name, attributes) = inner.split_at(end);
    name.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(Tag { name, kind, at, attributes })
}

impl Tag<'_> {
    /// The value of an attribute, with its entities resolved.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, behind) = after[1..].split_once(quote)?;
            if key.trim() == name {
                return Some(decode(value));
            }
            rest = behind;
        }
    }
}

/// Text with its entities resolved. An `&` that begins no entity stays.
pub(crate) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, len) = entity(rest).unwrap_or(('&', 1));
        decoded.push(c);
        rest = &rest[len..];
    }
    decoded.push_str(rest);
    decoded
}

/// The places of every `&` that begins no entity.
pub(crate) fn bare_ampersands(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('&').map(|(at, _)| at).filter(|&at| entity(&text[at..]).is_none())
}

/// What the entity at the start of a text stands for, and how long it is.
fn entity(text: &str) -> Option<(char, usize)> {
    // The longest is `&#x10FFFF;`.
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((c, end + 1))
}

/// One line, without control characters.
pub(crate) fn plain(text: &str) -> String {
    let visible = |c: char| if c.is_control() && !c.is_whitespace() { None } else { Some(c) };
    let text: String = text.chars().filter_map(visible).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Plain text as it may stand in a value or between tags.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => encoded.push_str("&amp;"),
            '<' => encoded.push_str("&lt;"),
            '>' => encoded.push_str("&gt;"),
            '"' => encoded.push_str("&quot;"),
            c => encoded.push(c),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_text_that_is_not_well_formed() {
        let text = "if a < b && c > d { Vec<T> } <!-- <no/> --><x a=\"1 > 0\" b='<y>'><![CDATA[<no/>]]></x><z /><w a=\"";
        let found: Vec<_> = tags(text).map(|tag| (tag.name, tag.kind, &text[tag.at])).collect();
        assert_eq!(
            found,
            [
                ("T", Kind::Open, "<T>"),
                ("x", Kind::Open, "<x a=\"1 > 0\" b='<y>'>"),
                ("x", Kind::Close, "</x>"),
                ("z", Kind::Empty, "<z />"),
            ]
        );
    }

    #[test]
    fn values_are_read_with_their_entities() {
        let tag = tags("<e method = 'GET' path=\"/a?b=1&amp;c=&#x41;&d\" bare=x>").next().expect("a tag");
        assert_eq!(tag.attribute("method").as_deref(), Some("GET"));
        assert_eq!(tag.attribute("path").as_deref(), Some("/a?b=1&c=A&d"));
        assert_eq!(tag.attribute("bare"), None);
        assert_eq!(bare_ampersands("a && b &amp; &#12; &;").collect::<Vec<_>>(), [2, 3, 19]);
        assert_eq!(encode("a\n <b> & \"c\"\u{7}"), "a &lt;b&gt; &amp; &quot;c&quot;");
    }
}
