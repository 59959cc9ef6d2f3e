//! Runs the rules of `parts.rs` in libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../parts.rs"]
mod parts;

fuzz_target!(|data: &[u8]| parts::check(data));
