//! The one door to the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use piton_core::time::Timestamp;

pub fn now() -> Timestamp {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// The same time as the file system counts it.
pub fn system_time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(time.0).unwrap_or(0))
}
