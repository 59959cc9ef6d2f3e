//! Runs the rules of `display.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../display.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod display;

fuzz_target!(|data: &[u8]| display::check(data));
