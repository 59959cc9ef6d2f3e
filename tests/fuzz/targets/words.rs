//! Runs the rules of `words.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../words.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod words;

fuzz_target!(|data: &[u8]| words::check(data));
