//! Whether the machine has memory left for more work at once.

use std::fs;

/// Whether less than an eighth of the memory is available. Only Linux tells.
pub(crate) fn is_short() -> bool {
    fs::read_to_string("/proc/meminfo").is_ok_and(|text| is_short_in(&text))
}

fn is_short_in(text: &str) -> bool {
    let of = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()
    };
    of("MemTotal").zip(of("MemAvailable")).is_some_and(|(all, available)| available < all / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_when_little_of_it_is_available() {
        let of = |available: u64| {
            format!("MemTotal:  8000 kB\nMemFree:   10 kB\nMemAvailable:   {available} kB\n")
        };
        assert!(is_short_in(&of(999)) && !is_short_in(&of(1000)));
        assert!(!is_short_in("") && !is_short_in("MemTotal: many kB\nMemAvailable: 1 kB\n"));
    }
}
