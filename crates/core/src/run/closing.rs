//! What an agent said last, and what it waits for.

use serde::{Deserialize, Serialize};

/// What an agent said last, and whether it stopped to wait for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closing {
    /// The end of its last message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
}

impl Closing {
    /// Bytes of the last words that are kept. A question with what there is to choose from is not longer.
    pub const WORDS: usize = 1500;

    pub(super) fn is_empty(&self) -> bool {
        *self == Closing::default()
    }
}

/// What an agent waits for that ended without saying that it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Asks {
    /// An answer: it ended with this question.
    Question { text: String },
    /// A permission: its client did not let it do this.
    Permission { denied: String },
}
