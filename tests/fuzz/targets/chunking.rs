//! Runs the rules of `chunking.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../chunking.rs"]
mod chunking;

fuzz_target!(|data: &[u8]| chunking::check(data));
