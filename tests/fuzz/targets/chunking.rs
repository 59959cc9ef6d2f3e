//! The rules of `chunking.rs`, driven by libFuzzer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../chunking.rs"]
mod chunking;

fuzz_target!(|data: &[u8]| chunking::check(data));
