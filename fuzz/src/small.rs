//! The small targets under libFuzzer, see fuzz/README.md.
#![no_main]

use std::sync::LazyLock;

use rexmit_fuzz::{SMALL, Target, chosen};

static CHOSEN: LazyLock<&Target> = LazyLock::new(|| chosen(SMALL));

libfuzzer_sys::fuzz_target!(|data: &[u8]| CHOSEN.run(data));
