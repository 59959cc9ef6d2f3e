//! Runs the rules of `texts.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../texts.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod texts;

fuzz_target!(|data: &[u8]| texts::check(data));
