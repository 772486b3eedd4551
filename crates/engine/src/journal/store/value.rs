//! What a column holds: the few types that both databases have. A run that is loaded reads millions of columns, so these
//! functions are inlined.

use std::borrow::Cow;

/// A value of a column or of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Int(i64),
    Text(&'v str),
    Bytes(&'v [u8]),
}

/// The values of the parameters `?1`, `?2`, …
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::journal::store::Bind::value(&$value)),*]
    };
}
pub(crate) use values;

/// What can be a parameter.
pub(crate) trait Bind {
    fn value(&self) -> Value<'_>;
}

impl Bind for i64 {
    fn value(&self) -> Value<'_> {
        Value::Int(*self)
    }
}

impl Bind for u32 {
    fn value(&self) -> Value<'_> {
        Value::Int(i64::from(*self))
    }
}

impl Bind for bool {
    fn value(&self) -> Value<'_> {
        Value::Int(i64::from(*self))
    }
}

impl Bind for str {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Bind for String {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Bind for Cow<'_, str> {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Bind for Vec<u8> {
    fn value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl Bind for Value<'_> {
    fn value(&self) -> Value<'_> {
        *self
    }
}

impl<T: Bind> Bind for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Bind::value)
    }
}

impl<T: Bind + ?Sized> Bind for &T {
    fn value(&self) -> Value<'_> {
        (*self).value()
    }
}

/// What can be read from a column; `None` if it holds something else.
pub(crate) trait FromValue<'v>: Sized {
    fn from_value(value: Value<'v>) -> Option<Self>;
}

impl FromValue<'_> for i64 {
    #[inline]
    fn from_value(value: Value<'_>) -> Option<i64> {
        match value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }
}

impl FromValue<'_> for u32 {
    #[inline]
    fn from_value(value: Value<'_>) -> Option<u32> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue<'_> for String {
    #[inline]
    fn from_value(value: Value<'_>) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl FromValue<'_> for Vec<u8> {
    #[inline]
    fn from_value(value: Value<'_>) -> Option<Vec<u8>> {
        match value {
            Value::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Option<T> {
    #[inline]
    fn from_value(value: Value<'v>) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
