//! Runs the rules of `paths.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../paths.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod paths;

fuzz_target!(|data: &[u8]| paths::check(data));
