//! Why a message was not sent, and whether it can be sent again.

/// Why a message was not sent.
#[derive(Debug)]
pub(super) struct Unsent {
    pub why: String,
    /// It did not arrive. Otherwise it may have, and is not sent again.
    pub is_certain: bool,
}

impl Unsent {
    pub(super) fn certainly(why: String) -> Unsent {
        Unsent { why, is_certain: true }
    }

    pub(super) fn perhaps(why: String) -> Unsent {
        Unsent { why, is_certain: false }
    }
}
