//! Runs the rules of `globs.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../globs.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod globs;

fuzz_target!(|data: &[u8]| globs::check(data));
