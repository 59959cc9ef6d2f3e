//! Runs the rules of `decoders.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../decoders.rs"]
mod decoders;

fuzz_target!(|data: &[u8]| decoders::check(data));
