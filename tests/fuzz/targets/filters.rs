//! Runs the rules of `filters.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../filters.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod filters;

fuzz_target!(|data: &[u8]| filters::check(data));
