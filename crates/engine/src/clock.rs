//! The only module that reads the time of day.
//!
//! Clocks of machines differ. Where several share a journal on a server, its clock is the one that all go by: each reading
//! of it counts from when it was taken, and this machine's own clock only for files.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use piton_core::time::{Span, Timestamp};

/// What the server's clock said last, and when.
static SERVER: Mutex<Option<(Timestamp, Instant)>> = Mutex::new(None);

/// The time that decisions are taken at.
pub fn now() -> Timestamp {
    let server = *SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    match server {
        Some((said, at)) => said.plus(Span(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX))),
        None => of_machine(),
    }
}

/// From now on this process goes by the clock of a server, which has just said this.
pub(crate) fn follow(said: Timestamp) {
    *SERVER.lock().unwrap_or_else(PoisonError::into_inner) = Some((said, Instant::now()));
}

/// A time that another process of this machine noted by the machine's clock.
pub fn noted_here(time: Timestamp) -> Timestamp {
    Timestamp(time.0.saturating_add(ahead()))
}

/// The same time as the file system counts it.
pub fn system_time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(time.0.saturating_sub(ahead())).unwrap_or(0))
}

/// By how many milliseconds the server's clock is ahead of this machine's.
fn ahead() -> i64 {
    let is_followed = SERVER.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    if is_followed { now().0 - of_machine().0 } else { 0 }
}

fn of_machine() -> Timestamp {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_go_by_the_server_and_files_by_this_machine() {
        let (hour, machine) = (3_600_000, of_machine());
        assert!((now().0 - machine.0).abs() < hour / 2, "nobody is followed yet");
        follow(machine.plus(Span(hour.unsigned_abs())));
        assert!(now().0 - of_machine().0 > hour / 2);
        assert!(noted_here(machine).0 - machine.0 > hour / 2);
        let file = system_time(now()).duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
        assert!((i64::try_from(file).expect("a time") - of_machine().0).abs() < hour / 2);
    }
}
