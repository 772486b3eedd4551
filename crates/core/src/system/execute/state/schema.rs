//! The JSON Schema of `execute-state.json`, for those who check or complete it.

use serde_json::Value;

use super::file::StateFile;
use crate::system::kit::schema::schema_of;

/// The schema of the file as it is written; fields of others are allowed everywhere.
pub fn schema() -> Value {
    schema_of::<StateFile>()
}
