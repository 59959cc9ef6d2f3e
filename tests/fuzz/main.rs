//! Runs the fuzz targets without a fuzzer: every seed, and some thousand mutations of the seeds, the same in every run. They go through the
//! same rules as in a fuzzer; README.md says how one runs them.

// A test that panics is a test that failed.
#![allow(clippy::unwrap_used)]

mod archives;
mod chunking;
mod decoders;
mod display;
mod envelope;
mod filters;
mod globs;
mod mutation;
mod parts;
mod paths;
mod seeds;
mod states;
mod text_seeds;
mod texts;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use threadkeep::content::envelope::open_at_most;

use crate::mutation::Mutations;

pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(target)
}

fn seeds_of(target: &str) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder(target)).unwrap().map(|it| it.unwrap().path());
    let seed = |path: PathBuf| (path.display().to_string(), fs::read(&path).unwrap());
    let mut seeds: Vec<(String, Vec<u8>)> = files.map(seed).collect();
    seeds.sort();
    assert!(seeds.len() >= 3, "{target} has {} seeds", seeds.len());
    seeds
}

/// How many mutations each target gets; more on demand.
fn rounds(usual: usize) -> usize {
    let factor = std::env::var("THREADKEEP_TEST_FUZZ_FACTOR").ok().and_then(|it| it.parse().ok());
    usual * factor.unwrap_or(1)
}

fn run(target: &str, usual: usize, check: fn(&[u8])) {
    let seeds: Vec<Vec<u8>> = seeds_of(target).into_iter().map(|(_, seed)| seed).collect();
    for seed in &seeds {
        check(seed);
    }
    let mut mutations = Mutations::of(&seeds);
    for _ in 0..rounds(usual) {
        check(&mutations.next());
    }
}

#[test]
fn envelopes_hold_their_rules() {
    run("envelope", 20_000, envelope::check);
}

#[test]
fn bodies_hold_their_rules() {
    run("decoders", 20_000, decoders::check);
}

#[test]
fn seeds_of_bodies_are_read_but_for_hostile_ones() {
    for (name, seed) in seeds_of("decoders") {
        assert_eq!(decoders::is_read(&seed), !name.contains("hostile"), "{name}");
    }
}

#[test]
fn lists_hold_their_rules() {
    run("parts", 20_000, parts::check);
}

#[test]
fn values_hold_their_rules() {
    run("chunking", 600, chunking::check);
}

#[test]
fn what_is_shown_holds_its_rules() {
    run("display", 40_000, display::check);
}

#[test]
fn states_hold_their_rules() {
    run("states", 20_000, states::check);
}

#[test]
fn globs_hold_their_rules() {
    run("globs", 4_000, globs::check);
}

#[test]
fn field_paths_hold_their_rules() {
    run("paths", 20_000, paths::check);
}

#[test]
fn filters_hold_their_rules() {
    run("filters", 20_000, filters::check);
}

#[test]
fn words_hold_their_rules() {
    run("words", 20_000, words::check);
}

#[test]
fn archives_hold_their_rules() {
    run("archives", 20_000, archives::check);
}

#[test]
fn texts_hold_their_rules() {
    run("texts", 40_000, texts::check);
}

/// A seed that does not open would leave what follows untouched.
#[test]
fn every_seed_reaches_the_end() {
    for (name, seed) in seeds_of("envelope") {
        let (limit, envelope) = seed.split_first_chunk::<4>().unwrap();
        open_at_most(envelope, u32::from_le_bytes(*limit) as usize).expect(&name);
    }
    for (name, seed) in seeds_of("parts") {
        let input = parts::Input::read(&seed).expect(&name);
        input.assemble().expect(&name);
        assert_eq!(input.list[0] == 1, name.ends_with("nodes"), "{name}");
    }
    for (name, seed) in seeds_of("display") {
        assert!(display::is_shown(&seed), "{name}");
    }
    for (name, seed) in seeds_of("globs") {
        assert!(globs::is_pattern(&seed) != name.ends_with("-refused"), "{name}");
    }
    for (name, seed) in seeds_of("states") {
        assert!(states::has_tasks(&seed), "{name}");
    }
    for (name, seed) in seeds_of("paths") {
        assert!(paths::finds_texts(&seed), "{name}");
    }
    for (name, seed) in seeds_of("filters") {
        assert!(filters::matches(&seed) != name.ends_with("-refused"), "{name}");
    }
    for (name, seed) in seeds_of("words") {
        assert!(words::is_found(&seed), "{name}");
    }
    for (name, seed) in seeds_of("archives") {
        assert!(archives::is_read(&seed) != name.ends_with("-refused"), "{name}");
    }
    for (name, seed) in seeds_of("texts") {
        assert!(texts::is_read(&seed) != name.ends_with("-refused"), "{name}");
    }
}

#[test]
fn the_seeds_are_small_and_made_by_the_code() {
    if std::env::var_os("UPDATE_SEEDS").is_some() {
        seeds::write();
    }
    for target in [
        "archives", "chunking", "decoders", "display", "envelope", "filters", "globs", "parts",
        "paths", "states", "texts", "words",
    ] {
        for (name, seed) in seeds_of(target) {
            assert!(seed.len() <= 60_000, "{name} has {} bytes", seed.len());
        }
    }
}
