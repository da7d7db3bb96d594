#![no_main]

#[path = "../bodies/capture.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
