//! Checks that no released migration was edited, and that no migration replaces a function of the database.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::assert_none;

#[test]
fn migrations_are_not_edited_and_replace_no_function() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let sums: BTreeMap<&str, &str> = sums
        .lines()
        .map(|it| it.split_once("  ").unwrap())
        .map(|(sum, name)| (name, sum))
        .collect();
    let (mut violations, mut seen) = (Vec::new(), 0);
    for engine in ["postgres", "sqlite"] {
        for entry in fs::read_dir(folder.join(engine)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let file = path.file_stem().unwrap().to_str().unwrap();
            let sum = hex::encode(Sha256::digest(&text));
            if sums.get(format!("{engine}/{file}.sql").as_str()) != Some(&sum.as_str()) {
                violations.push(format!("{engine}/{file}.sql is not the one in SHA256SUMS"));
            }
            violations.extend(replaced_functions(file, &text));
            seen += 1;
        }
    }
    assert_none("migrations that were edited, or break a program beside them", &violations);
    assert_eq!(seen, sums.len(), "SHA256SUMS names files that are not there");
}

/// A program of the version before runs beside the migrated database and calls the functions that it knows. The name of a new one ends
/// with the number of its migration.
fn replaced_functions(file: &str, text: &str) -> Vec<String> {
    const NAMED_SINCE: u32 = 25;
    let number: u32 = file[..4].parse().unwrap();
    if number < NAMED_SINCE {
        return Vec::new();
    }
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut violations = Vec::new();
    for verb in ["create or replace function", "drop function", "alter function"] {
        if text.contains(verb) {
            violations.push(format!("{file}: {verb}"));
        }
    }
    for created in text.split("create function ").skip(1) {
        let name = created.split('(').next().unwrap_or_default();
        if !name.ends_with(&format!("_{number}")) {
            violations.push(format!("{file}: function {name} does not end with _{number}"));
        }
    }
    violations
}

#[test]
fn replaced_functions_are_seen() {
    assert_eq!(replaced_functions("0018_a", "create or replace function f()").len(), 0);
    assert_eq!(replaced_functions("0025_a", "create function f_25() returns trigger").len(), 0);
    assert_eq!(replaced_functions("0026_a", "create function\nf_25()").len(), 1);
    assert_eq!(replaced_functions("0025_a", "create or replace\nfunction f_25()").len(), 1);
}
