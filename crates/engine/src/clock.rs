//! The only module that reads the time of day.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use piton_core::time::Timestamp;

pub fn now() -> Timestamp {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX).saturating_add(set_by()))
}

/// By how many milliseconds a test has set the clock: the number in the file that `PITON_CLOCK` names.
fn set_by() -> i64 {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os("PITON_CLOCK").map(PathBuf::from));
    let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The same time as the file system counts it.
pub fn system_time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(time.0).unwrap_or(0))
}
