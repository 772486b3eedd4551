//! Points in time and spans of it, as plain values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, by some clock outside the core. It may jump, both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(span.0).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(i64::try_from(span.0).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to here, nothing if the clock went backwards between them.
    pub fn since(self, earlier: Timestamp) -> Span {
        Span(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Read `2026-03-01T12:00:00Z` or any offset.
    pub fn parse(text: &str) -> Option<Timestamp> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Timestamp(t.as_millisecond()))
    }
}

/// RFC 3339 in UTC, to the second: what people and `jq` read.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.div_euclid(1000)) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Span {
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub fn plus(self, more: Span) -> Span {
        Span(self.0.saturating_add(more.0))
    }

    pub const fn seconds(n: u64) -> Span {
        Span(n * 1000)
    }

    pub const fn minutes(n: u64) -> Span {
        Span(n * 60_000)
    }

    /// Read `90s`, `5m`, `2h`, `1500ms`, or several of them: `1h30m`.
    pub fn parse(text: &str) -> Option<Span> {
        let mut rest = text.trim();
        let mut total = 0_u64;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let number: u64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let scale = match rest[..unit].trim() {
                "ms" => 1,
                "s" => 1000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            total = total.checked_add(number.checked_mul(scale)?)?;
            rest = &rest[unit..];
        }
        Some(Span(total))
    }
}

/// Two units at most, the way a person says it: `2h 05m`, `3m 12s`, `4.2s`, `80ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        let seconds = ms / 1000;
        match seconds {
            0 => write!(f, "{ms}ms"),
            1..10 if ms % 1000 >= 100 => write!(f, "{}.{}s", seconds, ms % 1000 / 100),
            1..60 => write!(f, "{seconds}s"),
            60..3600 => write!(f, "{}m {:02}s", seconds / 60, seconds % 60),
            3600..86_400 => write!(f, "{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
            _ => write!(f, "{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_show() {
        assert_eq!(Span::parse("1h30m"), Some(Span::minutes(90)));
        assert_eq!(Span::parse("1500ms").map(|s| s.to_string()).as_deref(), Some("1.5s"));
        assert_eq!(Span::parse("5 m"), Some(Span::minutes(5)));
        for bad in ["", "5", "m", "5x", "-5s", "99999999999999999999d"] {
            assert_eq!(Span::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_span() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Span(0));
        assert_eq!(Timestamp(1_700_000_000_123).to_string(), "2023-11-14T22:13:20Z");
    }
}
