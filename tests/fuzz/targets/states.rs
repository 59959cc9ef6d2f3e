//! Runs the rules of `states.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../states.rs"]
#[allow(dead_code)] // What only tells whether a seed is a good one.
mod states;

fuzz_target!(|data: &[u8]| states::check(data));
