//! One target under libFuzzer: `PITON_FUZZ` names it. `cargo xtask fuzz` builds and starts this.

#![no_main]

use std::fmt::Write as _;
use std::sync::LazyLock;

use piton_fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PITON_FUZZ").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| panic!("PITON_FUZZ is {name:?}; there are {TARGETS:?}"))
});

libfuzzer_sys::fuzz_target!(
    // Before libFuzzer reads its options, of which one names this file.
    init: {
        if let Some(path) = std::env::var_os("PITON_FUZZ_WORDS") {
            std::fs::write(path, dictionary(&TARGET)).expect("the file for the words can be written");
        }
    },
    |bytes: &[u8]| (TARGET.check)(bytes)
);

/// The target's words as libFuzzer reads them.
fn dictionary(target: &Target) -> String {
    let mut text = String::new();
    for word in target.words {
        text.push('"');
        for byte in word.bytes() {
            write!(text, "\\x{byte:02x}").expect("a string takes everything");
        }
        text.push_str("\"\n");
    }
    text
}
