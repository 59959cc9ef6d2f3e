//! Runs the rules of `archives.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../archives.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod archives;

fuzz_target!(|data: &[u8]| archives::check(data));
