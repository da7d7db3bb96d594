#![no_main]

#[path = "../bodies/sctp.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
