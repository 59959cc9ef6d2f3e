//! Runs the rules of `envelope.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../envelope.rs"]
mod envelope;

fuzz_target!(|data: &[u8]| envelope::check(data));
